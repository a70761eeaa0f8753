// SPDX-License-Identifier: BSD-3-Clause
//
// These types describe the sums of rows to the code of simd/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// row_terms has the terms of each sum of a tile, in the order of addition. If they accumulate, a sum begins from the value
/// in its place, else from zero.
struct row_terms {
  term_offsets list;
  bool accumulates;
};

/// A row_sum sums the rows of a tile, which are contiguous on both sides.
using row_sum = void (*)(const tile&, const row_terms&, const std::byte* source, std::byte* destination);

/// A row_adder adds rows of terms to rows of sums, one after the other: rows of sums may overlap. An element of the tile is a
/// row. It may read all bytes before `end`. Behind each row of sums there are row_slack bytes, which stay as they are.
using row_adder = void (*)(const tile&, const std::byte* source, const std::byte* end,
                           std::byte* destination);
inline constexpr std::int64_t row_slack = 16;

/// 32 bytes with all bits, and 32 bytes without any: from any byte of the first half on, a mask for a part of a register.
[[gnu::visibility("hidden")]] inline constexpr std::array<std::uint8_t, 64> ones_and_zeros = [] {
  std::array<std::uint8_t, 64> bytes{};
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = 0xff;
  return bytes;
}();

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
