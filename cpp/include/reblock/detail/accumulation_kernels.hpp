// SPDX-License-Identifier: BSD-3-Clause
//
// A kernel tells how accumulators take terms. An accumulation is a row of accumulators, one for each element of the result,
// with the functions of one kernel for one instruction set.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <reblock/detail/compiler.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/lanes.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/term_values.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Rows of contiguous terms, `row_stride` bytes apart.
struct rows_of_terms {
  const std::byte* first;
  std::int64_t row_stride;
  std::size_t rows;
  std::size_t columns;
};

/// Rows of contiguous terms, one of each element. They begin with accumulator `first_accumulator`, and the next row
/// `accumulators_step` behind it.
struct single_terms_of_rows {
  rows_of_terms terms;
  std::int64_t first_accumulator;
  std::int64_t accumulators_step;
  double weight;
};

/// A quotient tells how accumulators become results. A number of terms divides them, or factors do, or factors multiply
/// them, which are the inverse sums of weights. A factor of 0 makes the result 0.
struct quotient {
  std::int64_t count = 1;
  const double* factors = nullptr;  ///< null: `count` divides
  bool one_factor = false;          ///< whether factors[0] is for all
  bool is_mean = true;              ///< whether results lie between the terms
  bool divides = false;             ///< whether factors are numbers of terms
  bool is_listed = false;           ///< whether list_counts() has made the factors a list

  /// Returns the number of terms of an element if factors divide or are null.
  double terms(std::size_t i) const noexcept {
    return factors == nullptr ? static_cast<double>(count) : factors[one_factor ? 0 : i];
  }
};

/// The weights of rows of single terms. A row has one weight, a double, if `period` is 0, else the list of so many that
/// list_weighing() has made. If rows are longer, lanes of any width divide it.
struct weight_list {
  const std::byte* first = nullptr;
  std::size_t period = 0;
  std::size_t row_step = 0;  ///< from the list of a row to that of the next, bytes
};

/// Rows that need no lists for each accumulator may have so many, if there is room.
[[gnu::visibility("hidden")]] inline constexpr std::size_t most_together = 4 * most_accumulators;

/// The functions of one kind of accumulators. A row has up to `most`.
struct accumulation {
  void (*add)(std::byte* row, const rows_of_terms&, const term_offsets&, beginning);
  /// Adds terms times weights. `weights` points to each term's weight of the first element. If the weights of a row's
  /// elements differ, list_weights() has made the lists.
  void (*add_weighted)(std::byte* row, const rows_of_terms&, const term_offsets&, beginning,
                       const double* const* weights, const weight_steps& apart);
  /// Converts `period` weights, where they are, to the type that accumulators multiply by, and repeats them until there are
  /// `count`. Returns whether this is exact.
  bool (*list_weights)(double* weights, std::size_t count, std::size_t period);
  /// Makes sums of rows of contiguous single terms, where they are.
  void (*weigh)(std::byte* terms, std::size_t columns, const tile_axis& rows, const weight_list& weights);
  /// Writes the contiguous results of `count` accumulators.
  void (*finish)(const std::byte* row, std::byte* results, std::size_t count, const quotient&);
  /// Makes numbers of terms, where they are, a list by which finish() divides fast. Returns whether it can.
  bool (*list_counts)(double* counts, std::size_t count);
  /// Adds one term to what each accumulator of some rows holds, times the weight where there are weights.
  void (*add_single)(std::byte* row, const single_terms_of_rows&);
  /// Makes accumulators 0, or, for a first term, what changes no sum: -0 in floating point.
  void (*fill)(std::byte* row, std::size_t count, beginning from);
  /// Makes a list for weigh() as list_weights() does. A list for pairs of terms has the weights of all even places, then those
  /// of the odd ones.
  bool (*list_weighing)(double* weights, std::size_t count, std::size_t period);
  /// Accumulators that have room in accumulators_bytes.
  std::size_t most;
  std::size_t weight_size;  ///< of a weight in a list, bytes
};
/// Bytes of a row of any accumulators: two long doubles each.
[[gnu::visibility("hidden")]] inline constexpr std::size_t accumulators_bytes = most_accumulators * 32;

/// A kernel tells how accumulators take terms of type T, as values of type A: one, or several in lanes.
template <class T, class Accumulator>
struct adding {
  using term = T;
  using value = Accumulator;
  using weight = std::conditional_t<std::same_as<value, long double>, double, value>;
  static constexpr bool has_errors = false;
  static constexpr bool may_mask = true;  ///< whether masked terms change no result
  static constexpr bool in_lanes =
      has_lanes && !std::same_as<value, long double> &&
      (half<T> ? std::same_as<value, float> : std::floating_point<value> || sizeof(value) <= 2 * sizeof(T)) &&
      !(std::same_as<T, bool> && sizeof(value) == 1) &&
      !(sizeof(T) >= 4 && std::integral<T> && std::floating_point<value>);
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
  static constexpr bool may_mask = true;
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

 private:
  /// Rounds a number that may have more digits than its type. Lanes have none.
  template <class V>
  [[gnu::always_inline]] static void round_one(V& value) noexcept {
    if constexpr (std::floating_point<V>) value = rounded(value);
  }
};

/// A long_integer has 128 bits, as two's complement.
struct long_integer {
  std::uint64_t low;
  std::uint64_t high;
};

template <class T>
struct adding_long {
  using term = T;
  using value = long_integer;
  using weight = double;
  static constexpr bool has_errors = false;
  static constexpr bool may_mask = true;
  static constexpr bool in_lanes = false;
  static void add(value& sum, const value& next) noexcept {
    sum.low += next.low;
    sum.high += next.high + (sum.low < next.low ? 1 : 0);
  }
};

/// Keeps the first of equal terms, and the first NaN.
template <class T, bool Max>
struct keeping {
  using term = T;
  using value = std::conditional_t<half<T>, float, stored<T>>;
  using weight = double;
  static constexpr bool has_errors = false;
  static constexpr bool may_mask = false;
  static constexpr bool in_lanes = has_lanes && !std::same_as<T, bool> && !std::same_as<T, long double>;
  template <class V>
  [[gnu::always_inline]] static void add(V& held, const V& next) noexcept {
    if constexpr (Max) {
      held = ((held >= next) | (held != held)) ? held : next;
    } else {
      held = ((held <= next) | (held != held)) ? held : next;
    }
  }
};

template <class Kernel>
[[gnu::always_inline]] inline typename Kernel::value read_term(const std::byte* from) noexcept {
  using T = typename Kernel::term;
  stored<T> term;
  std::memcpy(&term, from, sizeof(term));
  if constexpr (std::same_as<typename Kernel::value, long_integer>) {
    return {static_cast<std::uint64_t>(term), term < T{} ? ~std::uint64_t{0} : 0};
  } else {
    return widened<T, typename Kernel::value>(term);
  }
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
