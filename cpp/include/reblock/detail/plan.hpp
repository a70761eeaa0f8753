// SPDX-License-Identifier: BSD-3-Clause
//
// A plan has a layout in its canonical form: the fewest axes for the same moves, in the order of the destination, with the
// largest element that both sides share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/leaves.hpp>
#include <reblock/detail/movers.hpp>
#include <reblock/detail/pattern.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

inline constexpr std::size_t no_axis = max_axes;
/// Outputs of at least this many bytes go past the caches, if their sources are as large. Both are larger than most
/// last-level caches, so a later read of the output would not find it there.
inline constexpr std::int64_t streamed_bytes = std::int64_t{32} * 1024 * 1024;
/// Bytes of the buffer that tiles go through: it fits the second-level cache.
inline constexpr std::int64_t staging_bytes = 32 * 1024;
/// Bytes of the largest plane that has a mask.
inline constexpr std::int64_t most_masked_bytes = 4096;

/// A repetition is a pattern that repeats along one of the walked axes, in pieces of `extent` indices. The last piece ends
/// where the axis ends, so it may overlap the piece before.
struct repetition {
  pattern table;          ///< for every index inside; bounded patterns make other tables while the plan runs
  sibling_axis siblings;  ///< an axis, or a part of one, that was removed from the plan
  bool bounded = false;
  std::size_t inner = no_axis;  ///< the axes of the pattern begin here
  std::size_t along = no_axis;
  std::int64_t extent = 1;
  std::size_t bytes = 0;  ///< bytes that an index of the axis fills, without gaps
  /// Indices of the axis that one call moves, whole pieces: their bytes stay in the first-level cache.
  std::int64_t at_once = 1;
  /// An axis without a bound, before the inner axes and behind `along`. One call also moves `rows_at_once` of its indices.
  std::size_t rows = no_axis;
  std::int64_t rows_at_once = 1;
};

/// A plan is trivially copyable. Axes [0, walked) are walked one index at a time. The axes behind them, up to four, are
/// the tile of the leaf.
struct plan : layout {
  plan() noexcept = default;
  explicit plan(const layout& moves) noexcept { take(moves); }

  std::size_t walked = 0;
  /// In the tile, the third axis from the end may be joined to this one of the innermost two axes.
  tile::axis joined = tile::axis::neither;
  /// For each axis, the axis behind it with the same bound, or no_axis. The index of the first decides the second's range.
  std::array<std::size_t, max_axes> decides;
  /// The axes from this one on have no gaps between their destination elements.
  std::size_t dense_from = 0;
  tile leaf_tile{};
  /// Whether all tiles have the extents of leaf_tile; else bounds may narrow them.
  bool extents_are_fixed = false;
  /// Whether the inner two axes of all tiles have these extents: then only rows and slices may be fewer.
  bool streams_are_fixed = false;
  /// The functions that move a tile and look patterns up.
  leaf_function leaf = nullptr;
  look_up_function look_up = nullptr;
  /// Bytes of the registers that bytes are looked up in, and that leaves may use; 0: only the baseline's registers.
  std::size_t lookup_width = 0;
  /// Whether rows of the tile have the same distance on both sides, and only source elements between them. Then one run
  /// moves them, and the ends of rows are repaired.
  bool shifted = false;
  /// Whether a shifted plan uses a mask of the whole plane, for many planes one after the other.
  bool masked = false;
  /// Whether tiles are moved into a buffer and go past the caches from there.
  bool staged = false;
  /// Whether there is nothing to move: an extent or the element size is 0.
  bool empty = false;
  /// If there is a pattern, it moves the axes that are not walked, instead of the leaf.
  repetition repeated;

  /// Returns the tile with the rows and slices that every tile has at least. Leaves are chosen for it.
  constexpr tile least_tile() const noexcept;
  constexpr bool repeats() const noexcept { return repeated.along != no_axis; }
  /// Returns all moves: the axes and the siblings of a pattern.
  constexpr layout whole() const noexcept;
};
static_assert(std::is_trivially_copyable_v<plan>);

constexpr tile plan::least_tile() const noexcept {
  tile least = leaf_tile;
  for (std::size_t i = walked; i < rank; ++i) {
    if (axes[i].bounded()) (least.*tile_axes[tile_axes.size() - rank + i]).extent = 1;
  }
  return least;
}

constexpr layout plan::whole() const noexcept {
  layout all = *this;
  const auto extent = static_cast<std::int64_t>(repeated.siblings.extent);
  const layout_axis siblings{extent, repeated.siblings.source_stride, repeated.siblings.destination_stride};
  if (extent == 1) return all;
  for (std::size_t i = 0; i < rank; ++i) {  // finds the rest of the siblings' axis
    if (axes[i].bounded() || axes[i].source_stride != extent * siblings.source_stride ||
        axes[i].destination_stride != extent * siblings.destination_stride) {
      continue;
    }
    all.axes[i] = {extent * axes[i].extent, siblings.source_stride, siblings.destination_stride};
    return all;
  }
  all.add(siblings);
  return all;
}

/// Removes the bounds that hold everywhere, so that their axes are free.
constexpr void drop_idle_bounds(layout& moves) noexcept {
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

constexpr void drop_single_indices(layout& moves) noexcept {
  for (std::size_t i = moves.rank; i-- > 0;) {
    if (moves.axes[i].extent == 1 && !moves.axes[i].bounded()) moves.remove(i);
  }
}

/// Makes all destination strides positive and orders the axes, the longest destination stride first.
constexpr void order_by_destination(layout& moves) noexcept {
  for (std::size_t i = 0; i < moves.rank; ++i) {
    if (moves.axes[i].destination_stride < 0) moves.reverse(i);
    for (std::size_t j = i; j > 0; --j) {
      if (moves.axes[j - 1].destination_stride >= moves.axes[j].destination_stride) break;
      std::swap(moves.axes[j - 1], moves.axes[j]);
    }
  }
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
constexpr void rotate_axis(layout& moves, std::size_t from, std::size_t to) noexcept {
  for (; from < to; ++from) std::swap(moves.axes[from], moves.axes[from + 1]);
  for (; from > to; --from) std::swap(moves.axes[from], moves.axes[from - 1]);
}

/// Moves the axis along which the source is contiguous next to the innermost axis. Then the leaf reads and writes whole
/// lines.
constexpr void pair_contiguous_axes(layout& moves, std::int64_t element_size) noexcept {
  if (moves.rank < 2) return;
  const layout_axis& inner = moves.axes[moves.rank - 1];
  if (inner.destination_stride != element_size || inner.source_stride == element_size) return;
  for (std::size_t i = 0; i + 1 < moves.rank; ++i) {
    if (moves.axes[i].source_stride != element_size || share_bound(moves.axes[i], inner)) continue;
    for (; i + 2 < moves.rank; ++i) std::swap(moves.axes[i], moves.axes[i + 1]);
    return;
  }
}

/// Finds an axis that continues one of the innermost two axes: a dense row of the source behind the outer axis, or a dense
/// row of the destination behind the inner axis. Moves it next to these two and returns which of them it is joined to.
constexpr tile::axis join_rows(layout& moves, std::int64_t element_size) noexcept {
  if (moves.rank < 3) return tile::axis::neither;
  const layout_axis& inner = moves.axes[moves.rank - 1];
  const layout_axis& outer = moves.axes[moves.rank - 2];
  if (outer.source_stride != element_size || inner.destination_stride != element_size || inner.bounded() ||
      outer.bounded() || !has_squares(element_size)) {
    return tile::axis::neither;
  }
  // Leaves handle a few streams without joined rows, unless these rows are shorter than the rows of slightly more streams.
  const auto few_streams = [element_size](const layout_axis& streams, std::int64_t stride) {
    return streams.extent <= 8 && stride == streams.extent * element_size;
  };
  const auto is_long = [element_size](const layout_axis& along) {
    return along.extent * element_size >= std::int64_t{sizeof(register_bytes)};
  };
  const bool few_inner = few_streams(inner, outer.destination_stride);
  const bool few_outer = few_streams(outer, inner.source_stride);
  if ((few_inner && is_long(outer)) || (few_outer && is_long(inner))) return tile::axis::neither;
  const std::int64_t limit = few_inner || few_outer ? 16 : stream_offsets::limit;
  for (std::size_t i = 0; i + 2 < moves.rank; ++i) {
    const layout_axis& rows = moves.axes[i];
    const auto joins = [&](std::int64_t extent, std::int64_t rows_stride, std::int64_t dense_stride) {
      return !rows.bounded() && extent > 0 && rows.extent <= limit / extent &&
             rows_stride == extent * element_size && dense_stride == rows.extent * rows_stride;
    };
    const bool outwards = joins(outer.extent, rows.source_stride, inner.source_stride);
    if (outwards || joins(inner.extent, rows.destination_stride, outer.destination_stride)) {
      rotate_axis(moves, i, moves.rank - 3);
      return outwards ? tile::axis::outer : tile::axis::inner;
    }
  }
  return tile::axis::neither;
}

/// Orders axes [0, count), the longest source stride first.
constexpr void order_by_source(layout& moves, std::size_t count) noexcept {
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t j = i; j > 0; --j) {
      if (magnitude(moves.axes[j - 1].source_stride) >= magnitude(moves.axes[j].source_stride)) break;
      std::swap(moves.axes[j - 1], moves.axes[j]);
    }
  }
}

/// Tells whether streams along two axes evict each other from a first-level cache. The cache has eight or more places for
/// addresses that are equal modulo 4096 bytes.
constexpr bool compete(std::int64_t extent, std::int64_t stride, std::int64_t other_extent,
                       std::int64_t other_stride) noexcept {
  constexpr std::int64_t page = 4096;
  constexpr std::int64_t line = 64;
  constexpr int limit = 4;  // neighbours of these lines, and the other side, need places as well
  if (extent < 1 || extent > 256 || other_extent > 256 / extent || extent * other_extent <= limit)
    return false;
  std::array<int, page / line> streams{};
  for (std::int64_t i = 0; i < extent; ++i) {
    for (std::int64_t j = 0; j < other_extent; ++j) {
      const std::int64_t offset =
          wrapping_add(wrapping_multiply(i, stride), wrapping_multiply(j, other_stride));
      if (++streams[static_cast<std::size_t>((offset & (page - 1)) / line)] > limit) return true;
    }
  }
  return false;
}

/// Tells whether the source is read several times, and so may be in a cache.
constexpr bool rereads(const layout& moves, std::int64_t element_size) noexcept {
  return total_bytes(moves, element_size) >= 2 * source_reach(moves, 0, element_size);
}

/// Tells whether the output is large enough to be written past the caches. Requires moves.whole_bytes.
constexpr bool goes_past_caches(const layout& moves, std::int64_t element_size) noexcept {
  return moves.whole_bytes >= streamed_bytes &&
         moves.whole_bytes >= streamed_bytes * (rereads(moves, element_size) ? 2 : 1);
}

/// Orders the walked axes. If the tile's source is one dense row, rows are walked in the order of the source. The side with
/// long rows, the image, decides how well caches work. Streams that compete are taken a few at a time, unless separated
/// streams are so few that they go past the caches.
constexpr void order_rows(layout& moves, std::int64_t element_size) noexcept {
  if (moves.rank < 3) return;
  const std::size_t rows = moves.rank - 3;
  const layout_axis& inner = moves.axes[moves.rank - 1];
  const layout_axis& outer = moves.axes[moves.rank - 2];
  if (outer.source_stride != element_size || inner.destination_stride != element_size) return;
  const bool separates = inner.source_stride == outer.extent * element_size;
  if (separates) order_by_source(moves, rows + 1);
  if (separates && may_stream_apart(outer.extent) && goes_past_caches(moves, element_size)) {
    std::int64_t places = inner.extent * element_size;
    for (std::size_t i = 0; i + 1 < moves.rank; ++i) places |= moves.axes[i].destination_stride;
    if (places % std::int64_t{sizeof(register_bytes)} == 0) return;
  }
  const layout_axis& next = moves.axes[rows];
  const bool is_crowded =
      separates ? compete(outer.extent, outer.destination_stride, next.extent, next.destination_stride)
                : compete(inner.extent, inner.source_stride, next.extent, next.source_stride);
  if (is_crowded && rows > 0) rotate_axis(moves, rows, rows - 1);
}

constexpr void note_decisions(plan& planned) noexcept {
  for (std::size_t i = 0; i < planned.rank; ++i) {
    planned.decides[i] = no_axis;
    for (std::size_t j = i + 1; j < planned.rank; ++j) {
      if (share_bound(planned.axes[i], planned.axes[j])) planned.decides[i] = j;
    }
  }
}

/// Splits the axes into walked axes and the leaf's axes, and sets the members that the walk needs.
constexpr void set_out_tile(plan& planned, std::int64_t element_size, std::size_t least_walked = 0) noexcept {
  const std::size_t limit = tile_axes.size();
  planned.leaf_tile = {};
  planned.walked = planned.rank;
  for (std::size_t taken = 0; planned.walked > least_walked && taken < limit; ++taken) {
    const layout_axis& next = planned.axes[planned.walked - 1];
    bool shares = false;
    for (std::size_t i = planned.walked; i < planned.rank; ++i)
      shares = shares || share_bound(next, planned.axes[i]);
    if (shares) break;
    --planned.walked;
    planned.leaf_tile.*
        tile_axes[limit - 1 - taken] = {next.extent, next.source_stride, next.destination_stride};
  }
  planned.leaf_tile.element_size = static_cast<std::size_t>(element_size);
  if (planned.rank - planned.walked >= 3) planned.leaf_tile.joined = planned.joined;
  if (planned.rank == 0) planned.leaf_tile.inner = {1, element_size, element_size};
  const std::size_t streams = planned.leaf_tile.joined == tile::axis::neither ? 2 : 3;  // axes
  planned.extents_are_fixed = planned.streams_are_fixed = true;
  for (std::size_t i = planned.walked; i < planned.rank; ++i) {
    if (!planned.axes[i].bounded()) continue;
    planned.extents_are_fixed = false;
    if (i + streams >= planned.rank) planned.streams_are_fixed = false;
  }

  planned.dense_from = planned.rank;
  std::int64_t dense_bytes = element_size;
  for (std::size_t i = planned.rank; i-- > 0 && planned.axes[i].destination_stride == dense_bytes;) {
    dense_bytes *= planned.axes[i].extent;
    planned.dense_from = i;
  }
  note_decisions(planned);
}

constexpr bool is_shifted(const plan& planned, std::int64_t element_size) noexcept {
  if (planned.rank < 2 || planned.rank - planned.walked < 2) return false;
  const layout_axis& inner = planned.axes[planned.rank - 1];
  const layout_axis& outer = planned.axes[planned.rank - 2];
  return inner.bounded() && inner.source_stride == element_size && inner.destination_stride == element_size &&
         inner.bound_step == 1 && outer.source_stride == outer.destination_stride &&
         outer.source_stride == planned.bounds[inner.bound].extent * element_size &&
         outer.destination_stride == inner.extent * element_size;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
