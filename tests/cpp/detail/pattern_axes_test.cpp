// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/pattern_axes.hpp>

#include "../draw.hpp"
#include "../effort.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// The indices of axis 1 that are inside, for each index of axis 0.
std::vector<std::vector<std::int64_t>> indices_inside(const layout& l) {
  std::vector<std::vector<std::int64_t>> inside(static_cast<std::size_t>(l.axes[0].extent));
  for (std::int64_t i = 0; i < l.axes[0].extent; ++i) {
    for (std::int64_t j = 0; j < l.axes[1].extent; ++j) {
      const std::int64_t place = l.bounds[0].offset + i * l.axes[0].bound_step + j * l.axes[1].bound_step;
      if (0 <= place && place < l.bounds[0].extent) inside[static_cast<std::size_t>(i)].push_back(j);
    }
  }
  return inside;
}

TEST_CASE("the ranges of an axis that another one decides are counted, and the shortest is found") {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    layout l;
    l.add({draw(random, 1, 9), 1, 100, 0, draw(random, -3, 3)});
    l.add({draw(random, 1, 20), 1, 1, 0, draw(random, 1, 3) * (test::flip_coin(random) ? 1 : -1)});
    l.bounds[0] = {draw(random, -6, 30), draw(random, 1, 20)};
    l.bound_count = 1;
    const auto inside = indices_inside(l);
    inside_counts expected;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const auto count = static_cast<std::int64_t>(inside[i].size());
      if (count > 0 && (expected.least == 0 || count < expected.least)) expected.least = count;
      const bool are_empty = i > 0 && count == 0 && inside[i - 1].empty();
      expected.ranges += i > 0 && !are_empty && inside[i] != inside[i - 1] ? 1 : 0;
    }
    const inside_counts counts = count_inside(l, 1);
    CHECK(counts.least == expected.least);
    CHECK(counts.ranges >= expected.ranges);  // empty ones may begin anywhere
    CHECK(counts.ranges <= l.axes[0].extent);
    CHECK(count_tables(l, 1) == counts.ranges);
    CHECK(count_tables(l, 2) == 1);
    CHECK(count_inside(l, 0).least == 0);
  }
}

TEST_CASE("the ranges of a long axis are counted at its two ends") {
  int exact = 0;
  for (const unsigned seed : test::seeds(2000, 500)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    layout l;
    l.add({draw(random, 60, 300), 1, 100, 0, draw(random, 1, 3)});
    l.add({draw(random, 1, 20), 1, 1, 0, draw(random, 1, 3)});
    const std::int64_t reach =
        (l.axes[0].extent - 1) * l.axes[0].bound_step + (l.axes[1].extent - 1) * l.axes[1].bound_step + 1;
    const std::int64_t before = draw(random, 0, 40);
    l.bounds[0] = {-before, std::max<std::int64_t>(1, reach - before - draw(random, 0, 40))};
    l.bound_count = 1;
    inside_counts expected;
    index_range last{};
    for (std::int64_t i = 0; i < l.axes[0].extent; ++i) {
      const index_range inside = range_inside(l.bounds[0], i * l.axes[0].bound_step, l.axes[1]);
      const std::int64_t count = inside.end - inside.begin;
      if (count > 0 && (expected.least == 0 || count < expected.least)) expected.least = count;
      expected.ranges += i > 0 && inside != last ? 1 : 0;
      last = inside;
    }
    const inside_counts counts = count_inside(l, 1);
    if (counts.ranges == expected.ranges && counts.least == expected.least) {
      ++exact;
      continue;
    }
    // the ranges between the ends change: the worst is assumed
    CHECK(counts.ranges == l.axes[0].extent);
    CHECK(counts.least == 1);
  }
  CHECK(exact >= test::enough(400));
}

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

TEST_CASE("a pattern has all that decides about it where that fits, else pieces of few rows") {
  const pattern_axes all = find_pattern(windows(64, 3, 7, 1), 1, 64, false);
  CHECK(all.inner == 1);
  CHECK(all.along == 0);
  CHECK(all.bytes == 9 * 49);
  const pattern_axes rows = find_pattern(windows(64, 7, 28, 2), 2, 64, false);
  CHECK(rows.inner == 4);
  CHECK(rows.along == 3);
  CHECK(rows.piece == 1);
  const pattern_axes short_rows = find_pattern(windows(64, 7, 14, 1), 1, 64, false);
  CHECK(short_rows.along == 3);
  CHECK(short_rows.bytes == 3 * 14);
  const pattern_axes planes = find_pattern(windows(4096, 7, 14, 1), 1, 64, false);  // used often enough
  CHECK(planes.inner == 2);
  CHECK(planes.along == 0);
  CHECK(planes.bytes == 7 * 14 * 14);
}

TEST_CASE("a pattern reaches across gaps where a window fits between them") {
  for (const std::int64_t pixels : {3, 4}) {
    layout l;  // rows of pixels of 4 bytes become columns, two rows with a gap between them at a time
    l.add({500, 160, 8 * pixels});
    l.add({pixels, 4, 8});
    l.add({2, 40, 4});
    l.add({4, 1, 1});
    l.source_run = 4 * pixels;
    CHECK(choose_pattern(l, 1, 64, true).along == (pixels == 4 ? 0u : no_axis));
    CHECK(choose_pattern(l, 1, 64, false).along == no_axis);
  }
}

}  // namespace
}  // namespace reblock
