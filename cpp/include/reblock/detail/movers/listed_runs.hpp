// SPDX-License-Identifier: BSD-3-Clause
//
// These movers copy runs from a list of places to another list of places, past the caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/movers/stream_block.hpp>
#include <reblock/detail/simd/registers.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Copies long runs past the caches, wherever they begin.
inline void stream_runs(const stream_block& block, const std::byte* source, std::byte* destination) {
  for (const auto [from, to] : repeated_places(block, source, destination)) {
    for (std::size_t i = 0; i < block.rows; ++i)
      stream_run(to + block.destinations[i], from + block.sources[i], block.columns);
  }
}

/// Copies runs past the caches, in words. Their sizes and places are multiples of a word, if the first place is.
template <class Word>
void stream_words(const stream_block& b, const std::byte* source, std::byte* destination) {
  if (address_of(destination) % sizeof(Word) != 0) return stream_runs(b, source, destination);
  const std::size_t size = b.columns;
  // processors do not predict where the next run is
  constexpr std::size_t line = 64;  // bytes
  const std::size_t ahead = std::clamp<std::size_t>(2048 / size, 1, b.rows);
  for (const auto [from, to] : repeated_places(b, source, destination)) {
    for (std::size_t i = 0; i < b.rows; ++i) {
      const std::byte* const run = from + b.sources[i];
      std::byte* const place = to + b.destinations[i];
      const std::int64_t later = i + ahead < b.rows
                                     ? b.sources[i + ahead] - b.sources[i]
                                     : b.repeats.source_stride + b.sources[i + ahead - b.rows] - b.sources[i];
      for (std::size_t first = 0; first < size; first += line) {
        prefetch(run + first, later);
        const std::size_t end = std::min(size, first + line);
        for (std::size_t k = first; k < end; k += sizeof(Word)) stream(place + k, read<Word>(run + k));
      }
    }
  }
}

/// Returns the mover for runs whose sizes and places are multiples of `width` bytes: 16, 8 or 4.
inline block_mover stream_words_mover(std::int64_t width) noexcept {
  switch (width) {
    case 16: return stream_words<register_bytes>;
    case 8: return stream_words<std::uint64_t>;
    default: return stream_words<std::uint32_t>;
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
