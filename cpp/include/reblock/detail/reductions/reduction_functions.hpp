// SPDX-License-Identifier: BSD-3-Clause
//
// This header has the arithmetic of fold's reductions. Each type has few kinds of accumulators:
//
//     sum            the type itself as in sum_traits.hpp: terms are added exactly as in a fold without options
//     mean           integers, bool and float in a type of twice the size, halves in float, double and long double with the
//                    error of each addition. Integers are exact, and equal terms give their own value, in every type
//     weighted sum   halves in float, long double in itself, all others in double; small integers in a type of twice the size
//                    if weights are small integers too
//     max, min       the type itself, halves in float
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/reductions/accumulation_kernels.hpp>
#include <reblock/detail/simd/accumulations.hpp>
#include <reblock/detail/sums/sum_traits.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Returns the functions of a kernel for each set. `Widest`: those of avx512 are worth their code.
template <class Kernel, finishing Finish, bool Weighted = false, bool Widest = false>
constexpr reduction_functions::by_set accumulation_by() noexcept {
  constexpr accumulation narrow = accumulations::baseline::accumulation_by<Kernel, Finish, Weighted>();
#if defined(__GNUC__) && defined(__x86_64__)
  if constexpr (Kernel::in_lanes) {
    constexpr accumulation wide = accumulations::avx2::accumulation_by<Kernel, Finish, Weighted>();
    if constexpr (Widest) {
      return {{narrow, wide, accumulations::avx512::accumulation_by<Kernel, Finish, Weighted>()}};
    } else {
      return {{narrow, wide, wide}};
    }
  }
#endif
  return {{narrow, narrow, narrow}};
}

/// The accumulator of a weighted sum, and that of most means.
template <class T>
using weighted_sum =
    std::conditional_t<half<T>, float, std::conditional_t<std::same_as<T, long double>, T, double>>;
/// Returns a value of the type of twice the size that sums elements of type T.
template <class T>
constexpr auto doubled_value() noexcept {
  constexpr bool has_sign = std::is_signed_v<T>;
  if constexpr (half<T>) {
    return float{};
  } else if constexpr (std::same_as<T, float>) {
    return double{};
  } else if constexpr (sizeof(T) == 1) {
    return std::conditional_t<has_sign, std::int16_t, std::uint16_t>{};
  } else if constexpr (sizeof(T) == 2) {
    return std::conditional_t<has_sign, std::int32_t, std::uint32_t>{};
  } else {
    return std::conditional_t<has_sign, std::int64_t, std::uint64_t>{};
  }
}
template <class T>
using doubled = decltype(doubled_value<T>());

template <class T, bool Max>
constexpr reduction_functions::by_set extremes_of() noexcept {
  constexpr accumulation narrow = accumulations::baseline::extremes_of<T, Max>();
#if defined(__GNUC__) && defined(__x86_64__)
  constexpr accumulation wide = accumulations::avx2::extremes_of<T, Max>();
  return {{narrow, wide, wide}};
#else
  return {{narrow, narrow, narrow}};
#endif
}

template <class T>
constexpr reduction_functions::by_set mean_of_many() noexcept {
  if constexpr (std::integral<T> && sizeof(T) >= 4) {
    return accumulation_by<adding_long<T>, finishing::long_quotients>();
  } else if constexpr (std::same_as<T, double> || std::same_as<T, long double>) {
    return accumulation_by<adding_with_errors<T>, finishing::quotients_with_errors>();
  } else if constexpr (std::same_as<T, float> || half<T>) {
    return accumulation_by<adding<T, double>, finishing::quotients, false, std::same_as<T, float>>();
  } else {
    constexpr accumulation narrow = accumulations::baseline::means_of_many<T, doubled<T>>();
#if defined(__GNUC__) && defined(__x86_64__)
    return {{narrow, accumulations::avx2::means_of_many<T, doubled<T>>(),
             accumulations::avx512::means_of_many<T, doubled<T>>()}};
#else
    return {{narrow, narrow, narrow}};
#endif
  }
}

template <class T>
constexpr reduction_functions::by_set mean_of_few() noexcept {
  if constexpr (sizeof(T) >= 8) {
    return mean_of_many<T>();
  } else {
    using sum = doubled<T>;
    return accumulation_by<adding<T, sum>, finishing::quotients, false, true>();
  }
}

/// Sums of so many terms fit the type of twice the size. The rounding of their quotient is exact.
template <class T>
constexpr std::int64_t mean_limit() noexcept {
  if constexpr (sizeof(T) == 1) return 255;
  if constexpr (std::integral<T> && sizeof(T) == 2) return 65535;
  return (std::int64_t{1} << 21) - 1;
}

template <class T>
constexpr reduction_functions::by_set plain_sums() noexcept {
  using sum = typename sum_traits<T>::accumulator;
  // integers have the same sums with a sign and without
  using summed_term = std::conditional_t<std::integral<T> && !std::same_as<T, bool>, sum, T>;
  return accumulation_by<adding<summed_term, sum>, finishing::sums, false, half<T>>();
}

/// Weighted sums whose weights allow faster accumulators with the same results.
template <class T>
constexpr reduction_functions::by_set weighted_exactly() noexcept {
  if constexpr (std::integral<T> && sizeof(T) <= 2 && !std::same_as<T, bool>) {
    return accumulation_by<adding<T, doubled<T>>, finishing::sums, true, true>();
  } else if constexpr (std::same_as<T, float>) {
    return accumulation_by<adding<T, float>, finishing::sums, true, true>();
  } else {
    return {};
  }
}

template <class T>
constexpr reduction_functions make_reduction_functions() noexcept {
  using weighted = weighted_sum<T>;
  // terms of 8 bytes, and integers that become doubles, are no faster in registers of 64 bytes
  constexpr bool in_widest = sizeof(T) < 4 || std::same_as<T, float>;
  return {
      plain_sums<T>(),         mean_of_few<T>(),
      mean_of_many<T>(),       accumulation_by<adding<T, weighted>, finishing::quotients, true, in_widest>(),
      weighted_exactly<T>(),   extremes_of<T, true>(),
      extremes_of<T, false>(), mean_limit<T>(),
      means_by_inverse<T>};
}

template <class T>
[[gnu::visibility("hidden")]] inline constexpr reduction_functions reduction_functions_of =
    make_reduction_functions<T>();

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
