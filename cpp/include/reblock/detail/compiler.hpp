// SPDX-License-Identifier: BSD-3-Clause
//
// What depends on the compiler, in one file: how errors leave, and registers of 16 bytes. It defines no
// macro.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__cpp_exceptions)
#include <stdexcept>
#else
#include <cstdio>
#include <cstdlib>
#endif

namespace reblock::detail {

/// How an error leaves a call that returns no status: std::invalid_argument, or, where exceptions are
/// switched off, the message on stderr and std::abort().
[[noreturn]] inline void fail(const char* message) {
#if defined(__cpp_exceptions)
  throw std::invalid_argument(message);
#else
  std::fprintf(stderr, "reblock: %s\n", message);
  std::abort();
#endif
}

#if defined(__GNUC__)  // GCC and Clang: the compiler knows the instruction for each shuffle

using register_bytes [[gnu::vector_size(16)]] = std::uint8_t;
using register_pairs [[gnu::vector_size(16)]] = std::uint16_t;
using register_words [[gnu::vector_size(16)]] = std::uint32_t;
using register_longs [[gnu::vector_size(16)]] = std::uint64_t;

/// a0 b0 a1 b1 ...: the lower halves of both, or the upper ones, element by element. Size: bytes of an
/// element, up to 8.
template <std::size_t Size, bool Upper>
register_bytes zip(register_bytes a, register_bytes b) noexcept {
  if constexpr (Size == 1) {
    constexpr int i = Upper ? 8 : 0;
    return __builtin_shufflevector(a, b, i, i + 16, i + 1, i + 17, i + 2, i + 18, i + 3, i + 19, i + 4,
                                   i + 20, i + 5, i + 21, i + 6, i + 22, i + 7, i + 23);
  } else if constexpr (Size == 2) {
    constexpr int i = Upper ? 4 : 0;
    return (register_bytes)__builtin_shufflevector((register_pairs)a, (register_pairs)b, i, i + 8, i + 1,
                                                   i + 9, i + 2, i + 10, i + 3, i + 11);
  } else if constexpr (Size == 4) {
    constexpr int i = Upper ? 2 : 0;
    return (register_bytes)__builtin_shufflevector((register_words)a, (register_words)b, i, i + 4, i + 1,
                                                   i + 5);
  } else {
    constexpr int i = Upper ? 1 : 0;
    return (register_bytes)__builtin_shufflevector((register_longs)a, (register_longs)b, i, i + 2);
  }
}

/// The 8 bytes of `low`, then those of `high`.
inline register_bytes register_of(std::uint64_t low, std::uint64_t high) noexcept {
  return (register_bytes)register_longs{low, high};
}

inline register_bytes register_of(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                  std::uint32_t d) noexcept {
  return (register_bytes)register_words{a, b, c, d};
}

/// The first (0) or the last (1) 8 bytes.
template <std::size_t Half>
std::uint64_t half_of(register_bytes value) noexcept {
  return ((register_longs)value)[Half];
}

#else  // any other compiler: the same, as loops

struct register_bytes {
  std::uint8_t bytes[16];
};

template <std::size_t Size, bool Upper>
register_bytes zip(const register_bytes& a, const register_bytes& b) noexcept {
  constexpr std::size_t half = Upper ? 8 : 0;
  register_bytes zipped;
  for (std::size_t i = 0; i < 8; i += Size) {
    std::memcpy(zipped.bytes + 2 * i, a.bytes + half + i, Size);
    std::memcpy(zipped.bytes + 2 * i + Size, b.bytes + half + i, Size);
  }
  return zipped;
}

inline register_bytes register_of(std::uint64_t low, std::uint64_t high) noexcept {
  register_bytes value;
  std::memcpy(value.bytes, &low, 8);
  std::memcpy(value.bytes + 8, &high, 8);
  return value;
}

inline register_bytes register_of(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                  std::uint32_t d) noexcept {
  const std::uint32_t words[] = {a, b, c, d};
  register_bytes value;
  std::memcpy(value.bytes, words, sizeof(words));
  return value;
}

template <std::size_t Half>
std::uint64_t half_of(const register_bytes& value) noexcept {
  std::uint64_t half;
  std::memcpy(&half, value.bytes + 8 * Half, 8);
  return half;
}

#endif

}  // namespace reblock::detail
