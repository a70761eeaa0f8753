// SPDX-License-Identifier: BSD-3-Clause
//
// A gather_axis computes which terms the positions of one spatial axis have. Windows may overlap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A segment has neighbouring places [begin, end) with the same terms [first_term, end_term).
struct segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t first_term = 0;
  std::int64_t end_term = 0;

  constexpr std::int64_t size() const noexcept { return end - begin; }
  constexpr std::int64_t terms() const noexcept { return std::max<std::int64_t>(0, end_term - first_term); }
};

/// A phase_group has `count` phases from `number` on, each `step` behind the one before, with equally many places and
/// terms. In the i-th phase, term t comes from the window offset first_offset + i + t * cycle, and window l adds it to place
/// l + shift + t * advance.
struct phase_group {
  std::int64_t number = 0;
  std::int64_t count = 1;
  std::int64_t step = 1;
  std::int64_t places = 0;
  std::int64_t terms = 0;
  std::int64_t first_offset = 0;
  std::int64_t cycle = 1;
  std::int64_t shift = 0;
  std::int64_t advance = 1;

  /// Keeps the phases of a range.
  constexpr void keep(const index_range& phases) noexcept {
    const auto [first, end] = indices_between(phases.begin - number, phases.end - number, step, count);
    count = end - first;
    number += first * step;
    first_offset += first;
  }
};

/// A gather_axis describes one spatial axis. Window l adds its term of offset o to the position
/// l * stride + o * dilation - padding. A position is place position / phases of phase position % phases. Within a phase,
/// neighbouring windows add to neighbouring places. `blocks` counts the windows.
struct gather_axis {
  std::int64_t size = 1;  ///< window offsets
  std::int64_t blocks = 1;
  std::int64_t phases = 1;  ///< the stride, or 1 or what it reaches if there is one window
  std::int64_t dilation = 1;
  std::int64_t padding = 0;
  std::int64_t extent = 0;         ///< positions
  std::int64_t size_stride = 0;    ///< in the columns, bytes
  std::int64_t block_stride = 0;   ///< in the columns, bytes
  std::int64_t output_stride = 0;  ///< bytes

  /// Counts the places of the phases that have the most places.
  constexpr std::int64_t places() const noexcept { return ceil_divide(extent, phases); }

  /// Counts the phases that have terms. Each of the first window offsets belongs to another phase.
  constexpr std::int64_t summed_phases() const noexcept {
    return std::min(size, phases / std::gcd(phases, dilation));
  }

  /// Returns the group with the phase of a window offset below summed_phases(). It also has the phases of the next offsets,
  /// as long as they have equally many places and terms.
  constexpr phase_group group_at(std::int64_t offset) const noexcept {
    const std::int64_t common = std::gcd(phases, dilation);
    const std::int64_t cycle = phases / common;
    const std::int64_t position = offset * dilation - padding;
    const std::int64_t shift = floor_divide(position, phases);
    // at most the number of phases, although the product may overflow
    const std::int64_t number = wrapping_subtract(position, wrapping_multiply(shift, phases));
    std::int64_t count = 1;
    if (dilation < phases) {
      const auto until = [&](std::int64_t end) { return ceil_divide(end - number, dilation); };
      count = std::min(summed_phases() - offset, until(phases));
      if (offset < size % cycle) count = std::min(count, size % cycle - offset);
      if (number < extent % phases) count = std::min(count, until(extent % phases));
    }
    return {number,
            count,
            dilation,
            ceil_divide(extent - number, phases),
            ceil_divide(size - offset, cycle),
            offset,
            cycle,
            shift,
            dilation / common};
  }

  /// Returns the longest segment of a group from place `begin` on. It ends at `end` at the latest.
  constexpr segment segment_at(const phase_group& g, std::int64_t begin, std::int64_t end) const noexcept {
    // term t adds to `blocks` places from t * advance + shift on
    const std::int64_t reached = begin - g.shift;
    const auto term = [&](std::int64_t t) { return std::clamp<std::int64_t>(t, 0, g.terms); };
    const std::int64_t first = term(ceil_divide(reached - blocks + 1, g.advance));
    const std::int64_t last = term(floor_divide(reached, g.advance) + 1);
    if (first < g.terms) end = std::min(end, g.shift + blocks + first * g.advance);
    if (last < g.terms) end = std::min(end, g.shift + last * g.advance);
    return {begin, end, first, last};
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
