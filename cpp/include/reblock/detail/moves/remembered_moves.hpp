// SPDX-License-Identifier: BSD-3-Clause
//
// remembered_moves runs layouts that repeat: the moves of boxes into a buffer and out of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/sums/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// It plans a layout without bounds only if it does not remember the plan. It remembers the last `Plans` plans: boxes at the
/// edges of a tensor have other extents than those between them, and a box has several moves.
template <std::size_t Plans = 6>
class remembered_moves {
 public:
  remembered_moves() noexcept = default;
  remembered_moves(const remembered_moves&) = delete;

  /// Moves elements of `element_size` bytes. `side` says which side is a buffer.
  [[gnu::noinline]] void run(const layout& moves, std::int64_t element_size, buffered_side side,
                             const std::byte* source, std::byte* destination) noexcept {
    if (is_empty(moves, element_size)) return;
    run_beside_buffer(plan_of(moves, element_size, side).blocks, source + moves.source_offset,
                      destination + moves.destination_offset);
  }

 private:
  struct planned {
    std::size_t rank = 0;  ///< axes with several indices
    std::int64_t element_size;
    buffered_side side;
    std::array<tile_axis, max_axes> axes;
    staged_move blocks;

    bool is_for(const layout& moves, std::int64_t size, buffered_side buffer) const noexcept {
      if (element_size != size || side != buffer) return false;
      std::size_t known = 0;
      for (std::size_t i = 0; i < moves.rank; ++i) {
        const layout_axis& axis = moves.axes[i];
        if (axis.extent == 1) continue;
        if (known == rank || axes[known].extent != axis.extent ||
            axes[known].source_stride != axis.source_stride ||
            axes[known].destination_stride != axis.destination_stride)
          return false;
        ++known;
      }
      return known == rank;
    }
  };
  static_assert(std::is_trivially_destructible_v<planned>);

  const planned& plan_of(const layout& moves, std::int64_t element_size, buffered_side side) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      const planned& known = *std::launder(reinterpret_cast<const planned*>(rooms_[i].data()));
      if (known.is_for(moves, element_size, side)) return known;
    }
    planned& next = *new (rooms_[next_].data()) planned;
    count_ = std::max(count_, next_ + 1);
    next_ = (next_ + 1) % Plans;
    next.element_size = element_size;
    next.side = side;
    for (std::size_t i = 0; i < moves.rank; ++i) {
      const layout_axis& axis = moves.axes[i];
      if (axis.extent > 1)
        next.axes[next.rank++] = {axis.extent, axis.source_stride, axis.destination_stride};
    }
    plan_unbounded(next.blocks, moves, element_size, side);
    // the plan is for any place
    next.blocks.source_offset = wrapping_subtract(next.blocks.source_offset, moves.source_offset);
    next.blocks.destination_offset =
        wrapping_subtract(next.blocks.destination_offset, moves.destination_offset);
    return next;
  }

  struct alignas(planned) room : std::array<std::byte, sizeof(planned)> {};

  std::array<room, Plans>
      rooms_;  // of which `count_` have plans: others have no values, since setting them takes long
  std::size_t count_ = 0;
  std::size_t next_ = 0;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
