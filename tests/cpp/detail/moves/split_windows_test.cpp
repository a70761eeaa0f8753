// SPDX-License-Identifier: BSD-3-Clause
//
// Windows inside an image are moved apart from those that reach its padding.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/split_windows.hpp>

#include "../../effort.hpp"
#include "../drawn_ways.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::trial;

constexpr double any_cost = std::numeric_limits<double>::infinity();

TEST_CASE(
    "windows inside and at the edges of an image are moved with any padding, and nothing else is written") {
  int planned = 0;
  int repeating = 0;
  int cut = 0;
  for (const unsigned seed : test::seeds(3000, 200)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    // plans move boxes at edges that have many elements
    test::drawn_windows drawn = test::draw_windows(random, seed % 4 == 0 ? 60'000 : 6'000);
    drawn.window.padding_mode = static_cast<padding_mode>(test::draw(random, 0, 4));
    const trial t(random, test::moves_of(random, drawn, test::draw_element_size(random)));
    split_windows windows;
    const double cost =
        windows.plan({t.moves.layout, t.moves.element_size}, detect_instruction_set(), any_cost);
    if (cost == never) continue;
    ++planned;
    repeating += drawn.window.padding_mode == padding_mode::constant ? 0 : 1;
    CHECK(test::is_moved_anywhere(t, windows));
    // threads move parts of the edges
    for (std::size_t i = 0; i < windows.edges().rank(); ++i) {
      const std::int64_t extent = windows.edges().axis(i).extent;
      if (extent < 2 * windows.edges().at_once(i)) continue;
      ++cut;
      const auto ranges = test::draw_ranges(random, extent, 1);
      CHECK(t.is_moved([&](const std::byte* from, std::byte* to) {
        windows.inside().run(from, to);
        for (const index_range& range : ranges) {
          edge_windows part = windows.edges();
          part.narrow(i, range);
          part.run(from, to);
        }
      }));
    }
  }
  CHECK(planned >= test::enough(300));
  CHECK(repeating >= test::enough(150));
  CHECK(cut >= test::enough(100));
}

TEST_CASE("a value lies wherever windows reach beyond the image, also if its element moves in units") {
  int outside = 0;
  for (const unsigned seed : test::seeds(1000, 200)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::padded_trial t(random);
    split_windows windows;
    if (windows.plan(t.request, detect_instruction_set(), any_cost) == never) continue;
    outside += t.outside;
    CHECK(t.is_moved(windows));
  }
  CHECK(outside >= test::enough(1000));
}

TEST_CASE("there is no plan if no window lies inside, or if edges cost too much") {
  split_windows windows;
  const instruction_set set = detect_instruction_set();
  for (const padding_mode mode : {padding_mode::constant, padding_mode::edge}) {
    CHECK(windows.plan({test::square_windows(1, 2, 2, 5, 1, 3, 4, mode), 4}, set, any_cost) == never);
    CHECK(windows.plan({test::square_windows(1, 9, 9, 3, 1, 1, 4, mode), 4}, set, 1) == never);
    CHECK(windows.plan({test::square_windows(1, 9, 9, 3, 1, 1, 4, mode), 4}, set, any_cost) < never);
  }
}

}  // namespace
}  // namespace reblock
