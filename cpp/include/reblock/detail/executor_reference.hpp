// SPDX-License-Identifier: BSD-3-Clause
//
// An executor_reference takes an executor of any type across the engine's boundary.
#pragma once

#include <cstddef>
#if defined(__cpp_exceptions)
#include <exception>
#endif

#include <reblock/detail/configuration.hpp>
#include <reblock/executor.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A chunk_function runs the chunk of an operation with this number.
using chunk_function = void (*)(const void* operation, std::size_t chunk);

/// An executor_reference is an executor whose functions do not throw.
struct executor_reference {
  void* executor;
  /// Returns at least 1, or 0 after an exception: then nothing is run.
  std::size_t (*concurrency)(void* executor);
  void (*run)(void* executor, std::size_t chunks, chunk_function chunk, const void* operation);
};

/// Keeps an executor's exception until the engine has returned: the engine may be a library without exceptions.
template <class Executor>
class held_executor {
  static_assert(executor<Executor>, "an executor needs concurrency() and run(): see reblock/executor.hpp");

 public:
  explicit held_executor(Executor& executor) noexcept : executor_(executor) {}

  executor_reference reference() noexcept { return {this, concurrency, run}; }

  /// Throws the executor's exception, if there is one.
  void rethrow() const {
#if defined(__cpp_exceptions)
    if (thrown_) std::rethrow_exception(thrown_);
#endif
  }

 private:
  static std::size_t concurrency(void* self) noexcept {
    std::size_t result = 0;
    static_cast<held_executor*>(self)->hold([&](Executor& executor) {
      const auto wanted = static_cast<std::size_t>(executor.concurrency());
      result = wanted == 0 ? 1 : wanted;
    });
    return result;
  }
  static void run(void* self, std::size_t chunks, chunk_function chunk, const void* operation) noexcept {
    static_cast<held_executor*>(self)->hold(
        [&](Executor& executor) { executor.run(chunks, [=](std::size_t i) { chunk(operation, i); }); });
  }

  template <class Call>
  void hold(Call call) noexcept {
#if defined(__cpp_exceptions)
    try {
      call(executor_);
    } catch (...) {
      thrown_ = std::current_exception();
    }
#else
    call(executor_);
#endif
  }

  Executor& executor_;
#if defined(__cpp_exceptions)
  std::exception_ptr thrown_;
#endif
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
