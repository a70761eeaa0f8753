// SPDX-License-Identifier: BSD-3-Clause
//
// A sweep_search finds the axes that a sum_sweep walks, and its chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/sum_sweep.hpp>
#include <reblock/detail/summation.hpp>
#include <reblock/detail/sweep_axis.hpp>
#include <reblock/detail/sweep_cost.hpp>
#include <reblock/detail/sweep_growth.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// It grows chunks in some ways, by an estimate. It plans the moves of the best chunk only, or of all chunks if they take
/// long.
class sweep_search {
 public:
  /// `inner` is the image's innermost spatial axis. Walked are all axes but this one, all but the last one, or none.
  sweep_search(sum_sweep& sweep, const sum_request& sums, std::size_t inner) noexcept
      : sweep_(sweep), sums_(sums) {
    const std::size_t all = (std::size_t{1} << sweep.spatial_axes()) - 1;
    walked_ = {all & ~(std::size_t{1} << inner), all >> 1, 0};
  }

  /// Returns the cost in cycles.
  double run() noexcept {
    constexpr double never = std::numeric_limits<double>::max();
    double least = never;
    way best;
    for_each_way({growth::none, growth::writes}, [&](const way& next) {
      const double estimate = sweep_growth(sweep_).cost_of(next.chunk);
      if (estimate >= least) return;
      least = estimate;
      best = next;
    });
    if (best.chunk.box.size() == 0) return never;
    take(best);
    double cost = sweep_cost(sweep_).cycles();
    if (cost < mover_costs{}.long_box_search) return cost;
    for_each_way({growth::none, growth::writes, growth::reads, growth::both}, [&](const way& next) {
      sweep_.chunk_ = next.chunk;
      const double planned = sweep_cost(sweep_).cycles();
      if (planned >= cost) return;
      cost = planned;
      best = next;
    });
    take(best);
    return cost;
  }

 private:
  struct way {
    std::size_t walked = 0;
    sweep_chunk chunk;
  };

  void take(const way& next) noexcept {
    sweep_.walk_axes(next.walked);
    sweep_.chunk_ = next.chunk;
  }

  template <class Visit>
  void for_each_way(std::initializer_list<growth> all, const Visit& visit) noexcept {
    for (std::size_t k = 0; k < walked_.size(); ++k) {
      if (k > 0 && walked_[k] == walked_[k - 1]) continue;
      sweep_.walk_axes(walked_[k]);
      if (!sweep_.keeps_order(sums_) || (sums_.accumulates && sweep_.copies_)) continue;
      way next{walked_[k], {}};
      for (const growth first : all) {
        if (sweep_growth(sweep_).choose(next.chunk, first)) visit(next);
      }
    }
  }

  sum_sweep& sweep_;
  const sum_request& sums_;
  std::array<std::size_t, 3> walked_;  ///< masks of spatial axes
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
  source_run_ = moves.source_run;
  for (std::size_t i = 0; i < 2; ++i) column_strides_[i] = moves.axes[i].source_stride;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::size_t k = places_.size() - 1 - i;
    std::size_t to = i;
    for (; to > 0 && magnitude(output_strides_[order_[to - 1]]) > magnitude(output_strides_[k]); --to) {
      order_[to] = order_[to - 1];
    }
    order_[to] = static_cast<std::uint8_t>(k);
  }
  std::size_t inner = spatial - 1;  // the innermost spatial axis of the image
  for (std::size_t k = places_.size(); k-- > 0;) {
    if (order_[k] >= 2 && sums.extents[order_[k]] > 1) inner = order_[k] - std::size_t{2};
  }
  for (std::size_t d = 0; d < spatial; ++d) {
    axes_[d] = sweep_axis::of(moves.axes[2 + d], moves.axes[2 + spatial + d], -moves.bounds[d].offset,
                              sums.extents[2 + d]);
  }
  // channels make longer rows than a short axis, if windows have channels side by side
  const layout_axis& windows = moves.axes[2 + spatial + inner];
  if (extent(2 + inner) * element_size_ < sum_costs::least_row && extent(2 + inner) < places_[1] &&
      magnitude(column_strides_[1]) < magnitude(windows.source_stride)) {
    for (std::size_t k = places_.size(); --k > 0;) {
      if (order_[k] == 1) std::swap(order_[k], order_[k - 1]);
    }
  }
  begins_from_image_ = sums.accumulates;
  in_any_order_ = summand::boolean <= sums.sum.part && sums.sum.part <= summand::integer64;
  cost_ = sweep_search(*this, sums, inner).run();
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
