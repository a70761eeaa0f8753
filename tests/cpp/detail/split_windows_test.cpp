// SPDX-License-Identifier: BSD-3-Clause
//
// Windows inside an image and windows at its edges are moved apart. Together they give all of the columns.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/split_windows.hpp>
#include <reblock/detail/window_blocks.hpp>

#include "../effort.hpp"
#include "drawn_moves.hpp"
#include "layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::trial;

constexpr double any_cost = std::numeric_limits<double>::infinity();

split_windows split(const test::moves& moves, instruction_set set) {
  return {moves.layout, moves.element_size, set, any_cost};
}

TEST_CASE("the windows inside an image and those at its edges give all of the columns") {
  int planned = 0;
  int edges = 0;
  for (const unsigned seed : test::seeds(3000, 150)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const trial t(random,
                  test::moves_of(random, test::draw_windows(random, 6000), test::draw_element_size(random)));
    for (const instruction_set set : test::all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      const split_windows moves = split(t.moves, set);
      if (!std::isfinite(moves.cost())) continue;
      ++planned;
      CHECK(t.is_moved([&](const std::byte* from, std::byte* to) {
        moves.inside().run(from, to);
        moves.for_each_edge([&](const window_move& edge) {
          ++edges;
          edge.run(from, to);
        });
      }));
    }
  }
  CHECK(planned >= test::enough(1000));
  CHECK(edges >= test::enough(1000));
}

/// (channels, offsets, windows) of floats: windows of 3 every 2 elements of a row of 20, from 1 before its begin on.
layout row_of_windows(std::int64_t windows) {
  layout l;
  l.add({16, 80, 512});
  l.add({3, 4, 128, 0, 1});
  l.add({windows, 8, 4, 0, 2});
  l.bound_count = 1;
  l.bounds[0] = {-1, 20};
  l.source_offset = -4;
  return l;
}

TEST_CASE("windows are inside if all of their elements lie in the image") {
  CHECK(find_inside(row_of_windows(11), 0).axis == 2);
  CHECK(find_inside(row_of_windows(11), 0).range == index_range{1, 10});  // the last begins at 19
  CHECK(find_inside(row_of_windows(10), 0).range == index_range{1, 10});
  CHECK(find_inside(row_of_windows(1), 0).range == index_range{1, 1});
}

TEST_CASE("each edge has the windows of the wider one of both") {
  layout l = row_of_windows(11);
  l.bounds[0] = {-4, 20};  // windows at -4, -2, 0, ..., 16: two at the begin, none at the end
  const split_windows one(l, 4, instruction_set::baseline, any_cost);
  int edges = 0;
  one.for_each_edge([&](const window_move& edge) {
    ++edges;
    CHECK(edge.axis(2).extent == 2);
  });
  CHECK(edges == 1);
  l.bounds[0] = {-4, 15};  // the window at 14 and the one at 16 reach out at the end
  const split_windows both(l, 4, instruction_set::baseline, any_cost);
  edges = 0;
  both.for_each_edge([&](const window_move& edge) {
    ++edges;
    CHECK(edge.axis(2).extent == 2);
  });
  CHECK(edges == 2);
}

TEST_CASE("there is no plan without a window inside, without windows, or that costs more than allowed") {
  const auto cost = [](const layout& l, double least) {
    return split_windows(l, 4, instruction_set::baseline, least).cost();
  };
  CHECK(std::isfinite(cost(row_of_windows(11), any_cost)));
  CHECK(std::isinf(cost(row_of_windows(1), any_cost)));
  CHECK(std::isinf(cost(row_of_windows(11), 1)));
  layout columns = row_of_windows(11);
  columns.swap_sides();
  CHECK(std::isinf(cost(columns, any_cost)));
}

}  // namespace
}  // namespace reblock
