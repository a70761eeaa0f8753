// SPDX-License-Identifier: BSD-3-Clause
//
// These functions use registers of 64 bytes, with AVX-512 VBMI: they load and store parts, and pick elements from two
// registers. Each function is compiled for this instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/simd/register_bytes.hpp>
#include <reblock/detail/simd/registers.hpp>
#include <reblock/detail/simd/streams.hpp>
#include <reblock/detail/simd/wide_lookups.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

#if defined(__GNUC__) && defined(__x86_64__)

using wide_bytes [[gnu::vector_size(64)]] = char;

/// Loads a whole register, at any alignment.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes load_wide(
    const std::byte* source) noexcept {
  wide_bytes value;
  std::memcpy(&value, source, sizeof(value));
  return value;
}
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void store_wide(
    std::byte* destination, wide_bytes value) noexcept {
  std::memcpy(destination, &value, sizeof(value));
}

/// Copies 64 bytes past the caches, to a multiple of 16 bytes.
inline void stream_line(std::byte* destination, const std::byte* source) noexcept {
  for (std::size_t k = 0; k < 64; k += sizeof(register_bytes)) stream(destination + k, load(source + k));
}

using wide_words [[gnu::vector_size(64)]] = int;

/// Picks the lanes at `places` from two registers. Lanes are bytes or words; the second register's follow the first's.
template <class Lane>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes pick_lanes(
    wide_bytes a, wide_bytes b, wide_bytes places) noexcept {
#if defined(__clang__)
  if constexpr (sizeof(Lane) == 1) {
    return __builtin_ia32_vpermi2varqi512(a, places, b);
  } else {
    return (wide_bytes)__builtin_ia32_vpermi2vard512((wide_words)a, (wide_words)places, (wide_words)b);
  }
#else
  if constexpr (sizeof(Lane) == 1) {
    return __builtin_ia32_vpermt2varqi512_maskz(places, a, b, ~std::uint64_t{0});
  } else {
    constexpr std::uint16_t all = 0xffff;
    return (wide_bytes)__builtin_ia32_vpermt2vard512_maskz((wide_words)places, (wide_words)a, (wide_words)b,
                                                           all);
  }
#endif
}

/// Picks bytes from one register.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes pick_bytes(
    wide_bytes from, wide_bytes places) noexcept {
#if defined(__clang__)
  return (wide_bytes)__builtin_ia32_permvarqi512(from, places);
#else
  return __builtin_ia32_permvarqi512_mask(from, places, from, ~std::uint64_t{0});
#endif
}

using wide_pairs [[gnu::vector_size(64)]] = std::uint16_t;

/// Returns 0, 1, 2 ...
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_pairs
pair_numbers() noexcept {
  return wide_pairs{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
}

/// Returns the lower bytes of the pairs in two registers.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes lower_bytes(
    wide_pairs low, wide_pairs high) noexcept {
  const wide_pairs places = pair_numbers() * 0x404 + 0x200;  // bytes 0, 2, 4 ...
  return pick_lanes<std::uint8_t>((wide_bytes)low, (wide_bytes)high, (wide_bytes)places);
}

/// Returns the upper halves of the products.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_pairs multiply_high(
    wide_pairs a, wide_pairs b) noexcept {
  using factors [[gnu::vector_size(64)]] = short;
#if defined(__clang__)
  return (wide_pairs)__builtin_ia32_pmulhuw512((factors)a, (factors)b);
#else
  return (wide_pairs)__builtin_ia32_pmulhuw512_mask((factors)a, (factors)b, factors{}, ~std::uint32_t{0});
#endif
}

/// Keeps registers loaded: compilers would read a register from memory again instead of copying it.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes kept_in_register(
    wide_bytes value) noexcept {
  wide_bytes kept;
  asm("" : "=v"(kept) : "0"(value));
  return kept;
}
template <std::size_t Count, std::size_t... K>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void keep_in_registers(
    wide_bytes (&v)[Count], std::index_sequence<K...>) noexcept {
  ((v[K] = kept_in_register(v[K])), ...);
}

/// Returns a mask with a bit for each of the first `size` bytes of a register.
constexpr std::uint64_t first_bits(std::size_t size) noexcept {
  return size < 64 ? (std::uint64_t{1} << size) - 1 : ~std::uint64_t{0};
}

using half_bytes [[gnu::vector_size(32)]] = char;
using quarter_bytes [[gnu::vector_size(16)]] = char;

/// Compilers declare masked accesses to registers with pointers to these types.
#if defined(__clang__)
template <class Register>
using masked_place = Register;
#else
template <class>
using masked_place = char;
#endif

/// Loads the bytes that have bits in `mask`; the other bytes are not read, and are 0.
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

/// These functions do the same for a half of a register, and for a quarter.
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

/// Loads a register of 1, 2 or 4 slots. Each slot has the bytes with bits in `mask`, at its offset from `source`. A load is not
/// wider than a slot: loads that cross lines take twice as long.
template <std::size_t Slots>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes load_slots(
    const std::byte* source, const std::int64_t (&offsets)[Slots], std::uint64_t mask) noexcept {
  if constexpr (Slots == 1) {
    return load_some(source + offsets[0], mask);
  } else {
    longs_32 halves[2];
    if constexpr (Slots == 2) {
      halves[0] = load_half(source + offsets[0], mask);
      halves[1] = load_half(source + offsets[1], mask);
    } else {
      halves[0] = __builtin_shufflevector(load_quarter(source + offsets[0], mask),
                                          load_quarter(source + offsets[1], mask), 0, 1, 2, 3);
      halves[1] = __builtin_shufflevector(load_quarter(source + offsets[2], mask),
                                          load_quarter(source + offsets[3], mask), 0, 1, 2, 3);
    }
    return (wide_bytes)__builtin_shufflevector(halves[0], halves[1], 0, 1, 2, 3, 4, 5, 6, 7);
  }
}

/// Stores the first `count` slots of a register in the same way.
template <std::size_t Slots>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void store_slots(
    std::byte* destination, const std::int64_t (&offsets)[Slots], std::size_t count, std::uint64_t mask,
    wide_bytes value) noexcept {
  const auto all = (longs_64)value;
  const longs_32 low = __builtin_shufflevector(all, all, 0, 1, 2, 3);
  const longs_32 high = __builtin_shufflevector(all, all, 4, 5, 6, 7);
  if constexpr (Slots == 1) {
    store_some(destination + offsets[0], value, mask);
  } else if constexpr (Slots == 2) {
    store_half(destination + offsets[0], low, mask);
    if (count > 1) store_half(destination + offsets[1], high, mask);
  } else {
    store_quarter(destination + offsets[0], __builtin_shufflevector(low, low, 0, 1), mask);
    if (count == 1) return;
    store_quarter(destination + offsets[1], __builtin_shufflevector(low, low, 2, 3), mask);
    if (count == 2) return;
    store_quarter(destination + offsets[2], __builtin_shufflevector(high, high, 0, 1), mask);
    if (count == 3) return;
    store_quarter(destination + offsets[3], __builtin_shufflevector(high, high, 2, 3), mask);
  }
}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
