// SPDX-License-Identifier: BSD-3-Clause
//
// A move_plan moves in blocks, or by leaves and patterns: it takes the cheaper way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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
    cost_ = cost_of(leaves, mover_costs::of(set), available);
    if (cost_ > 0) offer(moves, element_size, set);
  }

  /// The estimated cycles. 0: nothing is better than this plan.
  double cost() const noexcept { return cost_; }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    switch (holds) {
      case kind::leaves: return leaves.empty ? void() : traverse(leaves, source, destination);
      case kind::blocks: return run_blocks(blocks, source, destination);
      case kind::windows: return run_windows(windows, source, destination);
    }
  }

 private:
  /// Tries moves in blocks and windows. It is not inlined, because it needs much stack.
  [[gnu::noinline]] void offer(const layout& moves, std::int64_t element_size, instruction_set set) noexcept {
    staged_move in_blocks;
    const double by_blocks = offer_blocks(in_blocks, moves, element_size, cost_);
    const double least = std::min(by_blocks, cost_);
    const auto bytes = static_cast<double>(total_bytes(moves, element_size));
    window_move in_windows;
    const bool may_have_windows = moves.bound_count > 0 && mover_costs::of(set).is_worth_search(least, bytes);
    const double by_windows = may_have_windows ? plan_windows(in_windows, moves, element_size, set)
                                               : std::numeric_limits<double>::infinity();
    if (by_windows < least) {
      new (&windows) window_move(in_windows);
      holds = kind::windows;
      cost_ = by_windows;
    } else if (by_blocks < cost_) {
      new (&blocks) staged_move(in_blocks);
      holds = kind::blocks;
      cost_ = by_blocks;
    }
  }

  double cost_ = 0;
};
static_assert(std::is_trivially_copyable_v<move_plan>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
