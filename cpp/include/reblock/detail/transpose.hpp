// SPDX-License-Identifier: BSD-3-Clause
//
// This leaf transposes streams of either side, square by square.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Tells whether a register has several elements of this size, so that squares can be transposed.
constexpr bool has_squares(std::int64_t element_size) noexcept {
  return element_size > 0 && element_size < std::int64_t{sizeof(register_bytes)} &&
         std::has_single_bit(static_cast<std::uint64_t>(element_size));
}

/// square_widths says how many elements of a register are read and written at each stream of a square.
struct square_widths {
  std::size_t read;
  std::size_t written;
};

/// Transposes one square that may have fewer streams than a register has elements, on one side or both. Rows `from` bytes
/// apart become rows `to` bytes apart.
template <std::size_t Size>
[[gnu::always_inline]] inline void transpose_part(std::size_t outer_count, std::size_t inner_count,
                                                  square_widths widths, const std::byte* source,
                                                  const std::int64_t* from, std::byte* destination,
                                                  const std::int64_t* to) {
  constexpr std::size_t side = sizeof(register_bytes) / Size;
  registers<side> parts{};
  if (widths.read == side) {
    for (std::size_t k = 0; k < inner_count; ++k) parts[k] = load(source + from[k]);
  } else {
    load_parts(parts.data(), source, from, inner_count, widths.read * Size);
  }
  const registers<side> v = shuffle<Size, log2(side)>(parts);
  if (widths.written == side) {
    unrolled<side>([&](auto k) {
      if (k < outer_count) store(destination + to[k], v[k]);
    });
  } else {
    const registers<side> stored = v;
    store_parts(destination, to, stored.data(), outer_count, widths.written * Size);
  }
}

/// Transposes whole squares, one after the other, for `count` indices of an axis. Each index moves the first stream by
/// `source_step` and `destination_step` bytes.
template <std::size_t Size>
[[gnu::always_inline]] inline void transpose_squares(std::size_t count, const std::byte* source,
                                                     std::int64_t source_step, const std::int64_t* from,
                                                     std::byte* destination, std::int64_t destination_step,
                                                     const std::int64_t* to) {
  constexpr std::size_t side = sizeof(register_bytes) / Size;
  // copies, which no store to the destination can change
  std::array<std::int64_t, side> sources;
  std::array<std::int64_t, side> destinations;
  std::copy_n(from, side, sources.begin());
  std::copy_n(to, side, destinations.begin());
  for_overlapping_steps(count, side, [=](std::size_t i) {
    const std::byte* const first = source + static_cast<std::int64_t>(i) * source_step;
    std::byte* const to_first = destination + static_cast<std::int64_t>(i) * destination_step;
    registers<side> v;
    unrolled<side>([&](auto k) { v[k] = load(first + sources[k]); });
    v = shuffle<Size, log2(side)>(v);
    unrolled<side>([&](auto k) { store(to_first + destinations[k], v[k]); });
  });
}

/// Moves a tile square by square. The source is contiguous along the outer axis, the destination along the inner axis.
template <std::size_t Size>
  requires(has_squares(Size))
void move_transposed(const tile& t, const std::byte* source, std::byte* destination) {
  constexpr std::size_t side = sizeof(register_bytes) / Size;
  const auto outer = static_cast<std::size_t>(t.outer_extent());
  const auto inner = static_cast<std::size_t>(t.inner_extent());
  const std::size_t outer_side = std::min(side, outer);
  const std::size_t inner_side = std::min(side, inner);
  const auto sources = stream_offsets::of_source(t, inner_side);
  const auto destinations = stream_offsets::of_destination(t, outer_side);
  if (outer_side == side && inner_side == side) {
    // The outer loop walks streams at uneven distances, because it has their offsets. It takes a part of the other axis at
    // a time, so that the written bytes stay in the first-level cache.
    if (t.joined == tile::axis::inner) {
      constexpr std::size_t buffer_bytes = 4096;  // bytes
      const std::size_t at_once = std::max(side, buffer_bytes / (inner * Size) / side * side);
      const std::int64_t step = t.outer.destination_stride;
      return for_each_row(t, source, destination, [&](const std::byte* from, std::byte* to) {
        for (std::size_t i = 0; i < outer;) {
          const std::size_t count = outer - i < at_once + side ? outer - i : at_once;
          for_overlapping_steps(inner, side, [&](std::size_t j) {
            transpose_squares<Size>(count, from + i * Size, Size, sources.from(j),
                                    to + static_cast<std::int64_t>(i) * step + j * Size, step,
                                    destinations.from(0));
          });
          i += count;
        }
      });
    }
    return for_each_row(t, source, destination, [&](const std::byte* from, std::byte* to) {
      for_overlapping_steps(outer, side, [&](std::size_t i) {
        transpose_squares<Size>(inner, from + i * Size, t.inner.source_stride, sources.from(0),
                                to + destinations.at(i), Size, destinations.from(i));
      });
    });
  }
  const auto read_wide = [=](const tile_axis& next) { return run_over<Size>(outer, next.source_stride); };
  const auto write_wide = [=](const tile_axis& next) {
    return run_over<Size>(inner, next.destination_stride);
  };
  const auto goes_on = [=](const tile_axis& next) { return read_wide(next) || write_wide(next); };
  for_following_rows(
      t, source, destination, goes_on,
      [&](const tile& part, const std::byte* first, std::byte* to_first, const tile_axis& next) {
        const square_widths widths{read_wide(next) ? side : outer_side, write_wide(next) ? side : inner_side};
        for_each_row(part, first, to_first, [&](const std::byte* from, std::byte* to) {
          for_overlapping_steps(outer, outer_side, [&](std::size_t i) {
            for_overlapping_steps(inner, inner_side, [&](std::size_t j) {
              transpose_part<Size>(outer_side, inner_side, widths, from + i * Size + sources.at(j),
                                   sources.from(j), to + j * Size + destinations.at(i), destinations.from(i));
            });
          });
        });
      });
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
