// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include <reblock/feature_level.hpp>

namespace reblock {
namespace {

TEST_CASE("a feature level is named by the digits of its value") {
  int levels = 0;
  for (std::uint32_t value = 0; value <= 0x7000; ++value) {
    const char* const text = name(static_cast<feature_level>(value));
    if (text == nullptr) continue;
    ++levels;
    CHECK(std::string(text) ==
          "LEVEL_" + std::to_string(value >> 12) + "_" + std::to_string(value >> 8 & 0xf));
    CHECK((value & 0xff) == 0);
  }
  CHECK(levels == 15);
}

TEST_CASE("feature levels have the values of DirectML") {
  CHECK(static_cast<std::uint32_t>(feature_level::level_1_0) == 0x1000);
  CHECK(static_cast<std::uint32_t>(feature_level::level_2_1) == 0x2100);
  CHECK(static_cast<std::uint32_t>(feature_level::level_5_2) == 0x5200);
  CHECK(static_cast<std::uint32_t>(feature_level::level_6_4) == 0x6400);
  CHECK(name(static_cast<feature_level>(0x2200)) == nullptr);
}

}  // namespace
}  // namespace reblock
