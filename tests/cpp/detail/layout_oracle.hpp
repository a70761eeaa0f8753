// SPDX-License-Identifier: BSD-3-Clause
//
// What a layout means: every point of its index space, one after the other, as it was described.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <reblock/detail/layout.hpp>

#include "../draw.hpp"
#include "../oracle.hpp"

namespace reblock::test {

struct layout_point {
  std::vector<std::int64_t> index;
  std::int64_t source;       ///< offset in bytes
  std::int64_t destination;  ///< offset in bytes
  bool inside;

  friend bool operator==(const layout_point&, const layout_point&) = default;
};

/// Calls f with each point of a layout, in the order of its axes.
template <class F>
void for_each_point(const detail::layout& l, F&& f) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < l.rank; ++i) count *= l.axes[i].extent;
  layout_point point{std::vector<std::int64_t>(l.rank), 0, 0, true};
  for (std::int64_t number = 0; number < count; ++number) {
    point.source = l.source_offset;
    point.destination = l.destination_offset;
    point.inside = true;
    std::array<std::int64_t, detail::max_bounds> position{};
    for (std::size_t b = 0; b < l.bound_count; ++b) position[b] = l.bounds[b].offset;
    std::int64_t rest = number;
    for (std::size_t i = l.rank; i-- > 0; rest /= l.axes[i].extent) {
      const detail::layout_axis& axis = l.axes[i];
      const std::int64_t index = rest % axis.extent;
      point.index[i] = index;
      if (!l.repeats_inside(i)) point.source += index * axis.source_stride;
      point.destination += index * axis.destination_stride;
      if (axis.bounded()) position[axis.bound] += index * axis.bound_step;
    }
    for (std::size_t b = 0; b < l.bound_count; ++b) {
      const detail::axis_bound& bound = l.bounds[b];
      const std::int64_t found = oracle::inside(position[b], bound.extent, bound.mode);
      point.inside = point.inside && found >= 0;
      if (bound.mode != padding_mode::constant) point.source += (found - bound.offset) * bound.source_stride;
    }
    f(std::as_const(point));
  }
}

inline std::vector<layout_point> points(const detail::layout& l) {
  std::vector<layout_point> result;
  for_each_point(l, [&](const layout_point& point) { result.push_back(point); });
  return result;
}

/// A layout with the buffers that it needs: offsets count from their beginnings.
struct moves {
  detail::layout layout;
  std::int64_t element_size = 1;
  std::size_t source_bytes = 0;
  std::size_t destination_bytes = 0;

  /// The destination after the moves, one element at a time, in the order of the axes.
  std::vector<std::byte> expected(const std::vector<std::byte>& source, std::vector<std::byte> destination,
                                  bool fills_outside) const {
    const auto size = static_cast<std::size_t>(element_size);
    for_each_point(layout, [&](const layout_point& point) {
      std::byte* const to = destination.data() + point.destination;
      if (point.inside) {
        std::memcpy(to, source.data() + point.source, size);
      } else if (fills_outside) {
        std::memset(to, 0, size);
      }
    });
    return destination;
  }
};

/// Puts the offsets of a layout where all of its elements lie in buffers, with a margin around them.
inline moves with_buffers(detail::layout l, std::int64_t element_size) {
  constexpr std::int64_t margin = 24;
  std::int64_t source_range[2] = {0, 0};
  std::int64_t destination_range[2] = {0, 0};
  const auto widen = [](std::int64_t(&range)[2], std::int64_t value, bool first) {
    range[0] = first ? value : std::min(range[0], value);
    range[1] = first ? value : std::max(range[1], value);
  };
  l.source_offset = 0;
  l.destination_offset = 0;
  bool first_inside = true;
  bool first = true;
  for_each_point(l, [&](const layout_point& point) {
    widen(destination_range, point.destination, first);
    first = false;
    if (!point.inside) return;
    widen(source_range, point.source, first_inside);
    first_inside = false;
  });
  l.source_offset = margin - source_range[0];
  l.destination_offset = margin - destination_range[0];
  const auto bytes = [&](const std::int64_t(&range)[2]) {
    return static_cast<std::size_t>(range[1] - range[0] + element_size + 2 * margin);
  };
  return {l, element_size, bytes(source_range), bytes(destination_range)};
}

inline std::vector<std::byte> draw_bytes(std::mt19937& random, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Random moves whose destination does not overlap itself; neighbours often nest on both sides. Each
/// bound is shared by two axes, as those of a window are.
inline moves draw_moves(std::mt19937& random, std::size_t bounds) {
  constexpr std::int64_t sizes[] = {1, 2, 3, 4, 8, 12, 16};
  const std::int64_t element_size = sizes[draw(random, 0, 6)];
  detail::layout l;
  l.bound_count = bounds;
  const auto free_axes = static_cast<std::size_t>(draw(random, bounds == 0 ? 1 : 0, bounds == 0 ? 6 : 3));
  for (std::size_t i = 0; i < free_axes + 2 * bounds; ++i) {
    const bool bounded = i >= free_axes;
    l.add({draw(random, 1, 4), 0, 0, bounded ? (i - free_axes) % bounds : detail::no_bound,
           bounded ? draw(random, 1, 3) : 0});
  }
  for (std::size_t b = 0; b < bounds; ++b) l.bounds[b] = {draw(random, -4, 1), draw(random, 0, 7)};

  // Some order of the axes in memory, the same on both sides in a half of all cases; gaps are rare.
  const std::vector<std::size_t> destination_order = draw_order(random, l.rank);
  const std::vector<std::size_t> source_order =
      flip_coin(random) ? destination_order : draw_order(random, l.rank);
  const auto lay = [&](const std::vector<std::size_t>& order, auto stride_of) {
    std::int64_t stride = element_size;
    for (const std::size_t i : order) {
      stride_of(l.axes[i]) = draw(random, 0, 3) == 0 ? -stride : stride;
      stride = stride * l.axes[i].extent + (draw(random, 0, 5) == 0 ? draw(random, 1, 9) : 0);
    }
  };
  lay(destination_order, [](detail::layout_axis& axis) -> auto& { return axis.destination_stride; });
  lay(source_order, [](detail::layout_axis& axis) -> auto& { return axis.source_stride; });
  for (std::size_t i = 0; i < l.rank; ++i) {
    detail::layout_axis& axis = l.axes[i];
    if (draw(random, 0, 9) == 0) axis.source_stride = draw(random, -2, 2) * element_size;  // overlaps
  }
  return with_buffers(l, element_size);
}

}  // namespace reblock::test
