// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/arguments.hpp>
#include <reblock/detail/arguments_impl.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/fold_options.hpp>
#include <reblock/result.hpp>
#include <reblock/tensor.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

constexpr const char* name_of(fold_reduction reduction) noexcept {
  constexpr const char* names[] = {"sum", "mean", "max", "min"};
  return names[static_cast<std::size_t>(reduction)];
}

/// Returns the error for a weight at an index of the list of `axis`, or of all weights where this is null.
inline error refused_weight(double weight, const axis_values& index, const std::size_t* axis) noexcept {
  char shown[16];  // "%g" takes up to 13 characters
  std::snprintf(shown, sizeof(shown), "%g", weight);
  error why("weights must be finite and not negative, got ");
  why << (weight == weight ? shown : "nan");  // the sign of a NaN says nothing
  if (axis == nullptr) return why << " at index " << index;
  return why << " at weights[" << *axis << "][" << index[0] << "]";
}

/// Checks that all weights of a list are finite and not negative, and returns their sum. The list is that of `axis`, or
/// has all weights where this is null.
inline result<double> check_weights(const double* first, const axis_values& extents,
                                    const axis_values& strides, const std::size_t* axis) {
  double sum = 0;
  axis_values index = axis_values::repeat(extents.size(), 0);
  for (;;) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
    const double weight = first[at];
    if (!(weight >= 0 && weight <= std::numeric_limits<double>::max())) {
      return refused_weight(weight, index, axis);
    }
    sum += weight;
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == extents[d - 1]) index[--d] = 0;
    if (d == 0) return sum;
  }
}

/// Returns an exponent of 2. Weights that add up to more could make sums that accumulators do not hold.
constexpr int most_exponent_of_weights(element_type results, fold_reduction by) noexcept {
  if (by == fold_reduction::mean) return exponent_of_means(results);
  return is_half(results) ? 127 : 1023;  // of float and of double
}

/// Checks the options of fold for windows of these sizes.
inline status check_fold_options(const fold_options& options, const axis_values& window_sizes,
                                 const reduction& types) {
  const window_weights& weights = options.weights;
  const auto number = static_cast<std::uint32_t>(options.reduction);
  if (number > static_cast<std::uint32_t>(fold_reduction::min)) {
    return error() << "reduction must be sum (0), mean (1), max (2) or min (3), got " << number;
  }
  const bool compares = options.reduction == fold_reduction::max || options.reduction == fold_reduction::min;
  if (compares && types.results.is_pair) {
    return error() << "reduction " << name_of(options.reduction)
                   << " needs a dtype with an order, got complex" << 8 * types.results.size;
  }
  if (types.terms.is_pair && !types.results.is_pair) {
    return error() << "dtype must be complex for complex columns, got " << name_of(types.results.part);
  }
  if (options.accumulate && options.reduction == fold_reduction::mean) {
    return error()
           << "accumulate is for reduction sum, max or min, got reduction mean: a mean of means is no mean";
  }
  if (weights.empty()) return success{};
  if (compares) {
    return error() << "weights are for reduction sum or mean, got reduction " << name_of(options.reduction);
  }
  if (weights.extents() != window_sizes) {
    return error() << "weights must have the window's sizes " << window_sizes << ", got "
                   << weights.extents();
  }
  const untyped_view view(tensor_view<const double>(weights.values(0), weights.extents(), weights.strides()));
  if (const status fits = check_strides(view, "weights"); !fits) return fits;
  double sum = 1;
  const std::size_t lists = weights.has_products() ? window_sizes.size() : 1;
  for (std::size_t d = 0; d < lists; ++d) {
    const auto checked = weights.has_products() ? check_weights(weights.values(d), {window_sizes[d]}, {1}, &d)
                                                : check_weights(weights.values(0), weights.extents(),
                                                                weights.strides(), nullptr);
    if (!checked) return checked.why();
    sum *= *checked;
  }
  const int exponent = most_exponent_of_weights(types.results.part, options.reduction);
  if (sum <= two_to_the(exponent)) return success{};
  return error() << "weights must add up to at most 2^" << exponent << " for reduction "
                 << name_of(options.reduction)
                 << (is_half(types.results.part) ? " of float16 or bfloat16" : "") << ", but add up to more";
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
