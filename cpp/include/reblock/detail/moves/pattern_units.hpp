// SPDX-License-Identifier: BSD-3-Clause
//
// pattern_units lists the bytes of a pattern as offsets in its source.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/padded_axis.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// source_bytes is a range of source bytes, begin <= offset < end. A pattern may read all of them.
struct source_bytes {
  std::int32_t begin;
  std::int32_t end;

  friend constexpr bool operator==(const source_bytes&, const source_bytes&) = default;
};

/// Tells whether no unit inside is further than `far` bytes from index 0. It need not lie inside.
constexpr bool is_near(const axis_bound& bound, std::int64_t far) noexcept {
  const std::int64_t most = bound.source_stride > 0 ? far / bound.source_stride : far;
  return bound.source_stride >= 0 && bound.extent > 0 && bound.extent <= most && -most <= bound.offset &&
         bound.offset <= most;
}

/// A unit is a number of bytes that are contiguous on both sides and divide a register evenly. The list has the units'
/// offsets in the source, in the order of the destination.
struct pattern_units {
  static constexpr std::size_t limit = 2048;
  /// This value in place of an offset means that the unit lies outside and becomes 0.
  [[gnu::visibility("hidden")]] static constexpr std::int32_t outside =
      std::numeric_limits<std::int32_t>::min();

  std::size_t size = 1;  ///< bytes
  std::size_t count = 0;
  std::array<std::int32_t, limit> offsets;

  bool go_back = false;  ///< whether the source is read backwards along an axis

  static constexpr std::size_t most_runs = 64;
  std::size_t run_count = 0;
  /// A pattern may read these runs. Each unit lies in one of them. They are in ascending order, with gaps between them.
  std::array<source_bytes, most_runs> runs;

  /// Lists the units of the axes from `first` on. `inside` has the indices of each axis that are inside. If both axes of a
  /// bound belong to the pattern, the bound decides. All axes must belong to it if the bound has a mode that finds elements
  /// outside. Returns whether the units and runs fit, and are near.
  bool list(const layout& moves, std::size_t first, std::span<const index_range> inside,
            std::int64_t element_size) noexcept {
    constexpr std::int64_t far = std::int64_t{1} << 26;
    constexpr std::int64_t largest = 16;
    size = static_cast<std::size_t>(std::min(element_size & -element_size, largest));
    count = static_cast<std::size_t>(element_size) / size;
    if (count > limit) return false;
    for (std::size_t i = 0; i < count; ++i) offsets[i] = static_cast<std::int32_t>(i * size);
    go_back = false;
    std::array<std::size_t, max_axes> index_units;
    for (std::size_t i = moves.rank; i-- > first;) {
      index_units[i] = count;
      const auto extent = static_cast<std::size_t>(moves.axes[i].extent);
      const bool repeats = moves.repeats_inside(i);
      if (repeats && !is_near(moves.bounds[moves.axes[i].bound], far)) return false;
      const std::int64_t stride = repeats ? 0 : moves.axes[i].source_stride;
      if (extent > limit / count || magnitude(stride) > far / moves.axes[i].extent) return false;
      go_back = go_back || stride < 0;
      bool bound_decides = repeats;
      for (std::size_t j = first; j < moves.rank; ++j) {
        bound_decides = bound_decides || (j != i && share_bound(moves.axes[i], moves.axes[j]));
      }
      const auto [begin, end] = bound_decides ? index_range{0, moves.axes[i].extent} : inside[i];
      for (std::size_t index = extent; index-- > 0;) {
        const auto at = static_cast<std::int64_t>(index);
        const bool is_inside = begin <= at && at < end;
        const auto shift = static_cast<std::int32_t>(at * stride);
        for (std::size_t k = 0; k < count; ++k) {
          offsets[index * count + k] = is_inside && offsets[k] != outside ? offsets[k] + shift : outside;
        }
      }
      count *= extent;
    }
    std::array<bool, max_bounds> has_two{};
    for (std::size_t i = first; i < moves.rank; ++i) {
      const layout_axis& axis = moves.axes[i];
      for (std::size_t j = i + 1; j < moves.rank; ++j) {
        if (!share_bound(axis, moves.axes[j])) continue;
        has_two[axis.bound] = true;
        const axis_bound& bound = moves.bounds[axis.bound];
        if (moves.repeats_inside(i)) {
          repeat_inside(bound, axis, index_units[i], moves.axes[j], index_units[j]);
        } else {
          leave_out(bound, axis, index_units[i], moves.axes[j], index_units[j]);
        }
      }
      if (moves.repeats_inside(i) && !has_two[axis.bound])
        repeat_inside(moves.bounds[axis.bound], {1, 0, 0}, count, axis, index_units[i]);
    }
    return find_runs(moves, first, index_units);
  }

 private:
  /// Leaves out the units that are outside for two axes that share a bound.
  void leave_out(const axis_bound& bound, const layout_axis& outer, std::size_t outer_units,
                 const layout_axis& inner, std::size_t inner_units) noexcept {
    const std::size_t inner_all = inner_units * static_cast<std::size_t>(inner.extent);
    for (std::int64_t index = 0; index < outer.extent; ++index) {
      const index_range range = range_inside(bound, index * outer.bound_step, inner);
      const std::size_t begin = static_cast<std::size_t>(range.begin) * inner_units;
      const std::size_t end = static_cast<std::size_t>(range.end) * inner_units;
      const std::size_t whole = outer_units * static_cast<std::size_t>(outer.extent);
      for (std::size_t i = static_cast<std::size_t>(index) * outer_units; i < count; i += whole) {
        for (std::size_t j = i; j < i + outer_units; j += inner_all) {
          std::fill_n(offsets.data() + j, begin, outside);
          std::fill_n(offsets.data() + j + end, inner_all - end, outside);
        }
      }
    }
  }

  /// Replaces the units of two axes that share a bound by those inside that they repeat.
  void repeat_inside(const axis_bound& bound, const layout_axis& outer, std::size_t outer_units,
                     const layout_axis& inner, std::size_t inner_units) noexcept {
    const padded_axis image{bound.mode, bound.extent};
    const std::size_t inner_all = inner_units * static_cast<std::size_t>(inner.extent);
    const std::size_t whole = outer_units * static_cast<std::size_t>(outer.extent);
    for (std::size_t at = 0; at < whole; at += outer_units) {
      for (std::size_t in = 0; in < inner_all; in += inner_units) {
        const auto moved = static_cast<std::int64_t>(at / outer_units) * outer.bound_step +
                           static_cast<std::int64_t>(in / inner_units) * inner.bound_step;
        const std::int64_t position = image.piece_at(bound.offset + moved, 1, 1).first;
        const auto shift = static_cast<std::int32_t>((position - bound.offset) * bound.source_stride);
        for (std::size_t i = at; i < count; i += whole) {
          for (std::size_t j = i + in; j < i + outer_units; j += inner_all) {
            for (std::size_t k = j; k < j + inner_units; ++k) {
              if (offsets[k] != outside) offsets[k] += shift;
            }
          }
        }
      }
    }
  }

  /// Finds the runs. Units share a run if only axes within the source_run lead from one to the other. Returns whether there
  /// is room for all runs.
  bool find_runs(const layout& moves, std::size_t first,
                 const std::array<std::size_t, max_axes>& index_units) noexcept {
    constexpr source_bytes none{std::numeric_limits<std::int32_t>::max(), outside};
    std::size_t all = 1;
    for (std::size_t i = first; i < moves.rank; ++i) {
      if (!moves.in_source_run(moves.axes[i])) all *= static_cast<std::size_t>(moves.axes[i].extent);
      if (all > most_runs) return false;
    }
    std::fill_n(runs.begin(), all, none);
    const auto unit = static_cast<std::int32_t>(size);
    for (std::size_t k = 0; k < count; ++k) {
      if (offsets[k] == outside) continue;
      std::size_t which = 0;
      for (std::size_t i = first; all > 1 && i < moves.rank; ++i) {
        if (moves.in_source_run(moves.axes[i])) continue;
        const auto extent = static_cast<std::size_t>(moves.axes[i].extent);
        which = which * extent + k / index_units[i] % extent;
      }
      runs[which] = {std::min(runs[which].begin, offsets[k]), std::max(runs[which].end, offsets[k] + unit)};
    }
    const auto found = std::span(runs).first(all);
    sort_few(found, [](const source_bytes& a, const source_bytes& b) { return a.begin < b.begin; });
    run_count = 0;
    for (const source_bytes run : found) {
      if (run.end == none.end) break;  // the others are empty as well
      if (run_count > 0 && run.begin <= runs[run_count - 1].end) {
        runs[run_count - 1].end = std::max(runs[run_count - 1].end, run.end);
      } else {
        runs[run_count++] = run;
      }
    }
    return true;
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
