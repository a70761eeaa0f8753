// SPDX-License-Identifier: BSD-3-Clause
//
// Lanes are the elements of a register, or of a few registers of one width. Compilers that have such types make the
// instructions of the function's instruction set from them. Other compilers have no lanes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <reblock/data_type.hpp>
#include <reblock/detail/compiler.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/registers.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// From what accumulators begin: zero, the first term, or what they hold.
enum class beginning : std::uint8_t { zero, first_term, held };

/// Terms of each element: `count` of them, at these offsets in bytes from the first element's first term.
struct term_offsets {
  const std::int64_t* offsets;
  std::size_t count;
};

/// How many weights further the weight of the next row of elements is, and that of the next element.
struct weight_steps {
  std::size_t row = 0;
  std::size_t element = 0;
};

/// A row has at most this many accumulators.
[[gnu::visibility("hidden")]] inline constexpr std::size_t most_accumulators = 256;

#if defined(__GNUC__) && (!defined(__i386__) || defined(__SSE2__))

inline constexpr bool has_lanes = true;

template <class T, std::size_t Count>
struct lanes_of {
  static constexpr std::size_t bytes = Count * sizeof(T);
  using type [[gnu::vector_size(bytes)]] = T;
};
template <class T, std::size_t Count>
using lanes = typename lanes_of<T, Count>::type;

template <class Lanes>
[[gnu::always_inline]] inline void load_lanes(Lanes& to, const void* from) noexcept {
  std::memcpy(&to, from, sizeof(to));
}
template <class Lanes>
[[gnu::always_inline]] inline void store_lanes(void* to, const Lanes& from) noexcept {
  std::memcpy(to, &from, sizeof(from));
}

/// Converts lanes. GCC makes one instruction of a loop that fills a register of 32 bytes, and several of the builtin.
template <class A, class T, std::size_t Count>
[[gnu::always_inline]] inline void convert_lanes(lanes<A, Count>& to, const lanes<T, Count>& from) noexcept {
  if constexpr (sizeof(to) <= 32) {
    A converted[Count];
#pragma GCC unroll 32
    for (std::size_t k = 0; k < Count; ++k) converted[k] = static_cast<A>(from[k]);
    load_lanes(to, converted);
  } else {
    to = __builtin_convertvector(from, lanes<A, Count>);
  }
}

/// Does the same. Integers of one or two bytes become floating-point numbers by way of larger integers.
template <class A, class T, std::size_t Count>
[[gnu::always_inline]] inline void convert_small(lanes<A, Count>& to, const lanes<T, Count>& from) noexcept {
  if constexpr (std::integral<T> && sizeof(T) < 4 && std::floating_point<A>) {
    lanes<std::int32_t, Count> words;
    convert_lanes<std::int32_t, T, Count>(words, from);
    convert_lanes<A, std::int32_t, Count>(to, words);
  } else {
    convert_lanes<A, T, Count>(to, from);
  }
}

/// Loads terms of type T as lanes of type A.
template <class T, class A, std::size_t Count>
[[gnu::always_inline]] inline void load_terms(lanes<A, Count>& to, const std::byte* from) noexcept {
  if constexpr (half<T>) {
    static_assert(Count == 8 && std::same_as<A, float>);
    const registers<2> wide = widen<T>(load(from));
    std::memcpy(&to, wide.data(), sizeof(to));
  } else if constexpr (std::same_as<T, bool>) {
    lanes<std::uint8_t, Count> bytes;
    load_lanes(bytes, from);
    bytes = (lanes<std::uint8_t, Count>)((bytes != 0) & 1);
    convert_small<A, std::uint8_t, Count>(to, bytes);
  } else if constexpr (std::same_as<T, A>) {
    load_lanes(to, from);
  } else {
    lanes<T, Count> terms;
    load_lanes(terms, from);
    convert_small<A, T, Count>(to, terms);
  }
}

/// Loads weights as lanes of type A.
template <class A, std::size_t Count>
[[gnu::always_inline]] inline void load_weights(lanes<A, Count>& to, const double* from) noexcept {
  lanes<double, Count> weights;
  load_lanes(weights, from);
  if constexpr (std::same_as<A, double>) {
    to = weights;
  } else {
    convert_lanes<A, double, Count>(to, weights);
  }
}

/// A lane_tail tells which lanes belong to the last elements of a row.
template <class A, std::size_t N>
struct lane_tail {
  decltype(lanes<A, N>{} >= lanes<A, N>{}) is_in;

  [[gnu::always_inline]] explicit lane_tail(std::size_t elements) noexcept {
    lanes<A, N> numbers;
    for (std::size_t k = 0; k < N; ++k) numbers[k] = static_cast<A>(k);
    is_in = numbers >= static_cast<A>(N - elements);
  }
};

/// The steps of an accumulation (accumulation.hpp) with N elements in lanes, for `Count` times N elements at once.
template <class Kernel, std::size_t N>
struct lane_steps {
  using T = typename Kernel::term;
  using A = typename Kernel::value;
  using V = lanes<A, N>;
  static constexpr std::size_t bytes = N * sizeof(T);

  template <std::size_t Count>
  [[gnu::always_inline]] static inline void add(A* row, const std::byte* first, const term_offsets& terms,
                                                beginning from) noexcept {
    V sums[Count] = {};
    V errors[Kernel::has_errors ? Count : 1] = {};
    std::size_t t = 0;
    if (from == beginning::first_term) {
      const std::byte* const at = first + terms.offsets[t++];
#pragma GCC unroll 4
      for (std::size_t k = 0; k < Count; ++k) load_terms<T, A, N>(sums[k], at + k * bytes);
    } else if (from == beginning::held) {
#pragma GCC unroll 4
      for (std::size_t k = 0; k < Count; ++k) {
        load_lanes(sums[k], row + k * N);
        if constexpr (Kernel::has_errors) load_lanes(errors[k], row + most_accumulators + k * N);
      }
    }
    for (; t < terms.count; ++t) {
      const std::byte* const at = first + terms.offsets[t];
#pragma GCC unroll 4
      for (std::size_t k = 0; k < Count; ++k) {
        V next;
        load_terms<T, A, N>(next, at + k * bytes);
        if constexpr (Kernel::has_errors) {
          Kernel::add(sums[k], errors[k], next);
        } else {
          Kernel::add(sums[k], next);
        }
      }
    }
#pragma GCC unroll 4
    for (std::size_t k = 0; k < Count; ++k) {
      store_lanes(row + k * N, sums[k]);
      if constexpr (Kernel::has_errors) store_lanes(row + most_accumulators + k * N, errors[k]);
    }
  }

  /// Adds one term to what each accumulator of a row holds. The last lanes may overlap those before; these keep their values.
  template <bool Weighted>
  [[gnu::always_inline]] static inline void add_single(A* row, const std::byte* from, std::size_t columns,
                                                       const lane_tail<A, N>& tail, double weight) noexcept {
    std::size_t i = 0;
    for (; i + N <= columns; i += N) add_at<Weighted>(row + i, from + i * sizeof(T), nullptr, weight);
    if (i == columns) return;
    i = columns - N;
    add_at<Weighted>(row + i, from + i * sizeof(T), &tail, weight);
  }

  /// The weights of the first element's terms are weights[t][weight].
  template <std::size_t Count>
  [[gnu::always_inline]] static inline void add_weighted(A* row, const std::byte* first,
                                                         const term_offsets& terms, beginning from,
                                                         const double* const* weights, std::size_t weight,
                                                         bool vary) noexcept {
    V sums[Count] = {};
    if (from == beginning::held) {
#pragma GCC unroll 4
      for (std::size_t k = 0; k < Count; ++k) load_lanes(sums[k], row + k * N);
    }
    for (std::size_t t = 0; t < terms.count; ++t) {
      const std::byte* const at = first + terms.offsets[t];
      const double* const factor = weights[t] + weight;
      const V same = V{} + static_cast<A>(*factor);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < Count; ++k) {
        V next;
        load_terms<T, A, N>(next, at + k * bytes);
        V factors = same;
        if (vary) load_weights<A, N>(factors, factor + k * N);
        sums[k] += factors * next;
      }
    }
#pragma GCC unroll 4
    for (std::size_t k = 0; k < Count; ++k) store_lanes(row + k * N, sums[k]);
  }

 private:
  template <bool Weighted>
  [[gnu::always_inline]] static inline void add_at(A* row, const std::byte* from, const lane_tail<A, N>* tail,
                                                   double weight) noexcept {
    V held;
    V next;
    load_lanes(held, row);
    load_terms<T, A, N>(next, from);
    if constexpr (Weighted) next *= V{} + static_cast<A>(weight);
    V sums = held;
    if constexpr (Kernel::has_errors) {
      V held_errors;
      load_lanes(held_errors, row + most_accumulators);
      V errors = held_errors;
      Kernel::add(sums, errors, next);
      if (tail != nullptr) errors = tail->is_in ? errors : held_errors;
      store_lanes(row + most_accumulators, errors);
    } else {
      Kernel::add(sums, next);
    }
    if (tail != nullptr) sums = tail->is_in ? sums : held;
    store_lanes(row, sums);
  }
};

/// Rounds eight floats to halves.
template <half T>
[[gnu::always_inline]] inline void store_halves(std::byte* to, const lanes<float, 8>& from) noexcept {
  registers<2> floats;
  std::memcpy(floats.data(), &from, sizeof(from));
  store(to, narrow<T>(floats));
}

/// Tells whether finish_lanes() makes results of type T from accumulators of type A.
template <class T, class A>
inline constexpr bool finishes_in_lanes =
    (std::same_as<T, float> && std::same_as<A, double>) || (half<T> && std::same_as<A, float>) ||
    (std::integral<T> && sizeof(T) <= 2 && (std::integral<A> || std::same_as<A, double>));

/// Multiplies N accumulators by a factor, or by one each, or divides them. Rounds results once, to nearest,
/// ties to even. A factor of 0 makes a result 0. Integers may lie beyond their range: see narrowed().
template <class T, class A, class F, std::size_t N>
[[gnu::always_inline]] inline void finish_lanes(const A* from, std::byte* to, F same, const double* factors,
                                                bool multiplies, bool may_be_beyond) noexcept {
  using V = lanes<F, N>;
  lanes<A, N> sums;
  load_lanes(sums, from);
  V value;
  if constexpr (std::same_as<A, F>) {
    value = sums;
  } else {
    convert_small<F, A, N>(value, sums);
  }
  if (factors != nullptr) {
    V factor;
    load_weights<F, N>(factor, factors);
    value = factor == 0 ? V{} : multiplies ? value * factor : value / factor;
  } else if (multiplies) {
    value = value * same;
  } else {
    value = value / same;
  }
  if constexpr (std::same_as<T, float>) {
    store_lanes(to, __builtin_convertvector(value, lanes<float, N>));
  } else if constexpr (half<T>) {
    store_halves<T>(to, value);
  } else {
    constexpr F large =
        sizeof(F) == 4 ? F{12582912} : F{6755399441055744};  // 1.5 times the first power without halves
    if (may_be_beyond) {
      constexpr auto greatest = static_cast<F>(std::same_as<T, bool> ? 1 : std::numeric_limits<T>::max());
      constexpr auto least = static_cast<F>(std::same_as<T, bool> ? 0 : std::numeric_limits<T>::min());
      value = value == value ? value : V{};
      value = value < greatest ? value : V{} + greatest;
      value = value > least ? value : V{} + least;
    }
    value = (value + large) - large;
    const auto words = __builtin_convertvector(value, lanes<std::int32_t, N>);
    const auto pairs = __builtin_convertvector(words, lanes<std::int16_t, N>);
    using bytes = std::conditional_t<sizeof(T) == 1, std::int8_t, std::int16_t>;
    store_lanes(to, __builtin_convertvector(pairs, lanes<bytes, N>));
  }
}

/// Rounds eight accumulators to halves.
template <class T>
[[gnu::always_inline]] inline void round_eight(const float* from, std::byte* to) noexcept {
  lanes<float, 8> sums;
  load_lanes(sums, from);
  store_halves<T>(to, sums);
}

#else

inline constexpr bool has_lanes = false;
template <class T, std::size_t Count>
struct lanes_of;
template <class T, std::size_t Count>
using lanes = typename lanes_of<T, Count>::type;
template <class Lanes>
void load_lanes(Lanes& to, const void* from) noexcept;
template <class Lanes>
void store_lanes(void* to, const Lanes& from) noexcept;
template <class T>
void round_eight(const float* from, std::byte* to) noexcept;
template <class A, std::size_t N>
struct lane_tail {
  explicit lane_tail(std::size_t elements) noexcept;
};
template <class Kernel, std::size_t N>
struct lane_steps {};
template <class T, class A>
inline constexpr bool finishes_in_lanes = false;

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
