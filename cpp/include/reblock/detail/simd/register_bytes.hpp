// SPDX-License-Identifier: BSD-3-Clause
//
// These are registers of 16 bytes, in the compiler's words.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/rounded.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

// 32-bit x86 may not have registers of 16 bytes
#if defined(__GNUC__) && (!defined(__i386__) || defined(__SSE2__))
#include <reblock/detail/simd/gnu_registers.inc>
#elif defined(_MSC_VER) && defined(_M_X64)
#include <reblock/detail/simd/sse2_registers.inc>
#else
#include <reblock/detail/simd/plain_registers.inc>
#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
