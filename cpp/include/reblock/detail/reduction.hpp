// SPDX-License-Identifier: BSD-3-Clause
//
// These types describe a reduction of fold at the engine's boundary, without its arithmetic (accumulation.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/summand.hpp>
#include <reblock/fold_options.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// An element_kind is the type of an element, or of a part of a complex element. Unlike a summand, it knows the sign of
/// integers.
enum class element_kind : std::uint8_t {
  none,
  boolean,
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64,
  half_float,
  brain_float,
  single_float,
  double_float,
  long_double,
};

constexpr element_kind integer_kind(std::size_t size, bool is_signed) noexcept {
  using enum element_kind;
  switch (size) {
    case 1: return is_signed ? int8 : uint8;
    case 2: return is_signed ? int16 : uint16;
    case 4: return is_signed ? int32 : uint32;
    case 8: return is_signed ? int64 : uint64;
    default: return none;
  }
}

template <class T>
constexpr element_kind kind_of_element() noexcept {
  using part = typename parts_of<T>::type;
  if constexpr (std::is_integral_v<part> && !std::is_same_v<part, bool>) {
    return integer_kind(sizeof(part), std::is_signed_v<part>);
  } else {
    switch (summand_of<T>()) {
      case summand::boolean: return element_kind::boolean;
      case summand::half_float: return element_kind::half_float;
      case summand::brain_float: return element_kind::brain_float;
      case summand::single_float: return element_kind::single_float;
      case summand::double_float: return element_kind::double_float;
      case summand::long_double: return element_kind::long_double;
      default: return element_kind::none;
    }
  }
}

/// An element_format describes the elements of a tensor.
struct element_format {
  element_kind part = element_kind::none;
  bool is_pair = false;   ///< whether an element has two parts
  std::int64_t size = 0;  ///< bytes of an element

  friend constexpr bool operator==(const element_format&, const element_format&) = default;
};

template <class T>
constexpr element_format format_of() noexcept {
  return {kind_of_element<T>(), complex_number<T>, static_cast<std::int64_t>(sizeof(T))};
}

/// The functions that reduce terms to results of one type, and those that convert terms to it; see accumulation.hpp.
struct reduction_functions;
using conversion_of_terms = void (*)(const std::byte* terms, std::byte* converted, std::size_t count);

/// A reduction describes the terms and the results of fold. Both have one type, unless terms are converted first.
struct reduction {
  element_format terms;
  element_format results;
  const reduction_functions* functions = nullptr;  ///< as in summation
  conversion_of_terms convert = nullptr;           ///< null: there is one type, or see `functions`
};

/// A reducer describes a fold that is no plain sum.
struct reducer {
  reduction types;
  fold_reduction by = fold_reduction::sum;
  window_weights weights{};
  bool accumulates = false;  ///< whether results begin from the values in the output
};

#if defined(REBLOCK_COMPILED)
template <class In, class T>
constexpr reduction reduction_of() noexcept {
  return {format_of<In>(), format_of<T>()};
}
#else
template <class In, class T>
constexpr reduction reduction_of() noexcept;
#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
