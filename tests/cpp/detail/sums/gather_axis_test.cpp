// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/sums/gather_axis.hpp>

#include "../../draw.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// The window offset and the block of a term.
struct origin {
  std::int64_t offset;
  std::int64_t block;
  friend bool operator==(const origin&, const origin&) = default;
};
/// Those of each position that has terms, offsets ascending.
using origins = std::map<std::int64_t, std::vector<origin>>;

origins by_definition(const gather_axis& axis, std::int64_t stride) {
  origins found;
  for (std::int64_t offset = 0; offset < axis.size; ++offset) {
    for (std::int64_t block = 0; block < axis.blocks; ++block) {
      const std::int64_t position = block * stride + offset * axis.dilation - axis.padding;
      if (position >= 0 && position < axis.extent) found[position].push_back({offset, block});
    }
  }
  return found;
}

/// By groups of phases and segments of places; checks that no position is there twice.
origins by_segments(const gather_axis& axis) {
  origins found;
  std::map<std::int64_t, int> visits;
  phase_group g;
  for (std::int64_t first = 0; first < axis.summed_phases(); first += g.count) {
    g = axis.group_at(first);
    REQUIRE(g.count >= 1);
    segment s;
    for (std::int64_t begin = 0; begin < g.places; begin = s.end) {
      s = axis.segment_at(g, begin, g.places);
      REQUIRE(s.begin == begin);
      REQUIRE(s.end > begin);
      REQUIRE(s.end <= g.places);
      for (std::int64_t i = 0; i < g.count; ++i) {
        for (std::int64_t place = s.begin; place < s.end; ++place) {
          const std::int64_t position = place * axis.phases + g.number + i * g.step;
          CHECK(++visits[position] == 1);
          CHECK(position < axis.extent);
          for (std::int64_t t = s.first_term; t < s.first_term + s.terms(); ++t) {
            found[position].push_back({g.first_offset + i + t * g.cycle, place - g.shift - t * g.advance});
          }
        }
      }
    }
  }
  return found;
}

TEST_CASE("segments of phases have the terms that the definition gives each position") {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t stride = draw(random, 1, 7);
    gather_axis axis;
    axis.size = draw(random, 1, 9);
    axis.blocks = draw(random, 1, 9);
    axis.dilation = draw(random, 0, 1) == 0 ? 1 : draw(random, 1, 6);
    axis.padding = draw(random, 0, 12);
    axis.extent = draw(random, 1, 40);
    axis.phases = axis.blocks > 1 ? stride : 1;
    CHECK(by_segments(axis) == by_definition(axis, stride));
  }
}

TEST_CASE("windows and paddings that reach far beyond the image") {
  constexpr std::int64_t far = std::int64_t{1} << 61;
  for (const std::int64_t stride : {std::int64_t{1}, far - 1, far}) {
    for (const std::int64_t dilation : {std::int64_t{1}, far - 1, far}) {
      for (const std::int64_t padding : {std::int64_t{0}, far - 1, far, 2 * far, 3 * far}) {
        for (const std::int64_t blocks : {1, 2}) {
          INFO("stride ", stride, " dilation ", dilation, " padding ", padding, " blocks ", blocks);
          gather_axis axis;
          axis.size = 3;
          axis.blocks = blocks;
          axis.phases = blocks > 1 ? stride : 1;
          axis.dilation = dilation;
          axis.padding = padding;
          axis.extent = 3;
          auto found = by_segments(axis);
          std::erase_if(found, [](const auto& position) { return position.second.empty(); });
          CHECK(found == by_definition(axis, stride));
        }
      }
    }
  }
}

TEST_CASE("neighbouring phases are one group as long as they are alike") {
  gather_axis axis;
  axis.size = 16;
  axis.blocks = 27;
  axis.phases = 8;
  axis.extent = 224;
  CHECK(axis.summed_phases() == 8);
  CHECK(axis.group_at(0).count == 8);
  axis.padding = 3;  // offsets 0 to 2 add to the phases 5 to 7 of the place before
  CHECK(axis.group_at(0).number == 5);
  CHECK(axis.group_at(0).count == 3);
  CHECK(axis.group_at(3).number == 0);
  CHECK(axis.group_at(3).count == 5);
}

TEST_CASE("phases that a dilation leads to are one group as long as they are alike") {
  gather_axis axis;
  axis.size = 16;
  axis.blocks = 27;
  axis.phases = 8;
  axis.dilation = 2;
  axis.extent = 224;
  CHECK(axis.summed_phases() == 4);  // 0, 2, 4, 6
  CHECK(axis.group_at(0).count == 4);
  CHECK(axis.group_at(0).step == 2);
  axis.extent = 221;  // phases 0, 2 and 4 have one more place than phase 6
  CHECK(axis.group_at(0).count == 3);
  CHECK(axis.group_at(3).number == 6);
  CHECK(axis.group_at(3).count == 1);
}

}  // namespace
}  // namespace reblock
