// SPDX-License-Identifier: BSD-3-Clause
//
// The runs of an offset name each window once, at the position where padded_sum_axis finds it, and in the order of addition.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/sums/padded_bands.hpp>
#include <reblock/padding_mode.hpp>

#include "../../draw.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

padded_sum_axis draw_banded_axis(std::mt19937& random) {
  constexpr padding_mode modes[] = {padding_mode::edge, padding_mode::reflection, padding_mode::symmetric,
                                    padding_mode::wrap};
  const std::int64_t extent = draw(random, 1, 12);
  return {draw(random, 1, 5),    draw(random, 0, 14),   draw(random, 1, 3),
          draw(random, 1, 4),    draw(random, -15, 5),  {modes[draw(random, 0, 3)], extent},
          draw(random, -50, 50), draw(random, -50, 50), 8};
}

/// The windows that add to a position, in the order of the runs, restricted to a range of positions.
std::vector<std::int64_t> windows_at(const padded_sum_axis& axis, std::int64_t o, std::int64_t position,
                                     const index_range& range) {
  std::vector<std::int64_t> windows;
  axis.for_each_run(o, [&](const term_run& all) {
    const term_run run = all.inside(range);
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t at = run.first + i * run.step;
      CHECK(range.begin <= at);
      CHECK(at < range.end);
      if (at == position) windows.push_back(run.window + i);
    }
  });
  return windows;
}

TEST_CASE("runs have the terms of each position in the order of addition") {
  for (std::uint32_t trial = 0; trial < 3000; ++trial) {
    CAPTURE(trial);
    std::mt19937 random(trial);
    const padded_sum_axis axis = draw_banded_axis(random);
    const std::int64_t begin = draw(random, 0, axis.image.extent - 1);
    const index_range range{begin, draw(random, begin + 1, axis.image.extent)};
    for (std::int64_t o = 0; o < axis.size; ++o) {
      std::size_t found = 0;
      for (std::int64_t q = 0; q < axis.image.extent; ++q) {
        std::vector<std::int64_t> expected;
        axis.for_each_window(q, o, [&](std::int64_t window) { expected.push_back(window); });
        found += expected.size();
        if (q < range.begin || q >= range.end) expected.clear();
        CHECK(windows_at(axis, o, q, range) == expected);
      }
      CHECK(found == static_cast<std::size_t>(axis.windows));
    }
  }
}

}  // namespace
}  // namespace reblock
