// SPDX-License-Identifier: BSD-3-Clause
//
// This header compiles the steps of conversions for registers of 16 bytes, which every x86-64 processor (SSE2) and every
// 64-bit Arm processor (NEON) has.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/run_steps.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/simd/register_bytes.hpp>
#include <reblock/detail/simd/registers.hpp>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))

namespace reblock::inline REBLOCK_NAMESPACE::detail::baseline::conversions {

inline constexpr std::size_t width = 16;  // bytes of a register
using pairs [[gnu::vector_size(16)]] = std::uint16_t;

#include <reblock/detail/simd/conversion_registers.inc>

[[gnu::always_inline]] inline words widen_bytes(const std::byte* source) noexcept {
  const register_bytes zeros{};
  const register_bytes four = register_of(read<std::uint32_t>(source), 0);
  return (words)zip<2, false>(zip<1, false>(four, zeros), zeros);
}
[[gnu::always_inline]] inline words widen_pairs(const std::byte* source) noexcept {
  return (words)zip<2, false>(register_of(read<std::uint64_t>(source), 0), register_bytes{});
}
[[gnu::always_inline]] inline signed_words widen_signed_bytes(const std::byte* source) noexcept {
  return (signed_words)(widen_bytes(source) << 24) >> 24;
}
[[gnu::always_inline]] inline signed_words widen_signed_pairs(const std::byte* source) noexcept {
  return (signed_words)(widen_pairs(source) << 16) >> 16;
}
[[gnu::always_inline]] inline floats widen_halves(const std::byte* source) noexcept {
#if defined(__aarch64__)
  return (floats)vcvt_f32_f16(load_as<float16x4_t>(source));
#else
  return (floats)float_bits<float16>(widen_pairs(source));
#endif
}
/// @{ The greater values, or the lesser ones; those of `b` where `a` is a NaN.
#if defined(__x86_64__)
[[gnu::always_inline]] inline floats greatest_of(floats a, floats b) noexcept {
  return __builtin_ia32_maxps(a, b);
}
[[gnu::always_inline]] inline floats least_of(floats a, floats b) noexcept {
  return __builtin_ia32_minps(a, b);
}
[[gnu::always_inline]] inline doubles greatest_of(doubles a, doubles b) noexcept {
  return __builtin_ia32_maxpd(a, b);
}
[[gnu::always_inline]] inline doubles least_of(doubles a, doubles b) noexcept {
  return __builtin_ia32_minpd(a, b);
}
#else
template <class Register>
[[gnu::always_inline]] inline Register greatest_of(Register a, Register b) noexcept {
  return a > b ? a : b;
}
template <class Register>
[[gnu::always_inline]] inline Register least_of(Register a, Register b) noexcept {
  return a < b ? a : b;
}
#endif
/// @}
[[gnu::always_inline]] inline pairs upper_halves(words a, words b) noexcept {
#if defined(__x86_64__)
  using ints [[gnu::vector_size(16)]] = int;  // saturation changes nothing: they are shifted with their signs
  return (pairs)__builtin_ia32_packssdw128((ints)a >> 16, (ints)b >> 16);
#else
  return __builtin_shufflevector((pairs)a, (pairs)b, 1, 3, 5, 7, 9, 11, 13, 15);
#endif
}
[[gnu::always_inline]] inline pairs lower_halves(words a, words b) noexcept {
#if defined(__x86_64__)
  return upper_halves(a << 16, b << 16);
#else
  return __builtin_shufflevector((pairs)a, (pairs)b, 0, 2, 4, 6, 8, 10, 12, 14);
#endif
}
/// Stores the lower bits of words. store_upper_pairs() stores the upper halves of words.
/// @{
[[gnu::always_inline]] inline void store_pairs(std::byte* destination, words values) noexcept {
  write(destination, half_of<0>((register_bytes)lower_halves(values, values)));
}
[[gnu::always_inline]] inline void store_pairs(std::byte* destination, words a, words b) noexcept {
  store(destination, (register_bytes)lower_halves(a, b));
}
[[gnu::always_inline]] inline void store_upper_pairs(std::byte* destination, words values) noexcept {
  store_pairs(destination, values >> 16);
}
[[gnu::always_inline]] inline void store_upper_pairs(std::byte* destination, words a, words b) noexcept {
  store(destination, (register_bytes)upper_halves(a, b));
}
[[gnu::always_inline]] inline std::uint64_t lower_bytes(words a, words b) noexcept {
  const auto halves = (register_bytes)lower_halves(a, b);
  return half_of<0>(unzip_bytes<false>(halves, halves));
}
[[gnu::always_inline]] inline void store_bytes(std::byte* destination, words values) noexcept {
  write(destination, static_cast<std::uint32_t>(lower_bytes(values, values)));
}
[[gnu::always_inline]] inline void store_bytes(std::byte* destination, words a, words b) noexcept {
  write(destination, lower_bytes(a, b));
}
/// @}
[[gnu::always_inline]] inline void store_halves(std::byte* destination, floats values) noexcept {
#if defined(__aarch64__)
  const float16x4_t halves = vcvt_f16_f32((float32x4_t)values);
  std::memcpy(destination, &halves, sizeof(halves));
#else
  store_pairs(destination, half_bits<float16>((words)values));
#endif
}
[[gnu::always_inline]] inline half_floats lower_half(floats v) noexcept {
  return __builtin_shufflevector(v, v, 0, 1);
}
[[gnu::always_inline]] inline half_floats upper_half(floats v) noexcept {
  return __builtin_shufflevector(v, v, 2, 3);
}
[[gnu::always_inline]] inline floats join_halves(half_floats a, half_floats b) noexcept {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3);
}
[[gnu::always_inline]] inline doubles widen_floats(half_floats v) noexcept {
  return __builtin_convertvector(v, doubles);
}

inline constexpr bool has_saturation = false;
template <class T>
inline constexpr bool saturates_unsigned = false;
[[gnu::visibility("hidden")]] inline constexpr std::array<lookup_step, 2> result_lookups{};

#include <reblock/detail/simd/conversion.inc>

template <class>
run_step find_spaced_step(element_type, element_type, bool) noexcept {
  return nullptr;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail::baseline::conversions

#endif
