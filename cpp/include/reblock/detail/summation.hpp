// SPDX-License-Identifier: BSD-3-Clause
//
// The arithmetic of fold, the only operator that adds: how the terms of each element type are summed.
#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <reblock/data_type.hpp>
#include <reblock/detail/leaves.hpp>

namespace reblock::detail {

constexpr float to_float(bfloat16 value) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

constexpr float to_float(float16 value) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
  const std::uint32_t fraction = value.bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

/// `bits >> shift`, rounded to nearest, ties to even. 0 < shift < 32.
constexpr std::uint32_t shift_and_round(std::uint32_t bits, unsigned shift) noexcept {
  const std::uint32_t half = 1u << (shift - 1);
  const std::uint32_t rest = bits & ((half << 1) - 1);
  const std::uint32_t kept = bits >> shift;
  return kept + ((rest > half || (rest == half && (kept & 1u) != 0)) ? 1u : 0u);
}

/// Rounded to nearest, ties to even; a NaN stays a NaN.
constexpr void round_to(bfloat16& result, float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool not_a_number = (bits & 0x7fffffffu) > 0x7f800000u;
  result.bits = static_cast<std::uint16_t>(not_a_number ? bits >> 16 | 0x40u : shift_and_round(bits, 16));
}

/// Rounded to nearest, ties to even; a NaN stays a NaN; beyond the range lies infinity.
constexpr void round_to(float16& result, float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t exponent = magnitude >> 23;
  std::uint32_t narrow = 0x7c00u;  // infinity
  if (magnitude > 0x7f800000u) {
    narrow = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  } else if (exponent >= 127 - 14 && exponent <= 127 + 15) {
    narrow = shift_and_round(magnitude - ((127u - 15u) << 23), 13);  // may carry into infinity
  } else if (exponent < 127 - 14) {                                  // subnormal: units of 2^-24
    const std::uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t shift = 127 - 14 + 13 - exponent;
    narrow = shift < 26 ? shift_and_round(fraction, shift) : 0;
  }
  result.bits = static_cast<std::uint16_t>(sign | narrow);
}

/// How elements of type T add up: in which type, and how a term is added. Only types that have a sum
/// match. Integers wrap, which is defined for unsigned ones.
template <class T>
struct sum_traits;

template <class T>
  requires std::floating_point<T>
struct sum_traits<T> {
  using accumulator = T;
  static accumulator add(accumulator sum, T term) noexcept { return sum + term; }
};

template <class T>
struct sum_traits<std::complex<T>> {
  using accumulator = std::complex<T>;
  static accumulator add(accumulator sum, std::complex<T> term) noexcept { return sum + term; }
};

template <class T>
  requires std::integral<T>
struct sum_traits<T> {
  using accumulator = std::make_unsigned_t<T>;
  static accumulator add(accumulator sum, T term) noexcept {
    return static_cast<accumulator>(sum + static_cast<accumulator>(term));
  }
};

/// Logical or. The accumulator is a byte, and so is a bool in memory: any byte but 0 is true.
template <>
struct sum_traits<bool> {
  using accumulator = unsigned char;
  static_assert(sizeof(bool) == sizeof(accumulator));
  static accumulator add(accumulator sum, accumulator term) noexcept {
    return (sum | term) != 0 ? accumulator{1} : accumulator{0};
  }
};

template <class T>
  requires std::same_as<T, float16> || std::same_as<T, bfloat16>
struct sum_traits<T> {
  using accumulator = float;
  static accumulator add(accumulator sum, T term) noexcept { return sum + to_float(term); }
};

/// What a term of type T is read as.
template <class T>
using term_of = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

template <class T, std::int64_t SourceStride, std::int64_t DestinationStride>
void accumulate_row(const tile_axis& axis, const std::byte* source, std::byte* destination) {
  using traits = sum_traits<T>;
  using accumulator = typename traits::accumulator;
  const std::int64_t from = SourceStride != 0 ? SourceStride : axis.source_stride;
  const std::int64_t to = DestinationStride != 0 ? DestinationStride : axis.destination_stride;
  for (std::int64_t i = 0; i < axis.extent; ++i) {
    term_of<T> term;
    accumulator sum;
    std::memcpy(&term, source + i * from, sizeof(term));
    std::memcpy(&sum, destination + i * to, sizeof(sum));
    sum = traits::add(sum, term);
    std::memcpy(destination + i * to, &sum, sizeof(sum));
  }
}

/// The leaf that adds a tile of elements of type T to a tile of accumulators.
template <class T>
void accumulate(const tile& t, const std::byte* source, std::byte* destination) {
  constexpr auto term_size = static_cast<std::int64_t>(sizeof(T));
  constexpr auto sum_size = static_cast<std::int64_t>(sizeof(typename sum_traits<T>::accumulator));
  const bool contiguous = t.inner.source_stride == term_size && t.inner.destination_stride == sum_size;
  const auto row = contiguous ? accumulate_row<T, term_size, sum_size> : accumulate_row<T, 0, 0>;
  for (std::int64_t i = 0; i < t.outer.extent; ++i) {
    row(t.inner, source + i * t.outer.source_stride, destination + i * t.outer.destination_stride);
  }
}

/// The leaf that rounds a tile of float sums to elements of type T.
template <class T>
void round_sums(const tile& t, const std::byte* source, std::byte* destination) {
  for (std::int64_t i = 0; i < t.outer.extent; ++i) {
    for (std::int64_t j = 0; j < t.inner.extent; ++j) {
      float sum;
      T rounded;
      std::memcpy(&sum, source + i * t.outer.source_stride + j * t.inner.source_stride, sizeof(sum));
      round_to(rounded, sum);
      std::memcpy(destination + i * t.outer.destination_stride + j * t.inner.destination_stride, &rounded,
                  sizeof(rounded));
    }
  }
}

/// sum_traits without the type: what fold needs to know about its elements.
struct summation {
  std::int64_t element_size = 0;      ///< bytes of an element
  std::int64_t accumulator_size = 0;  ///< bytes of a sum while terms are added to it
  leaf_function accumulate = nullptr;
  /// Turns sums into elements; null where a sum is an element already.
  leaf_function round = nullptr;
};

template <class T>
concept summable = requires { typename sum_traits<T>::accumulator; };

template <summable T>
constexpr summation summation_of() noexcept {
  using accumulator = typename sum_traits<T>::accumulator;
  summation result{sizeof(T), sizeof(accumulator), accumulate<T>, nullptr};
  if constexpr (sizeof(T) != sizeof(accumulator)) result.round = round_sums<T>;
  return result;
}

/// Requires a data type that element_size() knows.
constexpr summation summation_of(data_type type) noexcept {
  switch (type) {
    case data_type::float32: return summation_of<float>();
    case data_type::float64: return summation_of<double>();
    case data_type::float16: return summation_of<float16>();
    case data_type::uint8:
    case data_type::int8: return summation_of<std::uint8_t>();
    case data_type::uint16:
    case data_type::int16: return summation_of<std::uint16_t>();
    case data_type::uint32:
    case data_type::int32: return summation_of<std::uint32_t>();
    case data_type::uint64:
    case data_type::int64: return summation_of<std::uint64_t>();
    default: return {};
  }
}

}  // namespace reblock::detail
