// SPDX-License-Identifier: BSD-3-Clause
//
// A scattered_reduction reduces the columns in their own order (scatter_boxes.hpp). It adds each row of terms to a row of
// accumulators in a buffer (scattered_accumulators.hpp). Results go through a second buffer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/reductions/reduced_rows.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/sums/scatter_boxes.hpp>
#include <reblock/fold_options.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of the accumulators of a box, and of results that are smaller than their accumulators.
inline constexpr std::int64_t scattered_accumulators_bytes = 24 * 1024;
inline constexpr std::int64_t scattered_results_bytes = scattered_accumulators_bytes / 2;

/// A scattered_reduction is trivially copyable.
class scattered_reduction : public scatter_boxes {
 public:
  explicit scattered_reduction(const sum_request& sums) noexcept
      : scattered_reduction(sums, find_accumulation(sums)) {}

 private:
  friend class scattered_accumulators;
  static constexpr std::int64_t most_weights = 1024;

  scattered_reduction(const sum_request& sums, const accumulation* functions) noexcept
      : scatter_boxes(sums, sum_size(sums, functions), scattered_accumulators_bytes), how_(sums.reduce) {
    if (functions == nullptr || !has_boxes() || has_rows_of_windows()) return;
    functions_ = &functions_of(*how_, most_terms(sums), row_elements() * parts());
    cost_ = estimate(work());
  }

  /// Tells whether terms of neighbouring windows follow each other. Such columns are faster in place.
  bool has_rows_of_windows() const noexcept { return order_[0] >= 2 && !axes_[order_[0] - 2].by_windows; }

  std::int64_t parts() const noexcept { return parts_of(*how_); }
  static std::int64_t parts_of(const reducer& how) noexcept { return how.types.results.is_pair ? 2 : 1; }
  static std::int64_t sum_size(const sum_request& sums, const accumulation* functions) noexcept {
    if (functions == nullptr) return sums.sum.element_size;
    return static_cast<std::int64_t>(functions->size) * parts_of(*sums.reduce);
  }

  /// Returns the largest number of terms that a position can have.
  static std::int64_t most_terms(const sum_request& sums) noexcept {
    const std::size_t spatial = sums.extents.size() - 2;
    double terms = 1;
    for (std::size_t d = 0; d < spatial; ++d) {
      const layout_axis& offsets = sums.moves.axes[2 + d];
      const layout_axis& windows = sums.moves.axes[2 + spatial + d];
      std::int64_t along = std::min(offsets.extent, windows.extent);
      if (windows.extent > 1 && (offsets.extent == 1 || offsets.bound_step == 1))
        along = std::min(along, ceil_divide(offsets.extent, windows.bound_step));
      terms *= static_cast<double>(along);
    }
    return static_cast<std::int64_t>(std::min(terms, 0x1p62));
  }

  /// Returns the functions that add single terms, or null.
  static const accumulation* find_accumulation(const sum_request& sums) noexcept {
    const reducer& how = *sums.reduce;
    if (how.types.convert != nullptr || how.accumulates || how.keeps_terms()) return nullptr;
    double weights = 1;
    for (std::size_t d = 0; d < how.weights.extents().size(); ++d)
      weights *= static_cast<double>(how.weights.extents()[d]);
    if (weights * static_cast<double>(parts_of(how)) > double{most_weights}) return nullptr;
    const accumulation& functions = functions_of(how, most_terms(sums));
    return functions.add_single == nullptr || functions.has_errors ? nullptr : &functions;
  }

  double estimate(const scatter_work& all) const noexcept {
    const auto bytes = static_cast<double>(sum_size_);
    double cost = all.rows * sum_costs::scattered_terms_row + all.waiting * sum_costs::scattered_terms_rows +
                  all.terms * bytes * sum_costs::scattered_accumulators_byte +
                  all.image * sum_costs::scattered_quotient +
                  all.image_rows * sum_costs::scattered_quotients +
                  all.runs * sum_costs::scattered_results_run;
    if (!how_->weights.empty()) cost += all.terms * sum_costs::scattered_weight;
    if (how_->by == fold_reduction::sum) return cost;
    if (how_->weights.empty()) return cost + all.spatial_rows * sum_costs::scattered_counts;
    // all images and channels have the same sums of weights
    return cost + all.spatial_rows * all.terms / all.image * sum_costs::scattered_factors +
           all.terms * all.spatial_rows / all.image_rows * sum_costs::scattered_factor;
  }

  const reducer* how_;  ///< which outlives the plan
  const accumulation* functions_ = nullptr;
};
static_assert(std::is_trivially_copyable_v<scattered_reduction>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
