// SPDX-License-Identifier: BSD-3-Clause
//
// Windows of a padded image are moved by way of a buffer, for each instruction set that the processor has.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <reblock/axis_values.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/padded_runner.hpp>
#include <reblock/detail/moves/padded_windows.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/window_geometry.hpp>
#include <reblock/tensor.hpp>
#include <reblock/window.hpp>

#include "../../effort.hpp"
#include "../drawn_ways.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::trial;

TEST_CASE("windows of an image are moved block by block, with any padding where they reach beyond it") {
  int planned = 0;
  int reaching_out = 0;
  int in_several = 0;
  for (const unsigned seed : test::seeds(3000, 150)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    test::drawn_windows drawn = test::draw_windows(random, test::draw(random, 0, 4) == 0 ? 30000 : 6000);
    drawn.window.padding_mode = static_cast<padding_mode>(test::draw(random, 0, 4));
    const trial t(random, test::moves_of(random, drawn, test::draw_element_size(random)));
    const layout& l = t.moves.layout;
    for (const instruction_set set : test::all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      const padded_move windows({l, t.moves.element_size}, set);
      CHECK(windows.cost() < never);
      ++planned;
      layout free;
      free.take(l);
      drop_idle_bounds(free);
      reaching_out += has_bounds(free) ? 1 : 0;
      for (std::size_t i = 0; i < windows.rank(); ++i) {
        if (windows.at_once(i) == windows.axis(i).extent) continue;
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
    const padded_move whole({t.moves.layout, t.moves.element_size});
    CHECK(test::is_moved_in_parts(random, t, whole, cut));
  }
  CHECK(cut >= test::enough(20));
}

TEST_CASE("a value lies wherever windows reach beyond the image, also if its element moves in units") {
  int outside = 0;
  for (const unsigned seed : test::seeds(1000, 100)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::padded_trial t(random);
    outside += t.outside;
    for (const instruction_set set : test::all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      CHECK(t.is_moved(padded_move(t.request, set)));
    }
  }
  CHECK(outside >= test::enough(1000));
}

TEST_CASE("windows larger than the buffer are moved in parts, elements larger than it in pieces") {
  for (const std::int64_t element_size : {4, 1028, 40000}) {
    INFO("element size ", element_size);
    std::mt19937 random(1);
    const std::int64_t side = element_size == 4 ? 120 : 3;
    const layout l = test::square_windows(2, side + 4, side + 2, side, 2, 1, element_size);
    const trial t(random, test::with_buffers(l, element_size));
    const padded_move windows({t.moves.layout, element_size});
    CHECK(t.is_moved([&](const std::byte* from, std::byte* to) { windows.run(from, to); }));
  }
}

TEST_CASE("blocks of single lines that cost the same as other blocks are not taken by half") {
  std::mt19937 random(1);
  const reblock::window w{.sizes = axis_values{2, 2, 3, 3, 3},
                          .strides = axis_values{2, 2, 3, 3, 3},
                          .start_padding = axis_values{1, 2, 2, 2, 2},
                          .end_padding = axis_values{1, 2, 2, 2, 2}};
  const axis_values image{2, 2, 2, 2, 3, 3, 3};
  const auto geometry = window_geometry::make(image, w, 1, 2, "input");
  REQUIRE(static_cast<bool>(geometry));
  const layout l =
      geometry->padded_moves(packed_strides(image, 2), packed_strides(geometry->columns(), 2), 2).moves;
  const trial t(random, test::with_buffers(l, 2));
  for (const instruction_set set : test::all_instruction_sets()) {
    INFO("instruction set ", std::string(name_of(set)));
    const padded_move windows({t.moves.layout, t.moves.element_size}, set);
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
    const padded_move windows({t.moves.layout, 4});
    CHECK(t.is_moved([&](const std::byte* from, std::byte* to) { windows.run(from, to); }));
  }
}

}  // namespace
}  // namespace reblock
