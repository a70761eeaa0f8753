// SPDX-License-Identifier: BSD-3-Clause
//
// A sum_image is the image of a fold, whose positions without terms have to become 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/sums/tile_list.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A sum_image is trivially copyable.
struct sum_image {
  /// A box of positions, by the axes of the image.
  using box = std::array<index_range, max_rank>;

  explicit sum_image(const sum_request& sums) noexcept
      : extents(sums.extents),
        strides(sums.output_strides),
        offset(sums.output_offset),
        element_size(sums.sum.element_size) {}

  box whole() const noexcept {
    box all;
    for (std::size_t i = 0; i < extents.size(); ++i) all[i] = {0, extents[i]};
    return all;
  }

  /// Sets the positions of a box to 0.
  void clear(const box& positions, std::byte* output) const noexcept {
    std::array<std::uint8_t, max_rank> order;
    list_by_strides(order, extents.size(), [this](std::size_t i) { return strides[i]; });
    std::int64_t place = offset;
    tile_list rows;
    for (const std::size_t i : std::span(order).first(extents.size())) {
      const index_range& range = positions[i];
      if (range.begin >= range.end) return;
      place = wrapping_add(place, wrapping_multiply(range.begin, strides[i]));
      rows.add({range.end - range.begin, strides[i], strides[i]});
    }
    rows.for_each([this](const tile& t, const std::byte*, std::byte* to) { clear_tile(t, element_size, to); },
                  output + place, output + place, element_size);
  }

  /// Sets the positions to 0 whose index along any axis is not below `kept`.
  void clear_beyond(const axis_values& kept, std::byte* output) const noexcept {
    box positions = whole();
    for (std::size_t i = 0; i < extents.size(); ++i) {
      positions[i] = {kept[i], extents[i]};
      clear(positions, output);
      positions[i] = {0, kept[i]};
    }
  }

  axis_values extents;        ///< n, c and the spatial axes
  axis_values strides;        ///< of the same axes in the output, bytes
  std::int64_t offset;        ///< of the image in the output, bytes
  std::int64_t element_size;  ///< bytes
};
static_assert(std::is_trivially_copyable_v<sum_image>);

/// Tells whether positions of an axis that windows can reach should be summed without those between them. Their elements have
/// to fill registers, or to lie far apart. Shorter ones are moved into a buffer, where windows of one row follow each other.
constexpr bool should_leave_out(std::int64_t stride, std::int64_t element_size,
                                bool follow_each_other) noexcept {
  return stride % lane_bytes == 0 || magnitude(stride) >= sum_costs::least_row_apart ||
         (follow_each_other && magnitude(stride) != element_size);
}

/// Keeps the positions that steps of windows can reach, if their steps along an axis have a common divisor, and if this is
/// faster. Returns whether it leaves out any.
constexpr bool keep_reachable(sum_request& sums) noexcept {
  bool leaves_out = false;
  const std::size_t spatial = sums.extents.size() - 2;
  for (std::size_t d = 0; d < spatial; ++d) {
    layout_axis& offsets = sums.moves.axes[2 + d];
    layout_axis& windows = sums.moves.axes[2 + spatial + d];
    axis_bound& bound = sums.moves.bounds[d];
    const std::int64_t common =
        std::gcd(offsets.extent > 1 ? offsets.bound_step : 0, windows.extent > 1 ? windows.bound_step : 0);
    const bool follow_each_other = windows.extent > 1 && windows.bound_step == common;
    if (common <= 1 ||
        !should_leave_out(sums.output_strides[2 + d], sums.sum.element_size, follow_each_other)) {
      continue;
    }
    const std::int64_t rest = bound.offset % common;
    const std::int64_t first = rest < 0 ? rest + common : rest;
    if (first >= bound.extent) continue;
    const std::int64_t count = (bound.extent - 1 - first) / common + 1;
    leaves_out = leaves_out || count < bound.extent;
    bound = {floor_divide(bound.offset, common), count};
    offsets.bound_step /= common;
    windows.bound_step /= common;
    sums.extents[2 + d] = count;
    sums.output_offset =
        wrapping_add(sums.output_offset, wrapping_multiply(first, sums.output_strides[2 + d]));
    sums.output_strides[2 + d] = wrapping_multiply(common, sums.output_strides[2 + d]);
  }
  return leaves_out;
}

/// Leaves out the positions behind the last one that a window reaches. Then all phases of a stride have equally many places
/// if windows lie side by side.
constexpr void leave_out_ends(sum_request& sums) noexcept {
  const std::size_t spatial = sums.extents.size() - 2;
  for (std::size_t d = 0; d < spatial; ++d) {
    const layout_axis& offsets = sums.moves.axes[2 + d];
    const layout_axis& windows = sums.moves.axes[2 + spatial + d];
    axis_bound& bound = sums.moves.bounds[d];
    if (windows.extent == 0 || offsets.extent == 0) continue;
    const std::int64_t last =
        (windows.extent - 1) * windows.bound_step + (offsets.extent - 1) * offsets.bound_step + bound.offset;
    if (last < 0 || last >= bound.extent - 1) continue;
    bound.extent = sums.extents[2 + d] = last + 1;
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
