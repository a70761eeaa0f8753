// SPDX-License-Identifier: BSD-3-Clause
//
// scattered_accumulators are the adder of a scattered_reduction: a scatter_runner gives it rows of terms.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/reductions/reduced_rows.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/reductions/scattered_reduction.hpp>
#include <reblock/detail/sums/scatter_axis.hpp>
#include <reblock/detail/sums/scatter_boxes.hpp>
#include <reblock/detail/sums/scatter_runner.hpp>
#include <reblock/detail/tile.hpp>
#include <reblock/fold_options.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The accumulators of a scattered_reduction.
class scattered_accumulators {
 public:
  using boxes = scattered_reduction;
  static constexpr std::int64_t buffer_bytes = scattered_accumulators_bytes;

  explicit scattered_accumulators(const scattered_reduction& all) noexcept
      : all_(all), how_(*all.how_), functions_(*all.functions_), parts_(all.parts()) {
    if (is_weighted()) list_weights();
  }
  scattered_accumulators(const scattered_accumulators&) = delete;

  /// Begins a box.
  void begin(std::byte* buffer, std::int64_t elements, const std::byte*) const noexcept {
    functions_.fill(buffer, static_cast<std::size_t>(elements * parts_),
                    how_.by == fold_reduction::sum ? beginning::zero : beginning::first_term);
  }

  /// Returns the distance of the weights of neighbouring offsets along an axis, in weights.
  std::int64_t weight_stride(std::size_t d) const noexcept { return weight_strides_[d]; }

  /// Lists rows of so many elements. Then add_axis() lists their axes, the innermost first.
  void list(std::int64_t row) noexcept {
    row_ = row;
    count_ = 0;
  }
  void add_axis(const tile_axis& next, std::int64_t weight_stride) noexcept {
    axes_[count_++] = {next, weight_stride};
  }
  /// Tells whether rows of so many elements follow each other in the lists of weights.
  bool may_join(std::int64_t row, std::int64_t weight_stride) const noexcept {
    return !is_weighted() || weight_stride == (vary_ ? row : 0);
  }

  /// Adds the listed rows. `weight` is the place of the first term's weight.
  void add(const std::byte* from, std::byte* to, std::int64_t weight) const noexcept {
    walk(count_, from, to, weight);
  }

  /// Makes the accumulators of a box results, and returns where these are. `phase_stride`: from phase to phase of the row's
  /// axis, elements.
  const std::byte* finish(std::span<const scattered_part> box, std::int64_t phase_stride,
                          std::byte* buffer) noexcept {
    box_ = box;
    accumulators_ = buffer;
    if (counts_terms()) count_along_axes();
    results_ = all_.sum_size_ == all_.element_size_ ? buffer : results_buffer_.data();
    const std::size_t row = all_.order_[0];
    const index_range& places = box[row].places;
    const std::int64_t count = places.end - places.begin;
    if (row < 2) {
      finish_row({0, count, places, 0});
    } else if (all_.rows_are_places_) {
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t place = places.begin + k;
        finish_row({k * box[row].stride, row_axis().phases, {place, place + 1}, 0});
      }
    } else {
      for (std::int64_t phase = 0; phase < row_axis().phases; ++phase)
        finish_row({phase * phase_stride, count, places, phase});
    }
    return results_;
  }

 private:
  struct listed_axis {
    tile_axis rows;
    std::int64_t weight_stride;
  };
  /// Neighbouring elements of the buffer: those of some places that have one phase, or all phases of one place.
  struct row_part {
    std::int64_t first;  ///< in the buffer
    std::int64_t count;
    index_range places;
    std::int64_t phase;
  };

  static constexpr std::int64_t most_counts = 64;

  bool is_weighted() const noexcept { return !how_.weights.empty(); }
  /// Tells whether numbers of terms divide the sums.
  bool counts_terms() const noexcept { return how_.by == fold_reduction::mean && !is_weighted(); }
  const scatter_axis& row_axis() const noexcept { return all_.axes_[all_.order_[0] - 2]; }

  /// Lists the weights of the window. Along the axis of rows they follow each other.
  void list_weights() noexcept {
    const window_weights& w = how_.weights;
    const std::size_t rank = all_.spatial_axes();
    std::int64_t count = 1;
    for (std::size_t k = 0; k < all_.places_.size(); ++k) {
      const std::size_t i = all_.order_[k];
      if (i < 2) continue;
      weight_strides_[i - 2] = count;
      count *= w.extents()[i - 2];
    }
    std::array<std::int64_t, max_bounds> offsets{};
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::size_t d = 0; d < rank; ++d) offsets[d] = n / weight_strides_[d] % w.extents()[d];
      weights_[static_cast<std::size_t>(n)] = weight_at(w, offsets, rank);
    }
    vary_ = all_.order_[0] >= 2 && row_axis().by_windows && row_axis().inner > 1;
    if (!vary_) return;
    for (std::int64_t n = 0; n < count * parts_; ++n)
      listed_[static_cast<std::size_t>(n)] = weights_[static_cast<std::size_t>(n / parts_)];
    const auto all = static_cast<std::size_t>(count * parts_);
    functions_.list_weights(listed_.data(), all, all);
  }

  void walk(std::size_t end, const std::byte* from, std::byte* to, std::int64_t weight) const noexcept {
    const bool takes_rows = end == 1 && (vary_ || !is_weighted() || axes_[0].weight_stride == 0);
    if (end == 0 || takes_rows) return add_rows(end == 0 ? listed_axis{} : axes_[0], from, to, weight);
    const listed_axis& outer = axes_[end - 1];
    const std::int64_t step = outer.rows.destination_stride * all_.sum_size_;
    for (std::int64_t i = 0; i < outer.rows.extent; ++i) {
      walk(end - 1, from + wrapping_multiply(i, outer.rows.source_stride), to + i * step,
           weight + i * outer.weight_stride);
    }
  }

  void add_rows(const listed_axis& rows, const std::byte* from, std::byte* to,
                std::int64_t weight) const noexcept {
    single_terms_of_rows terms{{from, rows.rows.source_stride, static_cast<std::size_t>(rows.rows.extent),
                                static_cast<std::size_t>(row_ * parts_)},
                               0,
                               rows.rows.destination_stride * parts_,
                               1};
    if (vary_) {
      const auto size = static_cast<std::int64_t>(functions_.weight_size) * parts_;
      terms.weights = reinterpret_cast<const std::byte*>(listed_.data()) + weight * size;
      terms.weights_step = static_cast<std::size_t>(rows.weight_stride * size);
    } else if (is_weighted()) {
      terms.weight = weights_[static_cast<std::size_t>(weight)];
    }
    functions_.add_single(to, terms);
  }

  void finish_row(const row_part& row) noexcept {
    const std::int64_t most = std::int64_t{most_accumulators} / parts_;
    for (std::int64_t k = 0; k < row.count; k += most) {
      part_ = row;
      part_.first += k;
      part_.count = std::min(most, row.count - k);
      if (!all_.rows_are_places_) {
        part_.places.begin += k;
        part_.places.end = part_.places.begin + part_.count;
      }
      first_phase_ = all_.rows_are_places_ ? k : 0;
      if (counts_terms()) count_along_row();
      finish_along(0, part_.first);
    }
  }

  /// Calls visit(k, count, offset) for the terms of elements of the row's part, or of a place along another axis, in the order
  /// of offsets. They belong to `count` elements from the k-th on. `offset` is that of the first.
  template <class Visit>
  void for_each_term(std::size_t d, const Visit& visit) const {
    const scatter_axis& axis = all_.axes_[d];
    const bool is_row = all_.order_[0] == 2 + d;
    const index_range places = is_row ? part_.places : index_range{place_[d], place_[d] + 1};
    if (is_row && all_.rows_are_places_) {
      if (places.begin >= 0 && places.begin < axis.outer) visit(0, part_.count, first_phase_);
      return;
    }
    const index_range outer = axis.outer_at(places);
    for (std::int64_t k = outer.begin; k < outer.end; ++k) {
      const std::int64_t u = axis.by_windows ? outer.end - 1 - (k - outer.begin) : k;
      if (is_row && axis.phases != 1 && axis.phase_of(u) != part_.phase) continue;
      const index_range inner = axis.inner_at(u, places);
      if (inner.begin >= inner.end) continue;
      visit(axis.place_of(u) + inner.begin * axis.step() - places.begin, inner.end - inner.begin,
            axis.by_windows ? inner.begin : u);
    }
  }

  /// Counts the terms of a place along an axis.
  std::int64_t count_terms(std::size_t d) const noexcept {
    std::int64_t count = 0;
    for_each_term(d, [&count](std::int64_t, std::int64_t, std::int64_t) { ++count; });
    return count;
  }
  void count_along_axes() noexcept {
    for (std::size_t d = 0; d < all_.spatial_axes(); ++d) {
      if (all_.order_[0] == 2 + d) continue;
      const index_range& places = box_[2 + d].places;
      const std::int64_t count = std::min(most_counts, places.end - places.begin);
      for (std::int64_t k = 0; k < count; ++k) {
        place_[d] = places.begin + k;
        counts_[d][static_cast<std::size_t>(k)] = count_terms(d);
      }
    }
  }
  void count_along_row() noexcept {
    row_counts_.fill(1);
    has_same_counts_ = true;
    const std::size_t row = all_.order_[0];
    if (row < 2) return;
    row_counts_.fill(0);
    for_each_term(row - 2, [this](std::int64_t k, std::int64_t count, std::int64_t) {
      for (std::int64_t i = k; i < k + count; ++i) ++row_counts_[static_cast<std::size_t>(i)];
    });
    for (std::int64_t i = 1; i < part_.count; ++i)
      has_same_counts_ = has_same_counts_ && row_counts_[static_cast<std::size_t>(i)] == row_counts_[0];
  }

  /// Walks the places of the other axes. `first`: the first element in the buffer.
  void finish_along(std::size_t d, std::int64_t first) noexcept {
    if (d == all_.spatial_axes()) return finish_images(first);
    if (all_.order_[0] == 2 + d) return finish_along(d + 1, first);
    const scattered_part& own = box_[2 + d];
    for (std::int64_t place = own.places.begin; place < own.places.end; ++place) {
      place_[d] = place;
      finish_along(d + 1, first + (place - own.places.begin) * own.stride);
    }
  }

  /// Writes the results of all images and channels.
  void finish_images(std::int64_t first) noexcept {
    const quotient by = choose_quotient();
    const auto bytes = static_cast<std::size_t>(part_.count * all_.element_size_);
    const auto accumulators = static_cast<std::size_t>(part_.count * parts_);
    const auto extent = [this](std::size_t i) {
      return all_.order_[0] == i ? 1 : box_[i].places.end - box_[i].places.begin;
    };
    for (std::int64_t n = 0; n < extent(0); ++n) {
      for (std::int64_t c = 0; c < extent(1); ++c) {
        const std::int64_t at = first + n * box_[0].stride + c * box_[1].stride;
        std::byte* const to = results_ + at * all_.element_size_;
        const std::byte* const from = accumulators_ + at * all_.sum_size_;
        if (by.count == 0) {
          std::memset(to, 0, bytes);
        } else if (from != to) {
          functions_.finish(from, to, accumulators, by);
        } else {
          std::byte results[most_accumulators * sizeof(double)];
          functions_.finish(from, results, accumulators, by);
          std::memcpy(to, results, bytes);
        }
      }
    }
  }

  quotient choose_quotient() noexcept {
    if (how_.by == fold_reduction::sum) return {1, nullptr, false, false};
    const auto count = static_cast<std::size_t>(part_.count);
    const bool is_spatial = all_.order_[0] >= 2;
    const std::size_t different = is_spatial ? count : 1;
    if (is_weighted()) {
      std::fill_n(factors_.begin(), different, 0.0);
      add_weights(0, 0, 0, static_cast<std::int64_t>(different), 0);
      for (std::size_t i = 0; i < different; ++i) factors_[i] = how_.factor_of_mean(factors_[i]);
      if (!is_spatial) return {1, factors_.data(), true};
      repeat_parts(count);
      return {1, factors_.data()};
    }
    std::int64_t terms = 1;
    for (std::size_t d = 0; d < all_.spatial_axes(); ++d) {
      if (all_.order_[0] == 2 + d) continue;
      const std::int64_t at = place_[d] - box_[2 + d].places.begin;
      terms *= at < most_counts ? counts_[d][static_cast<std::size_t>(at)] : count_terms(d);
    }
    if (has_same_counts_) return {terms * row_counts_[0]};
    const bool inverts = how_.types.functions->means_by_inverse;
    for (std::size_t i = 0; i < count; ++i) {
      const auto all = static_cast<double>(terms * row_counts_[i]);
      factors_[i] = inverts ? how_.factor_of_mean(all) : all;
    }
    repeat_parts(count);
    const bool is_listed =
        !inverts && functions_.list_counts(factors_.data(), count * static_cast<std::size_t>(parts_));
    return {1, factors_.data(), false, true, !inverts, is_listed};
  }

  /// Repeats factors for the parts of elements, from the last one on: a factor that is still needed is not overwritten.
  void repeat_parts(std::size_t count) noexcept {
    const auto parts = static_cast<std::size_t>(parts_);
    if (parts == 1) return;
    for (std::size_t i = count; i-- > 0;) std::fill_n(factors_.begin() + i * parts, parts, factors_[i]);
  }

  /// Adds the weights of terms to those of `count` elements from the k-th on. `along`: from the weight of an element to that of
  /// the next.
  void add_weights(std::size_t d, std::int64_t weight, std::int64_t k, std::int64_t count,
                   std::int64_t along) noexcept {
    if (d == all_.spatial_axes()) {
      for (std::int64_t i = 0; i < count; ++i)
        factors_[static_cast<std::size_t>(k + i)] += weights_[static_cast<std::size_t>(weight + i * along)];
      return;
    }
    const bool is_row = all_.order_[0] == 2 + d;
    const std::int64_t stride = weight_strides_[d];
    for_each_term(d, [&](std::int64_t first, std::int64_t elements, std::int64_t offset) {
      const std::int64_t next = weight + offset * stride;
      if (!is_row) return add_weights(d + 1, next, k, count, along);
      add_weights(d + 1, next, first, elements, all_.axes_[d].by_windows ? stride : 0);
    });
  }

  const scattered_reduction& all_;
  const reducer& how_;
  const accumulation& functions_;
  std::int64_t parts_;  ///< of an element
  bool vary_ = false;   ///< whether the elements of a row have weights of their own
  std::array<std::int64_t, max_bounds> weight_strides_{};
  std::int64_t row_ = 1;  ///< elements
  std::array<listed_axis, max_rank> axes_;
  std::size_t count_ = 0;
  std::span<const scattered_part> box_;
  std::byte* accumulators_ = nullptr;
  std::byte* results_ = nullptr;
  row_part part_{};
  std::int64_t first_phase_ = 0;  ///< of the row's part, if rows are places
  bool has_same_counts_ = true;
  std::array<std::int64_t, max_bounds> place_{};                          ///< along the other axes
  std::array<std::array<std::int64_t, most_counts>, max_bounds> counts_;  ///< of terms, along the other axes
  std::array<std::int64_t, most_accumulators> row_counts_;
  std::array<double, most_accumulators> factors_;
  std::array<double, scattered_reduction::most_weights> weights_;
  std::array<double, scattered_reduction::most_weights> listed_;  ///< as functions_ have them
  alignas(64) std::array<std::byte, scattered_results_bytes + readable_slack> results_buffer_;
};

[[gnu::noinline]] inline void fill_boxes(const scattered_reduction& sums, const index_range& boxes,
                                         const std::byte* columns, std::byte* image) noexcept {
  scatter_runner<scattered_accumulators> runner(sums);
  for (std::int64_t box = boxes.begin; box < boxes.end; ++box) runner.fill_box(box, columns, image);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
