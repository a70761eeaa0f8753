// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// A feature level says what a version of DirectML can do. Names and values are those of DML_FEATURE_LEVEL. Each level
/// includes the levels before it.
enum class feature_level : std::uint32_t {
  level_1_0 = 0x1000,
  level_2_0 = 0x2000,
  level_2_1 = 0x2100,
  level_3_0 = 0x3000,
  level_3_1 = 0x3100,
  level_4_0 = 0x4000,
  level_4_1 = 0x4100,
  level_5_0 = 0x5000,
  level_5_1 = 0x5100,
  level_5_2 = 0x5200,
  level_6_0 = 0x6000,
  level_6_1 = 0x6100,
  level_6_2 = 0x6200,
  level_6_3 = 0x6300,
  level_6_4 = 0x6400,
};

/// Returns DirectML's name without its prefix, for example "LEVEL_2_1", or nullptr for a value that is no level.
constexpr const char* name(feature_level level) noexcept {
  switch (level) {
    case feature_level::level_1_0: return "LEVEL_1_0";
    case feature_level::level_2_0: return "LEVEL_2_0";
    case feature_level::level_2_1: return "LEVEL_2_1";
    case feature_level::level_3_0: return "LEVEL_3_0";
    case feature_level::level_3_1: return "LEVEL_3_1";
    case feature_level::level_4_0: return "LEVEL_4_0";
    case feature_level::level_4_1: return "LEVEL_4_1";
    case feature_level::level_5_0: return "LEVEL_5_0";
    case feature_level::level_5_1: return "LEVEL_5_1";
    case feature_level::level_5_2: return "LEVEL_5_2";
    case feature_level::level_6_0: return "LEVEL_6_0";
    case feature_level::level_6_1: return "LEVEL_6_1";
    case feature_level::level_6_2: return "LEVEL_6_2";
    case feature_level::level_6_3: return "LEVEL_6_3";
    case feature_level::level_6_4: return "LEVEL_6_4";
  }
  return nullptr;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE
