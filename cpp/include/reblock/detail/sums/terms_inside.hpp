// SPDX-License-Identifier: BSD-3-Clause
//
// terms_inside counts the terms of fold along an axis that go into the image.
#pragma once

#include <algorithm>
#include <cstdint>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Indices u and v, of windows and of offsets, belong to the position u * outer_step + v * inner_step - padding. Of many
/// outer indices it counts some.
[[gnu::noinline]] constexpr double terms_inside(std::int64_t outer, std::int64_t outer_step,
                                                std::int64_t inner, std::int64_t inner_step,
                                                std::int64_t padding, std::int64_t extent) noexcept {
  constexpr std::int64_t most_counted = 32;
  const std::int64_t every = ceil_divide(std::max<std::int64_t>(outer, 1), most_counted);
  double inside = 0;
  double counted = 0;
  for (std::int64_t u = every / 2; u < outer; u += every, ++counted) {
    const std::int64_t first = wrapping_subtract(wrapping_multiply(u, outer_step), padding);
    const auto [begin, end] =
        indices_between(wrapping_negate(first), wrapping_subtract(extent, first), inner_step, inner);
    inside += static_cast<double>(end - begin);
  }
  return counted == 0 ? 0 : inside * (static_cast<double>(outer) / counted);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
