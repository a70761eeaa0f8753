// SPDX-License-Identifier: BSD-3-Clause
//
// A tile describes the elements that one call of a leaf sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

struct tile_axis {
  std::int64_t extent = 1;
  std::int64_t source_stride = 0;       ///< bytes
  std::int64_t destination_stride = 0;  ///< bytes

  friend constexpr bool operator==(const tile_axis&, const tile_axis&) = default;
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

/// Sets `size` bytes to 0. A call of memset() would take longer than a few bytes.
inline void clear_run(std::byte* to, std::size_t size) {
  if (size >= 16) {
    std::memset(to, 0, size);
  } else if (size >= 8) {
    std::memset(to, 0, 8);
    std::memset(to + size - 8, 0, 8);
  } else if (size >= 4) {
    std::memset(to, 0, 4);
    std::memset(to + size - 4, 0, 4);
  } else {
    if (size >= 2) std::memset(to, 0, 2);
    if (size % 2 == 1) std::memset(to + size - 1, 0, 1);
  }
}

/// Makes sums without terms: sets all their bits to 0, one contiguous run at a time.
inline void clear_tile(const tile& t, std::int64_t size, std::byte* destination) {
  const tile_axis outer = t.outer;
  const tile_axis inner = t.inner;
  const bool are_runs = inner.destination_stride == size;
  const bool are_joined = are_runs && outer.destination_stride == inner.extent * size;
  const auto run = static_cast<std::size_t>(are_runs ? inner.extent * size : size);
  const std::int64_t runs = are_runs ? 1 : inner.extent;
  for_each_row(t, destination, destination, [=](const std::byte*, std::byte* to) {
    if (are_joined) return clear_run(to, static_cast<std::size_t>(outer.extent) * run);
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      std::byte* const row = to + i * outer.destination_stride;
      for (std::int64_t j = 0; j < runs; ++j) clear_run(row + j * inner.destination_stride, run);
    }
  });
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
