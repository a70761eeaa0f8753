// SPDX-License-Identifier: BSD-3-Clause
//
// The pair of layouts that describes an operator: one index space, and for each of its points where
// the source element and the destination element lie.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A tensor of rank 8 has 6 spatial axes. depth_to_space splits each in two, and so does unfold; fold splits
/// each into phases, offsets within a phase, and blocks. A copy has those of its views.
inline constexpr std::size_t max_axes = std::max(2 + 3 * (max_rank - 2), max_view_rank);
inline constexpr std::size_t max_bounds = max_rank - 2;

inline constexpr std::size_t no_bound = max_bounds;

/// One axis of the index space. Strides in bytes, of either sign.
struct layout_axis {
  std::int64_t extent;
  std::int64_t source_stride;
  std::int64_t destination_stride;
  /// The bound that this axis takes part in, and how far one step along the axis moves within it.
  std::size_t bound;
  std::int64_t bound_step;

  /// Holds nothing: a layout has room for many axes and few of them.
  layout_axis() noexcept = default;
  constexpr layout_axis(std::int64_t indices, std::int64_t from, std::int64_t to,
                        std::size_t in_bound = no_bound, std::int64_t step = 0) noexcept
      : extent(indices), source_stride(from), destination_stride(to), bound(in_bound), bound_step(step) {}

  constexpr bool bounded() const noexcept { return bound != no_bound; }
  friend constexpr bool operator==(const layout_axis&, const layout_axis&) = default;
};

/// A padded axis of the image, seen from the two axes that walk it (window offset and block): a point
/// lies inside where 0 <= offset + sum over both axes of index * bound_step < extent.
struct axis_bound {
  std::int64_t offset = 0;
  std::int64_t extent = 0;

  friend constexpr bool operator==(const axis_bound&, const axis_bound&) = default;
};

constexpr bool share_bound(const layout_axis& a, const layout_axis& b) noexcept {
  return a.bounded() && a.bound == b.bound;
}

/// Indices begin <= index < end.
struct index_range {
  std::int64_t begin;
  std::int64_t end;

  friend constexpr bool operator==(const index_range&, const index_range&) = default;
};

/// The indices of an axis that lie inside, where the other axis of its bound is `moved` steps from its first index.
constexpr index_range range_inside(const axis_bound& bound, std::int64_t moved,
                                   const layout_axis& axis) noexcept {
  // begin <= low + index * step <= high, seen upwards
  std::int64_t low = -(bound.offset + moved);
  std::int64_t high = low + bound.extent - 1;
  std::int64_t step = axis.bound_step;
  if (step < 0) {
    std::swap(low, high);
    low = -low;
    high = -high;
    step = -step;
  }
  const std::int64_t begin = std::clamp<std::int64_t>(ceil_divide(low, step), 0, axis.extent);
  return {begin, std::clamp<std::int64_t>(floor_divide(high, step) + 1, begin, axis.extent)};
}

struct layout {
  std::array<layout_axis, max_axes> axes;
  std::size_t rank = 0;
  std::array<axis_bound, max_bounds> bounds{};
  std::size_t bound_count = 0;
  /// Bytes from each tensor's first element to the element of index 0, which bounds may put outside.
  std::int64_t source_offset = 0;
  std::int64_t destination_offset = 0;
  /// Bytes of the source without a gap: all bytes between elements that axes with strides of no more than this lead to
  /// from one are elements of the source, so that they may be read along with others. 0: none may.
  std::int64_t source_run = 0;
  /// Bytes of the whole output, where this layout is a part of one; 0: it is the whole.
  std::int64_t whole_bytes = 0;

  /// Copies the axes that there are. An assignment copies the room for others as well, as what is trivially copyable does.
  constexpr void take(const layout& other) noexcept {
    std::copy_n(other.axes.begin(), other.rank, axes.begin());
    rank = other.rank;
    bounds = other.bounds;
    bound_count = other.bound_count;
    source_offset = other.source_offset;
    destination_offset = other.destination_offset;
    source_run = other.source_run;
    whole_bytes = other.whole_bytes;
  }

  constexpr void add(const layout_axis& axis) noexcept {
    assert(rank < max_axes);
    axes[rank++] = axis;
  }

  constexpr void remove(std::size_t i) noexcept {
    for (--rank; i < rank; ++i) axes[i] = axes[i + 1];
  }

  /// Whether all between elements that this axis leads to may be read.
  constexpr bool in_source_run(const layout_axis& axis) const noexcept {
    return -source_run <= axis.source_stride && axis.source_stride <= source_run;
  }

  /// The same moves the other way round.
  constexpr void swap_sides() noexcept {
    for (std::size_t i = 0; i < rank; ++i) std::swap(axes[i].source_stride, axes[i].destination_stride);
    std::swap(source_offset, destination_offset);
  }

  /// Keeps the indices begin <= index < end of axis `i`.
  constexpr void narrow(std::size_t i, std::int64_t begin, std::int64_t end) noexcept {
    layout_axis& axis = axes[i];
    axis.extent = end - begin;
    source_offset = wrapping_add(source_offset, wrapping_multiply(begin, axis.source_stride));
    destination_offset = wrapping_add(destination_offset, wrapping_multiply(begin, axis.destination_stride));
    if (axis.bounded()) bounds[axis.bound].offset += begin * axis.bound_step;
  }

  /// Walks axis `i` from its other end.
  constexpr void reverse(std::size_t i) noexcept {
    layout_axis& axis = axes[i];
    narrow(i, axis.extent - 1, 2 * axis.extent - 1);
    axis.source_stride = wrapping_negate(axis.source_stride);
    axis.destination_stride = wrapping_negate(axis.destination_stride);
    axis.bound_step = -axis.bound_step;
  }
};

constexpr std::int64_t magnitude(std::int64_t stride) noexcept { return stride < 0 ? -stride : stride; }

/// From the first to the last byte that axes [first, rank) reach in the source.
constexpr std::int64_t source_reach(const layout& l, std::size_t first, std::int64_t element_size) noexcept {
  std::int64_t reach = element_size;
  for (std::size_t i = first; i < l.rank; ++i) {
    reach = wrapping_add(reach, wrapping_multiply(magnitude(l.axes[i].source_stride), l.axes[i].extent - 1));
  }
  return reach;
}

/// Whether a layout has no elements. Its strides, and the extents of its other axes, may be of any size then.
constexpr bool is_empty(const layout& l, std::int64_t element_size) noexcept {
  bool empty = element_size == 0;
  for (std::size_t i = 0; i < l.rank; ++i) empty = empty || l.axes[i].extent == 0;
  return empty;
}

constexpr std::int64_t total_bytes(const layout& l, std::int64_t element_size) noexcept {
  std::int64_t total = element_size;
  for (std::size_t i = 0; i < l.rank; ++i) total *= l.axes[i].extent;
  return total;
}

/// The source_run of a tensor with these strides, in whatever order its axes are: from each element, axes whose strides
/// are no longer than what shorter ones have filled reach others with nothing but elements between them. Bytes.
template <std::size_t MostAxes = max_rank>
constexpr std::int64_t dense_run(const basic_axis_values<MostAxes>& extents,
                                 const basic_axis_values<MostAxes>& strides,
                                 std::int64_t element_size) noexcept {
  std::array<bool, MostAxes + 1> seen{};
  std::int64_t run = element_size;
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t i = extents.size(); i-- > 0;) {
      if (seen[i] || extents[i] < 2 || strides[i] > run || strides[i] < -run) continue;
      seen[i] = grows = true;
      const std::int64_t stride = strides[i] < 0 ? -strides[i] : strides[i];
      run = wrapping_add(run, wrapping_multiply(stride, extents[i] - 1));
    }
  }
  return run;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
