// SPDX-License-Identifier: BSD-3-Clause
//
// These types name the elements of a conversion at the engine's boundary, without its arithmetic.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The elements that conversions read and write. Unlike data_type, it has bool and bfloat16.
enum class element_type : std::uint8_t {
  none,
  boolean,
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64,
  float16,
  bfloat16,
  float32,
  float64,
};

constexpr bool is_integer(element_type type) noexcept {
  return element_type::uint8 <= type && type <= element_type::int64;
}
constexpr bool is_floating(element_type type) noexcept { return type >= element_type::float16; }

constexpr std::size_t size_of(element_type type) noexcept {
  constexpr std::uint8_t sizes[] = {0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  return sizes[static_cast<std::size_t>(type)];
}

/// Returns none for a type that has no conversion.
template <class T>
constexpr element_type element_type_of() noexcept {
  using enum element_type;
  if constexpr (std::is_same_v<T, bool>) return boolean;
  if constexpr (std::is_same_v<T, reblock::float16>) return float16;
  if constexpr (std::is_same_v<T, reblock::bfloat16>) return bfloat16;
  if constexpr (std::is_same_v<T, float>) return float32;
  if constexpr (std::is_same_v<T, double>) return float64;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? int8 : uint8;
    if constexpr (sizeof(T) == 2) return is_signed ? int16 : uint16;
    if constexpr (sizeof(T) == 4) return is_signed ? int32 : uint32;
    if constexpr (sizeof(T) == 8) return is_signed ? int64 : uint64;
  }
  return none;
}

/// Tells whether scale and bias are double: one of the types is float64, or an integer of 32 or 64 bits. Otherwise they
/// are float.
constexpr bool is_converted_in_double(element_type from, element_type to) noexcept {
  using enum element_type;
  const auto needs_double = [](element_type type) {
    return type == float64 || (uint32 <= type && type <= int64);
  };
  return needs_double(from) || needs_double(to);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
