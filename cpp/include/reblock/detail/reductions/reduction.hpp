// SPDX-License-Identifier: BSD-3-Clause
//
// These types describe a reduction of fold at the engine's boundary, without its arithmetic (accumulation.hpp).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/sums/summand.hpp>
#include <reblock/fold_options.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// An element_format describes the elements of a tensor.
struct element_format {
  element_type part = element_type::none;
  bool is_pair = false;   ///< whether an element has two parts
  std::int64_t size = 0;  ///< bytes of an element

  friend constexpr bool operator==(const element_format&, const element_format&) = default;
};

template <class T>
constexpr element_format format_of() noexcept {
  return {element_type_of<typename parts_of<T>::type>(), complex_number<T>,
          static_cast<std::int64_t>(sizeof(T))};
}

/// The functions that reduce terms to results of one type, and those that convert terms to it; see accumulation.hpp.
struct reduction_functions;
using conversion_of_terms = void (*)(const std::byte* terms, std::byte* converted, std::size_t count);

struct sum_functions;
struct sum_request;
class reduced_piece;

/// The functions that plan and run reductions, and sums onto an image. Calls with options hand them in, so programs without
/// options do not compile them.
struct reduction_ways {
  void (*plan)(void* operation, const sum_request& request) noexcept;
  /// Plans sums of separate windows onto an image, and returns their cost in cycles.
  double (*plan_accumulated)(void* operation, const sum_request& request, const sum_functions& sum) noexcept;
  void (*reduce)(reduced_piece& piece, const std::byte* source, std::byte* destination) noexcept;
};

/// A reduction describes the terms and the results of fold. Both have one type, unless terms are converted first.
struct reduction {
  element_format terms;
  element_format results;
  const reduction_functions* functions = nullptr;  ///< as in summation
  conversion_of_terms convert = nullptr;           ///< null: there is one type, or see `functions`
  const reduction_ways* ways = nullptr;            ///< as in summation
};

/// Returns an exponent n. The accumulators of a mean hold the products and inverses of weights between 2^-n and 2^n.
constexpr int exponent_of_means(element_type results) noexcept {
  return is_half(results) ? 100 : 800;  // of float and of double
}

/// Returns 2^exponent. <cmath> is a long header for this alone.
constexpr double two_to_the(int exponent) noexcept {
  constexpr int bias = std::numeric_limits<double>::max_exponent - 1;
  constexpr int fraction_bits = std::numeric_limits<double>::digits - 1;
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + bias) << fraction_bits);
}

/// A reducer describes a fold that is no plain sum.
struct reducer {
  reduction types;
  fold_reduction by = fold_reduction::sum;
  window_weights weights{};
  bool accumulates = false;  ///< whether results begin from the values in the output
  /// The largest weight, if all weights are small integers, else the largest number.
  double largest_weight = std::numeric_limits<double>::max();

  /// Tells whether a result is one of the terms.
  constexpr bool keeps_terms() const noexcept {
    return by == fold_reduction::max || by == fold_reduction::min;
  }
  /// Tells whether accumulators hold every value of the output, so that a position without terms keeps its value even if it is
  /// summed like others. Weighted integers of 8 bytes are added in double, which has fewer digits.
  constexpr bool holds_values() const noexcept {
    return !accumulates || weights.empty() || !is_integer(types.results.part) || types.results.size < 8;
  }
  /// Tells whether weights that add up to `sum` make a mean. Else the mean is 0.
  constexpr bool makes_mean(double sum) const noexcept {
    return sum >= two_to_the(-exponent_of_means(types.results.part));
  }
  /// Returns the factor that makes a sum a mean, if the weights of its terms, or their number, add up to `sum`.
  constexpr double factor_of_mean(double sum) const noexcept {
    const double factor = 1 / (makes_mean(sum) ? sum : 1);  // compilers divide several sums at once
    return makes_mean(sum) ? factor : 0;
  }
};

#if defined(REBLOCK_COMPILED)
template <class In, class T>
constexpr reduction reduction_of() noexcept {
  return {format_of<In>(), format_of<T>()};
}
#else
template <class In, class T>
constexpr reduction reduction_of() noexcept;
#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
