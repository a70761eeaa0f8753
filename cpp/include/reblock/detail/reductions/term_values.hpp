// SPDX-License-Identifier: BSD-3-Clause
//
// These functions read a term as a value, and round a value to a result.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/sums/summand.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The type in which a term lies in memory. A bool may have any byte.
template <class T>
using stored = std::conditional_t<std::same_as<T, bool>, unsigned char, T>;

template <class T, class A>
[[gnu::always_inline]] inline A widened(stored<T> term) noexcept {
  if constexpr (std::same_as<T, bool>) {
    return static_cast<A>(term != 0 ? 1 : 0);
  } else if constexpr (half<T>) {
    if constexpr (half<A>) {
      return term;
    } else {
      return static_cast<A>(to_float(term));
    }
  } else {
    return static_cast<A>(term);
  }
}

/// Rounds any value to the nearest integer, ties to even. It is no function of the C library, which programs in C would have
/// to link.
template <std::floating_point A>
[[gnu::always_inline]] inline A nearest_of_any(A value) noexcept {
  constexpr A without_fractions = [] {
    A power = 1;
    for (int i = 1; i < std::numeric_limits<A>::digits; ++i) power *= 2;
    return power;
  }();
  if (!(value > -without_fractions && value < without_fractions)) return value;
  const A shift = value < 0 ? -without_fractions : without_fractions;
  return rounded(rounded(value + shift) - shift);
}

/// Does the same for a small value. The values of an integer type of up to 32 bits are small enough.
template <std::floating_point A>
[[gnu::always_inline]] inline A nearest(A value) noexcept {
  if constexpr (std::numeric_limits<A>::digits > 53) {
    return nearest_of_any(value);
  } else {
    constexpr A large = 3 * static_cast<A>(std::int64_t{1} << (std::numeric_limits<A>::digits - 2));
    return rounded(rounded(value + large) - large);
  }
}

/// Converts an accumulated value to a result, and rounds it once. An integer beyond its range becomes the nearest value, and
/// NaN becomes 0.
template <class T, class A>
[[gnu::always_inline]] inline stored<T> narrowed(A value) noexcept {
  if constexpr (half<T>) {
    T result;
    round_to(result, static_cast<std::conditional_t<std::same_as<A, float>, float, double>>(value));
    return result;
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(value);
  } else if constexpr (sizeof(T) == 8) {
    constexpr auto above = static_cast<A>(std::numeric_limits<T>::max() / 2 + 1) * 2;
    constexpr auto least = static_cast<A>(std::numeric_limits<T>::min());
    const A whole = nearest_of_any(value);
    if (!(whole < above)) return whole >= above ? std::numeric_limits<T>::max() : T{};
    return whole <= least ? std::numeric_limits<T>::min() : static_cast<T>(whole);
  } else {
    constexpr auto greatest = static_cast<A>(std::same_as<T, bool> ? 1 : std::numeric_limits<T>::max());
    constexpr auto least = static_cast<A>(std::same_as<T, bool> ? 0 : std::numeric_limits<T>::min());
    using wide = std::conditional_t<sizeof(T) == 4, std::int64_t, std::int32_t>;
    A inside = value < greatest ? value : greatest;
    inside = inside > least ? inside : least;
    return static_cast<stored<T>>(static_cast<wide>(nearest(value == value ? inside : A{})));
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
