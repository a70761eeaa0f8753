// SPDX-License-Identifier: BSD-3-Clause
//
// Weighted sums and means of overlapping windows of two axes: each phase of the image has weights of its own, and masks leave
// out the terms at the edges.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/window.hpp>

#include "../../draw.hpp"

namespace reblock {
namespace {

using test::draw;

/// Windows of equal sizes along both axes.
struct square_windows {
  std::int64_t size;
  std::int64_t stride;
  std::int64_t dilation;
  std::int64_t padding;
  std::int64_t windows;  ///< along an axis
};

/// The weighted sum and the sum of weights of an element of the image.
struct weighted_element {
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  std::int64_t terms = 0;
};

template <class T>
class drawn_squares {
 public:
  /// Weights are drawn if `are_products` is not set, else products of two drawn rows.
  drawn_squares(std::mt19937& random, const square_windows& shape, std::int64_t channels, bool are_products)
      : channels_(channels),
        extent_((shape.windows - 1) * shape.stride + (shape.size - 1) * shape.dilation + 1 -
                2 * shape.padding),
        shape_{1, channels * shape.size * shape.size, shape.windows * shape.windows},
        window_{.sizes = {shape.size, shape.size},
                .strides = {shape.stride, shape.stride},
                .dilations = {shape.dilation, shape.dilation},
                .start_padding = {shape.padding, shape.padding},
                .end_padding = {shape.padding, shape.padding}},
        elements_(static_cast<std::size_t>(channels * extent_ * extent_)) {
    for (auto* row : {&rows_, &columns_of_weights_}) {
      for (std::int64_t o = 0; o < shape.size; ++o) row->push_back(static_cast<double>(draw(random, 0, 2)));
    }
    for (const double y : rows_) {
      for (const double x : columns_of_weights_)
        whole_.push_back(are_products ? y * x : static_cast<double>(draw(random, 0, 3)));
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t o = 0; o < shape.size * shape.size; ++o) {
        for (std::int64_t l = 0; l < shape.windows * shape.windows; ++l) {
          const std::int64_t term = draw(random, 0, 3);
          terms_.push_back(static_cast<T>(term));
          const auto place = [&](std::int64_t window, std::int64_t offset) {
            return window * shape.stride + offset * shape.dilation - shape.padding;
          };
          const std::int64_t y = place(l / shape.windows, o / shape.size);
          const std::int64_t x = place(l % shape.windows, o % shape.size);
          if (y < 0 || y >= extent_ || x < 0 || x >= extent_) continue;
          weighted_element& at = elements_[static_cast<std::size_t>((c * extent_ + y) * extent_ + x)];
          const auto weight = static_cast<std::int64_t>(whole_[static_cast<std::size_t>(o)]);
          at.sum += weight * term;
          at.weights += weight;
          ++at.terms;
        }
      }
    }
  }

  window_weights products() const { return {rows_, columns_of_weights_}; }
  window_weights whole() const {
    return tensor_view<const double>(whole_.data(), {std::ssize(rows_), std::ssize(columns_of_weights_)});
  }

  /// Counts wrong results. A mean is rounded twice.
  std::size_t wrong(const fold_options& options) const {
    std::vector<T> image(elements_.size(), T{7});
    fold(tensor_view<const T>(terms_.data(), shape_),
         tensor_view<T>(image.data(), {1, channels_, extent_, extent_}), window_, options);
    std::size_t count = 0;
    for (std::size_t i = 0; i < image.size(); ++i) {
      const weighted_element& at = elements_[i];
      double wanted = static_cast<double>(at.sum);
      if (options.reduction == fold_reduction::mean)  // as reducer::factor_of_mean() has it
        wanted *= at.weights == 0 ? 0 : 1 / static_cast<double>(at.weights);
      if (options.accumulate) wanted += 7;
      if (std::is_integral_v<T>) {
        wanted = std::nearbyint(wanted);
        if (sizeof(T) == 1 && wanted > 255) wanted = 255;
      }
      const double tolerance = std::is_same_v<T, double> ? 1e-14 : std::is_same_v<T, float> ? 1e-6 : 0;
      if (!(std::abs(static_cast<double>(image[i]) - wanted) <= tolerance)) ++count;
    }
    return count;
  }

 private:
  std::int64_t channels_;
  std::int64_t extent_;
  axis_values shape_;
  window window_;
  std::vector<weighted_element> elements_;
  std::vector<double> rows_;
  std::vector<double> columns_of_weights_;
  std::vector<double> whole_;
  std::vector<T> terms_;
};

TEST_CASE_TEMPLATE("the phases of overlapping windows have weights of their own", T, std::uint8_t,
                   std::int16_t, float, double) {
  constexpr square_windows shapes[] = {
      {8, 4, 1, 0, 7},                      // phases
      {8, 4, 1, 0, 33},                     // a box of several channels
      {5, 2, 1, 1, 9},                      // phases with different numbers of terms
      {3, 1, 2, 1, 10},                     // gaps in the window
      {4, 3, 2, 2, 6},  {13, 1, 1, 3, 12},  // more terms than a list has
  };
  for (const square_windows& shape : shapes) {
    for (const std::int64_t channels : {1, 3, 5}) {
      for (const bool are_products : {true, false}) {
        CAPTURE(shape.size);
        CAPTURE(shape.windows);
        CAPTURE(channels);
        CAPTURE(are_products);
        std::mt19937 random(static_cast<unsigned>(shape.size + channels));
        const drawn_squares<T> drawn(random, shape, channels, are_products);
        for (const bool accumulates : {false, true}) {
          if (are_products) CHECK(drawn.wrong({.accumulate = accumulates, .weights = drawn.products()}) == 0);
          CHECK(drawn.wrong({.accumulate = accumulates, .weights = drawn.whole()}) == 0);
        }
        CHECK(drawn.wrong({.reduction = fold_reduction::mean, .weights = drawn.whole()}) == 0);
        if (are_products)
          CHECK(drawn.wrong({.reduction = fold_reduction::mean, .weights = drawn.products()}) == 0);
      }
    }
  }
}

}  // namespace
}  // namespace reblock
