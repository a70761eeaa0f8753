// SPDX-License-Identifier: BSD-3-Clause
//
// These functions choose the axes of a pattern, and how many indices a piece has of the axis along which it repeats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/pattern.hpp>
#include <reblock/detail/moves/window_cover.hpp>
#include <reblock/detail/simplify.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Chooses how many indices of an axis, `bytes` each, make a piece of a pattern. All pieces should need as few registers as
/// possible, then a piece should have as few indices as possible. 0: a piece would not fill a register.
constexpr std::int64_t choose_piece(std::int64_t extent, std::int64_t bytes, std::int64_t most_bytes,
                                    std::int64_t width) noexcept {
  std::int64_t best = 0;
  std::int64_t best_count = 0;
  for (std::int64_t piece = ceil_divide(width, bytes); piece <= extent; ++piece) {
    if (best != 0 && piece * bytes > most_bytes) break;
    const std::int64_t count = ceil_divide(extent, piece) * ceil_divide(piece * bytes, width);
    // a longer piece has to save a sixteenth, because its table takes longer to make
    if (best == 0 || count * 17 < best_count * 16) {
      best = piece;
      best_count = count;
    }
  }
  return best;
}

/// Returns how many indices of an axis may be siblings in a pattern: their sources are near enough to share windows.
constexpr std::int64_t shared_extent(const layout_axis& axis) noexcept {
  constexpr std::int64_t near = 64;  // bytes
  if (axis.bounded() || axis.source_stride <= 0) return 1;
  auto extent = static_cast<std::int64_t>(sibling_axis::limit);
  while (extent > 1 && (axis.extent % extent != 0 || axis.source_stride > near / extent)) --extent;
  return extent;
}

/// pattern_axes are the axes of a pattern: the axes from `inner` on, and `piece` indices of axis `along`.
struct pattern_axes {
  std::size_t inner = 0;
  std::size_t along = no_axis;  ///< no_axis: there is no pattern
  std::int64_t piece = 1;
  std::int64_t bytes = 0;  ///< of a piece
};

/// Returns the bytes of a pattern's shortest part without gaps in the source.
inline std::int64_t run_of(const layout& moves, const pattern_axes& axes,
                           std::int64_t element_size) noexcept {
  std::int64_t run = element_size;
  const auto reach = [&](const layout_axis& axis, std::int64_t extent) {
    if (moves.in_source_run(axis)) run += wrapping_multiply(magnitude(axis.source_stride), extent - 1);
  };
  for (std::size_t i = axes.inner; i < moves.rank; ++i) {
    reach(moves.axes[i], moves.axes[i].extent);
  }
  if (axes.along != no_axis) reach(moves.axes[axes.along], axes.piece);
  return run;
}

/// pattern_sizes has the sizes of patterns, in bytes, for registers of 16, 32 or 64 bytes.
struct pattern_sizes {
  std::int64_t width;
  std::int64_t least;  ///< of a pattern: a store
  std::int64_t usual;  ///< of a pattern that could be larger
  std::int64_t limit;
  std::int64_t often;  ///< least number of pieces of an axis, not bytes: with fewer the whole axis is taken

  static constexpr pattern_sizes of(std::size_t lookup_width) noexcept {
    const auto limit = static_cast<std::int64_t>(pattern::most_bytes);
    switch (lookup_width) {
      case 64: return {64, 32, 400, limit, 4};
      case 32: return {32, 16, 200, limit / 2, 8};
      default: return {16, 16, 200, limit / 2, 8};
    }
  }
};

/// Chooses the axes for a layout in the order of the destination. `across_gaps`: patterns may have gaps in the source. A
/// pattern has all axes with bounds: its table says which elements are outside. It has at most `most` bytes.
inline pattern_axes find_pattern(const layout& moves, std::int64_t element_size, std::size_t lookup_width,
                                 bool across_gaps, std::int64_t most = pattern::most_bytes) noexcept {
  pattern_sizes sizes = pattern_sizes::of(lookup_width);
  sizes.limit = std::min(sizes.limit, most);
  sizes.usual = std::min(sizes.usual, most);
  pattern_axes found{moves.rank};
  found.bytes = element_size;
  std::size_t first_bounded = 0;
  while (first_bounded < moves.rank && !moves.axes[first_bounded].bounded()) ++first_bounded;
  while (found.along == no_axis && found.inner > 0) {
    const std::size_t i = found.inner - 1;
    const layout_axis& next = moves.axes[i];
    if (next.destination_stride != found.bytes || !(across_gaps || moves.in_source_run(next))) break;
    const bool may_have_siblings = sizes.width == 64 && found.bytes >= 64 && shared_extent(next) > 1;
    if (may_have_siblings) break;
    const std::int64_t with_next = found.bytes * next.extent;
    found.piece = 0;
    if (i < first_bounded && with_next > (next.extent <= 4 ? sizes.limit : sizes.usual)) {
      found.piece = choose_piece(next.extent, found.bytes, sizes.usual, sizes.width);
      if (next.extent < sizes.often * found.piece) found.piece = 0;
    }
    if (found.piece > 0) {
      found.along = i;
    } else if (with_next > sizes.limit) {
      break;
    } else {
      found.bytes = with_next;
      found.inner = i;
    }
  }
  if (found.along == no_axis) {
    found.piece = 1;
    for (std::size_t i = found.inner; i-- > 0;) {  // takes the longest axis
      if (found.along == no_axis || moves.axes[i].extent >= moves.axes[found.along].extent) found.along = i;
    }
  }
  if (found.inner > first_bounded) found.along = no_axis;
  found.bytes *= found.piece;
  if (found.bytes < sizes.least || found.bytes > sizes.limit) found.along = no_axis;
  return found;
}

/// Does the same. It takes patterns across gaps only if there is no other pattern and windows fit between the gaps.
inline pattern_axes choose_pattern(const layout& moves, std::int64_t element_size, std::size_t lookup_width,
                                   std::int64_t most = pattern::most_bytes) noexcept {
  pattern_axes found = find_pattern(moves, element_size, lookup_width, false, most);
  if (found.along != no_axis) return found;
  found = find_pattern(moves, element_size, lookup_width, true, most);
  if (run_of(moves, found, element_size) < pattern::least_window) found.along = no_axis;
  return found;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
