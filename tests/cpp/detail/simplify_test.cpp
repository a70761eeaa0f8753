// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>

#include <doctest/doctest.h>

#include <reblock/detail/simplify.hpp>

#include "layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;

/// A layout and the bytes of its elements.
struct simple_layout {
  layout moves;
  std::int64_t element_size;
};

simple_layout simplified(const layout& moves, std::int64_t element_size) {
  simple_layout simple{moves, element_size};
  simple.element_size = simplify(simple.moves, element_size);
  return simple;
}

/// Axes with strides in elements.
layout of(std::initializer_list<layout_axis> axes, std::int64_t element_size) {
  layout l;
  for (layout_axis axis : axes) {
    axis.source_stride *= element_size;
    axis.destination_stride *= element_size;
    l.add(axis);
  }
  return l;
}

TEST_CASE("a simplified layout moves the same bytes") {
  for (std::size_t bounds = 0; bounds <= 2; ++bounds) {
    for (unsigned seed = 0; seed < 300; ++seed) {
      INFO("bounds ", bounds, " seed ", seed);
      std::mt19937 random(seed);
      const test::moves moves = test::draw_moves(random, bounds);
      const auto source = test::draw_bytes(random, moves.source_bytes);
      const auto before = test::draw_bytes(random, moves.destination_bytes);
      const auto [simple, element_size] = simplified(moves.layout, moves.element_size);
      const test::moves same{simple, element_size, moves.source_bytes, moves.destination_bytes};
      CHECK(same.expected(source, before, true) == moves.expected(source, before, true));
    }
  }
}

TEST_CASE("a simplified layout has no idle axis, and simplifying it again changes nothing") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::moves moves = test::draw_moves(random, seed % 3);
    const auto [simple, element_size] = simplified(moves.layout, moves.element_size);
    CHECK(simple.rank <= moves.layout.rank);
    for (std::size_t i = 0; i < simple.rank; ++i) {
      CHECK(simple.axes[i].destination_stride > 0);
      CHECK((simple.axes[i].extent > 1 || simple.axes[i].bounded()));
      if (i > 0) CHECK(simple.axes[i - 1].destination_stride >= simple.axes[i].destination_stride);
    }
    const auto [again, same_size] = simplified(simple, element_size);
    CHECK(same_size == element_size);
    REQUIRE(again.rank == simple.rank);
    for (std::size_t i = 0; i < simple.rank; ++i) CHECK(again.axes[i] == simple.axes[i]);
  }
}

TEST_CASE("a layout whose shorter strides have become positive moves the same bytes") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::moves moves = test::draw_moves(random, seed % 3);
    const auto source = test::draw_bytes(random, moves.source_bytes);
    const auto before = test::draw_bytes(random, moves.destination_bytes);
    test::moves turned = moves;
    turn_to_shorter_strides(turned.layout);
    for (std::size_t i = 0; i < turned.layout.rank; ++i) CHECK(!is_backwards(turned.layout.axes[i]));
    turned.element_size = simplify_as_turned(turned.layout, moves.element_size);
    CHECK(turned.expected(source, before, true) == moves.expected(source, before, true));
  }
}

TEST_CASE("the shorter stride of an axis becomes positive") {
  layout pixels =
      of({{5, 15, 5}, {5, 3, 1}, {3, -1, 25}}, 1);  // a picture in reverse order of channels, to planes
  turn_to_shorter_strides(pixels);
  CHECK(pixels.axes[2] == layout_axis{3, 1, -25});
  CHECK(pixels.source_offset == -2);
  CHECK(pixels.destination_offset == 50);
  layout rows = of({{5, -15, 3}, {3, -5, -1}, {4, 0, -15}}, 1);
  turn_to_shorter_strides(rows);
  CHECK(rows.axes[0] == layout_axis{5, -15, 3});
  CHECK(rows.axes[1] == layout_axis{3, 5, 1});
  CHECK(rows.axes[2] == layout_axis{4, 0, 15});  // a source that is repeated has no direction
}

TEST_CASE("a contiguous copy is one element") {
  const auto forward = simplified(of({{2, 12, 12}, {3, 4, 4}, {4, 1, 1}}, 8), 8);
  CHECK(forward.moves.rank == 0);
  CHECK(forward.element_size == 192);
  const auto backward = simplified(of({{2, -12, -12}, {3, 4, 4}, {4, -1, -1}}, 8), 8);
  CHECK(backward.moves.rank == 0);
  CHECK(backward.moves.source_offset == -15 * 8);
  CHECK(backward.moves.destination_offset == -15 * 8);
}

TEST_CASE("axes that nest become one, however they were ordered") {
  const layout permuted = simplified(of({{4, 1, 2}, {2, 12, 24}, {3, 4, 8}}, 4), 4).moves;
  REQUIRE(permuted.rank == 1);
  CHECK(permuted.axes[0] == layout_axis{24, 4, 8});
  CHECK(simplified(of({{2, 13, 24}, {3, 4, 8}, {4, 1, 2}}, 4), 4).moves.rank == 2);  // a gap
}

TEST_CASE("an axis that leads beyond gaps of the source is not made one with an axis that does not") {
  layout l;
  l.add({7, 6, 6});  // rows of five bytes, and a gap after each
  l.add({2, 3, 3});
  CHECK(simplified(l, 1).moves.rank == 1);
  l.source_run = 5;
  CHECK(simplified(l, 1).moves.rank == 2);
}

TEST_CASE("axes of extent 1 vanish") {
  const layout l = simplified(of({{1, 99, 5}, {3, 1, 2}, {1, -7, 0}}, 4), 4).moves;
  CHECK(l.rank == 1);
  CHECK(l.axes[0].extent == 3);
}

TEST_CASE("a bound that holds everywhere does not keep axes apart") {
  layout l;
  l.add({2, 4, 12, 0, 1});
  l.add({3, 4, 4, 0, 1});
  l.bound_count = 1;
  l.bounds[0] = {0, 4};
  CHECK_FALSE(has_bounds(simplified(l, 4).moves));
  l.bounds[0] = {0, 3};
  CHECK(has_bounds(simplified(l, 4).moves));
  l.bounds[0] = {-1, 4};
  CHECK(has_bounds(simplified(l, 4).moves));
}

TEST_CASE("channels-last axes that both sides share become a bigger element") {
  // {1, 2, 6, 12} -> {1, 4, 12, 3}, DCR: axes c, j1, j2, s1, s2; j2 and c move together.
  const auto dcr = simplified(of({{3, 1, 1}, {2, 6, 36}, {2, 3, 3}, {2, 72, 72}, {6, 12, 6}}, 1), 1);
  CHECK(dcr.element_size == 6);
  CHECK(dcr.moves.rank == 3);
  // In CRD order the channels are 4 apart.
  CHECK(simplified(of({{3, 4, 1}, {2, 2, 36}, {2, 1, 3}, {2, 72, 72}, {6, 12, 6}}, 1), 1).element_size == 1);
}

TEST_CASE("channels-first depth_to_space with a square block keeps four axes") {
  // {1, 8, 2, 6} -> {1, 2, 4, 12}, DCR: axes c, j1, j2, s1, s2; c and s1 nest.
  CHECK(simplified(of({{2, 12, 48}, {2, 48, 12}, {2, 24, 1}, {2, 6, 24}, {6, 1, 2}}, 4), 4).moves.rank == 4);
}

TEST_CASE("outputs go past the caches from 32 MiB on, or from 64 MiB if the source is read again") {
  constexpr std::int64_t mebi = std::int64_t{1} << 20;
  const auto goes = [](std::int64_t bytes, std::int64_t reads) {
    layout l;
    l.add({reads, 0, bytes / reads});
    l.add({bytes / reads, 1, 1});
    return goes_past_caches(l, 1);
  };
  CHECK_FALSE(goes(31 * mebi, 1));
  CHECK(goes(32 * mebi, 1) == has_streams);
  CHECK_FALSE(goes(63 * mebi, 2));
  CHECK(goes(64 * mebi, 2) == has_streams);
  layout part;
  part.add({100, 1, 1});
  part.whole_bytes = 32 * mebi;
  CHECK(goes_past_caches(part, 1) == has_streams);
}

}  // namespace
}  // namespace reblock
