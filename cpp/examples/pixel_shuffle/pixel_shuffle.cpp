// SPDX-License-Identifier: BSD-3-Clause
//
// The last step of a super-resolution network, into the memory of an image: four times as many planes
// become twice as many pixels along each side, written where they belong in a larger picture whose
// pixels are interleaved. Strides say all of that; nothing is copied before or after.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <reblock/reblock.hpp>

namespace {

constexpr std::int64_t channels = 3;
constexpr std::int64_t block = 2;
constexpr std::int64_t height = 90;  // of each plane
constexpr std::int64_t width = 160;

// The picture: rows of interleaved RGBX pixels, whose fourth byte is nobody's, and a border all around.
constexpr std::int64_t pixel = 4;
constexpr std::int64_t border = 8;
constexpr std::int64_t pitch = (block * width + 2 * border) * pixel;
constexpr std::int64_t rows = block * height + 2 * border;
constexpr std::uint8_t untouched = 77;

// What the extents are is known when this is compiled.
constexpr reblock::axis_values planes_extents{1, channels* block* block, height, width};
constexpr reblock::axis_values image_extents{1, channels, block* height, block* width};
static_assert(reblock::depth_to_space_extents(planes_extents, block) == image_extents);

std::uint8_t value_of_plane(std::int64_t plane, std::int64_t y, std::int64_t x) {
  return static_cast<std::uint8_t>(31 * plane + 7 * y + x);
}

// PyTorch's pixel_shuffle (CRD order), by its definition.
std::uint8_t expected(std::int64_t y, std::int64_t x, std::int64_t c) {
  y -= border;
  x -= border;
  if (y < 0 || y >= block * height || x < 0 || x >= block * width || c >= channels) return untouched;
  const std::int64_t plane = c * block * block + y % block * block + x % block;
  return value_of_plane(plane, y / block, x / block);
}

}  // namespace

int main() {
  std::vector<std::uint8_t> planes;
  for (std::int64_t plane = 0; plane < planes_extents[1]; ++plane) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) planes.push_back(value_of_plane(plane, y, x));
    }
  }
  std::vector<std::uint8_t> picture(static_cast<std::size_t>(rows * pitch), untouched);

  const reblock::tensor_view<const std::uint8_t> input(planes.data(), planes_extents);
  // Batch, channels, rows and columns, each with its step in the picture.
  const reblock::tensor_view<std::uint8_t> output(picture.data() + border * pitch + border * pixel,
                                                  image_extents, {0, 1, pitch, pixel});
  reblock::depth_to_space(input, output, block, reblock::depth_space_order::column_row_depth);

  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < rows * pitch; ++i) {
    const std::uint8_t value = expected(i / pitch, i % pitch / pixel, i % pixel);
    wrong += picture[static_cast<std::size_t>(i)] != value ? 1 : 0;
  }
  std::printf(
      "%lld planes of %lld x %lld became an image of %lld x %lld pixels in place; %lld bytes differ\n",
      static_cast<long long>(planes_extents[1]), static_cast<long long>(width),
      static_cast<long long>(height), static_cast<long long>(block * width),
      static_cast<long long>(block * height), static_cast<long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
