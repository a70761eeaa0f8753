// SPDX-License-Identifier: BSD-3-Clause
//
// A stream_move writes an output that is larger than the caches past them. A buffer holds a part of the output without gaps.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include <reblock/detail/blocks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/cut_moves.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/offers.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A stream_move is trivially copyable.
class stream_move : public cut_moves {
 public:
  /// Plans a simplified layout without bounds and returns the cost in cycles, or infinity if parts without gaps are too short.
  double plan(const layout& moves, std::int64_t element_size, instruction_set set) noexcept;

  [[gnu::noinline]] void run(const std::byte* source, std::byte* destination) const noexcept {
    alignas(64) std::array<std::byte, part_limit + readable_slack> buffer;
    block_runner fill(fill_);
    for_each_piece(source, destination, [&](const std::byte* from, std::byte* to) {
      fill.run(from, buffer.data(), nullptr);
      stream_run(to, buffer.data(), part_bytes_);
    });
    finish_streams();
  }

 private:
  static constexpr std::int64_t part_limit = 32 * 1024;  ///< bytes: it fits the second-level cache

  std::size_t part_bytes_ = 0;
  block_move fill_;  ///< of the buffer
};
static_assert(std::is_trivially_copyable_v<stream_move>);

inline double stream_move::plan(const layout& moves, std::int64_t element_size,
                                instruction_set set) noexcept {
  constexpr double never = std::numeric_limits<double>::infinity();
  constexpr std::int64_t line = 64;       // bytes
  constexpr std::int64_t most_reads = 8;  // of a part of the source, while a cache holds it
  layout part;
  std::int64_t bytes = element_size;
  bool is_dense = true;
  bool reads_lines = element_size >= line;
  rank_ = moves.rank;
  for (std::size_t i = moves.rank; i-- > 0;) {
    const layout_axis& axis = moves.axes[i];
    is_dense = is_dense && axis.destination_stride == bytes;
    const std::int64_t fitting = is_dense ? std::max<std::int64_t>(1, part_limit / bytes) : 1;
    const std::int64_t pieces = (axis.extent - 1) / fitting + 1;
    const std::int64_t at_once = is_dense ? (axis.extent - 1) / pieces + 1 : 1;
    axes_[i] = {{axis.extent, axis.source_stride, axis.destination_stride}, at_once};
    if (at_once > 1) part.add({at_once, axis.source_stride, axis.destination_stride});
    const bool is_contiguous = magnitude(axis.source_stride) == element_size;
    reads_lines =
        reads_lines || (is_contiguous && (element_size * at_once >= line || axis.extent <= most_reads));
    bytes *= at_once;
    is_dense = is_dense && pieces == 1;
  }
  if (!reads_lines) return never;
  // parts that read the same lines follow each other
  const auto step = [](const cut_axis& axis) {
    return magnitude(wrapping_multiply(axis.source_stride, axis.at_once));
  };
  for (std::size_t i = 1; i < rank_; ++i) {
    for (std::size_t k = i; k > 0 && step(axes_[k - 1]) < step(axes_[k]); --k)
      std::swap(axes_[k - 1], axes_[k]);
  }
  part_bytes_ = static_cast<std::size_t>(total_bytes(part, element_size));
  const mover_costs costs = mover_costs::of(set);
  if (part_bytes_ < costs.least_streamed_part || element_size > part_limit) return never;
  const auto count = static_cast<double>(total_bytes(moves, element_size)) / static_cast<double>(part_bytes_);
  begin(moves, element_size);
  const std::int64_t size = simplify(part, element_size);
  const block_offer offer = offer_block(part, size, set, buffered_side::destination);
  fill_ = offer.move;
  return count * offer.cost;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
