// SPDX-License-Identifier: BSD-3-Clause
//
// A convolution as a matrix product: unfold (im2col) lays every position of the window out as a column;
// then each output channel is one row of weights times the columns. Compared with the convolution by
// its definition. All values are small integers, so that both must agree exactly.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <reblock/reblock.hpp>

namespace {

// Extents of the input {batch, in_channels, height, width} and of the weights {out_channels, in_channels,
// window_height, window_width}.
constexpr std::int64_t batch = 2;
constexpr std::int64_t in_channels = 3;
constexpr std::int64_t out_channels = 4;
constexpr std::int64_t height = 18;
constexpr std::int64_t width = 24;
constexpr std::int64_t window_height = 3;
constexpr std::int64_t window_width = 5;

constexpr std::int64_t stride = 2;
constexpr std::int64_t dilation = 2;
constexpr std::int64_t padding = 3;
constexpr reblock::window window{.sizes = {window_height, window_width},
                                 .strides = stride,
                                 .dilations = dilation,
                                 .start_padding = padding,
                                 .end_padding = padding};

constexpr std::int64_t out_height = (height + 2 * padding - dilation * (window_height - 1) - 1) / stride + 1;
constexpr std::int64_t out_width = (width + 2 * padding - dilation * (window_width - 1) - 1) / stride + 1;
constexpr reblock::axis_values input_extents{batch, in_channels, height, width};
constexpr reblock::axis_values columns_extents = reblock::unfold_extents(input_extents, window);
static_assert(columns_extents ==
              reblock::axis_values{batch, in_channels* window_height* window_width, out_height* out_width});

std::vector<float> small_integers(std::int64_t count, std::int64_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * i + seed * i) % 13 - 6));
  return values;
}

float at(const std::vector<float>& values, std::int64_t i) { return values[static_cast<std::size_t>(i)]; }

std::vector<float> convolve_by_product(const std::vector<float>& input, const std::vector<float>& weights) {
  constexpr std::int64_t rows = columns_extents[1];
  constexpr std::int64_t blocks = columns_extents[2];
  std::vector<float> columns(static_cast<std::size_t>(batch * rows * blocks));
  reblock::unfold(reblock::tensor_view<const float>(input.data(), input_extents),
                  reblock::tensor_view<float>(columns.data(), columns_extents), window);

  std::vector<float> output(static_cast<std::size_t>(batch * out_channels * blocks));
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t m = 0; m < out_channels; ++m) {
      float* row = output.data() + (n * out_channels + m) * blocks;
      for (std::int64_t k = 0; k < rows; ++k) {
        for (std::int64_t l = 0; l < blocks; ++l) {
          row[l] += at(weights, m * rows + k) * at(columns, (n * rows + k) * blocks + l);
        }
      }
    }
  }
  return output;
}

std::vector<float> convolve_by_definition(const std::vector<float>& input,
                                          const std::vector<float>& weights) {
  const auto sum_at = [&](std::int64_t n, std::int64_t m, std::int64_t out_y, std::int64_t out_x) {
    float sum = 0;
    for (std::int64_t c = 0; c < in_channels; ++c) {
      for (std::int64_t i = 0; i < window_height; ++i) {
        for (std::int64_t j = 0; j < window_width; ++j) {
          const std::int64_t y = out_y * stride + i * dilation - padding;
          const std::int64_t x = out_x * stride + j * dilation - padding;
          if (y < 0 || y >= height || x < 0 || x >= width) continue;
          sum += at(weights, ((m * in_channels + c) * window_height + i) * window_width + j) *
                 at(input, ((n * in_channels + c) * height + y) * width + x);
        }
      }
    }
    return sum;
  };
  std::vector<float> output;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t m = 0; m < out_channels; ++m) {
      for (std::int64_t y = 0; y < out_height; ++y) {
        for (std::int64_t x = 0; x < out_width; ++x) output.push_back(sum_at(n, m, y, x));
      }
    }
  }
  return output;
}

}  // namespace

int main() {
  const std::vector<float> input = small_integers(batch * in_channels * height * width, 3);
  const std::vector<float> weights =
      small_integers(out_channels * in_channels * window_height * window_width, 5);
  const std::vector<float> product = convolve_by_product(input, weights);
  const std::vector<float> definition = convolve_by_definition(input, weights);
  const bool equal = product == definition;
  std::printf("%zu outputs by unfold and a matrix product, the first %g: %s\n", product.size(),
              static_cast<double>(product[0]),
              equal ? "equal to the convolution by its definition" : "WRONG");
  return equal ? 0 : 1;
}
