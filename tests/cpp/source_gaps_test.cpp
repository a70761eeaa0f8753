// SPDX-License-Identifier: BSD-3-Clause
//
// What lies between the elements of a source is never read: here it is pages that cannot be.
#if __has_include(<sys/mman.h>)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <reblock/reblock.hpp>

#include "draw.hpp"
#include "effort.hpp"

namespace reblock {
namespace {

using test::draw;

/// A tensor whose parts are each dense in pages of their own, of which a part begins the first or ends the last. Nobody may
/// read the pages before and behind them.
template <class T>
class fenced_tensor {
 public:
  /// The axes with strides lie within a part, the others, whose strides are 0, lead to the parts. `draw` makes the elements
  /// of one.
  template <class Draw>
  fenced_tensor(const axis_values& extents, const axis_values& strides, bool at_end, Draw draw)
      : extents_(extents), strides_(strides) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t size = sizeof(T);
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (strides[i] != 0) size *= static_cast<std::size_t>(extents[i]);
    }
    const std::size_t readable = (size + page - 1) / page * page;
    std::size_t count = 1;
    for (std::size_t i = extents.size(); i-- > 0;) {
      if (strides[i] != 0) continue;
      strides_[i] = static_cast<std::int64_t>(count * (readable + page) / sizeof(T));
      count *= static_cast<std::size_t>(extents[i]);
    }
    bytes_ = page + count * (readable + page);
    memory_ = static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory_ != MAP_FAILED);
    first_ = memory_ + page + (at_end ? readable - size : 0);
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const pages = memory_ + page + i * (readable + page);
      REQUIRE(mprotect(pages, readable, PROT_READ | PROT_WRITE) == 0);
      const axis_values one{static_cast<std::int64_t>(size / sizeof(T))};
      std::memcpy(first_ + i * (readable + page), draw(one).values.data(), size);
    }
  }
  fenced_tensor(const fenced_tensor&) = delete;
  fenced_tensor& operator=(const fenced_tensor&) = delete;
  ~fenced_tensor() { munmap(memory_, bytes_); }

  tensor_view<const T> view() const { return {reinterpret_cast<const T*>(first_), extents_, strides_}; }

 private:
  axis_values extents_;
  axis_values strides_;
  std::byte* memory_ = nullptr;
  std::byte* first_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Strides of parts, dense in a random order of their axes, and 0 for the axes that lead to parts: the first, and at times
/// others, as if a tensor had been cropped along some axes.
axis_values draw_strides(std::mt19937& random, const axis_values& extents) {
  axis_values strides = axis_values::repeat(extents.size(), 0);
  const bool is_cropped = test::flip_coin(random);
  constexpr std::int64_t most_parts = 500;
  std::int64_t parts = extents[0];
  std::int64_t stride = 1;
  for (const std::size_t i : test::draw_order(random, extents.size())) {
    if (i == 0) continue;
    if (is_cropped && parts * extents[i] <= most_parts && test::flip_coin(random)) {
      parts *= extents[i];
      continue;
    }
    strides[i] = stride;
    stride *= extents[i];
  }
  return strides;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Whether `run(input, output)` makes the same of a fenced tensor as of a packed copy, which has an oracle elsewhere.
template <class T, class Draw, class Run>
void check(std::mt19937& random, const axis_values& extents, const axis_values& output_extents, Draw draw,
           Run run) {
  const auto count = [](const axis_values& e) {
    return static_cast<std::size_t>(detail::product(e).value());
  };
  for (const bool at_end : {false, true}) {
    const fenced_tensor<T> fenced(extents, draw_strides(random, extents), at_end, draw);
    std::vector<T> packed;
    oracle::for_each_index(extents, [&](const axis_values& index) {
      std::int64_t place = 0;
      for (std::size_t i = 0; i < index.size(); ++i) place += index[i] * fenced.view().strides()[i];
      oracle::copy_bits(packed.emplace_back(), fenced.view().data()[place]);
    });
    std::vector<T> expected(count(output_extents));
    std::vector<T> result(count(output_extents));
    run(tensor_view<const T>(packed.data(), extents), tensor_view<T>(expected.data(), output_extents));
    run(fenced.view(), tensor_view<T>(result.data(), output_extents));
    CHECK(same_bits(result, expected));
  }
}

TEST_CASE_TEMPLATE("gaps of a source are not read", T, std::uint8_t, std::uint16_t, float, double) {
  for (const unsigned seed : test::seeds(100, 10)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    // few samples, or so many small ones that a pattern would go beyond them
    const bool are_few = test::flip_coin(random);
    const auto bits = [&](const axis_values& extents) { return test::draw_bits<T>(random, extents); };
    // which of several NaNs a sum is, is not promised
    const auto integers = [&](const axis_values& extents) { return test::draw_integers<T>(random, extents); };
    const std::int64_t samples = are_few ? draw(random, 2, 3) : draw(random, 60, 200);
    const std::int64_t channels = are_few ? draw(random, 1, 5) : draw(random, 1, 2);
    const std::int64_t height = draw(random, 1, are_few ? 9 : 3);
    const std::int64_t width = draw(random, 1, are_few ? 20 : 4);
    const std::int64_t rows = draw(random, 1, 4);
    const std::int64_t columns = draw(random, 1, 4);
    const spatial_values block{rows, columns};
    const auto order =
        test::flip_coin(random) ? depth_space_order::depth_column_row : depth_space_order::column_row_depth;
    const axis_values depth{samples, channels * rows * columns, height, width};
    const axis_values space{samples, channels, height * rows, width * columns};
    check<T>(random, depth, space, bits,
             [&](const auto& input, const auto& output) { depth_to_space(input, output, block, order); });
    check<T>(random, space, depth, bits,
             [&](const auto& input, const auto& output) { space_to_depth(input, output, block, order); });

    window sliding;
    sliding.sizes = draw(random, 1, 3);
    sliding.strides = draw(random, 1, 3);
    sliding.start_padding = sliding.end_padding = draw(random, 1, 2);
    const axis_values image{samples, channels, height, width};
    const axis_values unfolded = unfold_extents(image, sliding);
    check<T>(random, image, unfolded, bits,
             [&](const auto& input, const auto& output) { unfold(input, output, sliding); });
    check<T>(random, unfolded, image, integers,
             [&](const auto& input, const auto& output) { fold(input, output, sliding); });
  }
}

TEST_CASE("gaps of pixels are not read by conversions, nor what lies around them") {
  for (const unsigned seed : test::seeds(100, 10)) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const std::int64_t channels = draw(random, 2, 4);
    const axis_values pixels{draw(random, 1, 3), draw(random, 1, 20), draw(random, 8, 40), channels};
    const std::vector<double> factors{0.25, 2, 1, 3};
    const conversion by{.scale = std::span(factors).first(static_cast<std::size_t>(channels)), .axis = 1};
    for (const bool at_end : {false, true}) {
      const fenced_tensor<std::uint8_t> fenced(
          pixels, draw_strides(random, pixels), at_end,
          [&](const axis_values& extents) { return test::draw_bits<std::uint8_t>(random, extents); });
      const auto view = fenced.view().permuted({0, 3, 1, 2});
      std::vector<float> expected;
      const axis_values planes{pixels[0], channels, pixels[1], pixels[2]};
      oracle::for_each_index(planes, [&](const axis_values& index) {
        std::int64_t place = 0;
        for (std::size_t i = 0; i < index.size(); ++i) place += index[i] * view.strides()[i];
        expected.push_back(static_cast<float>(static_cast<double>(view.data()[place]) *
                                              factors[static_cast<std::size_t>(index[1])]));
      });
      std::vector<float> result(expected.size());
      copy(view, tensor_view<float>(result.data(), planes), by);
      CHECK(same_bits(result, expected));
    }
  }
}

}  // namespace
}  // namespace reblock

#endif
