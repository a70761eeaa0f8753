// SPDX-License-Identifier: BSD-3-Clause
//
// What lies between the elements of a source is never read: here it is pages that cannot be.
#if __has_include(<sys/mman.h>)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <reblock/reblock.hpp>

#include "draw.hpp"

namespace reblock {
namespace {

using test::draw;

/// Samples, each dense in pages of its own, of which it begins the first or ends the last. Nobody may read the pages before
/// and behind them.
template <class T>
class fenced_samples {
 public:
  /// `strides` are those within a sample, in elements; `draw` makes the elements of one.
  template <class Draw>
  fenced_samples(const axis_values& extents, const axis_values& strides, bool at_end, Draw draw)
      : extents_(extents), strides_(strides) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t size = sizeof(T);
    for (std::size_t i = 1; i < extents.size(); ++i) size *= static_cast<std::size_t>(extents[i]);
    const std::size_t readable = (size + page - 1) / page * page;
    const auto count = static_cast<std::size_t>(extents[0]);
    bytes_ = page + count * (readable + page);
    memory_ = static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory_ != MAP_FAILED);
    first_ = memory_ + page + (at_end ? readable - size : 0);
    strides_[0] = static_cast<std::int64_t>((readable + page) / sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const pages = memory_ + page + i * (readable + page);
      REQUIRE(mprotect(pages, readable, PROT_READ | PROT_WRITE) == 0);
      const axis_values one{static_cast<std::int64_t>(size / sizeof(T))};
      std::memcpy(first_ + i * (readable + page), draw(one).values.data(), size);
    }
  }
  fenced_samples(const fenced_samples&) = delete;
  fenced_samples& operator=(const fenced_samples&) = delete;
  ~fenced_samples() { munmap(memory_, bytes_); }

  tensor_view<const T> view() const { return {reinterpret_cast<const T*>(first_), extents_, strides_}; }

 private:
  axis_values extents_;
  axis_values strides_;
  std::byte* memory_ = nullptr;
  std::byte* first_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The strides of a sample, dense in a random order of its axes; 0 along the samples.
axis_values sample_strides(std::mt19937& random, const axis_values& extents) {
  axis_values strides = axis_values::repeat(extents.size(), 0);
  std::int64_t stride = 1;
  for (const std::size_t i : test::draw_order(random, extents.size() - 1)) {
    strides[i + 1] = stride;
    stride *= extents[i + 1];
  }
  return strides;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Whether `run(input, output)` makes the same of fenced samples as of a packed copy, which has an oracle elsewhere.
template <class T, class Draw, class Run>
void check(std::mt19937& random, const axis_values& extents, const axis_values& output_extents, Draw draw,
           Run run) {
  const auto count = [](const axis_values& e) {
    return static_cast<std::size_t>(detail::product(e).value());
  };
  for (const bool at_end : {false, true}) {
    const fenced_samples<T> samples(extents, sample_strides(random, extents), at_end, draw);
    std::vector<T> packed;
    oracle::for_each_index(extents, [&](const axis_values& index) {
      std::int64_t place = 0;
      for (std::size_t i = 0; i < index.size(); ++i) place += index[i] * samples.view().strides()[i];
      packed.push_back(samples.view().data()[place]);
    });
    std::vector<T> expected(count(output_extents));
    std::vector<T> result(count(output_extents));
    run(tensor_view<const T>(packed.data(), extents), tensor_view<T>(expected.data(), output_extents));
    run(samples.view(), tensor_view<T>(result.data(), output_extents));
    CHECK(same_bits(result, expected));
  }
}

TEST_CASE_TEMPLATE("gaps of a source are not read", T, std::uint8_t, std::uint16_t, float, double) {
  for (unsigned seed = 0; seed < 100; ++seed) {
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

}  // namespace
}  // namespace reblock

#endif
