// SPDX-License-Identifier: BSD-3-Clause
//
// These functions make weighted sums of windows that share no position: each has one term (single_terms.hpp). Terms move
// to the image a piece at a time, and get their weights there while a cache holds the piece.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/reductions/reduced_rows.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/detail/sums/separate_windows.hpp>
#include <reblock/detail/sums/single_terms.hpp>
#include <reblock/detail/sums/tile_list.hpp>
#include <reblock/detail/tile.hpp>
#include <reblock/fold_options.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A piece_weigher multiplies the terms of a piece by their weights, in rows of contiguous elements.
class piece_weigher {
 public:
  /// `first` has the first offset in the window along each spatial axis.
  piece_weigher(const single_terms& terms, const reducer& how, const axis_values& first) noexcept
      : how_(how),
        functions_(functions_of(how, 1)),
        exact_(how.types.results.part == element_type::float32
                   ? &usable(how.types.functions->weighted_exactly)
                   : nullptr),
        parts_(how.types.results.is_pair ? 2 : 1),
        part_size_(how.types.results.size / parts_) {
    for (std::size_t d = 0; d < first.size(); ++d) offsets_[d] = first[d];
    choose_row(terms);
    for (std::size_t i = terms.rank(); i-- > 0;) {
      if (is_in_row_[i]) continue;
      const image_axis& axis = terms.image(i);
      const std::int64_t stride = terms.axis(i).destination_stride;
      windows_.add({terms.at_once(i), stride, stride});
      if (axis.offsets > 1) outer_[outer_count_++] = &axis;
    }
  }

  void weigh(std::byte* piece) noexcept {
    if (!has_tried_) keep_lists();
    if (kept_step_ == 0) return walk(0, piece);
    walk_kept(outer_count_, 0, piece);
  }

 private:
  using image_axis = single_terms::image_axis;
  static constexpr std::int64_t most_listed = 1024;  ///< weights
  static constexpr std::int64_t most_lanes = 64;     ///< of a register
  static constexpr std::int64_t most_kept_bytes = 4 * 1024;
  static constexpr std::size_t kept_alignment = 64;  ///< of lists, bytes

  /// Takes axes into a row, the innermost first: those along which weights do not change, and one along which they do.
  void choose_row(const single_terms& terms) noexcept {
    repeats_ = parts_;
    const cut_axis* windows = nullptr;  // of the row
    for (std::size_t i = terms.rank(); i-- > 0 && row_ == nullptr;) {
      const image_axis& axis = terms.image(i);
      if (axis.positions == 1) continue;
      const bool has_gaps = axis.offsets == 1 && axis.positions != terms.at_once(i);
      if (axis.stride != repeats_ * part_size_ || has_gaps) break;
      is_in_row_[i] = true;
      if (axis.offsets > 1) {
        row_ = &axis;
        windows = &terms.axis(i);
      } else {
        repeats_ *= axis.positions;
      }
    }
    length_ = repeats_ * (row_ == nullptr ? 1 : row_->positions);
    period_ = length_;
    if (row_ != nullptr && windows->at_once > 1)
      period_ = windows->destination_stride / row_->stride * repeats_;
    constexpr auto most = static_cast<std::int64_t>(most_accumulators);
    segment_ = std::min(length_, period_ <= most ? most / period_ * period_ : most);
    lists_period_ = period_ <= most_listed;
    if (row_ == nullptr || period_ > most || std::lcm(period_, most_lanes) > segment_) return;
    repeated_ = std::lcm(period_, most_lanes);
    segment_ = length_;
  }

  /// Walks the offsets in the window along the other axes.
  void walk(std::size_t i, std::byte* first) noexcept {
    if (i == outer_count_) return weigh_rows(first);
    const image_axis& axis = *outer_[i];
    std::int64_t& offset = offsets_[axis.spatial_axis];
    const std::int64_t begin = offset;
    for (std::int64_t k = 0; k < axis.offsets; ++k, ++offset) walk(i + 1, first + k * axis.step);
    offset = begin;
  }

  /// Lists the weights of all rows once, if there is room, and rows have one list. So rows that follow each other in the image
  /// follow each other in time.
  void keep_lists() noexcept {
    has_tried_ = true;
    if (segment_ < length_) return;
    std::int64_t lists = 1;
    for (std::size_t i = 0; i < outer_count_; ++i) {
      if (outer_[i]->offsets > most_kept_bytes / lists) return;
      lists *= outer_[i]->offsets;
    }
    const accumulation* all = nullptr;
    for (std::int64_t number = 0; number < lists; ++number) {
      list_row(number);
      if (all != nullptr && all != used_) {  // all lists need weights of one type
        exact_ = nullptr;
        product_count_ = 0;
        all = nullptr;
        number = -1;
        continue;
      }
      all = used_;
      const std::size_t bytes = chosen_period_ == 0 ? sizeof(double) : chosen_period_ * all->weight_size;
      const std::size_t step = (bytes + kept_alignment - 1) / kept_alignment * kept_alignment;
      if (step > static_cast<std::size_t>(most_kept_bytes / lists)) return;
      std::memcpy(kept_ + static_cast<std::size_t>(number) * step, chosen_, bytes);
      if (number + 1 == lists) kept_step_ = step;
    }
  }
  /// Lists the weights of a row. Numbers count the offsets along the other axes, those of outer_[0] fastest.
  void list_row(std::int64_t number) noexcept {
    const std::array<std::int64_t, max_rank> begin = offsets_;
    for (std::size_t i = 0; i < outer_count_; ++i) {
      offsets_[outer_[i]->spatial_axis] += number % outer_[i]->offsets;
      number /= outer_[i]->offsets;
    }
    choose_weights(0, repeated_ != 0 ? repeated_ : length_);
    offsets_ = begin;
  }

  /// Walks the offsets along the other axes, but those of outer_[0]. Rows have the lists from `list` on.
  void walk_kept(std::size_t end, std::int64_t list, std::byte* first) noexcept {
    if (end > 1) {
      const image_axis& axis = *outer_[end - 1];
      for (std::int64_t k = 0; k < axis.offsets; ++k)
        walk_kept(end - 1, list * axis.offsets + k, first + k * axis.step);
      return;
    }
    weight_list weights{kept_, chosen_period_, kept_step_};
    if (end > 0) weights.first += static_cast<std::size_t>(list * outer_[0]->offsets) * kept_step_;
    const tile_axis offsets{end > 0 ? outer_[0]->offsets : 1, 0, end > 0 ? outer_[0]->step : 0};
    weigh_windows(first, length_, offsets, weights);
  }

  /// Weighs all rows whose offsets along the other axes are the current ones.
  void weigh_rows(std::byte* first) noexcept {
    std::int64_t count = 0;
    for (std::int64_t begin = 0; begin < length_; begin += count) {
      count = std::min(segment_, length_ - begin);
      if (period_ > segment_) count = std::min(count, period_ - begin % period_);
      choose_weights(begin, repeated_ != 0 ? repeated_ : count);
      weigh_windows(first + begin * part_size_, count, {}, {chosen_, chosen_period_, 0});
    }
  }

  /// Weighs `count` parts of the rows of all windows, at some offsets along one of the other axes.
  void weigh_windows(std::byte* first, std::int64_t count, const tile_axis& offsets,
                     const weight_list& weights) const noexcept {
    const auto columns = static_cast<std::size_t>(count);
    const auto weigh = used_->weigh;
    windows_.for_each(
        [=](const tile& t, const std::byte*, std::byte* rows) {
          for_each_row(t, rows, rows, [&](const std::byte*, std::byte* row) {
            for (std::int64_t i = 0; i < t.outer.extent; ++i) {
              std::byte* const at = row + i * t.outer.destination_stride;
              if (offsets.extent == 1) {
                weigh(at, columns, t.inner, {weights.first, weights.period, 0});
                continue;
              }
              for (std::int64_t k = 0; k < t.inner.extent; ++k)
                weigh(at + k * t.inner.destination_stride, columns, offsets, weights);
            }
          });
        },
        first, first, part_size_);
  }

  /// Computes `count` weights of a row. Positions without a term have the weight 0.
  void choose_weights(std::int64_t begin, std::int64_t count) noexcept {
    const window_weights& w = how_.weights;
    const std::size_t along = row_ == nullptr ? max_rank : row_->spatial_axis;
    std::array<double, max_bounds> factors;
    factors.fill(1);
    const double* first = w.values(0);
    for (std::size_t d = 0; d < w.extents().size(); ++d) {
      if (!w.has_products()) {
        first += offsets_[d] * w.strides()[d];
      } else if (d == along) {
        first = w.values(d) + offsets_[d];
      } else {
        factors[d] = w.values(d)[offsets_[d]];
      }
    }
    if (row_ == nullptr) {
      weights_[0] = w.has_products() ? 1 : *first;
      for (const double factor : factors) weights_[0] *= factor;
      return use_weights(1, 1);
    }
    const std::int64_t place = begin % period_;
    const std::int64_t from = lists_period_ ? 0 : place;
    if (first != listed_ || from != listed_from_ || from + listed_count_ < place + count) {
      const std::int64_t most = repeated_ != 0 ? repeated_ : std::max(period_, segment_);
      list_weights(first, w.strides()[along], from, lists_period_ ? most : count);
      product_count_ = 0;
    }
    const double* const own = row_weights_ + (place - from);
    if (factors == factors_ && place == product_place_ && count <= product_count_) return;
    const std::int64_t different = std::min(count, period_);
    // The products have the order of the spatial axes, as in reduced_piece: so they are always rounded alike.
    double before = 1;
    for (std::size_t d = 0; d < along; ++d) before = rounded(before * factors[d]);
    for (std::int64_t i = 0; i < different; ++i) weights_[i] = before * own[i];
    for (std::size_t d = along + 1; d < w.extents().size(); ++d) {
      for (std::int64_t i = 0; i < different; ++i) weights_[i] *= factors[d];
    }
    factors_ = factors;
    product_place_ = place;
    product_count_ = count;
    use_weights(static_cast<std::size_t>(count), static_cast<std::size_t>(different));
  }

  /// Lists weights for the fastest function: the first `period`, repeated. The product of two floats is exact in double, so it
  /// is rounded once.
  void use_weights(std::size_t count, std::size_t period) noexcept {
    if (exact_ != nullptr) {
      std::copy_n(weights_, period, listed_weights_);
      if (exact_->list_weights(listed_weights_, count, period)) return use(*exact_, count);
    }
    std::copy_n(weights_, period, listed_weights_);
    if (row_ != nullptr) functions_.list_weights(listed_weights_, count, period);
    use(functions_, count);
  }
  void use(const accumulation& functions, std::size_t count) noexcept {
    used_ = &functions;
    chosen_ = reinterpret_cast<const std::byte*>(row_ == nullptr ? weights_ : listed_weights_);
    chosen_period_ = row_ == nullptr ? 0 : count;
  }

  /// Lists `count` weights of the row's own axis, from a place of its period on.
  void list_weights(const double* first, std::int64_t stride, std::int64_t from,
                    std::int64_t count) noexcept {
    std::fill_n(row_weights_, count, 0.0);
    const std::int64_t step = row_->step / row_->stride * repeats_;
    const std::int64_t begin = std::max<std::int64_t>(0, (from - repeats_) / step);
    for (std::int64_t o = begin; o < row_->offsets && o * step < from + count; ++o) {
      for (std::int64_t at = o * step - from; at < count; at += period_) {
        for (std::int64_t i = std::max<std::int64_t>(at, 0); i < std::min(at + repeats_, count); ++i)
          row_weights_[i] = first[o * stride];
      }
    }
    listed_ = first;
    listed_from_ = from;
    listed_count_ = count;
  }

  const reducer& how_;
  const accumulation& functions_;
  const accumulation* exact_;           ///< of floats, or null
  const accumulation* used_ = nullptr;  ///< by the chosen weights
  std::int64_t parts_;                  ///< of an element
  std::int64_t part_size_;              ///< bytes
  std::array<bool, max_rank> is_in_row_{};
  const image_axis* row_ = nullptr;  ///< the axis of a row along which weights change, or null
  std::int64_t repeats_ = 1;         ///< parts side by side with the same weight
  std::int64_t length_ = 1;          ///< of a row, parts
  std::int64_t period_ = 1;
  std::int64_t segment_ = 1;   ///< parts that are weighed at once, at most
  std::int64_t repeated_ = 0;  ///< parts of a list that is used again and again along a row, or 0
  bool lists_period_ = true;   ///< whether there is room for the weights of a period
  std::array<const image_axis*, max_rank> outer_{};
  std::size_t outer_count_ = 0;
  tile_list windows_;
  std::array<std::int64_t, max_rank> offsets_{};  ///< in the window, of the row's first term
  const double* listed_ = nullptr;                ///< the row's first weight, of those in row_weights_
  std::int64_t listed_from_ = 0;                  ///< place in the period
  std::int64_t listed_count_ = 0;
  std::array<double, max_bounds> factors_{};  ///< of the other axes, in weights_
  std::int64_t product_place_ = 0;
  std::int64_t product_count_ = 0;
  const std::byte* chosen_ = nullptr;
  std::size_t chosen_period_ = 0;
  bool has_tried_ = false;     ///< to keep lists
  std::size_t kept_step_ = 0;  ///< from list to list, bytes, or 0: there is no room
  double row_weights_[most_listed];
  double weights_[most_accumulators];
  double listed_weights_[most_accumulators];
  alignas(kept_alignment) std::byte kept_[most_kept_bytes];
};

/// A weighed_windows is trivially copyable.
class weighed_windows {
 public:
  /// Tells whether it is the way to make these sums.
  static bool can_make(const sum_request& sums) noexcept {
    if (!separate_windows::can_make(sums)) return false;
    for (std::size_t d = 0; d + 2 < sums.extents.size(); ++d) {
      // windows with gaps could have positions of other windows there
      const separate_axis axis = separate_axis::of(sums, d);
      if (axis.dilation != 1 && axis.windows > 1) return false;
    }
    std::int64_t run = sums.sum.element_size;
    for (bool grows = true; grows && run < sum_costs::least_weighed_row;) {
      grows = false;
      for (std::size_t i = 0; i < sums.extents.size(); ++i) {
        if (sums.extents[i] == 1 || sums.output_strides[i] != run) continue;
        run = wrapping_multiply(run, sums.extents[i]);
        grows = true;
      }
    }
    return run >= sum_costs::least_weighed_row;
  }

  explicit weighed_windows(const sum_request& sums) noexcept
      : windows_(sums, nullptr, true), how_(sums.reduce) {}

  const separate_windows& windows() const noexcept { return windows_; }

  /// Runs some windows whose first offsets are `first`.
  void run(const single_terms& terms, const axis_values& first, const std::byte* source,
           std::byte* destination) const noexcept {
    piece_weigher weigher(terms, *how_, first);
    terms.run(source, destination, [&](std::byte* piece) { weigher.weigh(piece); });
  }

 private:
  separate_windows windows_;
  const reducer* how_;  ///< which outlives the plan
};
static_assert(std::is_trivially_copyable_v<weighed_windows>);

/// Keeps the offsets of windows whose weights are not 0. Returns whether they are a box, and each product makes a mean.
inline bool keep_weighted(sum_request& sums, const reducer& how) noexcept {
  const window_weights& weights = how.weights;
  double least = 1;
  for (std::size_t d = 0; d < weights.extents().size(); ++d) {
    if (!weights.has_products()) return false;
    const double* const first = weights.values(d);
    const double* const last = first + weights.extents()[d];
    const auto counts = [](double weight) { return weight != 0; };
    const double* const begin = std::find_if(first, last, counts);
    const double* end = last;
    while (end != begin && end[-1] == 0) --end;
    if (begin == end) return false;
    least *= *std::min_element(begin, end);
    sums.moves.narrow(2 + d, begin - first, end - first);
  }
  return how.makes_mean(least);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
