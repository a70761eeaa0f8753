// SPDX-License-Identifier: BSD-3-Clause
//
// staged_sum_runner runs staged sums (staged_sums.hpp): it fills the boxes of an image.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include <reblock/axis_values.hpp>
#include <reblock/detail/blocks.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/piecewise_sum.hpp>
#include <reblock/detail/plan_blocks.hpp>
#include <reblock/detail/staged_sums.hpp>
#include <reblock/detail/sum_leaves.hpp>
#include <reblock/detail/summation.hpp>
#include <reblock/detail/tile_list.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The runner has the buffers, and the plans of moves into them and out of them.
class staged_sum_runner {
 public:
  explicit staged_sum_runner(const staged_sums& sums) noexcept : sums_(sums), rank_(sums.box_.size()) {}
  staged_sum_runner(const staged_sum_runner&) = delete;

  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) noexcept {
    set_out(number);
    if (sums_.is_single_ && is_mostly_inside()) {
      fill_parts(0, false, columns, image);
    } else {
      fill_by_buffer(columns, image);
    }
  }

 private:
  /// A part describes a box along one axis.
  struct part {
    std::int64_t first = 0;
    std::int64_t count = 1;   ///< places, or indices of n and c
    std::int64_t stride = 0;  ///< of a position in the planes, bytes
    std::int64_t layer_stride =
        0;  ///< from offset to offset, or from plane to plane if phases are joined, bytes
    std::int64_t plane_stride = 0;  ///< bytes
    index_range planes{0, 1};       ///< planes that have terms
  };
  /// A planned remembers the plan of a layout.
  struct planned {
    std::size_t rank = 0;
    buffered_side buffer = buffered_side::none;
    std::array<layout_axis, max_axes> axes;
    staged_move move;
  };

  const plane_axis& axis_of(std::size_t d) const noexcept { return sums_.axes_[d]; }

  void set_out(std::int64_t number) noexcept {
    for (std::size_t i = rank_; i-- > 0;) {
      const std::int64_t along = sums_.boxes_along(i);
      part& p = parts_[i];
      p.first = number % along * sums_.box_[i];
      p.count = std::min(sums_.box_[i], sums_.places_[i] - p.first);
      if (i >= 2) p.first += axis_of(i - 2).first_place();
      number /= along;
    }
  }

  /// Returns the image's indices along axis `i` in the box.
  index_range indices(std::size_t i) const noexcept {
    const part& p = parts_[i];
    if (i < 2) return {p.first, p.first + p.count};
    const plane_axis& axis = axis_of(i - 2);
    const std::int64_t end =
        wrapping_multiply(p.first + p.count, axis.stride);  // it may wrap until the padding is subtracted
    return {std::max<std::int64_t>(0, p.first * axis.stride - axis.padding),
            std::min(axis.extent, wrapping_subtract(end, axis.padding))};
  }

  void fill_by_buffer(const std::byte* columns, std::byte* image) noexcept {
    set_out_buffer();
    bring(0, columns, planes_.data());
    if (sums_.copies_) {
      copy_sums(image);
    } else {
      add_up_in_image(image);
    }
  }

  void set_out_buffer() noexcept {
    std::int64_t stride = sums_.element_size_;
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::size_t i = sums_.order_[k];
      part& p = parts_[i];
      p.stride = stride;
      stride *= i < 2 ? p.count : axis_of(i - 2).width(p.count);
    }
    for (std::size_t i = rank_; i-- > 2;) {
      part& p = parts_[i];
      const plane_axis& axis = axis_of(i - 2);
      p.layer_stride = stride;
      p.plane_stride = axis.is_joined ? stride : axis.cycle * stride;
      p.planes = {0, axis.planes};
      if (axis.together) {
        stride *= axis.is_joined ? axis.planes : axis.all_offsets();
      } else if (!axis.is_joined) {
        stride *= axis.cycle;
      }
    }
    chunk_bytes_ = stride;
    for (std::size_t i = rank_; i-- > 2;) {
      part& p = parts_[i];
      const plane_axis& axis = axis_of(i - 2);
      if (axis.together || axis.planes == 1) continue;
      p.plane_stride = stride;
      stride *= axis.planes;
      p.planes = axis.planes_with_terms(p.first, p.count);
    }
  }

  /// Brings the planes of the axes from `d` on. The planes of the axes before `d` have been chosen.
  void bring(std::size_t d, const std::byte* columns, std::byte* planes) noexcept {
    if (d == sums_.spatial_axes()) return bring_chunk(columns, planes);
    const part& p = parts_[2 + d];
    chosen_[d] = 0;
    if (axis_of(d).together || axis_of(d).planes == 1) return bring(d + 1, columns, planes);
    for (std::int64_t t = p.planes.begin; t < p.planes.end; ++t) {
      chosen_[d] = t;
      bring(d + 1, columns, planes + t * p.plane_stride);
    }
  }

  /// Brings the planes that come together, for one chosen plane of each other axis.
  void bring_chunk(const std::byte* columns, std::byte* planes) noexcept {
    layout moves;
    moves.source_offset = sums_.column_offset_;
    bool is_full = true;
    for (std::size_t i = 0; i < 2; ++i) {
      const part& p = parts_[i];
      moves.add({p.count, sums_.column_strides_[i], p.stride});
      skip_source(moves, p.first, sums_.column_strides_[i]);
    }
    for (std::size_t d = 0; d < sums_.spatial_axes(); ++d) {
      const plane_axis& axis = axis_of(d);
      const part& p = parts_[2 + d];
      const std::int64_t t = chosen_[d];
      // the windows that have values in the planes
      const std::int64_t origin =
          p.first - axis.reach() - (axis.together ? axis.planes - 1 : t) * axis.advance;
      const std::int64_t wanted = p.count + axis.halo();
      const std::int64_t begin = std::clamp<std::int64_t>(origin, 0, axis.windows);
      const std::int64_t end = std::clamp<std::int64_t>(origin + wanted, begin, axis.windows);
      const std::int64_t offsets = !axis.together && t + 1 == axis.planes ? axis.last_cycle : axis.offsets();
      is_full = is_full && end - begin == wanted &&
                (!axis.is_joined || (axis.cycle == axis.stride && axis.last_cycle == axis.cycle));
      const std::int64_t window_stride = axis.positions() * p.stride;
      moves.add({end - begin, axis.window_stride, window_stride});
      if (axis.is_joined) {
        moves.add({std::min(offsets, axis.cycle), axis.offset_stride, axis.dilation * p.stride});
      } else {
        moves.add({offsets, axis.offset_stride, p.layer_stride});
      }
      skip_source(moves, begin, axis.window_stride);
      skip_source(moves, t * axis.cycle, axis.offset_stride);
      // Without windows the product may exceed any integer, and the offset is not used.
      moves.destination_offset =
          wrapping_add(moves.destination_offset, wrapping_multiply(begin - origin, window_stride));
    }
    if (!is_full) clear(planes);
    if (!is_empty(moves, sums_.element_size_)) bring_parts(0, moves, columns, planes);
  }

  /// Brings parts of a chunk. If phases are joined and the last plane has fewer phases, this plane is a part of its own.
  void bring_parts(std::size_t d, const layout& moves, const std::byte* columns, std::byte* planes) noexcept {
    if (d == sums_.spatial_axes()) {
      return run(moves, columns, planes,
                 alone_ == nullptr ? buffered_side::destination : buffered_side::none);
    }
    const plane_axis& axis = axis_of(d);
    if (!axis.together || !axis.is_joined) return bring_parts(d + 1, moves, columns, planes);
    const std::int64_t plane_stride = parts_[2 + d].plane_stride;
    const std::int64_t of_plane = wrapping_multiply(axis.cycle, axis.offset_stride);
    const bool has_rest = axis.last_cycle < axis.cycle;
    layout some;
    some.take(moves);
    some.add({axis.planes - (has_rest ? 1 : 0), of_plane, plane_stride});
    bring_parts(d + 1, some, columns, planes);
    if (!has_rest) return;
    some.take(moves);
    some.axes[2 + 2 * d + 1].extent = axis.last_cycle;
    skip_source(some, axis.planes - 1, of_plane);
    some.destination_offset += (axis.planes - 1) * plane_stride;
    bring_parts(d + 1, some, columns, planes);
  }

  /// Returns the places of a box whose windows lie inside the image.
  index_range inside(std::size_t d) const noexcept {
    const plane_axis& axis = axis_of(d);
    const part& p = parts_[2 + d];
    const std::int64_t end = p.first + p.count;
    const std::int64_t behind = std::min(axis.windows, floor_divide(axis.extent + axis.padding, axis.stride));
    const std::int64_t begin = std::clamp(ceil_divide(axis.padding, axis.stride), p.first, end);
    return {begin, std::clamp(behind, begin, end)};
  }
  bool is_mostly_inside() const noexcept {
    double share = 1;
    for (std::size_t d = 0; d < sums_.spatial_axes(); ++d) {
      const index_range some = inside(d);
      share *= static_cast<double>(some.end - some.begin) / static_cast<double>(parts_[2 + d].count);
    }
    return share > sum_costs::mostly_inside;
  }

  /// Fills a box of one plane. Places whose windows lie inside the image are filled separately, without the buffer.
  void fill_parts(std::size_t d, bool cut, const std::byte* columns, std::byte* image) noexcept {
    if (d == sums_.spatial_axes()) return cut ? fill_by_buffer(columns, image) : place(columns, image);
    part& p = parts_[2 + d];
    const part all = p;
    const index_range some = inside(d);
    const std::int64_t cuts[] = {all.first, some.begin, some.end, all.first + all.count};
    for (std::size_t k = 0; k < 3; ++k) {
      p.first = cuts[k];
      p.count = cuts[k + 1] - cuts[k];
      if (p.count > 0) fill_parts(d + 1, cut || k != 1, columns, image);
    }
    p = all;
  }

  /// Lists the axes of the box in the image. Returns the offset of its first element in bytes.
  std::int64_t list_box(tile_list& box) const noexcept {
    std::int64_t first = 0;
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::size_t i = sums_.order_[k];
      const index_range some = indices(i);
      first = wrapping_add(first, wrapping_multiply(some.begin, sums_.output_strides_[i]));
      box.add({some.end - some.begin, 0, sums_.output_strides_[i]});
    }
    return first;
  }

  /// Moves single terms into the image, without the buffer.
  void place(const std::byte* columns, std::byte* image) noexcept {
    for (std::size_t i = 0; i < rank_; ++i) {
      parts_[i].stride = sums_.output_strides_[i];
      if (i >= 2) chosen_[i - 2] = 0;
    }
    tile_list box;
    image += list_box(box);
    alone_ = &box;
    bring_chunk(columns, image);
    alone_ = nullptr;
    const leaf_function settle = sums_.sum_->settle.settle;
    if (settle == nullptr) return;
    box.for_each([&](const tile& t, const std::byte*, std::byte* to) { settle(t, to, to); }, image, image,
                 sums_.element_size_);
  }

  /// Sets all bytes of the planes, or of the image's box, to 0.
  void clear(std::byte* planes) noexcept {
    if (alone_ == nullptr) {
      std::memset(planes, 0, static_cast<std::size_t>(chunk_bytes_));
    } else {
      clear_box(*alone_, planes);
    }
  }
  void clear_box(const tile_list& box, std::byte* first) noexcept {
    constexpr term_list::axis nothing{0, 0, 0};
    term_list none(std::span(&nothing, 1));
    box.for_each([&](const tile& t, const std::byte*, std::byte* to) { sums_.sum_->sum(t, none, to, to); },
                 first, first, sums_.element_size_);
  }

  static void skip_source(layout& moves, std::int64_t index, std::int64_t stride) noexcept {
    moves.source_offset = wrapping_add(moves.source_offset, wrapping_multiply(index, stride));
  }

  /// Runs moves. It plans them only if it does not remember their plan.
  void run(const layout& moves, const std::byte* from, std::byte* to, buffered_side buffer) noexcept {
    planned* found = nullptr;
    for (planned& one : plans_) {
      if (one.rank == moves.rank && one.buffer == buffer &&
          std::equal(one.axes.begin(), one.axes.begin() + one.rank, moves.axes.begin())) {
        found = &one;
      }
    }
    if (found == nullptr) {
      found = &plans_[next_++ % plans_.size()];
      found->rank = moves.rank;
      found->buffer = buffer;
      std::copy_n(moves.axes.begin(), moves.rank, found->axes.begin());
      layout axes;
      axes.take(moves);
      axes.source_offset = axes.destination_offset = 0;
      plan_unbounded(found->move, axes, sums_.element_size_, std::numeric_limits<double>::infinity(), buffer);
    }
    run_blocks(found->move, from + moves.source_offset, to + moves.destination_offset, spare_.data());
  }

  /// Tells whether there are positions without terms, in phases that are not summed.
  bool has_gaps() const noexcept {
    for (std::size_t d = 0; d < sums_.spatial_axes(); ++d) {
      if (!axis_of(d).is_joined && axis_of(d).cycle < axis_of(d).stride) return true;
    }
    return false;
  }

  [[gnu::noinline]] void add_up_in_image(std::byte* image) noexcept {
    if (has_gaps()) {
      tile_list box;
      const std::int64_t first = list_box(box);
      clear_box(box, image + first);
    }
    add_up(image, 0, sums_.output_strides_, no_axis, 0);
  }

  /// Writes the sums of the box. Index 0 of the image is `offset` bytes from the target. Along the axis `apart`, places lie
  /// next to each other from the box's first place on, and phases lie `phase_stride` bytes apart.
  void add_up(std::byte* target, std::int64_t offset, const axis_values& strides, std::size_t apart,
              std::int64_t phase_stride) noexcept {
    axis_values counts;
    for (std::size_t d = 0; d < sums_.spatial_axes(); ++d) counts.push_back(axis_of(d).phases_apart());
    for_each_choice(counts, [&](const axis_values& phases) {
      std::array<term_list::axis, max_rank - 2> terms;
      tile_list box;
      const std::byte* from = planes_.data();
      std::int64_t to = offset;
      for (std::size_t k = 0; k < rank_; ++k) {
        const std::size_t i = sums_.order_[k];
        const part& p = parts_[i];
        if (i < 2) {
          to = wrapping_add(to, wrapping_multiply(p.first, strides[i]));
          box.add({p.count, p.stride, strides[i]});
          continue;
        }
        const plane_axis& axis = axis_of(i - 2);
        const std::int64_t r = phases[i - 2];
        const std::int64_t step = axis.is_joined ? 1 : axis.stride;  // from position to position
        const std::int64_t phase = r * axis.dilation % axis.stride;
        const std::int64_t origin = p.first * axis.stride - axis.padding + phase;
        const std::int64_t most = p.count * axis.positions();
        const std::int64_t begin = std::clamp<std::int64_t>(ceil_divide(-origin, step), 0, most);
        const std::int64_t end =
            std::clamp<std::int64_t>(ceil_divide(axis.extent - origin, step), begin, most);
        const std::int64_t skipped = axis.halo() - r * axis.dilation / axis.stride;
        from += (begin + skipped * axis.positions()) * p.stride + r * p.layer_stride +
                p.planes.begin * p.plane_stride;
        const std::int64_t last = axis.is_joined ? p.planes.end : axis.planes_of(r);
        const std::int64_t shift = axis.together ? axis.advance * axis.positions() * p.stride : 0;
        terms[i - 2] = {std::clamp(last, p.planes.begin, p.planes.end) - p.planes.begin,
                        p.plane_stride - shift};
        if (i == apart) {
          to += phase * phase_stride + begin * strides[i];
          box.add({end - begin, p.stride, strides[i]});
        } else {
          to = wrapping_add(to, wrapping_multiply(origin + begin * step, strides[i]));
          box.add({end - begin, p.stride, wrapping_multiply(step, strides[i])});
        }
      }
      term_list all(std::span<const term_list::axis>(terms).first(rank_ - 2));
      box.for_each([&](const tile& t, const std::byte* source,
                       std::byte* sums) { sums_.sum_->sum(t, all, source, sums); },
                   from, target + to, sums_.element_size_);
    });
  }

  /// Makes the sums in another buffer and moves them into the image. In this buffer the image's innermost axis is
  /// contiguous, and its phases may lie apart.
  [[gnu::noinline]] void copy_sums(std::byte* image) noexcept {
    alignas(64) std::array<std::byte, sums_bytes + readable_slack> buffer;
    const bool is_apart = sums_.is_apart();
    axis_values strides = sums_.output_strides_;  // of the buffer
    std::int64_t stride = sums_.element_size_;
    std::int64_t skipped = 0;  // bytes of the buffer before index 0 of the image
    layout moves;
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::size_t i = sums_.order_[k];
      strides[i] = stride;
      if (is_apart && i == sums_.innermost_) {
        stride *= parts_[i].count;
        continue;
      }
      const index_range some = indices(i);
      moves.add({some.end - some.begin, stride, sums_.output_strides_[i]});
      skipped += some.begin * stride;
      moves.destination_offset =
          wrapping_add(moves.destination_offset, wrapping_multiply(some.begin, sums_.output_strides_[i]));
      stride *= some.end - some.begin;
    }
    const std::int64_t phases = is_apart ? axis_of(sums_.innermost_ - 2).stride : 1;
    if (has_gaps()) std::memset(buffer.data(), 0, static_cast<std::size_t>(stride * phases));
    add_up(buffer.data(), -skipped, strides, is_apart ? sums_.innermost_ : no_axis, stride);
    if (!is_apart) return run(moves, buffer.data(), image, buffered_side::source);
    interleave(moves, strides[sums_.innermost_], stride, buffer.data(), image);
  }

  /// Interleaves the phases of the innermost axis. One move takes all places that have all phases. The first and the last
  /// place may have fewer phases and need their own moves.
  void interleave(const layout& others, std::int64_t place_stride, std::int64_t phase_stride,
                  const std::byte* sums, std::byte* image) noexcept {
    const plane_axis& axis = axis_of(sums_.innermost_ - 2);
    const part& p = parts_[sums_.innermost_];
    const std::int64_t output_stride = sums_.output_strides_[sums_.innermost_];
    for (std::int64_t at = 0; at < p.count;) {
      const std::int64_t position = (p.first + at) * axis.stride - axis.padding;
      const std::int64_t begin = std::max<std::int64_t>(0, -position);
      const std::int64_t end = std::min(axis.stride, axis.extent - position);
      const bool is_whole = begin == 0 && end == axis.stride;
      const std::int64_t count =
          is_whole ? std::min(p.count - at, (axis.extent - position) / axis.stride) : 1;
      layout some;
      some.take(others);
      some.add({count, place_stride, wrapping_multiply(axis.stride, output_stride)});
      some.add({end - begin, phase_stride, output_stride});
      some.source_offset = at * place_stride + begin * phase_stride;
      some.destination_offset =
          wrapping_add(some.destination_offset, wrapping_multiply(position + begin, output_stride));
      run(some, sums, image, buffered_side::source);
      at += count;
    }
  }

  const staged_sums& sums_;
  std::size_t rank_;  ///< n, c and the spatial axes
  std::array<part, max_rank> parts_;
  std::array<std::int64_t, max_rank - 2> chosen_;  ///< planes
  std::int64_t chunk_bytes_ = 0;                   ///< of the planes that come together
  std::array<planned, 4> plans_;
  std::size_t next_ = 0;
  const tile_list* alone_ = nullptr;  ///< the box of the image that is filled without the buffer
  alignas(64) std::array<std::byte, planes_bytes + readable_slack> planes_;
  alignas(64) std::array<std::byte, block_buffer_bytes + readable_slack> spare_;
};

[[gnu::noinline]] inline void fill_boxes(const staged_sums& sums, const index_range& boxes,
                                         const std::byte* columns, std::byte* image) noexcept {
  staged_sum_runner runner(sums);
  for (std::int64_t box = boxes.begin; box < boxes.end; ++box) runner.fill_box(box, columns, image);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
