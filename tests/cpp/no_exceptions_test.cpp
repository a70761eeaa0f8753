// SPDX-License-Identifier: BSD-3-Clause
//
// Built without exceptions and without run-time type information: errors come back as values, and a
// call that has no status prints its message and aborts.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <reblock/reblock.hpp>

namespace {

int failures = 0;

void check(bool condition, const char* what) {
  if (condition) return;
  ++failures;
  std::fprintf(stderr, "failed: %s\n", what);
}

bool mentions(const reblock::error& why, const char* part) {
  std::fprintf(stderr, "%s\n", why.message());
  return std::strstr(why.message(), part) != nullptr;
}

}  // namespace

int main() {
  using namespace reblock;
  const float depth[4] = {1, 2, 3, 4};
  float space[4] = {};
  const tensor_view<const float> input(depth, {1, 4, 1, 1});
  const tensor_view<float> output(space, {1, 1, 2, 2});

  check(bool(try_depth_to_space(input, output, 2)), "depth_to_space");
  check(std::memcmp(space, depth, sizeof(depth)) == 0, "the elements of depth_to_space");
  const status refused = try_depth_to_space(input, output, 3);
  check(!refused && mentions(refused.why(), "block_size 3"), "the message of depth_to_space");
  check(bool(try_copy(input.permuted({0, 2, 3, 1}), tensor_view<float>(space, {1, 1, 1, 4}))), "copy");
  const auto no_view = input.try_split(1, {3, 2});
  check(!no_view && mentions(no_view.why(), "extents"), "the message of try_split");
  const auto columns = try_unfold_extents({1, 1, 2, 2}, {.sizes = 3});
  check(!columns && mentions(columns.why(), "window_sizes"), "the message of unfold_extents");

  const tensor_desc desc{data_type::float32, {1, 4, 1, 1}};
  const auto op = try_compile(depth_to_space_desc{.input = desc, .block_size = 2});
  check(bool(op), "compile");
  std::memset(space, 0, sizeof(space));
  if (op) op->dispatch(depth, space);
  check(std::memcmp(space, depth, sizeof(depth)) == 0, "the elements of dispatch");
  const auto no_op = try_compile(depth_to_space_desc{.input = desc, .block_size = 5});
  check(!no_op && mentions(no_op.why(), "block_size 5"), "the message of compile");

  if (failures != 0) return 1;
  std::signal(SIGABRT, [](int) { std::_Exit(0); });
  depth_to_space(input, output, 3);
  std::fprintf(stderr, "failed: depth_to_space returned from an error\n");
  return 1;
}
