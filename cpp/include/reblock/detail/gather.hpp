// SPDX-License-Identifier: BSD-3-Clause
//
// gather sums overlapping windows for fold. It cuts the output into boxes that fit the first-level cache. The thread that
// has a box writes each of its elements once, so the result does not depend on the threads.
//
// If windows lie `stride` elements apart, the positions of an axis belong to `stride` phases: the position modulo the
// stride. If the last axis has several phases, a buffer holds the sums of a box phase by phase, and plan_blocks.hpp
// interleaves them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/gather_axis.hpp>
#include <reblock/detail/held_image.hpp>
#include <reblock/detail/lanes.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/piecewise_sum.hpp>
#include <reblock/detail/plan_blocks.hpp>
#include <reblock/detail/summation.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of a box: half of a usual first-level cache. The other half is for the columns.
inline constexpr std::size_t box_bytes = 16 * 1024;
static_assert(static_cast<std::int64_t>(box_bytes) >= block_buffer_bytes);

/// Bytes of a box that is reduced: its pieces cost more than those of sums. A box of short rows has at least so many places,
/// even if they have many phases: each phase then fills the accumulators.
inline constexpr std::int64_t reduced_box_bytes = 64 * 1024;
inline constexpr std::int64_t least_reduced_places{most_accumulators};

/// Bytes of the buffer of a box that is reduced: more would not fit on the stack beside the accumulators.
inline constexpr std::size_t reduced_buffer_bytes = 16 * 1024;

/// A place of more bytes, with all its phases, is reduced without a buffer: a buffer would have few places. Long rows of
/// results of more than two bytes are too, because they fill lines of the cache.
inline constexpr std::int64_t most_reduced_place = reduced_buffer_bytes / 32;

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

/// Tells whether to sum columns without moving them into a buffer first. One reason is an axis that is contiguous on both
/// sides and fills registers: the offsets of the last axis, or the channels. Another is that contiguous windows overlap:
/// after the sum there is less to move.
inline bool sums_in_place(const sum_request& sums) noexcept {
  const layout& moves = sums.moves;
  const std::size_t spatial = sums.extents.size() - 2;
  const std::int64_t size = sums.sum.element_size;
  const auto offsets = [&](std::size_t d) -> const layout_axis& { return moves.axes[2 + d]; };
  const auto windows = [&](std::size_t d) -> const layout_axis& { return moves.axes[2 + spatial + d]; };
  const std::size_t last = spatial - 1;
  if (windows(last).source_stride == size) {
    const std::int64_t run = windows(last).extent * size;
    const bool is_transposed = sums.extents[1] > 1 && sums.output_strides[1] == size;
    const bool is_short =
        windows(last).extent <= sum_costs::few_windows && run < sum_costs::least_windows_run;
    if (is_short || (is_transposed && run < sum_costs::least_transposed_run)) return false;
    for (std::size_t d = 0; d < spatial; ++d) {
      if (offsets(d).extent == 1 || windows(d).extent == 1) continue;
      const std::int64_t stride = windows(d).bound_step;
      if (offsets(d).extent > stride / std::gcd(stride, offsets(d).bound_step)) return true;
    }
    return false;
  }
  const std::int64_t phases = windows(last).extent > 1 ? windows(last).bound_step : 1;
  const std::int64_t own_run = std::min(phases, offsets(last).extent) * size;
  const bool by_offsets = offsets(last).source_stride == size && sums.output_strides[2 + last] == size &&
                          (offsets(last).extent == 1 || offsets(last).bound_step == 1) &&
                          (own_run >= sum_costs::least_offsets_run ||
                           (offsets(last).extent > phases && windows(last).extent > 2 &&
                            offsets(last).extent * size >= sum_costs::least_overlapping_run));
  const bool by_channels = moves.axes[1].source_stride == size && sums.output_strides[1] == size &&
                           sums.extents[1] * size >= sum_costs::least_channels_run;
  return by_offsets || by_channels;
}

/// A gather plans and runs the sums of fold. It is trivially copyable.
class gather {
 public:
  /// `sum` may be null if the request has a reducer.
  gather(const sum_request& sums, const sum_functions* sum) noexcept;

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
  least_places written_run(std::int64_t element_size) const noexcept;
  box box_of(std::int64_t number) const noexcept;
  box_target buffer_of(const box& part, std::byte* buffer) const noexcept;
  /// Returns the strides in the image, for every box.
  box_target in_image() const noexcept;
  box_target image_of(const box& part, std::byte* image) const noexcept;
  static void sum(const columns_of_windows& from, const box& part, const std::byte* columns,
                  const box_target& to, bool clears, bool may_mask) noexcept;
  held_image held() const noexcept { return {columns_, output_strides_}; }
  bool may_mask(const box& part, const box_target& places) const noexcept;
  void add_box(const box& part, const std::byte* columns, const box_target& places) const noexcept;
  void fill_part(const box& part, const std::byte* columns, const box_target& places) const noexcept;
  void fill_by_buffer(const columns_of_windows& from, const box& part, const std::byte* columns,
                      const box_target& places, std::byte* buffer) const noexcept;
  template <std::size_t Bytes>
  void fill_direct(const box& part, const std::byte* columns, const box_target& places) const noexcept;
  std::int64_t whole_places(const box& part, std::size_t d) const noexcept;
  layout written_layout(const box& part, const box_target& sums, const box_target& places,
                        const axis_values& rest, bool full) const noexcept;
  void move_sums(const box& part, const box_target& sums, const box_target& places, bool back) const noexcept;

  columns_of_windows columns_;
  axis_values output_strides_;  ///< of n, c and the spatial axes, bytes
  std::int64_t output_offset_;  ///< bytes
  axis_values places_;          ///< n, c, places of each spatial axis
  axis_values box_;             ///< indices and places of a box
  bool buffered_ = false;       ///< whether a box is summed in a buffer
  bool by_channels_ = false;    ///< whether registers hold neighbouring channels, else neighbouring windows
  bool has_gaps_ = false;       ///< whether there are phases without terms
  bool adds_ = false;           ///< whether a buffer has the sums of a box, which are added to the image
  staged_move out_;             ///< sums from the buffer to the image
  staged_move in_;              ///< from the image to the buffer, if sums begin from the image's values
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

inline gather::gather(const sum_request& sums, const sum_functions* sum) noexcept
    : output_strides_(sums.output_strides), output_offset_(sums.output_offset), places_(sums.extents) {
  const layout& moves = sums.moves;
  const axis_values& extents = sums.extents;
  const std::int64_t element_size = sums.sum.element_size;
  const std::size_t spatial = extents.size() - 2;
  columns_.rank = spatial;
  columns_.offset = moves.source_offset;
  columns_.element_size = element_size;
  columns_.sum = sum;
  columns_.accumulates = sums.accumulates;
  columns_.reduce = sums.reduce;
  for (std::size_t i = 0; i < 2; ++i) columns_.strides[i] = moves.axes[i].source_stride;
  const std::int64_t result_size = columns_.result_size();
  std::int64_t size = result_size;  // bytes of a place with all phases, or more than a box
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
    constexpr std::int64_t too_large = 2 * reduced_box_bytes;
    size = std::min(size * std::min(axis.phases, too_large), too_large);
  }
  columns_.readable = readable_bytes(moves, element_size);
  adds_ = adds_from_buffer(sums, size);
  if (adds_) columns_.accumulates = false;
  has_gaps_ = has_gaps_ && !columns_.accumulates;
  const gather_axis& last = columns_.axes[spatial - 1];
  // Registers hold neighbouring channels if channels are contiguous and there are few windows, else windows or phases.
  const std::int64_t register_size = 16;
  const bool reduces = sums.reduce != nullptr;
  by_channels_ = !reduces && last.block_stride != element_size &&
                 last.blocks * element_size < 2 * register_size && extents[1] > last.blocks &&
                 columns_.strides[1] == element_size;
  const bool is_spread =
      by_channels_ ? output_strides_[1] != result_size : last.phases > 1 || last.output_stride != result_size;
  const std::int64_t row = last.places() * result_size;
  const bool is_small =
      reduces ? size <= most_reduced_place && (result_size <= 2 || row <= reduced_piece::most_masked_row)
              : size <= std::int64_t{box_bytes};
  buffered_ = is_spread && is_small && last.block_stride == element_size;
  const bool has_short_rows = last.places() <= least_reduced_places;
  const std::int64_t reduced_bytes =
      buffered_ ? std::int64_t{reduced_buffer_bytes}
                : std::max(reduced_box_bytes, has_short_rows ? least_reduced_places * size : 0);
  const std::int64_t bytes = reduces ? reduced_bytes : adds_ ? added_bytes : std::int64_t{box_bytes};
  box_ = buffered_          ? choose_box(places_, size, bytes, written_run(result_size))
         : reduces || adds_ ? choose_box(places_, size, bytes)
                            : choose_box(places_, element_size);
  const box whole{axis_values::repeat(box_.size(), 0), box_};
  if (buffered_) {
    const box_target sums_of_box = buffer_of(whole, nullptr);
    const box_target places_of_box = adds_ ? held().in_buffer(box_, nullptr) : in_image();
    plan_unbounded(out_,
                   written_layout(whole, sums_of_box, places_of_box, axis_values::repeat(spatial, 0), true),
                   result_size);
    if (columns_.accumulates) {
      layout held = written_layout(whole, sums_of_box, places_of_box, axis_values::repeat(spatial, 0), true);
      held.swap_sides();
      plan_unbounded(in_, held, result_size);
    }
  }
}

/// Returns how many places of the image's innermost axis make a run that is worth writing.
inline least_places gather::written_run(std::int64_t element_size) const noexcept {
  least_places run;
  for (std::size_t i = 1; i < places_.size(); ++i) {
    if (places_[i] < 2 || magnitude(output_strides_[i]) != element_size) continue;
    const std::int64_t phases = i < 2 ? 1 : columns_.axes[i - 2].phases;
    const std::int64_t bytes = std::min(phases, sum_costs::least_written_run) * element_size;
    run = {i, std::clamp<std::int64_t>(sum_costs::least_written_run / bytes, 1, places_[i])};
  }
  return run;
}

inline box gather::box_of(std::int64_t number) const noexcept {
  box part{box_, box_};
  for (std::size_t i = box_.size(); i-- > 0;) {
    part.first[i] = number % boxes_along(i) * box_[i];
    part.extents[i] = std::min(box_[i], places_[i] - part.first[i]);
    number /= boxes_along(i);
  }
  return part;
}

inline box_target gather::buffer_of(const box& part, std::byte* buffer) const noexcept {
  box_target result{buffer, part.extents, axis_values::repeat(spatial_axes(), 0)};
  std::int64_t stride = columns_.result_size();
  const auto place = [&](std::size_t i) {
    result.place_strides[i] = stride;
    stride *= part.extents[i];
  };
  if (by_channels_) place(1);
  for (std::size_t i = part.extents.size(); i-- > 2;) place(i);
  for (std::size_t d = spatial_axes(); d-- > 0;) {
    result.phase_strides[d] = stride;
    stride *= columns_.axes[d].phases;
  }
  if (!by_channels_) place(1);
  place(0);
  return result;
}

inline box_target gather::in_image() const noexcept {
  box_target result{nullptr, output_strides_, axis_values::repeat(spatial_axes(), 0)};
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    result.phase_strides[d] = columns_.axes[d].output_stride;
    result.place_strides[2 + d] = wrapping_multiply(columns_.axes[d].phases, columns_.axes[d].output_stride);
  }
  return result;
}

inline box_target gather::image_of(const box& part, std::byte* image) const noexcept {
  box_target result = in_image();
  std::int64_t offset = output_offset_;
  for (std::size_t i = 0; i < part.first.size(); ++i) {
    offset = wrapping_add(offset, wrapping_multiply(part.first[i], result.place_strides[i]));
  }
  result.first = image + offset;
  return result;
}

/// Describes the moves of a box between buffer and image: along each axis the places with all phases, or, if `rest` is
/// set, the image's last place with fewer phases. `full`: all places of the box have all phases.
inline layout gather::written_layout(const box& part, const box_target& sums, const box_target& places,
                                     const axis_values& rest, bool full) const noexcept {
  layout moves;
  for (std::size_t i = 0; i < 2; ++i) {
    moves.add({part.extents[i], sums.place_strides[i], places.place_strides[i]});
  }
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    const gather_axis& axis = columns_.axes[d];
    const std::int64_t whole = full ? part.extents[2 + d] : whole_places(part, d);
    const bool is_rest = rest[d] != 0;
    const std::int64_t place = is_rest ? whole : 0;
    const std::int64_t from = sums.place_strides[2 + d];
    const std::int64_t to = places.place_strides[2 + d];
    moves.add({is_rest ? 1 : whole, from, to});
    moves.add(
        {is_rest ? axis.extent % axis.phases : axis.phases, sums.phase_strides[d], places.phase_strides[d]});
    moves.source_offset += place * from;
    moves.destination_offset = wrapping_add(moves.destination_offset, wrapping_multiply(place, to));
  }
  return moves;
}

/// Counts the places of a box that have all phases.
inline std::int64_t gather::whole_places(const box& part, std::size_t d) const noexcept {
  const gather_axis& axis = columns_.axes[d];
  return std::min(axis.extent / axis.phases - part.first[2 + d], part.extents[2 + d]);
}

/// Moves the sums of a box from the buffer to the image. `back`: moves the image's values to the buffer.
[[gnu::noinline]] inline void gather::move_sums(const box& part, const box_target& sums,
                                                const box_target& places, bool back) const noexcept {
  alignas(64) std::byte spare[block_buffer_bytes + readable_slack];  // not on the stack of the sums
  axis_values counts;
  bool is_whole = part.extents == box_;
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    const bool has_rest = whole_places(part, d) < part.extents[2 + d];
    counts.push_back(has_rest ? 2 : 1);
    is_whole = is_whole && !has_rest;
  }
  std::byte* const from = back ? places.first : sums.first;
  std::byte* const to = back ? sums.first : places.first;
  if (is_whole) return run_blocks(back ? in_ : out_, from, to, spare);
  for_each_choice(counts, [&](const axis_values& rest) {
    layout moves = written_layout(part, sums, places, rest, false);
    if (back) moves.swap_sides();
    move_unbounded(moves, columns_.result_size(), from, to, spare);
  });
}

/// Sums a box. It is a function of its own and not inlined, because it needs much of the stack.
[[gnu::noinline]] inline void gather::sum(const columns_of_windows& from, const box& part,
                                          const std::byte* columns, const box_target& to, bool clears,
                                          bool may_mask) noexcept {
  piecewise_sum sums(from, columns, part, to, may_mask);
  if (clears) sums.clear();
  sums.sum_phases();
}

/// Fills a box through a buffer, which has box_bytes, or reduced_buffer_bytes.
inline void gather::fill_by_buffer(const columns_of_windows& from, const box& part, const std::byte* columns,
                                   const box_target& places, std::byte* buffer) const noexcept {
  const box_target phases = buffer_of(part, buffer);
  if (has_gaps_) std::memset(buffer, 0, columns_.reduce == nullptr ? box_bytes : reduced_buffer_bytes);
  if (columns_.accumulates) move_sums(part, phases, places, true);
  sum(from, part, columns, phases, false, may_mask(part, places));
  move_sums(part, phases, places, false);
}

template <std::size_t Bytes>
[[gnu::noinline]] inline void gather::fill_direct(const box& part, const std::byte* columns,
                                                  const box_target& places) const noexcept {
  alignas(64) std::byte buffer[Bytes + readable_slack];
  fill_by_buffer(columns_, part, columns, places, buffer);
}

/// Sums a box in a buffer and adds the sums to the image.
[[gnu::noinline]] inline void gather::add_box(const box& part, const std::byte* columns,
                                              const box_target& places) const noexcept {
  alignas(64) std::byte buffer[static_cast<std::size_t>(added_bytes) + readable_slack];
  const held_image image = held();
  const box_target sums = image.in_buffer(box_, buffer);
  fill_part(part, columns, sums);
  image.add(part, sums, places);
}

/// Tells whether masks may leave out terms of a box: no sum begins from -0.
[[gnu::noinline]] inline bool gather::may_mask(const box& part, const box_target& places) const noexcept {
  if (!columns_.accumulates) return true;
  const bool has_masks = columns_.reduce == nullptr && columns_.readable.begin != columns_.readable.end &&
                         columns_.axes[spatial_axes() - 1].block_stride == columns_.element_size;
  return has_masks && !held().may_hold_negative_zeros(part, places);
}

inline void gather::fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const noexcept {
  const box part = box_of(number);
  const box_target places = image_of(part, image);
  if (adds_) return add_box(part, columns, places);
  fill_part(part, columns, places);
}

inline void gather::fill_part(const box& part, const std::byte* columns,
                              const box_target& places) const noexcept {
  if (buffered_) {
    if (columns_.reduce != nullptr) return fill_direct<reduced_buffer_bytes>(part, columns, places);
    fill_direct<box_bytes>(part, columns, places);
  } else {
    sum(columns_, part, columns, places, has_gaps_, may_mask(part, places));
  }
}

inline void fill_boxes(const gather& sums, const index_range& boxes, const std::byte* columns,
                       std::byte* image) noexcept {
  for (std::int64_t box = boxes.begin; box < boxes.end; ++box) sums.fill_box(box, columns, image);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
