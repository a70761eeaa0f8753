// SPDX-License-Identifier: BSD-3-Clause
//
// This leaf moves elements that are runs of bytes past the caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/runs.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Returns the most bytes that one store past the caches can write in all runs of a tile. The runs' bytes, and their
/// distances in the destination, are multiples of it. 0: there is no such number, or elements are no runs.
constexpr std::size_t streamed_width(const tile& t) noexcept {
  constexpr std::size_t least_run = 16;
  if (!has_streams || t.element_size < least_run) return 0;
  std::uint64_t places = t.element_size;
  for (const auto member : tile_axes) places |= static_cast<std::uint64_t>((t.*member).destination_stride);
  for (std::size_t width = 16; width >= 4; width /= 2) {
    if (places % width == 0) return width;
  }
  return 0;
}

/// read_ahead computes the distance from a run of a tile to a run that is read some time later.
class read_ahead {
 public:
  explicit read_ahead(const tile& t) noexcept {
    constexpr std::uint64_t line = 64;       // bytes
    constexpr std::uint64_t bytes = 2048;    // of the source
    constexpr std::int64_t most_turns = 16;  // a longer axis is treated as a row of its own
    const std::int64_t extent = t.outer.extent;
    const std::int64_t step = t.outer.source_stride;
    if (t.inner.extent > most_turns || step == 0) {
      within_ = bytes;
      return;
    }
    const auto distance = static_cast<std::uint64_t>(step < 0 ? wrapping_negate(step) : step);
    const std::uint64_t in_lines =
        line / std::gcd(distance, line);  // so that a run at the begin of a line leads to another such run
    const std::uint64_t fitting = std::max<std::uint64_t>(1, bytes / in_lines / distance) * in_lines;
    const auto indices = static_cast<std::int64_t>(std::min(fitting, static_cast<std::uint64_t>(extent)));
    within_ = wrapping_multiply(indices, step);
    beyond_ = wrapping_add(t.rows.source_stride, wrapping_multiply(indices - extent, step));
    last_ = extent - indices;
  }

  /// Returns the distance in bytes for an index of the outer axis. It may lead to the next row.
  std::int64_t from(std::int64_t index) const noexcept { return index < last_ ? within_ : beyond_; }

 private:
  std::int64_t within_ = 0;
  std::int64_t beyond_ = 0;
  std::int64_t last_ = std::numeric_limits<std::int64_t>::max();
};

/// Tells whether stream_runs() moves a tile.
constexpr bool streams_runs(const tile& t) noexcept { return t.streamed && streamed_width(t) != 0; }

/// Moves runs in words of `Width` bytes, which all runs and the destination must allow. `Size` is the bytes of an element,
/// or 0.
template <std::size_t Width, std::size_t Size>
void stream_words(const tile& t, const std::byte* source, std::byte* destination) {
  constexpr std::size_t line = 64;  // bytes
  using word = std::conditional_t<Width == 4, std::uint32_t,
                                  std::conditional_t<Width == 8, std::uint64_t, register_bytes>>;
  const read_ahead ahead(t);
  for_each_row(t, source, destination, [t, ahead](const std::byte* from, std::byte* to) {
    for (std::int64_t i = 0; i < t.outer.extent; ++i) {
      const std::int64_t later = ahead.from(i);
      for (std::int64_t j = 0; j < t.inner.extent; ++j) {
        const std::byte* const run = from + i * t.outer.source_stride + j * t.inner.source_stride;
        std::byte* const place = to + i * t.outer.destination_stride + j * t.inner.destination_stride;
        if constexpr (Size != 0) {
          if (address_of(run) % line < Size) prefetch(run, later);
          unrolled<Size / Width>([&](auto k) { stream(place + k * Width, read<word>(run + k * Width)); });
        } else {
          for (std::size_t first = 0; first < t.element_size; first += line) {
            prefetch(run + first, later);
            const std::size_t end = std::min(t.element_size, first + line);
            for (std::size_t k = first; k < end; k += Width) stream(place + k, read<word>(run + k));
          }
        }
      }
    }
  });
}

/// Does the same, with loops of a known length for elements of these sizes: they are faster for the shortest runs.
template <std::size_t Width, std::size_t... Sizes>
void stream_words_of(const tile& t, const std::byte* source, std::byte* destination) {
  const auto streams = [&]<std::size_t Size>(std::integral_constant<std::size_t, Size>) {
    if (t.element_size == Size) stream_words<Width, Size>(t, source, destination);
    return t.element_size == Size;
  };
  if (!(streams(std::integral_constant<std::size_t, Sizes>{}) || ...)) {
    stream_words<Width, 0>(t, source, destination);
  }
}

/// The leaf for tiles for which streams_runs() is true, with any strides. It writes past the caches if the destination lies
/// at a multiple of 4 bytes. It prefetches later runs, because processors do not predict reads of several rows in turn.
/// `Widest`: bytes of a word.
template <std::size_t Widest>
void stream_runs(const tile& t, const std::byte* source, std::byte* destination) {
  std::size_t width = std::min(streamed_width(t), Widest);
  while (width >= 4 && address_of(destination) % width != 0) width /= 2;
  switch (width) {
    case 16: stream_words_of<16, 16, 32, 48>(t, source, destination); break;
    case 8: stream_words_of<8, 16, 24, 32, 40, 48>(t, source, destination); break;
    case 4: stream_words_of<4, 16, 20, 24, 28, 36>(t, source, destination); break;
    default: move_strided<0>(t, source, destination);
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
