// SPDX-License-Identifier: BSD-3-Clause
//
// Which axes of a layout are moved as a pattern, and how many at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/pattern_cache.hpp>
#include <reblock/detail/plan.hpp>

namespace reblock::detail {

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
/// each call for pieces has a table to load. Requires that none of the axes that are walked is bounded: then their
/// order is free.
constexpr void set_out_rows(plan& p, std::int64_t most_bytes) noexcept {
  repetition& r = p.repeated;
  const std::size_t rows = r.inner - 1;
  if (rows == r.along && rows > 0 && r.at_once >= p.axes[rows].extent) rotate_axis(p, r.along--, rows - 1);
  if (rows == r.along) return;
  const std::int64_t extent = p.axes[rows].extent;
  const std::int64_t bytes =
      std::min(r.at_once, p.axes[r.along].extent) * static_cast<std::int64_t>(r.bytes * r.siblings.extent);
  r.rows = rows;
  r.rows_at_once = std::max<std::int64_t>(1, ceil_divide(extent, ceil_divide(extent * bytes, most_bytes)));
}

/// How many indices of an axis may be siblings in a pattern: their sources lie so near each other that they share windows.
constexpr std::int64_t shared_extent(const layout_axis& axis) noexcept {
  constexpr std::int64_t near = 64;  // bytes
  if (axis.bounded() || axis.source_stride <= 0) return 1;
  auto extent = static_cast<std::int64_t>(sibling_axis::most);
  while (extent > 1 && (axis.extent % extent != 0 || axis.source_stride > near / extent)) --extent;
  return extent;
}

/// The axis of [0, along) with the shortest stride in the source, if that can have siblings.
inline sibling_axis find_siblings(const layout& l, std::size_t along) noexcept {
  std::size_t nearest = no_axis;
  for (std::size_t i = 0; i <= along; ++i) {
    const layout_axis& axis = l.axes[i];
    if (axis.bounded()) return {};
    if (i == along || axis.source_stride <= 0) continue;
    if (nearest == no_axis || axis.source_stride < l.axes[nearest].source_stride) nearest = i;
  }
  if (nearest == no_axis || !l.in_source_run(l.axes[nearest])) return {};
  const layout_axis& axis = l.axes[nearest];
  const std::int64_t extent = shared_extent(axis);
  if (extent == 1) return {};
  return {nearest, static_cast<std::size_t>(extent), static_cast<std::int32_t>(axis.source_stride),
          axis.destination_stride};
}

/// Takes the siblings out of their axis. Returns whether nothing is left of it.
constexpr bool take_siblings(layout& l, const sibling_axis& siblings) noexcept {
  layout_axis& axis = l.axes[siblings.axis];
  const auto extent = static_cast<std::int64_t>(siblings.extent);
  axis.extent /= extent;
  axis.source_stride *= extent;
  axis.destination_stride *= extent;
  if (axis.extent > 1) return false;
  l.remove(siblings.axis);
  return true;
}

/// What of a layout makes up a pattern: the axes from `inner` on, and `piece` indices of axis `along`.
struct pattern_axes {
  std::size_t inner = 0;
  std::size_t along = no_axis;  ///< no_axis: there is no pattern
  std::int64_t piece = 1;
  std::int64_t bytes = 0;  ///< of a piece
};

/// Chooses them for a layout that is in the order of the destination, `across_gaps` of the source or not.
inline pattern_axes find_pattern(const layout& l, std::int64_t element_size, std::size_t lookup_width,
                                 bool across_gaps) noexcept {
  const bool is_wide = lookup_width == 64;
  const std::int64_t usual = is_wide ? 400 : 200;  // bytes
  const std::int64_t most = is_wide ? pattern::most_bytes : pattern::most_bytes / 2;
  const std::int64_t often = is_wide ? 4 : 8;
  const std::int64_t least = is_wide ? 32 : 16;
  pattern_axes found{l.rank};
  found.bytes = element_size;
  while (found.along == no_axis && found.inner > 0) {
    const layout_axis& next = l.axes[found.inner - 1];
    if (next.destination_stride != found.bytes || !(across_gaps || l.in_source_run(next))) break;
    if (is_wide && found.bytes >= 64 && shared_extent(next) > 1) break;  // its indices may be siblings
    const std::int64_t with_next = found.bytes * next.extent;
    if (!next.bounded() && with_next > (next.extent <= 4 ? most : usual)) {
      found.piece = choose_piece(next.extent, found.bytes, usual, static_cast<std::int64_t>(lookup_width));
      if (found.piece > 0 && next.extent >= often * found.piece) found.along = found.inner - 1;
    }
    if (found.along == no_axis) {
      if (with_next > most) break;
      found.bytes = with_next;
      --found.inner;
    }
  }
  if (found.along == no_axis) {
    found.piece = 1;
    for (std::size_t i = 0; i < found.inner; ++i) {
      if (shares_bound(l, i, found.inner)) continue;
      if (found.along == no_axis || l.axes[i].extent > l.axes[found.along].extent) found.along = i;
    }
  }
  found.bytes *= found.piece;
  if (found.bytes < least || found.bytes > most) found.along = no_axis;
  return found;
}

/// Bytes of the least that lookups read, the window of a pattern.
inline constexpr std::int64_t least_window = 16;

/// Bytes of each part of a pattern that has no gaps in the source.
constexpr std::int64_t run_of(const layout& l, const pattern_axes& axes, std::int64_t element_size) noexcept {
  std::int64_t run = element_size;
  const auto reach = [&](const layout_axis& axis, std::int64_t extent) {
    if (l.in_source_run(axis)) run += wrapping_multiply(magnitude(axis.source_stride), extent - 1);
  };
  for (std::size_t i = axes.inner; i < l.rank; ++i) reach(l.axes[i], l.axes[i].extent);
  if (axes.along != no_axis) reach(l.axes[axes.along], axes.piece);
  return run;
}

/// Whether a pattern is worth a thought: it reads whole registers, and its table has to be worked out.
inline bool may_be_pattern(const layout& l, std::int64_t element_size, std::size_t lookup_width) noexcept {
  constexpr std::int64_t least_total = 2048;  // bytes
  return lookup_width != 0 && l.source_run > element_size && l.source_run >= least_window &&
         total_bytes(l, element_size) >= least_total;
}

/// Has the innermost axes of `l`, which is in the order of the destination, moved as a pattern that repeats along
/// another one. Requires may_be_pattern(l). Returns whether there is one; if not, `p` is as it was.
inline bool set_out_pattern(plan& p, const layout& l, std::int64_t element_size) noexcept {
  const std::size_t lookup_width = p.lookup_width;
  pattern_axes found = find_pattern(l, element_size, lookup_width, true);
  if (run_of(l, found, element_size) < least_window) {
    found = find_pattern(l, element_size, lookup_width, false);
  }
  auto [inner, along, piece, bytes] = found;
  if (along == no_axis) return false;

  // first the axes that decide what is inside a pattern, then others, then the one along which it repeats
  layout ordered;
  ordered.take(l);
  rotate_axis(ordered, along, inner - 1);
  along = inner - 1;
  bool bounded = false;  // by axes that are walked
  for (std::size_t i = 0, first = 0; i < along; ++i) {
    if (!shares_bound(ordered, i, inner)) continue;
    rotate_axis(ordered, i, first++);
    bounded = true;
  }
  if (bounded && p.masked) return false;  // a mask is made faster than a table

  repetition& r = p.repeated;
  layout one;
  one.take(ordered);
  one.axes[along].extent = piece;
  sibling_axis siblings = lookup_width == 64 ? find_siblings(ordered, along) : sibling_axis{};
  if (!bounded && !recent_patterns().make(r.table, lookup_width, one, along, element_size, siblings))
    return false;
  const std::int64_t reach = source_reach(one, along, element_size);
  if (siblings.extent > 1 && take_siblings(ordered, siblings)) {
    --along;
    --inner;
  }
  p.take(ordered);
  p.joined = tile::axis::neither;
  r.along = along;
  r.inner = inner;
  r.bounded = bounded;
  r.extent = piece;
  r.siblings = siblings;
  r.bytes = static_cast<std::size_t>(bytes / piece);
  // Pieces that stay in the first-level cache: those that share their source take little of it.
  constexpr std::int64_t at_once = 32768;
  const std::int64_t written = bytes * static_cast<std::int64_t>(siblings.extent);
  const std::int64_t advance = magnitude(wrapping_multiply(ordered.axes[along].source_stride, piece));
  const std::int64_t read = reach <= 2 * advance ? advance : written;
  constexpr std::int64_t least_at_once = 8;  // fewer take less than the call does
  r.at_once = std::max(least_at_once, at_once / wrapping_add(written, read)) * piece;
  set_out_tile(p, element_size, inner);
  p.leaf = nullptr;
  p.extents_are_fixed = false;
  p.settles = false;
  // Axes that reach into the source of a pattern come next to it, unless what is outside would then have to
  // be told from what is inside between the pieces.
  const auto is_bounded = [](const layout_axis& other) { return other.bounded(); };
  if (std::none_of(p.axes.begin(), p.axes.begin() + inner, is_bounded)) {
    const auto near = [reach](const layout_axis& other) { return magnitude(other.source_stride) <= reach; };
    if (std::any_of(p.axes.begin(), p.axes.begin() + along, near)) {
      order_by_source(p, along);
      const std::int64_t step = wrapping_multiply(magnitude(p.axes[along].source_stride), r.at_once);
      while (r.along > 0 && magnitude(p.axes[r.along - 1].source_stride) < step) {
        rotate_axis(p, r.along, r.along - 1);
        --r.along;
      }
    }
    set_out_rows(p, at_once / 2);
  }
  note_decisions(p);
  return true;
}

}  // namespace reblock::detail
