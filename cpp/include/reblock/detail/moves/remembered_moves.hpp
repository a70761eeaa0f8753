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
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/box_copy.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A remembered_moves plans a layout without bounds only if it does not remember the plan. A plan has only the axes in use, and
/// takes a sixth of a staged_move. If there is no room for another plan, all are forgotten. Few calls need more than six plans,
/// although boxes at the edges of a tensor have other extents, and a box has several moves.
class remembered_moves {
 public:
  constexpr remembered_moves() noexcept = default;
  remembered_moves(const remembered_moves&) = delete;

  /// Moves elements of `element_size` bytes. `side` says which side is a buffer.
  [[gnu::noinline]] void run(const layout& moves, std::int64_t element_size, buffered_side side,
                             const std::byte* source, std::byte* destination) noexcept {
    if (is_empty(moves, element_size)) return;
    const key wanted(moves, element_size, side);
    const plan& known = find(wanted, moves);
    source += moves.source_offset + known.source_offset;
    destination += moves.destination_offset + known.destination_offset;
    const block_shape& only = known.first_move();
    if (known.is_staged) return run_staged(known, source, destination);
    run_direct(only, axes_of(only), source, destination);
  }

 private:
  /// A key has all that a plan depends on but for the axes that have several indices.
  struct key {
    std::int64_t element_size;
    std::int64_t whole_bytes;
    bool asks_for_lines;
    buffered_side side;
    added_zero zero;
    std::uint8_t rank = 0;  ///< axes with several indices
    std::uint32_t hash = 0;

    key(const layout& moves, std::int64_t size, buffered_side buffer) noexcept
        : element_size(size),
          whole_bytes(moves.whole_bytes),
          asks_for_lines(moves.asks_for_lines),
          side(buffer),
          zero(moves.zero) {
      auto mixed = static_cast<std::uint64_t>(size);
      constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;  // odd, without a pattern of bits
      for (std::size_t i = 0; i < moves.rank; ++i) {
        const layout_axis& axis = moves.axes[i];
        if (axis.extent == 1) continue;
        ++rank;
        mixed = (mixed + static_cast<std::uint64_t>(axis.extent)) * factor ^
                (static_cast<std::uint64_t>(axis.source_stride) +
                 3 * static_cast<std::uint64_t>(axis.destination_stride));
      }
      hash = static_cast<std::uint32_t>(mixed * factor >> 32);
    }
    friend bool operator==(const key&, const key&) = default;
  };

  /// A plan is followed by the axes of its layout, the walked axes of a staged move, and one or two moves, each with its axes.
  struct plan {
    key of;
    std::uint8_t staged_rank = 0;
    bool is_staged = false;
    std::int64_t source_offset = 0;
    std::int64_t destination_offset = 0;

    const tile_axis* axes() const noexcept {
      return std::launder(reinterpret_cast<const tile_axis*>(this + 1));
    }
    const cut_axis* walked() const noexcept {
      return std::launder(reinterpret_cast<const cut_axis*>(axes() + of.rank));
    }
    const block_shape& first_move() const noexcept {
      return *std::launder(reinterpret_cast<const block_shape*>(walked() + staged_rank));
    }
  };
  static const cut_axis* axes_of(const block_shape& move) noexcept {
    return std::launder(reinterpret_cast<const cut_axis*>(&move + 1));
  }

  const plan& find(const key& wanted, const layout& moves) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (hashes_[i] != wanted.hash) continue;
      const plan& known = *std::launder(reinterpret_cast<const plan*>(memory_.data() + places_[i]));
      if (known.of == wanted && has_axes(known, moves)) return known;
    }
    return add(wanted, moves);
  }
  static bool has_axes(const plan& known, const layout& moves) noexcept {
    const tile_axis* next = known.axes();
    for (std::size_t i = 0; i < moves.rank; ++i) {
      if (moves.axes[i].extent > 1 && *next++ != tile_axis(moves.axes[i])) return false;
    }
    return true;
  }

  [[gnu::noinline]] const plan& add(const key& wanted, const layout& moves) noexcept {
    staged_move blocks;
    plan_unbounded(blocks, moves, wanted.element_size, wanted.side);
    plan next{wanted};
    next.is_staged = blocks.is_staged;
    next.staged_rank = blocks.is_staged ? blocks.staged_rank : std::uint8_t{0};
    // the plan is for any place
    next.source_offset = wrapping_subtract(blocks.source_offset, moves.source_offset);
    next.destination_offset = wrapping_subtract(blocks.destination_offset, moves.destination_offset);
    const std::size_t bytes = sizeof(plan) + wanted.rank * sizeof(tile_axis) +
                              next.staged_rank * sizeof(cut_axis) + bytes_of(blocks.second) +
                              (blocks.is_staged ? bytes_of(blocks.first) : 0);
    if (count_ == places_.size() || bytes > memory_.size() - used_) count_ = used_ = 0;
    hashes_[count_] = wanted.hash;
    places_[count_++] = static_cast<std::uint16_t>(used_);
    std::byte* to = memory_.data() + used_;
    used_ += bytes;
    const plan& added = *put(to, next);
    for (std::size_t i = 0; i < moves.rank; ++i) {
      if (moves.axes[i].extent > 1) put(to, tile_axis(moves.axes[i]));
    }
    for (std::size_t i = 0; i < next.staged_rank; ++i) put(to, blocks.axes[i]);
    if (blocks.is_staged) put_move(to, blocks.first);
    put_move(to, blocks.second);
    return added;
  }

  /// Makes a copy of a value at a place, and moves the place behind it.
  template <class T>
  static const T* put(std::byte*& to, const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(plan));
    const T* made = new (to) T(value);
    to += sizeof(T);
    return made;
  }
  static void put_move(std::byte*& to, const block_move& move) noexcept {
    put<block_shape>(to, move);
    for (std::size_t i = 0; i < move.rank(); ++i) put(to, move.axes[i]);
  }
  static std::size_t bytes_of(const block_move& move) noexcept {
    return sizeof(block_shape) + move.rank() * sizeof(cut_axis);
  }
  static void take(block_move& move, const block_shape& known) noexcept {
    static_cast<block_shape&>(move) = known;
    std::copy_n(axes_of(known), known.rank(), move.axes.begin());
  }

  /// Runs a staged move, which needs stack itself.
  [[gnu::noinline]] static void run_staged(const plan& known, const std::byte* source,
                                           std::byte* destination) noexcept {
    staged_move blocks;
    blocks.is_staged = true;
    blocks.staged_rank = known.staged_rank;
    std::copy_n(known.walked(), known.staged_rank, blocks.axes.begin());
    const block_shape& first = known.first_move();
    take(blocks.first, first);
    take(blocks.second, *std::launder(reinterpret_cast<const block_shape*>(axes_of(first) + first.rank())));
    blocks.run(source, destination);
  }

  static constexpr std::size_t most_plans = 8;
  /// About six plans. More would not leave room enough on stacks of 128 KiB, from which some C libraries take these bytes.
  static constexpr std::size_t bytes_of_plans = 2432;

  std::array<std::uint32_t, most_plans> hashes_{};
  std::array<std::uint16_t, most_plans> places_{};  ///< in the memory, bytes
  alignas(plan) std::array<std::byte, bytes_of_plans> memory_{};
  std::size_t count_ = 0;  ///< of plans
  std::size_t used_ = 0;   ///< bytes of the memory
};

/// Returns this thread's plans. No two runners of a thread run moves at the same time. Hidden, as recent_patterns() is.
[[gnu::visibility("hidden")]] inline remembered_moves& recent_moves() noexcept {
  static thread_local constinit remembered_moves moves;
  return moves;
}

/// Copies a box whose innermost axis comes first, with a plan if it is worth one. `whole_bytes` are those of the move that the
/// box belongs to, or 0: see layout.
inline void copy_box(copied_box& box, buffered_side side, std::int64_t whole_bytes, const std::byte* source,
                     std::byte* destination) noexcept {
  if (!box.is_worth_planning()) return box.copy(source, destination);
  layout moves = box.moves();
  moves.whole_bytes = whole_bytes;
  recent_moves().run(moves, box.unit, side, source, destination);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
