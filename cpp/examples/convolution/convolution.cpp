// SPDX-License-Identifier: BSD-3-Clause
//
// A convolution as a matrix product: unfold (im2col) lays every position of the window out as a column;
// then each output channel is one row of weights times the columns. Once with all columns at a time, once with
// as many as fit into 256 KiB: a range of blocks after the other. The gradient of the input goes the way back, by
// fold: once from all columns, once from a range after the other, which accumulate in the gradient. The values are small
// integers, so that both ways and the definition must agree exactly.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <reblock/reblock.hpp>

namespace {

// Extents of the input {batch, in_channels, height, width} and of the weights {out_channels, in_channels,
// window_height, window_width}.
constexpr std::int64_t batch = 2;
constexpr std::int64_t in_channels = 16;
constexpr std::int64_t out_channels = 4;
constexpr std::int64_t height = 96;
constexpr std::int64_t width = 128;
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
constexpr std::int64_t rows = in_channels * window_height * window_width;
constexpr reblock::axis_values input_extents{batch, in_channels, height, width};
static_assert(reblock::unfold_extents(input_extents, window) ==
              reblock::axis_values{batch, rows, out_height* out_width});

// What a part of the columns may take, and the rows of blocks that fit into it.
constexpr std::int64_t scratch_bytes = 256 * 1024;
constexpr std::int64_t rows_of_blocks =
    scratch_bytes / (rows * out_width * static_cast<std::int64_t>(sizeof(float)));
static_assert(rows_of_blocks >= 1, "cut the blocks along the width as well");

/// Memory for columns, and how much of it there was at most.
class columns_memory {
 public:
  explicit columns_memory(std::int64_t count) : values_(static_cast<std::size_t>(count)) {
    now += bytes();
    peak = std::max(peak, now);
  }
  ~columns_memory() { now -= bytes(); }
  columns_memory(const columns_memory&) = delete;
  columns_memory& operator=(const columns_memory&) = delete;

  float* data() { return values_.data(); }

  static inline std::size_t now = 0;
  static inline std::size_t peak = 0;  ///< bytes

 private:
  std::size_t bytes() const { return values_.size() * sizeof(float); }

  std::vector<float> values_;
};

std::vector<float> small_integers(std::int64_t count, std::int64_t seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * i + seed * i) % 13 - 6));
  return values;
}

float at(const std::vector<float>& values, std::int64_t i) { return values[static_cast<std::size_t>(i)]; }

/// Some rows of blocks of one item of the batch.
struct part {
  std::int64_t item;
  std::int64_t start;
  std::int64_t stop;

  std::int64_t blocks() const { return (stop - start) * out_width; }
  reblock::axis_values columns() const { return {1, rows, blocks()}; }
  reblock::window window() const {
    reblock::window result = ::window;
    result.blocks = {{start, 0}, {stop, out_width}};
    return result;
  }
  /// Where an image of so many elements begins in the batch.
  std::ptrdiff_t image() const { return static_cast<std::ptrdiff_t>(item * in_channels * height * width); }
  /// Where the outputs of a channel begin.
  std::ptrdiff_t output(std::int64_t channel) const {
    return static_cast<std::ptrdiff_t>((item * out_channels + channel) * out_height * out_width +
                                       start * out_width);
  }
};
constexpr reblock::axis_values item_extents{1, in_channels, height, width};

std::vector<part> parts(std::int64_t at_once) {
  std::vector<part> result;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t row = 0; row < out_height; row += at_once) {
      result.push_back({n, row, std::min(row + at_once, out_height)});
    }
  }
  return result;
}

/// The output, from columns of so many rows of blocks at a time.
std::vector<float> convolve(const std::vector<float>& input, const std::vector<float>& weights,
                            std::int64_t at_once) {
  std::vector<float> output(static_cast<std::size_t>(batch * out_channels * out_height * out_width));
  columns_memory columns(rows * at_once * out_width);
  for (const part& some : parts(at_once)) {
    reblock::unfold(reblock::tensor_view<const float>(input.data() + some.image(), item_extents),
                    reblock::tensor_view<float>(columns.data(), some.columns()), some.window());
    for (std::int64_t m = 0; m < out_channels; ++m) {
      float* const to = output.data() + some.output(m);
      for (std::int64_t k = 0; k < rows; ++k) {
        const float* const row = columns.data() + k * some.blocks();
        const float weight = at(weights, m * rows + k);
        for (std::int64_t l = 0; l < some.blocks(); ++l) to[l] += weight * row[l];
      }
    }
  }
  return output;
}

/// The gradient of the input, from that of the output.
std::vector<float> go_back(const std::vector<float>& gradient, const std::vector<float>& weights,
                           std::int64_t at_once) {
  std::vector<float> result(static_cast<std::size_t>(batch * in_channels * height * width));
  columns_memory columns(rows * at_once * out_width);
  for (const part& some : parts(at_once)) {
    std::fill_n(columns.data(), rows * some.blocks(), 0.0f);
    for (std::int64_t m = 0; m < out_channels; ++m) {
      const float* const from = gradient.data() + some.output(m);
      for (std::int64_t k = 0; k < rows; ++k) {
        float* const row = columns.data() + k * some.blocks();
        const float weight = at(weights, m * rows + k);
        for (std::int64_t l = 0; l < some.blocks(); ++l) row[l] += weight * from[l];
      }
    }
    reblock::fold(reblock::tensor_view<const float>(columns.data(), some.columns()),
                  reblock::tensor_view<float>(result.data() + some.image(), item_extents), some.window(),
                  {.accumulate = true});
  }
  return result;
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

/// What `run` returns; prints how much memory there was for columns at most.
template <class Run>
auto measured(const char* what, Run&& run) {
  columns_memory::peak = 0;
  auto result = run();
  std::printf("%-26s %5zu KiB of columns\n", what, columns_memory::peak / 1024);
  return result;
}

}  // namespace

int main() {
  const std::vector<float> input = small_integers(batch * in_channels * height * width, 3);
  const std::vector<float> weights =
      small_integers(out_channels * in_channels * window_height * window_width, 5);
  const std::vector<float> gradient = small_integers(batch * out_channels * out_height * out_width, 7);

  const auto whole = measured("all columns of an item", [&] { return convolve(input, weights, out_height); });
  const auto cut =
      measured("a range after the other", [&] { return convolve(input, weights, rows_of_blocks); });
  const bool in_scratch = columns_memory::peak <= static_cast<std::size_t>(scratch_bytes);
  const bool same = whole == convolve_by_definition(input, weights) && cut == whole;
  const auto back = measured("back from all columns", [&] { return go_back(gradient, weights, out_height); });
  const auto cut_back =
      measured("back from ranges", [&] { return go_back(gradient, weights, rows_of_blocks); });
  const bool same_back = cut_back == back;

  std::printf("%zu outputs: %s\n", whole.size(),
              same ? "both equal to the convolution by its definition" : "WRONG");
  std::printf("%zu gradients of the input: %s\n", back.size(), same_back ? "equal both ways" : "WRONG");
  return same && same_back && in_scratch ? 0 : 1;
}
