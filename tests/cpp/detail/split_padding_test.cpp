// SPDX-License-Identifier: BSD-3-Clause
//
// Windows inside a padded image and those at its edges are moved apart if the image is large and its rows are long.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/window.hpp>

namespace reblock {
namespace {

/// It asks for two chunks and runs none. Moves that are too small for chunks run without it.
struct no_chunks {
  std::size_t runs = 0;

  std::size_t concurrency() const { return 2; }
  template <class F>
  void run(std::size_t, F&&) {
    ++runs;
  }
};

constexpr std::uint8_t unwritten = 0xa5;

struct unfolded {
  std::vector<std::uint8_t> all;       ///< columns
  std::vector<std::uint8_t> at_edges;  ///< what is written if no chunk runs
  std::size_t runs;                    ///< of chunks
};

/// Unfolds an image by windows of 3 x 3 elements with a border of 1, and of 2 behind it: there is a window more along each
/// axis than the image has elements, so the columns have no shifted planes.
unfolded unfold_image(std::int64_t rows, std::int64_t columns, padding_mode mode) {
  std::vector<std::uint8_t> image(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::uint8_t>(i * 7 % 101);
  const window w{.sizes = {3, 3}, .start_padding = {1, 1}, .end_padding = {2, 2}, .padding_mode = mode};
  const tensor_view<const std::uint8_t> source(image.data(), {1, 1, rows, columns});
  const axis_values extents{1, 9, (rows + 1) * (columns + 1)};
  const auto size = static_cast<std::size_t>(extents[1] * extents[2]);
  unfolded result{std::vector<std::uint8_t>(size), std::vector<std::uint8_t>(size, unwritten), 0};
  unfold(source, tensor_view<std::uint8_t>(result.all.data(), extents), w);
  no_chunks none;
  unfold(source, tensor_view<std::uint8_t>(result.at_edges.data(), extents), w, none);
  result.runs = none.runs;
  return result;
}

std::int64_t written(const unfolded& result) {
  return std::count_if(result.at_edges.begin(), result.at_edges.end(),
                       [](std::uint8_t v) { return v != unwritten; });
}

TEST_CASE("windows at the edges of a large image with long rows are moved apart") {
  constexpr std::int64_t rows = 64;
  constexpr std::int64_t columns = 1024;
  for (const padding_mode mode :
       {padding_mode::edge, padding_mode::reflection, padding_mode::symmetric, padding_mode::wrap}) {
    CAPTURE(static_cast<int>(mode));
    const unfolded result = unfold_image(rows, columns, mode);
    CHECK(result.runs == 1);  // the windows inside
    // each edge has some windows of each offset
    CHECK(written(result) >= 9 * 2);
    CHECK(written(result) <= 9 * rows * columns / 8);
    for (std::size_t i = 0; i < result.all.size(); ++i) {
      if (result.at_edges[i] != unwritten && result.at_edges[i] != result.all[i]) FAIL("wrong at ", i);
    }
  }
}

TEST_CASE("windows of short rows or of small images are moved together") {
  CHECK(written(unfold_image(4096, 16, padding_mode::edge)) == 0);
  CHECK(unfold_image(4096, 16, padding_mode::edge).runs == 1);
  CHECK(unfold_image(40, 1024, padding_mode::edge).runs == 1);
  CHECK(written(unfold_image(40, 1024, padding_mode::edge)) == 0);
}

}  // namespace
}  // namespace reblock
