// SPDX-License-Identifier: BSD-3-Clause
//
// A window_plan holds the cheapest way to move the windows of a padded image.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/cheapest_way.hpp>
#include <reblock/detail/moves/lookup_move.hpp>
#include <reblock/detail/moves/padded_runner.hpp>
#include <reblock/detail/moves/padded_windows.hpp>
#include <reblock/detail/moves/plane_move.hpp>
#include <reblock/detail/moves/split_windows.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/padding_mode.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Tells whether windows of `moves` reach beyond the image. Else a move_plan moves them.
constexpr bool needs_window_plan(const layout& moves, std::int64_t element_size) noexcept {
  if (moves.bound_count == 0 || is_empty(moves, element_size)) return false;
  layout simple;
  simple.take(moves);
  simplify(simple, element_size);
  return has_bounds(simple);
}

/// A window_plan is trivially copyable.
class window_plan : public cheapest_way<lookup_move, plane_move, padded_move, split_windows> {
 public:
  /// Plans to move every element of `request`. Requires that the destination does not overlap itself, and
  /// needs_window_plan().
  explicit window_plan(const padded_request& request,
                       instruction_set set = usable_instruction_set()) noexcept {
    const mover_costs costs = mover_costs::of(set);
    const auto bytes = static_cast<double>(total_bytes(request.moves, request.element_size));
    layout simple;
    simple.take(request.moves);
    const std::int64_t size = simplify(simple, request.element_size);
    const bool has_value = std::any_of(request.value.begin(), request.value.end(),
                                       [](std::byte part) { return part != std::byte{}; });
    offer_planes(simple, size, set, request, has_value);
    if (costs.is_worth_table(cost_, bytes)) offer_lookups(simple, size, set, request, has_value);
    if (costs.is_worth_search(cost_, bytes)) offer_buffer(request, set);
    if (cost_ > costs.split_search) offer_split(request, set);
  }

 private:
  [[gnu::noinline]] void offer_planes(const layout& simple, std::int64_t size, instruction_set set,
                                      const padded_request& request, bool has_value) noexcept {
    plane_move planes;
    const double cost = planes.plan(simple, size, set);
    if (cost == never) return;
    const bool finds_zeros = !has_value && simple.bounds[0].mode == padding_mode::constant;
    if (has_value) planes.set_outside(request.value, request.element_size);
    take(planes, finds_zeros ? cost : planes.padded_cost());
  }
  [[gnu::noinline]] void offer_lookups(const layout& simple, std::int64_t size, instruction_set set,
                                       const padded_request& request, bool has_value) noexcept {
    if (has_value && !lookup_move::may_set_outside(request.element_size)) return;
    lookup_move lookups;
    if (has_value) lookups.set_outside(request.value.data(), request.element_size);
    take(lookups, lookups.plan(simple, size, set));
  }
  [[gnu::noinline]] void offer_buffer(const padded_request& request, instruction_set set) noexcept {
    const padded_move buffered(request, set);
    take(buffered, buffered.cost());
  }
  [[gnu::noinline]] void offer_split(const padded_request& request, instruction_set set) noexcept {
    split_windows split;
    take(split, split.plan(request, set, cost_));
  }
};
static_assert(std::is_trivially_copyable_v<window_plan>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
