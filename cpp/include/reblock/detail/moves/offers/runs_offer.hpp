// SPDX-License-Identifier: BSD-3-Clause
//
// The mover of runs copies elements from a list of places to another list. It fits every layout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/listed_runs.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class runs_offer {
 public:
  explicit runs_offer(const offered_layout& of) noexcept : of_(of) {}

  /// Offers to copy elements as runs. The list has the innermost axes of the destination. If the destination is a buffer,
  /// it has the innermost axes of the source. An offer from `limit` on may cost more than it says.
  block_offer offer(buffered_side buffer, double limit = never) const noexcept {
    block_offer made;
    block_move& move = made.move;
    axis_chain rows;
    const std::int64_t streamed = buffer == buffered_side::none ? streamed_width() : 0;
    const bool is_streamed = streamed != 0;
    axis_order order =
        order_of(of_.moves, buffer == buffered_side::destination ? &layout_axis::source_stride
                                                                 : &layout_axis::destination_stride);
    if (is_streamed) join_runs(order);
    for (std::size_t k = 0; k < order.count && rows.elements < block_costs::enough_runs; ++k) {
      rows.push(order.axes[k], of_.moves.axes[order.axes[k]].extent);
    }
    move.are_runs = true;
    of_.set_out(move, {}, 1, rows, most_streams);
    bool is_dense = buffer == buffered_side::source;
    std::int64_t filled = of_.size;
    for (std::size_t k = move.repeated; k < move.rank(); ++k) {
      is_dense = is_dense && move.axes[k].destination_stride == filled;
      filled *= move.axes[k].at_once;
    }
    constexpr std::uint8_t exact = block_costs::exact_runs;
    const bool is_over = is_dense && !of_.is_word() && !of_.adds_zero() &&
                         of_.size < block_costs::longest_over && offered_layout::rows_of(move) >= 2 * exact;
    move.exact = is_over ? exact : std::uint8_t{0};
    move.writes_lines = of_.is_large && buffer == buffered_side::none && !of_.adds_zero() &&
                        (is_streamed || of_.size >= block_costs::least_streamed_run);
    move.mover = is_streamed         ? stream_words_mover(streamed)
                 : move.writes_lines ? stream_runs
                                     : choose_run_mover(is_over);
    const double each = of_.is_word() || is_over ? of_.costs.word
                        : of_.size < 32          ? of_.costs.short_run
                                                 : of_.costs.long_run;
    made.cost =
        of_.bytes * (each / static_cast<double>(of_.size) + of_.costs.run_byte) + of_.cost_of_calls(move);
    if (of_.size < cache_sizes::line) of_.add_waiting(made, buffer, 0, limit);
    return made;
  }

 private:
  /// Returns the bytes of the words in which shorter runs may go past the caches, or 0 if there are none.
  std::int64_t streamed_width() const noexcept {
    if (!of_.is_large || of_.adds_zero() || of_.size < block_costs::least_run_of_words ||
        of_.size >= block_costs::least_streamed_run)
      return 0;
    std::int64_t places = of_.size;
    for (std::size_t i = 0; i < of_.moves.rank; ++i) places |= of_.moves.axes[i].destination_stride;
    for (std::int64_t width = 16; width >= 4; width /= 2) {
      if (places % width == 0) return width;
    }
    return 0;
  }

  block_mover choose_run_mover(bool over) const noexcept {
    const auto size = static_cast<std::size_t>(of_.size);
#if defined(__GNUC__) && defined(__x86_64__)
    if (of_.set >= instruction_set::avx512) return avx512::run_mover(size, over);
    if (of_.set >= instruction_set::avx2) return avx2::run_mover(size, over);
#endif
    return baseline::run_mover(size, over);
  }

  /// Lets runs that follow each other in the source follow each other in time, if they go to few places of the output.
  /// Otherwise each part of the source would be read once for each place.
  void join_runs(axis_order& order) const noexcept {
    for (std::size_t k = 1; k < order.count; ++k) {
      const layout_axis& axis = of_.moves.axes[order.axes[k]];
      if (axis.source_stride != of_.size || axis.extent > block_costs::most_joined_runs) continue;
      std::rotate(order.axes.begin(), order.axes.begin() + k, order.axes.begin() + k + 1);
      return;
    }
  }

  const offered_layout& of_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
