// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts drawn at random, with buffers for their moves. Sources begin and end with their elements, so that a sanitizer
// sees what is read beyond them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/window_geometry.hpp>
#include <reblock/window.hpp>

#include "../draw.hpp"
#include "../oracle.hpp"
#include "../strided_tensor.hpp"
#include "layout_oracle.hpp"

namespace reblock::test {

using namespace detail;

inline constexpr std::int64_t element_sizes[] = {1, 2, 3, 4, 8, 12, 16};

inline std::int64_t draw_element_size(std::mt19937& random) { return element_sizes[draw(random, 0, 6)]; }

inline std::vector<instruction_set> all_instruction_sets() {
  std::vector<instruction_set> sets;
  for (int i = 0; i <= static_cast<int>(detect_instruction_set()); ++i) {
    sets.push_back(static_cast<instruction_set>(i));
  }
  return sets;
}

/// From the first byte to the end of the last one, of one side of a layout: both count from its own offset.
struct reach {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

inline reach reach_of(const layout& l, std::int64_t layout_axis::* stride, std::int64_t element_size) {
  reach r{0, element_size};
  for (std::size_t i = 0; i < l.rank; ++i) {
    const std::int64_t far = l.axes[i].*stride * (l.axes[i].extent - 1);
    (far < 0 ? r.begin : r.end) += far;
  }
  return r;
}

/// A layout without bounds whose source buffer has nothing but what lies between the first and the last element.
inline moves in_tight_buffers(layout l, std::int64_t element_size) {
  constexpr std::int64_t margin = 64;
  const reach source = reach_of(l, &layout_axis::source_stride, element_size);
  const reach destination = reach_of(l, &layout_axis::destination_stride, element_size);
  l.source_offset = -source.begin;
  l.destination_offset = margin - destination.begin;
  return {l, element_size, static_cast<std::size_t>(source.end - source.begin),
          static_cast<std::size_t>(destination.end - destination.begin + 2 * margin)};
}

/// Extents whose product is about as large as drawn, no more than `most`.
inline axis_values draw_extents(std::mt19937& random, std::size_t axes, std::int64_t most) {
  axis_values extents = axis_values::repeat(axes, 1);
  std::int64_t room = most;
  for (const std::size_t i : draw_order(random, axes)) {
    const auto even_share = static_cast<std::int64_t>(
        std::pow(static_cast<double>(room), 1.0 / static_cast<double>(draw(random, 1, 4))));
    extents[i] = draw(random, 2, std::max<std::int64_t>(2, std::min<std::int64_t>(even_share, 400)));
    room /= extents[i];
    if (room < 2) break;
  }
  return extents;
}

/// Strides, in bytes, of axes that lie in a random order: without gaps, or else with few.
inline axis_values draw_strides(std::mt19937& random, const axis_values& extents, std::int64_t element_size,
                                bool has_gaps = false) {
  axis_values strides = extents;
  std::int64_t stride = element_size;
  for (const std::size_t i : draw_order(random, extents.size())) {
    strides[i] = stride;
    stride = stride * extents[i] + (has_gaps && draw(random, 0, 2) == 0 ? draw(random, 1, 20) : 0);
  }
  return strides;
}

/// Turns some of the axes round.
inline void turn(std::mt19937& random, axis_values& strides) {
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (draw(random, 0, 9) == 0) strides[i] = -strides[i];
  }
}

/// A permutation of axes, usually dense on both sides; some axes run backwards.
inline moves draw_permutation(std::mt19937& random, std::int64_t most_bytes) {
  const std::int64_t element_size = draw_element_size(random);
  const axis_values extents =
      draw_extents(random, static_cast<std::size_t>(draw(random, 3, 7)), most_bytes / element_size);
  axis_values source = draw_strides(random, extents, element_size, draw(random, 0, 5) == 0);
  axis_values destination = draw_strides(random, extents, element_size, draw(random, 0, 5) == 0);
  turn(random, source);
  turn(random, destination);
  layout l;
  for (std::size_t i = 0; i < extents.size(); ++i) l.add({extents[i], source[i], destination[i]});
  if (flip_coin(random)) l.source_run = dense_run(extents, source, element_size);
  return in_tight_buffers(l, element_size);
}

/// Buffers for some moves, and what they should make of the destination.
struct trial {
  test::moves moves;
  std::vector<std::byte> source;
  std::vector<std::byte> before;
  std::vector<std::byte> expected;

  trial(std::mt19937& random, const test::moves& drawn)
      : moves(drawn),
        source(draw_bytes(random, drawn.source_bytes)),
        before(draw_bytes(random, drawn.destination_bytes)),
        expected(drawn.expected(source, before, true)) {}

  template <class Run>
  bool is_moved(const Run& run) const {
    std::vector<std::byte> destination = before;
    run(source.data(), destination.data());
    return destination == expected;
  }
  bool is_moved_by(const staged_move& blocks) const {
    return is_moved([&](const std::byte* from, std::byte* to) { blocks.run(from, to); });
  }
};

/// Cuts an axis of `extent` indices into ranges of at least `at_once`, in random order.
inline std::vector<index_range> draw_ranges(std::mt19937& random, std::int64_t extent, std::int64_t at_once) {
  std::vector<index_range> ranges;
  std::int64_t begin = 0;
  for (std::int64_t parts = std::min<std::int64_t>(extent / at_once, draw(random, 2, 4)); parts > 0;
       --parts) {
    const std::int64_t most = extent - begin - (parts - 1) * at_once;
    const std::int64_t size = parts == 1 ? most : draw(random, at_once, most);
    ranges.push_back({begin, begin + size});
    begin += size;
  }
  std::vector<index_range> shuffled;
  for (const std::size_t i : draw_order(random, ranges.size())) shuffled.push_back(ranges[i]);
  return shuffled;
}

/// Moves from an image to its columns, both in any order in memory.
struct drawn_windows {
  axis_values image;
  reblock::window window;
  std::size_t channel_axis = 1;
};

inline drawn_windows draw_windows(std::mt19937& random, std::int64_t most_columns) {
  for (;;) {
    const auto axes =
        static_cast<std::size_t>(draw(random, 0, 4) == 0 ? draw(random, 4, 6) : draw(random, 1, 3));
    const std::int64_t longest = axes == 1 ? 200 : axes == 2 ? 40 : axes == 3 ? 10 : 3;
    const axis_values spatial = draw_values(random, axes, 1, longest);
    const reblock::window w{.sizes = draw_values(random, axes, 1, axes >= 3 ? 3 : 5),
                            .strides = draw_values(random, axes, 1, 3),
                            .dilations = draw_values(random, axes, 1, 2),
                            .start_padding = draw_values(random, axes, 0, 3),
                            .end_padding = draw_values(random, axes, 0, 3)};
    const axis_values counts = oracle::block_counts(spatial, w);
    if (std::count(counts.begin(), counts.end(), 0) != 0) continue;
    const auto axis = static_cast<std::size_t>(draw(random, 1, static_cast<std::int64_t>(axes) + 1));
    const axis_values image = oracle::join(draw(random, 1, 2), draw(random, 1, 24), spatial, axis);
    if (oracle::volume(oracle::columns_extents(image, w, axis)) > most_columns) continue;
    return {image, w, axis};
  }
}

/// The moves of unfold; the source buffer has nothing but what lies between the first and the last element of the image.
inline moves moves_of(std::mt19937& random, const drawn_windows& drawn, std::int64_t element_size) {
  const auto geometry = window_geometry::make(
      drawn.image, drawn.window, static_cast<std::int64_t>(drawn.channel_axis), element_size, "input");
  REQUIRE(static_cast<bool>(geometry));
  axis_values strides = draw_strides(random, drawn.image, element_size, draw(random, 0, 5) == 0);
  turn(random, strides);
  const axis_values columns_strides = draw_strides(random, geometry->columns(), element_size);
  layout image;
  for (std::size_t i = 0; i < strides.size(); ++i) image.add({drawn.image[i], strides[i], 0});
  const reach source = reach_of(image, &layout_axis::source_stride, element_size);
  const layout l = geometry->padded_moves(strides, columns_strides, element_size).moves;
  moves moves = with_buffers(l, element_size);
  moves.layout.source_offset = l.source_offset - source.begin;
  moves.source_bytes = static_cast<std::size_t>(source.end - source.begin);
  return moves;
}

}  // namespace reblock::test
