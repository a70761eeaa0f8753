// SPDX-License-Identifier: BSD-3-Clause
//
// staged_sums plans how fold sums columns of any order: box by box of the image, through a buffer.
//
// The buffer holds planes (plane_axis.hpp) in the order of the image, with zeros where a plane has no values. Then each sum
// of a box has one term of each plane, always at the same distance. The added +0 changes no sum: sums begin with +0, so no
// sum is -0.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/blocks.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/plan.hpp>
#include <reblock/detail/plane_axis.hpp>
#include <reblock/detail/summation.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of the buffer of planes: it fits the first-level cache.
inline constexpr std::int64_t planes_bytes = 28 * 1024;
/// Bytes of a box whose sums have a buffer of their own.
inline constexpr std::int64_t sums_bytes = block_buffer_bytes;

/// A staged_sums is trivially copyable.
class staged_sums {
 public:
  staged_sums(const sum_request& sums, const sum_functions& sum) noexcept;

  /// Tells whether the buffers have room for the smallest box.
  bool fits() const noexcept { return box_.size() != 0; }
  std::int64_t boxes() const noexcept {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < box_.size(); ++i) count *= boxes_along(i);
    return count;
  }

 private:
  friend class staged_sum_runner;

  std::size_t spatial_axes() const noexcept { return places_.size() - 2; }
  std::int64_t boxes_along(std::size_t i) const noexcept { return (places_[i] - 1) / box_[i] + 1; }
  /// Tells whether the phases of the image's innermost axis are summed separately.
  bool is_apart() const noexcept {
    return innermost_ >= 2 && !axes_[innermost_ - 2].is_joined && axes_[innermost_ - 2].stride > 1;
  }
  bool fits(const axis_values& box) const noexcept;
  double buffer_bytes(const axis_values& box) const noexcept;
  double short_runs(const axis_values& box) const noexcept;
  double choose_box(axis_values& box) const noexcept;

  std::array<plane_axis, max_rank - 2> axes_;
  bool is_single_ = true;      ///< whether there is one plane, and phases are joined
  std::size_t innermost_ = 0;  ///< axis of the image
  bool copies_ = false;        ///< whether sums have a buffer of their own, for phases or gaps there
  std::array<std::int64_t, 2> column_strides_;  ///< of n and c, bytes
  std::int64_t column_offset_ = 0;              ///< of the first element, bytes
  axis_values output_strides_;                  ///< of n, c and the spatial axes, bytes
  axis_values places_;                          ///< n, c, places of each spatial axis
  axis_values box_;                             ///< indices and places of a box; empty: there is no room
  std::array<std::uint8_t, max_rank> order_;    ///< of the axes in the image, the innermost first
  std::int64_t element_size_ = 0;               ///< bytes
  const sum_functions* sum_ = nullptr;
};
static_assert(std::is_trivially_copyable_v<staged_sums>);

inline staged_sums::staged_sums(const sum_request& sums, const sum_functions& sum) noexcept
    : output_strides_(sums.output_strides),
      places_(sums.extents),
      element_size_(sums.sum.element_size),
      sum_(&sum) {
  const layout& moves = sums.moves;
  const std::size_t spatial = sums.extents.size() - 2;
  column_offset_ = moves.source_offset;
  for (std::size_t i = 0; i < 2; ++i) column_strides_[i] = moves.axes[i].source_stride;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    std::size_t k = places_.size() - 1 - i;
    std::size_t to = i;
    for (; to > 0 && magnitude(output_strides_[order_[to - 1]]) > magnitude(output_strides_[k]); --to) {
      order_[to] = order_[to - 1];
    }
    order_[to] = static_cast<std::uint8_t>(k);
  }
  std::size_t inner = 0;
  while (sums.extents[order_[inner]] == 1 && inner + 1 < places_.size()) ++inner;
  innermost_ = order_[inner];
  for (std::size_t d = 0; d < spatial; ++d) {
    const layout_axis& offsets = moves.axes[2 + d];
    const layout_axis& windows = moves.axes[2 + spatial + d];
    plane_axis& axis = axes_[d];
    axis = {};
    axis.dilation = offsets.extent > 1 ? offsets.bound_step : 1;
    axis.stride = windows.extent > 1 ? windows.bound_step : (offsets.extent - 1) * axis.dilation + 1;
    const std::int64_t common = std::gcd(axis.stride, axis.dilation);
    axis.cycle = std::min(axis.stride / common, offsets.extent);
    axis.advance = axis.dilation / common;
    axis.planes = ceil_divide(offsets.extent, axis.cycle);
    axis.last_cycle = offsets.extent - (axis.planes - 1) * axis.cycle;
    axis.windows = windows.extent;
    axis.padding = -moves.bounds[d].offset;
    axis.extent = sums.extents[2 + d];
    axis.offset_stride = offsets.source_stride;
    axis.window_stride = windows.source_stride;
    const bool are_few = axis.windows <= sum_costs::few_joined_windows;
    const bool is_long = axis.cycle * element_size_ >= sum_costs::least_joined_run;
    axis.is_joined = axis.planes == 1 ||
                     (axis.dilation == 1 &&
                      (innermost_ == 2 + d ? axis.offset_stride == element_size_ && (is_long || are_few)
                                           : innermost_ >= 2 && are_few));
    is_single_ = is_single_ && axis.planes == 1 && axis.reach() == 0;
    places_[2 + d] = axis.places();
  }
  copies_ = is_apart() || output_strides_[innermost_] != element_size_;
  for (const bool all : {true, false}) {
    for (std::size_t d = 0; d < spatial; ++d) axes_[d].together = all && axes_[d].planes > 1;
    if (!fits(places_)) continue;
    box_ = places_;
    return;
  }
  // brings together the planes of no axis, of the columns' innermost axis, or of all axes
  double least = choose_box(box_);
  std::array<bool, max_rank - 2> together{};
  const auto try_together = [&](auto chosen) {
    bool differs = false;
    for (std::size_t d = 0; d < spatial; ++d) {
      const bool is = axes_[d].planes > 1 && chosen(d);
      differs = differs || is != axes_[d].together;
      axes_[d].together = is;
    }
    if (!differs) return;
    axis_values box;
    const double cost = choose_box(box);
    if (cost >= least) return;
    least = cost;
    box_ = box;
    for (std::size_t d = 0; d < spatial; ++d) together[d] = axes_[d].together;
  };
  inner = no_axis;
  for (std::size_t d = 0; d < spatial; ++d) {
    if (axes_[d].planes == 1) continue;
    if (inner == no_axis || magnitude(axes_[d].offset_stride) < magnitude(axes_[inner].offset_stride))
      inner = d;
  }
  try_together([inner](std::size_t d) { return d == inner; });
  try_together([](std::size_t) { return true; });
  for (std::size_t d = 0; d < spatial; ++d) axes_[d].together = together[d];
}

/// Computes the bytes of the planes, as floating point: the width of planes that do not fit may overflow integers.
inline double staged_sums::buffer_bytes(const axis_values& box) const noexcept {
  auto bytes = static_cast<double>(element_size_);
  for (std::size_t i = 0; i < box.size(); ++i) {
    if (i < 2) {
      bytes *= static_cast<double>(box[i]);
    } else {
      const plane_axis& axis = axes_[i - 2];
      const double places = static_cast<double>(box[i]) + static_cast<double>(axis.halo()) +
                            (axis.is_joined ? static_cast<double>(axis.reach()) : 0);  // as in width()
      bytes *= places * static_cast<double>(axis.positions()) * static_cast<double>(axis.layers());
    }
  }
  return bytes;
}

inline bool staged_sums::fits(const axis_values& box) const noexcept {
  if (buffer_bytes(box) > double{planes_bytes}) return false;
  if (!copies_) return true;
  auto bytes = static_cast<double>(element_size_);
  for (std::size_t i = 0; i < box.size(); ++i) {
    bytes *= static_cast<double>(box[i]) * (i < 2 ? 1 : static_cast<double>(axes_[i - 2].stride));
  }
  return bytes <= double{sums_bytes};
}

/// Estimates the factor by which short runs, in the columns and in the image, slow a box down.
inline double staged_sums::short_runs(const axis_values& box) const noexcept {
  std::int64_t written = element_size_;
  for (std::size_t k = 0; k < box.size(); ++k) {
    const std::size_t i = order_[k];
    if (places_[i] == 1 && (i < 2 || axes_[i - 2].extent == 1)) continue;
    if (output_strides_[i] != written) break;
    written *= i < 2 ? box[i] : std::min(box[i] * axes_[i - 2].stride, axes_[i - 2].extent);
    if (box[i] < places_[i] || (i >= 2 && axes_[i - 2].positions() < axes_[i - 2].stride)) break;
  }
  std::int64_t read = element_size_;
  for (bool grows = true; grows;) {
    grows = false;
    const auto take = [&](std::int64_t stride, std::int64_t extent) {
      if (grows || extent == 1 || stride != read) return;
      read *= extent;
      grows = true;
    };
    for (std::size_t i = 0; i < box.size(); ++i) {
      if (i < 2) {
        take(column_strides_[i], box[i]);
      } else {
        const plane_axis& axis = axes_[i - 2];
        take(axis.window_stride, std::min(box[i] + axis.halo(), axis.windows));
        take(axis.offset_stride, axis.offsets());
      }
    }
  }
  return (1 + sum_costs::short_read / static_cast<double>(read)) *
         (1 + sum_costs::short_written / static_cast<double>(written));
}

/// Doubles one axis at a time while there is room: the axis that makes the cost of a byte least. Returns this cost, without
/// a unit, or infinity if there is no room at all.
inline double staged_sums::choose_box(axis_values& box) const noexcept {
  const axis_values smallest = axis_values::repeat(places_.size(), 1);
  double least = std::numeric_limits<double>::infinity();
  if (!fits(smallest)) return least;
  const auto cost_of = [&](const axis_values& some) {
    if (!fits(some)) return std::numeric_limits<double>::infinity();
    double places = 1;
    for (const std::int64_t count : some) places *= static_cast<double>(count);
    return (buffer_bytes(some) + sum_costs::call) / places * short_runs(some);
  };
  const auto grow = [&](const axis_values& from, std::size_t i) {
    axis_values grown = from;
    grown[i] = std::min(2 * from[i], places_[i]);
    return grown;
  };
  // first grows the innermost axes of the image, up to `run` bytes
  for (const std::int64_t run : {std::int64_t{1}, sum_costs::first_run}) {
    axis_values chosen = smallest;
    std::int64_t written = element_size_;
    for (std::size_t k = 0; k < chosen.size() && written < run; ++k) {
      const std::size_t i = order_[k];
      while (chosen[i] < places_[i] && written * chosen[i] < run) {
        const axis_values grown = grow(chosen, i);
        if (!fits(grown)) break;
        chosen = grown;
      }
      written *= chosen[i] * (i < 2 ? 1 : axes_[i - 2].positions());
    }
    double cost = cost_of(chosen);
    for (;;) {
      axis_values best;
      double best_cost = std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        if (chosen[i] == places_[i]) continue;
        const axis_values grown = grow(chosen, i);
        const double grown_cost = cost_of(grown);
        if (grown_cost >= best_cost) continue;
        best = grown;
        best_cost = grown_cost;
      }
      if (best_cost > cost) break;
      if (best.size() == 0) break;
      chosen = best;
      cost = best_cost;
    }
    if (cost >= least) continue;
    least = cost;
    box = chosen;
  }
  for (std::size_t i = 0; i < box.size(); ++i) {
    const std::int64_t pieces = (places_[i] - 1) / box[i] + 1;
    box[i] = (places_[i] - 1) / pieces + 1;
  }
  return least;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
