// SPDX-License-Identifier: BSD-3-Clause
//
// A padded_bands sums images of short rows with a padding mode, a band of whole rows at a time. A band is a list of
// rectangles of terms, in the order of addition. The terms of a rectangle lie like its accumulators, so the terms from the
// padding are only more rectangles. If the rows of the columns follow each other like those of the image, a rectangle is a
// whole band of terms with a mask: registers then hold the sums until all terms are added.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/padded_axis.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/reductions/reduced_rows.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/simd/streams.hpp>
#include <reblock/detail/sums/padded_sum_axis.hpp>
#include <reblock/fold_options.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class padded_bands {
 public:
  static constexpr std::int64_t most_terms = 255;

  /// `axes` are the spatial axes. `functions` are for most_terms terms of an element.
  padded_bands(const reducer& how, const accumulation& functions, std::size_t rank,
               const std::array<padded_sum_axis, max_bounds>& axes) noexcept
      : how_(how), functions_(functions), rank_(rank), axes_(axes), rows_(how) {
    const std::int64_t width = last().image.extent;
    const std::int64_t height = rank_ > 1 ? axes_[rank_ - 2].image.extent : 1;
    band_rows_ = std::clamp<std::int64_t>(rows_.most_elements() / width, 1, height);
    if (rank_ > 1 && are_rows_apart(how.types.terms.size, axes_[rank_ - 2], last())) band_rows_ = 1;
  }

  /// Tells whether bands are faster than the inner positions and the others apart, and whether their lists have room. If sums
  /// begin from what the image holds, a position without terms must keep its bits.
  static bool fits(const reducer& how, std::size_t rank,
                   const std::array<padded_sum_axis, max_bounds>& axes) noexcept {
    if (how.accumulates) return false;
    const padded_sum_axis& last = axes[rank - 1];
    const index_range inner = last.inner();
    const std::int64_t inside = inner.end - inner.begin;
    if (inside / padding_costs::most_inside >= last.image.extent - inside) return false;
    const std::int64_t parts = how.types.results.is_pair ? 2 : 1;
    if (how.by == fold_reduction::max || how.by == fold_reduction::min || how.types.convert != nullptr ||
        last.stride != 1 || (last.windows > 1 && last.window_stride != how.types.terms.size) ||
        last.image.extent > std::int64_t{most_accumulators} / parts) {
      return false;
    }
    std::int64_t rectangles = 1;
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t runs = 0;  // single positions
      for (std::int64_t o = 0; o < axes[d].size && runs <= std::int64_t{most_rectangles}; ++o) {
        axes[d].for_each_run(o, [&](const term_run& run) { runs += run.step == 1 ? 1 : run.count; });
      }
      if (runs > std::int64_t{most_rectangles} / std::max<std::int64_t>(rectangles, 1)) return false;
      rectangles *= runs;
    }
    return true;
  }

  /// Calls run(band) for each band. All images and channels have the same bands.
  template <class Run>
  void for_each_band(const Run& run) noexcept {
    choose_position(0, run);
  }

  /// Some channels, and from one to the next in bytes. The columns may be read in a range of bytes from `columns` on.
  struct channels {
    const std::byte* columns;
    std::byte* image;
    std::int64_t count;
    std::int64_t source_step;
    std::int64_t destination_step;
    index_range readable;
    bool are_far;  ///< whether caches have no room for the columns of all channels

    channels part(std::int64_t first, std::int64_t some) const noexcept {
      const std::int64_t from = first * source_step;
      return {columns + from,
              image + first * destination_step,
              some,
              source_step,
              destination_step,
              {readable.begin - from, readable.end - from},
              are_far};
    }
  };

  /// Sums the band that was chosen. `all` begins with the first element of a channel.
  void sum(const channels& all) noexcept {
    for (std::int64_t i = 0, at_once = 0; i < all.count; i += at_once) {
      at_once = std::min(copies_, all.count - i);
      const channels some = all.part(i, at_once);
      if (all.are_far) prefetch_next(some);
      if (sum_masked(some)) continue;
      for (std::int64_t k = 0; k < at_once; ++k) {
        const channels one = some.part(k, 1);
        if (at_once == 1 || !sum_masked(one)) sum_rectangles(one.columns, one.image);
      }
    }
  }

 private:
  /// An element has at most one term of each rectangle.
  static constexpr std::size_t most_rectangles{most_terms};
  static_assert(most_rectangles <= most_added_terms);
  static constexpr std::int64_t most_mask_bytes = 12 * 1024;

  /// Rows of terms and where they are added. Accumulators are counted from the band's first one.
  struct rectangle {
    std::int64_t source = 0;       ///< bytes
    std::int64_t source_step = 0;  ///< from row to row, bytes
    std::int64_t first = 0;
    std::int64_t step = 0;  ///< from row to row
    std::size_t rows = 1;
    std::size_t columns = 1;
    double weight = 1;

    bool has_place_of(const rectangle& other) const noexcept {
      return first == other.first && rows == other.rows && columns == other.columns &&
             (rows == 1 || step == other.step);
    }
  };

  const padded_sum_axis& last() const noexcept { return axes_[rank_ - 1]; }
  std::int64_t term_size() const noexcept { return how_.types.terms.size; }
  std::int64_t band_height() const noexcept {
    return rank_ > 1 ? range_[rank_ - 2].end - range_[rank_ - 2].begin : 1;
  }
  std::int64_t band_elements() const noexcept { return band_height() * last().image.extent; }
  /// Tells whether rows of the columns do not follow each other like those of the image.
  static bool are_rows_apart(std::int64_t term_size, const padded_sum_axis& rows,
                             const padded_sum_axis& last) noexcept {
    return rows.stride != 1 || (rows.windows > 1 && rows.window_stride != last.image.extent * term_size);
  }

  /// Asks for the columns of the band in as many channels as come next. Processors do not predict where they are.
  void prefetch_next(const channels& some) const noexcept {
    for (std::int64_t k = 0; k < some.count; ++k) {
      const std::int64_t next = wrapping_add(wrapping_multiply(some.count + k, some.source_step), moved_);
      for (std::int64_t at = reach_.begin; at < reach_.end; at += cache_sizes::line) {
        prefetch<2>(some.columns, wrapping_add(next, at));
      }
    }
  }

  /// Sums the band of some channels with masks. Returns whether it has masks, and reads nothing but the columns.
  bool sum_masked(const channels& some) noexcept {
    // channels may run backwards
    const std::int64_t to_last = wrapping_multiply(some.count - 1, some.source_step);
    const std::int64_t begin = reach_.begin + moved_ + std::min<std::int64_t>(0, to_last);
    const std::int64_t end = reach_.end + moved_ + std::max<std::int64_t>(0, to_last);
    if (!has_masks_ || begin < some.readable.begin || end > some.readable.end) return false;
    std::byte* const to = some.image + place_;
    if (copies_ == 1) {
      set_band_size();
    } else {
      rows_.set_steps({term_size(), last().output_stride}, {some.source_step, some.destination_step});
      rows_.set_size(some.count, band_elements());
    }
    rows_.begin(functions_, to);
    rows_.add_whole({some.columns + moved_, some.source_step, static_cast<std::size_t>(some.count),
                     static_cast<std::size_t>(band_elements())},
                    {offsets_.data(), count_, {masks_of_terms_.data(), 0, 0}}, weights_of_terms_.data());
    rows_.finish(to, factors_.data(), lists_counts_);
    return true;
  }

  void set_band_size() noexcept {
    rows_.set_steps({term_size(), last().output_stride}, {0, rank_ > 1 ? axes_[rank_ - 2].output_stride : 0});
    rows_.set_size(band_height(), last().image.extent);
  }

  void sum_rectangles(const std::byte* columns, std::byte* image) noexcept {
    std::byte* const to = image + place_;
    const std::byte* const from = columns + moved_;
    set_band_size();
    rows_.begin_in_parts(functions_, to);
    for (std::size_t i = 0; i < count_; ++i) {
      const rectangle& next = rectangles_[i];
      rows_.add_part({from + next.source, next.source_step, next.rows, next.columns}, next.first, next.step,
                     next.weight);
    }
    rows_.finish(to, factors_.data(), lists_counts_);
  }

  template <class Run>
  void choose_position(std::size_t d, const Run& run) noexcept {
    if (d + 1 == rank_) {
      range_[d] = {0, last().image.extent};
      list();
      return run();
    }
    const padded_sum_axis& axis = axes_[d];
    if (d + 2 == rank_) choose_band_rows();
    const std::int64_t at_once = d + 2 == rank_ ? band_rows_ : 1;
    for (std::int64_t q = 0; q < axis.image.extent; q += at_once) {
      const index_range before = std::exchange(range_[d], {q, std::min(q + at_once, axis.image.extent)});
      if (d + 2 == rank_ && q > 0 && has_same_terms(axis, before) && has_same_terms(axis, range_[d])) {
        move_by(axis, at_once);
        run();
      } else {
        choose_position(d + 1, run);
      }
    }
  }

  /// Makes bands smaller until there is room for their masks.
  void choose_band_rows() noexcept {
    range_[rank_ - 1] = {0, last().image.extent};
    for (;; band_rows_ = (band_rows_ + 1) / 2) {
      range_[rank_ - 2] = {0, band_rows_};
      list();
      if (has_masks_ || band_rows_ == 1 || !may_mask()) return;
    }
  }

  /// Tells whether all positions of a band's rows have a term of each offset, and none from the padding.
  bool has_same_terms(const padded_sum_axis& axis, const index_range& rows) const noexcept {
    const index_range inner = axis.inner();
    const std::int64_t begin = std::max(inner.begin, axis.first + (axis.size - 1) * axis.dilation);
    const std::int64_t end = std::min(inner.end, axis.first + axis.windows);
    return axis.stride == 1 && rows.end - rows.begin == band_rows_ && rows.begin >= begin && rows.end <= end;
  }
  /// Moves the rectangles of a band to the next band, which has the same terms.
  void move_by(const padded_sum_axis& axis, std::int64_t rows) noexcept {
    place_ = wrapping_add(place_, wrapping_multiply(rows, axis.output_stride));
    moved_ = wrapping_add(moved_, wrapping_multiply(rows, axis.window_stride));
  }

  /// Lists the rectangles of a band.
  void list() noexcept {
    count_ = 0;
    place_ = 0;
    moved_ = 0;
    for (std::size_t d = 0; d < rank_; ++d)
      place_ = wrapping_add(place_, wrapping_multiply(range_[d].begin, axes_[d].output_stride));
    choose_offset(0);
    has_masks_ = count_ > 0 && may_mask() && make_masks();
    // bands of several channels are summed at once if their sums follow each other
    const bool joins = has_masks_ && rank_ > 1 &&
                       axes_[rank_ - 2].output_stride == last().image.extent * last().output_stride;
    copies_ = joins || (has_masks_ && rank_ == 1) ? rows_.most_elements() / band_elements() : 1;
    if (how_.by == fold_reduction::mean) fill_factors();
  }

  /// Tells whether each rectangle is a band of terms that follow each other, as far as they count.
  bool may_mask() const noexcept {
    const std::int64_t row = last().image.extent;
    return std::all_of(rectangles_.begin(), rectangles_.begin() + count_, [&](const rectangle& next) {
      return next.rows == 1 || (next.step == row && next.source_step == row * term_size());
    });
  }

  /// Makes a mask for each rectangle. Returns whether there was room.
  bool make_masks() noexcept {
    const std::int64_t bytes = band_elements() * term_size();
    std::int64_t used = 0;
    reach_ = {0, 0};
    for (std::size_t i = 0; i < count_; ++i) {
      const rectangle& next = rectangles_[i];
      offsets_[i] = wrapping_subtract(next.source, next.first * term_size());
      weights_of_terms_[i] = &next.weight;
      reach_.begin = i == 0 ? offsets_[i] : std::min(reach_.begin, offsets_[i]);
      reach_.end = i == 0 ? offsets_[i] + bytes : std::max(reach_.end, offsets_[i] + bytes);
      std::size_t same = 0;
      while (!rectangles_[same].has_place_of(next)) ++same;
      if (same < i) {
        masks_of_terms_[i] = masks_of_terms_[same];
        continue;
      }
      if (bytes > most_mask_bytes - used) return false;
      std::byte* const mask = masks_.data() + used;
      used += bytes;
      masks_of_terms_[i] = mask;
      std::memset(mask, 0, static_cast<std::size_t>(bytes));
      for (std::size_t r = 0; r < next.rows; ++r) {
        const std::int64_t first = next.first + static_cast<std::int64_t>(r) * next.step;
        std::memset(mask + first * term_size(), 0xff, next.columns * static_cast<std::size_t>(term_size()));
      }
    }
    return true;
  }

  void choose_offset(std::size_t d) noexcept {
    if (d == rank_) {
      rectangle next;
      if (!how_.weights.empty()) next.weight = weight_at(how_.weights, offset_, rank_);
      return choose_run(0, next);
    }
    for (offset_[d] = 0; offset_[d] < axes_[d].size; ++offset_[d]) choose_offset(d + 1);
  }

  void choose_run(std::size_t d, const rectangle& so_far) noexcept {
    if (d == rank_) {
      rectangle& listed = rectangles_[count_++];
      listed = so_far;
      const auto columns = static_cast<std::int64_t>(listed.columns);
      if (listed.step == columns && listed.source_step == columns * how_.types.terms.size)
        listed.columns *= std::exchange(listed.rows, 1);
      return;
    }
    const padded_sum_axis& axis = axes_[d];
    axis.for_each_run(offset_[d], [&](const term_run& all) {
      term_run run = all.inside(range_[d]);
      // accumulators of a row, and rows of a band, follow each other
      const bool is_whole = d + 2 >= rank_ && run.step == 1;
      for (std::int64_t i = 0, at_once = 1; i < run.count; i += at_once) {
        at_once = is_whole ? run.count : 1;
        rectangle next = so_far;
        next.source =
            wrapping_add(next.source, wrapping_add(wrapping_multiply(offset_[d], axis.size_stride),
                                                   wrapping_multiply(run.window + i, axis.window_stride)));
        const std::int64_t at = run.first + i * run.step - range_[d].begin;
        if (d + 1 == rank_) {
          next.first += at;
          next.columns = static_cast<std::size_t>(at_once);
        } else if (d + 2 == rank_) {
          next.first = at * last().image.extent;
          next.step = at_once > 1 ? run.step * last().image.extent : 0;  // one row's step may be any number
          next.source_step = axis.window_stride;
          next.rows = static_cast<std::size_t>(at_once);
        }
        choose_run(d + 1, next);
      }
    });
  }

  /// Adds the weights of each accumulator's terms.
  void fill_factors() noexcept {
    const std::int64_t parts = rows_.parts();
    std::fill(factors_.begin(), factors_.end(), 0.0);
    for (std::size_t i = 0; i < count_; ++i) {
      const rectangle& next = rectangles_[i];
      for (std::size_t r = 0; r < next.rows; ++r) {
        double* const row = factors_.data() + (next.first + static_cast<std::int64_t>(r) * next.step) * parts;
        for (std::size_t k = 0; k < next.columns * static_cast<std::size_t>(parts); ++k)
          row[k] += next.weight;
      }
    }
    const auto band = static_cast<std::size_t>(band_elements() * parts);
    for (std::size_t i = band; i < band * static_cast<std::size_t>(copies_); ++i)
      factors_[i] = factors_[i - band];
    lists_counts_ = false;
    if (!rows_.has_inverse_factors()) {
      lists_counts_ = functions_.list_counts(factors_.data(), factors_.size());
      return;
    }
    for (double& factor : factors_) {
      factor = how_.factor_of_mean(factor);
    }
  }

  const reducer& how_;
  const accumulation& functions_;
  std::size_t rank_;
  const std::array<padded_sum_axis, max_bounds>& axes_;
  std::int64_t band_rows_ = 1;                     ///< indices of the axis before the last one
  std::array<index_range, max_bounds> range_{};    ///< positions of the band
  std::array<std::int64_t, max_bounds> offset_{};  ///< in the window, of the listed rectangles
  std::int64_t moved_ = 0;                         ///< of the rectangles since they were listed, bytes
  std::int64_t place_ = 0;                         ///< the band's first element, bytes
  std::size_t count_ = 0;
  std::array<rectangle, most_rectangles> rectangles_;
  std::array<double, most_accumulators> factors_;
  bool lists_counts_ = false;  ///< whether factors_ is a list of accumulation::list_counts()
  bool has_masks_ = false;
  std::int64_t copies_ = 1;  ///< channels that are summed at once
  index_range reach_;        ///< bytes that terms with masks read
  std::array<std::int64_t, most_rectangles> offsets_;
  std::array<const double*, most_rectangles> weights_of_terms_;
  std::array<const std::byte*, most_rectangles> masks_of_terms_;
  std::array<std::byte, most_mask_bytes> masks_;
  reduced_rows rows_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
