// SPDX-License-Identifier: BSD-3-Clause
//
// look_up_results() converts bytes with AVX-512 VBMI, by a table of the results of all 256 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/run_steps.hpp>
#include <reblock/detail/simd/wide_registers.hpp>

#if defined(__GNUC__) && defined(__x86_64__)

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Places that interleave the bytes of two registers, from byte `first` of each on.
constexpr std::array<std::int8_t, 64> interleaving_places(int first) noexcept {
  std::array<std::int8_t, 64> places{};
  for (int i = 0; i < 64; ++i) {
    places[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(first + i / 2 + 64 * (i % 2));
  }
  return places;
}
[[gnu::visibility("hidden")]] alignas(
    64) inline constexpr std::array<std::array<std::int8_t, 64>, 2> interleavings{interleaving_places(0),
                                                                                  interleaving_places(32)};

/// Picks bytes from a table of 256 bytes in four registers.
[[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] inline wide_bytes pick_from_256(
    const wide_bytes (&table)[4], wide_bytes places) noexcept {
  using signed_bytes [[gnu::vector_size(64)]] = signed char;
  const wide_bytes lower = pick_lanes<char>(table[0], table[1], places);
  const wide_bytes upper = pick_lanes<char>(table[2], table[3], places);
  return (signed_bytes)places < 0 ? upper : lower;
}

/// Converts contiguous bytes to elements of Size bytes, 1 or 2.
template <std::size_t Size>
[[gnu::target("avx512vl,avx512bw,avx512vbmi")]] void look_up_results(const std::byte* source,
                                                                     std::byte* destination,
                                                                     const even_runs& given,
                                                                     const byte_results& results) noexcept {
  constexpr std::size_t lanes = 64;
  const std::size_t count = given.count;
  wide_bytes tables[Size][4];
  for (std::size_t k = 0; k < Size; ++k) {
    for (std::size_t part = 0; part < 4; ++part)
      tables[k][part] = load_wide(results.bytes.data() + (4 * k + part) * lanes);
  }
  const bool is_short = count < lanes;
  for (each_run at(source, destination, given); at; ++at) {
    for (std::size_t i = 0; i < count; i += lanes) {
      if (!is_short && i + lanes > count) i = count - lanes;  // overlaps the step before
      const wide_bytes bytes =
          is_short ? load_some(at.source(), first_bits(count)) : load_wide(at.source() + i);
      wide_bytes found[Size];
      for (std::size_t k = 0; k < Size; ++k) found[k] = pick_from_256(tables[k], bytes);
      for (std::size_t k = 0; k < Size; ++k) {
        wide_bytes elements = found[0];
        if constexpr (Size == 2) {
          elements = pick_lanes<char>(found[0], found[1],
                                      load_wide(reinterpret_cast<const std::byte*>(interleavings[k].data())));
        }
        std::byte* const place = at.destination() + i * Size + k * lanes;
        const std::size_t bytes_left = (count - i) * Size;
        if (!is_short) {
          store_wide(place, elements);
        } else if (bytes_left > k * lanes) {
          store_some(place, elements, first_bits(bytes_left - k * lanes));
        }
      }
    }
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

#endif
