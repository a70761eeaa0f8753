// SPDX-License-Identifier: BSD-3-Clause
//
// Operators with a conversion against two steps: the conversion of each element, then the operator. The conversion of an
// element is checked in detail/conversions/run_conversion_test.cpp.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/conversion.hpp>
#include <reblock/copy.hpp>
#include <reblock/depth_space.hpp>
#include <reblock/window.hpp>

#include "draw.hpp"
#include "effort.hpp"
#include "executors.hpp"

namespace reblock {
namespace {

using test::draw;

/// The conversion of small integers: exact but for the last step.
template <class T>
T converted(double x, double scale, double bias) {
  const double value = x * scale + bias;
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    const double nearest = std::nearbyint(value);
    using limits = std::numeric_limits<T>;
    return static_cast<T>(std::clamp<double>(nearest, limits::min(), limits::max()));
  }
}

struct drawn_factor {
  std::vector<double> values;

  drawn_factor(std::mt19937& random, std::int64_t channels) {
    const std::int64_t counts[] = {0, 1, channels};
    const std::int64_t count = counts[draw(random, 0, 2)];
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(draw(random, -20, 20)) / 4);
  }
  double at(std::int64_t channel, double absent) const {
    if (values.empty()) return absent;
    return values.size() == 1 ? values[0] : values[static_cast<std::size_t>(channel)];
  }
};

/// A packed tensor of extents.
template <class T>
struct packed {
  explicit packed(const axis_values& all) : extents(all), values(static_cast<std::size_t>(count(all))) {}

  static std::int64_t count(const axis_values& all) {
    std::int64_t product = 1;
    for (const std::int64_t extent : all) product *= extent;
    return product;
  }
  tensor_view<T> view() { return tensor_view<T>(values.data(), extents); }
  tensor_view<const T> input() const { return tensor_view<const T>(values.data(), extents); }

  axis_values extents;
  std::vector<T> values;
};

template <class In, class T>
void check_operators(unsigned seed) {
  std::mt19937 random(seed);
  CAPTURE(seed);
  const std::int64_t block = draw(random, 1, 3);
  const std::int64_t channels = draw(random, 1, 5);
  packed<In> space({draw(random, 1, 2), channels, block * draw(random, 1, 8), block * draw(random, 1, 40)});
  for (In& value : space.values) value = static_cast<In>(draw(random, 0, 120));
  const drawn_factor scale(random, channels);
  drawn_factor bias(random, channels);
  if (scale.values.empty() && bias.values.empty()) bias.values = {0};  // integers wrap otherwise
  const conversion by{.scale = scale.values, .bias = bias.values, .axis = 1};
  packed<T> expected(space.extents);
  const std::int64_t plane = space.extents[2] * space.extents[3];
  for (std::size_t i = 0; i < space.values.size(); ++i) {
    const std::int64_t channel = static_cast<std::int64_t>(i) / plane % channels;
    expected.values[i] =
        converted<T>(static_cast<double>(space.values[i]), scale.at(channel, 1), bias.at(channel, 0));
  }
  test::backward_executor chunks{3};

  packed<T> copied(space.extents);
  copy(space.input(), copied.view(), by, chunks);
  CHECK(copied.values == expected.values);

  const auto order =
      test::flip_coin(random) ? depth_space_order::depth_column_row : depth_space_order::column_row_depth;
  const axis_values depth_extents = space_to_depth_extents(space.extents, block);
  packed<T> depth(depth_extents);
  packed<T> expected_depth(depth_extents);
  space_to_depth(space.input(), depth.view(), block, order, by, chunks);
  space_to_depth(expected.input(), expected_depth.view(), block, order);
  CHECK(depth.values == expected_depth.values);

  packed<In> moved(depth_extents);
  space_to_depth(space.input(), moved.view(), block, order);
  packed<T> back(space.extents);
  CHECK(try_depth_to_space(moved.input(), back.view(), block, order, by));
  CHECK(back.values == expected.values);

  window sliding;
  sliding.sizes = {draw(random, 1, 3), draw(random, 1, 3)};
  sliding.strides = {draw(random, 1, 3), draw(random, 1, 3)};
  sliding.start_padding = {draw(random, 0, 5), draw(random, 0, 5)};
  sliding.end_padding = {draw(random, 0, 5), draw(random, 0, 5)};
  if (test::flip_coin(random)) sliding.padding_mode = static_cast<padding_mode>(draw(random, 0, 4));
  const auto column_extents = try_unfold_extents(space.extents, sliding);
  if (!column_extents) return;
  packed<T> columns(*column_extents);
  packed<T> expected_columns(*column_extents);
  unfold(space.input(), columns.view(), sliding, by);
  unfold(expected.input(), expected_columns.view(), sliding);
  CHECK(columns.values == expected_columns.values);
  std::fill(columns.values.begin(), columns.values.end(), T{77});
  unfold(space.input(), columns.view(), sliding, by, chunks);
  CHECK(columns.values == expected_columns.values);

  // The padding has a value of the result.
  sliding.padding_mode = padding_mode::constant;
  const unfold_options<T> outside{static_cast<T>(draw(random, 0, 120))};
  unfold(space.input(), columns.view(), sliding, outside, by, chunks);
  unfold(expected.input(), expected_columns.view(), sliding, outside);
  CHECK(columns.values == expected_columns.values);
}

TEST_CASE("an operator with a conversion is the conversion, then the operator") {
  for (const unsigned seed : test::seeds(400, 40)) {
    check_operators<std::uint8_t, float>(seed);
    check_operators<std::uint8_t, double>(seed);
    check_operators<float, std::uint8_t>(seed);
    check_operators<std::int16_t, std::int8_t>(seed + 100'000);
  }
}

TEST_CASE("a view of an input is converted wherever it lies") {
  std::vector<std::uint8_t> pixels(4 * 5 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  const tensor_view<const std::uint8_t> photo(pixels.data(), {4, 5, 3});
  std::vector<float> planes(pixels.size());
  const double scale[] = {1, 2, 3};
  copy(photo.permuted({2, 0, 1}), tensor_view<float>(planes.data(), {3, 4, 5}),
       conversion{.scale = scale, .axis = 0});
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < 20; ++i) {
      CHECK(planes[20 * c + i] == static_cast<float>(pixels[3 * i + c]) * static_cast<float>(scale[c]));
    }
  }
}

TEST_CASE("a wrong scale or bias is refused, and nothing is written") {
  const std::vector<std::uint8_t> image(1 * 3 * 2 * 2);
  std::vector<float> result(image.size(), 7);
  const tensor_view<const std::uint8_t> from(image.data(), {1, 3, 2, 2});
  const tensor_view<float> to(result.data(), {1, 12, 1, 1});
  const auto check = [&](const conversion& by, const char* message) {
    const status done = try_space_to_depth(from, to, 2, depth_space_order::depth_column_row, by);
    REQUIRE(!done);
    CHECK(done.why().message() == doctest::String(message));
    CHECK(std::count(result.begin(), result.end(), 7.0f) == 12);
  };
  const double two[] = {1, 2};
  const double infinite[] = {1, 2, std::numeric_limits<double>::infinity()};
  check({.scale = two}, "scale must be one value, or one for each of the 3 channels, got 2");
  check({.bias = two}, "bias must be one value, or one for each of the 3 channels, got 2");
  check({.bias = infinite}, "bias must be finite, but value 2 is not");
  const tensor_view<float> same(result.data(), {1, 3, 2, 2});
  const status wrong_axis = try_copy(from, same, conversion{.scale = two, .axis = 4});
  REQUIRE(!wrong_axis);
  CHECK(wrong_axis.why().message() == doctest::String("axis must be from -4 to 3 for 4 axes, got 4"));
}

TEST_CASE("a padding value is refused where a conversion finds none") {
  const std::vector<std::uint8_t> image(1 * 1 * 2 * 2);
  std::vector<float> result(9 * 4, 7);
  window sliding{.sizes = 3, .start_padding = 1, .end_padding = 1};
  sliding.padding_mode = padding_mode::edge;
  const status done =
      try_unfold(tensor_view<const std::uint8_t>(image.data(), {1, 1, 2, 2}),
                 tensor_view<float>(result.data(), {1, 9, 4}), sliding, {.padding_value = 1}, conversion{});
  REQUIRE(!done);
  CHECK(done.why().message() == doctest::String("padding_value must be 0 with padding_mode EDGE: only "
                                                "CONSTANT finds a value"));
  CHECK(std::count(result.begin(), result.end(), 7.0f) == 36);
}

TEST_CASE("functions with a conversion have a form that throws") {
  const std::vector<std::uint8_t> image(1 * 3 * 2 * 2);
  std::vector<float> result(image.size());
  const tensor_view<const std::uint8_t> from(image.data(), {1, 3, 2, 2});
  const tensor_view<float> to(result.data(), {1, 3, 2, 2});
  const double two[] = {1, 2};
  const conversion wrong{.scale = two, .axis = 1};
  const auto order = depth_space_order::depth_column_row;
  CHECK_THROWS_AS(copy(from, to, wrong), std::invalid_argument);
  CHECK_THROWS_AS(depth_to_space(from, to, 1, order, wrong), std::invalid_argument);
  CHECK_THROWS_AS(space_to_depth(from, to, 1, order, wrong), std::invalid_argument);
  CHECK_THROWS_AS(unfold(from, tensor_view<float>(result.data(), {1, 3, 4}), window{}, wrong),
                  std::invalid_argument);
}

}  // namespace
}  // namespace reblock
