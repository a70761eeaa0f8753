// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/fold_options.hpp>
#include <reblock/window.hpp>

#include "draw.hpp"
#include "executors.hpp"
#include "oracle.hpp"
#include "refusal.hpp"

namespace reblock {
namespace {

using test::check_refused;
using test::draw;

/// Unfolds an image and folds its columns again.
template <class T>
std::vector<T> there_and_back(const std::vector<T>& image, const axis_values& extents, const window& w,
                              const fold_options& options) {
  const axis_values shape = unfold_extents(extents, w);
  std::vector<T> columns(static_cast<std::size_t>(oracle::volume(shape)));
  unfold(tensor_view<const T>(image.data(), extents), tensor_view<T>(columns.data(), shape), w);
  std::vector<T> result(image.size());
  fold(tensor_view<const T>(columns.data(), shape), tensor_view<T>(result.data(), extents), w, options);
  return result;
}

TEST_CASE_TEMPLATE("a mean, a maximum and a minimum undo unfold", T, std::uint8_t, std::int16_t,
                   std::uint32_t, std::int64_t, float, double, long double) {
  std::mt19937 random(1);
  for (const window& w :
       {window{.sizes = 3}, window{.sizes = {4, 6}, .strides = {2, 3}},
        window{.sizes = {2, 5}, .dilations = {3, 1}, .start_padding = 1, .end_padding = 1}}) {
    const axis_values extents{2, 3, 12, 33};
    std::vector<T> image(static_cast<std::size_t>(oracle::volume(extents)));
    for (T& value : image) value = static_cast<T>(draw(random, 0, 250)) / static_cast<T>(3);
    for (const auto by : {fold_reduction::mean, fold_reduction::max, fold_reduction::min}) {
      CHECK(there_and_back(image, extents, w, {.reduction = by}) == image);
    }
  }
}

TEST_CASE("the mean of integers is rounded to nearest, ties to even") {
  // element 1 of each image has two terms: 1.5, -1.5, 2.5, -2.5
  const std::vector<std::int8_t> columns = {9, 1, 2, 9, 9, -1, -2, 9, 9, 2, 3, 9, 9, -2, -3, 9};
  std::vector<std::int8_t> image(12);
  fold(tensor_view<const std::int8_t>(columns.data(), {4, 2, 2}),
       tensor_view<std::int8_t>(image.data(), {4, 1, 3}), {.sizes = 2}, {.reduction = fold_reduction::mean});
  CHECK(image == std::vector<std::int8_t>{9, 2, 9, 9, -2, 9, 9, 2, 9, 9, -2, 9});
}

TEST_CASE("weights of each axis and of the whole window are the same") {
  const std::vector<double> rows{1, 3};
  const std::vector<double> columns{0.5, 2, 0};
  std::vector<double> all;
  for (const double row : rows) {
    for (const double column : columns) all.push_back(row * column);
  }
  std::mt19937 random(2);
  const axis_values extents{1, 2, 9, 20};
  const window w{.sizes = {2, 3}, .strides = {1, 2}};
  std::vector<float> terms(static_cast<std::size_t>(oracle::volume(unfold_extents(extents, w))));
  for (float& value : terms) value = static_cast<float>(draw(random, -9, 9));
  const auto folded = [&](const fold_options& options) {
    std::vector<double> result(static_cast<std::size_t>(oracle::volume(extents)), -1.0);
    fold(tensor_view<const float>(terms.data(), unfold_extents(extents, w)),
         tensor_view<double>(result.data(), extents), w, options, test::backward_executor{3});
    return result;
  };
  for (const auto by : {fold_reduction::sum, fold_reduction::mean}) {
    const auto separate = folded({.reduction = by, .weights = {rows, columns}});
    const tensor_view<const double> view(all.data(), {2, 3});
    CHECK(folded({.reduction = by, .weights = view}) == separate);
  }
}

TEST_CASE("a weighted mean of floats and of complex numbers undoes unfold") {
  const std::vector<double> hann{0.25, 0.75, 0.75, 0.25};
  const fold_options blend{.reduction = fold_reduction::mean, .weights = {hann}};
  const window w{.sizes = 4, .strides = 2};
  std::vector<float> image(60);
  std::vector<std::complex<float>> pairs(60);
  for (std::size_t i = 0; i < image.size(); ++i) {
    image[i] = 0.1f * static_cast<float>(i * i % 97);
    pairs[i] = {image[i], -3 * image[i]};
  }
  CHECK(there_and_back(image, {1, 2, 30}, w, blend) == image);
  CHECK(there_and_back(pairs, {1, 2, 30}, w, blend) == pairs);
}

TEST_CASE("products of weights are rounded before they are added, whatever the compiler may fuse") {
  constexpr double x = 1 + 0x1p-30;
  const std::vector<double> weights{1, x};
  for (std::int64_t n = 2; n < 40; ++n) {
    CAPTURE(n);
    // Each pixel but the first and the last one is x * x, without its last digit, less than 0.
    std::vector<double> columns(static_cast<std::size_t>(2 * n), x);
    std::fill_n(columns.begin(), n, -(1 + 0x1p-29));
    std::vector<double> image(static_cast<std::size_t>(n + 1), 1);
    for (const auto by : {fold_reduction::sum, fold_reduction::mean}) {
      fold(tensor_view<const double>(columns.data(), {1, 2, n}),
           tensor_view<double>(image.data(), {1, 1, n + 1}), {.sizes = 2},
           {.reduction = by, .weights = {weights}});
      CHECK(std::count(image.begin(), image.end(), 0.0) == n - 1);
    }
  }
}

TEST_CASE("a mean of doubles lies halfway and is rounded to even, whatever the compiler may fuse") {
  for (std::int64_t n = 3; n < 40; ++n) {
    CAPTURE(n);
    std::vector<double> columns(static_cast<std::size_t>(3 * n), 1 + 0x1p-50);
    std::fill_n(columns.begin(), n, 1 - 7 * 0x1p-53);
    std::vector<double> image(static_cast<std::size_t>(n + 2));
    fold(tensor_view<const double>(columns.data(), {1, 3, n}),
         tensor_view<double>(image.data(), {1, 1, n + 2}), {.sizes = 3}, {.reduction = fold_reduction::mean});
    CHECK(std::count(image.begin(), image.end(), 1 + 0x1p-51) == n - 2);  // of 1 + 3 * 2^-53
  }
}

TEST_CASE("a mean of the largest integers does not overflow") {
  for (const std::int64_t value :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    const std::vector<std::int64_t> image(100, value);
    CHECK(there_and_back(image, {1, 1, 100}, {.sizes = 33}, {.reduction = fold_reduction::mean}) == image);
  }
}

TEST_CASE_TEMPLATE("a mean whose weights are too small is 0", T, float16, bfloat16, float, double,
                   std::int16_t) {
  constexpr bool is_half = sizeof(T) == 2 && !std::is_integral_v<T>;
  T two{};
  if constexpr (is_half) {
    two.bits = 0x4000;  // 2 in both formats
  } else {
    two = 2;
  }
  const double least = is_half ? 0x1p-100 : 0x1p-800;
  const std::vector<T> columns(4, two);
  const axis_values extents{1, 1, 3};
  for (const double first : {least, least / 2, std::numeric_limits<double>::denorm_min()}) {
    const std::vector<double> weights{first, 1};
    std::vector<T> image(3, two);
    fold(tensor_view<const T>(columns.data(), {1, 2, 2}), tensor_view<T>(image.data(), extents), {.sizes = 2},
         {.reduction = fold_reduction::mean, .weights = {weights}});
    const T expected[] = {first < least ? T{} : two, two, two};
    CHECK(std::memcmp(image.data(), expected, sizeof(expected)) == 0);
  }
}

TEST_CASE("elements without terms keep all their digits when weighted sums accumulate") {
  std::mt19937 random(3);
  const std::vector<double> along_height{1};
  const std::vector<double> along_width{1, 0.5, 1};
  int without_terms = 0;
  for (int i = 0; i < 300; ++i) {
    const window w{.sizes = {1, 3},
                   .strides = {draw(random, 1, 3), draw(random, 1, 6)},
                   .dilations = {1, draw(random, 1, 2)},
                   .start_padding = draw(random, 0, 2),
                   .end_padding = draw(random, 0, 2),
                   .padding_mode = test::flip_coin(random) ? padding_mode::edge : padding_mode::constant};
    const axis_values extents{2, 2, 3, draw(random, 7, 40)};
    const axis_values shape = unfold_extents(extents, w);
    const auto count = static_cast<std::size_t>(oracle::volume(extents));
    const std::vector<std::int64_t> columns(static_cast<std::size_t>(oracle::volume(shape)), 4);
    axis_values strides{shape[1] * shape[2], shape[2], 1};
    if (test::flip_coin(random)) strides = {shape[1] * shape[2], 1, shape[1]};
    const tensor_view<const std::int64_t> terms(columns.data(), shape, strides);
    std::vector<std::int64_t> sums(count);
    fold(terms, tensor_view<std::int64_t>(sums.data(), extents), w);
    constexpr std::int64_t held = (std::int64_t{1} << 60) + 1;  // no double has this value
    std::vector<std::int64_t> image(count, held);
    fold(terms, tensor_view<std::int64_t>(image.data(), extents), w,
         {.accumulate = true, .weights = {along_height, along_width}});
    for (std::size_t k = 0; k < count; ++k) {
      CHECK((sums[k] != 0 || image[k] == held));
      without_terms += sums[k] == 0 ? 1 : 0;
    }
  }
  CHECK(without_terms > 1000);
}

TEST_CASE("options that do not fit are refused, and nothing is written") {
  const float columns[16] = {};
  float image[9];
  float sums_of_floats[9];
  std::fill(std::begin(image), std::end(image), 7.0f);
  const auto refused = [&](const fold_options& options) {
    const status outcome = try_fold(tensor_view<const float>(columns, {1, 4, 4}),
                                    tensor_view<float>(image, {1, 1, 3, 3}), {.sizes = 2}, options);
    CHECK(std::count(std::begin(image), std::end(image), 7.0f) == 9);
    return outcome;
  };
  const std::vector<double> two{1, 1};
  const std::vector<double> three{1, 1, 1};
  const std::vector<double> bad{1, -1};
  const std::vector<double> huge{1e300, 0};
  using enum fold_reduction;
  check_refused(refused({.weights = {two}}), {"weights", "(2, 2)", "(2,)"});
  check_refused(refused({.weights = {two, three}}), {"weights", "(2, 2)", "(2, 3)"});
  check_refused(refused({.weights = {two, bad}}), {"weights", "got -1 at weights[1][1]"});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [value, shown] : {std::pair(-1e-300, "-1e-300"),
                                     {-1.25, "-1.25"},
                                     {nan, "nan"},
                                     {-nan, "nan"},
                                     {-infinity, "-inf"},
                                     {infinity, "inf"}}) {
    const double square[] = {1, 1, value, 1};
    const std::string message = std::string("finite and not negative, got ") + shown + " at index (1, 0)";
    check_refused(refused({.weights = tensor_view<const double>(square, {2, 2})}),
                  {"weights", message.c_str()});
  }
  const double ones[] = {1, 1, 1, 1};
  const auto least = std::numeric_limits<std::int64_t>::min();
  check_refused(refused({.weights = tensor_view<const double>(ones, {2, 2}, {1})}),
                {"weights", "one stride for each of the 2 axes", "got strides (1,)"});
  check_refused(refused({.weights = tensor_view<const double>(ones, {2, 2}, {least, 1})}),
                {"weights", "more than can be addressed"});
  const std::vector<double> too_large{1e300, 1e300};
  check_refused(refused({.weights = {huge, huge}}), {"weights", "2^1023", "sum"});
  check_refused(refused({.reduction = mean, .weights = {two, huge}}), {"weights", "2^800", "mean"});
  CHECK(try_fold(tensor_view<const float>(columns, {1, 4, 4}),
                 tensor_view<float>(sums_of_floats, {1, 1, 3, 3}), {.sizes = 2},
                 {.weights = {two, too_large}}));
  check_refused(refused({.reduction = max, .weights = {two, two}}), {"weights", "max"});
  check_refused(refused({.accumulate = true, .reduction = mean}), {"accumulate", "got reduction mean"});
  check_refused(refused({.reduction = static_cast<fold_reduction>(4)}), {"reduction", "4"});
  const std::complex<float> pairs[16] = {};
  std::complex<float> sums[9];
  check_refused(
      try_fold(tensor_view<const std::complex<float>>(pairs, {1, 4, 4}),
               tensor_view<std::complex<float>>(sums, {1, 1, 3, 3}), {.sizes = 2}, {.reduction = min}),
      {"min", "got complex64"});
}

}  // namespace
}  // namespace reblock
