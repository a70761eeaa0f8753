// SPDX-License-Identifier: BSD-3-Clause
//
// The traversal runs plans of leaves and patterns.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/plan.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// fill_outside sets destination elements to zero (all bits 0) if their source lies outside of the image.
class fill_outside {
 public:
  static void range(const plan& planned, std::size_t axis, std::byte* destination, std::int64_t offset,
                    std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    const std::int64_t stride = planned.axes[axis].destination_stride;
    offset = wrapping_add(offset, wrapping_multiply(begin, stride));
    if (axis >= planned.dense_from) {
      zero(destination + offset, static_cast<std::size_t>((end - begin) * stride));
      return;
    }
    for (std::int64_t i = begin; i < end; ++i, offset = wrapping_add(offset, stride)) {
      if (axis + 1 < planned.rank) {
        range(planned, axis + 1, destination, offset, 0, planned.axes[axis + 1].extent);
      } else {
        zero(destination + offset, planned.leaf_tile.element_size);
      }
    }
  }

  /// Does the same for each index of `rows`, along the axis before.
  static void ranges(const plan& planned, std::size_t axis, std::byte* destination, std::int64_t offset,
                     std::int64_t rows, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    const std::int64_t row_stride = planned.axes[axis - 1].destination_stride;
    if (axis < planned.dense_from) {
      for (std::int64_t i = 0; i < rows; ++i, offset = wrapping_add(offset, row_stride)) {
        range(planned, axis, destination, offset, begin, end);
      }
      return;
    }
    const std::int64_t stride = planned.axes[axis].destination_stride;
    std::byte* to = destination + wrapping_add(offset, wrapping_multiply(begin, stride));
    const auto size = static_cast<std::size_t>((end - begin) * stride);
    switch (size) {
      case 1: zero_rows<1>(to, rows, row_stride, size); break;
      case 2: zero_rows<2>(to, rows, row_stride, size); break;
      case 4: zero_rows<4>(to, rows, row_stride, size); break;
      case 8: zero_rows<8>(to, rows, row_stride, size); break;
      case 16: zero_rows<16>(to, rows, row_stride, size); break;
      default: zero_rows<0>(to, rows, row_stride, size); break;
    }
  }

 private:
  template <std::size_t Size>
  static void zero_rows(std::byte* to, std::int64_t rows, std::int64_t row_stride, std::size_t size) {
    for (std::int64_t i = 0; i < rows; ++i) {
      if constexpr (Size != 0) {
        std::memset(to + i * row_stride, 0, Size);
      } else {
        zero(to + i * row_stride, size);
      }
    }
  }

  /// Sets bytes to 0 without a call of memset(): borders have only a few bytes.
  static void zero(std::byte* destination, std::size_t size) {
    if (size > 16) {
      std::memset(destination, 0, size);
    } else {
      copy_short(destination, zeros, size);
    }
  }
  [[gnu::visibility("hidden")]] static constexpr std::byte zeros[16] = {};
};

/// A traversal walks the axes of a plan and calls its leaf for each tile, narrowed to the elements inside the bounds.
/// fill_outside gets the other elements. The range of an axis is computed once for each index of the axis that decides it,
/// so no single element is tested.
class traversal {
 public:
  traversal(const plan& planned, const std::byte* source, std::byte* destination) noexcept
      : plan_(planned), source_(source), destination_(destination) {
    for (std::size_t i = 0; i < planned.rank; ++i) ranges_[i] = {0, planned.axes[i].extent};
  }

  void run() noexcept {
    if (plan_.empty) return;
    if (plan_.masked) {
      walk_with_mask();
    } else if (plan_.repeated.bounded) {
      walk_with_table();
    } else {
      walk(0, plan_.source_offset, plan_.destination_offset);
    }
    if (plan_.staged || plan_.leaf_tile.streamed) finish_streams();
  }

 private:
  // These functions hold data on the stack that few plans need. They are not inlined, so other plans need less stack.
  [[gnu::noinline]] void walk_with_mask() noexcept {
    std::array<std::byte, most_masked_bytes> mask;
    mask_ = mask.data();
    walk(0, plan_.source_offset, plan_.destination_offset);
  }
  [[gnu::noinline]] void walk_with_table() noexcept {
    pattern table;
    bounded_table_ = &table;
    walk(0, plan_.source_offset, plan_.destination_offset);
  }

  void walk(std::size_t i, std::int64_t source, std::int64_t destination) {
    if (table_ != nullptr && i == plan_.repeated.rows) return walk_rows(i, source, destination);
    if (table_ != nullptr && i == plan_.repeated.inner) {
      return move_pieces({}, source_ + source, destination_ + destination);
    }
    if (i == plan_.walked) {
      return plan_.staged ? stage_tile(source, destination) : move_tile(source, destination);
    }
    const layout_axis& axis = plan_.axes[i];
    if (i == plan_.repeated.along) return walk_pieces(i, source, destination);
    const index_range inside = clip(i, destination);
    source = wrapping_add(source, wrapping_multiply(inside.begin, axis.source_stride));
    destination = wrapping_add(destination, wrapping_multiply(inside.begin, axis.destination_stride));
    for (std::int64_t index = inside.begin; index < inside.end; ++index) {
      if (decide(i, index)) {
        walk(i + 1, source, destination);
      } else {
        fill_outside::range(plan_, i + 1, destination_, destination, 0, plan_.axes[i + 1].extent);
      }
      source = wrapping_add(source, axis.source_stride);
      destination = wrapping_add(destination, axis.destination_stride);
    }
  }

  /// Walks the axis along which a pattern repeats. Each step moves as many indices as stay in a cache.
  void walk_pieces(std::size_t i, std::int64_t source, std::int64_t destination) {
    const repetition& r = plan_.repeated;
    const layout_axis& axis = plan_.axes[i];
    const index_range inside = clip(i, destination);
    table_ = r.bounded ? bounded_table() : &r.table;
    const std::int64_t at_once = table_ != nullptr ? r.at_once : 1;
    for (std::int64_t index = inside.begin; index < inside.end; index += at_once) {
      indices_ = std::min(at_once, inside.end - index);
      walk(i + 1, wrapping_add(source, wrapping_multiply(index, axis.source_stride)),
           wrapping_add(destination, wrapping_multiply(index, axis.destination_stride)));
    }
  }

  /// Walks the axis whose indices are moved together with the pieces.
  void walk_rows(std::size_t i, std::int64_t source, std::int64_t destination) {
    const layout_axis& axis = plan_.axes[i];
    const std::int64_t at_once = plan_.repeated.rows_at_once;
    for (std::int64_t index = 0; index < axis.extent; index += at_once) {
      const tile_axis rows{std::min(at_once, axis.extent - index), axis.source_stride,
                           axis.destination_stride};
      const std::int64_t from = wrapping_add(source, wrapping_multiply(index, axis.source_stride));
      const std::int64_t to = wrapping_add(destination, wrapping_multiply(index, axis.destination_stride));
      move_pieces(rows, source_ + from, destination_ + to);
    }
  }

  /// Returns the table of a pattern for the current ranges, or null if there is none.
  const pattern* bounded_table() {
    const repetition& r = plan_.repeated;
    const std::size_t count = plan_.rank - r.inner;
    const auto ranges = std::span(ranges_).subspan(r.inner, count);
    const auto is_whole = [this](std::size_t i) {
      return ranges_[i] == index_range{0, plan_.axes[i].extent};
    };
    bool are_whole = true;
    for (std::size_t i = r.inner; i < plan_.rank; ++i) are_whole = are_whole && is_whole(i);
    if (are_whole) return &r.table;
    if (!is_tried_ || !std::equal(ranges.begin(), ranges.end(), table_ranges_.begin())) {
      std::copy(ranges.begin(), ranges.end(), table_ranges_.begin());
      layout piece = plan_;
      piece.axes[r.inner - 1] = plan_.axes[r.along];
      piece.axes[r.inner - 1].extent = r.extent;
      auto inside = ranges_;
      inside[r.inner - 1] = {0, r.extent};
      is_tried_ = true;
      has_table_ = bounded_table_->make(plan_.lookup_width, piece, r.inner - 1, inside,
                                        static_cast<std::int64_t>(plan_.leaf_tile.element_size));
    }
    return has_table_ ? bounded_table_ : nullptr;
  }

  void move_pieces(const tile_axis& rows, const std::byte* source, std::byte* destination) const {
    const repetition& r = plan_.repeated;
    const layout_axis& axis = plan_.axes[r.along];
    const tile_axis pieces{indices_ / r.extent, axis.source_stride * r.extent,
                           axis.destination_stride * r.extent};
    table_->move(plan_.look_up, rows, pieces, source, destination);
    if (indices_ % r.extent != 0) {
      const std::int64_t last = indices_ - r.extent;
      table_->move(plan_.look_up, rows, {}, source + last * axis.source_stride,
                   destination + last * axis.destination_stride);
    }
  }

  /// Gives the indices outside along axis `i` to fill_outside and returns the indices inside.
  index_range clip(std::size_t i, std::int64_t destination) const {
    const index_range inside = ranges_[i];
    fill_outside::range(plan_, i, destination_, destination, 0, inside.begin);
    fill_outside::range(plan_, i, destination_, destination, inside.end, plan_.axes[i].extent);
    return inside;
  }

  /// Computes the range that `index` on axis `i` decides, if there is one. Returns whether any index is inside.
  bool decide(std::size_t i, std::int64_t index) {
    const std::size_t j = plan_.decides[i];
    if (j == no_axis) return true;
    const layout_axis& other = plan_.axes[j];
    ranges_[j] = range_inside(plan_.bounds[other.bound], index * plan_.axes[i].bound_step, other);
    return ranges_[j].begin < ranges_[j].end;
  }

  /// Moves a tile into a buffer, then copies it past the caches.
  [[gnu::noinline]] void stage_tile(std::int64_t source, std::int64_t destination) {
    alignas(64) std::byte buffer[staging_bytes];
    std::byte* const output = std::exchange(destination_, buffer);
    move_tile(source, 0);
    destination_ = output;
    std::size_t size = plan_.leaf_tile.element_size;
    for (std::size_t i = plan_.walked; i < plan_.rank; ++i)
      size *= static_cast<std::size_t>(plan_.axes[i].extent);
    stream_run(destination_ + destination, buffer, size);
  }

  void move_tile(std::int64_t source, std::int64_t destination) {
    if (plan_.masked) return move_planes(source, destination);
    if (plan_.extents_are_fixed)
      return move_whole(plan_.leaf_tile, source_ + source, destination_ + destination);
    tile t = plan_.leaf_tile;
    std::size_t narrowed = plan_.walked;  // the axes from here on are whole
    std::int64_t from = source;
    std::int64_t to = destination;
    bool empty = false;
    for (std::size_t i = plan_.walked; i < plan_.rank; ++i) {
      tile_axis& axis = t.*tile_axes[tile_axes.size() - plan_.rank + i];
      const index_range inside = ranges_[i];
      if (inside.end - inside.begin != axis.extent) narrowed = i + 1;
      axis.extent = inside.end - inside.begin;
      empty = empty || axis.extent == 0;
      from = wrapping_add(from, wrapping_multiply(inside.begin, axis.source_stride));
      to = wrapping_add(to, wrapping_multiply(inside.begin, axis.destination_stride));
    }
    if (plan_.shifted && !empty) join_rows(t);
    if (!empty) move_whole(t, source_ + from, destination_ + to);
    clip_tile(plan_.walked, narrowed, destination);
  }

  void move_whole(const tile& t, const std::byte* source, std::byte* destination) const {
    plan_.leaf(t, source, destination);
  }

  /// Moves shifted planes, each as one run. A mask leaves out the elements outside. A run may also read bytes of other
  /// planes. At the ends of the planes, it has only the elements inside and between them.
  void move_planes(std::int64_t source, std::int64_t destination) {
    const tile& t = plan_.leaf_tile;
    const index_range rows = ranges_[plan_.rank - 2];
    const index_range inside = ranges_[plan_.rank - 1];
    const std::int64_t row = t.outer.destination_stride;
    const std::int64_t bytes = t.outer.extent * row;
    const bool empty = rows.begin == rows.end || inside.begin == inside.end;
    const auto size = static_cast<std::int64_t>(t.element_size);
    const std::int64_t begin = empty ? bytes : rows.begin * row + inside.begin * size;
    const std::int64_t end = empty ? bytes : (rows.end - 1) * row + inside.end * size;
    if (!empty) make_mask(rows, inside);
    const std::int64_t last_plane = (t.rows.extent - 1) * t.rows.source_stride;
    const std::int64_t lowest = std::min<std::int64_t>(0, last_plane) + begin;
    const std::int64_t highest = std::max<std::int64_t>(0, last_plane) + end;
    for (std::int64_t plane = 0; plane < t.rows.extent; ++plane) {
      const std::int64_t from = plane * t.rows.source_stride;
      const std::int64_t first = empty || from < lowest ? begin : 0;
      const std::int64_t last = empty || from + bytes > highest ? end : bytes;
      std::byte* to = destination_ + destination + plane * t.rows.destination_stride;
      if (first > 0) std::memset(to, 0, static_cast<std::size_t>(first));
      if (first < last) {
        const auto move = plan_.lookup_width == 64 ? move_wide_masked : move_masked;
        move(to + first, source_ + wrapping_add(source, from + first), mask_ + first,
             static_cast<std::size_t>(last - first));
      }
      if (last < bytes) std::memset(to + last, 0, static_cast<std::size_t>(bytes - last));
    }
  }

  /// Makes the mask: it keeps the bytes of a plane's elements inside.
  void make_mask(const index_range& rows, const index_range& inside) {
    if (has_mask_ && rows == mask_rows_ && inside == mask_inside_) return;
    has_mask_ = true;
    mask_rows_ = rows;
    mask_inside_ = inside;
    const tile& t = plan_.leaf_tile;
    const std::int64_t row = t.outer.destination_stride;
    const auto size = static_cast<std::int64_t>(t.element_size);
    std::memset(mask_, 0, static_cast<std::size_t>(t.outer.extent * row));
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      std::memset(mask_ + i * row + inside.begin * size, 0xff,
                  static_cast<std::size_t>((inside.end - inside.begin) * size));
    }
  }

  /// Makes one run of the rows of a shifted plane.
  static void join_rows(tile& t) {
    const auto size = static_cast<std::int64_t>(t.element_size);
    t.inner.extent += (t.outer.extent - 1) * (t.outer.source_stride / size);
    t.outer.extent = 1;
  }

  /// Gives the elements outside of a tile to fill_outside. The axes from `narrowed` on are whole.
  void clip_tile(std::size_t i, std::size_t narrowed, std::int64_t destination) const {
    if (i == narrowed) return;
    const index_range inside = clip(i, destination);
    if (i + 1 == narrowed) return;
    const std::int64_t stride = plan_.axes[i].destination_stride;
    destination = wrapping_add(destination, wrapping_multiply(inside.begin, stride));
    if (i + 2 == narrowed) {
      const index_range inner = ranges_[i + 1];
      const std::int64_t rows = inside.end - inside.begin;
      fill_outside::ranges(plan_, i + 1, destination_, destination, rows, 0, inner.begin);
      fill_outside::ranges(plan_, i + 1, destination_, destination, rows, inner.end,
                           plan_.axes[i + 1].extent);
      return;
    }
    for (std::int64_t index = inside.begin; index < inside.end; ++index) {
      clip_tile(i + 1, narrowed, destination);
      destination = wrapping_add(destination, stride);
    }
  }

  const plan& plan_;
  const std::byte* source_;
  std::byte* destination_;
  std::array<index_range, max_axes> ranges_;  ///< ranges of the plan's axes
  const pattern* table_ = nullptr;
  std::int64_t indices_ = 0;  ///< indices to move next, of the axis along which a pattern repeats
  pattern* bounded_table_ = nullptr;
  std::array<index_range, max_axes> table_ranges_;  ///< ranges of bounded_table_
  bool is_tried_ = false;                           ///< whether it was tried to make one
  bool has_table_ = false;
  std::byte* mask_ = nullptr;  ///< made for these ranges
  index_range mask_rows_;
  index_range mask_inside_;
  bool has_mask_ = false;
};

/// Runs a plan. It is not inlined, so it does not increase the stack of its caller's other calls.
[[gnu::noinline]] inline void traverse(const plan& planned, const std::byte* source,
                                       std::byte* destination) noexcept {
  traversal(planned, source, destination).run();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
