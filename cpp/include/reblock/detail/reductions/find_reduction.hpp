// SPDX-License-Identifier: BSD-3-Clause
//
// This header finds the ways and the functions of a reduction, for types that are known when it compiles or when it runs.
#pragma once

#include <cstddef>
#include <tuple>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/reductions/reduced_piece.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/sums/find_functions.hpp>
#if !defined(REBLOCK_COMPILED)
#include <reblock/detail/reductions/reduction_functions.hpp>
#include <reblock/detail/reductions/term_conversion.hpp>
#endif

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
/// Fills in what a reduction does not have yet.
inline void complete(reduction& types) noexcept {
  if (types.functions != nullptr) return;
  find_functions(types);
  types.ways = &ways_of_reductions<>;
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
inline void complete(reduction&) noexcept {}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
