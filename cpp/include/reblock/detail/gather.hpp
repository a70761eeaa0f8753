// SPDX-License-Identifier: BSD-3-Clause
//
// Overlapping windows: how fold sums. The output is cut into boxes that fit the first-level cache. Each output
// element is written once, by whoever has its box, so the result does not depend on who takes which box.
//
// Where blocks lie `stride` elements apart, the positions of an axis belong to as many phases, the position modulo
// the stride. Where that is so on the last axis, the phases of a box are summed side by side in a buffer, and blocks
// (plan_blocks.hpp) interleave them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/gather_axis.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/piecewise_sum.hpp>
#include <reblock/detail/plan_blocks.hpp>
#include <reblock/detail/summation.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of a box: half of a usual first-level cache, the rest is for the columns.
inline constexpr std::size_t box_bytes = 16 * 1024;
/// Bytes of the columns of a box, where they are brought into another order first.
inline constexpr std::size_t staged_columns_bytes = 28 * 1024;
static_assert(static_cast<std::int64_t>(box_bytes) >= block_buffer_bytes);

/// As many whole inner axes as fit in `box_bytes`, then a part of the next one. `size`: bytes of a place.
constexpr axis_values choose_box(const axis_values& places, std::int64_t size) noexcept {
  axis_values chosen = axis_values::repeat(places.size(), 1);
  std::int64_t room = static_cast<std::int64_t>(box_bytes) / size;
  for (std::size_t i = places.size(); i-- > 0 && room > 1;) {
    chosen[i] = std::clamp<std::int64_t>(places[i], 1, room);
    room /= chosen[i];
  }
  return chosen;
}

/// The sums of a window operator. A trivially copyable value.
class gather {
 public:
  gather(const sum_request& sums, const sum_functions& sum) noexcept;

  std::int64_t boxes() const noexcept {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < box_.size(); ++i) count *= boxes_along(i);
    return count;
  }

  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const noexcept;

 private:
  std::size_t spatial_axes() const noexcept { return columns_.rank; }
  std::int64_t boxes_along(std::size_t i) const noexcept {
    return places_[i] == 0 ? 0 : (places_[i] - 1) / box_[i] + 1;
  }
  box box_of(std::int64_t number) const noexcept;
  box_target buffer_of(const box& some, std::byte* buffer) const noexcept;
  box_target image_of(const box& some, std::byte* image) const noexcept;
  static void sum(const columns_of_windows& from, const box& some, const std::byte* columns,
                  const box_target& to, bool clears) noexcept;
  void fill_by_buffer(const columns_of_windows& from, const box& some, const std::byte* columns,
                      const box_target& places, std::byte* buffer, std::byte* spare) const noexcept;
  void fill_staged(const box& some, const std::byte* columns, const box_target& places) const noexcept;
  void fill_direct(const box& some, const std::byte* columns, const box_target& places) const noexcept;
  std::int64_t whole_places(const box& some, std::size_t d) const noexcept;
  std::int64_t most_blocks(std::size_t d, std::int64_t places) const noexcept;
  layout staged_layout(const box& some, columns_of_windows* staged) const noexcept;
  layout written_layout(const box& some, const box_target& sums, const box_target& places,
                        const axis_values& rest, bool full) const noexcept;
  index_range blocks_of(std::size_t d, std::int64_t first, std::int64_t places) const noexcept;
  double waste_of(const axis_values& places) const noexcept;
  axis_values fit_box(std::int64_t channels, std::int64_t place_bytes) const noexcept;
  axis_values choose_staged_box(std::int64_t place_bytes) const noexcept;
  void write(const box& some, const box_target& sums, const box_target& places,
             std::byte* spare) const noexcept;

  columns_of_windows columns_;
  axis_values output_strides_;  ///< of n, c and the spatial axes, bytes
  axis_values places_;          ///< n, c, places of each spatial axis
  axis_values box_;             ///< as many of these as a box has
  bool staged_ = false;         ///< whether the columns of a box are brought into the order of the sums first
  bool buffered_ = false;       ///< whether a box is put together in a buffer
  bool by_channels_ = false;  ///< whether registers of staged columns have channels, else neighbouring blocks
  bool has_gaps_ = false;     ///< whether there are phases without terms
  staged_move in_;            ///< the columns of a box of full size into a buffer
  staged_move out_;           ///< its sums out of one
};
static_assert(std::is_trivially_copyable_v<gather>);

/// Whether the windows lie side by side and cover all positions, so that each has exactly one term. The
/// arguments are those of a sum_request.
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

inline gather::gather(const sum_request& sums, const sum_functions& sum) noexcept
    : output_strides_(sums.output_strides), places_(sums.extents) {
  const layout& moves = sums.moves;
  const axis_values& extents = sums.extents;
  const std::int64_t element_size = sums.sum.element_size;
  const std::size_t spatial = extents.size() - 2;
  columns_.rank = spatial;
  columns_.offset = moves.source_offset;
  columns_.element_size = element_size;
  columns_.sum = &sum;
  for (std::size_t i = 0; i < 2; ++i) columns_.strides[i] = moves.axes[i].source_stride;
  std::int64_t size = element_size;  // of a place of all phases, or more than a box
  for (std::size_t d = 0; d < spatial; ++d) {
    const layout_axis& offsets = moves.axes[2 + d];
    const layout_axis& blocks = moves.axes[2 + spatial + d];
    gather_axis& axis = columns_.axes[d];
    axis = {offsets.extent,
            blocks.extent,
            blocks.extent > 1 ? blocks.bound_step : 1,
            offsets.extent > 1 ? offsets.bound_step : 1,
            -moves.bounds[d].offset,
            extents[2 + d],
            offsets.source_stride,
            blocks.source_stride,
            sums.output_strides[2 + d]};
    places_[2 + d] = axis.places();
    has_gaps_ = has_gaps_ || axis.summed_phases() < axis.phases;
    constexpr std::int64_t too_large = 2 * box_bytes;
    size = std::min(size * std::min(axis.phases, too_large), too_large);
  }
  if (std::all_of(moves.axes.begin(), moves.axes.begin() + moves.rank,
                  [&](const layout_axis& axis) { return axis.extent == 1 || moves.in_source_run(axis); })) {
    columns_.begin = columns_.offset;
    columns_.end = columns_.offset + element_size;
    for (std::size_t i = 0; i < moves.rank; ++i) {
      const std::int64_t reach = moves.axes[i].source_stride * (moves.axes[i].extent - 1);
      (reach < 0 ? columns_.begin : columns_.end) += reach;
    }
  }
  const gather_axis& last = columns_.axes[spatial - 1];
  // Sums are made of registers along an axis that is contiguous on both sides: the phases of the last one or the channels, if
  // they are, else its places, in buffers if need be.
  const std::int64_t register_size = 16;
  const bool by_phases = last.size_stride == element_size && last.output_stride == element_size &&
                         last.dilation == 1 &&
                         std::min(last.phases, last.size) * element_size >= 4 * register_size;
  const bool by_channels = columns_.strides[1] == element_size && output_strides_[1] == element_size &&
                           extents[1] * element_size >= register_size;
  const bool direct = (by_phases || by_channels) && last.block_stride != element_size;
  by_channels_ = last.block_stride != element_size && last.blocks * element_size < 2 * register_size &&
                 extents[1] > last.blocks;
  const bool fits = size <= static_cast<std::int64_t>(box_bytes);
  const bool is_spread = by_channels_ ? output_strides_[1] != element_size
                                      : last.phases > 1 || last.output_stride != element_size;
  buffered_ = !direct && is_spread && fits;
  const bool is_apart =
      by_channels_ ? columns_.strides[1] != element_size : last.block_stride != element_size;
  staged_ = !direct && is_apart && fits && element_size <= 64 && (extents[1] > 1 || last.blocks > 1);
  if (staged_) {
    box_ = choose_staged_box(buffered_ ? size : element_size);
    staged_ = box_.size() != 0;
  }
  if (!staged_) {
    by_channels_ = by_channels_ && !is_apart;
    buffered_ =
        !direct && fits && (by_channels_ ? is_spread : last.phases > 1 || last.output_stride != element_size);
    box_ = choose_box(places_, buffered_ ? size : element_size);
  }
  const box whole{axis_values::repeat(box_.size(), 0), box_};
  if (staged_) plan_unbounded(in_, staged_layout(whole, nullptr), element_size);
  if (buffered_) {
    const box_target sums_of_box = buffer_of(whole, nullptr);
    const box_target places_of_box = image_of(whole, nullptr);
    plan_unbounded(out_,
                   written_layout(whole, sums_of_box, places_of_box, axis_values::repeat(spatial, 0), true),
                   element_size);
  }
}

/// The blocks that add to some places of an axis, and as many more that there are always as many.
inline index_range gather::blocks_of(std::size_t d, std::int64_t first, std::int64_t places) const noexcept {
  const gather_axis& axis = columns_.axes[d];
  const std::int64_t low = first * axis.phases + axis.padding - (axis.size - 1) * axis.dilation;
  const std::int64_t most = most_blocks(d, places);
  const std::int64_t begin = std::clamp<std::int64_t>(ceil_divide(low, axis.phases), 0, axis.blocks - most);
  return {begin, begin + most};
}

/// How many blocks add to so many places of an axis at most.
inline std::int64_t gather::most_blocks(std::size_t d, std::int64_t places) const noexcept {
  const gather_axis& axis = columns_.axes[d];
  return std::min(axis.blocks, places + ceil_divide((axis.size - 1) * axis.dilation, axis.phases));
}

/// The columns that a box reads for each that it needs: neighbours read some both.
inline double gather::waste_of(const axis_values& places) const noexcept {
  double waste = 1;
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    const std::int64_t boxes = (places_[2 + d] - 1) / places[2 + d] + 1;
    waste *= static_cast<double>(boxes * most_blocks(d, places[2 + d])) /
             static_cast<double>(columns_.axes[d].blocks);
  }
  return waste;
}

/// Boxes that are small enough for their columns and sums, of `channels`: made smaller by halves along the axis where that
/// adds least to what neighbours both read. None where even the smallest is too large.
inline axis_values gather::fit_box(std::int64_t channels, std::int64_t place_bytes) const noexcept {
  axis_values chosen = places_;
  chosen[0] = 1;
  chosen[1] = channels;
  const auto fits = [&] {
    double columns = static_cast<double>(columns_.element_size);
    double sums = static_cast<double>(place_bytes);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      sums *= static_cast<double>(chosen[i]);
      columns *=
          static_cast<double>(i < 2 ? chosen[i] : most_blocks(i - 2, chosen[i]) * columns_.axes[i - 2].size);
    }
    return columns <= double{staged_columns_bytes} && sums <= double{box_bytes};
  };
  while (!fits()) {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t i = 2; i < chosen.size(); ++i) {
      if (chosen[i] == 1) continue;
      const std::int64_t half = (chosen[i] + 1) / 2;
      double growth =
          static_cast<double>(most_blocks(i - 2, half)) / static_cast<double>(most_blocks(i - 2, chosen[i]));
      constexpr std::int64_t row_bytes = 64;  // of registers along it
      if (i + 1 == chosen.size() && !by_channels_ && half * columns_.element_size < row_bytes) growth *= 2;
      if (best == 0 || growth < least) {
        best = i;
        least = growth;
      }
    }
    if (best == 0) return {};
    chosen[best] = (chosen[best] + 1) / 2;
  }
  for (std::size_t i : {std::size_t{1}, std::size_t{0}}) {
    while (chosen[i] < places_[i]) {
      const std::int64_t before = std::exchange(chosen[i], std::min(2 * chosen[i], places_[i]));
      if (fits()) continue;
      chosen[i] = before;
      break;
    }
  }
  return chosen;
}

/// A box for staged columns, of as many channels as make long runs unless neighbours then read much both; none where all
/// do so.
inline axis_values gather::choose_staged_box(std::int64_t place_bytes) const noexcept {
  std::int64_t offsets = 1;
  for (std::size_t d = 0; d < spatial_axes(); ++d) offsets *= columns_.axes[d].size;
  const bool are_runs = by_channels_ || output_strides_[1] == columns_.element_size;
  const std::int64_t in_run = (are_runs ? 1 : offsets) * columns_.element_size;
  axis_values best;
  double least = 6;
  for (std::int64_t run = 64; run >= 8; run /= 2) {  // bytes
    const axis_values some = fit_box(std::min(places_[1], ceil_divide(run, in_run)), place_bytes);
    if (some.size() == 0) continue;
    const double waste = waste_of(some) * (1 + 16.0 / static_cast<double>(run));
    if (waste >= 0.95 * least) continue;
    best = some;
    least = waste;
  }
  return best;
}

inline box gather::box_of(std::int64_t number) const noexcept {
  box some{box_, box_};
  for (std::size_t i = box_.size(); i-- > 0;) {
    some.first[i] = number % boxes_along(i) * box_[i];
    some.extents[i] = std::min(box_[i], places_[i] - some.first[i]);
    number /= boxes_along(i);
  }
  return some;
}

inline box_target gather::buffer_of(const box& some, std::byte* buffer) const noexcept {
  box_target result{buffer, some.extents, axis_values::repeat(spatial_axes(), 0)};
  std::int64_t stride = columns_.element_size;
  const auto place = [&](std::size_t i) {
    result.place_strides[i] = stride;
    stride *= some.extents[i];
  };
  if (by_channels_) place(1);
  for (std::size_t i = some.extents.size(); i-- > 2;) place(i);
  for (std::size_t d = spatial_axes(); d-- > 0;) {
    result.phase_strides[d] = stride;
    stride *= columns_.axes[d].phases;
  }
  if (!by_channels_) place(1);
  place(0);
  return result;
}

inline box_target gather::image_of(const box& some, std::byte* image) const noexcept {
  box_target result{image, output_strides_, axis_values::repeat(spatial_axes(), 0)};
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    result.phase_strides[d] = columns_.axes[d].output_stride;
    result.place_strides[2 + d] = wrapping_multiply(columns_.axes[d].phases, columns_.axes[d].output_stride);
  }
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < some.first.size(); ++i) {
    offset = wrapping_add(offset, wrapping_multiply(some.first[i], result.place_strides[i]));
  }
  result.first += offset;
  return result;
}

/// Of a box in a buffer, those places that have all phases or, along the axes of `rest`, the last one of the image that has
/// not. `full`: all of the box's places have all phases.
inline layout gather::written_layout(const box& some, const box_target& sums, const box_target& places,
                                     const axis_values& rest, bool full) const noexcept {
  layout moves;
  for (std::size_t i = 0; i < 2; ++i) {
    moves.add({some.extents[i], sums.place_strides[i], places.place_strides[i]});
  }
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    const gather_axis& axis = columns_.axes[d];
    const std::int64_t whole = full ? some.extents[2 + d] : whole_places(some, d);
    const bool is_rest = rest[d] != 0;
    const std::int64_t place = is_rest ? whole : 0;
    const std::int64_t from = sums.place_strides[2 + d];
    const std::int64_t to = places.place_strides[2 + d];
    moves.add({is_rest ? 1 : whole, from, to});
    moves.add({is_rest ? axis.extent % axis.phases : axis.phases, sums.phase_strides[d], axis.output_stride});
    moves.source_offset += place * from;
    moves.destination_offset = wrapping_add(moves.destination_offset, wrapping_multiply(place, to));
  }
  return moves;
}

/// How many places of a box have all phases.
inline std::int64_t gather::whole_places(const box& some, std::size_t d) const noexcept {
  const gather_axis& axis = columns_.axes[d];
  return std::min(axis.extent / axis.phases - some.first[2 + d], some.extents[2 + d]);
}

[[gnu::noinline]] inline void gather::write(const box& some, const box_target& sums, const box_target& places,
                                            std::byte* spare) const noexcept {
  axis_values counts;
  bool is_whole = some.extents == box_;
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    const bool has_rest = whole_places(some, d) < some.extents[2 + d];
    counts.push_back(has_rest ? 2 : 1);
    is_whole = is_whole && !has_rest;
  }
  if (is_whole) return run_blocks(out_, sums.first, places.first, spare);
  for_each_choice(counts, [&](const axis_values& rest) {
    move_unbounded(written_layout(some, sums, places, rest, false), columns_.element_size, sums.first,
                   places.first, spare);
  });
}

/// Apart from what follows it, since it takes much of the stack.
[[gnu::noinline]] inline void gather::sum(const columns_of_windows& from, const box& some,
                                          const std::byte* columns, const box_target& to,
                                          bool clears) noexcept {
  piecewise_sum sums(from, columns, some, to);
  if (clears) sums.clear();
  sums.sum_phases();
}

inline void gather::fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const noexcept {
  const box some = box_of(number);
  const box_target places = image_of(some, image);
  if (staged_) {
    fill_staged(some, columns, places);
  } else if (buffered_) {
    fill_direct(some, columns, places);
  } else {
    sum(columns_, some, columns, places, has_gaps_);
  }
}

/// `buffer` has box_bytes, `spare` as many as run_blocks() wants.
inline void gather::fill_by_buffer(const columns_of_windows& from, const box& some, const std::byte* columns,
                                   const box_target& places, std::byte* buffer,
                                   std::byte* spare) const noexcept {
  const box_target phases = buffer_of(some, buffer);
  if (has_gaps_) std::memset(buffer, 0, box_bytes);
  sum(from, some, columns, phases, false);
  write(some, phases, places, spare);
}

[[gnu::noinline]] inline void gather::fill_direct(const box& some, const std::byte* columns,
                                                  const box_target& places) const noexcept {
  alignas(64) std::byte buffer[box_bytes + readable_slack];
  alignas(64) std::byte spare[block_buffer_bytes + readable_slack];
  fill_by_buffer(columns_, some, columns, places, buffer, spare);
}

/// The columns of a box, into a buffer where what registers are filled along is contiguous. `staged`, unless it is null,
/// becomes what lies there; its offset is that of the first column that is read.
inline layout gather::staged_layout(const box& some, columns_of_windows* staged) const noexcept {
  layout moves;
  std::int64_t stride = columns_.element_size;
  std::int64_t offset = columns_.offset;
  const auto add = [&](std::int64_t extent, std::int64_t from) {
    moves.add({extent, from, stride});
    return std::exchange(stride, stride * extent);
  };
  const auto add_of = [&](std::size_t i) {
    offset = wrapping_add(offset, wrapping_multiply(some.first[i], columns_.strides[i]));
    const std::int64_t own = add(some.extents[i], columns_.strides[i]);
    if (staged != nullptr) staged->strides[i] = own;
  };
  if (by_channels_) add_of(1);
  for (std::size_t d = spatial_axes(); d-- > 0;) {
    const gather_axis& axis = columns_.axes[d];
    const index_range blocks = blocks_of(d, some.first[2 + d], some.extents[2 + d]);
    offset = wrapping_add(offset, wrapping_multiply(blocks.begin, axis.block_stride));
    const std::int64_t own = add(blocks.end - blocks.begin, axis.block_stride);
    if (staged == nullptr) continue;
    staged->axes[d].blocks = blocks.end - blocks.begin;
    staged->axes[d].padding = axis.padding - blocks.begin * axis.phases;
    staged->axes[d].block_stride = own;
  }
  for (std::size_t d = spatial_axes(); d-- > 0;) {
    const std::int64_t own = add(columns_.axes[d].size, columns_.axes[d].size_stride);
    if (staged != nullptr) staged->axes[d].size_stride = own;
  }
  if (!by_channels_) add_of(1);
  add_of(0);
  if (staged != nullptr) {
    staged->offset = offset;
    staged->begin = 0;
    staged->end = stride;
  }
  return moves;
}

[[gnu::noinline]] inline void gather::fill_staged(const box& some, const std::byte* columns,
                                                  const box_target& places) const noexcept {
  // Each is the other's spare one: the columns are complete before there are sums, and not needed when these are.
  alignas(64) std::byte staged_bytes[staged_columns_bytes + readable_slack];
  alignas(64) std::byte buffer[box_bytes + readable_slack];
  columns_of_windows staged = columns_;
  const layout moves = staged_layout(some, &staged);
  columns += std::exchange(staged.offset, 0);
  if (some.extents == box_) {
    run_blocks(in_, columns, staged_bytes, buffer);
  } else {
    move_unbounded(moves, columns_.element_size, columns, staged_bytes, buffer);
  }
  box here = some;
  here.first[0] = here.first[1] = 0;
  if (buffered_) {
    fill_by_buffer(staged, here, staged_bytes, places, buffer, staged_bytes);
  } else {
    sum(staged, here, staged_bytes, places, has_gaps_);
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
