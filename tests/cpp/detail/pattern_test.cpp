// SPDX-License-Identifier: BSD-3-Clause
//
// Plans with patterns, and plans for large outputs, with every instruction set of this processor. Sources
// end with their elements, so that a sanitizer sees a read beyond them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/pattern.hpp>
#include <reblock/detail/plan_moves.hpp>
#include <reblock/detail/traversal.hpp>

#include "../effort.hpp"
#include "layout_oracle.hpp"
#include "planning.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

std::vector<instruction_set> instruction_sets() {
  std::vector<instruction_set> sets;
  for (int set = 0; set <= static_cast<int>(detect_instruction_set()); ++set) {
    sets.push_back(static_cast<instruction_set>(set));
  }
  return sets;
}

/// The moves, their source without the margins that other tests have.
test::moves without_margins(const layout& l, std::int64_t element_size) {
  test::moves moves = test::with_buffers(l, element_size);
  constexpr std::int64_t margin = 24;
  moves.layout.source_offset -= margin;
  moves.source_bytes -= 2 * margin;
  moves.layout.source_run = static_cast<std::int64_t>(moves.source_bytes);
  return moves;
}

/// Strides of a dense tensor whose axes lie in memory in a random order.
std::vector<std::int64_t> dense_strides(std::mt19937& random, const layout& l, std::int64_t element_size) {
  std::vector<std::int64_t> strides(l.rank);
  std::int64_t stride = element_size;
  for (const std::size_t i : test::draw_order(random, l.rank)) {
    strides[i] = stride;
    stride *= l.axes[i].extent;
  }
  return strides;
}

/// How many plans there were of each kind.
struct plan_counts {
  int rows = 0;      ///< with a pattern, of which several rows are moved together, but not all at a time
  int siblings = 0;  ///< with patterns that are looked up together
  int bounded = 0;   ///< with tables for what is inside
  int pieces = 0;    ///< of several rows of which others decide what is inside
  int masked = 0;
};

/// Checks the moves with each instruction set, as a plan has them and as a plan has what the first moves as a whole;
/// returns how many plans have a pattern, and adds to `counts`.
int check_moves(const test::moves& moves, std::mt19937& random, plan_counts* counts = nullptr) {
  int patterns = 0;
  const auto source = test::draw_bytes(random, moves.source_bytes);
  const auto before = test::draw_bytes(random, moves.destination_bytes);
  const auto expected = moves.expected(source, before, true);
  for (const instruction_set set : instruction_sets()) {
    INFO("instruction set ", name_of(set));
    const plan p = test::plan_of(moves.layout, moves.element_size, set);
    patterns += p.repeats() ? 1 : 0;
    const repetition& r = p.repeated;
    const plan again = test::plan_of(p.whole(), static_cast<std::int64_t>(p.leaf_tile.element_size), set);
    if (counts != nullptr) {
      const bool has_rows = p.repeats() && r.rows != no_axis;
      counts->rows += has_rows && r.rows_at_once > 1 && r.rows_at_once < p.axes[r.rows].extent ? 1 : 0;
      counts->siblings += r.siblings.extent > 1 ? 1 : 0;
      counts->bounded += p.repeats() && r.bounded ? 1 : 0;
      counts->pieces += p.repeats() && p.axes[r.along].bounded() && r.extent > 1 ? 1 : 0;
      counts->masked += p.masked ? 1 : 0;
    }
    CHECK((set != instruction_set::baseline || !p.repeats()));
    // Every misalignment of the destination; the source is where the allocation puts it.
    for (const std::size_t shift : {0u, 1u, 7u}) {
      std::vector<std::byte> result(moves.destination_bytes + shift);
      std::memcpy(result.data() + shift, before.data(), before.size());
      traversal(p, source.data(), result.data() + shift).run();
      CHECK(std::memcmp(result.data() + shift, expected.data(), expected.size()) == 0);
    }
    std::vector<std::byte> result = before;
    traversal(again, source.data(), result.data()).run();
    CHECK(std::memcmp(result.data(), expected.data(), expected.size()) == 0);
  }
  return patterns;
}

constexpr std::int64_t element_sizes[] = {1, 2, 3, 4, 6, 8, 12, 16};

TEST_CASE("a pattern moves what its layout describes, whatever repeats") {
  int patterns = 0;
  plan_counts counts;
  for (const unsigned seed : test::seeds(400, 40)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = element_sizes[draw(random, 0, 7)];
    layout l;
    std::int64_t bytes = element_size;
    const auto rank = static_cast<std::size_t>(draw(random, 2, 5));
    for (std::size_t i = 0; i < rank; ++i) {
      l.add({i == 0 ? draw(random, 8, 40) : draw(random, 2, 9), 0, 0});
      bytes *= l.axes[i].extent;
    }
    while (bytes < 2048) {
      bytes *= 2;
      l.axes[0].extent *= 2;
    }
    const auto source_strides = dense_strides(random, l, element_size);
    const auto destination_strides = dense_strides(random, l, element_size);
    for (std::size_t i = 0; i < rank; ++i) {
      const bool backward = draw(random, 0, 19) == 0;
      l.axes[i].source_stride = backward ? -source_strides[i] : source_strides[i];
      l.axes[i].destination_stride = destination_strides[i];
    }
    patterns += check_moves(without_margins(l, element_size), random, &counts);
  }
  if (detect_instruction_set() != instruction_set::baseline) {
    CHECK(patterns >= test::enough(100));
    CHECK(counts.rows >= test::enough(10));
  }
  if (detect_instruction_set() == instruction_set::avx512) CHECK(counts.siblings >= test::enough(10));
}

/// The moves of unfold over images (c, y, x) with windows of `size` x `size`, which have no gaps.
layout windows(std::int64_t channels, std::int64_t height, std::int64_t width, std::int64_t size,
               std::int64_t stride, std::int64_t padding, std::int64_t element_size) {
  const auto blocks = [&](std::int64_t extent) { return (extent + 2 * padding - size) / stride + 1; };
  layout l;
  const std::int64_t row = width * element_size;
  std::int64_t to = element_size;
  const std::int64_t x_to = to;
  const std::int64_t y_to = to *= blocks(width);
  const std::int64_t kx_to = to *= blocks(height);
  const std::int64_t ky_to = to *= size;
  l.add({channels, height * row, ky_to * size});
  l.add({size, row, ky_to, 0, 1});
  l.add({size, element_size, kx_to, 1, 1});
  l.add({blocks(height), stride * row, y_to, 0, stride});
  l.add({blocks(width), stride * element_size, x_to, 1, stride});
  l.bounds[0] = {-padding, height};
  l.bounds[1] = {-padding, width};
  l.bound_count = 2;
  l.source_offset = -padding * (row + element_size);
  l.source_run = channels * height * row;
  return l;
}

TEST_CASE("a pattern with a border is zero outside") {
  int patterns = 0;
  plan_counts counts;
  for (const unsigned seed : test::seeds(300, 30)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t size = draw(random, 1, 4);
    const layout l = windows(draw(random, 1, 24), draw(random, size, 24), draw(random, size, 40), size,
                             draw(random, 1, 3), draw(random, 0, size), element_sizes[draw(random, 0, 7)]);
    patterns += check_moves(
        without_margins(l, l.axes[4].source_stride / std::max<std::int64_t>(1, l.axes[4].bound_step)), random,
        &counts);
  }
  if (detect_instruction_set() != instruction_set::baseline) {
    CHECK(patterns >= test::enough(50));
    CHECK(counts.bounded >= test::enough(20));
    CHECK(counts.rows >= test::enough(10));
  }
  if (detect_instruction_set() == instruction_set::avx512) CHECK(counts.pieces >= test::enough(10));
}

TEST_CASE("tables for what is inside are made only where they are used often") {
  if (detect_instruction_set() == instruction_set::baseline) return;
  for (const std::int64_t extent : {14, 20, 28, 32, 64}) {
    for (const std::int64_t element_size : {1, 2, 4}) {
      for (const std::int64_t stride : {1, 2}) {
        INFO("extent ", extent, ", elements of ", element_size, " bytes, stride ", stride);
        const auto most_made = [&](std::int64_t channels) {  // bytes of tables
          const layout l = windows(channels, extent, extent, 5, stride, 2, element_size);
          const plan p = test::plan_of(l, element_size);
          const auto piece = static_cast<std::int64_t>(p.repeated.bytes) * p.repeated.extent;
          return p.repeats() && p.repeated.bounded ? piece * count_tables(p, p.repeated.inner) : 0;
        };
        for (const std::int64_t channels : {1, 3, 16, 64, 256}) {
          const std::int64_t blocks = (extent - 1) / stride + 1;
          const std::int64_t moved = channels * 25 * blocks * blocks * element_size;
          CHECK(most_made(channels) <= moved / 10);
        }
      }
    }
  }
}

TEST_CASE("planes that windows shift are moved by masks, and nothing is read beyond them") {
  plan_counts counts;
  for (const unsigned seed : test::seeds(300, 30)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = element_sizes[draw(random, 0, 7)];
    const std::int64_t padding = draw(random, 1, 4);
    layout l = windows(draw(random, 4, 9), draw(random, 1, 20), draw(random, 1, 20), 2 * padding + 1, 1,
                       padding, element_size);
    if (test::flip_coin(random)) l.axes[0].source_stride = -l.axes[0].source_stride;
    check_moves(without_margins(l, element_size), random, &counts);
  }
  CHECK(counts.masked >= test::enough(100));
}

TEST_CASE("as many planes as there are axes that make some") {
  std::mt19937 random(1);
  plan_counts counts;
  layout l = windows(6, 9, 11, 3, 1, 1, 4);
  l.add({5, 6 * 9 * 11 * 4, 6 * 9 * 9 * 11 * 4});  // a batch, which makes one axis with the channels
  check_moves(without_margins(l, 4), random, &counts);
  l.axes[5].destination_stride += 64;  // a batch that does not
  check_moves(without_margins(l, 4), random, &counts);
  CHECK(counts.masked == 2 * static_cast<int>(instruction_sets().size()));
}

TEST_CASE("a pattern of axes without a border, whatever has one and whatever repeats") {
  int patterns = 0;
  for (const unsigned seed : test::seeds(400, 40)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = element_sizes[draw(random, 0, 7)];
    const std::int64_t padding = draw(random, 0, 2);
    layout l;  // offsets in a window along rows of blocks, then axes that have nothing to do with them
    l.add({draw(random, 1, 3), 0, 0});
    l.add({draw(random, 1, 6), 0, 0});
    for (int i = 0; i < 3; ++i) l.add({draw(random, 2, i == 0 ? 40 : 9), 0, 0});
    const auto destination_strides = dense_strides(random, l, element_size);
    layout source = l;  // the rows are one axis there
    source.axes[0].extent = l.axes[0].extent + l.axes[1].extent - 1;
    source.axes[1].extent = 1;
    const auto source_strides = dense_strides(random, source, element_size);
    for (std::size_t i = 0; i < l.rank; ++i) {
      l.axes[i].source_stride = source_strides[i == 1 ? 0 : i];
      l.axes[i].destination_stride = destination_strides[i];
    }
    for (std::size_t i = 0; i < 2; ++i) {
      l.axes[i].bound = 0;
      l.axes[i].bound_step = 1;
    }
    l.bounds[0] = {-padding, source.axes[0].extent - 2 * padding};
    l.bound_count = 1;
    patterns += check_moves(without_margins(l, element_size), random);
  }
  if (detect_instruction_set() != instruction_set::baseline) CHECK(patterns >= test::enough(50));
}

TEST_CASE("a pattern repeats within rows that are inside, others are zero") {
  std::mt19937 random(1);
  // (c, y + padding, every second x) of images with one row: 17-byte elements
  layout l;
  l.add({2, 61 * 17, 62 * 17});
  l.add({1, 61 * 17, 62 * 17, 0, 1});
  l.add({2, 61 * 17, 31 * 17, 0, 1});
  l.add({31, 34, 17});
  l.bounds[0] = {0, 1};
  l.bound_count = 1;
  const int patterns = check_moves(without_margins(l, 17), random);
  CHECK(patterns == static_cast<int>(detect_instruction_set()));
}

TEST_CASE("a piece of a pattern that depends on what is inside has several indices") {
  std::mt19937 random(1);
  int patterns = 0;
  for (std::int64_t count = 2; count < 600; count += 7) {
    INFO("count ", count);
    layout l;  // rows of three, read two at a time in steps of two, the last one outside
    l.add({2, 16, 48 * count, 0, 2});
    l.add({count, 24, 48});
    l.add({2, 8, 24, 0, 1});
    l.add({3, 24 * count, 8});
    l.bounds[0] = {0, 3};
    l.bound_count = 1;
    patterns += check_moves(without_margins(l, 8), random);
  }
  CHECK((patterns > 0 || detect_instruction_set() != instruction_set::avx512));
}

TEST_CASE("a large output goes past the caches") {
  int streamed = 0;
  int streamed_runs = 0;
  int staged = 0;
  for (const unsigned seed : test::seeds(240, 24)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    constexpr std::int64_t sizes[] = {1, 2, 4, 8, 16};
    const std::int64_t element_size = sizes[draw(random, 0, 4)];
    layout l;
    const std::int64_t kind = draw(random, 0, 3);
    if (kind == 0) {  // a block of runs: pixels, channels last
      const std::int64_t run = draw(random, 4, 160);
      const std::int64_t width = draw(random, 1, 9);
      const std::int64_t side = draw(random, 2, 5);
      l.add({draw(random, 1, 5), side * width * run * element_size, side * width * run * element_size});
      l.add({width, run * element_size, side * run * element_size});
      l.add({side, width * run * element_size, run * element_size});
      l.add({run, element_size, element_size});
      if (test::flip_coin(random)) l.swap_sides();
    } else if (kind == 1) {
      l = windows(2, draw(random, 20, 40), draw(random, 20, 40), 3, 1, 1, element_size);
    } else {  // streams are interleaved
      const std::int64_t streams = draw(random, 2, 8);
      const std::int64_t length = 16 * draw(random, 1, 6);
      const std::int64_t rows = draw(random, 1, 9);
      l.add({rows, length * element_size, streams * length * element_size});
      l.add({length, element_size, streams * element_size});
      l.add({streams, rows * length * element_size, element_size});
    }
    l.whole_bytes = 2 * streamed_bytes;
    const test::moves moves = without_margins(l, element_size);
    const plan p = test::plan_of(moves.layout, element_size);
    streamed += p.leaf_tile.streamed ? 1 : 0;
    streamed_runs += streams_runs(p.leaf_tile) ? 1 : 0;
    staged += p.staged ? 1 : 0;
    check_moves(moves, random);
  }
  CHECK(streamed >= test::enough(10));
  CHECK((streamed_runs >= test::enough(10) || !has_streams));
  CHECK(staged >= test::enough(10));
}

TEST_CASE("rows of words that begin at any byte are moved, as windows with a stride of one element are") {
  int patterns = 0;
  for (const unsigned seed : test::seeds(200, 40)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = element_sizes[draw(random, 0, 3)];
    const std::int64_t row = 4 * draw(random, 1, 8);  // elements, words together
    const std::int64_t window = draw(random, 2, 5);   // elements
    const std::int64_t from = row + window - 1 + draw(random, 0, 2);
    const std::int64_t rows = draw(random, 6, 20);
    const std::int64_t planes = 4096 / (row * rows * element_size) + draw(random, 4, 8);
    layout l;
    std::int64_t stride = element_size;
    l.add({row, element_size, stride});
    l.add({rows, from * element_size, stride *= row});
    l.add({window, element_size, stride *= rows});
    l.add({planes, from * rows * element_size, stride *= window});
    patterns += check_moves(without_margins(l, element_size), random);
  }
  CHECK(patterns >= test::enough(40));
}

TEST_CASE("tables for registers of 32 bytes cost less than tables for registers of 16") {
  for (const std::int64_t element_size : {1, 2, 4, 8}) {
    INFO("element size ", element_size);
    layout moves;  // two pixels of three channels become three rows
    moves.add({16, 6 * element_size, 6 * element_size});
    moves.add({3, element_size, 2 * element_size});
    moves.add({2, 3 * element_size, element_size});
    moves.source_run = 16 * 6 * element_size;
    const std::array<index_range, 3> whole = {index_range{0, 16}, {0, 3}, {0, 2}};
    const auto narrow = std::make_unique<pattern>();
    const auto wide = std::make_unique<pattern>();
    REQUIRE(narrow->make(16, moves, 0, whole, element_size));
    REQUIRE(wide->make(32, moves, 0, whole, element_size));
    CHECK(wide->cost() < narrow->cost());
  }
}

TEST_CASE("instruction sets have names and widths") {
  CHECK(name_of(instruction_set::baseline) == "baseline");
  CHECK(lookup_width(instruction_set::baseline) == 0);
  CHECK(lookup_width(instruction_set::ssse3) == 16);
  CHECK(lookup_width(instruction_set::avx2) == avx2_lookup_width);
  CHECK(lookup_width(instruction_set::avx512) == 64);
  CHECK(usable_instruction_set() <= detect_instruction_set());
}

}  // namespace
}  // namespace reblock
