// SPDX-License-Identifier: BSD-3-Clause
#include "thread_pool.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif

#include "processors.hpp"

namespace reblock::inline REBLOCK_NAMESPACE {

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a process has one, made when it is needed
std::atomic<thread_pool*> the_pool{nullptr};

/// Waits for a moment, awake: a thread that sleeps takes as long to wake as it takes to copy a megabyte, and
/// calls often follow each other closely.
template <class Condition>
void wait_awake(Condition&& holds) {
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + std::chrono::microseconds(50);
  while (!holds() && clock::now() < end) std::this_thread::yield();
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): each thread tells what it is
thread_local bool is_worker = false;

/// A child has none of its parent's threads, and whatever state they held their locks in: it forgets them.
void forget_pool_in_children() {
#if __has_include(<pthread.h>)
  pthread_atfork(nullptr, nullptr, [] {
    the_pool = nullptr;
    is_worker = false;
  });
#endif
}

}  // namespace

thread_pool& thread_pool::instance() {
  static const bool once = (forget_pool_in_children(), true);
  static_cast<void>(once);
  thread_pool* pool = the_pool;
  if (pool == nullptr) {
    auto* fresh = new thread_pool;  // lives as long as the process
    if (the_pool.compare_exchange_strong(pool, fresh)) {
      pool = fresh;
    } else {
      delete fresh;
    }
  }
  return *pool;
}

void thread_pool::run(std::size_t threads, std::size_t n, void (*task)(void*, std::size_t),
                      void* context) noexcept {
  std::unique_lock caller(caller_, std::defer_lock);
  if (is_worker || !caller.try_lock()) {
    for (std::size_t i = 0; i < n; ++i) task(context, i);
    return;
  }
  const std::size_t helpers = std::min({threads, n, most_threads}) - 1;
  {
    const std::scoped_lock lock(mutex_);
    start_workers(helpers);
    task_ = task;
    context_ = context;
    count_ = n;
    next_ = 0;
    wanted_ = std::min(helpers, workers_);
  }
  for (std::size_t i = 0; i < helpers; ++i) wake_.notify_one();
  // A task of this call may call again: it would find its own lock, which is not for it to try.
  is_worker = true;
  take_tasks();
  is_worker = false;
  {
    const std::scoped_lock lock(mutex_);
    wanted_ = 0;
  }
  wait_awake([this] { return active_ == 0; });
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return active_ == 0; });
}

void thread_pool::start_workers(std::size_t count) noexcept {
  try {
    for (; workers_ < count; ++workers_) std::thread([this] { work(); }).detach();
    // NOLINTNEXTLINE(bugprone-empty-catch): no more threads are to be had, those that are there do it
  } catch (const std::system_error&) {
  }
}

void thread_pool::work() noexcept {
  is_worker = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    lock.unlock();
    wait_awake([this] { return wanted_ > 0; });
    lock.lock();
    wake_.wait(lock, [this] { return wanted_ > 0; });
    --wanted_;
    ++active_;
    lock.unlock();
    take_tasks();
    lock.lock();
    if (--active_ == 0) idle_.notify_one();
  }
}

void thread_pool::take_tasks() noexcept {
  for (std::size_t i = next_++; i < count_; i = next_++) task_(context_, i);
}

threads_at_start threads_at_start::find() {
  const auto at_most = [](std::size_t count) { return std::min(count, thread_pool::most_threads); };
  const char* wanted = std::getenv(variable);
  if (wanted != nullptr && *wanted != '\0') {
    char* end = nullptr;
    const long count = std::strtol(wanted, &end, 10);
    if (*end == '\0' && count >= 1) return {at_most(static_cast<std::size_t>(count)), nullptr};
    return {at_most(usable_processors()), wanted};
  }
  return {at_most(usable_processors()), nullptr};
}

}  // namespace reblock::inline REBLOCK_NAMESPACE
