// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/leaves.hpp>
#include <reblock/detail/plan_moves.hpp>
#include <reblock/detail/traversal.hpp>

#include "layout_oracle.hpp"
#include "planning.hpp"

namespace reblock {
namespace {

using namespace detail;

/// The layout as it was described: nothing dropped, ordered or merged.
plan plan_as_described(const layout& l, std::int64_t element_size) {
  plan p{l};
  set_out_tile(p, element_size);
  p.leaf = move_strided<0>;
  return p;
}

std::vector<std::byte> run(const plan& p, const std::vector<std::byte>& source,
                           std::vector<std::byte> destination) {
  traversal(p, source.data(), destination.data()).run();
  return destination;
}

TEST_CASE("a plan moves what its layout describes") {
  for (std::size_t bounds = 0; bounds <= 2; ++bounds) {
    for (unsigned seed = 0; seed < 300; ++seed) {
      INFO("bounds ", bounds, " seed ", seed);
      std::mt19937 random(seed);
      const test::moves moves = test::draw_moves(random, bounds);
      const auto source = test::draw_bytes(random, moves.source_bytes);
      const auto before = test::draw_bytes(random, moves.destination_bytes);
      const auto expected = moves.expected(source, before, true);
      CHECK(run(test::plan_of(moves.layout, moves.element_size), source, before) == expected);
      CHECK(run(plan_as_described(moves.layout, moves.element_size), source, before) == expected);
    }
  }
}

TEST_CASE("a plan is canonical: it has no idle axis, and planning it again changes nothing") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const test::moves moves = test::draw_moves(random, seed % 3);
    const plan p = test::plan_of(moves.layout, moves.element_size);
    CHECK(p.rank <= moves.layout.rank);
    for (std::size_t i = 0; i < p.rank; ++i) {
      CHECK(p.axes[i].destination_stride > 0);
      CHECK((p.axes[i].extent > 1 || p.axes[i].bounded()));
    }
    const plan again = test::plan_of(p, static_cast<std::int64_t>(p.leaf_tile.element_size));
    CHECK(again.leaf_tile.element_size == p.leaf_tile.element_size);
    CHECK(again.extents_are_fixed == p.extents_are_fixed);
    REQUIRE(again.rank == p.rank);
    for (std::size_t i = 0; i < p.rank; ++i) {
      CHECK(again.axes[i].extent == p.axes[i].extent);
      CHECK(again.axes[i].source_stride == p.axes[i].source_stride);
      CHECK(again.axes[i].destination_stride == p.axes[i].destination_stride);
    }
  }
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

TEST_CASE("a contiguous copy is one element") {
  const plan p = test::plan_of(of({{2, 12, 12}, {3, 4, 4}, {4, 1, 1}}, 8), 8);
  CHECK(p.rank == 0);
  CHECK(p.leaf_tile.element_size == 192);
  const plan reversed = test::plan_of(of({{2, -12, -12}, {3, 4, 4}, {4, -1, -1}}, 8), 8);
  CHECK(reversed.rank == 0);
  CHECK(reversed.source_offset == -15 * 8);
  CHECK(reversed.destination_offset == -15 * 8);
}

TEST_CASE("nothing is worked out where there is nothing to move") {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  CHECK(test::plan_of(of({{0, 1, 1}, {huge, 1, 1}}, 16), 16).empty);
  CHECK(test::plan_of(of({{huge, 1, 1}, {0, 1, 2}, {huge, 1, 1}}, 16), 16).empty);
  CHECK(test::plan_of(of({{3, 1, 1}}, 1), 0).empty);
  CHECK_FALSE(test::plan_of(of({{3, 1, 1}}, 1), 1).empty);
}

TEST_CASE("axes that nest become one, however they were ordered") {
  const plan permuted = test::plan_of(of({{4, 1, 2}, {2, 12, 24}, {3, 4, 8}}, 4), 4);
  REQUIRE(permuted.rank == 1);
  CHECK(permuted.axes[0].extent == 24);
  CHECK(permuted.axes[0].source_stride == 4);
  CHECK(permuted.axes[0].destination_stride == 8);
  const plan gap = test::plan_of(of({{2, 13, 24}, {3, 4, 8}, {4, 1, 2}}, 4), 4);
  CHECK(gap.rank == 2);
}

TEST_CASE("an axis that leads beyond gaps of the source is not made one with an axis that does not") {
  layout l;
  l.add({7, 6, 6});  // rows of five bytes, and a gap after each
  l.add({2, 3, 3});
  CHECK(test::plan_of(l, 1).rank == 1);
  l.source_run = 5;
  CHECK(test::plan_of(l, 1).rank == 2);
}

TEST_CASE("axes of extent 1 vanish") {
  const plan p = test::plan_of(of({{1, 99, 5}, {3, 1, 2}, {1, -7, 0}}, 4), 4);
  CHECK(p.rank == 1);
  CHECK(p.axes[0].extent == 3);
}

TEST_CASE("a bound that holds everywhere does not keep axes apart") {
  layout l;
  l.add({2, 4, 12, 0, 1});
  l.add({3, 4, 4, 0, 1});
  l.bound_count = 1;
  l.bounds[0] = {0, 4};
  CHECK_FALSE(test::plan_of(l, 4).axes[0].bounded());
  l.bounds[0] = {0, 3};
  CHECK(test::plan_of(l, 4).axes[0].bounded());
  l.bounds[0] = {-1, 4};
  CHECK(test::plan_of(l, 4).axes[0].bounded());
}

TEST_CASE("nothing to move makes an empty plan") {
  CHECK(test::plan_of(of({{2, 1, 1}, {0, 2, 2}}, 4), 4).empty);
  CHECK(test::plan_of(of({{2, 1, 1}}, 0), 0).empty);
  CHECK(test::plan_of(of({{2, 9, 80}, {3, 7, 40}, {4, 1, 5}, {0, 50, 1}}, 4), 4).empty);
  CHECK(test::plan_of(of({{2, 9, 80}, {3, 7, 40}, {0, 1, 9}, {4, 0, 1}}, 4), 4).empty);
  CHECK_FALSE(test::plan_of(layout{}, 4).empty);
}

/// depth_to_space of channels-first floats, one row of `width` blocks, a block of 1 x `streams`.
layout rows_to_interleave(std::int64_t streams, std::int64_t width, std::int64_t element_size) {
  const std::int64_t channels = 3;
  return of({{channels, width, streams * width}, {streams, channels * width, 1}, {width, 1, streams}},
            element_size);
}

TEST_CASE("channels-first depth_to_space interleaves and its inverse deinterleaves") {
  const auto leaf = [](layout l, std::int64_t element_size, bool inverse) {
    if (inverse) l.swap_sides();
    const plan p = test::plan_of(l, element_size, instruction_set::baseline);
    CHECK(p.rank == 2);  // channels and blocks nest
    CHECK(p.walked == 0);
    return p.leaf;
  };
  CHECK((leaf(rows_to_interleave(2, 10, 4), 4, false) == move_interleaved<4, 2>));
  CHECK((leaf(rows_to_interleave(3, 10, 1), 1, false) == move_interleaved<1, 3>));
  CHECK((leaf(rows_to_interleave(4, 10, 2), 2, false) == move_interleaved<2, 4>));
  CHECK((leaf(rows_to_interleave(8, 10, 16), 16, false) == move_strided<16>));
  CHECK((leaf(rows_to_interleave(5, 10, 4), 4, false) == move_transposed<4>));
  CHECK((leaf(rows_to_interleave(2, 10, 12), 12, false) == move_strided<0>));
  CHECK((leaf(rows_to_interleave(2, 10, 4), 4, true) == move_deinterleaved<4, 2>));
  CHECK((leaf(rows_to_interleave(3, 10, 1), 1, true) == move_deinterleaved<1, 3>));
  CHECK((leaf(rows_to_interleave(4, 10, 2), 2, true) == move_deinterleaved<2, 4>));
  CHECK((leaf(rows_to_interleave(8, 10, 8), 8, true) == move_deinterleaved<8, 8>));
  CHECK((leaf(rows_to_interleave(5, 10, 4), 4, true) == move_transposed<4>));
}

TEST_CASE("channels-first depth_to_space with a square block keeps four axes") {
  // {1, 8, 2, 6} -> {1, 2, 4, 12}, DCR: axes c, j1, j2, s1, s2; c and s1 nest.
  const plan p = test::plan_of(of({{2, 12, 48}, {2, 48, 12}, {2, 24, 1}, {2, 6, 24}, {6, 1, 2}}, 4), 4);
  CHECK(p.rank == 4);
  CHECK(p.walked == 0);  // all of them are the leaf's
  CHECK(p.leaf_tile.rows.extent == 2);
  CHECK(p.leaf_tile.slices.extent == 4);
  CHECK((engine::all_movers().choose_leaf(p.least_tile(), p.streams_are_fixed, 0) == move_interleaved<4, 2>));
}

/// Gives two axes of a layout a bound, in which a step along either is one.
void give_bound(layout& l, std::size_t i, std::size_t j, const axis_bound& bound) {
  l.axes[i].bound = l.axes[j].bound = 0;
  l.axes[i].bound_step = l.axes[j].bound_step = 1;
  l.bounds[0] = bound;
  l.bound_count = 1;
}

TEST_CASE("a border above and below leaves streams as wide as they are") {
  // (c, ky, kx, y, x): windows of 3 x 3 every third column, one row of zeros above and below 3 of 30 elements.
  layout l = of({{50, 90, 270}, {3, 30, 90}, {3, 1, 30}, {3, 30, 10}, {10, 3, 1}}, 4);
  give_bound(l, 1, 3, {-1, 3});
  const plan p = test::plan_of(l, 4, instruction_set::baseline);
  CHECK_FALSE(p.extents_are_fixed);
  CHECK(p.streams_are_fixed);
  CHECK(p.least_tile().rows.extent == 1);
  CHECK((p.leaf == move_deinterleaved<4, 3>));
}

TEST_CASE("short rows of which a border is outside are moved together with others") {
  // (n c, kx, x): windows of 5 along rows of 20 elements, with 2 zeros before and behind.
  layout l = of({{100, 20, 100}, {5, 1, 20}, {20, 1, 1}}, 4);
  give_bound(l, 1, 2, {-2, 20});
  const plan p = test::plan_of(l, 4, instruction_set::baseline);
  CHECK(p.walked == 1);  // the places of a window
  CHECK(p.leaf_tile.outer.extent == 100);
  CHECK(p.leaf_tile.inner.extent == 20);
}

TEST_CASE("streams at distances of 4096 bytes are taken a few at a time") {
  // {1, 16 c, n, n} -> {1, c, 4 n, 4 n}, DCR: axes c, s1, j1, s2, j2.
  const auto plane = [](std::int64_t c, std::int64_t n) {
    const std::int64_t bytes = n * n;
    return of(
        {{c, bytes, 16 * bytes}, {n, n, 16 * n}, {4, 4 * c * bytes, 4 * n}, {n, 1, 4}, {4, c * bytes, 1}}, 4);
  };
  const auto first_stride = [](const plan& p) { return p.axes[p.rank - 4].destination_stride; };
  CHECK(first_stride(test::plan_of(plane(64, 24), 4)) == 4 * 24 * 4);  // blocks' rows before rows of blocks
  CHECK(first_stride(test::plan_of(plane(3, 24), 4)) == 16 * 24 * 4);
  const auto inverse = [&](std::int64_t c, std::int64_t n) {
    layout l = plane(c, n);
    l.swap_sides();
    return test::plan_of(l, 4);
  };
  const auto innermost_walked = [](const plan& p) { return p.axes[p.rank - 3].source_stride; };
  CHECK(innermost_walked(inverse(64, 24)) == 16 * 24 * 4);
  CHECK(innermost_walked(inverse(3, 24)) == 4 * 24 * 4);      // the image, row by row
  CHECK(innermost_walked(inverse(4096, 64)) == 4 * 64 * 4);   // past the caches
  CHECK(innermost_walked(inverse(4096, 66)) == 16 * 66 * 4);  // rows of 264 bytes do not fill registers of 16
}

TEST_CASE("channels-last CRD joins the rows of a block, where a pixel is one dense row") {
  // {1, 2, 5, 64} -> {1, 8, 20, 4}, CRD, blocks of 4: axes c, j1, j2, s1, s2, and back.
  layout moves = of({{4, 16, 1}, {4, 4, 80}, {4, 1, 4}, {2, 320, 320}, {5, 64, 16}}, 1);
  const plan separated = test::plan_of(moves, 1);
  CHECK(separated.leaf_tile.joined == tile::axis::outer);
  CHECK(separated.leaf_tile.outer_extent() == 16);
  CHECK(separated.leaf_tile.inner_extent() == 4);
  moves.swap_sides();
  const plan interleaved = test::plan_of(moves, 1);
  CHECK(interleaved.leaf_tile.joined == tile::axis::inner);
  CHECK(interleaved.leaf_tile.inner_extent() == 16);
  // 12 bytes have no leaf that could make use of it
  CHECK(test::plan_of(of({{4, 192, 12}, {4, 48, 960}, {4, 12, 48}, {5, 768, 192}}, 12), 12).joined ==
        tile::axis::neither);
}

TEST_CASE("channels-last axes that both sides share become a bigger element") {
  // {1, 2, 6, 12} -> {1, 4, 12, 3}, DCR: axes c, j1, j2, s1, s2; j2 and c move together.
  const plan dcr = test::plan_of(of({{3, 1, 1}, {2, 6, 36}, {2, 3, 3}, {2, 72, 72}, {6, 12, 6}}, 1), 1);
  CHECK(dcr.leaf_tile.element_size == 6);
  CHECK(dcr.rank == 3);
  // In CRD order the channels are 4 apart.
  const plan crd = test::plan_of(of({{3, 4, 1}, {2, 2, 36}, {2, 1, 3}, {2, 72, 72}, {6, 12, 6}}, 1), 1);
  CHECK(crd.leaf_tile.element_size == 1);
  CHECK(crd.leaf_tile.outer.source_stride == 1);
  CHECK(crd.leaf_tile.inner.destination_stride == 1);
}

TEST_CASE("runs of large outputs are walked pixel by pixel of the depth side") {
  for (const std::int64_t run : {6, 256}) {
    // {1, 4096, 512, 2 * run} <-> {1, 8192, 1024, run / 2}, DCR: axes c and j2 as one, j1, s1, s2
    layout moves =
        of({{run, 1, 1}, {2, run, 512 * run}, {4096, 1024 * run, 1024 * run}, {512, 2 * run, run}}, 4);
    const std::int64_t bytes = 4 * run;
    const plan to_space = test::plan_of(moves, 4);
    if (!has_streams && bytes < static_cast<std::int64_t>(least_streamed_run)) continue;
    CHECK(to_space.leaf_tile.element_size == static_cast<std::size_t>(bytes));
    CHECK(to_space.leaf_tile.streamed);
    CHECK(to_space.leaf_tile.inner.source_stride == bytes);
    CHECK(to_space.leaf_tile.outer.source_stride == 2 * bytes);
    moves.swap_sides();
    const plan to_depth = test::plan_of(moves, 4);
    CHECK(to_depth.leaf_tile.streamed);
    CHECK(to_depth.leaf_tile.inner.destination_stride == bytes);
    CHECK(to_depth.leaf_tile.outer.destination_stride == 2 * bytes);
  }
}

}  // namespace
}  // namespace reblock
