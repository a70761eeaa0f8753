// SPDX-License-Identifier: BSD-3-Clause
//
// A stream_move writes an output that is larger than the caches past them, by way of a buffer.
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
#include <reblock/detail/movers/listed_runs.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/block_lines.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/cut_moves.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/simd/registers.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A stream_move fills a buffer with a block, and writes long runs out of it. It is trivially copyable.
class stream_move : public cut_moves {
 public:
  /// Plans a simplified layout without bounds and returns the cost in cycles, or never if runs are too short.
  double plan(const layout& moves, std::int64_t element_size, instruction_set set) noexcept {
    if (element_size > buffer_limit) return never;
    const mover_costs costs = mover_costs::of(set);
    const axis_order destination = order_of(moves, &layout_axis::destination_stride);
    const block_extents block(moves, element_size, order_of(moves, &layout_axis::source_stride), destination,
                              buffer_limit, {0, 0},
                              std::max<std::int64_t>(1, block_costs::least_buffered_run / element_size));
    element_size_ = element_size;
    rank_ = moves.rank;
    for (std::size_t i = 0; i < rank_; ++i) axes_[i] = {moves.axes[i], block.at_once[i]};
    layout in;
    layout out;
    std::int64_t bytes = element_size;
    for (std::size_t k = 0; k < destination.count; ++k) {
      const cut_axis& axis = axes_[destination.axes[k]];
      in.add({axis.at_once, axis.source_stride, bytes});
      out.add({axis.at_once, bytes, axis.destination_stride});
      bytes *= axis.at_once;
    }
    const std::int64_t run = simplify_as_turned(out, element_size);
    if (run < costs.least_streamed_part) return never;
    // blocks that read the same lines follow each other
    const auto step = [](const cut_axis& axis) {
      return magnitude(wrapping_multiply(axis.source_stride, axis.at_once));
    };
    sort_few(std::span(axes_).first(rank_),
             [&](const cut_axis& a, const cut_axis& b) { return step(a) > step(b); });
    begin(moves, element_size);
    const auto count = static_cast<double>(total_bytes(moves, element_size)) / static_cast<double>(bytes);
    in.zero = moves.zero;
    in.asks_for_lines = true;
    in.whole_bytes = std::max(moves.whole_bytes, total_bytes(moves, element_size));
    const std::int64_t size = simplify_as_turned(in, element_size);
    const block_offer fill = offer_block(in, size, set, buffered_side::destination);
    fill_ = fill.move;
    write_ = offer_block(out, run, set, buffered_side::source).move;
    write_.mover = stream_runs;
    return count * fill.cost;
  }

  [[gnu::noinline]] void run(const std::byte* source, std::byte* destination) const noexcept {
    alignas(64) std::array<std::byte, buffer_limit + readable_slack> buffer;
    block_runner fill(fill_);
    block_runner write(write_);
    const block_lines lines(std::span<const cut_axis>(axes_).first(rank_), element_size_,
                            &tile_axis::source_stride);
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    const auto finish = [&](const std::byte* next) {
      fill.run(from, buffer.data());
      if (next != nullptr) lines.prefetch_at<1>(next);
      write.run(buffer.data(), to);
    };
    for_each_piece(source, destination, [&](const std::byte* next, std::byte* place) {
      if (from != nullptr) finish(next);
      from = next;
      to = place;
    });
    finish(nullptr);
    finish_streams();
  }

 private:
  static constexpr std::int64_t buffer_limit = 32 * 1024;  ///< bytes: it fits the second-level cache

  block_move fill_;                ///< of the buffer
  block_move write_;               ///< of runs, past the caches
  std::int64_t element_size_ = 0;  ///< bytes
};
static_assert(std::is_trivially_copyable_v<stream_move>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
