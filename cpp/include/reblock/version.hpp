// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// This is the version of the library. CMake and pyproject.toml read this line.
[[gnu::visibility("hidden")]] inline constexpr char version[] = "0.1.0";

}  // namespace reblock::inline REBLOCK_NAMESPACE
