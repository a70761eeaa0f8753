// SPDX-License-Identifier: BSD-3-Clause
//
// Planes that windows shift, with every instruction set of this processor: zeros, values or repeated elements are outside of
// the image. Sources begin and end with their elements, so that a sanitizer sees what is read beyond them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/moves/plane_move.hpp>
#include <reblock/padding_mode.hpp>

#include "../../effort.hpp"
#include "../drawn_ways.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// Windows with "same" padding, over images of any number of channels.
layout same_windows(std::int64_t channels, std::int64_t height, std::int64_t width, std::int64_t padding,
                    std::int64_t element_size, padding_mode mode = padding_mode::constant) {
  return test::square_windows(channels, height, width, 2 * padding + 1, 1, padding, element_size, mode);
}

TEST_CASE(
    "planes that windows shift are moved as runs, with any padding mode, and nothing is read beyond them") {
  int planned = 0;
  int cut = 0;
  for (const unsigned seed : test::seeds(800, 80)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = test::draw_element_size(random);
    // planes of a page or less and larger ones are walked in different orders; padding is often wider than the image
    const std::int64_t side = draw(random, 0, 4) == 0 ? 70 : draw(random, 0, 1) == 0 ? 20 : 9;
    layout l = same_windows(draw(random, 1, 9), draw(random, 1, side), draw(random, 1, side),
                            draw(random, 1, side == 70 ? 1 : 4), element_size,
                            static_cast<padding_mode>(draw(random, 0, 4)));
    if (test::flip_coin(random)) l.axes[0].source_stride = -l.axes[0].source_stride;
    if (draw(random, 0, 4) == 0) l.whole_bytes = std::int64_t{1} << 40;  // past the caches
    planned += test::check_way<plane_move>(random, test::without_margins(l, element_size), cut);
  }
  CHECK(planned >= test::enough(400));
  CHECK(cut >= test::enough(400));
}

TEST_CASE("planes find a value outside, an element of any size") {
  for (const unsigned seed : test::seeds(200, 20)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = draw(random, 1, 16);
    const layout l = same_windows(draw(random, 1, 5), draw(random, 1, 12), draw(random, 1, 40),
                                  draw(random, 1, 9), element_size);
    const auto bytes = static_cast<std::size_t>(total_bytes(l, element_size));
    std::array<std::byte, most_padding_bytes> value;
    for (std::byte& byte : value) byte = static_cast<std::byte>(draw(random, 0, 2));
    // no byte inside is 0
    const std::vector<std::byte> source(static_cast<std::size_t>(l.axes[0].extent * l.axes[0].source_stride),
                                        std::byte{9});
    for (const instruction_set set : test::all_instruction_sets()) {
      layout simple;
      simple.take(l);
      const std::int64_t size = simplify(simple, element_size);
      plane_move planes;
      REQUIRE(planes.plan(simple, size, set) < never);
      std::vector<std::byte> expected(bytes);
      planes.run(source.data(), expected.data());
      for (std::size_t i = 0; i < bytes; ++i) {
        if (expected[i] == std::byte{0}) expected[i] = value[i % static_cast<std::size_t>(element_size)];
      }
      planes.set_outside(value, element_size);
      std::vector<std::byte> result(bytes);
      planes.run(source.data(), result.data());
      CHECK(result == expected);
    }
  }
}

TEST_CASE("padding that lists of rows and columns have no room for is left to other ways") {
  const auto is_planned = [&](std::int64_t padding) {
    plane_move planes;
    layout l = same_windows(1, 50, 50, padding, 1, padding_mode::edge);
    simplify(l, 1);
    return planes.plan(l, 1, detect_instruction_set()) < never;
  };
  CHECK(is_planned(32));
  CHECK_FALSE(is_planned(33));
}

TEST_CASE("small planes of a large output, and rows that go past the caches") {
  std::mt19937 random(1);
  int cut = 0;
  CHECK(test::check_way<plane_move>(random, test::without_margins(same_windows(130, 31, 32, 1, 4), 4), cut) >
        0);
  layout streamed = same_windows(2, 7, 96, 1, 4);
  streamed.whole_bytes = std::int64_t{1} << 40;
  CHECK(test::check_way<plane_move>(random, test::without_margins(streamed, 4), cut) > 0);
}

TEST_CASE("a batch is walked, whether it makes one axis with the channels or not") {
  for (const std::int64_t gap : {0, 64}) {
    INFO("gap ", gap);
    std::mt19937 random(1);
    layout l = same_windows(6, 9, 11, 1, 4);
    l.add({5, 6 * 9 * 11 * 4, 6 * 9 * 9 * 11 * 4 + gap});
    int cut = 0;
    CHECK(test::check_way<plane_move>(random, test::without_margins(l, 4), cut) > 0);
  }
}

TEST_CASE("volumes have planes too, some of them outside") {
  int planned = 0;
  int cut = 0;
  for (const unsigned seed : test::seeds(60, 20)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const auto mode = static_cast<padding_mode>(draw(random, 0, 4));
    const test::drawn_windows volume{
        {1, draw(random, 1, 6), draw(random, 2, 6), draw(random, 2, 9), draw(random, 2, 9)},
        {.sizes = 3, .start_padding = 1, .end_padding = 1, .padding_mode = mode},
        1};
    const auto geometry = window_geometry::make(volume.image, volume.window, 1, 4, "input");
    REQUIRE(static_cast<bool>(geometry));
    axis_values strides = volume.image;
    std::int64_t stride = 4;
    for (std::size_t i = strides.size(); i-- > 0; stride *= volume.image[i]) strides[i] = stride;
    const axis_values columns = geometry->columns();
    const layout l =
        geometry->padded_moves(strides, {columns[1] * columns[2] * 4, columns[2] * 4, 4}, 4).moves;
    planned += test::check_way<plane_move>(random, test::without_margins(l, 4), cut);
  }
  CHECK(planned >= test::enough(50));
}

TEST_CASE("planes of different sizes on both sides are not moved as runs") {
  plane_move planes;
  const auto is_planned = [&](layout l) {
    simplify(l, 4);
    return planes.plan(l, 4, detect_instruction_set()) < never;
  };
  CHECK(is_planned(same_windows(4, 9, 9, 1, 4)));
  CHECK_FALSE(is_planned(test::square_windows(4, 9, 9, 3, 2, 1, 4)));
  CHECK_FALSE(is_planned(test::square_windows(4, 9, 9, 3, 1, 2, 4)));
  CHECK_FALSE(is_planned(test::square_windows(4, 9, 9, 3, 1, 0, 4)));
}

}  // namespace
}  // namespace reblock
