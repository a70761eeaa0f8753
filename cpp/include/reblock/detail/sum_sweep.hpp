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

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/blocks.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/summation.hpp>
#include <reblock/detail/sweep_axis.hpp>

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
  void share_among(std::int64_t wanted) noexcept;

 private:
  friend class sweep_runner;

  std::int64_t boxes_along(std::size_t i) const noexcept { return (places_[i] - 1) / chunk_.box[i] + 1; }
  bool is_walked(std::size_t i) const noexcept { return i >= 2 && axes_[i - 2].is_walked; }
  /// Counts the indices of the image that `count` indices or places of a box are at most.
  std::int64_t positions(std::size_t i, std::int64_t count) const noexcept {
    return i < 2 || is_walked(i) ? count : count * axes_[i - 2].stride;
  }
  std::int64_t extent(std::size_t i) const noexcept { return i < 2 ? places_[i] : axes_[i - 2].extent; }
  bool keeps_order(const sum_request& sums) const noexcept;
  void walk_axes(std::size_t mask) noexcept;
  sweep_chunk smallest_chunk() const noexcept;
  bool may_grow(const sweep_chunk& chunk, std::size_t d) const noexcept;
  std::int64_t* growing(sweep_chunk& chunk, std::size_t which, std::int64_t& most) const noexcept;
  bool should_be_apart(const sweep_axis& axis) const noexcept;
  bool has_short_rows() const noexcept;
  double buffer_bytes(const sweep_chunk& chunk) const noexcept;
  bool fits(const sweep_chunk& chunk, double bytes) const noexcept;
  double short_runs(const sweep_chunk& chunk) const noexcept;
  double moves_of_element(const sweep_chunk& chunk) const noexcept;
  double cost_of(const sweep_chunk& chunk) const noexcept;
  void take_even_parts(sweep_chunk& chunk) const noexcept;
  double choose_chunk(sweep_chunk& best) const noexcept;

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
      order_;                      ///< of the axes in rows, mostly that of the image, the innermost first
  std::int64_t element_size_ = 0;  ///< bytes
  const sum_functions* sum_ = nullptr;
  double cost_ = std::numeric_limits<double>::infinity();
};
static_assert(std::is_trivially_copyable_v<sum_sweep>);

inline sum_sweep::sum_sweep(const sum_request& sums, const sum_functions& sum) noexcept
    : output_offset_(sums.output_offset),
      output_strides_(sums.output_strides),
      places_(sums.extents),
      element_size_(sums.sum.element_size),
      sum_(&sum) {
  const layout& moves = sums.moves;
  const std::size_t spatial = spatial_axes();
  column_offset_ = moves.source_offset;
  for (std::size_t i = 0; i < 2; ++i) column_strides_[i] = moves.axes[i].source_stride;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::size_t k = places_.size() - 1 - i;
    std::size_t to = i;
    for (; to > 0 && magnitude(output_strides_[order_[to - 1]]) > magnitude(output_strides_[k]); --to) {
      order_[to] = order_[to - 1];
    }
    order_[to] = static_cast<std::uint8_t>(k);
  }
  std::size_t inner = spatial - 1;  // the innermost spatial axis of the image
  for (std::size_t k = places_.size(); k-- > 0;) {
    if (order_[k] >= 2 && sums.extents[order_[k]] > 1) inner = order_[k] - std::size_t{2};
  }
  for (std::size_t d = 0; d < spatial; ++d) {
    axes_[d] = sweep_axis::of(moves.axes[2 + d], moves.axes[2 + spatial + d], -moves.bounds[d].offset,
                              sums.extents[2 + d]);
  }
  // channels make longer rows than a short axis, if windows have channels side by side
  const layout_axis& windows = moves.axes[2 + spatial + inner];
  if (extent(2 + inner) * element_size_ < sum_costs::least_row && extent(2 + inner) < places_[1] &&
      magnitude(column_strides_[1]) < magnitude(windows.source_stride)) {
    for (std::size_t k = places_.size(); --k > 0;) {
      if (order_[k] == 1) std::swap(order_[k], order_[k - 1]);
    }
  }
  begins_from_image_ = sums.accumulates;
  in_any_order_ = summand::boolean <= sums.sum.part && sums.sum.part <= summand::integer64;
  // walks all axes but the image's innermost one, all but the last one, or none
  const std::size_t all = (std::size_t{1} << spatial) - 1;
  const std::size_t masks[] = {all & ~(std::size_t{1} << inner), all >> 1, 0};
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = 0;
  sweep_chunk chunk;
  for (std::size_t k = 0; k < 3; ++k) {
    if (k > 0 && masks[k] == masks[k - 1]) continue;
    walk_axes(masks[k]);
    if (!keeps_order(sums)) continue;
    if (sums.accumulates && copies_) continue;
    const double cost = choose_chunk(chunk);
    if (cost >= least) continue;
    least = cost;
    best = masks[k];
    chunk_ = chunk;
  }
  walk_axes(best);
  cost_ = least * sum_costs::byte * static_cast<double>(total_bytes(moves, 1));
  bool has_gaps = false;
  for (std::size_t d = 0; d < spatial; ++d) {
    has_gaps = has_gaps || (axes_[d].is_apart && axes_[d].cycle < axes_[d].stride);
    if (!axes_[d].is_walked) continue;
    accumulates_ = accumulates_ || axes_[d].overlaps();
    has_gaps = has_gaps || !axes_[d].covers_all();
  }
  clears_ = !begins_from_image_ && (accumulates_ || has_gaps);
  accumulates_ = accumulates_ || begins_from_image_;
}

/// Makes the axes of a mask walked axes.
inline void sum_sweep::walk_axes(std::size_t mask) noexcept {
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    axes_[d].is_walked = (mask >> d & 1) != 0;
    places_[2 + d] = axes_[d].is_walked ? axes_[d].extent : axes_[d].places();
  }
  // the innermost axis of the rows must be contiguous in the image
  std::size_t inner = 0;
  while (inner + 1 < places_.size() && extent(order_[inner]) == 1) ++inner;
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    axes_[d].is_apart = order_[inner] == 2 + d && !axes_[d].is_walked && should_be_apart(axes_[d]);
  }
  copies_ = is_walked(order_[inner]) || output_strides_[order_[inner]] != element_size_ ||
            (order_[inner] >= 2 && axes_[order_[inner] - 2].is_apart) ||
            (!begins_from_image_ && has_short_rows());
}

/// Tells whether the image has rows that are short, and longer in a buffer.
inline bool sum_sweep::has_short_rows() const noexcept {
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

/// Tells whether the phases of the image's innermost axis should have rows of their own: it takes long to bring short runs
/// side by side.
inline bool sum_sweep::should_be_apart(const sweep_axis& axis) const noexcept {
  const bool are_interleaved = axis.window_stride == element_size_ && axis.dilation == 1;
  if (axis.stride == 1 || (are_interleaved && !axis.overlaps())) return false;
  const bool are_runs = axis.offset_stride == element_size_ && axis.dilation == 1;
  return (are_runs ? axis.cycle : 1) * element_size_ < sum_costs::least_joined_run &&
         axis.places() * element_size_ >= sum_costs::least_phase;
}

/// Tells whether positions get their terms in the order of the offsets. Overlapping windows of an axis that is walked come
/// before those of planes. Sums that are rounded, of halves, must be made at once.
inline bool sum_sweep::keeps_order(const sum_request& sums) const noexcept {
  const bool rounds = sums.sum.part == summand::half_float || sums.sum.part == summand::brain_float;
  bool has_planes = false;
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    if (!axes_[d].overlaps()) continue;
    if (axes_[d].is_walked && (rounds || (has_planes && !in_any_order_))) return false;
    has_planes = has_planes || !axes_[d].is_walked;
  }
  return true;
}

/// Computes the bytes of a chunk in the buffer.
inline double sum_sweep::buffer_bytes(const sweep_chunk& chunk) const noexcept {
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

/// Tells whether the buffers have room for a chunk of so many bytes.
inline bool sum_sweep::fits(const sweep_chunk& chunk, double bytes) const noexcept {
  if (bytes > double{chunk_bytes}) return false;
  if (!copies_) return true;
  auto summed = static_cast<double>(element_size_);
  for (std::size_t i = 0; i < chunk.box.size(); ++i) {
    summed *= static_cast<double>(positions(i, chunk.box[i]));
  }
  return summed <= double{sums_bytes};
}

/// Estimates what short runs, in the columns and in the sums, add to the cost of a byte.
inline double sum_sweep::short_runs(const sweep_chunk& chunk) const noexcept {
  std::int64_t written = element_size_;
  for (std::size_t k = 0; k < chunk.box.size(); ++k) {
    const std::size_t i = order_[k];
    if (extent(i) == 1) continue;
    if ((!copies_ && output_strides_[i] != written) || is_walked(i)) break;
    written *=
        i < 2 || axes_[i - 2].is_apart ? chunk.box[i] : std::min(positions(i, chunk.box[i]), extent(i));
    if (i >= 2 || chunk.box[i] < places_[i]) break;  // planes have elements beside the image's
  }
  std::int64_t read = element_size_;
  for (bool grows = true; grows;) {
    grows = false;
    const auto take = [&](std::int64_t stride, std::int64_t extent) {
      if (grows || extent <= 1 || stride != read) return;
      read *= extent;
      grows = true;
    };
    for (std::size_t i = 0; i < chunk.box.size(); ++i) {
      if (i < 2) {
        take(column_strides_[i], chunk.box[i]);
        continue;
      }
      const sweep_axis& axis = axes_[i - 2];
      take(axis.window_stride,
           axis.is_walked ? chunk.windows[i - 2] : std::min(chunk.box[i] + axis.halo, axis.windows));
      take(axis.offset_stride, axis.is_walked ? chunk.offsets[i - 2] : axis.offsets);
    }
  }
  return sum_costs::read_run / static_cast<double>(read) +
         sum_costs::written_run / static_cast<double>(written);
}

/// Estimates how many times as long as a run's element an element takes to come into the buffer. Columns may have to be
/// transposed, and registers have places for more elements than a short row has. Elements may have to come one by one.
inline double sum_sweep::moves_of_element(const sweep_chunk& chunk) const noexcept {
  std::size_t k = 0;
  while (k + 1 < places_.size() && (is_walked(order_[k]) || extent(order_[k]) == 1)) ++k;
  const std::size_t i = order_[k];
  if (is_walked(i)) return 1;
  std::int64_t halo = 0;
  std::int64_t interleaved = 0;  // elements of rows side by side
  if (i < 2) {
    if (column_strides_[i] == element_size_) return 1;
  } else {
    const sweep_axis& axis = axes_[i - 2];
    const bool are_side_by_side = !axis.is_apart && axis.stride > 1;
    if (are_side_by_side && axis.dilation > 1 && axis.cycle > 1)
      return std::max(1.0, sum_costs::single_element / static_cast<double>(element_size_));
    if (are_side_by_side && axis.offset_stride == element_size_) return 1;
    if (are_side_by_side) interleaved = axis.cycle;
    if (interleaved == 0 && axis.window_stride == element_size_) return 1;
    halo = axis.halo;
  }
  const std::int64_t step = std::max<std::int64_t>(1, lane_bytes / element_size_);
  const auto moved = [&](std::int64_t count) {
    if (count == 0) return 0.0;
    const std::int64_t row = interleaved > 0 ? interleaved : count + halo;
    const double elements = static_cast<double>(ceil_divide(row, step) * step) / static_cast<double>(row) *
                            static_cast<double>(count + halo);
    return row < step ? sum_costs::short_row * elements : elements;
  };
  const std::int64_t whole = places_[i] / chunk.box[i];
  const std::int64_t rest = places_[i] % chunk.box[i];
  const auto all = static_cast<double>(whole);
  const std::int64_t elements = whole * (chunk.box[i] + halo) + (rest == 0 ? 0 : rest + halo);
  return (all * moved(chunk.box[i]) + moved(rest)) / static_cast<double>(elements);
}

/// Estimates the cost of a term, without a unit. Terms outside of a box are brought in vain.
inline double sum_sweep::cost_of(const sweep_chunk& chunk) const noexcept {
  if (!fits(chunk, buffer_bytes(chunk))) return std::numeric_limits<double>::infinity();
  auto moved = static_cast<double>(element_size_);  // bytes
  double terms = 1;
  double sums = 1;
  for (std::size_t i = 0; i < chunk.box.size(); ++i) {
    const auto count = static_cast<double>(chunk.box[i]);
    if (i < 2) {
      moved *= count;
      terms *= count;
    } else if (const sweep_axis& axis = axes_[i - 2]; axis.is_walked) {
      const auto offsets = static_cast<double>(chunk.offsets[i - 2]);
      auto windows = static_cast<double>(chunk.windows[i - 2]);
      double useful = 1;
      if (copies_ && count < static_cast<double>(axis.extent)) {
        const double reached = count + (offsets - 1) * static_cast<double>(axis.dilation);
        windows = std::min(windows, (reached - 1) / static_cast<double>(axis.stride) + 1);
        useful = count / reached;
      }
      moved *= windows * offsets;
      terms *= windows * offsets * useful;
      sums *= offsets;
    } else {
      const double all =
          static_cast<double>(std::max<std::int64_t>(axis.windows, 1)) * static_cast<double>(axis.offsets);
      const auto places = static_cast<double>(places_[i]);
      const auto halo = static_cast<double>(axis.halo);
      moved *= all * (count + halo) / (places + halo);
      terms *= all * count / places;
      if (axis.is_apart) sums *= static_cast<double>(axis.cycle);
    }
  }
  return (moved * (moves_of_element(chunk) + short_runs(chunk)) + sum_costs::chunk + sum_costs::call * sums) /
         terms;
}

inline sweep_chunk sum_sweep::smallest_chunk() const noexcept {
  sweep_chunk chunk{axis_values::repeat(places_.size(), 1), axis_values::repeat(spatial_axes(), 1),
                    axis_values::repeat(spatial_axes(), 1)};
  for (std::size_t d = 0; d < spatial_axes() && !copies_; ++d) {
    if (axes_[d].is_walked) chunk.box[2 + d] = places_[2 + d];
  }
  return chunk;
}

/// Tells whether a chunk may have more windows of a walked axis than those whose offsets go to different positions. Windows
/// that overlap must have all their terms of later axes in the same chunk.
inline bool sum_sweep::may_grow(const sweep_chunk& chunk, std::size_t d) const noexcept {
  if (in_any_order_ || !axes_[d].overlaps() || 2 * chunk.windows[d] <= axes_[d].advance) return true;
  for (std::size_t later = d + 1; later < spatial_axes(); ++later) {
    const sweep_axis& axis = axes_[later];
    if (axis.is_walked && axis.overlaps() &&
        (chunk.windows[later] < axis.windows || chunk.offsets[later] < axis.offsets)) {
      return false;
    }
  }
  return true;
}

/// Returns a count of the chunk that may grow, or null: of n, c, or a spatial axis, then of windows, then of offsets. `most` is
/// what it may grow to.
inline std::int64_t* sum_sweep::growing(sweep_chunk& chunk, std::size_t which,
                                        std::int64_t& most) const noexcept {
  const std::size_t rank = places_.size();
  std::int64_t* count = nullptr;
  if (which < rank) {
    count = &chunk.box[which];
    most = places_[which];
  } else {
    const std::size_t d = (which - rank) % spatial_axes();
    if (!axes_[d].is_walked) return nullptr;
    const bool are_windows = which - rank < spatial_axes();
    if (are_windows && !may_grow(chunk, d)) return nullptr;
    count = are_windows ? &chunk.windows[d] : &chunk.offsets[d];
    most = are_windows ? axes_[d].windows : axes_[d].offsets;
  }
  return *count < most ? count : nullptr;
}

/// Doubles one count at a time while there is room: the count that makes the cost least. Returns this cost, or infinity if
/// there is no room at all.
inline double sum_sweep::choose_chunk(sweep_chunk& best) const noexcept {
  const std::size_t rank = places_.size();
  const std::size_t counts = rank + 2 * spatial_axes();
  const sweep_chunk smallest = smallest_chunk();
  double least = std::numeric_limits<double>::infinity();
  if (!fits(smallest, buffer_bytes(smallest))) return least;
  std::int64_t most = 0;
  // first grows the rows of the image, up to `run` bytes
  for (const std::int64_t run : {std::int64_t{1}, sum_costs::first_run}) {
    sweep_chunk chosen = smallest;
    std::int64_t written = element_size_;
    for (std::size_t k = 0; k < rank && written < run; ++k) {
      const std::size_t i = order_[k];
      if (is_walked(i)) continue;
      std::int64_t& count = chosen.box[i];
      while (written * positions(i, count) < run && count < places_[i]) {
        const std::int64_t before = std::exchange(count, std::min(2 * count, places_[i]));
        if (fits(chosen, buffer_bytes(chosen))) continue;
        count = before;
        break;
      }
      written *= positions(i, count);
    }
    if (run > 1 && written == element_size_) break;  // as it was before
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
      if (next == nullptr) break;
      *next = next_count;
    }
    if (cost >= least) continue;
    least = cost;
    best = chosen;
  }
  take_even_parts(best);
  return least;
}

/// Makes parts of a box about equal, unless registers would move more then.
inline void sum_sweep::take_even_parts(sweep_chunk& chunk) const noexcept {
  const auto even = [](std::int64_t all, std::int64_t at_once) {
    const std::int64_t pieces = (all - 1) / at_once + 1;
    return (all - 1) / pieces + 1;
  };
  for (std::size_t i = 0; i < chunk.box.size(); ++i) {
    const std::int64_t chosen = chunk.box[i];
    const double moved = moves_of_element(chunk);
    chunk.box[i] = even(places_[i], chosen);
    if (moves_of_element(chunk) > moved) chunk.box[i] = chosen;
  }
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    if (!axes_[d].is_walked) continue;
    chunk.windows[d] = even(std::max<std::int64_t>(axes_[d].windows, 1), chunk.windows[d]);
    chunk.offsets[d] = even(axes_[d].offsets, chunk.offsets[d]);
  }
}

inline void sum_sweep::share_among(std::int64_t wanted) noexcept {
  const std::int64_t parts = ceil_divide(wanted, boxes());
  for (std::size_t d = 0; d < spatial_axes() && parts > 1; ++d) {
    std::int64_t& positions_of_box = chunk_.box[2 + d];
    if (!axes_[d].is_walked || positions_of_box < 2 * parts) continue;
    positions_of_box = ceil_divide(positions_of_box, parts);
    return;
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
