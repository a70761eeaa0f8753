// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/window_cover.hpp>

#include "../draw.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// Runs of units from a few streams in turn, with gaps.
std::vector<std::int32_t> draw_units(std::mt19937& random, std::int32_t unit, std::size_t count) {
  std::vector<std::int32_t> streams;
  for (std::int64_t i = draw(random, 1, 12); i > 0; --i) {
    streams.push_back(static_cast<std::int32_t>(draw(random, 0, 500)) * unit);
  }
  const std::int64_t longest_run = draw(random, 1, 9);
  std::vector<std::int32_t> units;
  for (std::size_t s = 0; units.size() < count; s = (s + 1) % streams.size()) {
    for (std::int64_t i = draw(random, 1, longest_run); i > 0 && units.size() < count; --i) {
      const bool is_outside = draw(random, 0, 15) == 0;
      units.push_back(is_outside ? pattern_units::outside : streams[s]);
      streams[s] += unit;
    }
    streams[s] += static_cast<std::int32_t>(draw(random, 0, 3)) * unit;
  }
  return units;
}

TEST_CASE("each covered unit and its siblings have a place in a window, and no window is wasted") {
  int whole = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int32_t unit = 1 << draw(random, 0, 4);
    const auto window_bytes = static_cast<std::int32_t>(16 << draw(random, 0, 1));
    sibling_axis siblings;
    siblings.extent = static_cast<std::size_t>(draw(random, 1, 4));
    siblings.source_stride = static_cast<std::int32_t>(draw(random, 1, 20));
    const std::size_t most = window_cover::most_units / siblings.extent;
    const auto units =
        draw_units(random, unit, static_cast<std::size_t>(draw(random, 1, static_cast<std::int64_t>(most))));
    const auto last_sibling = static_cast<std::int32_t>(siblings.extent - 1) * siblings.source_stride;
    const std::int32_t last = std::ranges::max(units);
    if (last + last_sibling + unit < window_bytes) continue;  // a window would read beyond the end
    const std::int32_t last_window = last + last_sibling + unit - window_bytes;

    window_cover cover(static_cast<std::size_t>(window_bytes), static_cast<std::size_t>(unit), last_window,
                       siblings);
    std::size_t covered = 0;
    for (const std::size_t windows : {2u, 4u, 8u, 16u}) {
      const std::size_t now = cover.extend(units, windows);
      REQUIRE(now >= covered);
      covered = now;
      std::set<std::size_t> used;
      for (std::size_t i = 0; i < covered; ++i) {
        for (std::size_t k = 0; k < siblings.extent; ++k) {
          const std::uint16_t place = cover.places()[i * siblings.extent + k];
          if (units[i] == pattern_units::outside) {
            REQUIRE(place == window_cover::nowhere);
            continue;
          }
          const std::size_t window = place / static_cast<std::size_t>(window_bytes);
          REQUIRE(window < windows);
          used.insert(window);
          const std::int32_t in_window = place % window_bytes;
          REQUIRE(in_window + unit <= window_bytes);
          REQUIRE(cover.offset(window) + in_window ==
                  units[i] + static_cast<std::int32_t>(k) * siblings.source_stride);
          REQUIRE(cover.offset(window) <= last_window);
          REQUIRE(cover.offset(window) >= 0);
        }
      }
      if (covered == units.size()) {
        ++whole;
        break;
      }
      // Only for want of windows: those that the next units began may have nothing yet.
      REQUIRE(used.size() + 2 * siblings.extent >= windows);
    }
  }
  CHECK(whole > 500);
}

TEST_CASE("windows end with the source") {
  const std::int32_t units[] = {90, 99};
  window_cover cover(32, 1, 100 - 32, {});
  REQUIRE(cover.extend(units, 2) == 2);
  CHECK(cover.offset(0) == 68);
  CHECK(cover.places()[0] == 22);
  CHECK(cover.places()[1] == 31);
}

}  // namespace
}  // namespace reblock
