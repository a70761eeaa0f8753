// SPDX-License-Identifier: BSD-3-Clause
//
// The leaves alone, in the first-level cache and beyond it, beside a memcpy of the same bytes. Each checks what
// it moves against a loop over elements before it is timed.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/plan.hpp>
#include <reblock/detail/summation.hpp>
#include <reblock/detail/traversal.hpp>

namespace {

using namespace reblock::detail;

constexpr std::int64_t output_bytes[] = {std::int64_t{16} << 10, std::int64_t{256} << 10};

/// Some memory whose bytes differ from their neighbours.
std::vector<std::byte> draw_bytes(std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

/// The layout's moves, one by one: what a plan has to do.
void move_elements_of(const layout& l, std::int64_t size, const std::byte* source, std::byte* destination,
                      std::size_t axis = 0) {
  if (axis == l.rank) {
    std::memcpy(destination, source, static_cast<std::size_t>(size));
    return;
  }
  const layout_axis& a = l.axes[axis];
  for (std::int64_t i = 0; i < a.extent; ++i) {
    move_elements_of(l, size, source + i * a.source_stride, destination + i * a.destination_stride, axis + 1);
  }
}

/// Times the plan of a layout that has no gaps on either side.
void time_plan(benchmark::State& state, const layout& l, std::int64_t size, instruction_set set) {
  const std::int64_t bytes = total_bytes(l, size);
  const std::vector<std::byte> source = draw_bytes(bytes);
  std::vector<std::byte> expected(source.size());
  std::vector<std::byte> result(source.size());
  move_elements_of(l, size, source.data(), expected.data());
  const plan p = plan_moves(l, size, nullptr, set);
  traversal<fill_outside>(p, source.data(), result.data()).run();
  if (result != expected) return state.SkipWithError("wrong");
  for (auto _ : state) {
    traversal<fill_outside>(p, source.data(), result.data()).run();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

void time_copy(benchmark::State& state, std::int64_t bytes) {
  const std::vector<std::byte> source = draw_bytes(bytes);
  std::vector<std::byte> result(source.size());
  for (auto _ : state) {
    std::memcpy(result.data(), source.data(), source.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

/// Adds a run of terms of type T to as many sums.
template <class T>
void time_accumulate(benchmark::State& state, std::int64_t bytes) {
  using sum = typename sum_traits<T>::accumulator;
  constexpr std::int64_t size{sizeof(T)};
  const std::int64_t count = bytes / size;
  const std::vector<std::byte> terms(static_cast<std::size_t>(bytes));  // zeros, so that sums stay in range
  std::vector<sum> sums(static_cast<std::size_t>(count), sum{1});
  tile t;
  t.inner = {count, size, sizeof(sum)};
  t.element_size = sizeof(T);
  const leaf_function add = summation_of<T>().accumulate;
  auto* destination = reinterpret_cast<std::byte*>(sums.data());
  for (auto _ : state) {
    add(t, terms.data(), destination);
    benchmark::ClobberMemory();
  }
  for (const sum& value : sums) {
    if (value != sum{1}) return state.SkipWithError("wrong");
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

/// `streams` rows of `length` elements each, interleaved, again and again; or the way back.
layout of_streams(std::int64_t streams, std::int64_t length, std::int64_t size, std::int64_t bytes,
                  bool separate) {
  layout l;
  const std::int64_t group = streams * length * size;
  l.source_is_dense = true;
  l.add({bytes / group, group, group});
  l.add({length, size, streams * size});
  l.add({streams, length * size, size});
  if (separate) l.swap_sides();
  return l;
}

template <class Run>
void add(const std::string& name, std::int64_t bytes, Run run) {
  benchmark::RegisterBenchmark((name + "/" + std::to_string(bytes >> 10) + "KiB").c_str(),
                               [run, bytes](benchmark::State& state) { run(state, bytes); });
}

void add_all() {
  for (const std::int64_t bytes : output_bytes) {
    add("copy", bytes, time_copy);
    for (const std::int64_t size : {1, 2, 4, 8, 16}) {
      for (const std::int64_t streams : {2, 3, 4, 5, 8, 16}) {
        for (const std::int64_t length : {7, 28, 112}) {
          for (const bool separate : {false, true}) {
            for (const instruction_set set :
                 {instruction_set::baseline, instruction_set::lookup16, instruction_set::lookup32}) {
              if (set > usable_instruction_set() || streams * length * size > bytes) continue;
              const layout l = of_streams(streams, length, size, bytes, separate);
              // only where it is a pattern does the instruction set matter
              if (set != instruction_set::baseline && !plan_moves(l, size, nullptr, set).repeats()) continue;
              add(std::string(separate ? "separate" : "interleave") + "/" + std::string(name_of(set)) +
                      "/size:" + std::to_string(size) + "/streams:" + std::to_string(streams) +
                      "/length:" + std::to_string(length),
                  bytes,
                  [l, size, set](benchmark::State& state, std::int64_t) { time_plan(state, l, size, set); });
            }
          }
        }
      }
    }
    add("accumulate/uint8", bytes, time_accumulate<std::uint8_t>);
    add("accumulate/float32", bytes, time_accumulate<float>);
    add("accumulate/float64", bytes, time_accumulate<double>);
    add("accumulate/float16", bytes, time_accumulate<reblock::float16>);
    add("accumulate/bfloat16", bytes, time_accumulate<reblock::bfloat16>);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_all();
  benchmark::RunSpecifiedBenchmarks();
}
