// SPDX-License-Identifier: BSD-3-Clause
//
// This header makes plans of any kind in the bytes of an operation.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include <reblock/detail/any_plan.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/run_plan.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Makes a Plan from the arguments in `room`, which has the bytes of an operation.
template <class Plan, class... Arguments>
const Plan& place(void* room, const Arguments&... arguments) noexcept {
  constexpr std::size_t bytes = sizeof(any_plan) + sizeof(Plan);
  static_assert(std::is_trivially_copyable_v<Plan> && bytes <= operation::plan_bytes &&
                alignof(Plan) <= alignof(any_plan));
  const auto run = [](const any_plan& self, const run_request& how) noexcept {
    run_planned(*std::launder(static_cast<const Plan*>(self.plan())), how);
  };
  auto* head = new (room) any_plan{run, bytes};
  return *new (head + 1) Plan{arguments...};
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
