// SPDX-License-Identifier: BSD-3-Clause
//
// These functions sum terms in registers of 32 bytes, and terms of float16 in registers of 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__GNUC__) && defined(__x86_64__)
#include <cpuid.h>
#endif

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

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

inline constexpr std::size_t wide_sum_bytes = 16;

#if defined(__aarch64__)

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

// not called: detect_wide_sums() is false
template <masking Masks, std::size_t Count>
void sum_halves(const term*, std::size_t, const sum_place*, std::size_t, const sum_step&, bool) noexcept {}

#endif

// not called: the registers have 16 bytes
template <class T, masking Masks, std::size_t Count>
void sum_wide(const term*, std::size_t, const sum_place*, std::size_t, const sum_step&, bool) noexcept {}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
