// SPDX-License-Identifier: BSD-3-Clause
//
// Checks at the public boundary that more than one operator makes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/operation.hpp>
#include <reblock/detail/overlap.hpp>
#include <reblock/executor.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>

namespace reblock::detail {

/// What the caller calls the tensors, for messages.
struct tensor_names {
  const char* input = "input";
  const char* output = "output";
};

/// Batch, channels and 1 to 6 spatial axes, none of negative extent.
constexpr status check_extents(const axis_values& extents, const char* name) {
  if (extents.size() < 3 || extents.size() > max_rank) {
    return error() << name << " must have 3 to 8 axes (batch, channels, 1 to 6 spatial), got "
                   << extents.given() << ": shape " << extents;
  }
  for (const std::int64_t extent : extents) {
    if (extent < 0) return error() << name << " must not have a negative extent, got " << extents;
  }
  return success{};
}

/// Any axis but the batch's; a negative one counts from the end.
constexpr result<std::size_t> check_channel_axis(std::int64_t channel_axis, std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(rank);
  const std::int64_t axis = channel_axis < 0 ? channel_axis + axes : channel_axis;
  if (axis >= 1 && axis < axes) return static_cast<std::size_t>(axis);
  return error() << "channel_axis must be from 1 to " << axes - 1 << " or from " << 1 - axes << " to -1 for "
                 << axes << " axes (axis 0 is the batch), got " << channel_axis;
}

/// One value for each spatial axis, none below `least`.
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

/// The values of the spatial axes, given those of all axes.
constexpr axis_values spatial_part(const axis_values& values, std::size_t channel_axis) noexcept {
  axis_values spatial;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (i != channel_axis) spatial.push_back(values[i]);
  }
  return spatial;
}

/// The values of all axes: batch, spatial, and channels at `channel_axis`.
constexpr axis_values with_channel_axis(std::int64_t batch, std::int64_t channels, const axis_values& spatial,
                                        std::size_t channel_axis) noexcept {
  axis_values values{batch};
  for (std::size_t d = 0; d < spatial.size() + 1; ++d) {
    if (values.size() == channel_axis) values.push_back(channels);
    if (d < spatial.size()) values.push_back(spatial[d]);
  }
  return values;
}

/// Whether a packed tensor of these extents can be addressed. As in NumPy, extents of 0 do not make
/// room for others that are too large.
constexpr bool addressable(const axis_values& extents, std::int64_t element_size) noexcept {
  checked_size bytes = element_size;
  for (const std::int64_t extent : extents) bytes *= extent == 0 ? 1 : extent;
  return !bytes.overflow() && bytes.value() <= std::numeric_limits<std::ptrdiff_t>::max();
}

constexpr axis_values in_bytes(const axis_values& strides, std::int64_t element_size) noexcept {
  axis_values bytes = strides;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = wrapping_multiply(strides[i], element_size);
  return bytes;
}

template <class T>
placement placement_of(const tensor_view<T>& view) noexcept {
  const auto size = static_cast<std::int64_t>(sizeof(T));
  return {static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(view.data())), view.extents(),
          in_bytes(view.strides(), size), size};
}

/// One stride per axis, and offsets that can be computed without overflow.
template <class T>
constexpr status check_strides(const tensor_view<T>& view, const char* name) {
  if (view.strides().size() != view.extents().size()) {
    return error() << name << " must have one stride for each of its " << view.extents().size()
                   << " axes, got strides " << view.strides();
  }
  checked_size span = 1;
  for (std::size_t i = 0; i < view.extents().size(); ++i) {
    const std::int64_t stride = view.strides()[i];
    if (view.extents()[i] < 2) continue;
    if (stride == std::numeric_limits<std::int64_t>::min()) {
      span *= std::numeric_limits<std::int64_t>::max();  // its magnitude has no type
    } else {
      span += checked_size(view.extents()[i] - 1) * (stride < 0 ? -stride : stride);
    }
  }
  span *= static_cast<std::int64_t>(4 * sizeof(T));
  if (span.overflow()) {
    return error() << name << " of shape " << view.extents() << " with strides " << view.strides()
                   << " spans more than can be addressed";
  }
  return success{};
}

/// Runs an operator on views: checks what is not about the operator itself, plans, moves. `plan` makes
/// the operation from the strides of input and output, in bytes.
template <class In, class T, executor Executor, class Plan>
status run_on_views(const tensor_view<In>& input, const tensor_view<T>& output,
                    const axis_values& output_extents, const tensor_names& names, Executor& executor,
                    Plan&& plan) {
  static_assert(std::same_as<std::remove_const_t<In>, T>, "input and output must have one element type");
  static_assert(std::is_trivially_copyable_v<T>, "elements are moved as bytes");
  if (const status fits = check_strides(input, names.input); !fits) return fits;
  if (const status fits = check_strides(output, names.output); !fits) return fits;
  if (output.extents() != output_extents) {
    return error() << names.output << " must have shape " << output_extents << ", got " << output.extents();
  }
  const placement from = placement_of(input);
  const placement to = placement_of(output);
  if (overlaps_itself(to.extents, to.strides, to.element_size)) {
    return error() << names.output << " must not overlap itself, got shape " << output.extents()
                   << " with strides " << output.strides();
  }
  if (share_memory(from, to)) return error() << names.output << " must not share memory with " << names.input;
  plan(from.strides, to.strides).run(input.data(), output.data(), executor);
  return success{};
}

}  // namespace reblock::detail
