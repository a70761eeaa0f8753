// SPDX-License-Identifier: BSD-3-Clause
//
// plan_moves() makes the fastest plan of leaves and patterns for a layout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/leaves.hpp>
#include <reblock/detail/movers.hpp>
#include <reblock/detail/plan.hpp>
#include <reblock/detail/plan_pattern.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Joins runs that follow each other in the source and go past the caches to a few places of the output. Otherwise each
/// part of the source would be walked once for each place.
constexpr void join_runs(plan& p, std::int64_t element_size) noexcept {
  constexpr std::int64_t most = 16;  // places
  if (element_size < std::int64_t{least_streamed_run} && streamed_width(p.leaf_tile) == 0) return;
  std::size_t next = no_axis;
  for (std::size_t i = 0; i < p.rank; ++i) {
    if (p.axes[i].bounded()) return;
    if (p.axes[i].source_stride == element_size && p.axes[i].extent <= most) next = i;
  }
  if (next == no_axis) return;
  rotate_axis(p, next, p.rank - 1);
  set_out_tile(p, element_size);
}

/// Lets plans write large outputs past the caches. The leaf writes them if it fills whole lines in order. Otherwise they
/// go through a buffer, in tiles of as many axes as fit there.
constexpr void stream_output(plan& p, std::int64_t element_size) noexcept {
  if (p.rank == 0 || !goes_past_caches(p, element_size)) return;
  std::size_t first = p.rank;
  std::int64_t bytes = element_size;
  while (first > std::max(p.walked, p.dense_from) && bytes * p.axes[first - 1].extent <= staging_bytes) {
    bytes *= p.axes[--first].extent;
  }
  // While the buffer is read, nothing is read from memory. The loss is small if the source is in a cache, because it is
  // read several times, or if tiles are large.
  if (element_size > 16 || bytes < std::int64_t{rereads(p, element_size) ? 2 : 12} * 1024 ||
      interleaves(p.leaf_tile)) {
    join_runs(p, element_size);
    p.leaf_tile.streamed = true;
  } else {
    set_out_tile(p, element_size, first);
    p.staged = true;
  }
}

/// Reduces a layout to as few axes as possible, in the order of the destination. An axis that is contiguous on both sides
/// becomes a part of the elements. Returns the bytes of an element.
constexpr std::int64_t simplify(layout& l, std::int64_t element_size) noexcept {
  drop_idle_bounds(l);
  drop_single_indices(l);
  order_by_destination(l);
  merge_nested(l);
  if (l.rank == 0) return element_size;
  const layout_axis& inner = l.axes[l.rank - 1];
  if (inner.bounded() || inner.source_stride != element_size || inner.destination_stride != element_size) {
    return element_size;
  }
  --l.rank;
  return element_size * inner.extent;
}

/// Widens small tiles. If the axis before a tile decides which of its elements are inside, it moves a free axis between the
/// two. The output must stay in a cache, because it is walked several times.
constexpr void widen_tile(plan& p, std::int64_t element_size) noexcept {
  constexpr std::int64_t small_tile = 1024;  // bytes
  constexpr std::int64_t most = std::int64_t{16} * 1024 * 1024;
  if (p.rank - p.walked == tile_axes.size() || p.staged || p.leaf_tile.streamed) return;
  std::int64_t bytes = element_size;
  for (std::size_t i = p.walked; i < p.rank; ++i) bytes *= p.axes[i].extent;
  if (bytes > small_tile || total_bytes(p, element_size) > most) return;
  std::size_t rows = no_axis;
  for (std::size_t i = 0; i < p.walked; ++i) {
    if (p.axes[i].bounded()) continue;
    if (rows == no_axis || p.axes[i].extent > p.axes[rows].extent) rows = i;
  }
  if (rows == no_axis || p.axes[rows].extent < 4) return;
  rotate_axis(p, rows, p.walked - 1);
  set_out_tile(p, element_size);
}

/// Lets masks move the planes of a shifted plan: moves the longest free axis next to them.
constexpr void set_out_masks(plan& p, std::int64_t element_size) noexcept {
  if (p.rank < 3 || p.staged || p.leaf_tile.streamed) return;
  const std::size_t rows = p.rank - 3;
  const std::int64_t bytes = p.axes[p.rank - 2].extent * p.axes[p.rank - 2].destination_stride;
  if (bytes > most_masked_bytes || !p.in_source_run(p.axes[p.rank - 2])) return;
  std::size_t planes = no_axis;
  for (std::size_t i = 0; i <= rows; ++i) {
    if (p.axes[i].bounded() || !p.in_source_run(p.axes[i])) continue;
    if (planes == no_axis || p.axes[i].extent > p.axes[planes].extent) planes = i;
  }
  if (planes == no_axis || p.axes[planes].extent < 4) return;
  rotate_axis(p, planes, rows);
  set_out_tile(p, element_size, rows);
  p.masked = true;
}

/// Does the same as plan_moves in place, because plans are large. Requires plan(l).
inline void set_out_moves(plan& p, const layout& l, std::int64_t element_size, const movers& by,
                          instruction_set set) noexcept {
  p.look_up = by.look_up;
  p.lookup_width = lookup_width(set);
  p.empty = is_empty(l, element_size);
  if (p.empty) return;
  const std::int64_t single_size = element_size;
  element_size = simplify(p, single_size);
  p.whole_bytes = std::max(p.whole_bytes, total_bytes(p, element_size));
  pair_contiguous_axes(p, element_size);
  p.joined = join_rows(p, element_size);
  if (p.joined == tile::axis::neither) order_rows(p, element_size);
  set_out_tile(p, element_size);
  stream_output(p, element_size);
  widen_tile(p, element_size);
  p.shifted = is_shifted(p, element_size);
  if (p.shifted) set_out_masks(p, element_size);
  const bool is_slow_tile = p.shifted ? p.leaf_tile.outer.extent * p.leaf_tile.inner.extent * element_size <=
                                            static_cast<std::int64_t>(pattern::most_bytes)
                                      : is_slow(p.leaf_tile, p.lookup_width);
  if (is_slow_tile && may_be_pattern(p, element_size, p.lookup_width)) {
    layout ordered;
    ordered.take(l);
    simplify(ordered, single_size);
    if (set_out_pattern(p, ordered, element_size)) p.shifted = p.masked = false;
  }
  if (p.leaf == nullptr) p.leaf = by.choose_leaf(p.least_tile(), p.streams_are_fixed, p.lookup_width);
}

/// Plans to move every element of `l`, each `element_size` bytes, in the best order. Requires that the destination does not
/// overlap itself.
inline plan plan_moves(const layout& l, std::int64_t element_size, const movers& by,
                       instruction_set set = usable_instruction_set()) noexcept {
  plan p(l);
  set_out_moves(p, l, element_size, by, set);
  return p;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
