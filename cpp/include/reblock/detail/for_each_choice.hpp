// SPDX-License-Identifier: BSD-3-Clause
//
// for_each_choice() visits all combinations of indices.
#pragma once

#include <cstddef>
#include <cstdint>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Calls `visit` with each choice of an index below `counts[d]` for every axis d.
template <class Visit>
void for_each_choice(const axis_values& counts, Visit&& visit) {
  axis_values chosen = axis_values::repeat(counts.size(), 0);
  for (const std::int64_t count : counts) {
    if (count == 0) return;
  }
  for (;;) {
    visit(chosen);
    std::size_t d = counts.size();
    while (d > 0 && ++chosen[d - 1] == counts[d - 1]) chosen[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
