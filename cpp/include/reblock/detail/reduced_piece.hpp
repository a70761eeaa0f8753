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
#include <type_traits>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/accumulation.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/reduction.hpp>
#include <reblock/fold_options.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Returns the functions for elements of `terms` terms each.
inline const accumulation& functions_of(const reducer& how, std::int64_t terms) noexcept {
  const reduction_functions& functions = *how.types.functions;
  const auto& sets = how.by == fold_reduction::max   ? functions.max
                     : how.by == fold_reduction::min ? functions.min
                     : !how.weights.empty()          ? functions.weighted
                     : how.by == fold_reduction::sum ? functions.sum
                     : terms > functions.mean_limit  ? functions.mean_of_many
                                                     : functions.mean;
  return sets[usable_instruction_set() >= instruction_set::avx2 ? 1 : 0];
}

inline constexpr std::size_t no_window_axis = max_rank;

class reduced_piece {
 public:
  static constexpr std::size_t most_terms = 128;
  static constexpr std::size_t weights_room = 8 * most_accumulators;
  /// Rows of up to so many bytes are brought together.
  static constexpr std::size_t short_row = 32;

  /// An axis of the elements. Along the phases of a spatial axis, the offset in the window changes with the index.
  struct axis {
    std::int64_t extent = 1;
    std::int64_t source_stride = 0;            ///< bytes
    std::int64_t destination_stride = 0;       ///< bytes
    std::size_t window_axis = no_window_axis;  ///< the spatial axis along whose window it goes
  };
  /// The terms of one spatial axis: offset first_offset + t * cycle of the window, for each t below `count`.
  struct terms {
    std::int64_t count = 0;
    std::int64_t stride = 0;  ///< of the source, bytes
    std::int64_t first_offset = 0;
    std::int64_t cycle = 1;
  };

  explicit reduced_piece(const reducer& how) noexcept : how_(how) {}

  void add(const axis& next) noexcept {
    if (next.extent != 1) axes_[count_++] = next;
  }
  void add(const terms& next) noexcept { terms_[spatial_++] = next; }

  /// `source` points to the first term of the first element.
  void reduce(const std::byte* source, std::byte* destination) noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (axes_[i].extent == 0) return;
    }
    term_count_ = 1;
    for (std::size_t d = 0; d < spatial_; ++d) term_count_ *= terms_[d].count;
    if (term_count_ == 0 && how_.accumulates) return;
    for (std::size_t d = 0; d < spatial_; ++d) offsets_[d] = terms_[d].first_offset;
    functions_ = &functions_of(how_, term_count_);
    if (!is_weighted() || term_count_ == 0) {
      for (std::size_t i = 0; i < count_; ++i) axes_[i].window_axis = no_window_axis;
      join_axes();
    }
    choose_inner_axes();
    walk(count_, source, destination);
  }

 private:
  bool is_weighted() const noexcept { return !how_.weights.empty(); }
  std::int64_t term_size() const noexcept { return how_.types.terms.size; }
  std::int64_t result_size() const noexcept { return how_.types.results.size; }

  /// Joins axes that follow each other on both sides.
  void join_axes() noexcept {
    for (bool joins = true; joins;) {
      joins = false;
      for (std::size_t i = 0; i < count_ && !joins; ++i) {
        for (std::size_t k = 0; k < count_ && !joins; ++k) {
          axis& inner = axes_[i];
          const axis& outer = axes_[k];
          if (i == k || outer.source_stride != wrapping_multiply(inner.extent, inner.source_stride) ||
              outer.destination_stride != wrapping_multiply(inner.extent, inner.destination_stride)) {
            continue;
          }
          inner.extent *= outer.extent;
          axes_[k] = axes_[--count_];
          joins = true;
        }
      }
    }
  }

  /// Takes two axes out of the list, for the rows of accumulators. The inner one is the longest along which terms are
  /// contiguous, or else results, or else the longest of all. The outer one is the longest that is left.
  void choose_inner_axes() noexcept {
    inner_ = outer_ = {};
    const auto take_best = [this](axis& to, const auto& rank) {
      if (count_ == 0) return;
      std::size_t best = 0;
      for (std::size_t i = 1; i < count_; ++i) {
        if (rank(axes_[i]) > rank(axes_[best])) best = i;
      }
      to = axes_[best];
      axes_[best] = axes_[--count_];
    };
    take_best(inner_, [this](const axis& a) {
      const int contiguous = a.source_stride == term_size()          ? 2
                             : a.destination_stride == result_size() ? 1
                                                                     : 0;
      return std::pair(a.extent >= 4 ? contiguous : contiguous - 2, a.extent);
    });
    take_best(outer_, [](const axis& a) { return std::pair(-std::abs(a.destination_stride), a.extent); });
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

  /// Cuts the inner axes into rows of accumulators.
  void reduce_rows(const std::byte* source, std::byte* destination) noexcept {
    const std::int64_t capacity = static_cast<std::int64_t>(most_accumulators) / parts();
    const std::int64_t columns = std::min(inner_.extent, capacity);
    const std::int64_t rows = std::min(outer_.extent, capacity / columns);
    for (std::int64_t j = 0; j < inner_.extent; j += columns) {
      has_weights_ = false;
      for (std::int64_t i = 0; i < outer_.extent; i += rows) {
        if (outer_.window_axis != no_window_axis) has_weights_ = false;
        first_row_ = i;
        first_column_ = j;
        rows_ = static_cast<std::size_t>(std::min(rows, outer_.extent - i));
        columns_ = static_cast<std::size_t>(std::min(columns, inner_.extent - j));
        const auto along = [i, j](std::int64_t outer, std::int64_t inner) {
          return wrapping_add(wrapping_multiply(i, outer), wrapping_multiply(j, inner));
        };
        repeat(unweighted_, source + along(outer_.source_stride, inner_.source_stride),
               destination + along(outer_.destination_stride, inner_.destination_stride));
      }
    }
  }

  /// Walks the other axes. Weights stay as they are.
  void repeat(std::size_t end, const std::byte* source, std::byte* destination) noexcept {
    if (end == 0) return reduce_elements(source, destination);
    const axis& outer = axes_[end - 1];
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      repeat(end - 1, source + wrapping_multiply(i, outer.source_stride),
             destination + wrapping_multiply(i, outer.destination_stride));
    }
  }

  std::int64_t parts() const noexcept { return how_.types.results.is_pair ? 2 : 1; }
  std::size_t elements() const noexcept { return rows_ * columns_; }

  void reduce_elements(const std::byte* source, std::byte* destination) noexcept {
    const auto size = static_cast<std::size_t>(result_size());
    const bool in_place =
        inner_.destination_stride == result_size() &&
        (rows_ == 1 || outer_.destination_stride == static_cast<std::int64_t>(columns_) * result_size());
    std::byte* const results = in_place ? destination : results_;
    if (term_count_ == 0) {
      std::memset(results, 0, elements() * size);
    } else {
      accumulate(source, destination);
      quotient division{term_count_, nullptr, false, how_.by == fold_reduction::mean};
      if (!division.is_mean) division.count = 1;
      if (is_weighted() && division.is_mean) {
        division.factors = factors_;
        division.one_factor = !weights_vary();
      }
      functions_->finish(accumulators_, results, elements() * static_cast<std::size_t>(parts()), division);
    }
    if (!in_place) scatter(results, destination);
  }

  /// Adds all terms, in ascending order of the offsets in the window.
  void accumulate(const std::byte* source, const std::byte* destination) noexcept {
    const std::size_t count = elements() * static_cast<std::size_t>(parts());
    beginning from =
        how_.by == fold_reduction::sum || is_weighted() ? beginning::zero : beginning::first_term;
    if (how_.accumulates) {
      gather(destination, inner_.destination_stride, outer_.destination_stride, result_size());
      constexpr std::int64_t here = 0;
      functions_->add(accumulators_, {terms_buffer_, 0, 1, count}, {&here, 1}, beginning::first_term);
      from = beginning::held;
    }
    const bool vary = weights_vary();
    // Weights stay in their buffer if it has room for all.
    if (!has_weights_) weights_step_ = vary ? count : 1;
    const std::size_t at_once =
        is_weighted() ? std::min(most_terms, weights_room / weights_step_) : most_terms;
    const auto total = static_cast<std::size_t>(term_count_);
    const bool fills = is_weighted() && !has_weights_;
    if (fills) std::memset(factors_, 0, weights_step_ * sizeof(double));
    std::array<std::int64_t, max_rank> chosen{};
    std::int64_t offset = 0;
    for (std::size_t done = 0; done < total;) {
      const std::size_t part = std::min(at_once, total - done);
      for (std::size_t t = 0; t < part; ++t) {
        offsets_of_terms_[t] = offset;
        if (is_weighted()) {
          weights_of_terms_[t] = weights_ + t * weights_step_;
          if (fills) fill_weights(weights_ + t * weights_step_, chosen, vary);
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
      add_terms(source, part, from, vary);
      from = beginning::held;
      done += part;
    }
    if (!fills) return;
    has_weights_ = total <= at_once;
    for (std::size_t i = 0; i < weights_step_; ++i) {
      if (factors_[i] != 0) factors_[i] = 1 / factors_[i];
    }
  }

  /// Adds the listed terms. It reads rows of contiguous terms without copying, and brings others into a buffer.
  void add_terms(const std::byte* source, std::size_t count, beginning from, bool vary) noexcept {
    const auto per_element = static_cast<std::size_t>(parts());
    const std::int64_t size = term_size();
    const bool is_direct = how_.types.convert == nullptr && inner_.source_stride == size &&
                           (rows_ == 1 || columns_ * static_cast<std::size_t>(size) > short_row);
    if (is_direct) {
      const rows_of_terms rows{source, outer_.source_stride, rows_, columns_ * per_element};
      return add(rows, {offsets_of_terms_, count}, weights_of_terms_, from, vary);
    }
    constexpr std::int64_t here = 0;
    for (std::size_t t = 0; t < count; ++t) {
      const rows_of_terms rows{bring(source + offsets_of_terms_[t]), 0, 1, elements() * per_element};
      add(rows, {&here, 1}, weights_of_terms_ + t, from, vary);
      from = beginning::held;
    }
  }

  void add(const rows_of_terms& rows, const term_offsets& offsets, const double* const* weights,
           beginning from, bool vary) noexcept {
    if (is_weighted()) {
      functions_->add_weighted(accumulators_, rows, offsets, from, weights, vary);
    } else {
      functions_->add(accumulators_, rows, offsets, from);
    }
  }

  /// Returns the terms at `at` side by side, converted to the type of the results.
  const std::byte* bring(const std::byte* at) noexcept {
    const std::int64_t size = term_size();
    const bool is_run = inner_.source_stride == size &&
                        (rows_ == 1 || outer_.source_stride == static_cast<std::int64_t>(columns_) * size);
    if (!is_run) gather(at, inner_.source_stride, outer_.source_stride, size);
    const std::byte* brought = is_run ? at : terms_buffer_;
    if (how_.types.convert == nullptr) return brought;
    how_.types.convert(brought, converted_, elements());
    return converted_;
  }

  /// Tells whether the elements of a row have different weights.
  bool weights_vary() const noexcept {
    return inner_.window_axis != no_window_axis || (rows_ > 1 && outer_.window_axis != no_window_axis);
  }

  /// Computes the weights of a term, for all elements or for each, and adds them to the sums of weights.
  void fill_weights(double* to, const std::array<std::int64_t, max_rank>& chosen, bool vary) noexcept {
    const window_weights& w = how_.weights;
    double product = 1;                    // of the axes along which the weight does not vary
    const double* first = w.values(0);     // of all axes, where there are no products
    const double* along_row = nullptr;     // products: of the axis of `outer_`
    const double* along_column = nullptr;  // products: of the axis of `inner_`
    for (std::size_t d = 0; d < spatial_; ++d) {
      std::int64_t offset = offsets_[d] + chosen[d] * terms_[d].cycle;
      if (inner_.window_axis == d) offset += first_column_;
      if (outer_.window_axis == d) offset += first_row_;
      const double* const weight = w.has_products() ? w.values(d) + offset * w.strides()[d] : nullptr;
      if (weight == nullptr) {
        first += offset * w.strides()[d];
      } else if (inner_.window_axis == d) {
        along_column = weight;
      } else if (outer_.window_axis == d) {
        along_row = weight;
      } else {
        product *= *weight;
      }
    }
    const auto step = [&w](const axis& a) {
      return a.window_axis == no_window_axis ? 0 : w.strides()[a.window_axis];
    };
    const std::int64_t column_step = step(inner_);
    const std::int64_t row_step = step(outer_);
    const auto per_element = static_cast<std::size_t>(parts());
    double* sums = factors_;
    for (std::size_t i = 0; i < (vary ? rows_ : 1); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) * row_step;
      const double factor = along_row == nullptr ? product : product * along_row[row];
      const double* const from = w.has_products() ? along_column : first + row;
      for (std::size_t j = 0; j < (vary ? columns_ : 1); ++j) {
        const double weight =
            from == nullptr ? factor : factor * from[static_cast<std::int64_t>(j) * column_step];
        for (std::size_t k = 0; k < (vary ? per_element : 1); ++k) {
          *to++ = weight;
          *sums++ += weight;
        }
      }
    }
  }

  /// Calls `copy` for each element, with a number of bytes that the compiler knows where it is usual.
  template <class Copy>
  static void by_size(std::int64_t size, const Copy& copy) noexcept {
    switch (size) {
      case 1: return copy(std::integral_constant<std::size_t, 1>{});
      case 2: return copy(std::integral_constant<std::size_t, 2>{});
      case 4: return copy(std::integral_constant<std::size_t, 4>{});
      case 3: return copy(std::integral_constant<std::size_t, 3>{});
      case 8: return copy(std::integral_constant<std::size_t, 8>{});
      case 16: return copy(std::integral_constant<std::size_t, 16>{});
      default: return copy(static_cast<std::size_t>(size));
    }
  }

  /// Copies elements into terms_buffer_, side by side.
  void gather(const std::byte* from, std::int64_t column, std::int64_t row, std::int64_t size) noexcept {
    std::byte* to = terms_buffer_;
    if (column == size) {
      by_size(size * static_cast<std::int64_t>(columns_), [&](auto bytes) {
        for (std::size_t i = 0; i < rows_; ++i, to += bytes) {
          std::memcpy(to, from + static_cast<std::int64_t>(i) * row, bytes);
        }
      });
      return;
    }
    by_size(size, [&](auto bytes) {
      for (std::size_t i = 0; i < rows_; ++i) {
        const std::byte* at = from + static_cast<std::int64_t>(i) * row;
        for (std::size_t j = 0; j < columns_; ++j, to += bytes) {
          std::memcpy(to, at + static_cast<std::int64_t>(j) * column, bytes);
        }
      }
    });
  }

  void scatter(const std::byte* from, std::byte* destination) const noexcept {
    by_size(result_size(), [&](auto bytes) {
      for (std::size_t i = 0; i < rows_; ++i) {
        std::byte* to = destination + static_cast<std::int64_t>(i) * outer_.destination_stride;
        for (std::size_t j = 0; j < columns_; ++j, from += bytes) {
          std::memcpy(to + static_cast<std::int64_t>(j) * inner_.destination_stride, from, bytes);
        }
      }
    });
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
  std::int64_t first_row_ = 0;
  std::int64_t first_column_ = 0;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  alignas(64) std::byte accumulators_[accumulators_bytes];
  alignas(64) std::byte terms_buffer_[most_accumulators * 16];
  alignas(64) std::byte converted_[most_accumulators * 16];
  alignas(64) std::byte results_[most_accumulators * 16];
  bool has_weights_ = false;      ///< whether weights_ and factors_ are those of the row
  std::size_t weights_step_ = 1;  ///< from the weights of a term to those of the next
  std::int64_t offsets_of_terms_[most_terms];
  const double* weights_of_terms_[most_terms];
  alignas(64) double weights_[weights_room];
  alignas(64) double factors_[most_accumulators];  ///< sums of weights, then their inverses
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
