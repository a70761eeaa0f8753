// SPDX-License-Identifier: BSD-3-Clause
//
// simplify() brings a layout to its canonical form: the fewest axes for the same moves, in the order of the destination,
// with the largest element that both sides share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/simd/streams.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

inline constexpr std::size_t no_axis = max_axes;

/// Removes the bounds that hold everywhere, so that their axes are free.
[[gnu::noinline]] constexpr void drop_idle_bounds(layout& moves) noexcept {
  for (std::size_t b = 0; b < moves.bound_count; ++b) {
    std::int64_t lowest = moves.bounds[b].offset;
    std::int64_t highest = lowest;
    for (std::size_t i = 0; i < moves.rank; ++i) {
      if (moves.axes[i].bound != b) continue;
      const std::int64_t reach = moves.axes[i].bound_step * (moves.axes[i].extent - 1);
      (reach < 0 ? lowest : highest) += reach;
    }
    if (lowest < 0 || highest >= moves.bounds[b].extent) continue;
    for (std::size_t i = 0; i < moves.rank; ++i) {
      if (moves.axes[i].bound == b) moves.axes[i].bound = no_bound;
    }
  }
}

constexpr bool has_bounds(const layout& moves) noexcept {
  return std::any_of(moves.axes.begin(), moves.axes.begin() + moves.rank,
                     [](const layout_axis& axis) { return axis.bounded(); });
}

constexpr void drop_single_indices(layout& moves) noexcept {
  for (std::size_t i = moves.rank; i-- > 0;) {
    if (moves.axes[i].extent == 1 && !moves.axes[i].bounded()) moves.remove(i);
  }
}

/// Makes all destination strides positive.
constexpr void turn_to_destination(layout& moves) noexcept {
  for (std::size_t i = 0; i < moves.rank; ++i) {
    if (moves.axes[i].destination_stride < 0) moves.reverse(i);
  }
}

/// Tells whether the shorter stride of an axis is negative. A side is contiguous only along positive strides.
constexpr bool is_backwards(const layout_axis& axis) noexcept {
  const bool reads_nearer =
      axis.source_stride != 0 && magnitude(axis.source_stride) < magnitude(axis.destination_stride);
  return (reads_nearer ? axis.source_stride : axis.destination_stride) < 0;
}

/// Makes the shorter stride of each axis positive.
constexpr void turn_to_shorter_strides(layout& moves) noexcept {
  for (std::size_t i = 0; i < moves.rank; ++i) {
    if (is_backwards(moves.axes[i])) moves.reverse(i);
  }
}

/// Orders the axes, the longest destination stride first.
constexpr void order_by_destination(layout& moves) noexcept {
  sort_by_strides(std::span(moves.axes).first(moves.rank), &layout_axis::destination_stride);
}

/// Merges two neighbouring axes if, on both sides, the outer axis continues where the inner axis ends. It merges only axes
/// that are both within the source_run, or both not.
constexpr void merge_nested(layout& moves) noexcept {
  for (std::size_t i = moves.rank; i-- > 1;) {
    layout_axis& outer = moves.axes[i - 1];
    const layout_axis& inner = moves.axes[i];
    if (outer.bounded() || inner.bounded() || moves.in_source_run(outer) != moves.in_source_run(inner) ||
        outer.source_stride != wrapping_multiply(inner.source_stride, inner.extent) ||
        outer.destination_stride != wrapping_multiply(inner.destination_stride, inner.extent)) {
      continue;
    }
    outer.extent *= inner.extent;
    outer.source_stride = inner.source_stride;
    outer.destination_stride = inner.destination_stride;
    moves.remove(i);
  }
}

/// Moves axis `from` to the place of axis `to` and shifts the axes between.
[[gnu::noinline]] constexpr void rotate_axis(layout& moves, std::size_t from, std::size_t to) noexcept {
  for (; from < to; ++from) std::swap(moves.axes[from], moves.axes[from + 1]);
  for (; from > to; --from) std::swap(moves.axes[from], moves.axes[from - 1]);
}

/// Tells whether the output is so large that it should be written past the caches: with its source, it is larger than most
/// last-level caches, so a later read of the output would not find it there.
[[gnu::noinline]] constexpr bool goes_past_caches(const layout& moves, std::int64_t element_size) noexcept {
  const std::int64_t bytes = total_bytes(moves, element_size);
  const bool is_read_again = bytes / 2 >= source_reach(moves, 0, element_size);
  return has_streams &&
         std::max(moves.whole_bytes, bytes) >= cache_sizes::least_streamed * (is_read_again ? 2 : 1);
}

/// Reduces a layout to as few axes as possible, in the order of the destination. An axis that is contiguous on both sides
/// becomes a part of the elements. Returns the bytes of an element. No axis changes its direction.
constexpr std::int64_t simplify_as_turned(layout& moves, std::int64_t element_size) noexcept {
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

/// Does the same after all destination strides have become positive.
constexpr std::int64_t simplify(layout& moves, std::int64_t element_size) noexcept {
  turn_to_destination(moves);
  return simplify_as_turned(moves, element_size);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
