// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include <reblock/axis_values.hpp>
#include <reblock/data_type.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/overlap.hpp>
#include <reblock/result.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

namespace detail {

/// The strides, in units of `unit`, of a tensor without gaps in C order. Zero extents count as one, as
/// in NumPy.
constexpr axis_values packed_strides(const axis_values& extents, std::int64_t unit = 1) noexcept {
  axis_values strides = extents;
  for (std::size_t i = extents.size(); i-- > 0;) {
    strides[i] = unit;
    unit = wrapping_multiply(unit, extents[i] == 0 ? 1 : extents[i]);
  }
  return strides;
}

}  // namespace detail

/// A tensor that lies in someone else's memory: a pointer to the element whose index is 0 on every
/// axis, and for each axis its extent and its stride in elements. Strides may have either sign; those
/// of an input may be 0. The view owns nothing and its constructors check nothing: the functions that
/// take it do. An address that is no element's, where some extent is 0, is never read.
///
///     tensor_view<const float> packed(data, {1, 8, 2, 3});
///     tensor_view<float> every_other_pixel(data, {1, 3, 4, 4}, {192, 64, 16, 2});
template <class T>
class tensor_view {
 public:
  using element_type = T;

  /// Elements without gaps in C order.
  constexpr tensor_view(T* data, const axis_values& extents) noexcept
      : tensor_view(data, extents, detail::packed_strides(extents)) {}
  constexpr tensor_view(T* data, const axis_values& extents, const axis_values& strides) noexcept
      : data_(data), extents_(extents), strides_(strides) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr const axis_values& extents() const noexcept { return extents_; }
  /// In elements.
  constexpr const axis_values& strides() const noexcept { return strides_; }

 private:
  T* data_;
  axis_values extents_;
  axis_values strides_;
};

/// DirectML's buffer tensor: an element type, sizes and, unless the elements are packed in C order,
/// strides, in elements. A stride of 0 repeats an input; one that is larger than packed leaves gaps.
///
///     tensor_desc packed{data_type::float32, {1, 8, 2, 3}};
///     tensor_desc broadcast{data_type::float32, {4, 8, 2, 3}, axis_values{0, 6, 3, 1}};
struct tensor_desc {
  data_type type = data_type::unknown;
  axis_values sizes{};
  std::optional<axis_values> strides = std::nullopt;

  /// In elements.
  constexpr axis_values strides_or_packed() const noexcept {
    return strides ? *strides : detail::packed_strides(sizes);
  }

  friend constexpr bool operator==(const tensor_desc&, const tensor_desc&) = default;
};

/// The bytes that a buffer must have to hold the tensor, a multiple of 4 (DirectML's
/// TotalTensorSizeInBytes):
///
///     round_up_to_4((1 + sum((size - 1) * stride)) * element_size)
///
/// The error tells why `desc` describes no tensor: an invalid data type, a rank outside of 1 to 8, a
/// size below 1, more than 2^32 - 1 elements, strides that are negative or not one per size, or a span
/// beyond what can be addressed. `argument` is what the message calls the tensor.
constexpr result<std::uint64_t> try_total_size_in_bytes(const tensor_desc& desc,
                                                        const char* argument = "tensor") {
  constexpr std::int64_t most_elements = std::numeric_limits<std::uint32_t>::max();
  constexpr std::int64_t most_bytes = std::int64_t{std::numeric_limits<std::ptrdiff_t>::max()} / 4;
  const auto refusal = [argument] { return error() << argument << ": "; };
  if (element_size(desc.type) == 0) {
    return refusal()
           << "data_type " << name(desc.type) << " (" << static_cast<std::uint32_t>(desc.type)
           << ") is not one that a tensor can have: FLOAT16 to FLOAT64, INT8 to INT64, UINT8 to UINT64";
  }
  if (desc.sizes.empty() || desc.sizes.size() > max_rank) {
    return refusal() << "sizes must have 1 to 8 values, got " << desc.sizes.given() << ": " << desc.sizes;
  }
  for (const std::int64_t size : desc.sizes) {
    if (size < 1) return refusal() << "sizes must be at least 1, got " << desc.sizes;
  }
  const detail::checked_size elements = detail::product(desc.sizes);
  if (elements.overflow() || elements.value() > most_elements) {
    return refusal() << "sizes " << desc.sizes
                     << " make more than the 2**32 - 1 elements that a tensor can have";
  }
  if (desc.strides && desc.strides->size() != desc.sizes.size()) {
    return refusal() << "strides must have one value for each of the " << desc.sizes.size() << " sizes, got "
                     << *desc.strides;
  }
  const axis_values strides = desc.strides_or_packed();
  detail::checked_size span = 1;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] < 0) return refusal() << "strides must not be negative, got " << strides;
    span += detail::checked_size(desc.sizes[i] - 1) * strides[i];
  }
  span *= static_cast<std::int64_t>(element_size(desc.type));
  if (span.overflow() || span.value() > most_bytes) {
    return refusal() << "sizes " << desc.sizes << " with strides " << strides << " span more than "
                     << most_bytes << " bytes";
  }
  return (static_cast<std::uint64_t>(span.value()) + 3) / 4 * 4;
}

/// As try_total_size_in_bytes; throws std::invalid_argument.
constexpr std::uint64_t total_size_in_bytes(const tensor_desc& desc) {
  return try_total_size_in_bytes(desc).value();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE
