// SPDX-License-Identifier: BSD-3-Clause
//
// Lanes are the elements of a register, or of a few registers of one width. Compilers that have such types make the
// instructions of the function's instruction set from them (simd/lane_steps.inc). Other compilers have no lanes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// From what accumulators begin: zero, the first term, or what they hold.
enum class beginning : std::uint8_t { zero, first_term, held };

/// Masks that repeat have so many bytes behind their period.
inline constexpr std::int64_t mask_overrun = 256;

/// A list of masks tells which terms count: a mask for each term, whose bytes keep the bits of a row of terms or make them 0.
struct mask_list {
  const std::byte* const* first = nullptr;  ///< null: all terms count
  std::size_t begin = 0;                    ///< where the masks of a row begin, bytes
  std::size_t period = 0;                   ///< bytes after which masks repeat, or 0

  /// Returns where in the masks an element is that begins `at` bytes behind the first one of a row. Rows have less than 4 GiB:
  /// processors divide smaller integers faster.
  std::size_t place(std::size_t at) const noexcept {
    const std::size_t from = begin + at;
    if (period == 0 || from < period) return from;
    return static_cast<std::uint32_t>(from) % static_cast<std::uint32_t>(period);
  }
};

/// Terms of each element: `count` of them, at these offsets in bytes from the first element's first term.
struct term_offsets {
  const std::int64_t* offsets;
  std::size_t count;
  mask_list masks{};
};

/// How many weights further the weight of the next row of elements is, and that of the next element.
struct weight_steps {
  std::size_t row = 0;
  std::size_t element = 0;
};

/// At most this many terms of each element are added in one call.
[[gnu::visibility("hidden")]] inline constexpr std::size_t most_added_terms = 256;

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

/// Converts lanes. GCC makes one instruction of a loop that fills a register, and several of the builtin.
template <class A, class T, std::size_t Count>
[[gnu::always_inline]] inline void convert_lanes(lanes<A, Count>& to, const lanes<T, Count>& from) noexcept {
  if constexpr (sizeof(to) <= 64) {
    A converted[Count];
#pragma GCC unroll 64
    for (std::size_t k = 0; k < Count; ++k) converted[k] = static_cast<A>(from[k]);
    load_lanes(to, converted);
  } else {
    to = __builtin_convertvector(from, lanes<A, Count>);
  }
}

/// Converts integers of 8 bytes to double: rounds once. Both halves of a term become numbers by way of their bits, 2^52 +
/// lower and 2^84 + 2^32 * upper, which are exact. An upper half with a sign is 2^31 more.
template <class T, std::size_t Count>
[[gnu::always_inline]] inline void convert_long(lanes<double, Count>& to,
                                                const lanes<T, Count>& from) noexcept {
  using words = lanes<std::uint64_t, Count>;
  constexpr std::uint64_t sign = std::is_signed_v<T> ? std::uint64_t{1} << 31 : 0;
  constexpr double added = 0x1p84 + (std::is_signed_v<T> ? 0x1p63 : 0) + 0x1p52;
  const auto terms = (words)from;
  const auto lower = (terms & 0xffffffffu) | 0x4330000000000000u;
  const auto upper = (terms >> 32) ^ (0x4530000000000000u | sign);
  to = ((lanes<double, Count>)upper - added) + (lanes<double, Count>)lower;
}

/// Does the same as convert_lanes(). Integers become floating-point numbers by way of larger integers, if processors convert
/// these faster.
template <class A, class T, std::size_t Count>
[[gnu::always_inline]] inline void convert_numbers(lanes<A, Count>& to,
                                                   const lanes<T, Count>& from) noexcept {
  if constexpr (std::integral<T> && sizeof(T) < 4 && std::floating_point<A>) {
    lanes<std::int32_t, Count> words;
    convert_lanes<std::int32_t, T, Count>(words, from);
    convert_lanes<A, std::int32_t, Count>(to, words);
  } else if constexpr (std::same_as<T, std::uint32_t> && std::same_as<A, double>) {
    lanes<std::uint64_t, Count> words;
    convert_lanes<std::uint64_t, T, Count>(words, from);
    to = (lanes<double, Count>)(words | 0x4330000000000000u) - 0x1p52;  // 2^52 + term
  } else if constexpr (std::integral<T> && sizeof(T) == 8 && std::same_as<A, double>) {
    convert_long<T, Count>(to, from);
  } else {
    convert_lanes<A, T, Count>(to, from);
  }
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
template <class T, std::size_t Count, class To, class From>
void convert_long(To& to, const From& from) noexcept;
#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
