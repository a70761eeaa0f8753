// SPDX-License-Identifier: BSD-3-Clause
//
// plan_blocks() finds the cheapest way to move a layout without bounds in blocks: directly, or through a buffer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/simplify.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// block_extents chooses how many indices of each axis a block has. A block has at most `limit` bytes, and all indices of the
/// axes in `whole`. Runs on both sides have similar lengths, or first the runs of the source grow to `source_run` elements,
/// then those of the destination.
class block_extents {
 public:
  block_extents(const layout& moves, std::int64_t element_size, const axis_order& source,
                const axis_order& destination, std::int64_t limit = block_buffer_bytes,
                const index_range& whole = {0, 0}, std::int64_t source_run = 0) noexcept
      : layout_(moves) {
    at_once.fill(1);
    std::int64_t bytes = element_size;
    for (std::int64_t i = whole.begin; i < whole.end; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      at_once[axis] = moves.axes[axis].extent;
      bytes *= at_once[axis];
    }
    for (;;) {
      const std::size_t by_source = next(source);
      const std::size_t by_destination = next(destination);
      if (by_source == no_axis) break;  // then both are no_axis: all axes are whole
      const std::int64_t least = source_run > 0 ? source_run : run(destination);
      const std::size_t axis = run(source) < least ? by_source : by_destination;
      const std::int64_t grown = std::min(2 * at_once[axis], moves.axes[axis].extent);
      if (bytes / at_once[axis] * grown > limit) break;
      bytes = bytes / at_once[axis] * grown;
      at_once[axis] = grown;
    }
    for (std::size_t i = 0; i < moves.rank; ++i) at_once[i] = even_part(moves.axes[i].extent, at_once[i]);
  }

  std::array<std::int64_t, max_axes> at_once;

 private:
  std::size_t next(const axis_order& order) const noexcept {
    for (std::size_t k = 0; k < order.count; ++k) {
      if (at_once[order.axes[k]] < layout_.axes[order.axes[k]].extent) return order.axes[k];
    }
    return no_axis;
  }
  std::int64_t run(const axis_order& order) const noexcept {
    std::int64_t elements = 1;
    for (std::size_t k = 0; k < order.count; ++k) {
      elements *= at_once[order.axes[k]];
      if (at_once[order.axes[k]] < layout_.axes[order.axes[k]].extent) break;
    }
    return elements;
  }

  const layout& layout_;
};

/// Joins the first `count` axes of the order `first` that a block has, and the remaining axes in the order `then`.
constexpr axis_order join_orders(const block_extents& block, const axis_order& first, std::size_t count,
                                 const axis_order& then) noexcept {
  axis_order joined;
  const auto take = [&](const axis_order& from, std::size_t limit) {
    for (std::size_t k = 0; k < from.count && joined.count < limit; ++k) {
      const std::uint8_t axis = from.axes[k];
      const auto end = joined.axes.begin() + joined.count;
      if (block.at_once[axis] > 1 && std::find(joined.axes.begin(), end, axis) == end)
        joined.axes[joined.count++] = axis;
    }
  };
  take(first, count);
  take(then, max_axes);
  return joined;
}

/// Plans both moves of a block through a buffer with this order of axes, and returns the cycles of a block.
inline double offer_staged(staged_move& staged, const layout& moves, std::int64_t element_size,
                           const block_extents& block, const axis_order& order, instruction_set set,
                           double limit) noexcept {
  layout in;
  layout out;
  std::int64_t stride = element_size;
  for (std::size_t k = 0; k < order.count; ++k) {
    const layout_axis& axis = moves.axes[order.axes[k]];
    const std::int64_t extent = block.at_once[order.axes[k]];
    in.add({extent, axis.source_stride, stride});
    out.add({extent, stride, axis.destination_stride});
    stride *= extent;
  }
  in.zero = moves.zero;
  in.asks_for_lines = out.asks_for_lines = true;
  in.whole_bytes = out.whole_bytes = std::max(moves.whole_bytes, total_bytes(moves, element_size));
  const std::int64_t in_size = simplify_as_turned(in, element_size);
  const block_offer first = offer_block(in, in_size, set, buffered_side::destination, limit);
  if (first.cost >= limit) return limit;
  const std::int64_t out_size = simplify_as_turned(out, element_size);
  const double left = limit - first.cost;
  const block_offer second = offer_block(out, out_size, set, buffered_side::source, left);
  if (second.cost >= left) return limit;
  staged.first = first.move;
  staged.second = second.move;
  return first.cost + second.cost;
}

/// Finds the cheapest way and returns its cost in cycles. It will run `times` times. Requires a simplified layout without
/// bounds.
inline double plan_blocks(staged_move& best, const layout& moves, std::int64_t element_size,
                          instruction_set set, buffered_side buffer = buffered_side::none,
                          double times = 1) noexcept {
  const block_offer direct = offer_block(moves, element_size, set, buffer);
  best.second = direct.move;
  best.total_bytes = total_bytes(moves, element_size);
  best.source_offset = moves.source_offset;
  best.destination_offset = moves.destination_offset;
  best.is_staged = false;
  double cost = direct.cost;
  const auto bytes = static_cast<double>(best.total_bytes);
  const mover_costs costs = mover_costs::of(set);
  if (moves.rank < 3 || element_size > 64 || !costs.is_worth_search(times * cost, times * bytes)) return cost;
  const axis_order source = order_of(moves, &layout_axis::source_stride);
  const axis_order destination = order_of(moves, &layout_axis::destination_stride);
  const block_extents block(moves, element_size, source, destination);
  best.staged_rank = 0;
  std::int64_t blocks = 1;
  for (std::size_t i = 0; i < moves.rank; ++i) {
    const cut_axis cut(moves.axes[i], block.at_once[i]);
    blocks *= cut.pieces();
    if (cut.pieces() > 1) best.axes[best.staged_rank++] = cut;
  }
  const auto count = static_cast<double>(blocks);
  double of_block = cost / count;
  for (std::size_t k = 1; k <= 3; ++k) {
    for (const auto& [first, then] : {std::pair(&destination, &source), std::pair(&source, &destination)}) {
      if (best.is_staged && of_block * count < costs.fair_byte * bytes) break;
      const double staged =
          offer_staged(best, moves, element_size, block, join_orders(block, *first, k, *then), set, of_block);
      if (staged < of_block) {
        of_block = staged;
        best.is_staged = true;
      }
    }
  }
  return std::min(cost, of_block * count);
}

/// Plans any layout without bounds and returns the cost in cycles. The layout may have no elements.
[[gnu::noinline]] inline double plan_unbounded(staged_move& blocks, const layout& moves,
                                               std::int64_t element_size,
                                               buffered_side buffer = buffered_side::none) noexcept {
  blocks.has_no_elements = is_empty(moves, element_size);
  if (blocks.has_no_elements) return 0;
  layout simple;
  simple.take(moves);
  simple.source_run = 0;  // no mover of blocks reads between elements
  const std::int64_t size = simplify(simple, element_size);
  return plan_blocks(blocks, simple, size, usable_instruction_set(), buffer);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
