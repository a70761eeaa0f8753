// SPDX-License-Identifier: BSD-3-Clause
//
// A stream_block describes a block for the movers of simd/: rows of the source become columns of the destination.
#pragma once

#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Element (r, c) of a block lies at sources[r] + c * size in the source and at destinations[c] + r * size in the
/// destination. Rows are contiguous in the source, and columns in the destination. Offsets are in bytes.
struct stream_block {
  const std::int64_t* sources;
  const std::int64_t* destinations;
  std::size_t rows;
  std::size_t columns;
  /// Whether the mover writes whole lines of the destination; else it reads whole lines of the source.
  bool by_destination = false;
  /// Runs may be copied with more bytes than they have. The last `exact` runs are copied with exactly their bytes.
  std::size_t exact = 0;
  /// The block is moved `repeats` times, each time further by the steps in bytes.
  std::int64_t repeats = 1;
  std::int64_t source_step = 0;
  std::int64_t destination_step = 0;
  /// The mover may read bytes behind the source's elements up to here; null: none.
  const std::byte* readable_end = nullptr;
  /// For few streams: where each byte of a lane comes from; 0x80: the byte becomes 0.
  std::uint8_t places[16] = {};

  /// Fills `places` to remove gaps from columns of `few` rows that were shuffled as columns of `count` rows, a power of 2.
  void close_gaps(std::size_t size, std::size_t few, std::size_t count) noexcept {
    for (std::size_t i = 0, from = 0; i < 16; ++from) {
      if (from == 16) {
        while (i < 16) places[i++] = 0x80;
      } else if (from / size % count < few) {
        places[i++] = static_cast<std::uint8_t>(from);
      }
    }
  }
  /// Fills `places` to separate rows of `few` columns by column, with room for `count` columns, a power of 2.
  void open_gaps(std::size_t size, std::size_t few, std::size_t count) noexcept {
    const std::size_t unit = 16 / count;  // bytes of a column in a lane
    for (std::size_t i = 0; i < 16; ++i) {
      const std::size_t column = i / unit;
      const std::size_t row = i % unit / size;
      places[i] = column < few ? static_cast<std::uint8_t>((row * few + column) * size + i % size)
                               : std::uint8_t{0x80};
    }
  }
};

/// Moves a block. `source` and `destination` point to its first element.
using block_mover = void (*)(const stream_block&, const std::byte* source, std::byte* destination);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
