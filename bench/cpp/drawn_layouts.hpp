// SPDX-License-Identifier: BSD-3-Clause
//
// These functions draw layouts for costs_benchmark.cpp, and move them element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <reblock/axis_values.hpp>
#include <reblock/depth_space.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/window_geometry.hpp>
#include <reblock/window.hpp>

namespace reblock::bench {

using namespace detail;

/// A drawn layout, whose buffers have no gaps.
struct drawn_layout {
  layout moves;
  std::int64_t element_size = 0;
  std::int64_t source_bytes = 0;
  std::int64_t destination_bytes = 0;
};

/// Draws begin <= value <= end. All compilers draw the same values.
inline std::int64_t draw(std::mt19937& random, std::int64_t begin, std::int64_t end) {
  return begin + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(end - begin + 1));
}

/// Returns strides in bytes, without gaps, for axes in this order in memory: the innermost first.
inline axis_values packed(const axis_values& extents, const std::vector<std::size_t>& order,
                          std::int64_t element_size) {
  axis_values strides = extents;
  std::int64_t stride = element_size;
  for (const std::size_t i : order) {
    strides[i] = stride;
    stride *= extents[i];
  }
  return strides;
}

/// Lists axes, the last one first.
inline std::vector<std::size_t> row_major(std::size_t rank) {
  std::vector<std::size_t> order;
  for (std::size_t i = rank; i-- > 0;) order.push_back(i);
  return order;
}

inline std::vector<std::size_t> draw_order(std::mt19937& random, std::size_t rank) {
  std::vector<std::size_t> order = row_major(rank);
  for (std::size_t i = rank; i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(i) - 1))]);
  }
  return order;
}

inline std::int64_t volume(const axis_values& extents) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) elements *= extent;
  return elements;
}

// The bytes of the larger side: both sides fit the second-level cache.
inline constexpr std::int64_t least_bytes = 8 * 1024;
inline constexpr std::int64_t most_bytes = 128 * 1024;

inline std::int64_t draw_element_size(std::mt19937& random) { return std::int64_t{1} << draw(random, 0, 4); }

/// Draws a depth_to_space or a space_to_depth, with its axes in any order in memory on either side.
inline drawn_layout draw_blocks(std::mt19937& random) {
  for (;;) {
    const std::int64_t size = draw_element_size(random);
    const auto direction = static_cast<depth_space_direction>(draw(random, 0, 1));
    const std::int64_t block = draw(random, 2, 5);
    const std::int64_t channels = draw(random, 1, 2) == 1 ? draw(random, 1, 4) : draw(random, 5, 64);
    const std::int64_t rows = draw(random, 1, 64);
    const std::int64_t columns = draw(random, 1, 128);
    const bool from_depth = direction == depth_space_direction::depth_to_space;
    const axis_values input = from_depth ? axis_values{1, channels * block * block, rows, columns}
                                         : axis_values{1, channels, rows * block, columns * block};
    const std::int64_t bytes = volume(input) * size;
    if (bytes < least_bytes || bytes > most_bytes) continue;
    const auto order = static_cast<depth_space_order>(draw(random, 0, 1));
    const auto geometry = depth_space_geometry::make(direction, input, block, order, 1, size, "input");
    if (!geometry) continue;
    const axis_values from = packed(input, draw_order(random, input.size()), size);
    const axis_values& output = geometry->output_extents();
    const axis_values to = packed(output, draw_order(random, output.size()), size);
    return {geometry->moves(from, to, size), size, bytes, bytes};
  }
}

/// Draws an unfold with padding. A third of them have columns of the image's size, and packed tensors: shifted planes.
inline drawn_layout draw_windows(std::mt19937& random) {
  for (;;) {
    const std::int64_t size = draw_element_size(random);
    const axis_values image{1, draw(random, 1, 16), draw(random, 4, 64), draw(random, 4, 64)};
    const bool is_same = draw(random, 0, 2) == 0;
    const std::int64_t window_size = is_same ? 2 * draw(random, 1, 2) + 1 : draw(random, 2, 5);
    const reblock::window window{.sizes = window_size,
                                 .strides = is_same ? 1 : draw(random, 1, window_size),
                                 .start_padding = is_same ? window_size / 2 : draw(random, 0, 2),
                                 .end_padding = is_same ? window_size / 2 : draw(random, 1, 2)};
    const auto geometry = window_geometry::make(image, window, 1, size, "input");
    if (!geometry) continue;
    const axis_values& columns = geometry->columns();
    const std::int64_t bytes = volume(columns) * size;
    if (bytes < least_bytes || bytes > most_bytes) continue;
    const auto order = [&](std::size_t rank) { return is_same ? row_major(rank) : draw_order(random, rank); };
    const axis_values from = packed(image, order(image.size()), size);
    const axis_values to = packed(columns, order(columns.size()), size);
    return {geometry->padded_moves(from, to, size).moves, size, volume(image) * size, bytes};
  }
}

inline std::vector<std::byte> draw_bytes(std::mt19937& random, std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 24);
  return bytes;
}

/// Moves element by element. Elements outside of a bound are 0 already.
inline void move_elements(const drawn_layout& drawn, std::size_t axis, axis_values& positions,
                          const std::byte* source, std::int64_t from, std::byte* destination) {
  const layout& moves = drawn.moves;
  if (axis == moves.rank) {
    for (std::size_t b = 0; b < moves.bound_count; ++b) {
      if (positions[b] < 0 || positions[b] >= moves.bounds[b].extent) return;
    }
    std::memcpy(destination, source + from, static_cast<std::size_t>(drawn.element_size));
    return;
  }
  const layout_axis& walked = moves.axes[axis];
  for (std::int64_t i = 0; i < walked.extent; ++i) {
    if (walked.bounded()) positions[walked.bound] += i * walked.bound_step;
    move_elements(drawn, axis + 1, positions, source, from + i * walked.source_stride,
                  destination + i * walked.destination_stride);
    if (walked.bounded()) positions[walked.bound] -= i * walked.bound_step;
  }
}

}  // namespace reblock::bench
