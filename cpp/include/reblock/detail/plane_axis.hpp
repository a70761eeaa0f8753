// SPDX-License-Identifier: BSD-3-Clause
//
// A plane_axis describes the planes of one spatial axis of fold. The terms of a plane never go to the same position.
//
// If windows lie `stride` elements apart, the offsets of a window fall into cycles. Offset t * cycle + r of each window is
// term t of the positions of phase r. Terms with the same t go to different positions: they make plane t.
#pragma once

#include <algorithm>
#include <cstdint>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Window l adds the term of its offset o = t * cycle + r to the position
/// (l + t * advance) * stride + r * dilation - padding. Place a of phase k is the position a * stride + k - padding.
struct plane_axis {
  std::int64_t planes = 1;      ///< values of t
  std::int64_t cycle = 1;       ///< values of r
  std::int64_t last_cycle = 1;  ///< values of r in the last plane
  std::int64_t windows = 1;     ///< values of l
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t advance = 1;
  std::int64_t padding = 0;
  std::int64_t extent = 1;  ///< positions
  bool is_joined =
      false;  ///< whether phases lie side by side in the buffer, as in the image; else each has its own place
  bool together = false;           ///< whether one move brings all planes, with the windows that they share
  std::int64_t offset_stride = 0;  ///< of o in the columns, bytes
  std::int64_t window_stride = 0;  ///< of l in the columns, bytes

  constexpr std::int64_t first_place() const noexcept { return floor_divide(padding, stride); }
  constexpr std::int64_t places() const noexcept {
    return floor_divide(extent - 1 + padding, stride) - first_place() + 1;
  }
  /// Counts the windows before a place that have values of one plane in it.
  constexpr std::int64_t reach() const noexcept { return (cycle - 1) * dilation / stride; }
  /// Counts the places that planes have before the first place of a box.
  constexpr std::int64_t halo() const noexcept { return reach() + (together ? (planes - 1) * advance : 0); }
  /// Counts the positions of a place in the buffer.
  constexpr std::int64_t positions() const noexcept { return is_joined ? stride : 1; }
  /// Counts the positions of a plane for `count` places, with the positions behind them that joined phases reach. Requires
  /// a plane that fits a buffer.
  constexpr std::int64_t width(std::int64_t count) const noexcept {
    return is_joined ? (count + halo() + reach()) * stride : count + halo();
  }
  /// Counts the offsets that one move brings. all_offsets() counts the offsets of all planes.
  constexpr std::int64_t offsets() const noexcept { return together ? all_offsets() : cycle; }
  constexpr std::int64_t all_offsets() const noexcept { return (planes - 1) * cycle + last_cycle; }
  /// Counts the planes of the buffer. There is one for each offset, unless phases are joined.
  constexpr std::int64_t layers() const noexcept { return is_joined ? planes : planes * cycle; }
  /// Counts the phases with terms that are summed separately.
  constexpr std::int64_t phases_apart() const noexcept { return is_joined ? 1 : cycle; }
  /// Counts the planes that have terms of offset r of a cycle.
  constexpr std::int64_t planes_of(std::int64_t r) const noexcept {
    return ceil_divide(all_offsets() - r, cycle);
  }
  /// Returns the planes with windows that reach any of `count` places from `first` on.
  constexpr index_range planes_with_terms(std::int64_t first, std::int64_t count) const noexcept {
    const std::int64_t begin =
        std::clamp<std::int64_t>(ceil_divide(first - reach() - windows + 1, advance), 0, planes);
    return {begin, std::clamp<std::int64_t>(floor_divide(first + count - 1, advance) + 1, begin, planes)};
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
