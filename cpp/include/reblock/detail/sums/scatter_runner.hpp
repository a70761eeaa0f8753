// SPDX-License-Identifier: BSD-3-Clause
//
// A scatter_runner fills the boxes of an image (scatter_boxes.hpp). An adder tells what the sums are, and adds rows to them.
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
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/phase_moves.hpp>
#include <reblock/detail/moves/remembered_moves.hpp>
#include <reblock/detail/sums/scatter.hpp>
#include <reblock/detail/sums/scatter_axis.hpp>
#include <reblock/detail/sums/scatter_boxes.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The runner has the adder, its buffer, and the plans of moves out of it.
template <class Adder>
class scatter_runner {
 public:
  explicit scatter_runner(const typename Adder::boxes& sums) noexcept
      : sums_(sums), rank_(sums.places_.size()), adder_(sums) {
    std::int64_t stride = sums.row_bytes() / sums.sum_size_;
    for (std::size_t k = 1; k < rank_; ++k) {
      const std::size_t i = sums.order_[k];
      parts_[i].stride = stride;
      stride *= sums.box_[i];
    }
    const std::size_t row = sums.order_[0];
    parts_[row].stride = 1;
    phase_stride_ = stride;
    if (sums.rows_are_places_) std::swap(parts_[row].stride, phase_stride_);
    filled_ = stride * (row < 2 ? 1 : sums.rows_are_places_ ? sums.box_[row] : axis_of(row).phases);
    assert(filled_ * sums.sum_size_ <= Adder::buffer_bytes);
  }
  scatter_runner(const scatter_runner&) = delete;

  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) noexcept {
    std::int64_t from = sums_.column_offset_;
    for (std::size_t i = rank_; i-- > 0;) {
      const std::int64_t along = sums_.boxes_along(i);
      scattered_part& own = parts_[i];
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
    adder_.begin(buffer_.data(), filled_, columns);
    if (sums_.accumulates_) {
      for_each_move([&](layout& moves) {
        moves.swap_sides();
        moves_.run(moves, sums_.element_size_, buffered_side::destination, image, buffer_.data());
      });
    }
    add_outside(0, columns + from, 0);
    const std::byte* const results =
        adder_.finish(std::span(parts_).first(rank_), phase_stride_, buffer_.data());
    for_each_move([&](const layout& moves) {
      moves_.run(moves, sums_.element_size_, buffered_side::source, results, image);
    });
  }

 private:
  const scatter_axis& axis_of(std::size_t i) const noexcept { return sums_.axes_[i - 2]; }

  void set_rows(scattered_part& own, const index_range& rows) noexcept {
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
      const scattered_part& own = parts_[i];
      if (i == row && i >= 2) continue;
      const std::int64_t stride = sums_.output_strides_[i];
      const std::int64_t first = own.positions.begin;
      const std::int64_t from = own.stride * sums_.element_size_;
      moves.add({own.positions.end - first, from, stride});
      const std::int64_t place = i < 2 ? first : first + axis_of(i).padding;
      moves.source_offset += (place - own.places.begin) * from;
      moves.destination_offset = wrapping_add(moves.destination_offset, wrapping_multiply(first, stride));
    }
    if (row < 2) return run(moves);
    const scatter_axis& axis = axis_of(row);
    const scattered_part& own = parts_[row];
    const phase_moves apart{own.positions,
                            axis.padding,
                            axis.phases,
                            own.places.begin,
                            own.stride * sums_.element_size_,
                            phase_stride_ * sums_.element_size_,
                            sums_.output_strides_[row]};
    apart.for_each(moves, run);
  }

  // Places in the buffer are elements. `weight` is the place of the weight of a row's first element in the window.

  /// Adds the rows of the box for each index of n and c that lies outside of the other axes.
  [[gnu::noinline]] void add_outside(std::size_t i, const std::byte* from, std::int64_t to) noexcept {
    if (i == 2) return add_along(0, from, to, 0);
    const scattered_part& own = parts_[i];
    const std::int64_t count = sums_.is_outside_[i] ? own.places.end - own.places.begin : 1;
    for (std::int64_t k = 0; k < count; ++k) {
      add_outside(i + 1, from + wrapping_multiply(k, sums_.strides_[i]), to + k * own.stride);
    }
  }

  /// Adds the rows of all outer indices of the axes from `d` on. The terms of a position come in the order of their offsets,
  /// so windows come from the last one to the first.
  void add_along(std::size_t d, const std::byte* from, std::int64_t to, std::int64_t weight) noexcept {
    if (d + 2 == rank_) return add_rows({}, 0, from, to, weight);
    const scatter_axis& axis = sums_.axes_[d];
    scattered_part& own = parts_[2 + d];
    const index_range all = axis.outer_at(own.places);
    const bool is_last = d + 3 == rank_ && axis.keeps_phase();
    const std::int64_t end = all.end - all.begin;
    const std::int64_t outer_weight = axis.by_windows ? 0 : adder_.weight_stride(d);
    const std::int64_t inner_weight = axis.by_windows ? adder_.weight_stride(d) : 0;
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
      const std::int64_t sums =
          to + place * own.stride + (axis.phases == 1 ? 0 : axis.phase_of(u) * phase_stride_);
      const std::int64_t first = weight + u * outer_weight + rows.begin * inner_weight;
      if (is_last) {
        add_rows(next, outer_weight, source, sums, first);
      } else {
        add_along(d + 1, source, sums, first);
      }
    }
  }

  /// Adds the parts' rows, for each index of one more axis.
  void add_rows(const tile_axis& repeated, std::int64_t weight_step, const std::byte* from, std::int64_t to,
                std::int64_t weight) noexcept {
    if (!has_rows_ || repeated.extent != repeated_) list_rows(repeated, weight_step);
    adder_.add(from, buffer_.data() + to * sums_.sum_size_, weight);
  }

  /// Lists the rows. Rows that follow each other on both sides become one.
  void list_rows(const tile_axis& repeated, std::int64_t weight_step) noexcept {
    std::array<tile_axis, max_rank> axes;
    std::array<std::int64_t, max_rank> weights;
    std::size_t count = 0;
    std::int64_t row = 1;
    bool is_row = true;
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::size_t i = sums_.order_[k];
      const scattered_part& own = parts_[i];
      if (own.rows.end - own.rows.begin == 1) continue;
      const std::int64_t stride = k == 0 && sums_.rows_are_places_ ? phase_stride_
                                  : i < 2                          ? own.stride
                                                                   : axis_of(i).step() * own.stride;
      const tile_axis axis{own.rows.end - own.rows.begin, sums_.inner_stride(i), stride};
      const std::int64_t weight = i >= 2 && axis_of(i).by_windows ? adder_.weight_stride(i - 2) : 0;
      is_row = is_row && axis.source_stride == row * sums_.element_size_ && axis.destination_stride == row &&
               (row == 1 || adder_.may_join(row, weight));
      if (is_row) {
        row *= axis.extent;
      } else {
        axes[count] = axis;
        weights[count++] = weight;
      }
    }
    adder_.list(row);
    for (std::size_t k = 0; k < count; ++k) adder_.add_axis(axes[k], weights[k]);
    if (repeated.extent > 1) adder_.add_axis(repeated, weight_step);
    has_rows_ = true;
    repeated_ = repeated.extent;
  }

  const scatter_boxes& sums_;
  std::size_t rank_;  ///< n, c and the spatial axes
  Adder adder_;
  std::array<scattered_part, max_rank> parts_;
  std::int64_t phase_stride_ = 0;  ///< in the buffer, elements
  std::int64_t filled_ = 0;        ///< elements of the buffer
  std::int64_t repeated_ = 1;      ///< extent of the additional axis of the rows
  bool has_rows_ = false;          ///< whether the list is for the parts' rows
  remembered_moves& moves_ = recent_moves();
  alignas(64) std::array<std::byte, Adder::buffer_bytes + readable_slack> buffer_;
};

[[gnu::noinline]] inline void fill_boxes(const scatter& sums, const index_range& boxes,
                                         const std::byte* columns, std::byte* image) noexcept {
  scatter_runner<scattered_sums> runner(sums);
  for (std::int64_t box = boxes.begin; box < boxes.end; ++box) runner.fill_box(box, columns, image);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
