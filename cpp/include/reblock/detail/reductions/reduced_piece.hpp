// SPDX-License-Identifier: BSD-3-Clause
//
// A reduced_piece reduces the terms of a piece of the image, all of whose elements have equally many terms.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/reductions/reduced_rows.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/fold_options.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

inline constexpr std::size_t no_window_axis = max_rank;

class reduced_piece {
 public:
  static constexpr std::size_t most_terms = reduced_rows::most_terms;
  static constexpr std::size_t weights_room = 4 * most_accumulators;

  /// An axis of the elements. Along the phases of a spatial axis, the offset in the window changes after `repeats` indices.
  struct axis {
    std::int64_t extent = 1;
    std::int64_t source_stride = 0;            ///< bytes
    std::int64_t destination_stride = 0;       ///< bytes
    std::size_t window_axis = no_window_axis;  ///< the spatial axis along whose window it goes
    std::int64_t repeats = 1;
  };
  /// The terms of one spatial axis: offset first_offset + t * cycle of the window, for each t below `count`.
  struct terms {
    std::int64_t count = 0;
    std::int64_t stride = 0;  ///< of the source, bytes
    std::int64_t first_offset = 0;
    std::int64_t cycle = 1;
  };

  /// The masks of the terms of the last spatial axis.
  struct masks {
    const std::byte* first = nullptr;  ///< null: there are none
    std::int64_t stride = 0;           ///< from term to term
    std::size_t period = 0;            ///< as in mask_list
  };

  /// `asks`: asks for the lines of terms before it reduces them.
  reduced_piece(const reducer& how, bool asks) noexcept : how_(how), rows_(how, asks) {}

  /// Tells whether masks may leave out terms: those that are not converted first. Longer rows are faster without masks.
  static bool may_mask(const reducer& how, std::int64_t terms, std::int64_t row) noexcept {
    return how.types.convert == nullptr && how.holds_values() && terms <= std::int64_t{most_terms} &&
           row >= sum_costs::least_masked_reduction && row <= sum_costs::most_masked_reduction;
  }
  /// Adds the axis along which the masks of terms change. Its terms are contiguous.
  void add(const axis& row, const masks& of_terms) noexcept {
    inner_ = row;
    masks_ = of_terms;
  }

  void add(const axis& next) noexcept {
    if (next.extent != 1) axes_[count_++] = next;
  }
  void add(const terms& next) noexcept { terms_[spatial_++] = next; }

  /// `source` points to the first term of the first element.
  void reduce(const std::byte* source, std::byte* destination) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (axes_[i].extent == 0) return;
    }
    if (inner_.extent == 0) return;
    term_count_ = 1;
    for (std::size_t d = 0; d < spatial_; ++d) term_count_ *= terms_[d].count;
    if (term_count_ == 0 && how_.accumulates) return;
    for (std::size_t d = 0; d < spatial_; ++d) offsets_[d] = terms_[d].first_offset;
    if (!rows_.is_weighted() || term_count_ == 0) {
      for (std::size_t i = 0; i < count_; ++i) axes_[i].window_axis = no_window_axis;
    }
    join_axes();
    choose_inner_axes();
    const bool is_row = how_.types.convert == nullptr && inner_.source_stride == term_size();
    const std::int64_t row = is_row ? inner_.extent * rows_.parts() : std::int64_t{most_accumulators};
    functions_ = &functions_of(how_, term_count_, row);
    rows_.set_steps({inner_.source_stride, inner_.destination_stride},
                    {outer_.source_stride, outer_.destination_stride});
    walk(count_, source, destination);
  }

 private:
  /// Tells whether sums of weights divide the results.
  bool sums_weights() const noexcept { return rows_.is_weighted() && how_.by == fold_reduction::mean; }
  std::int64_t term_size() const noexcept { return how_.types.terms.size; }
  std::int64_t result_size() const noexcept { return how_.types.results.size; }
  bool has_masks() const noexcept { return masks_.first != nullptr; }

  /// Tells whether an axis may continue another one. Any may if weights change along neither. One whose weights change may
  /// continue a short run of elements with one weight, such as the channels of a pixel.
  bool may_continue(const axis& outer, const axis& inner) const noexcept {
    if (outer.window_axis == no_window_axis && inner.window_axis == no_window_axis) return true;
    return !has_masks() && outer.window_axis != no_window_axis && inner.window_axis == no_window_axis &&
           inner.source_stride == term_size() && inner.destination_stride == result_size() &&
           inner.extent < sum_costs::least_weight_run;
  }

  /// Joins axes that follow each other on both sides.
  void join_axes() noexcept {
    for (bool joins = true; joins;) {
      joins = false;
      for (std::size_t i = 0; i < count_ && !joins; ++i) {
        for (std::size_t k = 0; k < count_ && !joins; ++k) {
          axis& inner = axes_[i];
          const axis& outer = axes_[k];
          if (i == k || outer.source_stride != wrapping_multiply(inner.extent, inner.source_stride) ||
              outer.destination_stride != wrapping_multiply(inner.extent, inner.destination_stride) ||
              !may_continue(outer, inner)) {
            continue;
          }
          if (outer.window_axis != no_window_axis) inner.repeats = inner.extent;
          inner.window_axis = outer.window_axis;
          inner.extent *= outer.extent;
          axes_[k] = axes_[--count_];
          joins = true;
        }
      }
    }
  }

  /// Takes two axes for the rows of accumulators: the longest along which terms are contiguous, or else results, or else
  /// the longest; then one that fills a quarter of the accumulators, if there is one. They leave the list.
  void choose_inner_axes() noexcept {
    const auto take_best = [this](axis& to, const auto& rank) {
      std::size_t best = count_;
      for (std::size_t i = 0; i < count_; ++i) {
        // with masks, all elements have the same weights
        if (has_masks() && axes_[i].window_axis != no_window_axis) continue;
        if (best == count_ || rank(axes_[i]) > rank(axes_[best])) best = i;
      }
      if (best == count_) return;
      to = axes_[best];
      axes_[best] = axes_[--count_];
    };
    if (!has_masks()) {
      take_best(inner_, [this](const axis& a) {
        const int contiguous = a.source_stride == term_size()          ? 2
                               : a.destination_stride == result_size() ? 1
                                                                       : 0;
        return std::pair(a.extent >= 4 ? contiguous : contiguous - 2, a.extent);
      });
    }
    const std::int64_t room = ceil_divide(rows_.most_elements() / 4, inner_.extent);
    take_best(outer_, [room](const axis& a) {
      return std::pair(std::min(a.extent, room), -std::abs(a.destination_stride));
    });
    // weights stay the same along the axes before the others
    unweighted_ = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (axes_[i].window_axis == no_window_axis) std::swap(axes_[i], axes_[unweighted_++]);
    }
  }

  /// Walks the axes along which weights change, the last of them outermost.
  void walk(std::size_t end, const std::byte* source, std::byte* destination) noexcept {
    if (end == unweighted_) return reduce_rows(source, destination);
    const axis& outer = axes_[end - 1];
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      walk(end - 1, source + wrapping_multiply(i, outer.source_stride),
           destination + wrapping_multiply(i, outer.destination_stride));
      ++offsets_[outer.window_axis];
    }
    offsets_[outer.window_axis] -= outer.extent;
  }

  /// Cuts the inner axes into rows of accumulators. If all rows have the same terms, weights and masks, these are listed once,
  /// and rows that follow each other in the columns are read one after the other.
  void reduce_rows(const std::byte* source, std::byte* destination) noexcept {
    const std::int64_t limit = most_elements();
    const std::int64_t period = static_cast<std::int64_t>(masks_.period) / term_size();
    std::int64_t columns = std::min(inner_.extent, limit);
    if (columns < inner_.extent && period != 0 && period <= limit) columns = limit / period * period;
    const std::int64_t rows = std::min(outer_.extent, limit / columns);
    const auto choose = [&](std::int64_t i, std::int64_t j) {
      first_row_ = i;
      first_column_ = j;
      rows_.set_size(std::min(rows, outer_.extent - i), std::min(columns, inner_.extent - j));
    };
    const auto along = [](std::int64_t i, std::int64_t outer, std::int64_t j, std::int64_t inner) {
      return wrapping_add(wrapping_multiply(i, outer), wrapping_multiply(j, inner));
    };
    const auto source_at = [&](std::int64_t i, std::int64_t j) {
      return along(i, outer_.source_stride, j, inner_.source_stride);
    };
    const auto destination_at = [&](std::int64_t i, std::int64_t j) {
      return along(i, outer_.destination_stride, j, inner_.destination_stride);
    };
    listed_ = 0;
    const bool same_columns =
        columns == inner_.extent ||
        (has_masks() ? period != 0 && columns % period == 0 : inner_.window_axis == no_window_axis);
    if (same_columns && outer_.window_axis == no_window_axis) {
      return repeat(unweighted_, source, destination, [&](const std::byte* from, std::byte* to) {
        for (std::int64_t i = 0; i < outer_.extent; i += rows) {
          for (std::int64_t j = 0; j < inner_.extent; j += columns) {
            choose(i, j);
            reduce_elements(from + source_at(i, j), to + destination_at(i, j));
          }
        }
      });
    }
    for (std::int64_t j = 0; j < inner_.extent; j += columns) {
      listed_ = 0;
      for (std::int64_t i = 0; i < outer_.extent; i += rows) {
        if (outer_.window_axis != no_window_axis) listed_ = 0;
        choose(i, j);
        repeat(unweighted_, source + source_at(i, j), destination + destination_at(i, j),
               [this](const std::byte* from, std::byte* to) { reduce_elements(from, to); });
      }
    }
  }

  /// Returns the largest number of elements that are reduced at once. If each has masks, weights or a factor of its own, these
  /// are listed, so there are fewer.
  std::int64_t most_elements() noexcept {
    if (term_count_ == 0) return rows_.most_elements();  // there may be no functions
    const std::int64_t most = rows_.most_elements(*functions_);
    rows_.set_size(2, std::min(inner_.extent, most));
    const bool rows_vary = outer_.window_axis != no_window_axis && (sums_weights() || !rows_.adds_in_place());
    const bool lists =
        has_masks() || (rows_.is_weighted() && (inner_.window_axis != no_window_axis || rows_vary));
    return lists ? rows_.most_elements() : most;
  }

  /// Walks the other axes. Weights stay as they are.
  template <class Reduce>
  void repeat(std::size_t end, const std::byte* source, std::byte* destination,
              const Reduce& reduce) noexcept {
    if (end == 0) return reduce(source, destination);
    const axis& outer = axes_[end - 1];
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      repeat(end - 1, source + wrapping_multiply(i, outer.source_stride),
             destination + wrapping_multiply(i, outer.destination_stride), reduce);
    }
  }

  void reduce_elements(const std::byte* source, std::byte* destination) noexcept {
    if (term_count_ == 0) return rows_.clear(destination);
    rows_.begin(*functions_, destination);
    accumulate(source);
    if (has_masks()) return rows_.finish(destination, factors_, lists_counts_);
    const bool is_mean = how_.by == fold_reduction::mean;
    rows_.finish(destination, {is_mean ? term_count_ : 1, sums_weights() ? factors_ : nullptr,
                               sums_weights() && !vary_rows_ && !vary_columns_, is_mean});
  }

  /// Adds all terms, in ascending order of the offsets in the window.
  void accumulate(const std::byte* source) noexcept {
    // Terms and weights stay in the list if it has room for all.
    if (listed_ >= rows_.rows() * rows_.columns())
      return add_listed(source, static_cast<std::size_t>(term_count_));
    if (has_masks() && term_count_ <= std::int64_t{most_terms}) return accumulate_masked(source);
    choose_weights();
    const std::size_t at_once =
        rows_.is_weighted() ? std::min(most_terms, weights_room / weights_count()) : most_terms;
    const auto all = static_cast<std::size_t>(term_count_);
    if (sums_weights()) std::memset(factors_, 0, sizeof(factors_));
    std::array<std::int64_t, max_rank> chosen{};
    std::int64_t offset = 0;
    for (std::size_t done = 0; done < all;) {
      const std::size_t batch = std::min(at_once, all - done);
      for (std::size_t t = 0; t < batch; ++t) {
        offsets_of_terms_[t] = offset;
        if (rows_.is_weighted()) {
          weights_of_terms_[t] = weights_ + t * weights_count();
          fill_weights(weights_ + t * weights_count(), chosen);
        }
        if (has_masks()) {
          masks_of_terms_[t] = masks_.first + chosen[spatial_ - 1] * masks_.stride;
        } else if (rows_.is_weighted() && vary_columns_) {
          functions_->list_weights(weights_ + t * weights_count(), weights_count(), weights_count());
        }
        std::size_t d = spatial_;
        for (; d > 0; --d) {
          const terms& along = terms_[d - 1];
          offset = wrapping_add(offset, along.stride);
          if (++chosen[d - 1] < along.count) break;
          offset = wrapping_subtract(offset, wrapping_multiply(along.count, along.stride));
          chosen[d - 1] = 0;
        }
      }
      add_listed(source, batch);
      if (sums_weights() && has_masks()) add_masked_weights(batch);
      done += batch;
    }
    listed_ = all <= at_once ? rows_.rows() * rows_.columns() : 0;
    if (how_.by != fold_reduction::mean) return;
    if (has_masks()) return fill_masked_factors();
    if (!rows_.is_weighted()) return;
    for (std::size_t i = 0; i < weights_count(); ++i) {
      factors_[i] = how_.factor_of_mean(factors_[i]);
    }
    if (vary_rows_ || vary_columns_) repeat_factors();
  }

  /// Does the same for terms that have masks and room in the list. Walked elements differ in their weights alone.
  void accumulate_masked(const std::byte* source) noexcept {
    if (!has_offsets_) list_offsets();
    if (rows_.is_weighted()) list_weights();
    listed_ = rows_.rows() * rows_.columns();
    add_listed(source, static_cast<std::size_t>(term_count_));
    if (how_.by != fold_reduction::mean) return;
    if (rows_.is_weighted()) {
      std::memset(factors_, 0, sizeof(factors_));
      add_masked_weights(static_cast<std::size_t>(term_count_));
    }
    fill_masked_factors();
  }

  /// Replaces a list of one value by one for each term: `next(value, d, k)` is the value of index k along axis d.
  template <class Value, class Next>
  void list_terms(Value* list, const Next& next) const noexcept {
    std::int64_t listed = 1;
    for (std::size_t d = 0; d < spatial_; ++d) {
      const std::int64_t count = terms_[d].count;
      for (std::int64_t i = listed; i-- > 0;) {  // no value is overwritten before its last use
        const Value before = list[i];
        for (std::int64_t k = 0; k < count; ++k) list[i * count + k] = next(before, d, k);
      }
      listed *= count;
    }
  }

  void list_offsets() noexcept {
    offsets_of_terms_[0] = 0;
    list_terms(offsets_of_terms_, [this](std::int64_t offset, std::size_t d, std::int64_t k) {
      return wrapping_add(offset, wrapping_multiply(k, terms_[d].stride));
    });
    const std::int64_t count = terms_[spatial_ - 1].count;
    for (std::int64_t t = 0; t < term_count_; t += count) {
      for (std::int64_t k = 0; k < count; ++k) masks_of_terms_[t + k] = masks_.first + k * masks_.stride;
    }
    has_offsets_ = true;
  }

  /// Lists one weight for each term.
  void list_weights() noexcept {
    const window_weights& w = how_.weights;
    if (!w.has_products()) {
      weights_of_terms_[0] = place_of_weight(w, offsets_, spatial_);
      return list_terms(weights_of_terms_, [&](const double* weight, std::size_t d, std::int64_t k) {
        return weight + k * terms_[d].cycle * w.strides()[d];
      });
    }
    weights_[0] = 1;
    list_terms(weights_, [&](double product, std::size_t d, std::int64_t k) {
      return product * w.values(d)[offsets_[d] + k * terms_[d].cycle];
    });
    for (std::int64_t t = 0; t < term_count_; ++t) weights_of_terms_[t] = weights_ + t;
  }

  void add_listed(const std::byte* source, std::size_t count) noexcept {
    term_offsets listed{offsets_of_terms_, count};
    if (has_masks()) listed.masks = {masks_of_terms_, mask_begin(), masks_.period};
    rows_.add(source, listed, weights_of_terms_, steps_);
  }

  std::size_t mask_begin() const noexcept {
    const auto begin = static_cast<std::size_t>(first_column_ * term_size());
    return masks_.period == 0 ? begin : begin % masks_.period;
  }

  /// Counts the accumulators of a row that have masks of their own.
  std::size_t masked_accumulators() const noexcept {
    const auto parts = static_cast<std::size_t>(rows_.parts());
    const std::size_t row = rows_.columns() * parts;
    const std::size_t period = masks_.period / static_cast<std::size_t>(term_size()) * parts;
    return period == 0 ? row : std::min(row, period);
  }
  /// Calls visit(i, at) for those of the first parts of elements: the masks have accumulator i's byte at `at`.
  template <class Visit>
  void for_each_masked(const Visit& visit) const noexcept {
    std::size_t at = mask_begin();
    for (std::size_t i = 0; i < masked_accumulators(); i += static_cast<std::size_t>(rows_.parts())) {
      visit(i, at);
      at += static_cast<std::size_t>(term_size());
      if (at == masks_.period) at = 0;
    }
  }

  /// Adds the weights of listed terms to the sums of weights, in the order of the terms: no mask changes a sum.
  void add_masked_weights(std::size_t count) noexcept {
    for (std::size_t t = 0; t < count; ++t) {
      const double weight = *weights_of_terms_[t];
      const std::byte* const mask = masks_of_terms_[t];
      for_each_masked(
          [&](std::size_t i, std::size_t at) { factors_[i] += mask[at] != std::byte{} ? weight : 0; });
    }
  }

  /// Computes a factor for each accumulator: the sum of the weights of its terms, or their number, or the inverse.
  void fill_masked_factors() noexcept {
    const auto parts = static_cast<std::size_t>(rows_.parts());
    const std::size_t row = rows_.columns() * parts;
    const std::size_t different = masked_accumulators();
    const std::int64_t count = terms_[spatial_ - 1].count;
    const auto terms_of_mask = static_cast<double>(term_count_ / count);
    for_each_masked([&](std::size_t i, std::size_t at) {
      double sum = rows_.is_weighted() ? factors_[i] : 0;
      for (std::int64_t t = 0; t < count && !rows_.is_weighted(); ++t) {
        const std::byte kept = masks_.first[t * masks_.stride + static_cast<std::int64_t>(at)];
        if (kept != std::byte{}) sum += terms_of_mask;
      }
      if (rows_.has_inverse_factors()) sum = how_.factor_of_mean(sum);
      std::fill_n(factors_ + i, parts, sum);
    });
    for (std::size_t i = different; i < row; ++i) factors_[i] = factors_[i - different];
    for (std::size_t r = 1; r < rows_.rows(); ++r)
      std::memcpy(factors_ + r * row, factors_, row * sizeof(double));
    lists_counts_ = !rows_.has_inverse_factors() && rows_.list_counts(factors_);
  }

  /// Chooses how many weights each term has: those that differ. If terms go through a buffer, each accumulator has one.
  void choose_weights() noexcept {
    if (has_masks()) return;  // each term has one
    const auto parts = static_cast<std::size_t>(rows_.parts());
    vary_columns_ = inner_.window_axis != no_window_axis;
    vary_rows_ = rows_.rows() > 1 && outer_.window_axis != no_window_axis;
    if (!rows_.adds_in_place()) vary_columns_ = vary_rows_ = vary_columns_ || vary_rows_;
    weight_rows_ = vary_rows_ ? rows_.rows() : 1;
    weight_columns_ = vary_columns_ ? rows_.columns() * parts : 1;
    steps_ = {vary_rows_ ? weight_columns_ : 0, vary_columns_ ? std::size_t{1} : 0};
  }
  std::size_t weights_count() const noexcept { return weight_rows_ * weight_columns_; }

  /// Repeats the factors, which are those of different weights, for each accumulator. Begins at the end: a factor that is
  /// still needed is not overwritten.
  void repeat_factors() noexcept {
    const std::size_t columns = rows_.columns() * static_cast<std::size_t>(rows_.parts());
    for (std::size_t r = rows_.rows(); r-- > 0;) {
      const double* const from = factors_ + (vary_rows_ ? r * weight_columns_ : 0);
      for (std::size_t i = columns; i-- > 0;) factors_[r * columns + i] = from[vary_columns_ ? i : 0];
    }
  }

  /// Computes the different weights of a term, and adds them to the sums of weights.
  void fill_weights(double* to, const std::array<std::int64_t, max_rank>& chosen) noexcept {
    std::array<std::int64_t, max_bounds> offsets{};
    for (std::size_t d = 0; d < spatial_; ++d) offsets[d] = offsets_[d] + chosen[d] * terms_[d].cycle;
    if (has_masks()) {  // all elements have one weight
      *to = weight_at(how_.weights, offsets, spatial_);
      return;
    }
    if (outer_.window_axis != no_window_axis) offsets[outer_.window_axis] += first_row_;
    if (how_.weights.has_products()) {
      fill_products(to, offsets);
    } else {
      fill_whole_weights(to, offsets);
    }
    if (!sums_weights()) return;
    for (std::size_t i = 0; i < weights_count(); ++i) factors_[i] += to[i];
  }

  /// Fills the different weights of a row: value(index) is the weight of an index along the axis of `inner_`.
  template <class Value>
  void fill_row(double* row, const Value& value) const noexcept {
    const std::size_t columns = vary_columns_ ? rows_.columns() : 1;
    const std::size_t parts = weight_columns_ / columns;
    const auto same = static_cast<std::size_t>(inner_.repeats) * parts;  // weights of an index
    std::int64_t index = first_column_ / inner_.repeats;
    if (same == 1) {
      for (std::size_t k = 0; k < columns; ++k) row[k] = value(index + static_cast<std::int64_t>(k));
      return;
    }
    std::size_t end = same - static_cast<std::size_t>(first_column_ % inner_.repeats) * parts;
    for (std::size_t k = 0; k < weight_columns_; ++index, end += same) {
      const double weight = value(index);
      for (; k < std::min(end, weight_columns_); ++k) row[k] = weight;
    }
  }

  /// The products have the order of the spatial axes, whichever axes make the rows: so they are always rounded alike.
  void fill_products(double* to, const std::array<std::int64_t, max_bounds>& offsets) const noexcept {
    const window_weights& w = how_.weights;
    for (std::size_t i = 0; i < weight_rows_; ++i) {
      double* const row = to + i * weight_columns_;
      double product = 1;
      bool is_filled = false;
      for (std::size_t d = 0; d < spatial_; ++d) {
        const std::int64_t step = w.strides()[d];
        const double* const weight = w.values(d) + offsets[d] * step;
        if (d == inner_.window_axis) {
          fill_row(row, [=](std::int64_t index) { return rounded(product * weight[index * step]); });
          is_filled = true;
          continue;
        }
        const double factor = weight[d == outer_.window_axis ? static_cast<std::int64_t>(i) * step : 0];
        if (!is_filled) {
          product = rounded(product * factor);
        } else {
          for (std::size_t k = 0; k < weight_columns_; ++k) row[k] = rounded(row[k] * factor);
        }
      }
      if (!is_filled) std::fill_n(row, weight_columns_, product);
    }
  }

  void fill_whole_weights(double* to, const std::array<std::int64_t, max_bounds>& offsets) const noexcept {
    const window_weights& w = how_.weights;
    const double* const first = place_of_weight(w, offsets, spatial_);
    const auto step_of = [&w](const axis& a) {
      return a.window_axis == no_window_axis ? 0 : w.strides()[a.window_axis];
    };
    const std::int64_t row_step = step_of(outer_);
    const std::int64_t step = step_of(inner_);
    for (std::size_t i = 0; i < weight_rows_; ++i) {
      const double* const from = first + static_cast<std::int64_t>(i) * row_step;
      fill_row(to + i * weight_columns_, [=](std::int64_t index) { return from[index * step]; });
    }
  }

  const reducer& how_;
  const accumulation* functions_ = nullptr;
  std::array<axis, 2 + 2 * (max_rank - 2)> axes_;
  std::size_t count_ = 0;
  std::size_t unweighted_ = 0;  ///< axes along which weights do not change
  std::array<terms, max_rank - 2> terms_;
  std::size_t spatial_ = 0;
  std::array<std::int64_t, max_rank - 2> offsets_{};  ///< in the window, of the walked element's first term
  std::int64_t term_count_ = 0;
  axis inner_;
  axis outer_;
  masks masks_;
  std::int64_t first_row_ = 0;
  std::int64_t first_column_ = 0;
  reduced_rows rows_;
  bool has_offsets_ = false;   ///< whether offsets_of_terms_ and masks_of_terms_ have all terms
  std::size_t listed_ = 0;     ///< elements for which the lists and factors_ have all terms
  bool lists_counts_ = false;  ///< whether factors_ is a list of rows_.list_counts()
  bool vary_rows_ = false;     ///< whether rows have weights of their own
  bool vary_columns_ = false;  ///< whether the elements of a row have
  std::size_t weight_rows_ = 1;
  std::size_t weight_columns_ = 1;  ///< accumulators of a row with weights of their own, or 1
  weight_steps steps_;
  std::int64_t offsets_of_terms_[most_terms];
  const double* weights_of_terms_[most_terms];
  const std::byte* masks_of_terms_[most_terms];
  alignas(64) double weights_[weights_room + reduced_rows::whole_registers];
  alignas(64) double factors_[most_accumulators];  ///< sums of weights, then their inverses
};

/// Reduces a piece.
template <class = void>
void reduce_piece(reduced_piece& piece, const std::byte* source, std::byte* destination) noexcept {
  piece.reduce(source, destination);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
