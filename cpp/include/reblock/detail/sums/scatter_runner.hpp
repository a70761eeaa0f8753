// SPDX-License-Identifier: BSD-3-Clause
//
// A scatter_runner runs a scatter (scatter.hpp): it fills the boxes of an image.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/phase_moves.hpp>
#include <reblock/detail/moves/remembered_moves.hpp>
#include <reblock/detail/sums/scatter.hpp>
#include <reblock/detail/sums/scatter_axis.hpp>
#include <reblock/detail/sums/tile_list.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The runner has the buffer, and the plans of moves out of it.
class scatter_runner {
 public:
  explicit scatter_runner(const scatter& sums) noexcept : sums_(sums), rank_(sums.places_.size()) {
    std::int64_t stride = sums.row_bytes();
    for (std::size_t k = 1; k < rank_; ++k) {
      const std::size_t i = sums.order_[k];
      parts_[i].stride = stride;
      stride *= sums.box_[i];
    }
    const std::size_t row = sums.order_[0];
    parts_[row].stride = sums.element_size_;
    phase_stride_ = stride;
    if (sums.rows_are_places_) std::swap(parts_[row].stride, phase_stride_);
    filled_bytes_ = stride * (row < 2 ? 1 : sums.rows_are_places_ ? sums.box_[row] : axis_of(row).phases);
    assert(filled_bytes_ <= scattered_bytes);
  }
  scatter_runner(const scatter_runner&) = delete;

  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) noexcept {
    std::int64_t from = sums_.column_offset_;
    for (std::size_t i = rank_; i-- > 0;) {
      const std::int64_t along = sums_.boxes_along(i);
      part& own = parts_[i];
      const std::int64_t first = number % along * sums_.box_[i];
      number /= along;
      own.places = {first, std::min(first + sums_.box_[i], sums_.places_[i])};
      own.positions = own.places;
      if (i < 2) {
        from = wrapping_add(from, wrapping_multiply(first, sums_.strides_[i]));
        set_rows(own, {0, sums_.is_outside_[i] ? 1 : own.places.end - first});
        continue;
      }
      const scatter_axis& axis = axis_of(i);
      const std::int64_t moved = axis.first_place();
      own.places = {own.places.begin + moved, own.places.end + moved};
      own.positions = {std::max<std::int64_t>(0, own.places.begin * axis.phases - axis.padding),
                       std::min(axis.extent, own.places.end * axis.phases - axis.padding)};
    }
    image += sums_.output_offset_;
    if (sums_.accumulates_) {
      for_each_move([&](layout& moves) {
        moves.swap_sides();
        moves_.run(moves, sums_.element_size_, buffered_side::destination, image, buffer_.data());
      });
    } else {
      std::memset(buffer_.data(), 0, static_cast<std::size_t>(filled_bytes_));
    }
    end_ = columns + sums_.readable_end_;
    add_outside(0, columns + from, buffer_.data());
    for_each_move([&](const layout& moves) {
      moves_.run(moves, sums_.element_size_, buffered_side::source, buffer_.data(), image);
    });
  }

 private:
  /// A part describes a box along one axis.
  struct part {
    index_range places{0, 1};
    index_range positions{0, 1};  ///< of the image
    std::int64_t stride = 0;      ///< from place to place in the buffer, bytes
    index_range rows{0, 1};       ///< inner indices, or of n and c, whose rows are added together
  };
  const scatter_axis& axis_of(std::size_t i) const noexcept { return sums_.axes_[i - 2]; }

  void set_rows(part& own, const index_range& rows) noexcept {
    if (own.rows == rows) return;
    own.rows = rows;
    has_rows_ = false;
  }

  /// Calls `run(moves)` for moves from the buffer to the image.
  template <class Run>
  void for_each_move(const Run& run) noexcept {
    layout moves;
    const std::size_t row = sums_.order_[0];
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::size_t i = sums_.order_[k];
      const part& own = parts_[i];
      if (i == row && i >= 2) continue;
      const std::int64_t stride = sums_.output_strides_[i];
      const std::int64_t first = own.positions.begin;
      moves.add({own.positions.end - first, own.stride, stride});
      const std::int64_t place = i < 2 ? first : first + axis_of(i).padding;
      moves.source_offset += (place - own.places.begin) * own.stride;
      moves.destination_offset = wrapping_add(moves.destination_offset, wrapping_multiply(first, stride));
    }
    if (row < 2) return run(moves);
    const scatter_axis& axis = axis_of(row);
    const part& own = parts_[row];
    const phase_moves apart{own.positions,
                            axis.padding,
                            axis.phases,
                            own.places.begin,
                            own.stride,
                            phase_stride_,
                            sums_.output_strides_[row]};
    apart.for_each(moves, run);
  }

  /// Adds the rows of the box for each index of n and c that lies outside of the other axes.
  [[gnu::noinline]] void add_outside(std::size_t i, const std::byte* from, std::byte* to) noexcept {
    if (i == 2) return add_along(0, from, to);
    const part& own = parts_[i];
    const std::int64_t count = sums_.is_outside_[i] ? own.places.end - own.places.begin : 1;
    for (std::int64_t k = 0; k < count; ++k) {
      add_outside(i + 1, from + wrapping_multiply(k, sums_.strides_[i]), to + k * own.stride);
    }
  }

  /// Adds the rows of all outer indices of the axes from `d` on. The terms of a position come in the order of their offsets,
  /// so windows come from the last one to the first.
  void add_along(std::size_t d, const std::byte* from, std::byte* to) noexcept {
    if (d + 2 == rank_) return add_rows({}, from, to);
    const scatter_axis& axis = sums_.axes_[d];
    part& own = parts_[2 + d];
    const index_range all = axis.outer_at(own.places);
    const bool is_last = d + 3 == rank_ && axis.keeps_phase();
    const std::int64_t end = all.end - all.begin;
    for (std::int64_t k = 0; k < end; ++k) {
      const std::int64_t u = axis.by_windows ? all.end - 1 - k : all.begin + k;
      const index_range rows = axis.inner_at(u, own.places);
      if (rows.begin >= rows.end) continue;
      set_rows(own, rows);
      // indices that all have the same rows are one more axis of the rows
      tile_axis next;
      while (is_last && k + 1 < end) {
        const std::int64_t after = axis.by_windows ? all.end - 2 - k : all.begin + k + 1;
        if (axis.inner_at(after, own.places) != rows) break;
        ++next.extent;
        ++k;
      }
      if (next.extent > 1) {
        const std::int64_t sign = axis.by_windows ? -1 : 1;
        next.source_stride = wrapping_multiply(sign, axis.outer_stride);
        next.destination_stride = sign * axis.place_of(1) * own.stride;
      }
      const std::int64_t place = axis.place_of(u) + rows.begin * axis.step() - own.places.begin;
      const std::byte* const source = from + wrapping_add(wrapping_multiply(u, axis.outer_stride),
                                                          wrapping_multiply(rows.begin, axis.inner_stride));
      std::byte* const sums =
          to + place * own.stride + (axis.phases == 1 ? 0 : axis.phase_of(u) * phase_stride_);
      if (is_last) {
        add_rows(next, source, sums);
      } else {
        add_along(d + 1, source, sums);
      }
    }
  }

  /// Adds the parts' rows, for each index of one more axis.
  void add_rows(const tile_axis& repeated, const std::byte* from, std::byte* to) noexcept {
    if (!has_rows_ || repeated.extent != repeated_) list_rows(repeated);
    rows_.for_each([this](const tile& t, const std::byte* source,
                          std::byte* sums) { sums_.add_(t, source, end_, sums); },
                   from, to, row_bytes_);
  }

  /// Lists the rows. Rows that follow each other on both sides become one.
  void list_rows(const tile_axis& repeated) noexcept {
    rows_ = tile_list();
    row_bytes_ = sums_.element_size_;
    bool is_row = true;
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::size_t i = sums_.order_[k];
      const part& own = parts_[i];
      if (own.rows.end - own.rows.begin == 1) continue;
      const std::int64_t stride = k == 0 && sums_.rows_are_places_ ? phase_stride_
                                  : i < 2                          ? own.stride
                                                                   : axis_of(i).step() * own.stride;
      const tile_axis axis{own.rows.end - own.rows.begin, sums_.inner_stride(i), stride};
      is_row = is_row && axis.source_stride == row_bytes_ && axis.destination_stride == row_bytes_;
      if (is_row) {
        row_bytes_ *= axis.extent;
      } else {
        rows_.add(axis);
      }
    }
    rows_.add(repeated);
    has_rows_ = true;
    repeated_ = repeated.extent;
  }

  const scatter& sums_;
  std::size_t rank_;  ///< n, c and the spatial axes
  std::array<part, max_rank> parts_;
  std::int64_t phase_stride_ = 0;   ///< in the buffer, bytes
  std::int64_t filled_bytes_ = 0;   ///< of the buffer
  const std::byte* end_ = nullptr;  ///< of the bytes of the columns that may be read
  tile_list rows_;
  std::int64_t row_bytes_ = 0;
  std::int64_t repeated_ = 1;  ///< extent of the additional axis of the rows
  bool has_rows_ = false;      ///< whether the list is for the parts' rows
  remembered_moves& moves_ = recent_moves();
  alignas(64) std::array<std::byte, scattered_bytes + readable_slack> buffer_;
};

[[gnu::noinline]] inline void fill_boxes(const scatter& sums, const index_range& boxes,
                                         const std::byte* columns, std::byte* image) noexcept {
  scatter_runner runner(sums);
  for (std::int64_t box = boxes.begin; box < boxes.end; ++box) runner.fill_box(box, columns, image);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
