// SPDX-License-Identifier: BSD-3-Clause
//
// This header compiles the sums of rows once for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <reblock/detail/compiler.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// row_terms has the terms of each sum of a tile, in the order of addition. If they accumulate, a sum begins from the value
/// in its place, else from zero.
struct row_terms {
  std::span<const term> list;
  bool accumulates;
};

/// A row_sum sums the rows of a tile, which are contiguous on both sides.
using row_sum = void (*)(const tile&, const row_terms&, const std::byte* source, std::byte* destination);

#if defined(__GNUC__) && defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

namespace avx2 {
inline constexpr std::size_t width_of_sums = 32;
#include <reblock/detail/simd/row_sums.inc>
}  // namespace avx2

#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl")
#endif

namespace avx512 {
inline constexpr std::size_t width_of_sums = 64;
#include <reblock/detail/simd/row_sums.inc>
}  // namespace avx512

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

/// Returns the widest sums of this type, or null.
template <class T>
row_sum find_row_sum(instruction_set set) noexcept {
  if (set >= instruction_set::avx512) return avx512::sum_rows<T>;
  return set >= instruction_set::avx2 ? row_sum{avx2::sum_rows<T>} : nullptr;
}

#else

template <class T>
row_sum find_row_sum(instruction_set) noexcept {
  return nullptr;
}

#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
