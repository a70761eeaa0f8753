// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/sums/tile_list.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::flip_coin;

/// Where elements lie on both sides, in bytes.
using offsets = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Those of all indices of some axes.
offsets elements_of(const std::vector<tile_axis>& axes) {
  offsets elements{{0, 0}};
  for (const tile_axis& axis : axes) {
    offsets next;
    for (const auto& [source, destination] : elements) {
      for (std::int64_t i = 0; i < axis.extent; ++i) {
        next.push_back({source + i * axis.source_stride, destination + i * axis.destination_stride});
      }
    }
    elements = std::move(next);
  }
  return elements;
}

/// Axes, the innermost first: as many as there are groups where those of a group are one.
struct drawn_axes {
  std::vector<tile_axis> axes;
  std::vector<std::int64_t> groups;  ///< their extents
};

drawn_axes draw_axes(std::mt19937& random, std::int64_t groups) {
  drawn_axes drawn;
  std::int64_t source = 4 * draw(random, 0, 2);
  std::int64_t destination = 4;
  for (std::int64_t group = 0; group < groups; ++group) {
    std::int64_t extent = 1;
    const std::int64_t sign = flip_coin(random) ? 1 : -1;
    for (std::int64_t parts = draw(random, 1, group < 2 ? 3 : 1); parts > 0; --parts) {
      if (draw(random, 0, 3) == 0) drawn.axes.push_back({1, draw(random, -99, 99), draw(random, -99, 99)});
      const std::int64_t some = group < 2 ? draw(random, 2, 3) : 2;
      drawn.axes.push_back({some, source * extent, sign * destination * extent});
      extent *= some;
    }
    drawn.groups.push_back(extent);
    // The next group is no continuation of this one on one of the sides.
    const bool in_source = flip_coin(random);
    source = source * extent + (in_source ? 4 : 0);
    destination = destination * extent + (in_source ? 0 : 4);
  }
  return drawn;
}

TEST_CASE("a list has tiles of as few axes as possible, which have each element once") {
  for (const unsigned seed : test::seeds(1000, 40)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const drawn_axes drawn = draw_axes(random, draw(random, 0, 7));
    tile_list list;
    for (const tile_axis& axis : drawn.axes) list.add(axis);
    std::vector<std::int64_t> extents = drawn.groups;
    extents.resize(std::max<std::size_t>(extents.size(), 4), 1);
    std::int64_t tiles = 1;
    for (std::size_t i = 4; i < extents.size(); ++i) tiles *= extents[i];
    offsets found;
    std::int64_t reach = 1;
    for (const tile_axis& axis : drawn.axes) {
      reach += (axis.extent - 1) * std::max(axis.source_stride, std::abs(axis.destination_stride));
    }
    std::vector<std::byte> memory(static_cast<std::size_t>(2 * reach));
    std::byte* const middle = memory.data() + reach;
    list.for_each(
        [&](const tile& t, const std::byte* source, std::byte* destination) {
          --tiles;
          CHECK(t.element_size == 4);
          const std::vector<tile_axis> axes{t.inner, t.outer, t.rows, t.slices};
          for (std::size_t i = 0; i < 4; ++i) CHECK(axes[i].extent == extents[i]);
          for (const auto& [from, to] : elements_of(axes)) {
            found.push_back({source - middle + from, destination - middle + to});
          }
        },
        middle, middle, 4);
    CHECK(tiles == 0);
    offsets expected = elements_of(drawn.axes);
    std::ranges::sort(found);
    std::ranges::sort(expected);
    CHECK(found == expected);
  }
}

TEST_CASE("an axis without elements is visited without elements") {
  tile_list list;
  list.add({3, 4, 4});
  list.add({0, 100, 100});
  std::int64_t elements = 0;
  list.for_each(
      [&](const tile& t, const std::byte*, std::byte*) {
        elements += t.inner.extent * t.outer.extent * t.rows.extent * t.slices.extent;
      },
      nullptr, nullptr, 4);
  CHECK(elements == 0);
}

}  // namespace
}  // namespace reblock
