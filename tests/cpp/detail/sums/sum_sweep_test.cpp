// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <random>

#include <doctest/doctest.h>

#include <reblock/detail/sums/sweep_search.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../drawn_sums.hpp"
#include "../opened_sweep.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::drawn_sums;
using test::windows_along;

/// Along one axis, in C order on both sides.
drawn_sums sums_along(const windows_along& axis, std::int64_t element_size) {
  drawn_sums sums;
  sums.image = {1, 1, axis.extent};
  sums.axes = {axis};
  sums.element_size = element_size;
  const std::int64_t row = axis.windows * element_size;
  sums.column_strides = {axis.size * row, axis.size * row, row, element_size};
  sums.image_strides = {axis.extent * element_size, axis.extent * element_size, element_size};
  return sums;
}

bool fits(const drawn_sums& sums) {
  return sum_sweep(sums.request(), test::functions_for<std::uint8_t>()).fits();
}

TEST_CASE("a sweep fits where the buffer has room for one place") {
  // windows side by side: one plane has all positions of a stride
  const auto side_by_side = [](std::int64_t size, std::int64_t element_size) {
    return sums_along({.size = size, .windows = 5, .stride = size, .extent = 5 * size - 1}, element_size);
  };
  CHECK(fits(side_by_side(chunk_bytes, 1)));
  CHECK_FALSE(fits(side_by_side(chunk_bytes + 1, 1)));
  CHECK_FALSE(fits(side_by_side(chunk_bytes / 8 + 1, 8)));
  // windows that overlap: as many planes as offsets, each as wide
  const auto overlapping = [](std::int64_t size) {
    return sums_along({.size = size, .windows = 5, .extent = size + 4}, 1);
  };
  CHECK(fits(overlapping(150)));
  CHECK_FALSE(fits(overlapping(200)));
}

TEST_CASE("sums that are made apart from the image fit where their buffer has room as well") {
  drawn_sums sums =
      sums_along({.size = sums_bytes, .windows = 3, .stride = sums_bytes, .extent = 3 * sums_bytes}, 1);
  sums.image_strides[2] = 2;
  CHECK(fits(sums));
  sums = sums_along(
      {.size = sums_bytes + 1, .windows = 3, .stride = sums_bytes + 1, .extent = 3 * sums_bytes + 3}, 1);
  CHECK(fits(sums));
  sums.image_strides[2] = 2;
  CHECK_FALSE(fits(sums));
}

/// Returns the cost of sums of some images with rows of 1,000 positions.
double cost_of(std::int64_t images, std::int64_t size) {
  drawn_sums sums = sums_along({.size = size, .windows = 1001 - size, .extent = 1000}, 4);
  sums.image[0] = images;
  return sum_sweep(sums.request(), test::functions_for<float>()).cost();
}

TEST_CASE("the cost of a sweep grows with the images, and with the terms of a window") {
  for (const std::int64_t size : {3, 5}) {
    const double some = cost_of(100, size);
    const double more = cost_of(200, size);
    CHECK(1.8 * some < more);
    CHECK(more < 2.2 * some);
    const double of_larger_windows = cost_of(100, 2 * size);
    CHECK(1.6 * some < of_larger_windows);
    CHECK(of_larger_windows < 2.4 * some);
  }
}

TEST_CASE("boxes cut the places, and each chunk fits its buffers") {
  int fitting = 0;
  for (const unsigned seed : test::seeds(2000, 200)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = std::int64_t{1} << draw(random, 0, 4);
    const drawn_sums drawn = test::draw_sums(random, element_size, std::int64_t{1} << draw(random, 8, 24));
    const sum_sweep sums(drawn.request(), test::functions_for<std::uint8_t>());
    if (!sums.fits()) continue;
    ++fitting;
    const test::opened_sweep plan(sums);
    REQUIRE(plan.chunk.box.size() == plan.places.size());
    std::int64_t boxes = 1;
    auto buffer = static_cast<double>(element_size);
    auto of_sums = static_cast<double>(element_size);
    for (std::size_t i = 0; i < plan.places.size(); ++i) {
      const std::int64_t box = plan.chunk.box[i];
      REQUIRE(1 <= box);
      REQUIRE(box <= plan.places[i]);
      boxes *= (plan.places[i] + box - 1) / box;
      const auto count = static_cast<double>(box);
      if (i < 2) {
        CHECK(plan.places[i] == drawn.image[i]);
        buffer *= count;
        of_sums *= count;
      } else if (const sweep_axis& axis = plan.axes[i - 2]; axis.is_walked) {
        CHECK(plan.places[i] == drawn.image[i]);
        REQUIRE(plan.chunk.windows[i - 2] <= axis.windows);
        REQUIRE(plan.chunk.offsets[i - 2] <= axis.offsets);
        buffer *= static_cast<double>(plan.chunk.windows[i - 2] * plan.chunk.offsets[i - 2]);
        of_sums *= count;
      } else {
        buffer *= axis.width(box) * static_cast<double>(axis.rows());
        of_sums *= count * static_cast<double>(axis.stride);
      }
    }
    CHECK(sums.boxes() == boxes);
    CHECK(buffer <= double{chunk_bytes});
    CHECK((!plan.copies || of_sums <= double{sums_bytes}));
  }
  CHECK(fitting >= test::enough(1000));
}

TEST_CASE("rows are made of another axis than the innermost one of the image if this costs less") {
  drawn_sums drawn;
  drawn.element_size = 1;
  drawn.axes = {{.size = 2, .windows = 7, .extent = 8}, {.size = 2, .windows = 3, .extent = 4}};
  drawn.image = {6, 112, 8, 4};
  drawn.column_strides = {9408, 4, 2, 1, 1344, 448};
  drawn.image_strides = {3584, 32, 4, 1};
  const test::opened_sweep plan(sum_sweep(drawn.request(), test::functions_for<std::uint8_t>()));
  CHECK(plan.order[0] == 1);
  CHECK(plan.copies);
}

TEST_CASE("boxes are cut along a walked axis for more threads") {
  drawn_sums drawn;
  drawn.element_size = 1;
  drawn.axes = {{.size = 16, .windows = 85, .extent = 100}, {.size = 3, .windows = 38, .extent = 40}};
  drawn.image = {1, 1, 100, 40};
  drawn.column_strides = {0, 48, 3, 1, 1824, 48};
  drawn.image_strides = {4000, 4000, 40, 1};
  sum_sweep sums(drawn.request(), test::functions_for<std::uint8_t>());
  REQUIRE(sums.fits());
  CHECK(sums.boxes() == 1);
  sums.share_among(1);
  CHECK(sums.boxes() == 1);
  sums.share_among(4);
  CHECK(sums.boxes() == 4);
}

}  // namespace
}  // namespace reblock
