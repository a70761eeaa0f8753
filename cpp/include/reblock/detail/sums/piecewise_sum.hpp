// SPDX-License-Identifier: BSD-3-Clause
//
// A piecewise_sum sums overlapping windows. It cuts a box of the output into pieces. All elements of a piece have terms of
// the same window offsets, so one list of terms serves all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/for_each_choice.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/reductions/reduced_piece.hpp>
#include <reblock/detail/simd/register_bytes.hpp>
#include <reblock/detail/sums/gather_axis.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/sums/term_list.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// columns_of_windows says where the terms are and how to add them. Strides and offsets are in bytes.
struct columns_of_windows {
  std::size_t rank = 0;  ///< spatial axes
  std::array<gather_axis, max_rank - 2> axes{};
  std::array<std::int64_t, 2> strides{};  ///< of n and c
  std::int64_t offset = 0;                ///< of the element of index 0
  index_range readable{0, 0};             ///< bytes that sums may read, or none
  std::int64_t element_size = 0;          ///< bytes
  const sum_functions* sum = nullptr;
  bool accumulates = false;         ///< whether sums begin from the values in the target
  bool are_far = false;             ///< whether caches have no room for the columns
  const reducer* reduce = nullptr;  ///< how terms become results other than plain sums

  std::int64_t result_size() const noexcept {
    return reduce == nullptr ? element_size : reduce->types.results.size;
  }
};

/// A box has the places [first, first + extents) of n, c and the spatial axes, and of the last axis some phases.
struct box {
  axis_values first;
  axis_values extents;
  index_range phases;
};

/// A box_target says where the sums of a box go. It has strides in bytes of n, c and the places, and of the phases of each
/// spatial axis.
struct box_target {
  std::byte* first;  ///< place 0 of the box, its first phase
  axis_values place_strides;
  axis_values phase_strides;
};

/// A piecewise_sum writes the sums of a box piece by piece.
class piecewise_sum {
 public:
  /// `source` is the first element of the columns.
  piecewise_sum(const columns_of_windows& columns, const std::byte* source, const box& all,
                const box_target& sums) noexcept
      : columns_(columns), source_(source), box_(all), sums_(sums) {}

  /// Sums the phases that have terms.
  void sum_phases() {
    offsets at{columns_.offset, 0};
    for (std::size_t i = 0; i < 2; ++i) {
      axes_[i] = {box_.extents[i], columns_.strides[i], sums_.place_strides[i]};
      at.source = wrapping_add(at.source, wrapping_multiply(box_.first[i], columns_.strides[i]));
    }
    const gather_axis& axis = last_axis();
    std::int64_t count = 0;
    for (std::int64_t offset = 0; offset < axis.summed_phases(); offset += count) {
      last_ = axis.group_at(offset);
      count = last_.count;
      last_.keep(box_.phases);
      if (last_.count == 0) continue;
      make_masks();
      sum_along(0, at);
    }
  }

  /// Clears all positions of a box of the image.
  void clear() {
    for (std::size_t i = 0; i < 2; ++i) axes_[i] = {box_.extents[i], 0, sums_.place_strides[i]};
    for (std::size_t d = 0; d < rank(); ++d) {
      const gather_axis& axis = columns_.axes[d];
      const std::int64_t places = box_.extents[2 + d];
      const std::int64_t positions = axis.extent - box_.first[2 + d] * axis.phases;
      const bool is_last = positions / axis.phases < places;
      phase_axis(d) = {};
      place_axis(d) = {is_last ? positions : places * axis.phases, 0, sums_.phase_strides[d]};
      terms_[d].extent = 0;
    }
    sum_piece({}, {});
  }

 private:
  /// offsets has the bytes from the columns' first element to a piece's first term, and from the target to its sum.
  struct offsets {
    std::int64_t source = 0;
    std::int64_t destination = 0;
  };
  /// A run has places of the last axis.
  struct run {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    const std::byte* mask = nullptr;  ///< of the first term, or null: all terms count
    std::int64_t mask_stride = 0;     ///< from term to term
  };

  std::size_t rank() const noexcept { return columns_.rank; }
  const gather_axis& last_axis() const noexcept { return columns_.axes[rank() - 1]; }
  tile_axis& phase_axis(std::size_t d) noexcept { return axes_[2 + d]; }
  tile_axis& place_axis(std::size_t d) noexcept { return axes_[2 + rank() + d]; }

  /// Sets the piece along axis `d` to segment `s` of the phases `group`. `at` has the offsets from the axes before.
  offsets set_out(std::size_t d, const phase_group& group, const segment& s, offsets at) noexcept {
    const gather_axis& axis = columns_.axes[d];
    const std::int64_t stride = sums_.place_strides[2 + d];
    const std::int64_t first = s.terms() > 0 ? s.first_term : 0;  // without terms its value has no effect
    const std::int64_t block = s.begin - group.shift - first * group.advance;
    const std::int64_t offset = group.first_offset + first * group.cycle;
    const std::int64_t first_phase = d + 1 == rank() ? box_.phases.begin : 0;
    phase_axis(d) = {group.count, axis.size_stride, wrapping_multiply(group.step, sums_.phase_strides[d])};
    place_axis(d) = {s.size(), axis.block_stride, stride};
    offsets_[d] = offset;
    cycles_[d] = group.cycle;
    terms_[d] = {s.terms(), wrapping_subtract(wrapping_multiply(group.cycle, axis.size_stride),
                                              wrapping_multiply(group.advance, axis.block_stride))};
    return {wrapping_add(at.source, wrapping_add(wrapping_multiply(block, axis.block_stride),
                                                 wrapping_multiply(offset, axis.size_stride))),
            wrapping_add(at.destination, wrapping_add(wrapping_multiply(s.begin - box_.first[2 + d], stride),
                                                      wrapping_multiply(group.number - first_phase,
                                                                        sums_.phase_strides[d])))};
  }

  void sum_along(std::size_t d, offsets at) {
    if (d + 1 == rank()) {
      if (!sum_masked(at)) sum_segments(d, last_, at);
      return;
    }
    const gather_axis& axis = columns_.axes[d];
    phase_group group;
    for (std::int64_t offset = 0; offset < axis.summed_phases(); offset += group.count) {
      group = axis.group_at(offset);
      sum_segments(d, group, at);
    }
  }

  /// Calls visit(segment) for the segments of a group along axis `d`.
  template <class Visit>
  void for_each_segment(std::size_t d, const phase_group& group, const Visit& visit) const {
    const std::int64_t end = std::min(box_.first[2 + d] + box_.extents[2 + d], group.places);
    for (std::int64_t begin = box_.first[2 + d]; begin < end;) {
      // without terms along one axis, sums along the others need no segments
      const segment s =
          has_terms_ ? columns_.axes[d].segment_at(group, begin, end) : segment{begin, end, 0, 0};
      visit(s);
      begin = s.end;
    }
  }

  void sum_segments(std::size_t d, const phase_group& group, offsets at) {
    if (d + 1 == rank()) return sum_last_segments(group, at);
    for_each_segment(d, group, [&](const segment& s) {
      const offsets next = set_out(d, group, s, at);
      const bool outside = std::exchange(has_terms_, has_terms_ && s.terms() > 0);
      sum_along(d + 1, next);
      has_terms_ = outside;
    });
  }

  /// Sums the longest segment of the last axis first: it reads and writes whole lines of the cache, where the short segments
  /// at the edges then find their elements.
  void sum_last_segments(const phase_group& group, offsets at) {
    const std::size_t d = rank() - 1;
    segment longest{};
    for_each_segment(d, group, [&](const segment& s) {
      if (s.size() > longest.size()) longest = s;
    });
    if (longest.size() == 0) return;
    sum_piece(set_out(d, group, longest, at), {});
    for_each_segment(d, group, [&](const segment& s) {
      if (s.begin != longest.begin) sum_piece(set_out(d, group, s, at), {});
    });
  }

  /// Sums rows of the last axis with all terms everywhere. Terms outside of their row of the columns are other elements:
  /// masks leave them out. Returns whether this was possible.
  bool sum_masked(offsets at) {
    const std::size_t d = rank() - 1;
    if (run_count_ == 0 || !has_terms_) return false;
    if (!reads_columns_only(set_out(d, last_, {0, last_.places, 0, last_.terms}, at))) return false;
    const std::int64_t row = last_.places * columns_.element_size;
    const std::int64_t result_row = last_.places * columns_.result_size();
    const auto follow = [=](const tile_axis& rows) {
      return rows.extent > 1 && rows.source_stride == row && rows.destination_stride == result_row;
    };
    const bool joined = has_period_ && follow(place_axis(d - 1));
    for (std::size_t i = 0; i < run_count_; ++i) {
      const run& found = runs_[i];
      const offsets next = set_out(d, last_, {found.begin, found.end, 0, last_.terms}, at);
      terms_[d].mask_stride = found.mask_stride;
      if (!joined) {
        sum_piece(next, {found.mask, 0});
        continue;
      }
      tile_axis& rows = place_axis(d - 1);
      place_axis(d).extent *= rows.extent;
      const std::int64_t count = std::exchange(rows.extent, 1);
      sum_piece(next, {found.mask, static_cast<std::size_t>(row)});
      rows.extent = count;
    }
    return true;
  }

  /// Tells whether the piece reads only elements of the columns, terms or not.
  bool reads_columns_only(offsets at) const noexcept {
    if (at.source < columns_.readable.begin || at.source > columns_.readable.end)
      return false;  // the address may lie outside
    std::int64_t low = at.source;
    std::int64_t high = at.source + columns_.element_size;
    const auto reach = [&](std::int64_t extent, std::int64_t stride) {
      (stride < 0 ? low : high) += (extent - 1) * stride;
    };
    for (std::size_t i = 0; i < 2 + 2 * rank(); ++i) reach(axes_[i].extent, axes_[i].source_stride);
    for (std::size_t d = 0; d < rank(); ++d) reach(terms_[d].extent, terms_[d].stride);
    return low >= columns_.readable.begin && high <= columns_.readable.end;
  }

  /// Makes masks for rows of the last axis, if they can be summed with masks.
  void make_masks() noexcept {
    run_count_ = 0;
    has_period_ = false;
    used_ = 0;
    const std::size_t d = rank() - 1;
    const gather_axis& axis = last_axis();
    const std::int64_t size = columns_.element_size;
    const std::int64_t places = last_.places;
    const bool dense = columns_.readable.begin != columns_.readable.end;
    const bool contiguous =
        dense && axis.block_stride == size && sums_.place_strides[2 + d] == columns_.result_size();
    const bool whole = box_.first[2 + d] == 0 && box_.extents[2 + d] >= places;
    if (!contiguous || !whole || !may_mask(places * size)) return;
    // where all terms count
    const auto [begin, end] = indices_between(last_.shift + (last_.terms - 1) * last_.advance,
                                              last_.shift + axis.blocks, 1, places);
    if (begin == 0 && end == places) return;
    if (places * size <= sum_costs::most_masked_row) {
      if (d > 0 && axis.blocks == places && add_periodic_run()) return;
      if (!add_run(0, places)) run_count_ = 0;
      return;
    }
    const std::int64_t fill = ceil_divide(std::int64_t{sizeof(register_bytes)}, size);
    // no place may be summed twice: sums may begin from what the image holds
    const std::int64_t first = begin > 0 ? std::max(begin, fill) : 0;
    const std::int64_t last = end < places ? std::min(end, places - fill) : places;
    bool fits = last - first >= fill;
    if (fits && first > 0) fits = add_run(0, first);
    if (fits) runs_[run_count_++] = {first, last};
    if (fits && last < places) fits = add_run(last, places);
    if (!fits) run_count_ = 0;
  }

  /// Makes the masks of all terms from one row of zeros, ones and zeros. Each term takes a part of the row. Returns whether
  /// there was room.
  [[gnu::noinline]] bool add_run(std::int64_t begin, std::int64_t end) noexcept {
    const std::int64_t size = columns_.element_size;
    const std::int64_t before =
        (last_.terms - 1) * last_.advance;  // places of other masks before the first one's
    const std::int64_t room = (most_mask_bytes - used_) / size;
    if (before > room || end - begin > room - before) return false;
    const std::int64_t row = end - begin + before;
    std::byte* mask = masks_.data() + used_;
    write_mask(mask, begin - last_.shift - before, row);
    used_ += row * size;
    runs_[run_count_++] = {begin, end, mask + before * size, -last_.advance * size};
    return true;
  }

  /// Makes a row of masks for each term. Sums read it across the ends of rows.
  bool add_periodic_run() noexcept {
    const std::int64_t row = last_.places * columns_.element_size;
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

  /// Writes the mask of `count` places from window `first` on: it keeps places whose windows exist.
  void write_mask(std::byte* mask, std::int64_t first, std::int64_t count) const noexcept {
    const std::int64_t size = columns_.element_size;
    const auto [begin, end] = indices_between(-first, last_axis().blocks - first, 1, count);
    std::memset(mask, 0, static_cast<std::size_t>(count * size));
    std::memset(mask + begin * size, 0xff, static_cast<std::size_t>((end - begin) * size));
  }

  /// Tells whether all places of the last axis have terms.
  bool have_all_terms() const noexcept {
    const std::int64_t end = last_.shift + (last_.terms - 1) * last_.advance + last_axis().blocks;
    const bool have_gaps = last_.terms > 1 && last_.advance > last_axis().blocks;
    return last_.shift <= 0 && end >= last_.places && !have_gaps;
  }

  /// Tells whether the terms of rows of so many bytes may have masks.
  bool may_mask(std::int64_t row) const noexcept {
    if (columns_.reduce != nullptr) {
      // a greatest or least value of no terms would not be 0
      if (columns_.reduce->keeps_terms() && !have_all_terms()) return false;
      return reduced_piece::may_mask(*columns_.reduce, last_.terms, row);
    }
    return columns_.sum->may_mask;
  }

  void sum_piece(offsets at, term_masks masks) {
    if (columns_.reduce != nullptr) return reduce_piece(at, masks);
    add_piece(at, masks);
  }

  /// It is not inlined, because its list of terms needs much of the stack, which reductions do not have.
  [[gnu::noinline]] void add_piece(offsets at, term_masks masks) {
    tile t;
    t.element_size = static_cast<std::size_t>(columns_.element_size);
    const std::span<const term_list::axis> term_axes = std::span(terms_).first(rank());
    term_list terms(term_axes, masks, columns_.accumulates);
    const std::array<tile_axis, 2 + 2 * (max_rank - 2)> as_given = axes_;
    std::size_t i = 1 + 2 * rank();
    if (masks.first == nullptr) {
      bring_contiguous_axis(i);
      join_rows(i);
    }
    t.inner = axes_[i];
    for (const auto member : {&tile::outer, &tile::rows, &tile::slices}) {
      while (i > 0 && axes_[i - 1].extent == 1) --i;
      if (i > 0) t.*member = axes_[--i];
    }
    if (terms.size() == 0) {  // the source has no elements here, so its strides may lead anywhere
      for (const auto member : {&tile::inner, &tile::outer, &tile::rows, &tile::slices}) {
        (t.*member).source_stride = 0;
      }
    }
    sum_tiles(t, terms, 0, i, at);
    axes_ = as_given;
  }

  [[gnu::noinline]] void reduce_piece(offsets at, term_masks masks) {
    reduced_piece piece(*columns_.reduce, columns_.are_far);
    bool has_terms = true;
    for (std::size_t d = 0; d < rank(); ++d) {
      piece.add(reduced_piece::terms{terms_[d].extent, terms_[d].stride, offsets_[d], cycles_[d]});
      has_terms = has_terms && terms_[d].extent != 0;
    }
    for (std::size_t i = 0; i < 2 + 2 * rank(); ++i) {
      const bool is_phase = i >= 2 && i < 2 + rank();
      const reduced_piece::axis next{axes_[i].extent, has_terms ? axes_[i].source_stride : 0,
                                     axes_[i].destination_stride, is_phase ? i - 2 : no_window_axis};
      const bool has_masks = masks.first != nullptr && i == 1 + 2 * rank();
      if (!has_masks) {
        piece.add(next);
      } else {
        piece.add(next, {masks.first, terms_[rank() - 1].mask_stride, masks.period});
      }
    }
    // without terms the source has no elements here
    columns_.reduce->types.ways->reduce(piece, has_terms ? source_ + at.source : source_,
                                        sums_.first + at.destination);
  }

  /// Swaps the longest axis that is contiguous on both sides with axis `last`.
  void bring_contiguous_axis(std::size_t last) noexcept {
    std::size_t best = last;
    const auto contiguous = [&](std::size_t i) {
      const bool is_run = axes_[i].source_stride == columns_.element_size &&
                          axes_[i].destination_stride == columns_.element_size;
      return is_run ? axes_[i].extent : 0;
    };
    for (std::size_t i = 0; i < last; ++i) {
      if (contiguous(i) > contiguous(best)) best = i;
    }
    std::swap(axes_[best], axes_[last]);
  }

  /// Makes rows that follow each other on both sides one row of axis `last`.
  void join_rows(std::size_t last) noexcept {
    tile_axis& row = axes_[last];
    for (std::size_t i = last; i-- > 0;) {
      tile_axis& next = axes_[i];
      if (next.extent == 1 || next.source_stride != wrapping_multiply(row.extent, row.source_stride) ||
          next.destination_stride != wrapping_multiply(row.extent, row.destination_stride))
        continue;
      row.extent *= std::exchange(next.extent, 1);
      i = last;
    }
  }

  /// Walks the axes [axis, end), which are not in the tile.
  [[gnu::noinline]] void sum_tiles(const tile& t, term_list& terms, std::size_t axis, std::size_t end,
                                   offsets at) {
    if (axis == end) {
      columns_.sum->sum(t, terms, terms.size() == 0 ? source_ : source_ + at.source,
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

  static constexpr std::int64_t most_mask_bytes = 5120;

  const columns_of_windows& columns_;
  const std::byte* source_;
  const box& box_;
  const box_target& sums_;
  /// The axes of the piece: n, c, and the phases and the places of each spatial axis.
  std::array<tile_axis, 2 + 2 * (max_rank - 2)> axes_;
  std::array<term_list::axis, max_rank - 2> terms_;
  std::array<std::int64_t, max_rank - 2> offsets_{};  ///< in the window, of the first terms
  std::array<std::int64_t, max_rank - 2> cycles_{};   ///< from term to term
  bool has_terms_ = true;                             ///< whether the axes before the last one have terms
  phase_group last_;                                  ///< phases of the last axis
  std::array<run, 3> runs_;
  std::size_t run_count_ = 0;
  bool has_period_ = false;
  std::int64_t used_ = 0;
  std::array<std::byte, most_mask_bytes> masks_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
