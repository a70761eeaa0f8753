// SPDX-License-Identifier: BSD-3-Clause
//
// Which mover moves a layout in blocks, and what it costs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <reblock/detail/blocks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/listed_runs.hpp>
#include <reblock/detail/plan.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

struct block_offer {
  block_move move;
  double cost = std::numeric_limits<double>::infinity();  ///< cycles
};

/// Axes along which one side is contiguous, the innermost first.
struct axis_chain {
  std::array<std::uint8_t, max_axes> axes;
  std::uint8_t count = 0;
  std::int64_t elements = 1;

  constexpr void push(std::size_t axis, std::int64_t extent) noexcept {
    axes[count++] = static_cast<std::uint8_t>(axis);
    elements *= extent;
  }
  constexpr bool has(std::size_t axis) const noexcept {
    return std::find(axes.begin(), axes.begin() + count, axis) != axes.begin() + count;
  }
};

/// The axis of `l` with a stride of so many bytes on one side, or no_axis.
constexpr std::size_t find_axis(const layout& l, std::int64_t layout_axis::* stride, std::int64_t bytes) noexcept {
  for (std::size_t i = 0; i < l.rank; ++i) {
    if (l.axes[i].*stride == bytes) return i;
  }
  return no_axis;
}

/// Takes the axes of `chain` over, so many streams at a time at most.
constexpr std::uint8_t take_chain(block_move& move, std::size_t at, const layout& l, const axis_chain& chain,
                                  std::int64_t most) noexcept {
  std::int64_t streams = 1;
  for (std::size_t k = 0; k < chain.count; ++k) {
    const layout_axis& axis = l.axes[chain.axes[k]];
    std::int64_t at_once = axis.extent;
    if (streams * at_once > most) {
      const std::int64_t fit = most / streams;
      const std::int64_t pieces = (axis.extent - 1) / fit + 1;
      at_once = (axis.extent - 1) / pieces + 1;
    }
    streams *= at_once;
    move.axes[at + k] = {{axis.extent, axis.source_stride, axis.destination_stride}, at_once};
  }
  return chain.count;
}

constexpr void take_repeated(block_move& move, const layout& l, const axis_chain& columns, const axis_chain& rows) noexcept {
  move.repeated = 0;
  for (std::size_t i = 0; i < l.rank; ++i) {
    if (columns.has(i) || rows.has(i)) continue;
    const layout_axis& axis = l.axes[i];
    move.axes[move.repeated++] = {{axis.extent, axis.source_stride, axis.destination_stride}, 1};
  }
}

constexpr std::int64_t calls_of(const block_move& move) noexcept {
  std::int64_t calls = 1;
  for (std::size_t i = 0; i < move.rank(); ++i) calls *= move.axes[i].pieces();
  return calls;
}

inline constexpr double call_cycles = 12;

/// Runs of element_size bytes, listed for the innermost axes of a layout in the order of the destination.
inline block_offer offer_runs(const layout& l, std::int64_t element_size, bool may_read_on) noexcept {
  block_offer offer;
  axis_chain rows;
  for (std::size_t i = l.rank; i-- > 0 && rows.elements < 64;) rows.push(i, l.axes[i].extent);
  block_move& move = offer.move;
  move.are_runs = true;
  move.element_size = element_size;
  take_repeated(move, l, {}, rows);
  move.column_axes = 0;
  move.row_axes = take_chain(move, move.repeated, l, rows, most_streams);
  bool dense = may_read_on;
  std::int64_t filled = element_size;
  std::int64_t listed = 1;
  for (std::size_t k = move.repeated; k < move.rank(); ++k) {
    dense = dense && move.axes[k].destination_stride == filled;
    filled *= move.axes[k].at_once;
    listed *= move.axes[k].at_once;
  }
  const std::int64_t size = element_size;
  const bool is_word = size <= 32 && (size & (size - 1)) == 0;
  const bool over = dense && !is_word && size < 48 && listed >= 8;
  move.exact = over ? 4 : 0;
  move.mover = run_mover(static_cast<std::size_t>(size), over);
  const double runs = static_cast<double>(total_bytes(l, 1));
  const double each = is_word || over ? 2.1 : size < 32 ? 3 : 4 + static_cast<double>(size) / 20;
  offer.cost = runs * each + static_cast<double>(calls_of(move)) * call_cycles;
  return offer;
}

/// Few rows, or few columns of them: any places on both sides.
inline void offer_few_rows(block_offer& offer, const layout& l, axis_chain rows, const axis_chain& columns,
                           std::int64_t element_size) noexcept {
  const std::int64_t side = 16 / element_size;
  while (rows.elements > side && rows.count > 1) rows.elements /= l.axes[rows.axes[--rows.count]].extent;
  block_move& move = offer.move;
  move.element_size = element_size;
  take_repeated(move, l, columns, rows);
  move.column_axes = take_chain(move, move.repeated, l, columns, 128);
  move.row_axes = take_chain(move, move.repeated + std::size_t{move.column_axes}, l, rows, side);
  std::int64_t row_count = 1;
  for (std::size_t i = move.rank() - move.row_axes; i < move.rank(); ++i) row_count *= move.axes[i].at_once;
  std::int64_t column_count = 1;
  for (std::size_t i = move.repeated; i < move.rank() - move.row_axes; ++i) column_count *= move.axes[i].at_once;
  const auto size = static_cast<std::size_t>(element_size);
  const auto few = static_cast<std::size_t>(row_count);
#if defined(__GNUC__) && defined(__x86_64__)
  move.mover = avx2::few_rows_mover(size, few);
#else
  move.mover = baseline::few_rows_mover(size, few);
#endif
  const auto count = static_cast<double>(std::bit_ceil(few));
  const auto steps = static_cast<double>(ceil_divide(column_count, side));
  const double shuffles = count * log2(std::bit_ceil(few)) / 2;
  const double stores = static_cast<double>(column_count) * (std::has_single_bit(few) ? 1.2 : 2.2);
  double calls = 1;
  for (std::size_t i = 0; i < move.repeated; ++i) calls *= static_cast<double>(move.axes[i].extent);
  for (std::size_t i = move.repeated; i < move.rank(); ++i) calls *= static_cast<double>(move.axes[i].pieces());
  offer.cost = calls * (steps * (count + shuffles + 4) + stores);
}

/// Squares, or few streams of one side interleaved or separated.
inline block_offer offer_streams(const layout& l, std::int64_t element_size, instruction_set set) noexcept {
  block_offer offer;
  if (!has_squares(element_size)) return offer;
  const std::size_t d = find_axis(l, &layout_axis::destination_stride, element_size);
  const std::size_t s = find_axis(l, &layout_axis::source_stride, element_size);
  if (d == no_axis || s == no_axis || d == s) return offer;
  const auto size = static_cast<std::size_t>(element_size);
  const auto side = static_cast<std::int64_t>(16 / size);
  const std::int64_t enough = 4 * side;
  axis_chain rows;
  axis_chain columns;
  rows.push(d, l.axes[d].extent);
  columns.push(s, l.axes[s].extent);
  std::size_t next_row = no_axis;
  std::size_t next_column = no_axis;
  for (bool grows = true; grows;) {
    grows = false;
    next_row = find_axis(l, &layout_axis::destination_stride, element_size * rows.elements);
    next_column = find_axis(l, &layout_axis::source_stride, element_size * columns.elements);
    const auto can_grow = [&](std::size_t next, const axis_chain& chain) {
      return next != no_axis && chain.elements < enough && chain.elements * l.axes[next].extent <= 4096 && !rows.has(next) && !columns.has(next);
    };
    if (can_grow(next_row, rows) && (rows.elements <= columns.elements || !can_grow(next_column, columns))) {
      rows.push(next_row, l.axes[next_row].extent);
      grows = true;
    } else if (can_grow(next_column, columns)) {
      columns.push(next_column, l.axes[next_column].extent);
      grows = true;
    }
  }
  const bool has_few_rows = rows.elements < side;
  const bool has_few_columns = columns.elements < side;
  const bool has_wide = set >= instruction_set::sum32;
  const bool has_shuffle = set >= instruction_set::lookup16;
  double each = 0;  // cycles for a byte
  if (!has_few_rows && !has_few_columns) {
    block_move& move = offer.move;
    move.element_size = element_size;
    take_repeated(move, l, columns, rows);
    constexpr std::int64_t most = 64;  // so that a line of each is in the first-level cache
    move.column_axes = take_chain(move, move.repeated, l, columns, most_streams);
    move.row_axes = take_chain(move, move.repeated + std::size_t{move.column_axes}, l, rows, most);
    const auto listed = [&](std::size_t first, std::size_t count) {
      std::int64_t streams = 1;
      for (std::size_t k = first; k < first + count; ++k) streams *= move.axes[k].at_once;
      return streams;
    };
    const std::int64_t column_count = listed(move.repeated, move.column_axes);
    const std::int64_t row_count = listed(move.repeated + std::size_t{move.column_axes}, move.row_axes);
    const auto waste = [](std::int64_t count, std::int64_t step) {
      return static_cast<double>(ceil_divide(count, step) * step) / static_cast<double>(count);
    };
    constexpr double narrow_rates[] = {6.5, 7, 7, 5.5};
    constexpr double wide_rates[] = {10, 8.5, 8.5, 7.5};
    const int log = log2(size);
    each = waste(row_count, side) / narrow_rates[log];
    move.mover = baseline::square_mover(size);
#if defined(__GNUC__) && defined(__x86_64__)
    if (has_wide && row_count >= 2 * side) {
      const double wide = waste(row_count, 2 * side) / wide_rates[log];
      if (wide < each) {
        each = wide;
        move.mover = avx2::square_mover(size);
      }
    }
#endif
    each *= waste(column_count, side);
    const auto zeros = [](std::int64_t stride) { return std::countr_zero(static_cast<std::uint64_t>(stride)); };
    move.by_destination = zeros(l.axes[s].destination_stride) > zeros(l.axes[d].source_stride);
    offer.cost = static_cast<double>(total_bytes(l, element_size)) * each + static_cast<double>(calls_of(move)) * call_cycles;
    return offer;
  }
  if (has_few_rows || has_few_columns) offer_few_rows(offer, l, rows, columns, element_size);
  if (!has_shuffle) return offer;
  const std::int64_t at_once = (has_wide ? 2 : 1) * side;
  const bool interleaves = has_few_rows && l.axes[s].destination_stride == element_size * rows.elements &&
                           l.axes[s].extent >= side;
  const bool separates = has_few_columns && l.axes[d].source_stride == element_size * columns.elements &&
                         l.axes[d].extent >= side;
  if (!interleaves && !separates) return offer;
  const std::int64_t few = interleaves ? rows.elements : columns.elements;
  axis_chain along;
  const std::size_t longer = interleaves ? s : d;
  along.push(longer, l.axes[longer].extent);
  block_move move;
  move.element_size = element_size;
  const axis_chain& own_rows = interleaves ? rows : along;
  const axis_chain& own_columns = interleaves ? along : columns;
  take_repeated(move, l, own_columns, own_rows);
  constexpr std::int64_t most_along = 8192;  // the long axis has no list
  move.column_axes = take_chain(move, move.repeated, l, own_columns, interleaves ? most_along : most_streams);
  move.row_axes = take_chain(move, move.repeated + std::size_t{move.column_axes}, l, own_rows, interleaves ? most_streams : most_along);
  move.dense_columns = interleaves;
  move.dense_rows = separates;
  const bool wide = has_wide && l.axes[longer].extent >= at_once;
  each = 1 / (wide ? 8.0 : 6.0);
  const std::int64_t count = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(few)));
  each *= static_cast<double>(count) / static_cast<double>(few);
#if defined(__GNUC__) && defined(__x86_64__)
  move.mover = wide ? avx2::few_streams_mover(size, static_cast<std::size_t>(few), interleaves)
                    : ssse3::few_streams_mover(size, static_cast<std::size_t>(few), interleaves);
#else
  move.mover = baseline::few_streams_mover(size, static_cast<std::size_t>(few), interleaves);
#endif
  const double step_cycles = 20;  // of the last step
  const double cost = static_cast<double>(total_bytes(l, element_size)) * each +
                      static_cast<double>(calls_of(move)) * (call_cycles + step_cycles);
  if (cost < offer.cost) offer = {move, cost};
  return offer;
}

/// The cheapest of them for a simplified layout.
inline block_offer offer_block(const layout& l, std::int64_t element_size, instruction_set set, bool may_read_on) noexcept {
  block_offer runs = offer_runs(l, element_size, may_read_on);
  const block_offer streams = offer_streams(l, element_size, set);
  return streams.cost < runs.cost ? streams : runs;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
