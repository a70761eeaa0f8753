// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/window.hpp>

#include "draw.hpp"
#include "examples.hpp"
#include "oracle.hpp"
#include "refusal.hpp"
#include "strided_tensor.hpp"

namespace reblock {
namespace {

using test::check_refused;
using test::draw;
using test::strided_tensor;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

static_assert(unfold_extents({1, 1, 5, 5}, {.sizes = 3}) == axis_values{1, 9, 9});
static_assert(unfold_extents({1, 3, 5, 5}, {.sizes = 3}) == axis_values{1, 27, 9});
static_assert(unfold_extents({2, 3, 5}, {.sizes = 2, .strides = 2}) == axis_values{2, 6, 2});  // floor
static_assert(unfold_extents({2, 7, 9, 3}, {.sizes = {2, 3}, .dilations = {3, 2}, .start_padding = 1}, -1) ==
              axis_values{2, 18, 30});
static_assert(unfold_extents({2, 3, 0, 4}, {.sizes = 2, .end_padding = {2, 0}}) == axis_values{2, 12, 3});
static_assert(!try_unfold_extents({1, 1, 5, 5}, {.sizes = 6}));

static_assert(fold_extents({1, 27, 9}, {5, 5}, {.sizes = 3}) == axis_values{1, 3, 5, 5});
static_assert(fold_extents({2, 18, 30}, {7, 9}, {.sizes = {2, 3}, .dilations = {3, 2}, .start_padding = 1},
                           3) == axis_values{2, 7, 9, 3});
static_assert(fold_extents({1, 3, 3}, 5, {.sizes = 3}) == axis_values{1, 1, 5});
static_assert(fold_extents({1, 9, 9}, 5, {.sizes = {3, 3}}) == axis_values{1, 1, 5, 5});
static_assert(fold_extents({1, 9, 15}, 5, {.sizes = 3, .end_padding = {2, 0}}) == axis_values{1, 1, 5, 5});
static_assert(!try_fold_extents({1, 9, 8}, {5, 5}, {.sizes = 3}));

TEST_CASE("the examples of unfold through views") {
  const std::vector<float> image = examples::count_up(25);
  for (const auto& example : examples::unfold()) {
    REQUIRE(unfold_extents({1, 1, 5, 5}, example.window) == example.columns);
    std::vector<float> columns(static_cast<std::size_t>(oracle::volume(example.columns)));
    unfold(tensor_view<const float>(image.data(), {1, 1, 5, 5}),
           tensor_view<float>(columns.data(), example.columns), example.window);
    CHECK(std::equal(example.first_row.begin(), example.first_row.end(), columns.begin()));
    CHECK(std::equal(example.last_row.rbegin(), example.last_row.rend(), columns.rbegin()));
  }
}

TEST_CASE("the examples of fold through views") {
  for (const auto& example : examples::fold()) {
    const auto columns = examples::count_up(static_cast<std::size_t>(oracle::volume(example.columns)));
    std::vector<float> image(example.values.size());
    fold(tensor_view<const float>(columns.data(), example.columns),
         tensor_view<float>(image.data(), example.image), example.window);
    CHECK(image == example.values);
  }
}

struct problem {
  axis_values image;
  axis_values columns;
  reblock::window window;
  std::size_t channel_axis;
};

/// Some of the blocks, told in one of the ways that there are.
block_range draw_blocks(std::mt19937& random, const axis_values& counts) {
  axis_values starts = counts;
  axis_values stops = counts;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    const std::int64_t start = draw(random, 0, counts[d]);
    const std::int64_t stop = draw(random, start, counts[d]);
    starts[d] = start < counts[d] && test::flip_coin(random) ? start - counts[d] : start;
    stops[d] = stop < counts[d]          ? (test::flip_coin(random) ? stop - counts[d] : stop)
               : test::flip_coin(random) ? block_range::end
                                         : stop;
  }
  return {starts, stops};
}

/// A window that fits, over an image that may be empty.
problem draw_problem(std::mt19937& random) {
  const auto axes = static_cast<std::size_t>(draw(random, 1, draw(random, 0, 3) == 0 ? 6 : 3));
  for (;;) {
    const axis_values spatial = test::draw_values(random, axes, 0, axes <= 2 ? 9 : 4);
    window w{.sizes = test::draw_values(random, axes, 1, axes <= 2 ? 5 : 2),
             .strides = test::draw_values(random, axes, 1, 4),
             .dilations = test::draw_values(random, axes, 1, 3),
             .start_padding = test::draw_values(random, axes, 0, 3),
             .end_padding = test::draw_values(random, axes, 0, 3)};
    const axis_values counts = oracle::block_counts(spatial, w);
    if (std::count(counts.begin(), counts.end(), 0) != 0) continue;
    if (test::flip_coin(random)) w.order = depth_space_order::depth_column_row;
    if (test::flip_coin(random)) w.blocks = draw_blocks(random, counts);
    const auto axis = static_cast<std::size_t>(draw(random, 1, static_cast<std::int64_t>(axes) + 1));
    const axis_values image = oracle::join(draw(random, 0, 3), draw(random, 0, 3), spatial, axis);
    const axis_values columns = oracle::columns_extents(image, w, axis);
    if (oracle::volume(columns) > 20000) continue;
    return {image, columns, w, axis};
  }
}

TEST_CASE_TEMPLATE("unfold follows its definition", T, std::uint8_t, std::uint16_t, float, double,
                   std::array<std::uint8_t, 3>, std::array<std::uint32_t, 3>, std::array<std::uint64_t, 2>) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const problem p = draw_problem(random);
    const auto channel_axis = static_cast<std::int64_t>(p.channel_axis);
    CHECK(unfold_extents(p.image, p.window, channel_axis) == p.columns);
    const auto values = test::draw_bits<T>(random, p.image);
    const strided_tensor<T> image(values, test::draw_strides(random, p.image));
    strided_tensor<T> columns(p.columns, test::draw_strides(random, p.columns));
    unfold(image.view(), columns.view(), p.window, serial_executor{}, channel_axis);
    CHECK(columns.holds_exactly(oracle::unfold(values, p.window, p.channel_axis)));
  }
}

TEST_CASE_TEMPLATE("fold follows its definition", T, std::int8_t, std::uint16_t, std::int32_t, std::uint64_t,
                   float, double, std::complex<float>, std::complex<double>) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const problem p = draw_problem(random);
    const auto channel_axis = static_cast<std::int64_t>(p.channel_axis);
    CHECK(fold_extents(p.columns, oracle::spatial(p.image, p.channel_axis), p.window, channel_axis) ==
          p.image);
    auto values = test::draw_integers<T>(random, p.columns);
    for (T& value : values.values) value = static_cast<T>(value * T{29} / T{3});  // wraps or rounds
    const strided_tensor<T> columns(values, test::draw_strides(random, p.columns));
    strided_tensor<T> image(p.image, test::draw_strides(random, p.image));
    fold(columns.view(), image.view(), p.window, serial_executor{}, channel_axis);
    CHECK(image.holds_exactly(oracle::fold(values, p.image, p.window, p.channel_axis)));
  }
}

TEST_CASE_TEMPLATE("an accumulating fold begins from what the image holds", T, std::int8_t, std::uint16_t,
                   std::int32_t, std::uint64_t, float, double, std::complex<float>, std::complex<double>) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const problem p = draw_problem(random);
    auto values = test::draw_integers<T>(random, p.columns);
    auto held = test::draw_integers<T>(random, p.image);
    for (auto* some : {&values, &held}) {
      for (T& value : some->values) value = static_cast<T>(value * T{29} / T{3});
    }
    const strided_tensor<T> columns(values, test::draw_strides(random, p.columns));
    strided_tensor<T> image(held, test::draw_strides(random, p.image));
    fold(columns.view(), image.view(), p.window, {.accumulate = true}, serial_executor{},
         static_cast<std::int64_t>(p.channel_axis));
    CHECK(image.holds_exactly(oracle::fold_onto(held, values, p.window, p.channel_axis)));
  }
}

TEST_CASE("ranges of blocks that make up all of them sum up to the whole") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    problem p = draw_problem(random);
    p.window.blocks = {};
    const axis_values spatial = oracle::spatial(p.image, p.channel_axis);
    const auto channel_axis = static_cast<std::int64_t>(p.channel_axis);
    const auto x = test::draw_integers<std::int64_t>(random, p.image);
    const auto folded = [&](const window& w, const fold_options& options,
                            oracle::tensor<std::int64_t>& image) {
      oracle::tensor<std::int64_t> columns(unfold_extents(p.image, w, channel_axis));
      unfold(tensor_view<const std::int64_t>(x.values.data(), p.image),
             tensor_view<std::int64_t>(columns.values.data(), columns.extents), w, serial_executor{},
             channel_axis);
      fold(tensor_view<const std::int64_t>(columns.values.data(), columns.extents),
           tensor_view<std::int64_t>(image.values.data(), p.image), w, options, serial_executor{},
           channel_axis);
    };
    oracle::tensor<std::int64_t> whole(p.image);
    folded(p.window, {}, whole);
    oracle::tensor<std::int64_t> parts(p.image);
    const std::int64_t rows = oracle::block_counts(spatial, p.window)[0];
    for (std::int64_t start = 0, stop = 0; start < rows; start = stop) {
      stop = draw(random, start + 1, rows);
      window part = p.window;
      axis_values starts = axis_values::repeat(spatial.size(), 0);
      axis_values stops = axis_values::repeat(spatial.size(), block_range::end);
      starts[0] = start;
      stops[0] = stop;
      part.blocks = {starts, stops};
      folded(part, {.accumulate = true}, parts);
    }
    CHECK(parts.values == whole.values);
  }
}

TEST_CASE("what no block of the range reaches is not touched by an accumulating fold") {
  const float columns[2] = {1, 2};
  float image[7] = {-0.0f, 3, 3, 3, 3, 3, -0.0f};
  const window w{.sizes = 1, .strides = 3, .blocks = {1, 3}};
  fold(tensor_view<const float>(columns, {1, 1, 2}), tensor_view<float>(image, {1, 1, 7}), w,
       {.accumulate = true});
  CHECK(std::vector<float>(image, image + 7) == std::vector<float>{0, 3, 3, 4, 3, 3, 2});
  CHECK(std::signbit(image[0]));
}

TEST_CASE("blocks that there are not are refused with their number") {
  const auto outcome = [](const block_range& blocks) {
    return try_unfold_extents({1, 1, 9, 8}, {.sizes = 3, .blocks = blocks});
  };
  CHECK(*outcome({2, 6}) == axis_values{1, 9, 16});
  CHECK(*outcome({-3, -1}) == axis_values{1, 9, 4});
  CHECK(*outcome({{7, 0}, {7, 6}}) == axis_values{1, 9, 0});
  check_refused(outcome({0, 7}), {"blocks", "the 6 along spatial axis 1", "got 0 to 7"});
  check_refused(outcome({3, 2}), {"blocks", "the 7 along spatial axis 0", "got 3 to 2"});
  check_refused(outcome({{-8, 0}, 6}), {"blocks", "axis 0", "got -8 to 6"});
  check_refused(outcome({8, block_range::end}), {"blocks", "axis 0", "got 8 to 7"});
  check_refused(outcome({0, {1, 2, 3}}), {"blocks", "2 spatial axes", "got 3"});
  check_refused(try_fold_extents({1, 9, 8}, {9, 8}, {.sizes = 3, .blocks = {0, {2, 5}}}),
                {"columns", "8 window positions", "output_sizes (9, 8) and blocks give 10: (2, 5)"});
  check_refused(try_unfold_extents({1, 1, 9}, {.sizes = 3, .order = static_cast<depth_space_order>(2)}),
                {"order", "got 2"});
}

TEST_CASE("same padding gives as many blocks as there are strides in the image") {
  static_assert(same_padding({5, 6}, 3, 2) == padding{{1, 0}, {1, 1}});
  static_assert(same_padding({7}, 2) == padding{{0}, {1}});
  static_assert(same_padding({224, 224}, 16, 16) == padding{{0, 0}, {0, 0}});
  static_assert(same_padding({10}, 1, 3) == padding{{0}, {0}});
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const auto axes = static_cast<std::size_t>(draw(random, 1, 6));
    const axis_values extents = test::draw_values(random, axes, 1, 40);
    window w{.sizes = test::draw_values(random, axes, 1, 7),
             .strides = test::draw_values(random, axes, 1, 9),
             .dilations = test::draw_values(random, axes, 1, 3)};
    const padding same = same_padding(extents, w.sizes, w.strides, w.dilations);
    w.start_padding = same.start;
    w.end_padding = same.end;
    const axis_values counts = oracle::block_counts(extents, w);
    for (std::size_t d = 0; d < axes; ++d) {
      CHECK(counts[d] == (extents[d] - 1) / w.strides.values()[d] + 1);
      const std::int64_t odd = same.end[d] - same.start[d];
      CHECK((odd == 0 || odd == 1));
    }
  }
  check_refused(try_same_padding({}, 3), {"extents", "1 to 6", "()"});
  check_refused(try_same_padding({5, 0}, 3), {"extents", "at least 1", "(5, 0)"});
  check_refused(try_same_padding({5, 6}, {3, 3, 3}), {"window_sizes", "2 spatial axes", "(3, 3, 3)"});
  check_refused(try_same_padding({5, 6}, 3, 0), {"strides", "at least 1"});
  check_refused(try_same_padding({5, 6}, 3, 1, {1, -1}), {"dilations", "(1, -1)"});
  check_refused(try_same_padding({5}, largest, 1, 2), {"window_sizes", "overflows"});
}

TEST_CASE("fold of bool is a logical or") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const problem p = draw_problem(random);
    auto ones = test::draw_integers<std::uint32_t>(random, p.columns);
    auto flags = std::make_unique<bool[]>(ones.values.size());
    for (std::size_t i = 0; i < ones.values.size(); ++i) {
      ones.values[i] = draw(random, 0, 3) == 0 ? 1 : 0;
      flags[i] = ones.values[i] != 0;
    }
    const auto sums = oracle::fold(ones, p.image, p.window, p.channel_axis);
    auto result = std::make_unique<bool[]>(sums.values.size());
    fold(tensor_view<const bool>(flags.get(), p.columns), tensor_view<bool>(result.get(), p.image), p.window,
         serial_executor{}, static_cast<std::int64_t>(p.channel_axis));
    CHECK(std::equal(sums.values.begin(), sums.values.end(), result.get(),
                     [](std::uint32_t sum, bool any) { return any == (sum != 0); }));
  }
}

TEST_CASE("fold is the adjoint of unfold") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const problem p = draw_problem(random);
    const auto channel_axis = static_cast<std::int64_t>(p.channel_axis);
    const auto x = test::draw_integers<std::int64_t>(random, p.image);
    const auto y = test::draw_integers<std::int64_t>(random, p.columns);
    oracle::tensor<std::int64_t> unfolded(p.columns);
    oracle::tensor<std::int64_t> folded(p.image);
    unfold(tensor_view<const std::int64_t>(x.values.data(), p.image),
           tensor_view<std::int64_t>(unfolded.values.data(), p.columns), p.window, serial_executor{},
           channel_axis);
    fold(tensor_view<const std::int64_t>(y.values.data(), p.columns),
         tensor_view<std::int64_t>(folded.values.data(), p.image), p.window, serial_executor{}, channel_axis);
    const auto inner = [](const auto& a, const auto& b) {
      return std::inner_product(a.values.begin(), a.values.end(), b.values.begin(), std::int64_t{0});
    };
    CHECK(inner(unfolded, y) == inner(x, folded));
  }
}

TEST_CASE("a stride or dilation that is never taken may be as large as it likes") {
  const float image[3] = {1, 2, 3};
  for (const std::int64_t step : {std::int64_t{1} << 33, largest - 1, largest}) {
    INFO("step ", step);
    const tensor_view<const float> input(image, {1, 1, 3});
    std::vector<float> columns(3, -1);
    unfold(input, tensor_view<float>(columns.data(), {1, 3, 1}),
           {.sizes = 3, .strides = step, .start_padding = 2});
    CHECK(columns == std::vector<float>{0, 0, 1});
    std::vector<float> block_axis_outside(5, -1);
    unfold(input, tensor_view<float>(block_axis_outside.data(), {1, 1, 3}, {5, 1, 2}),
           {.sizes = 1, .strides = 2, .dilations = step, .start_padding = 1, .end_padding = 1});
    CHECK(block_axis_outside == std::vector<float>{0, -1, 2, -1, 0});
  }
}

TEST_CASE("paddings may be far wider than the image") {
  const std::int16_t image[2] = {7, 8};
  std::vector<std::int16_t> columns(2 * 9, -1);
  unfold(tensor_view<const std::int16_t>(image, {1, 1, 2}),
         tensor_view<std::int16_t>(columns.data(), {1, 2, 9}),
         {.sizes = 2, .strides = 1000, .dilations = 3, .start_padding = 4000, .end_padding = 4002});
  std::vector<std::int16_t> expected(2 * 9, 0);
  expected[4] = 7;
  CHECK(columns == expected);
}

TEST_CASE("where there are no channels other extents may be of any size") {
  constexpr std::int64_t large = std::int64_t{1} << (4 * sizeof(std::ptrdiff_t) - 1);
  constexpr std::int64_t huge = large * large;  // 2^62, or 2^30 for 32-bit addresses
  const axis_values image{1, 0, huge};
  std::uint8_t byte = 1;
  for (const std::int64_t size : {std::int64_t{2}, large, huge - 1}) {
    const window w{.sizes = size};
    const axis_values strides{0, 0, 0};
    const tensor_view<std::uint8_t> in_image(&byte, image, strides);
    const tensor_view<std::uint8_t> in_columns(&byte, unfold_extents(image, w), strides);
    CHECK(try_unfold(in_image, in_columns, w));
    CHECK(try_fold(in_columns, in_image, w));
  }
  CHECK(byte == 1);
}

TEST_CASE("a window that does not fit is refused with its name and its values") {
  const axis_values image{1, 3, 5, 6};
  const auto outcome = [](const axis_values& input, const window& w, std::int64_t channel_axis = 1) {
    return try_unfold_extents(input, w, channel_axis);
  };
  check_refused(outcome({3, 5}, {.sizes = 3}), {"input", "3 to 8 axes", "(3, 5)"});
  check_refused(outcome({1, 3, -5, 6}, {.sizes = 3}), {"input", "(1, 3, -5, 6)"});
  check_refused(outcome(image, {.sizes = 3}, 0), {"channel_axis", "got 0"});
  check_refused(outcome(image, {.sizes = 0}), {"window_sizes", "at least 1", "got 0"});
  check_refused(outcome(image, {.sizes = {3, 3, 3}}), {"window_sizes", "2 spatial axes", "(3, 3, 3)"});
  check_refused(outcome(image, {.sizes = 3, .strides = 0}), {"strides", "at least 1", "got 0"});
  check_refused(outcome(image, {.sizes = 3, .strides = {1, -1}}), {"strides", "(1, -1)"});
  check_refused(outcome(image, {.sizes = 3, .dilations = 0}), {"dilations", "at least 1", "got 0"});
  check_refused(outcome(image, {.sizes = 3, .start_padding = -1}), {"start_padding", "at least 0", "got -1"});
  check_refused(outcome(image, {.sizes = 3, .end_padding = {0, -2}}), {"end_padding", "(0, -2)"});
  check_refused(outcome(image, {.sizes = {3, 7}}), {"window_sizes (3, 7)", "axis 1", "(5, 6)"});
  check_refused(outcome(image, {.sizes = 3, .dilations = {3, 1}}), {"dilations (3, 1)", "axis 0"});
  check_refused(outcome(image, {.sizes = 3, .start_padding = largest}), {"start_padding", "overflows"});
  check_refused(outcome(image, {.sizes = largest, .dilations = 2}), {"window_sizes", "do not fit"});
  check_refused(outcome({1, 3, std::int64_t{1} << 40}, {.sizes = std::int64_t{1} << 39}),
                {"window_sizes", "cannot be addressed"});
  CHECK_THROWS_AS((void)unfold_extents(image, {.sizes = 9}), std::invalid_argument);
}

TEST_CASE("columns that do not belong to the image are refused with their values") {
  const auto outcome = [](const axis_values& columns, const spatial_values& sizes, const window& w) {
    return try_fold_extents(columns, sizes, w);
  };
  check_refused(outcome({9, 9}, {5, 5}, {.sizes = 3}), {"columns", "3 axes", "(9, 9)"});
  check_refused(outcome({1, 9, -9}, {5, 5}, {.sizes = 3}), {"columns", "(1, 9, -9)"});
  check_refused(outcome({1, 10, 9}, {5, 5}, {.sizes = 3}),
                {"columns", "10 rows", "window_sizes (3, 3)", "9"});
  check_refused(outcome({1, 9, 8}, {5, 5}, {.sizes = 3}),
                {"columns", "8 window positions", "output_sizes (5, 5)", "9"});
  check_refused(outcome({1, 9, 9}, {5, 5, 5}, {.sizes = {3, 3}}),
                {"window_sizes", "3 spatial axes", "(3, 3)"});
  check_refused(outcome({1, 9, 9}, {5, -5}, {.sizes = 3}), {"output_sizes", "(5, -5)"});
  check_refused(outcome({1, 9, 9}, axis_values{}, {.sizes = 3}), {"output_sizes", "()"});
  check_refused(outcome({1, 1, 1}, axis_values::repeat(7, 1), {.sizes = 1}), {"output_sizes", "1 to 6"});
  check_refused(outcome({1, 9, 9}, {5, 5}, {.sizes = largest}), {"window_sizes", "overflows"});
  check_refused(outcome({1, 9, 0}, {largest, 2}, {.sizes = 3}), {"output_sizes", "too large"});
  CHECK_THROWS_AS((void)fold_extents({1, 9, 8}, {5, 5}, {.sizes = 3}), std::invalid_argument);
}

TEST_CASE("a refused window operator writes nothing") {
  const std::vector<float> values = examples::count_up(81);
  const tensor_view<const float> image(values.data(), {1, 1, 5, 5});
  const tensor_view<const float> columns(values.data(), {1, 9, 9});
  strided_tensor<float> output({1, 9, 8}, {72, 8, 1});
  check_refused(try_unfold(image, output.view(), {.sizes = 3}), {"columns", "(1, 9, 9)", "(1, 9, 8)"});
  CHECK_THROWS_AS(unfold(image, output.view(), {.sizes = 3}), std::invalid_argument);
  CHECK(output.untouched());
  strided_tensor<float> wrong({1, 1, 6, 5}, {30, 30, 5, 1});
  check_refused(try_fold(columns, wrong.view(), {.sizes = 3}),
                {"columns", "9 window positions", "(6, 5)", "12"});
  CHECK_THROWS_AS(fold(columns, wrong.view(), {.sizes = 3}), std::invalid_argument);
  CHECK(wrong.untouched());
  strided_tensor<float> flat({2, 1}, {1, 1});
  check_refused(try_fold(columns, flat.view(), {.sizes = 3}), {"output", "3 to 8 axes", "(2, 1)"});
  CHECK(flat.untouched());
}

}  // namespace
}  // namespace reblock
