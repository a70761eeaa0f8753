// SPDX-License-Identifier: BSD-3-Clause
//
// A lookup_move moves a layout by one pattern of bytes, again and again. A table says where the pattern's bytes come from.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/cache_lines.hpp>
#include <reblock/detail/moves/cut_moves.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/moves/pattern.hpp>
#include <reblock/detail/moves/pattern_axes.hpp>
#include <reblock/detail/moves/pattern_cache.hpp>
#include <reblock/detail/moves/visited_places.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Finds the axis of [0, along) with the shortest stride in the source, if it can have siblings.
inline sibling_axis find_siblings(const layout& moves, std::size_t along) noexcept {
  std::size_t nearest = no_axis;
  for (std::size_t i = 0; i < along; ++i) {
    const layout_axis& axis = moves.axes[i];
    if (axis.source_stride <= 0) continue;
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

/// read_rows are the parts of the source that a piece reads, with its siblings. Rows are at least a line apart.
class read_rows {
 public:
  /// The piece has the axes from `first` on.
  read_rows(const layout& piece, std::size_t first, std::int64_t element_size,
            const sibling_axis& siblings) noexcept
      : row_(element_size + siblings.source_stride * (static_cast<std::int64_t>(siblings.extent) - 1)) {
    const axis_order order = order_of(piece, &layout_axis::source_stride);
    for (std::size_t k = 0; k < order.count; ++k) {
      const layout_axis& axis = piece.axes[order.axes[k]];
      if (order.axes[k] < first) continue;
      if (const std::int64_t stride = magnitude(axis.source_stride); stride < cache_sizes::line) {
        const std::int64_t written = magnitude(axis.destination_stride);
        is_split_ = is_split_ || (written > row_ && written * axis.extent > cache_sizes::line);
        row_ += stride * (axis.extent - 1);
      } else {
        rows_ *= axis.extent;
        lines_.repeat(axis.extent, stride);
      }
    }
  }

  /// Counts the bytes of the lines that the piece before, `advance` bytes away, does not read.
  std::int64_t bytes(std::int64_t advance) const noexcept {
    return rows_ * std::min(advance, ceil_divide(row_, cache_sizes::line) * cache_sizes::line);
  }

  /// Tells whether lines that a call reads in part evict each other from the first-level cache before their rest is read. A
  /// call has `pieces`, `advance` bytes apart, for each of `rows`. It fills one register after the other, each for all of
  /// them.
  bool evict_lines(std::int64_t pieces, std::int64_t advance, const tile_axis& rows) noexcept {
    if (advance >= cache_sizes::line) lines_.repeat(pieces, advance);
    if (magnitude(rows.source_stride) >= cache_sizes::line) lines_.repeat(rows.extent, rows.source_stride);
    return (is_split_ || row_ < cache_sizes::line || advance < cache_sizes::line) && lines_.collide();
  }

 private:
  near_lines lines_;
  std::int64_t rows_ = 1;
  std::int64_t row_;       ///< bytes from its first to its last element
  bool is_split_ = false;  ///< whether several registers need parts of a row
};

/// A lookup_move is trivially copyable.
class lookup_move : public cut_moves {
 public:
  /// Plans a simplified layout and returns the cost in cycles, or never if there is no pattern. `buffer` says which side is a
  /// buffer.
  double plan(const layout& moves, std::int64_t element_size, instruction_set set,
              buffered_side buffer = buffered_side::none) noexcept {
    const std::size_t width = lookup_width(set);
    if (width == 0 || moves.source_run <= element_size || moves.source_run < pattern::least_window)
      return never;
    layout ordered;
    layout repeated;
    sibling_axis siblings;
    auto [inner, along, piece, bytes] = make_table(moves, element_size, width, ordered, repeated, siblings);
    if (along == no_axis) return never;
    zero_ = moves.zero;
    const std::size_t first_of_pattern = along;
    const std::int64_t reach = source_reach(repeated, along, element_size);
    read_rows rows(repeated, along, element_size, siblings);
    if (siblings.extent > 1 && take_siblings(ordered, siblings)) {
      --along;
      --inner;
    }
    // pieces that share their source need little of the first-level cache
    const std::int64_t piece_bytes = bytes * static_cast<std::int64_t>(siblings.extent);
    const std::int64_t advance = magnitude(wrapping_multiply(ordered.axes[along].source_stride, piece));
    const std::int64_t read = reach <= 2 * advance ? advance : std::max(piece_bytes, rows.bytes(advance));
    std::int64_t at_once =
        std::max(lookup_costs::least_at_once, lookup_costs::bytes_at_once / wrapping_add(piece_bytes, read)) *
        piece;
    // Axes that reach into the source of a pattern come next to it.
    const auto near = [reach](const layout_axis& other) { return magnitude(other.source_stride) <= reach; };
    if (std::any_of(ordered.axes.begin(), ordered.axes.begin() + along, near)) {
      sort_by_strides(std::span(ordered.axes).first(along), &layout_axis::source_stride);
      const std::int64_t step = wrapping_multiply(magnitude(ordered.axes[along].source_stride), at_once);
      while (along > 0 && magnitude(ordered.axes[along - 1].source_stride) < step) {
        rotate_axis(ordered, along, along - 1);
        --along;
      }
    }
    if (along == inner - 1 && along > 0 && at_once >= ordered.axes[along].extent) {
      rotate_axis(ordered, along, along - 1);
      --along;
    }
    set_out(ordered, along, inner, piece, at_once, piece_bytes / piece);
    begin(moves, element_size);
    const double calls = pieces() * (has_last_ ? 2 : 1);
    const mover_costs costs = mover_costs::of(set);
    const auto all = static_cast<double>(cut_moves::bytes());
    const double lookups = all / static_cast<double>(piece_bytes) * static_cast<double>(table_.cost()) / 10;
    const bool collides = rows.evict_lines(pieces_.extent, advance, rows_);
    const double factor = costs.lookup_factor * (element_size >= 8 ? costs.lookup_word : 1);
    const double lookup_byte = costs.lookup_byte + (collides ? costs.lookup_collision : 0);
    const double written = goes_past_caches(moves, element_size) ? costs.cached_byte * all : 0;
    const double call = costs.lookup_call + costs.lookup_register * static_cast<double>(table_.registers());
    return factor * lookups + lookup_byte * all + call * calls + written +
           cost_of_lines(repeated, first_of_pattern, element_size, siblings, costs, buffer);
  }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    for_each_piece(source, destination, [&](const std::byte* from, std::byte* to) { call(from, to); });
  }

  /// Tells whether set_outside() may set elements of so many bytes: they divide every register.
  static constexpr bool may_set_outside(std::int64_t element_size) noexcept {
    return element_size <= 16 && (element_size & (element_size - 1)) == 0;
  }
  /// Sets the element that the constant mode finds outside of the image. It is zero before.
  void set_outside(const std::byte* value, std::int64_t element_size) noexcept {
    has_outside_ = true;
    for (std::size_t i = 0; i < outside_.size(); ++i)
      outside_[i] = value[i % static_cast<std::size_t>(element_size)];
  }

 private:
  /// Makes the table of the largest pattern for which there is room. Returns the pattern's axes, or no axis if there is no
  /// table. `ordered` gets the axis of the pieces just before the axes of the pattern. `repeated` gets one piece of that
  /// axis.
  pattern_axes make_table(const layout& moves, std::int64_t element_size, std::size_t width, layout& ordered,
                          layout& repeated, sibling_axis& siblings) noexcept {
    pattern_axes chosen = choose_pattern(moves, element_size, width);
    while (chosen.along != no_axis) {
      ordered.take(moves);
      rotate_axis(ordered, chosen.along, chosen.inner - 1);
      chosen.along = chosen.inner - 1;
      repeated.take(ordered);
      repeated.axes[chosen.along].extent = chosen.piece;
      siblings = width == 64 ? find_siblings(ordered, chosen.along) : sibling_axis{};
      if (recent_patterns().make(table_, width, repeated, chosen.along, element_size, siblings)) break;
      if (!table_.is_too_large()) return {};
      chosen = choose_pattern(moves, element_size, width, chosen.bytes - 1);
    }
    return chosen;
  }

  /// Cuts the axes into the pieces of a call: the axis of the pieces, and the axis before the pattern.
  void set_out(const layout& ordered, std::size_t along, std::size_t inner, std::int64_t piece,
               std::int64_t at_once, std::int64_t index_bytes) noexcept {
    rank_ = inner;
    for (std::size_t i = 0; i < inner; ++i) axes_[i] = {ordered.axes[i], 1};
    cut_axis& repeated = axes_[along];
    const std::int64_t calls = ceil_divide(repeated.extent, at_once);
    repeated.at_once =
        std::min(repeated.extent, ceil_divide(ceil_divide(repeated.extent, calls), piece) * piece);
    pieces_ = {repeated.at_once / piece, repeated.source_stride * piece, repeated.destination_stride * piece};
    has_last_ = repeated.at_once % piece != 0;
    last_source_ = (repeated.at_once - piece) * repeated.source_stride;
    last_destination_ = (repeated.at_once - piece) * repeated.destination_stride;
    if (along == inner - 1) return;
    cut_axis& rows = axes_[inner - 1];
    const std::int64_t row_bytes = repeated.at_once * index_bytes;
    rows.at_once = std::max<std::int64_t>(
        1, ceil_divide(rows.extent,
                       ceil_divide(wrapping_multiply(rows.extent, row_bytes), lookup_costs::most_bytes)));
    rows_ = {rows.at_once, rows.source_stride, rows.destination_stride};
  }

  /// Estimates the cycles in which lines of a large move come for the first time. A piece has the axes from `first` on, and
  /// siblings.
  double cost_of_lines(const layout& piece, std::size_t first, std::int64_t element_size,
                       const sibling_axis& siblings, const mover_costs& costs,
                       buffered_side buffer) const noexcept {
    const auto own = static_cast<double>(cut_moves::bytes());
    const double all = std::max(own, static_cast<double>(piece.whole_bytes));
    if (all <= cache_sizes::second_level) return 0;
    visited_places places(costs, element_size, 0);
    for (std::size_t i = piece.rank; i-- > first;) places.visit(piece.axes[i], false);
    places.visit(
        {static_cast<std::int64_t>(siblings.extent), siblings.source_stride, siblings.destination_stride},
        false);
    places.visit(pieces_, false);
    places.visit(rows_, false);
    for (std::size_t i = rank_; i-- > 0;) places.visit(axes_[i].outer(), false);
    const double elements = own / static_cast<double>(element_size);
    if (buffer == buffered_side::source) return elements * places.cost_of_writes(all, costs.line_of_block);
    return elements * (places.cost_of_reads(all) + places.cost_of_writes(all));
  }

  void call(const std::byte* from, std::byte* to) const noexcept {
    const std::byte* const outside = has_outside_ ? outside_.data() : nullptr;
    table_.move(rows_, pieces_, from, to, outside, zero_);
    if (has_last_) table_.move(rows_, {}, from + last_source_, to + last_destination_, outside, zero_);
  }

  /// Axes of one call: rows, and pieces. If the pieces leave a rest, a last piece ends where the rest ends.
  tile_axis rows_{};
  tile_axis pieces_{};
  bool has_last_ = false;
  std::int64_t last_source_ = 0;       ///< bytes
  std::int64_t last_destination_ = 0;  ///< bytes
  added_zero zero_ = added_zero::none;
  bool has_outside_ = false;
  std::array<std::byte, 64> outside_;  ///< a register of elements, if there is one
  pattern table_;
};
static_assert(std::is_trivially_copyable_v<lookup_move>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
