// SPDX-License-Identifier: BSD-3-Clause
//
// These types describe the sums of rows to the code of simd/.
#pragma once

#include <cstddef>
#include <span>

#include <reblock/detail/compiler.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// row_terms has the terms of each sum of a tile, in the order of addition. If they accumulate, a sum begins from the value
/// in its place, else from zero.
struct row_terms {
  std::span<const term> list;
  bool accumulates;
};

/// A row_sum sums the rows of a tile, which are contiguous on both sides.
using row_sum = void (*)(const tile&, const row_terms&, const std::byte* source, std::byte* destination);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
