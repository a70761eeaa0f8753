// SPDX-License-Identifier: BSD-3-Clause
//
// What depends on the compiler, in one file. It defines no macro.
#pragma once

#if defined(__cpp_exceptions)
#include <stdexcept>
#else
#include <cstdio>
#include <cstdlib>
#endif

namespace reblock::detail {

/// How an error leaves a call that returns no status: std::invalid_argument, or, where exceptions are
/// switched off, the message on stderr and std::abort().
[[noreturn]] inline void fail(const char* message) {
#if defined(__cpp_exceptions)
  throw std::invalid_argument(message);
#else
  std::fprintf(stderr, "reblock: %s\n", message);
  std::abort();
#endif
}

}  // namespace reblock::detail
