// SPDX-License-Identifier: BSD-3-Clause
//
// Overlapping windows: how fold sums. The output is cut into boxes that fit the first-level cache, and each box into
// pieces whose elements have terms of the same window offsets, so that one list says where the terms of all their
// sums lie. Each output element is written once, by whoever has its box, so the result does not depend on who takes
// which box.
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
#include <span>
#include <type_traits>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/gather_axis.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/summation.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::detail {

/// Bytes of a box: half of a usual first-level cache, the rest is for the columns.
inline constexpr std::size_t box_bytes = 16 * 1024;

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
  template <class Outside = fill_outside>
  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const;

 private:
  /// Places [first, first + extents) of n, c and the spatial axes.
  struct box {
    axis_values first;
    axis_values extents;
  };
  /// Where the sums of a box go. Strides in bytes: of n, c and the places, and of the phases of each spatial axis.
  struct target {
    std::byte* first;  ///< place 0 of the box, phase 0
    axis_values place_strides;
    axis_values phase_strides;
  };
  class piecewise_sum;

  std::size_t spatial_axes() const noexcept { return box_.size() - 2; }
  std::int64_t boxes_along(std::size_t i) const noexcept {
    return places_[i] == 0 ? 0 : (places_[i] - 1) / box_[i] + 1;
  }
  box box_of(std::int64_t number) const noexcept;
  target buffer_of(const box& some, std::byte* buffer) const noexcept;
  target image_of(const box& some, std::byte* image) const noexcept;
  template <class Outside>
  void write(const box& some, const target& sums, const target& places) const;

  std::array<std::int64_t, 2> source_strides_{};  ///< of n and c in the columns
  axis_values output_strides_;                    ///< of n, c and the spatial axes in the image
  std::int64_t source_offset_ = 0;
  /// All bytes from the one to the other are elements of the columns, and may be read along with others.
  std::int64_t columns_begin_ = 0;
  std::int64_t columns_end_ = 0;
  std::array<gather_axis, max_rank - 2> axes_{};
  axis_values places_;  ///< n, c, places of each spatial axis
  axis_values box_;     ///< as many of these as a box has
  summation sum_;
  bool buffered_ = false;  ///< whether a box is put together in a buffer
  bool has_gaps_ = false;  ///< whether there are phases without terms
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

inline gather::gather(const layout& moves, const axis_values& extents, const axis_values& output_strides,
                      const summation& sum) noexcept
    : output_strides_(output_strides), source_offset_(moves.source_offset), places_(extents), sum_(sum) {
  const std::size_t spatial = extents.size() - 2;
  for (std::size_t i = 0; i < 2; ++i) source_strides_[i] = moves.axes[i].source_stride;
  std::int64_t size = sum.element_size;  // of a place of all phases, or more than a box
  for (std::size_t d = 0; d < spatial; ++d) {
    const layout_axis& offsets = moves.axes[2 + d];
    const layout_axis& blocks = moves.axes[2 + spatial + d];
    gather_axis& axis = axes_[d];
    axis = {offsets.extent,
            blocks.extent,
            blocks.extent > 1 ? blocks.bound_step : 1,
            offsets.extent > 1 ? offsets.bound_step : 1,
            -moves.bounds[d].offset,
            extents[2 + d],
            offsets.source_stride,
            blocks.source_stride,
            output_strides[2 + d]};
    places_[2 + d] = axis.places();
    has_gaps_ = has_gaps_ || axis.summed_phases() < axis.phases;
    constexpr std::int64_t too_large = 2 * box_bytes;
    size = std::min(size * std::min(axis.phases, too_large), too_large);
  }
  if (moves.source_is_dense) {
    columns_begin_ = source_offset_;
    columns_end_ = source_offset_ + sum.element_size;
    for (std::size_t i = 0; i < moves.rank; ++i) {
      const std::int64_t reach = moves.axes[i].source_stride * (moves.axes[i].extent - 1);
      (reach < 0 ? columns_begin_ : columns_end_) += reach;
    }
  }
  buffered_ = axes_[spatial - 1].phases > 1 && size <= static_cast<std::int64_t>(box_bytes);
  box_ = choose_box(places_, buffered_ ? size : sum.element_size);
}

inline gather::box gather::box_of(std::int64_t number) const noexcept {
  box some{box_, box_};
  for (std::size_t i = box_.size(); i-- > 0;) {
    some.first[i] = number % boxes_along(i) * box_[i];
    some.extents[i] = std::min(box_[i], places_[i] - some.first[i]);
    number /= boxes_along(i);
  }
  return some;
}

inline gather::target gather::buffer_of(const box& some, std::byte* buffer) const noexcept {
  target result{buffer, some.extents, axis_values::repeat(spatial_axes(), 0)};
  std::int64_t stride = sum_.element_size;
  for (std::size_t i = some.extents.size(); i-- > 2;) {
    result.place_strides[i] = stride;
    stride *= some.extents[i];
  }
  for (std::size_t d = spatial_axes(); d-- > 0;) {
    result.phase_strides[d] = stride;
    stride *= axes_[d].phases;
  }
  result.place_strides[1] = stride;
  result.place_strides[0] = stride * some.extents[1];
  return result;
}

inline gather::target gather::image_of(const box& some, std::byte* image) const noexcept {
  target result{image, output_strides_, axis_values::repeat(spatial_axes(), 0)};
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    result.phase_strides[d] = axes_[d].output_stride;
    result.place_strides[2 + d] = wrapping_multiply(axes_[d].phases, axes_[d].output_stride);
  }
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < some.first.size(); ++i) {
    offset = wrapping_add(offset, wrapping_multiply(some.first[i], result.place_strides[i]));
  }
  result.first += offset;
  return result;
}

/// Writes the sums of a box piece by piece.
class gather::piecewise_sum {
 public:
  piecewise_sum(const gather& g, const box& all, const std::byte* columns, const target& sums) noexcept
      : g_(g), box_(all), columns_(columns), sums_(sums) {}

  /// The phases that have terms.
  void sum_phases() {
    offsets at{g_.source_offset_, 0};
    for (std::size_t i = 0; i < 2; ++i) {
      axes_[i] = {box_.extents[i], g_.source_strides_[i], sums_.place_strides[i]};
      at.source = wrapping_add(at.source, wrapping_multiply(box_.first[i], g_.source_strides_[i]));
    }
    const gather_axis& axis = last_axis();
    for (std::int64_t offset = 0; offset < axis.summed_phases(); offset += last_.count) {
      last_ = axis.group_at(offset);
      make_masks();
      sum_along(0, at);
    }
  }

  /// All phases, as if they had no terms.
  void clear() {
    for (std::size_t i = 0; i < 2; ++i) axes_[i] = {box_.extents[i], 0, sums_.place_strides[i]};
    axis_values phases;
    for (std::size_t d = 0; d < rank(); ++d) phases.push_back(g_.axes_[d].phases);
    for_each_choice(phases, [&](const axis_values& chosen) {
      offsets at;
      for (std::size_t d = 0; d < rank(); ++d) {
        const gather_axis& axis = g_.axes_[d];
        const std::int64_t places = ceil_divide(axis.extent - chosen[d], axis.phases) - box_.first[2 + d];
        if (places <= 0) return;
        place_axis(d) = {std::min(box_.extents[2 + d], places), 0, sums_.place_strides[2 + d]};
        terms_[d].extent = 0;
        at.destination = wrapping_add(at.destination, wrapping_multiply(chosen[d], sums_.phase_strides[d]));
      }
      sum_piece(at, {});
    });
  }

 private:
  /// Bytes from the first element of the columns to the first term of a piece, and from the target to its sum.
  struct offsets {
    std::int64_t source = 0;
    std::int64_t destination = 0;
  };
  /// Places of the last axis.
  struct run {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    const std::byte* mask = nullptr;  ///< of the first term, or null: all terms count
    std::int64_t mask_stride = 0;     ///< from term to term
  };

  std::size_t rank() const noexcept { return g_.spatial_axes(); }
  const gather_axis& last_axis() const noexcept { return g_.axes_[rank() - 1]; }
  tile_axis& phase_axis(std::size_t d) noexcept { return axes_[2 + d]; }
  tile_axis& place_axis(std::size_t d) noexcept { return axes_[2 + rank() + d]; }

  /// Makes the piece segment `s` of the phases `p` along axis `d`, where the axes before lead to `at`.
  offsets set_out(std::size_t d, const phase_group& p, const segment& s, offsets at) noexcept {
    const gather_axis& axis = g_.axes_[d];
    const std::int64_t stride = sums_.place_strides[2 + d];
    const std::int64_t block = s.begin - p.shift - s.first_term * p.advance;
    const std::int64_t offset = p.first_offset + s.first_term * p.cycle;
    phase_axis(d) = {p.count, axis.size_stride, sums_.phase_strides[d]};
    place_axis(d) = {s.size(), axis.block_stride, stride};
    terms_[d] = {s.terms(), wrapping_subtract(wrapping_multiply(p.cycle, axis.size_stride),
                                              wrapping_multiply(p.advance, axis.block_stride))};
    return {wrapping_add(at.source, wrapping_add(wrapping_multiply(block, axis.block_stride),
                                                 wrapping_multiply(offset, axis.size_stride))),
            wrapping_add(at.destination, wrapping_add(wrapping_multiply(s.begin - box_.first[2 + d], stride),
                                                      wrapping_multiply(p.number, sums_.phase_strides[d])))};
  }

  void sum_along(std::size_t d, offsets at) {
    if (d + 1 == rank()) {
      if (!sum_masked(at)) sum_segments(d, last_, at);
      return;
    }
    const gather_axis& axis = g_.axes_[d];
    phase_group p;
    for (std::int64_t offset = 0; offset < axis.summed_phases(); offset += p.count) {
      p = axis.group_at(offset);
      sum_segments(d, p, at);
    }
  }

  void sum_segments(std::size_t d, const phase_group& p, offsets at) {
    const std::int64_t end = std::min(box_.first[2 + d] + box_.extents[2 + d], p.places);
    for (std::int64_t begin = box_.first[2 + d]; begin < end;) {
      const segment s = g_.axes_[d].segment_at(p, begin, end);
      const offsets next = set_out(d, p, s, at);
      if (d + 1 == rank()) {
        sum_piece(next, {});
      } else {
        sum_along(d + 1, next);
      }
      begin = s.end;
    }
  }

  /// Sums rows of the last axis with all terms everywhere: those that lie outside of their row of the columns are
  /// other elements, which masks leave out. Returns whether that could be done.
  bool sum_masked(offsets at) {
    const std::size_t d = rank() - 1;
    if (run_count_ == 0) return false;
    for (std::size_t i = 0; i < d; ++i) {
      if (terms_[i].extent == 0) return false;
    }
    if (!reads_columns_only(set_out(d, last_, {0, last_.places, 0, last_.terms}, at))) return false;
    const std::int64_t row = last_.places * g_.sum_.element_size;
    const auto follow = [row](const tile_axis& rows) {
      return rows.extent > 1 && rows.source_stride == row && rows.destination_stride == row;
    };
    const bool joined = has_period_ && follow(place_axis(d - 1));
    for (std::size_t i = 0; i < run_count_; ++i) {
      const run& some = runs_[i];
      const offsets next = set_out(d, last_, {some.begin, some.end, 0, last_.terms}, at);
      terms_[d].mask_stride = some.mask_stride;
      if (!joined) {
        sum_piece(next, {some.mask, 0});
        continue;
      }
      tile_axis& rows = place_axis(d - 1);
      place_axis(d).extent *= rows.extent;
      const std::int64_t count = std::exchange(rows.extent, 1);
      sum_piece(next, {some.mask, static_cast<std::size_t>(row)});
      rows.extent = count;
    }
    return true;
  }

  /// Whether all that is read for the piece belongs to the columns, be it a term or not.
  bool reads_columns_only(offsets at) const noexcept {
    std::int64_t low = at.source;
    std::int64_t high = at.source + g_.sum_.element_size;
    const auto reach = [&](std::int64_t extent, std::int64_t stride) {
      (stride < 0 ? low : high) += (extent - 1) * stride;
    };
    for (std::size_t i = 0; i < 2 + 2 * rank(); ++i) reach(axes_[i].extent, axes_[i].source_stride);
    for (std::size_t d = 0; d < rank(); ++d) reach(terms_[d].extent, terms_[d].stride);
    return low >= g_.columns_begin_ && high <= g_.columns_end_;
  }

  /// Finds out how rows of the last axis are summed with masks, if they are.
  void make_masks() noexcept {
    const std::size_t d = rank() - 1;
    const gather_axis& axis = last_axis();
    const std::int64_t size = g_.sum_.element_size;
    const std::int64_t places = last_.places;
    run_count_ = 0;
    has_period_ = false;
    used_ = 0;
    const bool dense = g_.columns_begin_ != g_.columns_end_;
    const bool contiguous = dense && axis.block_stride == size && sums_.place_strides[2 + d] == size;
    const bool whole = box_.first[2 + d] == 0 && box_.extents[2 + d] >= places;
    if (!contiguous || !whole || g_.sum_.least_masked == 0 || places * size < g_.sum_.least_masked) return;
    // where all terms count
    const std::int64_t begin =
        std::clamp<std::int64_t>(last_.shift + (last_.terms - 1) * last_.advance, 0, places);
    const std::int64_t end = std::clamp<std::int64_t>(last_.shift + axis.blocks, begin, places);
    if (begin == 0 && end == places) return;
    constexpr std::int64_t most_row = 1024;  // bytes: in longer rows it pays to do without masks inside
    if (places * size <= most_row) {
      if (d > 0 && axis.blocks == places && add_periodic_run()) return;
      if (!add_run(0, places)) run_count_ = 0;
      return;
    }
    const std::int64_t some = ceil_divide(std::int64_t{sizeof(register_bytes)}, size);
    bool fits = end - begin >= some;
    if (fits && begin > 0) fits = add_run(0, std::max(begin, some));
    if (fits) runs_[run_count_++] = {begin, end};
    if (fits && end < places) fits = add_run(std::min(end, places - some), places);
    if (!fits) run_count_ = 0;
  }

  /// The masks of all terms are one row of zeros, ones and zeros, from which each takes its part. Returns
  /// whether there was room.
  bool add_run(std::int64_t begin, std::int64_t end) noexcept {
    const std::int64_t size = g_.sum_.element_size;
    const std::int64_t before =
        (last_.terms - 1) * last_.advance;  // places of the last term's mask before the first's
    const std::int64_t row = end - begin + before;
    if (row > (most_mask_bytes - used_) / size) return false;
    std::byte* mask = masks_.data() + used_;
    write_mask(mask, begin - last_.shift - before, row);
    used_ += row * size;
    runs_[run_count_++] = {begin, end, mask + before * size, -last_.advance * size};
    return true;
  }

  /// A row of masks for each term, to be read across the ends of rows.
  bool add_periodic_run() noexcept {
    const std::int64_t row = last_.places * g_.sum_.element_size;
    const std::int64_t stride = row + mask_overrun;
    if (last_.terms > most_mask_bytes / stride) return false;
    for (std::int64_t t = 0; t < last_.terms; ++t) {
      std::byte* mask = masks_.data() + t * stride;
      write_mask(mask, -last_.shift - t * last_.advance, last_.places);
      for (std::int64_t i = row; i < stride; ++i) mask[i] = mask[i - row];
    }
    runs_[run_count_++] = {0, last_.places, masks_.data(), stride};
    has_period_ = true;
    return true;
  }

  /// Of `count` places from the block `first` on, those that are blocks.
  void write_mask(std::byte* mask, std::int64_t first, std::int64_t count) const noexcept {
    const std::int64_t size = g_.sum_.element_size;
    const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, count);
    const std::int64_t end = std::clamp<std::int64_t>(last_axis().blocks - first, begin, count);
    std::memset(mask, 0, static_cast<std::size_t>(count * size));
    std::memset(mask + begin * size, 0xff, static_cast<std::size_t>((end - begin) * size));
  }

  void sum_piece(offsets at, term_masks masks) {
    tile t;
    t.element_size = static_cast<std::size_t>(g_.sum_.element_size);
    const std::span<const term_list::axis> term_axes = std::span(terms_).first(rank());
    term_list terms(term_axes, masks);
    std::size_t i = 1 + 2 * rank();
    t.inner = axes_[i];
    for (const auto member : {&tile::outer, &tile::rows, &tile::slices}) {
      while (i > 0 && axes_[i - 1].extent == 1) --i;
      if (i > 0) t.*member = axes_[--i];
    }
    sum_tiles(t, terms, 0, i, at);
  }

  /// Walks the axes [axis, end), which the tile does not have.
  void sum_tiles(const tile& t, term_list& terms, std::size_t axis, std::size_t end, offsets at) {
    if (axis == end) {
      g_.sum_.sum(t, terms, terms.size() == 0 ? columns_ : columns_ + at.source,
                  sums_.first + at.destination);
      return;
    }
    const tile_axis& walked = axes_[axis];
    for (std::int64_t index = 0; index < walked.extent; ++index) {
      sum_tiles(t, terms, axis + 1, end,
                {wrapping_add(at.source, wrapping_multiply(index, walked.source_stride)),
                 wrapping_add(at.destination, wrapping_multiply(index, walked.destination_stride))});
    }
  }

  static constexpr std::int64_t most_mask_bytes = 8192;

  const gather& g_;
  const box& box_;
  const std::byte* columns_;
  const target& sums_;
  /// The piece: n, c, the phases and the places of each spatial axis.
  std::array<tile_axis, 2 + 2 * (max_rank - 2)> axes_;
  std::array<term_list::axis, max_rank - 2> terms_;
  phase_group last_;  ///< phases of the last axis
  std::array<run, 3> runs_;
  std::size_t run_count_ = 0;
  bool has_period_ = false;
  std::int64_t used_ = 0;
  std::array<std::byte, most_mask_bytes> masks_;
};

template <class Outside>
void gather::write(const box& some, const target& sums, const target& places) const {
  // Along each axis the places that have all phases, then the last one of the image if it has not.
  axis_values full;
  axis_values counts;
  for (std::size_t d = 0; d < spatial_axes(); ++d) {
    full.push_back(std::min(axes_[d].extent / axes_[d].phases - some.first[2 + d], some.extents[2 + d]));
    counts.push_back(full[d] < some.extents[2 + d] ? 2 : 1);
  }
  for_each_choice(counts, [&](const axis_values& chosen) {
    layout moves;
    for (std::size_t i = 0; i < 2; ++i) {
      moves.add({some.extents[i], sums.place_strides[i], places.place_strides[i]});
    }
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      const gather_axis& axis = axes_[d];
      const bool rest = chosen[d] != 0;
      const std::int64_t place = rest ? full[d] : 0;
      const std::int64_t from = sums.place_strides[2 + d];
      const std::int64_t to = places.place_strides[2 + d];
      moves.add({rest ? 1 : full[d], from, to});
      moves.add({rest ? axis.extent % axis.phases : axis.phases, sums.phase_strides[d], axis.output_stride});
      moves.source_offset += place * from;
      moves.destination_offset = wrapping_add(moves.destination_offset, wrapping_multiply(place, to));
    }
    const plan p = plan_moves(moves, sum_.element_size);
    traversal<Outside>(p, sums.first, places.first).run();
  });
}

template <class Outside>
void gather::fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const {
  const box some = box_of(number);
  const target places = image_of(some, image);
  if (!buffered_) {
    piecewise_sum sums(*this, some, columns, places);
    if (has_gaps_) sums.clear();
    sums.sum_phases();
    return;
  }
  alignas(64) std::byte buffer[box_bytes];
  const target phases = buffer_of(some, buffer);
  if (has_gaps_) std::memset(buffer, 0, sizeof(buffer));
  piecewise_sum(*this, some, columns, phases).sum_phases();
  write<Outside>(some, phases, places);
}

}  // namespace reblock::detail
