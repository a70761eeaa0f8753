// SPDX-License-Identifier: BSD-3-Clause
//
// A plan of moves: in blocks, or by leaves and patterns, whichever takes less.
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

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A trivially copyable value.
struct move_plan {
  bool in_blocks = false;
  union {
    plan leaves;
    staged_move blocks;
  };

  /// `settle`: what makes sums of single terms, or null. The other arguments are those of plan_moves().
  move_plan(const layout& moves, std::int64_t element_size, const movers& by, const settling* settle) noexcept
      : leaves(moves) {
    const instruction_set set = usable_instruction_set();
    set_out_moves(leaves, moves, element_size, by, settle, set);
    if (settle != nullptr || leaves.empty) return;
    const double cost = cost_of(leaves);
    if (cost == 0) return;
    staged_move offered;
    if (offer_blocks(offered, moves, element_size) >= cost) return;
    new (&blocks) staged_move(offered);
    in_blocks = true;
  }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    if (in_blocks) return run_blocks(blocks, source, destination);
    if (!leaves.empty) traverse(leaves, source, destination);
  }
};
static_assert(std::is_trivially_copyable_v<move_plan>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
