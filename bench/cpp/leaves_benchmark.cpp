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
#include <reblock/detail/plan_moves.hpp>
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
  const plan p = plan_moves(l, size, engine::all_movers(), nullptr, set);
  traversal(p, source.data(), result.data()).run();
  if (result != expected) return state.SkipWithError("wrong");
  for (auto _ : state) {
    traversal(p, source.data(), result.data()).run();
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

/// Sums nine terms of type T each, which lie in as many rows.
template <class T>
void time_sum(benchmark::State& state, std::int64_t bytes) {
  constexpr std::int64_t size{sizeof(T)};
  constexpr std::int64_t rows = 9;
  const std::int64_t count = bytes / size / rows;
  const std::vector<std::byte> values(static_cast<std::size_t>(bytes));  // zeros, so that sums stay in range
  std::vector<std::byte> sums(static_cast<std::size_t>(count * size), std::byte{1});
  tile t;
  t.inner = {count, size, size};
  t.element_size = sizeof(T);
  const sum_function sum = summation_of<T>().sum;
  const term_list::axis axis{rows, count * size, 0};
  for (auto _ : state) {
    term_list terms({&axis, 1});
    sum(t, terms, values.data(), sums.data());
    benchmark::ClobberMemory();
  }
  if (std::count(sums.begin(), sums.end(), std::byte{0}) != count * size) return state.SkipWithError("wrong");
  state.SetBytesProcessed(state.iterations() * bytes);
}

/// `streams` rows of `length` elements each, interleaved, again and again; or the way back.
layout of_streams(std::int64_t streams, std::int64_t length, std::int64_t size, std::int64_t bytes,
                  bool separate) {
  layout l;
  const std::int64_t group = streams * length * size;
  l.source_run = bytes;
  l.add({bytes / group, group, group});
  l.add({length, size, streams * size});
  l.add({streams, length * size, size});
  if (separate) l.swap_sides();
  return l;
}

/// Whether a wider instruction set makes any difference: a pattern, or another leaf.
bool differs_from_baseline(const plan& p) {
  return p.repeats() || engine::all_movers().choose_leaf(p.leaf_tile, p.extents_are_fixed, p.lookup_width) !=
                            engine::all_movers().choose_leaf(p.leaf_tile, p.extents_are_fixed, 0);
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
      for (const std::int64_t streams : {2, 3, 4, 5, 6, 7, 8, 9, 16}) {
        for (const std::int64_t length : {7, 14, 28, 112}) {
          for (const bool separate : {false, true}) {
            for (const instruction_set set :
                 {instruction_set::baseline, instruction_set::ssse3, instruction_set::avx512}) {
              if (set > usable_instruction_set() || streams * length * size > bytes) continue;
              const layout l = of_streams(streams, length, size, bytes, separate);
              if (set != instruction_set::baseline &&
                  !differs_from_baseline(plan_moves(l, size, engine::all_movers(), nullptr, set))) {
                continue;
              }
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
    add("sum/uint8", bytes, time_sum<std::uint8_t>);
    add("sum/float32", bytes, time_sum<float>);
    add("sum/float64", bytes, time_sum<double>);
    add("sum/float16", bytes, time_sum<reblock::float16>);
    add("sum/bfloat16", bytes, time_sum<reblock::bfloat16>);
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_all();
  benchmark::RunSpecifiedBenchmarks();
}
