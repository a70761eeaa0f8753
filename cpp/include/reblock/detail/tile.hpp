// SPDX-License-Identifier: BSD-3-Clause
//
// What the traversal hands to a leaf.
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

/// What a leaf works on. Leaves differ in what they do with the inner two axes, which they repeat for
/// every index of the other two: a call for each row would cost as much as a short row itself.
///
/// One of the inner two may be in two parts, since only on one side it goes on where it ends: then the rows
/// are joined to it, and only the slices are left to repeat.
struct tile {
  enum class axis : std::uint8_t { neither, outer, inner };

  tile_axis outer;
  tile_axis inner;
  std::size_t element_size = 0;  ///< bytes
  tile_axis rows{};
  tile_axis slices{};
  /// Whether the output is too large for the caches anyhow.
  bool streamed = false;
  axis joined = axis::neither;

  constexpr std::int64_t outer_extent() const noexcept {
    return outer.extent * (joined == axis::outer ? rows.extent : 1);
  }
  constexpr std::int64_t inner_extent() const noexcept {
    return inner.extent * (joined == axis::inner ? rows.extent : 1);
  }
  /// The axes that the inner two are repeated for, the inner one first.
  constexpr std::pair<tile_axis, tile_axis> repeated() const noexcept {
    return joined == axis::neither ? std::pair(rows, slices) : std::pair(slices, tile_axis{});
  }
};

/// From the outermost to the innermost.
[[gnu::visibility("hidden")]] inline constexpr std::array<tile_axis tile::*, 4> tile_axes = {
    &tile::slices, &tile::rows, &tile::outer, &tile::inner};

/// Streams are contiguous rows that a tile takes an element of in turn, or gives one to. They lie along one
/// of its inner axes, and along the rows where these are joined to it: this is how far they are from the
/// first one, in bytes.
class stream_offsets {
 public:
  /// Streams that rows are joined for.
  static constexpr std::int64_t most = 64;

  /// Of the streams of the source, along the inner axis. `some` are wanted at a time.
  static stream_offsets of_source(const tile& t, std::size_t some) noexcept {
    return {t.joined == tile::axis::inner, t.inner.extent,
            t.inner.source_stride,         t.rows.extent,
            t.rows.source_stride,          some};
  }
  /// Of the streams of the destination, along the outer axis.
  static stream_offsets of_destination(const tile& t, std::size_t some) noexcept {
    return {t.joined == tile::axis::outer, t.outer.extent,
            t.outer.destination_stride,    t.rows.extent,
            t.rows.destination_stride,     some};
  }

  /// Requires Count <= some.
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
                 std::int64_t row_stride, std::size_t some) noexcept
      : joined_(joined), stride_(stride) {
    if (!joined) {
      for (std::size_t k = 0; k < some; ++k) offsets_[k] = static_cast<std::int64_t>(k) * stride;
      return;
    }
    place_joined(extent, stride, rows, row_stride);
  }

  /// Not inlined: leaves are many, and compilers make much of these loops.
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
  std::array<std::int64_t, most> offsets_;
};

/// A leaf. `source` and `destination` point to the first element of the tile.
using leaf_function = void (*)(const tile&, const std::byte* source, std::byte* destination);

/// Calls `move(source, destination)` for every index of the axes before the inner two. `move` holds what
/// it needs by value, and is inlined: the bytes that it writes may be anything that is in memory, so all
/// that a row needs has to stay in registers.
template <class Move>
[[gnu::always_inline]] inline void for_each_row(const tile& t, const std::byte* source,
                                                std::byte* destination, Move move) {
  const auto [rows, slices] = t.repeated();
  for (std::int64_t i = 0; i < slices.extent; ++i) {
    const std::byte* from = source + i * slices.source_stride;
    std::byte* to = destination + i * slices.destination_stride;
    for (std::int64_t j = 0; j < rows.extent; ++j) {
      // Not `from += ...`: behind the last row a step that is not taken may lead anywhere.
      move(from + j * rows.source_stride, to + j * rows.destination_stride);
    }
  }
}

/// Calls `move(some, source, destination, next)` with the rows of a tile that others follow along an axis `next`
/// for which goes_on(next), then with the last ones, for which `next` is empty; if no axis does, with all of them so.
/// The call stands here once, since it is inlined.
template <class GoesOn, class Move>
[[gnu::always_inline]] inline void for_following_rows(const tile& t, const std::byte* source,
                                                      std::byte* destination, GoesOn goes_on, Move move) {
  tile some = t;
  tile_axis* followed = nullptr;  // of `some`
  if (t.joined == tile::axis::neither) {
    followed = goes_on(t.rows) ? &some.rows : goes_on(t.slices) ? &some.slices : nullptr;
  }
  tile_axis next{};
  if (followed != nullptr) {
    next = *followed;
    --followed->extent;
  }
  for (;;) {
    move(some, source, destination, next);
    if (followed == nullptr) return;
    source += followed->extent * next.source_stride;
    destination += followed->extent * next.destination_stride;
    followed->extent = 1;
    followed = nullptr;
    next = {};
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
