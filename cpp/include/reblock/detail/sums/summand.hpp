// SPDX-License-Identifier: BSD-3-Clause
//
// These types describe the terms of fold at the engine's boundary, without their arithmetic.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The concept takes float16 and bfloat16.
template <class T>
concept half = std::same_as<T, float16> || std::same_as<T, bfloat16>;

/// Recognizes std::complex by its members: <complex> takes as long to include as all of reblock.
template <class T>
concept complex_number = std::floating_point<typename T::value_type> && requires(const T number) {
  { number.real() } -> std::same_as<typename T::value_type>;
  { number.imag() } -> std::same_as<typename T::value_type>;
} && sizeof(T) == 2 * sizeof(typename T::value_type);

/// Complex numbers are added part by part.
template <class T>
struct parts_of {
  using type = T;
};
template <complex_number T>
struct parts_of<T> {
  using type = typename T::value_type;
};

/// A summand is the type in which a part of a term is added. Integers wrap, so their signs do not matter.
enum class summand : std::uint8_t {
  none,
  boolean,
  integer8,
  integer16,
  integer32,
  integer64,
  half_float,
  brain_float,
  single_float,
  double_float,
  long_double,
};

template <class T>
constexpr summand summand_of() noexcept {
  using part = typename parts_of<T>::type;
  if constexpr (std::is_same_v<part, bool>) return summand::boolean;
  if constexpr (std::is_same_v<part, float16>) return summand::half_float;
  if constexpr (std::is_same_v<part, bfloat16>) return summand::brain_float;
  if constexpr (std::is_same_v<part, float>) return summand::single_float;
  if constexpr (std::is_same_v<part, double>) return summand::double_float;
  if constexpr (std::is_same_v<part, long double>) return summand::long_double;
  if constexpr (std::is_integral_v<part> && !std::is_same_v<part, bool>) {
    if constexpr (sizeof(part) == 1) return summand::integer8;
    if constexpr (sizeof(part) == 2) return summand::integer16;
    if constexpr (sizeof(part) == 4) return summand::integer32;
    if constexpr (sizeof(part) == 8) return summand::integer64;
  }
  return summand::none;
}

constexpr summand summand_of(data_type type) noexcept {
  switch (type) {
    case data_type::float32: return summand::single_float;
    case data_type::float64: return summand::double_float;
    case data_type::float16: return summand::half_float;
    case data_type::uint8:
    case data_type::int8: return summand::integer8;
    case data_type::uint16:
    case data_type::int16: return summand::integer16;
    case data_type::uint32:
    case data_type::int32: return summand::integer32;
    case data_type::uint64:
    case data_type::int64: return summand::integer64;
    default: return summand::none;
  }
}

template <class T>
concept summable = summand_of<T>() != summand::none;

/// The functions that sum terms of one type; see summation.hpp.
struct sum_functions;

/// A summation describes the elements of fold.
struct summation {
  std::int64_t element_size = 0;  ///< bytes
  summand part = summand::none;
  bool is_pair = false;  ///< whether an element has two parts
  const sum_functions* functions =
      nullptr;  ///< the needed functions, if the engine is compiled with its callers
};

#if defined(REBLOCK_COMPILED)
template <summable T>
constexpr const sum_functions* functions_of() noexcept {
  return nullptr;
}
#else
template <summable T>
constexpr const sum_functions* functions_of() noexcept;
#endif

template <summable T>
constexpr summation summation_of() noexcept {
  return {sizeof(T), summand_of<T>(), complex_number<T>, functions_of<T>()};
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
