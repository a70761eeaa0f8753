// SPDX-License-Identifier: BSD-3-Clause
//
// This header compiles the movers of blocks and the sums of rows once for each instruction set. A namespace for each set has
// the code that differs and includes the common text.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/movers/runs.hpp>
#include <reblock/detail/movers/stream_block.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/simd/register_bytes.hpp>
#include <reblock/detail/simd/registers.hpp>
#include <reblock/detail/simd/streams.hpp>
#include <reblock/detail/sums/row_terms.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

namespace baseline {

namespace narrower = baseline;            // there is none
inline constexpr std::size_t width = 16;  // bytes of a register
using register_type = register_bytes;
using detail::pair_up;
using detail::pick_words;
using detail::zip;

#include <reblock/detail/simd/single_lane.inc>

inline register_type shuffle_bytes(register_type v, register_type places) noexcept {
#if defined(__aarch64__)
  return (register_type)vqtbl1q_u8((uint8x16_t)v, (uint8x16_t)places);
#else
  std::array<std::uint8_t, width> from;
  std::array<std::uint8_t, width> at;
  std::memcpy(from.data(), &v, width);
  std::memcpy(at.data(), &places, width);
  for (std::uint8_t& place : at) place = place < width ? from[place] : std::uint8_t{0};
  std::memcpy(&v, at.data(), width);
  return v;
#endif
}
/// Looks the bytes of a register up in a window. A window of 16 bytes is the table of each lane. In wider windows, words of 4
/// bytes are looked up.
template <std::size_t>
[[gnu::always_inline]] inline register_type look_up_in(const std::byte* window,
                                                       register_type places) noexcept {
  return shuffle_bytes(load(window), places);
}

#include <reblock/detail/simd/few_streams.inc>
#include <reblock/detail/simd/listed_runs.inc>
#include <reblock/detail/simd/lookups.inc>
#include <reblock/detail/simd/rectangles.inc>
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
#include <reblock/detail/simd/added_rows.inc>
#endif

}  // namespace baseline

#if (defined(__GNUC__) && defined(__x86_64__)) || (defined(_MSC_VER) && defined(_M_X64))

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("ssse3"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("ssse3")
#endif

namespace ssse3 {

namespace narrower = baseline;
inline constexpr std::size_t width = 16;
using register_type = register_bytes;
using detail::pair_up;
using detail::pick_words;
using detail::zip;

#include <reblock/detail/simd/single_lane.inc>

[[gnu::always_inline]] inline register_type shuffle_bytes(register_type v, register_type places) noexcept {
#if defined(__GNUC__)
  using bytes [[gnu::vector_size(16)]] = char;
  return (register_type)__builtin_ia32_pshufb128((bytes)v, (bytes)places);
#else
  return {_mm_shuffle_epi8(v.value, places.value)};
#endif
}
template <std::size_t>
[[gnu::always_inline]] inline register_type look_up_in(const std::byte* window,
                                                       register_type places) noexcept {
  return shuffle_bytes(load(window), places);
}

#include <reblock/detail/simd/few_streams.inc>
#include <reblock/detail/simd/lookups.inc>

}  // namespace ssse3

#if defined(__clang__)
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

#endif

#if defined(__GNUC__) && defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

namespace avx2 {

namespace narrower = baseline;
inline constexpr std::size_t width = 32;
using register_type [[gnu::vector_size(32)]] = std::uint8_t;
using detail::zip;  // for single lanes

#include <reblock/detail/simd/wide_lanes.inc>

template <int... K>
[[gnu::always_inline]] inline register_type join_lanes(register_bytes low, register_bytes high,
                                                       std::integer_sequence<int, K...>) noexcept {
  return __builtin_shufflevector(low, high, K...);
}
template <class Row>
[[gnu::always_inline]] inline register_type load_lanes(const Row& row, std::size_t first,
                                                       std::size_t stride) noexcept {
#if defined(__clang__)
  return join_lanes(load(row(first)), load(row(first + stride)), std::make_integer_sequence<int, 32>{});
#else  // GCC makes two loads and a shuffle of this
  using words [[gnu::vector_size(16)]] = int;
  using pair [[gnu::vector_size(16)]] = long long;
  using pairs [[gnu::vector_size(32)]] = long long;
  const auto low = (pairs)__builtin_ia32_si256_si((words)load(row(first)));
  return (register_type)__builtin_ia32_insert128i256(low, (pair)load(row(first + stride)), 1);
#endif
}
[[gnu::always_inline]] inline register_type load_strided_lanes(const std::byte* source, std::size_t stride,
                                                               std::size_t size) noexcept {
  const register_bytes last = size < 16 ? load_part(source + stride, size) : load(source + stride);
  return join_lanes(load(source), last, std::make_integer_sequence<int, 32>{});
}
[[gnu::always_inline]] inline register_type shuffle_bytes(register_type v, register_type places) noexcept {
  using bytes [[gnu::vector_size(32)]] = char;
  return (register_type)__builtin_ia32_pshufb256((bytes)v, (bytes)places);
}
[[gnu::always_inline]] inline register_type repeat_lane(register_bytes v) noexcept {
  return join_lanes(v, v, std::make_integer_sequence<int, 32>{});
}
template <std::size_t WindowBytes>
[[gnu::always_inline]] inline register_type look_up_in(const std::byte* window,
                                                       register_type places) noexcept {
  if constexpr (WindowBytes == width) {
    using words_of_register [[gnu::vector_size(32)]] = int;
    const auto words = (words_of_register)places;  // a word is negative if it comes from another window
    words_of_register table;
    std::memcpy(&table, window, sizeof(table));
    return (register_type)(__builtin_ia32_permvarsi256(table, words >> 2) & (words >= 0));
  } else {
#if defined(__clang__)
    return shuffle_bytes(repeat_lane(load(window)), places);
#else  // GCC makes two instructions of the shuffle
    using longs [[gnu::vector_size(16)]] = long long;
    return shuffle_bytes((register_type)__builtin_ia32_vbroadcastsi256((longs)load(window)), places);
#endif
  }
}
[[gnu::always_inline]] inline register_type either_bits(register_type a, register_type b) noexcept {
  return a | b;
}
template <int First, int... K>
[[gnu::always_inline]] inline register_bytes lane_from(register_type v,
                                                       std::integer_sequence<int, K...>) noexcept {
  return __builtin_shufflevector(v, v, (First + K)...);
}
template <std::size_t Lane>
[[gnu::always_inline]] inline register_bytes lane(register_type v) noexcept {
  return lane_from<16 * static_cast<int>(Lane)>(v, std::make_integer_sequence<int, 16>{});
}
[[gnu::always_inline]] inline void stream_register(std::byte* destination, register_type value) noexcept {
  stream(destination, lane<0>(value));  // arrays begin at multiples of 16 bytes, seldom of 32
  stream(destination + 16, lane<1>(value));
}
template <int Low, int High, int... K>
[[gnu::always_inline]] inline register_type two_lanes(register_type low, register_type high,
                                                      std::integer_sequence<int, K...>) noexcept {
  return __builtin_shufflevector(low, high, (K < 16 ? 16 * Low + K : 16 * High + K + 16)...);
}
/// Joins lanes 2 * K and 2 * K + 1 of all, if the first lanes of all registers come before the second ones.
template <std::size_t K, std::size_t Count>
[[gnu::always_inline]] inline register_type joined_lanes(const register_type (&v)[Count]) noexcept {
  constexpr std::size_t low = 2 * K;
  constexpr std::size_t high = low + 1;
  return two_lanes<static_cast<int>(low / Count), static_cast<int>(high / Count)>(
      v[low % Count], v[high % Count], std::make_integer_sequence<int, 32>{});
}

#include <reblock/detail/simd/added_rows.inc>
#include <reblock/detail/simd/few_streams.inc>
#include <reblock/detail/simd/listed_runs.inc>
#include <reblock/detail/simd/lookups.inc>
#include <reblock/detail/simd/row_sums.inc>

}  // namespace avx2

#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl")
#endif

namespace avx512 {

namespace narrower = avx2;
inline constexpr std::size_t width = 64;
using register_type [[gnu::vector_size(64)]] = std::uint8_t;

#include <reblock/detail/simd/added_zero.inc>
#include <reblock/detail/simd/listed_runs.inc>

}  // namespace avx512

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif

/// A long_copier copies at least as many bytes as any register has.
using long_copier = void (*)(std::byte* to, const std::byte* from, std::size_t size) noexcept;

/// Returns the long_copier with the widest registers of the set.
inline long_copier long_copier_of([[maybe_unused]] instruction_set set) noexcept {
#if defined(__GNUC__) && defined(__x86_64__)
  if (set >= instruction_set::avx512) return avx512::copy_long;
  if (set >= instruction_set::avx2) return avx2::copy_long;
#endif
  return baseline::copy_long;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
