// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts that come again, at other places and in another order than before.
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/axis_values.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/remembered_moves.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// A permutation of axes, dense on both sides. Few extents are possible, so layouts differ in one of them at times.
layout draw_permutation(std::mt19937& random, std::int64_t element_size, std::size_t axes) {
  axis_values extents;
  for (std::size_t i = 0; i < axes; ++i) extents.push_back(draw(random, 0, 19) == 0 ? 0 : draw(random, 4, 6));
  const auto draw_strides = [&] {
    axis_values strides = extents;
    std::int64_t stride = element_size;
    for (const std::size_t i : test::draw_order(random, axes)) {
      strides[i] = stride;
      stride *= extents[i];
    }
    return strides;
  };
  const axis_values source = draw_strides();
  const axis_values destination = draw_strides();
  layout drawn;
  for (std::size_t i = 0; i < axes; ++i) drawn.add({extents[i], source[i], destination[i]});
  return drawn;
}

/// Moves one of some layouts, at other places each time.
void run_any(std::mt19937& random, const std::vector<test::moves>& known, remembered_moves& moves) {
  test::moves chosen = known[static_cast<std::size_t>(draw(random, 0, static_cast<int>(known.size()) - 1))];
  const std::int64_t from = draw(random, 0, 64);
  const std::int64_t to = draw(random, 0, 64);
  chosen.layout.source_offset += from;
  chosen.layout.destination_offset += to;
  const auto source =
      test::draw_bytes(random, chosen.source_bytes + static_cast<std::size_t>(from) + readable_slack);
  const auto before = test::draw_bytes(random, chosen.destination_bytes + static_cast<std::size_t>(to));
  const buffered_side sides[] = {buffered_side::none, buffered_side::destination};
  std::vector<std::byte> destination = before;
  moves.run(chosen.layout, chosen.element_size, sides[draw(random, 0, 1)], source.data(), destination.data());
  CHECK(destination == chosen.expected(source, before, false));
}

TEST_CASE("layouts are moved right, whether their plans are remembered or forgotten") {
  for (const unsigned seed : test::seeds(500, 50)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    std::vector<test::moves> known;
    const int count = draw(random, 0, 1) == 0 ? 7 : 40;  // more than are remembered
    for (int i = 0; i < count; ++i) {
      const std::int64_t element_size = std::int64_t{1} << draw(random, 0, 4);
      const auto axes = static_cast<std::size_t>(draw(random, 1, 4));
      known.push_back(test::with_buffers(draw_permutation(random, element_size, axes), element_size));
    }
    remembered_moves moves;
    for (int time = 0; time < 80; ++time) run_any(random, known, moves);
  }
}

TEST_CASE("staged plans are remembered") {
  int staged = 0;
  for (const unsigned seed : test::seeds(40, 10)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    std::vector<test::moves> known;
    for (int i = 0; i < 3; ++i) {
      known.push_back(test::with_buffers(draw_permutation(random, 1, 7), 1));
      staged_move blocks;
      plan_unbounded(blocks, known.back().layout, 1);
      if (!blocks.is_empty() && blocks.is_staged) ++staged;
    }
    remembered_moves moves;
    for (int time = 0; time < 6; ++time) run_any(random, known, moves);
  }
  CHECK(staged > 0);
}

}  // namespace
}  // namespace reblock
