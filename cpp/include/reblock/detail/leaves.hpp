// SPDX-License-Identifier: BSD-3-Clause
//
// A leaf moves the innermost axes of a plan, up to four, in one call. Leaves have the size of an element, but not its type.
// They read and write only elements, at any alignment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/interleave.hpp>
#include <reblock/detail/registers.hpp>
#include <reblock/detail/runs.hpp>
#include <reblock/detail/stream_runs.hpp>
#include <reblock/detail/tile.hpp>
#include <reblock/detail/transpose.hpp>
#include <reblock/detail/wide_runs.hpp>
#include <reblock/detail/wide_streams.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A fixed_size is an element size known at compile time, or 0 if it is known only at run time.
template <std::size_t Size>
using fixed_size = std::integral_constant<std::size_t, Size>;

/// Calls `choose` with the element size as a compile-time constant if leaves are compiled for this size.
template <class Choose>
leaf_function with_fixed_size(std::size_t element_size, Choose&& choose) {
  switch (element_size) {
    case 1: return choose(fixed_size<1>{});
    case 2: return choose(fixed_size<2>{});
    case 4: return choose(fixed_size<4>{});
    case 8: return choose(fixed_size<8>{});
    case 16: return choose(fixed_size<16>{});
    case 32: return choose(fixed_size<32>{});
    case 48: return choose(fixed_size<48>{});
    default: return choose(fixed_size<0>{});
  }
}

/// Tells whether the inner axis runs across contiguous streams of the source, and the destination is one row.
constexpr bool interleaves(const tile& t) noexcept {
  const auto size = static_cast<std::int64_t>(t.element_size);
  return t.joined != tile::axis::outer && t.outer.source_stride == size &&
         t.inner.destination_stride == size && t.outer.destination_stride == t.inner_extent() * size;
}

/// Tells whether the outer axis runs across contiguous streams of the destination, and the source is one row.
constexpr bool separates(const tile& t) noexcept {
  const auto size = static_cast<std::int64_t>(t.element_size);
  return t.joined != tile::axis::inner && t.outer.source_stride == size &&
         t.inner.destination_stride == size && t.inner.source_stride == t.outer_extent() * size;
}

/// Estimates the cycles a byte of the leaf that interleaves or separates the streams of a tile, with registers of 16 bytes.
/// Infinity: there is no such leaf.
constexpr double streams_cost_per_byte(const tile& t, const mover_costs& costs) noexcept {
  const auto size = static_cast<std::int64_t>(t.element_size);
  const auto cost_of = [&](std::int64_t streams, std::int64_t along) {
    if (!has_squares(size) || (streams > 4 && streams != 8)) return std::numeric_limits<double>::infinity();
    const bool are_three = streams == 3;
    const double row = along * size < 16 ? costs.short_leaf_row
                       : are_three       ? costs.three_streams_row
                                         : costs.leaf_row;
    const double each =
        are_three && size <= 2 ? costs.three_streams_byte[t.element_size - 1] : costs.leaf_byte;
    return each + row / static_cast<double>(along * streams * size);
  };
  const double merged =
      interleaves(t) ? cost_of(t.inner_extent(), t.outer_extent()) : std::numeric_limits<double>::infinity();
  return separates(t) ? std::min(merged, cost_of(t.outer_extent(), t.inner_extent())) : merged;
}

/// Tells whether registers of 64 bytes interleave, or else separate, the streams of a tile.
template <class = void>
bool has_wide_leaf(const tile& t, bool interleaves) {
  return (interleaves ? choose_wide_leaf<false>(t) : choose_wide_leaf<true>(t)) != nullptr;
}

/// Returns the leaf that interleaves the number of streams of the tile, or null.
template <std::size_t Size>
leaf_function choose_interleaving_leaf(const tile& t, bool is_wide) {
  const leaf_function wide = choose_wide_leaf<false>(t);
  if (is_wide && !t.streamed && wide != nullptr) return wide;
  switch (t.inner_extent()) {
    case 2: return move_interleaved<Size, 2>;
    case 3: return move_interleaved<Size, 3>;
    case 4: return move_interleaved<Size, 4>;
    case 8: return move_interleaved<Size, 8>;
    case 16:  // squares read wider elements better
      if constexpr (Size <= 2) return move_interleaved<Size, 16>;
      return nullptr;
    default: return nullptr;
  }
}

/// Returns the leaf that separates the number of streams of the tile, or null.
template <std::size_t Size>
leaf_function choose_deinterleaving_leaf(const tile& t, bool is_wide) {
  const leaf_function wide = choose_wide_leaf<true>(t);
  if (is_wide && !streams_apart(t) && wide != nullptr) return wide;
  switch (t.outer_extent()) {
    case 2: return move_deinterleaved<Size, 2>;
    case 3: return move_deinterleaved<Size, 3>;
    case 4: return move_deinterleaved<Size, 4>;
    case 8: return move_deinterleaved<Size, 8>;
    case 16:  // squares separate short rows of words better
      return Size == 4 && t.inner_extent() < 32 ? nullptr : leaf_function{move_deinterleaved<Size, 16>};
    default: return nullptr;
  }
}

/// Chooses the leaf for a tile. The leaf is valid for tiles of the same strides with other rows and slices. If
/// `streams_are_fixed` is false, their streams may be narrower. `lookup_width` is the result of detect_lookup_width(). The
/// function is a template, so that only files that use leaves compile them.
template <class = void>
leaf_function choose_leaf(const tile& t, bool streams_are_fixed, std::size_t lookup_width) {
  constexpr std::size_t width{sizeof(register_bytes)};
  const auto size = static_cast<std::int64_t>(t.element_size);
  const auto [outer, inner] = std::pair(t.outer, t.inner);
  const bool is_wide = lookup_width == 64;
  if (inner.source_stride == size && inner.destination_stride == size) {
    return is_wide ? move_wide_runs<false> : move_runs;
  }
  const bool are_long =
      is_wide && t.element_size >= least_streamed_run;  // wide registers stream these at any alignment
  if (!are_long && streams_runs(t)) return stream_runs<sizeof(register_bytes)>;
  if (is_wide && size > 32 && size != 48) return move_wide_runs<true>;  // 48: three registers do
  const bool are_streams = outer.source_stride == size && inner.destination_stride == size;
  return with_fixed_size(t.element_size, [&]<std::size_t Size>(fixed_size<Size>) -> leaf_function {
    if constexpr (Size != 0 && Size < width) {
      if (streams_are_fixed && interleaves(t)) {
        if (const leaf_function leaf = choose_interleaving_leaf<Size>(t, is_wide)) return leaf;
      }
      if (streams_are_fixed && separates(t)) {
        if (const leaf_function leaf = choose_deinterleaving_leaf<Size>(t, is_wide)) return leaf;
      }
      if constexpr (has_squares(Size)) {
        if (are_streams) return move_transposed<Size>;
      }
    }
    return move_strided<Size>;
  });
}

/// Tells whether looking bytes up may move a tile faster than its leaf. The limits are measured: below them leaves spend most
/// of the time at the begin and the end of rows.
inline bool is_slow(const tile& t, std::size_t lookup_width, const mover_costs& costs) noexcept {
  if (streams_runs(t)) return false;
  const auto [outer, inner] = std::pair(t.outer, t.inner);
  const auto size = static_cast<std::int64_t>(t.element_size);
  const auto is_short_run = [](std::int64_t bytes) { return bytes < 32 && bytes != 16; };
  if (inner.source_stride == size && inner.destination_stride == size) {
    return is_short_run(inner.extent * size);
  }
  if (!has_squares(size)) return is_short_run(size);
  if (outer.source_stride != size || inner.destination_stride != size) return true;
  const bool is_wide = lookup_width == 64;
  if (!is_wide) {
    const double streams = streams_cost_per_byte(t, costs);
    if (streams < std::numeric_limits<double>::infinity()) return streams > costs.least_lookup_byte;
  }
  const auto has_short_rows = [=](std::int64_t streams, std::int64_t row_bytes) {
    if (row_bytes >= 64) return false;
    if (streams <= 3) return true;
    if ((t.joined != tile::axis::neither || streams == 4) && row_bytes <= 32) return true;
    return row_bytes < 16 || streams * row_bytes < 56;
  };
  const auto has_leaf = [](std::int64_t streams) { return streams <= 4 || streams == 8; };
  if (is_wide && interleaves(t)) {
    if (beats_lookups(wide_shape::of(t, false), false)) return false;
    if (has_leaf(t.inner_extent())) return has_short_rows(t.inner_extent(), outer.extent * size);
  }
  if (is_wide && separates(t)) {
    if (beats_lookups(wide_shape::of(t, true), true)) return false;
    if (has_leaf(t.outer_extent())) return has_short_rows(t.outer_extent(), inner.extent * size);
  }
  const auto [shorter, longer] = std::minmax({t.outer_extent(), t.inner_extent()});
  return shorter * size < 16 || (is_wide && shorter <= 9 && longer * size <= 32);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
