// SPDX-License-Identifier: BSD-3-Clause
//
// sum_traits defines the sum of each element type.
#pragma once

#include <concepts>
#include <type_traits>

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/sums/summand.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// sum_traits has the type in which parts of type T are summed, and the function that adds a term and rounds. Integers
/// wrap: they are added as unsigned integers.
template <class T>
struct sum_traits;

template <class T>
  requires std::floating_point<T>
struct sum_traits<T> {
  using accumulator = T;
  static accumulator add(accumulator sum, T term) noexcept { return rounded(sum + term); }
};

template <class T>
  requires std::integral<T>
struct sum_traits<T> {
  using accumulator = std::make_unsigned_t<T>;
  static accumulator add(accumulator sum, T term) noexcept {
    return static_cast<accumulator>(sum + static_cast<accumulator>(term));
  }
};

/// bool is a logical or. The accumulator is a byte, like a bool in memory: any byte except 0 is true.
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

/// The concept takes types whose terms and sums have the same size, so that registers are added lane by lane.
template <class T>
concept adds_in_lanes =
    std::same_as<T, bool> || std::same_as<T, float> || std::same_as<T, double> || std::unsigned_integral<T>;

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
