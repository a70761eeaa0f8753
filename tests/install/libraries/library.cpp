// SPDX-License-Identifier: BSD-3-Clause
//
// A shared library that uses reblock from its headers. LIBRARY_FUNCTION is the one name that it means to export.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <reblock/reblock.hpp>

namespace {

using elements = std::vector<std::uint8_t>;

constexpr std::int64_t samples = 3;
constexpr std::int64_t channels = 8;

elements numbered(std::int64_t count) {
  elements values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), std::uint8_t{1});
  return values;
}

/// By the definition. Planes are small and square: rows are short, and are moved by tables that a thread keeps.
elements depth_to_space(const elements& depth, std::int64_t side, std::int64_t block) {
  elements space(depth.size());
  const std::int64_t width = side * block;
  for (std::int64_t n = 0; n < samples; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t y = 0; y < width; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
          const std::int64_t from = (y % block * block + x % block) * channels + c;
          const std::int64_t plane = n * channels * block * block + from;
          space[static_cast<std::size_t>(((n * channels + c) * width + y) * width + x)] =
              depth[static_cast<std::size_t>((plane * side + y / block) * side + x / block)];
        }
      }
    }
  }
  return space;
}

bool moves_right(std::int64_t side, std::int64_t block) {
  const std::int64_t positions = block * block;
  const elements depth = numbered(samples * channels * positions * side * side);
  const elements expected = depth_to_space(depth, side, block);
  elements space(depth.size());
  elements back(depth.size());
  const reblock::axis_values depth_extents{samples, channels * positions, side, side};
  const reblock::axis_values space_extents{samples, channels, side * block, side * block};
  using input = reblock::tensor_view<const std::uint8_t>;
  using output = reblock::tensor_view<std::uint8_t>;
  const auto moved = reblock::try_depth_to_space(input(depth.data(), depth_extents),
                                                 output(space.data(), space_extents), block);
  const auto returned = reblock::try_space_to_depth(input(space.data(), space_extents),
                                                    output(back.data(), depth_extents), block);
  return moved && returned && space == expected && back == depth;
}

/// Windows of 3 by 3, a step apart, with a border of zeros.
bool slides_right(std::int64_t side) {
  constexpr std::int64_t size = 3;
  const elements image = numbered(samples * channels * side * side);
  elements columns(image.size() * size * size);
  elements sums(image.size());
  elements expected_columns(columns.size());
  elements expected_sums(sums.size());
  std::size_t to = 0;
  for (std::int64_t plane = 0; plane < samples * channels; ++plane) {
    for (std::int64_t k = 0; k < size * size; ++k) {
      for (std::int64_t i = 0; i < side * side; ++i, ++to) {
        const std::int64_t y = i / side + k / size - 1;
        const std::int64_t x = i % side + k % size - 1;
        if (y < 0 || y >= side || x < 0 || x >= side) continue;
        const auto from = static_cast<std::size_t>((plane * side + y) * side + x);
        expected_columns[to] = image[from];
        expected_sums[from] = static_cast<std::uint8_t>(expected_sums[from] + image[from]);
      }
    }
  }
  reblock::window window;
  window.sizes = size;
  window.start_padding = window.end_padding = 1;
  const reblock::axis_values extents{samples, channels, side, side};
  const reblock::axis_values column_extents{samples, channels * size * size, side * side};
  using input = reblock::tensor_view<const std::uint8_t>;
  using output = reblock::tensor_view<std::uint8_t>;
  const auto unfolded =
      reblock::try_unfold(input(image.data(), extents), output(columns.data(), column_extents), window);
  const auto folded =
      reblock::try_fold(input(columns.data(), column_extents), output(sums.data(), extents), window);
  return unfolded && folded && columns == expected_columns && sums == expected_sums;
}

}  // namespace

/// Whether all operators do what they should, on planes of `side` by `side` elements.
extern "C" bool LIBRARY_FUNCTION(std::int64_t side) {
  return moves_right(side, 2) && moves_right(side, 3) && slides_right(side);
}
