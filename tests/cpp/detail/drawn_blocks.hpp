// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks for the movers of simd/, at drawn places. Sources end with what a mover may read, so that a sanitizer sees a read
// beyond it. Destinations have guards before, between and after the elements.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/movers/stream_block.hpp>
#include <reblock/detail/simd/registers.hpp>

#include "../draw.hpp"

namespace reblock::test {

/// Bytes of the elements that streams are made of.
inline constexpr std::size_t stream_element_sizes[] = {1, 2, 4, 8};

/// Where the bytes of a block lie, and how much of either buffer they take.
struct placed_block {
  std::vector<std::int64_t> sources;
  std::vector<std::int64_t> destinations;
  detail::stream_block block{};
  std::int64_t source_bytes = 0;       ///< of one repeat
  std::int64_t destination_bytes = 0;  ///< of one repeat
  /// All streams of the destination begin at multiples of so many bytes. Without 16, no mover can write past the caches.
  std::int64_t destination_unit = 1;

  placed_block() = default;
  placed_block(const placed_block&) = delete;
  placed_block& operator=(const placed_block&) = delete;
  placed_block(placed_block&&) noexcept = default;
  placed_block& operator=(placed_block&&) noexcept = default;
  ~placed_block() = default;
};

inline std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Returns the places of streams of `bytes` each, in random order and with gaps; `end` becomes what all of them take.
inline std::vector<std::int64_t> draw_streams(std::mt19937& random, std::size_t count, std::size_t bytes,
                                              std::int64_t& end, std::int64_t unit = 1) {
  std::vector<std::int64_t> places(count);
  std::int64_t next = 0;
  for (const std::size_t i : draw_order(random, count)) {
    places[i] = next;
    end = next + static_cast<std::int64_t>(bytes);
    next = round_up(end + draw(random, 0, 3), unit);
  }
  return places;
}

/// Returns the places of streams that begin `apart` bytes after each other, without gaps.
inline std::vector<std::int64_t> dense_streams(std::size_t count, std::size_t apart, std::int64_t& end) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < count; ++i) places.push_back(static_cast<std::int64_t>(i * apart));
  end = static_cast<std::int64_t>(count * apart);
  return places;
}

/// A block at any places on both sides.
inline placed_block draw_block(std::mt19937& random, std::size_t size, std::size_t rows,
                               std::size_t columns) {
  placed_block placed;
  placed.block.rows = rows;
  placed.block.columns = columns;
  placed.block.element_size = size;
  placed.sources = draw_streams(random, rows, columns * size, placed.source_bytes);
  placed.destinations = draw_streams(random, columns, rows * size, placed.destination_bytes);
  return placed;
}

/// Rows whose columns follow each other in the destination without gaps.
inline placed_block draw_interleaved(std::mt19937& random, std::size_t size, std::size_t rows,
                                     std::size_t columns, std::int64_t destination_unit) {
  placed_block placed;
  placed.block.rows = rows;
  placed.block.columns = columns;
  placed.block.element_size = size;
  placed.destination_unit = destination_unit;
  placed.sources = draw_streams(random, rows, columns * size, placed.source_bytes);
  placed.destinations = dense_streams(columns, rows * size, placed.destination_bytes);
  placed.block.close_gaps(size, rows, std::bit_ceil(rows));
  return placed;
}

/// Columns whose rows follow each other in the source without gaps.
inline placed_block draw_separated(std::mt19937& random, std::size_t size, std::size_t rows,
                                   std::size_t columns, std::int64_t destination_unit) {
  placed_block placed;
  placed.block.rows = rows;
  placed.block.columns = columns;
  placed.block.element_size = size;
  placed.destination_unit = destination_unit;
  placed.sources = dense_streams(rows, columns * size, placed.source_bytes);
  placed.destinations =
      draw_streams(random, columns, rows * size, placed.destination_bytes, destination_unit);
  placed.block.open_gaps(size, columns, std::bit_ceil(columns));
  return placed;
}

/// Draws strides that keep repeats of `bytes` apart. Either axis has the larger stride, and each has either sign.
inline void draw_repeat_strides(std::mt19937& random, detail::stream_block& block,
                                std::int64_t detail::tile_axis::* stride, std::int64_t bytes,
                                std::int64_t unit) {
  detail::tile_axis* near = &block.repeats;
  detail::tile_axis* far = &block.outer_repeats;
  if (flip_coin(random)) std::swap(near, far);
  std::int64_t step = bytes;
  for (detail::tile_axis* const axis : {near, far}) {
    step = round_up(step + draw(random, 0, 5), unit);
    axis->*stride = flip_coin(random) ? step : -step;
    step *= axis->extent;
  }
}

/// Repeats a block along none, either or both of the two axes.
inline void draw_repeats(std::mt19937& random, placed_block& placed) {
  detail::stream_block& b = placed.block;
  b.sources = placed.sources.data();
  b.destinations = placed.destinations.data();
  b.outer_repeats.extent = flip_coin(random) ? 1 : draw(random, 2, 3);
  b.repeats.extent = flip_coin(random) ? 1 : draw(random, 2, 3);
  draw_repeat_strides(random, b, &detail::tile_axis::source_stride, placed.source_bytes, 1);
  draw_repeat_strides(random, b, &detail::tile_axis::destination_stride, placed.destination_bytes,
                      placed.destination_unit);
}

/// The offsets of the first repeat and of the last one in memory.
inline std::pair<std::int64_t, std::int64_t> reach(const detail::stream_block& block,
                                                   std::int64_t detail::tile_axis::* stride) {
  std::pair<std::int64_t, std::int64_t> result{0, 0};
  for (const detail::tile_axis& axis : {block.outer_repeats, block.repeats}) {
    const std::int64_t last = (axis.extent - 1) * (axis.*stride);
    (last < 0 ? result.first : result.second) += last;
  }
  return result;
}

/// A cell is what is moved as a whole: an element of a block, or a run of bytes.
struct cell {
  std::int64_t source;       ///< offset in bytes
  std::int64_t destination;  ///< offset in bytes
  std::size_t size;          ///< bytes
};

inline std::vector<cell> elements_of(const placed_block& placed) {
  const std::size_t size = placed.block.element_size;
  std::vector<cell> cells;
  for (std::size_t row = 0; row < placed.block.rows; ++row) {
    for (std::size_t column = 0; column < placed.block.columns; ++column) {
      cells.push_back({placed.sources[row] + static_cast<std::int64_t>(column * size),
                       placed.destinations[column] + static_cast<std::int64_t>(row * size), size});
    }
  }
  return cells;
}

inline std::vector<cell> runs_of(const placed_block& placed) {
  std::vector<cell> cells;
  for (std::size_t row = 0; row < placed.block.rows; ++row) {
    cells.push_back({placed.sources[row], placed.destinations[row], placed.block.columns});
  }
  return cells;
}

/// Tells whether `mover` moves each cell to its place, for each repeat, and writes nothing else. The destination begins at a
/// multiple of `destination_unit`, and at no other multiple of 16 if this is 1. The mover may read `bytes_on` bytes behind the
/// last cell.
inline bool moves_cells(detail::block_mover mover, std::mt19937& random, placed_block& placed,
                        const std::vector<cell>& cells, const std::vector<std::byte>& bytes,
                        std::size_t bytes_on = 0) {
  constexpr std::int64_t guard = 64;
  constexpr std::int64_t width = 16;
  const detail::stream_block& b = placed.block;
  const auto source_reach = reach(b, &detail::tile_axis::source_stride);
  const auto destination_reach = reach(b, &detail::tile_axis::destination_stride);

  const std::int64_t source_first = draw(random, 0, width - 1) - source_reach.first;
  const std::int64_t source_end =
      source_first + source_reach.second + placed.source_bytes + static_cast<std::int64_t>(bytes_on);
  REQUIRE(static_cast<std::size_t>(source_end) <= bytes.size());
  const std::vector<std::byte> source(bytes.data(), bytes.data() + source_end);

  std::vector<std::byte> result(
      static_cast<std::size_t>(guard + 2 * width - destination_reach.first + destination_reach.second +
                               placed.destination_bytes + guard),
      std::byte{0xa5});
  std::int64_t destination_first = guard - destination_reach.first;
  while (detail::address_of(result.data() + destination_first) % width != 0) ++destination_first;
  if (placed.destination_unit < width) destination_first += draw(random, 1, width - 1);

  std::vector<std::byte> expected = result;
  for (std::int64_t i = 0; i < b.outer_repeats.extent; ++i) {
    for (std::int64_t j = 0; j < b.repeats.extent; ++j) {
      const auto offset = [&](std::int64_t detail::tile_axis::* stride) {
        return i * (b.outer_repeats.*stride) + j * (b.repeats.*stride);
      };
      const std::byte* const from = source.data() + source_first + offset(&detail::tile_axis::source_stride);
      std::byte* const to =
          expected.data() + destination_first + offset(&detail::tile_axis::destination_stride);
      for (const cell& c : cells) std::copy_n(from + c.source, c.size, to + c.destination);
    }
  }
  mover(placed.block, source.data() + source_first, result.data() + destination_first);
  detail::finish_streams();
  return result == expected;
}

}  // namespace reblock::test
