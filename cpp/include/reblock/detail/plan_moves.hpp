// SPDX-License-Identifier: BSD-3-Clause
//
// plan_moves() makes the fastest plan of leaves and patterns for a layout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/leaves.hpp>
#include <reblock/detail/movers.hpp>
#include <reblock/detail/plan.hpp>
#include <reblock/detail/plan_pattern.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Joins runs that follow each other in the source and go past the caches to a few places of the output. Otherwise each
/// part of the source would be walked once for each place.
constexpr void join_runs(plan& planned, std::int64_t element_size) noexcept {
  constexpr std::int64_t limit = 16;  // places
  if (element_size < std::int64_t{least_streamed_run} && streamed_width(planned.leaf_tile) == 0) return;
  std::size_t next = no_axis;
  for (std::size_t i = 0; i < planned.rank; ++i) {
    if (planned.axes[i].bounded()) return;
    if (planned.axes[i].source_stride == element_size && planned.axes[i].extent <= limit) next = i;
  }
  if (next == no_axis) return;
  rotate_axis(planned, next, planned.rank - 1);
  set_out_tile(planned, element_size);
}

/// Lets plans write large outputs past the caches. The leaf writes them if it fills whole lines in order. Otherwise they
/// go through a buffer, in tiles of as many axes as fit there.
constexpr void stream_output(plan& planned, std::int64_t element_size) noexcept {
  if (planned.rank == 0 || !goes_past_caches(planned, element_size)) return;
  std::size_t first = planned.rank;
  std::int64_t bytes = element_size;
  while (first > std::max(planned.walked, planned.dense_from) &&
         bytes * planned.axes[first - 1].extent <= staging_bytes) {
    bytes *= planned.axes[--first].extent;
  }
  // While the buffer is read, nothing is read from memory. The loss is small if the source is in a cache, because it is
  // read several times, or if tiles are large.
  if (element_size > 16 || bytes < std::int64_t{rereads(planned, element_size) ? 2 : 12} * 1024 ||
      interleaves(planned.leaf_tile)) {
    join_runs(planned, element_size);
    planned.leaf_tile.streamed = true;
  } else {
    set_out_tile(planned, element_size, first);
    planned.staged = true;
  }
}

/// Reduces a layout to as few axes as possible, in the order of the destination. An axis that is contiguous on both sides
/// becomes a part of the elements. Returns the bytes of an element.
constexpr std::int64_t simplify(layout& moves, std::int64_t element_size) noexcept {
  drop_idle_bounds(moves);
  drop_single_indices(moves);
  order_by_destination(moves);
  merge_nested(moves);
  if (moves.rank == 0) return element_size;
  const layout_axis& inner = moves.axes[moves.rank - 1];
  if (inner.bounded() || inner.source_stride != element_size || inner.destination_stride != element_size) {
    return element_size;
  }
  --moves.rank;
  return element_size * inner.extent;
}

/// Widens small tiles. If the axis before a tile decides which of its elements are inside, it moves a free axis between the
/// two. The output must stay in a cache, because it is walked several times.
constexpr void widen_tile(plan& planned, std::int64_t element_size) noexcept {
  constexpr std::int64_t small_tile = 1024;  // bytes
  constexpr std::int64_t limit = std::int64_t{16} * 1024 * 1024;
  if (planned.rank - planned.walked == tile_axes.size() || planned.staged || planned.leaf_tile.streamed)
    return;
  std::int64_t bytes = element_size;
  for (std::size_t i = planned.walked; i < planned.rank; ++i) bytes *= planned.axes[i].extent;
  if (bytes > small_tile || total_bytes(planned, element_size) > limit) return;
  std::size_t rows = no_axis;
  for (std::size_t i = 0; i < planned.walked; ++i) {
    if (planned.axes[i].bounded()) continue;
    if (rows == no_axis || planned.axes[i].extent > planned.axes[rows].extent) rows = i;
  }
  if (rows == no_axis || planned.axes[rows].extent < 4) return;
  rotate_axis(planned, rows, planned.walked - 1);
  set_out_tile(planned, element_size);
}

/// Lets masks move the planes of a shifted plan: moves the longest free axis next to them.
constexpr void set_out_masks(plan& planned, std::int64_t element_size) noexcept {
  if (planned.rank < 3 || planned.staged || planned.leaf_tile.streamed) return;
  const std::size_t rows = planned.rank - 3;
  const std::int64_t bytes =
      planned.axes[planned.rank - 2].extent * planned.axes[planned.rank - 2].destination_stride;
  if (bytes > most_masked_bytes || !planned.in_source_run(planned.axes[planned.rank - 2])) return;
  std::size_t planes = no_axis;
  for (std::size_t i = 0; i <= rows; ++i) {
    if (planned.axes[i].bounded() || !planned.in_source_run(planned.axes[i])) continue;
    if (planes == no_axis || planned.axes[i].extent > planned.axes[planes].extent) planes = i;
  }
  if (planes == no_axis || planned.axes[planes].extent < 4) return;
  rotate_axis(planned, planes, rows);
  set_out_tile(planned, element_size, rows);
  planned.masked = true;
}

/// Plans to move by leaves. Requires plan(moves). Returns the bytes of an element.
inline std::int64_t set_out_leaves(plan& planned, std::int64_t element_size) noexcept {
  element_size = simplify(planned, element_size);
  planned.whole_bytes = std::max(planned.whole_bytes, total_bytes(planned, element_size));
  pair_contiguous_axes(planned, element_size);
  planned.joined = join_rows(planned, element_size);
  if (planned.joined == tile::axis::neither) order_rows(planned, element_size);
  set_out_tile(planned, element_size);
  stream_output(planned, element_size);
  widen_tile(planned, element_size);
  planned.shifted = is_shifted(planned, element_size);
  if (planned.shifted) set_out_masks(planned, element_size);
  return element_size;
}

/// Does the same as plan_moves in place, because plans are large. Requires plan(moves).
inline void set_out_moves(plan& planned, const layout& moves, std::int64_t element_size, const movers& by,
                          instruction_set set) noexcept {
  planned.look_up = by.look_up;
  planned.lookup_width = lookup_width(set);
  planned.empty = is_empty(moves, element_size);
  if (planned.empty) return;
  const mover_costs costs = mover_costs::of(set);
  const std::int64_t single_size = element_size;
  element_size = set_out_leaves(planned, single_size);
  const bool is_slow_tile =
      planned.shifted ? planned.leaf_tile.outer.extent * planned.leaf_tile.inner.extent * element_size <=
                            static_cast<std::int64_t>(pattern::most_bytes)
                      : is_slow(planned.leaf_tile, planned.lookup_width, costs);
  if (is_slow_tile && may_be_pattern(planned, element_size, planned.lookup_width)) {
    const tile by_leaf = planned.leaf_tile;
    layout ordered;
    ordered.take(moves);
    simplify(ordered, single_size);
    if (set_out_pattern(planned, ordered, element_size)) {
      planned.shifted = planned.masked = false;
      const auto bytes = static_cast<double>(total_bytes(moves, single_size));
      if (planned.lookup_width < 64 && !planned.repeated.bounded &&
          cost_of_pattern(planned, costs, bytes) > bytes * streams_cost_per_byte(by_leaf, costs)) {
        new (&planned) plan(moves);
        planned.look_up = by.look_up;
        planned.lookup_width = lookup_width(set);
        set_out_leaves(planned, single_size);
      }
    }
  }
  if (planned.leaf == nullptr)
    planned.leaf = by.choose_leaf(planned.least_tile(), planned.streams_are_fixed, planned.lookup_width);
}

/// Plans to move every element of `moves`, each `element_size` bytes, in the best order. Requires that the destination does not
/// overlap itself.
inline plan plan_moves(const layout& moves, std::int64_t element_size, const movers& by,
                       instruction_set set = usable_instruction_set()) noexcept {
  plan planned(moves);
  set_out_moves(planned, moves, element_size, by, set);
  return planned;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
