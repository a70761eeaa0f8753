// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/plan_moves.hpp>
#include <reblock/detail/traversal.hpp>

#include "../effort.hpp"
#include "layout_oracle.hpp"
#include "planning.hpp"

namespace reblock {
namespace {

using namespace detail;

/// Checks every byte of the destination: copied inside, zero outside, left alone elsewhere.
void check_moves(const test::moves& moves, std::mt19937& random) {
  const auto source = test::draw_bytes(random, moves.source_bytes);
  const auto before = test::draw_bytes(random, moves.destination_bytes);
  const plan p = test::plan_of(moves.layout, moves.element_size);
  auto filled = before;
  traversal(p, source.data(), filled.data()).run();
  CHECK(filled == moves.expected(source, before, true));
}

TEST_CASE("a bound splits inside from outside for every offset, extent, step and direction") {
  std::mt19937 random(1);
  oracle::for_each_index({5, 9, 3, 3, 3, 3, 8}, [&](const axis_values& i) {
    const axis_bound bound{i[1] - 5, i[0]};
    const std::int64_t offsets = 1 + i[2];
    const std::int64_t blocks = 1 + 2 * i[3];
    const std::int64_t dilation = 1 + i[4];
    const std::int64_t stride = 1 + i[5];
    const bool blocks_outside = (i[6] & 1) != 0;
    const std::int64_t sign = (i[6] & 2) != 0 ? -1 : 1;
    const std::int64_t other_sign = (i[6] & 4) != 0 ? -1 : 1;
    INFO("case ", i[0], " ", i[1], " ", i[2], " ", i[3], " ", i[4], " ", i[5], " ", i[6]);
    layout l;
    l.add({offsets, dilation * 4, sign * (blocks_outside ? 4 : 4 * blocks), 0, dilation});
    l.add({blocks, stride * 4, other_sign * (blocks_outside ? 4 * offsets : 4), 0, stride});
    l.bound_count = 1;
    l.bounds[0] = bound;
    check_moves(test::with_buffers(l, 4), random);
  });
}

TEST_CASE("inside, outside and between under several bounds") {
  for (const unsigned seed : test::seeds(300, 100)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    check_moves(test::draw_moves(random, 1 + seed % 3), random);
  }
}

TEST_CASE("where nothing lies inside, everything outside is filled") {
  std::mt19937 random(1);
  layout l;
  l.add({3, 4, 40, 0, 1});
  l.add({2, 4, 16, 0, 1});
  l.add({2, 0, 4});
  l.bound_count = 1;
  for (const axis_bound bound : {axis_bound{0, 0}, axis_bound{-9, 4}, axis_bound{7, 4}}) {
    l.bounds[0] = bound;
    const test::moves moves = test::with_buffers(l, 4);
    check_moves(moves, random);
    std::vector<std::byte> filled(moves.destination_bytes, std::byte{1});
    const std::vector<std::byte> source(moves.source_bytes);
    traversal(test::plan_of(moves.layout, 4), source.data(), filled.data()).run();
    CHECK(std::count(filled.begin(), filled.end(), std::byte{0}) == 3 * 2 * 2 * 4);
  }
}

}  // namespace
}  // namespace reblock
