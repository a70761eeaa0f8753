// SPDX-License-Identifier: BSD-3-Clause
//
// These classes make a register of words of bytes that are 2 to most_spacing bytes apart. Each is compiled for one instruction
// set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/simd/wide_registers.hpp>

#if defined(__GNUC__) && defined(__x86_64__)

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Loads 32 bytes, so that each half of them has four of the eight bytes.
class eight_spaced_words {
 public:
  using words [[gnu::vector_size(32)]] = std::uint32_t;

  [[gnu::target("avx2"), gnu::always_inline]] explicit eight_spaced_words(std::size_t spacing) noexcept
      : before_(half - 4 * spacing) {
    const auto step = static_cast<std::uint32_t>(spacing);
    const auto first = static_cast<std::uint32_t>(before_);
    // the upper bytes of a word have no place: they become 0
    places_ = (words{0, 1, 2, 3, 0, 1, 2, 3} * step + words{first, first, first, first}) | 0x80808000u;
  }
  [[gnu::target("avx2"), gnu::always_inline]] words operator()(const std::byte* source) const noexcept {
    using chars [[gnu::vector_size(32)]] = char;
    chars loaded;
    std::memcpy(&loaded, source - before_, sizeof(loaded));
    return (words)__builtin_ia32_pshufb256(loaded, (chars)places_);
  }

 private:
  static constexpr std::size_t half = 16;

  std::size_t before_;  ///< bytes that are loaded before the first byte
  words places_;
};

/// Loads 64 bytes.
class sixteen_spaced_words {
 public:
  using words [[gnu::vector_size(64)]] = std::uint32_t;

  [[gnu::target("avx512vl,avx512bw,avx512vbmi"),
    gnu::always_inline]] explicit sixteen_spaced_words(std::size_t spacing) noexcept
      : places_(words{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} *
                static_cast<std::uint32_t>(spacing)) {}
  [[gnu::target("avx512vl,avx512bw,avx512vbmi"), gnu::always_inline]] words operator()(
      const std::byte* source) const noexcept {
#if defined(__clang__)
    return (words)pick_bytes(load_wide(source), (wide_bytes)places_) & 0xffu;
#else
    return (words)__builtin_ia32_permvarqi512_mask(load_wide(source), (wide_bytes)places_, wide_bytes{},
                                                   0x1111111111111111);
#endif
  }

 private:
  words places_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

#endif
