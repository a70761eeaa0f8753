// SPDX-License-Identifier: BSD-3-Clause
//
// A tile describes the elements that one call of a leaf sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

struct tile_axis {
  std::int64_t extent = 1;
  std::int64_t source_stride = 0;       ///< bytes
  std::int64_t destination_stride = 0;  ///< bytes
};

/// A tile has four axes. Leaves differ in how they take the inner two axes. They repeat it for every index of the other
/// two: a call for each row would cost as much as a short row itself.
struct tile {
  tile_axis outer;
  tile_axis inner;
  std::size_t element_size = 0;  ///< bytes
  tile_axis rows{};
  tile_axis slices{};
};

/// A leaf takes a tile. `source` and `destination` point to the first element of the tile.
using leaf_function = void (*)(const tile&, const std::byte* source, std::byte* destination);

/// Calls `visit(source, destination)` for every index of the axes before the inner two. `visit` holds its data by value and
/// is inlined. The compiler must assume that its writes change any memory, so a row's data has to stay in registers.
template <class Visit>
[[gnu::always_inline]] inline void for_each_row(const tile& t, const std::byte* source,
                                                std::byte* destination, Visit visit) {
  const auto [rows, slices] = std::pair(t.rows, t.slices);
  for (std::int64_t i = 0; i < slices.extent; ++i) {
    const std::byte* from = source + i * slices.source_stride;
    std::byte* to = destination + i * slices.destination_stride;
    for (std::int64_t j = 0; j < rows.extent; ++j) {
      // Not `from += ...`: a step behind the last row could leave the tensor.
      visit(from + j * rows.source_stride, to + j * rows.destination_stride);
    }
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
