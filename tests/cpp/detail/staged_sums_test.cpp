// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <random>

#include <doctest/doctest.h>

#include <reblock/detail/staged_sums.hpp>

#include "../draw.hpp"
#include "../effort.hpp"
#include "drawn_sums.hpp"
#include "opened_sums.hpp"

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
  return staged_sums(sums.request(), test::functions_for<std::uint8_t>()).fits();
}

TEST_CASE("sums fit where the planes of the smallest box fit the buffer") {
  // A box of one place has `size` planes of one position each.
  const auto overlapping = [](std::int64_t size, std::int64_t element_size) {
    return sums_along({.size = size, .windows = 5, .extent = size + 4}, element_size);
  };
  CHECK(fits(overlapping(planes_bytes, 1)));
  CHECK_FALSE(fits(overlapping(planes_bytes + 1, 1)));
  CHECK(fits(overlapping(planes_bytes / 8, 8)));
  CHECK_FALSE(fits(overlapping(planes_bytes / 8 + 1, 8)));
  // One plane has all positions of a stride.
  const auto side_by_side = [](std::int64_t size, std::int64_t element_size) {
    return sums_along({.size = size, .windows = 5, .stride = size, .extent = 5 * size}, element_size);
  };
  CHECK(fits(side_by_side(planes_bytes, 1)));
  CHECK_FALSE(fits(side_by_side(planes_bytes + 1, 1)));
  CHECK_FALSE(fits(side_by_side(planes_bytes / 8 + 1, 8)));
}

TEST_CASE("sums that are made apart from the image fit where the box does as well") {
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

TEST_CASE("the boxes of sums that fit cut the places, and each fits its buffers") {
  int fitting = 0;
  for (const unsigned seed : test::seeds(2000, 200)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = std::int64_t{1} << draw(random, 0, 4);
    const drawn_sums drawn = test::draw_sums(random, element_size, std::int64_t{1} << draw(random, 8, 24));
    const staged_sums sums(drawn.request(), test::functions_for<std::uint8_t>());
    if (!sums.fits()) continue;
    ++fitting;
    const test::opened_sums plan(sums);
    REQUIRE(plan.box.size() == plan.places.size());
    std::int64_t boxes = 1;
    auto planes = static_cast<double>(element_size);
    double of_sums = planes;
    for (std::size_t i = 0; i < plan.box.size(); ++i) {
      REQUIRE(1 <= plan.box[i]);
      REQUIRE(plan.box[i] <= plan.places[i]);
      boxes *= (plan.places[i] + plan.box[i] - 1) / plan.box[i];
      const auto count = static_cast<double>(plan.box[i]);
      if (i < 2) {
        CHECK(plan.places[i] == drawn.image[i]);
        planes *= count;
        of_sums *= count;
      } else {
        const plane_axis& axis = plan.axes[i - 2];
        planes *= static_cast<double>(axis.width(plan.box[i]) * axis.layers());
        of_sums *= count * static_cast<double>(axis.stride);
      }
    }
    CHECK(sums.boxes() == boxes);
    CHECK(planes <= double{planes_bytes});
    CHECK((!plan.copies || of_sums <= double{sums_bytes}));
  }
  CHECK(fitting >= test::enough(1000));
}

}  // namespace
}  // namespace reblock
