// SPDX-License-Identifier: BSD-3-Clause
//
// block_offers chooses the mover for a layout's blocks: the cheapest one. Each mover has a header with its offer.
#pragma once

#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/moves/offers/runs_offer.hpp>
#include <reblock/detail/moves/offers/spaced_runs_offer.hpp>
#include <reblock/detail/moves/offers/squares_offer.hpp>
#include <reblock/detail/moves/offers/streams_offer.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The enum names the movers of blocks.
enum class mover_kind : std::uint8_t { runs, spaced_runs, squares, few_streams, wide_streams };

/// block_offers compares movers for one layout. The layout is simplified and has no bounds.
class block_offers {
 public:
  block_offers(const layout& moves, std::int64_t element_size, instruction_set set) noexcept
      : of_(moves, element_size, set) {}

  /// Calls `visit(kind, offer)` with the offer of each mover that can move the layout.
  template <class Visit>
  void for_each_offer(buffered_side buffer, const Visit& visit) const noexcept {
    for_each_offer(buffer, visit, [] { return never; });
  }
  /// Does the same. `limit()` returns the cost from which on an offer is not needed.
  template <class Visit, class Limit>
  void for_each_offer(buffered_side buffer, const Visit& visit, const Limit& limit) const noexcept {
    const auto take = [&visit](mover_kind kind, const block_offer& offer) {
      if (offer.cost < never) visit(kind, offer);
    };
    if (of_.rows.count > 0) {  // these need rows and columns
      take(mover_kind::squares, offer_squares(of_, buffer, limit()));
      take(mover_kind::few_streams, streams_offer(of_, buffer, limit()).offer_few());
      take(mover_kind::wide_streams, streams_offer(of_, buffer, limit()).offer_wide());
    }
    take(mover_kind::runs, runs_offer(of_).offer(buffer, limit()));
    take(mover_kind::spaced_runs, offer_spaced_runs(of_, buffer, limit()));
  }

  /// Returns the cheapest offer, or one without a mover that costs `limit` if all cost more. If the source is a buffer, a mover
  /// may read all of the buffer's bytes behind an element.
  block_offer best(buffered_side buffer, double limit = never) const noexcept {
    block_offer found;
    found.cost = limit;
    for_each_offer(
        buffer, [&](mover_kind, const block_offer& offer) { take_cheaper(found, offer, buffer); },
        [&found] { return found.cost; });
    if (found.move.mover != nullptr && found.move.are_apart()) of_.go_apart(found.move, buffer);
    return found;
  }

 private:
  [[gnu::noinline]] void take_cheaper(block_offer& found, const block_offer& other,
                                      buffered_side buffer) const noexcept {
    const bool is_cached = of_.is_large && buffer == buffered_side::none && !other.move.writes_lines;
    const double cost = other.cost + (is_cached ? of_.bytes * of_.costs.cached_byte : 0);
    if (cost < found.cost) found = {other.move, cost};
  }

  offered_layout of_;
};

[[gnu::noinline]] inline block_offer offer_block(const layout& moves, std::int64_t element_size,
                                                 instruction_set set, buffered_side buffer,
                                                 double limit = never) noexcept {
  return block_offers(moves, element_size, set).best(buffer, limit);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
