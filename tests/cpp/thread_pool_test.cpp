// SPDX-License-Identifier: BSD-3-Clause
//
// The pool of the Python module and the C library, here where a sanitizer for threads can watch it.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#if __has_include(<unistd.h>)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <doctest/doctest.h>

#include <reblock/executor.hpp>

#include "thread_pool.hpp"

namespace reblock {
namespace {

static_assert(executor<pool_executor>);

/// Whether each of `n` tasks runs exactly once.
bool runs_each_once(std::size_t threads, std::size_t n) {
  std::vector<std::atomic<int>> counts(n);
  pool_executor(threads).run(n, [&](std::size_t i) { ++counts[i]; });
  return std::ranges::all_of(counts, [](const std::atomic<int>& count) { return count == 1; });
}

TEST_CASE("each task runs once, for any number of threads and tasks") {
  for (const std::size_t threads : {1u, 2u, 3u, 8u, 1000u}) {
    for (const std::size_t n : {1u, 2u, 3u, 7u, 64u, 1000u}) CHECK(runs_each_once(threads, n));
  }
}

TEST_CASE("many small calls") {
  bool all = true;
  for (int i = 0; i < 2000; ++i) all = all && runs_each_once(4, 5);
  CHECK(all);
}

TEST_CASE("calls from several threads at once do not wait for each other") {
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 100; ++k) failures += runs_each_once(3, 17) ? 0 : 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(failures == 0);
}

TEST_CASE("a task may call the pool") {
  std::atomic<int> failures{0};
  pool_executor(4).run(16, [&](std::size_t) { failures += runs_each_once(4, 9) ? 0 : 1; });
  CHECK(failures == 0);
}

#if __has_include(<unistd.h>) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a forked child has a pool of its own") {
  REQUIRE(runs_each_once(4, 64));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(runs_each_once(4, 64) ? 0 : 1);
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(runs_each_once(4, 64));
}
#endif

}  // namespace
}  // namespace reblock
