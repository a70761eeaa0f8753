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

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/leaves.hpp>
#include <reblock/detail/pattern.hpp>

namespace reblock::detail {

inline constexpr std::size_t no_axis = max_axes;

/// A pattern that repeats along one of the walked axes, in pieces of `extent` indices. The last piece ends
/// where the axis ends, over what the one before has done already.
struct repetition {
  pattern table;  ///< unless it is bounded: then what is inside decides about the table
  bool bounded = false;
  std::size_t width = 0;        ///< bytes of the registers of the table
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
  explicit plan(const layout& l) noexcept : layout(l) {}

  std::size_t walked = 0;
  /// The axis of the innermost two, if any, that the third one from the end is joined to in the tile.
  tile::axis joined = tile::axis::neither;
  /// For each axis the axis behind it whose range its index decides (they share a bound), or no_axis.
  std::array<std::size_t, max_axes> decides{};
  /// The axes from this one on have no gaps between their destination elements.
  std::size_t dense_from = 0;
  tile leaf_tile{};
  /// Whether tiles always have the extents of leaf_tile, or are narrowed to what lies inside the bounds.
  bool extents_are_fixed = false;
  /// What moves a tile. Null: what choose_leaf() has for it, which the traversal asks, and not who plans, so
  /// that leaves are compiled only where operators run.
  leaf_function leaf = nullptr;
  /// Not null: what is moved are terms, which become sums, by the leaf itself where it `settles`.
  const settling* sums = nullptr;
  bool settles = false;
  /// Whether the rows of the tile follow each other on both sides at the same distance with nothing but
  /// elements of the source between them, so that they can be moved as one run and mended at their ends.
  bool shifted = false;
  /// Whether tiles are put together in a buffer and go past the caches from there.
  bool staged = false;
  /// Whether there is nothing to move: an extent or the element size is 0.
  bool empty = false;
  /// Where there is one, the axes that are not walked are moved as a pattern, not by the leaf.
  repetition repeated;

  constexpr bool repeats() const noexcept { return repeated.along != no_axis; }
};
static_assert(std::is_trivially_copyable_v<plan>);

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

/// Makes one axis of two neighbours where the outer one goes on, on both sides, where the inner ends.
constexpr void merge_nested(layout& l) noexcept {
  for (std::size_t i = l.rank; i-- > 1;) {
    layout_axis& outer = l.axes[i - 1];
    const layout_axis& inner = l.axes[i];
    if (outer.bounded() || inner.bounded() ||
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

constexpr bool share_bound(const layout_axis& a, const layout_axis& b) noexcept {
  return a.bounded() && a.bound == b.bound;
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

constexpr std::int64_t magnitude(std::int64_t stride) noexcept { return stride < 0 ? -stride : stride; }

/// Axes [0, count): the longest source stride first.
constexpr void order_by_source(layout& l, std::size_t count) noexcept {
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t j = i; j > 0; --j) {
      if (magnitude(l.axes[j - 1].source_stride) >= magnitude(l.axes[j].source_stride)) break;
      std::swap(l.axes[j - 1], l.axes[j]);
    }
  }
}

/// Where the tile's source is one dense row, rows are walked in the order of the source: the image, the
/// side with the long rows, decides how well caches work, be it read or written.
constexpr void follow_dense_source(layout& l, std::int64_t element_size) noexcept {
  if (l.rank < 3) return;
  const layout_axis& inner = l.axes[l.rank - 1];
  const layout_axis& outer = l.axes[l.rank - 2];
  if (outer.source_stride == element_size && inner.source_stride == outer.extent * element_size) {
    order_by_source(l, l.rank - 2);
  }
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
  p.extents_are_fixed = true;
  for (std::size_t i = p.walked; i < p.rank; ++i) {
    p.extents_are_fixed = p.extents_are_fixed && !p.axes[i].bounded();
  }

  p.dense_from = p.rank;
  std::int64_t dense_bytes = element_size;
  for (std::size_t i = p.rank; i-- > 0 && p.axes[i].destination_stride == dense_bytes;) {
    dense_bytes *= p.axes[i].extent;
    p.dense_from = i;
  }
  p.empty = element_size == 0;
  for (std::size_t i = 0; i < p.rank; ++i) p.empty = p.empty || p.axes[i].extent == 0;
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

/// From the first to the last byte that axes [first, rank) reach in the source.
constexpr std::int64_t source_reach(const layout& l, std::size_t first, std::int64_t element_size) noexcept {
  std::int64_t reach = element_size;
  for (std::size_t i = first; i < l.rank; ++i) {
    reach = wrapping_add(reach, wrapping_multiply(magnitude(l.axes[i].source_stride), l.axes[i].extent - 1));
  }
  return reach;
}

constexpr std::int64_t total_bytes(const layout& l, std::int64_t element_size) noexcept {
  std::int64_t total = element_size;
  for (std::size_t i = 0; i < l.rank; ++i) total *= l.axes[i].extent;
  return total;
}

/// How many indices of an axis, `bytes` each, make up a piece of a pattern: as few registers as possible
/// for all pieces, then as few indices as possible. 0 where a piece would not fill a register.
constexpr std::int64_t choose_piece(std::int64_t extent, std::int64_t bytes, std::int64_t most_bytes,
                                    std::int64_t width) noexcept {
  std::int64_t best = 0;
  std::int64_t best_count = 0;
  for (std::int64_t piece = ceil_divide(width, bytes); piece <= extent; ++piece) {
    if (best != 0 && piece * bytes > most_bytes) break;
    const std::int64_t count = ceil_divide(extent, piece) * ceil_divide(piece * bytes, width);
    // a longer piece has to save a sixteenth, since its table takes longer to work out
    if (best == 0 || count * 17 < best_count * 16) {
      best = piece;
      best_count = count;
    }
  }
  return best;
}

constexpr bool shares_bound(const layout& l, std::size_t i, std::size_t first) noexcept {
  for (std::size_t j = first; j < l.rank; ++j) {
    if (i != j && share_bound(l.axes[i], l.axes[j])) return true;
  }
  return false;
}

/// Finds an axis whose indices are moved together with the pieces of a pattern, `most_bytes` at a time, since
/// each call for pieces has a table to load. Requires that no axis is bounded: then their order is free.
constexpr void set_out_rows(plan& p, std::int64_t most_bytes) noexcept {
  repetition& r = p.repeated;
  const std::size_t rows = r.inner - 1;
  if (rows == r.along && rows > 0 && r.at_once >= p.axes[rows].extent) rotate_axis(p, r.along--, rows - 1);
  if (rows == r.along) return;
  const std::int64_t extent = p.axes[rows].extent;
  const std::int64_t bytes = std::min(r.at_once, p.axes[r.along].extent) * static_cast<std::int64_t>(r.bytes);
  r.rows = rows;
  r.rows_at_once = std::max<std::int64_t>(1, ceil_divide(extent, ceil_divide(extent * bytes, most_bytes)));
}

/// Finds a pattern of the innermost axes of `l`, which is in the order of the destination, and an axis
/// along which it repeats. Returns whether there is one; if not, `p` is as it was.
inline bool set_out_pattern(plan& p, const layout& l, std::int64_t element_size,
                            std::size_t lookup_width) noexcept {
  constexpr std::int64_t least_total = 2048;  // bytes that are worth a table
  constexpr std::int64_t usual = 200;         // bytes of a pattern
  constexpr auto most = static_cast<std::int64_t>(pattern::most_bytes);
  constexpr std::int64_t often = 8;
  const auto wide = static_cast<std::int64_t>(lookup_width);
  // lookups read whole registers
  if (lookup_width == 0 || !l.source_is_dense || total_bytes(l, element_size) < least_total) {
    return false;
  }
  std::size_t inner = l.rank;  // the axes from here on belong to the pattern as a whole
  std::size_t along = no_axis;
  std::int64_t piece = 1;
  std::int64_t bytes = element_size;
  bool bounded = false;
  while (along == no_axis && inner > 0) {
    const layout_axis& next = l.axes[inner - 1];
    if (next.destination_stride != bytes || shares_bound(l, inner - 1, inner)) break;
    const std::int64_t with_next = bytes * next.extent;
    if (!next.bounded() && with_next > (next.extent <= 4 ? most : usual)) {
      piece = choose_piece(next.extent, bytes, usual, wide);
      if (piece > 0 && next.extent >= often * piece) along = inner - 1;
    }
    if (along == no_axis) {
      if (with_next > most) break;
      bytes = with_next;
      bounded = bounded || next.bounded();
      --inner;
    }
  }
  if (along == no_axis) {
    piece = 1;
    for (std::size_t i = 0; i < inner; ++i) {
      if (shares_bound(l, i, inner)) continue;
      if (along == no_axis || l.axes[i].extent > l.axes[along].extent) along = i;
    }
  }
  bytes *= piece;
  if (along == no_axis || bytes < wide || bytes > most) return false;

  // first the axes that decide what is inside a pattern, then others, then the one along which it repeats
  layout ordered = l;
  rotate_axis(ordered, along, inner - 1);
  along = inner - 1;
  for (std::size_t i = 0, first = 0; i < along; ++i) {
    if (shares_bound(ordered, i, inner)) rotate_axis(ordered, i, first++);
  }
  repetition& r = p.repeated;
  layout one = ordered;
  one.axes[along].extent = piece;
  if (!bounded) {
    std::array<index_range, max_axes> whole;
    for (std::size_t i = 0; i < one.rank; ++i) whole[i] = {0, one.axes[i].extent};
    const auto axes = std::span(one.axes).subspan(along, one.rank - along);
    if (!r.table.make(lookup_width, axes, std::span(whole).subspan(along), element_size)) return false;
  }
  static_cast<layout&>(p) = ordered;
  p.joined = tile::axis::neither;
  r.along = along;
  r.inner = inner;
  r.bounded = bounded;
  r.width = lookup_width;
  r.extent = piece;
  r.bytes = static_cast<std::size_t>(bytes / piece);
  constexpr std::int64_t written_at_once = 8192;
  constexpr std::int64_t read_at_once = 32768;
  const std::int64_t advance = magnitude(wrapping_multiply(ordered.axes[along].source_stride, piece));
  const std::int64_t pieces =
      std::min(written_at_once / bytes, read_at_once / std::max<std::int64_t>(advance, 1));
  r.at_once = std::max<std::int64_t>(1, pieces) * piece;
  set_out_tile(p, element_size, inner);
  p.leaf = nullptr;
  p.extents_are_fixed = false;
  p.settles = false;
  // Axes that reach into the source of a pattern come next to it, unless what is outside would then have to
  // be told from what is inside between the pieces.
  const auto is_bounded = [](const layout_axis& other) { return other.bounded(); };
  if (std::none_of(p.axes.begin(), p.axes.begin() + p.rank, is_bounded)) {
    const std::int64_t reach = source_reach(one, along, element_size);
    const auto near = [reach](const layout_axis& other) { return magnitude(other.source_stride) <= reach; };
    if (std::any_of(p.axes.begin(), p.axes.begin() + along, near)) {
      order_by_source(p, along);
      const std::int64_t step = wrapping_multiply(magnitude(p.axes[along].source_stride), r.at_once);
      while (r.along > 0 && magnitude(p.axes[r.along - 1].source_stride) < step) {
        rotate_axis(p, r.along, r.along - 1);
        --r.along;
      }
    }
    set_out_rows(p, written_at_once);
  }
  note_decisions(p);
  return true;
}

/// Outputs from this size on go past the caches: they are larger than the last of them usually is, and
/// whoever reads them next will not find them there anyhow.
inline constexpr std::int64_t streamed_bytes = std::int64_t{64} * 1024 * 1024;
/// Bytes of the buffer that tiles go through: little enough for the second-level cache.
inline constexpr std::int64_t staging_bytes = 64 * 1024;

/// Where the output is large, has it written past the caches: by the leaf where that fills whole lines in
/// order, else from a buffer, by tiles of as many axes as fit there.
constexpr void stream_output(plan& p, std::int64_t element_size) noexcept {
  const std::int64_t total = total_bytes(p, element_size);
  p.whole_bytes = std::max(p.whole_bytes, total);
  if (p.rank == 0 || p.whole_bytes < streamed_bytes) return;
  std::size_t first = p.rank;
  std::int64_t bytes = element_size;
  while (first > std::max(p.walked, p.dense_from) && bytes * p.axes[first - 1].extent <= staging_bytes) {
    bytes *= p.axes[--first].extent;
  }
  // While a buffer is read nothing is read from memory: little is lost where the source is in a cache
  // because it is read several times, else only where tiles are large.
  const bool rereads = total >= 2 * source_reach(p, 0, element_size);
  if (element_size > 16 || bytes < std::int64_t{rereads ? 2 : 12} * 1024 || interleaves(p.leaf_tile)) {
    p.leaf_tile.streamed = p.sums == nullptr;
  } else {
    set_out_tile(p, element_size, first);
    p.staged = true;
  }
}

/// Brings a layout to as few axes as possible, in the order of the destination. Returns the bytes of its
/// elements, which a contiguous axis that both sides share has become a part of.
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

/// Makes tiles small enough to be in the first-level cache still when they are settled.
constexpr void shorten_tile(plan& p, std::int64_t element_size) noexcept {
  constexpr std::int64_t most = std::int64_t{32} * 1024;
  std::size_t first = p.rank;
  std::int64_t bytes = element_size;
  while (first > p.walked && bytes * p.axes[first - 1].extent <= most) bytes *= p.axes[--first].extent;
  set_out_tile(p, element_size, first);
}

/// As plan_moves, in place, since plans are large. Requires plan(l).
inline void set_out_moves(plan& p, const layout& l, std::int64_t element_size, const settling* sums,
                          instruction_set set) noexcept {
  p.sums = sums;
  const std::int64_t single_size = element_size;
  element_size = simplify(p, single_size);
  pair_contiguous_axes(p, element_size);
  p.joined = join_rows(p, element_size);
  if (p.joined == tile::axis::neither) follow_dense_source(p, element_size);
  set_out_tile(p, element_size);
  stream_output(p, element_size);
  if (sums != nullptr && sums->choose_leaf != nullptr) {
    p.leaf = sums->choose_leaf(p.leaf_tile, p.extents_are_fixed);
  }
  p.settles = p.leaf != nullptr;
  if (sums != nullptr && !p.settles && !p.staged) shorten_tile(p, element_size);
  p.shifted = is_shifted(p, element_size);
  const bool is_small_plane =
      p.shifted && p.leaf_tile.outer.extent * p.leaf_tile.inner.extent * element_size <=
                       static_cast<std::int64_t>(pattern::most_bytes);
  if (is_small_plane || is_slow(p.leaf_tile)) {
    layout ordered = l;
    simplify(ordered, single_size);
    if (set_out_pattern(p, ordered, element_size, lookup_width(set))) p.shifted = false;
  }
}

/// Plans to move every element of `l`, each `element_size` bytes, in whatever order is best, as `sums` of one
/// term each unless that is null. Requires that the destination does not overlap itself.
inline plan plan_moves(const layout& l, std::int64_t element_size, const settling* sums = nullptr,
                       instruction_set set = usable_instruction_set()) noexcept {
  plan p(l);
  set_out_moves(p, l, element_size, sums, set);
  return p;
}

}  // namespace reblock::detail
