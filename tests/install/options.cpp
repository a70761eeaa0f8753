// SPDX-License-Identifier: BSD-3-Clause
//
// A program with exceptions, for a library without: what crosses between them are results, errors, and what an
// executor throws.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <reblock/reblock.hpp>

namespace {

struct two_chunks {
  std::size_t concurrency() const { return 2; }
  template <class Chunk>
  void run(std::size_t chunks, const Chunk& chunk) const {
    for (std::size_t i = 0; i < chunks; ++i) chunk(i);
  }
};

struct throwing_executor {
  std::size_t concurrency() const { return 2; }
  template <class Chunk>
  void run(std::size_t, const Chunk&) const {
    throw std::runtime_error("the executor's own");
  }
};

template <class Error, class Call>
bool throws(const char* text, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::strstr(error.what(), text) != nullptr;
  }
  return false;
}

int failures = 0;

void check(bool right, const char* what) {
  if (right) return;
  std::printf("%s: WRONG\n", what);
  ++failures;
}

constexpr std::int64_t side = 512;

}  // namespace

int main() {
  std::vector<float> depth(4 * side * side);
  std::iota(depth.begin(), depth.end(), 0.0f);
  std::vector<float> space(depth.size());
  const reblock::tensor_view<const float> input(depth.data(), {1, 4, side, side});
  const reblock::tensor_view<float> output(space.data(), {1, 1, 2 * side, 2 * side});

  const auto order = reblock::depth_space_order::depth_column_row;
  reblock::depth_to_space(input, output, 2, order, two_chunks());
  bool right = true;
  for (std::int64_t i = 0; i < 4 * side * side; ++i) {
    const std::int64_t y = i / (2 * side);
    const std::int64_t x = i % (2 * side);
    const std::int64_t from = ((y % 2 * 2 + x % 2) * side + y / 2) * side + x / 2;
    right = right && space[static_cast<std::size_t>(i)] == depth[static_cast<std::size_t>(from)];
  }
  check(right, "depth_to_space");

  // Two windows of 2 with stride 1 over 3 elements: the one in the middle is in both.
  const double columns[4] = {1, 2, 10, 20};
  double image[3] = {};
  const reblock::window window{
      .sizes = 2, .strides = 1, .dilations = 1, .start_padding = 0, .end_padding = 0};
  reblock::fold(reblock::tensor_view<const double>(columns, {1, 2, 2}),
                reblock::tensor_view<double>(image, {1, 1, 3}), window);
  check(image[0] == 1 && image[1] == 12 && image[2] == 20, "fold");

  check(throws<std::invalid_argument>("block_size", [&] { reblock::depth_to_space(input, output, 3); }),
        "an error");
  check(!reblock::try_depth_to_space(input, output, 3), "a status");
  check(throws<std::runtime_error>(
            "the executor's own",
            [&] { reblock::depth_to_space(input, output, 2, order, throwing_executor()); }),
        "what an executor throws");

  const reblock::depth_to_space_desc desc{.input = {reblock::data_type::float32, {1, 4, 1, 1}},
                                          .block_size = 2};
  float pixels[4] = {};
  const auto op = reblock::compile(desc);
  op.dispatch(depth.data(), pixels);
  check(pixels[0] == depth[0] && pixels[3] == depth[3], "dispatch");
  op.dispatch(depth.data(), {4 * sizeof(float), sizeof(float), sizeof(float), sizeof(float)}, pixels + 3,
              {16, 16, -8, -4});
  check(pixels[3] == depth[0] && pixels[0] == depth[3], "dispatch with strides");
  return failures;
}
