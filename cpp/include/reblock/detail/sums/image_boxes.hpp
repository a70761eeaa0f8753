// SPDX-License-Identifier: BSD-3-Clause
//
// image_boxes cuts the image of a fold into boxes, which are summed one by one. The thread that has a box writes each of its
// elements once, so the result does not depend on the threads.
//
// If windows lie `stride` elements apart, the positions of an axis belong to `stride` phases: the position modulo the
// stride. A box has some places of each axis, with all phases. If a buffer holds the sums of a box phase by phase, moves in
// blocks interleave them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/for_each_choice.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/remembered_moves.hpp>
#include <reblock/detail/sums/gather_axis.hpp>
#include <reblock/detail/sums/piecewise_sum.hpp>
#include <reblock/detail/sums/summation.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// It is trivially copyable.
class image_boxes {
 public:
  std::int64_t boxes() const noexcept {
    std::int64_t count = phase_boxes();
    for (std::size_t i = 0; i < box_.size(); ++i) count *= boxes_along(i);
    return count;
  }

 protected:
  friend class reduction_cost;
  static constexpr std::size_t channels = 1;  ///< the axis

  /// Describes the columns and the image, whose boxes have one place so far. `sum` may be null if the request has a reducer.
  image_boxes(const sum_request& sums, const sum_functions* sum) noexcept;

  std::size_t spatial_axes() const noexcept { return columns_.rank; }
  std::int64_t boxes_along(std::size_t i) const noexcept {
    return places_[i] == 0 ? 0 : (places_[i] - 1) / box_[i] + 1;
  }
  std::int64_t phase_boxes() const noexcept { return ceil_divide(last_axis().phases, phases_at_once_); }
  const gather_axis& last_axis() const noexcept { return columns_.axes[spatial_axes() - 1]; }
  /// Returns a box. `by_places`: boxes of the same places follow each other, because their moves have the same plans.
  box box_of(std::int64_t number, bool by_places = false) const noexcept {
    box part{box_, box_, {}};
    const std::size_t rank = box_.size();
    for (std::size_t k = 0; k < rank; ++k) {
      const std::size_t i = !by_places ? rank - 1 - k : k < 2 ? 1 - k : rank + 1 - k;
      part.first[i] = number % boxes_along(i) * box_[i];
      part.extents[i] = std::min(box_[i], places_[i] - part.first[i]);
      number /= boxes_along(i);
      if (i + 1 != rank) continue;
      const std::int64_t phase = number % phase_boxes() * phases_at_once_;
      part.phases = {phase, std::min(phase + phases_at_once_, last_axis().phases)};
      number /= phase_boxes();
    }
    return part;
  }

  /// Counts the phases of a box along a spatial axis.
  std::int64_t whole_phases(std::size_t d, const box& part) const noexcept {
    return d + 1 == spatial_axes() ? part.phases.end - part.phases.begin : columns_.axes[d].phases;
  }
  /// Lays the sums of a box out in a buffer, phase by phase. Its innermost axis is the places of the last axis, or else the
  /// channels.
  box_target buffer_of(const box& part, std::byte* buffer, bool channels_last = false) const noexcept {
    box_target result{buffer, part.extents, axis_values::repeat(spatial_axes(), 0)};
    std::int64_t stride = columns_.result_size();
    const auto place = [&](std::size_t i) {
      result.place_strides[i] = stride;
      stride *= part.extents[i];
    };
    if (channels_last) place(channels);
    for (std::size_t i = part.extents.size(); i-- > 2;) place(i);
    for (std::size_t d = spatial_axes(); d-- > 0;) {
      result.phase_strides[d] = stride;
      stride *= whole_phases(d, part);
    }
    if (!channels_last) place(channels);
    place(0);
    return result;
  }

  /// Returns the strides in the image, for every box.
  box_target in_image() const noexcept {
    box_target result{nullptr, output_strides_, axis_values::repeat(spatial_axes(), 0)};
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      result.phase_strides[d] = columns_.axes[d].output_stride;
      result.place_strides[2 + d] =
          wrapping_multiply(columns_.axes[d].phases, columns_.axes[d].output_stride);
    }
    return result;
  }

  box_target image_of(const box& part, std::byte* image) const noexcept {
    box_target result = in_image();
    std::int64_t offset = output_offset_;
    for (std::size_t i = 0; i < part.first.size(); ++i) {
      offset = wrapping_add(offset, wrapping_multiply(part.first[i], result.place_strides[i]));
    }
    offset =
        wrapping_add(offset, wrapping_multiply(part.phases.begin, result.phase_strides[spatial_axes() - 1]));
    result.first = image + offset;
    return result;
  }

  /// Estimates the groups of phases along an axis.
  double groups_along(std::size_t d) const noexcept {
    const gather_axis& axis = columns_.axes[d];
    constexpr std::int64_t most_counted = 16;
    std::int64_t groups = 0;
    std::int64_t offset = 0;
    for (; offset < axis.summed_phases() && groups < most_counted; ++groups) {
      offset += axis.group_at(offset).count;
    }
    return static_cast<double>(groups) * static_cast<double>(axis.summed_phases()) /
           static_cast<double>(offset);
  }

  /// Estimates the segments of a group along an axis, in all boxes. Masks make one segment of all.
  double segments_along(std::size_t d, bool has_masks) const noexcept {
    const gather_axis& axis = columns_.axes[d];
    if (has_masks) return places_[2 + d] * columns_.element_size > sum_costs::most_masked_row ? 3 : 1;
    const phase_group first = axis.group_at(0);
    const auto places = static_cast<double>(places_[2 + d]);
    const double end = static_cast<double>(first.shift) + static_cast<double>(axis.blocks) +
                       static_cast<double>(first.terms - 1) * static_cast<double>(first.advance);
    const double segments = 2 * static_cast<double>(first.terms) - 1 + (first.shift > 0 ? 1 : 0) +
                            (end < places ? 1 : 0) + static_cast<double>(boxes_along(2 + d) - 1);
    return std::min(places, segments);
  }

  /// Sums a box. It is a function of its own and not inlined, because it needs much of the stack.
  [[gnu::noinline]] static void sum(const columns_of_windows& from, const box& part, const std::byte* columns,
                                    const box_target& to, bool clears) noexcept {
    piecewise_sum sums(from, columns, part, to);
    if (clears) sums.clear();
    sums.sum_phases();
  }
  /// Counts the places of a box that have all its phases.
  std::int64_t whole_places(const box& part, std::size_t d) const noexcept {
    const gather_axis& axis = columns_.axes[d];
    const std::int64_t phases = d + 1 == spatial_axes() ? part.phases.end : axis.phases;
    const std::int64_t places = floor_divide(axis.extent - phases, axis.phases) + 1;
    return std::min(places - part.first[2 + d], part.extents[2 + d]);
  }
  /// Describes the moves of a box between buffer and image: along each axis the places with all phases, or, if `rest` is
  /// set, the image's last place with fewer phases.
  layout written_layout(const box& part, const box_target& sums, const box_target& places,
                        const axis_values& rest) const noexcept {
    layout moves;
    for (std::size_t i = 0; i < 2; ++i) {
      moves.add({part.extents[i], sums.place_strides[i], places.place_strides[i]});
    }
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      const gather_axis& axis = columns_.axes[d];
      const std::int64_t whole = whole_places(part, d);
      const std::int64_t first = d + 1 == spatial_axes() ? part.phases.begin : 0;
      const std::int64_t fewer = std::max<std::int64_t>(0, axis.extent % axis.phases - first);
      const bool is_rest = rest[d] != 0;
      const std::int64_t place = is_rest ? whole : 0;
      const std::int64_t from = sums.place_strides[2 + d];
      const std::int64_t to = places.place_strides[2 + d];
      moves.add({is_rest ? 1 : whole, from, to});
      moves.add({is_rest ? fewer : whole_phases(d, part), sums.phase_strides[d], places.phase_strides[d]});
      moves.source_offset += place * from;
      moves.destination_offset = wrapping_add(moves.destination_offset, wrapping_multiply(place, to));
    }
    return moves;
  }

  /// Moves the sums of a box from the buffer to the image. `back`: moves the image's values to the buffer.
  [[gnu::noinline]] void move_sums(const box& part, const box_target& sums, const box_target& places,
                                   bool back) const noexcept {
    axis_values counts;
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      counts.push_back(whole_places(part, d) < part.extents[2 + d] ? 2 : 1);
    }
    for_each_choice(counts, [&](const axis_values& rest) {
      layout written = written_layout(part, sums, places, rest);
      if (back) {
        written.swap_sides();
        recent_moves().run(written, columns_.result_size(), buffered_side::destination, places.first,
                           sums.first);
      } else {
        recent_moves().run(written, columns_.result_size(), buffered_side::source, sums.first, places.first);
      }
    });
  }

  columns_of_windows columns_;
  axis_values output_strides_;       ///< of n, c and the spatial axes, bytes
  std::int64_t output_offset_;       ///< bytes
  axis_values places_;               ///< n, c, places of each spatial axis
  axis_values box_;                  ///< indices and places of a box
  std::int64_t phases_at_once_ = 1;  ///< phases of a box along the last axis
  bool has_gaps_ = false;            ///< whether there are phases without terms
};

inline image_boxes::image_boxes(const sum_request& sums, const sum_functions* sum) noexcept
    : output_strides_(sums.output_strides),
      output_offset_(sums.output_offset),
      places_(sums.extents),
      box_(axis_values::repeat(sums.extents.size(), 1)) {
  const layout& moves = sums.moves;
  const std::size_t spatial = sums.extents.size() - 2;
  columns_.rank = spatial;
  columns_.offset = moves.source_offset;
  columns_.element_size = sums.sum.element_size;
  columns_.sum = sum;
  columns_.accumulates = sums.accumulates;
  columns_.reduce = sums.reduce;
  for (std::size_t i = 0; i < 2; ++i) columns_.strides[i] = moves.axes[i].source_stride;
  for (std::size_t d = 0; d < spatial; ++d) {
    const layout_axis& offsets = moves.axes[2 + d];
    const layout_axis& blocks = moves.axes[2 + spatial + d];
    gather_axis& axis = columns_.axes[d];
    const std::int64_t dilation = offsets.extent > 1 ? offsets.bound_step : 1;
    const std::int64_t reach = offsets.extent > 0 ? (offsets.extent - 1) * dilation + 1 : 1;
    const bool has_several = blocks.extent > 1;
    axis = {offsets.extent,
            blocks.extent,
            has_several                            ? blocks.bound_step
            : reach >= sum_costs::least_single_run ? reach
                                                   : 1,
            dilation,
            -moves.bounds[d].offset,
            sums.extents[2 + d],
            offsets.source_stride,
            has_several ? blocks.source_stride : 0,
            sums.output_strides[2 + d]};
    places_[2 + d] = axis.places();
    has_gaps_ = has_gaps_ || axis.summed_phases() < axis.phases;
  }

  columns_.readable = readable_bytes(moves, columns_.element_size);
  phases_at_once_ = last_axis().phases;
}

template <std::derived_from<image_boxes> Sums>
[[gnu::noinline]] void fill_boxes(const Sums& sums, const index_range& boxes, const std::byte* columns,
                                  std::byte* image) noexcept {
  for (std::int64_t box = boxes.begin; box < boxes.end; ++box) sums.fill_box(box, columns, image);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
