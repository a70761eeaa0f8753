// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>

#include <doctest/doctest.h>

#include <reblock/detail/moves/pattern_units.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// A pattern whose destination is dense and whose source has no gaps, with up to one pair of axes that share a bound, or a
/// single axis whose bound has a mode.
layout draw_pattern(std::mt19937& random, std::int64_t element_size) {
  layout l;
  l.source_run = 1000 * element_size;
  const auto rank = static_cast<std::size_t>(draw(random, 1, 4));
  for (std::size_t i = 0; i < rank; ++i) l.add({draw(random, 1, 5), draw(random, 0, 40) * element_size, 0});
  std::int64_t stride = element_size;
  for (std::size_t i = rank; i-- > 0; stride *= l.axes[i].extent) l.axes[i].destination_stride = stride;
  if (rank >= 2 && test::flip_coin(random)) {
    const auto order = test::draw_order(random, rank);
    for (const std::size_t i : {order[0], order[1]}) {
      l.axes[i].bound = 0;
      l.axes[i].bound_step = draw(random, 1, 3) * (test::flip_coin(random) ? 1 : -1);
    }
    l.bounds[0] = {draw(random, -3, 3), draw(random, 1, 6)};
    l.bound_count = 1;
    if (test::flip_coin(random)) {
      l.bounds[0].mode = static_cast<padding_mode>(draw(random, 1, 4));
      l.bounds[0].source_stride = draw(random, 0, 40) * element_size;
      if (test::flip_coin(random)) l.axes[order[1]].bound = no_bound;
    }
  }
  return l;
}

TEST_CASE("units are the bytes of a pattern in the order of the destination, what is outside left out") {
  for (const unsigned seed : test::seeds(2000, 200)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = draw(random, 1, 3) << draw(random, 0, 3);
    const layout l = draw_pattern(random, element_size);
    std::array<index_range, max_axes> whole;
    for (std::size_t i = 0; i < l.rank; ++i) whole[i] = {0, l.axes[i].extent};
    const auto units = std::make_unique<pattern_units>();
    REQUIRE(units->list(l, 0, whole, element_size));
    std::map<std::int64_t, std::int64_t> expected;  // from byte of the destination to byte of the source
    for (const test::layout_point& point : test::points(l)) {
      for (std::int64_t byte = 0; byte < element_size; ++byte) {
        expected[point.destination + byte] = point.inside ? point.source + byte : -1;
      }
    }
    REQUIRE(units->count * units->size == expected.size());
    for (std::size_t i = 0; i < units->count; ++i) {
      for (std::size_t byte = 0; byte < units->size; ++byte) {
        const std::int32_t unit = units->offsets[i];
        const auto place = static_cast<std::int64_t>(i * units->size + byte);
        const std::int64_t found =
            unit == pattern_units::outside ? -1 : unit + static_cast<std::int64_t>(byte);
        REQUIRE(found == expected.at(place));
      }
    }
  }
}

TEST_CASE("a unit is a power of two of bytes") {
  const std::array<index_range, 1> whole{index_range{0, 2}};
  for (const auto& [element_size, unit] :
       {std::pair(1, 1), std::pair(3, 1), std::pair(12, 4), std::pair(16, 16), std::pair(17, 1),
        std::pair(48, 16), std::pair(64, 16)}) {
    layout l;
    l.add({2, element_size, element_size});
    pattern_units units;
    REQUIRE(units.list(l, 0, whole, element_size));
    CHECK(units.size == static_cast<std::size_t>(unit));
  }
}

/// Whether axes of `l` within its source_run alone lead from one point to the other.
bool are_connected(const layout& l, const test::layout_point& a, const test::layout_point& b) {
  for (std::size_t i = 0; i < l.rank; ++i) {
    if (!l.in_source_run(l.axes[i]) && a.index[i] != b.index[i]) return false;
  }
  return true;
}

TEST_CASE("what may be read along with a unit is a run around it") {
  int several = 0;
  for (const unsigned seed : test::seeds(500, 50)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t element_size = draw(random, 1, 3) << draw(random, 0, 3);
    layout l = draw_pattern(random, element_size);
    l.source_run = draw(random, 0, 40) * element_size;
    std::array<index_range, max_axes> whole;
    for (std::size_t i = 0; i < l.rank; ++i) whole[i] = {0, l.axes[i].extent};
    const auto units = std::make_unique<pattern_units>();
    const auto points = test::points(l);
    if (!units->list(l, 0, whole, element_size)) {
      std::int64_t parts = 1;
      for (std::size_t i = 0; i < l.rank; ++i) parts *= l.in_source_run(l.axes[i]) ? 1 : l.axes[i].extent;
      REQUIRE(parts > static_cast<std::int64_t>(pattern_units::most_runs));
      continue;
    }
    std::set<std::int64_t> readable;
    for (const test::layout_point& a : points) {
      for (const test::layout_point& b : points) {
        if (!a.inside || !b.inside || !are_connected(l, a, b)) continue;
        for (std::int64_t at = a.source; at < b.source + element_size; ++at) readable.insert(at);
      }
    }
    std::set<std::int64_t> found;
    const auto runs = std::span(units->runs).first(units->run_count);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (i > 0) REQUIRE(runs[i - 1].end < runs[i].begin);
      for (std::int64_t at = runs[i].begin; at < runs[i].end; ++at) found.insert(at);
    }
    REQUIRE(found == readable);
    several += runs.size() > 1 ? 1 : 0;
  }
  CHECK(several >= test::enough(100));
}

TEST_CASE("patterns that are too large or reach too far have no units") {
  const std::array<index_range, 1> whole{index_range{0, 3}};
  pattern_units units;
  layout l;
  l.add({3, 5, 1});
  CHECK(units.list(l, 0, whole, 1));
  CHECK_FALSE(units.go_back);
  l.axes[0].source_stride = -5;
  CHECK(units.list(l, 0, whole, 1));
  CHECK(units.go_back);
  CHECK(units.offsets[2] == -10);
  for (const std::int64_t stride : {std::int64_t{1} << 30, -(std::int64_t{1} << 30)}) {
    l.axes[0].source_stride = stride;
    CHECK_FALSE(units.list(l, 0, whole, 1));
  }
  l.axes[0] = {static_cast<std::int64_t>(pattern_units::limit) + 1, 1, 1};
  CHECK_FALSE(units.list(l, 0, whole, 1));
}

TEST_CASE("units that repeat others have none if these go downwards or are too far away") {
  const std::array<index_range, 1> whole{index_range{0, 3}};
  pattern_units units;
  layout l;
  l.add({3, 5, 1, 0, 1});
  l.bound_count = 1;
  l.bounds[0] = {-1, 2, padding_mode::reflection, 5};
  CHECK(units.list(l, 0, whole, 1));
  l.bounds[0].source_stride = -5;
  CHECK_FALSE(units.list(l, 0, whole, 1));
  l.bounds[0].source_stride = std::int64_t{1} << 30;
  CHECK_FALSE(units.list(l, 0, whole, 1));
  l.bounds[0] = {std::int64_t{1} << 30, 2, padding_mode::wrap, 5};
  CHECK_FALSE(units.list(l, 0, whole, 1));
}

TEST_CASE("of axes that are bounded from elsewhere, indices that are not inside are left out") {
  layout l;
  l.add({4, 10, 1, 0, 1});
  const std::array<index_range, 1> inside{index_range{1, 3}};
  pattern_units units;
  REQUIRE(units.list(l, 0, inside, 1));
  constexpr std::int32_t outside = pattern_units::outside;
  CHECK(units.offsets[0] == outside);
  CHECK(units.offsets[1] == 10);
  CHECK(units.offsets[2] == 20);
  CHECK(units.offsets[3] == outside);
}

}  // namespace
}  // namespace reblock
