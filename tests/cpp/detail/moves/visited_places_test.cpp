// SPDX-License-Identifier: BSD-3-Clause
//
// Estimates of the lines that the places of a move bring into a cache, against a cache that is simulated line by line.
#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/costs.hpp>
#include <reblock/detail/moves/visited_places.hpp>
#include <reblock/detail/tile.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::flip_coin;

/// A first-level cache of 64 sets, each with the 8 lines that were used last.
class simulated_cache {
 public:
  void use(std::int64_t address) {
    const std::int64_t line = address / 64;
    std::list<std::int64_t>& set = sets_[static_cast<std::size_t>(line % 64)];
    const auto found = std::find(set.begin(), set.end(), line);
    if (found != set.end()) {
      set.erase(found);
    } else {
      ++brought;
    }
    set.push_front(line);
    if (set.size() > 8) set.pop_back();
  }

  double brought = 0;  ///< lines

 private:
  std::array<std::list<std::int64_t>, 64> sets_;
};

/// Visits all places, the first axis innermost.
double simulate(const std::vector<tile_axis>& axes) {
  simulated_cache cache;
  double places = 0;
  const auto visit = [&](const auto& self, std::size_t left, std::int64_t from, std::int64_t to) -> void {
    if (left == 0) {
      ++places;
      cache.use(from);
      cache.use(to);
      return;
    }
    const tile_axis& axis = axes[left - 1];
    for (std::int64_t i = 0; i < axis.extent; ++i)
      self(self, left - 1, from + i * axis.source_stride, to + i * axis.destination_stride);
  };
  visit(visit, axes.size(), 0, (std::int64_t{1} << 40) + 64 * 37);
  return cache.brought / places;
}

/// Counts each line that comes into the cache, for the first time or again, as a cycle.
double estimate(const std::vector<tile_axis>& axes, double bytes) {
  mover_costs costs;
  costs.read_line = costs.written_line = {1, 1, 1, 0};
  costs.stored_line = 0;
  costs.page = 0;
  visited_places places(costs, 4, 1);
  for (const tile_axis& axis : axes) places.visit(axis);
  return places.cost_of_reads(bytes) + places.cost_of_writes(bytes);
}

/// Axes of a permutation of elements of 4 bytes. Rows of either side may be some lines longer than their elements, so that
/// they are a power of 2 apart.
std::vector<tile_axis> draw_axes(std::mt19937& random) {
  const std::int64_t inner = draw(random, 2, 40);
  const std::int64_t outer = draw(random, 2, 120);
  const std::int64_t repeated = draw(random, 1, 6);
  const auto row = [&](std::int64_t elements) {
    const std::int64_t power = std::int64_t{512} << draw(random, 0, 3);
    return flip_coin(random) ? 4 * elements : (4 * elements + power - 1) / power * power;
  };
  const std::int64_t source_row = row(inner * repeated);
  const std::int64_t destination_row = row(outer);
  std::vector<tile_axis> axes{
      {inner, 4, repeated * destination_row}, {outer, source_row, 4}, {repeated, 4 * inner, destination_row}};
  std::shuffle(axes.begin(), axes.end(), random);
  return axes;
}

TEST_CASE("places bring as many lines as a simulated cache counts, but for few moves") {
  int near = 0;
  int all = 0;
  double estimated = 0;
  double simulated = 0;
  for (const unsigned seed : test::seeds(1000, 200)) {
    std::mt19937 random(seed);
    const std::vector<tile_axis> axes = draw_axes(random);
    const double exact = simulate(axes);
    const double about = estimate(axes, cache_sizes::second_level);
    CAPTURE(seed);
    CHECK(about <= 2.01);  // no place brings more than a line of each side
    near += exact < 1.5 * about + 0.1 && about < 1.5 * exact + 0.1 ? 1 : 0;
    ++all;
    estimated += about;
    simulated += exact;
  }
  CHECK(near >= 0.8 * all);
  CHECK(estimated < 1.4 * simulated);
  CHECK(simulated < 1.4 * estimated);
}

TEST_CASE(
    "lines of large moves take longer, but for those of long runs beside few others, and those that are "
    "asked for") {
  const auto cost = [](std::int64_t streams, std::int64_t run, double bytes, double waits) {
    mover_costs costs;
    costs.read_line = {10, 20, 0, 0};
    costs.written_line = {0, 0, 0, 0};
    costs.page = 0;
    visited_places places(costs, 4, 0);
    places.visit({streams, 1 << 20, 4});
    places.visit({run / 4, 4, 4 * streams});
    return places.cost_of_reads(bytes, waits) * 16;  // of a line
  };
  constexpr double outer = 2e6;
  constexpr double far = 5e6;
  CHECK(cost(100, 4096, cache_sizes::second_level, 1) == 0);
  CHECK(cost(100, 4096, outer, 1) == doctest::Approx(10));
  CHECK(cost(100, 4096, far, 1) == doctest::Approx(20));
  CHECK(cost(100, 4096, far, 0.5) == doctest::Approx(10));
  CHECK(cost(4, 64, far, 1) == doctest::Approx(20));
  CHECK(cost(4, 1 << 16, far, 1) < 1);
}

TEST_CASE("stores wait for near lines of short runs, loads do not") {
  const auto cost = [](std::int64_t read, std::int64_t written) {
    mover_costs costs;
    costs.read_line = costs.written_line = {0, 0, 0, 0};
    costs.next_line = 1;
    costs.stored_line = 8;
    costs.page = 0;
    visited_places places(costs, 4, costs.next_line);
    places.visit({1000, read, written});
    return std::pair(places.cost_of_reads(1e5), places.cost_of_writes(1e5));
  };
  CHECK(cost(4096, 4).first == doctest::Approx(1));
  CHECK(cost(4, 4096).second == doctest::Approx(9));
  CHECK(cost(4096, 4).second < 0.2);  // a sixteenth of a line, which is predicted
}

TEST_CASE("lines of one block stay, and those of other blocks may be evicted meanwhile") {
  const auto cost = [](bool waits) {
    mover_costs costs;
    costs.read_line = costs.written_line = {0, 0, 1, 0};
    costs.page = 0;
    visited_places places(costs, 4, 0);
    places.visit({1000, 4096, 64}, waits);
    places.visit({16, 4, 64000}, waits);
    return places.cost_of_reads(1e6) + places.cost_of_writes(1e6);
  };
  CHECK(cost(false) == 0);
  CHECK(cost(true) > 0.9);
}

TEST_CASE("pages whose addresses are brought again take time, if both sides have too many together") {
  constexpr std::int64_t far = 4096 + 64;
  const auto cost = [](const tile_axis& pages) {
    mover_costs costs;
    costs.read_line = costs.written_line = {0, 0, 0, 0};
    costs.page = 1;
    visited_places places(costs, 4, 0);
    places.visit(pages);
    places.visit({16, 4, 4});
    return places.cost_of_reads(1e6) + places.cost_of_writes(1e6);
  };
  CHECK(cost({50, far, 4}) == 0);
  CHECK(cost({100, far, 4}) == doctest::Approx(15.0 / 16).epsilon(0.1));  // each visit but the first
  CHECK(cost({50, far, far}) == doctest::Approx(2 * 15.0 / 16).epsilon(0.1));
  CHECK(cost({30, far, far}) == 0);
}

}  // namespace
}  // namespace reblock
