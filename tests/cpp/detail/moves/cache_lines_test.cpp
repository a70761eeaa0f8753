// SPDX-License-Identifier: BSD-3-Clause
//
// Near lines evict each other if they are too many, or if more of them share a set than the cache has room for.
#include <cstdint>
#include <map>
#include <random>

#include <doctest/doctest.h>

#include <reblock/detail/moves/cache_lines.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

TEST_CASE("lines collide if more than 8 of them are a multiple of 4096 bytes apart") {
  int collisions = 0;
  int others = 0;
  for (const unsigned seed : test::seeds(2000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t inner = draw(random, 1, 4);
    const std::int64_t outer = draw(random, 1, 64 / inner);
    // multiples of a line, and far enough apart that no two places share one
    const std::int64_t stride = 64 * draw(random, 1, 4);
    const std::int64_t apart = (std::int64_t{4096} >> draw(random, 0, 2)) * draw(random, 1, 3);
    near_lines lines;
    lines.repeat(inner, stride);
    lines.repeat(outer, apart);
    std::map<std::int64_t, int> in_set;
    bool collide = false;
    for (std::int64_t i = 0; i < outer; ++i) {
      for (std::int64_t k = 0; k < inner; ++k)
        collide = ++in_set[(i * apart + k * stride) % 4096] > 8 || collide;
    }
    CHECK(lines.collide() == collide);
    ++(collide ? collisions : others);
  }
  CHECK(collisions >= test::enough(100));
  CHECK(others >= test::enough(100));
}

TEST_CASE("places of one line are one line, and the first 64 lines tell") {
  near_lines elements;
  elements.repeat(16, 4);
  elements.repeat(4, 4096);
  CHECK_FALSE(elements.collide());
  CHECK(elements.all() == 4);
  near_lines full;
  full.repeat(8, 4096);
  CHECK_FALSE(full.collide());
  near_lines many;
  many.repeat(9, 4096);
  CHECK(many.collide());
  near_lines behind;
  behind.repeat(64, 64);  // fills each set once
  behind.repeat(1000, 4096);
  CHECK_FALSE(behind.collide());
  CHECK(behind.all() == 64000);
}

TEST_CASE("lines are evicted if both sides have too many of a set, or too many at all") {
  const mover_costs::line_costs each{0, 0, 1, 16};
  const auto lines = [](std::int64_t count, std::int64_t apart) {
    near_lines some;
    some.repeat(count, apart);
    return some;
  };
  const near_lines one;
  CHECK(lines(8, 4096).cost_of_evicted(each, lines(300, 64)) > 0);
  CHECK(lines(6, 4096).cost_of_evicted(each, lines(2, 4096)) == 0);
  CHECK(lines(300, 64).cost_of_evicted(each, one) == 0);
  CHECK(lines(300, 64).cost_of_evicted(each, lines(300, 64)) > 0);
  // the fewer sets they share, the longer it takes
  CHECK(lines(32, 4096).cost_of_evicted(each, one) == 17);
  CHECK(lines(32, 2048).cost_of_evicted(each, one) == 9);
}

}  // namespace
}  // namespace reblock
