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

/// a0 b0 a1 b1 ...: the lower halves of both, element by element. Size: bytes of an element.
template <std::size_t Size>
register_bytes zip_low(register_bytes a, register_bytes b) noexcept {
  if constexpr (Size == 1) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  } else if constexpr (Size == 2) {
    return (register_bytes)__builtin_shufflevector((register_pairs)a, (register_pairs)b, 0, 8, 1, 9, 2, 10, 3,
                                                   11);
  } else if constexpr (Size == 4) {
    return (register_bytes)__builtin_shufflevector((register_words)a, (register_words)b, 0, 4, 1, 5);
  } else {
    return (register_bytes)__builtin_shufflevector((register_longs)a, (register_longs)b, 0, 2);
  }
}

/// The same of the upper halves.
template <std::size_t Size>
register_bytes zip_high(register_bytes a, register_bytes b) noexcept {
  if constexpr (Size == 1) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  } else if constexpr (Size == 2) {
    return (register_bytes)__builtin_shufflevector((register_pairs)a, (register_pairs)b, 4, 12, 5, 13, 6, 14,
                                                   7, 15);
  } else if constexpr (Size == 4) {
    return (register_bytes)__builtin_shufflevector((register_words)a, (register_words)b, 2, 6, 3, 7);
  } else {
    return (register_bytes)__builtin_shufflevector((register_longs)a, (register_longs)b, 1, 3);
  }
}

#else  // any other compiler: the same, as loops

struct register_bytes {
  std::uint8_t bytes[16];
};

template <std::size_t Size>
register_bytes zip_half(const register_bytes& a, const register_bytes& b, std::size_t half) noexcept {
  register_bytes zipped;
  for (std::size_t i = 0; i < 8; i += Size) {
    std::memcpy(zipped.bytes + 2 * i, a.bytes + half + i, Size);
    std::memcpy(zipped.bytes + 2 * i + Size, b.bytes + half + i, Size);
  }
  return zipped;
}

template <std::size_t Size>
register_bytes zip_low(const register_bytes& a, const register_bytes& b) noexcept {
  return zip_half<Size>(a, b, 0);
}

template <std::size_t Size>
register_bytes zip_high(const register_bytes& a, const register_bytes& b) noexcept {
  return zip_half<Size>(a, b, 8);
}

#endif

}  // namespace reblock::detail
