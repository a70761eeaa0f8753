// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/executor.hpp>

#include "executors.hpp"

namespace reblock {
namespace {

struct only_concurrency {
  std::size_t concurrency() { return 1; }
};

static_assert(executor<serial_executor> && executor<const serial_executor>);
static_assert(executor<test::thread_executor> && executor<test::backward_executor>);
static_assert(!executor<int> && !executor<only_concurrency>);
static_assert(!executor<const test::backward_executor>);  // its run() is not const

TEST_CASE("the serial executor runs every chunk once, in order") {
  for (std::size_t n = 0; n < 5; ++n) {
    std::vector<std::size_t> chunks;
    serial_executor{}.run(n, [&](std::size_t chunk) { chunks.push_back(chunk); });
    REQUIRE(chunks.size() == n);
    for (std::size_t i = 0; i < n; ++i) CHECK(chunks[i] == i);
  }
  CHECK(serial_executor{}.concurrency() == 1);
}

}  // namespace
}  // namespace reblock
