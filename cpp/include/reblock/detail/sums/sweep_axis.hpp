// SPDX-License-Identifier: BSD-3-Clause
//
// A sweep_axis describes the windows along one spatial axis of fold.
//
// If windows lie `stride` positions apart, the offsets of a window fall into cycles: offsets of the same cycle go to
// different positions. The terms of a cycle make a plane, which has at most one term for each position.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Window l adds the term of its offset o = t * cycle + r, in plane t, to the position
/// (l + t * advance) * stride + r * dilation - padding. Place a has the positions from a * stride - padding on.
struct sweep_axis {
  std::int64_t offsets = 1;  ///< values of o
  std::int64_t windows = 1;  ///< values of l
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t cycle = 1;          ///< values of r
  std::int64_t planes = 1;         ///< values of t
  std::int64_t advance = 1;        ///< places from plane to plane
  std::int64_t reach = 0;          ///< windows before a place whose first cycle has terms in it
  std::int64_t halo = 0;           ///< windows before a place that have terms in it
  std::int64_t padding = 0;        ///< negative if windows begin inside the image
  std::int64_t extent = 1;         ///< positions
  std::int64_t offset_stride = 0;  ///< of o in the columns, bytes
  std::int64_t window_stride = 0;  ///< of l in the columns, bytes
  /// Whether windows come one after the other, the last one first. Else those of a box come together, as planes.
  bool is_walked = false;
  /// Whether planes have a row for each phase of the stride. Else phases lie side by side, as in the image.
  bool is_apart = false;

  /// Describes windows whose `offsets` and `windows` are axes of a fold's moves.
  static constexpr sweep_axis of(const layout_axis& offsets, const layout_axis& windows, std::int64_t padding,
                                 std::int64_t extent) noexcept {
    sweep_axis axis;
    axis.offsets = offsets.extent;
    axis.windows = windows.extent;
    axis.dilation = offsets.extent > 1 ? offsets.bound_step : 1;
    axis.stride = windows.extent > 1 ? windows.bound_step : (offsets.extent - 1) * axis.dilation + 1;
    const std::int64_t common = std::gcd(axis.stride, axis.dilation);
    axis.cycle = std::min(axis.stride / common, axis.offsets);
    axis.planes = ceil_divide(axis.offsets, axis.cycle);
    axis.advance = axis.dilation / common;
    axis.reach = (axis.cycle - 1) * axis.dilation / axis.stride;
    axis.halo = axis.reach + (axis.planes - 1) * axis.advance;
    axis.padding = padding;
    axis.extent = extent;
    axis.offset_stride = offsets.source_stride;
    axis.window_stride = windows.source_stride;
    return axis;
  }

  /// Tells whether positions may have several terms.
  constexpr bool overlaps() const noexcept { return planes > 1; }
  /// Counts the offsets of the last plane.
  constexpr std::int64_t last_cycle() const noexcept { return offsets - (planes - 1) * cycle; }

  constexpr std::int64_t first_place() const noexcept { return floor_divide(padding, stride); }
  constexpr std::int64_t places() const noexcept {
    return floor_divide(extent - 1 + padding, stride) - first_place() + 1;
  }
  /// Counts the elements of a row of a plane for `count` places: all that their windows have. It is a floating-point
  /// number, because it may exceed any integer where a plane does not fit into a buffer.
  constexpr double width(std::int64_t count) const noexcept {
    const double windows_of_row = static_cast<double>(count) + static_cast<double>(halo);
    return is_apart ? windows_of_row
                    : (windows_of_row + static_cast<double>(reach)) * static_cast<double>(stride);
  }
  /// Counts the rows of all planes.
  constexpr std::int64_t rows() const noexcept { return is_apart ? offsets : planes; }
  /// Counts the planes that have terms of offset r of a cycle.
  constexpr std::int64_t planes_of(std::int64_t r) const noexcept { return ceil_divide(offsets - r, cycle); }

  /// Returns the planes with windows that reach any of `count` places from `first` on.
  constexpr index_range planes_with_terms(std::int64_t first, std::int64_t count) const noexcept {
    return indices_between(first - reach - windows + 1, first + count, advance, planes);
  }
  /// Returns the windows whose offset o reaches the positions of a range.
  constexpr index_range windows_at(std::int64_t o, const index_range& positions) const noexcept {
    const std::int64_t moved = padding - o * dilation;
    return indices_between(positions.begin + moved, positions.end + moved, stride, windows);
  }
  /// Returns the windows of which any of some offsets may reach the positions of a range.
  constexpr index_range windows_at(const index_range& some, const index_range& positions) const noexcept {
    const std::int64_t begin = windows_at(some.end - 1, positions).begin;
    return {begin, std::max(begin, windows_at(some.begin, positions).end)};
  }
  /// Tells whether each position has a term. It may miss windows that have gaps and fill the gaps of each other.
  constexpr bool covers_all() const noexcept {
    return padding >= 0 && dilation == 1 && offsets >= stride && (extent - 1 + padding) / stride < windows;
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
