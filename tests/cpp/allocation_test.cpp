// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/reblock.hpp>

#include "count_allocations.hpp"

namespace reblock {
namespace {

template <class F>
std::size_t allocations_of(F&& f) {
  const std::size_t before = test::allocations();
  f();
  return test::allocations() - before;
}

const window padded{.sizes = 3, .start_padding = 1, .end_padding = 1};

TEST_CASE("allocations are counted") {
  // A call, since compilers may leave a new expression out.
  CHECK(allocations_of([] { ::operator delete(::operator new(1)); }) == 1);
}

TEST_CASE("a compiled operator allocates nothing, neither when it is made nor when it is dispatched") {
  const tensor_desc depth{data_type::float32, {2, 8, 16, 16}};
  const tensor_desc space{data_type::float32, {2, 2, 32, 32}};
  const tensor_desc columns{data_type::float32, {2, 72, 256}};
  const std::vector<float> input(2 * 72 * 256, 1.0f);
  std::vector<float> output(2 * 72 * 256);
  const auto check = [&](const auto& desc) {
    CHECK(allocations_of([&] {
            const compiled_operator op = compile(desc);
            for (int i = 0; i < 3; ++i) op.dispatch(input.data(), output.data());
          }) == 0);
    CHECK(output[0] != 0);
    output[0] = 0;
  };
  check(depth_to_space_desc{.input = depth, .block_size = 2});
  check(space_to_depth_desc{.input = space, .block_size = 2});
  check(unfold_desc{.input = depth, .window = {.sizes = 3}});
  check(fold_desc{.input = columns, .output = depth, .window = padded});
}

TEST_CASE("the functions on views allocate nothing") {
  std::vector<float16> depth(2 * 8 * 16 * 16, float16{0x3c00});
  std::vector<float16> space(depth.size());
  std::vector<float16> columns(2 * 72 * 256);
  const tensor_view<float16> depth_view(depth.data(), {2, 8, 16, 16});
  const tensor_view<float16> space_view(space.data(), {2, 2, 32, 32});
  const tensor_view<float16> columns_view(columns.data(), {2, 72, 256});
  CHECK(allocations_of([&] {
          depth_to_space(depth_view, space_view, 2);
          space_to_depth(space_view, depth_view, 2);
          copy(depth_view.permuted({0, 2, 3, 1}), tensor_view<float16>(space.data(), {2, 16, 16, 8}));
          unfold(depth_view, columns_view, padded);
          fold(columns_view, depth_view, padded);
        }) == 0);
  CHECK(depth[17].bits == 0x4880);  // 9 windows cover an element inside
}

TEST_CASE("a refusal allocates nothing") {
  std::vector<float> data(64);
  const tensor_view<float> view(data.data(), {1, 4, 4, 4});
  CHECK(allocations_of([&] {
          if (try_depth_to_space(view, view, 3)) std::abort();
          if (try_depth_to_space(view, view, 1)) std::abort();
          if (try_unfold_extents({1, 2, 3}, {.sizes = 4})) std::abort();
        }) == 0);
}

}  // namespace
}  // namespace reblock
