// SPDX-License-Identifier: BSD-3-Clause
//
// A sweep_growth grows chunks of a sum_sweep, by an estimate that takes little time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/sums/sum_sweep.hpp>
#include <reblock/detail/sums/sweep_axis.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Says what grows first: runs of the columns, rows of the image, or none of them.
enum class growth : std::uint8_t { none, writes, reads, both };

class sweep_growth {
 public:
  explicit sweep_growth(const sum_sweep& sweep) noexcept : sweep_(sweep) {}

  /// Grows a chunk from the smallest one. Returns whether there is room at all.
  bool choose(sweep_chunk& chosen, growth first) const noexcept {
    chosen = smallest_chunk();
    if (!sweep_.fits(chosen, sweep_.buffer_bytes(chosen))) return false;
    if (first == growth::reads || first == growth::both) grow_reads(chosen);
    if (first == growth::writes || first == growth::both) grow_writes(chosen);
    grow_cheapest(chosen);
    take_even_parts(chosen);
    return true;
  }

  /// Estimates the cost of a term, without a unit. Terms outside of a box are brought in vain.
  double cost_of(const sweep_chunk& chunk) const noexcept {
    if (!sweep_.fits(chunk, sweep_.buffer_bytes(chunk))) return never;
    auto moved = static_cast<double>(sweep_.element_size_);  // bytes
    double terms = 1;
    double sums = 1;
    double chunks = 1;  // of a box
    for (std::size_t i = 0; i < chunk.box.size(); ++i) {
      const auto count = static_cast<double>(chunk.box[i]);
      if (i < 2) {
        moved *= count;
        terms *= count;
      } else if (const sweep_axis& axis = sweep_.axes_[i - 2]; axis.is_walked) {
        const auto offsets = static_cast<double>(chunk.offsets[i - 2]);
        auto windows = static_cast<double>(chunk.windows[i - 2]);
        double useful = 1;
        if (sweep_.copies_ && count < static_cast<double>(axis.extent)) {
          const double reached = count + (offsets - 1) * static_cast<double>(axis.dilation);
          const double reaching = (reached - 1) / static_cast<double>(axis.stride) + 1;
          chunks *= std::max(1.0, reaching / windows);
          windows = std::min(windows, reaching);
          useful = count / reached;
        } else {
          chunks *= static_cast<double>(std::max<std::int64_t>(axis.windows, 1)) / windows;
        }
        chunks *= static_cast<double>(axis.offsets) / offsets;
        moved *= windows * offsets;
        terms *= windows * offsets * useful;
        sums *= offsets;
      } else {
        const double all =
            static_cast<double>(std::max<std::int64_t>(axis.windows, 1)) * static_cast<double>(axis.offsets);
        const auto places = static_cast<double>(sweep_.places_[i]);
        const auto halo = static_cast<double>(axis.halo);
        moved *= all * (count + halo) / (places + halo);
        terms *= all * count / places;
        if (axis.is_apart) sums *= static_cast<double>(axis.cycle);
      }
    }
    return (moved * (moves_of_element(chunk) + short_runs(chunk)) + copied(chunk) / chunks +
            sum_costs::chunk + sum_costs::call * sums) /
           terms;
  }

 private:
  /// Estimates what short runs, in the columns and in the sums, add to the cost of a byte.
  double short_runs(const sweep_chunk& chunk) const noexcept {
    std::int64_t written = sweep_.element_size_;
    for (std::size_t k = 0; k < chunk.box.size(); ++k) {
      const std::size_t i = sweep_.order_[k];
      if (sweep_.extent(i) == 1) continue;
      if ((!sweep_.copies_ && sweep_.output_strides_[i] != written) || sweep_.is_walked(i)) break;
      written *= i < 2 || sweep_.axes_[i - 2].is_apart
                     ? chunk.box[i]
                     : std::min(sweep_.positions(i, chunk.box[i]), sweep_.extent(i));
      if (i >= 2 || chunk.box[i] < sweep_.places_[i]) break;  // planes have elements beside the image's
    }
    std::int64_t read = sweep_.element_size_;
    for (bool grows = true; grows;) {
      grows = false;
      const auto take = [&](std::int64_t stride, std::int64_t extent) {
        if (grows || extent <= 1 || stride != read) return;
        read *= extent;
        grows = true;
      };
      for (std::size_t i = 0; i < chunk.box.size(); ++i) {
        if (i < 2) {
          take(sweep_.column_strides_[i], chunk.box[i]);
          continue;
        }
        const sweep_axis& axis = sweep_.axes_[i - 2];
        take(axis.window_stride,
             axis.is_walked ? chunk.windows[i - 2] : std::min(chunk.box[i] + axis.halo, axis.windows));
        take(axis.offset_stride, axis.is_walked ? chunk.offsets[i - 2] : axis.offsets);
      }
    }
    return sum_costs::read_run / static_cast<double>(read) +
           sum_costs::written_run / static_cast<double>(written);
  }

  /// Estimates the moves of the sums of a box into the image, in bytes that are brought into a buffer.
  double copied(const sweep_chunk& chunk) const noexcept {
    if (!sweep_.copies_) return 0;
    auto bytes = static_cast<double>(sweep_.element_size_);
    auto run = bytes;
    bool grows = true;
    for (std::size_t k = 0; k < sweep_.places_.size(); ++k) {
      const std::size_t i = sweep_.image_order_[k];
      const auto count = static_cast<double>(std::min(sweep_.positions(i, chunk.box[i]), sweep_.extent(i)));
      bytes *= count;
      if (!grows || sweep_.extent(i) == 1) continue;
      grows = static_cast<double>(sweep_.output_strides_[i]) == run;
      if (grows) run *= count;
      grows = grows && count == static_cast<double>(sweep_.extent(i));
    }
    return bytes * (1 + sum_costs::read_run / run);
  }

  /// Estimates how many times as long as a run's element an element takes to come into the buffer. Columns may have to be
  /// transposed, and registers have places for more elements than a short row has. Elements may have to come one by one.
  double moves_of_element(const sweep_chunk& chunk) const noexcept {
    std::size_t k = 0;
    while (k + 1 < sweep_.places_.size() &&
           (sweep_.is_walked(sweep_.order_[k]) || sweep_.extent(sweep_.order_[k]) == 1))
      ++k;
    const std::size_t i = sweep_.order_[k];
    if (sweep_.is_walked(i)) return 1;
    std::int64_t halo = 0;
    std::int64_t interleaved = 0;  // elements of rows side by side
    if (i < 2) {
      if (sweep_.column_strides_[i] == sweep_.element_size_) return 1;
    } else {
      const sweep_axis& axis = sweep_.axes_[i - 2];
      const bool are_side_by_side = !axis.is_apart && axis.stride > 1;
      if (are_side_by_side && axis.dilation > 1 && axis.cycle > 1)
        return std::max(1.0, sum_costs::single_element / static_cast<double>(sweep_.element_size_));
      if (are_side_by_side && axis.offset_stride == sweep_.element_size_) return 1;
      if (are_side_by_side) interleaved = axis.cycle;
      if (interleaved == 0 && axis.window_stride == sweep_.element_size_) return 1;
      halo = axis.halo;
    }
    const std::int64_t step = std::max<std::int64_t>(1, lane_bytes / sweep_.element_size_);
    const auto moved = [&](std::int64_t count) {
      if (count == 0) return 0.0;
      const std::int64_t row = interleaved > 0 ? interleaved : count + halo;
      const double elements = static_cast<double>(ceil_divide(row, step) * step) / static_cast<double>(row) *
                              static_cast<double>(count + halo);
      return row < step ? sum_costs::short_row * elements : elements;
    };
    const std::int64_t whole = sweep_.places_[i] / chunk.box[i];
    const std::int64_t rest = sweep_.places_[i] % chunk.box[i];
    const auto all = static_cast<double>(whole);
    const std::int64_t elements = whole * (chunk.box[i] + halo) + (rest == 0 ? 0 : rest + halo);
    return (all * moved(chunk.box[i]) + moved(rest)) / static_cast<double>(elements);
  }

  sweep_chunk smallest_chunk() const noexcept {
    sweep_chunk chunk{axis_values::repeat(sweep_.places_.size(), 1),
                      axis_values::repeat(sweep_.spatial_axes(), 1),
                      axis_values::repeat(sweep_.spatial_axes(), 1)};
    for (std::size_t d = 0; d < sweep_.spatial_axes() && !sweep_.copies_; ++d) {
      if (sweep_.axes_[d].is_walked) chunk.box[2 + d] = sweep_.places_[2 + d];
    }
    return chunk;
  }

  /// Tells whether a chunk may have more windows of a walked axis than those whose offsets go to different positions. Windows
  /// that overlap must have all their terms of later axes in the same chunk.
  bool may_grow(const sweep_chunk& chunk, std::size_t d) const noexcept {
    if (sweep_.in_any_order_ || !sweep_.axes_[d].overlaps() ||
        2 * chunk.windows[d] <= sweep_.axes_[d].advance)
      return true;
    for (std::size_t later = d + 1; later < sweep_.spatial_axes(); ++later) {
      const sweep_axis& axis = sweep_.axes_[later];
      if (axis.is_walked && axis.overlaps() &&
          (chunk.windows[later] < axis.windows || chunk.offsets[later] < axis.offsets)) {
        return false;
      }
    }
    return true;
  }

  /// Returns a count of the chunk that may grow, or null: of n, c, or a spatial axis, then of windows, then of offsets.
  /// `most` is what it may grow to.
  std::int64_t* growing(sweep_chunk& chunk, std::size_t which, std::int64_t& most) const noexcept {
    const std::size_t rank = sweep_.places_.size();
    std::int64_t* count = nullptr;
    if (which < rank) {
      count = &chunk.box[which];
      most = sweep_.places_[which];
    } else {
      const std::size_t d = (which - rank) % sweep_.spatial_axes();
      if (!sweep_.axes_[d].is_walked) return nullptr;
      const bool are_windows = which - rank < sweep_.spatial_axes();
      if (are_windows && !may_grow(chunk, d)) return nullptr;
      count = are_windows ? &chunk.windows[d] : &chunk.offsets[d];
      most = are_windows ? sweep_.axes_[d].windows : sweep_.axes_[d].offsets;
    }
    return *count < most ? count : nullptr;
  }

  /// Doubles a count up to `limit`, until a run that grows with it has enough bytes. Returns whether there was room.
  bool grow(sweep_chunk& chunk, std::int64_t& count, std::int64_t limit, double& run) const noexcept {
    while (count < limit && run < double{sum_costs::first_run}) {
      const std::int64_t before = std::exchange(count, std::min(2 * count, limit));
      if (!sweep_.fits(chunk, sweep_.buffer_bytes(chunk))) {
        count = before;
        return false;
      }
      run *= static_cast<double>(count) / static_cast<double>(before);
    }
    return true;
  }

  /// Grows rows of the image.
  void grow_writes(sweep_chunk& chunk) const noexcept {
    auto run = static_cast<double>(sweep_.element_size_);
    for (std::size_t k = 0; k < sweep_.places_.size(); ++k) {
      const std::size_t i = sweep_.order_[k];
      if (sweep_.is_walked(i)) continue;
      if (i >= 2 && !sweep_.axes_[i - 2].is_apart) run *= static_cast<double>(sweep_.axes_[i - 2].stride);
      if (!grow(chunk, chunk.box[i], sweep_.places_[i], run)) return;
    }
  }

  /// Grows runs of the columns along n, c, and windows that are not walked.
  void grow_reads(sweep_chunk& chunk) const noexcept {
    auto run = static_cast<double>(sweep_.element_size_);
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t i = 0; i < sweep_.places_.size() && !grows; ++i) {
        const auto stride =
            static_cast<double>(i < 2 ? sweep_.column_strides_[i] : sweep_.axes_[i - 2].window_stride);
        if (!sweep_.is_walked(i) && stride == run && sweep_.places_[i] > 1) {
          grows = grow(chunk, chunk.box[i], sweep_.places_[i], run) && run < double{sum_costs::first_run};
          continue;
        }
        if (i < 2) continue;
        const sweep_axis& axis = sweep_.axes_[i - 2];
        if (static_cast<double>(axis.offset_stride) != run || axis.offsets == 1) continue;
        if (axis.is_walked && !grow(chunk, chunk.offsets[i - 2], axis.offsets, run)) return;
        if (!axis.is_walked) run *= static_cast<double>(axis.offsets);
        grows = run < double{sum_costs::first_run};
      }
    }
  }

  /// Doubles one count at a time while there is room: the count that makes the cost least.
  void grow_cheapest(sweep_chunk& chosen) const noexcept {
    const std::size_t counts = sweep_.places_.size() + 2 * sweep_.spatial_axes();
    std::int64_t most = 0;
    double cost = cost_of(chosen);
    for (;;) {
      std::int64_t* next = nullptr;
      std::int64_t next_count = 0;
      for (std::size_t which = 0; which < counts; ++which) {
        std::int64_t* const count = growing(chosen, which, most);
        if (count == nullptr) continue;
        const std::int64_t before = std::exchange(*count, std::min(2 * *count, most));
        const double grown = cost_of(chosen);
        const std::int64_t after = std::exchange(*count, before);
        if (next == nullptr ? grown > cost : grown >= cost) continue;
        cost = grown;
        next = count;
        next_count = after;
      }
      if (next == nullptr) return;
      *next = next_count;
    }
  }

  /// Makes parts of a box about equal, unless registers would move more then.
  void take_even_parts(sweep_chunk& chunk) const noexcept {
    for (std::size_t i = 0; i < chunk.box.size(); ++i) {
      const std::int64_t chosen = chunk.box[i];
      const double moved = moves_of_element(chunk);
      chunk.box[i] = even_part(sweep_.places_[i], chosen);
      if (moves_of_element(chunk) > moved) chunk.box[i] = chosen;
    }
    for (std::size_t d = 0; d < sweep_.spatial_axes(); ++d) {
      if (!sweep_.axes_[d].is_walked) continue;
      chunk.windows[d] = even_part(std::max<std::int64_t>(sweep_.axes_[d].windows, 1), chunk.windows[d]);
      chunk.offsets[d] = even_part(sweep_.axes_[d].offsets, chunk.offsets[d]);
    }
  }

  const sum_sweep& sweep_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
