// SPDX-License-Identifier: BSD-3-Clause
//
// A reduced_rows reduces the terms of a few rows of elements. Every element has the terms at the same offsets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/detail/simd/streams.hpp>
#include <reblock/fold_options.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Returns the functions for elements of `terms` terms each, in rows of so many accumulators.
inline const accumulation& functions_of(const reducer& how, std::int64_t terms,
                                        std::int64_t row = most_accumulators) noexcept {
  const reduction_functions& all = *how.types.functions;
  // an accumulator may begin with a value
  const bool are_integers = how.by == fold_reduction::sum && static_cast<double>(terms) * how.largest_weight <
                                                                 static_cast<double>(all.mean_limit);
  return usable(how.by == fold_reduction::max   ? all.max
                : how.by == fold_reduction::min ? all.min
                : !how.weights.empty()          ? (are_integers ? all.weighted_exactly : all.weighted)
                : how.by == fold_reduction::sum ? all.sum
                : terms > all.mean_limit        ? all.mean_of_many
                                                : all.mean,
                row);
}

/// Returns the place of the weight of an element of the window, if weights are no products.
inline const double* place_of_weight(const window_weights& weights,
                                     const std::array<std::int64_t, max_bounds>& offsets,
                                     std::size_t rank) noexcept {
  const double* at = weights.values(0);
  for (std::size_t d = 0; d < rank; ++d) at += offsets[d] * weights.strides()[d];
  return at;
}

/// Returns the weight of an element of the window.
inline double weight_at(const window_weights& weights, const std::array<std::int64_t, max_bounds>& offsets,
                        std::size_t rank) noexcept {
  if (!weights.has_products()) return *place_of_weight(weights, offsets, rank);
  double product = 1;
  for (std::size_t d = 0; d < rank; ++d) product = rounded(product * weights.values(d)[offsets[d]]);
  return product;
}

/// Finds the largest weight of a reduction of small integers, if all weights are integers.
inline void find_largest_weight(reducer& how) noexcept {
  using enum element_type;
  constexpr std::array small = {uint8, int8, uint16, int16};
  const window_weights& weights = how.weights;
  if (weights.empty() || std::find(small.begin(), small.end(), how.types.results.part) == small.end()) return;
  double largest = 1;
  const auto take = [](double& most, double weight) {
    if (!(weight <= 65536) || weight != static_cast<std::int32_t>(weight)) return false;
    most = std::max(most, weight);
    return true;
  };
  if (!weights.has_products()) {
    const std::size_t rank = weights.extents().size();
    std::array<std::int64_t, max_bounds> offsets{};
    std::int64_t count = 1;
    for (std::size_t d = 0; d < rank; ++d) count *= weights.extents()[d];
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i;
      for (std::size_t d = rank; d-- > 0; rest /= weights.extents()[d])
        offsets[d] = rest % weights.extents()[d];
      if (!take(largest, weight_at(weights, offsets, rank))) return;
    }
  } else {
    for (std::size_t d = 0; d < weights.extents().size(); ++d) {
      double most = 0;
      for (std::int64_t i = 0; i < weights.extents()[d]; ++i) {
        if (!take(most, weights.values(d)[i])) return;
      }
      largest *= most;
    }
  }
  how.largest_weight = largest;
}

class reduced_rows {
 public:
  /// So many accumulators fill registers of any set. Lists of weights have room for so many more.
  static constexpr std::size_t whole_registers = 32;
  /// At most this many terms are listed at once.
  static constexpr std::size_t most_terms = 128;
  static_assert(most_terms <= most_added_terms);

  /// From one element to the next, in bytes.
  struct steps {
    std::int64_t source = 0;
    std::int64_t destination = 0;
  };

  /// `asks`: asks for the lines of terms before it adds them.
  explicit reduced_rows(const reducer& how, bool asks = false) noexcept : how_(how), asks_(asks) {}

  std::int64_t parts() const noexcept { return how_.types.results.is_pair ? 2 : 1; }
  /// Returns the largest number of elements.
  std::int64_t most_elements() const noexcept { return std::int64_t{most_accumulators} / parts(); }
  /// Returns the largest number of elements for which nothing is listed. They and their terms have room in the buffers.
  std::int64_t most_elements(const accumulation& functions) const noexcept {
    const auto bytes = static_cast<std::int64_t>(sizeof(terms_buffer_));
    return std::min(static_cast<std::int64_t>(functions.most) / parts(),
                    bytes / std::max(term_size(), result_size()));
  }
  bool is_weighted() const noexcept { return !how_.weights.empty(); }
  /// Tells whether inverse factors make means. Else numbers of terms divide them.
  bool has_inverse_factors() const noexcept {
    return is_weighted() || how_.types.functions->means_by_inverse;
  }

  void set_steps(const steps& along_row, const steps& along_column) noexcept {
    along_row_ = along_row;
    along_column_ = along_column;
  }
  void set_size(std::int64_t rows, std::int64_t columns) noexcept {
    rows_ = static_cast<std::size_t>(rows);
    columns_ = static_cast<std::size_t>(columns);
  }
  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }

  /// Begins from the values at `destination`, or from nothing.
  [[gnu::noinline]] void begin(const accumulation& functions, const std::byte* destination) noexcept {
    functions_ = &functions;
    from_ = how_.by == fold_reduction::sum ? beginning::zero : beginning::first_term;
    if (!how_.accumulates) return;
    gather(destination, along_row_.destination, along_column_.destination, result_size());
    constexpr std::int64_t here = 0;
    functions_->add(accumulators_, {terms_buffer_, 0, 1, filled_up(terms_buffer_)}, {&here, 1},
                    beginning::first_term);
    from_ = beginning::held;
  }

  /// Begins in such a way that parts of the rows may be added.
  void begin_in_parts(const accumulation& functions, const std::byte* destination) noexcept {
    begin(functions, destination);
    if (from_ != beginning::held) functions_->fill(accumulators_, accumulators(), from_);
    from_ = beginning::held;
  }
  /// Adds rows of contiguous terms to the elements from `first` on; `step` elements from row to row.
  void add_part(const rows_of_terms& terms, std::int64_t first, std::int64_t step, double weight) noexcept {
    rows_of_terms part = terms;
    part.columns *= static_cast<std::size_t>(parts());
    functions_->add_single(accumulators_, {part, first * parts(), step * parts(), weight});
  }

  /// Tells whether terms are added in place: they are rows of contiguous terms. Terms in a buffer need a weight each, so rows
  /// with weights may be shorter.
  bool adds_in_place() const noexcept {
    if (how_.types.convert != nullptr || along_row_.source != term_size()) return false;
    return rows_ == 1 || columns_ * static_cast<std::size_t>(term_size()) >= sum_costs::least_row_in_place ||
           (is_weighted() && columns_ * static_cast<std::size_t>(parts()) >= sum_costs::least_weighted_row);
  }

  /// Adds terms at some offsets from the first element's `source`, in place or one after the other by a buffer. `weights`
  /// has the first weight of each term. Rows have weights of their own only if terms are added in place: those with masks are.
  void add(const std::byte* source, const term_offsets& terms, const double* const* weights,
           const weight_steps& apart) noexcept {
    if (asks_) ask_for_next(source, terms);
    if (terms.masks.first != nullptr || adds_in_place()) {
      const std::size_t columns = columns_ * static_cast<std::size_t>(parts());
      return add_rows({source, along_column_.source, rows_, columns}, terms, weights, apart);
    }
    constexpr std::int64_t here = 0;
    for (std::size_t t = 0; t < terms.count; ++t) {
      const std::byte* const brought = bring(source + terms.offsets[t]);
      const std::size_t count = brought == terms_buffer_ ? filled_up(terms_buffer_)
                                : brought == converted_  ? filled_up(converted_)
                                                         : accumulators();
      add_rows({brought, 0, 1, count}, {&here, 1}, weights + t, apart);
    }
  }

  /// Does the same for rows of terms that follow each other like the accumulators of all rows.
  void add_whole(const rows_of_terms& rows, const term_offsets& terms,
                 const double* const* weights) noexcept {
    rows_of_terms in_parts = rows;
    in_parts.columns *= static_cast<std::size_t>(parts());
    add_rows(in_parts, terms, weights, {});
  }

  /// Makes numbers of terms, where they are, what finish() divides by. Returns whether it has: see accumulation.
  bool list_counts(double* counts) const noexcept { return functions_->list_counts(counts, accumulators()); }

  /// Writes the results.
  [[gnu::noinline]] void finish(std::byte* destination, const quotient& by) noexcept {
    std::byte* const results = in_place() ? destination : terms_buffer_;
    functions_->finish(accumulators_, results, accumulators(), by);
    if (results == terms_buffer_) scatter(results, destination);
  }
  /// Does the same, with a factor for each accumulator of a mean: a list of list_counts() if `are_listed`.
  void finish(std::byte* destination, const double* factors, bool are_listed) noexcept {
    const bool is_mean = how_.by == fold_reduction::mean;
    finish(destination,
           {1, is_mean ? factors : nullptr, false, is_mean, is_mean && !has_inverse_factors(), are_listed});
  }
  /// Writes the results of elements without terms.
  void clear(std::byte* destination) noexcept {
    std::byte* const results = in_place() ? destination : terms_buffer_;
    std::memset(results, 0, rows_ * columns_ * static_cast<std::size_t>(result_size()));
    if (results == terms_buffer_) scatter(results, destination);
  }

 private:
  std::int64_t term_size() const noexcept { return how_.types.terms.size; }
  std::int64_t result_size() const noexcept { return how_.types.results.size; }
  std::size_t elements() const noexcept { return rows_ * columns_; }
  std::size_t accumulators() const noexcept { return elements() * static_cast<std::size_t>(parts()); }
  bool in_place() const noexcept {
    return along_row_.destination == result_size() &&
           (rows_ == 1 || along_column_.destination == static_cast<std::int64_t>(columns_) * result_size());
  }

  /// Asks for the lines of the next rows, which processors do not predict. They are as far behind the rows at `source` as these
  /// are behind the last ones.
  void ask_for_next(const std::byte* source, const term_offsets& terms) noexcept {
    const std::byte* const last = std::exchange(last_, source);
    const std::int64_t row = wrapping_multiply(static_cast<std::int64_t>(columns_), along_row_.source);
    if (last == nullptr || magnitude(row) > sum_costs::longest_asked_row) return;
    const std::int64_t next = source - last;
    const std::int64_t step = along_column_.source;
    if (magnitude(rows_ > 1 ? step : next) < sum_costs::least_asked_step) return;
    for (std::size_t t = 0; t < terms.count; ++t) {
      std::int64_t first = wrapping_add(next, wrapping_add(terms.offsets[t], std::min<std::int64_t>(0, row)));
      for (std::size_t r = 0; r < rows_; ++r, first = wrapping_add(first, step)) {
        for (std::int64_t k = 0; k < magnitude(row); k += cache_sizes::line)
          prefetch(source, wrapping_add(first, k));
      }
    }
  }

  void add_rows(const rows_of_terms& rows, const term_offsets& offsets, const double* const* weights,
                const weight_steps& apart) noexcept {
    if (is_weighted()) {
      functions_->add_weighted(accumulators_, rows, offsets, from_, weights, apart);
    } else {
      functions_->add(accumulators_, rows, offsets, from_);
    }
    from_ = beginning::held;
  }

  /// Fills a buffer behind its terms with zeros, and returns the number of all. Whole registers are faster than their parts.
  std::size_t filled_up(std::byte* buffer) const noexcept {
    const std::size_t count = accumulators();
    const std::size_t size = static_cast<std::size_t>(result_size() / parts());
    const std::size_t all = (count + whole_registers - 1) / whole_registers * whole_registers;
    std::memset(buffer + count * size, 0, (all - count) * size);
    return all;
  }

  /// Returns the terms at `at` side by side, converted to the type of the results.
  const std::byte* bring(const std::byte* at) noexcept {
    const std::int64_t size = term_size();
    const bool is_run = along_row_.source == size &&
                        (rows_ == 1 || along_column_.source == static_cast<std::int64_t>(columns_) * size);
    if (!is_run) gather(at, along_row_.source, along_column_.source, size);
    const std::byte* brought = is_run ? at : terms_buffer_;
    if (how_.types.convert == nullptr) return brought;
    how_.types.convert(brought, converted_, elements());
    return converted_;
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

  /// Copies `count` elements of `bytes` bytes each, four at a time.
  template <class Bytes>
  static void copy_elements(const std::byte* from, std::int64_t from_step, std::byte* to,
                            std::int64_t to_step, std::size_t count, Bytes bytes) noexcept {
    // not `from += from_step`: a step behind the last element could leave any range of addresses
    const auto copy = [=](std::int64_t i) { std::memcpy(to + i * to_step, from + i * from_step, bytes); };
    const auto all = static_cast<std::int64_t>(count);
    std::int64_t i = 0;
    for (; i + 4 <= all; i += 4) {
      copy(i);
      copy(i + 1);
      copy(i + 2);
      copy(i + 3);
    }
    for (; i < all; ++i) copy(i);
  }

  // Bytes may alias anything, so the loops keep what they need in variables of their own.

  /// Copies elements into terms_buffer_, side by side.
  void gather(const std::byte* from, std::int64_t column, std::int64_t row, std::int64_t size) noexcept {
    std::byte* const buffer = terms_buffer_;
    const std::size_t rows = rows_;
    const std::size_t columns = columns_;
    if (column == size) {
      return by_size(size * static_cast<std::int64_t>(columns), [=](auto bytes) {
        std::byte* to = buffer;
        for (std::size_t i = 0; i < rows; ++i, to += bytes) {
          std::memcpy(to, from + static_cast<std::int64_t>(i) * row, bytes);
        }
      });
    }
    by_size(size, [=](auto bytes) {
      for (std::size_t i = 0; i < rows; ++i) {
        copy_elements(from + static_cast<std::int64_t>(i) * row, column, buffer + i * columns * bytes,
                      static_cast<std::int64_t>(bytes), columns, bytes);
      }
    });
  }

  void scatter(const std::byte* results, std::byte* destination) const noexcept {
    const std::size_t rows = rows_;
    const std::size_t columns = columns_;
    const std::int64_t row = along_column_.destination;
    const std::int64_t column = along_row_.destination;
    by_size(result_size(), [=](auto bytes) {
      for (std::size_t i = 0; i < rows; ++i) {
        copy_elements(results + i * columns * bytes, static_cast<std::int64_t>(bytes),
                      destination + static_cast<std::int64_t>(i) * row, column, columns, bytes);
      }
    });
  }

  const reducer& how_;
  bool asks_;                        ///< for lines of terms
  const std::byte* last_ = nullptr;  ///< the first term of the rows before, or null
  const accumulation* functions_ = nullptr;
  beginning from_ = beginning::zero;
  steps along_row_;
  steps along_column_;
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  alignas(64) std::byte accumulators_[accumulators_bytes];
  alignas(64) std::byte terms_buffer_[most_accumulators * 16];  ///< terms or results side by side
  alignas(64) std::byte converted_[most_accumulators * 16];
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
