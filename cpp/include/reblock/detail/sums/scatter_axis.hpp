// SPDX-License-Identifier: BSD-3-Clause
//
// A scatter_axis describes one spatial axis of fold for sums that read the columns in their own order.
//
// The offsets of a window and the windows are two axes of the columns. The one with the longer stride is the outer one.
// Indices of the inner one then lie side by side in the columns.
#pragma once

#include <algorithm>
#include <cstdint>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Outer index u and inner index v belong to the position u * outer_step + v * inner_step - padding. If an axis has phases,
/// position + padding = place * phases + phase, and one of the steps is one of its places. Else each position is a place.
struct scatter_axis {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::int64_t outer_stride = 0;  ///< in the columns, bytes
  std::int64_t inner_stride = 0;  ///< in the columns, bytes
  std::int64_t outer_step = 1;
  std::int64_t inner_step = 1;
  std::int64_t phases = 1;   ///< 1, inner_step or outer_step
  std::int64_t before = 0;   ///< positions before the image that have places
  std::int64_t after = 0;    ///< positions behind the image that have places
  std::int64_t padding = 0;  ///< negative if windows begin inside the image
  std::int64_t extent = 1;   ///< positions
  bool by_windows = false;   ///< whether outer indices are windows

  /// Describes windows whose `offsets` and `windows` are axes of a fold's moves.
  static constexpr scatter_axis of(const layout_axis& offsets, const layout_axis& windows,
                                   std::int64_t padding, std::int64_t extent) noexcept {
    scatter_axis axis;
    axis.by_windows = offsets.extent > 1 && (windows.extent == 1 || magnitude(windows.source_stride) >
                                                                        magnitude(offsets.source_stride));
    const layout_axis& outer = axis.by_windows ? windows : offsets;
    const layout_axis& inner = axis.by_windows ? offsets : windows;
    axis.outer = outer.extent;
    axis.inner = inner.extent;
    axis.outer_stride = outer.source_stride;
    axis.inner_stride = inner.source_stride;
    if (outer.extent > 1) axis.outer_step = outer.bound_step;
    if (inner.extent > 1) axis.inner_step = inner.bound_step;
    axis.padding = padding;
    axis.extent = extent;
    return axis;
  }

  /// Returns the position of the last indices, if the image has no padding.
  constexpr std::int64_t last() const noexcept { return (outer - 1) * outer_step + (inner - 1) * inner_step; }
  /// Tells whether sums and differences of positions cannot overflow.
  constexpr bool is_near() const noexcept {
    constexpr std::int64_t far = std::int64_t{1} << 60;
    return last() < far && magnitude(padding) < far && extent < far;
  }

  /// Makes this axis the one of rows: its inner indices become contiguous. Rows of windows at the edges of the image are as
  /// long as others, because positions outside of it have places too.
  constexpr void make_rows() noexcept {
    phases = inner_step;
    const std::int64_t reach = by_windows ? (inner - 1) * inner_step : (outer - 1) * outer_step;
    before = std::clamp<std::int64_t>(padding, 0, reach);
    after = std::clamp<std::int64_t>(last() - padding - (extent - 1), 0, reach);
  }

  /// Tells whether windows lie side by side, and the columns have runs of their offsets. Each window may then be a place.
  constexpr bool is_side_by_side() const noexcept {
    return by_windows && outer > 1 && inner_step == 1 && inner == outer_step;
  }
  /// Makes this axis the one of rows. Each row has all phases of a place.
  constexpr void make_places() noexcept { phases = outer_step; }

  constexpr std::int64_t first_place() const noexcept { return floor_divide(padding - before, phases); }
  constexpr std::int64_t places() const noexcept {
    return floor_divide(extent - 1 + after + padding, phases) - first_place() + 1;
  }
  /// Counts the places from an inner index to the next one: 0 if these are phases.
  constexpr std::int64_t step() const noexcept { return inner_step / phases; }
  /// Tells whether all outer indices have the same phase.
  constexpr bool keeps_phase() const noexcept { return outer_step % phases == 0; }
  /// Returns the place of inner index 0.
  constexpr std::int64_t place_of(std::int64_t u) const noexcept { return u * outer_step / phases; }
  constexpr std::int64_t phase_of(std::int64_t u) const noexcept { return u * outer_step % phases; }

  /// Returns the outer indices that may have elements at some places.
  constexpr index_range outer_at(const index_range& some) const noexcept {
    return indices_between(some.begin * phases - (inner - 1) * inner_step, some.end * phases, outer_step,
                           outer);
  }
  /// Returns the inner indices of an outer one at some places.
  constexpr index_range inner_at(std::int64_t u, const index_range& some) const noexcept {
    const std::int64_t first = place_of(u);
    if (some.begin <= first && first + (inner - 1) * step() < some.end) return {0, inner};
    return indices_between(some.begin - first, some.end - first, step(), inner);
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
