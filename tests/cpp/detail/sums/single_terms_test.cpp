// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>

#include <doctest/doctest.h>

#include <reblock/detail/layout.hpp>
#include <reblock/detail/sums/single_terms.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock {
namespace {

using namespace detail;

void leave(const tile&, const std::byte*, std::byte*) {}

TEST_CASE("a piece has runs of the columns and of the image") {
  constexpr std::int64_t size = 4;
  constexpr std::int64_t channels = 256;
  constexpr std::int64_t positions = 64;  // along each spatial axis
  // columns (N, L, C) and an image (N, C, H, W)
  layout windows;
  windows.add({1, 0, 0});
  windows.add({channels, size, positions * positions * size});
  windows.add({1, 0, 0});
  windows.add({1, 0, 0});
  windows.add({positions, positions * channels * size, positions * size});
  windows.add({positions, channels * size, size});
  const single_terms sums(windows, size, {leave});
  CHECK(sums.rank() == 4);
  std::int64_t bytes = size;
  for (std::size_t i = 0; i < sums.rank(); ++i) {
    const tile_axis& axis = sums.axis(i);
    bytes *= sums.at_once(i);
    if (axis.source_stride == size) CHECK(sums.at_once(i) * size >= 64);
    if (axis.destination_stride == size) CHECK(sums.at_once(i) * size >= 64);
  }
  CHECK(bytes <= piece_bytes);
  CHECK(bytes > piece_bytes / 4);
}

}  // namespace
}  // namespace reblock
