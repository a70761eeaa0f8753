// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/depth_space.hpp>

#include "draw.hpp"
#include "examples.hpp"
#include "oracle.hpp"
#include "refusal.hpp"
#include "strided_tensor.hpp"

namespace reblock {
namespace {

using test::check_refused;
using test::draw;
using test::strided_tensor;

using test::crd;
using test::dcr;

static_assert(depth_to_space_extents({1, 8, 2, 3}, 2) == axis_values{1, 2, 4, 6});
static_assert(space_to_depth_extents({1, 2, 4, 6}, 2) == axis_values{1, 8, 2, 3});
static_assert(depth_to_space_extents({2, 5, 7, 30}, {2, 3}, 3) == axis_values{2, 10, 21, 5});
static_assert(space_to_depth_extents({2, 10, 21, 5}, {2, 3}, -1) == axis_values{2, 5, 7, 30});
static_assert(depth_to_space_extents({3, 12, 5}, 4) == axis_values{3, 3, 20});
static_assert(depth_to_space_extents({0, 4, 0, 3}, 2) == axis_values{0, 1, 0, 6});
static_assert(!try_depth_to_space_extents({1, 7, 2, 3}, 2));
static_assert(!try_space_to_depth_extents({1, 2, 4, 5}, 2));

TEST_CASE("the examples of depth_to_space and space_to_depth through views") {
  const std::vector<float> depth = examples::depth();
  for (const auto order : {dcr, crd}) {
    const std::vector<float> space =
        order == dcr ? examples::space_depth_column_row() : examples::space_column_row_depth();
    std::vector<float> result(48);
    depth_to_space(tensor_view<const float>(depth.data(), {1, 8, 2, 3}),
                   tensor_view<float>(result.data(), {1, 2, 4, 6}), 2, order);
    CHECK(result == space);
    space_to_depth(tensor_view<const float>(space.data(), {1, 2, 4, 6}),
                   tensor_view<float>(result.data(), {1, 8, 2, 3}), 2, order);
    CHECK(result == depth);
  }
}

/// One random problem, there and back again, against the definition.
template <class T>
void check_both_ways(std::mt19937& random) {
  const auto axes = static_cast<std::size_t>(draw(random, 1, test::flip_coin(random) ? 2 : 6));
  const std::int64_t largest = axes <= 2 ? 7 : 2;
  const axis_values block = test::draw_values(random, axes, 1, largest);
  axis_values spatial = test::draw_values(random, axes, axes <= 2 ? 0 : 1, axes <= 2 ? 5 : 2);
  for (std::size_t d = 0; d < axes; ++d) spatial[d] *= block[d];
  const std::int64_t channel_axis = draw(random, 1, static_cast<std::int64_t>(axes) + 1);
  const auto axis = static_cast<std::size_t>(channel_axis);
  const axis_values space_extents = oracle::join(draw(random, 0, 3), draw(random, 0, 3), spatial, axis);
  const axis_values depth_extents = oracle::depth_extents(space_extents, block, axis);
  const auto order = test::flip_coin(random) ? dcr : crd;
  CHECK(depth_to_space_extents(depth_extents, block, channel_axis) == space_extents);
  CHECK(space_to_depth_extents(space_extents, block, channel_axis) == depth_extents);

  const auto depth_values = test::draw_bits<T>(random, depth_extents);
  const strided_tensor<T> depth(depth_values, test::draw_strides(random, depth_extents));
  strided_tensor<T> space(space_extents, test::draw_strides(random, space_extents));
  strided_tensor<T> back(depth_extents, test::draw_strides(random, depth_extents));
  depth_to_space(depth.view(), space.view(), block, order, serial_executor{}, channel_axis);
  CHECK(space.holds_exactly(oracle::depth_to_space(depth_values, space_extents, block, order, axis)));
  space_to_depth(space.view(), back.view(), block, order, serial_executor{}, channel_axis);
  CHECK(back.holds_exactly(depth_values));
}

TEST_CASE_TEMPLATE("depth_to_space and space_to_depth follow their definition", T, std::uint8_t,
                   std::uint16_t, float, double, std::array<std::uint8_t, 3>, std::array<std::uint32_t, 3>,
                   std::array<std::uint64_t, 2>, std::array<std::uint64_t, 3>) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    check_both_ways<T>(random);
  }
}

TEST_CASE("a broadcast input is read again and again") {
  const float depth[4] = {1, 2, 3, 4};
  std::vector<float> space(3 * 4 * 4);
  const tensor_view<const float> input(depth, {3, 4, 2, 2}, {0, 1, 0, 0});
  depth_to_space(input, tensor_view<float>(space.data(), {3, 1, 4, 4}), 2);
  for (std::size_t i = 0; i < space.size(); ++i) {
    CHECK(space[i] == static_cast<float>(1 + i / 4 % 2 * 2 + i % 2));
  }
}

TEST_CASE("negative channel axes count from the end") {
  const std::vector<float> depth = examples::count_up(2 * 3 * 8);
  std::vector<float> last(48);
  std::vector<float> third(48);
  const tensor_view<const float> input(depth.data(), {1, 2, 3, 8});
  depth_to_space(input, tensor_view<float>(last.data(), {1, 4, 6, 2}), 2, crd, serial_executor{}, -1);
  depth_to_space(input, tensor_view<float>(third.data(), {1, 4, 6, 2}), 2, crd, serial_executor{}, 3);
  CHECK(last == third);
  CHECK(last[2] == 1);  // (0, 0, 1, 0): channel 0, second position of the block
}

TEST_CASE("a block that does not fit is refused with its name and its values") {
  const auto to_space = [](const axis_values& input, const spatial_values& block, std::int64_t axis = 1) {
    return try_depth_to_space_extents(input, block, axis);
  };
  const auto to_depth = [](const axis_values& input, const spatial_values& block, std::int64_t axis = 1) {
    return try_space_to_depth_extents(input, block, axis);
  };
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  check_refused(to_space({4, 4}, 2), {"input", "3 to 8 axes", "(4, 4)"});
  check_refused(to_space(axis_values::repeat(9, 1), 1), {"input", "3 to 8 axes"});
  check_refused(to_space({1, 4, -2, 3}, 2), {"input", "negative", "(1, 4, -2, 3)"});
  check_refused(to_space({1, 4, 2, 3}, 0), {"block_size", "at least 1", "got 0"});
  check_refused(to_space({1, 4, 2, 3}, {2, -2}), {"block_size", "(2, -2)"});
  check_refused(to_space({1, 4, 2, 3}, {2, 2, 1}), {"block_size", "2 spatial axes", "(2, 2, 1)"});
  check_refused(to_space({1, 4, 2, 3}, spatial_values{2}), {"block_size", "(2,)"});
  check_refused(to_space({1, 6, 2, 3}, 2),
                {"input", "6 channels", "(1, 6, 2, 3)", "block_size 2", "multiple of 4"});
  check_refused(to_space({1, 4, 2, 3}, 2, 0), {"channel_axis", "got 0"});
  check_refused(to_space({1, 4, 2, 3}, 2, 4), {"channel_axis", "got 4"});
  check_refused(to_space({1, 4, 2, 3}, 2, -4), {"channel_axis", "got -4"});
  check_refused(to_space({1, 4, 2, 3}, huge), {"block_size", "1099511627776", "overflows"});
  check_refused(to_space({1, 0, largest, 3}, 2),
                {"block_size 2", "too large", "(1, 0, 9223372036854775807, 3)"});
  check_refused(to_depth({1, 2, 4, 5}, 2), {"input", "(4, 5)", "(1, 2, 4, 5)", "block_size 2"});
  check_refused(to_depth({1, 2, 0, 0}, huge), {"block_size", "too large", "(1, 2, 0, 0)"});
  CHECK_THROWS_AS((void)depth_to_space_extents({1, 6, 2, 3}, 2), std::invalid_argument);
  CHECK_THROWS_AS((void)space_to_depth_extents({1, 2, 4, 5}, 2), std::invalid_argument);
}

TEST_CASE("a refused move of blocks writes nothing") {
  const std::vector<float> depth = examples::depth();
  strided_tensor<float> space({1, 2, 4, 6}, {48, 24, 6, 1});
  const tensor_view<const float> input(depth.data(), {1, 8, 2, 3});
  check_refused(try_depth_to_space(input, space.view(), 3), {"input", "block_size 3"});
  check_refused(try_depth_to_space(input, space.view(), 2, static_cast<depth_space_order>(2)),
                {"order", "got 2"});
  check_refused(try_space_to_depth(input, space.view(), 2), {"input", "(2, 3)", "block_size 2"});
  strided_tensor<float> other({1, 2, 6, 4}, {48, 24, 4, 1});
  check_refused(try_depth_to_space(input, other.view(), 2), {"output", "(1, 2, 4, 6)", "(1, 2, 6, 4)"});
  CHECK_THROWS_AS(depth_to_space(input, other.view(), 2), std::invalid_argument);
  CHECK_THROWS_AS(space_to_depth(input, other.view(), 2), std::invalid_argument);
  CHECK(space.untouched());
  CHECK(other.untouched());
}

}  // namespace
}  // namespace reblock
