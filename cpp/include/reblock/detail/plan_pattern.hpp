// SPDX-License-Identifier: BSD-3-Clause
//
// These functions make plans with patterns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/pattern_axes.hpp>
#include <reblock/detail/pattern_cache.hpp>
#include <reblock/detail/plan.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Finds an axis whose indices are moved together with the pieces of a pattern, `most_bytes` at a time: each call for
/// pieces loads a table. Requires that no walked axis is bounded: then their order is free.
constexpr void set_out_rows(plan& planned, std::int64_t most_bytes) noexcept {
  repetition& r = planned.repeated;
  const std::size_t rows = r.inner - 1;
  if (rows == r.along && rows > 0 && r.at_once >= planned.axes[rows].extent)
    rotate_axis(planned, r.along--, rows - 1);
  if (rows == r.along) return;
  const std::int64_t extent = planned.axes[rows].extent;
  const std::int64_t bytes = std::min(r.at_once, planned.axes[r.along].extent) *
                             static_cast<std::int64_t>(r.bytes * r.siblings.extent);
  r.rows = rows;
  r.rows_at_once = std::max<std::int64_t>(1, ceil_divide(extent, ceil_divide(extent * bytes, most_bytes)));
}

/// Does the same for an axis without a bound, if other axes decide the range of the pieces' axis, and one call moves all
/// pieces.
constexpr void set_out_bounded_rows(plan& planned, std::int64_t most_bytes) noexcept {
  repetition& r = planned.repeated;
  if (!planned.axes[r.along].bounded() || r.at_once < planned.axes[r.along].extent) return;
  std::size_t rows = no_axis;
  for (std::size_t i = 0; i < r.along; ++i) {
    if (!planned.axes[i].bounded() && (rows == no_axis || planned.axes[i].extent > planned.axes[rows].extent))
      rows = i;
  }
  if (rows == no_axis) return;
  rotate_axis(planned, rows, r.along);
  r.rows = r.along--;
  const std::int64_t bytes =
      planned.axes[r.along].extent * static_cast<std::int64_t>(r.bytes * r.siblings.extent);
  r.rows_at_once = std::max<std::int64_t>(1, most_bytes / bytes);
}

/// Finds the axis of [0, along) with the shortest stride in the source, if it can have siblings.
inline sibling_axis find_siblings(const layout& moves, std::size_t along) noexcept {
  std::size_t nearest = no_axis;
  for (std::size_t i = 0; i <= along; ++i) {
    const layout_axis& axis = moves.axes[i];
    if (axis.bounded()) return {};
    if (i == along || axis.source_stride <= 0) continue;
    if (nearest == no_axis || axis.source_stride < moves.axes[nearest].source_stride) nearest = i;
  }
  if (nearest == no_axis || !moves.in_source_run(moves.axes[nearest])) return {};
  const layout_axis& axis = moves.axes[nearest];
  const std::int64_t extent = shared_extent(axis);
  if (extent == 1) return {};
  return {nearest, static_cast<std::size_t>(extent), static_cast<std::int32_t>(axis.source_stride),
          axis.destination_stride};
}

/// Removes the siblings from their axis. Returns whether nothing is left of the axis.
constexpr bool take_siblings(layout& moves, const sibling_axis& siblings) noexcept {
  layout_axis& axis = moves.axes[siblings.axis];
  const auto extent = static_cast<std::int64_t>(siblings.extent);
  axis.extent /= extent;
  axis.source_stride *= extent;
  axis.destination_stride *= extent;
  if (axis.extent > 1) return false;
  moves.remove(siblings.axis);
  return true;
}

/// Tells whether a pattern may pay: it reads whole registers, and making its table takes time.
inline bool may_be_pattern(const layout& moves, std::int64_t element_size,
                           std::size_t lookup_width) noexcept {
  constexpr std::int64_t least_total = 2048;  // bytes
  return lookup_width != 0 && moves.source_run > element_size && moves.source_run >= pattern::least_window &&
         total_bytes(moves, element_size) >= least_total;
}

/// Tells whether tables for ranges inside bounds cost less than they save. The layout has the order of the walk.
inline bool pays_for_tables(const plan& planned, const layout& ordered, std::int64_t element_size,
                            const pattern_axes& axes) noexcept {
  constexpr std::int64_t small_plane = 256;  // bytes
  const tile& t = planned.leaf_tile;
  const bool is_long_run = planned.shifted && t.outer.extent * t.outer.destination_stride > small_plane;
  if (planned.masked || is_long_run)
    return false;  // masks, and the ends of a run, take less time than tables
  // The leaf is faster where rows are long. Both limits are measured.
  const std::int64_t row = ordered.axes[ordered.rank - 1].extent;
  const std::int64_t least_uses = (33 + 5 * element_size) * row / (row + 30);
  const std::int64_t least = ordered.axes[axes.along].bounded() ? 10'000 : 0;  // bytes
  const std::int64_t made = axes.bytes * count_tables(ordered, axes.inner);
  return total_bytes(ordered, element_size) >= least + least_uses * made;
}

/// Counts the bytes of the source's lines that a piece reads and the piece before, `advance` bytes away, does not.
constexpr std::int64_t lines_read(const layout& piece, std::size_t first, std::int64_t element_size,
                                  std::int64_t advance) noexcept {
  constexpr std::int64_t line = 64;
  std::int64_t rows = 1;
  std::int64_t row = element_size;
  for (std::size_t i = first; i < piece.rank; ++i) {
    const std::int64_t stride = magnitude(piece.axes[i].source_stride);
    if (stride >= line) {
      rows *= piece.axes[i].extent;
    } else {
      row += stride * (piece.axes[i].extent - 1);
    }
  }
  return rows * std::min(advance, ceil_divide(row, line) * line);
}

/// Plans to move the innermost axes of `moves` as a pattern that repeats along another axis. `moves` is in the order of the
/// destination. Requires may_be_pattern(moves). Returns whether there is a pattern; if not, `planned` does not change.
inline bool set_out_pattern(plan& planned, const layout& moves, std::int64_t element_size) noexcept {
  const std::size_t lookup_width = planned.lookup_width;
  // Gaps do not slow down leaves for runs and streams, but they slow down patterns (measured).
  const tile& t = planned.leaf_tile;
  const bool are_runs = t.inner.source_stride == element_size && t.inner.destination_stride == element_size;
  const bool are_streams =
      has_squares(element_size) && (interleaves(t) || (separates(t) && t.outer_extent() >= 8));
  auto [inner, along, piece, bytes] =
      choose_pattern(moves, element_size, lookup_width, !are_runs && !are_streams);
  if (along == no_axis) return false;

  // first the axes that decide a pattern's ranges, then others, then the axis along which it repeats
  layout ordered;
  ordered.take(moves);
  rotate_axis(ordered, along, inner - 1);
  along = inner - 1;
  bool bounded = false;  // by axes that are walked
  for (std::size_t i = 0, first = 0; i < along; ++i) {
    if (!shares_bound(ordered, i, inner)) continue;
    rotate_axis(ordered, i, first++);
    bounded = true;
  }
  if (bounded && !pays_for_tables(planned, ordered, element_size, {inner, along, piece, bytes})) return false;

  repetition& r = planned.repeated;
  layout repeated_piece;
  repeated_piece.take(ordered);
  repeated_piece.axes[along].extent = piece;
  sibling_axis siblings = lookup_width == 64 ? find_siblings(ordered, along) : sibling_axis{};
  if (!recent_patterns().make(r.table, lookup_width, repeated_piece, along, element_size, siblings))
    return false;
  const std::int64_t reach = source_reach(repeated_piece, along, element_size);
  if (siblings.extent > 1 && take_siblings(ordered, siblings)) {
    --along;
    --inner;
  }
  planned.take(ordered);
  planned.joined = tile::axis::neither;
  r.along = along;
  r.inner = inner;
  r.bounded = bounded;
  r.extent = piece;
  r.siblings = siblings;
  r.bytes = static_cast<std::size_t>(bytes / piece);
  // These bytes of pieces stay in the first-level cache. Pieces that share their source need little of it.
  constexpr std::int64_t at_once = 32768;
  const std::int64_t written = bytes * static_cast<std::int64_t>(siblings.extent);
  const std::int64_t advance = magnitude(wrapping_multiply(ordered.axes[along].source_stride, piece));
  const std::int64_t read = reach <= 2 * advance
                                ? advance
                                : std::max(written, lines_read(repeated_piece, along, element_size, advance));
  constexpr std::int64_t least_at_once = 8;  // fewer pieces take less time than a call
  r.at_once = std::max(least_at_once, at_once / wrapping_add(written, read)) * piece;
  // Axes that reach into the source of a pattern come next to it, unless ranges inside bounds would then change between
  // the pieces.
  const auto is_bounded = [](const layout_axis& other) { return other.bounded(); };
  if (std::none_of(planned.axes.begin(), planned.axes.begin() + inner, is_bounded)) {
    const auto near = [reach](const layout_axis& other) { return magnitude(other.source_stride) <= reach; };
    if (std::any_of(planned.axes.begin(), planned.axes.begin() + along, near)) {
      order_by_source(planned, along);
      const std::int64_t step = wrapping_multiply(magnitude(planned.axes[along].source_stride), r.at_once);
      while (r.along > 0 && magnitude(planned.axes[r.along - 1].source_stride) < step) {
        rotate_axis(planned, r.along, r.along - 1);
        --r.along;
      }
    }
    set_out_rows(planned, at_once / 2);
  } else {
    set_out_bounded_rows(planned, at_once / 2);
  }
  set_out_tile(planned, element_size, inner);
  planned.leaf = nullptr;
  planned.extents_are_fixed = planned.streams_are_fixed = false;
  return true;
}

/// Estimates the cycles of looking up all pieces of a plan's pattern.
inline double cost_of_pattern(const plan& planned, const mover_costs& costs, double bytes) noexcept {
  const repetition& r = planned.repeated;
  const auto of_index = static_cast<double>(r.bytes * r.siblings.extent);
  const std::int64_t rows = r.rows == no_axis ? 1 : std::min(r.rows_at_once, planned.axes[r.rows].extent);
  const double of_call =
      of_index * static_cast<double>(std::min(r.at_once, planned.axes[r.along].extent) * rows);
  const double lookups =
      bytes / (of_index * static_cast<double>(r.extent)) * static_cast<double>(r.table.cost()) / 10;
  return costs.lookup_factor * lookups + costs.lookup_byte * bytes + costs.lookup_call * bytes / of_call;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
