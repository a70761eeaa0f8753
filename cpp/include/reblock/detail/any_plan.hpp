// SPDX-License-Identifier: BSD-3-Clause
//
// An any_plan holds a plan of any kind, and the function that runs it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/run_plan.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// An any_plan is the content of an operation: a plan of any kind, and the function that runs it. So a program compiles only
/// the kinds that it plans.
struct any_plan {
  /// Bytes. The pointer to the function takes as many, also where pointers have four bytes.
  static constexpr std::size_t alignment = 8;
  void (*run)(const any_plan&, const run_request&) noexcept;
  alignas(alignment) std::array<std::byte, operation::plan_bytes - alignment> content;
};
static_assert(std::is_trivially_copyable_v<any_plan> && sizeof(any_plan) == operation::plan_bytes);

/// Makes a Plan from the arguments in `room`, which has the bytes of an operation.
template <class Plan, class... Arguments>
const Plan& place(void* room, const Arguments&... arguments) noexcept {
  static_assert(std::is_trivially_copyable_v<Plan> && sizeof(Plan) <= sizeof(any_plan::content) &&
                alignof(Plan) <= any_plan::alignment);
  auto* placed = new (room) any_plan;
  placed->run = [](const any_plan& self, const run_request& how) noexcept {
    run_planned(*std::launder(reinterpret_cast<const Plan*>(self.content.data())), how);
  };
  return *new (placed->content.data()) Plan{arguments...};
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
