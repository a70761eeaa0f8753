// SPDX-License-Identifier: BSD-3-Clause
//
// in_wide_registers compiles a function for AVX2.
#pragma once

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Calls `Function`, which is inlined, with the instruction set avx2 where there is one. Its loops then use registers of 32
/// bytes. The results do not change: the set has no instruction that multiplies and adds at once.
template <auto Function>
struct in_wide_registers;
template <class... Arguments, void (*Function)(Arguments...)>
struct in_wide_registers<Function> {
#if defined(__GNUC__) && defined(__x86_64__)
  [[gnu::target("avx2")]]
#endif
  static void call(Arguments... arguments) {
    Function(arguments...);
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
