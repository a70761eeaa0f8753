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
layout draw_permutation(std::mt19937& random, std::int64_t element_size) {
  const auto axes = static_cast<std::size_t>(draw(random, 1, 4));
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

TEST_CASE("layouts are moved right, whether their plans are remembered or forgotten") {
  for (const unsigned seed : test::seeds(500, 50)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    std::vector<test::moves> known;
    for (int i = 0; i < 7; ++i) {
      const std::int64_t element_size = std::int64_t{1} << draw(random, 0, 4);
      known.push_back(test::with_buffers(draw_permutation(random, element_size), element_size));
    }
    remembered_moves<3> moves;
    for (int time = 0; time < 40; ++time) {
      test::moves chosen = known[static_cast<std::size_t>(draw(random, 0, 6))];
      const std::int64_t from = draw(random, 0, 64);
      const std::int64_t to = draw(random, 0, 64);
      chosen.layout.source_offset += from;
      chosen.layout.destination_offset += to;
      const auto source =
          test::draw_bytes(random, chosen.source_bytes + static_cast<std::size_t>(from) + readable_slack);
      const auto before = test::draw_bytes(random, chosen.destination_bytes + static_cast<std::size_t>(to));
      const buffered_side sides[] = {buffered_side::none, buffered_side::destination};
      std::vector<std::byte> destination = before;
      moves.run(chosen.layout, chosen.element_size, sides[draw(random, 0, 1)], source.data(),
                destination.data());
      CHECK(destination == chosen.expected(source, before, false));
    }
  }
}

}  // namespace
}  // namespace reblock
