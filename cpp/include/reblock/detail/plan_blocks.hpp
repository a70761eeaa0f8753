// SPDX-License-Identifier: BSD-3-Clause
//
// plan_blocks() finds the cheapest way to move a layout without bounds in blocks: directly, or through a buffer.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <reblock/detail/blocks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers.hpp>
#include <reblock/detail/offers.hpp>
#include <reblock/detail/pattern_axes.hpp>
#include <reblock/detail/plan_moves.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// block_extents chooses how many indices of each axis a block has, so that runs on both sides have similar lengths. A block
/// has at most `limit` bytes, and all indices of the axes in `whole`.
class block_extents {
 public:
  block_extents(const layout& moves, std::int64_t element_size, const axis_order& source,
                const axis_order& destination, std::int64_t limit = block_buffer_bytes,
                const index_range& whole = {0, 0}) noexcept
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
      const std::size_t axis = run(source) < run(destination) ? by_source : by_destination;
      const std::int64_t grown = std::min(2 * at_once[axis], moves.axes[axis].extent);
      if (bytes / at_once[axis] * grown > limit) break;
      bytes = bytes / at_once[axis] * grown;
      at_once[axis] = grown;
    }
    for (std::size_t i = 0; i < moves.rank; ++i) {
      const std::int64_t pieces = (moves.axes[i].extent - 1) / at_once[i] + 1;
      at_once[i] = (moves.axes[i].extent - 1) / pieces + 1;
    }
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
  const std::int64_t in_size = simplify(in, element_size);
  const block_offer first = offer_block(in, in_size, set, buffered_side::destination);
  if (first.cost >= limit) return limit;
  const std::int64_t out_size = simplify(out, element_size);
  const block_offer second = offer_block(out, out_size, set, buffered_side::source);
  if (first.cost + second.cost >= limit) return limit;
  staged.first = first.move;
  staged.second = second.move;
  return first.cost + second.cost;
}

/// Finds the cheapest way and returns its cost in cycles. Requires a simplified layout without bounds. `least`: only a
/// lower cost than this matters.
inline double plan_blocks(staged_move& best, const layout& moves, std::int64_t element_size,
                          instruction_set set, double least, buffered_side buffer) noexcept {
  const block_offer direct = offer_block(moves, element_size, set, buffer);
  best.second = direct.move;
  best.bytes = total_bytes(moves, element_size);
  best.readable = element_size;
  for (std::size_t i = 0; i < moves.rank; ++i) {
    const layout_axis& axis = moves.axes[i];
    if (!moves.in_source_run(axis)) best.readable = 0;
    if (best.readable > 0) best.readable += std::max<std::int64_t>(0, axis.source_stride) * (axis.extent - 1);
  }
  best.is_staged = false;
  double cost = direct.cost;
  const auto bytes = static_cast<double>(best.bytes);
  const mover_costs costs = mover_costs::of(set);
  if (moves.rank < 3 || element_size > 64 || !costs.is_worth_search(std::min(cost, least), bytes))
    return cost;
  const axis_order source = order_of(moves, &layout_axis::source_stride);
  const axis_order destination = order_of(moves, &layout_axis::destination_stride);
  const block_extents block(moves, element_size, source, destination);
  best.rank = 0;
  std::int64_t blocks = 1;
  for (std::size_t i = 0; i < moves.rank; ++i) {
    const layout_axis& axis = moves.axes[i];
    const cut_axis cut({axis.extent, axis.source_stride, axis.destination_stride}, block.at_once[i]);
    blocks *= cut.pieces();
    if (cut.pieces() > 1) best.axes[best.rank++] = cut;
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

/// Estimates the cycles that a leaf takes for a byte if the rows of its tiles change with bounds.
inline double bounded_cost_per_byte(const plan& planned, const mover_costs& costs) noexcept {
  const tile& t = planned.leaf_tile;
  const auto size = static_cast<std::int64_t>(t.element_size);
  const auto row = static_cast<double>(t.inner.extent * size);
  const bool is_run = t.inner.source_stride == size && t.inner.destination_stride == size;
  if (is_run) return costs.bounded_run_byte + costs.bounded_row / row;
  if (t.outer.source_stride != size || t.inner.destination_stride != size) {
    return costs.bounded_run_byte + costs.element / static_cast<double>(size) + costs.bounded_row / row;
  }
  const auto [few, many] = std::minmax({t.outer_extent(), t.inner_extent()});
  if (few * size >= 16) {
    const auto log_size = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(size))) - 1;
    return costs.stream_byte[std::min(log_size, costs.stream_byte.size() - 1)] +
           costs.bounded_stream_row / row;
  }
  const bool has_leaf = planned.streams_are_fixed && (interleaves(t) || separates(t)) &&
                        (few <= 4 || few == 8) && many * size >= 16;
  return (has_leaf ? costs.few_streams_byte : costs.few_streams_element / static_cast<double>(size)) +
         costs.bounded_row / row;
}

constexpr double bytes_of(const tile& t) noexcept {
  return static_cast<double>(t.outer.extent * t.inner.extent * t.rows.extent * t.slices.extent) *
         static_cast<double>(t.element_size);
}

/// Tells whether a leaf that writes past the caches has whole lines of the streams that it interleaves, separates or
/// transposes. Otherwise it writes single elements, which takes much longer than a move through the caches. Bounds shorten
/// streams, so a leaf with bounds counts only if it transposes.
constexpr bool streams_lines(const tile& t, bool has_bounds) noexcept {
  constexpr std::int64_t line = 64;  // bytes
  const auto size = static_cast<std::int64_t>(t.element_size);
  const auto [few, many] = std::minmax({t.outer_extent(), t.inner_extent()});
  if (!has_bounds && (interleaves(t) || separates(t))) return many * size >= line;
  return t.outer.source_stride == size && t.inner.destination_stride == size && few * size >= line;
}

/// Estimates the cycles of a plan of leaves and patterns. 0: nothing is better than this plan.
inline double cost_of(const plan& planned, const mover_costs& costs, const movers& available) noexcept {
  const tile& t = planned.leaf_tile;
  const auto size = static_cast<std::int64_t>(t.element_size);
  constexpr std::int64_t least = 2048;  // bytes
  const std::int64_t all = total_bytes(planned.whole(), size);
  if (planned.staged || planned.masked || planned.shifted || planned.rank < 2 || all < least) return 0;
  const auto bytes = static_cast<double>(all);
  const bool is_run = t.inner.source_stride == size && t.inner.destination_stride == size;
  const auto is_bounded = [](const layout_axis& axis) { return axis.bounded(); };
  const bool has_bounds = std::any_of(planned.axes.begin(), planned.axes.begin() + planned.rank, is_bounded);
  if (t.streamed && (is_run || size >= 16 || streams_lines(t, has_bounds))) return 0;
  if (has_bounds) {
    if (planned.repeats())
      return cost_of_pattern(planned, costs, bytes) +
             costs.table * static_cast<double>(count_tables(planned, planned.repeated.inner));
    return bytes * bounded_cost_per_byte(planned, costs) + costs.bounded_tile * bytes / bytes_of(t);
  }
  if (size > 16 || (is_run && !planned.repeats())) return 0;
  if (size == 16) return bytes / costs.strided_16;
  if (planned.repeats()) return cost_of_pattern(planned, costs, bytes);
  const bool are_merged = interleaves(t);
  const bool have_leaf = are_merged || separates(t);
  if (have_leaf && planned.lookup_width == 64 && available.has_wide_leaf(planned.least_tile(), are_merged))
    return 0;
  return bytes * streams_cost_per_byte(t, costs);
}

/// Plans any layout without bounds and returns the cost in cycles. The layout may have no elements.
inline double plan_unbounded(staged_move& blocks, const layout& moves, std::int64_t element_size,
                             double least = std::numeric_limits<double>::infinity(),
                             buffered_side buffer = buffered_side::none) noexcept {
  blocks.is_empty = is_empty(moves, element_size);
  if (blocks.is_empty) return 0;
  layout simple;
  simple.take(moves);
  const std::int64_t size = simplify(simple, element_size);
  blocks.source_offset = simple.source_offset;
  blocks.destination_offset = simple.destination_offset;
  return plan_blocks(blocks, simple, size, usable_instruction_set(), least, buffer);
}

/// Plans and runs moves that happen only once, with a buffer as for run_blocks().
[[gnu::noinline]] inline void move_unbounded(const layout& moves, std::int64_t element_size,
                                             const std::byte* source, std::byte* destination,
                                             std::byte* buffer) noexcept {
  staged_move blocks;
  plan_unbounded(blocks, moves, element_size);
  run_blocks(blocks, source, destination, buffer);
}

/// Plans a layout that has elements and returns the cost in cycles, or infinity if the layout has bounds.
inline double offer_blocks(staged_move& blocks, const layout& moves, std::int64_t element_size,
                           double least) noexcept {
  layout simple;
  simple.take(moves);
  drop_idle_bounds(simple);
  const auto is_bounded = [](const layout_axis& axis) { return axis.bounded(); };
  if (std::any_of(simple.axes.begin(), simple.axes.begin() + simple.rank, is_bounded)) {
    return std::numeric_limits<double>::infinity();
  }
  return plan_unbounded(blocks, simple, element_size, least);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
