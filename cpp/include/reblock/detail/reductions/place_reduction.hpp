// SPDX-License-Identifier: BSD-3-Clause
//
// This header chooses the way of a reduction.
#pragma once

#include <algorithm>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/place_plan.hpp>
#include <reblock/detail/reductions/brought_reduction.hpp>
#include <reblock/detail/reductions/find_reduction.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/reductions/scattered_reduction.hpp>
#include <reblock/detail/reductions/weighed_terms.hpp>
#include <reblock/detail/sums/gather.hpp>
#include <reblock/detail/sums/padded_sums.hpp>
#include <reblock/detail/sums/separate_windows.hpp>
#include <reblock/detail/sums/sum_image.hpp>
#include <reblock/fold_options.hpp>
#include <reblock/padding_mode.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Plans a reduction of windows that share no position, if it is one. A term is its own mean, whatever its weight.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] bool place_single_reduction(void* room,
                                                                      const sum_request& request) noexcept {
  const reducer& how = *request.reduce;
  if (how.types.convert != nullptr || how.accumulates || !separate_windows::can_make(request)) return false;
  if (how.by == fold_reduction::sum) {
    if (how.weights.empty() || !weighed_windows::can_make(request)) return false;
    place<weighed_windows>(room, request);
    return true;
  }
  // a bool of unusual bits would not stay as it is
  if (how.types.terms.part == element_type::boolean) return false;
  if (how.weights.empty() && covers_once(request.moves, request.extents)) {
    place<move_plan>(room, request.moves, request.sum.element_size);
    return true;
  }
  sum_request kept = request;
  if (!how.weights.empty() && !keep_weighted(kept, how)) return false;
  place<separate_windows>(room, kept, nullptr);
  return true;
}

/// Plans a reduction whose windows may overlap: of the columns in place, in their own order, or of those that moves bring into
/// a buffer.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] void place_overlapping_reduction(
    void* room, const sum_request& request) noexcept {
  const gather& in_place = place<gather>(room, request, static_cast<const sum_functions*>(nullptr));
  double cost = in_place.cost_of_reduction();
  const scattered_reduction scattered(request);
  if (scattered.cost() < sum_costs::scattered_gain * cost) {
    cost = scattered.cost();
    place<scattered_reduction>(room, scattered);
  }
  const auto bytes = static_cast<double>(total_bytes(request.moves, request.sum.element_size));
  if (!mover_costs{}.is_worth_search(cost, bytes)) return;
  const brought_reduction brought(request);
  if (brought.cost() < sum_costs::brought_gain * cost) place<brought_reduction>(room, brought);
}

/// Plans a reduction of fold. If each position has exactly one term that is its own result, it plans moves alone.
REBLOCK_ENGINE_DEFINITION void place_reduction(void* room, const sum_request& request) noexcept {
  if (request.reduce->by == fold_reduction::sum) find_largest_weight(*request.reduce);
  if (std::count(request.extents.begin(), request.extents.end(), 0) != 0) {
    place<move_plan>(room, no_moves(), request.sum.element_size);
  } else if (request.mode != padding_mode::constant) {
    place<padded_sums>(room, padded_sums{request, sum_padded});
  } else if (!place_single_reduction(room, request)) {
    place_overlapping_reduction(room, request);
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
