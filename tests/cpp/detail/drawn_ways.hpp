// SPDX-License-Identifier: BSD-3-Clause
//
// Checks that every way to move a layout shares: a way moves everything, at any alignment, whole or in parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/engine.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/simplify.hpp>

#include "drawn_moves.hpp"
#include "layout_oracle.hpp"

namespace reblock::test {

/// Whether a way moves what is expected to each of some misalignments of the destination.
template <class Way>
bool is_moved_anywhere(const trial& t, const Way& way) {
  for (const std::size_t shift : {0u, 1u, 7u}) {
    std::vector<std::byte> result(t.before.size() + shift);
    std::memcpy(result.data() + shift, t.before.data(), t.before.size());
    way.run(t.source.data(), result.data() + shift);
    if (std::memcmp(result.data() + shift, t.expected.data(), t.expected.size()) != 0) return false;
  }
  return true;
}

/// Whether the ranges of each axis that is walked in pieces give the whole if they are moved apart, in any order. Counts the
/// axes that were cut.
template <class Way>
bool is_moved_in_parts(std::mt19937& random, const trial& t, const Way& way, int& cut) {
  for (std::size_t i = 0; i < way.rank(); ++i) {
    const std::int64_t extent = way.axis(i).extent;
    if (extent < 2 * way.at_once(i)) continue;
    ++cut;
    const auto ranges = draw_ranges(random, extent, way.at_once(i));
    const bool is_moved = t.is_moved([&](const std::byte* from, std::byte* to) {
      for (const index_range& range : ranges) {
        Way part = way;
        part.narrow(i, range);
        part.run(from, to);
      }
    });
    if (!is_moved) return false;
  }
  return true;
}

/// Drawn windows of an image whose padding has a value, and the columns that they must give.
struct padded_trial {
  explicit padded_trial(std::mt19937& random)
      : element_size(draw_padded_size(random)),
        drawn(moves_of(random, draw_windows(random, 6000), element_size)),
        request{drawn.layout, element_size} {
    const std::vector<std::byte> value = draw_bytes(random, static_cast<std::size_t>(element_size));
    std::copy(value.begin(), value.end(), request.value.begin());
    source = draw_bytes(random, drawn.source_bytes);
    expected = drawn.expected(source, std::vector<std::byte>(drawn.destination_bytes), false);
    for_each_point(drawn.layout, [&](const layout_point& point) {
      if (point.inside) return;
      ++outside;
      std::copy(value.begin(), value.end(), expected.data() + point.destination);
    });
  }

  template <class Way>
  bool is_moved(const Way& way) const {
    std::vector<std::byte> result(drawn.destination_bytes);
    way.run(source.data(), result.data());
    return result == expected;
  }

  std::int64_t element_size;
  moves drawn;
  detail::padded_request request;
  std::vector<std::byte> source;
  std::vector<std::byte> expected;
  int outside = 0;  // elements

 private:
  /// Some of the sizes move in units.
  static std::int64_t draw_padded_size(std::mt19937& random) {
    constexpr std::int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
    return sizes[draw(random, 0, 9)];
  }
};

/// Plans the simplified layout by one way with each instruction set, and checks it. Returns how many plans there were, and
/// adds to `cut`.
template <class Way>
int check_way(std::mt19937& random, const moves& drawn, int& cut) {
  const trial t(random, drawn);
  int planned = 0;
  for (const instruction_set set : all_instruction_sets()) {
    INFO("instruction set ", std::string(name_of(set)));
    layout simple;
    simple.take(t.moves.layout);
    const std::int64_t size = simplify(simple, t.moves.element_size);
    Way way;
    if (way.plan(simple, size, set) == never) continue;
    ++planned;
    CHECK(is_moved_anywhere(t, way));
    CHECK(is_moved_in_parts(random, t, way, cut));
  }
  return planned;
}

/// The moves, their source without the margins that with_buffers() leaves, so that a sanitizer sees a read beyond them. The
/// source has no gaps.
inline moves without_margins(const layout& l, std::int64_t element_size) {
  moves drawn = with_buffers(l, element_size);
  constexpr std::int64_t margin = 24;
  drawn.layout.source_offset -= margin;
  drawn.source_bytes -= 2 * margin;
  drawn.layout.source_run = static_cast<std::int64_t>(drawn.source_bytes);
  return drawn;
}

/// The moves of unfold over images (c, y, x) with windows of `size` x `size`, which have no gaps.
inline layout square_windows(std::int64_t channels, std::int64_t height, std::int64_t width,
                             std::int64_t size, std::int64_t stride, std::int64_t padding,
                             std::int64_t element_size, padding_mode mode = padding_mode::constant) {
  const auto blocks = [&](std::int64_t extent) { return (extent + 2 * padding - size) / stride + 1; };
  layout l;
  const std::int64_t row = width * element_size;
  std::int64_t to = element_size;
  const std::int64_t x_to = to;
  const std::int64_t y_to = to *= blocks(width);
  const std::int64_t kx_to = to *= blocks(height);
  const std::int64_t ky_to = to *= size;
  l.add({channels, height * row, ky_to * size});
  l.add({size, row, ky_to, 0, 1});
  l.add({size, element_size, kx_to, 1, 1});
  l.add({blocks(height), stride * row, y_to, 0, stride});
  l.add({blocks(width), stride * element_size, x_to, 1, stride});
  l.bounds[0] = {-padding, height, mode, row};
  l.bounds[1] = {-padding, width, mode, element_size};
  l.bound_count = 2;
  l.source_offset = -padding * (row + element_size);
  l.source_run = channels * height * row;
  return l;
}

/// A permutation of axes without gaps on either side, of at least `least` bytes.
inline moves draw_dense(std::mt19937& random, std::int64_t least) {
  constexpr std::int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16};
  const std::int64_t element_size = sizes[draw(random, 0, 7)];
  axis_values extents;
  std::int64_t bytes = element_size;
  for (std::int64_t i = draw(random, 2, 5); i > 0; --i) {
    extents.push_back(extents.size() == 0 ? draw(random, 8, 40) : draw(random, 2, 9));
    bytes *= extents[extents.size() - 1];
  }
  for (; bytes < least; bytes *= 2) extents[0] *= 2;
  axis_values source = draw_strides(random, extents, element_size);
  const axis_values destination = draw_strides(random, extents, element_size);
  turn(random, source);
  layout l;
  for (std::size_t i = 0; i < extents.size(); ++i) l.add({extents[i], source[i], destination[i]});
  return without_margins(l, element_size);
}

}  // namespace reblock::test
