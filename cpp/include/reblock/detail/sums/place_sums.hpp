// SPDX-License-Identifier: BSD-3-Clause
//
// This header chooses the cheapest way of fold to add.
#pragma once

#include <algorithm>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/place_plan.hpp>
#include <reblock/detail/reductions/find_reduction.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/sums/accumulated_move.hpp>
#include <reblock/detail/sums/gather.hpp>
#include <reblock/detail/sums/padded_sums.hpp>
#include <reblock/detail/sums/scatter.hpp>
#include <reblock/detail/sums/separate_windows.hpp>
#include <reblock/detail/sums/single_terms.hpp>
#include <reblock/detail/sums/sum_image.hpp>
#include <reblock/detail/sums/sum_sweep.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/sums/sweep_search.hpp>
#include <reblock/padding_mode.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Plans a fold whose positions have exactly one term each.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] void place_single_terms(void* room, const sum_request& request,
                                                                  const single_sums& add_to_zero) noexcept {
  layout windows;
  windows.take(request.moves);
  drop_idle_bounds(windows);
  place<single_terms>(room, windows, request.sum.element_size, add_to_zero, false);
}

/// Plans sums of the positions that windows can reach. The `image` has all positions, of which those below `kept` have sums.
template <class Sums>
void place_reachable(void* room, const sum_image& image, const axis_values& kept, const Sums& sums) noexcept {
  if (kept != image.extents) {
    place<cleared_sums<Sums>>(room, image, kept, sums);
  } else {
    place<Sums>(room, sums);
  }
}

/// Plans a fold as a sweep, as a scatter, or as sums of columns in place, unless the sums of separate windows, which are planned
/// already, cost less. Every other fold gets a plan here, however costs are rounded.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] void place_overlapping(void* room, const sum_request& request,
                                                                 const sum_functions& sum,
                                                                 double separate) noexcept {
  const sum_image image(request);
  sum_request reachable = request;
  leave_out_ends(reachable);
  axis_values kept = request.accumulates ? request.extents : reachable.extents;
  if (keep_reachable(reachable) && !request.accumulates) kept[0] = 0;
  const gather pieces(reachable, &sum);
  const scatter rows(request, sum);
  const double of_pieces = pieces.cost();
  const double least = std::min(of_pieces, rows.cost());
  const auto bytes = static_cast<double>(total_bytes(request.moves, request.sum.element_size));
  if (mover_costs{}.is_worth_search(std::min(least, separate), bytes)) {
    const sum_sweep sweep(reachable, sum);
    if (sweep.cost() < std::min(least, separate)) return place_reachable(room, image, kept, sweep);
  }
  if (separate < never && separate <= least) return;
  if (rows.cost() <= of_pieces) {
    place<scatter>(room, rows);
  } else {
    place_reachable(room, image, kept, pieces);
  }
}

/// Plans a fold whose windows share no position, if it is one. Returns the cost in cycles, or `never`.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] double place_separate(void* room, const sum_request& request,
                                                                const sum_functions& sum) noexcept {
  if (!separate_windows::can_make(request)) return never;
  if (request.accumulates) return ways_of(request).plan_accumulated(room, request, sum);
  return place<separate_windows>(room, request, &sum).cost();
}

/// Plans the sums of fold. If each position has exactly one term, it plans moves alone. For an output without elements it
/// computes nothing, because the other extents may have any value.
REBLOCK_ENGINE_FUNCTION void place_sums(void* room, const sum_request& request,
                                        const sum_functions& sum) noexcept {
  const std::int64_t element_size = request.sum.element_size;
  if (std::count(request.extents.begin(), request.extents.end(), 0) != 0) {
    place<move_plan>(room, no_moves(), element_size);
  } else if (request.mode != padding_mode::constant) {
    place<padded_sums>(room, padded_sums{request, sum_padded, &sum.accumulate});
  } else if (!request.accumulates && covers_once(request.moves, request.extents)) {
    if (sum.add_to_zero.add != nullptr) return place_single_terms(room, request, sum.add_to_zero);
    place<move_plan>(room, request.moves, element_size);
  } else {
    place_overlapping(room, request, sum, place_separate(room, request, sum));
  }
}

/// Plans sums of windows that share no position onto an image. Returns the cost in cycles, or `never` if windows reach beyond
/// the image: those would make short rows.
REBLOCK_ENGINE_DEFINITION double place_accumulated(void* room, const sum_request& request,
                                                   const sum_functions& sum) noexcept {
  const separate_parts parts(request);
  if (parts.has_edges()) return never;
  return place<accumulated_move>(room, parts.inside(), request.sum.element_size, sum).cost();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
