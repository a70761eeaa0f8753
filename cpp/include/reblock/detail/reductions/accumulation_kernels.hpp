// SPDX-License-Identifier: BSD-3-Clause
//
// A kernel tells how accumulators take terms. The functions of an accumulation are made from it.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/reductions/term_values.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Returns the value from which accumulators of type A begin that add: 0, or, before a first term, what changes no sum.
template <class A>
[[gnu::always_inline]] inline A neutral_summand([[maybe_unused]] beginning from) noexcept {
  if constexpr (std::floating_point<A>) {
    if (from == beginning::first_term) return -A{};
  }
  return A{};
}

/// An unsigned integer of as many bytes as T.
template <class T>
using bits_of =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// Returns the bits of a term that changes no sum: -0, or 0 as an integer.
template <class T>
constexpr bits_of<stored<T>> no_summand() noexcept {
  if constexpr (std::integral<T>) return 0;
  return static_cast<bits_of<stored<T>>>(bits_of<stored<T>>{1} << (8 * sizeof(T) - 1));
}

/// A kernel tells how accumulators take terms of type T, as values of type A: one, or several in lanes.
template <class T, class Accumulator>
struct adding {
  using term = T;
  using value = Accumulator;
  using weight = std::conditional_t<std::same_as<value, long double>, double, value>;
  static constexpr bool has_errors = false;
  static constexpr bool flips = false;  ///< whether it changes bits of terms
  static value neutral(beginning from) noexcept { return neutral_summand<value>(from); }
  /// Returns the bits of a term that a mask leaves out.
  static auto left_out() noexcept { return no_summand<T>(); }
  static constexpr bool in_lanes =
      has_lanes && !std::same_as<value, long double> &&
      (half<T> ? std::same_as<value, float> : std::floating_point<value> || sizeof(value) <= 2 * sizeof(T));
  template <class V>
  [[gnu::always_inline]] static void add(V& sum, const V& next) noexcept {
    if constexpr (std::floating_point<V>) {
      sum = rounded(sum + next);
    } else if constexpr (std::same_as<T, bool> && sizeof(value) == 1) {
      sum = static_cast<V>(sum | next);
    } else {
      sum = static_cast<V>(sum + next);
    }
  }
};

/// Adds with the errors of the additions, which are exact (Knuth's TwoSum).
template <class T>
struct adding_with_errors {
  using term = T;
  using value = T;
  using weight = double;
  static constexpr bool has_errors = true;
  static constexpr bool flips = false;
  static value neutral(beginning from) noexcept { return neutral_summand<value>(from); }
  static auto left_out() noexcept { return no_summand<T>(); }
  static constexpr bool in_lanes = has_lanes && !std::same_as<T, long double>;
  template <class V>
  [[gnu::always_inline]] static void add(V& sum, V& errors, const V& next) noexcept {
    const V before = sum;
    sum = before + next;
    round_one(sum);
    V added = sum - before;
    round_one(added);
    V kept = sum - added;
    round_one(kept);
    V lost = before - kept;
    round_one(lost);
    V rest = next - added;
    round_one(rest);
    lost = lost + rest;
    round_one(lost);
    errors = errors + lost;
    round_one(errors);
  }
};

/// A long_integer has 128 bits, as two's complement.
struct long_integer {
  std::uint64_t low;
  std::uint64_t high;
};

/// Adds integers to long integers. The lower halves are the sums, and the upper halves are in the place of the errors.
template <class T>
struct adding_long {
  using term = T;
  using value = std::uint64_t;
  using weight = double;
  static constexpr bool has_errors = true;
  static constexpr bool flips = false;
  static constexpr bool in_lanes = has_lanes && sizeof(T) == sizeof(value);
  static value neutral(beginning) noexcept { return {}; }
  static auto left_out() noexcept { return no_summand<T>(); }
  template <class V>
  [[gnu::always_inline]] static void add(V& low, V& high, const V& next) noexcept {
    low = low + next;
    const V carry = low < next ? V{} + std::uint64_t{1} : V{};
    high = high + carry;
    if constexpr (std::is_signed_v<T>) high = high - (next >> 63);
  }
};

/// Keeps the first of the greatest terms, and the first NaN. It flips some bits of each term: that makes the least term the
/// greatest, or integers with a sign integers without one. So all integers of one size have the same functions.
template <class T>
struct keeping_greatest {
  using term = T;
  using value = std::conditional_t<half<T>, float, stored<T>>;
  using weight = double;
  using bits = bits_of<value>;
  static constexpr bool has_errors = false;
  static constexpr bool flips = true;
  static constexpr bool in_lanes = has_lanes;
  static value neutral(beginning) noexcept {
    if constexpr (std::floating_point<value>) return -std::numeric_limits<value>::infinity();
    return std::numeric_limits<value>::min();
  }
  auto left_out() const noexcept {
    if constexpr (half<T>) {
      const std::uint16_t infinity = std::same_as<T, float16> ? 0x7c00 : 0x7f80;
      return static_cast<bits_of<T>>(flip == 0 ? infinity | 0x8000 : infinity);
    } else {
      return static_cast<bits>(std::bit_cast<bits>(neutral(beginning::first_term)) ^ flip);
    }
  }
  static void add(value& held, const value& next) noexcept {
    if (!(held >= next || held != held)) held = next;
  }
  value flipped(value from) const noexcept {
    return std::bit_cast<value>(static_cast<bits>(std::bit_cast<bits>(from) ^ flip));
  }

  bits flip;
};

/// The integer of T's size whose greatest lanes processors find in one step: without a sign if it has one byte, else with one.
/// Other types are themselves; a bool is true or false, whatever its bits.
template <class T>
constexpr auto ordered_value() noexcept {
  if constexpr (!std::integral<T> || std::same_as<T, bool>) {
    return T{};
  } else if constexpr (sizeof(T) == 1) {
    return std::uint8_t{};
  } else {
    return std::make_signed_t<T>{};
  }
}
template <class T>
using ordered = decltype(ordered_value<T>());

/// Returns the bits that a keeping_greatest flips to keep the greatest values of T, or the least ones.
template <class T, bool Max>
constexpr auto flip_of() noexcept {
  using bits = typename keeping_greatest<ordered<T>>::bits;
  constexpr auto sign = static_cast<bits>(bits{1} << (8 * sizeof(bits) - 1));
  if constexpr (std::integral<T>) {
    const bits order =
        std::same_as<T, ordered<T>> || std::is_signed_v<T> == std::is_signed_v<ordered<T>> ? bits{0} : sign;
    return static_cast<bits>(Max ? order : ~order);
  } else {
    return Max ? bits{0} : sign;
  }
}

/// Keeps the first of equal terms, and the first NaN, of types that have no lanes.
template <class T, bool Max>
struct keeping {
  using term = T;
  using value = std::conditional_t<half<T>, float, stored<T>>;
  using weight = double;
  static constexpr bool has_errors = false;
  static constexpr bool flips = false;
  static constexpr bool in_lanes = false;
  static value neutral(beginning) noexcept {
    if constexpr (std::floating_point<value>)
      return Max ? -std::numeric_limits<value>::infinity() : std::numeric_limits<value>::infinity();
    return Max ? std::numeric_limits<value>::min() : std::numeric_limits<value>::max();
  }
  static void add(value& held, const value& next) noexcept {
    const bool keeps = Max ? held >= next : held <= next;
    if (!keeps && held == held) held = next;
  }
};

template <class Kernel>
[[gnu::always_inline]] inline typename Kernel::value read_term(const std::byte* from) noexcept {
  using T = typename Kernel::term;
  stored<T> term;
  std::memcpy(&term, from, sizeof(term));
  return widened<T, typename Kernel::value>(term);
}

template <class T>
[[gnu::always_inline]] inline void write_result(std::byte* results, std::size_t i, stored<T> value) noexcept {
  std::memcpy(results + i * sizeof(value), &value, sizeof(value));
}

/// Converts a sum to a result: rounds it once. An integer beyond the range of T becomes the nearest value.
template <class T, class A>
[[gnu::always_inline]] inline stored<T> narrowed_sum(A sum) noexcept {
  if constexpr (std::integral<A>) {
    constexpr auto greatest = static_cast<A>(std::same_as<T, bool> ? 1 : std::numeric_limits<T>::max());
    constexpr auto least = static_cast<A>(std::numeric_limits<T>::min());
    return static_cast<stored<T>>(sum < greatest ? (sum > least ? sum : least) : greatest);
  } else {
    return narrowed<T>(sum);
  }
}

template <class Weight>
[[gnu::always_inline]] inline Weight weight_at(const void* list, std::size_t i) noexcept {
  Weight weight;
  std::memcpy(&weight, static_cast<const std::byte*>(list) + i * sizeof(weight), sizeof(weight));
  return weight;
}

/// The floating point in which sums are divided. It has all digits of sums of integers.
template <class A>
using dividend =
    std::conditional_t<std::floating_point<A>, A, std::conditional_t<sizeof(A) <= 2, float, double>>;

/// Sums of so many integers of one byte are divided as integers of two bytes.
inline constexpr int most_small_count = 127;

/// Returns 65536 / twice, rounded up. Let `sum` be of up to most_small_count values below 256, and `twice` twice their
/// number. Then the upper half of (2 * sum + twice / 2) times the inverse is the quotient, rounded, or one more: the product
/// is less than 1 too large.
constexpr std::uint16_t inverse_of_twice(std::uint16_t twice) noexcept {
  return twice == 0 ? std::uint16_t{0} : static_cast<std::uint16_t>((65535 + twice) / twice);
}

/// A sum of floats in double becomes a float that is rounded as the exact quotient, even by an inverse number of terms.
template <class T>
inline constexpr bool means_by_inverse = std::same_as<T, float>;

/// The two parts of a number by which lanes are multiplied or divided.
template <class F>
struct divisor {
  F upper;
  F lower = 0;
};
/// Returns `same`, or, if wanted, the inverse of `count` as two numbers. Sums of up to half the bits of F, times the upper
/// number, are exact. So a quotient that lies halfway between two integers is exact too, and no other one is rounded to it.
template <class F>
divisor<F> divisor_of(std::int64_t count, F same, bool inverts) noexcept {
  if (!inverts) return {same};
  const auto terms = static_cast<double>(count);
  F upper;
  if constexpr (sizeof(F) == 4) {
    upper = std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(1 / terms)) & 0xffff0000u);
  } else {
    upper = std::bit_cast<double>(std::bit_cast<std::uint64_t>(1 / terms) & ~std::uint64_t{0xffffffff});
  }
  return {upper, static_cast<F>((1 - upper * terms) / terms)};
}

/// How accumulators become results.
enum class finishing : std::uint8_t { sums, quotients, quotients_with_errors, long_quotients };

/// Divides a sum of 128 bits, whose quotient fits T: rounds to nearest, ties to even.
template <class T>
T divided(long_integer sum, std::uint64_t count) noexcept {
  const bool is_negative = std::is_signed_v<T> && sum.high >> 63 != 0;
  if (is_negative) {
    sum.high = ~sum.high + (sum.low == 0 ? 1 : 0);
    sum.low = ~sum.low + 1;
  }
  std::uint64_t quotient = sum.low / count;
  std::uint64_t rest = sum.low % count;
  if (sum.high != 0) {
    quotient = 0;
    rest = sum.high % count;
    for (int bit = 63; bit >= 0; --bit) {
      const bool carries = rest >> 63 != 0;
      rest = rest << 1 | (sum.low >> bit & 1);
      const bool takes = carries || rest >= count;
      if (takes) rest -= count;
      quotient = quotient << 1 | (takes ? 1 : 0);
    }
  }
  const std::uint64_t other = count - rest;
  if (rest > other || (rest == other && quotient % 2 != 0)) ++quotient;
  return static_cast<T>(is_negative ? ~quotient + 1 : quotient);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
