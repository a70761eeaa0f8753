// SPDX-License-Identifier: BSD-3-Clause
//
// The traversal: walk() visits all pieces of some axes. Every plan is a list of cut axes and what is moved for each piece.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A cut_axis is moved in pieces of `at_once` indices. If its extent is no multiple of `at_once`, the last piece overlaps
/// the one before: to move some elements twice is faster than to move a shorter piece.
struct cut_axis : tile_axis {
  std::int64_t at_once = 1;

  constexpr cut_axis() noexcept = default;
  constexpr cut_axis(const tile_axis& axis, std::int64_t indices) noexcept
      : tile_axis(axis), at_once(indices) {}

  constexpr std::int64_t pieces() const noexcept { return (extent - 1) / at_once + 1; }
  constexpr std::int64_t piece(std::int64_t i) const noexcept {
    return std::min(i * at_once, extent - at_once);
  }
  /// The indices of a piece, and the pieces.
  constexpr tile_axis inner() const noexcept { return {at_once, source_stride, destination_stride}; }
  constexpr tile_axis outer() const noexcept {
    return {pieces(), wrapping_multiply(at_once, source_stride),
            wrapping_multiply(at_once, destination_stride)};
  }
};

/// Calls `visit(source, destination)` for each piece of all axes, the last axis innermost. Offsets are in bytes.
template <class Visit>
void walk(std::span<const cut_axis> axes, std::int64_t source, std::int64_t destination, const Visit& visit) {
  while (!axes.empty() && axes.front().extent == axes.front().at_once) axes = axes.subspan(1);
  if (axes.empty()) return visit(source, destination);
  const cut_axis& axis = axes.front();
  const std::int64_t pieces = axis.pieces();
  for (std::int64_t k = 0; k < pieces; ++k) {
    const std::int64_t index = axis.piece(k);
    walk(axes.subspan(1), wrapping_add(source, wrapping_multiply(index, axis.source_stride)),
         wrapping_add(destination, wrapping_multiply(index, axis.destination_stride)), visit);
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
