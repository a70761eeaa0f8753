// SPDX-License-Identifier: BSD-3-Clause
//
// Each element of a run gets the factors of its index, wherever the run begins and however long it is.
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/conversions/factor_table.hpp>

#include "../../draw.hpp"
#include "../drawn_moves.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::draw;

constexpr std::int64_t most_runs = 70;

/// Draws the axis of a factor in a run, around `elements` elements of the axes further in.
factor_axis draw_axis(std::mt19937& random, std::int64_t elements) {
  const std::int64_t inner = elements * (draw(random, 0, 2) == 0 ? 1 : draw(random, 1, 70));
  return {1, inner, draw(random, 0, 1) == 0 ? draw(random, 1, 9) : draw(random, 1, 4000)};
}

/// A factor with values of its own for each index, somewhere in a longer list.
struct drawn_factor {
  factor_axis axis;
  std::vector<double> values;

  drawn_factor(std::mt19937& random, const factor_axis& of, double least) : axis(of) {
    for (std::int64_t i = 0; i < axis.extent + 5 + most_runs; ++i) {
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
  // A run may have the factors of the run before, or the next ones.
  const factor_places steps{draw(random, 0, 1), has_bias ? draw(random, 0, 1) : 0};
  factor_table table(conversion, {scale.values.data(), has_bias ? bias.values.data() : nullptr},
                     {scale.axis, has_bias ? bias.axis : factor_axis{}}, steps);
  // One table converts several runs: of one place in the values, then of others.
  factor_places first{0, 0};
  for (int call = 0; call < 5; ++call) {
    if (call % 2 == 0) first = {draw(random, 0, 4), draw(random, 0, 4)};
    const std::int64_t rows = draw(random, 0, 2) == 0 ? draw(random, 2, 3) : 1;
    const std::int64_t runs =
        draw(random, 0, 2) == 0 ? draw(random, 2, draw(random, 0, 1) == 0 ? 3 : most_runs) : 1;
    const std::int64_t count = draw(random, 1, runs <= 3 ? 5000 : 300);  // more than a table holds, or fewer
    const std::int64_t gap = draw(random, 0, 3);                         // elements between runs
    std::vector<Value> source;
    std::vector<Value> expected;
    for (std::int64_t k = 0; k < rows * runs; ++k) {
      const std::int64_t run = k % runs;  // all rows have the same factors
      for (std::int64_t i = 0; i < count + gap; ++i) {
        const auto value = static_cast<Value>(draw(random, -999, 999));
        source.push_back(value);
        // exact: all are multiples of 1/16, and not large
        const Value converted =
            value * static_cast<Value>(scale.at(first[0] + run * steps[0], i)) +
            (has_bias ? static_cast<Value>(bias.at(first[1] + run * steps[1], i)) : Value(0));
        expected.push_back(i < count ? converted : Value(0));
      }
    }
    std::vector<Value> got(source.size());
    const std::int64_t step = (count + gap) * static_cast<std::int64_t>(sizeof(Value));
    table.convert(conversion, reinterpret_cast<const std::byte*>(source.data()),
                  reinterpret_cast<std::byte*>(got.data()),
                  even_runs{static_cast<std::size_t>(count), static_cast<std::size_t>(runs), step, step,
                            static_cast<std::size_t>(rows), runs * step, runs * step},
                  first);
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

TEST_CASE("bytes with the same factors become what each of them becomes alone") {
  std::mt19937 random(2);
  constexpr element_type bytes[] = {element_type::boolean, element_type::uint8, element_type::int8};
  constexpr element_type types[] = {element_type::boolean,  element_type::uint8,   element_type::int8,
                                    element_type::uint16,   element_type::int16,   element_type::float16,
                                    element_type::bfloat16, element_type::float32, element_type::float64};
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const element_type from = bytes[draw(random, 0, 2)];
    const element_type to = types[draw(random, 0, 8)];
    const std::size_t size = size_of(to);
    const auto sets = test::all_instruction_sets();
    const auto set = static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(sets.size()) - 1));
    const run_conversion conversion(from, to, true, sets[set]);
    // More factors than tables, stretches shorter and longer than a register, and own factors of each element.
    const factor_axis axis{1, draw(random, 0, 2) == 0 ? 1 : draw(random, 32, 300), draw(random, 1, 7)};
    std::vector<double> scale;
    std::vector<double> bias;
    for (std::int64_t k = 0; k < axis.extent; ++k) {
      scale.push_back(draw(random, 0, 9) == 0   ? 1e300
                      : draw(random, 0, 4) == 0 ? 1  // with a large bias, ties
                                                : static_cast<double>(draw(random, -99, 99)) / 37);
      bias.push_back(static_cast<double>(draw(random, -999, 999)) / 8);
    }
    factor_table table(conversion, {scale.data(), bias.data()}, {axis, axis});
    for (int run = 0; run < 3; ++run) {
      const std::int64_t count = draw(random, 1, 5000);
      const auto elements = static_cast<std::size_t>(count);
      std::vector<std::byte> source;
      for (std::int64_t k = 0; k < count; ++k) source.push_back(static_cast<std::byte>(draw(random, 0, 255)));
      std::vector<std::byte> got(elements * size + 1, std::byte{77});
      table.convert(conversion, source.data(), got.data(), count, {0, 0});
      std::vector<std::byte> expected(got.size(), std::byte{77});
      for (std::size_t k = 0; k < elements; ++k) {
        const std::size_t index = k / static_cast<std::size_t>(axis.inner) % scale.size();
        const auto convert_one = [&]<class Value>(Value) {
          const repeated_factors<Value> factors(static_cast<Value>(scale[index]),
                                                static_cast<Value>(bias[index]));
          conversion(&source[k], &expected[k * size], 1, factors.all());
        };
        conversion.is_double() ? convert_one(double{}) : convert_one(float{});
      }
      CHECK(got == expected);
    }
  }
}

TEST_CASE("a quick step is taken only with factors for which it is right") {
  struct factors {
    float scale;
    float bias;
    bool are_right;
  };
  const factors of_photos{1 / 255.0f / 0.229f, -0.485f / 0.229f, true};
  // 257 lies between 256 and 258, and the quick step rounds it away from 0
  const factors with_ties{1, 256, false};
  const factors without_ties{1, 0, true};
  for (const instruction_set set : test::all_instruction_sets()) {
    INFO("instruction set ", std::string(name_of(set)));
    const run_conversion conversion(element_type::uint8, element_type::bfloat16, true, set);
    if (!conversion.can_look_up(even_runs{16})) continue;
    const bool is_quick = set != instruction_set::avx512;  // which looks results up
    for (const factors& f : {of_photos, with_ties, without_ties}) {
      CAPTURE(f.scale);
      const repeated_factors<float> given(f.scale, f.bias);
      byte_results results;
      CHECK(conversion.make_results(results, given.all()) == (f.are_right || !is_quick));
      CHECK(results.is_quick_right == f.are_right);
      if (!f.are_right && is_quick) continue;
      for (const std::size_t count : {16u, 17u, 31u, 32u, 255u}) {
        std::array<std::byte, 255> bytes;
        for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 29 % 256);
        std::vector<std::byte> got(2 * count + 1, std::byte{77});
        std::vector<std::byte> expected(got);
        conversion.look_up(bytes.data(), got.data(), even_runs{count}, given.all(), results);
        for (std::size_t i = 0; i < count; ++i) conversion(&bytes[i], &expected[2 * i], 1, given.all());
        CHECK(got == expected);
      }
    }
  }
}

}  // namespace
}  // namespace reblock
