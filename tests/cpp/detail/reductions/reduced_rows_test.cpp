// SPDX-License-Identifier: BSD-3-Clause
//
// Weighted sums, means, maxima and minima of rows of every length: several registers or several rows are reduced at once, and
// the last registers of a row overlap others.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/rounded.hpp>
#include <reblock/window.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../../oracle.hpp"

namespace reblock {
namespace {

using test::draw;

/// A position of a row has these terms. Windows reach it from both sides.
struct position {
  std::vector<std::int64_t> terms;
  std::vector<std::int64_t> weights;
};

/// Rows of one channel each, of one spatial axis.
template <class T>
class drawn_rows {
 public:
  drawn_rows(std::mt19937& random, std::int64_t rows, std::int64_t size, std::int64_t stride,
             std::int64_t dilation, std::int64_t windows)
      : image_{1, rows, (windows - 1) * stride + (size - 1) * dilation + 1},
        shape_{1, rows * size, windows},
        window_{.sizes = size, .strides = stride, .dilations = dilation},
        positions_(static_cast<std::size_t>(rows * image_[2])) {
    for (std::int64_t o = 0; o < size; ++o) weights_.push_back(static_cast<double>(draw(random, 0, 3)));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t o = 0; o < size; ++o) {
        for (std::int64_t l = 0; l < windows; ++l) {
          const std::int64_t term = draw(random, 0, 5);
          columns_.push_back(static_cast<T>(term));
          position& at = positions_[static_cast<std::size_t>(row * image_[2] + l * stride + o * dilation)];
          at.terms.push_back(term);
          at.weights.push_back(static_cast<std::int64_t>(weights_[static_cast<std::size_t>(o)]));
        }
      }
    }
    for (std::size_t i = 0; i < positions_.size(); ++i)
      before_.push_back(static_cast<T>(draw(random, 0, 40)));
  }

  /// Checks the results, which are result(position) of each position with terms. Without one, a position is 0. Where they
  /// accumulate, what was in the image comes to them.
  template <class Result>
  void check(fold_options options, bool is_weighted, const Result& result, double tolerance = 0) const {
    if (is_weighted) options.weights = {weights_};
    std::vector<T> image = before_;
    fold(tensor_view<const T>(columns_.data(), shape_), tensor_view<T>(image.data(), image_), window_,
         options);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < image.size(); ++i) {
      const double own = positions_[i].terms.empty() ? 0 : result(positions_[i]);
      const double all = own + (options.accumulate ? static_cast<double>(before_[i]) : 0);
      auto wanted = static_cast<T>(std::is_integral_v<T> ? std::nearbyint(all) : all);
      if constexpr (std::is_floating_point_v<T>) wanted = detail::rounded(wanted);
      if (std::abs(static_cast<double>(image[i] - wanted)) > tolerance) ++wrong;
    }
    CHECK(wrong == 0);
  }

 private:
  axis_values image_;
  axis_values shape_;
  window window_;
  std::vector<double> weights_;
  std::vector<T> columns_;
  std::vector<T> before_;
  std::vector<position> positions_;
};

double sum_of(const std::vector<std::int64_t>& terms) {
  double sum = 0;
  for (const std::int64_t term : terms) sum += static_cast<double>(term);
  return sum;
}
double weighted_sum(const position& at) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < at.terms.size(); ++i) sum += at.terms[i] * at.weights[i];
  return static_cast<double>(sum);
}

struct shape_of_windows {
  std::int64_t size;
  std::int64_t stride;
  std::int64_t dilation;
};

TEST_CASE_TEMPLATE("rows of every length are reduced, a few at once", T, std::uint8_t, std::int16_t,
                   std::int32_t, float, double) {
  constexpr shape_of_windows shapes[] = {{3, 1, 1}, {5, 2, 1}, {7, 3, 1}, {3, 1, 2}, {6, 2, 3}};
  const auto most = static_cast<std::int64_t>(sizeof(T) == 1 ? 140 : sizeof(T) == 2 ? 140 : 280 / sizeof(T));
  for (const std::int64_t windows : test::some_of(1, most, 25)) {
    for (const shape_of_windows& shape : shapes) {
      std::mt19937 random(static_cast<unsigned>(windows));
      const std::int64_t rows = draw(random, 1, 9);
      CAPTURE(windows);
      CAPTURE(shape.size);
      CAPTURE(rows);
      const drawn_rows<T> drawn(random, rows, shape.size, shape.stride, shape.dilation, windows);
      drawn.check({}, true, weighted_sum);
      drawn.check({.accumulate = true}, true, weighted_sum);
      drawn.check({.accumulate = true}, false, [](const position& at) { return sum_of(at.terms); });
      drawn.check({.reduction = fold_reduction::mean}, false,
                  [](const position& at) { return sum_of(at.terms) / static_cast<double>(at.terms.size()); });
      drawn.check(
          {.reduction = fold_reduction::mean}, true,
          [](const position& at) {
            const double weights = sum_of(at.weights);
            return weights == 0 ? 0 : weighted_sum(at) / weights;
          },
          std::is_same_v<T, double> ? 4e-15 : 0);  // a quotient may be rounded twice
      drawn.check({.reduction = fold_reduction::max}, false, [](const position& at) {
        return static_cast<double>(*std::ranges::max_element(at.terms));
      });
      drawn.check({.reduction = fold_reduction::min}, false, [](const position& at) {
        return static_cast<double>(*std::ranges::min_element(at.terms));
      });
    }
  }
}

}  // namespace
}  // namespace reblock
