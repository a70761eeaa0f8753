// SPDX-License-Identifier: BSD-3-Clause
//
// Outputs that go past the caches by way of a buffer. Small ones stand for large ones.
#include <cstdint>
#include <random>

#include <doctest/doctest.h>

#include <reblock/detail/moves/stream_move.hpp>

#include "../../effort.hpp"
#include "../drawn_ways.hpp"
#include "../layout_oracle.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

TEST_CASE("blocks go through a buffer, and the runs of an output past the caches") {
  int planned = 0;
  int cut = 0;
  for (const unsigned seed : test::seeds(300, 30)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    planned += test::check_way<stream_move>(random, test::draw_dense(random, 1 << draw(random, 14, 17)), cut);
    planned += test::check_way<stream_move>(
        random, test::draw_permutation(random, std::int64_t{1} << draw(random, 14, 17)), cut);
  }
  CHECK(planned >= test::enough(100));
  CHECK(cut >= test::enough(20));
}

TEST_CASE("there is no way without runs of the output that are long enough") {
  stream_move streams;
  const auto is_planned = [&](const layout& l) {
    return streams.plan(l, 4, detect_instruction_set()) < never;
  };
  layout l;  // planes of floats become pixels of four
  l.add({4096, 4, 16});
  l.add({4, 16384, 4});
  CHECK(is_planned(l));
  l.axes[0].destination_stride = 32;  // a gap after each pixel
  CHECK_FALSE(is_planned(l));
  l = {};  // each row of the output has an element of each line of the source
  l.add({64, 4, 16384});
  l.add({4096, 256, 4});
  CHECK(is_planned(l));
  l.axes[1].extent = 63;  // rows that are too short
  CHECK_FALSE(is_planned(l));
}

}  // namespace
}  // namespace reblock
