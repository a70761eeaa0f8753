// SPDX-License-Identifier: BSD-3-Clause
//
// What a sum is, for each element type.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <reblock/data_type.hpp>
#include <reblock/detail/compiler.hpp>
#include <reblock/detail/half.hpp>

namespace reblock::detail {

/// How elements of type T add up: in which type, and how a term is added, rounded each time. Only types that have a
/// sum match. Integers wrap, which is defined for unsigned ones.
template <class T>
struct sum_traits;

template <class T>
  requires std::floating_point<T>
struct sum_traits<T> {
  using accumulator = T;
  static accumulator add(accumulator sum, T term) noexcept { return rounded(sum + term); }
};

/// std::complex, told by what it is: to include <complex> takes as long as to include all of reblock.
template <class T>
concept complex_number = std::floating_point<typename T::value_type> && requires(const T number) {
  { number.real() } -> std::same_as<typename T::value_type>;
  { number.imag() } -> std::same_as<typename T::value_type>;
} && sizeof(T) == 2 * sizeof(typename T::value_type);

/// Its parts add up; see parts_of.
template <complex_number T>
struct sum_traits<T> {
  using accumulator = T;
};

template <class T>
  requires std::integral<T>
struct sum_traits<T> {
  using accumulator = std::make_unsigned_t<T>;
  static accumulator add(accumulator sum, T term) noexcept {
    return static_cast<accumulator>(sum + static_cast<accumulator>(term));
  }
};

/// Logical or. The accumulator is a byte, and so is a bool in memory: any byte but 0 is true.
template <>
struct sum_traits<bool> {
  using accumulator = unsigned char;
  static_assert(sizeof(bool) == sizeof(accumulator));
  static accumulator add(accumulator sum, accumulator term) noexcept {
    return (sum | term) != 0 ? accumulator{1} : accumulator{0};
  }
};

template <half T>
struct sum_traits<T> {
  using accumulator = float;
  static accumulator add(accumulator sum, T term) noexcept { return rounded(sum + to_float(term)); }
};

/// Complex numbers add up part by part.
template <class T>
struct parts_of {
  using type = T;
  static constexpr std::int64_t count = 1;
};
template <complex_number T>
struct parts_of<T> {
  using type = typename T::value_type;
  static constexpr std::int64_t count = 2;
};

/// Registers of terms and of sums hold as many of them, so that lanes add up as they are.
template <class T>
concept adds_in_lanes =
    std::same_as<T, bool> || std::same_as<T, float> || std::same_as<T, double> || std::unsigned_integral<T>;

}  // namespace reblock::detail
