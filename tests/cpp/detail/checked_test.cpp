// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

#include <doctest/doctest.h>

#include <reblock/detail/checked.hpp>

#include "../draw.hpp"

namespace reblock {
namespace {

using namespace detail;

using test::largest;
using test::smallest;

static_assert((checked_size(6) * 7).value() == 42 && !(checked_size(6) * 7).overflow());
static_assert((checked_size(6) + 7).value() == 13);
static_assert(product({2, 3, 4}).value() == 24 && product({}).value() == 1);

TEST_CASE("checked sizes reach the largest value and no further") {
  CHECK((checked_size(largest / 2) * 2 + 1).value() == largest);
  CHECK_FALSE((checked_size(largest / 2) * 2 + 1).overflow());
  CHECK((checked_size(largest / 2 + 1) * 2).overflow());
  CHECK((checked_size(largest - 5) + 5).value() == largest);
  CHECK((checked_size(largest - 5) + 6).overflow());
  CHECK((checked_size(std::int64_t{1} << 32) * (std::int64_t{1} << 31)).overflow());
}

TEST_CASE("an overflow is not forgotten") {
  const checked_size overflowed = checked_size(largest) * 2;
  CHECK((overflowed * 0).overflow());
  CHECK((checked_size(0) * overflowed).overflow());
  CHECK((overflowed + 1).overflow());
  CHECK((checked_size(1) + overflowed).overflow());
  CHECK(product({largest, 2}).overflow());
  CHECK_FALSE((product({largest, 2, 0}).overflow() || product({0, largest, 2}).overflow()));
}

TEST_CASE("wrapping arithmetic is modulo 2^64") {
  CHECK(wrapping_add(largest, 1) == smallest);
  CHECK(wrapping_add(smallest, -1) == largest);
  CHECK(wrapping_multiply(largest, 2) == -2);
  CHECK(wrapping_multiply(-3, 5) == -15);
  CHECK(wrapping_negate(smallest) == smallest);
  CHECK(wrapping_negate(7) == -7);
}

TEST_CASE("floor_divide rounds down and ceil_divide up") {
  for (std::int64_t b = 1; b <= 5; ++b) {
    for (std::int64_t a = -12; a <= 12; ++a) {
      const std::int64_t quotient = floor_divide(a, b);
      CHECK(quotient * b <= a);
      CHECK((quotient + 1) * b > a);
      CHECK(ceil_divide(a, b) == (quotient * b == a ? quotient : quotient + 1));
    }
  }
  CHECK(floor_divide(smallest, 1) == smallest);
  CHECK(floor_divide(smallest, largest) == -2);
  CHECK(ceil_divide(smallest, largest) == -1);
  CHECK(ceil_divide(2, largest) == 1);
}

}  // namespace
}  // namespace reblock
