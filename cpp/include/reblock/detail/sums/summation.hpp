// SPDX-License-Identifier: BSD-3-Clause
//
// This header has the types of the functions that sum. sum_functions.hpp has the functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/sums/row_terms.hpp>
#include <reblock/detail/sums/term_list.hpp>
#include <reblock/detail/sums/tile_list.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// sum_functions has the functions that sum terms of one type.
struct sum_functions {
  sum_function sum;
  void (*fill_neutral)(std::byte* first, std::size_t size);
  bool may_mask;  ///< whether terms may have masks
  /// Returns the function that adds rows of terms to rows of sums, or null.
  row_adder (*find_added_rows)(instruction_set set) noexcept;
  single_sums add_to_zero;
  /// Adds terms in accumulators.
  reduction_functions::by_set accumulate;
};

/// Adds the elements of rows to what they hold.
[[gnu::noinline]] inline void add_rows(const tile_list& rows, const sum_functions& sum,
                                       std::int64_t element_size, const std::byte* from,
                                       std::byte* to) noexcept {
  constexpr term_list::axis here{1, 0, 0};
  term_list one(std::span(&here, 1), {}, true);
  rows.for_each([&](const tile& t, const std::byte* terms, std::byte* sums) { sum.sum(t, one, terms, sums); },
                from, to, element_size);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
