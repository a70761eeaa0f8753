// SPDX-License-Identifier: BSD-3-Clause
//
// The lines of blocks drawn at random are compared with the places of their elements.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/costs.hpp>
#include <reblock/detail/moves/block_lines.hpp>
#include <reblock/detail/traversal.hpp>

#include "../../draw.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

std::vector<std::int64_t> lines_of(const block_lines& lines) {
  std::vector<std::int64_t> offsets;
  lines.for_each_line([&](std::int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

/// Lists the places of a block's elements, axis by axis.
std::vector<std::int64_t> places_of(std::span<const cut_axis> axes) {
  std::vector<std::int64_t> places{0};
  for (const cut_axis& axis : axes) {
    std::vector<std::int64_t> next;
    for (const std::int64_t place : places) {
      for (std::int64_t i = 0; i < axis.at_once; ++i) next.push_back(place + i * axis.source_stride);
    }
    places = next;
  }
  return places;
}

bool is_asked_for(const std::vector<std::int64_t>& lines, std::int64_t place) {
  for (const std::int64_t line : lines) {
    if (line <= place && place < line + cache_sizes::line) return true;
  }
  return false;
}

TEST_CASE("each element of a block is in a line that is asked for, and no line is far from all elements") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = std::int64_t{1} << draw(random, 0, 4);
    std::vector<cut_axis> axes;
    std::int64_t stride = element_size;
    for (std::int64_t rank = draw(random, 1, 4); rank > 0; --rank) {
      const std::int64_t at_once = draw(random, 1, 5);
      const std::int64_t extent = at_once * draw(random, 1, 3);
      axes.push_back({{extent, draw(random, 0, 3) == 0 ? -stride : stride, 0}, at_once});
      stride *= draw(random, 0, 1) == 0 ? extent : extent + 3;
    }
    std::shuffle(axes.begin(), axes.end(), random);
    const auto lines = lines_of(block_lines(axes, element_size, &tile_axis::source_stride));
    const auto places = places_of(axes);
    if (lines.empty()) continue;  // they are too many
    for (const std::int64_t place : places) CHECK(is_asked_for(lines, place));
    CHECK(lines.size() <= places.size());
  }
}

TEST_CASE("contiguous axes are one run") {
  const std::array<cut_axis, 2> axes{{{{8, 64, 0}, 4}, {{16, 4, 0}, 16}}};
  const block_lines lines(axes, 4, &tile_axis::source_stride);
  CHECK(lines_of(lines) == std::vector<std::int64_t>{0, 64, 128, 192});
  CHECK(!lines.are_predicted());
}

TEST_CASE("lines of runs that are longer than pages are predicted") {
  const std::array<cut_axis, 1> axes{{{{4096, 4, 0}, 2048}}};
  CHECK(block_lines(axes, 4, &tile_axis::source_stride).are_predicted());
}

TEST_CASE("no line is asked for if there are very many") {
  const auto rows = [](std::int64_t at_once) {
    const std::array<cut_axis, 2> axes{{{{2, 1 << 20, 0}, 2}, {{1024, 1024, 0}, at_once}}};
    return lines_of(block_lines(axes, 4, &tile_axis::source_stride)).size();
  };
  CHECK(rows(256) == 512);
  CHECK(rows(257) == 0);
}

}  // namespace
}  // namespace reblock
