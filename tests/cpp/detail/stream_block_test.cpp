// SPDX-License-Identifier: BSD-3-Clause
//
// Every mover of blocks, compiled for each instruction set that the processor has. Sources end with what a mover may read, so
// that a sanitizer sees a read beyond it; destinations have guards before, between and after the elements.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/listed_runs.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>
#include <reblock/detail/stream_block.hpp>

#include "../draw.hpp"
#include "../effort.hpp"
#include "layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

constexpr std::size_t element_sizes[] = {1, 2, 4, 8};
constexpr std::size_t square_sizes[] = {1, 2, 4, 8, 16};
constexpr std::size_t lane = 16;  // bytes
constexpr std::size_t guard_bytes = 64;

/// The movers as they were compiled for one instruction set.
struct compiled_movers {
  std::string name;
  std::size_t lanes;                         ///< of a register
  block_mover (*squares)(std::size_t size);  ///< may return null
  /// The movers of few streams, or null: not all sets have them.
  block_mover (*few_streams)(std::size_t size, std::size_t few, bool are_rows);
  block_mover (*few_rows)(std::size_t size, std::size_t few);
};

/// Those that this processor can run.
std::vector<compiled_movers> all_compiled() {
  std::vector<compiled_movers> all = {
      {"baseline", 1, baseline::square_mover<>, baseline::few_streams_mover, baseline::few_rows_mover}};
#if defined(__GNUC__) && defined(__x86_64__)
  if (detect_instruction_set() >= instruction_set::ssse3) {
    all.push_back({"ssse3", 1, ssse3::square_mover<>, ssse3::few_streams_mover, ssse3::few_rows_mover});
  }
  if (detect_instruction_set() >= instruction_set::avx2) {
    all.push_back({"avx2", 2, avx2::square_mover<>, avx2::few_streams_mover, avx2::few_rows_mover});
  }
  if (detect_instruction_set() >= instruction_set::avx512) {
    all.push_back({"avx512", 4, avx512::square_mover<>, nullptr, nullptr});
  }
#endif
  return all;
}

/// Where the bytes of a block lie, and how much of either buffer they take. A cell is what is moved as a whole: an element
/// of a block, or a run of bytes.
struct placed_block {
  std::vector<std::int64_t> sources;
  std::vector<std::int64_t> destinations;
  stream_block block{};
  std::int64_t source_bytes = 0;       ///< of one repeat
  std::int64_t destination_bytes = 0;  ///< of one repeat

  placed_block() = default;
  placed_block(const placed_block&) = delete;
  placed_block& operator=(const placed_block&) = delete;
  placed_block(placed_block&&) noexcept = default;
  placed_block& operator=(placed_block&&) noexcept = default;
  ~placed_block() = default;

  /// Repeats follow each other upwards or downwards, with gaps.
  void repeat(std::mt19937& random, std::int64_t times) {
    block.sources = sources.data();
    block.destinations = destinations.data();
    block.repeats = times;
    block.source_step = source_bytes + draw(random, 0, 5);
    block.destination_step = destination_bytes + draw(random, 0, 5);
    if (test::flip_coin(random)) block.source_step = -block.source_step;
    if (test::flip_coin(random)) block.destination_step = -block.destination_step;
  }
};

/// The places of streams of `bytes` each, in random order and with gaps; returns what all of them take.
std::int64_t place_streams(std::mt19937& random, std::vector<std::int64_t>& places, std::size_t count,
                           std::size_t bytes) {
  places.assign(count, 0);
  std::int64_t next = 0;
  std::int64_t end = 0;
  for (const std::size_t i : test::draw_order(random, count)) {
    places[i] = next;
    end = next + static_cast<std::int64_t>(bytes);
    next = end + draw(random, 0, 3);
  }
  return end;
}

/// The places of streams that are interleaved element by element without gaps.
std::int64_t interleave_streams(std::vector<std::int64_t>& places, std::size_t count, std::size_t apart) {
  places.clear();
  for (std::size_t i = 0; i < count; ++i) places.push_back(static_cast<std::int64_t>(i * apart));
  return static_cast<std::int64_t>(count * apart);
}

/// A block at any places on both sides.
placed_block place_block(std::mt19937& random, std::size_t size, std::size_t rows, std::size_t columns) {
  placed_block placed;
  placed.block.rows = rows;
  placed.block.columns = columns;
  placed.source_bytes = place_streams(random, placed.sources, rows, columns * size);
  placed.destination_bytes = place_streams(random, placed.destinations, columns, rows * size);
  return placed;
}

/// A source that holds nothing but what is to be read, and a destination of guards.
struct buffers {
  std::vector<std::byte> source;
  std::vector<std::byte> result;
  std::int64_t source_first = 0;
  std::int64_t destination_first = 0;

  buffers(std::mt19937& random, const placed_block& placed, const std::vector<std::byte>& bytes,
          std::size_t read_on) {
    const stream_block& b = placed.block;
    const std::int64_t source_reach = (b.repeats - 1) * b.source_step;
    const std::int64_t destination_reach = (b.repeats - 1) * b.destination_step;
    const std::int64_t shift = test::flip_coin(random) ? draw(random, 1, 15) : 0;
    source_first = shift + std::max<std::int64_t>(0, -source_reach);
    const std::int64_t source_end = shift + magnitude(source_reach) + placed.source_bytes;
    REQUIRE(static_cast<std::size_t>(source_end) + read_on <= bytes.size());
    source.assign(bytes.begin(), bytes.begin() + source_end + static_cast<std::ptrdiff_t>(read_on));
    const auto guard = static_cast<std::int64_t>(guard_bytes);
    destination_first = guard + draw(random, 0, 15) + std::max<std::int64_t>(0, -destination_reach);
    result.assign(static_cast<std::size_t>(destination_first + std::max<std::int64_t>(0, destination_reach) +
                                           placed.destination_bytes + guard),
                  std::byte{0xa5});
  }
};

/// Whether `mover` moves each element of `size` bytes to its place, and writes nothing else.
bool moves_elements(block_mover mover, std::mt19937& random, placed_block& placed, std::size_t size,
                    const std::vector<std::byte>& bytes, bool reads_to_end = false) {
  buffers own(random, placed, bytes, 0);
  std::vector<std::byte> expected = own.result;
  const auto& [sources, destinations, b, source_bytes, destination_bytes] = placed;
  for (std::size_t column = 0; column < b.columns; ++column) {
    for (std::size_t row = 0; row < b.rows; ++row) {
      for (std::int64_t i = 0; i < b.repeats; ++i) {
        const std::int64_t from =
            own.source_first + i * b.source_step + sources[row] + static_cast<std::int64_t>(column * size);
        const std::int64_t to = own.destination_first + i * b.destination_step + destinations[column] +
                                static_cast<std::int64_t>(row * size);
        std::copy_n(own.source.begin() + from, size, expected.begin() + to);
      }
    }
  }
  placed.block.readable_end = reads_to_end ? own.source.data() + own.source.size() : nullptr;
  mover(placed.block, own.source.data() + own.source_first, own.result.data() + own.destination_first);
  return own.result == expected;
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

TEST_CASE("squares make columns of rows, a line of either side at a time") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 19);
  for (const compiled_movers& compiled : all_compiled()) {
    for (const std::size_t size : square_sizes) {
      if (compiled.squares(size) == nullptr) continue;
      const std::size_t side = lane / size;
      const std::size_t tall = side * compiled.lanes;
      const std::size_t line = 64 / size;
      for (const std::size_t rows : counts(tall, tall, line)) {
        for (const std::size_t columns : counts(side, side, line)) {
          for (const bool by_destination : {false, true}) {
            for (const std::int64_t repeats : {1, 3}) {
              CAPTURE(compiled.name);
              CAPTURE(size);
              CAPTURE(rows);
              CAPTURE(columns);
              CAPTURE(by_destination);
              CAPTURE(repeats);
              placed_block placed = place_block(random, size, rows, columns);
              placed.block.by_destination = by_destination;
              placed.repeat(random, repeats);
              REQUIRE(moves_elements(compiled.squares(size), random, placed, size, bytes));
            }
          }
        }
      }
    }
  }
}

/// Calls f for each instruction set, element size, number of streams that are few, and number of repeats.
template <class F>
void for_few_streams(F&& f) {
  for (const compiled_movers& compiled : all_compiled()) {
    if (compiled.few_streams == nullptr) continue;
    for (const std::size_t size : element_sizes) {
      for (std::size_t few = 2; few <= lane / size; ++few) {
        for (const std::int64_t repeats : {1, 3}) f(compiled, size, few, repeats);
      }
    }
  }
}

std::size_t power_from(std::size_t few) {
  std::size_t power = 2;
  while (power < few) power *= 2;
  return power;
}

TEST_CASE("few rows become columns without gaps") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 14);
  for_few_streams(
      [&](const compiled_movers& compiled, std::size_t size, std::size_t few, std::int64_t repeats) {
        const std::size_t least = lane / size * compiled.lanes;
        for (const std::size_t columns : counts(least, least, 0)) {
          CAPTURE(compiled.name);
          CAPTURE(size);
          CAPTURE(few);
          CAPTURE(columns);
          CAPTURE(repeats);
          placed_block placed;
          placed.block.rows = few;
          placed.block.columns = columns;
          placed.source_bytes = place_streams(random, placed.sources, few, columns * size);
          placed.destination_bytes = interleave_streams(placed.destinations, columns, few * size);
          placed.block.close_gaps(size, few, power_from(few));
          placed.repeat(random, repeats);
          REQUIRE(moves_elements(compiled.few_streams(size, few, true), random, placed, size, bytes));
        }
      });
}

TEST_CASE("rows without gaps become few columns") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 14);
  for_few_streams(
      [&](const compiled_movers& compiled, std::size_t size, std::size_t few, std::int64_t repeats) {
        const std::size_t least = lane / size * compiled.lanes;
        for (const std::size_t rows : counts(least, least, 0)) {
          CAPTURE(compiled.name);
          CAPTURE(size);
          CAPTURE(few);
          CAPTURE(rows);
          CAPTURE(repeats);
          placed_block placed;
          placed.block.rows = rows;
          placed.block.columns = few;
          placed.source_bytes = interleave_streams(placed.sources, rows, few * size);
          placed.destination_bytes = place_streams(random, placed.destinations, few, rows * size);
          placed.block.open_gaps(size, few, power_from(few));
          placed.repeat(random, repeats);
          REQUIRE(moves_elements(compiled.few_streams(size, few, false), random, placed, size, bytes));
        }
      });
}

TEST_CASE("few rows at any places, read to their ends or along with what follows in the source") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 14);
  for_few_streams(
      [&](const compiled_movers& compiled, std::size_t size, std::size_t few, std::int64_t repeats) {
        for (const std::size_t columns : counts(1, lane / size, 0)) {
          for (const bool reads_to_end : {false, true}) {
            CAPTURE(compiled.name);
            CAPTURE(size);
            CAPTURE(few);
            CAPTURE(columns);
            CAPTURE(repeats);
            CAPTURE(reads_to_end);
            placed_block placed = place_block(random, size, few, columns);
            placed.repeat(random, repeats);
            REQUIRE(moves_elements(compiled.few_rows(size, few), random, placed, size, bytes, reads_to_end));
          }
        }
      });
}

/// Whether `mover` copies each run of `size` bytes to its place, and writes nothing else.
bool copies_runs(block_mover mover, std::mt19937& random, const placed_block& placed, std::size_t size,
                 const std::vector<std::byte>& bytes, std::size_t read_on) {
  buffers own(random, placed, bytes, read_on);
  std::vector<std::byte> expected = own.result;
  const stream_block& b = placed.block;
  for (std::size_t row = 0; row < b.rows; ++row) {
    for (std::int64_t i = 0; i < b.repeats; ++i) {
      std::copy_n(
          own.source.begin() + own.source_first + i * b.source_step + placed.sources[row], size,
          expected.begin() + own.destination_first + i * b.destination_step + placed.destinations[row]);
    }
  }
  mover(b, own.source.data() + own.source_first, own.result.data() + own.destination_first);
  return own.result == expected;
}

TEST_CASE("runs of any size are copied from places to places") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 17);
  std::vector<std::int64_t> sizes = test::some_of(101, 1100, 5);  // some go on from where memcpy() begins
  for (std::int64_t size = 1; size <= 100; ++size) sizes.push_back(size);
  for (const std::int64_t chosen : sizes) {
    const auto size = static_cast<std::size_t>(chosen);
    for (const std::size_t rows : {1u, 2u, 7u, 30u}) {
      for (const std::int64_t repeats : {1, 3}) {
        CAPTURE(size);
        CAPTURE(rows);
        CAPTURE(repeats);
        placed_block placed;
        placed.block.rows = rows;
        placed.block.columns = size;
        placed.source_bytes = place_streams(random, placed.sources, rows, size);
        placed.destination_bytes = place_streams(random, placed.destinations, rows, size);
        placed.repeat(random, repeats);
        REQUIRE(copies_runs(run_mover(size, false), random, placed, size, bytes, 0));
      }
    }
  }
}

/// Bytes behind a run that are copied along with it.
std::size_t bytes_over(std::size_t size) {
  for (const std::size_t copied : {1u, 2u, 4u, 8u, 16u, 32u, 48u}) {
    if (size <= copied) return copied - size;
  }
  return 0;
}

TEST_CASE("runs that follow each other reach into the next ones, but for the last") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 16);
  for (std::size_t size = 1; size <= 100; ++size) {
    for (const std::size_t exact : {1u, 4u}) {
      for (const std::size_t rows : {4u, 5u, 9u, 30u}) {
        for (const std::int64_t repeats : {1, 3}) {
          CAPTURE(size);
          CAPTURE(exact);
          CAPTURE(rows);
          CAPTURE(repeats);
          placed_block placed;
          placed.block.rows = rows;
          placed.block.columns = size;
          placed.block.exact = exact;
          placed.source_bytes = place_streams(random, placed.sources, rows, size);
          placed.destination_bytes = interleave_streams(placed.destinations, rows, size);
          placed.repeat(random, repeats);
          REQUIRE(copies_runs(run_mover(size, true), random, placed, size, bytes, bytes_over(size)));
        }
      }
    }
  }
}

TEST_CASE("the last runs of a source are not read beyond their ends") {
  std::mt19937 random(1);
  const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 12);
  for (std::size_t size = 1; size <= 100; ++size) {
    CAPTURE(size);
    constexpr std::size_t rows = 8;
    placed_block placed;
    placed.block.rows = rows;
    placed.block.columns = size;
    placed.block.exact = 4;
    placed.source_bytes = interleave_streams(placed.sources, rows, size);
    placed.destination_bytes = interleave_streams(placed.destinations, rows, size);
    placed.repeat(random, 1);
    REQUIRE(copies_runs(run_mover(size, true), random, placed, size, bytes, 0));
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
