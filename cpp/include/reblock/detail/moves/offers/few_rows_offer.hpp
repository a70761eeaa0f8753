// SPDX-License-Identifier: BSD-3-Clause
//
// The mover of few rows shuffles registers of rows at any places.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Offers to move few rows, or few columns, at any places on both sides: fewer than squares need.
[[gnu::noinline]] inline block_offer offer_few_rows(const offered_layout& of, buffered_side buffer) noexcept {
  block_offer offer;
  if (of.rows.elements >= of.side && of.columns.elements >= of.side) return offer;
  block_move& move = offer.move;
  axis_chain rows = of.rows;
  while (rows.elements > of.side && rows.count > 1)
    rows.elements /= of.moves.axes[rows.axes[--rows.count]].extent;
  of.set_out(move, of.columns, most_streams, rows, of.side);
  if (buffer != buffered_side::source) of.follow_columns(move);
  const auto few = static_cast<std::size_t>(offered_layout::rows_of(move));
  if (few < 2) return offer;
#if defined(__GNUC__) && defined(__x86_64__)
  move.mover = of.set >= instruction_set::avx2
                   ? avx2::few_rows_mover(static_cast<std::size_t>(of.size), few)
                   : baseline::few_rows_mover(static_cast<std::size_t>(of.size), few);
#else
  move.mover = baseline::few_rows_mover(static_cast<std::size_t>(of.size), few);
#endif
  const std::int64_t columns = offered_layout::columns_of(move);
  const std::size_t count = std::bit_ceil(few);
  const double shuffles = static_cast<double>(count) * log2(count) / 2;
  const auto steps = static_cast<double>(ceil_divide(columns, of.side));
  const double stores =
      static_cast<double>(columns) * (few == count ? of.costs.one_store : of.costs.two_stores);
  const double blocks = of.bytes / static_cast<double>(static_cast<std::int64_t>(few) * columns * of.size);
  offer.cost = of.cost_of_calls(move) +
               blocks * (steps * (of.costs.few_rows_register * (static_cast<double>(count) + shuffles) +
                                  of.costs.few_rows_step) +
                         stores);
  return offer;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
