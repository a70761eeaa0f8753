// SPDX-License-Identifier: BSD-3-Clause
//
// The mover of shuffled runs fills short runs of bytes from near places in any order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/look_up.hpp>
#include <reblock/detail/movers/shuffle_table.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class shuffled_runs_offer {
 public:
  explicit shuffled_runs_offer(const offered_layout& of) noexcept : of_(of) {}

  /// Offers to fill short runs of the destination from near places of the source.
  block_offer offer(buffered_side buffer) const noexcept {
    block_offer made;
    block_move& move = made.move;
    if (!can_shuffle(buffer)) return made;
    const std::size_t width = shuffled_width();
    axis_chain run;
    std::int64_t bytes = of_.size;
    std::int64_t reach = of_.size;
    for (std::size_t i = of_.moves.rank; i-- > 0 && bytes < shuffle_table::most_bytes;) {
      const layout_axis& axis = of_.moves.axes[i];
      const bool is_near = buffer == buffered_side::source || of_.moves.in_source_run(axis);
      if (axis.destination_stride != bytes || !is_near || axis.extent < 2) break;
      const std::int64_t most = std::min(
          shuffle_table::most_bytes / bytes,
          1 + (shuffle_table::most_reach - reach) / std::max<std::int64_t>(1, magnitude(axis.source_stride)));
      if (most < 2) break;
      run.push(i, axis.extent);
      const std::int64_t piece = shuffle_table::choose_piece(axis.extent, bytes, most);
      bytes *= piece;
      if (piece < axis.extent) break;
      reach += magnitude(axis.source_stride) * (axis.extent - 1);
    }
    if (run.count == 0 || bytes < shuffle_table::window) return made;
    move.shuffled_width = static_cast<std::uint8_t>(width);
    of_.set_out(move, {}, 1, run, std::numeric_limits<std::int64_t>::max());
    cut_axis& outermost = move.axes[move.rank() - 1];
    const std::int64_t inner = run.elements / outermost.extent * of_.size;
    outermost.at_once = std::min(outermost.extent, bytes / inner);
    shuffle_table table;
    if (!table.make(std::span(move.axes).subspan(move.repeated, move.row_axes), of_.size, width)) return made;
    const double memory = buffer == buffered_side::none ? of_.costs.shuffle_byte * of_.bytes : 0;
    made.cost = cost_of_shuffles(move, table) + memory;
    return made;
  }

 private:
  /// Returns the bytes of the registers of shuffled runs, which have at most 32.
  std::size_t shuffled_width() const noexcept { return std::min<std::size_t>(lookup_width(of_.set), 32); }
  /// Tells whether shuffled runs may be the fastest way: squares and streams move words. Processors that look up in more bytes
  /// have faster ways, but not into a buffer or out of it.
  bool can_shuffle(buffered_side buffer) const noexcept {
    const std::size_t width = lookup_width(of_.set);
    const bool is_widest = width > shuffled_width() && buffer == buffered_side::none;
    return width > 0 && !is_widest && of_.size < 8 && of_.size != 4 && !of_.adds_zero();
  }
  double cost_of_shuffles(const block_move& move, const shuffle_table& table) const noexcept {
    const cut_axis& outermost = move.axes[move.rank() - 1];
    const bool is_cut = outermost.extent != outermost.at_once;
    std::size_t left = move.repeated;
    const auto next_repeated = [&] { return left > 0 ? static_cast<double>(move.axes[--left].extent) : 1.0; };
    double calls = 1;
    const double inner = is_cut ? static_cast<double>(outermost.pieces()) : next_repeated();
    const double outer = next_repeated();
    while (left > 0) calls *= next_repeated();
    const double rows = calls * outer * (outermost.extent % outermost.at_once != 0 ? 2 : 1);
    const auto registers = static_cast<double>(table.registers());
    return of_.costs.shuffles + registers * (calls * of_.costs.shuffle_call + rows * of_.costs.shuffle_row) +
           calls * outer * inner *
               (static_cast<double>(table.windows()) * of_.costs.shuffle_window +
                registers * of_.costs.shuffle_store);
  }

  const offered_layout& of_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
