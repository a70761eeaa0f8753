// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <doctest/doctest.h>

#include <reblock/tensor.hpp>

#include "refusal.hpp"

namespace reblock {
namespace {

using test::check_refused;

static_assert(total_size_in_bytes({data_type::float32, {1, 8, 2, 3}}) == 192);
static_assert(tensor_desc{data_type::float32, {2, 3}}.strides_or_packed() == axis_values{3, 1});
static_assert(tensor_desc{data_type::float32, {2, 3}, axis_values{8, 2}}.strides_or_packed() ==
              axis_values{8, 2});
static_assert(tensor_desc{data_type::float32, {2, 3}} !=
              tensor_desc{data_type::float32, {2, 3}, axis_values{3, 1}});

TEST_CASE("a view without strides is packed in C order") {
  float data[24] = {};
  const tensor_view<float> view(data, {2, 3, 4});
  CHECK(view.data() == data);
  CHECK(view.extents() == axis_values{2, 3, 4});
  CHECK(view.strides() == axis_values{12, 4, 1});
  CHECK(tensor_view<float>(data, {2, 0, 4}).strides() == axis_values{4, 4, 1});
  CHECK(tensor_view<float>(data, {2, 3}, {-3, 1}).strides() == axis_values{-3, 1});
}

TEST_CASE("a view that writes becomes one that reads, and not the other way round") {
  float data[6] = {};
  const tensor_view<float> writes(data, {2, 3}, {-3, 1});
  const tensor_view<const float> reads = writes;
  CHECK(reads.data() == data);
  CHECK(reads.extents() == axis_values{2, 3});
  CHECK(reads.strides() == axis_values{-3, 1});
  static_assert(!std::is_convertible_v<tensor_view<const float>, tensor_view<float>>);
  static_assert(!std::is_convertible_v<tensor_view<double>, tensor_view<const float>>);
}

constexpr int four[4] = {0, 1, 2, 3};
constexpr tensor_view<const int> square(four, {2, 2});
static_assert(square.permuted({1, 0}).strides() == view_values{1, 2});
static_assert(square.split(1, {1, 2}).extents() == view_values{2, 1, 2});
static_assert(square.broadcast(0, 3).strides() == view_values{0, 2, 1});
static_assert(!square.try_permuted({0, 0}));

TEST_CASE("a view can have its axes permuted, split and repeated") {
  float data[1] = {};
  const tensor_view<float> view(data, {2, 6, 4}, {-100, 10, 2});
  const tensor_view<float> turned = view.permuted({2, 0, -2});
  CHECK(turned.data() == data);
  CHECK(turned.extents() == view_values{4, 2, 6});
  CHECK(turned.strides() == view_values{2, -100, 10});
  const tensor_view<float> split = view.split(-2, {2, 1, 3});
  CHECK(split.extents() == view_values{2, 2, 1, 3, 4});
  CHECK(split.strides() == view_values{-100, 30, 30, 10, 2});
  CHECK(view.split(0, {2}).strides() == view.strides());
  CHECK(tensor_view<float>(data, {3, 1}).split(1, {}).extents() == view_values{3});
  CHECK(tensor_view<float>(data, {3, 0}).split(1, {0, 5}).extents() == view_values{3, 0, 5});
  CHECK(view.broadcast(1, 5).extents() == view_values{2, 5, 6, 4});
  CHECK(view.broadcast(1, 5).strides() == view_values{-100, 0, 10, 2});
  CHECK(view.broadcast(-1, 5).extents() == view_values{2, 6, 4, 5});
  CHECK(tensor_view<float>(data, {}).permuted({}).extents() == view_values{});
}

TEST_CASE("a view that there is not is refused with what would fit") {
  float data[1] = {};
  const tensor_view<float> view(data, {2, 6, 4});
  check_refused(view.try_permuted({0, 1}), {"axes", "each of the 3 axes once", "(0, 1)"});
  check_refused(view.try_permuted({0, 1, 1}), {"axes", "(0, 1, 1)"});
  check_refused(view.try_permuted({0, 1, -2}), {"axes", "(0, 1, -2)"});
  check_refused(view.try_permuted({0, 1, 3}), {"axes", "(0, 1, 3)"});
  check_refused(view.try_split(3, {2, 2}), {"axis", "-3 to 2", "got 3"});
  check_refused(view.try_split(1, {2, 2}), {"extents", "product 6", "axis 1", "(2, 6, 4)", "(2, 2)"});
  check_refused(view.try_split(1, {-2, -3}), {"extents", "(-2, -3)"});
  constexpr std::int64_t huge = std::int64_t{1} << 33;
  check_refused(view.try_split(1, {huge, huge}), {"extents", "product 6"});
  check_refused(view.try_split(1, {}), {"extents", "product 6"});
  check_refused(view.try_broadcast(4, 2), {"axis", "-4 to 3", "got 4"});
  check_refused(tensor_view<float>(data, {}).try_split(0, {1}), {"axis", "has none", "got 0"});
  check_refused(view.try_broadcast(0, -1), {"extent", "negative", "-1"});
  const tensor_view<float> full(data, view_values::repeat(16, 1));
  check_refused(full.try_broadcast(0, 2), {"at most 16 axes", "got 17"});
  check_refused(full.try_split(0, {1, 1}), {"at most 16 axes", "got 17"});
  check_refused(tensor_view<float>(data, view_values::repeat(17, 1)).try_split(0, {1}), {"at most 16 axes"});
  check_refused(tensor_view<float>(data, {2, 3}, {1}).try_permuted({0, 1}), {"one stride", "2 axes", "(1,)"});
  CHECK_THROWS_AS((void)view.permuted({0}), std::invalid_argument);
  CHECK_THROWS_AS((void)view.split(1, {2, 2}), std::invalid_argument);
  CHECK_THROWS_AS((void)view.broadcast(9, 1), std::invalid_argument);
}

TEST_CASE("the total size counts the span of the strides and is a multiple of 4") {
  const auto size = [](data_type type, const axis_values& sizes, std::optional<axis_values> strides = {}) {
    return total_size_in_bytes({type, sizes, strides});
  };
  for (std::int64_t elements = 1; elements <= 9; ++elements) {
    CHECK(size(data_type::uint8, {elements}) == static_cast<std::uint64_t>((elements + 3) / 4 * 4));
  }
  CHECK(size(data_type::float16, {3}) == 8);
  CHECK(size(data_type::float64, {3}) == 24);
  CHECK(size(data_type::float32, {2, 3, 4, 5}) == 480);
  CHECK(size(data_type::float32, {4, 8}, axis_values{0, 1}) == 32);
  CHECK(size(data_type::uint8, {2, 3}, axis_values{10, 2}) == 16);
  CHECK(size(data_type::uint8, {1, 3}, axis_values{1000, 1}) == 4);
  CHECK(size(data_type::uint8, {1, 1, 1, 1, 1, 1, 1, 1}) == 4);
}

/// The most bytes that a tensor may span.
constexpr std::int64_t most = std::numeric_limits<std::ptrdiff_t>::max() / 4;

TEST_CASE("the total size does not wrap at 32 bits") {
  const auto strided = try_total_size_in_bytes({data_type::float32, {2}, axis_values{std::int64_t{1} << 32}});
  const auto packed = try_total_size_in_bytes({data_type::float64, {65535, 65537}});
  if constexpr (most > 0xffffffff) {
    CHECK(strided.value() == ((std::uint64_t{1} << 32) + 1) * 4);
    CHECK(packed.value() == 0xffffffffu * std::uint64_t{8});
  } else {
    check_refused(strided, {"tensor: ", "strides (4294967296,)", "span"});
    check_refused(packed, {"tensor: ", "sizes (65535, 65537)", "span"});
  }
}

TEST_CASE("the largest span is accepted and one more byte is not") {
  CHECK(total_size_in_bytes({data_type::uint8, {2}, axis_values{most - 1}}) == std::uint64_t{most} + 1);
  const std::string told = std::to_string(most);
  check_refused(try_total_size_in_bytes({data_type::uint8, {2}, axis_values{most}}),
                {"tensor: ", "sizes (2,)", ("strides (" + told).c_str(), (told + " bytes").c_str()});
  check_refused(try_total_size_in_bytes({data_type::float64, {3, 3}, axis_values{most, most}}), {"span"});
}

TEST_CASE("what is no tensor is refused with its name and its values") {
  const auto outcome = [](const tensor_desc& desc) { return try_total_size_in_bytes(desc, "input"); };
  check_refused(outcome({data_type::unknown, {1}}), {"input: ", "data_type UNKNOWN (0)"});
  check_refused(outcome({data_type::uint4, {1}}), {"input: ", "data_type UINT4 (12)"});
  check_refused(outcome({static_cast<data_type>(99), {1}}), {"input: ", "data_type", "(99)"});
  check_refused(outcome({data_type::uint8, {}}), {"input: ", "sizes", "1 to 8", "()"});
  check_refused(outcome({data_type::uint8, axis_values::repeat(9, 1)}),
                {"input: ", "sizes", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"});
  check_refused(outcome({data_type::uint8, axis_values::repeat(20, 1)}), {"input: ", "sizes", "...)"});
  check_refused(outcome({data_type::uint8, {2, 0}}), {"input: ", "sizes", "at least 1", "(2, 0)"});
  check_refused(outcome({data_type::uint8, {-1}}), {"input: ", "sizes", "(-1,)"});
  check_refused(outcome({data_type::uint8, {65536, 65536}}), {"input: ", "(65536, 65536)", "2**32 - 1"});
  check_refused(outcome({data_type::uint8, {std::int64_t{1} << 62, 4}}), {"input: ", "2**32 - 1"});
  check_refused(outcome({data_type::uint8, {2, 3}, axis_values{1}}),
                {"input: ", "strides", "2 sizes", "(1,)"});
  check_refused(outcome({data_type::uint8, {2, 3}, axis_values{3, -1}}),
                {"input: ", "strides", "negative", "(3, -1)"});
  CHECK_THROWS_AS((void)total_size_in_bytes({data_type::uint8, {0}}), std::invalid_argument);
}

}  // namespace
}  // namespace reblock
