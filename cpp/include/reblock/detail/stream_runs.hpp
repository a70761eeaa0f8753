// SPDX-License-Identifier: BSD-3-Clause
//
// Elements that are runs of some bytes, moved past the caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/runs.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::detail {

/// The most bytes that can be stored past the caches at a time in all runs of a tile: they are whole multiples of these, and
/// lie at multiples of them from each other in the destination. 0 where there are none, or where elements are no runs.
constexpr std::size_t streamed_width(const tile& t) noexcept {
  constexpr std::size_t least_run = 20;
  if (!has_streams || t.element_size < least_run) return 0;
  std::uint64_t places = t.element_size;
  for (const auto member : tile_axes) places |= static_cast<std::uint64_t>((t.*member).destination_stride);
  for (std::size_t width = 16; width >= 4; width /= 2) {
    if (places % width == 0) return width;
  }
  return 0;
}

/// How far it is from a run of a tile to one that is read some time later.
class read_ahead {
 public:
  explicit read_ahead(const tile& t) noexcept {
    constexpr std::uint64_t line = 64;       // bytes
    constexpr std::uint64_t bytes = 2048;    // of the source
    constexpr std::int64_t most_turns = 16;  // runs along a longer axis are a row by themselves
    const std::int64_t extent = t.outer.extent;
    const std::int64_t step = t.outer.source_stride;
    if (t.inner.extent > most_turns || step == 0) {
      within_ = bytes;
      return;
    }
    const auto distance = static_cast<std::uint64_t>(step < 0 ? wrapping_negate(step) : step);
    const std::uint64_t in_lines =
        line / std::gcd(distance, line);  // so that what begins a line here does so there
    const std::uint64_t some = std::max<std::uint64_t>(1, bytes / in_lines / distance) * in_lines;
    const auto indices = static_cast<std::int64_t>(std::min(some, static_cast<std::uint64_t>(extent)));
    within_ = wrapping_multiply(indices, step);
    beyond_ = wrapping_add(t.rows.source_stride, wrapping_multiply(indices - extent, step));
    last_ = extent - indices;
  }

  /// In bytes, for an index of the outer axis: as many indices further on, if need be in the next row.
  std::int64_t from(std::int64_t index) const noexcept { return index < last_ ? within_ : beyond_; }

 private:
  std::int64_t within_ = 0;
  std::int64_t beyond_ = 0;
  std::int64_t last_ = std::numeric_limits<std::int64_t>::max();
};

/// Whether stream_runs() moves a tile.
constexpr bool streams_runs(const tile& t) noexcept { return t.streamed && streamed_width(t) != 0; }

/// Any strides on either side, past the caches where the destination lies at a multiple of `Width` bytes, as it then has to.
/// `Size` is the elements', or 0. Asks for what is read some time later, since processors do not foresee it where rows are
/// read in turns. Requires Width <= streamed_width(t).
template <std::size_t Width, std::size_t Size>
void stream_runs(const tile& t, const std::byte* source, std::byte* destination) {
  constexpr std::size_t line = 64;  // bytes
  using word = std::conditional_t<Width == 4, std::uint32_t,
                                  std::conditional_t<Width == 8, std::uint64_t, register_bytes>>;
  const bool fits = address_of(destination) % Width == 0;
  const read_ahead ahead(t);
  for_each_row(t, source, destination, [t, fits, ahead](const std::byte* from, std::byte* to) {
    const std::size_t size = Size != 0 ? Size : t.element_size;
    for (std::int64_t i = 0; i < t.outer.extent; ++i) {
      const std::int64_t later = ahead.from(i);
      for (std::int64_t j = 0; j < t.inner.extent; ++j) {
        const std::byte* const run = from + i * t.outer.source_stride + j * t.inner.source_stride;
        std::byte* const place = to + i * t.outer.destination_stride + j * t.inner.destination_stride;
        if (!fits) {
          copy_run(place, run, size);
        } else if constexpr (Size != 0) {
          if (address_of(run) % line < Size) prefetch(run, later);
          unrolled<Size / Width>([&](auto k) { stream(place + k * Width, read<word>(run + k * Width)); });
        } else {
          for (std::size_t first = 0; first < size; first += line) {
            prefetch(run + first, later);
            const std::size_t end = std::min(size, first + line);
            for (std::size_t k = first; k < end; k += Width) stream(place + k, read<word>(run + k));
          }
        }
      }
    }
  });
}

/// The leaf for a tile for which streams_runs(). Loops of a known length make it faster for the shortest runs.
inline leaf_function choose_streaming_leaf(const tile& t) noexcept {
  switch (streamed_width(t)) {
    case 16:
      switch (t.element_size) {
        case 32: return stream_runs<16, 32>;
        case 48: return stream_runs<16, 48>;
        default: return stream_runs<16, 0>;
      }
    case 8:
      switch (t.element_size) {
        case 24: return stream_runs<8, 24>;
        case 32: return stream_runs<8, 32>;
        case 40: return stream_runs<8, 40>;
        case 48: return stream_runs<8, 48>;
        default: return stream_runs<8, 0>;
      }
    default:
      switch (t.element_size) {
        case 20: return stream_runs<4, 20>;
        case 24: return stream_runs<4, 24>;
        case 28: return stream_runs<4, 28>;
        case 36: return stream_runs<4, 36>;
        default: return stream_runs<4, 0>;
      }
  }
}

}  // namespace reblock::detail
