// SPDX-License-Identifier: BSD-3-Clause
//
// Executors that show what must not matter.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

namespace reblock::test {

/// Runs every chunk on a thread of its own.
struct thread_executor {
  std::size_t threads = 1;

  std::size_t concurrency() const { return threads; }

  template <class F>
  void run(std::size_t n, F&& chunk) const {
    std::vector<std::thread> running;
    for (std::size_t i = 0; i < n; ++i) running.emplace_back([&chunk, i] { chunk(i); });
    for (std::thread& thread : running) thread.join();
  }
};

/// Runs the last chunk first and counts the chunks.
struct backward_executor {
  std::size_t limit = 1;
  std::size_t chunks = 0;

  std::size_t concurrency() const { return limit; }

  template <class F>
  void run(std::size_t n, F&& chunk) {
    chunks += n;
    while (n-- > 0) chunk(n);
  }
};

}  // namespace reblock::test
