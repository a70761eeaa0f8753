// SPDX-License-Identifier: BSD-3-Clause
//
// The mover of squares transposes squares of registers, or rectangles of fewer rows or columns.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/cache_lines.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A square_width is a width of registers that transpose squares.
struct square_width {
  std::int64_t lanes;  ///< of a register
  std::size_t column;  ///< in the table of costs
  block_mover (*mover)(std::size_t size);
};

[[gnu::visibility("hidden")]] inline constexpr square_width widths_of_squares[] = {
    {1, 0, baseline::square_mover<>},
#if defined(__GNUC__) && defined(__x86_64__)
    {2, 1, avx2::square_mover<>},
#endif
};

/// Returns the widths that a processor with this set can use.
inline std::span<const square_width> squares_of(instruction_set set) noexcept {
  const std::size_t usable = set >= instruction_set::avx2 ? 2 : 1;
  return std::span(widths_of_squares).first(std::min(usable, std::size(widths_of_squares)));
}

/// Returns how many elements whole steps move for each of `count` elements.
inline double steps_of(std::int64_t count, std::int64_t step) noexcept {
  return static_cast<double>(ceil_divide(count, step) * step) / static_cast<double>(count);
}

/// Estimates how many cycles a byte takes longer because the lines of a square share sets of the first-level cache. A square
/// reads `tall` rows.
inline double cost_of_shared_sets(const offered_layout& of, const block_move& move, std::int64_t tall,
                                  buffered_side buffer) noexcept {
  if (of.is_near(buffer)) return 0;
  int lines = 0;
  if (buffer != buffered_side::source) {
    const auto rows = offered_layout::row_axes(move);
    const int read = offered_layout::lines_of(rows, &tile_axis::source_stride, tall).of_one_set();
    lines += std::max(read - cache_sizes::ways, 0);
  }
  if (buffer != buffered_side::destination && move.lines_at_once > 0) {
    const auto columns = offered_layout::column_axes(move);
    lines += offered_layout::lines_of(columns, &tile_axis::destination_stride, of.side).of_one_set() - 1;
  }
  return of.costs.square_line * lines;
}

/// Chooses how many lines of a column are written together, if a column has several. Each line of a large move then comes into
/// the first-level cache once, unless lines of the rows collide. 0: squares read whole lines of the source instead.
inline std::uint8_t choose_lines(const offered_layout& of, const block_move& move) noexcept {
  const bool are_far = of.bytes > cache_sizes::second_level;
  const bool have_lines = offered_layout::rows_of(move) * of.size >= 2 * cache_sizes::line;
  const bool join_lines = are_far ? of.size <= block_costs::largest_in_lines
                                  : have_lines && of.bytes > cache_sizes::both_sides && joins_near_lines();
  if (join_lines) {
    const auto rows = offered_layout::row_axes(move);
    return offered_layout::lines_of(rows, &tile_axis::source_stride).collide() ? 1
                                                                               : block_costs::joined_lines;
  }
  const auto columns = offered_layout::column_axes(move);
  return offered_layout::lines_of(columns, &tile_axis::destination_stride).collide() ? 1 : 0;
}

/// A chosen_shape is what the mover of squares transposes at once.
struct chosen_shape {
  block_mover mover = nullptr;
  double each = never;  ///< cycles of a byte
};

/// Chooses the width of squares for so many rows and columns.
inline chosen_shape choose_squares(const offered_layout& of, const block_move& move, buffered_side buffer,
                                   std::int64_t rows, std::int64_t columns) noexcept {
  chosen_shape best;
  const auto log = static_cast<std::size_t>(log2(static_cast<std::size_t>(of.size)));
  for (const square_width& by : squares_of(of.set)) {
    const std::int64_t tall = of.side * by.lanes;
    if (rows < tall) continue;
    const auto& speeds = of.costs.squares;
    double cost = steps_of(rows, tall) / speeds[by.column][log];
    const std::int64_t rest = rows % tall;
    if (by.lanes > 1 && of.size <= 2 && rest > 0 && rest <= tall / 2) {  // narrower squares move the rest
      cost = (static_cast<double>(rows - rest) / speeds[by.column][log] +
              static_cast<double>(tall / 2) / speeds[by.column - 1][log]) /
             static_cast<double>(rows);
    }
    cost *= steps_of(columns, of.side);
    cost += of.costs.square_rows / static_cast<double>(tall * columns * of.size);
    cost += cost_of_shared_sets(of, move, tall, buffer);
    if (cost < best.each) best = {by.mover(static_cast<std::size_t>(of.size)), cost};
  }
  return best;
}

/// Chooses the largest rectangle for so many rows and columns, if there are too few for squares.
inline chosen_shape choose_rectangles(const offered_layout& of, const block_move& move, buffered_side buffer,
                                      std::int64_t rows, std::int64_t columns) noexcept {
  const auto most = [&of](std::int64_t count) {
    return std::min(of.side, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count))));
  };
  const std::int64_t tall = most(rows);
  const std::int64_t wide = most(columns);
  const block_mover mover = baseline::rectangle_mover<>(
      static_cast<std::size_t>(of.size), static_cast<std::size_t>(tall), static_cast<std::size_t>(wide));
  if (mover == nullptr) return {};
  const auto registers = static_cast<double>(tall * wide / of.side);
  const double cycles = of.costs.rectangle + registers * of.costs.zip * log2(static_cast<std::size_t>(tall)) +
                        of.costs.short_row * static_cast<double>(tall) +
                        of.costs.short_column * static_cast<double>(wide);
  return {mover, cycles / static_cast<double>(tall * wide * of.size) * steps_of(rows, tall) *
                         steps_of(columns, wide) +
                     of.costs.square_rows / static_cast<double>(tall * columns * of.size) +
                     cost_of_shared_sets(of, move, tall, buffer)};
}

/// Offers squares, or rectangles. An offer from `limit` on may cost more than it says.
[[gnu::noinline]] inline block_offer offer_squares(const offered_layout& of, buffered_side buffer,
                                                   double limit = never) noexcept {
  block_offer offer;
  const std::int64_t least = std::min(of.side, block_costs::least_rectangle_side);
  if (of.rows.elements < least || of.columns.elements < least) return offer;
  block_move& move = offer.move;
  const bool asks = of.asks_for_lines(buffer);
  const std::int64_t far_side = cache_sizes::far_run / of.size;
  of.set_out(move, of.columns, asks ? far_side : std::int64_t{most_streams}, of.rows,
             asks ? far_side : block_costs::most_square_rows);
  if (buffer != buffered_side::source) of.follow_columns(move);
  move.lines_at_once = choose_lines(of, move);
  const std::int64_t rows = offered_layout::rows_of(move);
  const std::int64_t columns = offered_layout::columns_of(move);
  const bool are_squares = rows >= of.side && columns >= of.side;
  const chosen_shape shape = are_squares ? choose_squares(of, move, buffer, rows, columns)
                                         : choose_rectangles(of, move, buffer, rows, columns);
  if (shape.mover == nullptr) return offer;
  move.mover = shape.mover;
  offer.cost = of.bytes * shape.each + of.cost_of_calls(move);
  of.add_waiting(offer, buffer, 0, limit);
  return offer;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
