// SPDX-License-Identifier: BSD-3-Clause
//
// What the movers of simd/ are handed: rows of the source that become columns of the destination.
#pragma once

#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Element (r, c) of a block lies at sources[r] + c * size in the source and at destinations[c] + r * size in the
/// destination: rows are contiguous there, columns here. Offsets in bytes.
struct stream_block {
  const std::int64_t* sources;
  const std::int64_t* destinations;
  std::size_t rows;
  std::size_t columns;
  /// Whether whole lines of the destination are written at a time, else whole lines of the source are read.
  bool by_destination = false;
  /// Of runs that are copied by more bytes than they have, as many of the last are copied as they are.
  std::size_t exact = 0;
  /// The block is moved as often, each time so many bytes further.
  std::int64_t repeats = 1;
  std::int64_t source_step = 0;
  std::int64_t destination_step = 0;
  /// Up to here all that follows the source's elements may be read along with them; null: nothing may.
  const std::byte* readable_end = nullptr;
  /// Few streams: where the bytes of a lane come from; 0x80: from nowhere.
  std::uint8_t places[16] = {};

  /// Columns of `few` rows, which have been shuffled as if there were a power of two of them, `count`.
  void close_gaps(std::size_t size, std::size_t few, std::size_t count) noexcept {
    for (std::size_t i = 0, from = 0; i < 16; ++from) {
      if (from == 16) {
        while (i < 16) places[i++] = 0x80;
      } else if (from / size % count < few) {
        places[i++] = static_cast<std::uint8_t>(from);
      }
    }
  }
  /// Rows of `few` columns, apart by column, as if there were a power of two of them, `count`.
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
