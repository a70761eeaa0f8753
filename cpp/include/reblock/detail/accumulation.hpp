// SPDX-License-Identifier: BSD-3-Clause
//
// This header has the arithmetic of fold's reductions. An accumulation is a row of accumulators, one for each element of
// the result; functions add a row of terms to it. Each type has few kinds of accumulators:
//
//     sum            the type itself as in sum_traits.hpp: terms are added exactly as in a fold without options
//     mean           integers, bool and float in a type of twice the size, halves in float, double and long double with the
//                    error of each addition. Integers are exact, and equal terms give their own value, in every type
//     weighted sum   halves in float, long double in itself, all others in double
//     max, min       the type itself, halves in float
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <reblock/detail/compiler.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/lanes.hpp>
#include <reblock/detail/reduction.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/sum_traits.hpp>
#include <reblock/detail/summand.hpp>
#include <reblock/detail/term_values.hpp>

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

  /// Returns the number of terms of an element if factors divide or are null.
  double terms(std::size_t i) const noexcept {
    return factors == nullptr ? static_cast<double>(count) : factors[one_factor ? 0 : i];
  }
};

/// The functions of one kind of accumulators. A row has up to most_accumulators.
struct accumulation {
  void (*add)(std::byte* row, const rows_of_terms&, const term_offsets&, beginning);
  /// Adds terms times weights. `weights` points to each term's weight of the first element.
  void (*add_weighted)(std::byte* row, const rows_of_terms&, const term_offsets&, beginning,
                       const double* const* weights, const weight_steps& apart);
  /// Writes the contiguous results of `count` accumulators.
  void (*finish)(const std::byte* row, std::byte* results, std::size_t count, const quotient&);
  /// Adds one term to what each accumulator of some rows holds, times the weight where there are weights.
  void (*add_single)(std::byte* row, const single_terms_of_rows&);
  /// Makes accumulators 0, or, for a first term, what changes no sum: -0 in floating point.
  void (*fill)(std::byte* row, std::size_t count, beginning from);
};
/// Bytes of a row of any accumulators: two long doubles each.
[[gnu::visibility("hidden")]] inline constexpr std::size_t accumulators_bytes = most_accumulators * 32;

/// The functions for results of one type, for the baseline and for avx2.
struct reduction_functions {
  using by_set = std::array<accumulation, 2>;
  by_set sum;
  by_set mean;
  by_set mean_of_many;  ///< for more than mean_limit terms
  by_set weighted;
  by_set max;
  by_set min;
  std::int64_t mean_limit;
  bool means_by_inverse;  ///< whether the inverse number of terms makes means exact
};

/// A kernel tells how accumulators take terms of type T, as values of type A: one, or several in lanes.
template <class T, class Accumulator>
struct adding {
  using term = T;
  using value = Accumulator;
  static constexpr bool has_errors = false;
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
  static constexpr bool has_errors = true;
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
  static constexpr bool has_errors = false;
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
  static constexpr bool has_errors = false;
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

/// The functions of an accumulation for one kernel. They are inlined into functions for each instruction set.
template <class Kernel>
struct steps {
  using T = typename Kernel::term;
  using A = typename Kernel::value;
  static constexpr std::size_t size = sizeof(stored<T>);

  /// Adds all terms of elements from `first` on, to accumulators from `row` on.
  [[gnu::always_inline]] static inline void add_one(A* row, const std::byte* first, const term_offsets& terms,
                                                    beginning from) {
    std::size_t t = 0;
    A sum{};
    A errors{};
    if (from == beginning::first_term) {
      sum = read_term<Kernel>(first + terms.offsets[t++]);
    } else if (from == beginning::held) {
      sum = row[0];
      if constexpr (Kernel::has_errors) errors = row[most_accumulators];
    }
    for (; t < terms.count; ++t) {
      const A next = read_term<Kernel>(first + terms.offsets[t]);
      if constexpr (Kernel::has_errors) {
        Kernel::add(sum, errors, next);
      } else {
        Kernel::add(sum, next);
      }
    }
    row[0] = sum;
    if constexpr (Kernel::has_errors) row[most_accumulators] = errors;
  }

  [[gnu::always_inline]] static inline void add_one_weighted(A* row, const std::byte* first,
                                                             const term_offsets& terms, beginning from,
                                                             const double* const* weights,
                                                             std::size_t weight) {
    A sum = from == beginning::held ? row[0] : A{};
    for (std::size_t t = 0; t < terms.count; ++t) {
      const A factor = static_cast<A>(weights[t][weight]);
      Kernel::add(sum, rounded(factor * read_term<Kernel>(first + terms.offsets[t])));
    }
    row[0] = sum;
  }

  /// Adds one term to what an accumulator holds.
  template <bool Weighted>
  [[gnu::always_inline]] static inline void add_to_one(A* held, const std::byte* from, double weight) {
    A next = read_term<Kernel>(from);
    if constexpr (Weighted) next = rounded(static_cast<A>(weight) * next);
    if constexpr (Kernel::has_errors) {
      Kernel::add(held[0], held[most_accumulators], next);
    } else {
      Kernel::add(held[0], next);
    }
  }

  template <bool Weighted>
  [[gnu::always_inline]] static inline void add_single(std::byte* row, const single_terms_of_rows& all) {
    const single_terms_of_rows part = all;
    const std::size_t columns = part.terms.columns;
    A* to = reinterpret_cast<A*>(row) + part.first_accumulator;
    const std::byte* from = part.terms.first;
    const auto for_rows = [=](const auto& add) {
      for (std::size_t r = 0; r < part.terms.rows; ++r) {
        const auto at = static_cast<std::int64_t>(r);
        add(to + at * part.accumulators_step, from + at * part.terms.row_stride);
      }
    };
    if constexpr (Kernel::in_lanes) {
      const auto in_lanes = [=](auto count) {
        const lane_tail<A, count> tail(columns % count);
        for_rows([=](A* held, const std::byte* terms) {
          lane_steps<Kernel, count>::template add_single<Weighted>(held, terms, columns, tail, part.weight);
        });
      };
      using all_lanes = std::integral_constant<std::size_t, lane_count>;
      if (columns >= lane_count) return in_lanes(all_lanes{});
      if constexpr (least_lanes < lane_count) {
        if (columns >= lane_count / 2) return in_lanes(std::integral_constant<std::size_t, lane_count / 2>{});
        if (columns >= least_lanes) return in_lanes(std::integral_constant<std::size_t, least_lanes>{});
      }
    }
    for_rows([=](A* held, const std::byte* terms) {
      for (std::size_t i = 0; i < columns; ++i) add_to_one<Weighted>(held + i, terms + i * size, part.weight);
    });
  }

  static void fill(std::byte* row, std::size_t count, beginning from) {
    A* to = reinterpret_cast<A*>(row);
    A value{};
    if constexpr (std::floating_point<A>) {
      if (from == beginning::first_term) value = -value;
    }
    std::fill_n(to, count, value);
    if constexpr (Kernel::has_errors) std::fill_n(to + most_accumulators, count, A{});
  }

  /// Lanes fill registers of 32 bytes, or of 16 or 8 bytes at the end of a row.
  static constexpr std::size_t lane_count = 32 / sizeof(A);
  static constexpr std::size_t least_lanes = half<T> || lane_count < 8 ? lane_count : lane_count / 4;
  static constexpr std::size_t at_once = 4;

  /// Calls visit(lanes, registers, first element) for the elements of a row. Some registers are taken at once, then one, then
  /// single elements. Elements at the end are taken twice where that is faster, unless accumulators hold terms already.
  template <class Visit>
  [[gnu::always_inline]] static inline void for_each_step(std::size_t columns, beginning from,
                                                          const Visit& visit) {
    using one = std::integral_constant<std::size_t, 1>;
    std::size_t i = 0;
    if constexpr (Kernel::in_lanes) {
      constexpr std::integral_constant<std::size_t, lane_count> all;
      constexpr std::integral_constant<std::size_t, lane_count / 2> half_of_all;
      constexpr std::integral_constant<std::size_t, least_lanes> few;
      constexpr std::integral_constant<std::size_t, at_once> some;
      for (; i + some * all <= columns; i += some * all) visit(all, some, i);
      for (; i + all <= columns; i += all) visit(all, one{}, i);
      if constexpr (few < all) {
        if (i + half_of_all <= columns) {
          visit(half_of_all, one{}, i);
          i += half_of_all;
        }
        if (i + few <= columns) {
          visit(few, one{}, i);
          i += few;
        }
      }
      if (i < columns && columns >= few && from != beginning::held) {
        visit(few, one{}, columns - few);
        return;
      }
    }
    for (; i < columns; ++i) visit(one{}, one{}, i);
  }

  [[gnu::always_inline]] static inline void add(std::byte* row, const rows_of_terms& terms,
                                                const term_offsets& offsets, beginning from) {
    A* to = reinterpret_cast<A*>(row);
    const term_offsets all = offsets;
    const std::size_t columns = terms.columns;
    for (std::size_t r = 0; r < terms.rows; ++r, to += columns) {
      const std::byte* first = terms.first + static_cast<std::int64_t>(r) * terms.row_stride;
      for_each_step(columns, from, [=, &all](auto count, auto registers, std::size_t i) {
        if constexpr (count == 1) {
          add_one(to + i, first + i * size, all, from);
        } else {
          lane_steps<Kernel, count>::template add<registers>(to + i, first + i * size, all, from);
        }
      });
    }
  }

  [[gnu::always_inline]] static inline void add_weighted(std::byte* row, const rows_of_terms& terms,
                                                         const term_offsets& offsets, beginning from,
                                                         const double* const* weights,
                                                         const weight_steps& apart) {
    A* to = reinterpret_cast<A*>(row);
    const std::size_t step = apart.element;
    const std::size_t columns = terms.columns;
    std::size_t weight = 0;  // of the row's first element
    for (std::size_t r = 0; r < terms.rows; ++r, to += columns, weight += apart.row) {
      const std::byte* first = terms.first + static_cast<std::int64_t>(r) * terms.row_stride;
      for_each_step(columns, from, [=, &offsets](auto count, auto registers, std::size_t i) {
        if constexpr (count == 1) {
          add_one_weighted(to + i, first + i * size, offsets, from, weights, weight + step * i);
        } else {
          lane_steps<Kernel, count>::template add_weighted<registers>(to + i, first + i * size, offsets, from,
                                                                      weights, weight + step * i, step != 0);
        }
      });
    }
  }
};

template <class T>
[[gnu::always_inline]] inline void write_result(std::byte* results, std::size_t i, stored<T> value) noexcept {
  std::memcpy(results + i * sizeof(value), &value, sizeof(value));
}

/// Writes the accumulators as they are, or rounded to halves.
template <class T, class A>
[[gnu::always_inline]] inline void finish_sums(const std::byte* row, std::byte* results, std::size_t count,
                                               const quotient&) {
  const auto* __restrict from = reinterpret_cast<const A*>(row);
  std::byte* __restrict to = results;
  std::size_t i = 0;
  if constexpr (half<T> && has_lanes) {
    for (; i + 8 <= count; i += 8) round_eight<T>(from + i, to + i * sizeof(T));
  }
  for (; i < count; ++i) {
    if constexpr (std::integral<A>) {
      write_result<T>(to, i, static_cast<stored<T>>(from[i]));
    } else {
      write_result<T>(to, i, narrowed<T>(from[i]));
    }
  }
}

/// The floating point in which sums are divided. It has all digits of sums of integers.
template <class A>
using dividend =
    std::conditional_t<std::floating_point<A>, A, std::conditional_t<sizeof(A) <= 2, float, double>>;

/// A sum of floats in double becomes a float that is rounded as the exact quotient, even by an inverse number of terms.
template <class T>
inline constexpr bool means_by_inverse = std::same_as<T, float>;

/// Divides accumulators.
template <class T, class A>
[[gnu::always_inline]] inline void finish_quotients(const std::byte* row, std::byte* results,
                                                    std::size_t count, const quotient& ratio) {
  using F = dividend<A>;
  const auto* __restrict from = reinterpret_cast<const A*>(row);
  std::byte* __restrict to = results;
  const bool is_exact = (ratio.count & (ratio.count - 1)) == 0;
  const bool multiplies = ratio.factors != nullptr ? !ratio.divides : is_exact || means_by_inverse<T>;
  const F same = ratio.factors == nullptr
                     ? (multiplies ? F{1} / static_cast<F>(ratio.count) : static_cast<F>(ratio.count))
                     : static_cast<F>(ratio.factors[0]);
  const double* const factors = ratio.one_factor ? nullptr : ratio.factors;
  std::size_t i = 0;
  if constexpr (finishes_in_lanes<T, A>) {
    constexpr std::size_t n = 32 / sizeof(F);
    if (same != 0 && count >= n) {
      for (;; i = std::min(i + n, count - n)) {  // the last results may be written twice
        finish_lanes<T, A, F, n>(from + i, to + i * sizeof(T), same,
                                 factors == nullptr ? nullptr : factors + i, multiplies, !ratio.is_mean);
        if (i == count - n) return;
      }
    }
  }
  for (; i < count; ++i) {
    const F factor = factors == nullptr ? same : static_cast<F>(factors[i]);
    const auto sum = static_cast<F>(from[i]);
    const F value = factor == 0 ? F{0} : rounded(multiplies ? sum * factor : sum / factor);
    write_result<T>(to, i, narrowed<T>(value));
  }
}

/// Divides sums with their errors. The remainder of the first quotient, which is exact, corrects it.
template <class T>
[[gnu::always_inline]] inline void finish_with_errors(const std::byte* row, std::byte* results,
                                                      std::size_t count, const quotient& ratio) {
  const auto* __restrict sums = reinterpret_cast<const T*>(row);
  std::byte* __restrict to = results;
  constexpr int half_of_digits = (std::numeric_limits<T>::digits + 1) / 2;
  constexpr T splitter = static_cast<T>(std::int64_t{1} << half_of_digits) + 1;
  T divisor = 0;
  T inverse = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto terms = static_cast<T>(ratio.terms(i)); terms != divisor) {
      divisor = terms;
      inverse = T{1} / divisor;
    }
    if (divisor == 0) {
      write_result<T>(to, i, T{});
      continue;
    }
    const T first = rounded(sums[i] * inverse);
    // Veltkamp's split: the products of both parts with a count of fewer digits are exact
    const T scaled = rounded(splitter * first);
    const T upper = rounded(scaled - rounded(scaled - first));
    const T lower = rounded(first - upper);
    const T rest = rounded(rounded(sums[i] - rounded(upper * divisor)) - rounded(lower * divisor));
    const T corrected = rounded(first + rounded(rounded(rest + sums[most_accumulators + i]) * inverse));
    write_result<T>(to, i, corrected - corrected == 0 ? corrected : first);  // not finite: no error is known
  }
}

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

template <class T>
[[gnu::always_inline]] inline void finish_long(const std::byte* row, std::byte* results, std::size_t count,
                                               const quotient& ratio) {
  const auto* from = reinterpret_cast<const long_integer*>(row);
  for (std::size_t i = 0; i < count; ++i) {
    const auto terms = static_cast<std::uint64_t>(ratio.terms(i));
    write_result<T>(results, i, terms == 0 ? T{} : divided<T>(from[i], terms));
  }
}

using finishing = void (*)(const std::byte*, std::byte*, std::size_t, const quotient&);

template <class Kernel, finishing Finish, bool Weighted>
constexpr reduction_functions::by_set accumulation_by() noexcept {
  using functions = steps<Kernel>;
  constexpr auto add_single = functions::template add_single<Weighted>;
  constexpr auto add_wide = in_wide_registers<&functions::template add_single<Weighted>>::call;
  if constexpr (Weighted) {
    return {{{functions::add, functions::add_weighted, Finish, add_single, functions::fill},
             {in_wide_registers<&functions::add>::call, in_wide_registers<&functions::add_weighted>::call,
              in_wide_registers<Finish>::call, add_wide, functions::fill}}};
  } else {
    return {{{functions::add, nullptr, Finish, add_single, functions::fill},
             {in_wide_registers<&functions::add>::call, nullptr, in_wide_registers<Finish>::call, add_wide,
              functions::fill}}};
  }
}

/// The accumulator of a weighted sum, and that of most means.
template <class T>
using weighted_sum =
    std::conditional_t<half<T>, float, std::conditional_t<std::same_as<T, long double>, T, double>>;
template <class T>
struct doubled {};
template <half T>
struct doubled<T> {
  using type = float;
};
template <>
struct doubled<float> {
  using type = double;
};
template <>
struct doubled<bool> {
  using type = std::uint16_t;
};
template <>
struct doubled<std::uint8_t> {
  using type = std::uint16_t;
};
template <>
struct doubled<std::int8_t> {
  using type = std::int16_t;
};
template <>
struct doubled<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct doubled<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct doubled<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct doubled<std::int32_t> {
  using type = std::int64_t;
};

template <class T>
constexpr reduction_functions::by_set mean_of_many() noexcept {
  if constexpr (std::integral<T> && sizeof(T) >= 4) {
    return accumulation_by<adding_long<T>, finish_long<T>, false>();
  } else if constexpr (std::same_as<T, double> || std::same_as<T, long double>) {
    return accumulation_by<adding_with_errors<T>, finish_with_errors<T>, false>();
  } else {
    return accumulation_by<adding<T, double>, finish_quotients<T, double>, false>();
  }
}

template <class T>
constexpr reduction_functions::by_set mean_of_few() noexcept {
  if constexpr (sizeof(T) >= 8) {
    return mean_of_many<T>();
  } else {
    using sum = typename doubled<T>::type;
    return accumulation_by<adding<T, sum>, finish_quotients<T, sum>, false>();
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
  return accumulation_by<adding<T, sum>, finish_sums<T, sum>, false>();
}

template <class T>
constexpr reduction_functions make_reduction_functions() noexcept {
  using weighted = weighted_sum<T>;
  return {plain_sums<T>(),
          mean_of_few<T>(),
          mean_of_many<T>(),
          accumulation_by<adding<T, weighted>, finish_quotients<T, weighted>, true>(),
          accumulation_by<keeping<T, true>, finish_sums<T, typename keeping<T, true>::value>, false>(),
          accumulation_by<keeping<T, false>, finish_sums<T, typename keeping<T, false>::value>, false>(),
          mean_limit<T>(),
          means_by_inverse<T>};
}

template <class T>
[[gnu::visibility("hidden")]] inline constexpr reduction_functions reduction_functions_of =
    make_reduction_functions<T>();

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
