// SPDX-License-Identifier: BSD-3-Clause
//
// Overlapping destinations: how fold sums. The output is cut into boxes that fit the first-level
// cache. For each box, the layout with its destination swapped for a box of accumulators, and its
// bounds narrowed to the box, goes through the traversal with the adding leaf; then the box goes to
// the output by the same traversal. Each output element is written once, by whoever has its box, so
// the result does not depend on who takes which box.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/summation.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::detail {

/// Bytes of accumulators in a box: half of a usual first-level cache, the rest is for the columns.
inline constexpr std::size_t box_bytes = 16 * 1024;

/// The sums of a window operator. The layout's destination is the image, axes in the order
/// n, c, o_1..o_k, l_1..l_k: offsets ascend outside of blocks, which is the order of the terms.
/// A trivially copyable value.
struct gather {
  layout moves;         ///< source: the columns; destination strides 0
  axis_values extents;  ///< of the image: n, c, spatial axes
  axis_values strides;  ///< of the image, bytes
  axis_values box;      ///< extents of a box
  summation sum;

  std::size_t spatial_axes() const noexcept { return extents.size() - 2; }

  std::int64_t boxes() const noexcept {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < extents.size(); ++i) count *= boxes_along(i);
    return count;
  }

  void fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const;

 private:
  std::int64_t boxes_along(std::size_t i) const noexcept {
    return extents[i] == 0 ? 0 : (extents[i] - 1) / box[i] + 1;
  }
};
static_assert(std::is_trivially_copyable_v<gather>);

/// As many whole inner axes as fit, then a part of the next one.
constexpr axis_values choose_box(const axis_values& extents, std::int64_t accumulator_size) noexcept {
  axis_values box = axis_values::repeat(extents.size(), 1);
  std::int64_t room = static_cast<std::int64_t>(box_bytes) / accumulator_size;
  for (std::size_t i = extents.size(); i-- > 0 && room > 1;) {
    box[i] = std::clamp<std::int64_t>(extents[i], 1, room);
    room /= box[i];
  }
  return box;
}

inline void gather::fill_box(std::int64_t number, const std::byte* columns, std::byte* image) const {
  layout sums = moves;  // columns -> accumulators
  layout result;        // accumulators -> image
  result.rank = extents.size();
  std::int64_t stride = sum.accumulator_size;
  for (std::size_t i = extents.size(); i-- > 0;) {
    const std::int64_t first = number % boxes_along(i) * box[i];
    const std::int64_t extent = std::min(box[i], extents[i] - first);
    number /= boxes_along(i);
    result.axes[i] = {extent, stride, strides[i]};
    result.destination_offset = wrapping_add(result.destination_offset, wrapping_multiply(first, strides[i]));
    if (i < 2) {
      sums.narrow(i, first, first + extent);
      sums.axes[i].destination_stride = stride;
    } else {
      axis_bound& bound = sums.bounds[i - 2];
      bound.offset -= first;
      bound.extent = extent;
      sums.destination_offset =
          wrapping_add(sums.destination_offset, wrapping_multiply(bound.offset, stride));
      for (const std::size_t axis : {i, i + spatial_axes()}) {
        sums.axes[axis].destination_stride = wrapping_multiply(sums.axes[axis].bound_step, stride);
      }
    }
    stride *= extent;
  }

  alignas(64) std::byte accumulators[box_bytes];
  std::memset(accumulators, 0, static_cast<std::size_t>(stride));
  const plan add = plan_visits(sums, sum.element_size, sum.accumulator_size, sum.accumulate);
  traversal<skip_outside>(add, columns, accumulators).run();
  const plan write = sum.round != nullptr
                         ? plan_visits(result, sum.accumulator_size, sum.element_size, sum.round)
                         : plan_moves(result, sum.element_size);
  traversal<skip_outside>(write, accumulators, image).run();
}

}  // namespace reblock::detail
