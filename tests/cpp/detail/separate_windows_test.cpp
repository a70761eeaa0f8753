// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/tiled_sums.hpp>

#include "../draw.hpp"
#include "../effort.hpp"
#include "../executors.hpp"
#include "drawn_sums.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;
using test::drawn_sums;

/// Windows that mostly lie side by side. A negative padding: they begin inside the image.
template <class T>
drawn_sums draw_tiles(std::mt19937& random) {
  drawn_sums drawn;
  drawn.element_size = sizeof(T);
  drawn.part = summand_of<T>();
  drawn.image = {draw(random, 1, 2), draw(random, 1, 3)};
  const std::int64_t axes = draw(random, 1, 3);
  for (std::int64_t d = 0; d < axes; ++d) {
    test::windows_along axis;
    axis.size = axis.stride = draw(random, 1, 5);
    axis.windows = draw(random, 1, axes == 3 ? 5 : 12);
    if (draw(random, 0, 9) == 0) axis.stride += draw(random, -1, 1) * (axis.size > 1 ? 1 : 0);
    axis.padding = draw(random, -3, axis.size);
    axis.extent = draw(random, 1, axis.windows * axis.size + 2);
    drawn.axes.push_back(axis);
    drawn.image.push_back(axis.extent);
  }
  drawn.column_strides = test::draw_byte_strides(random, drawn.column_extents(), drawn.element_size);
  drawn.image_strides = {};
  const std::vector<std::int64_t> extents(drawn.image.begin(), drawn.image.end());
  for (const std::int64_t stride : test::draw_byte_strides(random, extents, drawn.element_size)) {
    drawn.image_strides.push_back(stride);
  }
  return drawn;
}

/// The request with the places of all moves in the image.
sum_request request_of(const drawn_sums& drawn) {
  sum_request sums = drawn.request();
  layout& moves = sums.moves;
  const std::size_t axes = drawn.axes.size();
  for (std::size_t i = 0; i < 2; ++i) moves.axes[i].destination_stride = drawn.image_strides[i];
  for (std::size_t d = 0; d < axes; ++d) {
    const test::windows_along& axis = drawn.axes[d];
    const std::int64_t stride = drawn.image_strides[2 + d];
    moves.axes[2 + d].destination_stride = stride;
    moves.axes[2 + axes + d].destination_stride = axis.stride * stride;
  }
  return sums;
}

TEST_CASE("tiles are the windows inside the image, and cover most of it") {
  int found = 0;
  int with_edges = 0;
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const drawn_sums drawn = draw_tiles<std::int16_t>(random);
    layout windows;
    image_part covered;
    if (!find_tiles(request_of(drawn), windows, covered)) continue;
    ++found;
    std::int64_t positions = 1;
    std::int64_t whole = 1;
    for (std::size_t d = 0; d < drawn.axes.size(); ++d) {
      const test::windows_along& axis = drawn.axes[d];
      std::vector<int> terms(static_cast<std::size_t>(axis.extent));
      for (std::int64_t l = 0; l < axis.windows; ++l) {
        const std::int64_t first = l * axis.stride - axis.padding;
        if (first < 0 || first + axis.size > axis.extent) continue;
        for (std::int64_t o = 0; o < axis.size; ++o) ++terms[static_cast<std::size_t>(first + o)];
      }
      for (std::int64_t s = 0; s < axis.extent; ++s) {
        const bool is_covered = covered[d].begin <= s && s < covered[d].end;
        CHECK(terms[static_cast<std::size_t>(s)] == (is_covered ? 1 : 0));
      }
      positions *= covered[d].end - covered[d].begin;
      whole *= axis.extent;
      CHECK(windows.axes[2 + drawn.axes.size() + d].extent * axis.size == covered[d].end - covered[d].begin);
    }
    CHECK(4 * positions > 3 * whole);
    with_edges += positions < whole ? 1 : 0;
  }
  CHECK(found >= test::enough(200));
  CHECK(with_edges >= test::enough(50));
}

/// Sums the windows by the definition and compares the image with `fold`. Half of the images have exactly one term at each
/// position, and then it may be -0.
template <class T>
void check_fold_of_tiles(unsigned seed, std::int64_t most_copies) {
  std::mt19937 random(seed);
  drawn_sums drawn = draw_tiles<T>(random);
  if (test::flip_coin(random)) {
    for (std::size_t d = 0; d < drawn.axes.size(); ++d) {
      test::windows_along& axis = drawn.axes[d];
      axis.stride = axis.size;
      axis.padding = 0;
      axis.extent = drawn.image[2 + d] = axis.windows * axis.size;
    }
    drawn.image[0] = draw(random, 1, most_copies);
    drawn.column_strides = test::draw_byte_strides(random, drawn.column_extents(), drawn.element_size);
    const std::vector<std::int64_t> extents(drawn.image.begin(), drawn.image.end());
    drawn.image_strides = {};
    for (const std::int64_t stride : test::draw_byte_strides(random, extents, drawn.element_size)) {
      drawn.image_strides.push_back(stride);
    }
  }
  test::strided_bytes columns(drawn.column_extents(), drawn.column_strides, drawn.element_size);
  test::strided_bytes image(drawn.image, drawn.image_strides, drawn.element_size);
  test::strided_bytes expected = image;
  for (std::size_t i = 0; i < expected.elements(); ++i) std::memset(expected.element(i), 0, sizeof(T));
  std::vector<std::int64_t> index(drawn.column_extents().size());
  for (std::size_t number = 0; number < columns.elements(); ++number) {
    const T term = number % 3 == 0 ? -T{} : static_cast<T>(draw(random, -100, 100));
    std::memcpy(columns.element(number), &term, sizeof(T));
    std::size_t rest = number;
    for (std::size_t i = index.size(); i-- > 0;) {
      const auto extent = static_cast<std::size_t>(drawn.column_extents()[i]);
      index[i] = static_cast<std::int64_t>(rest % extent);
      rest /= extent;
    }
    std::int64_t place = index[0] * drawn.image_strides[0] + index[1] * drawn.image_strides[1];
    bool is_inside = true;
    for (std::size_t d = 0; d < drawn.axes.size(); ++d) {
      const test::windows_along& axis = drawn.axes[d];
      const std::int64_t position =
          index[2 + drawn.axes.size() + d] * axis.stride + index[2 + d] - axis.padding;
      is_inside = is_inside && 0 <= position && position < axis.extent;
      place += position * drawn.image_strides[2 + d];
    }
    if (!is_inside) continue;
    T sum;
    std::memcpy(&sum, expected.first() + place, sizeof(T));
    sum = static_cast<T>(sum + term);
    std::memcpy(expected.first() + place, &sum, sizeof(T));
  }
  test::backward_executor executor{static_cast<std::size_t>(draw(random, 1, 4))};
  operation(request_of(drawn)).run(columns.first(), image.first(), executor);
  CHECK(image == expected);
}

TEST_CASE("fold of windows side by side sums the edges of the image as well") {
  for (const unsigned seed : test::seeds(3000, 300)) {
    INFO("seed ", seed);
    check_fold_of_tiles<std::int16_t>(seed, 3);
  }
}

TEST_CASE("fold of single terms adds them to 0, in images of several pieces as well") {
  for (const unsigned seed : test::seeds(1000, 100)) {
    INFO("seed ", seed);
    check_fold_of_tiles<float>(seed, seed % 8 == 0 ? 200 : 3);
    check_fold_of_tiles<double>(seed, 3);
  }
}

}  // namespace
}  // namespace reblock
