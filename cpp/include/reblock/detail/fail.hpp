// SPDX-License-Identifier: BSD-3-Clause
//
// fail() ends a call that has an error and returns no status.
#pragma once

#if defined(__cpp_exceptions)
#include <stdexcept>
#else
#include <cstdio>
#include <cstdlib>
#endif

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Throws std::invalid_argument. Without exceptions it prints the message and aborts.
[[noreturn]] inline void fail(const char* message) {
#if defined(__cpp_exceptions)
  throw std::invalid_argument(message);
#else
  std::fprintf(stderr, "reblock: %s\n", message);
  std::abort();
#endif
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
