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

TEST_CASE("padding modes, blocks, accumulation, means and weights allocate nothing") {
  std::vector<float16> image(2 * 8 * 16 * 16, float16{0x3c00});
  std::vector<float16> columns(2 * 72 * 256);
  std::vector<float> sums(image.size());
  std::vector<float> wide(columns.size());
  const tensor_view<float16> image_view(image.data(), {2, 8, 16, 16});
  const tensor_view<float16> columns_view(columns.data(), {2, 72, 256});
  const tensor_view<float> sums_view(sums.data(), {2, 8, 16, 16});
  const tensor_view<float> wide_view(wide.data(), {2, 72, 256});
  const std::vector<double> two{2};
  const std::vector<double> ramp{1, 2, 1};
  const std::vector<double> cube(9, 0.5);
  const tensor_view<const double> cube_view(cube.data(), {3, 3});
  for (const padding_mode mode : {padding_mode::constant, padding_mode::edge, padding_mode::reflection,
                                  padding_mode::symmetric, padding_mode::wrap}) {
    for (const depth_space_order order :
         {depth_space_order::depth_column_row, depth_space_order::column_row_depth}) {
      window w = padded;
      w.padding_mode = mode;
      w.order = order;
      CHECK(allocations_of([&] {
              unfold(image_view, columns_view, w);
              unfold(image_view, wide_view, w, conversion{.scale = two});
              if (mode == padding_mode::constant) {
                unfold(image_view, columns_view, w, {.padding_value = float16{0x3c00}});
              }
              fold(columns_view, image_view, w, {.accumulate = true});
              fold(columns_view, image_view, w, {.reduction = fold_reduction::max});
              fold(columns_view, image_view, w, {.reduction = fold_reduction::mean});
              fold(columns_view, sums_view, w, {.weights = {ramp, ramp}});
              fold(columns_view, sums_view, w, {.reduction = fold_reduction::mean, .weights = cube_view});
              w.blocks = {{4, 0}, {9, 16}};
              unfold(image_view, tensor_view<float16>(columns.data(), {2, 72, 5 * 16}), w);
              fold(tensor_view<float16>(columns.data(), {2, 72, 5 * 16}), image_view, w);
            }) == 0);
    }
  }
  CHECK(sums[7 * 16 + 1] != 0);
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
