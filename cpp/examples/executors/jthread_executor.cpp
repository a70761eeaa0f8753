// SPDX-License-Identifier: BSD-3-Clause
//
// The smallest executor with threads: each chunk of a call gets a std::jthread, all but the first, which
// the calling thread runs itself. The destructors join.
#include <cstddef>
#include <thread>
#include <vector>

#include "compare.hpp"

namespace {

class jthread_executor {
 public:
  explicit jthread_executor(std::size_t threads) : threads_(threads) {}

  std::size_t concurrency() const { return threads_; }

  template <class F>
  void run(std::size_t n, F&& chunk) const {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < n; ++i) others.emplace_back([&chunk, i] { chunk(i); });
    if (n != 0) chunk(std::size_t{0});
  }

 private:
  std::size_t threads_;
};

}  // namespace

int main() { return changes_nothing("std::jthread", jthread_executor(4)) ? 0 : 1; }
