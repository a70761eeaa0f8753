// SPDX-License-Identifier: BSD-3-Clause
//
// Loads the libraries that its arguments name, in their order, so that each sees what those before it export, and calls
// all of them from several threads in turn. The argument after a library is its function.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include <dlfcn.h>

int main(int count, char** arguments) {
  using function = bool (*)(std::int64_t);
  std::vector<function> functions;
  for (int i = 1; i + 1 < count; i += 2) {
    void* const library = dlopen(arguments[i], RTLD_NOW | RTLD_GLOBAL);
    void* const found = library == nullptr ? nullptr : dlsym(library, arguments[i + 1]);
    if (found == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    functions.push_back(reinterpret_cast<function>(found));
  }
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        for (std::int64_t side = 5; side < 10; ++side) {  // more tables than a thread keeps
          for (const function call : functions) {
            if (!call((side + t) % 5 + 5)) ++failures;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d failures\n", failures.load());
  return failures == 0 && !functions.empty() ? 0 : 1;
}
