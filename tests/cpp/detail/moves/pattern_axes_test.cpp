// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/moves/pattern_axes.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// Windows of `size` every second row and column, of which the border is outside: (c, ky, kx, y, x).
layout windows(std::int64_t channels, std::int64_t size, std::int64_t blocks, std::int64_t element_size) {
  const std::int64_t row = 2 * blocks * element_size;
  layout l;
  l.add({channels, 2 * blocks * row, size * size * blocks * blocks * element_size});
  l.add({size, row, size * blocks * blocks * element_size, 0, 1});
  l.add({size, element_size, blocks * blocks * element_size, 1, 1});
  l.add({blocks, 2 * row, blocks * element_size, 0, 2});
  l.add({blocks, 2 * element_size, element_size, 1, 2});
  l.bounds[0] = l.bounds[1] = {-(size / 2), 2 * blocks};
  l.bound_count = 2;
  l.source_run = channels * 2 * blocks * row;
  return l;
}

TEST_CASE("a pattern has all bounds, or there is none") {
  const pattern_axes all = find_pattern(windows(64, 3, 7, 1), 1, 64, false);
  CHECK(all.inner == 1);
  CHECK(all.along == 0);
  CHECK(all.bytes == 9 * 49);
  CHECK(find_pattern(windows(64, 7, 28, 2), 2, 64, false).along == no_axis);
}

TEST_CASE("a pattern reaches across gaps where a window fits between them") {
  for (const std::int64_t pixels : {3, 4}) {
    layout l;  // rows of pixels of 4 bytes become columns, two rows with a gap between them at a time
    l.add({500, 160, 8 * pixels});
    l.add({pixels, 4, 8});
    l.add({2, 40, 4});
    l.add({4, 1, 1});
    l.source_run = 4 * pixels;
    CHECK(choose_pattern(l, 1, 64).along == (pixels == 4 ? 0u : no_axis));
    CHECK(find_pattern(l, 1, 64, false).along == no_axis);
  }
}

}  // namespace
}  // namespace reblock
