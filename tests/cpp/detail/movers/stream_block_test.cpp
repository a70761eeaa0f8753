// SPDX-License-Identifier: BSD-3-Clause
//
// Every mover of blocks and of runs, compiled for each instruction set that the processor has.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/movers/listed_runs.hpp>
#include <reblock/detail/movers/runs.hpp>
#include <reblock/detail/movers/stream_block.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../drawn_blocks.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

using test::stream_element_sizes;
constexpr std::size_t square_sizes[] = {1, 2, 4, 8, 16};
constexpr std::size_t lane = 16;  // bytes

/// The movers as they were compiled for one instruction set. Not all sets have all of them; the others are null.
struct compiled_movers {
  std::string name;
  std::size_t lanes;  ///< of a register
  block_mover (*squares)(std::size_t size);
  block_mover (*few_streams)(std::size_t size, std::size_t few, bool are_rows);
  block_mover (*runs)(std::size_t size, bool over);
  block_mover (*spaced)(std::size_t size);
  block_mover (*fill)(std::size_t size);
  void (*long_runs)(std::byte* destination, const std::byte* source, std::size_t size);
};

/// Those that this processor can run.
std::vector<compiled_movers> all_compiled() {
  std::vector<compiled_movers> all = {{"baseline", 1, baseline::square_mover<>, baseline::few_streams_mover<>,
                                       baseline::run_mover<>, baseline::spaced_mover<>, baseline::fill_mover,
                                       baseline::copy_long}};
#if (defined(__GNUC__) && defined(__x86_64__)) || (defined(_MSC_VER) && defined(_M_X64))
  if (detect_instruction_set() >= instruction_set::ssse3) {
    all.push_back(
        {"ssse3", 1, ssse3::square_mover<>, ssse3::few_streams_mover<>, nullptr, nullptr, nullptr, nullptr});
  }
#endif
#if defined(__GNUC__) && defined(__x86_64__)
  if (detect_instruction_set() >= instruction_set::avx2) {
    all.push_back({"avx2", 2, avx2::square_mover<>, avx2::few_streams_mover<>, avx2::run_mover<>,
                   avx2::spaced_mover<>, avx2::fill_mover, avx2::copy_long});
  }
  if (detect_instruction_set() >= instruction_set::avx512) {
    all.push_back({"avx512", 4, nullptr, nullptr, avx512::run_mover<>, avx512::spaced_mover<>,
                   avx512::fill_mover, avx512::copy_long});
  }
#endif
  return all;
}

TEST_CASE("a block is repeated for each index of both axes, the second axis innermost") {
  for (std::int64_t outer = 1; outer <= 3; ++outer) {
    for (std::int64_t inner = 1; inner <= 3; ++inner) {
      CAPTURE(outer);
      CAPTURE(inner);
      const std::vector<std::byte> source(100);
      std::vector<std::byte> destination(100);
      stream_block block{};
      block.outer_repeats = {outer, 20, -3};
      block.repeats = {inner, -7, 11};
      std::vector<std::pair<std::int64_t, std::int64_t>> places;
      for (const auto [from, to] : repeated_places(block, source.data() + 50, destination.data() + 50)) {
        places.emplace_back(from - source.data(), to - destination.data());
      }
      std::vector<std::pair<std::int64_t, std::int64_t>> expected;
      for (std::int64_t i = 0; i < outer; ++i) {
        for (std::int64_t j = 0; j < inner; ++j)
          expected.emplace_back(50 + 20 * i - 7 * j, 50 - 3 * i + 11 * j);
      }
      CHECK(places == expected);
    }
  }
}

/// All numbers from `least` to a bit more than two steps, then those around one and two lines.
std::vector<std::size_t> counts(std::size_t least, std::size_t step, std::size_t line) {
  std::vector<std::size_t> result;
  const std::size_t all = 2 * step + 2;
  for (std::size_t i = least; i <= all; ++i) result.push_back(i);
  for (const std::size_t lines : {line, 2 * line}) {
    for (const std::size_t i : {lines, lines + 1}) {
      if (i > result.back()) result.push_back(i);
    }
  }
  return result;
}

/// Checks the mover of blocks with at least `tall` rows and `wide` columns.
void check_transposed(std::mt19937& random, const std::vector<std::byte>& bytes, block_mover mover,
                      std::size_t size, std::size_t tall, std::size_t wide) {
  const std::size_t line = 64 / size;
  for (const std::size_t rows : counts(tall, tall, line)) {
    for (const std::size_t columns : counts(wide, wide, line)) {
      CAPTURE(size);
      CAPTURE(rows);
      CAPTURE(columns);
      test::placed_block placed = test::draw_block(random, size, rows, columns);
      placed.block.lines_at_once = static_cast<std::uint8_t>(test::draw(random, 0, 4));
      test::draw_repeats(random, placed);
      REQUIRE(test::moves_cells(mover, random, placed, test::elements_of(placed), bytes));
    }
  }
}

TEST_CASE("squares make columns of rows, a line of either side at a time") {
  for (const unsigned seed : test::seeds(2, 1)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 20);
    for (const compiled_movers& compiled : all_compiled()) {
      if (compiled.squares == nullptr) continue;
      CAPTURE(compiled.name);
      for (const std::size_t size : square_sizes) {
        const std::size_t side = lane / size;
        check_transposed(random, bytes, compiled.squares(size), size, side * compiled.lanes, side);
      }
    }
  }
}

TEST_CASE("rectangles do the same for fewer rows or columns, from two registers on") {
  for (const unsigned seed : test::seeds(2, 1)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 18);
    int shapes = 0;
    for (const std::size_t size : square_sizes) {
      const std::size_t side = lane / size;
      for (std::size_t tall = 1; tall <= 32; ++tall) {
        for (std::size_t wide = 1; wide <= 32; ++wide) {
          const block_mover mover = baseline::rectangle_mover<>(size, tall, wide);
          const bool are_powers = std::has_single_bit(tall) && std::has_single_bit(wide);
          const bool is_shape = are_powers && std::max(tall, wide) <= side && std::min(tall, wide) < side &&
                                std::min(tall, wide) >= 4 && tall * wide >= 2 * side;
          REQUIRE((mover != nullptr) == is_shape);
          if (!is_shape) continue;
          check_transposed(random, bytes, mover, size, tall, wide);
          ++shapes;
        }
      }
    }
    CHECK(shapes == 10);
  }
}

/// Calls f(random, bytes, compiled, size, few) for each instruction set, element size, and number of streams that are few.
template <class F>
void for_few_streams(const F& f) {
  for (const unsigned seed : test::seeds(2, 1)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 16);
    for (const compiled_movers& compiled : all_compiled()) {
      if (compiled.few_streams == nullptr) continue;
      for (const std::size_t size : stream_element_sizes) {
        for (std::size_t few = 2; few <= std::max<std::size_t>(3, lane / size); ++few) {
          CAPTURE(compiled.name);
          CAPTURE(size);
          CAPTURE(few);
          f(random, bytes, compiled, size, few);
        }
      }
    }
  }
}

/// Checks movers of few streams of some lengths. Destinations are aligned for stores past the caches, or at any places.
template <class Draw>
void check_few_streams(bool are_rows, const Draw& draw_placed) {
  int streamed = 0;
  for_few_streams([&](std::mt19937& random, const std::vector<std::byte>& bytes,
                      const compiled_movers& compiled, std::size_t size, std::size_t few) {
    const std::size_t least = lane / size * compiled.lanes;
    for (const std::size_t count : counts(least, least, 0)) {
      for (const bool is_streamed : {false, true}) {
        for (const std::int64_t destination_unit : {1, 16}) {
          CAPTURE(count);
          CAPTURE(is_streamed);
          CAPTURE(destination_unit);
          test::placed_block placed = draw_placed(random, size, few, count, destination_unit);
          placed.block.is_streamed = is_streamed;
          test::draw_repeats(random, placed);
          REQUIRE(test::moves_cells(compiled.few_streams(size, few, are_rows), random, placed,
                                    test::elements_of(placed), bytes));
          streamed += is_streamed && destination_unit == 16 ? 1 : 0;
        }
      }
    }
  });
  CHECK(streamed >= test::enough(1000));
}

TEST_CASE("few rows become columns without gaps") {
  check_few_streams(true,
                    [](std::mt19937& random, std::size_t size, std::size_t few, std::size_t count,
                       std::int64_t unit) { return test::draw_interleaved(random, size, few, count, unit); });
}

TEST_CASE("rows without gaps become few columns") {
  check_few_streams(false,
                    [](std::mt19937& random, std::size_t size, std::size_t few, std::size_t count,
                       std::int64_t unit) { return test::draw_separated(random, size, count, few, unit); });
}

/// Calls f(random, bytes, size) for sizes of runs: all up to some registers, and some that are stored at aligned places.
template <class F>
void for_run_sizes(const F& f) {
  for (const unsigned seed : test::seeds(2, 1)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 20);
    std::vector<std::int64_t> sizes = test::some_of(261, 1100, 5);
    for (std::int64_t size = 1; size <= 260; ++size) sizes.push_back(size);
    for (const std::int64_t size : sizes) {
      CAPTURE(size);
      f(random, bytes, static_cast<std::size_t>(size));
    }
  }
}

/// Runs of the same size, from any places to any places, or to places that follow each other.
test::placed_block draw_runs(std::mt19937& random, std::size_t size, std::size_t count, bool is_dense) {
  test::placed_block placed;
  placed.block.rows = count;
  placed.block.columns = size;
  placed.block.element_size = size;
  placed.sources = test::draw_streams(random, count, size, placed.source_bytes);
  placed.destinations = is_dense ? test::dense_streams(count, size, placed.destination_bytes)
                                 : test::draw_streams(random, count, size, placed.destination_bytes);
  return placed;
}

/// Runs of the same size at even distances on both sides.
test::placed_block draw_spaced(std::mt19937& random, std::size_t size, std::size_t count) {
  test::placed_block placed;
  placed.block.rows = count;
  placed.block.columns = size;
  placed.block.element_size = size;
  const auto apart = [&] { return size + static_cast<std::size_t>(draw(random, 0, 70)); };
  const std::size_t read = apart();
  const std::size_t written = apart();
  placed.block.spaced_runs = {static_cast<std::int64_t>(count), static_cast<std::int64_t>(read),
                              static_cast<std::int64_t>(written)};
  placed.sources = test::dense_streams(count, read, placed.source_bytes);
  placed.destinations = test::dense_streams(count, written, placed.destination_bytes);
  return placed;
}

TEST_CASE("runs of any size are copied from places to places") {
  for_run_sizes([](std::mt19937& random, const std::vector<std::byte>& bytes, std::size_t size) {
    for (const compiled_movers& compiled : all_compiled()) {
      if (compiled.runs == nullptr) continue;
      for (const std::size_t count : {1u, 2u, 7u, 30u}) {
        CAPTURE(compiled.name);
        CAPTURE(count);
        test::placed_block placed = draw_runs(random, size, count, false);
        test::draw_repeats(random, placed);
        REQUIRE(test::moves_cells(compiled.runs(size, false), random, placed, test::runs_of(placed), bytes));
      }
    }
  });
}

/// Calls visit(random, bytes, mover, size) for the movers of words of each size, of each instruction set.
template <class Visit>
void for_words(block_mover (*compiled_movers::*find)(std::size_t size), const Visit& visit) {
  for (const unsigned seed : test::seeds(30, 4)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 16);
    for (const compiled_movers& compiled : all_compiled()) {
      if (compiled.*find == nullptr) continue;
      CAPTURE(compiled.name);
      for (const std::size_t size : {1u, 2u, 4u, 8u, 16u, 32u}) {
        CAPTURE(size);
        visit(random, bytes, (compiled.*find)(size), size);
      }
    }
  }
}

TEST_CASE("runs of one word are copied between places at even distances") {
  for_words(&compiled_movers::spaced, [](std::mt19937& random, const std::vector<std::byte>& bytes,
                                         block_mover mover, std::size_t size) {
    for (std::size_t count = 1; count <= 11; ++count) {
      CAPTURE(count);
      test::placed_block placed = draw_spaced(random, size, count);
      test::draw_repeats(random, placed);
      REQUIRE(test::moves_cells(mover, random, placed, test::runs_of(placed), bytes));
    }
  });
}

TEST_CASE("rows are filled with one element each") {
  for_words(&compiled_movers::fill, [](std::mt19937& random, const std::vector<std::byte>& bytes,
                                       block_mover mover, std::size_t size) {
    for (std::size_t row = std::max<std::size_t>(size, 16); row <= 330; row += size) {
      CAPTURE(row);
      const std::size_t count = row / size;
      test::placed_block placed;
      placed.block.rows = count;
      placed.block.columns = placed.block.element_size = size;
      placed.block.spaced_runs = {static_cast<std::int64_t>(count), 0, static_cast<std::int64_t>(size)};
      placed.sources = std::vector<std::int64_t>(count, 0);
      placed.source_bytes = static_cast<std::int64_t>(size);
      placed.destinations = test::dense_streams(count, size, placed.destination_bytes);
      test::draw_repeats(random, placed);
      REQUIRE(test::moves_cells(mover, random, placed, test::runs_of(placed), bytes));
    }
  });
}

/// Bytes behind a run that are copied along with it.
std::size_t bytes_over(std::size_t size) {
  for (const std::size_t copied : {1u, 2u, 4u, 8u, 16u, 32u, 48u}) {
    if (size <= copied) return copied - size;
  }
  return 0;
}

TEST_CASE("runs that follow each other reach into the next ones, but for the last") {
  for_run_sizes([](std::mt19937& random, const std::vector<std::byte>& bytes, std::size_t size) {
    for (const compiled_movers& compiled : all_compiled()) {
      if (compiled.runs == nullptr) continue;
      for (const std::size_t count : {4u, 5u, 9u, 30u}) {
        CAPTURE(compiled.name);
        CAPTURE(count);
        test::placed_block placed = draw_runs(random, size, count, true);
        placed.block.exact = static_cast<std::size_t>(draw(random, 1, 4));
        test::draw_repeats(random, placed);
        REQUIRE(test::moves_cells(compiled.runs(size, true), random, placed, test::runs_of(placed), bytes,
                                  bytes_over(size)));
      }
    }
  });
}

TEST_CASE("the last runs of a source are not read beyond their ends") {
  for_run_sizes([](std::mt19937& random, const std::vector<std::byte>& bytes, std::size_t size) {
    for (const compiled_movers& compiled : all_compiled()) {
      if (compiled.runs == nullptr) continue;
      CAPTURE(compiled.name);
      test::placed_block placed = draw_runs(random, size, 8, true);
      placed.sources = test::dense_streams(8, size, placed.source_bytes);
      placed.block.exact = static_cast<std::size_t>(draw(random, 1, 4));
      test::draw_repeats(random, placed);
      REQUIRE(test::moves_cells(compiled.runs(size, true), random, placed, test::runs_of(placed), bytes));
    }
  });
}

TEST_CASE("runs of any size are copied past the caches") {
  for_run_sizes([](std::mt19937& random, const std::vector<std::byte>& bytes, std::size_t size) {
    for (const std::size_t count : {1u, 2u, 7u, 30u}) {
      CAPTURE(count);
      test::placed_block placed = draw_runs(random, size, count, test::flip_coin(random));
      test::draw_repeats(random, placed);
      REQUIRE(test::moves_cells(stream_runs, random, placed, test::runs_of(placed), bytes));
    }
  });
}

TEST_CASE("runs of whole words are copied past the caches, wherever their destination begins") {
  for (const unsigned seed : test::seeds(20, 3)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 20);
    for (const std::size_t width : {4u, 8u, 16u}) {
      const block_mover mover = stream_words_mover(static_cast<std::int64_t>(width));
      for (std::size_t size = 16; size <= 640; size += width == 16 ? 16 : 9 * width) {
        for (const std::size_t count : {1u, 2u, 7u, 30u}) {
          CAPTURE(width);
          CAPTURE(size);
          CAPTURE(count);
          test::placed_block placed = draw_runs(random, size, count, false);
          placed.destination_unit = static_cast<std::int64_t>(width);
          placed.destinations = test::draw_streams(random, count, size, placed.destination_bytes,
                                                   static_cast<std::int64_t>(width));
          test::draw_repeats(random, placed);
          REQUIRE(test::moves_cells(mover, random, placed, test::runs_of(placed), bytes));
          placed.destination_unit = 1;  // now the first place is not aligned
          REQUIRE(test::moves_cells(mover, random, placed, test::runs_of(placed), bytes));
        }
      }
    }
  }
}

TEST_CASE("long runs are copied in registers of each width, at any alignment") {
  for (const unsigned seed : test::seeds(300, 30)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 13);
    for (const compiled_movers& compiled : all_compiled()) {
      if (compiled.long_runs == nullptr) continue;
      CAPTURE(compiled.name);
      const auto least = static_cast<std::int64_t>(lane * compiled.lanes);
      const auto size = static_cast<std::size_t>(draw(random, least, draw(random, 0, 1) == 0 ? 600 : 6000));
      CAPTURE(size);
      // a vector of its own ends with the run
      const std::vector<std::byte> source(bytes.data(), bytes.data() + size);
      constexpr std::size_t guard = 64;
      const auto first = guard + static_cast<std::size_t>(draw(random, 0, 63));
      std::vector<std::byte> result(first + size + guard, std::byte{0xa5});
      std::vector<std::byte> expected = result;
      std::copy(source.begin(), source.end(), expected.data() + first);
      compiled.long_runs(result.data() + first, source.data(), size);
      REQUIRE(result == expected);
    }
  }
}

using bytes_of_lane = std::vector<int>;

bytes_of_lane places_of(const stream_block& b) { return {std::begin(b.places), std::end(b.places)}; }

TEST_CASE("columns of few rows move together in a lane, as if gaps were closed") {
  constexpr int none = 0x80;
  stream_block b{};
  b.close_gaps(4, 3, 4);
  CHECK(places_of(b) == bytes_of_lane{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, none, none, none, none});
  b.close_gaps(1, 3, 4);
  CHECK(places_of(b) == bytes_of_lane{0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, none, none, none, none});
  b.close_gaps(2, 4, 4);
  CHECK(places_of(b) == bytes_of_lane{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
}

TEST_CASE("rows of few columns move apart in a lane, column by column") {
  constexpr int none = 0x80;
  stream_block b{};
  b.open_gaps(1, 3, 4);
  CHECK(places_of(b) == bytes_of_lane{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, none, none, none, none});
  b.open_gaps(2, 2, 2);
  CHECK(places_of(b) == bytes_of_lane{0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15});
  b.open_gaps(4, 3, 4);
  CHECK(places_of(b) == bytes_of_lane{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, none, none, none, none});
}

}  // namespace
}  // namespace reblock
