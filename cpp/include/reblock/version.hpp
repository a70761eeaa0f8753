// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// The version of the library: the one place that holds it. CMake and pyproject.toml read this line.
[[gnu::visibility("hidden")]] inline constexpr char version[] = "0.1.0";

}  // namespace reblock::inline REBLOCK_NAMESPACE
