// SPDX-License-Identifier: BSD-3-Clause
//
// This header finds the functions of a reduction, for types that are known when it compiles or when it runs.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <reblock/detail/accumulation.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/reduction.hpp>
#include <reblock/detail/summand.hpp>
#include <reblock/detail/term_conversion.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The types that stand for all types of an element_kind.
template <element_kind Kind>
struct element_of {};
template <>
struct element_of<element_kind::boolean> {
  using type = bool;
};
template <>
struct element_of<element_kind::uint8> {
  using type = std::uint8_t;
};
template <>
struct element_of<element_kind::int8> {
  using type = std::int8_t;
};
template <>
struct element_of<element_kind::uint16> {
  using type = std::uint16_t;
};
template <>
struct element_of<element_kind::int16> {
  using type = std::int16_t;
};
template <>
struct element_of<element_kind::uint32> {
  using type = std::uint32_t;
};
template <>
struct element_of<element_kind::int32> {
  using type = std::int32_t;
};
template <>
struct element_of<element_kind::uint64> {
  using type = std::uint64_t;
};
template <>
struct element_of<element_kind::int64> {
  using type = std::int64_t;
};
template <>
struct element_of<element_kind::half_float> {
  using type = float16;
};
template <>
struct element_of<element_kind::brain_float> {
  using type = bfloat16;
};
template <>
struct element_of<element_kind::single_float> {
  using type = float;
};
template <>
struct element_of<element_kind::double_float> {
  using type = double;
};
template <>
struct element_of<element_kind::long_double> {
  using type = long double;
};

#if defined(REBLOCK_COMPILED)

/// Calls `found.operator()<type>()` for the type of a kind, unless it is none.
template <class Found>
constexpr void with_element(element_kind kind, const Found& found) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    ((kind == static_cast<element_kind>(K + 1)
          ? found.template operator()<typename element_of<static_cast<element_kind>(K + 1)>::type>()
          : void()),
     ...);
  }(std::make_index_sequence<static_cast<std::size_t>(element_kind::long_double)>{});
}

/// Fills in the functions of a reduction that has none yet.
inline void find_functions(reduction& some) noexcept {
  with_element(some.results.part, [&]<class T>() { some.functions = &reduction_functions_of<T>; });
  if (some.terms == some.results) return;
  with_element(some.terms.part, [&]<class In>() {
    with_element(some.results.part, [&]<class T>() {
      if (!some.results.is_pair) {
        some.convert = convert_terms<In, T>;
      } else if constexpr (std::floating_point<T>) {
        some.convert = some.terms.is_pair ? convert_pairs<In, T> : convert_to_pairs<In, T>;
      }
    });
  });
}

#else

template <class In, class T>
constexpr reduction reduction_of() noexcept {
  using part = typename element_of<kind_of_element<T>()>::type;
  return {format_of<In>(), format_of<T>(), &reduction_functions_of<part>, conversion_of<In, T>()};
}
inline void find_functions(reduction&) noexcept {}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
