// SPDX-License-Identifier: BSD-3-Clause
//
// These functions estimate which lines leave a cache before they are used again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/sums/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Estimates the cycles of the lines of one side that each run of an axis brings into the first-level cache. The lines of a
/// row of runs are still there when the next row needs them, unless they are too many, or share a few sets of the cache.
/// `again` is the axis that repeats rows, or null. The whole move has `bytes`.
inline double cost_of_lines(const tile_axis& runs, const tile_axis* again, std::int64_t tile_axis::* stride,
                            double bytes, const mover_costs::line_costs& each) noexcept {
  using caches = cache_sizes;
  const bool is_near = bytes <= caches::both_sides;
  const auto share = [&](const tile_axis& axis) {
    return static_cast<double>(std::min(magnitude(axis.*stride), caches::line)) / double{caches::line};
  };
  const auto count = static_cast<double>(runs.extent);
  const double lines = share(runs);
  if (again == nullptr) return is_near ? 0 : each.next * lines;
  const std::int64_t apart = std::min(magnitude(runs.*stride), caches::page);
  if (!is_near && count * static_cast<double>(apart) > caches::near_pages * double{caches::page})
    return lines * each.far;
  const std::int64_t step = magnitude(runs.*stride) | caches::page;
  const std::int64_t sets = std::min(caches::page / (step & -step), caches::line);
  const std::int64_t room = std::max(caches::near_lines * sets / caches::line, std::int64_t{1});
  if (lines * count <= static_cast<double>(room)) return is_near ? 0 : each.next * lines * share(*again);
  if (bytes > caches::second_level) return lines * each.far;
  return lines * (sets == 1 ? each.same_set : each.evicted);
}

/// Tells whether lines that a call reads in part evict each other from the first-level cache before their rest is read. Rows
/// whose distance is a multiple of a large power of two share few sets of a cache. A call has `pieces`, `advance` bytes apart.
constexpr bool do_lines_collide(const layout& piece, std::size_t first, std::int64_t element_size,
                                std::int64_t pieces, std::int64_t advance) noexcept {
  constexpr std::int64_t line = cache_sizes::line;
  constexpr std::int64_t way = cache_sizes::page;
  constexpr std::int64_t usable = 4 * way;    // the output needs the other ways
  constexpr std::int64_t few_sets = way / 8;  // bytes between rows that use an eighth of the sets
  std::int64_t rows = 1;
  std::int64_t row = element_size;
  std::int64_t apart = way;
  const auto add = [&](std::int64_t extent, std::int64_t stride) {
    if (stride < line) {
      row += stride * (extent - 1);
    } else {
      rows *= extent;
      apart = std::min(apart, stride & -stride);
    }
  };
  for (std::size_t i = first; i < piece.rank; ++i)
    add(piece.axes[i].extent, magnitude(piece.axes[i].source_stride));
  if (advance >= line) add(pieces, advance);
  return (row < line || advance < line) && apart >= few_sets && rows * apart > usable;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
