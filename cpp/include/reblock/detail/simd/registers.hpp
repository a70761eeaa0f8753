// SPDX-License-Identifier: BSD-3-Clause
//
// These functions move registers of elements: at any alignment, in part, shuffled.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/simd/register_bytes.hpp>
#include <reblock/detail/simd/streams.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

inline std::uintptr_t address_of(const std::byte* place) noexcept {
  return reinterpret_cast<std::uintptr_t>(place);
}

inline register_bytes load(const std::byte* source) noexcept {
  register_bytes value;
  std::memcpy(&value, source, sizeof(value));
  return value;
}

inline void store(std::byte* destination, register_bytes value) noexcept {
  std::memcpy(destination, &value, sizeof(value));
}

/// Copies past the caches, in whole lines of 64 bytes except at the ends.
inline void stream_run(std::byte* destination, const std::byte* source, std::size_t size) noexcept {
  constexpr std::size_t line = 64;
  const std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(destination)) % line;
  if (size < head + line) {
    std::memcpy(destination, source, size);
    return;
  }
  std::memcpy(destination, source, head);
  std::size_t i = head;
  for (; i + line <= size; i += line) {
    prefetch(source + i, 2048);
    for (std::size_t k = 0; k < line; k += sizeof(register_bytes)) {
      stream(destination + i + k, load(source + i + k));
    }
  }
  std::memcpy(destination + i, source + i, size - i);
}

template <class Integer>
Integer read(const std::byte* source) noexcept {
  Integer value;
  std::memcpy(&value, source, sizeof(value));
  return value;
}

template <class Integer>
void write(std::byte* destination, Integer value) noexcept {
  std::memcpy(destination, &value, sizeof(value));
}

/// Loads `size` bytes, fewer than a register has; the other bytes are 0. It loads two pieces that may overlap, because a
/// copy of a length unknown to the compiler would be slower.
inline register_bytes load_part(const std::byte* source, std::size_t size) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    if (size >= 8) {
      low = read<std::uint64_t>(source);
      if (size > 8) high = read<std::uint64_t>(source + size - 8) >> (8 * (16 - size));
    } else if (size >= 4) {
      low = read<std::uint32_t>(source) | std::uint64_t{read<std::uint32_t>(source + size - 4)}
                                              << (8 * (size - 4));
    } else {
      for (std::size_t i = 0; i < size; ++i) low |= std::to_integer<std::uint64_t>(source[i]) << (8 * i);
    }
    return register_of(low, high);
  } else {
    register_bytes value{};
    std::memcpy(&value, source, size);
    return value;
  }
}

inline void store_part(std::byte* destination, register_bytes value, std::size_t size) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    const std::uint64_t low = half_of<0>(value);
    if (size >= 8) {
      write(destination, low);
      if (size > 8)
        write(destination + size - 8, half_of<1>(value) << (8 * (16 - size)) | low >> (8 * (size - 8)));
    } else if (size >= 4) {
      write(destination, static_cast<std::uint32_t>(low));
      write(destination + size - 4, static_cast<std::uint32_t>(low >> (8 * (size - 4))));
    } else {
      for (std::size_t i = 0; i < size; ++i) destination[i] = static_cast<std::byte>(low >> (8 * i));
    }
  } else {
    std::memcpy(destination, &value, size);
  }
}

template <class F, std::size_t... K>
[[gnu::always_inline]] inline void unrolled(F&& f, std::index_sequence<K...>) {
  (f(std::integral_constant<std::size_t, K>{}), ...);
}

/// Calls `f` with each constant 0 ... Count - 1: a loop without an array in memory.
template <std::size_t Count, class F>
[[gnu::always_inline]] inline void unrolled(F&& f) {
  unrolled(f, std::make_index_sequence<Count>{});
}

template <std::size_t Count>
using registers = std::array<register_bytes, Count>;

template <std::size_t Size, std::size_t Count, std::size_t... K>
[[gnu::always_inline]] inline registers<Count> shuffle_once(const registers<Count>& v,
                                                            std::index_sequence<K...>) noexcept {
  return {zip < Size, K % 2 != 0 > (v[K / 2], v[K / 2 + Count / 2])...};
}

/// Does the perfect shuffle `Times` times with Count registers, seen as one row of elements. The first half's elements go
/// to the even places and the second half's elements to the odd places. log2(Count) shuffles interleave Count streams;
/// log2(elements of a register) shuffles separate them again.
template <std::size_t Size, int Times, std::size_t Count>
[[gnu::always_inline]] inline registers<Count> shuffle(const registers<Count>& v) noexcept {
  if constexpr (Times == 0) {
    return v;
  } else {
    return shuffle<Size, Times - 1>(shuffle_once<Size>(v, std::make_index_sequence<Count>{}));
  }
}

constexpr int log2(std::size_t power_of_two) noexcept { return std::countr_zero(power_of_two); }

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
