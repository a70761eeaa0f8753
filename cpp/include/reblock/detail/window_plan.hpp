// SPDX-License-Identifier: BSD-3-Clause
//
// A window_plan holds the cheapest way to move the windows of a padded image.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <reblock/detail/cheapest_way.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/lookup_move.hpp>
#include <reblock/detail/plane_move.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/window_blocks.hpp>
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
class window_plan : public cheapest_way<lookup_move, plane_move, window_move> {
 public:
  /// Plans to move every element of `moves`, each `element_size` bytes. Requires that the destination does not overlap itself,
  /// that bounds are those of windows of an image (see has_windows()), and needs_window_plan().
  window_plan(const layout& moves, std::int64_t element_size,
              instruction_set set = usable_instruction_set()) noexcept {
    const mover_costs costs = mover_costs::of(set);
    const auto bytes = static_cast<double>(total_bytes(moves, element_size));
    layout simple;
    simple.take(moves);
    const std::int64_t size = simplify(simple, element_size);
    offer<plane_move>(simple, size, set);
    if (costs.is_worth_table(cost_, bytes)) offer<lookup_move>(simple, size, set);
    if (costs.is_worth_search(cost_, bytes)) offer<window_move>(moves, element_size, set);
  }
  /// Does the same for a padding mode or a value outside of the image. The cost is infinity if there is no way, or if a buffer
  /// with the padding is faster. Nothing else estimates what a buffer costs: tables have always been faster.
  explicit window_plan(const padded_request& request,
                       instruction_set set = usable_instruction_set()) noexcept {
    layout simple;
    simple.take(request.moves);
    const std::int64_t size = simplify(simple, request.element_size);
    offer_planes(simple, size, set, request);
    if (!std::isfinite(cost_)) offer_lookups(simple, size, set, request);
  }

 private:
  [[gnu::noinline]] void offer_lookups(const layout& simple, std::int64_t size, instruction_set set,
                                       const padded_request& request) noexcept {
    const bool repeats = simple.bounds[0].mode != padding_mode::constant;
    if (!repeats && !lookup_move::may_set_outside(request.element_size)) return;
    lookup_move lookups;
    const double cost = lookups.plan(simple, size, set);
    if (!std::isfinite(cost)) return;
    if (!repeats) lookups.set_outside(request.value.data(), request.element_size);
    hold<lookup_move>(lookups);
    cost_ = cost;
  }
  [[gnu::noinline]] void offer_planes(const layout& simple, std::int64_t size, instruction_set set,
                                      const padded_request& request) noexcept {
    plane_move planes;
    if (!std::isfinite(planes.plan(simple, size, set))) return;
    const double cost = planes.padded_cost();
    const std::int64_t bytes = total_bytes(simple, size);
    const bool is_far = bytes >= cache_sizes::near_planes;
    const double byte = is_far ? padding_costs::far_buffered_byte : padding_costs::buffered_byte;
    if (cost >= byte * static_cast<double>(bytes)) return;
    planes.set_outside(request.value, request.element_size);
    hold<plane_move>(planes);
    cost_ = cost;
  }
};
static_assert(std::is_trivially_copyable_v<window_plan>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
