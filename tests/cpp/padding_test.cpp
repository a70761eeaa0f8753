// SPDX-License-Identifier: BSD-3-Clause
//
// Windows over padded images: unfold finds what an image that is padded first has, and fold is its adjoint.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/operator.hpp>
#include <reblock/window.hpp>

#include "draw.hpp"
#include "oracle.hpp"
#include "strided_tensor.hpp"

namespace reblock {
namespace {

using test::draw;
using test::strided_tensor;

constexpr padding_mode every_mode[] = {padding_mode::constant, padding_mode::edge, padding_mode::reflection,
                                       padding_mode::symmetric, padding_mode::wrap};

struct padded_problem {
  axis_values image;
  reblock::window window;
};

padded_problem draw_padded_problem(std::mt19937& random) {
  const auto axes = static_cast<std::size_t>(draw(random, 1, 3));
  for (;;) {
    const axis_values spatial = test::draw_values(random, axes, 1, axes == 1 ? 20 : 6);
    const std::int64_t most = draw(random, 0, 1) == 0 ? 2 : axes == 1 ? 60 : 9;
    window w{.sizes = test::draw_values(random, axes, 1, 3),
             .strides = test::draw_values(random, axes, 1, 4),
             .dilations = test::draw_values(random, axes, 1, 3),
             .start_padding = test::draw_values(random, axes, 0, most),
             .end_padding = test::draw_values(random, axes, 0, most)};
    if (test::flip_coin(random)) w.order = depth_space_order::depth_column_row;
    const axis_values counts = oracle::block_counts(spatial, w);
    if (oracle::volume(counts) == 0) continue;
    const axis_values image = oracle::join(draw(random, 1, 2), draw(random, 1, 3), spatial, 1);
    if (oracle::volume(oracle::columns_extents(image, w, 1)) > 30000) continue;
    return {image, w};
  }
}

/// Calls f(column index, image index, whether there is one) for every element of the columns.
template <class F>
void for_each_padded_pair(const padded_problem& p, F&& f) {
  oracle::for_each_window_pair(p.image, p.window, 1,
                               [&](const axis_values& in_columns, const axis_values& at, bool) {
                                 axis_values in_image = at;
                                 bool is_there = true;
                                 for (std::size_t i = 2; i < at.size(); ++i) {
                                   in_image[i] = oracle::inside(at[i], p.image[i], p.window.padding_mode);
                                   is_there = is_there && in_image[i] >= 0;
                                 }
                                 f(in_columns, in_image, is_there);
                               });
}

TEST_CASE_TEMPLATE("unfold finds what the padding has", T, std::uint8_t, std::uint16_t, float, double,
                   std::array<std::uint8_t, 3>, std::array<std::uint32_t, 3>,
                   std::array<std::uint64_t, 5000>) {
  for (unsigned seed = 0; seed < (sizeof(T) > 100 ? 2 : 60); ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    padded_problem p = draw_padded_problem(random);
    if (sizeof(T) > 100) p = {{1, 1, 3}, {.sizes = 2, .start_padding = 4, .end_padding = 1}};
    for (const padding_mode mode : every_mode) {
      p.window.padding_mode = mode;
      const auto values = test::draw_bits<T>(random, p.image);
      const strided_tensor<T> image(values, test::draw_strides(random, p.image));
      const axis_values extents = unfold_extents(p.image, p.window);
      strided_tensor<T> columns(extents, test::draw_strides(random, extents));
      T value{};
      if (mode == padding_mode::constant && sizeof(T) <= 32) {
        oracle::copy_bits(value, test::draw_bits<T>(random, {1}).values[0]);
      }
      unfold(image.view(), columns.view(), p.window, {.padding_value = value});
      oracle::tensor<T> expected(extents);
      for_each_padded_pair(p, [&](const axis_values& to, const axis_values& from, bool is_there) {
        oracle::copy_bits(expected.at(to), is_there ? values.at(from) : value);
      });
      CHECK(columns.holds_exactly(expected));
    }
  }
}

TEST_CASE("fold is the adjoint of unfold with every mode") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    padded_problem p = draw_padded_problem(random);
    for (const padding_mode mode : every_mode) {
      p.window.padding_mode = mode;
      const axis_values extents = unfold_extents(p.image, p.window);
      const auto values = test::draw_integers<std::int32_t>(random, extents);
      const strided_tensor<std::int32_t> columns(values, test::draw_strides(random, extents));
      auto expected = test::draw_integers<std::int32_t>(random, p.image);
      strided_tensor<std::int32_t> image(expected, test::draw_strides(random, p.image));
      fold(columns.view(), image.view(), p.window, fold_options{.accumulate = true});
      for_each_padded_pair(p, [&](const axis_values& from, const axis_values& to, bool is_there) {
        if (is_there) expected.at(to) += values.at(from);
      });
      CHECK(image.holds_exactly(expected));
    }
  }
}

TEST_CASE("reductions take the terms of the padding with every mode") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    padded_problem p = draw_padded_problem(random);
    for (const padding_mode mode : every_mode) {
      p.window.padding_mode = mode;
      const axis_values extents = unfold_extents(p.image, p.window);
      const auto values = test::draw_integers<std::int16_t>(random, extents);
      const strided_tensor<std::int16_t> columns(values, test::draw_strides(random, extents));
      oracle::tensor<double> sums(p.image);
      oracle::tensor<double> counts(p.image);
      oracle::tensor<std::int16_t> largest(p.image);
      for_each_padded_pair(p, [&](const axis_values& from, const axis_values& to, bool is_there) {
        if (!is_there) return;
        const std::int16_t term = values.at(from);
        largest.at(to) = counts.at(to) == 0 ? term : std::max(largest.at(to), term);
        sums.at(to) += term;
        counts.at(to) += 1;
      });
      oracle::tensor<std::int16_t> mean(p.image);
      oracle::tensor<double> doubled(p.image);
      for (std::size_t i = 0; i < sums.values.size(); ++i) {
        if (counts.values[i] != 0) {
          mean.values[i] = static_cast<std::int16_t>(std::nearbyint(sums.values[i] / counts.values[i]));
        }
        doubled.values[i] = 2 * sums.values[i];
      }
      strided_tensor<std::int16_t> image(mean, test::draw_strides(random, p.image));
      fold(columns.view(), image.view(), p.window, fold_options{.reduction = fold_reduction::mean});
      CHECK(image.holds_exactly(mean));
      fold(columns.view(), image.view(), p.window, fold_options{.reduction = fold_reduction::max});
      CHECK(image.holds_exactly(largest));
      const std::vector<double> twos(
          static_cast<std::size_t>(oracle::volume(p.window.sizes.expand(p.image.size() - 2))), 2);
      const tensor_view<const double> weights(twos.data(), p.window.sizes.expand(p.image.size() - 2));
      strided_tensor<double> wide(doubled, test::draw_strides(random, p.image));
      fold(columns.view(), wide.view(), p.window, fold_options{.weights = weights});
      CHECK(wide.holds_exactly(doubled));
    }
  }
}

TEST_CASE("a compiled operator takes a padding mode, and no feature level does") {
  const std::vector<float> input{1, 2, 3};
  std::vector<float> output(7);
  const window sliding{.start_padding = 2, .end_padding = 2, .padding_mode = padding_mode::reflection};
  const unfold_desc desc{.input = {data_type::float32, {1, 1, 3}}, .window = sliding};
  compile(desc).dispatch(input.data(), output.data());
  CHECK(output == std::vector<float>{3, 2, 1, 2, 3, 2, 1});
  CHECK_FALSE(try_compile(desc, feature_level::level_6_4));
  std::vector<float> sums(3);
  compile(fold_desc{{data_type::float32, {1, 1, 7}}, {data_type::float32, {1, 1, 3}}, sliding})
      .dispatch(output.data(), sums.data());
  CHECK(sums == std::vector<float>{2, 6, 6});
}

TEST_CASE("what no padding has is refused") {
  const std::vector<float> input(4);
  std::vector<float> output(100);
  const tensor_view<const float> image(input.data(), {1, 1, 4});
  const tensor_view<float> columns(output.data(), {1, 1, 6});
  window sliding{.start_padding = 1, .end_padding = 1, .padding_mode = padding_mode::edge};
  CHECK(try_unfold(image, columns, sliding));
  CHECK_FALSE(try_unfold(image, columns, sliding, {.padding_value = 1.0f}));
  CHECK_THROWS_AS(unfold(image, columns, sliding, {.padding_value = 1.0f}), std::invalid_argument);
  CHECK_FALSE(try_unfold_extents({1, 1, 0}, sliding));
  CHECK(try_unfold_extents({1, 1, 0}, {.start_padding = 1}));
  sliding.padding_mode = static_cast<padding_mode>(5);
  CHECK_FALSE(try_unfold(image, columns, sliding));
}

TEST_CASE("modes have names") {
  CHECK(std::string_view(name(padding_mode::reflection)) == "REFLECTION");
  CHECK(name(static_cast<padding_mode>(5)) == nullptr);
}

}  // namespace
}  // namespace reblock
