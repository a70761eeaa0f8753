// SPDX-License-Identifier: BSD-3-Clause
//
// Windows of an image are moved block by block, for each instruction set that the processor has.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/window_blocks.hpp>

#include "../effort.hpp"
#include "drawn_ways.hpp"
#include "layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::trial;

TEST_CASE("windows of an image are moved block by block, with zeros where they reach beyond it") {
  int planned = 0;
  int reaching_out = 0;
  int in_several = 0;
  for (const unsigned seed : test::seeds(3000, 150)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::drawn_windows drawn =
        test::draw_windows(random, test::draw(random, 0, 4) == 0 ? 30000 : 6000);
    const trial t(random, test::moves_of(random, drawn, test::draw_element_size(random)));
    const layout& l = t.moves.layout;
    for (const instruction_set set : test::all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      window_move windows;
      CHECK(std::isfinite(windows.plan(l, t.moves.element_size, set)));
      ++planned;
      layout free;
      free.take(l);
      drop_idle_bounds(free);
      reaching_out += has_bounds(free) ? 1 : 0;
      for (std::size_t i = 0; i < l.rank; ++i) {
        if (windows.at_once(i) == l.axes[i].extent) continue;
        ++in_several;
        break;
      }
      CHECK(t.is_moved([&](const std::byte* from, std::byte* to) { windows.run(from, to); }));
    }
  }
  CHECK(planned >= test::enough(2000));
  CHECK(reaching_out >= test::enough(1000));
  CHECK(in_several >= test::enough(500));
}

TEST_CASE("windows that are moved in parts, in any order, give all of the columns") {
  int cut = 0;
  for (const unsigned seed : test::seeds(1500, 80)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const trial t(random,
                  test::moves_of(random, test::draw_windows(random, 6000), test::draw_element_size(random)));
    window_move whole;
    REQUIRE(std::isfinite(whole.plan(t.moves.layout, t.moves.element_size, detect_instruction_set())));
    CHECK(test::is_moved_in_parts(random, t, whole, cut));
  }
  CHECK(cut >= test::enough(20));
}

/// (channels, offsets within a window, windows) of floats, windows of 4 every 4 elements of a row of 32, without padding.
layout side_by_side() {
  layout l;
  l.add({16, 128, 128});
  l.add({4, 4, 32, 0, 1});
  l.add({8, 16, 4, 0, 4});
  l.bound_count = 1;
  l.bounds[0] = {0, 32};
  return l;
}

TEST_CASE("only an image upwards has windows") {
  CHECK(has_windows(side_by_side()));
  layout l = side_by_side();
  l.swap_sides();  // the source are columns, of which a window's offsets and the windows do not walk the same axis
  CHECK_FALSE(has_windows(l));
  l = side_by_side();
  l.reverse(2);
  CHECK_FALSE(has_windows(l));
}

TEST_CASE("windows larger than the buffer are moved in parts, elements larger than it in pieces") {
  for (const std::int64_t element_size : {4, 1028, 40000}) {
    INFO("element size ", element_size);
    std::mt19937 random(1);
    const std::int64_t side = element_size == 4 ? 120 : 3;
    const layout l = test::square_windows(2, side + 4, side + 2, side, 2, 1, element_size);
    const trial t(random, test::with_buffers(l, element_size));
    window_move windows;
    CHECK(std::isfinite(windows.plan(t.moves.layout, element_size, detect_instruction_set())));
    CHECK(t.is_moved([&](const std::byte* from, std::byte* to) { windows.run(from, to); }));
  }
}

TEST_CASE("columns are written in any direction") {
  for (const unsigned seed : test::seeds(100, 20)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    layout l = test::square_windows(test::draw(random, 1, 5), test::draw(random, 3, 12),
                                    test::draw(random, 3, 12), 3, test::draw(random, 1, 3), 1, 4);
    for (std::size_t i = 0; i < l.rank; ++i) {
      if (test::flip_coin(random)) l.axes[i].destination_stride = -l.axes[i].destination_stride;
    }
    const trial t(random, test::with_buffers(l, 4));
    window_move windows;
    CHECK(std::isfinite(windows.plan(t.moves.layout, 4, detect_instruction_set())));
    CHECK(t.is_moved([&](const std::byte* from, std::byte* to) { windows.run(from, to); }));
  }
}

}  // namespace
}  // namespace reblock
