// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <doctest/doctest.h>

#include <reblock/result.hpp>

namespace reblock {
namespace {

template <class T>
std::string written(const T& value) {
  error why;
  why << value;
  return why.message();
}

constexpr result<int> half(int value) {
  if (value % 2 == 0) return value / 2;
  error why;
  return why << "value must be even, got " << value;
}

static_assert(half(6) && *half(6) == 3 && half(6).value() == 3);
static_assert(!half(7) && std::string_view(half(7).why().message()) == "value must be even, got 7");
static_assert(std::is_trivially_copyable_v<result<axis_values>>);

TEST_CASE("error writes every integer") {
  CHECK(written(0) == "0");
  CHECK(written(-1) == "-1");
  CHECK(written(std::int8_t{-128}) == "-128");
  CHECK(written(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(written(std::numeric_limits<std::int64_t>::max()) == "9223372036854775807");
  CHECK(written(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}

TEST_CASE("error writes values as Python writes tuples") {
  CHECK(written(axis_values{}) == "()");
  CHECK(written(axis_values{5}) == "(5,)");
  CHECK(written(axis_values{1, -8, 2}) == "(1, -8, 2)");
  CHECK(written(axis_values{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}) == "(1, 1, 1, 1, 1, 1, 1, 1, 1, ...)");
  CHECK(written(spatial_values(3)) == "3");
  CHECK(written(spatial_values{3}) == "(3,)");
  CHECK(written(spatial_values{3, 4}) == "(3, 4)");
}

TEST_CASE("error cuts a long message and keeps it null-terminated") {
  error why;
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    why << i << "; ";
    text += std::to_string(i) + "; ";
  }
  const std::string cut = why.message();
  CHECK(cut.size() > 500);
  CHECK(cut.size() < text.size());
  CHECK(cut == text.substr(0, cut.size()));
}

TEST_CASE("result gives its value or throws its message") {
  CHECK(half(8).value() == 4);
  CHECK_THROWS_WITH_AS((void)half(9).value(), "value must be even, got 9", std::invalid_argument);
  const result<axis_values> values = axis_values{1, 2, 3};
  CHECK(values->size() == 3);
  const result<axis_values> copy = values;
  CHECK(*copy == axis_values{1, 2, 3});
}

TEST_CASE("status is a success or an error") {
  CHECK(status(success{}));
  const status refused = error("no");
  CHECK_FALSE(refused);
  CHECK(std::strcmp(refused.why().message(), "no") == 0);
}

}  // namespace
}  // namespace reblock
