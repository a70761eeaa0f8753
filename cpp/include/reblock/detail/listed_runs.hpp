// SPDX-License-Identifier: BSD-3-Clause
//
// These movers copy runs from a list of places to another list of places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/runs.hpp>
#include <reblock/detail/stream_block.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Copies Size bytes. All bytes are read before any byte is written.
template <std::size_t Size>
[[gnu::always_inline]] inline void copy_bytes(std::byte* to, const std::byte* from) noexcept {
  std::byte bytes[Size];
  std::memcpy(bytes, from, Size);
  std::memcpy(to, bytes, Size);
}

/// Calls `copy(to, from, i)` for each run of a block.
template <class Copy>
[[gnu::always_inline]] inline void for_each_run(const stream_block& block, const std::byte* source,
                                                std::byte* destination, Copy copy) {
  const stream_block b = block;  // a copy, which no store to the destination can change
  for (std::int64_t k = 0; k < b.repeats; ++k) {
    for (std::size_t i = 0; i < b.rows; ++i) copy(destination + b.destinations[i], source + b.sources[i], i);
    source += b.source_step;
    destination += b.destination_step;
  }
}

/// Copies runs of exactly Size bytes.
template <std::size_t Size>
void copy_words(const stream_block& b, const std::byte* source, std::byte* destination) {
  for_each_run(b, source, destination,
               [](std::byte* to, const std::byte* from, std::size_t) { copy_bytes<Size>(to, from); });
}

/// Copies runs of Size to 2 * Size bytes, as two pieces that may overlap. b.columns: bytes.
template <std::size_t Size>
void copy_pieces(const stream_block& b, const std::byte* source, std::byte* destination) {
  const std::size_t second = b.columns - Size;
  for_each_run(b, source, destination, [second](std::byte* to, const std::byte* from, std::size_t) {
    std::byte first_bytes[Size];
    std::byte second_bytes[Size];
    std::memcpy(first_bytes, from, Size);
    std::memcpy(second_bytes, from + second, Size);
    std::memcpy(to, first_bytes, Size);
    std::memcpy(to + second, second_bytes, Size);
  });
}

/// Copies Size bytes for each run, more than it has. The next run overwrites the bytes beyond. The last runs are copied
/// exactly.
template <std::size_t Size>
void copy_over(const stream_block& b, const std::byte* source, std::byte* destination) {
  const std::size_t whole = b.rows - b.exact;
  const std::size_t size = b.columns;
  for_each_run(b, source, destination, [whole, size](std::byte* to, const std::byte* from, std::size_t i) {
    if (i < whole) {
      copy_bytes<Size>(to, from);
    } else {
      copy_short(to, from, size);
    }
  });
}

inline void copy_any(const stream_block& b, const std::byte* source, std::byte* destination) {
  const std::size_t size = b.columns;
  for_each_run(b, source, destination,
               [size](std::byte* to, const std::byte* from, std::size_t) { copy_run(to, from, size); });
}

/// Returns the mover of runs of `size` bytes. `over`: it may write beyond runs, except the last `exact` runs.
inline block_mover run_mover(std::size_t size, bool over) noexcept {
  switch (size) {
    case 1: return copy_words<1>;
    case 2: return copy_words<2>;
    case 4: return copy_words<4>;
    case 8: return copy_words<8>;
    case 16: return copy_words<16>;
    case 32: return copy_words<32>;
    default: break;
  }
  if (over && size < 4) return copy_over<4>;
  if (over && size < 8) return copy_over<8>;
  if (over && size < 16) return copy_over<16>;
  if (over && size > 16 && size < 32) return copy_over<32>;
  if (over && size > 32 && size < 48) return copy_over<48>;
  if (size == 3) return copy_pieces<2>;
  if (size < 8) return copy_pieces<4>;
  if (size < 16) return copy_pieces<8>;
  if (size < 32) return copy_pieces<16>;
  if (size < 64) return copy_pieces<32>;
  return copy_any;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
