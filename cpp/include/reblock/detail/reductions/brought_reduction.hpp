// SPDX-License-Identifier: BSD-3-Clause
//
// A brought_reduction reduces the terms of a box of the image from a buffer. Moves bring all windows that reach the box into
// the buffer, in an order that makes rows of accumulators, and the results from a second buffer into the image.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/moves/remembered_moves.hpp>
#include <reblock/detail/reductions/reduction_cost.hpp>
#include <reblock/detail/sums/gather_axis.hpp>
#include <reblock/detail/sums/image_boxes.hpp>
#include <reblock/detail/sums/piecewise_sum.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of the windows of a box, and of its results.
inline constexpr std::int64_t brought_bytes = 36 * 1024;
inline constexpr std::int64_t brought_result_bytes = 12 * 1024;

/// It is trivially copyable.
class brought_reduction : public image_boxes {
 public:
  explicit brought_reduction(const sum_request& sums) noexcept;

  /// Returns the estimated cost in cycles, or `never` if no place fits the buffers.
  double cost() const noexcept { return cost_; }

  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const noexcept {
    const box part = box_of(number, true);
    const box_target places = image_of(part, image);
    alignas(64) std::byte windows[brought_bytes + readable_slack];
    alignas(64) std::byte results[brought_result_bytes + readable_slack];
    const box_target sums = buffer_of(part, results, channels_last_);
    layout in;
    const columns_of_windows brought = lay_out(part, &in);
    recent_moves().run(in, columns_.element_size, buffered_side::destination, columns, windows);
    if (has_gaps_) std::memset(results, 0, brought_result_bytes);
    if (columns_.accumulates) move_sums(part, sums, places, true);
    sum(brought, part, windows, sums, false);
    move_sums(part, sums, places, false);
  }

 private:
  /// Returns windows along an axis, among them all that reach a box. Their number is the same for all boxes, so their moves
  /// have one plan.
  index_range windows_of(std::size_t d, const box& part) const noexcept {
    const gather_axis& axis = columns_.axes[d];
    if (axis.blocks <= 1) return {0, axis.blocks};
    const std::int64_t first = part.first[2 + d] * axis.phases + axis.padding;
    const std::int64_t reach = (axis.size - 1) * axis.dilation;
    const std::int64_t count = most_windows(d);
    const std::int64_t begin =
        std::clamp<std::int64_t>(ceil_divide(first - reach, axis.phases), 0, axis.blocks - count);
    return {begin, begin + count};
  }

  /// Returns the largest number of windows that reach a box along an axis.
  std::int64_t most_windows(std::size_t d) const noexcept {
    const gather_axis& axis = columns_.axes[d];
    const std::int64_t halo = ceil_divide((axis.size - 1) * axis.dilation, axis.phases);
    return std::min(axis.blocks, box_[2 + d] + halo);
  }
  bool fits() const noexcept {
    double terms = static_cast<double>(columns_.element_size);
    double results = static_cast<double>(columns_.result_size());
    for (std::size_t i = 0; i < 2; ++i) {
      terms *= static_cast<double>(box_[i]);
      results *= static_cast<double>(box_[i]);
    }
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      terms *= static_cast<double>(most_windows(d)) * static_cast<double>(columns_.axes[d].size);
      results *= static_cast<double>(box_[2 + d]) * static_cast<double>(columns_.axes[d].phases);
    }
    return terms <= double{brought_bytes} && results <= double{brought_result_bytes};
  }

  /// Chooses a box: channels for a row, then places of the axes whose windows are read most often, then more channels.
  void grow() noexcept {
    const auto try_size = [this](std::size_t i, std::int64_t size) {
      const std::int64_t before = box_[i];
      box_[i] = std::min(size, places_[i]);
      if (box_[i] > before && fits()) return true;
      box_[i] = before;
      return false;
    };
    const std::int64_t row =
        std::max(sum_costs::least_brought_channels, sum_costs::brought_row / columns_.element_size);
    while (box_[channels] < row && try_size(channels, 2 * box_[channels])) {
    }
    for (;;) {
      std::size_t best = 0;
      double most = 1;
      for (std::size_t d = 0; d < spatial_axes(); ++d) {
        const std::int64_t before = box_[2 + d];
        const double windows = static_cast<double>(most_windows(d));
        if (!try_size(2 + d, before + 1 + before / 4)) continue;
        const double gain = windows / static_cast<double>(before) * static_cast<double>(box_[2 + d]) /
                            static_cast<double>(most_windows(d));
        box_[2 + d] = before;
        if (gain <= most && best != 0) continue;
        most = gain;
        best = 2 + d;
      }
      if (best == 0) break;
      try_size(best, box_[best] + 1 + box_[best] / 4);
    }
    for (const std::size_t i : {channels, std::size_t{0}}) {
      while (try_size(i, 2 * box_[i])) {
      }
    }
  }

  /// Lays windows of a box out in a buffer, and adds their moves if there are any.
  columns_of_windows lay_out(const box& part, layout* moves) const noexcept {
    columns_of_windows brought = columns_;
    brought.readable = {0, 0};
    brought.offset = 0;
    std::int64_t stride = columns_.element_size;
    if (moves != nullptr) moves->source_offset = columns_.offset;
    const auto place = [&](std::int64_t first, std::int64_t count, std::int64_t& of_columns) {
      if (moves != nullptr) {
        moves->add({count, of_columns, stride});
        moves->source_offset = wrapping_add(moves->source_offset, wrapping_multiply(first, of_columns));
      }
      of_columns = stride;
      brought.offset = wrapping_subtract(brought.offset, wrapping_multiply(first, stride));
      stride *= count;
    };
    const auto place_index = [&](std::size_t i) {
      place(part.first[i], part.extents[i], brought.strides[i]);
    };
    if (channels_last_) place_index(channels);
    for (std::size_t d = spatial_axes(); d-- > 0;) {
      const index_range windows = windows_of(d, part);
      place(windows.begin, windows.end - windows.begin, brought.axes[d].block_stride);
    }
    for (std::size_t d = spatial_axes(); d-- > 0;)
      place(0, brought.axes[d].size, brought.axes[d].size_stride);
    if (!channels_last_) place_index(channels);
    place_index(0);
    return brought;
  }

  /// Returns a box in the middle of the image.
  box usual_box() const noexcept {
    box part{box_, box_, {0, last_axis().phases}};
    for (std::size_t i = 0; i < box_.size(); ++i) {
      part.first[i] = (boxes_along(i) - 1) / 2 * box_[i];
      part.extents[i] = std::min(box_[i], places_[i] - part.first[i]);
    }
    return part;
  }

  double estimate() const noexcept {
    const box part = usual_box();
    layout in;
    lay_out(part, &in);
    staged_move blocks;
    double cost = plan_unbounded(blocks, in, columns_.element_size, buffered_side::destination);
    const box_target sums = buffer_of(part, nullptr, channels_last_);
    const layout out = written_layout(part, sums, in_image(), axis_values::repeat(spatial_axes(), 0));
    cost += plan_unbounded(blocks, out, columns_.result_size(), buffered_side::source);
    return cost * static_cast<double>(boxes()) +
           reduction_cost(*this, lay_out(part, nullptr), sums, false).cycles();
  }

  bool channels_last_ = false;  ///< whether channels are innermost in the buffers
  double cost_ = never;
};
static_assert(std::is_trivially_copyable_v<brought_reduction>);

inline brought_reduction::brought_reduction(const sum_request& sums) noexcept : image_boxes(sums, nullptr) {
  has_gaps_ = has_gaps_ && !columns_.accumulates;
  if (!fits()) return;
  grow();
  channels_last_ = true;
  const double by_channels = estimate();
  channels_last_ = false;
  const double by_places = estimate();
  channels_last_ = by_channels < by_places;
  cost_ = std::min(by_channels, by_places);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
