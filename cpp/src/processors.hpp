// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// How many threads this process can run at once: the processors that its affinity leaves it, and no more
/// than the CPU time that its control groups (version 1 or 2) give it, rounded up. At least 1.
std::size_t usable_processors();

}  // namespace reblock::inline REBLOCK_NAMESPACE
