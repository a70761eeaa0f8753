// SPDX-License-Identifier: BSD-3-Clause
//
// A layout describes an operator's moves. It has one index space. For each index it gives the place of the source element
// and the place of the destination element.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/tile.hpp>
#include <reblock/padding_mode.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A layout has at most this many axes. A tensor of rank 8 has 6 spatial axes. depth_to_space and unfold split each
/// spatial axis in two. fold splits it into phases, offsets within a phase, and windows. A copy has its views' axes.
inline constexpr std::size_t max_axes = std::max(2 + 3 * (max_rank - 2), max_view_rank);
inline constexpr std::size_t max_bounds = max_rank - 2;

inline constexpr std::size_t no_bound = max_bounds;

/// A layout_axis is one axis of the index space. Strides are in bytes, of either sign.
struct layout_axis {
  std::int64_t extent;
  std::int64_t source_stride;
  std::int64_t destination_stride;
  /// The axis may have a bound. `bound_step` is how far one step along the axis moves within the bound.
  std::size_t bound;
  std::int64_t bound_step;

  /// Leaves the members uninitialized: a layout has room for many axes, but uses few.
  layout_axis() noexcept = default;
  constexpr layout_axis(std::int64_t indices, std::int64_t from, std::int64_t to,
                        std::size_t in_bound = no_bound, std::int64_t step = 0) noexcept
      : extent(indices), source_stride(from), destination_stride(to), bound(in_bound), bound_step(step) {}

  /// The axis without its bound.
  constexpr operator tile_axis() const noexcept { return {extent, source_stride, destination_stride}; }
  constexpr bool bounded() const noexcept { return bound != no_bound; }
  friend constexpr bool operator==(const layout_axis&, const layout_axis&) = default;
};

/// An axis_bound bounds the two axes that walk one padded axis of the image: window offsets and windows. A point lies
/// inside if 0 <= offset + sum over both axes of index * bound_step < extent. Outside, the constant mode finds no element.
/// Other modes find the element of a position inside, and need the bytes from one position to the next in the source.
struct axis_bound {
  std::int64_t offset = 0;
  std::int64_t extent = 0;
  padding_mode mode = padding_mode::constant;
  std::int64_t source_stride = 0;

  friend constexpr bool operator==(const axis_bound&, const axis_bound&) = default;
};

constexpr bool share_bound(const layout_axis& a, const layout_axis& b) noexcept {
  return a.bounded() && a.bound == b.bound;
}

/// The range has the indices begin <= index < end.
struct index_range {
  std::int64_t begin;
  std::int64_t end;

  friend constexpr bool operator==(const index_range&, const index_range&) = default;
};

/// Returns the indices below `count` for which begin <= index * step < end. Requires a positive step.
constexpr index_range indices_between(std::int64_t begin, std::int64_t end, std::int64_t step,
                                      std::int64_t count) noexcept {
  if (step != 1) {  // most steps are 1, and a division takes as long as many bytes
    begin = ceil_divide(begin, step);
    end = ceil_divide(end, step);
  }
  begin = std::clamp<std::int64_t>(begin, 0, count);
  return {begin, std::clamp<std::int64_t>(end, begin, count)};
}

/// Returns the indices of an axis that lie inside its bound. The bound's other axis has already moved by `moved`.
constexpr index_range range_inside(const axis_bound& bound, std::int64_t moved,
                                   const layout_axis& axis) noexcept {
  const std::int64_t begin = -(bound.offset + moved);
  const std::int64_t end = begin + bound.extent;
  if (axis.bound_step < 0) return indices_between(1 - end, 1 - begin, -axis.bound_step, axis.extent);
  return indices_between(begin, end, axis.bound_step, axis.extent);
}

struct layout {
  std::array<layout_axis, max_axes> axes;
  std::size_t rank = 0;
  std::array<axis_bound, max_bounds> bounds{};
  std::size_t bound_count = 0;
  /// Bytes from each tensor's first element to the element of index 0. With bounds, it may lie outside of the tensor.
  std::int64_t source_offset = 0;
  std::int64_t destination_offset = 0;
  /// A length in bytes. Axes whose strides are at most this long reach elements with only other source elements between
  /// them, so a move may read these bytes as well. 0: it may read none.
  std::int64_t source_run = 0;
  /// Bytes of the whole output, if this layout is a part of one; 0: it is the whole output.
  std::int64_t whole_bytes = 0;
  bool asks_for_lines = false;         ///< whether lines of such a part are asked for before it moves
  added_zero zero = added_zero::none;  ///< the parts of elements to which moves add 0

  /// Copies only the axes in use. An assignment would copy all max_axes.
  [[gnu::noinline]] constexpr void take(const layout& other) noexcept {
    std::copy_n(other.axes.begin(), other.rank, axes.begin());
    rank = other.rank;
    bounds = other.bounds;
    bound_count = other.bound_count;
    source_offset = other.source_offset;
    destination_offset = other.destination_offset;
    source_run = other.source_run;
    whole_bytes = other.whole_bytes;
    asks_for_lines = other.asks_for_lines;
    zero = other.zero;
  }

  constexpr void add(const layout_axis& axis) noexcept {
    assert(rank < max_axes);
    axes[rank++] = axis;
  }

  constexpr void remove(std::size_t i) noexcept {
    for (--rank; i < rank; ++i) axes[i] = axes[i + 1];
  }

  /// Tells whether a move may read all bytes between the elements along this axis.
  constexpr bool in_source_run(const layout_axis& axis) const noexcept {
    return -source_run <= axis.source_stride && axis.source_stride <= source_run;
  }

  /// Tells whether an axis finds elements inside its bound wherever it is outside.
  constexpr bool repeats_inside(std::size_t i) const noexcept {
    return axes[i].bounded() && bounds[axes[i].bound].mode != padding_mode::constant;
  }

  /// Reverses the direction of the moves.
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

/// Returns a layout without elements.
[[nodiscard]] inline layout no_moves() noexcept {
  layout nothing;
  nothing.add({0, 0, 0});
  return nothing;
}

/// Returns the absolute value. The smallest integer, which only strides of no effect have, stays as it is.
constexpr std::int64_t magnitude(std::int64_t stride) noexcept {
  return stride < 0 ? wrapping_negate(stride) : stride;
}

/// Sorts a few elements. Those that are alike keep their order.
template <class T, class Before>
constexpr void sort_few(std::span<T> some, const Before& comes_before) noexcept {
  for (std::size_t i = 1; i < some.size(); ++i) {
    for (std::size_t k = i; k > 0 && comes_before(some[k], some[k - 1]); --k) std::swap(some[k], some[k - 1]);
  }
}

/// Sorts axes, the longest stride on a side first.
template <class Axis, class Stride>
constexpr void sort_by_strides(std::span<Axis> axes, Stride stride) noexcept {
  sort_few(axes, [=](const Axis& a, const Axis& b) { return magnitude(a.*stride) > magnitude(b.*stride); });
}

/// Counts the bytes from the first to the last that axes [first, rank) reach in the source.
constexpr std::int64_t source_reach(const layout& moves, std::size_t first,
                                    std::int64_t element_size) noexcept {
  std::int64_t reach = element_size;
  for (std::size_t i = first; i < moves.rank; ++i) {
    reach = wrapping_add(reach,
                         wrapping_multiply(magnitude(moves.axes[i].source_stride), moves.axes[i].extent - 1));
  }
  return reach;
}

/// Returns the bytes, counted from the source's first element, that a move may read: those between its elements, if only
/// other elements lie there. Else the range is empty and lies before all elements.
constexpr index_range readable_bytes(const layout& moves, std::int64_t element_size) noexcept {
  index_range bytes{moves.source_offset, wrapping_add(moves.source_offset, element_size)};
  bool is_dense = true;
  for (std::size_t i = 0; i < moves.rank; ++i) {
    const layout_axis& axis = moves.axes[i];
    if (axis.extent == 1) continue;
    is_dense = is_dense && moves.in_source_run(axis);
    std::int64_t& reached = axis.source_stride < 0 ? bytes.begin : bytes.end;
    reached = wrapping_add(reached, wrapping_multiply(axis.source_stride, axis.extent - 1));
  }
  return is_dense ? bytes : index_range{bytes.begin, bytes.begin};
}

/// Tells whether a layout has no elements. Then its strides, and the extents of its other axes, may have any value.
constexpr bool is_empty(const layout& moves, std::int64_t element_size) noexcept {
  bool empty = element_size == 0;
  for (std::size_t i = 0; i < moves.rank; ++i) empty = empty || moves.axes[i].extent == 0;
  return empty;
}

constexpr std::int64_t total_bytes(const layout& moves, std::int64_t element_size) noexcept {
  std::int64_t total = element_size;
  for (std::size_t i = 0; i < moves.rank; ++i) total *= moves.axes[i].extent;
  return total;
}

/// Computes the source_run, in bytes, of a tensor with these strides. Its axes may have any order. Axes with short strides
/// fill a run of bytes. An axis whose stride is at most the length of the run extends it.
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
