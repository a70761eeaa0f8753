// SPDX-License-Identifier: BSD-3-Clause
//
// These functions check arguments at the public boundary. Several operators use them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/depth_space_order.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// tensor_names has the caller's names of the tensors, for messages.
struct tensor_names {
  const char* input = "input";
  const char* output = "output";
};

/// Checks that there are batch, channels and 1 to 6 spatial axes, and no negative extent.
[[gnu::noinline]] constexpr status check_extents(const axis_values& extents, const char* name) {
  if (extents.size() < 3 || extents.size() > max_rank) {
    return error() << name << " must have 3 to 8 axes (batch, channels, 1 to 6 spatial), got "
                   << extents.given() << ": shape " << extents;
  }
  for (const std::int64_t extent : extents) {
    if (extent < 0) return error() << name << " must not have a negative extent, got " << extents;
  }
  return success{};
}

/// Checks the channel axis: any axis except the first. A negative value counts from the end.
[[gnu::noinline]] constexpr result<std::size_t> check_channel_axis(std::int64_t channel_axis,
                                                                   std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(rank);
  const std::int64_t axis = channel_axis < 0 ? channel_axis + axes : channel_axis;
  if (axis >= 1 && axis < axes) return static_cast<std::size_t>(axis);
  return error() << "channel_axis must be from 1 to " << axes - 1 << " or from " << 1 - axes << " to -1 for "
                 << axes << " axes (axis 0 is the batch), got " << channel_axis;
}

/// Returns one value for each spatial axis. Refuses values below `least`.
constexpr result<axis_values> check_spatial(const spatial_values& given, const char* name,
                                            std::size_t spatial_axes, std::int64_t least) {
  if (!given.fits(spatial_axes)) {
    return error() << name << " must be one value, or one for each of the " << spatial_axes
                   << " spatial axes, got " << given.values().given() << ": " << given;
  }
  const axis_values values = given.expand(spatial_axes);
  for (const std::int64_t value : values) {
    if (value < least) return error() << name << " must be at least " << least << ", got " << given;
  }
  return values;
}

/// Checks that the order is one of the two orders: a cast can make other values.
constexpr status check_order(depth_space_order order) {
  if (order == depth_space_order::depth_column_row || order == depth_space_order::column_row_depth) {
    return success{};
  }
  return error() << "order must be DEPTH_COLUMN_ROW (0) or COLUMN_ROW_DEPTH (1), got "
                 << static_cast<std::uint32_t>(order);
}

/// Picks the values of the spatial axes from the values of all axes.
[[gnu::noinline]] constexpr axis_values spatial_part(const axis_values& values,
                                                     std::size_t channel_axis) noexcept {
  axis_values spatial;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (i != channel_axis) spatial.push_back(values[i]);
  }
  return spatial;
}

/// Joins the values of all axes: batch, spatial axes, and channels at `channel_axis`.
[[gnu::noinline]] constexpr axis_values with_channel_axis(std::int64_t batch, std::int64_t channels,
                                                          const axis_values& spatial,
                                                          std::size_t channel_axis) noexcept {
  axis_values values{batch};
  for (std::size_t d = 0; d < spatial.size() + 1; ++d) {
    if (values.size() == channel_axis) values.push_back(channels);
    if (d < spatial.size()) values.push_back(spatial[d]);
  }
  return values;
}

/// Tells whether a packed tensor of these extents can be addressed. As in NumPy, other extents may be too large even if one
/// is 0.
constexpr bool addressable(const axis_values& extents, std::int64_t element_size) noexcept {
  checked_size bytes = element_size;
  for (const std::int64_t extent : extents) bytes *= extent == 0 ? 1 : extent;
  return !bytes.overflow() && bytes.value() <= std::numeric_limits<std::ptrdiff_t>::max();
}

template <std::size_t MostAxes = max_rank>
constexpr basic_axis_values<MostAxes> in_bytes(const basic_axis_values<MostAxes>& strides,
                                               std::int64_t element_size) noexcept {
  basic_axis_values<MostAxes> bytes = strides;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = wrapping_multiply(strides[i], element_size);
  return bytes;
}

/// An untyped_view is a tensor_view without its element type.
struct untyped_view {
  const void* data;
  view_values extents;
  view_values strides;  ///< elements
  std::int64_t element_size;

  template <class T>
  explicit untyped_view(const tensor_view<T>& view) noexcept
      : data(view.data()),
        extents(view.extents()),
        strides(view.strides()),
        element_size(static_cast<std::int64_t>(sizeof(T))) {
    static_assert(std::is_trivially_copyable_v<T>, "elements are moved as bytes");
  }

  view_values strides_in_bytes() const noexcept { return in_bytes(strides, element_size); }
};

/// The tag allows an operator's tensors of different types.
struct different_types {};

/// operands has an operator's two tensors, of one type unless one is converted to the other.
struct operands {
  untyped_view input;
  untyped_view output;

  template <class In, class T>
  operands(const tensor_view<In>& from, const tensor_view<T>& to) noexcept
      : operands(from, to, different_types{}) {
    static_assert(std::same_as<std::remove_const_t<In>, std::remove_const_t<T>>,
                  "input and output must have one element type, or the call a conversion");
  }
  template <class In, class T>
  operands(const tensor_view<In>& from, const tensor_view<T>& to, different_types) noexcept
      : input(from), output(to) {
    static_assert(!std::is_const_v<T>, "the output must have elements that are not const");
  }

  /// Returns the output's data, which was not const.
  void* destination() const noexcept { return const_cast<void*>(output.data); }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
