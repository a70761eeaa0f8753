// SPDX-License-Identifier: BSD-3-Clause
//
// This header defines the functions of find_functions.hpp.
#pragma once

#include <concepts>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/reductions/reduction_functions.hpp>
#include <reblock/detail/reductions/term_conversion.hpp>
#include <reblock/detail/sums/find_functions.hpp>
#include <reblock/detail/sums/sum_functions.hpp>
#include <reblock/detail/sums/summand.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

REBLOCK_ENGINE_DEFINITION const sum_functions* functions_of(const summation& sum) noexcept {
  using enum summand;
  const sum_functions* found = find_sum_functions<single_part, integer8, integer16, integer32, integer64,
                                                  half_float, single_float, double_float>(sum.part);
#if defined(REBLOCK_COMPILED)
  if (sum.is_pair)
    return find_sum_functions<pair_of_parts, single_float, double_float, long_double>(sum.part);
  if (found == nullptr) found = find_sum_functions<single_part, boolean, brain_float, long_double>(sum.part);
#endif
  return found;
}

#if defined(REBLOCK_COMPILED)
void find_functions(reduction& types) noexcept {
  with_element(types.results.part, [&]<class T>() { types.functions = &reduction_functions_of<T>; });
  if (types.terms == types.results) return;
  with_element(types.terms.part, [&]<class In>() {
    with_element(types.results.part, [&]<class T>() {
      if (!types.results.is_pair) {
        types.convert = convert_terms<In, T>;
      } else if constexpr (std::floating_point<T>) {
        types.convert = types.terms.is_pair ? convert_pairs<In, T> : convert_to_pairs<In, T>;
      }
    });
  });
}
#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
