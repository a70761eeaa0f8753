// SPDX-License-Identifier: BSD-3-Clause
//
// An any_plan is the head of a plan of any kind, with the function that runs it.
#pragma once

#include <cstddef>
#include <type_traits>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

struct run_request;  // see chunks.hpp

/// An any_plan is the head of a plan of any kind. The plan follows it, so a program compiles only the kinds that it plans.
struct alignas(8) any_plan {
  void (*run)(const any_plan&, const run_request&) noexcept;
  std::size_t bytes;  ///< of the head and the plan

  const void* plan() const noexcept { return this + 1; }
};
static_assert(std::is_trivially_copyable_v<any_plan>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
