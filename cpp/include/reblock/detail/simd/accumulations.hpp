// SPDX-License-Identifier: BSD-3-Clause
//
// This header compiles the functions of accumulations once for each instruction set.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/reductions/accumulation_kernels.hpp>
#include <reblock/detail/reductions/term_values.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/detail/simd/register_bytes.hpp>
#include <reblock/detail/simd/registers.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

namespace accumulations::baseline {

inline constexpr std::size_t width = 16;
inline constexpr bool multiplies_upper = false;
/// Whether the compiler may use an instruction that multiplies and adds at once. x86 has one by an option.
#if (defined(__x86_64__) || defined(__i386__)) && !defined(__FMA__) && !defined(__FMA4__) && \
    !defined(__AVX512F__)
inline constexpr bool fuses = false;
#else
inline constexpr bool fuses = true;
#endif

#if defined(__GNUC__) && (!defined(__i386__) || defined(__SSE2__))

template <std::size_t N>
[[gnu::always_inline]] inline void load_halves(lanes<float, N>& to, const std::byte* from) noexcept {
  static_assert(N == 4);
  const registers<2> floats = widen<float16>(register_of(read<std::uint64_t>(from), 0));
  std::memcpy(&to, floats.data(), sizeof(to));
}
template <std::size_t N>
[[gnu::always_inline]] inline void store_halves(std::byte* to, const lanes<float, N>& from) noexcept {
  static_assert(N == 4);
  registers<2> floats{};
  std::memcpy(floats.data(), &from, sizeof(from));
  write(to, half_of<0>(narrow<float16>(floats)));
}

#include <reblock/detail/simd/lane_steps.inc>

#else

template <class A, std::size_t N>
struct lane_tail {
  explicit lane_tail(std::size_t elements) noexcept;
};
template <std::size_t Count>
struct register_places {
  static constexpr std::size_t count = Count;
};
template <std::size_t Count, std::size_t N, std::size_t Size>
struct registers_in_row {
  static constexpr std::size_t count = Count;
};
template <class Kernel, std::size_t N>
struct lane_steps {};
template <std::size_t Count>
void choose_places(register_places<Count>&, std::size_t, std::size_t, std::size_t, std::size_t, std::int64_t,
                   std::size_t, std::size_t);
template <class T, class A, std::size_t N>
void store_rounded(std::byte*, const lanes<A, N>&, bool) noexcept;
template <class T, class A>
inline constexpr bool finishes_in_lanes = false;
template <class Value>
void keep_apart(Value&) noexcept {}
template <std::size_t N, class Comparison>
bool all_of(const Comparison&) noexcept;
template <class T, std::size_t N, class Lanes>
bool store_long(std::byte*, const Lanes&) noexcept;
template <class T, std::size_t N, class Lanes>
void store_small_quotients(std::byte* to, const Lanes& sums, const Lanes& twice,
                           const Lanes& inverses) noexcept;

#endif

#include <reblock/detail/simd/reductions.inc>

}  // namespace accumulations::baseline

#if defined(__GNUC__) && defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,f16c")
#endif

namespace accumulations::avx2 {

inline constexpr std::size_t width = 32;
inline constexpr bool fuses = baseline::fuses;
inline constexpr bool multiplies_upper = true;  // whether multiply_upper has an instruction

/// Makes the upper halves of products.
[[gnu::always_inline]] inline void multiply_upper(lanes<std::uint16_t, 16>& to,
                                                  const lanes<std::uint16_t, 16>& a,
                                                  const lanes<std::uint16_t, 16>& b) noexcept {
  to = (lanes<std::uint16_t, 16>)__builtin_ia32_pmulhuw256((lanes<short, 16>)a, (lanes<short, 16>)b);
}

template <std::size_t N>
[[gnu::always_inline]] inline void load_halves(lanes<float, N>& to, const std::byte* from) noexcept {
  static_assert(N == 8);
  lanes<short, 8> halves;
  std::memcpy(&halves, from, sizeof(halves));
  to = __builtin_ia32_vcvtph2ps256(halves);
}
template <std::size_t N>
[[gnu::always_inline]] inline void store_halves(std::byte* to, const lanes<float, N>& from) noexcept {
  static_assert(N == 8);
  const auto halves = __builtin_ia32_vcvtps2ph256(from, 0);  // ties to even
  std::memcpy(to, &halves, sizeof(halves));
}

#include <reblock/detail/simd/lane_steps.inc>
#include <reblock/detail/simd/reductions.inc>

}  // namespace accumulations::avx2

#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,f16c"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,f16c")
#endif

namespace accumulations::avx512 {

inline constexpr std::size_t width = 64;
inline constexpr bool fuses = true;
inline constexpr bool multiplies_upper = true;

[[gnu::always_inline]] inline void multiply_upper(lanes<std::uint16_t, 32>& to,
                                                  const lanes<std::uint16_t, 32>& a,
                                                  const lanes<std::uint16_t, 32>& b) noexcept {
  using shorts = lanes<short, 32>;
#if defined(__clang__)
  to = (lanes<std::uint16_t, 32>)__builtin_ia32_pmulhuw512((shorts)a, (shorts)b);
#else
  to = (lanes<std::uint16_t, 32>)__builtin_ia32_pmulhuw512_mask((shorts)a, (shorts)b, shorts{}, ~0u);
#endif
}

template <std::size_t N>
[[gnu::always_inline]] inline void load_halves(lanes<float, N>& to, const std::byte* from) noexcept {
  if constexpr (N == 8) {
    avx2::load_halves<N>(to, from);
  } else {
    static_assert(N == 16);
    using shorts [[gnu::vector_size(32)]] = short;
    constexpr int current_rounding = 4;
#if defined(__clang__)
    constexpr std::uint16_t all = 0xffff;
#else
    constexpr std::int16_t all = -1;
#endif
    shorts halves;
    std::memcpy(&halves, from, sizeof(halves));
    to = __builtin_ia32_vcvtph2ps512_mask(halves, lanes<float, N>{}, all, current_rounding);
  }
}
template <std::size_t N>
[[gnu::always_inline]] inline void store_halves(std::byte* to, const lanes<float, N>& from) noexcept {
  if constexpr (N == 8) {
    avx2::store_halves<N>(to, from);
  } else {
    static_assert(N == 16);
    using shorts [[gnu::vector_size(32)]] = short;
    const auto halves = __builtin_ia32_vcvtps2ph512_mask(from, 0, shorts{}, 0xffff);
    std::memcpy(to, &halves, sizeof(halves));
  }
}

#include <reblock/detail/simd/lane_steps.inc>
#include <reblock/detail/simd/reductions.inc>

}  // namespace accumulations::avx512

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
