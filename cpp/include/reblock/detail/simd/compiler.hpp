// SPDX-License-Identifier: BSD-3-Clause
//
// This header has the code that depends on the compiler: registers of 16 bytes, lookups for registers of 64, wide sums, stores
// past the caches. Only wide_registers.hpp and the headers that include it depend on the compiler as well. This header
// defines no macro.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__GNUC__) && defined(__x86_64__)
#include <cpuid.h>
#elif defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/sums/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

// 32-bit x86 may not have registers of 16 bytes
#if defined(__GNUC__) && (!defined(__i386__) || defined(__SSE2__))
#include <reblock/detail/simd/gnu_registers.inc>
#elif defined(_MSC_VER) && defined(_M_X64)
#include <reblock/detail/simd/sse2_registers.inc>
#else
#include <reblock/detail/simd/plain_registers.inc>
#endif

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
};

/// A term of a sum has its distance in bytes from the first term and, if terms have masks, from the first term's mask.
struct term {
  std::int64_t offset;
  std::int64_t mask;
};

/// A sum_place has the addresses of a register of sums: its first terms, their masks if terms have masks, and its target.
/// A sum_step has the distances, in bytes, from each register to the next.
struct sum_place {
  const std::byte* source;
  const std::byte* mask;
  std::byte* destination;
};
struct sum_step {
  std::int64_t source;
  std::int64_t mask;
  std::int64_t destination;
};
enum class masking : std::uint8_t {
  none,
  each,    ///< the terms of each register have masks
  shared,  ///< the masks of the first register serve all registers of a place
};
/// This many registers are summed side by side: a sum waits as many cycles for the addition before.
inline constexpr std::size_t sums_at_once = 4;

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

/// Tells whether sum_wide() and sum_halves() may be called, and whether products and sums may be fused.
inline bool detect_wide_sums() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned features = 0;
  unsigned d = 0;
  // not __builtin_cpu_supports("f16c"), which Clang 14 does not know
  constexpr unsigned wanted = bit_F16C | bit_FMA;
  const bool has_others = __get_cpuid(1, &a, &b, &features, &d) != 0 && (features & wanted) == wanted;
  return __builtin_cpu_supports("avx2") && has_others;
}
inline constexpr std::size_t wide_sum_bytes = 32;

using eight_floats [[gnu::vector_size(32)]] = float;
using eight_halves [[gnu::vector_size(16)]] = short;

/// Adds a register of terms to a register of sums.
template <class T>
struct wide_sum {
  using lanes [[gnu::vector_size(32)]] = T;
  using values = lanes;
  [[gnu::target("avx2"), gnu::always_inline]] static lanes begin(values held) noexcept { return held; }
  [[gnu::target("avx2"), gnu::always_inline]] static void add(lanes& sums, lanes terms) noexcept {
    sums += terms;
  }
  [[gnu::target("avx2"), gnu::always_inline]] static values finish(lanes sums) noexcept { return sums; }
};
template <>
struct wide_sum<bool> {
  using lanes [[gnu::vector_size(32)]] = std::uint8_t;
  using values = lanes;
  [[gnu::target("avx2"), gnu::always_inline]] static lanes begin(values held) noexcept { return held; }
  [[gnu::target("avx2"), gnu::always_inline]] static void add(lanes& sums, lanes terms) noexcept {
    sums = (lanes)((sums | terms) != 0) & 1;
  }
  [[gnu::target("avx2"), gnu::always_inline]] static values finish(lanes sums) noexcept { return sums; }
};
struct wide_sum_of_halves {
  using lanes = eight_floats;
  using values = eight_halves;
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static lanes begin(values held) noexcept {
    return __builtin_ia32_vcvtph2ps256(held);
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static void add(lanes& sums, values terms) noexcept {
    sums += begin(terms);
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static values finish(lanes sums) noexcept {
    return __builtin_ia32_vcvtps2ph256(sums, 0);  // ties to even
  }
};

template <class Sum, masking Masks, std::size_t Count>
[[gnu::target("avx2,f16c")]] inline void sum_wide_registers(const term* terms, std::size_t count,
                                                            const sum_place* places, std::size_t place_count,
                                                            const sum_step& step, bool accumulates) noexcept {
  using values = typename Sum::values;
  constexpr std::size_t width = sizeof(values);
  using bits [[gnu::vector_size(width)]] = long long;
  for (std::size_t place = 0; place < place_count; ++place) {
    const auto [source, mask, destination] = places[place];
    const std::byte* sources[Count];
    const std::byte* masks[Count];
    typename Sum::lanes sums[Count] = {};
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Count; ++i) {
      sources[i] = source + static_cast<std::int64_t>(i) * step.source;
      masks[i] = Masks == masking::each ? mask + static_cast<std::int64_t>(i) * step.mask : mask;
      if (accumulates) {
        values held;
        std::memcpy(&held, destination + static_cast<std::int64_t>(i) * step.destination, width);
        sums[i] = Sum::begin(held);
      }
    }
    for (std::size_t k = 0; k < count; ++k) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < Count; ++i) {
        values next;
        std::memcpy(&next, sources[i] + terms[k].offset, width);
        if constexpr (Masks != masking::none) {
          bits mask_bits;
          std::memcpy(&mask_bits, masks[i] + terms[k].mask, width);
          next = (values)((bits)next & mask_bits);
        }
        Sum::add(sums[i], next);
      }
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Count; ++i) {
      const values finished = Sum::finish(sums[i]);
      std::memcpy(destination + static_cast<std::int64_t>(i) * step.destination, &finished, width);
    }
  }
}

/// Computes the sums of Count registers of 32 bytes at each place.
template <class T, masking Masks, std::size_t Count>
void sum_wide(const term* terms, std::size_t count, const sum_place* places, std::size_t place_count,
              const sum_step& step, bool accumulates) noexcept {
  sum_wide_registers<wide_sum<T>, Masks, Count>(terms, count, places, place_count, step, accumulates);
}

/// Computes the sums of Count registers of 8 values of float16 at each place.
template <masking Masks, std::size_t Count>
void sum_halves(const term* terms, std::size_t count, const sum_place* places, std::size_t place_count,
                const sum_step& step, bool accumulates) noexcept {
  sum_wide_registers<wide_sum_of_halves, Masks, Count>(terms, count, places, place_count, step, accumulates);
}

#else

inline constexpr std::size_t avx2_lookup_width = 16;
inline constexpr std::size_t wide_sum_bytes = 16;

#if defined(__aarch64__)

constexpr std::size_t detect_lookup_width() noexcept { return 16; }
constexpr bool detect_wide_sums() noexcept { return true; }

template <masking Masks, std::size_t Count>
void sum_halves(const term* terms, std::size_t count, const sum_place* places, std::size_t place_count,
                const sum_step& step, bool accumulates) noexcept {
  for (std::size_t i = 0; i < place_count * Count; ++i) {
    const sum_place& place = places[i / Count];
    const auto steps = static_cast<std::int64_t>(i % Count);
    std::byte* to = place.destination + steps * step.destination;
    float32x4_t low = vdupq_n_f32(0);
    float32x4_t high = low;
    if (accumulates) {
      const float16x8_t held = vreinterpretq_f16_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(to)));
      low = vcvt_f32_f16(vget_low_f16(held));
      high = vcvt_f32_f16(vget_high_f16(held));
    }
    for (std::size_t k = 0; k < count; ++k) {
      const std::byte* from = place.source + terms[k].offset + steps * step.source;
      uint8x16_t next = vld1q_u8(reinterpret_cast<const std::uint8_t*>(from));
      if constexpr (Masks != masking::none) {
        const std::byte* mask = place.mask + terms[k].mask + (Masks == masking::each ? steps * step.mask : 0);
        next = vandq_u8(next, vld1q_u8(reinterpret_cast<const std::uint8_t*>(mask)));
      }
      const float16x8_t halves = vreinterpretq_f16_u8(next);
      low = vaddq_f32(low, vcvt_f32_f16(vget_low_f16(halves)));
      high = vaddq_f32(high, vcvt_f32_f16(vget_high_f16(halves)));
    }
    const float16x8_t rounded = vcombine_f16(vcvt_f16_f32(low), vcvt_f16_f32(high));
    vst1q_u8(reinterpret_cast<std::uint8_t*>(to), vreinterpretq_u8_f16(rounded));
  }
}

#else

constexpr bool detect_wide_sums() noexcept { return false; }

#if defined(_MSC_VER) && defined(_M_X64)

inline std::size_t detect_lookup_width() noexcept {
  int registers[4];
  __cpuid(registers, 1);
  return (registers[2] & 1 << 9) != 0 ? 16 : 0;  // SSSE3
}

#else

constexpr std::size_t detect_lookup_width() noexcept { return 0; }

#endif

// not called: detect_wide_sums() is false
template <masking Masks, std::size_t Count>
void sum_halves(const term*, std::size_t, const sum_place*, std::size_t, const sum_step&, bool) noexcept {}

#endif

// not called: the registers have 16 bytes
template <std::size_t Loaded, std::size_t Targets>
void look_up_64(std::size_t, std::size_t, const lookups&, const tile_axis&, const tile_axis&,
                const std::byte*, std::byte*) noexcept {}
template <class T, masking Masks, std::size_t Count>
void sum_wide(const term*, std::size_t, const sum_place*, std::size_t, const sum_step&, bool) noexcept {}

#endif

/// Calls `Function`, which is inlined, with the instruction set avx2 where there is one. Its loops then use registers of 32
/// bytes. The results do not change: the set has no instruction that multiplies and adds at once.
template <auto Function>
struct in_wide_registers;
template <class... Arguments, void (*Function)(Arguments...)>
struct in_wide_registers<Function> {
#if defined(__GNUC__) && defined(__x86_64__)
  [[gnu::target("avx2")]]
#endif
  static void call(Arguments... arguments) {
    Function(arguments...);
  }
};

#if defined(__GNUC__) && defined(__x86_64__)

/// This constant tells whether there are stores past the caches.
inline constexpr bool has_streams = true;

/// Stores a register past the caches, to a multiple of its size. finish_streams() makes the stored bytes visible to other
/// threads.
inline void stream(std::byte* destination, register_bytes value) noexcept {
  using words [[gnu::vector_size(16)]] = long long;
#if defined(__clang__)
  __builtin_nontemporal_store((words)value, reinterpret_cast<words*>(destination));
#else
  __builtin_ia32_movntdq(reinterpret_cast<words*>(destination), (words)value);
#endif
}

inline void stream(std::byte* destination, std::uint64_t value) noexcept {
  __builtin_ia32_movnti64(reinterpret_cast<long long*>(destination), static_cast<long long>(value));
}

inline void stream(std::byte* destination, std::uint32_t value) noexcept {
  __builtin_ia32_movnti(reinterpret_cast<int*>(destination), static_cast<int>(value));
}

inline void finish_streams() noexcept { __builtin_ia32_sfence(); }

#elif defined(_MSC_VER) && defined(_M_X64)

inline constexpr bool has_streams = true;

inline void stream(std::byte* destination, register_bytes value) noexcept {
  _mm_stream_si128(reinterpret_cast<__m128i*>(destination), value.value);
}

inline void stream(std::byte* destination, std::uint64_t value) noexcept {
  _mm_stream_si64x(reinterpret_cast<long long*>(destination), static_cast<long long>(value));
}

inline void stream(std::byte* destination, std::uint32_t value) noexcept {
  _mm_stream_si32(reinterpret_cast<int*>(destination), static_cast<int>(value));
}

inline void finish_streams() noexcept { _mm_sfence(); }

#else

inline constexpr bool has_streams = false;

template <class Word>
void stream(std::byte* destination, const Word& value) noexcept {
  std::memcpy(destination, &value, sizeof(value));
}

inline void finish_streams() noexcept {}

#endif

/// Asks for the memory `offset` bytes from `place` to be read into the caches, up to the first or the second level. The
/// address may be invalid.
template <int Level = 1>
void prefetch(const std::byte* place, std::int64_t offset) noexcept {
  // computes with integers, because a pointer must not leave its array
  const auto address = std::bit_cast<std::uintptr_t>(place) + static_cast<std::uintptr_t>(offset);
#if defined(__GNUC__)
  __builtin_prefetch(std::bit_cast<const void*>(address), 0, 4 - Level);
#elif defined(_MSC_VER) && defined(_M_X64)
  _mm_prefetch(std::bit_cast<const char*>(address), Level == 1 ? _MM_HINT_T0 : _MM_HINT_T1);
#else
  static_cast<void>(address);
#endif
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
