// SPDX-License-Identifier: BSD-3-Clause
//
// rounded() rounds a result where the compiler may keep more digits.
#pragma once

#include <cfloat>
#include <type_traits>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Rounds `value` to its type. x87's registers have more digits, and the compiler chooses when to round them.
template <class T>
T rounded(T value) noexcept {
  if constexpr (std::is_floating_point_v<T> && FLT_EVAL_METHOD != 0) {
    volatile T stored = value;
    return stored;
  } else {
    return value;
  }
}

/// Rounds a number that may have more digits than its type. Lanes have none.
template <class V>
[[gnu::always_inline]] inline void round_one(V& value) noexcept {
  if constexpr (std::is_floating_point_v<V>) value = rounded(value);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
