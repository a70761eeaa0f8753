// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/plane_axis.hpp>

#include "../draw.hpp"
#include "../effort.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::flip_coin;

/// The offsets of a window after which they meet the same phases again, found one by one.
std::int64_t find_cycle(std::int64_t stride, std::int64_t dilation) {
  std::int64_t cycle = 1;
  while (cycle * dilation % stride != 0) ++cycle;
  return cycle;
}

/// An axis of windows of `size` offsets.
plane_axis make_axis(std::int64_t size, std::int64_t windows, std::int64_t stride, std::int64_t dilation) {
  const std::int64_t cycle = find_cycle(stride, dilation);
  plane_axis axis;
  axis.stride = stride;
  axis.dilation = dilation;
  axis.windows = windows;
  axis.advance = cycle * dilation / stride;
  axis.cycle = std::min(cycle, size);
  axis.planes = (size + axis.cycle - 1) / axis.cycle;
  axis.last_cycle = size - (axis.planes - 1) * axis.cycle;
  return axis;
}

/// Phases are joined where there is one plane, or where their offsets lie side by side.
plane_axis draw_axis(std::mt19937& random) {
  const std::int64_t dilation = flip_coin(random) ? 1 : draw(random, 2, 7);
  plane_axis axis = make_axis(draw(random, 1, 12), draw(random, 1, 9), draw(random, 1, 9), dilation);
  axis.padding = draw(random, 0, 20);
  axis.extent = draw(random, 1, 40);
  axis.is_joined = axis.planes == 1 || (dilation == 1 && flip_coin(random));
  axis.together = axis.planes > 1 && flip_coin(random);
  return axis;
}

/// A window and an offset of it, with the plane that the offset belongs to, and the place and the phase that it meets.
struct term {
  std::int64_t window;
  std::int64_t offset;
  std::int64_t plane;
  std::int64_t rest;  ///< of the offset in its cycle
  std::int64_t position;
  std::int64_t place;
  std::int64_t phase;
};

std::vector<term> all_terms(const plane_axis& axis) {
  const std::int64_t size = axis.planes * axis.cycle - axis.cycle + axis.last_cycle;
  std::vector<term> terms;
  for (std::int64_t l = 0; l < axis.windows; ++l) {
    for (std::int64_t o = 0; o < size; ++o) {
      const std::int64_t padded = l * axis.stride + o * axis.dilation;
      terms.push_back({l, o, o / axis.cycle, o % axis.cycle, padded - axis.padding, padded / axis.stride,
                       padded % axis.stride});
    }
  }
  return terms;
}

TEST_CASE("each offset of a window meets the position that its plane and its phase say") {
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const plane_axis axis = draw_axis(random);
    std::vector<std::set<std::int64_t>> positions(static_cast<std::size_t>(axis.planes));
    for (const term& t : all_terms(axis)) {
      REQUIRE(t.plane < axis.planes);
      CHECK(t.position ==
            (t.window + t.plane * axis.advance) * axis.stride + t.rest * axis.dilation - axis.padding);
      CHECK(t.phase == t.rest * axis.dilation % axis.stride);
      CHECK(t.place == t.window + t.plane * axis.advance + t.rest * axis.dilation / axis.stride);
      CHECK(
          positions[static_cast<std::size_t>(t.plane)].insert(t.position).second);  // the first of its plane
    }
  }
}

TEST_CASE("the places of an axis are those that have positions of the image") {
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const plane_axis axis = draw_axis(random);
    std::set<std::int64_t> places;
    for (std::int64_t s = 0; s < axis.extent; ++s) places.insert((s + axis.padding) / axis.stride);
    CHECK(axis.first_place() == *places.begin());
    CHECK(axis.places() == static_cast<std::int64_t>(places.size()));
  }
}

TEST_CASE("offsets are counted by cycles") {
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t size = draw(random, 1, 30);
    plane_axis axis = make_axis(size, 1, draw(random, 1, 9), draw(random, 1, 9));
    CHECK(axis.all_offsets() == size);
    std::vector<std::int64_t> planes(static_cast<std::size_t>(axis.cycle));
    for (std::int64_t o = 0; o < size; ++o) ++planes[static_cast<std::size_t>(o % axis.cycle)];
    for (std::int64_t r = 0; r < axis.cycle; ++r) {
      CHECK(axis.planes_of(r) == planes[static_cast<std::size_t>(r)]);
    }
    CHECK(axis.offsets() == axis.cycle);
    CHECK(axis.layers() >= size);
    CHECK(axis.phases_apart() == axis.cycle);
    axis.together = true;
    CHECK(axis.offsets() == size);
    axis.is_joined = true;
    CHECK(axis.layers() == axis.planes);
    CHECK(axis.phases_apart() == 1);
  }
}

TEST_CASE("the planes of a box have the windows and the width that its terms need") {
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const plane_axis axis = draw_axis(random);
    const std::vector<term> terms = all_terms(axis);
    std::int64_t reach = 0;
    for (std::int64_t r = 0; r < axis.cycle; ++r) reach = std::max(reach, r * axis.dilation / axis.stride);
    CHECK(axis.reach() == reach);
    const std::int64_t first = axis.first_place() + draw(random, 0, axis.places() - 1);
    const std::int64_t count = draw(random, 1, axis.first_place() + axis.places() - first);
    const index_range planes = axis.planes_with_terms(first, count);
    CHECK(0 <= planes.begin);
    CHECK(planes.begin <= planes.end);
    CHECK(planes.end <= axis.planes);
    std::vector<bool> with_windows(static_cast<std::size_t>(axis.planes));
    for (const term& t : terms) {
      // the place where the plane begins that has the window: all planes begin at one where they come together
      const std::int64_t passed = (axis.together ? axis.planes - 1 : t.plane) * axis.advance;
      const std::int64_t skipped = t.window - (first - reach - passed);
      const std::int64_t after_window = t.window + t.plane * axis.advance;
      if (first - reach <= after_window && after_window < first + count) {
        with_windows[static_cast<std::size_t>(t.plane)] = true;
      }
      if (t.place < first || t.place >= first + count) continue;
      CHECK(skipped >= 0);
      CHECK(skipped < count + axis.halo());
      const std::int64_t place_in_plane =
          skipped * axis.positions() + (axis.is_joined ? t.rest * axis.dilation : 0);
      CHECK(place_in_plane < axis.width(count));
    }
    for (std::int64_t t = 0; t < axis.planes; ++t) {
      CHECK(with_windows[static_cast<std::size_t>(t)] == (planes.begin <= t && t < planes.end));
    }
    // Windows are brought for each place, also those that reach no place of the box: the last one's offsets lie inside.
    const std::int64_t last = (count + axis.halo() - 1) * axis.positions();
    CHECK(last + (axis.is_joined ? (axis.cycle - 1) * axis.dilation : 0) < axis.width(count));
    CHECK(axis.width(count) <=
          last + (axis.is_joined ? (reach + 1) * axis.stride : 1));  // no place more than that
  }
}

}  // namespace
}  // namespace reblock
