// SPDX-License-Identifier: BSD-3-Clause
//
// Each element of a run gets the factors of its index, wherever the run begins and however long it is.
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/factor_table.hpp>

#include "../draw.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

/// Draws the axis of a factor in a run, around `elements` elements of the axes further in.
factor_axis draw_axis(std::mt19937& random, std::int64_t elements) {
  const std::int64_t inner = elements * (draw(random, 0, 2) == 0 ? 1 : draw(random, 1, 70));
  return {1, inner, draw(random, 0, 1) == 0 ? draw(random, 1, 9) : draw(random, 1, 900)};
}

/// A factor with values of its own for each index, somewhere in a longer list.
struct drawn_factor {
  factor_axis axis;
  std::vector<double> values;

  drawn_factor(std::mt19937& random, const factor_axis& of, double least) : axis(of) {
    for (std::int64_t i = 0; i < axis.extent + 5; ++i) {
      values.push_back(least + static_cast<double>(draw(random, 0, 99)) / 16);
    }
  }

  double at(std::int64_t first, std::int64_t element) const {
    const std::int64_t index = element / axis.inner % axis.extent;
    return values[static_cast<std::size_t>(first + index * axis.step)];
  }
};

template <class Value>
void check_runs(std::mt19937& random, element_type type) {
  // The run has no axis of a factor, one axis, or two that nest. One axis may have both factors.
  factor_axis axes[2];
  const std::int64_t which = draw(random, 0, 7);
  axes[which % 2] = draw_axis(random, 1);
  if (which < 2) axes[1 - which % 2] = axes[which % 2];
  if (which > 5) axes[1 - which % 2] = draw_axis(random, axes[which % 2].inner * axes[which % 2].extent);
  if (which == 2) axes[0] = axes[1];
  const drawn_factor scale(random, axes[0], 0.5);
  const drawn_factor bias(random, axes[1], -3);
  const bool has_bias = draw(random, 0, 4) != 0;
  const run_conversion conversion(type, type, true);
  factor_table table(conversion, {scale.values.data(), has_bias ? bias.values.data() : nullptr},
                     {scale.axis, has_bias ? bias.axis : factor_axis{}});
  // One table converts several runs: of one place in the values, then of others.
  factor_places first{0, 0};
  for (int run = 0; run < 5; ++run) {
    if (run % 2 == 0) first = {draw(random, 0, 4), draw(random, 0, 4)};
    const std::int64_t count = draw(random, 1, 3000);
    std::vector<Value> source;
    std::vector<Value> expected;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<Value>(draw(random, -999, 999));
      source.push_back(value);
      // exact: all are multiples of 1/16, and not large
      expected.push_back(value * static_cast<Value>(scale.at(first[0], i)) +
                         (has_bias ? static_cast<Value>(bias.at(first[1], i)) : Value(0)));
    }
    std::vector<Value> got(source.size());
    table.convert(conversion, reinterpret_cast<const std::byte*>(source.data()),
                  reinterpret_cast<std::byte*>(got.data()), count, first);
    CHECK(got == expected);
  }
}

TEST_CASE("elements get the factors of their indices") {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    check_runs<float>(random, element_type::float32);
    check_runs<double>(random, element_type::float64);
  }
}

}  // namespace
}  // namespace reblock
