// SPDX-License-Identifier: BSD-3-Clause
//
// These functions convert terms of fold to the type of its results.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/reductions/term_values.hpp>
#include <reblock/detail/sums/summand.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Converts a term as NumPy's astype does: exactly, where the type has the value. Floating point is rounded to floating
/// point, and loses its fraction on the way to an integer of 64 bits. Beyond the range, it becomes the nearest such
/// integer, or 0 if it is a NaN. Integers wrap. run_conversion saturates instead.
template <class In, class T>
[[gnu::always_inline]] inline stored<T> converted(stored<In> term) noexcept {
  if constexpr (std::same_as<T, bool>) {
    return static_cast<stored<T>>(
        widened<In, std::conditional_t<half<In>, float, stored<In>>>(term) != 0 ? 1 : 0);
  } else if constexpr (half<In> || std::floating_point<In>) {
    using wide = std::conditional_t<half<In>, float, In>;
    const auto value = widened<In, wide>(term);
    if constexpr (std::integral<T>) {
      constexpr wide least = std::is_signed_v<T> ? -static_cast<wide>(std::uint64_t{1} << 63) : wide{0};
      constexpr wide above = static_cast<wide>(std::uint64_t{1} << 63);
      constexpr wide most_below =
          above * 2 * (1 - std::numeric_limits<wide>::epsilon() / 2);  // the value before it
      if (std::is_unsigned_v<T> && value >= above)
        return static_cast<T>(static_cast<std::uint64_t>(value < above * 2 ? value : most_below));
      const wide inside = value > least || std::is_unsigned_v<T> ? value : least;
      if (!(inside < above) || !(inside >= -above)) return T{};
      return static_cast<T>(static_cast<std::int64_t>(inside));
    } else {
      return narrowed<T>(value);
    }
  } else if constexpr (half<T>) {
    using exact = std::conditional_t<sizeof(In) < sizeof(float), float, double>;
    return narrowed<T>(static_cast<exact>(widened<In, stored<In>>(term)));
  } else {
    return static_cast<T>(widened<In, stored<In>>(term));
  }
}

template <class In, class T>
void convert_terms(const std::byte* terms, std::byte* results, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    stored<In> term;
    std::memcpy(&term, terms + i * sizeof(term), sizeof(term));
    write_result<T>(results, i, converted<In, T>(term));
  }
}

/// Converts real terms to complex ones.
template <class In, class Part>
void convert_to_pairs(const std::byte* terms, std::byte* results, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    stored<In> term;
    std::memcpy(&term, terms + i * sizeof(term), sizeof(term));
    write_result<Part>(results, 2 * i, converted<In, Part>(term));
    write_result<Part>(results, 2 * i + 1, Part{0});
  }
}
template <class In, class Part>
void convert_pairs(const std::byte* terms, std::byte* results, std::size_t count) {
  convert_terms<In, Part>(terms, results, 2 * count);
}

/// Returns the function that converts terms; null for terms of the results' type.
template <class In, class T>
constexpr conversion_of_terms conversion_of() noexcept {
  using from = typename parts_of<In>::type;
  using to = typename parts_of<T>::type;
  static_assert(!complex_number<In> || complex_number<T>, "complex terms have no real result");
  if constexpr (format_of<In>() == format_of<T>()) {
    return nullptr;
  } else if constexpr (complex_number<In>) {
    return convert_pairs<from, to>;
  } else if constexpr (complex_number<T>) {
    return convert_to_pairs<from, to>;
  } else {
    return convert_terms<from, to>;
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
