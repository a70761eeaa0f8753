// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of axes: in the order of their strides on one side, or along which one side is contiguous.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// An axis_order lists axes, the innermost first.
struct axis_order {
  std::array<std::uint8_t, max_axes> axes;
  std::size_t count = 0;
};

/// Lists `count` axes, the shortest stride first. Of axes with equally long strides, the last one comes first.
template <std::size_t Most, class StrideOf>
constexpr void list_by_strides(std::array<std::uint8_t, Most>& axes, std::size_t count,
                               const StrideOf& stride_of) noexcept {
  for (std::size_t i = 0; i < count; ++i) axes[i] = static_cast<std::uint8_t>(count - 1 - i);
  sort_few(std::span(axes).first(count),
           [&](std::uint8_t a, std::uint8_t b) { return magnitude(stride_of(a)) < magnitude(stride_of(b)); });
}

constexpr axis_order order_of(const layout& moves, std::int64_t layout_axis::* stride) noexcept {
  axis_order order;
  order.count = moves.rank;
  list_by_strides(order.axes, order.count, [&](std::size_t i) { return moves.axes[i].*stride; });
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
