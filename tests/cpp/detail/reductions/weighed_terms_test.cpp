// SPDX-License-Identifier: BSD-3-Clause
//
// Folds whose windows share no position, with weights and as means, maxima and minima: each position has one term at most.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/fold_options.hpp>
#include <reblock/window.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../../executors.hpp"
#include "../../oracle.hpp"

namespace reblock {
namespace {

using test::draw;

/// A term times a weight, rounded once.
template <class T>
T times(double weight, T term) {
  if constexpr (std::is_integral_v<T>) {
    const double product = std::nearbyint(weight * static_cast<double>(term));
    return static_cast<T>(std::clamp(product, static_cast<double>(std::numeric_limits<T>::min()),
                                     static_cast<double>(std::numeric_limits<T>::max())));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(0 + weight * static_cast<double>(term));
  } else {
    using part = typename T::value_type;
    return {times<part>(weight, term.real()), times<part>(weight, term.imag())};
  }
}

template <class T>
T draw_term(std::mt19937& random) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(draw(random, -120, 120));
  } else {
    return {static_cast<typename T::value_type>(draw(random, -120, 120)),
            static_cast<typename T::value_type>(draw(random, -120, 120))};
  }
}

/// A fold of windows that are at least a stride apart, and an image with the channels first or last.
template <class T>
struct separate_fold {
  axis_values image;
  std::size_t channel_axis;
  window w;
  axis_values sizes;
  std::vector<T> columns;

  explicit separate_fold(std::mt19937& random) : channel_axis(1) {
    const auto axes = static_cast<std::size_t>(draw(random, 1, 3));
    const std::int64_t long_axis = draw(random, 0, static_cast<std::int64_t>(axes) - 1);
    axis_values spatial;
    axis_values strides;
    axis_values start;
    axis_values end;
    for (std::size_t d = 0; d < axes; ++d) {
      const bool is_long = static_cast<std::int64_t>(d) == long_axis && draw(random, 0, 2) == 0;
      sizes.push_back(is_long ? draw(random, 1, 400) : draw(random, 1, 5));
      strides.push_back(sizes[d] + (test::flip_coin(random) ? 0 : draw(random, 0, 3)));
      start.push_back(draw(random, 0, 3));
      end.push_back(draw(random, 0, 3));
      spatial.push_back(sizes[d] + draw(random, 0, is_long ? 900 : 9));
    }
    w = {.sizes = sizes,
         .strides = strides,
         .dilations = axis_values::repeat(axes, 1),
         .start_padding = start,
         .end_padding = end};
    channel_axis = test::flip_coin(random) ? 1 : axes + 1;
    image = oracle::join(draw(random, 1, 2), draw(random, 1, 4), spatial, channel_axis);
    columns.resize(static_cast<std::size_t>(oracle::volume(shape())));
    for (T& term : columns) term = draw_term<T>(random);
  }

  axis_values shape() const { return unfold_extents(image, w, static_cast<std::int64_t>(channel_axis)); }

  std::vector<T> folded(const fold_options& options) const {
    std::vector<T> result(static_cast<std::size_t>(oracle::volume(image)), T(77));
    fold(tensor_view<const T>(columns.data(), shape()), tensor_view<T>(result.data(), image), w, options,
         test::backward_executor{3}, static_cast<std::int64_t>(channel_axis));
    return result;
  }

  /// Calls `result(offset in the window, term)` for each position with a term. The others are 0.
  template <class Result>
  std::vector<T> expected(const Result& result) const {
    std::vector<T> all(static_cast<std::size_t>(oracle::volume(image)));
    const std::int64_t offsets = oracle::volume(sizes);
    oracle::for_each_window_pair(
        image, w, channel_axis, [&](const axis_values& in_columns, const axis_values& in_image, bool inside) {
          if (!inside) return;
          const auto place = static_cast<std::size_t>(oracle::rank(in_image, image));
          const auto from = static_cast<std::size_t>(oracle::rank(in_columns, shape()));
          all[place] = result(static_cast<std::size_t>(in_columns[1] % offsets), columns[from]);
        });
    return all;
  }
};

/// Weights of each axis, which are powers of two or 0, and their products.
struct drawn_weights {
  std::vector<std::vector<double>> axes;
  std::vector<double> products{1};

  drawn_weights(std::mt19937& random, const axis_values& sizes, std::int64_t least) {
    for (const std::int64_t size : sizes) {
      std::vector<double>& own = axes.emplace_back(static_cast<std::size_t>(size));
      for (double& weight : own) {
        const std::int64_t power = draw(random, least, 5);
        weight = power == 0 ? 0 : static_cast<double>(std::int64_t{1} << power) / 8;
      }
      std::vector<double> longer;
      for (const double before : products) {
        for (const double weight : own) longer.push_back(before * weight);
      }
      products = std::move(longer);
    }
  }

  window_weights by_axis() const {
    window_weights all;
    for (const std::vector<double>& own : axes) all.push_back(own);
    return all;
  }
  window_weights whole(const axis_values& sizes) const {
    return tensor_view<const double>(products.data(), sizes);
  }
};

TEST_CASE_TEMPLATE("single terms are multiplied by the weights of their places in the window", T,
                   std::uint8_t, std::int16_t, std::int32_t, float, double, std::complex<float>) {
  for (const unsigned seed : test::seeds(300, 60)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const separate_fold<T> drawn(random);
    const drawn_weights weights(random, drawn.sizes, 0);
    const auto expected = drawn.expected(
        [&](std::size_t offset, const T& term) { return times<T>(weights.products[offset], term); });
    CHECK(drawn.folded({.weights = weights.by_axis()}) == expected);
    CHECK(drawn.folded({.weights = weights.whole(drawn.sizes)}) == expected);
  }
}

TEST_CASE_TEMPLATE("long rows of windows have the weights of a window again and again", T, bool, std::uint8_t,
                   std::int8_t, std::int16_t, float) {
  std::mt19937 random(1);
  for (const std::int64_t size : {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 48, 64, 100, 128, 255, 256, 300}) {
    CAPTURE(size);
    const std::int64_t windows = 700 / size + 1;
    const std::int64_t length = windows * size;
    std::vector<double> weights(static_cast<std::size_t>(size));
    for (double& weight : weights) weight = static_cast<double>(draw(random, 0, 60));
    std::vector<char> held(static_cast<std::size_t>(length) * sizeof(T));
    auto* const columns = reinterpret_cast<T*>(held.data());
    std::vector<char> results(held.size());
    for (std::int64_t i = 0; i < length; ++i) columns[i] = static_cast<T>(draw(random, -9, 9));
    fold(tensor_view<const T>(columns, {1, size, windows}),
         tensor_view<T>(reinterpret_cast<T*>(results.data()), {1, 1, length}),
         {.sizes = {size}, .strides = {size}}, {.weights = {weights}});
    bool are_equal = true;
    for (std::int64_t i = 0; i < length; ++i) {
      const T term = columns[i % size * windows + i / size];
      T result;
      std::memcpy(&result, results.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
      are_equal = are_equal && result == times<T>(weights[static_cast<std::size_t>(i % size)], term);
    }
    CHECK(are_equal);
  }
}

/// A fold of windows side by side whose weights are integers, or integers and a fraction, and what is to be in the image.
template <class T>
void check_lists(std::mt19937& random, const axis_values& sizes, const axis_values& counts,
                 std::size_t channel_axis, std::int64_t channels, std::size_t fraction_axis) {
  axis_values spatial = sizes;
  for (std::size_t d = 0; d < sizes.size(); ++d) spatial[d] *= counts[d];
  const axis_values image = oracle::join(2, channels, spatial, channel_axis);
  const axis_values zeros = axis_values::repeat(sizes.size(), 0);
  const window w{.sizes = sizes,
                 .strides = sizes,
                 .dilations = axis_values::repeat(sizes.size(), 1),
                 .start_padding = zeros,
                 .end_padding = zeros};
  const axis_values shape = unfold_extents(image, w, static_cast<std::int64_t>(channel_axis));
  std::vector<T> columns(static_cast<std::size_t>(oracle::volume(shape)));
  for (T& term : columns) term = static_cast<T>(draw(random, 0, 9));
  std::vector<std::vector<double>> axes;
  for (const std::int64_t size : sizes) {
    std::vector<double>& own = axes.emplace_back();
    for (std::int64_t o = 0; o < size; ++o) own.push_back(static_cast<double>(draw(random, 1, 3)));
  }
  // no float is this weight, and its products with small integers are doubles
  if (fraction_axis < axes.size()) axes[fraction_axis].back() = 1 + 0x1p-30;
  window_weights weights;
  for (const std::vector<double>& own : axes) weights.push_back(own);
  std::vector<T> result(static_cast<std::size_t>(oracle::volume(image)), T(77));
  fold(tensor_view<const T>(columns.data(), shape), tensor_view<T>(result.data(), image), w,
       {.weights = weights}, test::backward_executor{3}, static_cast<std::int64_t>(channel_axis));
  std::vector<T> expected(result.size());
  const std::int64_t offsets = oracle::volume(sizes);
  oracle::for_each_window_pair(
      image, w, channel_axis, [&](const axis_values& in_columns, const axis_values& in_image, bool) {
        std::int64_t offset = in_columns[1] % offsets;
        double weight = 1;
        for (std::size_t d = sizes.size(); d-- > 0; offset /= sizes[d])
          weight *= axes[d][static_cast<std::size_t>(offset % sizes[d])];
        expected[static_cast<std::size_t>(oracle::rank(in_image, image))] =
            times<T>(weight, columns[static_cast<std::size_t>(oracle::rank(in_columns, shape))]);
      });
  CHECK(result == expected);
}

TEST_CASE_TEMPLATE("rows at all other offsets have lists of their own, of one type of weights", T,
                   std::uint8_t, std::int16_t, float, double) {
  std::mt19937 random(3);
  for (std::size_t fraction_axis = 0; fraction_axis < 5; ++fraction_axis) {
    CAPTURE(fraction_axis);
    if (std::is_integral_v<T> && fraction_axis < 4) continue;  // fractions have other sums
    check_lists<T>(random, {2, 3, 4}, {2, 3, 9}, 1, 2, fraction_axis);
    check_lists<T>(random, {3, 2, 5}, {2, 4, 7}, 4, 3, fraction_axis);
    check_lists<T>(random, {2, 2, 3, 7}, {2, 1, 2, 5}, 1, 1, fraction_axis);
    check_lists<T>(random, {4, 3, 2, 1}, {1, 2, 3, 40}, 1, 2, fraction_axis);
    check_lists<T>(random, {3, 1, 4, 16}, {2, 3, 2, 8}, 1, 1, fraction_axis);
    check_lists<T>(random, {5, 8}, {40, 60}, 1, 4, fraction_axis);  // several pieces
  }
}

TEST_CASE_TEMPLATE("lists of weights may have room or none", T, std::uint8_t, std::int16_t, float, double) {
  std::mt19937 random(4);
  for (const std::int64_t row : {1, 37, 64, 100, 128, 255, 256}) {
    CAPTURE(row);
    for (const std::int64_t rows : {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257}) {
      CAPTURE(rows);
      check_lists<T>(random, {rows, row}, {2, row == 1 ? 70 : 1}, 1, 1, 2);
    }
    check_lists<T>(random, {8, 9, row}, {1, 2, row == 1 ? 70 : 1}, 1, 1, 0);
    check_lists<T>(random, {16, 3, row}, {1, 2, row == 1 ? 70 : 2}, 1, 1, 1);
  }
}

TEST_CASE_TEMPLATE("a single term is its own mean, maximum and minimum", T, std::uint8_t, std::int16_t,
                   std::int64_t, float, double) {
  for (const unsigned seed : test::seeds(300, 60)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const separate_fold<T> drawn(random);
    const auto itself = drawn.expected([](std::size_t, const T& term) { return term; });
    for (const auto by : {fold_reduction::mean, fold_reduction::max, fold_reduction::min})
      CHECK(drawn.folded({.reduction = by}) == itself);
    const drawn_weights weights(random, drawn.sizes, draw(random, 0, 1));
    const auto kept = drawn.expected(
        [&](std::size_t offset, const T& term) { return weights.products[offset] == 0 ? T{} : term; });
    CHECK(drawn.folded({.reduction = fold_reduction::mean, .weights = weights.by_axis()}) == kept);
    CHECK(drawn.folded({.reduction = fold_reduction::mean, .weights = weights.whole(drawn.sizes)}) == kept);
  }
}

}  // namespace
}  // namespace reblock
