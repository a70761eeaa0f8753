// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/detail/engine.hpp>
#include <reblock/operator.hpp>

#include "../executors.hpp"

namespace reblock {
namespace {

using namespace detail;

/// Operators whose outputs are large enough to be cut into chunks.
std::vector<compiled_operator> large_operators() {
  const tensor_desc depth{data_type::uint16, {2, 36, 60, 61}};
  const tensor_desc space{data_type::uint16, {2, 4, 120, 183}};
  const tensor_desc last{data_type::uint16, {2, 24, 60, 61}, axis_values{24 * 3660, 1, 24 * 61, 24}};
  const tensor_desc image{data_type::uint16, {2, 5, 40, 41}};
  const window w{.sizes = {5, 3}, .strides = {1, 2}, .start_padding = {2, 3}, .end_padding = {3, 1}};
  const auto unfold = compile(unfold_desc{.input = image, .window = w});
  return {
      compile(depth_to_space_desc{.input = depth, .block_size = {2, 3}}),
      compile(
          depth_to_space_desc{.input = last, .block_size = 2, .order = depth_space_order::column_row_depth}),
      compile(space_to_depth_desc{.input = space, .block_size = {2, 3}}),
      unfold,
      compile(fold_desc{.input = unfold.output(), .output = image, .window = w}),
  };
}

std::size_t elements(const tensor_desc& desc) {
  return static_cast<std::size_t>(total_size_in_bytes(desc)) / 2;
}

/// An input none of whose elements is `unwritten`, nor any sum or zero that an operator makes of it.
constexpr std::uint16_t unwritten = 0xa5a5;
std::vector<std::uint16_t> small_numbers(const compiled_operator& op) {
  std::vector<std::uint16_t> input(elements(op.input()));
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::uint16_t>(i * 7 % 1009);
  return input;
}

/// Runs one chunk of one of the runs that a call asks for, one after the other. What is too small for chunks is moved without
/// an executor.
struct chunk_of_run {
  std::size_t limit;
  std::size_t chosen_run;
  std::size_t chosen_chunk;
  std::size_t runs = 0;

  std::size_t concurrency() const { return limit; }

  template <class F>
  void run(std::size_t n, F&& chunk) {
    if (runs++ == chosen_run && chosen_chunk < n) chunk(chosen_chunk);
  }
};

TEST_CASE("the chunks of a run write each element at most once, and all runs write every element") {
  for (const compiled_operator& op : large_operators()) {
    CAPTURE(op.output().sizes[1]);
    const std::vector<std::uint16_t> input = small_numbers(op);
    std::vector<std::uint16_t> whole(elements(op.output()), unwritten);
    op.dispatch(input.data(), whole.data());
    for (const std::size_t limit : {2u, 3u, 7u}) {
      CAPTURE(limit);
      std::vector<std::uint16_t> without_chunks(whole.size(), unwritten);
      chunk_of_run none{limit, 0, limit};
      op.dispatch(input.data(), without_chunks.data(), none);
      std::vector<int> written(whole.size());
      for (std::size_t run = 0; run < none.runs; ++run) {
        std::vector<int> written_now(whole.size());
        for (std::size_t chunk = 0; chunk < limit; ++chunk) {
          std::vector<std::uint16_t> part(whole.size(), unwritten);
          chunk_of_run executor{limit, run, chunk};
          op.dispatch(input.data(), part.data(), executor);
          bool right = true;
          for (std::size_t i = 0; i < part.size(); ++i) {
            if (part[i] == unwritten) continue;
            if (without_chunks[i] == unwritten) ++written_now[i];
            written[i] = 1;
            right = right && part[i] == whole[i];
          }
          CHECK(right);
        }
        CHECK(*std::max_element(written_now.begin(), written_now.end()) == 1);
      }
      CHECK(written == std::vector<int>(whole.size(), 1));
    }
  }
}

TEST_CASE("the result does not depend on the number of chunks, their order or their threads") {
  for (const compiled_operator& op : large_operators()) {
    CAPTURE(op.output().sizes[1]);
    const std::vector<std::uint16_t> input = small_numbers(op);
    std::vector<std::uint16_t> whole(elements(op.output()));
    op.dispatch(input.data(), whole.data());
    for (std::size_t limit = 1; limit <= 9; ++limit) {
      CAPTURE(limit);
      std::vector<std::uint16_t> result(whole.size(), unwritten);
      test::backward_executor backward{limit};
      op.dispatch(input.data(), result.data(), backward);
      CHECK(backward.chunks <= limit);
      CHECK((limit == 1 || backward.chunks >= 2));
      CHECK(result == whole);
      result.assign(whole.size(), unwritten);
      op.dispatch(input.data(), result.data(), test::thread_executor{limit});
      CHECK(result == whole);
    }
  }
}

TEST_CASE("a small output is not worth more than one chunk") {
  const auto op = compile(depth_to_space_desc{.input = {data_type::uint16, {1, 4, 16, 16}}, .block_size = 2});
  const std::vector<std::uint16_t> input = small_numbers(op);
  std::vector<std::uint16_t> result(elements(op.output()), unwritten);
  test::backward_executor backward{8};
  op.dispatch(input.data(), result.data(), backward);
  CHECK(backward.chunks <= 1);
  CHECK(std::accumulate(result.begin(), result.end(), 0u) == std::accumulate(input.begin(), input.end(), 0u));
}

TEST_CASE("one compiled operator serves several threads at once") {
  for (const compiled_operator& op : large_operators()) {
    const std::vector<std::uint16_t> input = small_numbers(op);
    std::vector<std::uint16_t> whole(elements(op.output()));
    op.dispatch(input.data(), whole.data());
    std::vector<std::vector<std::uint16_t>> results(3, std::vector<std::uint16_t>(whole.size()));
    test::thread_executor{3}.run(3, [&](std::size_t i) { op.dispatch(input.data(), results[i].data()); });
    for (const auto& result : results) CHECK(result == whole);
  }
}

/// Throws from one of its functions.
struct failing_executor {
  bool knows_concurrency = true;

  std::size_t concurrency() const { return knows_concurrency ? 3 : throw std::runtime_error("concurrency"); }

  template <class F>
  void run(std::size_t, F&& chunk) const {
    chunk(0);
    throw std::runtime_error("run");
  }
};

TEST_CASE("what an executor throws leaves the call that was given it") {
  for (const compiled_operator& op : large_operators()) {
    const std::vector<std::uint16_t> input = small_numbers(op);
    std::vector<std::uint16_t> result(elements(op.output()), unwritten);
    const auto dispatch = [&](bool knows_concurrency) {
      op.dispatch(input.data(), result.data(), failing_executor{knows_concurrency});
    };
    CHECK_THROWS_WITH_AS(dispatch(false), "concurrency", std::runtime_error);
    CHECK(result == std::vector<std::uint16_t>(result.size(), unwritten));
    CHECK_THROWS_WITH_AS(dispatch(true), "run", std::runtime_error);
  }
}

/// An executor that does not know how much runs at once.
struct vague_executor : test::backward_executor {
  std::size_t concurrency() const { return 0; }
};

TEST_CASE("an executor of no concurrency runs one chunk at a time") {
  for (const compiled_operator& op : large_operators()) {
    const std::vector<std::uint16_t> input = small_numbers(op);
    std::vector<std::uint16_t> whole(elements(op.output()));
    op.dispatch(input.data(), whole.data());
    std::vector<std::uint16_t> result(whole.size(), unwritten);
    op.dispatch(input.data(), result.data(), vague_executor{});
    CHECK(result == whole);
  }
}

}  // namespace
}  // namespace reblock
