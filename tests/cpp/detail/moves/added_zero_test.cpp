// SPDX-License-Identifier: BSD-3-Clause
//
// Moves that add 0 to the parts of elements, planned for each instruction set that the processor has.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/moves/stream_move.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../drawn_moves.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// The bits of parts, and of the sums of 0 and them.
struct part {
  added_zero zero;
  std::int64_t size;  ///< bytes
  std::array<std::uint64_t, 6> terms;
  std::array<std::uint64_t, 6> sums;
};
/// -0, 0, the least number, a number that is -0 but for a bit, a quiet NaN, a signaling NaN. A half stays signaling.
constexpr part known_parts[] = {
    {added_zero::halves, 2, {0x8000, 0, 1, 0x8001, 0xfe12, 0x7c01}, {0, 0, 1, 0x8001, 0xfe12, 0x7c01}},
    {added_zero::singles,
     4,
     {0x80000000, 0, 1, 0x80000001, 0xffc00012, 0x7f800001},
     {0, 0, 1, 0x80000001, 0xffc00012, 0x7fc00001}},
    {added_zero::doubles,
     8,
     {0x8000000000000000, 0, 1, 0x8000000000000001, 0xfff8000000000012, 0x7ff0000000000001},
     {0, 0, 1, 0x8000000000000001, 0xfff8000000000012, 0x7ff8000000000001}},
};

/// Puts drawn terms into the source of a trial, and their sums into the expected destination.
void put_terms(std::mt19937& random, test::trial& t, const part& by) {
  const auto size = static_cast<std::size_t>(by.size);
  const auto put = [size](std::byte* to, std::uint64_t bits) { std::memcpy(to, &bits, size); };
  const auto shift = static_cast<unsigned>(draw(random, 0, 5));
  const auto choose = [&](std::int64_t place) {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(place) * 0x9e3779b97f4a7c15 >> 40) + shift;
  };
  test::for_each_point(t.moves.layout, [&](const test::layout_point& point) {
    for (std::int64_t at = 0; at < t.moves.element_size; at += by.size) {
      const std::size_t which = choose(point.source + at) % by.terms.size();
      put(t.source.data() + point.source + at, by.terms[which]);
      put(t.expected.data() + point.destination + at, by.sums[which]);
    }
  });
}

TEST_CASE("moves add 0 to all parts of elements on their way") {
  if (!movers_add_zero) return;
  int staged = 0;
  int direct = 0;
  for (const unsigned seed : test::seeds(4000, 400)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const part& by = known_parts[draw(random, 0, 2)];
    test::moves drawn = test::draw_permutation(random, std::int64_t{1} << draw(random, 8, 16));
    if (drawn.element_size % by.size != 0) continue;
    drawn.layout.zero = by.zero;
    // from 32 MiB on, outputs go past the caches
    if (draw(random, 0, 3) == 0) drawn.layout.whole_bytes = std::int64_t{1} << 26;
    test::trial t(random, drawn);
    put_terms(random, t, by);
    for (const instruction_set set : test::all_instruction_sets()) {
      INFO("instruction set ", std::string(name_of(set)));
      const move_plan plan(t.moves.layout, t.moves.element_size, set);
      CHECK(t.is_moved([&](const std::byte* from, std::byte* to) { plan.run(from, to); }));
      plan.visit([&](const auto& way) {
        if constexpr (std::is_same_v<decltype(way), const staged_move&>) ++(way.is_staged ? staged : direct);
      });
    }
  }
  CHECK(staged >= test::enough(20));
  CHECK(direct >= test::enough(100));
}

}  // namespace
}  // namespace reblock
