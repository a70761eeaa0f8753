// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace reblock::test {

/// The calls of the global operator new so far, which this program replaces.
std::size_t allocations() noexcept;

}  // namespace reblock::test
