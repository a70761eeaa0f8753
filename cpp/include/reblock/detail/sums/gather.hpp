// SPDX-License-Identifier: BSD-3-Clause
//
// gather sums overlapping windows for fold. It cuts the output into boxes that fit the first-level cache. A box of a
// reduction may have only some phases of the last axis: then its rows of places are longer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/reductions/reduction_cost.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/detail/sums/gather_axis.hpp>
#include <reblock/detail/sums/held_image.hpp>
#include <reblock/detail/sums/image_boxes.hpp>
#include <reblock/detail/sums/piecewise_sum.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/sums/terms_inside.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of a box: half of a usual first-level cache. The other half is for the columns.
inline constexpr std::size_t box_bytes = 16 * 1024;

/// Bytes of a box that is reduced, with a buffer and without: its pieces cost more than those of sums. A box of short rows has
/// at least so many places, even if they have many phases: each phase then fills the accumulators.
inline constexpr std::size_t reduced_buffer_bytes = 48 * 1024;
inline constexpr std::int64_t reduced_box_bytes = 64 * 1024;
inline constexpr std::int64_t least_reduced_places{most_accumulators};

/// A place of more bytes, with all its phases, is reduced without a buffer: a buffer would have few places. Long rows of
/// results of more than two bytes are too, because they fill lines of the cache.
inline constexpr std::int64_t most_reduced_place = std::int64_t{box_bytes} / 32;

/// A box has at least so many places of one axis.
struct least_places {
  std::size_t axis = 0;
  std::int64_t count = 1;
};

/// Chooses as many whole inner axes as fit in `bytes`, then a part of the next axis. `size`: bytes of a place. Boxes without
/// room for the least places have one.
constexpr axis_values choose_box(const axis_values& places, std::int64_t size, std::int64_t bytes = box_bytes,
                                 const least_places& least = {}) noexcept {
  axis_values chosen = axis_values::repeat(places.size(), 1);
  std::int64_t room = bytes / size;
  if (least.count <= room) chosen[least.axis] = least.count;
  room /= chosen[least.axis];
  for (std::size_t i = places.size(); i-- > 0 && room > 1;) {
    room *= chosen[i];
    chosen[i] = std::clamp<std::int64_t>(places[i], chosen[i], room);
    room /= chosen[i];
  }
  return chosen;
}

/// A gather plans and runs the sums of fold. It is trivially copyable.
class gather : public image_boxes {
 public:
  /// `sum` may be null if the request has a reducer.
  gather(const sum_request& sums, const sum_functions* sum) noexcept;

  /// Returns the estimated cost of sums in cycles. They must not be reductions.
  double cost() const noexcept {
    const box_target to = usual_target();
    const bool has_masks = has_masked_rows(to);
    auto pieces = static_cast<double>(boxes_along(0)) * static_cast<double>(boxes_along(1));
    double terms = static_cast<double>(places_[0]) * static_cast<double>(places_[1]);
    double sums = terms;
    double image = terms;
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      const gather_axis& axis = columns_.axes[d];
      const bool is_masked = has_masks && d + 1 == spatial_axes();  // masks leave out terms that are read
      pieces *= groups_along(d) * segments_along(d, is_masked);
      terms *= is_masked ? static_cast<double>(axis.size) * static_cast<double>(axis.places())
                         : terms_inside(axis.size, axis.dilation, axis.blocks, axis.phases, axis.padding,
                                        axis.extent);
      sums *= static_cast<double>(axis.places()) * static_cast<double>(axis.summed_phases());
      image *= static_cast<double>(axis.extent);
    }
    const auto size = static_cast<double>(columns_.element_size);
    const double row = row_elements(to, has_masks);
    return pieces * sum_costs::summed_piece + sums / row * sum_costs::summed_row +
           terms / row * sum_costs::summed_term + terms * size * sum_costs::summed_byte +
           cost_of_held(image * size) + sum_costs::summed_plan;
  }

  /// Does the same for reductions.
  double cost_of_reduction() const noexcept {
    const box_target to = usual_target();
    auto image = static_cast<double>(columns_.result_size());
    for (std::size_t k = 0; k < places_.size(); ++k)
      image *= static_cast<double>(k < 2 ? places_[k] : columns_.axes[k - 2].extent);
    return reduction_cost(*this, columns_, to, has_masked_rows(to)).cycles() + cost_of_held(image);
  }

  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const noexcept {
    const box part = box_of(number);
    const box_target places = image_of(part, image);
    if (adds_) return add_box(part, columns, places);
    fill_part(part, columns, places);
  }

 private:
  /// Returns how many phases of the last axis are reduced at once so that a buffer has long rows of places, or 0 if a box
  /// has all phases. Neighbouring phases make runs of the image, which must be worth writing.
  std::int64_t phases_of_reductions(std::int64_t place_bytes) const noexcept {
    const gather_axis& last = last_axis();
    const std::int64_t size = columns_.result_size();
    if (last.output_stride != size || place_bytes % last.phases != 0) return 0;
    const std::int64_t row = std::min(last.places(), least_reduced_places) * (place_bytes / last.phases);
    const std::int64_t phases = std::int64_t{box_bytes} / row;
    return phases < last.phases && phases * size >= sum_costs::least_written_run ? phases : 0;
  }

  /// Returns how many places of the image's innermost axis make a run that is worth writing.
  least_places written_run(std::int64_t element_size) const noexcept {
    least_places run;
    for (std::size_t i = 1; i < places_.size(); ++i) {
      if (places_[i] < 2 || magnitude(output_strides_[i]) != element_size) continue;
      const std::int64_t phases = i < 2 ? 1 : columns_.axes[i - 2].phases;
      const std::int64_t bytes = std::min(phases, sum_costs::least_written_run) * element_size;
      run = {i, std::clamp<std::int64_t>(sum_costs::least_written_run / bytes, 1, places_[i])};
    }
    return run;
  }

  /// Returns all channels if they follow each other on both sides, and nothing else does. Then a box has runs of them.
  least_places whole_channels() const noexcept {
    const bool are_runs = columns_.strides[channels] == columns_.element_size &&
                          output_strides_[channels] == columns_.result_size();
    return are_runs ? least_places{channels, std::max<std::int64_t>(1, places_[channels])} : least_places{};
  }
  /// Returns where the sums of a usual box go, but for the address.
  box_target usual_target() const noexcept {
    const box whole{axis_values::repeat(box_.size(), 0), box_, {0, phases_at_once_}};
    return buffered_ ? buffer_of(whole, nullptr) : in_image();
  }
  /// Tells whether masks may leave out the terms of the last axis that lie outside of its rows.
  bool has_masked_rows(const box_target& to) const noexcept {
    const gather_axis& last = last_axis();
    const std::size_t i = places_.size() - 1;
    const std::int64_t size = columns_.result_size();
    if (last.block_stride != columns_.element_size || to.place_strides[i] != size ||
        columns_.readable.begin == columns_.readable.end || box_[i] != places_[i]) {
      return false;
    }
    if (columns_.reduce == nullptr) return columns_.sum->may_mask;
    return reduced_piece::may_mask(*columns_.reduce, ceil_divide(last.size, last.phases),
                                   last.places() * size);
  }

  /// Estimates the elements of a row that is summed at once: of the longest run on both sides.
  double row_elements(const box_target& to, bool has_masks) const noexcept {
    const std::int64_t size = columns_.element_size;
    double row =
        columns_.strides[1] == size && to.place_strides[1] == size ? static_cast<double>(box_[1]) : 1;
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      const gather_axis& axis = columns_.axes[d];
      const bool is_last = d + 1 == spatial_axes();
      if (axis.block_stride == size && to.place_strides[2 + d] == size) {
        const double segments = segments_along(d, is_last && has_masks);
        double places = static_cast<double>(places_[2 + d]) / segments;
        // rows of one segment follow each other along a segment of the next axis
        if (is_last && d > 0 && segments == 1 && axis.blocks == places_[2 + d] &&
            to.place_strides[1 + d] == places_[2 + d] * size)
          places *= std::min(static_cast<double>(box_[1 + d]),
                             static_cast<double>(places_[1 + d]) / segments_along(d - 1, false));
        row = std::max(row, places);
      }
      if (axis.size_stride == size && to.phase_strides[d] == size && axis.dilation == 1)
        row = std::max(row, static_cast<double>(axis.summed_phases()));
    }
    return row;
  }

  /// Estimates the cycles in which the sums of all boxes move from a buffer into an image of so many bytes.
  [[gnu::noinline]] double cost_of_held(double bytes) const noexcept {
    if (!buffered_) return 0;
    const box usual{axis_values::repeat(box_.size(), 0), box_, {0, phases_at_once_}};
    const layout moves =
        written_layout(usual, buffer_of(usual, nullptr), in_image(), axis_values::repeat(spatial_axes(), 0));
    staged_move blocks;
    const std::int64_t size = columns_.result_size();
    const double cost = plan_unbounded(blocks, moves, size, buffered_side::source);
    return cost * bytes / std::max(static_cast<double>(total_bytes(moves, size)), 1.0);
  }
  held_image held() const noexcept { return {columns_, output_strides_}; }
  /// Sums a box in a buffer and adds the sums to the image.
  [[gnu::noinline]] void add_box(const box& part, const std::byte* columns,
                                 const box_target& places) const noexcept {
    alignas(64) std::byte buffer[static_cast<std::size_t>(added_bytes) + readable_slack];
    const held_image image = held();
    const box_target sums = image.in_buffer(box_, buffer);
    fill_part(part, columns, sums);
    image.add(part, sums, places);
  }

  void fill_part(const box& part, const std::byte* columns, const box_target& places) const noexcept {
    if (!buffered_) return sum(columns_, part, columns, places, has_gaps_);
    if (columns_.reduce != nullptr) return fill_by_buffer<reduced_buffer_bytes>(part, columns, places);
    fill_by_buffer<box_bytes>(part, columns, places);
  }
  /// Fills a box through a buffer of some bytes.
  template <std::size_t Bytes>
  [[gnu::noinline]] void fill_by_buffer(const box& part, const std::byte* columns,
                                        const box_target& places) const noexcept {
    alignas(64) std::byte buffer[Bytes + readable_slack];
    const box_target phases = buffer_of(part, buffer);
    if (has_gaps_) std::memset(buffer, 0, Bytes);
    if (columns_.accumulates) move_sums(part, phases, places, true);
    sum(columns_, part, columns, phases, false);
    move_sums(part, phases, places, false);
  }

  bool buffered_ = false;  ///< whether a box is summed in a buffer
  bool adds_ = false;      ///< whether a buffer has the sums of a box, which are added to the image
};
static_assert(std::is_trivially_copyable_v<gather>);

/// Tells whether windows lie side by side and cover all positions, so that each position has exactly one term. The
/// arguments are members of a sum_request.
constexpr bool covers_once(const layout& moves, const axis_values& extents) noexcept {
  const std::size_t spatial = extents.size() - 2;
  for (std::size_t d = 0; d < spatial; ++d) {
    const layout_axis& offsets = moves.axes[2 + d];
    const layout_axis& blocks = moves.axes[2 + spatial + d];
    if (moves.bounds[d].offset != 0 || offsets.bound_step != 1 ||
        offsets.extent * blocks.extent != extents[2 + d] ||
        (blocks.extent > 1 && blocks.bound_step != offsets.extent)) {
      return false;
    }
  }

  return true;
}

inline gather::gather(const sum_request& sums, const sum_functions* sum) noexcept : image_boxes(sums, sum) {
  const std::int64_t element_size = columns_.element_size;
  const std::int64_t result_size = columns_.result_size();
  columns_.are_far =
      static_cast<double>(total_bytes(sums.moves, element_size)) > sum_costs::least_asked_columns;
  std::int64_t size = result_size;  // bytes of a place with all phases, or more than a box
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    constexpr std::int64_t too_large = 2 * reduced_box_bytes;
    size = std::min(size * std::min(columns_.axes[d].phases, too_large), too_large);
  }
  adds_ = adds_from_buffer(sums, size);
  if (adds_) columns_.accumulates = false;
  has_gaps_ = has_gaps_ && !columns_.accumulates;
  const gather_axis& last = last_axis();
  const bool reduces = sums.reduce != nullptr;
  const bool is_spread =
      last.block_stride == element_size && (last.phases > 1 || last.output_stride != result_size);
  const std::int64_t row = last.places() * result_size;
  const bool is_small =
      reduces ? size <= most_reduced_place && (result_size <= 2 || row <= sum_costs::most_masked_reduction)
              : size <= std::int64_t{box_bytes};
  buffered_ = is_spread && is_small;
  if (reduces && is_spread) {
    if (const std::int64_t phases = phases_of_reductions(size); phases != 0) {
      size = size / last.phases * phases;
      phases_at_once_ = phases;
      buffered_ = true;
    }
  }

  const bool has_short_rows = last.places() <= least_reduced_places;
  const std::int64_t reduced_bytes =
      buffered_ ? std::int64_t{reduced_buffer_bytes}
                : std::max(reduced_box_bytes, has_short_rows ? least_reduced_places * size : 0);
  const std::int64_t bytes = reduces ? reduced_bytes : adds_ ? added_bytes : std::int64_t{box_bytes};
  const bool has_box = buffered_ || reduces || adds_;
  box_ = choose_box(places_, has_box ? size : element_size, bytes,
                    buffered_ ? written_run(result_size) : whole_channels());
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
