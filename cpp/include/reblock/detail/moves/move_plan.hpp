// SPDX-License-Identifier: BSD-3-Clause
//
// A move_plan holds the cheapest way to move a layout without bounds.
#pragma once

#include <cstdint>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/cheapest_way.hpp>
#include <reblock/detail/moves/lookup_move.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/moves/stream_move.hpp>
#include <reblock/detail/simplify.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A move_plan is trivially copyable.
class move_plan : public cheapest_way<staged_move, lookup_move, stream_move> {
 public:
  /// Plans to move every element of `moves`, each `element_size` bytes. Requires that the destination does not overlap itself,
  /// and that bounds, if there are any, always hold. The plan will run `times` times. `buffer` says which side is a buffer.
  move_plan(const layout& moves, std::int64_t element_size, instruction_set set = usable_instruction_set(),
            double times = 1, buffered_side buffer = buffered_side::none) noexcept {
    staged_move& blocks = hold<staged_move>();
    blocks.has_no_elements = is_empty(moves, element_size);
    if (blocks.has_no_elements) {
      cost_ = 0;
      return;
    }
    const auto bytes = static_cast<double>(total_bytes(moves, element_size));
    layout simple;
    simple.take(moves);
    turn_to_shorter_strides(simple);
    const std::int64_t size = simplify_as_turned(simple, element_size);
    const bool is_large = goes_past_caches(simple, size);
    // blocks beside a buffer do not go past the caches
    cost_ = plan_blocks(blocks, simple, size, set, is_large ? buffered_side::none : buffer, times);
    if (is_large) {
      if (blocks.is_staged) cost_ += bytes * mover_costs::of(set).cached_byte;
      if (blocks.stream() || offer<stream_move>(simple, size, set)) return;
    }
    if (mover_costs::of(set).is_worth_table(times * cost_, times * bytes))
      offer<lookup_move>(simple, size, set, buffer);
  }
};
static_assert(std::is_trivially_copyable_v<move_plan>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
