// SPDX-License-Identifier: BSD-3-Clause
//
// Plans with the engine's own movers.
#pragma once

#include <cstdint>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/movers.hpp>
#include <reblock/detail/plan_moves.hpp>

namespace reblock::test {

inline detail::plan plan_of(const detail::layout& l, std::int64_t element_size,
                            detail::instruction_set set = detail::usable_instruction_set()) {
  return detail::plan_moves(l, element_size, engine::all_movers(), set);
}

}  // namespace reblock::test
