// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of any size are copied side by side, and each byte has the bits that its place in the mask keeps.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/compiler.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/masked_copy.hpp>

#include "../draw.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

std::vector<std::byte> draw_bytes(std::mt19937& random, std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

TEST_CASE("rows are copied with the bits of a mask, with a period or without") {
  for (std::uint32_t trial = 0; trial < 2000; ++trial) {
    CAPTURE(trial);
    std::mt19937 random(trial);
    const std::int64_t size = draw(random, 1, draw(random, 0, 3) == 0 ? 700 : 70);
    const std::int64_t rows = draw(random, 1, 5);
    const std::int64_t stride = size + draw(random, 0, 40);
    const std::int64_t period = test::flip_coin(random) ? draw(random, 1, size) : 0;
    const std::int64_t begin = draw(random, 0, period == 0 ? 20 : period - 1);
    const std::vector<std::byte> source = draw_bytes(random, (rows - 1) * stride + size);
    std::vector<std::byte> mask = draw_bytes(random, period == 0 ? begin + size : period + mask_overrun);
    for (std::int64_t i = period; period != 0 && i < period + mask_overrun; ++i)
      mask[static_cast<std::size_t>(i)] = mask[static_cast<std::size_t>(i - period)];

    const masked_rows from{source.data(), stride, static_cast<std::size_t>(rows),
                           static_cast<std::size_t>(size)};
    const mask_place at{static_cast<std::size_t>(begin), static_cast<std::size_t>(period)};
    constexpr std::byte untouched{0x5a};
    std::vector<std::byte> copied(static_cast<std::size_t>(rows * size + 1), untouched);
    const bool is_wide = usable_instruction_set() >= instruction_set::avx2 && test::flip_coin(random);
    (is_wide ? in_wide_registers<&copy_masked>::call : copy_masked)(copied.data(), from, mask.data(), at);
    bool is_right = copied.back() == untouched;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t in_mask = period == 0 ? begin + i : (begin + i) % period;
        is_right = is_right && copied[static_cast<std::size_t>(r * size + i)] ==
                                   (source[static_cast<std::size_t>(r * stride + i)] &
                                    mask[static_cast<std::size_t>(in_mask)]);
      }
    }
    CHECK(is_right);
  }
}

}  // namespace
}  // namespace reblock
