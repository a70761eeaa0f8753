// SPDX-License-Identifier: BSD-3-Clause
//
// These functions store past the caches, and ask for memory before it is read.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/simd/register_bytes.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

#if defined(__GNUC__) && defined(__x86_64__)

/// This constant tells whether there are stores past the caches.
inline constexpr bool has_streams = true;

/// Stores a register past the caches, to a multiple of its size. finish_streams() makes the stored bytes visible to other
/// threads.
inline void stream(std::byte* destination, register_bytes value) noexcept {
  using words [[gnu::vector_size(16)]] = long long;
#if defined(__clang__)
  __builtin_nontemporal_store((words)value, reinterpret_cast<words*>(destination));
#else
  __builtin_ia32_movntdq(reinterpret_cast<words*>(destination), (words)value);
#endif
}

inline void stream(std::byte* destination, std::uint64_t value) noexcept {
  __builtin_ia32_movnti64(reinterpret_cast<long long*>(destination), static_cast<long long>(value));
}

inline void stream(std::byte* destination, std::uint32_t value) noexcept {
  __builtin_ia32_movnti(reinterpret_cast<int*>(destination), static_cast<int>(value));
}

inline void finish_streams() noexcept { __builtin_ia32_sfence(); }

#elif defined(_MSC_VER) && defined(_M_X64)

inline constexpr bool has_streams = true;

inline void stream(std::byte* destination, register_bytes value) noexcept {
  _mm_stream_si128(reinterpret_cast<__m128i*>(destination), value.value);
}

inline void stream(std::byte* destination, std::uint64_t value) noexcept {
  _mm_stream_si64x(reinterpret_cast<long long*>(destination), static_cast<long long>(value));
}

inline void stream(std::byte* destination, std::uint32_t value) noexcept {
  _mm_stream_si32(reinterpret_cast<int*>(destination), static_cast<int>(value));
}

inline void finish_streams() noexcept { _mm_sfence(); }

#else

inline constexpr bool has_streams = false;

template <class Word>
void stream(std::byte* destination, const Word& value) noexcept {
  std::memcpy(destination, &value, sizeof(value));
}

inline void finish_streams() noexcept {}

#endif

/// Asks for the memory `offset` bytes from `place` to be read into the caches, up to the first or the second level. The
/// address may be invalid.
template <int Level = 1>
void prefetch(const std::byte* place, std::int64_t offset) noexcept {
  // computes with integers, because a pointer must not leave its array
  const auto address = std::bit_cast<std::uintptr_t>(place) + static_cast<std::uintptr_t>(offset);
#if defined(__GNUC__)
  __builtin_prefetch(std::bit_cast<const void*>(address), 0, 4 - Level);
#elif defined(_MSC_VER) && defined(_M_X64)
  _mm_prefetch(std::bit_cast<const char*>(address), Level == 1 ? _MM_HINT_T0 : _MM_HINT_T1);
#else
  static_cast<void>(address);
#endif
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
