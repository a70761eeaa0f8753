// SPDX-License-Identifier: BSD-3-Clause
//
// Overlapping destinations: how fold sums. The output is cut into boxes that fit the first-level cache.
// For each box, terms go through the traversal with the adding leaf to accumulators; rounded, these go to the
// output by the same traversal. Each output element is written once, by whoever has its box, so the result
// does not depend on who takes which box.
//
// Where blocks lie `stride` elements apart, the accumulators of an axis are kept apart by their phase, the
// position modulo the stride: within a phase neighbours are summed from neighbours, and the phases are
// interleaved only when the box is written.
//
// Where a box has all places of an axis, there is room for the padding as well: every term has a place, none
// has to be left out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/summation.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::detail {

/// Bytes of accumulators in a box: half of a usual first-level cache, the rest is for the columns.
inline constexpr std::size_t box_bytes = 16 * 1024;

/// One spatial axis: block `l` adds its term of window offset `o` to the position
/// l * stride + o * dilation - padding, which is position / phases within the phase position % phases.
struct gather_axis {
  std::int64_t size = 1;  ///< window offsets
  std::int64_t blocks = 1;
  std::int64_t stride = 1;    ///< from one block to the next, in positions
  std::int64_t dilation = 1;  ///< from one window offset to the next, in positions
  std::int64_t padding = 0;
  std::int64_t extent = 0;  ///< positions
  std::int64_t phases = 1;
  std::int64_t size_stride = 0;    ///< in the columns, bytes
  std::int64_t block_stride = 0;   ///< in the columns, bytes
  std::int64_t output_stride = 0;  ///< bytes
  std::int64_t before = 0;         ///< places before the first one that terms are added to
  std::int64_t reach =
      0;               ///< places from the first to the last one that terms are added to or that there are
  bool whole = false;  ///< whether a box has all of these

  constexpr std::int64_t places() const noexcept { return ceil_divide(extent, phases); }
};

/// Window offsets first_offset + phase + phases * repetition, for `count` phases and `repetitions`, all of
/// which add to the phases from first_phase on; block 0 adds the first repetition to place `shift`.
struct phase_group {
  std::int64_t first_offset = 0;
  std::int64_t count = 0;
  std::int64_t repetitions = 0;
  std::int64_t first_phase = 0;
  std::int64_t shift = 0;
};

/// Calls `visit` with each way to take one of `counts[d]` for every axis d.
template <class Visit>
void for_each_choice(const axis_values& counts, Visit&& visit) {
  axis_values chosen = axis_values::repeat(counts.size(), 0);
  for (const std::int64_t count : counts) {
    if (count == 0) return;
  }
  for (;;) {
    visit(chosen);
    std::size_t d = counts.size();
    while (d > 0 && ++chosen[d - 1] == counts[d - 1]) chosen[--d] = 0;
    if (d == 0) return;
  }
}

/// The sums of a window operator. A trivially copyable value.
class gather {
 public:
  gather() = default;

  /// The layout is that of unfold with its sides swapped: from the columns to the image, the axes
  /// n, c, o_1..o_k, l_1..l_k. `output_strides` of n, c and the spatial axes, in bytes.
  gather(const layout& moves, const axis_values& extents, const axis_values& output_strides,
         const summation& sum) noexcept;

  std::int64_t boxes() const noexcept {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < box_.size(); ++i) count *= boxes_along(i);
    return count;
  }

  /// A template, as traversals are, so that leaves are compiled only where operators run.
  template <class Outside = skip_outside>
  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const;

 private:
  using groups = std::array<phase_group, 3>;

  std::size_t spatial_axes() const noexcept { return box_.size() - 2; }
  std::int64_t boxes_along(std::size_t i) const noexcept {
    return places_[i] == 0 ? 0 : (places_[i] - 1) / box_[i] + 1;
  }
  std::int64_t groups_of(const gather_axis& axis, groups& found) const noexcept;
  /// The extents of the accumulators of a box of so many places.
  axis_values with_padding(const axis_values& extents) const noexcept;
  void find_reach(gather_axis& axis) const noexcept;
  template <class Outside>
  void add(const axis_values& first, const axis_values& extents, const std::byte* columns,
           std::byte* accumulators) const;
  template <class Outside>
  void write(const axis_values& first, const axis_values& extents, const std::byte* accumulators,
             std::byte* image) const;
  /// Strides of the accumulators, of `size` bytes each: n, c, the phases of each spatial axis, then the places.
  axis_values phase_strides(const axis_values& extents, std::int64_t size) const noexcept;
  axis_values place_strides(const axis_values& extents, std::int64_t size) const noexcept;

  std::array<std::int64_t, 2> source_strides_{};  ///< of n and c in the columns
  std::array<std::int64_t, 2> output_strides_{};  ///< of n and c in the image
  std::int64_t source_offset_ = 0;
  std::array<gather_axis, max_rank - 2> axes_{};
  axis_values places_;  ///< n, c, places of each spatial axis
  axis_values box_;     ///< as many of these as a box has
  summation sum_;
};
static_assert(std::is_trivially_copyable_v<gather>);

/// Whether the windows lie side by side and cover all positions, so that each has exactly one term. The
/// arguments are those of a gather.
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

struct box {
  axis_values places;
  axis_values accumulators;  ///< along each axis
};

/// As many whole inner axes as fit in `box_bytes`, with all of their `reach`, then a part of the next one
/// without. `size`: bytes of an accumulator.
constexpr box choose_box(const axis_values& places, const axis_values& reach, std::int64_t size) noexcept {
  box chosen{axis_values::repeat(places.size(), 1), axis_values::repeat(places.size(), 1)};
  std::int64_t room = static_cast<std::int64_t>(box_bytes) / size;
  for (std::size_t i = places.size(); i-- > 0 && room > 1;) {
    chosen.places[i] = std::clamp<std::int64_t>(places[i], 1, room);
    chosen.accumulators[i] = reach[i] <= room ? std::max<std::int64_t>(reach[i], 1) : chosen.places[i];
    room /= chosen.accumulators[i];
  }
  return chosen;
}

inline gather::gather(const layout& moves, const axis_values& extents, const axis_values& output_strides,
                      const summation& sum) noexcept
    : source_offset_(moves.source_offset), places_(extents), sum_(sum) {
  const std::size_t spatial = extents.size() - 2;
  std::int64_t size = sum.accumulator_size;
  for (std::size_t i = 0; i < 2; ++i) {
    source_strides_[i] = moves.axes[i].source_stride;
    output_strides_[i] = output_strides[i];
  }
  for (std::size_t d = spatial; d-- > 0;) {
    const layout_axis& offsets = moves.axes[2 + d];
    const layout_axis& blocks = moves.axes[2 + spatial + d];
    gather_axis& axis = axes_[d];
    axis = {offsets.extent,
            blocks.extent,
            blocks.bound_step,
            offsets.bound_step,
            -moves.bounds[d].offset,
            extents[2 + d],
            1,
            offsets.source_stride,
            blocks.source_stride,
            output_strides[2 + d]};
    const bool fits = axis.stride <= static_cast<std::int64_t>(box_bytes) / size;
    if (axis.dilation == 1 && fits) axis.phases = axis.stride;
    size *= axis.phases;
    places_[2 + d] = axis.places();
    find_reach(axis);
  }
  axis_values reach = places_;
  for (std::size_t d = 0; d < spatial; ++d) reach[2 + d] = axes_[d].reach;
  const box chosen = choose_box(places_, reach, size);
  box_ = chosen.places;
  for (std::size_t d = 0; d < spatial; ++d) axes_[d].whole = chosen.accumulators[2 + d] == reach[2 + d];
}

inline void gather::find_reach(gather_axis& axis) const noexcept {
  groups found;
  const std::int64_t count = groups_of(axis, found);
  std::int64_t end = axis.places();
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const phase_group& group = found[i];
    axis.before = std::max(axis.before, -group.shift);
    end = std::max(end, group.shift + (axis.blocks - 1) * (axis.stride / axis.phases) +
                            (group.repetitions - 1) * axis.dilation + 1);
  }
  axis.reach = axis.before + end;
}

inline axis_values gather::with_padding(const axis_values& extents) const noexcept {
  axis_values padded = extents;
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    if (axes_[d].whole) padded[2 + d] = axes_[d].reach;
  }
  return padded;
}

inline std::int64_t gather::groups_of(const gather_axis& axis, groups& found) const noexcept {
  if (axis.phases == 1) {
    found[0] = {0, 1, axis.size, 0, -axis.padding};
    return 1;
  }
  // o = phases * q + r adds to place l + q - whole (- 1 where r < rest), phase r - rest (modulo phases)
  const std::int64_t whole = axis.padding / axis.phases;
  const std::int64_t rest = axis.padding % axis.phases;
  std::array<std::int64_t, 4> limits{0, axis.size % axis.phases, rest, axis.phases};
  if (limits[1] > limits[2]) std::swap(limits[1], limits[2]);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t r = limits[i];
    const std::int64_t repetitions = ceil_divide(axis.size - r, axis.phases);
    if (r == limits[i + 1] || repetitions <= 0) continue;
    const bool before = r < rest;
    found[static_cast<std::size_t>(count++)] = {
        r, limits[i + 1] - r, repetitions, r - rest + (before ? axis.phases : 0), -whole - (before ? 1 : 0)};
  }
  return count;
}

inline axis_values gather::place_strides(const axis_values& extents, std::int64_t size) const noexcept {
  axis_values strides = extents;
  std::int64_t stride = size;
  for (std::size_t i = extents.size(); i-- > 2;) {
    strides[i] = stride;
    stride *= extents[i];
  }
  for (std::size_t d = spatial_axes(); d-- > 0;) stride *= axes_[d].phases;
  strides[1] = stride;
  strides[0] = stride * extents[1];
  return strides;
}

inline axis_values gather::phase_strides(const axis_values& extents, std::int64_t size) const noexcept {
  axis_values strides = axis_values::repeat(spatial_axes(), 0);
  std::int64_t stride = size;
  for (std::size_t i = 2; i < extents.size(); ++i) stride *= extents[i];
  for (std::size_t d = spatial_axes(); d-- > 0;) {
    strides[d] = stride;
    stride *= axes_[d].phases;
  }
  return strides;
}

template <class Outside>
void gather::add(const axis_values& first, const axis_values& extents, const std::byte* columns,
                 std::byte* accumulators) const {
  const axis_values places = place_strides(with_padding(extents), sum_.accumulator_size);
  const axis_values phases = phase_strides(with_padding(extents), sum_.accumulator_size);
  std::array<groups, max_rank - 2> all;
  axis_values counts;
  for (std::size_t d = 0; d < spatial_axes(); ++d) counts.push_back(groups_of(axes_[d], all[d]));
  for_each_choice(counts, [&](const axis_values& chosen) {
    // Window offsets ascend outside of everything else: the order of the terms.
    layout sums;
    sums.source_offset = source_offset_;
    const auto group = [&](std::size_t d) -> const phase_group& {
      return all[d][static_cast<std::size_t>(chosen[d])];
    };
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      const gather_axis& axis = axes_[d];
      sums.add({group(d).repetitions, wrapping_multiply(axis.size_stride, axis.phases),
                wrapping_multiply(axis.dilation, places[2 + d]), axis.whole ? no_bound : d, axis.dilation});
      sums.source_offset =
          wrapping_add(sums.source_offset, wrapping_multiply(group(d).first_offset, axis.size_stride));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      sums.add({extents[i], source_strides_[i], places[i]});
      sums.source_offset = wrapping_add(sums.source_offset, wrapping_multiply(first[i], source_strides_[i]));
    }
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      sums.add({group(d).count, axes_[d].size_stride, phases[d]});
      sums.destination_offset += group(d).first_phase * phases[d];
    }
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      const gather_axis& axis = axes_[d];
      const std::int64_t step = axis.stride / axis.phases;
      const std::int64_t shift = group(d).shift - first[2 + d];
      sums.add({axis.blocks, axis.block_stride, wrapping_multiply(step, places[2 + d]),
                axis.whole ? no_bound : d, step});
      sums.bounds[d] = {shift, extents[2 + d]};
      sums.destination_offset =
          wrapping_add(sums.destination_offset,
                       wrapping_multiply(axis.whole ? axis.before + shift : shift, places[2 + d]));
    }
    sums.bound_count = spatial_axes();
    const plan p = plan_visits(sums, sum_.element_size, sum_.accumulator_size, sum_.accumulate);
    traversal<Outside>(p, columns, accumulators).run();
  });
}

template <class Outside>
void gather::write(const axis_values& first, const axis_values& extents, const std::byte* accumulators,
                   std::byte* image) const {
  const axis_values places = place_strides(with_padding(extents), sum_.element_size);
  const axis_values phases = phase_strides(with_padding(extents), sum_.element_size);
  // Along each axis the places that have all phases, then the last one of the image if it has not.
  axis_values full;
  axis_values counts;
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    full.push_back(std::min(axes_[d].extent / axes_[d].phases - first[2 + d], extents[2 + d]));
    counts.push_back(full[d] < extents[2 + d] ? 2 : 1);
  }
  for_each_choice(counts, [&](const axis_values& chosen) {
    layout moves;
    for (std::size_t i = 0; i < 2; ++i) {
      moves.add({extents[i], places[i], output_strides_[i]});
      moves.destination_offset =
          wrapping_add(moves.destination_offset, wrapping_multiply(first[i], output_strides_[i]));
    }
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      const gather_axis& axis = axes_[d];
      const bool rest = chosen[d] != 0;
      const std::int64_t place = rest ? full[d] : 0;
      if (axis.whole) moves.source_offset += axis.before * places[2 + d];
      moves.add({rest ? 1 : full[d], places[2 + d], wrapping_multiply(axis.phases, axis.output_stride)});
      moves.add({rest ? axis.extent % axis.phases : axis.phases, phases[d], axis.output_stride});
      moves.source_offset += place * places[2 + d];
      moves.destination_offset =
          wrapping_add(moves.destination_offset,
                       wrapping_multiply((first[2 + d] + place) * axis.phases, axis.output_stride));
    }
    const plan p = plan_moves(moves, sum_.element_size);
    traversal<Outside>(p, accumulators, image).run();
  });
}

template <class Outside>
void gather::fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const {
  axis_values first = box_;
  axis_values extents = box_;
  for (std::size_t i = box_.size(); i-- > 0;) {
    first[i] = number % boxes_along(i) * box_[i];
    extents[i] = std::min(box_[i], places_[i] - first[i]);
    number /= boxes_along(i);
  }
  std::int64_t size = sum_.accumulator_size;
  for (const std::int64_t extent : with_padding(extents)) size *= extent;
  for (std::size_t d = 0; d < spatial_axes(); ++d) size *= axes_[d].phases;
  alignas(64) std::byte accumulators[box_bytes];
  std::memset(accumulators, 0, static_cast<std::size_t>(size));
  add<Outside>(first, extents, columns, accumulators);
  if (sum_.round != nullptr) sum_.round(accumulators, static_cast<std::size_t>(size / sum_.accumulator_size));
  write<Outside>(first, extents, accumulators, image);
}

}  // namespace reblock::detail
