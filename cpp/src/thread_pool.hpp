// SPDX-License-Identifier: BSD-3-Clause
//
// The threads of this process: an executor (reblock/executor.hpp) over a few workers that wait for work. The Python
// module and the C library compile it; it is not installed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// Bytes that one thread moves while another one wakes: fewer are not worth a second thread. (On two cores a
/// depth_to_space of 1 MiB took as long with two threads as with one, one of 4 MiB little more than half.)
inline constexpr std::ptrdiff_t worth_waking = std::ptrdiff_t{1} << 20;

/// Workers are started when first needed and never joined: the pool outlives everything, and a process may
/// end while they wait. A forked child begins with no pool.
class thread_pool {
 public:
  static constexpr std::size_t most_threads = 256;

  static thread_pool& instance();

  /// Calls task(context, i) for all i < n, on this thread and up to `threads` - 1 workers; returns when all
  /// have returned. Where the workers have other work, or this is a worker, all on this thread: calls never
  /// wait for each other. `task` must not throw.
  void run(std::size_t threads, std::size_t n, void (*task)(void*, std::size_t), void* context) noexcept;

 private:
  thread_pool() = default;

  void start_workers(std::size_t count) noexcept;
  void work() noexcept;
  void take_tasks() noexcept;

  std::mutex caller_;  ///< held by the call that has the workers

  std::mutex mutex_;  ///< for what follows
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::size_t workers_ = 0;              ///< that were started
  std::atomic<std::size_t> wanted_ = 0;  ///< that may still join the current call
  std::atomic<std::size_t> active_ = 0;  ///< that have joined it and have not left

  // written by the caller while no worker is active
  void (*task_)(void*, std::size_t) = nullptr;
  void* context_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
};

/// How many threads a call may use if it gives no number: what the environment variable REBLOCK_NUM_THREADS says, else
/// usable_processors().
struct threads_at_start {
  static constexpr const char* variable = "REBLOCK_NUM_THREADS";

  std::size_t count;    ///< 1 to thread_pool::most_threads
  const char* ignored;  ///< what the variable says where that is no integer from 1 on, else nullptr

  static threads_at_start find();
};

/// The pool, for a call that may use `threads` threads.
class pool_executor {
 public:
  explicit pool_executor(std::size_t threads) : threads_(threads) {}

  /// Several chunks for each thread: whoever is done first, or has a core of its own, takes more of them.
  std::size_t concurrency() const noexcept { return threads_ == 1 ? 1 : 4 * threads_; }

  template <class F>
  void run(std::size_t n, F&& chunk) const {
    if (threads_ == 1 || n == 1) {
      for (std::size_t i = 0; i < n; ++i) chunk(i);
      return;
    }
    thread_pool::instance().run(
        threads_, n, [](void* context, std::size_t i) { (*static_cast<F*>(context))(i); }, &chunk);
  }

 private:
  std::size_t threads_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE
