// SPDX-License-Identifier: BSD-3-Clause
//
// What the traversal hands to a leaf.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace reblock::detail {

struct tile_axis {
  std::int64_t extent = 1;
  std::int64_t source_stride = 0;       ///< bytes
  std::int64_t destination_stride = 0;  ///< bytes
};

/// What a leaf works on. Leaves differ in what they do with the inner two axes, which they repeat for
/// every index of the other two: a call for each row would cost as much as a short row itself.
struct tile {
  tile_axis outer;
  tile_axis inner;
  std::size_t element_size = 0;  ///< bytes
  tile_axis rows{};
  tile_axis slices{};
  /// Whether the output is too large for the caches anyhow.
  bool streamed = false;
};

/// From the outermost to the innermost.
inline constexpr std::array<tile_axis tile::*, 4> tile_axes = {&tile::slices, &tile::rows, &tile::outer,
                                                               &tile::inner};

/// A leaf. `source` and `destination` point to the first element of the tile.
using leaf_function = void (*)(const tile&, const std::byte* source, std::byte* destination);

/// Calls `move(source, destination)` for every index of the axes before the inner two. `move` holds what
/// it needs by value, and is inlined: the bytes that it writes may be anything that is in memory, so all
/// that a row needs has to stay in registers.
template <class Move>
[[gnu::always_inline]] inline void for_each_row(const tile& t, const std::byte* source,
                                                std::byte* destination, Move move) {
  const auto [slices, rows] = std::pair(t.slices, t.rows);
  for (std::int64_t i = 0; i < slices.extent; ++i) {
    const std::byte* from = source + i * slices.source_stride;
    std::byte* to = destination + i * slices.destination_stride;
    for (std::int64_t j = 0; j < rows.extent; ++j) {
      // Not `from += ...`: behind the last row a step that is not taken may lead anywhere.
      move(from + j * rows.source_stride, to + j * rows.destination_stride);
    }
  }
}

}  // namespace reblock::detail
