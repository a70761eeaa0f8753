// SPDX-License-Identifier: BSD-3-Clause
//
// remembered_moves runs layouts that repeat: the moves of boxes into a buffer and out of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <reblock/detail/blocks.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/offers.hpp>
#include <reblock/detail/plan_blocks.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// It plans a layout without bounds only if it does not remember the plan. It remembers the last `Plans` plans: boxes at the
/// edges of a tensor have other extents than those between them.
template <std::size_t Plans = 4>
class remembered_moves {
 public:
  remembered_moves() noexcept = default;
  remembered_moves(const remembered_moves&) = delete;

  /// Moves elements of `element_size` bytes. `side` says which side is a buffer.
  [[gnu::noinline]] void run(const layout& moves, std::int64_t element_size, buffered_side side,
                             const std::byte* source, std::byte* destination) noexcept {
    if (is_empty(moves, element_size)) return;
    const planned& found = plan_of(moves, element_size, side);
    found.blocks.run(source + moves.source_offset, destination + moves.destination_offset);
  }

 private:
  struct planned {
    std::size_t rank = 0;  ///< of the layout; 0: there is no plan
    std::int64_t element_size = 0;
    buffered_side side = buffered_side::none;
    std::array<layout_axis, max_axes> axes;
    staged_move blocks;

    bool is_for(const layout& moves, std::int64_t size, buffered_side buffer) const noexcept {
      return rank == moves.rank && element_size == size && side == buffer &&
             std::equal(axes.begin(), axes.begin() + rank, moves.axes.begin());
    }
  };

  const planned& plan_of(const layout& moves, std::int64_t element_size, buffered_side side) noexcept {
    for (const planned& known : plans_) {
      if (known.is_for(moves, element_size, side)) return known;
    }
    planned& next = plans_[next_++ % plans_.size()];
    next.rank = moves.rank;
    next.element_size = element_size;
    next.side = side;
    std::copy_n(moves.axes.begin(), moves.rank, next.axes.begin());
    plan_unbounded(next.blocks, moves, element_size, side);
    // the plan is for any place
    next.blocks.source_offset = wrapping_subtract(next.blocks.source_offset, moves.source_offset);
    next.blocks.destination_offset =
        wrapping_subtract(next.blocks.destination_offset, moves.destination_offset);
    return next;
  }

  std::array<planned, Plans> plans_;
  std::size_t next_ = 0;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
