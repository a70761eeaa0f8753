// SPDX-License-Identifier: BSD-3-Clause
//
// A sweep_runner runs a sum_sweep (sum_sweep.hpp): it fills the boxes of an image.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/for_each_choice.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/phase_moves.hpp>
#include <reblock/detail/moves/remembered_moves.hpp>
#include <reblock/detail/sums/sum_sweep.hpp>
#include <reblock/detail/sums/sweep_axis.hpp>
#include <reblock/detail/sums/term_list.hpp>
#include <reblock/detail/sums/tile_list.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The runner has the buffers, and the plans of moves into them and out of them.
class sweep_runner {
 public:
  explicit sweep_runner(const sum_sweep& sweep) noexcept : sweep_(sweep), rank_(sweep.places_.size()) {
    chunk_buffer strides;
    filled_bytes_ = sweep.lay_out(strides);
    for (std::size_t i = 0; i < rank_; ++i) static_cast<chunk_strides&>(parts_[i]) = strides[i];
  }
  sweep_runner(const sweep_runner&) = delete;

  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) noexcept {
    // boxes of the same places follow each other, because their moves have the same plans
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::size_t i = k < 2 ? 1 - k : rank_ + 1 - k;
      const std::int64_t along = sweep_.boxes_along(i);
      part& own = parts_[i];
      own.first = number % along * sweep_.chunk_.box[i];
      own.count = std::min(sweep_.chunk_.box[i], sweep_.places_[i] - own.first);
      number /= along;
      if (i < 2) {
        own.positions = {own.first, own.first + own.count};
        continue;
      }
      set_out_positions(axis_of(i), own);
      if (own.positions.begin >= own.positions.end) return;
    }
    image += sweep_.output_offset_;
    if (sweep_.copies_) {
      copy_sums(columns, image);
    } else {
      add_to_image(columns, {image, sweep_.output_strides_, 0});
    }
  }

 private:
  /// A part describes a box, and the chunk in the buffer, along one axis.
  struct part : chunk_strides {
    std::int64_t first = 0;  ///< index, place, or position if the axis is walked
    std::int64_t count = 1;
    index_range positions{0, 1};  ///< of the image
    index_range planes{0, 1};     ///< planes that have terms
    index_range windows{0, 1};    ///< in the buffer
    index_range filled{0, 0};   ///< elements of rows that these windows have begun, unless the axis is walked
    index_range offsets{0, 1};  ///< in the buffer, of an axis that is walked
    std::int64_t chosen = 0;    ///< the offset, or the phase, whose terms are added
  };
  /// A target holds sums. Index 0 of the image lies `skipped` bytes before its first byte. If an axis has its phases apart,
  /// the target has the places of the box along it, from the first one on.
  struct target {
    std::byte* first;
    axis_values strides;  ///< bytes
    std::int64_t skipped;
    std::int64_t phase_stride = 0;  ///< bytes
  };
  const sweep_axis& axis_of(std::size_t i) const noexcept { return sweep_.axes_[i - 2]; }

  /// Narrows a part to positions of the image.
  static void set_out_positions(const sweep_axis& axis, part& own) noexcept {
    own.positions = {own.first, own.first + own.count};
    if (!axis.is_walked) {
      own.first += axis.first_place();
      // it may wrap until the padding is subtracted
      const std::int64_t end = wrapping_multiply(own.first + own.count, axis.stride);
      own.positions = {own.first * axis.stride - axis.padding, wrapping_subtract(end, axis.padding)};
    }
    own.positions = {std::max<std::int64_t>(0, own.positions.begin),
                     std::min(axis.extent, own.positions.end)};
    if (axis.is_walked || own.positions.begin >= own.positions.end) return;
    own.first = floor_divide(own.positions.begin + axis.padding, axis.stride);
    own.count = floor_divide(own.positions.end - 1 + axis.padding, axis.stride) + 1 - own.first;
    own.planes = axis.planes_with_terms(own.first, own.count);
    const std::int64_t origin = own.first - axis.halo;
    own.windows = indices_between(origin, own.first + own.count, 1, axis.windows);
  }

  /// Adds all terms of a box to the image, which has any values before.
  void add_to_image(const std::byte* columns, const target& to) noexcept {
    std::size_t first = 2;
    while (first < rank_ && !sweep_.is_walked(first)) ++first;
    if (first == rank_ || !sweep_.clears_) return add_along(2, columns, to);
    // sets sums to 0 shortly before the first terms are added
    const index_range all = parts_[first].positions;
    const std::int64_t step = sweep_.chunk_.windows[first - 2];
    const sweep_axis& axis = axis_of(first);
    const index_range offsets{0, axis.offsets};
    const index_range windows = axis.windows_at(offsets, all);
    index_range rest = all;
    for (std::int64_t end = windows.end; end > windows.begin; end -= step) {
      const std::int64_t begin = std::max(windows.begin, end - step);
      const std::int64_t reached = std::clamp(begin * axis.stride - axis.padding, rest.begin, rest.end);
      clear(first, {reached, rest.end}, to);
      rest.end = reached;
      parts_[first].windows = {begin, end};
      add_offsets(first, offsets, columns, to);
    }
    clear(first, rest, to);
  }

  /// Adds the terms of all windows of the axes from `i` on, the last windows first.
  void add_along(std::size_t i, const std::byte* columns, const target& to) noexcept {
    if (i == rank_) {
      bring(columns);
      return add_chunk(2, 0, to);
    }
    if (!sweep_.is_walked(i)) return add_along(i + 1, columns, to);
    const sweep_axis& axis = axis_of(i);
    part& own = parts_[i];
    // a chunk of offsets has only the windows that reach the box by them
    const std::int64_t offsets = sweep_.copies_ ? sweep_.chunk_.offsets[i - 2] : axis.offsets;
    const std::int64_t step = sweep_.chunk_.windows[i - 2];
    for (std::int64_t first = 0; first < axis.offsets; first += offsets) {
      const index_range reaching{first, std::min(first + offsets, axis.offsets)};
      const index_range all = axis.windows_at(reaching, own.positions);
      for (std::int64_t end = all.end; end > all.begin; end -= step) {
        own.windows = {std::max(all.begin, end - step), end};
        add_offsets(i, reaching, columns, to);
      }
    }
  }
  void add_offsets(std::size_t i, const index_range& all, const std::byte* columns,
                   const target& to) noexcept {
    const std::int64_t step = sweep_.chunk_.offsets[i - 2];
    for (std::int64_t begin = all.begin; begin < all.end; begin += step) {
      parts_[i].offsets = {begin, std::min(begin + step, all.end)};
      add_along(i + 1, columns, to);
    }
  }

  /// Brings a chunk into the buffer. The last plane of an axis may have fewer offsets and needs its own move.
  void bring(const std::byte* columns) noexcept {
    bool has_edges = false;  // whether planes have elements without terms
    axis_values moves;
    for (std::size_t i = 2; i < rank_; ++i) {
      const sweep_axis& axis = axis_of(i);
      part& own = parts_[i];
      const bool has_rest = !axis.is_walked && !axis.is_apart && axis.last_cycle() < axis.cycle;
      moves.push_back(has_rest ? 2 : 1);
      if (axis.is_walked) continue;
      const std::int64_t origin = own.first - axis.halo;
      index_range windows{0, 0};  // if there are none, they may be far away
      if (own.windows.begin < own.windows.end)
        windows = {own.windows.begin - origin, own.windows.end - origin};
      has_edges = has_edges || has_rest || windows.end - windows.begin < own.count + axis.halo ||
                  (!axis.is_apart && axis.cycle < axis.stride);
      // if windows lie elsewhere than before, there may be old terms beside them
      if (windows == own.filled) continue;
      own.filled = windows;
      is_clean_ = false;
    }
    if (has_edges && !is_clean_) {
      const auto size = static_cast<std::size_t>(filled_bytes_);
      if (sweep_.begins_from_image_) {
        sweep_.sum_->fill_neutral(buffer_.data(), size);
      } else {
        std::memset(buffer_.data(), 0, size);
      }
      is_clean_ = true;
    }
    for_each_choice(moves, [&](const axis_values& rest) { bring_part(rest, columns); });
  }

  /// Brings the last plane of the axes for which `rest` is 1, and the planes before of the other axes.
  [[gnu::noinline]] void bring_part(const axis_values& rest, const std::byte* columns) noexcept {
    layout moves;
    moves.source_offset = sweep_.column_offset_;
    const auto skip = [&](std::int64_t index, std::int64_t stride) {
      moves.source_offset = wrapping_add(moves.source_offset, wrapping_multiply(index, stride));
    };
    for (std::size_t i = 0; i < 2; ++i) {
      moves.add({parts_[i].count, sweep_.column_strides_[i], parts_[i].stride});
      skip(parts_[i].first, sweep_.column_strides_[i]);
    }
    for (std::size_t i = 2; i < rank_; ++i) {
      const sweep_axis& axis = axis_of(i);
      const part& own = parts_[i];
      const std::int64_t count = own.windows.end - own.windows.begin;
      skip(own.windows.begin, axis.window_stride);
      if (axis.is_walked) {
        moves.add({count, axis.window_stride, own.window_stride});
        moves.add({own.offsets.end - own.offsets.begin, axis.offset_stride, own.offset_stride});
        skip(own.offsets.begin, axis.offset_stride);
        continue;
      }
      const std::int64_t step =
          axis.is_apart ? own.stride : axis.stride * own.stride;  // from window to window
      moves.add({count, axis.window_stride, step});
      moves.destination_offset += own.filled.begin * step;
      if (axis.is_apart) {
        moves.add({axis.offsets, axis.offset_stride, own.row_stride});
        continue;
      }
      const std::int64_t plane = wrapping_multiply(axis.cycle, axis.offset_stride);
      const bool is_rest = rest[i - 2] != 0;
      const std::int64_t whole = axis.offsets / axis.cycle;  // planes
      moves.add({is_rest ? axis.last_cycle() : axis.cycle, axis.offset_stride, axis.dilation * own.stride});
      moves.add({is_rest ? 1 : whole, plane, own.row_stride});
      if (!is_rest) continue;
      skip(whole, plane);
      moves.destination_offset += whole * own.row_stride;
    }
    run(moves, columns, buffer_.data(), buffered_side::destination);
  }

  /// Adds the terms of a chunk to the target: for each choice of an offset of each walked axis, all windows at once. `from`
  /// is the place of the chosen offsets in the buffer.
  void add_chunk(std::size_t i, std::int64_t from, const target& to) noexcept {
    while (i < rank_ && !sweep_.is_walked(i) && !axis_of(i).is_apart) ++i;
    if (i == rank_) return add_rows(from, to);
    part& own = parts_[i];
    if (axis_of(i).is_apart) {
      for (own.chosen = 0; own.chosen < axis_of(i).cycle; ++own.chosen) {
        add_chunk(i + 1, from + own.chosen * own.row_stride, to);
      }
      return;
    }
    for (std::int64_t o = own.offsets.begin; o < own.offsets.end; ++o) {
      own.chosen = o;
      add_chunk(i + 1, from + (o - own.offsets.begin) * own.offset_stride, to);
    }
  }

  // not inlined, like clear() and bring_part(): their lists would take stack while other moves run
  [[gnu::noinline]] void add_rows(std::int64_t from, const target& to) noexcept {
    std::array<term_list::axis, max_rank - 2> terms;
    tile_list rows;
    std::int64_t place = -to.skipped;
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::size_t i = sweep_.order_[k];
      const part& own = parts_[i];
      if (i < 2) {
        place = wrapping_add(place, wrapping_multiply(own.first, to.strides[i]));
        rows.add({own.count, own.stride, to.strides[i]});
        continue;
      }
      const sweep_axis& axis = axis_of(i);
      if (sweep_.is_walked(i)) {
        terms[i - 2] = {1, 0};
        index_range windows = axis.windows_at(own.chosen, own.positions);
        windows.begin = std::max(windows.begin, own.windows.begin);
        windows.end = std::min(windows.end, own.windows.end);
        if (windows.begin >= windows.end) return;
        const std::int64_t position = windows.begin * axis.stride + own.chosen * axis.dilation - axis.padding;
        from += (windows.begin - own.windows.begin) * own.window_stride;
        place = wrapping_add(place, wrapping_multiply(position, to.strides[i]));
        rows.add(
            {windows.end - windows.begin, own.window_stride, wrapping_multiply(axis.stride, to.strides[i])});
        continue;
      }
      if (axis.is_apart) {
        const std::int64_t phase = own.chosen * axis.dilation % axis.stride;
        const std::int64_t before = own.chosen * axis.dilation / axis.stride;  // windows before a place
        const std::int64_t moved = axis.padding - phase;
        const std::int64_t begin = ceil_divide(own.positions.begin + moved, axis.stride);
        const std::int64_t end = floor_divide(own.positions.end - 1 + moved, axis.stride) + 1;
        if (begin >= end) return;
        const std::int64_t count =
            std::clamp(axis.planes_of(own.chosen), own.planes.begin, own.planes.end) - own.planes.begin;
        const std::int64_t step =
            axis.cycle * own.row_stride - axis.advance * own.stride;  // from plane to plane
        from += (begin - before - (own.first - axis.halo)) * own.stride + own.planes.begin * step;
        place += phase * to.phase_stride + (begin - own.first) * to.strides[i];
        terms[i - 2] = {count, step};
        rows.add({end - begin, own.stride, to.strides[i]});
        continue;
      }
      const std::int64_t step = axis.advance * axis.stride * own.stride;  // from plane to plane
      const std::int64_t origin = (own.first - axis.halo) * axis.stride - axis.padding;
      from += (own.positions.begin - origin) * own.stride + own.planes.begin * (own.row_stride - step);
      place = wrapping_add(place, wrapping_multiply(own.positions.begin, to.strides[i]));
      terms[i - 2] = {own.planes.end - own.planes.begin, own.row_stride - step};
      rows.add({own.positions.end - own.positions.begin, own.stride, to.strides[i]});
    }
    term_list all(std::span<const term_list::axis>(terms).first(rank_ - 2), {}, sweep_.accumulates_);
    rows.for_each([&](const tile& t, const std::byte* source,
                      std::byte* sums) { sweep_.sum_->sum(t, all, source, sums); },
                  buffer_.data() + from, to.first + place, sweep_.element_size_);
  }

  /// Sets the sums of a box to 0, at the positions `positions` of axis `along`.
  [[gnu::noinline]] void clear(std::size_t along, const index_range& positions, const target& to) noexcept {
    if (positions.begin >= positions.end) return;
    tile_list rows;
    std::int64_t place = -to.skipped;
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::size_t i = sweep_.order_[k];
      const index_range range = i == along ? positions : parts_[i].positions;
      place = wrapping_add(place, wrapping_multiply(range.begin, to.strides[i]));
      rows.add({range.end - range.begin, 0, to.strides[i]});
    }
    constexpr term_list::axis nothing{0, 0, 0};
    term_list none(std::span(&nothing, 1));
    std::byte* const first = to.first + place;
    rows.for_each(
        [&](const tile& t, const std::byte*, std::byte* sums) { sweep_.sum_->sum(t, none, sums, sums); },
        first, first, sweep_.element_size_);
  }

  /// Makes the sums in a buffer and moves them into the image. The buffer has the axes that are not walked inside, and a row
  /// for each phase that is apart.
  [[gnu::noinline]] void copy_sums(const std::byte* columns, std::byte* image) noexcept {
    alignas(64) std::array<std::byte, sums_bytes + readable_slack> buffer;
    target to{buffer.data(), sweep_.output_strides_, 0};
    std::int64_t stride = sweep_.element_size_;
    std::size_t apart = 0;
    layout moves;
    for (const bool walked : {false, true}) {
      for (std::size_t k = 0; k < rank_; ++k) {
        const std::size_t i = sweep_.order_[k];
        if (sweep_.is_walked(i) != walked) continue;
        const part& own = parts_[i];
        to.strides[i] = stride;
        if (i >= 2 && axis_of(i).is_apart) {
          apart = i;
          stride *= own.count;
          continue;
        }
        const std::int64_t count = own.positions.end - own.positions.begin;
        moves.add({count, stride, sweep_.output_strides_[i]});
        to.skipped += own.positions.begin * stride;
        moves.destination_offset = wrapping_add(
            moves.destination_offset, wrapping_multiply(own.positions.begin, sweep_.output_strides_[i]));
        stride *= count;
      }
    }
    to.phase_stride = stride;
    if (apart != 0) stride *= axis_of(apart).stride;
    if (sweep_.clears_) std::memset(buffer.data(), 0, static_cast<std::size_t>(stride));
    add_along(2, columns, to);
    if (apart == 0) return run(moves, buffer.data(), image, buffered_side::source);
    interleave(apart, moves, to, image);
  }

  /// Interleaves the phases of axis `i`.
  void interleave(std::size_t i, const layout& others, const target& sums, std::byte* image) noexcept {
    const sweep_axis& axis = axis_of(i);
    const part& own = parts_[i];
    const phase_moves apart{own.positions,
                            axis.padding,
                            axis.stride,
                            own.first,
                            sums.strides[i],
                            sums.phase_stride,
                            sweep_.output_strides_[i]};
    apart.for_each(others,
                   [&](const layout& moves) { run(moves, sums.first, image, buffered_side::source); });
  }

  void run(const layout& moves, const std::byte* from, std::byte* to, buffered_side side) noexcept {
    moves_.run(moves, sweep_.element_size_, side, from, to);
  }

  const sum_sweep& sweep_;
  std::size_t rank_;  ///< n, c and the spatial axes
  std::array<part, max_rank> parts_;
  std::int64_t filled_bytes_ = 0;  ///< of the buffer
  bool is_clean_ = false;          ///< whether the planes have no terms beside these windows
  remembered_moves& moves_ = recent_moves();
  alignas(64) std::array<std::byte, chunk_bytes + readable_slack> buffer_;
};

[[gnu::noinline]] inline void fill_boxes(const sum_sweep& sweep, const index_range& boxes,
                                         const std::byte* columns, std::byte* image) noexcept {
  sweep_runner runner(sweep);
  for (std::int64_t box = boxes.begin; box < boxes.end; ++box) runner.fill_box(box, columns, image);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
