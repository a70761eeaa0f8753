// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts that are planned as a whole, for each instruction set of this processor: the cheapest way moves them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/moves/window_plan.hpp>

#include "../../effort.hpp"
#include "../drawn_ways.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// How often each way was taken.
struct taken_ways {
  int blocks = 0;
  int lookups = 0;
  int planes = 0;
  int streams = 0;
  int windows = 0;
  int splits = 0;

  template <class Way>
  void count(const Way&) {
    if constexpr (std::is_same_v<Way, staged_move>) ++blocks;
    if constexpr (std::is_same_v<Way, lookup_move>) ++lookups;
    if constexpr (std::is_same_v<Way, plane_move>) ++planes;
    if constexpr (std::is_same_v<Way, stream_move>) ++streams;
    if constexpr (std::is_same_v<Way, padded_move>) ++windows;
    if constexpr (std::is_same_v<Way, split_windows>) ++splits;
  }
};

/// Checks a plan, whole and in parts, and counts its way.
template <class Plan>
void check_plan(std::mt19937& random, const test::trial& t, const Plan& planned, taken_ways& taken) {
  CHECK(planned.cost() < never);
  CHECK(test::is_moved_anywhere(t, planned));
  planned.visit([&](const auto& way) {
    taken.count(way);
    if constexpr (!std::is_same_v<std::decay_t<decltype(way)>, split_windows>) {
      int cut = 0;
      CHECK(test::is_moved_in_parts(random, t, way, cut));
    }
  });
}

TEST_CASE("a plan that will run often may be searched for longer") {
  int cheaper = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::moves drawn = test::draw_moves(random, 0);
    for (const instruction_set set : test::all_instruction_sets()) {
      const double once = move_plan(drawn.layout, drawn.element_size, set).cost();
      const double often = move_plan(drawn.layout, drawn.element_size, set, 1e6).cost();
      CHECK(often <= once);
      if (often < once) ++cheaper;
    }
  }
  CHECK(cheaper > 0);
}

/// Checks the plans of each instruction set.
void check_plans(std::mt19937& random, const test::moves& drawn, taken_ways& taken) {
  const test::trial t(random, drawn);
  for (const instruction_set set : test::all_instruction_sets()) {
    INFO("instruction set ", std::string(name_of(set)));
    if (needs_window_plan(t.moves.layout, t.moves.element_size)) {
      check_plan(random, t, window_plan({t.moves.layout, t.moves.element_size}, set), taken);
    } else {
      check_plan(random, t, move_plan(t.moves.layout, t.moves.element_size, set), taken);
    }
  }
}

TEST_CASE("any layout without bounds is moved, and nothing else is written") {
  taken_ways taken;
  for (const unsigned seed : test::seeds(2000, 150)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::moves drawn = test::draw_moves(random, 0);
    check_plans(random, test::in_tight_buffers(drawn.layout, drawn.element_size), taken);
  }
}

/// Checks permutations of 2^`least` to 2^`most` elements.
taken_ways check_permutations(const std::vector<unsigned>& seeds, std::int64_t least, std::int64_t most) {
  taken_ways taken;
  for (const unsigned seed : seeds) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    check_plans(random, test::draw_permutation(random, std::int64_t{1} << draw(random, least, most)), taken);
  }
  CHECK(taken.blocks >= test::enough(50));
  return taken;
}

TEST_CASE("permutations of any size are moved in blocks or by lookups") {
  const taken_ways taken = check_permutations(test::seeds(2000, 150), 9, 16);
  CHECK((taken.lookups >= test::enough(10) || detect_instruction_set() == instruction_set::baseline));
}

TEST_CASE("moves beyond the second level of the caches are right, whatever the order of their axes") {
  check_permutations(test::seeds(200, 12), 17, 19);
  // depth_to_space by 8 of (1, 4096, 7, 6) into channels last; rows of the source are columns
  layout l;
  l.add({7, 8, 196608});
  l.add({8, 28672, 24576});
  l.add({6, 229376, 4096});
  l.add({8, 3584, 512});
  l.add({64, 56, 8});
  std::mt19937 random(1);
  taken_ways taken;
  check_plans(random, test::in_tight_buffers(l, 8), taken);
}

TEST_CASE("windows over padding are moved, with zeros outside, whatever the order of both sides") {
  taken_ways taken;
  for (const unsigned seed : test::seeds(1500, 120)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::drawn_windows drawn = test::draw_windows(random, 6000);
    check_plans(random, test::moves_of(random, drawn, test::draw_element_size(random)), taken);
  }
  CHECK(taken.windows >= test::enough(100));
}

TEST_CASE("large windows that share little are split into those inside and those at edges") {
  taken_ways taken;
  for (const unsigned seed : test::seeds(400, 100)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::drawn_windows drawn = test::draw_windows(random, 60'000);
    check_plans(random, test::moves_of(random, drawn, test::draw_element_size(random)), taken);
  }
  CHECK(taken.splits >= test::enough(20));
}

TEST_CASE("planes that windows shift are moved as runs, by a table or by way of a buffer") {
  taken_ways taken;
  for (const unsigned seed : test::seeds(300, 30)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = test::draw_element_size(random);
    const layout l = test::square_windows(draw(random, 4, 9), draw(random, 3, 20), draw(random, 3, 20), 3, 1,
                                          1, element_size);
    check_plans(random, test::without_margins(l, element_size), taken);
  }
  CHECK(taken.planes >= test::enough(50));
}

TEST_CASE("windows and elements larger than any buffer are moved") {
  std::mt19937 random(1);
  taken_ways taken;
  // a window of 150 x 150 floats
  check_plans(random, test::with_buffers(test::square_windows(1, 160, 155, 150, 3, 2, 4), 4), taken);
  // elements of 20,000 bytes
  check_plans(random, test::with_buffers(test::square_windows(1, 4, 3, 2, 1, 1, 20000), 20000), taken);
  // columns that are written downwards
  layout l = test::square_windows(3, 9, 10, 3, 2, 1, 4);
  for (const std::size_t i : {0u, 2u, 4u}) l.axes[i].destination_stride = -l.axes[i].destination_stride;
  check_plans(random, test::with_buffers(l, 4), taken);
  CHECK(taken.windows > 0);
}

TEST_CASE("outputs larger than the caches go past them, as runs, streams or by way of a buffer") {
  taken_ways taken;
  int past = 0;
  for (const unsigned seed : test::seeds(240, 24)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    constexpr std::int64_t sizes[] = {1, 2, 4, 8, 16};
    const std::int64_t element_size = sizes[draw(random, 0, 4)];
    layout l;
    const std::int64_t kind = draw(random, 0, 3);
    if (kind == 0) {  // a block of runs: pixels, channels last
      const std::int64_t run = draw(random, 4, 160);
      const std::int64_t width = draw(random, 1, 9);
      const std::int64_t side = draw(random, 2, 5);
      l.add({draw(random, 1, 5), side * width * run * element_size, side * width * run * element_size});
      l.add({width, run * element_size, side * run * element_size});
      l.add({side, width * run * element_size, run * element_size});
      l.add({run, element_size, element_size});
      if (test::flip_coin(random)) l.swap_sides();
    } else if (kind == 1) {
      l = test::square_windows(2, draw(random, 20, 40), draw(random, 20, 40), 3, 1, 1, element_size);
    } else {  // streams are interleaved, or separated
      const std::int64_t streams = draw(random, 2, 8);
      const std::int64_t length = 16 * draw(random, 1, 30);
      const std::int64_t rows = draw(random, 1, 30);
      l.add({rows, length * element_size, streams * length * element_size});
      l.add({length, element_size, streams * element_size});
      l.add({streams, rows * length * element_size, element_size});
      if (test::flip_coin(random)) l.swap_sides();
    }
    l.whole_bytes = std::int64_t{128} << 20;
    const test::moves drawn = test::without_margins(l, element_size);
    layout simple = drawn.layout;
    const std::int64_t size = simplify(simple, element_size);
    staged_move blocks{};
    if (!has_bounds(simple)) {
      plan_blocks(blocks, simple, size, detect_instruction_set());
      past += blocks.stream() ? 1 : 0;
    }
    check_plans(random, drawn, taken);
  }
  CHECK((past >= test::enough(30) || !has_streams));
  CHECK((taken.streams >= test::enough(5) || !has_streams));
}

TEST_CASE("nothing is moved where there are no elements") {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  const auto check = [](const layout& l, std::int64_t element_size) {
    const move_plan planned(l, element_size);
    CHECK(planned.cost() == 0);
    planned.run(nullptr, nullptr);
    planned.visit([](const auto& way) { CHECK(way.is_empty()); });
  };
  layout l;
  l.add({huge, 16, 16});
  l.add({0, 16, 32});
  l.add({huge, 16, 16});
  check(l, 16);
  layout elements;
  elements.add({3, 1, 1});
  check(elements, 0);
}

}  // namespace
}  // namespace reblock
