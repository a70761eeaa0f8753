// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/sums/find_functions.hpp>
#include <reblock/detail/sums/gather.hpp>
#include <reblock/detail/sums/scatter.hpp>
#include <reblock/detail/sums/summand.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/sums/sweep_search.hpp>
#include <reblock/window.hpp>

#include "../../draw.hpp"
#include "../../executors.hpp"
#include "../../oracle.hpp"
#include "../../strided_tensor.hpp"
#include "../drawn_sums.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::strided_tensor;

constexpr std::int64_t floats_in_box = box_bytes / sizeof(float);

static_assert(choose_box({2, 3, 4, 5}, 4) == axis_values{2, 3, 4, 5});
static_assert(choose_box({2, 3, floats_in_box}, 4) == axis_values{1, 1, floats_in_box});
static_assert(choose_box({2, 3, floats_in_box + 1}, 4) == axis_values{1, 1, floats_in_box});
static_assert(choose_box({2, 3, 100, floats_in_box / 10}, 4) == axis_values{1, 1, 10, floats_in_box / 10});
static_assert(choose_box({2, 3, 0, 5}, 4) == axis_values{2, 3, 1, 5});
static_assert(choose_box({2, 30, floats_in_box}, 4, box_bytes, {1, 16}) ==
              axis_values{1, 16, floats_in_box / 16});
static_assert(choose_box({2, 3, 30, floats_in_box}, 4, box_bytes, {2, 16}) ==
              axis_values{1, 1, 16, floats_in_box / 16});
static_assert(choose_box({2, 30, 40}, 4, box_bytes, {1, 16}) == axis_values{2, 30, 40});
static_assert(choose_box({2, 30, 5}, box_bytes / 2, box_bytes, {1, 16}) == axis_values{1, 1, 2});

TEST_CASE("a box fits its buffer") {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const axis_values extents =
        test::draw_values(random, static_cast<std::size_t>(draw(random, 3, 8)), 0, 200);
    for (const std::int64_t size : {1, 2, 4, 8, 16, 32}) {
      const auto axis =
          static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(extents.size()) - 1));
      const least_places least{axis, draw(random, 1, std::max<std::int64_t>(extents[axis], 1))};
      const axis_values chosen = choose_box(extents, size, box_bytes, least);
      REQUIRE(chosen.size() == extents.size());
      for (std::size_t i = 0; i < extents.size(); ++i) {
        CHECK(chosen[i] >= 1);
        CHECK(chosen[i] <= std::max<std::int64_t>(extents[i], 1));
      }
      CHECK(oracle::volume(chosen) * size <= static_cast<std::int64_t>(box_bytes));
    }
  }
}

/// Windows along two axes, columns and image in C order: (n, c, y, x, rows, columns).
sum_request windows_of(std::int64_t element_size, std::int64_t stride, std::int64_t size = 3,
                       std::int64_t along = 10, std::int64_t channels = 4) {
  test::drawn_sums sums;
  sums.element_size = element_size;
  const std::int64_t extent = (along - 1) * stride + size;
  sums.axes = {{size, along, stride, 1, 0, extent}, {size, along, stride, 1, 0, extent}};
  sums.image = {1, channels, extent, extent};
  sums.column_strides.resize(6);
  std::int64_t next = element_size;
  for (std::size_t i = 6; i-- > 0; next *= sums.column_extents()[i]) sums.column_strides[i] = next;
  sums.image_strides = sums.image;
  next = element_size;
  for (std::size_t i = 4; i-- > 0; next *= sums.image[i]) sums.image_strides[i] = next;
  sum_request request = sums.request();
  request.moves.source_run = request.moves.axes[1].source_stride;  // columns without gaps
  return request;
}

const sum_functions& functions_of_size(std::int64_t element_size) {
  return *functions_of(element_size == 1 ? summation_of<std::uint8_t>() : summation_of<float>());
}
double cost_in_place(const sum_request& sums) {
  return gather(sums, &functions_of_size(sums.sum.element_size)).cost();
}
double cost_of_sweep(const sum_request& sums) {
  return sum_sweep(sums, functions_of_size(sums.sum.element_size)).cost();
}
double cost_of_added_rows(const sum_request& sums) {
  return scatter(sums, functions_of_size(sums.sum.element_size)).cost();
}
/// Tells whether this kind of machine has a function that adds rows. Elsewhere the cost is infinite.
bool adds_rows() { return functions_of_size(4).find_added_rows(usable_instruction_set()) != nullptr; }

TEST_CASE("sums in place cost less than a sweep where contiguous windows overlap") {
  for (const std::int64_t size : {1, 4}) {
    CAPTURE(size);
    const sum_request sums = windows_of(size, 1, 3, 50);
    CHECK(cost_in_place(sums) < cost_of_sweep(sums));
  }
}

TEST_CASE("rows added in the columns' order cost least where channels are contiguous on both sides") {
  sum_request sums = windows_of(4, 1, 3, 20, 64);
  const auto size = sums.sum.element_size;
  const auto channels = sums.extents[1];
  // columns (n, y, x, rows, columns, c), image (n, y, x, c)
  std::int64_t next = size;
  for (const std::size_t i : std::array<std::size_t, 5>{1, 5, 4, 3, 2}) {
    sums.moves.axes[i].source_stride = next;
    next *= sums.moves.axes[i].extent;
  }
  sums.output_strides[1] = size;
  sums.output_strides[3] = channels * size;
  sums.output_strides[2] = channels * size * sums.extents[3];
  CHECK((cost_of_added_rows(sums) < cost_in_place(sums)) == adds_rows());
  CHECK((cost_of_added_rows(sums) < cost_of_sweep(sums)) == adds_rows());
}

TEST_CASE(
    "rows added in the columns' order cost what all places of their buffer do, also outside of the image") {
  sum_request sums = windows_of(4, 1, 3, 20);
  const double near = cost_of_added_rows(sums);
  constexpr std::int64_t far = std::int64_t{1} << 29;
  sums.moves.axes[3].bound_step = far;
  sums.moves.bounds[1].offset = -far;
  CHECK((cost_of_added_rows(sums) > near + double{far}) == adds_rows());
  CHECK(cost_in_place(sums) < double{far});
}

TEST_CASE("sums in place cost more than a sweep where columns are short rows of offsets") {
  sum_request sums = windows_of(4, 1, 3, 50);
  std::int64_t next = sums.sum.element_size;
  for (const std::size_t i : std::array<std::size_t, 5>{3, 2, 1, 5, 4}) {
    sums.moves.axes[i].source_stride = next;
    next *= sums.moves.axes[i].extent;
  }
  CHECK(cost_in_place(sums) > cost_of_sweep(sums));
}

TEST_CASE("the cost of sums in place grows with the image, and costs are finite for steps of any size") {
  CHECK(cost_in_place(windows_of(4, 1, 3, 20)) < cost_in_place(windows_of(4, 1, 3, 40)));
  sum_request far = windows_of(4, 1);
  far.moves.axes[3].bound_step = std::int64_t{1} << 61;
  far.moves.axes[5].bound_step = std::int64_t{1} << 60;
  CHECK(cost_in_place(far) < never);
  CHECK(cost_of_sweep(far) < never);
}

/// Folds random columns to an image of more than one box; wide terms keep the oracle's work small.
template <class T>
void check_large_fold(const axis_values& image, std::mt19937& random) {
  const std::size_t axes = image.size() - 2;
  const window w{.sizes = test::draw_values(random, axes, 1, 3),
                 .strides = test::draw_values(random, axes, 1, 3),
                 .dilations = test::draw_values(random, axes, 1, 3),
                 .start_padding = test::draw_values(random, axes, 0, 4),
                 .end_padding = test::draw_values(random, axes, 4, 6)};
  const axis_values columns = oracle::columns_extents(image, w, 1);
  auto values = test::draw_integers<T>(random, columns);
  for (T& value : values.values) value /= T{7};
  REQUIRE(oracle::volume(image) > oracle::volume(choose_box(image, sizeof(T))));
  const auto expected = oracle::fold(values, image, w);
  const strided_tensor<T> input(values, test::draw_strides(random, columns));
  const axis_values strides = test::draw_strides(random, image);
  for (const std::size_t threads : {1u, 2u, 7u}) {
    INFO("threads ", threads);
    strided_tensor<T> output(image, strides);
    fold(input.view(), output.view(), w, test::thread_executor{threads});
    CHECK(output.holds_exactly(expected));
    fold(input.view(), output.view(), w, {.accumulate = true}, test::thread_executor{threads});
    CHECK(output.holds_exactly(oracle::fold_onto(expected, values, w)));
  }
}

TEST_CASE("several boxes, some of them partial, sum to the same as one") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    check_large_fold<double>({1, 1, draw(random, 2100, 5000)}, random);
    check_large_fold<std::complex<double>>({2, 3, draw(random, 19, 33), draw(random, 35, 50)}, random);
    check_large_fold<std::complex<double>>({1, 3, 3, draw(random, 19, 25), draw(random, 35, 40)}, random);
    check_large_fold<float>({2, draw(random, 60, 70), 8, 9}, random);
  }
}

TEST_CASE("long double sums, whose elements have padding bytes") {
  const axis_values image{1, 2, 20, 40};
  const window w{.sizes = {2, 3},
                 .strides = {1, 2},
                 .dilations = {1, 1},
                 .start_padding = {1, 1},
                 .end_padding = {0, 2}};
  std::mt19937 random(1);
  const auto columns = test::draw_integers<long double>(random, oracle::columns_extents(image, w, 1));
  oracle::tensor<long double> result(image);
  fold(tensor_view<const long double>(columns.values.data(), columns.extents),
       tensor_view<long double>(result.values.data(), image), w);
  CHECK(result.values == oracle::fold(columns, image, w).values);
}

/// Half floats against sums in float that are rounded once.
template <class T>
void check_half_fold(unsigned seed) {
  std::mt19937 random(seed);
  const axis_values image{1, 2, draw(random, 3, 8), draw(random, 3, 8)};
  const window w{.sizes = {3, 2},
                 .strides = {1, 1},
                 .dilations = {1, 1},
                 .start_padding = {1, 1},
                 .end_padding = {1, 0}};
  const axis_values extents = oracle::columns_extents(image, w, 1);
  oracle::tensor<T> columns(extents);
  oracle::tensor<float> terms(extents);
  for (std::size_t i = 0; i < columns.values.size(); ++i) {
    round_to(columns.values[i], static_cast<float>(draw(random, -999, 999)) / 7);
    terms.values[i] = to_float(columns.values[i]);
  }
  const oracle::tensor<float> sums = oracle::fold(terms, image, w);
  oracle::tensor<T> expected(image);
  for (std::size_t i = 0; i < sums.values.size(); ++i) round_to(expected.values[i], sums.values[i]);
  const strided_tensor<T> input(columns, test::draw_strides(random, extents));
  strided_tensor<T> output(image, test::draw_strides(random, image));
  fold(input.view(), output.view(), w);
  CHECK(output.holds_exactly(expected));
}

TEST_CASE("fold sums half floats in float and rounds once") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    INFO("seed ", seed);
    check_half_fold<float16>(seed);
    check_half_fold<bfloat16>(seed);
  }
}

/// The sum of `count` ones, all of them the same element in memory.
template <class T>
float count_ones(T one, std::int64_t count) {
  T sum{};
  fold(tensor_view<const T>(&one, {1, count, count}, {0, 0, 0}), tensor_view<T>(&sum, {1, 1, 1}),
       {.sizes = count, .start_padding = count - 1, .end_padding = count - 1});
  return to_float(sum);
}

TEST_CASE("half floats do not stop counting where the next value is 2 away") {
  CHECK(count_ones(float16{0x3c00}, 400) == 400);
  CHECK(count_ones(float16{0x3c00}, 4000) == 4000);  // in float16 alone 2048 + 1 is 2048
  CHECK(count_ones(bfloat16{0x3f80}, 400) == 400);   // in bfloat16 alone 256 + 1 is 256
}

TEST_CASE("terms are added in ascending order of the window position") {
  // One element under three windows: 1, then 1e30, then -1e30 give 0; any other order gives 1 or keeps it.
  const float columns[9] = {0, 0, 1, 0, 1e30f, 0, -1e30f, 0, 0};
  float image[1] = {5};
  fold(tensor_view<const float>(columns, {1, 3, 3}), tensor_view<float>(image, {1, 1, 1}),
       {.sizes = 3, .start_padding = 2, .end_padding = 2});
  CHECK(image[0] == 0);
  const float other[9] = {0, 0, 1e30f, 0, -1e30f, 0, 1, 0, 0};
  fold(tensor_view<const float>(other, {1, 3, 3}), tensor_view<float>(image, {1, 1, 1}),
       {.sizes = 3, .start_padding = 2, .end_padding = 2});
  CHECK(image[0] == 1);
}

TEST_CASE("strides and paddings may be far longer than the image") {
  constexpr std::int64_t far = std::int64_t{1} << 40;
  const float columns[9] = {9, 1, 9, 9, 2,
                            9, 9, 3, 9};  // three blocks, of which only the second one meets the image
  std::vector<float> image(3, 7);
  fold(tensor_view<const float>(columns, {1, 3, 3}), tensor_view<float>(image.data(), {1, 1, 3}),
       {.sizes = 3, .strides = far, .start_padding = far, .end_padding = far});
  CHECK(image == std::vector<float>{1, 2, 3});
}

TEST_CASE("windows so far apart that no buffer has their positions") {
  constexpr std::int64_t far = std::int64_t{1} << 61;
  const float columns[6] = {9, 1, 2, 9, 9, 9};
  std::vector<float> image(3, 7);
  fold(tensor_view<const float>(columns, {1, 3, 2}), tensor_view<float>(image.data(), {1, 1, 3}),
       {.sizes = 3,
        .strides = far,
        .dilations = far - 1,
        .start_padding = far - 1,
        .end_padding = 2 * far - 3});
  CHECK(image == std::vector<float>{2, 1, 0});
}

TEST_CASE("an element that no block reaches is 0") {
  const float columns[2] = {1, 2};
  std::vector<float> image(7, 9);
  fold(tensor_view<const float>(columns, {1, 1, 2}), tensor_view<float>(image.data(), {1, 1, 7}),
       {.sizes = 1, .strides = 4});
  CHECK(image == std::vector<float>{1, 0, 0, 0, 2, 0, 0});
}

}  // namespace
}  // namespace reblock
