// SPDX-License-Identifier: BSD-3-Clause
//
// A conversion changes elements while they move, from the input's type to the output's type:
//
//     result = cast(x * scale + bias)
//
//     // uint8 images (N, H, W, 3) as float planes (N, 3, H, W)
//     const double scale[] = {1 / 58.4, 1 / 57.1, 1 / 57.4};
//     const double bias[] = {-2.1, -2.0, -1.8};
//     copy(images.permuted({0, 3, 1, 2}), planes, conversion{.scale = scale, .bias = bias, .axis = 1});
//
// The arithmetic is that of float. It is that of double if one of the two types is double or an integer of 32 or 64 bits.
// The product and the sum are rounded separately. The cast rounds once, to nearest, ties to even. A cast to an integer
// saturates, and makes 0 of a NaN; a cast to bool tells whether the value is not 0. Without scale and bias, conversions
// between integers and bool are those of static_cast: integers wrap.
//
// Types: bool, integers of up to 64 bits, float16, bfloat16, float and double.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <reblock/detail/arguments.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/conversion_request.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/executor.hpp>
#include <reblock/result.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// The scale and the bias of a conversion: no value, one value, or one for each channel. They must be finite. The caller
/// keeps the values until the call returns. Where the arithmetic is that of float, they are rounded to float.
struct conversion {
  std::span<const double> scale{};  ///< none: 1
  std::span<const double> bias{};   ///< none: nothing is added
  /// For copy(): the axis along which there are channels. A negative value counts from the end. The other functions do not
  /// use it: their channels are those of the image, or of the space tensor.
  std::int64_t axis = -1;
};

namespace detail {

/// The concept takes types that conversions read and write.
template <class T>
concept convertible = is_convertible(element_type_of<std::remove_const_t<T>>());

template <class T>
concept no_conversion = !std::same_as<std::remove_cvref_t<T>, conversion>;

/// Checks a scale or a bias for an axis of `extent` channels, which is axis `axis` of a layout.
constexpr result<conversion_factor> check_factor(std::span<const double> values, const char* name,
                                                 std::int64_t extent, std::size_t axis) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] - values[i] == 0)) {
      return error() << name << " must be finite, but value " << i << " is not";
    }
  }
  if (values.empty()) return conversion_factor{};
  if (values.size() == 1) return conversion_factor{values.data(), one_factor};
  if (static_cast<std::int64_t>(values.size()) != extent) {
    return error() << name << " must be one value, or one for each of the " << extent << " channels, got "
                   << values.size();
  }
  return conversion_factor{values.data(), axis};
}

/// A typed_conversion is a conversion at the engine's boundary.
struct typed_conversion {
  const conversion& given;
  element_type from;
  element_type to;
};

template <convertible In, convertible T>
typed_conversion with_types(const conversion& given) noexcept {
  return {given, element_type_of<std::remove_const_t<In>>(), element_type_of<T>()};
}

/// Checks the factors and makes a request. The channels are axis `axis` of the layout.
constexpr result<conversion_request> request_of(const typed_conversion& conversion, const layout& moves,
                                                std::size_t axis) {
  const std::int64_t extent = axis < moves.rank ? moves.axes[axis].extent : 1;
  const auto scale = check_factor(conversion.given.scale, "scale", extent, axis);
  if (!scale) return scale.why();
  const auto bias = check_factor(conversion.given.bias, "bias", extent, axis);
  if (!bias) return bias.why();
  conversion_request request;
  request.moves.take(moves);
  request.from = conversion.from;
  request.to = conversion.to;
  request.scale = *scale;
  request.bias = *bias;
  return request;
}

}  // namespace detail

}  // namespace reblock::inline REBLOCK_NAMESPACE
