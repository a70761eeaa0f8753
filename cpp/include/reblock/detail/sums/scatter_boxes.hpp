// SPDX-License-Identifier: BSD-3-Clause
//
// scatter_boxes cuts the image of a fold into boxes whose sums have a buffer. They plan sums that read the columns in their
// own order: each row of the columns is added to a row of the buffer. Moves in blocks then bring the results into the image,
// which is smaller than the columns where windows overlap.
//
// The buffer has the order of the columns. The phases of a step lie apart in it, so rows are contiguous on both sides. If
// windows lie side by side, each has a place of its own in the buffer, so rows of offsets are joined to rows of the next axis.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/sums/row_terms.hpp>
#include <reblock/detail/sums/scatter_axis.hpp>
#include <reblock/detail/sums/terms_inside.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Returns how many outer indices of the last axis a list of rows serves in the mean, if it has so many boxes. Rows that
/// a box cuts have a list of their own.
constexpr double repeated_outer(const scatter_axis& axis, std::int64_t boxes) noexcept {
  if (!axis.keeps_phase()) return 1;
  const std::int64_t cut = 2 * ceil_divide((axis.inner - 1) * axis.inner_step, axis.outer_step);
  const double of_box = static_cast<double>(axis.outer) / static_cast<double>(boxes);
  return std::max(1.0, of_box / static_cast<double>(1 + (boxes > 1 ? cut : 0)));
}

/// A scattered_part describes a box along one axis.
struct scattered_part {
  index_range places{0, 1};
  index_range positions{0, 1};  ///< of the image
  std::int64_t stride = 0;      ///< from place to place in the buffer, elements
  index_range rows{0, 1};       ///< inner indices, or of n and c, whose rows are added together
};

/// What the sums of an image do. It tells what they cost.
struct scatter_work {
  double rows;     ///< rows that are added
  double waiting;  ///< rows that wait for the sums of those before them
  double terms;
  double tiles;         ///< rows that are added together
  double image;         ///< sums of all places
  double image_rows;    ///< rows of sums that follow each other in the buffer
  double spatial_rows;  ///< such rows that are not those of other images or channels of a box
  double runs;          ///< of the image
};

/// scatter_boxes are trivially copyable.
class scatter_boxes {
 public:
  /// Returns the estimated cost in cycles: `never` if they cannot make these sums.
  double cost() const noexcept { return cost_; }
  std::int64_t boxes() const noexcept {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < box_.size(); ++i) count *= boxes_along(i);
    return count;
  }
  /// Tells whether a row has all phases of a place: those of a window.
  bool rows_are_places() const noexcept { return rows_are_places_; }
  /// Makes boxes smaller until there are `wanted` boxes, if that is possible.
  void share_among(std::int64_t wanted) noexcept {
    for (std::size_t k = places_.size(); k-- > 1 && boxes() < wanted;) {
      const std::size_t i = order_[k];
      const std::int64_t parts = std::min(places_[i], ceil_divide(wanted, boxes()) * boxes_along(i));
      box_[i] = ceil_divide(places_[i], parts);
    }
  }

 protected:
  template <class Adder>
  friend class scatter_runner;

  /// `sum_size`: bytes of a sum in a buffer of so many bytes.
  scatter_boxes(const sum_request& sums, std::int64_t sum_size, std::int64_t buffer_bytes) noexcept;

  /// Tells whether the buffer has boxes of this image.
  bool has_boxes() const noexcept { return has_boxes_; }
  scatter_work work() const noexcept;

  std::int64_t boxes_along(std::size_t i) const noexcept { return (places_[i] - 1) / box_[i] + 1; }
  std::size_t spatial_axes() const noexcept { return places_.size() - 2; }
  std::int64_t inner_stride(std::size_t i) const noexcept {
    return i < 2 ? strides_[i] : axes_[i - 2].inner_stride;
  }
  std::int64_t inner_extent(std::size_t i) const noexcept { return i < 2 ? places_[i] : axes_[i - 2].inner; }
  /// Orders the axes by their strides in the columns. Returns whether the innermost one has contiguous elements.
  bool find_row() noexcept {
    std::iota(order_.begin(), order_.begin() + places_.size(), std::uint8_t{0});
    sort_few(std::span(order_).first(places_.size()), [this](std::size_t i, std::size_t k) {
      if (inner_extent(k) == 1 || inner_extent(i) == 1) return inner_extent(k) == 1 && inner_extent(i) > 1;
      return magnitude(inner_stride(i)) <= magnitude(inner_stride(k));
    });
    const std::size_t row = order_[0];
    if (inner_extent(row) == 1 || inner_stride(row) != element_size_) return false;
    if (row >= 2) {
      scatter_axis& axis = axes_[row - 2];
      std::size_t next = 1;
      while (next + 1 < places_.size() && inner_extent(order_[next]) == 1) ++next;
      rows_are_places_ = axis.is_side_by_side() && joins(order_[next], axis.inner * element_size_);
      rows_are_places_ ? axis.make_places() : axis.make_rows();
    }
    for (std::size_t d = 0; d < spatial_axes(); ++d) places_[2 + d] = axes_[d].places();
    return row < 2 || axes_[row - 2].phases <= buffer_bytes_ / sum_size_;
  }

  /// Tells whether rows of axis `i` follow runs of so many bytes of the columns, and each other in the buffer.
  bool joins(std::size_t i, std::int64_t run) const noexcept {
    return inner_stride(i) == run && (i < 2 ? !is_outside_[i] : axes_[i - 2].step() == 1);
  }

  /// Counts the elements of a row of the columns that a box has.
  std::int64_t row_elements() const noexcept {
    const std::size_t row = order_[0];
    const std::int64_t all = inner_extent(row);
    if (rows_are_places_) return all;
    return std::min(all, row < 2 ? box_[row] : ceil_divide(box_[row], axes_[row - 2].step()));
  }

  /// Returns the bytes from row to row of the buffer. A row that is added must not reach the next one.
  std::int64_t row_bytes() const noexcept {
    const std::int64_t added = inner_extent(order_[0]) * sum_size_;
    const std::int64_t all = rows_are_places_ ? added : box_[order_[0]] * sum_size_;
    return all > added ? std::max(all, ceil_divide(added, row_slack) * row_slack) : all;
  }
  /// Chooses a box that fits the buffer. Rows of the buffer are as long as possible, beside as many channels as make a run of
  /// the columns long. Then the other axes grow. Windows that are places come last.
  void choose_box() noexcept {
    const std::size_t row = order_[0];
    const std::int64_t phases = row < 2 || rows_are_places_ ? 1 : axes_[row - 2].phases;  // beside rows
    const auto grow = [&](std::size_t i, std::int64_t most, std::int64_t room) {
      box_[i] = std::clamp<std::int64_t>(std::min(places_[i], most), 1, std::max<std::int64_t>(room, 1));
    };
    const std::int64_t elements =
        buffer_bytes_ / phases / (rows_are_places_ ? row_bytes() : sum_size_);  // rows, if these are places
    if (row != 1 && !is_outside_[1]) {
      const std::int64_t stride = std::max<std::int64_t>(magnitude(strides_[1]), 1);
      grow(1, ceil_divide(sum_costs::least_scattered_read, stride), elements);
    }
    // enough channels for runs of the image, too
    if (row != 1 && magnitude(output_strides_[1]) == element_size_)
      grow(1, std::max(box_[1], ceil_divide(sum_costs::least_written_run, element_size_)), elements);
    const std::int64_t least = box_[1];
    grow(row, rows_are_places_ ? 1 : places_[row], elements / (row == 1 ? 1 : least));
    while (row_bytes() > buffer_bytes_ / phases) box_[row] /= 2;
    std::int64_t room = buffer_bytes_ / phases / row_bytes() / (row == 1 ? 1 : least);
    if (room == 0) box_[1] = room = 1;  // short rows need more room
    const auto grow_into_room = [&](std::size_t i) {
      room *= box_[i];
      grow(i, places_[i], room);
      room /= box_[i];
    };
    for (std::size_t k = 1; k < places_.size(); ++k) grow_into_room(order_[k]);
    if (rows_are_places_) grow_into_room(row);
    for (std::size_t i = 0; i < places_.size(); ++i) box_[i] = even_part(places_[i], box_[i]);
  }

  /// Counts the rows of a box that follow each other on both sides and become one.
  double joined_rows() const noexcept {
    double joined = 1;
    std::int64_t run = inner_extent(order_[0]);
    std::int64_t stride = row_bytes() / sum_size_;
    for (std::size_t k = 1; k < places_.size() && stride == run; ++k) {
      const std::size_t i = order_[k];
      if (box_[i] == 1) continue;
      const std::int64_t rows = std::min(inner_extent(i), box_[i]);
      if (!joins(i, run * element_size_)) break;
      joined *= static_cast<double>(rows);
      run *= rows;
      stride *= box_[i];
    }
    return joined;
  }

  std::array<scatter_axis, max_rank - 2> axes_;
  std::array<std::int64_t, 2> strides_;       ///< of n and c in the columns, bytes
  std::int64_t column_offset_ = 0;            ///< of the first element, bytes
  std::int64_t readable_end_ = 0;             ///< of the bytes of the columns that sums may read
  std::int64_t output_offset_ = 0;            ///< of the image in the output, bytes
  axis_values output_strides_;                ///< of n, c and the spatial axes, bytes
  axis_values places_;                        ///< of n, c and the spatial axes
  axis_values box_;                           ///< places of a box
  std::array<std::uint8_t, max_rank> order_;  ///< of the axes in the buffer, the innermost first
  std::array<bool, 2> is_outside_{};          ///< whether n and c have longer strides than all outer indices
  bool rows_are_places_ = false;              ///< whether a row has all phases of a place
  bool accumulates_ = false;                  ///< whether sums begin from what the image holds
  std::int64_t element_size_ = 0;             ///< bytes
  std::int64_t sum_size_ = 0;                 ///< of a sum in the buffer, bytes
  std::int64_t buffer_bytes_ = 0;
  bool has_boxes_ = false;
  double cost_ = never;
};
static_assert(std::is_trivially_copyable_v<scatter_boxes>);

inline scatter_work scatter_boxes::work() const noexcept {
  const std::size_t row = order_[0];
  double terms = 1;
  double image = 1;     // with all places
  double together = 1;  // rows of a tile that do not overlap
  double repeated = 1;  // outer indices of a tile
  std::int64_t run = element_size_;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (output_strides_[i] == element_size_)
      run = std::max(run, element_size_ * box_[i] * (i < 2 ? 1 : axes_[i - 2].phases));
    if (i < 2) {
      terms *= static_cast<double>(places_[i]);
      image *= static_cast<double>(places_[i]);
      if (i != row && !is_outside_[i]) together *= static_cast<double>(box_[i]);
    } else {
      const scatter_axis& axis = axes_[i - 2];
      // the row axis has places outside of the image, too
      terms *= i == row ? static_cast<double>(axis.outer) * static_cast<double>(axis.inner)
                        : terms_inside(axis.outer, axis.outer_step, axis.inner, axis.inner_step, axis.padding,
                                       axis.extent);
      image *= static_cast<double>(places_[i]) * static_cast<double>(axis.phases);
      // of the other axes, a box has the inner indices that reach its places
      if (i != row) together *= static_cast<double>(std::min(axis.inner, ceil_divide(box_[i], axis.step())));
      if (i + 1 == places_.size()) repeated = repeated_outer(axis, boxes_along(i));
    }
  }
  if (rows_are_places_) run = std::min(run, row_bytes() / sum_size_ * element_size_);
  const double rows = terms / static_cast<double>(row_elements());  // a box may cut the rows of the columns
  // windows that lie side by side have no sum in common
  const double waiting = rows / together / (rows_are_places_ && row + 1 == places_.size() ? repeated : 1);
  const double image_rows = image / static_cast<double>(rows_are_places_ ? axes_[row - 2].phases : box_[row]);
  return {rows / joined_rows(),
          waiting,
          terms,
          rows / together / repeated,
          image,
          image_rows,
          image_rows / static_cast<double>((row == 0 ? 1 : box_[0]) * (row == 1 ? 1 : box_[1])),
          image * static_cast<double>(element_size_) / static_cast<double>(run)};
}

inline scatter_boxes::scatter_boxes(const sum_request& sums, std::int64_t sum_size,
                                    std::int64_t buffer_bytes) noexcept
    : output_offset_(sums.output_offset),
      output_strides_(sums.output_strides),
      places_(sums.extents),
      box_(axis_values::repeat(sums.extents.size(), 1)),
      accumulates_(sums.accumulates),
      element_size_(sums.sum.element_size),
      sum_size_(sum_size),
      buffer_bytes_(buffer_bytes) {
  const layout& moves = sums.moves;
  const std::size_t spatial = spatial_axes();
  column_offset_ = moves.source_offset;
  readable_end_ = readable_bytes(moves, element_size_).end;
  std::int64_t longest = 0;
  for (std::size_t d = 0; d < spatial; ++d) {
    axes_[d] = scatter_axis::of(moves.axes[2 + d], moves.axes[2 + spatial + d], -moves.bounds[d].offset,
                                sums.extents[2 + d]);
    if (!axes_[d].is_near()) return;
    if (axes_[d].outer > 1) longest = std::max(longest, magnitude(axes_[d].outer_stride));
  }
  for (std::size_t i = 0; i < 2; ++i) {
    strides_[i] = moves.axes[i].source_stride;
    is_outside_[i] = longest > 0 && magnitude(strides_[i]) > longest;
  }
  if (!find_row()) return;
  choose_box();
  has_boxes_ = true;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
