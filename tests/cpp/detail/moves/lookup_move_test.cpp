// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts that are moved by tables of bytes, with every instruction set of this processor. Sources end with their elements,
// so that a sanitizer sees a read beyond them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/moves/lookup_move.hpp>
#include <reblock/detail/moves/pattern.hpp>

#include "../../effort.hpp"
#include "../drawn_ways.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

bool has_lookups() { return detect_instruction_set() != instruction_set::baseline; }

/// Checks layouts that `draw_moves(random)` draws, at least `least` of them planned and `least_cut` cut into parts.
template <class Draw>
void check_drawn(unsigned seeds, unsigned quick, int least, int least_cut, const Draw& draw_moves) {
  int planned = 0;
  int cut = 0;
  for (const unsigned seed : test::seeds(seeds, quick)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    planned += test::check_way<lookup_move>(random, draw_moves(random), cut);
  }
  CHECK((planned >= test::enough(least) || !has_lookups()));
  CHECK((cut >= test::enough(least_cut) || !has_lookups()));
}

TEST_CASE("a pattern moves what its layout describes, whatever repeats") {
  check_drawn(400, 40, 100, 100, [](std::mt19937& random) { return test::draw_dense(random, 2048); });
}

/// Small images of bytes whose channels become blocks of pixels. A table for all bytes of an image has many windows.
layout blocks_of_images(std::int64_t images, std::int64_t height, std::int64_t width, std::int64_t block) {
  const std::int64_t image = height * width * block * block;
  layout l;
  l.add({images, image, image});
  l.add({height, width, width * block * block});
  l.add({block, height * width * block, width * block});
  l.add({width, 1, block});
  l.add({block, height * width, 1});
  return l;
}

TEST_CASE("a pattern whose table would have no room is made smaller") {
  layout l = blocks_of_images(8, 3, 5, 7);
  l.source_run = total_bytes(l, 1);
  for (const instruction_set set : test::all_instruction_sets()) {
    INFO("instruction set ", std::string(name_of(set)));
    CHECK((lookup_move{}.plan(l, 1, set) < never) == (lookup_width(set) != 0));
  }
  check_drawn(60, 20, 18, 5, [](std::mt19937& random) {
    test::moves drawn = test::in_tight_buffers(
        blocks_of_images(draw(random, 2, 60), draw(random, 3, 4), draw(random, 5, 6), draw(random, 5, 7)), 1);
    drawn.layout.source_run = static_cast<std::int64_t>(drawn.source_bytes);
    return drawn;
  });
}

/// A row of pixels, or rows of them, of which one or two axes run backwards in the source.
layout draw_mirrored(std::mt19937& random, std::int64_t element_size) {
  const std::int64_t values = draw(random, 1, 5);
  const std::int64_t pixels = draw(random, 1, 400);
  const std::int64_t rows = draw(random, 1, 4);
  layout l;
  l.add({rows, values * pixels * element_size, values * pixels * element_size});
  l.add({pixels, values * element_size, values * element_size});
  l.add({values, element_size, element_size});
  const std::int64_t turned = draw(random, 1, 7);
  for (std::size_t i = 0; i < 3; ++i) {
    if ((turned >> i & 1) != 0) l.axes[i].source_stride = -l.axes[i].source_stride;
  }
  return l;
}

TEST_CASE("a pattern reads mirrored rows") {
  check_drawn(400, 60, 100, 100, [](std::mt19937& random) {
    const std::int64_t element_size = test::draw_element_size(random);
    test::moves drawn = test::in_tight_buffers(draw_mirrored(random, element_size), element_size);
    drawn.layout.source_run = static_cast<std::int64_t>(drawn.source_bytes);
    return drawn;
  });
}

TEST_CASE("a pattern with all bounds in it is zero outside") {
  check_drawn(400, 40, 100, 20, [](std::mt19937& random) {
    const std::int64_t size = draw(random, 1, 4);
    const std::int64_t element_size = test::draw_element_size(random);
    const layout l = test::square_windows(draw(random, 1, 96), draw(random, size, 8), draw(random, size, 8),
                                          size, draw(random, 1, 3), draw(random, 0, size), element_size);
    return test::without_margins(l, element_size);
  });
}

TEST_CASE("a pattern finds elements inside wherever its windows are outside") {
  check_drawn(400, 40, 100, 20, [](std::mt19937& random) {
    const std::int64_t size = draw(random, 1, 4);
    const std::int64_t padding = draw(random, 0, 9);
    const std::int64_t element_size = test::draw_element_size(random);
    const auto extent = [&] { return draw(random, std::max<std::int64_t>(1, size - 2 * padding), 8); };
    const auto mode = static_cast<padding_mode>(draw(random, 1, 4));
    const layout l = test::square_windows(draw(random, 1, 96), extent(), extent(), size, draw(random, 1, 3),
                                          padding, element_size, mode);
    return test::without_margins(l, element_size);
  });
}

TEST_CASE("a pattern finds a value outside, an element that divides a register") {
  int planned = 0;
  for (const unsigned seed : test::seeds(300, 40)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t window = draw(random, 1, 4);
    const std::int64_t element_size = std::int64_t{1} << draw(random, 0, 4);
    const layout l =
        test::square_windows(draw(random, 1, 96), draw(random, window, 8), draw(random, window, 8), window,
                             draw(random, 1, 3), draw(random, 1, window), element_size);
    std::array<std::byte, 16> value;
    for (std::byte& byte : value) byte = static_cast<std::byte>(draw(random, 0, 255));
    // no byte inside is 0
    const std::vector<std::byte> source(static_cast<std::size_t>(l.axes[0].extent * l.axes[0].source_stride),
                                        std::byte{9});
    const auto bytes = static_cast<std::size_t>(total_bytes(l, element_size));
    for (const instruction_set set : test::all_instruction_sets()) {
      layout simple;
      simple.take(l);
      const std::int64_t size = simplify(simple, element_size);
      lookup_move lookups;
      if (lookups.plan(simple, size, set) == never) continue;
      ++planned;
      std::vector<std::byte> expected(bytes);
      lookups.run(source.data(), expected.data());
      for (std::size_t i = 0; i < bytes; ++i) {
        if (expected[i] == std::byte{0}) expected[i] = value[i % static_cast<std::size_t>(element_size)];
      }
      lookups.set_outside(value.data(), element_size);
      std::vector<std::byte> result(bytes);
      lookups.run(source.data(), result.data());
      CHECK(result == expected);
    }
  }
  CHECK((planned >= test::enough(100) || !has_lookups()));
}

TEST_CASE("only elements that divide a register are found outside") {
  for (const std::int64_t size : {1, 2, 4, 8, 16}) CHECK(lookup_move::may_set_outside(size));
  for (const std::int64_t size : {3, 6, 12, 24, 32}) CHECK_FALSE(lookup_move::may_set_outside(size));
}

TEST_CASE("a layout whose bounds no pattern has is not looked up") {
  const layout l = test::square_windows(8, 60, 60, 3, 2, 1, 4);
  lookup_move lookups;
  CHECK(lookups.plan(l, 4, detect_instruction_set()) == never);
}

TEST_CASE("rows of words that begin at any byte are moved, as windows with a stride of one element are") {
  check_drawn(200, 40, 40, 0, [](std::mt19937& random) {
    constexpr std::int64_t sizes[] = {1, 2, 3, 4};
    const std::int64_t element_size = sizes[draw(random, 0, 3)];
    const std::int64_t row = 4 * draw(random, 1, 8);  // elements, words together
    const std::int64_t window = draw(random, 2, 5);   // elements
    const std::int64_t from = row + window - 1 + draw(random, 0, 2);
    const std::int64_t rows = draw(random, 6, 20);
    const std::int64_t planes = 4096 / (row * rows * element_size) + draw(random, 4, 8);
    layout l;
    std::int64_t stride = element_size;
    l.add({row, element_size, stride});
    l.add({rows, from * element_size, stride *= row});
    l.add({window, element_size, stride *= rows});
    l.add({planes, from * rows * element_size, stride *= window});
    return test::without_margins(l, element_size);
  });
}

TEST_CASE("tables for registers of 32 bytes cost less than tables for registers of 16") {
  for (const std::int64_t element_size : {1, 2, 4, 8}) {
    INFO("element size ", element_size);
    layout moves;  // two pixels of three channels become three rows
    moves.add({16, 6 * element_size, 6 * element_size});
    moves.add({3, element_size, 2 * element_size});
    moves.add({2, 3 * element_size, element_size});
    moves.source_run = 16 * 6 * element_size;
    const std::array<index_range, 3> whole = {index_range{0, 16}, {0, 3}, {0, 2}};
    const auto narrow = std::make_unique<pattern>();
    const auto wide = std::make_unique<pattern>();
    REQUIRE(narrow->make(16, moves, 0, whole, element_size));
    REQUIRE(wide->make(32, moves, 0, whole, element_size));
    CHECK(wide->cost() < narrow->cost());
  }
}

TEST_CASE("rows whose lines evict each other cost more than the same rows at other distances") {
  if (!has_lookups()) return;
  const auto cost = [](std::int64_t columns) {
    layout l;
    l.source_run = 300 * columns * 4;
    l.add({columns, 4, 300 * 4});
    l.add({300, columns * 4, 4});
    lookup_move lookups;
    return lookups.plan(l, 4, detect_instruction_set()) / static_cast<double>(columns);
  };
  CHECK(cost(512) > 1.5 * cost(500));
  CHECK(cost(1024) > 1.5 * cost(1000));
  CHECK(cost(500) < 1.1 * cost(1000));
}

TEST_CASE("rows evict each other's lines if a call has several of them and several registers read a line") {
  if (detect_instruction_set() < instruction_set::avx512) return;
  const auto cost = [](std::int64_t apart) {
    layout l;  // seven rows of nine numbers become columns
    l.source_run = 49 * apart;
    l.add({512, 72, 3528});
    l.add({7, 7 * apart, 504});
    l.add({9, 8, 56});
    l.add({7, apart, 8});
    lookup_move lookups;
    return lookups.plan(l, 8, instruction_set::avx512);
  };
  REQUIRE(cost(36864) < never);
  CHECK(cost(36864) > 1.5 * cost(36864 + 320));
}

TEST_CASE("siblings read the rest of a line together, so lines need not stay in a cache") {
  if (detect_instruction_set() < instruction_set::avx512) return;  // the others have no siblings
  const auto cost = [](std::int64_t apart) {
    layout l;  // complex pixels, channels last, become channels: two neighbours have a line
    l.source_run = 140 * apart;
    l.add({128, 64, 8960});
    l.add({14, 10 * apart, 640});
    l.add({2, 32, 320});
    l.add({10, apart, 32});
    lookup_move lookups;
    return lookups.plan(l, 32, instruction_set::avx512);
  };
  REQUIRE(cost(8192) < never);
  CHECK(cost(8192) == cost(8192 + 64));
}

TEST_CASE("a call costs more for each register that has a table") {
  if (!has_lookups()) return;
  const instruction_set set = detect_instruction_set();
  const auto cost = [set](std::int64_t rows) {
    layout l;  // rows of 25 pixels become three rows of 100 bytes
    l.source_run = rows * 900;
    l.add({rows, 900, 300});
    l.add({3, 4, 100});
    l.add({25, 36, 4});
    lookup_move lookups;
    return lookups.plan(l, 4, set);
  };
  REQUIRE(cost(16) < never);
  const double call = 2 * cost(8) - cost(16);  // both make one call
  const mover_costs costs = mover_costs::of(set);
  CHECK(call > costs.lookup_call + 4.5 * costs.lookup_register);  // at least five registers of 64 bytes
}

TEST_CASE("instruction sets have names and widths") {
  CHECK(name_of(instruction_set::baseline) == "baseline");
  CHECK(lookup_width(instruction_set::baseline) == 0);
  CHECK(lookup_width(instruction_set::ssse3) == 16);
  CHECK(lookup_width(instruction_set::avx2) == (has_halved_registers() ? 16 : avx2_lookup_width));
  CHECK(lookup_width(instruction_set::avx512) == 64);
  CHECK(usable_instruction_set() <= detect_instruction_set());
}

}  // namespace
}  // namespace reblock
