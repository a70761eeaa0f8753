// SPDX-License-Identifier: BSD-3-Clause
//
// These types name elements at the engine's boundary: those of a conversion, and the terms and results of a reduction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// An element_type is the type of an element, or of a part of a complex element. Unlike data_type, it has bool, bfloat16
/// and long double. Unlike a summand, it knows the sign of integers.
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
  long_double,
};

/// The types that stand for the element types, in their order after none.
using element_types =
    std::tuple<bool, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
               std::uint64_t, std::int64_t, reblock::float16, reblock::bfloat16, float, double, long double>;

/// Calls `found.operator()<T>()` for the type T that stands for `type`, unless this is none.
template <class Found>
constexpr void with_element(element_type type, const Found& found) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((static_cast<std::size_t>(type) == I + 1
          ? found.template operator()<std::tuple_element_t<I, element_types>>()
          : void()),
     ...);
  }(std::make_index_sequence<std::tuple_size_v<element_types>>{});
}

constexpr bool is_integer(element_type type) noexcept {
  return element_type::uint8 <= type && type <= element_type::int64;
}
constexpr bool is_floating(element_type type) noexcept { return type >= element_type::float16; }
constexpr bool is_half(element_type type) noexcept {
  return type == element_type::float16 || type == element_type::bfloat16;
}

constexpr std::size_t size_of(element_type type) noexcept {
  std::size_t size = 0;
  with_element(type, [&]<class T>() { size = sizeof(T); });
  return size;
}

/// Returns the name in a message.
constexpr const char* name_of(element_type type) noexcept {
  constexpr const char* names[] = {"none",    "bool",     "uint8",   "int8",    "uint16",
                                   "int16",   "uint32",   "int32",   "uint64",  "int64",
                                   "float16", "bfloat16", "float32", "float64", "long double"};
  return names[static_cast<std::size_t>(type)];
}

/// Returns none for a type that is no element.
template <class T>
constexpr element_type element_type_of() noexcept {
  using enum element_type;
  if constexpr (std::is_same_v<T, bool>) return boolean;
  if constexpr (std::is_same_v<T, reblock::float16>) return float16;
  if constexpr (std::is_same_v<T, reblock::bfloat16>) return bfloat16;
  if constexpr (std::is_same_v<T, float>) return float32;
  if constexpr (std::is_same_v<T, double>) return float64;
  if constexpr (std::is_same_v<T, long double>) return long_double;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? int8 : uint8;
    if constexpr (sizeof(T) == 2) return is_signed ? int16 : uint16;
    if constexpr (sizeof(T) == 4) return is_signed ? int32 : uint32;
    if constexpr (sizeof(T) == 8) return is_signed ? int64 : uint64;
  }
  return none;
}

/// Tells whether conversions read and write the type.
constexpr bool is_convertible(element_type type) noexcept {
  return type != element_type::none && type != element_type::long_double;
}

/// Tells whether float does not hold all values of a type: float64, and integers of 32 or 64 bits.
constexpr bool needs_double(element_type type) noexcept {
  using enum element_type;
  return type == float64 || (uint32 <= type && type <= int64);
}

/// Tells whether scale and bias are double: one of the types needs it. Otherwise they are float.
constexpr bool is_converted_in_double(element_type from, element_type to) noexcept {
  return needs_double(from) || needs_double(to);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
