// SPDX-License-Identifier: BSD-3-Clause
//
// A cheapest_way holds the cheapest of some ways to move a layout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A cheapest_way is trivially copyable.
template <class... Ways>
class cheapest_way {
 public:
  /// The estimated cycles.
  double cost() const noexcept { return cost_; }

  /// Calls `visit` with the way that moves.
  template <class Visit>
  void visit(const Visit& visit) const {
    std::size_t index = 0;
    ((holds_ == index++ ? visit(*std::launder(reinterpret_cast<const Ways*>(held_))) : void()), ...);
  }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    visit([&](const auto& way) { way.run(source, destination); });
  }

 protected:
  /// Takes a new way, whose cost is still unknown.
  template <class Way, class... Arguments>
  Way& hold(const Arguments&... arguments) noexcept {
    std::size_t index = 0;
    ((std::is_same_v<Way, Ways> ? void(holds_ = index) : void(++index)), ...);
    return *new (held_) Way(arguments...);
  }

  /// Takes a way if it is the cheapest so far. Returns whether it is.
  template <class Way>
  bool take(const Way& way, double cost) noexcept {
    if (cost >= cost_) return false;
    hold<Way>(way);
    cost_ = cost;
    return true;
  }
  /// Plans a way and takes it if it is the cheapest. It is not inlined, because a way needs much stack.
  template <class Way, class... Arguments>
  [[gnu::noinline]] bool offer(const Arguments&... arguments) noexcept {
    Way way;
    return take(way, way.plan(arguments...));
  }

  double cost_ = never;

 private:
  static_assert((std::is_trivially_copyable_v<Ways> && ...));

  std::size_t holds_ = sizeof...(Ways);  ///< the number of a way
  alignas(Ways...) std::byte held_[std::max({sizeof(Ways)...})];
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
