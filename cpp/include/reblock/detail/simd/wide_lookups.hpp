// SPDX-License-Identifier: BSD-3-Clause
//
// These functions look bytes up in registers of 64, with AVX-512 VBMI. They also tell how wide lookups are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// lookups says where the bytes of a few registers come from. Windows of the source are tables in which bytes are looked up.
struct lookups {
  static constexpr std::size_t most_windows = 16;

  const std::int64_t* offsets;  ///< bytes from the source to each window
  /// For each register, for each table, for each stored byte: its place in the table, or 255 if the byte comes from another
  /// table or is 0.
  const std::uint8_t* places;
  const std::int64_t* targets;  ///< bytes from the destination to each register
  const std::byte* outside =
      nullptr;  ///< a register of what replaces the bytes that no table has, or null: 0
  added_zero zero = added_zero::none;  ///< the parts of elements to which lookups add 0
};

#if defined(__GNUC__) && defined(__x86_64__)

/// Returns the bytes of the widest registers that are looked up: 64 with AVX-512 VBMI, 32 with AVX2, 16 with SSSE3, 0 if
/// the processor has no such instruction.
inline std::size_t detect_lookup_width() noexcept {
  if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw")) {
    return 64;
  }
  if (__builtin_cpu_supports("avx2")) return 32;
  return __builtin_cpu_supports("ssse3") ? 16 : 0;
}

/// The same of a processor that has AVX2, or counts as one.
inline constexpr std::size_t avx2_lookup_width = 32;

using signed_bytes_64 [[gnu::vector_size(64)]] = char;
using longs_16 [[gnu::vector_size(16)]] = long long;
using longs_32 [[gnu::vector_size(32)]] = long long;
using longs_64 [[gnu::vector_size(64)]] = long long;

/// Adds 0 to the parts of a register of 64 bytes.
template <class Part, class Register>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void add_zero_to(
    Register& v) noexcept {
  using parts [[gnu::vector_size(64)]] = Part;
  if constexpr (std::is_floating_point_v<Part>) {
    v = (Register)((parts)v + parts{});
  } else {
    v &= (Register)((parts)v != std::uint16_t{0x8000});  // the bits of -0 of a half
  }
}
template <class Register>
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void add_zero(
    Register& v, added_zero zero) noexcept {
  if (zero == added_zero::doubles) return add_zero_to<double>(v);
  if (zero == added_zero::singles) return add_zero_to<float>(v);
  add_zero_to<std::uint16_t>(v);
}

/// Loads a register of 64 bytes in halves from two places, or in quarters from four.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline signed_bytes_64 load_halves(
    const std::byte* from, const std::int64_t* offsets) noexcept {
  longs_32 low;
  longs_32 high;
  std::memcpy(&low, from + offsets[0], sizeof(low));
  std::memcpy(&high, from + offsets[1], sizeof(high));
  return (signed_bytes_64)__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline signed_bytes_64 load_quarters(
    const std::byte* from, const std::int64_t* offsets) noexcept {
  longs_16 parts[4];
  std::memcpy(&parts[0], from + offsets[0], sizeof(longs_16));
  std::memcpy(&parts[1], from + offsets[1], sizeof(longs_16));
  std::memcpy(&parts[2], from + offsets[2], sizeof(longs_16));
  std::memcpy(&parts[3], from + offsets[3], sizeof(longs_16));
  const longs_32 low = __builtin_shufflevector(parts[0], parts[1], 0, 1, 2, 3);
  const longs_32 high = __builtin_shufflevector(parts[2], parts[3], 0, 1, 2, 3);
  return (signed_bytes_64)__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

/// looked_up_64 fills `Targets` registers. The windows fill `Loaded` registers, 1, 2 or 4, and two registers are a table.
template <std::size_t Loaded, std::size_t Targets>
struct looked_up_64 {
  static constexpr std::size_t width = 64;
  static constexpr std::size_t tables = Loaded == 4 ? 2 : 1;
  static constexpr std::make_index_sequence<Targets> all{};

  signed_bytes_64 places[Targets][tables];
  std::uint64_t found[Targets][tables];  ///< a bit for each byte
  signed_bytes_64 outside[Targets];      ///< what replaces the bytes that no table has
  std::int64_t offsets[4 * Loaded];
  std::byte* targets[Targets];
  std::size_t windows;
  added_zero zero;
  bool is_whole;  ///< whether 64 bytes of a register are stored, or else 32

  template <std::size_t Target, std::size_t Table>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void read_places(
      const std::uint8_t* from) noexcept {
    signed_bytes_64 read{};
    if (is_whole) {
      std::memcpy(&read, from + (Target * tables + Table) * width, width);
    } else {
      std::memcpy(&read, from + (Target * tables + Table) * width / 2, width / 2);
    }
    places[Target][Table] = read;
    found[Target][Table] = ~__builtin_ia32_cvtb2mask512(read);  // by the highest bits
  }
  template <std::size_t Target>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void read_outside(
      const std::byte* from) noexcept {
    outside[Target] = signed_bytes_64{};
    if (from == nullptr) return;
    std::memcpy(&outside[Target], from, width);
    for (const signed_bytes_64& place : places[Target])
      outside[Target] &= place >> 7;  // without a place, 255
  }
  template <std::size_t... T, std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void read(
      const lookups& wanted, std::byte* destination, std::index_sequence<T...>,
      std::index_sequence<K...>) noexcept {
    (read_places<T, 0>(wanted.places), ...);
    if constexpr (tables == 2) (read_places<T, 1>(wanted.places), ...);
    (read_outside<T>(wanted.outside), ...);
    ((targets[T] = destination + wanted.targets[T]), ...);
    ((offsets[K] = wanted.offsets[K < windows ? K : 0]), ...);
  }

  template <std::size_t... K>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void load(
      const std::byte* from, signed_bytes_64 (&loaded)[Loaded], std::index_sequence<K...>) const noexcept {
    if (windows == 4 * Loaded) {
      ((loaded[K] = load_quarters(from, offsets + 4 * K)), ...);
    } else {
      ((loaded[K] = load_halves(from, offsets + 2 * K)), ...);
    }
  }
  template <std::size_t Target>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] signed_bytes_64 look_up(
      const signed_bytes_64 (&loaded)[Loaded]) const noexcept {
    signed_bytes_64 value = outside[Target] | look_up<Target, 0>(loaded[0], loaded[Loaded == 1 ? 0 : 1]);
    if constexpr (tables == 2) value |= look_up<Target, 1>(loaded[2], loaded[3]);
    return value;
  }
  template <std::size_t Target, std::size_t Table>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] signed_bytes_64 look_up(
      signed_bytes_64 low, signed_bytes_64 high) const noexcept {
#if defined(__clang__)
    return __builtin_ia32_selectb_512(found[Target][Table],
                                      __builtin_ia32_vpermi2varqi512(low, places[Target][Table], high),
                                      signed_bytes_64{});
#else
    return __builtin_ia32_vpermt2varqi512_maskz(places[Target][Table], low, high, found[Target][Table]);
#endif
  }
  template <std::size_t... T>
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void store(
      std::int64_t to, const signed_bytes_64 (&loaded)[Loaded], std::index_sequence<T...>) const noexcept {
    (store_at(targets[T] + to, look_up<T>(loaded)), ...);
  }
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] void store_at(
      std::byte* to, signed_bytes_64 value) const noexcept {
    if (zero != added_zero::none) add_zero(value, zero);
    if (is_whole) {
      std::memcpy(to, &value, width);
    } else {
      std::memcpy(to, &value, width / 2);
    }
  }
};

/// Fills `Targets` registers by the same lookups for each index of two axes, and stores the first `store` bytes of each: 32
/// or all.
template <std::size_t Loaded, std::size_t Targets>
[[gnu::target("avx512vl,avx512bw,avx512vbmi")]] void look_up_64(std::size_t store, std::size_t windows,
                                                                const lookups& wanted, const tile_axis& outer,
                                                                const tile_axis& inner,
                                                                const std::byte* source,
                                                                std::byte* destination) noexcept {
  using looked_up = looked_up_64<Loaded, Targets>;
  looked_up made;
  made.windows = windows;
  made.zero = wanted.zero;
  made.is_whole = store == looked_up::width;
  made.read(wanted, destination, looked_up::all, std::make_index_sequence<4 * Loaded>{});
  const auto [count, step_from, step_to] = inner;  // a copy, which no store to the destination can change
  std::int64_t row = 0;
  for (std::int64_t rows = outer.extent; rows > 0; --rows) {
    const std::byte* from = source;
    std::int64_t to = row;
    for (std::int64_t j = 0; j < count; ++j) {
      signed_bytes_64 loaded[Loaded];
      made.load(from, loaded, std::make_index_sequence<Loaded>{});
      made.store(to, loaded, looked_up::all);
      from += step_from;
      to += step_to;
    }
    source += outer.source_stride;
    row += outer.destination_stride;
  }
}

#else

inline constexpr std::size_t avx2_lookup_width = 16;

#if defined(__aarch64__)

constexpr std::size_t detect_lookup_width() noexcept { return 16; }

#elif defined(_MSC_VER) && defined(_M_X64)

inline std::size_t detect_lookup_width() noexcept {
  int registers[4];
  __cpuid(registers, 1);
  return (registers[2] & 1 << 9) != 0 ? 16 : 0;  // SSSE3
}

#else

constexpr std::size_t detect_lookup_width() noexcept { return 0; }

#endif

// not called: the registers have 16 bytes
template <std::size_t Loaded, std::size_t Targets>
void look_up_64(std::size_t, std::size_t, const lookups&, const tile_axis&, const tile_axis&,
                const std::byte*, std::byte*) noexcept {}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
