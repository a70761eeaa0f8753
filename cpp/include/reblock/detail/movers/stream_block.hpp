// SPDX-License-Identifier: BSD-3-Clause
//
// A stream_block describes a block for the movers of simd/: rows of the source become columns of the destination.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Says where each byte of a lane comes from; 0x80: the byte becomes 0.
using lane_places = std::array<std::uint8_t, 16>;

/// Element (r, c) of a block lies at sources[r] + c * size in the source and at destinations[c] + r * size in the
/// destination. Rows are contiguous in the source, and columns in the destination. Offsets are in bytes.
struct stream_block {
  const std::int64_t* sources;
  const std::int64_t* destinations;
  std::size_t rows;
  std::size_t columns;
  /// Lines of a column that a mover of squares writes together; 0: it reads whole lines of the source instead.
  std::uint8_t lines_at_once = 0;
  /// Whether the mover writes past the caches, where the destination allows it.
  bool is_streamed = false;
  added_zero zero = added_zero::none;  ///< the parts of elements to which the mover adds 0
  /// Runs may be copied with more bytes than they have. The last `exact` runs are copied with exactly their bytes.
  std::size_t exact = 0;
  std::size_t element_size = 0;  ///< bytes
  /// The places of spaced runs, which have no list.
  tile_axis spaced_runs{};
  /// The block is moved for each index of two axes.
  tile_axis outer_repeats{};
  tile_axis repeats{};
  lane_places places{};    ///< for few streams
  bool separates = false;  ///< of wide streams: whether columns are separated, or else rows interleaved
  const std::byte* picks = nullptr;  ///< for wide streams: see made_picks

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

/// repeated_places is a range: the places where a block is moved, one for each index of its two repeated axes. It is its own
/// iterator. It has copies, which no store to the destination can change.
class repeated_places {
 public:
  struct place {
    const std::byte* source;
    std::byte* destination;
  };

  repeated_places(const stream_block& block, const std::byte* source, std::byte* destination) noexcept
      : outer_(block.outer_repeats),
        inner_(block.repeats),
        row_{source, destination},
        next_{source, destination},
        rows_(block.outer_repeats.extent),
        left_(block.repeats.extent) {}

  struct sentinel {};
  repeated_places begin() const noexcept { return *this; }
  static sentinel end() noexcept { return {}; }
  bool operator!=(sentinel) const noexcept { return rows_ > 0; }
  place operator*() const noexcept { return next_; }
  repeated_places& operator++() noexcept {
    if (--left_ > 0) {
      next_ = {next_.source + inner_.source_stride, next_.destination + inner_.destination_stride};
    } else if (--rows_ > 0) {
      row_ = {row_.source + outer_.source_stride, row_.destination + outer_.destination_stride};
      next_ = row_;
      left_ = inner_.extent;
    }
    return *this;
  }

 private:
  tile_axis outer_;
  tile_axis inner_;
  place row_;  ///< of the first index of the inner axis
  place next_;
  std::int64_t rows_;  ///< that are left
  std::int64_t left_;  ///< in the row
};

/// Moves a block. `source` and `destination` point to its first element.
using block_mover = void (*)(const stream_block&, const std::byte* source, std::byte* destination);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
