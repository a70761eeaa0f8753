// SPDX-License-Identifier: BSD-3-Clause
//
// A stream_move writes an output that is larger than the caches past them, by way of a buffer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include <reblock/detail/axis_order.hpp>
#include <reblock/detail/blocks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/cut_moves.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/listed_runs.hpp>
#include <reblock/detail/offers.hpp>
#include <reblock/detail/plan_blocks.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// source_lines are the lines of the source that a block has. Processors do not predict where those of the next block are.
class source_lines {
 public:
  /// A block has `at_once` indices of each axis.
  source_lines(std::span<const cut_axis> axes, std::int64_t element_size) noexcept : run_(element_size) {
    std::array<bool, max_axes> is_in_run{};
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        if (is_in_run[i] || axes[i].at_once == 1 || axes[i].source_stride != run_) continue;
        is_in_run[i] = grows = true;
        run_ *= axes[i].at_once;
      }
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (is_in_run[i]) continue;
      if (axes[i].at_once > static_cast<std::int64_t>(most_runs / runs_)) {
        runs_ = 0;  // there are more lines than it is worth to ask for
        return;
      }
      runs_ = list_places(axes[i].at_once, axes[i].source_stride, places_.data(), runs_);
    }
  }

  void prefetch_from(const std::byte* source) const noexcept {
    constexpr std::int64_t line = 64;  // bytes
    for (std::size_t i = 0; i < runs_; ++i) {
      for (std::int64_t k = 0; k < run_; k += line) prefetch(source, places_[i] + k);
    }
  }

 private:
  static constexpr std::size_t most_runs = 1024;

  std::int64_t run_;  ///< bytes
  std::size_t runs_ = 1;
  std::array<std::int64_t, most_runs> places_{};  ///< of the runs, bytes
};

/// A stream_move fills a buffer with a block, and writes long runs out of it. It is trivially copyable.
class stream_move : public cut_moves {
 public:
  /// Plans a simplified layout without bounds and returns the cost in cycles, or infinity if runs are too short.
  double plan(const layout& moves, std::int64_t element_size, instruction_set set) noexcept;

  [[gnu::noinline]] void run(const std::byte* source, std::byte* destination) const noexcept {
    alignas(64) std::array<std::byte, buffer_limit + readable_slack> buffer;
    block_runner fill(fill_);
    block_runner write(write_);
    const source_lines lines(std::span<const cut_axis>(axes_).first(rank_), element_size_);
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    const auto finish = [&](const std::byte* next) {
      fill.run(from, buffer.data(), nullptr);
      if (next != nullptr) lines.prefetch_from(next);
      write.run(buffer.data(), to, nullptr);
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

inline double stream_move::plan(const layout& moves, std::int64_t element_size,
                                instruction_set set) noexcept {
  constexpr double never = std::numeric_limits<double>::infinity();
  constexpr std::int64_t source_run = 128;  // bytes: some whole lines
  if (element_size > buffer_limit) return never;
  const mover_costs costs = mover_costs::of(set);
  const axis_order destination = order_of(moves, &layout_axis::destination_stride);
  const block_extents block(moves, element_size, order_of(moves, &layout_axis::source_stride), destination,
                            buffer_limit, {0, 0}, std::max<std::int64_t>(1, source_run / element_size));
  element_size_ = element_size;
  rank_ = moves.rank;
  for (std::size_t i = 0; i < rank_; ++i) {
    const layout_axis& axis = moves.axes[i];
    axes_[i] = {{axis.extent, axis.source_stride, axis.destination_stride}, block.at_once[i]};
  }
  layout in;
  layout out;
  std::int64_t bytes = element_size;
  for (std::size_t k = 0; k < destination.count; ++k) {
    const cut_axis& axis = axes_[destination.axes[k]];
    in.add({axis.at_once, axis.source_stride, bytes});
    out.add({axis.at_once, bytes, axis.destination_stride});
    bytes *= axis.at_once;
  }
  const std::int64_t run = simplify(out, element_size);
  if (run < costs.least_streamed_part) return never;
  // blocks that read the same lines follow each other
  const auto step = [](const cut_axis& axis) {
    return magnitude(wrapping_multiply(axis.source_stride, axis.at_once));
  };
  for (std::size_t i = 1; i < rank_; ++i) {
    for (std::size_t k = i; k > 0 && step(axes_[k - 1]) < step(axes_[k]); --k)
      std::swap(axes_[k - 1], axes_[k]);
  }
  begin(moves, element_size);
  const auto count = static_cast<double>(total_bytes(moves, element_size)) / static_cast<double>(bytes);
  in.whole_bytes = std::max(moves.whole_bytes, total_bytes(moves, element_size));
  const std::int64_t size = simplify(in, element_size);
  const block_offer fill = offer_block(in, size, set, buffered_side::destination);
  fill_ = fill.move;
  write_ = offer_block(out, run, set, buffered_side::source).move;
  write_.mover = stream_runs;
  return count * fill.cost;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
