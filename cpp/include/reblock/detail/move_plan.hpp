// SPDX-License-Identifier: BSD-3-Clause
//
// A move_plan moves in blocks, or by leaves and patterns: it takes the cheaper way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <reblock/detail/blocks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers.hpp>
#include <reblock/detail/plan_blocks.hpp>
#include <reblock/detail/plan_moves.hpp>
#include <reblock/detail/traversal.hpp>
#include <reblock/detail/window_blocks.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A move_plan is trivially copyable.
struct move_plan {
  enum class kind : std::uint8_t { leaves, blocks, windows };
  kind holds = kind::leaves;
  union {
    plan leaves;
    staged_move blocks;
    window_move windows;
  };

  /// The arguments are those of plan_moves().
  move_plan(const layout& moves, std::int64_t element_size, const movers& available) noexcept
      : leaves(moves) {
    const instruction_set set = usable_instruction_set();
    set_out_moves(leaves, moves, element_size, available, set);
    if (leaves.empty) return;
    const double least = cost_of(leaves, mover_costs::of(set));
    if (least == 0) return;
    offer(moves, element_size, set, least);
  }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    switch (holds) {
      case kind::leaves: return leaves.empty ? void() : traverse(leaves, source, destination);
      case kind::blocks: return run_blocks(blocks, source, destination);
      case kind::windows: return run_windows(windows, source, destination);
    }
  }

 private:
  /// Tries moves in blocks and windows. It is not inlined, because it needs much stack.
  [[gnu::noinline]] void offer(const layout& moves, std::int64_t element_size, instruction_set set,
                               double least) noexcept {
    staged_move in_blocks;
    const double cost = offer_blocks(in_blocks, moves, element_size, least);
    const bool fits = cost < least;
    if (fits) least = cost;
    window_move by_windows;
    const auto bytes = static_cast<double>(total_bytes(moves, element_size));
    if (moves.bound_count > 0 && mover_costs::of(set).is_worth_search(least, bytes) &&
        plan_windows(by_windows, moves, element_size, set) < least) {
      new (&windows) window_move(by_windows);
      holds = kind::windows;
    } else if (fits) {
      new (&blocks) staged_move(in_blocks);
      holds = kind::blocks;
    }
  }
};
static_assert(std::is_trivially_copyable_v<move_plan>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
