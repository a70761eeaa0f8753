// SPDX-License-Identifier: BSD-3-Clause
//
// A kept_plan keeps a small plan on the stack while it runs. Most of the bytes of an operation are for large plans, which
// have tables of moves. Small plans sum through large buffers, for which the stack then has room.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <new>

#include <reblock/detail/any_plan.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class kept_plan {
 public:
  /// Keeps the plan that `plan` makes in the bytes of an operation. A plan that is too large to keep runs at once: `run` gets
  /// its address.
  template <class Plan, class Run>
  [[gnu::noinline]] void make(const Plan& plan, const Run& run) noexcept {
    alignas(operation) std::byte room[sizeof(operation)];
    is_kept_ = false;
    if (!plan(room)) return;
    const std::size_t bytes = std::launder(reinterpret_cast<const any_plan*>(room))->bytes;
    is_kept_ = bytes <= room_.size();
    if (!is_kept_) return run(static_cast<const void*>(room));
    std::memcpy(room_.data(), room, bytes);
  }

  bool is_kept() const noexcept { return is_kept_; }
  /// Returns the address of the plan that is kept.
  const void* address() const noexcept { return room_.data(); }

 private:
  bool is_kept_ = false;
  alignas(any_plan) std::array<std::byte, 1536> room_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
