// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <cstddef>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// An executor runs the independent chunks of an operator. To use your own thread pool, write a type with
///
///     std::size_t concurrency();              // how many chunks can run at once, at least 1
///     void run(std::size_t n, F chunk);       // calls chunk(0) ... chunk(n - 1), each once, in any
///                                             // order and on any thread; returns when all returned
///
/// where F is any callable type. The chunks do not throw and write to disjoint memory. The result does not depend on
/// their number or order. When run() returns, the calling thread must see everything that the chunks wrote. If arguments
/// are refused, neither function is called. If there is nothing to do, run() is not called. Exceptions of both functions
/// leave the call of the operator; if run() throws, the output may be written in part. If several threads share an
/// executor, it must be safe for use by several threads.
template <class E>
concept executor = requires(E& e, std::size_t n, void (*chunk)(std::size_t)) {
  { e.concurrency() } -> std::convertible_to<std::size_t>;
  e.run(n, chunk);
};

/// The default executor runs everything on the calling thread.
struct serial_executor {
  constexpr std::size_t concurrency() const noexcept { return 1; }

  template <class F>
  constexpr void run(std::size_t n, F&& chunk) const {
    for (std::size_t i = 0; i < n; ++i) chunk(i);
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE
