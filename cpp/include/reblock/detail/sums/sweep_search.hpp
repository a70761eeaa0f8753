// SPDX-License-Identifier: BSD-3-Clause
//
// A sweep_search finds the axes that a sum_sweep walks, and its chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/sums/sum_sweep.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/sums/sweep_axis.hpp>
#include <reblock/detail/sums/sweep_cost.hpp>
#include <reblock/detail/sums/sweep_growth.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// It grows a chunk for each axis that may make rows and each choice of walked axes. The plans of its moves tell what it costs.
class sweep_search {
 public:
  sweep_search(sum_sweep& sweep, const sum_request& sums) noexcept : sweep_(sweep), sums_(sums) {}

  /// Returns the cost in cycles.
  double run() noexcept {
    const std::size_t innermost = sweep_.order_by_image();
    try_rows(innermost);
    // rows of another axis of the image may be longer, or nearer to the order of the columns
    const auto bytes = static_cast<double>(total_bytes(sums_.moves, sweep_.element_size_));
    const bool is_long = mover_costs{}.is_worth_search(cost_, bytes);
    for (std::size_t i = sweep_.places_.size(); is_long && i-- > 1;) {
      if (i != innermost && sweep_.extent(i) > 1) try_rows(i);
    }
    if (cost_ < never) take(best_);
    return cost_;
  }

 private:
  struct way {
    std::size_t row = 0;     ///< axis of rows
    std::size_t walked = 0;  ///< mask of spatial axes
    sweep_chunk chunk;
  };

  void take(const way& next) noexcept {
    sweep_.make_rows(next.row);
    sweep_.walk_axes(next.walked);
    sweep_.chunk_ = next.chunk;
  }

  /// Keeps a way if it costs less than others.
  void plan(const way& next) noexcept {
    take(next);
    const double cycles = sweep_cost(sweep_).cycles();
    if (cycles >= cost_) return;
    cost_ = cycles;
    best_ = next;
  }

  /// Makes rows of axis `row`. Walked are all axes but the innermost one of the rows, or none.
  void try_rows(std::size_t row) noexcept {
    sweep_.make_rows(row);
    const std::size_t axes = (std::size_t{1} << sweep_.spatial_axes()) - 1;
    const std::size_t inner = std::size_t{1} << sweep_.innermost_spatial_axis();
    try_walk(row, axes & ~inner);
    if (axes != inner) try_walk(row, 0);
  }
  void try_walk(std::size_t row, std::size_t walked) noexcept {
    sweep_.walk_axes(walked);
    if (!sweep_.keeps_order(sums_) || (sums_.accumulates && sweep_.copies_)) return;
    if (way next{row, walked, {}}; sweep_growth(sweep_).choose(next.chunk)) plan(next);
  }

  static constexpr double never = std::numeric_limits<double>::max();

  sum_sweep& sweep_;
  const sum_request& sums_;
  double cost_ = never;
  way best_;
};

inline sum_sweep::sum_sweep(const sum_request& sums, const sum_functions& sum) noexcept
    : output_offset_(sums.output_offset),
      output_strides_(sums.output_strides),
      places_(sums.extents),
      element_size_(sums.sum.element_size),
      sum_(&sum) {
  const layout& moves = sums.moves;
  const std::size_t spatial = spatial_axes();
  column_offset_ = moves.source_offset;
  for (std::size_t i = 0; i < 2; ++i) column_strides_[i] = moves.axes[i].source_stride;
  for (std::size_t d = 0; d < spatial; ++d) {
    axes_[d] = sweep_axis::of(moves.axes[2 + d], moves.axes[2 + spatial + d], -moves.bounds[d].offset,
                              sums.extents[2 + d]);
  }
  begins_from_image_ = sums.accumulates;
  in_any_order_ = summand::boolean <= sums.sum.part && sums.sum.part <= summand::integer64;
  cost_ = sweep_search(*this, sums).run();
  bool has_gaps = false;
  for (std::size_t d = 0; d < spatial; ++d) {
    has_gaps = has_gaps || (axes_[d].is_apart && axes_[d].cycle < axes_[d].stride);
    if (!axes_[d].is_walked) continue;
    accumulates_ = accumulates_ || axes_[d].overlaps();
    has_gaps = has_gaps || !axes_[d].covers_all();
  }
  clears_ = !begins_from_image_ && (accumulates_ || has_gaps);
  accumulates_ = accumulates_ || begins_from_image_;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
