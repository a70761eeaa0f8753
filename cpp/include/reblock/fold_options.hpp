// SPDX-License-Identifier: BSD-3-Clause
//
// The options of fold: how the terms of an element of the image become one value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/tensor.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// A fold_reduction says what fold makes of the terms of an element. Elements without terms become 0.
enum class fold_reduction : std::uint32_t {
  sum = 0,   ///< the sum, or the sum of weight * term
  mean = 1,  ///< the sum divided by the number of terms, or by the sum of their weights; 0 where this is 0
  max = 2,   ///< the largest term; a NaN is larger than all other terms
  min = 3,   ///< the smallest term; a NaN is smaller than all other terms
};

/// A window_weights has one weight for each element of the window. It does not own the weights. Weights are finite and not
/// negative. They add up to at most 2^1023 for a sum and 2^800 for a mean, of half floats to 2^127 and 2^100. Where the
/// weights of a mean add up to less than 2^-800 or 2^-100, it is 0. There are three forms:
///
///     window_weights{}                                       // no weights: each term counts once
///     window_weights{rows, columns}                          // one span of weights per spatial axis: their products count
///     window_weights(tensor_view<const double>(data, {3, 5}))  // a weight for each element of a window of sizes {3, 5}
class window_weights {
 public:
  constexpr window_weights() noexcept = default;
  constexpr window_weights(std::initializer_list<std::span<const double>> axes) noexcept
      : has_products_(axes.size() != 0) {
    for (const std::span<const double> axis : axes) push_back(axis);
  }
  constexpr window_weights(const tensor_view<const double>& values) noexcept
      : extents_(values.extents()), strides_(values.strides()) {
    values_.fill(values.data());
  }

  /// Appends the weights of another spatial axis. Requires weights that are products, or none.
  constexpr void push_back(std::span<const double> axis) noexcept {
    has_products_ = true;
    if (extents_.size() < values_.size()) values_[extents_.size()] = axis.data();
    extents_.push_back(static_cast<std::int64_t>(axis.size()));
    strides_.push_back(1);
  }

  /// Tells whether there are no weights.
  constexpr bool empty() const noexcept { return extents_.size() == 0; }
  /// Tells whether a weight is the product of one value per axis.
  constexpr bool has_products() const noexcept { return has_products_; }
  /// Returns the number of weights along each spatial axis.
  constexpr const axis_values& extents() const noexcept { return extents_; }
  /// Returns the strides of the weights, in elements.
  constexpr const axis_values& strides() const noexcept { return strides_; }
  /// Returns the first weight along axis `d`. If there are no products, all axes have the same first weight.
  constexpr const double* values(std::size_t d) const noexcept { return values_[d]; }

 private:
  axis_values extents_;
  axis_values strides_;
  std::array<const double*, max_rank - 2> values_{};
  bool has_products_ = false;
};

/// The options of fold.
struct fold_options {
  /// Whether a reduction begins from the values in the output. Elements without terms then do not change, except that a
  /// signaling NaN may become quiet. A mean cannot begin from a value.
  bool accumulate = false;
  fold_reduction reduction = fold_reduction::sum;
  /// The weights of a sum or a mean. Integers and float are then multiplied and added in double and rounded once; integers
  /// beyond their range become the nearest value.
  window_weights weights{};
};

}  // namespace reblock::inline REBLOCK_NAMESPACE
