// SPDX-License-Identifier: BSD-3-Clause
//
// This header compiles the steps of conversions once for each instruction set that has registers for them.
// baseline_conversions.hpp has the steps for registers of 16 bytes.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/run_steps.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/simd/baseline_conversions.hpp>
#include <reblock/detail/simd/look_up_results.hpp>
#include <reblock/detail/simd/spaced_words.hpp>

#if defined(__GNUC__) && defined(__x86_64__)

namespace reblock::inline REBLOCK_NAMESPACE::detail {

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c,fma")
#endif

namespace avx2::conversions {

inline constexpr std::size_t width = 32;
using pairs [[gnu::vector_size(16)]] = std::uint16_t;
using bytes [[gnu::vector_size(8)]] = std::uint8_t;
using signed_bytes [[gnu::vector_size(8)]] = std::int8_t;
using ints [[gnu::vector_size(32)]] = int;
using wide_pairs [[gnu::vector_size(32)]] = std::uint16_t;
using wide_shorts [[gnu::vector_size(32)]] = short;
using half_shorts [[gnu::vector_size(16)]] = short;
using half_longs [[gnu::vector_size(16)]] = long long;

#include <reblock/detail/simd/conversion_registers.inc>

[[gnu::always_inline]] inline words widen_bytes(const std::byte* source) noexcept {
#if defined(__clang__)
  return __builtin_convertvector(load_as<bytes>(source), words);
#else
  using register_chars [[gnu::vector_size(16)]] = char;
  return (words)__builtin_ia32_pmovzxbd256((register_chars)half_longs{read<long long>(source), 0});
#endif
}
[[gnu::always_inline]] inline words widen_pairs(const std::byte* source) noexcept {
#if defined(__clang__)
  return __builtin_convertvector(load_as<pairs>(source), words);
#else
  using shorts [[gnu::vector_size(16)]] = short;
  return (words)__builtin_ia32_pmovzxwd256(load_as<shorts>(source));
#endif
}
[[gnu::always_inline]] inline signed_words widen_signed_bytes(const std::byte* source) noexcept {
#if defined(__clang__)
  return __builtin_convertvector((signed_bytes)load_as<bytes>(source), signed_words);
#else
  using register_chars [[gnu::vector_size(16)]] = char;
  return (signed_words)__builtin_ia32_pmovsxbd256((register_chars)half_longs{read<long long>(source), 0});
#endif
}
[[gnu::always_inline]] inline signed_words widen_signed_pairs(const std::byte* source) noexcept {
  using shorts [[gnu::vector_size(16)]] = short;
#if defined(__clang__)
  return __builtin_convertvector(load_as<shorts>(source), signed_words);
#else
  return (signed_words)__builtin_ia32_pmovsxwd256(load_as<shorts>(source));
#endif
}
[[gnu::always_inline]] inline floats widen_halves(const std::byte* source) noexcept {
  return __builtin_ia32_vcvtph2ps256(load_as<half_shorts>(source));
}
[[gnu::always_inline]] inline void store_halves(std::byte* destination, floats values) noexcept {
  const auto halves = __builtin_ia32_vcvtps2ph256(values, 0);  // ties to even
  std::memcpy(destination, &halves, sizeof(halves));
}
/// @{ The greater values, or the lesser ones; those of `b` where `a` is a NaN.
[[gnu::always_inline]] inline floats greatest_of(floats a, floats b) noexcept {
  return __builtin_ia32_maxps256(a, b);
}
[[gnu::always_inline]] inline floats least_of(floats a, floats b) noexcept {
  return __builtin_ia32_minps256(a, b);
}
[[gnu::always_inline]] inline doubles greatest_of(doubles a, doubles b) noexcept {
  return __builtin_ia32_maxpd256(a, b);
}
[[gnu::always_inline]] inline doubles least_of(doubles a, doubles b) noexcept {
  return __builtin_ia32_minpd256(a, b);
}
/// @}
/// Stores the lower bits of words. store_upper_pairs() stores the upper halves of words.
/// @{
[[gnu::always_inline]] inline void store_pairs(std::byte* destination, words values) noexcept {
  const pairs narrow = __builtin_convertvector(values, pairs);
  std::memcpy(destination, &narrow, sizeof(narrow));
}
[[gnu::always_inline]] inline void store_upper_pairs(std::byte* destination, words values) noexcept {
  store_pairs(destination, values >> 16);
}
/// Joins words whose upper halves are 0.
[[gnu::always_inline]] inline wide_pairs join_pairs(words a, words b) noexcept {
  const longs packed = (longs)__builtin_ia32_packusdw256((ints)a, (ints)b);
  return (wide_pairs)__builtin_shufflevector(packed, packed, 0, 2, 1, 3);
}
[[gnu::always_inline]] inline void store_upper_pairs(std::byte* destination, words a, words b) noexcept {
  const wide_pairs upper = join_pairs(a >> 16, b >> 16);
  std::memcpy(destination, &upper, sizeof(upper));
}
[[gnu::always_inline]] inline void store_bytes(std::byte* destination, words values) noexcept {
  const bytes narrow = __builtin_convertvector(__builtin_convertvector(values, pairs), bytes);
  std::memcpy(destination, &narrow, sizeof(narrow));
}
/// @}
/// @{ Registers whose lanes of 16 bytes saturate words, and their stores as 8 or 16 bits of type T.
inline constexpr bool has_saturation = true;
template <class T>
inline constexpr bool saturates_unsigned = false;
[[gnu::always_inline]] inline signed_words to_words(floats values) noexcept {
  return (signed_words)__builtin_ia32_cvtps2dq256(values);
}
template <class T>
[[gnu::always_inline]] inline void store_saturated(std::byte* destination, signed_words a, signed_words b,
                                                   T) noexcept {
  const auto halves = std::is_same_v<T, std::uint16_t> ? (longs)__builtin_ia32_packusdw256((ints)a, (ints)b)
                                                       : (longs)__builtin_ia32_packssdw256((ints)a, (ints)b);
  const longs ordered = __builtin_shufflevector(halves, halves, 0, 2, 1, 3);
  if constexpr (sizeof(T) == 2) {
    std::memcpy(destination, &ordered, sizeof(ordered));
  } else {
    const auto low = (half_shorts)__builtin_shufflevector(ordered, ordered, 0, 1);
    const auto high = (half_shorts)__builtin_shufflevector(ordered, ordered, 2, 3);
    const auto narrow = std::is_signed_v<T> ? (half_longs)__builtin_ia32_packsswb128(low, high)
                                            : (half_longs)__builtin_ia32_packuswb128(low, high);
    std::memcpy(destination, &narrow, sizeof(narrow));
  }
}
/// @}
[[gnu::always_inline]] inline half_floats lower_half(floats v) noexcept {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3);
}
[[gnu::always_inline]] inline half_floats upper_half(floats v) noexcept {
  return __builtin_shufflevector(v, v, 4, 5, 6, 7);
}
[[gnu::always_inline]] inline floats join_halves(half_floats a, half_floats b) noexcept {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}
[[gnu::always_inline]] inline doubles widen_floats(half_floats v) noexcept {
#if defined(__clang__)
  return __builtin_convertvector(v, doubles);
#else
  return __builtin_ia32_cvtps2pd256(v);
#endif
}

[[gnu::visibility("hidden")]] inline constexpr std::array<lookup_step, 2> result_lookups{};

using spaced_words = eight_spaced_words;

#include <reblock/detail/simd/conversion.inc>
#include <reblock/detail/simd/spaced_bytes.inc>

}  // namespace avx2::conversions

#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512vl,avx512bw,avx512vbmi,f16c"))), \
                             apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512vl,avx512bw,avx512vbmi,f16c")
#endif

namespace avx512::conversions {

inline constexpr std::size_t width = 64;
using pairs [[gnu::vector_size(32)]] = std::uint16_t;
using bytes [[gnu::vector_size(16)]] = std::uint8_t;
using signed_bytes [[gnu::vector_size(16)]] = std::int8_t;
using shorts [[gnu::vector_size(32)]] = short;
using wide_pairs [[gnu::vector_size(64)]] = std::uint16_t;
using wide_shorts [[gnu::vector_size(64)]] = short;
using ints [[gnu::vector_size(64)]] = int;
using register_chars [[gnu::vector_size(16)]] = char;
#if defined(__clang__)
inline constexpr std::uint16_t all_lanes = 0xffff;
#else
inline constexpr std::int16_t all_lanes = -1;
#endif

inline constexpr int current_rounding = 4;

#include <reblock/detail/simd/conversion_registers.inc>

[[gnu::always_inline]] inline words widen_bytes(const std::byte* source) noexcept {
#if defined(__clang__)
  return __builtin_convertvector(load_as<bytes>(source), words);
#else
  return (words)__builtin_ia32_pmovzxbd512_mask(load_as<register_chars>(source), ints{}, 0xffff);
#endif
}
[[gnu::always_inline]] inline words widen_pairs(const std::byte* source) noexcept {
#if defined(__clang__)
  return __builtin_convertvector(load_as<pairs>(source), words);
#else
  return (words)__builtin_ia32_pmovzxwd512_mask(load_as<shorts>(source), ints{}, 0xffff);
#endif
}
[[gnu::always_inline]] inline signed_words widen_signed_bytes(const std::byte* source) noexcept {
#if defined(__clang__)
  return __builtin_convertvector((signed_bytes)load_as<bytes>(source), signed_words);
#else
  return (signed_words)__builtin_ia32_pmovsxbd512_mask(load_as<register_chars>(source), ints{}, 0xffff);
#endif
}
[[gnu::always_inline]] inline signed_words widen_signed_pairs(const std::byte* source) noexcept {
#if defined(__clang__)
  return __builtin_convertvector(load_as<shorts>(source), signed_words);
#else
  return (signed_words)__builtin_ia32_pmovsxwd512_mask(load_as<shorts>(source), ints{}, 0xffff);
#endif
}
[[gnu::always_inline]] inline floats widen_halves(const std::byte* source) noexcept {
  return __builtin_ia32_vcvtph2ps512_mask(load_as<shorts>(source), floats{}, all_lanes, current_rounding);
}
[[gnu::always_inline]] inline void store_halves(std::byte* destination, floats values) noexcept {
  const auto halves = __builtin_ia32_vcvtps2ph512_mask(values, 0, shorts{}, 0xffff);  // ties to even
  std::memcpy(destination, &halves, sizeof(halves));
}
#if defined(__clang__)
[[gnu::always_inline]] inline floats greatest_of(floats a, floats b) noexcept { return a > b ? a : b; }
[[gnu::always_inline]] inline floats least_of(floats a, floats b) noexcept { return a < b ? a : b; }
[[gnu::always_inline]] inline doubles greatest_of(doubles a, doubles b) noexcept { return a > b ? a : b; }
[[gnu::always_inline]] inline doubles least_of(doubles a, doubles b) noexcept { return a < b ? a : b; }
#else  // GCC makes two instructions of a comparison
[[gnu::always_inline]] inline floats greatest_of(floats a, floats b) noexcept {
  return __builtin_ia32_maxps512_mask(a, b, a, -1, current_rounding);
}
[[gnu::always_inline]] inline floats least_of(floats a, floats b) noexcept {
  return __builtin_ia32_minps512_mask(a, b, a, -1, current_rounding);
}
[[gnu::always_inline]] inline doubles greatest_of(doubles a, doubles b) noexcept {
  return __builtin_ia32_maxpd512_mask(a, b, a, 0xff, current_rounding);
}
[[gnu::always_inline]] inline doubles least_of(doubles a, doubles b) noexcept {
  return __builtin_ia32_minpd512_mask(a, b, a, 0xff, current_rounding);
}
#endif
/// Stores pairs of a register, the even or the odd ones. GCC would store them by vpmovdw, which takes four times as long.
template <bool AreUpper>
[[gnu::always_inline]] inline void store_each_other_pair(std::byte* destination, words values) noexcept {
#if defined(__clang__)
  const pairs narrow = __builtin_convertvector(AreUpper ? values >> 16 : values, pairs);
#else
  constexpr wide_shorts places{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
  const auto narrow =
      __builtin_ia32_permvarhi512_mask((wide_shorts)values, places + (short)AreUpper, wide_shorts{}, ~0U);
#endif
  std::memcpy(destination, &narrow, sizeof(pairs));
}
[[gnu::always_inline]] inline void store_pairs(std::byte* destination, words values) noexcept {
  store_each_other_pair<false>(destination, values);
}
[[gnu::always_inline]] inline void store_upper_pairs(std::byte* destination, words values) noexcept {
  store_each_other_pair<true>(destination, values);
}
[[gnu::always_inline]] inline void store_bytes(std::byte* destination, words values) noexcept {
#if defined(__clang__)
  const bytes narrow = __builtin_convertvector(values, bytes);
#else
  const auto narrow = __builtin_ia32_pmovdb512_mask((ints)values, register_chars{}, 0xffff);
#endif
  std::memcpy(destination, &narrow, sizeof(narrow));
}
[[gnu::always_inline]] inline void store_upper_pairs(std::byte* destination, words a, words b) noexcept {
  const wide_pairs upper =
      __builtin_shufflevector((wide_pairs)a, (wide_pairs)b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27,
                              29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63);
  std::memcpy(destination, &upper, sizeof(upper));
}
/// @{ As for narrower registers.
inline constexpr bool has_saturation = true;
/// Whether store_saturated() takes words without signs.
template <class T>
inline constexpr bool saturates_unsigned = std::is_same_v<T, std::uint8_t>;
[[gnu::always_inline]] inline signed_words to_words(floats values) noexcept {
  return (signed_words)__builtin_ia32_cvtps2dq512_mask(values, ints{}, all_lanes, current_rounding);
}
template <class T>
[[gnu::always_inline]] inline void store_saturated(std::byte* destination, signed_words a, signed_words b,
                                                   T) noexcept {
  if constexpr (sizeof(T) == 1) {
    for (const signed_words& wide : {a, b}) {
      const auto narrow = std::is_signed_v<T>
                              ? __builtin_ia32_pmovsdb512_mask((ints)wide, register_chars{}, 0xffff)
                              : __builtin_ia32_pmovusdb512_mask((ints)wide, register_chars{}, 0xffff);
      std::memcpy(destination, &narrow, sizeof(narrow));
      destination += sizeof(narrow);
    }
  } else {
#if defined(__clang__)
    const auto narrow = std::is_signed_v<T> ? (longs)__builtin_ia32_packssdw512((ints)a, (ints)b)
                                            : (longs)__builtin_ia32_packusdw512((ints)a, (ints)b);
#else
    const auto narrow = std::is_signed_v<T>
                            ? (longs)__builtin_ia32_packssdw512_mask((ints)a, (ints)b, wide_shorts{}, ~0U)
                            : (longs)__builtin_ia32_packusdw512_mask((ints)a, (ints)b, wide_shorts{}, ~0U);
#endif
    const longs ordered = __builtin_shufflevector(narrow, narrow, 0, 2, 4, 6, 1, 3, 5, 7);
    std::memcpy(destination, &ordered, sizeof(ordered));
  }
}
/// @}
[[gnu::always_inline]] inline half_floats lower_half(floats v) noexcept {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
}
[[gnu::always_inline]] inline half_floats upper_half(floats v) noexcept {
  return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
}
[[gnu::always_inline]] inline floats join_halves(half_floats a, half_floats b) noexcept {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
[[gnu::always_inline]] inline doubles widen_floats(half_floats v) noexcept {
#if defined(__clang__)
  return __builtin_convertvector(v, doubles);
#else
  return __builtin_ia32_cvtps2pd512_mask(v, doubles{}, -1, current_rounding);
#endif
}

[[gnu::visibility("hidden")]] inline constexpr std::array<lookup_step, 2> result_lookups{look_up_results<1>,
                                                                                         look_up_results<2>};

using spaced_words = sixteen_spaced_words;

#include <reblock/detail/simd/conversion.inc>
#include <reblock/detail/simd/spaced_bytes.inc>

}  // namespace avx512::conversions

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

#endif

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Returns the steps of an instruction set. Its parameter names them, because a compiler would otherwise instantiate them in
/// every program that includes this header.
template <class Program = void>
conversion_steps steps_of([[maybe_unused]] instruction_set set) noexcept {
#if defined(__GNUC__) && defined(__x86_64__)
  if (set == instruction_set::avx512) return avx512::conversions::steps<Program>;
  if (set == instruction_set::avx2) return avx2::conversions::steps<Program>;
#endif
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
  return baseline::conversions::steps<Program>;
#else
  constexpr auto none = [](element_type, auto) noexcept -> run_step { return nullptr; };
  return {none, none, none, [](element_type, element_type, bool) noexcept -> run_step { return nullptr; }};
#endif
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
