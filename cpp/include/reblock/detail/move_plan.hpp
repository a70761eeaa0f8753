// SPDX-License-Identifier: BSD-3-Clause
//
// A move_plan holds one of the ways to move a layout: the one that made the cheapest offer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>

#include <reblock/detail/blocks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/lookup_move.hpp>
#include <reblock/detail/plan_blocks.hpp>
#include <reblock/detail/plane_move.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/stream_move.hpp>
#include <reblock/detail/window_blocks.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A move_plan is trivially copyable.
class move_plan {
 public:
  /// Plans to move every element of `moves`, each `element_size` bytes. Requires that the destination does not overlap itself,
  /// and that bounds are those of windows of an image: see has_windows().
  move_plan(const layout& moves, std::int64_t element_size,
            instruction_set set = usable_instruction_set()) noexcept
      : blocks_() {
    blocks_.has_no_elements = is_empty(moves, element_size);
    if (blocks_.has_no_elements) {
      cost_ = 0;
      return;
    }
    const mover_costs costs = mover_costs::of(set);
    const auto bytes = static_cast<double>(total_bytes(moves, element_size));
    layout simple;
    simple.take(moves);
    const std::int64_t size = simplify(simple, element_size);
    if (!has_bounds(simple)) {
      cost_ = plan_blocks(blocks_, simple, size, set);
      if (goes_past_caches(simple, size)) {
        if (blocks_.is_staged) cost_ += bytes * costs.cached_byte;
        if (blocks_.stream() || offer<stream_move>(kind::streams, simple, size, set)) return;
      }
      if (costs.is_worth_table(cost_, bytes)) offer<lookup_move>(kind::lookups, simple, size, set);
      return;
    }
    offer<plane_move>(kind::planes, simple, size, set);
    if (costs.is_worth_table(cost_, bytes)) offer<lookup_move>(kind::lookups, simple, size, set);
    if (costs.is_worth_search(cost_, bytes)) offer<window_move>(kind::windows, moves, element_size, set);
  }

  /// The estimated cycles.
  double cost() const noexcept { return cost_; }

  /// Calls `visit` with the way that moves.
  template <class Visit>
  void visit(const Visit& visit) const {
    switch (holds_) {
      case kind::blocks: return visit(blocks_);
      case kind::lookups: return visit(lookups_);
      case kind::planes: return visit(planes_);
      case kind::streams: return visit(streams_);
      case kind::windows: return visit(windows_);
    }
  }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    visit([&](const auto& way) { way.run(source, destination); });
  }

 private:
  enum class kind : std::uint8_t { blocks, lookups, planes, streams, windows };

  /// Takes a way if it is the cheapest so far. Returns whether it is. It is not inlined, because a way needs much stack.
  template <class Way>
  [[gnu::noinline]] bool offer(kind which, const layout& moves, std::int64_t element_size,
                               instruction_set set) noexcept {
    Way way;
    const double cost = way.plan(moves, element_size, set);
    if (cost >= cost_) return false;
    new (&blocks_) Way(way);
    cost_ = cost;
    holds_ = which;
    return true;
  }

  kind holds_ = kind::blocks;
  double cost_ = std::numeric_limits<double>::infinity();
  union {
    staged_move blocks_;
    lookup_move lookups_;
    plane_move planes_;
    stream_move streams_;
    window_move windows_;
  };
};
static_assert(std::is_trivially_copyable_v<move_plan>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
