// SPDX-License-Identifier: BSD-3-Clause
//
// Registers of 64 bytes: loaded and stored in part, and elements picked of two of them at once, which AVX-512 VBMI has. All is
// compiled for that set function by function, as in compiler.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <reblock/detail/compiler.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

#if defined(__GNUC__) && defined(__x86_64__)

using wide_bytes [[gnu::vector_size(64)]] = char;

/// Of two registers the elements at Place::of(0), Place::of(1), ...; those of the second come after those of the first.
template <std::size_t Size, class Place, std::size_t... K>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes pick(
    wide_bytes a, wide_bytes b, std::index_sequence<K...>) noexcept {
  using byte_or_pair = std::conditional_t<Size == 1, char, short>;
  using lane = std::conditional_t<Size == 8, long long, std::conditional_t<Size == 4, int, byte_or_pair>>;
  using lanes [[gnu::vector_size(64)]] = lane;
  return (wide_bytes)__builtin_shufflevector((lanes)a, (lanes)b, static_cast<int>(Place::of(K))...);
}

/// Each once: compilers would rather read again from memory than copy one that is used twice.
template <std::size_t Count>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void keep_in_registers(
    wide_bytes (&v)[Count]) noexcept {
#pragma GCC unroll 16
  for (std::size_t k = 0; k < Count; ++k) {
    wide_bytes value;
    asm("" : "=v"(value) : "0"(v[k]));
    v[k] = value;
  }
}

/// A bit for each of the first `size` bytes of a register.
constexpr std::uint64_t first_bits(std::size_t size) noexcept {
  return size < 64 ? (std::uint64_t{1} << size) - 1 : ~std::uint64_t{0};
}

using half_bytes [[gnu::vector_size(32)]] = char;
using quarter_bytes [[gnu::vector_size(16)]] = char;

/// What masked accesses to such a register point to, as compilers declare them.
#if defined(__clang__)
template <class Register>
using masked_place = Register;
#else
template <class>
using masked_place = char;
#endif

/// The bytes that have bits in `mask`; the others are not read, and are 0.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes load_some(
    const std::byte* source, std::uint64_t mask) noexcept {
  const auto* from = reinterpret_cast<const masked_place<wide_bytes>*>(source);
  return __builtin_ia32_loaddquqi512_mask(from, wide_bytes{}, mask);
}

/// Writes the bytes that have bits in `mask`.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void store_some(
    std::byte* destination, wide_bytes value, std::uint64_t mask) noexcept {
  auto* to = reinterpret_cast<masked_place<wide_bytes>*>(destination);
  __builtin_ia32_storedquqi512_mask(to, value, mask);
}

/// The same for a half of a register, and for a quarter.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline longs_32 load_half(
    const std::byte* source, std::uint64_t mask) noexcept {
  const auto* from = reinterpret_cast<const masked_place<half_bytes>*>(source);
  return (longs_32)__builtin_ia32_loaddquqi256_mask(from, half_bytes{}, static_cast<std::uint32_t>(mask));
}
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline longs_16 load_quarter(
    const std::byte* source, std::uint64_t mask) noexcept {
  const auto* from = reinterpret_cast<const masked_place<quarter_bytes>*>(source);
  return (longs_16)__builtin_ia32_loaddquqi128_mask(from, quarter_bytes{}, static_cast<std::uint16_t>(mask));
}
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void store_half(
    std::byte* destination, longs_32 value, std::uint64_t mask) noexcept {
  auto* to = reinterpret_cast<masked_place<half_bytes>*>(destination);
  __builtin_ia32_storedquqi256_mask(to, (half_bytes)value, static_cast<std::uint32_t>(mask));
}
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void store_quarter(
    std::byte* destination, longs_16 value, std::uint64_t mask) noexcept {
  auto* to = reinterpret_cast<masked_place<quarter_bytes>*>(destination);
  __builtin_ia32_storedquqi128_mask(to, (quarter_bytes)value, static_cast<std::uint16_t>(mask));
}

/// A register of which one of so many `Slots` has what lies at each place, as far as there are bits in `mask`. No more is
/// touched than a slot is wide: what crosses lines takes twice as long.
template <std::size_t Slots, std::size_t Count>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes load_slots(
    const std::byte* const (&places)[Count], std::uint64_t mask) noexcept {
  static_assert((Slots == 1 || Slots == 2 || Slots == 4) && Count <= Slots);
  if constexpr (Slots == 1) {
    return load_some(places[0], mask);
  } else {
    longs_32 halves[2] = {};
    if constexpr (Slots == 2) {
#pragma GCC unroll 2
      for (std::size_t k = 0; k < 2; ++k) {
        if (k < Count) halves[k] = load_half(places[k], mask);
      }
    } else {
      longs_16 quarters[4] = {};
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) {
        if (k < Count) quarters[k] = load_quarter(places[k], mask);
      }
#pragma GCC unroll 2
      for (std::size_t k = 0; k < 2; ++k) {
        halves[k] = __builtin_shufflevector(quarters[2 * k], quarters[2 * k + 1], 0, 1, 2, 3);
      }
    }
    return (wide_bytes)__builtin_shufflevector(halves[0], halves[1], 0, 1, 2, 3, 4, 5, 6, 7);
  }
}

/// The way back.
template <std::size_t Slots, std::size_t Count>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void store_slots(
    std::byte* const (&places)[Count], wide_bytes value, std::uint64_t mask) noexcept {
  static_assert((Slots == 1 || Slots == 2 || Slots == 4) && Count <= Slots);
  if constexpr (Slots == 1) {
    store_some(places[0], value, mask);
  } else {
    const auto all = (longs_64)value;
    const longs_32 halves[] = {__builtin_shufflevector(all, all, 0, 1, 2, 3),
                               __builtin_shufflevector(all, all, 4, 5, 6, 7)};
#pragma GCC unroll 4
    for (std::size_t k = 0; k < Slots; ++k) {
      if (k >= Count) break;
      if constexpr (Slots == 2) {
        store_half(places[k], halves[k], mask);
      } else {
        const longs_32 half = halves[k / 2];
        const longs_16 low = __builtin_shufflevector(half, half, 0, 1);
        const longs_16 high = __builtin_shufflevector(half, half, 2, 3);
        store_quarter(places[k], k % 2 == 0 ? low : high, mask);
      }
    }
  }
}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
