// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstddef>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// What runs the independent chunks of an operator. Bring your own thread pool by a type with
///
///     std::size_t concurrency();              // how many chunks can run at once, at least 1
///     void run(std::size_t n, F chunk);       // calls chunk(0) ... chunk(n - 1), each once, in any
///                                             // order and on any thread; returns when all returned
///
/// where F is any callable type. The chunks do not throw and write to disjoint memory; the result
/// does not depend on their number or order. Before run() returns, what the chunks wrote must be visible
/// to the calling thread. Neither function is called where the arguments are refused, and run() not where
/// there is nothing to do. What they throw leaves the call that was given the executor; if run() throws
/// then the output may be written in part. Where several threads share an executor, it has to be made for that.
template <class E>
concept executor = requires(E& e, std::size_t n, void (*chunk)(std::size_t)) {
  { e.concurrency() } -> std::convertible_to<std::size_t>;
  e.run(n, chunk);
};

/// Runs everything on the calling thread: the default.
struct serial_executor {
  constexpr std::size_t concurrency() const noexcept { return 1; }

  template <class F>
  constexpr void run(std::size_t n, F&& chunk) const {
    for (std::size_t i = 0; i < n; ++i) chunk(i);
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE
