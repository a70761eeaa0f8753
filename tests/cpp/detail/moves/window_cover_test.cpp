// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/moves/window_cover.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// Units from a few streams in turn, some in a row, with gaps.
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

/// Runs that have all the units, from the first byte of one to the last byte of another that a multiple of `apart`
/// does not lie between.
std::vector<source_bytes> runs_of(const std::vector<std::int32_t>& units, std::int32_t bytes,
                                  std::int32_t apart) {
  std::map<std::int32_t, source_bytes> parts;
  for (const std::int32_t unit : units) {
    if (unit == pattern_units::outside) continue;
    source_bytes& part = parts.try_emplace(unit / apart, source_bytes{unit, unit + bytes}).first->second;
    part = {std::min(part.begin, unit), std::max(part.end, unit + bytes)};
  }
  std::vector<source_bytes> runs;
  for (const auto& [index, part] : parts) {
    if (!runs.empty() && part.begin <= runs.back().end) {
      runs.back().end = std::max(runs.back().end, part.end);
    } else {
      runs.push_back(part);
    }
  }
  return runs;
}

TEST_CASE(
    "each covered unit and its siblings have a place in a window within a run, and no window is wasted") {
  int whole = 0;
  int whole_of_runs = 0;
  for (const unsigned seed : test::seeds(3000, 500)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int32_t unit = 1 << draw(random, 0, 4);
    const auto window_bytes = static_cast<std::int32_t>(16 << draw(random, 0, 1));
    const std::int32_t step = unit >= 4 && window_bytes == 32 && test::flip_coin(random) ? 4 : 1;
    sibling_axis siblings;
    siblings.extent = step == 1 ? static_cast<std::size_t>(draw(random, 1, 4)) : 1;
    siblings.source_stride = static_cast<std::int32_t>(draw(random, 1, 20));
    const std::size_t most = window_cover::most_units / siblings.extent;
    auto units =
        draw_units(random, unit, static_cast<std::size_t>(draw(random, 1, static_cast<std::int64_t>(most))));
    if (test::flip_coin(random)) {  // some begin between the multiples of a unit
      const auto shift = static_cast<std::int32_t>(draw(random, 0, unit));
      for (std::size_t i = units.size() / 2; i < units.size(); ++i) {
        if (units[i] != pattern_units::outside) units[i] += shift;
      }
    }
    const auto last_sibling = static_cast<std::int32_t>(siblings.extent - 1) * siblings.source_stride;
    const std::int32_t apart = test::flip_coin(random) ? 1 << 20 : 1 << draw(random, 5, 9);
    const auto runs = runs_of(units, unit + last_sibling, apart);
    const auto is_short = [&](const source_bytes& run) { return run.end - run.begin < window_bytes; };
    const bool all_fit = std::ranges::none_of(runs, is_short);

    const bool go_back = test::flip_coin(random);
    if (go_back && test::flip_coin(random)) std::ranges::reverse(units);
    window_cover cover(static_cast<std::size_t>(window_bytes), static_cast<std::size_t>(unit),
                       static_cast<std::size_t>(step), runs, siblings, go_back);
    REQUIRE(cover.fits() == !std::ranges::all_of(runs, is_short));
    if (!cover.fits()) continue;
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
          REQUIRE(in_window % step == 0);
          REQUIRE(cover.offset(window) + in_window ==
                  units[i] + static_cast<std::int32_t>(k) * siblings.source_stride);
        }
      }
      for (std::size_t window = 0; window < windows; ++window) {  // all are read, used or not
        const std::int32_t begin = cover.offset(window);
        const auto has_window = [=](const source_bytes& run) {
          return run.begin <= begin && begin + window_bytes <= run.end;
        };
        REQUIRE(std::ranges::any_of(runs, has_window));
      }
      if (covered == units.size()) {
        ++(runs.size() > 1 ? whole_of_runs : whole);
        break;
      }
      // Only for want of windows: those that the next units began may have nothing yet.
      if (all_fit && step == 1 && !go_back) REQUIRE(used.size() + 2 * siblings.extent >= windows);
    }
  }
  CHECK(whole >= test::enough(300));
  CHECK(whole_of_runs >= test::enough(100));
}

TEST_CASE("windows end with a run") {
  const std::int32_t units[] = {90, 99};
  const source_bytes runs[] = {{0, 50}, {60, 100}, {101, 150}};
  window_cover cover(32, 1, 1, runs, {});
  REQUIRE(cover.extend(units, 2) == 2);
  CHECK(cover.offset(0) == 68);
  CHECK(cover.places()[0] == 22);
  CHECK(cover.places()[1] == 31);
}

TEST_CASE("units have places that are multiples of a step, also in a window at the end of a run") {
  const std::int32_t units[] = {92, 86};
  const source_bytes runs[] = {{0, 50}, {60, 100}};
  window_cover cover(32, 8, 4, runs, {});
  REQUIRE(cover.extend(units, 2) == 2);
  CHECK(cover.offset(0) == 68);
  CHECK(cover.places()[0] == 24);
  CHECK(cover.offset(1) == 66);
  CHECK(cover.places()[1] == 32 + 20);
  const std::int32_t near_begin[] = {62};
  const source_bytes short_run[] = {{61, 93}};
  CHECK(window_cover(32, 4, 4, short_run, {}).extend(near_begin, 1) == 0);
}

TEST_CASE("a window has units that lie before the first one, if the source is read backwards") {
  const source_bytes runs[] = {{0, 100}};
  std::vector<std::int32_t> units;
  for (std::int32_t unit = 79; unit >= 16; --unit) units.push_back(unit);  // four windows of 16
  CHECK(window_cover(16, 1, 1, runs, {}, true).extend(units, 4) == 64);
  CHECK(window_cover(16, 1, 1, runs, {}).extend(units, 4) < 64);
  units.clear();
  for (std::int32_t pixel = 45; pixel >= 0; pixel -= 3) {  // mirrored pixels of three bytes
    for (std::int32_t k = 0; k < 3; ++k) units.push_back(pixel + k);
  }
  CHECK(window_cover(16, 1, 1, runs, {}, true).extend(units, 4) == 48);
  units.clear();
  for (std::int32_t pixel = 0; pixel < 48; pixel += 3) {  // pixels whose bytes are reversed
    for (std::int32_t k = 2; k >= 0; --k) units.push_back(pixel + k);
  }
  CHECK(window_cover(16, 1, 1, runs, {}, true).extend(units, 4) == 48);
  const std::int32_t at_begin[] = {3, 2, 1};  // a window begins with the run at the latest
  window_cover cover(16, 1, 1, runs, {}, true);
  REQUIRE(cover.extend(at_begin, 1) == 3);
  CHECK(cover.offset(0) == 1);
}

TEST_CASE("units in a run that is shorter than a window are not covered") {
  const std::int32_t units[] = {10, 60};
  const source_bytes runs[] = {{0, 40}, {50, 81}};
  CHECK(window_cover(32, 1, 1, runs, {}).extend(units, 2) == 1);
  CHECK(window_cover(16, 1, 1, runs, {}).extend(units, 2) == 2);
  CHECK_FALSE(window_cover(32, 1, 1, std::span(runs).subspan(1), {}).fits());
}

}  // namespace
}  // namespace reblock
