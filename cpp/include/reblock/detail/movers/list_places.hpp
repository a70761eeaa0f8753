// SPDX-License-Identifier: BSD-3-Clause
//
// list_places() lists places along the axes of a block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Lists the places of all indices of an axis behind the first `filled` places, which are those of index 0. Returns how many
/// places there are.
inline std::size_t list_places(std::int64_t indices, std::int64_t stride, std::int64_t* places,
                               std::size_t filled) noexcept {
  const std::size_t before = filled;
  // All indices so far come again behind them: few long loops.
  for (std::int64_t index = 1; index < indices;) {
    const std::int64_t again = std::min(index, indices - index);
    const std::int64_t offset = wrapping_multiply(index, stride);
    const std::size_t count = static_cast<std::size_t>(again) * before;
    for (std::size_t k = 0; k < count; ++k) places[filled + k] = wrapping_add(places[k], offset);
    filled += count;
    index += again;
  }
  return filled;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
