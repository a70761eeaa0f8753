// SPDX-License-Identifier: BSD-3-Clause
//
// A sum_sweep plans how fold sums columns of any order. It sweeps over the windows, from the last to the first, and adds
// each chunk of them to the image. Each position then gets its terms in the order of their offsets.
//
// Moves in blocks bring a chunk into a buffer, which has rows of the image. Along the axes that are not walked, the buffer
// has planes (sweep_axis.hpp), and one sum takes a term of each plane. Where no window has a term, planes have a value that
// changes no sum: 0, since sums begin with +0, or -0 for sums that begin from what the image holds.
//
// If rows of the buffer cannot be rows of the image, the sums of a box have a buffer of their own, and moves in blocks bring
// them into the image. One reason is a phase of the stride that has a row of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/sums/sweep_axis.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of the buffer of a chunk: it fits the first-level cache.
inline constexpr std::int64_t chunk_bytes = 24 * 1024;
/// Bytes of a box whose sums have a buffer of their own.
inline constexpr std::int64_t sums_bytes = 11 * 1024;

/// A sweep_chunk says how much comes into the buffer at a time.
struct sweep_chunk {
  axis_values box;      ///< indices of n and c, and of each spatial axis places, or positions if it is walked
  axis_values windows;  ///< of each spatial axis that is walked
  axis_values offsets;  ///< of the windows of each spatial axis that is walked
};

/// Strides of a chunk in the buffer along one axis, in bytes. An axis that is walked has only the last two.
struct chunk_strides {
  std::int64_t stride = 0;  ///< from element to element of a row of the planes
  std::int64_t row_stride = 0;
  std::int64_t offset_stride = 0;
  std::int64_t window_stride = 0;
};
using chunk_buffer = std::array<chunk_strides, max_rank>;

/// A sum_sweep is trivially copyable.
class sum_sweep {
 public:
  sum_sweep(const sum_request& sums, const sum_functions& sum) noexcept;

  /// Tells whether the buffers have room for the smallest chunk.
  bool fits() const noexcept { return chunk_.box.size() != 0; }
  /// Returns the estimated cost of all sums in cycles.
  double cost() const noexcept { return cost_; }
  std::int64_t boxes() const noexcept {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < chunk_.box.size(); ++i) count *= boxes_along(i);
    return count;
  }
  std::size_t spatial_axes() const noexcept { return places_.size() - 2; }
  /// Cuts boxes along a walked axis until there are `wanted` boxes, if that is possible.
  void share_among(std::int64_t wanted) noexcept {
    const std::int64_t parts = ceil_divide(wanted, boxes());
    for (std::size_t d = 0; d < spatial_axes() && parts > 1; ++d) {
      std::int64_t& positions_of_box = chunk_.box[2 + d];
      if (!axes_[d].is_walked || positions_of_box < 2 * parts) continue;
      positions_of_box = ceil_divide(positions_of_box, parts);
      return;
    }
  }

 private:
  friend class sweep_runner;
  friend class sweep_cost;
  friend class sweep_growth;
  friend class sweep_search;

  std::int64_t boxes_along(std::size_t i) const noexcept { return (places_[i] - 1) / chunk_.box[i] + 1; }
  bool is_walked(std::size_t i) const noexcept { return i >= 2 && axes_[i - 2].is_walked; }
  /// Counts the indices of the image that `count` indices or places of a box are at most.
  std::int64_t positions(std::size_t i, std::int64_t count) const noexcept {
    return i < 2 || is_walked(i) ? count : count * axes_[i - 2].stride;
  }
  std::int64_t extent(std::size_t i) const noexcept { return i < 2 ? places_[i] : axes_[i - 2].extent; }
  /// Orders the axes as the image has them. Returns the innermost axis with several indices.
  std::size_t order_by_image() noexcept {
    list_by_strides(image_order_, places_.size(), [this](std::size_t i) { return output_strides_[i]; });
    std::size_t inner = 0;
    while (inner + 1 < places_.size() && extent(image_order_[inner]) == 1) ++inner;
    return image_order_[inner];
  }
  /// Orders the axes as the image has them, but for axis `row`, which comes first.
  void make_rows(std::size_t row) noexcept {
    order_[0] = static_cast<std::uint8_t>(row);
    std::size_t count = 1;
    for (std::size_t k = 0; k < places_.size(); ++k) {
      if (image_order_[k] != row) order_[count++] = image_order_[k];
    }
  }

  /// Returns the innermost spatial axis of the rows that has several positions, or the last one.
  std::size_t innermost_spatial_axis() const noexcept {
    for (std::size_t k = 0; k < places_.size(); ++k) {
      if (order_[k] >= 2 && extent(order_[k]) > 1) return order_[k] - std::size_t{2};
    }
    return spatial_axes() - 1;
  }
  /// Tells whether positions get their terms in the order of the offsets. Overlapping windows of an axis that is walked come
  /// before those of planes. Sums that are rounded, of halves, must be made at once.
  bool keeps_order(const sum_request& sums) const noexcept {
    const bool rounds = sums.sum.part == summand::half_float || sums.sum.part == summand::brain_float;
    bool has_planes = false;
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      if (!axes_[d].overlaps()) continue;
      if (axes_[d].is_walked && (rounds || (has_planes && !in_any_order_))) return false;
      has_planes = has_planes || !axes_[d].is_walked;
    }
    return true;
  }

  /// Makes the axes of a mask walked axes.
  void walk_axes(std::size_t mask) noexcept {
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      axes_[d].is_walked = (mask >> d & 1) != 0;
      places_[2 + d] = axes_[d].is_walked ? axes_[d].extent : axes_[d].places();
    }
    const std::size_t row = order_[0];
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      axes_[d].is_apart = row == 2 + d && !axes_[d].is_walked && should_be_apart(axes_[d]);
    }
    // rows must be contiguous in the image
    copies_ = is_walked(row) || output_strides_[row] != element_size_ ||
              (row >= 2 && axes_[row - 2].is_apart) || (!begins_from_image_ && has_short_rows());
  }

  /// Tells whether the phases of the image's innermost axis should have rows of their own: it takes long to bring short runs
  /// side by side.
  bool should_be_apart(const sweep_axis& axis) const noexcept {
    const bool are_interleaved = axis.window_stride == element_size_ && axis.dilation == 1;
    if (axis.stride == 1 || (are_interleaved && !axis.overlaps())) return false;
    const bool are_runs = axis.offset_stride == element_size_ && axis.dilation == 1;
    return (are_runs ? axis.cycle : 1) * element_size_ < sum_costs::least_joined_run &&
           axis.places() * element_size_ >= sum_costs::least_phase;
  }

  /// Tells whether the image has rows that are short, and longer in a buffer.
  bool has_short_rows() const noexcept {
    std::int64_t run = element_size_;
    for (std::size_t k = 0; k < places_.size() && run < sum_costs::least_row; ++k) {
      const std::size_t i = order_[k];
      if (extent(i) == 1) continue;
      if (is_walked(i)) return false;
      if (output_strides_[i] != run) return true;
      run *= extent(i);
    }
    return false;
  }

  /// Computes the bytes of a chunk in the buffer.
  double buffer_bytes(const sweep_chunk& chunk) const noexcept {
    auto bytes = static_cast<double>(element_size_);
    for (std::size_t i = 0; i < chunk.box.size(); ++i) {
      if (i < 2) {
        bytes *= static_cast<double>(chunk.box[i]);
      } else if (const sweep_axis& axis = axes_[i - 2]; axis.is_walked) {
        bytes *= static_cast<double>(chunk.windows[i - 2]) * static_cast<double>(chunk.offsets[i - 2]);
      } else {
        bytes *= axis.width(chunk.box[i]) * static_cast<double>(axis.rows());
      }
    }
    return bytes;
  }

  /// Lays the chunk out in the buffer, and returns its bytes.
  std::int64_t lay_out(chunk_buffer& buffer) const noexcept {
    std::int64_t stride = element_size_;
    for (std::size_t k = 0; k < places_.size(); ++k) {
      const std::size_t i = order_[k];
      if (is_walked(i)) continue;
      buffer[i].stride = stride;
      stride *= i < 2 ? chunk_.box[i] : static_cast<std::int64_t>(axes_[i - 2].width(chunk_.box[i]));
    }
    for (std::size_t i = places_.size(); i-- > 2;) {
      if (is_walked(i)) {
        buffer[i].offset_stride = stride;
        buffer[i].window_stride = stride * chunk_.offsets[i - 2];
        stride *= chunk_.offsets[i - 2] * chunk_.windows[i - 2];
      } else {
        buffer[i].row_stride = stride;
        stride *= axes_[i - 2].rows();
      }
    }
    return stride;
  }

  /// Tells whether the buffers have room for a chunk of so many bytes.
  bool fits(const sweep_chunk& chunk, double bytes) const noexcept {
    if (bytes > double{chunk_bytes}) return false;
    if (!copies_) return true;
    auto summed = static_cast<double>(element_size_);
    for (std::size_t i = 0; i < chunk.box.size(); ++i) {
      summed *= static_cast<double>(positions(i, chunk.box[i]));
    }
    return summed <= double{sums_bytes};
  }

  std::array<sweep_axis, max_rank - 2> axes_;
  sweep_chunk chunk_;                           ///< an empty box: there is no room
  bool copies_ = false;                         ///< whether sums have a buffer of their own
  bool accumulates_ = false;                    ///< whether a chunk is added to the sums of other chunks
  bool begins_from_image_ = false;              ///< whether sums begin from what the image holds
  bool clears_ = false;                         ///< whether sums are set to 0 first
  bool in_any_order_ = false;                   ///< whether sums do not depend on the order of their terms
  std::array<std::int64_t, 2> column_strides_;  ///< of n and c, bytes
  std::int64_t column_offset_ = 0;              ///< of the first element, bytes
  std::int64_t output_offset_ = 0;              ///< of the image in the output, bytes
  axis_values output_strides_;                  ///< of n, c and the spatial axes, bytes
  axis_values places_;  ///< indices of n and c, and of each spatial axis places, or positions if it is walked
  std::array<std::uint8_t, max_rank>
      order_;  ///< of the axes in rows: that of the image but for one axis, the innermost first
  std::array<std::uint8_t, max_rank> image_order_;  ///< the innermost first
  std::int64_t element_size_ = 0;                   ///< bytes
  const sum_functions* sum_ = nullptr;
  double cost_ = never;
};
static_assert(std::is_trivially_copyable_v<sum_sweep>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
