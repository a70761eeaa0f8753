// SPDX-License-Identifier: BSD-3-Clause
//
// These functions copy rows of terms and leave out some: a mask keeps the bits of a term or makes them 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/lanes.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/sum_leaves.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Rows of `size` bytes, `stride` bytes apart.
struct masked_rows {
  const std::byte* first;
  std::int64_t stride;
  std::size_t rows;
  std::size_t size;
};

/// Where the mask of a row begins. With a period, the mask repeats after so many bytes and has mask_overrun bytes more.
struct mask_place {
  std::size_t begin = 0;
  std::size_t period = 0;  ///< bytes, or 0
};

/// Copies `Bytes` bytes.
template <std::size_t Bytes>
[[gnu::always_inline]] inline void copy_bits(std::byte* to, const std::byte* from,
                                             const std::byte* mask) noexcept {
  if constexpr (has_lanes && Bytes >= 16) {
    lanes<std::uint64_t, Bytes / 8> bits;
    lanes<std::uint64_t, Bytes / 8> kept;
    load_lanes(bits, from);
    load_lanes(kept, mask);
    store_lanes(to, bits & kept);
  } else {
    using unit = std::conditional_t<Bytes >= 8, std::uint64_t,
                                    std::conditional_t<Bytes == 4, std::uint32_t, std::uint8_t>>;
    for (std::size_t i = 0; i < Bytes; i += sizeof(unit)) {
      const auto bits = read<unit>(from + i) & read<unit>(mask + i);
      write(to + i, static_cast<unit>(bits));
    }
  }
}

/// Copies `size` bytes. The last copy overlaps the one before.
template <std::size_t Bytes>
[[gnu::always_inline]] inline void copy_run(std::byte* to, const std::byte* from, const std::byte* mask,
                                            std::size_t size) noexcept {
  std::size_t i = 0;
  for (; i + Bytes <= size; i += Bytes) copy_bits<Bytes>(to + i, from + i, mask + i);
  if (i < size) copy_bits<Bytes>(to + size - Bytes, from + size - Bytes, mask + size - Bytes);
}

[[gnu::always_inline]] inline void copy_masked_row(std::byte* to, const std::byte* from,
                                                   const std::byte* mask, std::size_t size) noexcept {
  if (size >= 32) return copy_run<32>(to, from, mask, size);
  if (size >= 16) return copy_run<16>(to, from, mask, size);
  if (size >= 8) return copy_run<8>(to, from, mask, size);
  if (size >= 4) return copy_run<4>(to, from, mask, size);
  copy_run<1>(to, from, mask, size);
}

/// Copies rows side by side.
[[gnu::always_inline]] inline void copy_masked(std::byte* to, const masked_rows& from, const std::byte* mask,
                                               const mask_place& at) noexcept {
  constexpr auto at_once = static_cast<std::size_t>(mask_overrun);
  const masked_rows all = from;
  const std::size_t period = at.period;
  const std::size_t step = period == 0 ? at_once : at_once % period;
  for (std::size_t r = 0; r < all.rows; ++r, to += all.size) {
    const std::byte* const row = all.first + static_cast<std::int64_t>(r) * all.stride;
    std::size_t in_mask = at.begin;
    std::size_t i = 0;
    for (; i + at_once < all.size; i += at_once) {
      for (std::size_t k = 0; k < at_once; k += 32)
        copy_bits<32>(to + i + k, row + i + k, mask + in_mask + k);
      in_mask += step;
      if (period != 0 && in_mask >= period) in_mask -= period;
    }
    copy_masked_row(to + i, row + i, mask + in_mask, all.size - i);
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
