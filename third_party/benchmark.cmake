# SPDX-License-Identifier: BSD-3-Clause
#
# Google Benchmark, which times the leaves. Apache-2.0 licence. Used by bench/cpp alone, never by what is
# installed. Debian has it as libbenchmark-dev.
find_package(benchmark 1.7 QUIET CONFIG)
if(NOT TARGET benchmark::benchmark)
  include(FetchContent)
  FetchContent_Declare(
    benchmark
    GIT_REPOSITORY https://github.com/google/benchmark.git
    GIT_TAG 344117638c8ff7e239044fd0fa7085839fc03021 # v1.8.3
    SYSTEM
  )
  set(BENCHMARK_ENABLE_TESTING OFF)
  set(BENCHMARK_ENABLE_INSTALL OFF)
  FetchContent_MakeAvailable(benchmark)
endif()
