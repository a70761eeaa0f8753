// SPDX-License-Identifier: BSD-3-Clause
//
// Every mover with registers of 64 bytes, for rows of 8 bytes to a few registers. A thorough run has rows of every length.
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/movers/wide_streams.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../drawn_blocks.hpp"
#include "../layout_oracle.hpp"

#if defined(__GNUC__) && defined(__x86_64__)

namespace reblock {
namespace {

using namespace detail;

using test::stream_element_sizes;
constexpr std::size_t stream_counts[] = {2, 3, 4, 5, 6, 7, 8, 9, 16};

/// Bytes of the shortest and of the longest row: rows lie in quarters of registers, in halves, alone in registers that they do
/// not fill, and in several steps.
constexpr std::pair<std::int64_t, std::int64_t> row_ranges[] = {{8, 16}, {17, 32}, {33, 63}, {64, 264}};

bool has_mover(std::size_t streams, std::size_t row_bytes, std::size_t element_size) {
  return choose_wide_mover<>(streams, row_bytes, element_size) != nullptr;
}

/// Checks the movers of each number of streams, each element size, and rows of some lengths. Destinations are aligned for
/// stores past the caches, or at any places.
template <class Draw>
void check_movers(bool separates, const Draw& draw_placed) {
  if (detect_instruction_set() < instruction_set::avx512) {
    MESSAGE("this processor cannot run these movers");
    return;
  }
  int streamed = 0;
  for (const unsigned seed : test::seeds(2, 1)) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const std::vector<std::byte> bytes = test::draw_bytes(random, 1 << 17);
    for (const std::size_t streams : stream_counts) {
      for (const std::size_t size : stream_element_sizes) {
        for (const auto& [shortest, longest] : row_ranges) {
          const auto unit = static_cast<std::int64_t>(size);
          for (const std::int64_t count : test::some_of((shortest + unit - 1) / unit, longest / unit, 2)) {
            for (const bool is_streamed : {false, true}) {
              for (const std::int64_t destination_unit : {1, 16}) {
                const auto elements = static_cast<std::size_t>(count);
                CAPTURE(streams);
                CAPTURE(size);
                CAPTURE(count);
                CAPTURE(is_streamed);
                CAPTURE(destination_unit);
                REQUIRE(has_mover(streams, elements * size, size));
                const block_mover mover = choose_wide_mover<>(streams, elements * size, size);
                test::placed_block placed = draw_placed(random, size, streams, elements, destination_unit);
                placed.block.is_streamed = is_streamed;
                test::draw_repeats(random, placed);
                placed.block.separates = separates;
                made_picks picks;
                placed.block.picks = picks.make(placed.block);
                REQUIRE(test::moves_cells(mover, random, placed, test::elements_of(placed), bytes));
                streamed += is_streamed && destination_unit == 16 && elements * size >= 64 ? 1 : 0;
              }
            }
          }
        }
      }
    }
  }
  CHECK(streamed >= test::enough(1000));
}

TEST_CASE("registers of 64 bytes interleave streams") {
  check_movers(false,
               [](std::mt19937& random, std::size_t size, std::size_t streams, std::size_t count,
                  std::int64_t unit) { return test::draw_interleaved(random, size, streams, count, unit); });
}

TEST_CASE("registers of 64 bytes separate streams") {
  check_movers(true,
               [](std::mt19937& random, std::size_t size, std::size_t streams, std::size_t count,
                  std::int64_t unit) { return test::draw_separated(random, size, count, streams, unit); });
}

TEST_CASE("registers of 64 bytes have no movers for other numbers of streams, or for larger elements") {
  for (const std::size_t streams : {0u, 1u, 10u, 11u, 12u, 13u, 14u, 15u, 17u, 32u}) {
    CAPTURE(streams);
    for (const std::size_t row_bytes : {8u, 24u, 40u, 64u, 200u}) {
      CHECK(!has_mover(streams, row_bytes, 1));
    }
  }
  CHECK(has_mover(4, 64, 8));
  CHECK(!has_mover(4, 64, 16));
}

TEST_CASE("registers have slots for all streams") {
  for (const std::size_t streams : stream_counts) {
    for (const std::size_t row_bytes : {8u, 16u, 17u, 32u, 33u, 63u, 64u, 200u}) {
      CAPTURE(streams);
      CAPTURE(row_bytes);
      const wide_slots shape = wide_slots::of(streams, row_bytes);
      CHECK(shape.slots * shape.count >= streams);
      if (shape.slots > 1) CHECK(row_bytes * shape.slots <= 64);
    }
  }
}

}  // namespace
}  // namespace reblock

#endif
