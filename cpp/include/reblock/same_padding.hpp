// SPDX-License-Identifier: BSD-3-Clause
//
// same_padding() computes the padding of windows whose positions depend on the strides alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/detail/arguments.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// A padding has the start_padding and the end_padding of a window: elements along each spatial axis.
struct padding {
  axis_values start;
  axis_values end;

  friend constexpr bool operator==(const padding&, const padding&) = default;
};

/// These functions compute the padding that TensorFlow calls "SAME" and ONNX calls SAME_UPPER. With this padding, an
/// image of spatial extents S_d has ceil(S_d / strides_d) window positions along each axis. Both sides together have
///
///     max((ceil(S_d / strides_d) - 1) * strides_d + dilations_d*(K_d - 1) + 1 - S_d, 0)
///
/// elements. Where this number is odd, the end has one element more: extents {5, 6}, window sizes 3 and strides 2 give
/// start {1, 0} and end {1, 1}. Errors: not 1 to 6 extents, a value below 1, values that are not one per axis, a padding
/// that overflows. same_padding() throws std::invalid_argument.
/// @{
constexpr result<padding> try_same_padding(const axis_values& extents, const spatial_values& window_sizes,
                                           const spatial_values& strides = 1,
                                           const spatial_values& dilations = 1);
constexpr padding same_padding(const axis_values& extents, const spatial_values& window_sizes,
                               const spatial_values& strides = 1, const spatial_values& dilations = 1);
/// @}

constexpr result<padding> try_same_padding(const axis_values& extents, const spatial_values& window_sizes,
                                           const spatial_values& strides, const spatial_values& dilations) {
  const std::size_t axes = extents.size();
  if (axes < 1 || axes > max_rank - 2) {
    return error() << "extents must have 1 to 6 values, got " << extents.given() << ": " << extents;
  }
  const auto sizes = detail::check_spatial(extents, "extents", axes, 1);
  if (!sizes) return sizes.why();
  const auto windows = detail::check_spatial(window_sizes, "window_sizes", axes, 1);
  if (!windows) return windows.why();
  const auto steps = detail::check_spatial(strides, "strides", axes, 1);
  if (!steps) return steps.why();
  const auto dilated = detail::check_spatial(dilations, "dilations", axes, 1);
  if (!dilated) return dilated.why();
  padding found;
  for (std::size_t d = 0; d < axes; ++d) {
    // This many elements are left from the last window position on: 1 to the stride.
    const std::int64_t rest = ((*sizes)[d] - 1) % (*steps)[d] + 1;
    const detail::checked_size span = detail::checked_size((*windows)[d] - 1) * (*dilated)[d] + 1;
    if (span.overflow()) {
      return error() << "window_sizes " << window_sizes << " with dilations " << dilations
                     << " are too large: a padding overflows";
    }
    const std::int64_t total = std::max<std::int64_t>(span.value() - rest, 0);
    found.start.push_back(total / 2);
    found.end.push_back(total - total / 2);
  }
  return found;
}

constexpr padding same_padding(const axis_values& extents, const spatial_values& window_sizes,
                               const spatial_values& strides, const spatial_values& dilations) {
  return try_same_padding(extents, window_sizes, strides, dilations).value();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE
