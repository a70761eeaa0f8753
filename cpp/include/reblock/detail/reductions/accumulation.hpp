// SPDX-License-Identifier: BSD-3-Clause
//
// An accumulation is a row of accumulators, one for each element of the result. This header has its functions' types;
// reduction_functions.hpp has the functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Rows of contiguous terms, `row_stride` bytes apart.
struct rows_of_terms {
  const std::byte* first;
  std::int64_t row_stride;
  std::size_t rows;
  std::size_t columns;
};

/// Rows of contiguous terms, one of each element. They begin with accumulator `first_accumulator`, and the next row
/// `accumulators_step` behind it. A row has one weight, or a list that list_weights() has made.
struct single_terms_of_rows {
  rows_of_terms terms;
  std::int64_t first_accumulator;
  std::int64_t accumulators_step;
  double weight;
  const std::byte* weights = nullptr;  ///< the list of the first row, or null
  std::size_t weights_step = 0;        ///< from the list of a row to that of the next, bytes
};

/// A quotient tells how accumulators become results. A number of terms divides them, or factors do, or factors multiply
/// them, which are the inverse sums of weights. A factor of 0 makes the result 0.
struct quotient {
  std::int64_t count = 1;
  const double* factors = nullptr;  ///< null: `count` divides
  bool one_factor = false;          ///< whether factors[0] is for all
  bool is_mean = true;              ///< whether results lie between the terms
  bool divides = false;             ///< whether factors are numbers of terms
  bool is_listed = false;           ///< whether list_counts() has made the factors a list

  /// Returns the number of terms of an element if factors divide or are null.
  double terms(std::size_t i) const noexcept {
    return factors == nullptr ? static_cast<double>(count) : factors[one_factor ? 0 : i];
  }
};

/// The weights of rows of single terms. A row has one weight, a double, if `period` is 0, else the list of so many that
/// list_weights() has made. If rows are longer, lanes of any width divide it.
struct weight_list {
  const std::byte* first = nullptr;
  std::size_t period = 0;
  std::size_t row_step = 0;  ///< from the list of a row to that of the next, bytes
};

/// Rows that need no lists for each accumulator may have so many, if there is room.
[[gnu::visibility("hidden")]] inline constexpr std::size_t most_together = 4 * most_accumulators;

/// The functions of one kind of accumulators. A row has up to `most`.
struct accumulation {
  void (*add)(std::byte* row, const rows_of_terms&, const term_offsets&, beginning);
  /// Adds terms times weights. `weights` points to each term's weight of the first element. If the weights of a row's
  /// elements differ, list_weights() has made the lists.
  void (*add_weighted)(std::byte* row, const rows_of_terms&, const term_offsets&, beginning,
                       const double* const* weights, const weight_steps& apart);
  /// Converts `period` weights, where they are, to the type that accumulators multiply by, and repeats them until there are
  /// `count`. Returns whether this is exact.
  bool (*list_weights)(double* weights, std::size_t count, std::size_t period);
  /// Makes sums of rows of contiguous single terms, where they are.
  void (*weigh)(std::byte* terms, std::size_t columns, const tile_axis& rows, const weight_list& weights);
  /// Writes the contiguous results of `count` accumulators.
  void (*finish)(const std::byte* row, std::byte* results, std::size_t count, const quotient&);
  /// Makes numbers of terms, where they are, a list by which finish() divides fast. Returns whether it can.
  bool (*list_counts)(double* counts, std::size_t count);
  /// Adds one term to what each accumulator of some rows holds, times the weight where there are weights.
  void (*add_single)(std::byte* row, const single_terms_of_rows&);
  /// Makes accumulators 0, or, for a first term, what changes no sum: -0 in floating point.
  void (*fill)(std::byte* row, std::size_t count, beginning from);
  /// Accumulators that have room in accumulators_bytes.
  std::size_t most;
  std::size_t size;            ///< of an accumulator, bytes
  bool has_errors;             ///< whether a row has its errors as well, most_accumulators behind it
  std::size_t weight_size;     ///< of a weight in a list, bytes
  std::size_t register_count;  ///< accumulators of a register
};
/// Bytes of a row of any accumulators: two long doubles each.
[[gnu::visibility("hidden")]] inline constexpr std::size_t accumulators_bytes = most_accumulators * 32;

/// The functions for results of one type, for the baseline, avx2 and avx512.
struct reduction_functions {
  using by_set = std::array<accumulation, 3>;
  by_set sum;
  by_set mean;
  by_set mean_of_many;  ///< for more than mean_limit terms
  by_set weighted;
  /// The same sums, faster: of up to mean_limit integers, each as often as its weight says, or of one float whose weight is a
  /// float. Null for other types.
  by_set weighted_exactly;
  by_set max;
  by_set min;
  std::int64_t mean_limit;
  bool means_by_inverse;  ///< whether the inverse number of terms makes means exact
};

/// Returns the functions of one kind of accumulators for this processor. Rows of so many accumulators that fill no widest
/// register have narrower ones.
inline const accumulation& usable(const reduction_functions::by_set& sets,
                                  std::int64_t row = most_accumulators) noexcept {
  const instruction_set set = usable_instruction_set();
  const bool is_widest =
      set >= instruction_set::avx512 && row >= static_cast<std::int64_t>(sets[2].register_count);
  return sets[is_widest ? 2 : set >= instruction_set::avx2 ? 1 : 0];
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
