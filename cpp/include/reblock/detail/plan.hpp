// SPDX-License-Identifier: BSD-3-Clause
//
// The canonical form of a layout: as few axes as describe the same moves, in the order in which the
// destination is written, with the largest element that both sides share.
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
/// Outputs from this size on go past the caches, if their sources are as large: both are more than the last of them
/// usually has, and whoever reads next will not find them there anyhow.
inline constexpr std::int64_t streamed_bytes = std::int64_t{32} * 1024 * 1024;
/// Bytes of the buffer that tiles go through: little enough for the second-level cache.
inline constexpr std::int64_t staging_bytes = 32 * 1024;
/// Bytes of the largest plane that has a mask.
inline constexpr std::int64_t most_masked_bytes = 4096;

/// A pattern that repeats along one of the walked axes, in pieces of `extent` indices. The last piece ends
/// where the axis ends, over what the one before has done already.
struct repetition {
  pattern table;          ///< unless it is bounded: then what is inside decides about the table
  sibling_axis siblings;  ///< an axis, or a part of one, that the plan does not have any more
  bool bounded = false;
  std::size_t inner = no_axis;  ///< the axes of the pattern begin here
  std::size_t along = no_axis;
  std::int64_t extent = 1;
  std::size_t bytes = 0;  ///< that an index of the axis fills, without gaps
  /// Indices of the axis that are moved at a time, whole pieces: what stays in the first-level cache.
  std::int64_t at_once = 1;
  /// The axis before the inner ones, where it has no bound and lies within `along`: its indices are moved together
  /// as well, as many at a time.
  std::size_t rows = no_axis;
  std::int64_t rows_at_once = 1;
};

/// A trivially copyable value. Axes [0, walked) are walked one index at a time; those behind them,
/// up to four, make up the tile of the leaf.
struct plan : layout {
  plan() noexcept = default;
  explicit plan(const layout& l) noexcept { take(l); }

  std::size_t walked = 0;
  /// The axis of the innermost two, if any, that the third one from the end is joined to in the tile.
  tile::axis joined = tile::axis::neither;
  /// For each axis the axis behind it whose range its index decides (they share a bound), or no_axis.
  std::array<std::size_t, max_axes> decides;
  /// The axes from this one on have no gaps between their destination elements.
  std::size_t dense_from = 0;
  tile leaf_tile{};
  /// Whether tiles always have the extents of leaf_tile, or are narrowed to what lies inside the bounds.
  bool extents_are_fixed = false;
  /// Whether its inner two axes always have these extents, so that only its rows and slices may be fewer.
  bool streams_are_fixed = false;
  /// What moves a tile, and what looks patterns up.
  leaf_function leaf = nullptr;
  look_up_function look_up = nullptr;
  /// Bytes of the registers that bytes are looked up in, and that leaves may use; 0: the baseline's alone.
  std::size_t lookup_width = 0;
  /// Not null: what is moved are terms, which become sums, by the leaf itself where it `settles`.
  const settling* sums = nullptr;
  bool settles = false;
  /// Whether the rows of the tile follow each other on both sides at the same distance with nothing but
  /// elements of the source between them, so that they can be moved as one run and mended at their ends.
  bool shifted = false;
  /// Whether that is done by a mask of the whole plane, for many planes after each other.
  bool masked = false;
  /// Whether tiles are put together in a buffer and go past the caches from there.
  bool staged = false;
  /// Whether there is nothing to move: an extent or the element size is 0.
  bool empty = false;
  /// Where there is one, the axes that are not walked are moved as a pattern, not by the leaf.
  repetition repeated;

  /// The tile with no more rows and slices than there always are, for which leaves are chosen.
  constexpr tile least_tile() const noexcept;
  constexpr bool repeats() const noexcept { return repeated.along != no_axis; }
  /// All that is moved: the axes, and the siblings of a pattern.
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
  for (std::size_t i = 0; i < rank; ++i) {  // the rest of their axis, if there is one
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

/// Forgets the bounds that hold everywhere, so that their axes are as free as any other.
constexpr void drop_idle_bounds(layout& l) noexcept {
  for (std::size_t b = 0; b < l.bound_count; ++b) {
    std::int64_t least = l.bounds[b].offset;
    std::int64_t most = least;
    for (std::size_t i = 0; i < l.rank; ++i) {
      if (l.axes[i].bound != b) continue;
      const std::int64_t reach = l.axes[i].bound_step * (l.axes[i].extent - 1);
      (reach < 0 ? least : most) += reach;
    }
    if (least < 0 || most >= l.bounds[b].extent) continue;
    for (std::size_t i = 0; i < l.rank; ++i) {
      if (l.axes[i].bound == b) l.axes[i].bound = no_bound;
    }
  }
}

constexpr void drop_single_indices(layout& l) noexcept {
  for (std::size_t i = l.rank; i-- > 0;) {
    if (l.axes[i].extent == 1 && !l.axes[i].bounded()) l.remove(i);
  }
}

/// Every axis upwards in the destination, the longest stride first.
constexpr void order_by_destination(layout& l) noexcept {
  for (std::size_t i = 0; i < l.rank; ++i) {
    if (l.axes[i].destination_stride < 0) l.reverse(i);
    for (std::size_t j = i; j > 0; --j) {
      if (l.axes[j - 1].destination_stride >= l.axes[j].destination_stride) break;
      std::swap(l.axes[j - 1], l.axes[j]);
    }
  }
}

/// Makes one axis of two neighbours where the outer one goes on, on both sides, where the inner ends. One along which all
/// may be read stays so.
constexpr void merge_nested(layout& l) noexcept {
  for (std::size_t i = l.rank; i-- > 1;) {
    layout_axis& outer = l.axes[i - 1];
    const layout_axis& inner = l.axes[i];
    if (outer.bounded() || inner.bounded() || l.in_source_run(outer) != l.in_source_run(inner) ||
        outer.source_stride != wrapping_multiply(inner.source_stride, inner.extent) ||
        outer.destination_stride != wrapping_multiply(inner.destination_stride, inner.extent)) {
      continue;
    }
    outer.extent *= inner.extent;
    outer.source_stride = inner.source_stride;
    outer.destination_stride = inner.destination_stride;
    l.remove(i);
  }
}

/// Moves axis `from` to the place of axis `to`; those between make room.
constexpr void rotate_axis(layout& l, std::size_t from, std::size_t to) noexcept {
  for (; from < to; ++from) std::swap(l.axes[from], l.axes[from + 1]);
  for (; from > to; --from) std::swap(l.axes[from], l.axes[from - 1]);
}

/// Brings the axis along which the source is contiguous next to the innermost one: the leaf then
/// reads whole lines and writes whole lines.
constexpr void pair_contiguous_axes(layout& l, std::int64_t element_size) noexcept {
  if (l.rank < 2) return;
  const layout_axis& inner = l.axes[l.rank - 1];
  if (inner.destination_stride != element_size || inner.source_stride == element_size) return;
  for (std::size_t i = 0; i + 1 < l.rank; ++i) {
    if (l.axes[i].source_stride != element_size || share_bound(l.axes[i], inner)) continue;
    for (; i + 2 < l.rank; ++i) std::swap(l.axes[i], l.axes[i + 1]);
    return;
  }
}

/// Brings the axis along which a dense row of the source goes on where the outer axis ends, or one of the
/// destination where the inner axis ends, next to these two, and returns which of them it is joined to.
constexpr tile::axis join_rows(layout& l, std::int64_t element_size) noexcept {
  if (l.rank < 3) return tile::axis::neither;
  const layout_axis& inner = l.axes[l.rank - 1];
  const layout_axis& outer = l.axes[l.rank - 2];
  if (outer.source_stride != element_size || inner.destination_stride != element_size || inner.bounded() ||
      outer.bounded() || !has_squares(element_size)) {
    return tile::axis::neither;
  }
  // A few streams are a leaf's business already, unless their rows are shorter than those of not many more.
  const auto few_streams = [element_size](const layout_axis& streams, std::int64_t stride) {
    return streams.extent <= 8 && stride == streams.extent * element_size;
  };
  const auto is_long = [element_size](const layout_axis& along) {
    return along.extent * element_size >= std::int64_t{sizeof(register_bytes)};
  };
  const bool few_inner = few_streams(inner, outer.destination_stride);
  const bool few_outer = few_streams(outer, inner.source_stride);
  if ((few_inner && is_long(outer)) || (few_outer && is_long(inner))) return tile::axis::neither;
  const std::int64_t most = few_inner || few_outer ? 16 : stream_offsets::most;
  for (std::size_t i = 0; i + 2 < l.rank; ++i) {
    const layout_axis& rows = l.axes[i];
    const auto joins = [&](std::int64_t extent, std::int64_t rows_stride, std::int64_t dense_stride) {
      return !rows.bounded() && extent > 0 && rows.extent <= most / extent &&
             rows_stride == extent * element_size && dense_stride == rows.extent * rows_stride;
    };
    const bool outwards = joins(outer.extent, rows.source_stride, inner.source_stride);
    if (outwards || joins(inner.extent, rows.destination_stride, outer.destination_stride)) {
      rotate_axis(l, i, l.rank - 3);
      return outwards ? tile::axis::outer : tile::axis::inner;
    }
  }
  return tile::axis::neither;
}

/// Axes [0, count): the longest source stride first.
constexpr void order_by_source(layout& l, std::size_t count) noexcept {
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t j = i; j > 0; --j) {
      if (magnitude(l.axes[j - 1].source_stride) >= magnitude(l.axes[j].source_stride)) break;
      std::swap(l.axes[j - 1], l.axes[j]);
    }
  }
}

/// Whether so many streams, along two axes with these strides, would have the same places in a first-level cache that
/// they drive each other out of it: it has eight or more for addresses that are the same modulo 4096.
constexpr bool compete(std::int64_t extent, std::int64_t stride, std::int64_t other_extent,
                       std::int64_t other_stride) noexcept {
  constexpr std::int64_t page = 4096;
  constexpr std::int64_t line = 64;
  constexpr int most = 4;  // since neighbours of these lines, and the other side, want places as well
  if (extent < 1 || extent > 256 || other_extent > 256 / extent || extent * other_extent <= most)
    return false;
  std::array<int, page / line> streams{};
  for (std::int64_t i = 0; i < extent; ++i) {
    for (std::int64_t j = 0; j < other_extent; ++j) {
      const std::int64_t offset =
          wrapping_add(wrapping_multiply(i, stride), wrapping_multiply(j, other_stride));
      if (++streams[static_cast<std::size_t>((offset & (page - 1)) / line)] > most) return true;
    }
  }
  return false;
}

/// Whether the source is read several times, and so may be in a cache.
constexpr bool rereads(const layout& l, std::int64_t element_size) noexcept {
  return total_bytes(l, element_size) >= 2 * source_reach(l, 0, element_size);
}

/// Whether the output is so large that it had better be written past the caches. Requires l.whole_bytes.
constexpr bool goes_past_caches(const layout& l, std::int64_t element_size) noexcept {
  return l.whole_bytes >= streamed_bytes &&
         l.whole_bytes >= streamed_bytes * (rereads(l, element_size) ? 2 : 1);
}

/// Orders the axes that are walked. Where the tile's source is one dense row, rows are walked in the order of the source:
/// the image, the side with the long rows, decides how well caches work, be it read or written. But streams that
/// would compete are taken a few at a time, unless so few are separated that they go past the caches.
constexpr void order_rows(layout& l, std::int64_t element_size) noexcept {
  if (l.rank < 3) return;
  const std::size_t rows = l.rank - 3;
  const layout_axis& inner = l.axes[l.rank - 1];
  const layout_axis& outer = l.axes[l.rank - 2];
  if (outer.source_stride != element_size || inner.destination_stride != element_size) return;
  const bool separates = inner.source_stride == outer.extent * element_size;
  if (separates) order_by_source(l, rows + 1);
  if (separates && may_stream_apart(outer.extent) && goes_past_caches(l, element_size)) {
    std::int64_t places = inner.extent * element_size;
    for (std::size_t i = 0; i + 1 < l.rank; ++i) places |= l.axes[i].destination_stride;
    if (places % std::int64_t{sizeof(register_bytes)} == 0) return;
  }
  const layout_axis& next = l.axes[rows];
  const bool is_crowded =
      separates ? compete(outer.extent, outer.destination_stride, next.extent, next.destination_stride)
                : compete(inner.extent, inner.source_stride, next.extent, next.source_stride);
  if (is_crowded && rows > 0) rotate_axis(l, rows, rows - 1);
}

constexpr void note_decisions(plan& p) noexcept {
  for (std::size_t i = 0; i < p.rank; ++i) {
    p.decides[i] = no_axis;
    for (std::size_t j = i + 1; j < p.rank; ++j) {
      if (share_bound(p.axes[i], p.axes[j])) p.decides[i] = j;
    }
  }
}

/// Splits the axes into those that are walked and those of the leaf, and notes what the walk needs.
constexpr void set_out_tile(plan& p, std::int64_t element_size, std::size_t least_walked = 0) noexcept {
  const std::size_t most = tile_axes.size();
  p.leaf_tile = {};
  p.walked = p.rank;
  for (std::size_t taken = 0; p.walked > least_walked && taken < most; ++taken) {
    const layout_axis& next = p.axes[p.walked - 1];
    bool shares = false;
    for (std::size_t i = p.walked; i < p.rank; ++i) shares = shares || share_bound(next, p.axes[i]);
    if (shares) break;
    --p.walked;
    p.leaf_tile.*tile_axes[most - 1 - taken] = {next.extent, next.source_stride, next.destination_stride};
  }
  p.leaf_tile.element_size = static_cast<std::size_t>(element_size);
  if (p.rank - p.walked >= 3) p.leaf_tile.joined = p.joined;
  if (p.rank == 0) p.leaf_tile.inner = {1, element_size, element_size};
  const std::size_t streams = p.leaf_tile.joined == tile::axis::neither ? 2 : 3;  // axes
  p.extents_are_fixed = p.streams_are_fixed = true;
  for (std::size_t i = p.walked; i < p.rank; ++i) {
    if (!p.axes[i].bounded()) continue;
    p.extents_are_fixed = false;
    if (i + streams >= p.rank) p.streams_are_fixed = false;
  }

  p.dense_from = p.rank;
  std::int64_t dense_bytes = element_size;
  for (std::size_t i = p.rank; i-- > 0 && p.axes[i].destination_stride == dense_bytes;) {
    dense_bytes *= p.axes[i].extent;
    p.dense_from = i;
  }
  note_decisions(p);
}

constexpr bool is_shifted(const plan& p, std::int64_t element_size) noexcept {
  if (p.rank < 2 || p.rank - p.walked < 2) return false;
  const layout_axis& inner = p.axes[p.rank - 1];
  const layout_axis& outer = p.axes[p.rank - 2];
  return inner.bounded() && inner.source_stride == element_size && inner.destination_stride == element_size &&
         inner.bound_step == 1 && outer.source_stride == outer.destination_stride &&
         outer.source_stride == p.bounds[inner.bound].extent * element_size &&
         outer.destination_stride == inner.extent * element_size;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
