// SPDX-License-Identifier: BSD-3-Clause
//
// A reduction_cost estimates what it costs to reduce the boxes of an image, but for the arithmetic: all ways have the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/sums/gather_axis.hpp>
#include <reblock/detail/sums/image_boxes.hpp>
#include <reblock/detail/sums/piecewise_sum.hpp>
#include <reblock/detail/sums/terms_inside.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class reduction_cost {
 public:
  /// Terms lie in `from`, and results in `to`: the columns and the image, or buffers. `has_masks`: masks make one segment of all
  /// places of the last axis.
  reduction_cost(const image_boxes& boxes, const columns_of_windows& from, const box_target& to,
                 bool has_masks) noexcept
      : boxes_(boxes), from_(from), to_(to), last_(boxes.spatial_axes() - 1), has_masks_(has_masks) {
    find_row();
  }

  /// Returns cycles.
  double cycles() const noexcept {
    double pieces = static_cast<double>(boxes_.boxes_along(0)) *
                    static_cast<double>(boxes_.boxes_along(channels)) *
                    static_cast<double>(boxes_.phase_boxes());
    double weighted = boxes_.columns_.reduce->weights.empty() ? 0 : pieces;
    double terms = static_cast<double>(boxes_.places_[0]) * static_cast<double>(boxes_.places_[channels]);
    double results = terms;
    for (std::size_t d = 0; d <= last_; ++d) {
      const gather_axis& axis = from_.axes[d];
      const auto phases = static_cast<double>(axis.summed_phases());
      pieces *= boxes_.groups_along(d) * segments(d);
      weighted *= phases * segments(d);
      terms *= terms_inside(axis.size, axis.dilation, axis.blocks, axis.phases, axis.padding, axis.extent);
      results *= static_cast<double>(axis.places()) * phases;
    }
    return static_cast<double>(boxes_.boxes()) * sum_costs::reduced_box + pieces * sum_costs::reduced_piece +
           weighted * sum_costs::weighted_piece + terms * of_term(terms) +
           (are_results_ ? 0 : results * sum_costs::scattered_result);
  }

 private:
  static constexpr std::size_t channels = image_boxes::channels;

  /// Counts the segments of a group along an axis, in all boxes: of many, it estimates the rest.
  double segments(std::size_t d) const noexcept {
    const gather_axis& axis = from_.axes[d];
    if ((has_masks_ && d == last_) || axis.summed_phases() == 0) return 1;
    constexpr std::int64_t most_counted = 64;
    const phase_group first = axis.group_at(0);
    std::int64_t count = 0;
    std::int64_t place = 0;
    for (; place < first.places && count < most_counted; ++count) {
      place = axis.segment_at(first, place, first.places).end;
    }
    const double all = static_cast<double>(count) * static_cast<double>(first.places) /
                       static_cast<double>(std::max<std::int64_t>(place, 1));
    return std::clamp(all + static_cast<double>(boxes_.boxes_along(2 + d) - 1), 1.0,
                      static_cast<double>(std::max<std::int64_t>(boxes_.places_[2 + d], 1)));
  }
  double places_of_segment(std::size_t d) const noexcept {
    return static_cast<double>(boxes_.places_[2 + d]) / segments(d);
  }

  /// Finds the longest row of terms that follow each other.
  void find_row() noexcept {
    const std::int64_t size = from_.element_size;
    const std::int64_t result_size = from_.result_size();
    const auto take = [&](double terms, std::int64_t step) {
      if (terms <= row_) return;
      row_ = terms;
      are_results_ = step == result_size;
    };
    if (from_.strides[channels] == size) {
      const std::int64_t count = boxes_.box_[channels];
      const bool are_joined = from_.axes[last_].block_stride == count * size &&
                              to_.place_strides[channels] == result_size &&
                              to_.place_strides[2 + last_] == count * result_size;
      take(static_cast<double>(count) * (are_joined ? places_of_segment(last_) : 1),
           to_.place_strides[channels]);
    }
    for (std::size_t d = 0; d <= last_; ++d) {
      const gather_axis& axis = from_.axes[d];
      if (axis.block_stride == size) take(places_of_segment(d), to_.place_strides[2 + d]);
      if (axis.size_stride == size && axis.dilation == 1)
        take(static_cast<double>(axis.summed_phases()) / boxes_.groups_along(d), to_.phase_strides[d]);
    }
  }

  /// Returns the cycles in which one of `terms` is brought to its accumulator.
  double of_term(double terms) const noexcept {
    if (row_ >= sum_costs::least_reduced_row) return sum_costs::reduced_row / row_;
    const bool are_far = terms * static_cast<double>(from_.element_size) > cache_sizes::second_level;
    return sum_costs::gathered_term + (are_far ? sum_costs::far_term : 0);
  }

  const image_boxes& boxes_;
  const columns_of_windows& from_;
  const box_target& to_;
  std::size_t last_;  ///< spatial axis
  bool has_masks_;
  double row_ = 1;
  bool are_results_ = false;  ///< whether the results of a row follow each other
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
