// SPDX-License-Identifier: BSD-3-Clause
//
// Short runs of the destination whose bytes come from near places of the source, in any order.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/shuffle_table.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/simplify.hpp>

#include "../../draw.hpp"
#include "../../effort.hpp"
#include "../drawn_ways.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::flip_coin;

/// A way of shuffled runs alone.
class shuffled_move : public staged_move {
 public:
  double plan(const layout& moves, std::int64_t element_size, instruction_set set) noexcept {
    double cost = std::numeric_limits<double>::infinity();
    block_offers(moves, element_size, set)
        .for_each_offer(buffered_side::none, [&](mover_kind kind, const block_offer& offer) {
          if (kind != mover_kind::shuffled_runs) return;
          cost = offer.cost;
          second = offer.move;
        });
    source_offset = moves.source_offset;
    destination_offset = moves.destination_offset;
    total_bytes = detail::total_bytes(moves, element_size);
    return cost;
  }
};

/// Whether processors with this set shuffle runs.
bool shuffles(instruction_set set) { return lookup_width(set) == 16 || lookup_width(set) == 32; }

/// Permuted axes without gaps in the source, and with gaps between runs of the destination at times.
test::moves draw_short_axes(std::mt19937& random) {
  const std::int64_t element_size = draw(random, 1, 3);
  axis_values extents;
  for (std::int64_t i = draw(random, 2, 5); i > 0; --i)
    extents.push_back(draw(random, 2, flip_coin(random) ? 4 : 9));
  extents[static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(extents.size()) - 1))] =
      draw(random, 2, 70);
  axis_values source = test::draw_strides(random, extents, element_size);
  axis_values destination = test::draw_strides(random, extents, element_size);
  if (flip_coin(random)) {
    std::size_t longest = 0;
    for (std::size_t i = 1; i < destination.size(); ++i) {
      if (destination[i] > destination[longest]) longest = i;
    }
    destination[longest] += draw(random, 1, 9);
  }
  test::turn(random, source);
  layout l;
  for (std::size_t i = 0; i < extents.size(); ++i) l.add({extents[i], source[i], destination[i]});
  return test::without_margins(l, element_size);
}

TEST_CASE("registers shuffle runs of the destination, whole or in parts") {
  int planned = 0;
  int cut = 0;
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    planned += test::check_way<shuffled_move>(random, draw_short_axes(random), cut);
  }
  const auto sets = test::all_instruction_sets();
  const bool any_shuffles = std::any_of(sets.begin(), sets.end(), shuffles);
  CHECK((planned >= test::enough(50) || !any_shuffles));
  CHECK((cut >= test::enough(50) || !any_shuffles));
}

TEST_CASE("runs are not shuffled from far places, or from sources that have gaps") {
  for (const instruction_set set : test::all_instruction_sets()) {
    INFO("instruction set ", std::string(name_of(set)));
    const auto is_offered = [set](const layout& moves) {
      return std::isfinite(shuffled_move().plan(moves, 1, set));
    };
    layout near;
    near.add({64, 32, 32});
    near.add({8, 1, 4});
    near.add({4, 8, 1});
    near.source_run = 64 * 32;
    CHECK(is_offered(near) == shuffles(set));
    layout gaps;
    gaps.take(near);
    gaps.source_run = 0;
    CHECK_FALSE(is_offered(gaps));
    layout far;
    far.take(near);
    far.axes[2].source_stride = 4096;
    far.source_run = 4 * 4096;
    CHECK_FALSE(is_offered(far));
  }
}

TEST_CASE("a run has as few indices as fill the fewest registers") {
  CHECK(shuffle_table::choose_piece(1000, 8, 16) == 4);
  CHECK(shuffle_table::choose_piece(5, 15, 8) == 5);
  CHECK(shuffle_table::choose_piece(3, 9, 14) == 3);
  CHECK(shuffle_table::choose_piece(2, 1, 128) == 2);
}

}  // namespace
}  // namespace reblock
