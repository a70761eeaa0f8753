// SPDX-License-Identifier: BSD-3-Clause
//
// An offered_layout is a layout for which movers make offers, and what they all need to know of it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/cache_lines.hpp>
#include <reblock/detail/moves/visited_places.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The enum says which side of a move is a buffer in the first-level cache.
enum class buffered_side : std::uint8_t { none, source, destination };

struct block_offer {
  block_move move;
  double cost = never;  ///< cycles
};

/// The layout is simplified and has no bounds.
class offered_layout {
 public:
  offered_layout(const layout& whole, std::int64_t element_size, instruction_set usable) noexcept
      : moves(whole),
        size(element_size),
        side(element_size > 0 ? std::max<std::int64_t>(1, lane_bytes / element_size) : 1),
        set(usable),
        costs(mover_costs::of(usable)),
        bytes(static_cast<double>(total_bytes(whole, element_size))),
        is_large(goes_past_caches(whole, element_size)) {
    find_chains();
  }

  const layout& moves;
  std::int64_t size;  ///< bytes of an element
  std::int64_t side;  ///< elements of a lane
  instruction_set set;
  mover_costs costs;
  double bytes;  ///< of all elements
  bool is_large;
  axis_chain rows;     ///< axes along which the destination is contiguous
  axis_chain columns;  ///< axes along which the source is

  /// Tells whether the first-level cache has room for both sides. A side beside a buffer may have any other bytes between its
  /// lines, which can then share sets.
  bool is_near(buffered_side buffer) const noexcept {
    return buffer == buffered_side::none &&
           std::max(bytes, static_cast<double>(moves.whole_bytes)) <= cache_sizes::both_sides;
  }
  bool adds_zero() const noexcept { return moves.zero != added_zero::none; }
  /// Tells whether a register moves an element.
  bool is_word() const noexcept {
    return size <= 32 && std::has_single_bit(static_cast<std::uint64_t>(size));
  }

  /// Makes columns and rows of these axes, with at most `most_columns` and `most_rows` in a piece. The other axes are
  /// repeated.
  void set_out(block_move& move, const axis_chain& of_columns, std::int64_t most_columns,
               const axis_chain& of_rows, std::int64_t most_rows) const noexcept {
    move.element_size = size;
    move.zero = moves.zero;
    move.repeated = 0;
    for (std::size_t i = 0; i < moves.rank; ++i) {
      if (!of_columns.has(i) && !of_rows.has(i)) move.axes[move.repeated++] = {moves.axes[i], 1};
    }
    move.column_axes = of_columns.count;
    move.row_axes = of_rows.count;
    take_chain(move, move.repeated, of_columns, most_columns);
    take_chain(move, move.repeated + std::size_t{of_columns.count}, of_rows, most_rows);
  }

  /// These are the axes of the columns, and of the rows, the innermost first.
  static std::span<const cut_axis> column_axes(const block_move& move) noexcept {
    return std::span(move.axes).subspan(move.repeated, move.column_axes);
  }
  static std::span<const cut_axis> row_axes(const block_move& move) noexcept {
    return std::span(move.axes).subspan(std::size_t{move.repeated} + move.column_axes, move.row_axes);
  }
  static std::int64_t columns_of(const block_move& move) noexcept { return at_once(column_axes(move)); }
  static std::int64_t rows_of(const block_move& move) noexcept { return at_once(row_axes(move)); }

  /// Estimates the cycles of all calls. A call repeats the innermost repeated axes by itself, unless it moves a piece.
  [[gnu::noinline]] double cost_of_calls(const block_move& move) const noexcept {
    double blocks = 1;
    double pieces = 1;
    for (std::size_t i = 0; i < move.repeated; ++i) blocks *= static_cast<double>(move.axes[i].extent);
    for (std::size_t i = move.repeated; i < move.rank(); ++i)
      pieces *= static_cast<double>(move.axes[i].pieces());
    const std::int64_t places = (move.dense_rows || move.are_spaced ? 0 : rows_of(move)) +
                                (move.dense_columns ? 0 : columns_of(move));
    const double lists = costs.place * static_cast<double>(places);
    if (pieces > 1) return lists + blocks * pieces * costs.call;
    double calls = blocks;
    for (std::size_t i = move.repeated; i-- > 0 && i + 2 >= move.repeated;)
      calls /= static_cast<double>(move.axes[i].extent);
    return lists + calls * costs.call + blocks * costs.block;
  }

  /// Lets a call's source, which is one row, follow the source of the call before.
  static void order_repeats_by_source(block_move& move) noexcept {
    sort_by_strides(std::span(move.axes).first(move.repeated), &tile_axis::source_stride);
  }

  /// Adds the cycles that all elements wait for the caches to an offer that costs less than `limit`. A line that is near takes
  /// `next`. The repeated axes get the better order.
  void add_waiting(block_offer& offer, buffered_side buffer, double next, double limit) const noexcept {
    if (offer.cost < limit)
      offer.cost += bytes / static_cast<double>(size) * choose_order(offer.move, buffer, next);
  }

  /// Orders the repeated axes by the source or by the destination if elements then wait less for the caches. Returns the cycles
  /// that each waits.
  [[gnu::noinline]] double choose_order(block_move& move, buffered_side buffer, double next) const noexcept {
    double least = cost_of_places(move, buffer, next);
    // of moves that a cache holds, the order matters if lines are evicted
    const bool matters = next == 0 ? least > 0 : bytes > cache_sizes::second_level;
    if (move.repeated < 2 || !matters) return least;
    for (const auto stride : {&tile_axis::source_stride, &tile_axis::destination_stride}) {
      block_move other = move;
      sort_by_strides(std::span(other.axes).first(move.repeated), stride);
      if (std::equal(move.axes.begin(), move.axes.begin() + move.repeated, other.axes.begin())) continue;
      const double cost = cost_of_places(other, buffer, next);
      if (cost >= least) continue;
      least = cost;
      move.axes = other.axes;
    }
    return least;
  }

  /// Estimates the cycles that each element waits for the caches, if a line that is near takes `next`. A buffer takes no time. The
  /// caller of moves from or into a buffer may estimate by itself when lines come for the first time: if the bytes of the whole
  /// move are 0.
  [[gnu::noinline]] double cost_of_places(const block_move& move, buffered_side buffer,
                                          double next) const noexcept {
    if (is_near(buffer)) return 0;
    const bool is_buffered = buffer != buffered_side::none;
    const auto whole = static_cast<double>(moves.whole_bytes);
    visited_places places(costs, size, is_buffered && whole == 0 ? 0 : next);
    const auto of_block =
        std::span(move.axes).subspan(move.repeated, std::size_t{move.column_axes} + move.row_axes);
    for (const cut_axis& axis : row_axes(move)) places.visit(axis.inner(), move.are_runs);
    for (const cut_axis& axis : column_axes(move)) places.visit(axis.inner(), false);
    for (std::size_t i = move.repeated; i-- > 0;) places.visit(move.axes[i].inner());
    for (std::size_t k = of_block.size(); k-- > 0;) places.visit(of_block[k].outer());
    for (std::size_t i = move.repeated; i-- > 0;) places.visit(move.axes[i].outer());
    const double all = is_buffered ? whole : std::max(bytes, whole);
    const bool asks = moves.asks_for_lines || (move.are_apart() && asks_for_lines(buffer));
    const double waits = asks ? costs.asked_line : move.are_runs ? 1 : costs.line_of_block;
    return (buffer == buffered_side::source ? 0 : places.cost_of_reads(all, waits)) +
           (buffer == buffered_side::destination ? 0 : places.cost_of_writes(all, waits));
  }

  /// Lists the lines of one side of some places along these axes, or of all.
  static near_lines lines_of(std::span<const cut_axis> axes, std::int64_t tile_axis::* stride,
                             std::int64_t places = most_streams) noexcept {
    near_lines lines;
    for (const cut_axis& axis : axes) {
      const std::int64_t extent = std::min(axis.at_once, places);
      lines.repeat(extent, axis.*stride);
      places = ceil_divide(places, extent);
    }
    return lines;
  }

  /// Lets blocks whose columns follow each other in the source follow each other in time, so that the source is read from
  /// begin to end.
  void follow_columns(block_move& move) const noexcept {
    const std::int64_t reach = size * columns.elements;
    for (std::size_t i = 0; i < move.repeated; ++i) {
      if (magnitude(move.axes[i].source_stride) != reach) continue;
      std::rotate(move.axes.begin() + i, move.axes.begin() + i + 1, move.axes.begin() + move.repeated);
      return;
    }
  }

  /// Tells whether movers of rows and columns that may lie apart ask for the lines of the next block.
  bool asks_for_lines(buffered_side buffer) const noexcept {
    return buffer == buffered_side::none && !is_large && bytes > cache_sizes::second_level;
  }
  /// Lets such a mover ask for lines, if it is worth it.
  void go_apart(block_move& move, buffered_side buffer) const noexcept {
    move.is_far = asks_for_lines(buffer);
    if (move.is_far) enlarge(move);
  }

 private:
  static std::int64_t at_once(std::span<const cut_axis> axes) noexcept {
    std::int64_t all = 1;
    for (const cut_axis& axis : axes) all *= axis.at_once;
    return all;
  }
  /// Lets a block have so many indices of the repeated axes that it has enough bytes.
  static void enlarge(block_move& move) noexcept {
    std::int64_t bytes_of_block = move.element_size;
    for (std::size_t i = move.rank(); i-- > 0 && i + 2 >= move.repeated;) {
      cut_axis& axis = move.axes[i];
      if (i < move.repeated)
        axis.at_once =
            even_part(axis.extent, std::max<std::int64_t>(1, cache_sizes::far_block / bytes_of_block));
      if (axis.at_once < axis.extent) return;
      bytes_of_block *= axis.at_once;
    }
  }

  /// Finds the axis with the `wanted` stride on one side, or returns no_axis.
  std::size_t find_axis(std::int64_t layout_axis::* stride, std::int64_t wanted) const noexcept {
    for (std::size_t i = 0; i < moves.rank; ++i) {
      if (moves.axes[i].*stride == wanted) return i;
    }
    return no_axis;
  }

  /// Finds the axes along which the destination is contiguous (rows), and those along which the source is (columns). No
  /// axis is in both lists. Each list ends as soon as its axes fill whole lines.
  void find_chains() noexcept {
    if (size > lane_bytes || !std::has_single_bit(static_cast<std::uint64_t>(size))) return;
    const std::size_t row = find_axis(&layout_axis::destination_stride, size);
    const std::size_t column = find_axis(&layout_axis::source_stride, size);
    if (row == no_axis || column == no_axis || row == column) return;
    rows.push(row, moves.axes[row].extent);
    columns.push(column, moves.axes[column].extent);
    for (;;) {
      const std::size_t next_row = find_axis(&layout_axis::destination_stride, size * rows.elements);
      const std::size_t next_column = find_axis(&layout_axis::source_stride, size * columns.elements);
      const bool row_grows = can_grow(rows, next_row);
      const bool column_grows = can_grow(columns, next_column);
      if (row_grows && (rows.elements <= columns.elements || !column_grows)) {
        rows.push(next_row, moves.axes[next_row].extent);
      } else if (column_grows) {
        columns.push(next_column, moves.axes[next_column].extent);
      } else {
        return;
      }
    }
  }

  bool can_grow(const axis_chain& chain, std::size_t next) const noexcept {
    return next != no_axis && chain.elements < 4 * side &&
           moves.axes[next].extent <= block_costs::most_chained / chain.elements && !rows.has(next) &&
           !columns.has(next);
  }

  void take_chain(block_move& move, std::size_t at, const axis_chain& chain,
                  std::int64_t limit) const noexcept {
    std::int64_t streams = 1;
    for (std::size_t k = 0; k < chain.count; ++k) {
      const layout_axis& axis = moves.axes[chain.axes[k]];
      const std::int64_t at_once = even_part(axis.extent, std::max<std::int64_t>(1, limit / streams));
      streams *= at_once;
      move.axes[at + k] = {axis, at_once};
    }
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
