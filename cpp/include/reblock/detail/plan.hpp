// SPDX-License-Identifier: BSD-3-Clause
//
// The canonical form of a layout: as few axes as describe the same moves, in the order in which the
// destination is written, with the largest element that both sides share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <reblock/detail/layout.hpp>
#include <reblock/detail/leaves.hpp>

namespace reblock::detail {

inline constexpr std::size_t no_axis = max_axes;

/// A trivially copyable value. Axes [0, walked) are walked one index at a time; those behind them,
/// up to four, make up the tile of the leaf.
struct plan : layout {
  std::size_t walked = 0;
  /// For each axis the axis behind it whose range its index decides (they share a bound), or no_axis.
  std::array<std::size_t, max_axes> decides{};
  /// The axes from this one on have no gaps between their destination elements.
  std::size_t dense_from = 0;
  tile leaf_tile{};
  leaf_function leaf = nullptr;
  /// Whether the rows of the tile follow each other on both sides at the same distance with nothing but
  /// elements of the source between them, so that they can be moved as one run and mended at their ends.
  bool shifted = false;
  /// Whether there is nothing to move: an extent or the element size is 0.
  bool empty = false;
};
static_assert(std::is_trivially_copyable_v<plan>);

/// Forgets the bounds that hold everywhere, so that their axes are as free as any other.
constexpr void drop_idle_bounds(layout& l) noexcept {
  for (std::size_t b = 0; b < l.bound_count; ++b) {
    std::int64_t least = l.bounds[b].offset;
    std::int64_t most = least;
    for (std::size_t i = 0; i < l.rank; ++i) {
      if (l.axes[i].bound != b) continue;
      const std::int64_t reach = l.axes[i].bound_step * (l.axes[i].extent - 1);
      (reach < 0 ? least : most) += reach;
    }
    if (least < 0 || most >= l.bounds[b].extent) continue;
    for (std::size_t i = 0; i < l.rank; ++i) {
      if (l.axes[i].bound == b) l.axes[i].bound = no_bound;
    }
  }
}

constexpr void drop_single_indices(layout& l) noexcept {
  for (std::size_t i = l.rank; i-- > 0;) {
    if (l.axes[i].extent == 1 && !l.axes[i].bounded()) l.remove(i);
  }
}

/// Every axis upwards in the destination, the longest stride first.
constexpr void order_by_destination(layout& l) noexcept {
  for (std::size_t i = 0; i < l.rank; ++i) {
    if (l.axes[i].destination_stride < 0) l.reverse(i);
    for (std::size_t j = i; j > 0; --j) {
      if (l.axes[j - 1].destination_stride >= l.axes[j].destination_stride) break;
      std::swap(l.axes[j - 1], l.axes[j]);
    }
  }
}

/// Makes one axis of two neighbours where the outer one goes on, on both sides, where the inner ends.
constexpr void merge_nested(layout& l) noexcept {
  for (std::size_t i = l.rank; i-- > 1;) {
    layout_axis& outer = l.axes[i - 1];
    const layout_axis& inner = l.axes[i];
    if (outer.bounded() || inner.bounded() ||
        outer.source_stride != wrapping_multiply(inner.source_stride, inner.extent) ||
        outer.destination_stride != wrapping_multiply(inner.destination_stride, inner.extent)) {
      continue;
    }
    outer.extent *= inner.extent;
    outer.source_stride = inner.source_stride;
    outer.destination_stride = inner.destination_stride;
    l.remove(i);
  }
}

constexpr bool share_bound(const layout_axis& a, const layout_axis& b) noexcept {
  return a.bounded() && a.bound == b.bound;
}

/// Brings the axis along which the source is contiguous next to the innermost one: the leaf then
/// reads whole lines and writes whole lines.
constexpr void pair_contiguous_axes(layout& l, std::int64_t element_size) noexcept {
  if (l.rank < 2) return;
  const layout_axis& inner = l.axes[l.rank - 1];
  if (inner.destination_stride != element_size || inner.source_stride == element_size) return;
  for (std::size_t i = 0; i + 1 < l.rank; ++i) {
    if (l.axes[i].source_stride != element_size || share_bound(l.axes[i], inner)) continue;
    for (; i + 2 < l.rank; ++i) std::swap(l.axes[i], l.axes[i + 1]);
    return;
  }
}

/// Where the tile's source is one dense row, its rows are walked in the order of the source: the long
/// sequence of bytes, here the image, decides how well caches work, whichever side it is on.
constexpr void follow_dense_source(layout& l, std::int64_t element_size) noexcept {
  if (l.rank < 3) return;
  const layout_axis& inner = l.axes[l.rank - 1];
  const layout_axis& outer = l.axes[l.rank - 2];
  if (outer.source_stride != element_size || inner.source_stride != outer.extent * element_size) return;
  const auto magnitude = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  for (std::size_t i = 1; i + 2 < l.rank; ++i) {
    for (std::size_t j = i; j > 0; --j) {
      if (magnitude(l.axes[j - 1].source_stride) >= magnitude(l.axes[j].source_stride)) break;
      std::swap(l.axes[j - 1], l.axes[j]);
    }
  }
}

/// Splits the axes into those that are walked and those of the leaf, and notes what the walk needs.
/// `element_size` is the destination's.
constexpr void set_out_tile(plan& p, std::int64_t source_size, std::int64_t element_size) noexcept {
  const std::size_t most = tile_axes.size();
  p.walked = p.rank;
  for (std::size_t taken = 0; p.walked > 0 && taken < most; ++taken) {
    const layout_axis& next = p.axes[p.walked - 1];
    bool shares = false;
    for (std::size_t i = p.walked; i < p.rank; ++i) shares = shares || share_bound(next, p.axes[i]);
    if (shares) break;
    --p.walked;
    p.leaf_tile.*tile_axes[most - 1 - taken] = {next.extent, next.source_stride, next.destination_stride};
  }
  p.leaf_tile.element_size = static_cast<std::size_t>(element_size);
  if (p.rank == 0) p.leaf_tile.inner = {1, source_size, element_size};

  p.dense_from = p.rank;
  std::int64_t dense_bytes = element_size;
  for (std::size_t i = p.rank; i-- > 0 && p.axes[i].destination_stride == dense_bytes;) {
    dense_bytes *= p.axes[i].extent;
    p.dense_from = i;
  }
  p.empty = element_size == 0;
  for (std::size_t i = 0; i < p.rank; ++i) {
    p.empty = p.empty || p.axes[i].extent == 0;
    p.decides[i] = no_axis;
    for (std::size_t j = i + 1; j < p.rank; ++j) {
      if (share_bound(p.axes[i], p.axes[j])) p.decides[i] = j;
    }
  }
}

constexpr bool is_shifted(const plan& p, std::int64_t element_size) noexcept {
  if (p.rank < 2 || p.rank - p.walked < 2) return false;
  const layout_axis& inner = p.axes[p.rank - 1];
  const layout_axis& outer = p.axes[p.rank - 2];
  return inner.bounded() && inner.source_stride == element_size && inner.destination_stride == element_size &&
         inner.bound_step == 1 && outer.source_stride == outer.destination_stride &&
         outer.source_stride == p.bounds[inner.bound].extent * element_size &&
         outer.destination_stride == inner.extent * element_size;
}

/// Plans to move every element of `l`, each `element_size` bytes, in whatever order is best. Requires
/// that the destination does not overlap itself.
inline plan plan_moves(const layout& l, std::int64_t element_size) noexcept {
  plan p{l};
  drop_idle_bounds(p);
  drop_single_indices(p);
  order_by_destination(p);
  merge_nested(p);
  if (p.rank > 0) {
    const layout_axis& inner = p.axes[p.rank - 1];
    if (!inner.bounded() && inner.source_stride == element_size && inner.destination_stride == element_size) {
      element_size *= inner.extent;
      --p.rank;
    }
  }
  pair_contiguous_axes(p, element_size);
  follow_dense_source(p, element_size);
  set_out_tile(p, element_size, element_size);
  bool fixed = true;
  for (std::size_t i = p.walked; i < p.rank; ++i) fixed = fixed && !p.axes[i].bounded();
  p.leaf = choose_leaf(p.leaf_tile, fixed);
  p.shifted = is_shifted(p, element_size);
  return p;
}

/// Plans to visit every element of `l` in the order of its axes, for an action that adds: the
/// destination may overlap itself, and the order of the visits is the order of the terms. Elements
/// have `source_size` bytes in the source and `destination_size` bytes in the destination.
inline plan plan_visits(const layout& l, std::int64_t source_size, std::int64_t destination_size,
                        leaf_function leaf) noexcept {
  plan p{l};
  drop_idle_bounds(p);
  drop_single_indices(p);
  merge_nested(p);
  set_out_tile(p, source_size, destination_size);
  p.leaf = leaf;
  return p;
}

}  // namespace reblock::detail
