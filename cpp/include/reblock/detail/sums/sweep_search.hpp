// SPDX-License-Identifier: BSD-3-Clause
//
// A sweep_search finds the axes that a sum_sweep walks, and its chunk.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>

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

/// It grows chunks in some ways, by an estimate. It plans the moves of the best chunk for each axis that may make rows, or of
/// all chunks if they take long.
class sweep_search {
 public:
  sweep_search(sum_sweep& sweep, const sum_request& sums) noexcept
      : sweep_(sweep),
        sums_(sums),
        bytes_(static_cast<double>(total_bytes(sums.moves, sweep.element_size_))) {}

  /// Returns the cost in cycles.
  double run() noexcept {
    const std::size_t innermost = sweep_.order_by_image();
    try_rows(innermost);
    // rows of another axis of the image may be longer, or nearer to the order of the columns
    const bool is_long = mover_costs{}.is_worth_search(cost_, bytes_);
    for (std::size_t i = sweep_.places_.size(); is_long && i-- > 1;) {
      if (i != innermost && sweep_.extent(i) > 1) try_rows(i);
    }
    if (cost_ == never) return cost_;
    if (cost_ >= mover_costs{}.long_box_search) {
      sweep_.make_rows(best_.row);
      for_each_way(best_.row, {growth::none, growth::writes, growth::reads, growth::both},
                   [this](const way& next) { plan(next); });
    }
    take(best_);
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

  /// Keeps a way if it costs less than others, by the plans of its moves.
  void plan(const way& next) noexcept {
    take(next);
    sweep_cost planned(sweep_, bytes_);
    const double cycles = planned.cycles();
    if (cycles + planned.fetched() >= least_) return;
    least_ = cycles + planned.fetched();
    cost_ = cycles;
    best_ = next;
  }

  /// Makes rows of axis `row`. Of chunks that walk the same axes, it plans the best one.
  void try_rows(std::size_t row) noexcept {
    sweep_.make_rows(row);
    std::array<way, 3> best;
    std::array<double, 3> least{never, never, never};
    std::size_t count = 0;
    for_each_way(row, {growth::none, growth::writes}, [&](const way& next) {
      if (count == 0 || best[count - 1].walked != next.walked) ++count;
      const double estimate = sweep_growth(sweep_).cost_of(next.chunk);
      if (estimate >= least[count - 1]) return;
      least[count - 1] = estimate;
      best[count - 1] = next;
    });
    const double most = sum_costs::planned_chunks * *std::min_element(least.begin(), least.end());
    for (std::size_t k = 0; k < count; ++k) {
      const bool is_found = least[k] < never;  // else no chunk fits the buffer
      if (is_found && least[k] < most) plan(best[k]);
    }
  }

  /// Walked are all axes but the innermost one of the rows, all but the last one, or none.
  template <class Visit>
  void for_each_way(std::size_t row, std::initializer_list<growth> all, const Visit& visit) noexcept {
    const std::size_t axes = (std::size_t{1} << sweep_.spatial_axes()) - 1;
    const std::array<std::size_t, 3> walked{axes & ~(std::size_t{1} << sweep_.innermost_spatial_axis()),
                                            axes >> 1, 0};
    for (std::size_t k = 0; k < walked.size(); ++k) {
      if (k > 0 && walked[k] == walked[k - 1]) continue;
      way next{row, walked[k], {}};
      for (const growth first : all) {
        sweep_.walk_axes(walked[k]);
        if (!sweep_.keeps_order(sums_) || (sums_.accumulates && sweep_.copies_)) break;
        if (sweep_growth(sweep_).choose(next.chunk, first)) visit(next);
      }
    }
  }

  sum_sweep& sweep_;
  const sum_request& sums_;
  double bytes_;          ///< of the columns
  double least_ = never;  ///< cost_, and cycles in which the columns are fetched
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
