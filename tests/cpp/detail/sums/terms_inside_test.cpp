// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include <reblock/detail/sums/terms_inside.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"

namespace reblock {
namespace {

using detail::terms_inside;
using test::draw;

TEST_CASE("terms inside are those whose position is one of the image") {
  for (const unsigned seed : test::seeds(2000, 200)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t outer = draw(random, 0, 32);
    const std::int64_t outer_step = draw(random, 1, 9);
    const std::int64_t inner = draw(random, 0, 40);
    const std::int64_t inner_step = draw(random, 1, 9);
    const std::int64_t padding = draw(random, -20, 60);
    const std::int64_t extent = draw(random, 0, 100);
    std::int64_t inside = 0;
    for (std::int64_t u = 0; u < outer; ++u) {
      for (std::int64_t v = 0; v < inner; ++v) {
        const std::int64_t position = u * outer_step + v * inner_step - padding;
        inside += 0 <= position && position < extent ? 1 : 0;
      }
    }
    CHECK(terms_inside(outer, outer_step, inner, inner_step, padding, extent) == static_cast<double>(inside));
  }
}

TEST_CASE("of many outer indices some are counted for all, and steps may have any size") {
  CHECK(terms_inside(1000, 1, 3, 1, 0, 1002) == 3000);
  const double half = terms_inside(1000, 1, 1, 1, 500, 1000);
  CHECK(450 < half);
  CHECK(half < 550);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(terms_inside(3, most, 3, most, most, most) >= 0);
  CHECK(terms_inside(3, most, 3, most, -most, 1) >= 0);
}

}  // namespace
}  // namespace reblock
