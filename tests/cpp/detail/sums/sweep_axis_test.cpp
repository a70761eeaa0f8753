// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/sums/sweep_axis.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::flip_coin;

sweep_axis draw_sweep_axis(std::mt19937& random) {
  const std::int64_t dilation = flip_coin(random) ? 1 : draw(random, 2, 7);
  const layout_axis offsets(draw(random, 1, 12), 5, 0, 0, dilation);
  const layout_axis windows(draw(random, 1, 9), 70, 0, 0, draw(random, 1, 9));
  // a negative padding: windows begin inside the image
  sweep_axis axis = sweep_axis::of(offsets, windows, draw(random, -9, 20), draw(random, 1, 40));
  axis.is_apart = flip_coin(random);
  return axis;
}

/// The term of an offset of a window.
struct swept_term {
  std::int64_t window;
  std::int64_t offset;
  std::int64_t position;
};

std::vector<swept_term> all_terms(const sweep_axis& axis) {
  std::vector<swept_term> terms;
  for (std::int64_t l = 0; l < axis.windows; ++l) {
    for (std::int64_t o = 0; o < axis.offsets; ++o) {
      terms.push_back({l, o, l * axis.stride + o * axis.dilation - axis.padding});
    }
  }
  return terms;
}

TEST_CASE("the terms of a plane go to different positions, those of the same position to different planes") {
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const sweep_axis axis = draw_sweep_axis(random);
    std::set<std::pair<std::int64_t, std::int64_t>> met;
    std::set<std::int64_t> positions;
    for (const swept_term& t : all_terms(axis)) {
      const std::int64_t plane = t.offset / axis.cycle;
      const std::int64_t rest = t.offset % axis.cycle;
      REQUIRE(plane < axis.planes);
      CHECK(t.position ==
            (t.window + plane * axis.advance) * axis.stride + rest * axis.dilation - axis.padding);
      CHECK(met.insert({plane, t.position}).second);
      positions.insert(t.position);
    }
    CHECK((axis.overlaps() || positions.size() == met.size()));
    CHECK(axis.last_cycle() >= 1);
    CHECK(axis.last_cycle() <= axis.cycle);
    std::int64_t offsets = 0;
    for (std::int64_t r = 0; r < axis.cycle; ++r) offsets += axis.planes_of(r);
    CHECK(offsets == axis.offsets);
  }
}

TEST_CASE("the places of an axis are those that have positions of the image") {
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const sweep_axis axis = draw_sweep_axis(random);
    std::set<std::int64_t> places;
    for (std::int64_t s = 0; s < axis.extent; ++s) {
      places.insert(floor_divide(s + axis.padding, axis.stride));
    }
    CHECK(axis.first_place() == *places.begin());
    CHECK(axis.places() == static_cast<std::int64_t>(places.size()));
  }
}

TEST_CASE("windows at positions are those that have terms there") {
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const sweep_axis axis = draw_sweep_axis(random);
    const std::int64_t begin = draw(random, 0, axis.extent - 1);
    const index_range positions{begin, draw(random, begin + 1, axis.extent)};
    const auto is_there = [&](const swept_term& t) {
      return positions.begin <= t.position && t.position < positions.end;
    };
    const index_range any = axis.windows_at({0, axis.offsets}, positions);
    std::set<std::int64_t> reached;
    for (const swept_term& t : all_terms(axis)) {
      const index_range windows = axis.windows_at(t.offset, positions);
      CHECK(is_there(t) == (windows.begin <= t.window && t.window < windows.end));
      if (!is_there(t)) continue;
      CHECK(any.begin <= t.window);
      CHECK(t.window < any.end);
      reached.insert(t.position);
    }
    if (axis.covers_all() && !axis.overlaps()) {
      CHECK(static_cast<std::int64_t>(reached.size()) == positions.end - positions.begin);
    }
  }
}

TEST_CASE("rows of planes have the windows that the terms of their places need") {
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const sweep_axis axis = draw_sweep_axis(random);
    const std::int64_t first = axis.first_place() + draw(random, 0, axis.places() - 1);
    const std::int64_t count = draw(random, 1, axis.first_place() + axis.places() - first);
    const std::int64_t origin = first - axis.halo;
    const index_range planes = axis.planes_with_terms(first, count);
    CHECK(0 <= planes.begin);
    CHECK(planes.begin <= planes.end);
    CHECK(planes.end <= axis.planes);
    const auto width = static_cast<std::int64_t>(axis.width(count));
    for (const swept_term& t : all_terms(axis)) {
      const std::int64_t place = floor_divide(t.position + axis.padding, axis.stride);
      const std::int64_t rest = t.offset % axis.cycle;
      if (origin <= t.window && t.window < first + count) {  // it is brought into the row
        const std::int64_t element =
            axis.is_apart ? t.window - origin : (t.window - origin) * axis.stride + rest * axis.dilation;
        CHECK(0 <= element);
        CHECK(element < width);
      }
      if (place < first || place >= first + count) continue;
      CHECK(origin <= t.window);
      CHECK(t.window < first + count);
      const std::int64_t plane = t.offset / axis.cycle;
      CHECK(planes.begin <= plane);
      CHECK(plane < planes.end);
    }
  }
}

}  // namespace
}  // namespace reblock
