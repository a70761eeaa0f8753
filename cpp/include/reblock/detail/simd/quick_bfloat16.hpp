// SPDX-License-Identifier: BSD-3-Clause
//
// convert_quickly() makes bfloat16 of bytes with AVX2 in half the time of the defined steps. It fuses the product with the sum, and
// rounds ties away from 0. So it is right only for factors whose results for all 256 bytes have been compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <reblock/detail/compiler.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/run_steps.hpp>

#if defined(__GNUC__) && defined(__x86_64__)

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Converts contiguous bytes. Requires runs of at least least_looked_up elements.
[[gnu::target("avx2,fma")]] inline void convert_quickly(const std::byte* source, std::byte* destination,
                                                        const even_runs& given,
                                                        const byte_results& results) noexcept {
  using floats [[gnu::vector_size(32)]] = float;
  using words [[gnu::vector_size(32)]] = std::uint32_t;
  using signed_words [[gnu::vector_size(32)]] = std::int32_t;
  using pairs [[gnu::vector_size(32)]] = std::uint16_t;
  constexpr std::size_t lanes = least_looked_up;
  // copies, which no store to the destination can change
  const std::size_t count = given.count;
  const std::int64_t source_step = given.source_step;
  const std::int64_t destination_step = given.destination_step;
  const floats scale = results.scale - floats{};
  const floats bias = results.bias - floats{};
  for (std::size_t runs = given.runs; runs > 0;
       --runs, source += source_step, destination += destination_step) {
    for (std::size_t i = 0; i < count; i += lanes) {
      if (i + lanes > count) i = count - lanes;  // overlaps the step before
      // bytes at even and at odd places, so that their results need no shuffle
#if defined(__clang__)
      using half_pairs [[gnu::vector_size(16)]] = std::uint16_t;
      const words both = __builtin_convertvector(read<half_pairs>(source + i), words);
#else
      using half_shorts [[gnu::vector_size(16)]] = short;
      const auto both = (words)__builtin_ia32_pmovzxwd256(read<half_shorts>(source + i));
#endif
      const floats even = __builtin_convertvector((signed_words)(both & 0xffu), floats) * scale + bias;
      const floats odd = __builtin_convertvector((signed_words)(both >> 8), floats) * scale + bias;
      const auto lower = (pairs)(((words)even + 0x8000u) >> 16);
      const auto upper = (pairs)((words)odd + 0x8000u);
      const pairs elements =
          __builtin_shufflevector(lower, upper, 0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31);
      std::memcpy(destination + 2 * i, &elements, sizeof(elements));
    }
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

#endif
