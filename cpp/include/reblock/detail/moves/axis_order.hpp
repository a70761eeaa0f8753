// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of axes: in the order of their strides on one side, or along which one side is contiguous.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// An axis_order lists axes, the innermost first.
struct axis_order {
  std::array<std::uint8_t, max_axes> axes;
  std::size_t count = 0;
};

constexpr axis_order order_of(const layout& moves, std::int64_t layout_axis::* stride) noexcept {
  axis_order order;
  for (std::size_t i = moves.rank; i-- > 0;) {
    std::size_t k = order.count++;
    for (; k > 0 && magnitude(moves.axes[order.axes[k - 1]].*stride) > magnitude(moves.axes[i].*stride);
         --k) {
      order.axes[k] = order.axes[k - 1];
    }
    order.axes[k] = static_cast<std::uint8_t>(i);
  }
  return order;
}

/// An axis_chain lists axes along which one side is contiguous, the innermost first.
struct axis_chain {
  std::array<std::uint8_t, max_axes> axes;
  std::uint8_t count = 0;
  std::int64_t elements = 1;

  constexpr void push(std::size_t axis, std::int64_t extent) noexcept {
    axes[count++] = static_cast<std::uint8_t>(axis);
    elements *= extent;
  }
  constexpr bool has(std::size_t axis) const noexcept {
    return std::find(axes.begin(), axes.begin() + count, axis) != axes.begin() + count;
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
