// SPDX-License-Identifier: BSD-3-Clause
//
// Overlapping windows: how fold sums. The output is cut into boxes that fit the first-level cache. Each output
// element is written once, by whoever has its box, so the result does not depend on who takes which box.
//
// Where blocks lie `stride` elements apart, the positions of an axis belong to as many phases, the position modulo
// the stride. Where that is so on the last axis, the phases of a box are summed side by side in a buffer, which the
// traversal then interleaves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/gather_axis.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/piecewise_sum.hpp>
#include <reblock/detail/plan_moves.hpp>
#include <reblock/detail/summation.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of a box: half of a usual first-level cache, the rest is for the columns.
inline constexpr std::size_t box_bytes = 16 * 1024;

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
  gather() = default;

  /// `by` moves boxes out of a buffer.
  gather(const sum_request& sums, const sum_functions& sum, const movers& by) noexcept;

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
  void sum(const box& some, const std::byte* columns, const box_target& to, bool clears) const noexcept;
  void fill_by_buffer(const box& some, const std::byte* columns, const box_target& places) const noexcept;
  void write(const box& some, const box_target& sums, const box_target& places) const noexcept;

  columns_of_windows columns_;
  axis_values output_strides_;  ///< of n, c and the spatial axes, bytes
  axis_values places_;          ///< n, c, places of each spatial axis
  axis_values box_;             ///< as many of these as a box has
  bool buffered_ = false;       ///< whether a box is put together in a buffer
  bool has_gaps_ = false;       ///< whether there are phases without terms
  movers movers_;
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

inline gather::gather(const sum_request& sums, const sum_functions& sum, const movers& by) noexcept
    : output_strides_(sums.output_strides), places_(sums.extents), movers_(by) {
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
  buffered_ = columns_.axes[spatial - 1].phases > 1 && size <= static_cast<std::int64_t>(box_bytes);
  box_ = choose_box(places_, buffered_ ? size : element_size);
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
  for (std::size_t i = some.extents.size(); i-- > 2;) {
    result.place_strides[i] = stride;
    stride *= some.extents[i];
  }
  for (std::size_t d = spatial_axes(); d-- > 0;) {
    result.phase_strides[d] = stride;
    stride *= columns_.axes[d].phases;
  }
  result.place_strides[1] = stride;
  result.place_strides[0] = stride * some.extents[1];
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

inline void gather::write(const box& some, const box_target& sums, const box_target& places) const noexcept {
  // Along each axis the places that have all phases, then the last one of the image if it has not.
  axis_values full;
  axis_values counts;
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    full.push_back(
        std::min(columns_.axes[d].extent / columns_.axes[d].phases - some.first[2 + d], some.extents[2 + d]));
    counts.push_back(full[d] < some.extents[2 + d] ? 2 : 1);
  }
  for_each_choice(counts, [&](const axis_values& chosen) {
    layout moves;
    for (std::size_t i = 0; i < 2; ++i) {
      moves.add({some.extents[i], sums.place_strides[i], places.place_strides[i]});
    }
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      const gather_axis& axis = columns_.axes[d];
      const bool rest = chosen[d] != 0;
      const std::int64_t place = rest ? full[d] : 0;
      const std::int64_t from = sums.place_strides[2 + d];
      const std::int64_t to = places.place_strides[2 + d];
      moves.add({rest ? 1 : full[d], from, to});
      moves.add({rest ? axis.extent % axis.phases : axis.phases, sums.phase_strides[d], axis.output_stride});
      moves.source_offset += place * from;
      moves.destination_offset = wrapping_add(moves.destination_offset, wrapping_multiply(place, to));
    }
    const plan p = plan_moves(moves, columns_.element_size, movers_);
    traverse(p, sums.first, places.first);
  });
}

/// Apart from what follows it, since it takes much of the stack.
[[gnu::noinline]] inline void gather::sum(const box& some, const std::byte* columns, const box_target& to,
                                          bool clears) const noexcept {
  piecewise_sum sums(columns_, columns, some, to);
  if (clears) sums.clear();
  sums.sum_phases();
}

inline void gather::fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const noexcept {
  const box some = box_of(number);
  const box_target places = image_of(some, image);
  if (buffered_) {
    fill_by_buffer(some, columns, places);
  } else {
    sum(some, columns, places, has_gaps_);
  }
}

[[gnu::noinline]] inline void gather::fill_by_buffer(const box& some, const std::byte* columns,
                                                     const box_target& places) const noexcept {
  alignas(64) std::byte buffer[box_bytes];
  const box_target phases = buffer_of(some, buffer);
  if (has_gaps_) std::memset(buffer, 0, sizeof(buffer));
  sum(some, columns, phases, false);
  write(some, phases, places);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
