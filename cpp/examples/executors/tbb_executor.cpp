// SPDX-License-Identifier: BSD-3-Clause
//
// A program that has a thread pool already, oneTBB's, and lets it run the chunks.
#include <cstddef>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "compare.hpp"

namespace {

class tbb_executor {
 public:
  explicit tbb_executor(tbb::task_arena& arena) : arena_(&arena) {}

  std::size_t concurrency() const { return static_cast<std::size_t>(arena_->max_concurrency()); }

  template <class F>
  void run(std::size_t n, F&& chunk) const {
    arena_->execute([&] { tbb::parallel_for(std::size_t{0}, n, chunk); });
  }

 private:
  tbb::task_arena* arena_;
};

}  // namespace

int main() {
  tbb::task_arena arena(4);
  return changes_nothing("oneTBB", tbb_executor(arena)) ? 0 : 1;
}
