// SPDX-License-Identifier: BSD-3-Clause
//
// A sweep_cost estimates what a sum_sweep costs, by the plans of its moves and the rows of its sums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/sums/sum_sweep.hpp>
#include <reblock/detail/sums/sweep_axis.hpp>
#include <reblock/detail/sums/tile_list.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// It takes all chunks for whole ones that lie inside the image. Steps of any size may wrap: then the cost has no meaning, but
/// the sums are right.
class sweep_cost {
 public:
  /// The columns have `columns` bytes.
  sweep_cost(const sum_sweep& sweep, double columns) noexcept : sweep_(sweep), columns_(columns) {
    sweep.lay_out(buffer_);
  }

  /// Returns cycles.
  [[gnu::noinline]] double cycles() noexcept {
    for (std::size_t i = 0; i < sweep_.places_.size(); ++i) count_boxes(i);
    for (std::size_t i = 0; i < 2; ++i) {
      in_.add({sweep_.chunk_.box[i], sweep_.column_strides_[i], buffer_[i].stride});
    }
    for (std::size_t i = 2; i < sweep_.places_.size(); ++i) {
      if (sweep_.is_walked(i)) {
        take_walked(i);
      } else {
        take_planes(i);
      }
    }
    double cost = chunks_ * (moves(in_, buffered_side::destination) * moved_ + sums());
    fetched_ = chunks_ * moved_ * lines();
    if (sweep_.copies_) cost += boxes_ * moves(out(), buffered_side::source);
    return sum_costs::sweep * (cost + boxes_ * sum_costs::swept_box) + sum_costs::swept_plan;
  }

  /// Returns the cycles in which lines of the columns come into the first-level cache, in addition. Other ways to sum also
  /// read the columns, so these cycles only compare sweeps.
  double fetched() const noexcept { return fetched_; }

 private:
  const sweep_axis& axis_of(std::size_t i) const noexcept { return sweep_.axes_[i - 2]; }

  void count_boxes(std::size_t i) noexcept {
    const auto along = static_cast<double>(sweep_.boxes_along(i));
    boxes_ *= along;
    chunks_ *= along;
  }

  void take_walked(std::size_t i) noexcept {
    const sweep_axis& axis = axis_of(i);
    const std::int64_t offsets = sweep_.chunk_.offsets[i - 2];
    std::int64_t windows = sweep_.chunk_.windows[i - 2];
    std::int64_t reaching = axis.windows;  // a box of the image
    double share = 1;                      // of boxes that any window reaches
    if (sweep_.copies_) {
      const double reached = static_cast<double>(sweep_.chunk_.box[i] - 1) +
                             static_cast<double>(offsets - 1) * static_cast<double>(axis.dilation);
      const double most = reached / static_cast<double>(axis.stride) + 1;
      if (most < static_cast<double>(reaching)) reaching = static_cast<std::int64_t>(most);
      share = std::min(1.0, (reached + 1) / static_cast<double>(axis.stride));
    }
    windows = std::max<std::int64_t>(1, std::min(windows, reaching));
    in_.add({windows, axis.window_stride, buffer_[i].window_stride});
    in_.add({offsets, axis.offset_stride, buffer_[i].offset_stride});
    chunks_ *= share * static_cast<double>(ceil_divide(reaching, windows)) *
               static_cast<double>(ceil_divide(axis.offsets, offsets));
    calls_ *= static_cast<double>(offsets);
  }

  void take_planes(std::size_t i) noexcept {
    const sweep_axis& axis = axis_of(i);
    const std::int64_t windows = std::min(axis.windows, sweep_.chunk_.box[i] + axis.halo);
    const std::int64_t stride = buffer_[i].stride;
    in_.add({windows, axis.window_stride, axis.is_apart ? stride : wrapping_multiply(stride, axis.stride)});
    if (axis.is_apart) {
      in_.add({axis.offsets, axis.offset_stride, buffer_[i].row_stride});
      calls_ *= static_cast<double>(axis.cycle);
      terms_ *= static_cast<double>(axis.offsets) / static_cast<double>(axis.cycle);
      return;
    }
    const std::int64_t planes = axis.offsets / axis.cycle;
    in_.add({axis.cycle, axis.offset_stride, wrapping_multiply(axis.dilation, stride)});
    in_.add({planes, wrapping_multiply(axis.cycle, axis.offset_stride), buffer_[i].row_stride});
    moved_ *= static_cast<double>(axis.offsets) / static_cast<double>(planes * axis.cycle);
    terms_ *= static_cast<double>(axis.planes);
  }

  double moves(const layout& some, buffered_side side) const noexcept {
    staged_move blocks;
    return plan_unbounded(blocks, some, sweep_.element_size_, side);
  }

  /// Estimates the cycles in which the lines of a chunk come into the first-level cache. The costs of moves into a buffer
  /// assume that they are there.
  double lines() const noexcept {
    const double each_first =
        columns_ > cache_sizes::second_level ? sum_costs::far_line : sum_costs::near_line;
    if (columns_ <= cache_sizes::both_sides) return 0;
    std::int64_t run = sweep_.element_size_;
    double bytes = static_cast<double>(run);
    std::int64_t next = std::numeric_limits<std::int64_t>::max();  // bytes from run to run
    for (bool grows = true; grows;) {
      grows = false;
      next = std::numeric_limits<std::int64_t>::max();
      for (std::size_t i = 0; i < in_.rank; ++i) {
        const layout_axis& axis = in_.axes[i];
        const std::int64_t step = magnitude(axis.source_stride);
        if (axis.extent > 1 && step > run) next = std::min(next, step);
        if (axis.extent <= 1 || step != run) continue;
        run = wrapping_multiply(run, axis.extent);
        grows = true;
      }
    }
    for (std::size_t i = 0; i < in_.rank; ++i) bytes *= static_cast<double>(in_.axes[i].extent);
    const auto line = static_cast<double>(cache_sizes::line);
    const double all = bytes / static_cast<double>(run);
    const bool follow = next <= sum_costs::most_followed;
    double of_run = (static_cast<double>(run) + line - 1) / line;
    if (follow) of_run = std::min(of_run, static_cast<double>(next) / line);
    const double first = follow ? 0 : std::min(of_run, 2 - 1 / line);
    return all * (first * each_first + (of_run - first) * each_first * sum_costs::predicted_line);
  }

  /// Returns the cycles of the sums of a chunk.
  double sums() const noexcept {
    tile_list rows;
    auto bytes = static_cast<double>(sweep_.element_size_);
    std::int64_t dense = sweep_.element_size_;
    for (std::size_t k = 0; k < sweep_.places_.size(); ++k) {
      const std::size_t i = sweep_.order_[k];
      std::int64_t count = sweep_.chunk_.box[i];
      std::int64_t step = 1;
      std::int64_t from = buffer_[i].stride;
      if (i >= 2) {
        const sweep_axis& axis = axis_of(i);
        if (axis.is_walked) {
          count = std::min(sweep_.chunk_.windows[i - 2], axis.windows);
          step = axis.stride;
          from = buffer_[i].window_stride;
        } else if (!axis.is_apart) {
          count = std::min(wrapping_multiply(count, axis.stride), axis.extent);
        }
      }
      const std::int64_t to = sweep_.copies_ ? dense : sweep_.output_strides_[i];
      rows.add({count, from, wrapping_multiply(to, step)});
      dense = wrapping_multiply(dense, count);
      bytes *= static_cast<double>(count);
    }
    // elements of a row that is no run are summed one by one
    if (!rows.has_runs(sweep_.element_size_)) {
      const double elements = bytes / static_cast<double>(sweep_.element_size_);
      return calls_ * elements * (sum_costs::swept_element + terms_ * sum_costs::swept_element_term);
    }
    return calls_ *
           (static_cast<double>(rows.tiles()) * sum_costs::swept_tile +
            static_cast<double>(rows.rows()) * sum_costs::swept_row + terms_ * bytes * sum_costs::swept_byte);
  }

  /// Describes the moves of a box of sums into the image.
  layout out() const noexcept {
    layout moves;
    layout_axis phases(1, 0, 0);
    std::int64_t stride = sweep_.element_size_;
    for (std::size_t k = 0; k < sweep_.places_.size(); ++k) {
      const std::size_t i = sweep_.order_[k];
      const std::int64_t count = sweep_.chunk_.box[i];
      const std::int64_t to = sweep_.output_strides_[i];
      if (i >= 2 && axis_of(i).is_apart) {
        moves.add({count, stride, wrapping_multiply(axis_of(i).stride, to)});
        phases = {axis_of(i).stride, 0, to};
        stride = wrapping_multiply(stride, count);
        continue;
      }
      const std::int64_t positions = std::min(sweep_.positions(i, count), sweep_.extent(i));
      moves.add({positions, stride, to});
      stride = wrapping_multiply(stride, positions);
    }
    phases.source_stride = stride;
    moves.add(phases);
    return moves;
  }

  const sum_sweep& sweep_;
  double columns_;
  double fetched_ = 0;
  chunk_buffer buffer_;
  layout in_;  ///< moves of a chunk into the buffer
  double boxes_ = 1;
  double chunks_ = 1;
  double moved_ = 1;  ///< how many times as much moves as in_ has
  double calls_ = 1;  ///< sums of a chunk
  double terms_ = 1;  ///< of a sum
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
