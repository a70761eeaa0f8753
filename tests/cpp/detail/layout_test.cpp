// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/layout.hpp>

#include "../draw.hpp"
#include "layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::layout_point;

layout draw_layout(std::mt19937& random) {
  layout l = test::draw_moves(random, static_cast<std::size_t>(draw(random, 0, 2))).layout;
  if (l.rank == 0) l.add({3, 4, -8});
  return l;
}

TEST_CASE("take copies all that a layout says") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    layout l = draw_layout(random);
    l.source_run = draw(random, 0, 9);
    l.whole_bytes = draw(random, 0, 9);
    layout taken = draw_layout(random);
    taken.take(l);
    CHECK(std::equal(l.axes.begin(), l.axes.begin() + l.rank, taken.axes.begin(),
                     taken.axes.begin() + taken.rank));
    CHECK(taken.bounds == l.bounds);
    CHECK(taken.bound_count == l.bound_count);
    CHECK(taken.source_run == l.source_run);
    CHECK(taken.whole_bytes == l.whole_bytes);
    CHECK(test::points(taken) == test::points(l));
  }
}

TEST_CASE("between elements that axes of a dense run lead to there are only elements") {
  int runs = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const axis_values extents = test::draw_values(random, static_cast<std::size_t>(draw(random, 1, 4)), 1, 4);
    const bool packed = test::flip_coin(random);
    const axis_values strides =
        packed ? test::draw_strides(random, extents) : test::draw_values(random, extents.size(), -12, 12);
    const std::int64_t size = draw(random, 1, 3);
    axis_values bytes;
    for (const std::int64_t stride : strides) bytes.push_back(stride * size);
    const std::int64_t run = dense_run(extents, bytes, size);
    CHECK(run >= size);
    std::set<std::int64_t> elements;
    std::int64_t low = 0;
    std::int64_t high = 0;  // of elements that the axes of the run lead to from the first one
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (bytes[i] < -run || bytes[i] > run) continue;
      (bytes[i] < 0 ? low : high) += bytes[i] * (extents[i] - 1);
    }
    oracle::for_each_index(extents, [&](const axis_values& index) {
      std::int64_t place = 0;
      for (std::size_t i = 0; i < index.size(); ++i) place += index[i] * bytes[i];
      for (std::int64_t k = 0; k < size; ++k) elements.insert(place + k);
    });
    for (std::int64_t place = low; place < high + size; ++place) CHECK(elements.contains(place));
    if (high - low + size == run && run > size) ++runs;
  }
  CHECK(runs > 100);
}

TEST_CASE("a tensor without gaps is one run, in whatever order its axes are") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const axis_values extents = test::draw_values(random, 4, 1, 5);
    axis_values strides = extents;
    std::int64_t bytes = 4;
    for (const std::size_t i : test::draw_order(random, 4)) {
      strides[i] = test::flip_coin(random) ? bytes : -bytes;
      bytes *= extents[i];
    }
    CHECK(dense_run(extents, strides, 4) == bytes);
  }
}

TEST_CASE("narrow keeps the points of a range of indices") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    layout l = draw_layout(random);
    const auto axis = static_cast<std::size_t>(random() % l.rank);
    const std::int64_t begin = draw(random, 0, l.axes[axis].extent);
    const std::int64_t end = draw(random, begin, l.axes[axis].extent);
    std::vector<layout_point> expected;
    for (layout_point point : test::points(l)) {
      if (point.index[axis] < begin || point.index[axis] >= end) continue;
      point.index[axis] -= begin;
      expected.push_back(point);
    }
    l.narrow(axis, begin, end);
    CHECK(test::points(l) == expected);
  }
}

TEST_CASE("reverse walks the same points from the other end") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    layout l = draw_layout(random);
    const auto axis = static_cast<std::size_t>(random() % l.rank);
    const std::vector<layout_point> before = test::points(l);
    l.reverse(axis);
    const std::vector<layout_point> after = test::points(l);
    REQUIRE(after.size() == before.size());
    for (layout_point point : after) {
      point.index[axis] = l.axes[axis].extent - 1 - point.index[axis];
      std::size_t number = 0;
      for (std::size_t i = 0; i < l.rank; ++i) {
        number =
            number * static_cast<std::size_t>(l.axes[i].extent) + static_cast<std::size_t>(point.index[i]);
      }
      CHECK(before[number] == point);
    }
  }
}

TEST_CASE("swap_sides moves the other way round") {
  std::mt19937 random(1);
  layout l = draw_layout(random);
  const std::vector<layout_point> before = test::points(l);
  l.swap_sides();
  const std::vector<layout_point> after = test::points(l);
  REQUIRE(after.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(after[i].source == before[i].destination);
    CHECK(after[i].destination == before[i].source);
  }
}

TEST_CASE("remove closes the gap") {
  layout l;
  for (std::int64_t extent = 2; extent <= 5; ++extent) l.add({extent, 0, 0});
  l.remove(1);
  REQUIRE(l.rank == 3);
  CHECK(l.axes[0].extent == 2);
  CHECK(l.axes[1].extent == 4);
  CHECK(l.axes[2].extent == 5);
  l.remove(2);
  CHECK(l.rank == 2);
}

TEST_CASE("the range inside has the indices that lie inside") {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const axis_bound bound{draw(random, -9, 9), draw(random, 0, 9)};
    const std::int64_t step = draw(random, 1, 4) * (test::flip_coin(random) ? 1 : -1);
    const layout_axis axis{draw(random, 0, 12), 1, 1, 0, step};
    const std::int64_t moved = draw(random, -9, 9);
    const index_range inside = range_inside(bound, moved, axis);
    REQUIRE(0 <= inside.begin);
    REQUIRE(inside.begin <= inside.end);
    REQUIRE(inside.end <= axis.extent);
    for (std::int64_t index = 0; index < axis.extent; ++index) {
      const std::int64_t position = bound.offset + moved + index * step;
      const bool is_inside = 0 <= position && position < bound.extent;
      CHECK((inside.begin <= index && index < inside.end) == is_inside);
    }
  }
}

}  // namespace
}  // namespace reblock
