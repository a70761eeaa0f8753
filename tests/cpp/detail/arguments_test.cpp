// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/depth_space.hpp>
#include <reblock/detail/arguments.hpp>

#include "../draw.hpp"
#include "../refusal.hpp"
#include "../strided_tensor.hpp"

namespace reblock {
namespace {

using namespace detail;
using test::check_refused;

using test::largest;
using test::smallest;

static_assert(*check_channel_axis(1, 4) == 1 && *check_channel_axis(3, 4) == 3);
static_assert(*check_channel_axis(-1, 4) == 3 && *check_channel_axis(-3, 4) == 1);
static_assert(!check_channel_axis(0, 4) && !check_channel_axis(4, 4) && !check_channel_axis(-4, 4));
static_assert(!check_channel_axis(smallest, 4) && !check_channel_axis(largest, 4));
static_assert(spatial_part({2, 3, 4, 5}, 1) == axis_values{4, 5});
static_assert(spatial_part({2, 3, 4, 5}, 3) == axis_values{3, 4});
static_assert(with_channel_axis(2, 3, {4, 5}, 1) == axis_values{2, 3, 4, 5});
static_assert(with_channel_axis(2, 3, {4, 5}, 2) == axis_values{2, 4, 3, 5});
static_assert(with_channel_axis(2, 3, {4, 5}, 3) == axis_values{2, 4, 5, 3});
static_assert(in_bytes({6, -3, 1}, 4) == axis_values{24, -12, 4});

TEST_CASE("an extent of 0 does not make room for others that are too large") {
  constexpr std::int64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  CHECK(addressable({2, 3}, 8));
  CHECK(addressable({most}, 1));
  CHECK_FALSE(addressable({most}, 2));
  CHECK_FALSE(addressable({0, most, 2}, 1));
  CHECK(addressable({0, most}, 1));
}

/// The outcome of a call that moves {1, 1, 2, 2} to {1, 1, 2, 2}.
status move(const tensor_view<const std::uint32_t>& input, const tensor_view<std::uint32_t>& output) {
  return try_depth_to_space(input, output, 1);
}

TEST_CASE("strides that do not fit their tensor are refused") {
  std::uint32_t data[8] = {};
  std::uint32_t result[8] = {};
  const tensor_view<const std::uint32_t> input(data, {1, 1, 2, 2});
  const tensor_view<std::uint32_t> output(result, {1, 1, 2, 2});
  CHECK(move(input, output));
  check_refused(move({data, {1, 1, 2, 2}, {4, 2, 1}}, output), {"input", "4 axes", "(4, 2, 1)"});
  check_refused(move(input, {result, {1, 1, 2, 2}, {1, 1, 1, 2, 1}}),
                {"output", "4 axes", "(1, 1, 1, 2, 1)"});
  for (const std::int64_t stride : {largest, smallest, largest / 8, smallest / 8}) {
    INFO("stride ", stride);
    check_refused(move({data, {1, 1, 2, 2}, {4, 4, stride, 1}}, output),
                  {"input", "(1, 1, 2, 2)", "spans more"});
    check_refused(move(input, {result, {1, 1, 2, 2}, {4, 4, stride, 1}}), {"output", "spans more"});
  }
}

TEST_CASE("the stride of an axis of extent 1 does not matter") {
  std::uint32_t data[4] = {1, 2, 3, 4};
  for (const std::int64_t stride : {largest, smallest, smallest / 4, std::int64_t{0}, std::int64_t{-1}}) {
    INFO("stride ", stride);
    std::uint32_t result[4] = {};
    CHECK(move({data, {1, 1, 2, 2}, {stride, stride, 2, 1}}, {result, {1, 1, 2, 2}, {stride, stride, 2, 1}}));
    CHECK(std::vector<std::uint32_t>(result, result + 4) == std::vector<std::uint32_t>{1, 2, 3, 4});
  }
}

TEST_CASE("an output that overlaps itself is refused") {
  std::uint32_t data[4] = {};
  test::strided_tensor<std::uint32_t> output({8}, {1});
  std::uint32_t* const first = output.view().data();
  const tensor_view<const std::uint32_t> input(data, {1, 1, 2, 2});
  for (const axis_values& strides :
       {axis_values{4, 4, 0, 1}, axis_values{4, 4, 1, 1}, axis_values{4, 4, -1, 1}}) {
    check_refused(move(input, {first + 4, {1, 1, 2, 2}, strides}), {"output", "overlap itself", "strides"});
  }
  CHECK(output.untouched());
}

TEST_CASE("an output that shares memory with the input is refused, interleaved ones are not") {
  std::uint32_t data[16] = {1, 0, 2, 0, 3, 0, 4};
  const tensor_view<const std::uint32_t> every_other(data, {1, 1, 2, 2}, {8, 8, 4, 2});
  check_refused(move(every_other, {data, {1, 1, 2, 2}}), {"output", "share memory", "input"});
  check_refused(move(every_other, {data + 6, {1, 1, 2, 2}}), {"output", "share memory"});
  check_refused(move(every_other, {data + 9, {1, 1, 2, 2}, {8, 8, -2, -1}}), {"output", "share memory"});
  CHECK(move(every_other, {data + 7, {1, 1, 2, 2}}));
  CHECK(data[10] == 4);
  CHECK(move(every_other, {data + 1, {1, 1, 2, 2}, {8, 8, 4, 2}}));
  CHECK(data[7] == 4);
}

TEST_CASE("empty tensors may lie anywhere") {
  std::uint32_t data[1] = {5};
  CHECK(move({data, {0, 1, 2, 2}}, {data, {0, 1, 2, 2}, {0, 0, 0, 0}}));
  CHECK(move({nullptr, {1, 1, 2, 0}}, {nullptr, {1, 1, 2, 0}}));
  CHECK(data[0] == 5);
}

}  // namespace
}  // namespace reblock
