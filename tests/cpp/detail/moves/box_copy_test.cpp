// SPDX-License-Identifier: BSD-3-Clause
//
// Boxes of units are copied, and nothing else is written.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/moves/box_copy.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

TEST_CASE("a box copies its units, in runs, from one place or from any places") {
  constexpr std::int64_t units[] = {1, 2, 4, 8, 16};
  int runs = 0;
  for (const unsigned seed : test::seeds(2000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    copied_box box;
    box.unit = units[draw(random, 0, 4)];
    const bool repeats = draw(random, 0, 3) == 0;
    const bool is_dense = draw(random, 0, 2) == 0;
    // offsets of all units, made apart from the box
    std::vector<std::int64_t> from{0};
    std::vector<std::int64_t> to{0};
    std::int64_t read = box.unit;
    std::int64_t written = box.unit;
    for (std::int64_t rank = draw(random, 0, 4); rank > 0; --rank) {
      const std::int64_t count = draw(random, 1, 5);
      if (!is_dense) read += draw(random, 0, 9);
      if (!is_dense) written += draw(random, 0, 9);
      const std::int64_t stride = repeats ? 0 : read;
      box.add({count, stride, written});
      std::vector<std::int64_t> more_from;
      std::vector<std::int64_t> more_to;
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::size_t k = 0; k < from.size(); ++k) {
          more_from.push_back(from[k] + i * stride);
          more_to.push_back(to[k] + i * written);
        }
      }
      from = more_from;
      to = more_to;
      read *= count;
      written *= count;
    }
    CHECK(box.units() == static_cast<std::int64_t>(from.size()));
    runs += box.has_runs() ? 1 : 0;
    const std::vector<std::byte> source = test::draw_bytes(random, static_cast<std::size_t>(read));
    std::vector<std::byte> result = test::draw_bytes(random, static_cast<std::size_t>(written));
    std::vector<std::byte> expected = result;
    for (std::size_t k = 0; k < from.size(); ++k)
      std::memcpy(expected.data() + to[k], source.data() + from[k], static_cast<std::size_t>(box.unit));
    box.copy(source.data(), result.data());
    CHECK(result == expected);
  }
  CHECK(runs >= test::enough(100));
}

TEST_CASE("a box is worth a plan if it has many units and no long runs") {
  const auto is_worth = [](std::int64_t run, std::int64_t count) {
    copied_box box;
    box.add({run, 1, 1});
    box.add({count, 2 * run, run});
    return box.is_worth_planning();
  };
  CHECK(is_worth(3, 1000));
  CHECK(!is_worth(3, 100));
  CHECK(!is_worth(64, 1000));
}

TEST_CASE("an element's units are the largest that fill it, up to 16 bytes") {
  CHECK(unit_of(1) == 1);
  CHECK(unit_of(6) == 2);
  CHECK(unit_of(12) == 4);
  CHECK(unit_of(16) == 16);
  CHECK(unit_of(96) == 16);
}

}  // namespace
}  // namespace reblock
