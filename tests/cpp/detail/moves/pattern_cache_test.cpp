// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/moves/pattern_cache.hpp>

#include "../../draw.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;

/// Rows of `width` elements of each of `streams` streams become one row, an element from each in turn.
layout interleaved_rows(std::int64_t streams, std::int64_t width) {
  layout l;
  l.add({width, 1, streams});
  l.add({streams, 1000, 1});
  l.source_run = streams * 1000;
  return l;
}

TEST_CASE("a thread keeps what reblock.hpp says, and nearly as much") {
  CHECK(sizeof(pattern_cache) <= std::size_t{17} * 1024);
  CHECK(sizeof(pattern_cache) > std::size_t{16} * 1024);
}

TEST_CASE("a table that is remembered is the one that was asked for") {
  const std::size_t width = lookup_width(detect_instruction_set());
  if (width == 0) return;
  const auto cache = std::make_unique<pattern_cache>();
  std::mt19937 random(1);
  const auto source = test::draw_bytes(random, 16 * 1000);
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t streams = 2; streams <= 8; ++streams) {  // more than are remembered
      for (const std::int64_t row : {30, 31, 30}) {
        const layout l = interleaved_rows(streams, row);
        const auto table = std::make_unique<pattern>();
        sibling_axis siblings;
        REQUIRE(cache->make(*table, width, l, 0, 1, siblings));
        std::vector<std::byte> result(static_cast<std::size_t>(streams * row));
        table->move({}, {}, source.data(), result.data());
        for (const test::layout_point& point : test::points(l)) {
          REQUIRE(result[static_cast<std::size_t>(point.destination)] ==
                  source[static_cast<std::size_t>(point.source)]);
        }
      }
    }
  }
}

TEST_CASE("that there is no table is remembered too") {
  const std::size_t width = lookup_width(detect_instruction_set());
  if (width == 0) return;
  const auto cache = std::make_unique<pattern_cache>();
  const auto table = std::make_unique<pattern>();
  layout far = interleaved_rows(2, 30);
  far.axes[1].source_stride = std::int64_t{1} << 40;
  sibling_axis siblings;
  CHECK_FALSE(cache->make(*table, width, far, 0, 1, siblings));
  CHECK_FALSE(cache->make(*table, width, far, 0, 1, siblings));
  CHECK(cache->make(*table, width, interleaved_rows(2, 30), 0, 1, siblings));
}

TEST_CASE("a table for a source without gaps is not one for a source with them") {
  const std::size_t width = lookup_width(detect_instruction_set());
  if (width == 0) return;
  const auto cache = std::make_unique<pattern_cache>();
  const auto table = std::make_unique<pattern>();
  sibling_axis siblings;
  layout l = interleaved_rows(2, 200);
  l.axes[0].source_stride = 2;
  for (int round = 0; round < 2; ++round) {
    for (const std::int64_t run : {2000, 400}) {  // as one, as two streams
      l.source_run = run;
      CHECK(cache->make(*table, width, l, 0, 1, siblings));
    }
    l.source_run = 1;  // none: elements alone
    CHECK_FALSE(cache->make(*table, width, l, 0, 1, siblings));
  }
}

TEST_CASE("siblings are looked up together only where that is cheaper") {
  if (lookup_width(detect_instruction_set()) != 64) return;
  const auto cache = std::make_unique<pattern_cache>();
  const auto table = std::make_unique<pattern>();
  layout every_fourth;
  every_fourth.add({64, 4, 1});
  every_fourth.source_run = 256;
  for (int round = 0; round < 2; ++round) {
    sibling_axis near{0, 4, 1, 1000};  // the other three of each four bytes
    REQUIRE(cache->make(*table, 64, every_fourth, 0, 1, near));
    CHECK(near.extent == 4);
    sibling_axis far{0, 4, 300, 1000};
    REQUIRE(cache->make(*table, 64, every_fourth, 0, 1, far));
    CHECK(far.extent == 1);
  }
}

}  // namespace
}  // namespace reblock
