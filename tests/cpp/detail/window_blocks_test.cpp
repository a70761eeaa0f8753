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
#include <reblock/detail/plan.hpp>
#include <reblock/detail/window_blocks.hpp>

#include "../effort.hpp"
#include "drawn_moves.hpp"
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
      window_move windows{};
      if (!std::isfinite(plan_windows(windows, l, t.moves.element_size, set))) continue;
      ++planned;
      layout free;
      free.take(l);
      drop_idle_bounds(free);
      for (std::size_t i = 0; i < l.rank; ++i) {
        if (!free.axes[i].bounded()) continue;
        ++reaching_out;
        break;
      }
      for (std::size_t i = 0; i < l.rank; ++i) {
        if (windows.block.at_once[i] == l.axes[i].extent) continue;
        ++in_several;
        break;
      }
      CHECK(t.is_moved([&](const std::byte* from, std::byte* to) { run_windows(windows, from, to); }));
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
    window_move whole{};
    if (!std::isfinite(plan_windows(whole, t.moves.layout, t.moves.element_size, detect_instruction_set())))
      continue;
    for (std::size_t i = 0; i < whole.whole.rank; ++i) {
      const std::int64_t extent = whole.whole.axes[i].extent;
      if (extent < 2 * whole.block.at_once[i]) continue;
      INFO("axis ", i);
      ++cut;
      const auto ranges = test::draw_ranges(random, extent, whole.block.at_once[i]);
      CHECK(t.is_moved([&](const std::byte* from, std::byte* to) {
        for (const index_range& range : ranges) {
          window_move part = whole;
          part.whole.narrow(i, range.begin, range.end);
          run_windows(part, from, to);
        }
      }));
    }
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

TEST_CASE("only windows that walk an image upwards are moved as such") {
  const auto cost = [](const layout& l) {
    window_move windows{};
    return plan_windows(windows, l, 4, instruction_set::baseline);
  };
  CHECK(std::isfinite(cost(side_by_side())));
  layout l = side_by_side();
  l.swap_sides();  // the source are columns, of which a window's offsets and the windows do not walk the same axis
  CHECK(std::isinf(cost(l)));
  l = side_by_side();
  l.reverse(2);
  CHECK(std::isinf(cost(l)));
  l = side_by_side();
  l.axes[0].destination_stride = -128;
  CHECK(std::isinf(cost(l)));
  l = side_by_side();
  l.axes[0].extent = 1 << 20;
  l.axes[1].extent = 1 << 20;  // the part under a single window is larger than the buffer
  CHECK(std::isinf(cost(l)));
}

}  // namespace
}  // namespace reblock
