// SPDX-License-Identifier: BSD-3-Clause
//
// These functions convert float16 and bfloat16 to float and back, one by one or a register at once. Each conversion is
// written once, for words that are the bits of a float: std::uint32_t or lanes of it. It chooses between results instead of
// branching.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/simd/registers.hpp>
#include <reblock/detail/sums/summand.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

constexpr std::uint32_t add_floats(std::uint32_t a, std::uint32_t b) noexcept {
  return std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
}

/// `bits >> shift`, rounded to nearest, ties to even. 0 < shift < 32.
template <class Words>
constexpr Words shift_and_round(Words bits, unsigned shift) noexcept {
  return (bits + ((1u << (shift - 1)) - 1) + (bits >> shift & 1u)) >> shift;
}

/// Converts the bits of a half to the bits of a float. The result is exact; a NaN keeps its payload.
template <half T, class Words>
constexpr Words float_bits(Words bits) noexcept {
  if constexpr (std::same_as<T, bfloat16>) {
    return bits << 16;
  } else {
    const Words magnitude = (bits & 0x7fffu) << 13;
    const Words normal = magnitude + ((127u - 15u) << 23);
    // Zero or subnormal: what is left of a number from 2^-14 on without its 2^-14. No float here is subnormal.
    const Words small = add_floats(normal + (1u << 23), Words{} + ((127u - 14u) << 23 | 0x80000000u));
    const Words infinite = magnitude | 0x7f800000u;  // or a NaN
    const Words wide = magnitude < 0x0400u << 13 ? small : magnitude < 0x7c00u << 13 ? normal : infinite;
    return (bits & 0x8000u) << 16 | wide;
  }
}

/// Converts the bits of a float to the bits of the nearest half, ties to even. A NaN stays a NaN. Values beyond the range
/// become infinity.
template <half T, class Words>
constexpr Words half_bits(Words bits) noexcept {
  const Words magnitude = bits & 0x7fffffffu;
  if constexpr (std::same_as<T, bfloat16>) {
    const Words not_a_number = bits >> 16 | 0x40u;
    return magnitude > 0x7f800000u ? not_a_number : shift_and_round(bits, 16);
  } else {
    // Below 2^-14 a result is a multiple of 2^-24, to which a sum of 0.5 and less than 0.5 is rounded.
    constexpr auto one_half = std::bit_cast<std::uint32_t>(0.5f);
    const Words small = add_floats(magnitude, Words{} + one_half) - one_half;
    const Words normal = shift_and_round(magnitude - ((127u - 15u) << 23), 13);  // may carry into infinity
    const Words not_a_number = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    const Words infinite = Words{} + 0x7c00u;
    const Words narrow = magnitude < (127u - 14u) << 23   ? small
                         : magnitude < (127u + 16u) << 23 ? normal
                         : magnitude <= 0x7f800000u       ? infinite
                                                          : not_a_number;
    return (bits >> 16 & 0x8000u) | narrow;
  }
}

template <half T>
constexpr float to_float(T value) noexcept {
  return std::bit_cast<float>(float_bits<T>(std::uint32_t{value.bits}));
}

template <half T>
constexpr void round_to(T& result, float value) noexcept {
  result.bits = static_cast<std::uint16_t>(half_bits<T>(std::bit_cast<std::uint32_t>(value)));
}

/// Rounds to a float, and to the neighbour with an odd last bit if the result is inexact. A second rounding, to a narrower
/// format, then gives the same as one rounding.
inline float round_to_odd(double value) noexcept {
  const float nearest = rounded(static_cast<float>(value));
  const double back = nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double magnitude = value < 0 ? -value : value;
  const double reached = back < 0 ? -back : back;
  if (reached > magnitude) --bits;
  if (reached > magnitude || reached < magnitude) bits |= 1;  // neither for a NaN
  return std::bit_cast<float>(bits);
}

template <half T>
void round_to(T& result, double value) noexcept {
  round_to(result, round_to_odd(value));
}

/// Adds 0 to halves with these bits: -0 becomes 0. A NaN does not change, even a signaling NaN.
template <class Pairs>
constexpr Pairs without_negative_zero(Pairs bits) noexcept {
  return bits == std::uint16_t{0x8000} ? Pairs{} : bits;
}

/// Converts eight halves to two registers of floats.
template <half T>
registers<2> widen(register_bytes halves) noexcept {
  const register_bytes zeros{};
  constexpr bool little = std::endian::native == std::endian::little;
  const registers<2> words = {zip<2, false>(little ? halves : zeros, little ? zeros : halves),
                              zip<2, true>(little ? halves : zeros, little ? zeros : halves)};
  const auto widened = [](auto bits) { return float_bits<T>(bits); };
  return {map_lanes<std::uint32_t>(words[0], widened), map_lanes<std::uint32_t>(words[1], widened)};
}

/// Rounds two registers of floats to eight halves.
template <half T>
register_bytes narrow(const registers<2>& floats) noexcept {
  const auto narrowed = [](auto bits) { return half_bits<T>(bits); };
  const registers<2> words = {map_lanes<std::uint32_t>(floats[0], narrowed),
                              map_lanes<std::uint32_t>(floats[1], narrowed)};
  constexpr std::size_t lower = std::endian::native == std::endian::little ? 0 : 1;
  return shuffle<2, 3>(words)[lower];  // separates the lower halves of the words from the upper ones
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
