// SPDX-License-Identifier: BSD-3-Clause
//
// A tile describes the elements that one call of a leaf moves.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

struct tile_axis {
  std::int64_t extent = 1;
  std::int64_t source_stride = 0;       ///< bytes
  std::int64_t destination_stride = 0;  ///< bytes
};

/// A tile has four axes. Leaves differ in how they move the inner two axes. They repeat it for every index of the other
/// two: a call for each row would cost as much as a short row itself.
///
/// One of the inner two axes may have two parts that are contiguous on one side only. Then the rows are joined to this
/// axis, and only the slices are repeated.
struct tile {
  enum class axis : std::uint8_t { neither, outer, inner };

  tile_axis outer;
  tile_axis inner;
  std::size_t element_size = 0;  ///< bytes
  tile_axis rows{};
  tile_axis slices{};
  /// Whether the output is too large for the caches.
  bool streamed = false;
  axis joined = axis::neither;

  constexpr std::int64_t outer_extent() const noexcept {
    return outer.extent * (joined == axis::outer ? rows.extent : 1);
  }
  constexpr std::int64_t inner_extent() const noexcept {
    return inner.extent * (joined == axis::inner ? rows.extent : 1);
  }
  /// Returns the axes that the inner two are repeated for, the inner one first.
  constexpr std::pair<tile_axis, tile_axis> repeated() const noexcept {
    return joined == axis::neither ? std::pair(rows, slices) : std::pair(slices, tile_axis{});
  }
};

/// The axes of a tile, from the outermost to the innermost.
[[gnu::visibility("hidden")]] inline constexpr std::array<tile_axis tile::*, 4> tile_axes = {
    &tile::slices, &tile::rows, &tile::outer, &tile::inner};

/// stream_offsets lists how far streams are from the first stream, in bytes. Streams are contiguous rows: a tile takes one
/// element from each in turn, or gives one to each. Streams lie along one of the tile's inner axes, and along joined rows.
class stream_offsets {
 public:
  /// Rows are joined for at most this many streams.
  static constexpr std::int64_t limit = 64;

  /// Lists the streams of the source, along the inner axis. A leaf asks for `streams` at a time.
  static stream_offsets of_source(const tile& t, std::size_t streams) noexcept {
    return {t.joined == tile::axis::inner, t.inner.extent, t.inner.source_stride, t.rows.extent,
            t.rows.source_stride,          streams};
  }
  /// Lists the streams of the destination, along the outer axis.
  static stream_offsets of_destination(const tile& t, std::size_t streams) noexcept {
    return {t.joined == tile::axis::outer, t.outer.extent, t.outer.destination_stride, t.rows.extent,
            t.rows.destination_stride,     streams};
  }

  /// Requires that it lists at least Count streams.
  template <std::size_t Count>
  std::array<std::int64_t, Count> first() const noexcept {
    std::array<std::int64_t, Count> offsets;
    std::copy_n(offsets_.begin(), Count, offsets.begin());
    return offsets;
  }

  /// The stream `first` + k is at(first) + from(first)[k].
  std::int64_t at(std::size_t first) const noexcept {
    return joined_ ? 0 : static_cast<std::int64_t>(first) * stride_;
  }
  const std::int64_t* from(std::size_t first) const noexcept {
    return offsets_.data() + (joined_ ? first : 0);
  }

 private:
  stream_offsets(bool joined, std::int64_t extent, std::int64_t stride, std::int64_t rows,
                 std::int64_t row_stride, std::size_t streams) noexcept
      : joined_(joined), stride_(stride) {
    if (!joined) {
      for (std::size_t k = 0; k < streams; ++k) offsets_[k] = static_cast<std::int64_t>(k) * stride;
      return;
    }
    place_joined(extent, stride, rows, row_stride);
  }

  /// This function is not inlined: there are many leaves, and compilers make much code of these loops.
  [[gnu::noinline]] void place_joined(std::int64_t extent, std::int64_t stride, std::int64_t rows,
                                      std::int64_t row_stride) noexcept {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t index = 0; index < extent; ++index) {
        offsets_[static_cast<std::size_t>(row * extent + index)] = row * row_stride + index * stride;
      }
    }
  }

  bool joined_;
  std::int64_t stride_;
  std::array<std::int64_t, limit> offsets_;
};

/// A leaf moves a tile. `source` and `destination` point to the first element of the tile.
using leaf_function = void (*)(const tile&, const std::byte* source, std::byte* destination);

/// Calls `move(source, destination)` for every index of the axes before the inner two. `move` holds its data by value and
/// is inlined. The compiler must assume that its writes change any memory, so a row's data has to stay in registers.
template <class Move>
[[gnu::always_inline]] inline void for_each_row(const tile& t, const std::byte* source,
                                                std::byte* destination, Move move) {
  const auto [rows, slices] = t.repeated();
  for (std::int64_t i = 0; i < slices.extent; ++i) {
    const std::byte* from = source + i * slices.source_stride;
    std::byte* to = destination + i * slices.destination_stride;
    for (std::int64_t j = 0; j < rows.extent; ++j) {
      // Not `from += ...`: a step behind the last row could leave the tensor.
      move(from + j * rows.source_stride, to + j * rows.destination_stride);
    }
  }
}

/// Calls `move(part, source, destination, next)` with the rows of a tile that are followed by other rows, along an axis
/// `next` for which goes_on(next). Then it calls `move` with the last rows and an empty `next`. If there is no such axis,
/// all rows are last rows. The function has only one call of `move`, because `move` is inlined.
template <class GoesOn, class Move>
[[gnu::always_inline]] inline void for_following_rows(const tile& t, const std::byte* source,
                                                      std::byte* destination, GoesOn goes_on, Move move) {
  tile part = t;
  tile_axis* followed = nullptr;  // an axis of `part`
  if (t.joined == tile::axis::neither) {
    followed = goes_on(t.rows) ? &part.rows : goes_on(t.slices) ? &part.slices : nullptr;
  }
  tile_axis next{};
  if (followed != nullptr) {
    next = *followed;
    --followed->extent;
  }
  for (;;) {
    move(part, source, destination, next);
    if (followed == nullptr) return;
    source += followed->extent * next.source_stride;
    destination += followed->extent * next.destination_stride;
    followed->extent = 1;
    followed = nullptr;
    next = {};
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
