// SPDX-License-Identifier: BSD-3-Clause
//
// These leaves move runs with registers of 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/runs.hpp>
#include <reblock/detail/tile.hpp>
#include <reblock/detail/wide_registers.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of the shortest run that goes past the caches: the ends of shorter runs cost more than it saves (measured).
inline constexpr std::size_t least_streamed_run = 512;
/// Bytes of the longest run copied without memcpy(), which takes up to a third longer beyond the second-level cache.
inline constexpr std::size_t longest_wide_run = 4096;

#if defined(__GNUC__) && defined(__x86_64__)

/// Copies less than a line past the caches. Bytes that are not at multiples of 16 are stored as usual.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void stream_end(
    std::byte* destination, const std::byte* source, std::size_t size) noexcept {
  constexpr std::size_t width = sizeof(register_bytes);
  if ((address_of(destination) | size) % width == 0) {
    for (std::size_t i = 0; i < size; i += width) stream(destination + i, load(source + i));
  } else {
    store_some(destination, load_some(source, first_bits(size)), first_bits(size));
  }
}

/// Copies past the caches, in whole lines of 64 bytes except at the ends. Requires at least one line.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void stream_wide_run(
    std::byte* destination, const std::byte* source, std::size_t size) noexcept {
  constexpr std::size_t line = sizeof(wide_bytes);
  std::size_t i = (0 - address_of(destination)) % line;
  stream_end(destination, source, i);
  for (; i + line <= size; i += line) {
    longs_64 value;
    prefetch(source + i, 2048);
    std::memcpy(&value, source + i, line);
    auto* const to = reinterpret_cast<longs_64*>(destination + i);
#if defined(__clang__)
    __builtin_nontemporal_store(value, to);
#else
    __builtin_ia32_movntdq512(to, value);
#endif
  }
  stream_end(destination + i, source + i, size - i);
}

/// Copies 32 bytes or more.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline void copy_wide(
    std::byte* destination, const std::byte* source, std::size_t size) noexcept {
  if (size < sizeof(wide_bytes)) {
    half_bytes first;
    half_bytes last;
    std::memcpy(&first, source, sizeof(first));
    std::memcpy(&last, source + size - sizeof(last), sizeof(last));
    std::memcpy(destination, &first, sizeof(first));
    std::memcpy(destination + size - sizeof(last), &last, sizeof(last));
    return;
  }
  wide_bytes value;
  const std::size_t end = size - sizeof(value);
  for (std::size_t i = 0; i < end; i += sizeof(value)) {
    std::memcpy(&value, source + i, sizeof(value));
    std::memcpy(destination + i, &value, sizeof(value));
  }
  std::memcpy(&value, source + end, sizeof(value));
  std::memcpy(destination + end, &value, sizeof(value));
}

/// Does the same as move_runs(), or, if `IsElement`, the same as move_strided().
template <bool IsElement>
[[gnu::target("avx512vl,avx512bw,avx512vbmi")]] void move_wide_runs(const tile& t, const std::byte* source,
                                                                    std::byte* destination) {
  constexpr std::size_t least = 32;
  const std::size_t size = (IsElement ? 1 : static_cast<std::size_t>(t.inner.extent)) * t.element_size;
  const bool streams = t.streamed && size >= least_streamed_run;
  // The inner loop has the longer axis, because a loop over two runs costs as much as the runs. But lines that go past the
  // caches are written in order.
  const bool swaps = IsElement && !streams && t.inner.extent < t.outer.extent;
  const auto [count, step_from, step_to] = IsElement && !swaps ? t.inner : t.outer;
  const tile_axis outer = swaps ? t.inner : IsElement ? t.outer : tile_axis{};
  for (std::int64_t i = 0; i < t.slices.extent; ++i) {
    for (std::int64_t j = 0; j < t.rows.extent; ++j) {
      for (std::int64_t k = 0; k < outer.extent; ++k) {
        const std::byte* const from =
            source + i * t.slices.source_stride + j * t.rows.source_stride + k * outer.source_stride;
        std::byte* const to = destination + i * t.slices.destination_stride + j * t.rows.destination_stride +
                              k * outer.destination_stride;
        if (streams) {
          for (std::int64_t run = 0; run < count; ++run) {
            stream_wide_run(to + run * step_to, from + run * step_from, size);
          }
        } else if (size >= least && size <= longest_wide_run) {
          for (std::int64_t run = 0; run < count; ++run)
            copy_wide(to + run * step_to, from + run * step_from, size);
        } else {
          for (std::int64_t run = 0; run < count; ++run)
            copy_run(to + run * step_to, from + run * step_from, size);
        }
      }
    }
  }
}

/// Does the same as move_masked().
[[gnu::target("avx512vl,avx512bw,avx512vbmi")]] inline void move_wide_masked(std::byte* destination,
                                                                             const std::byte* source,
                                                                             const std::byte* mask,
                                                                             std::size_t size) noexcept {
  constexpr std::size_t width = sizeof(wide_bytes);
  if (size < width) {
    move_masked(destination, source, mask, size);
    return;
  }
  const std::size_t last = size - width;
  for (std::size_t i = 0;;) {
    wide_bytes value;
    wide_bytes bits;
    std::memcpy(&value, source + i, width);
    std::memcpy(&bits, mask + i, width);
    value &= bits;
    std::memcpy(destination + i, &value, width);
    if (i == last) return;
    i = i + width < last ? i + width : last;
  }
}

#else  // the registers have 16 bytes: not called

template <bool IsElement>
void move_wide_runs(const tile&, const std::byte*, std::byte*) {}

inline void move_wide_masked(std::byte*, const std::byte*, const std::byte*, std::size_t) noexcept {}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
