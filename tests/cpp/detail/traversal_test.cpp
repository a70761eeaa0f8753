// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/traversal.hpp>

#include "../draw.hpp"
#include "../effort.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

using offsets = std::pair<std::int64_t, std::int64_t>;

std::vector<offsets> visited(const std::vector<cut_axis>& axes, std::int64_t source,
                             std::int64_t destination) {
  std::vector<offsets> result;
  walk(std::span<const cut_axis>(axes), source, destination,
       [&](std::int64_t from, std::int64_t to) { result.emplace_back(from, to); });
  return result;
}

/// The first index of each piece.
std::vector<std::int64_t> pieces_of(const cut_axis& axis) {
  std::vector<std::int64_t> result;
  std::int64_t next = 0;
  for (; next + axis.at_once <= axis.extent; next += axis.at_once) result.push_back(next);
  if (next < axis.extent) result.push_back(axis.extent - axis.at_once);
  return result;
}

cut_axis draw_axis(std::mt19937& random) {
  const std::int64_t extent = draw(random, 1, 7);
  const bool is_whole = draw(random, 0, 2) == 0;
  return {{extent, draw(random, -99, 99), draw(random, -99, 99)},
          is_whole ? extent : draw(random, 1, extent)};
}

TEST_CASE("an axis is cut into pieces that cover it, and only the last piece overlaps") {
  for (std::int64_t extent = 1; extent <= 20; ++extent) {
    for (std::int64_t at_once = 1; at_once <= extent; ++at_once) {
      CAPTURE(extent);
      CAPTURE(at_once);
      const cut_axis axis({extent, 1, 1}, at_once);
      std::vector<std::int64_t> firsts;
      for (std::int64_t i = 0; i < axis.pieces(); ++i) firsts.push_back(axis.piece(i));
      CHECK(firsts == pieces_of(axis));
    }
  }
}

TEST_CASE("a walk visits each piece of all axes once, the last axis innermost") {
  int overlapping = 0;
  int single = 0;
  for (const unsigned seed : test::seeds(2000, 200)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    std::vector<cut_axis> axes;
    for (std::int64_t rank = draw(random, 0, 4); rank > 0; --rank) axes.push_back(draw_axis(random));
    const offsets first{draw(random, -999, 999), draw(random, -999, 999)};

    std::vector<offsets> expected{first};
    for (const cut_axis& axis : axes) {
      std::vector<offsets> deeper;
      for (const auto& [source, destination] : expected) {
        for (const std::int64_t index : pieces_of(axis)) {
          deeper.emplace_back(source + index * axis.source_stride,
                              destination + index * axis.destination_stride);
        }
      }
      expected = std::move(deeper);
      overlapping += axis.extent % axis.at_once != 0 ? 1 : 0;
      single += axis.extent == axis.at_once ? 1 : 0;
    }
    CHECK(visited(axes, first.first, first.second) == expected);
  }
  CHECK(overlapping >= test::enough(1000));
  CHECK(single >= test::enough(1000));
}

TEST_CASE("a walk without axes, or along axes of one piece, visits one place") {
  const cut_axis whole({6, 10, 100}, 6);
  const cut_axis single({1, 10, 100}, 1);
  const std::vector<offsets> place{{3, 5}};
  CHECK(visited({}, 3, 5) == place);
  CHECK(visited({whole}, 3, 5) == place);
  CHECK(visited({single, whole, whole}, 3, 5) == place);
  const std::vector<offsets> both{{3, 5}, {13, 105}};
  CHECK(visited({whole, cut_axis({2, 10, 100}, 1), single}, 3, 5) == both);
}

}  // namespace
}  // namespace reblock
