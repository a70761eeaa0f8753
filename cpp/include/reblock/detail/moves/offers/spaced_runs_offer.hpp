// SPDX-License-Identifier: BSD-3-Clause
//
// The mover of spaced runs copies elements between places at even distances.
#pragma once

#include <cstddef>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Tells whether a row of the destination has copies of one element, enough for a lane.
constexpr bool is_filled(const tile_axis& row, std::int64_t element_size) noexcept {
  return row.source_stride == 0 && row.destination_stride == element_size &&
         row.extent >= lane_bytes / element_size;
}

/// Offers to copy elements of one word along one axis, without a list, if this costs less than `limit`. What comes from memory
/// should be read line by line, so large moves have no offer, unless each row is filled with one element.
inline block_offer offer_spaced_runs(const offered_layout& of, buffered_side buffer,
                                     double limit = never) noexcept {
  block_offer best;
  if (!of.is_word() || of.moves.rank == 0) return best;
  const std::size_t by_source = order_of(of.moves, &layout_axis::source_stride).axes[0];
  const std::size_t by_destination = order_of(of.moves, &layout_axis::destination_stride).axes[0];
  const bool fills = is_filled(of.moves.axes[by_destination], of.size);
  if (of.is_large && !fills) return best;
  std::size_t longest = by_destination;
  for (std::size_t i = 0; i < of.moves.rank; ++i) {
    if (of.moves.axes[i].extent > of.moves.axes[longest].extent) longest = i;
  }
  const auto offer_axis = [&](std::size_t axis, std::int64_t at_once) {
    block_offer offer;
    offer.move.are_runs = offer.move.are_spaced = true;
    axis_chain runs;
    runs.push(axis, of.moves.axes[axis].extent);
    of.set_out(offer.move, {}, 1, runs, at_once);
    if (axis == by_destination) offered_layout::order_repeats_by_source(offer.move);
    const cut_axis& cut = offer.move.axes[offer.move.repeated];
    double calls = of.cost_of_calls(offer.move);
    const auto repeat_piece = [&offer](std::int64_t indices) {
      offer.move.axes[offer.move.repeated - std::size_t{1}].at_once = indices;
    };
    if (cut.pieces() > 1) {  // each piece repeats the next axis
      const std::int64_t repeated = offer.move.axes[offer.move.repeated - std::size_t{1}].extent;
      repeat_piece(repeated);
      calls /= static_cast<double>(repeated);
    }
    offer.cost = calls + of.bytes / static_cast<double>(of.size * cut.at_once) * of.costs.row +
                 (fills ? of.bytes * of.costs.filled_byte
                        : of.bytes / static_cast<double>(of.size) * of.costs.spaced_run);
    of.add_waiting(offer, buffer, of.costs.next_line, limit);
    if (offer.cost >= limit) return;
    if (cut.pieces() > 1) {  // the axes may have another order now
      for (std::size_t i = 0; i < offer.move.repeated; ++i) offer.move.axes[i].at_once = 1;
      repeat_piece(offer.move.axes[offer.move.repeated - std::size_t{1}].extent);
    }
    best = offer;
    limit = offer.cost;
  };
  std::size_t last = no_axis;
  for (const std::size_t axis : {by_destination, longest, by_source}) {
    if (axis != std::exchange(last, axis)) offer_axis(axis, of.moves.axes[axis].extent);
    if (fills) break;
  }
  // lines of the source stay in the first-level cache while pieces of its other rows come
  const std::int64_t piece = even_part(of.moves.axes[by_destination].extent, block_costs::spaced_piece);
  if (!fills && by_source != by_destination && piece < of.moves.axes[by_destination].extent)
    offer_axis(by_destination, piece);
  const auto size = static_cast<std::size_t>(of.size);
#if defined(__GNUC__) && defined(__x86_64__)
  if (of.set >= instruction_set::avx2) {
    best.move.mover = fills ? avx2::fill_mover(size) : avx2::spaced_mover<>(size);
    return best;
  }
#endif
  best.move.mover = fills ? baseline::fill_mover(size) : baseline::spaced_mover<>(size);
  return best;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
