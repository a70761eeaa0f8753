// SPDX-License-Identifier: BSD-3-Clause
//
// One of two translation units that include everything: see linkage.hpp.
#include "linkage.hpp"

#include <string>

#include <doctest/doctest.h>

namespace reblock {
namespace {

TEST_CASE("two translation units share the library's functions and constants") {
  const test::addresses here = test::addresses_here();
  const test::addresses there = test::addresses_there();
  CHECK((here.compile == there.compile));
  CHECK((here.total_size == there.total_size));
  CHECK(static_cast<const void*>(here.version) == static_cast<const void*>(there.version));
}

TEST_CASE("the version is the project's") { CHECK(std::string(version) == REBLOCK_PROJECT_VERSION); }

}  // namespace
}  // namespace reblock
