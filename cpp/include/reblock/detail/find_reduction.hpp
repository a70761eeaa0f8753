// SPDX-License-Identifier: BSD-3-Clause
//
// This header finds the functions of a reduction, for types that are known when it compiles or when it runs.
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>

#include <reblock/detail/accumulation.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/reduced_piece.hpp>
#include <reblock/detail/reduction.hpp>
#include <reblock/detail/term_conversion.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Plans sums of separate windows onto an image in `operation`.
REBLOCK_ENGINE_FUNCTION double place_accumulated(void* operation, const sum_request& request,
                                                 const sum_functions& sum) noexcept;
/// Plans a reduction of fold in `operation`.
REBLOCK_ENGINE_FUNCTION void place_reduction(void* operation, const sum_request& request) noexcept;

/// It is a template, so only calls with options compile the functions.
template <class = void>
[[gnu::visibility("hidden")]] inline constexpr reduction_ways ways_of_reductions{
    place_reduction, place_accumulated, reduce_piece};

#if defined(REBLOCK_COMPILED)

inline const reduction_ways& ways_of(const sum_request&) noexcept { return ways_of_reductions<>; }
/// Fills in the functions of a reduction that has none yet.
inline void find_functions(reduction& types) noexcept {
  types.ways = &ways_of_reductions<>;
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

#else

template <class In, class T>
constexpr reduction reduction_of() noexcept {
  constexpr auto place = static_cast<std::size_t>(format_of<T>().part) - 1;
  using part = std::tuple_element_t<place, element_types>;
  return {format_of<In>(), format_of<T>(), &reduction_functions_of<part>, conversion_of<In, T>(),
          &ways_of_reductions<>};
}
inline const reduction_ways& ways_of(const sum_request& request) noexcept { return *request.ways; }
inline void find_functions(reduction&) noexcept {}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
