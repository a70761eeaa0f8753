// SPDX-License-Identifier: BSD-3-Clause
//
// A thread with a small stack is enough for a call: musl gives its threads 128 KiB. Sanitizers have more on
// theirs, and Clang without optimization gives each temporary object a place of its own.
#if __has_include(<pthread.h>) && __has_include(<sys/mman.h>) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && (!defined(__clang__) || defined(__OPTIMIZE__))

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/mman.h>

#include <reblock/c.h>
#include <reblock/reblock.hpp>

#include "draw.hpp"
#include "executors.hpp"
#include "oracle.hpp"

namespace reblock {
namespace {

using test::draw;

constexpr std::size_t stack_bytes = std::size_t{128} * 1024;
/// What reblock.hpp promises of a call. With some C libraries, the variables of a thread take the rest.
constexpr std::size_t promised_bytes = std::size_t{104} * 1024;

/// The stack of a thread, and behind its end pages that nobody may touch. It tells how much of it has been used.
class small_stack {
 public:
  small_stack() {
    void* const memory =
        mmap(nullptr, fence_bytes + stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    memory_ = static_cast<std::byte*>(memory);
    REQUIRE(mprotect(end(), stack_bytes, PROT_READ | PROT_WRITE) == 0);
  }
  small_stack(const small_stack&) = delete;
  small_stack& operator=(const small_stack&) = delete;
  ~small_stack() { munmap(memory_, fence_bytes + stack_bytes); }

  /// Runs `work` on a thread that has this stack. Returns the bytes that were used, by the C library as well.
  std::size_t run(std::function<void()> work) {
    std::memset(end(), paint, stack_bytes);
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstack(&attributes, end(), stack_bytes) == 0);
    pthread_t thread{};
    const auto call = [](void* self) -> void* {
      (*static_cast<std::function<void()>*>(self))();
      return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, call, &work) == 0);
    REQUIRE(pthread_join(thread, nullptr) == 0);
    pthread_attr_destroy(&attributes);
    const auto* first = std::find_if(end(), end() + stack_bytes,
                                     [](std::byte b) { return b != static_cast<std::byte>(paint); });
    return static_cast<std::size_t>(end() + stack_bytes - first);
  }

 private:
  static constexpr std::size_t fence_bytes = std::size_t{1024} * 1024;
  static constexpr int paint = 0xa5;

  std::byte* end() const { return memory_ + fence_bytes; }

  std::byte* memory_ = nullptr;
};

/// Strides in bytes of a tensor that lies in another order.
axis_values other_strides(const tensor_desc& desc) {
  axis_values strides = desc.sizes;
  auto stride = static_cast<std::int64_t>(element_size(desc.type));
  for (std::size_t i = 0; i < strides.size(); ++i) {
    strides[i] = stride;
    stride *= desc.sizes[i];
  }
  return strides;
}

/// Runs operators on a small stack.
class runner {
 public:
  runner() : input_(most_bytes), output_(most_bytes) {}

  template <class Desc>
  void run(const Desc& desc) {
    const compiled_operator described = compile(desc);
    const tensor_desc& input = described.input();
    const tensor_desc& output = described.output();
    REQUIRE(static_cast<std::size_t>(total_size_in_bytes(input)) <= most_bytes);
    REQUIRE(static_cast<std::size_t>(total_size_in_bytes(output)) <= most_bytes);
    const axis_values input_strides = other_strides(input);
    const axis_values output_strides = other_strides(output);
    test::backward_executor chunks{3};
    const std::byte* from = input_.data();
    std::byte* to = output_.data();
    run_call([&] { described.dispatch(from, to, chunks); });
    if (total_size_in_bytes(output) >= streamed) return;
    run_call([&] { static_cast<void>(compile(desc)); });
    run_call([&] { described.dispatch(from, to); });
    run_call([&] { described.dispatch(from, input_strides, to, output_strides, chunks); });
  }

  template <class Call>
  void run_call(Call call) {
    most_used_ = std::max(most_used_, stack_.run(call) - idle_bytes_);
  }

  const std::byte* input() const { return input_.data(); }
  std::byte* output() { return output_.data(); }
  /// Bytes of stack that a call has used, apart from what a thread uses that does nothing: with some C libraries, the
  /// variables that each thread has are among that.
  std::size_t most_used() const { return most_used_; }
  /// Outputs from here on are written in other ways. It takes long.
  static constexpr std::uint64_t streamed = std::uint64_t{32} << 20;
  static constexpr std::size_t most_bytes = std::size_t{72} << 20;

 private:
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  small_stack stack_;
  std::size_t idle_bytes_ = stack_.run([] {});
  std::size_t most_used_ = 0;
};

tensor_desc desc_of(data_type type, const axis_values& sizes) { return {type, sizes, {}}; }

void run_blocks(runner& runs, data_type type, const axis_values& depth, std::int64_t block,
                depth_space_order order) {
  const tensor_desc space = desc_of(type, depth_to_space_extents(depth, block));
  runs.run(depth_to_space_desc{desc_of(type, depth), space, block, order});
  runs.run(space_to_depth_desc{space, desc_of(type, depth), block, order});
}

void run_windows(runner& runs, data_type type, const axis_values& image, const window& sliding) {
  const auto columns = try_unfold_extents(image, sliding);
  if (!columns) return;  // the window does not fit
  const tensor_desc to = desc_of(type, *columns);
  runs.run(unfold_desc{desc_of(type, image), to, sliding});
  runs.run(fold_desc{to, desc_of(type, image), sliding});
}

void run_small(runner& runs) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    constexpr data_type types[] = {data_type::uint8, data_type::int16, data_type::float16, data_type::float32,
                                   data_type::float64};
    const data_type type = types[draw(random, 0, 4)];
    const std::int64_t samples = draw(random, 1, 3);
    const std::int64_t channels = draw(random, 1, 6);
    const std::int64_t most = draw(random, 0, 1) == 0 ? 16 : 60;
    const axis_values plane = test::draw_values(random, 2, 1, most);
    const std::int64_t block = draw(random, 1, 4);
    const auto order =
        test::flip_coin(random) ? depth_space_order::depth_column_row : depth_space_order::column_row_depth;
    run_blocks(runs, type, {samples, channels * block * block, plane[0], plane[1]}, block, order);
    window sliding;
    sliding.sizes = draw(random, 1, 4);
    sliding.strides = draw(random, 1, 3);
    sliding.dilations = draw(random, 1, 2);
    sliding.start_padding = draw(random, 0, 2);
    sliding.end_padding = draw(random, 0, 2);
    run_windows(runs, type, {samples, channels, plane[0], plane[1]}, sliding);
    run_windows(runs, type, {samples, channels, plane[0] / 4 + 2, plane[1] / 4 + 2, 5}, sliding);
  }
}

/// Outputs that go past the caches, as some do from 32 MiB on and others from 64 MiB on.
void run_large(runner& runs) {
  constexpr std::int64_t mebibytes = std::int64_t{1024} * 1024;
  const auto order = depth_space_order::depth_column_row;
  run_blocks(runs, data_type::uint8, {1, 36 * mebibytes / (512 * 512), 512, 512}, 2, order);
  run_blocks(runs, data_type::float32, {1, 36 * mebibytes / (256 * 256 * 4), 256, 256}, 3, order);
  for (const std::int64_t stride : {1, 2}) {
    const data_type type = stride == 1 ? data_type::uint8 : data_type::float32;
    const std::int64_t side = 64 / stride;  // blocks along an axis
    const std::int64_t columns = 9 * side * side * static_cast<std::int64_t>(element_size(type));
    window sliding;
    sliding.sizes = 3;
    sliding.strides = stride;
    sliding.start_padding = sliding.end_padding = 1;
    run_windows(runs, type, {1, 68 * mebibytes / columns, 64, 64}, sliding);
  }
}

/// A fold by the C library, one that it refuses, and the same on several threads.
void call_from_c(const void* from, void* to) {
  constexpr UINT columns_sizes[] = {2, 108, 49 * 49};
  constexpr UINT image_sizes[] = {2, 12, 49, 49};
  constexpr UINT threes[] = {3, 3};
  constexpr UINT ones[] = {1, 1};
  const auto tensor = [](UINT count, const UINT* sizes, UINT64 elements) {
    return DML_BUFFER_TENSOR_DESC{
        DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, count, sizes, nullptr, 4 * elements, 0};
  };
  const DML_BUFFER_TENSOR_DESC columns_buffer = tensor(3, columns_sizes, 2 * 108 * 49 * 49);
  const DML_BUFFER_TENSOR_DESC image_buffer = tensor(4, image_sizes, 2 * 12 * 49 * 49);
  const DML_TENSOR_DESC columns{DML_TENSOR_TYPE_BUFFER, &columns_buffer};
  const DML_TENSOR_DESC image{DML_TENSOR_TYPE_BUFFER, &image_buffer};
  const DML_FOLD_OPERATOR_DESC fold{&columns, &image, 2, threes, ones, ones, ones, ones};
  const DML_FOLD_OPERATOR_DESC refused{&columns, &image, 2, threes, threes, ones, ones, ones};
  const DML_OPERATOR_DESC desc{DML_OPERATOR_FOLD, &fold};
  const DML_OPERATOR_DESC refused_desc{DML_OPERATOR_FOLD, &refused};
  reblock_operator* op = nullptr;
  CHECK(reblock_operator_create(&refused_desc, DML_FEATURE_LEVEL_6_4, &op) == REBLOCK_INVALID_ARGUMENT);
  CHECK(reblock_operator_create(&desc, DML_FEATURE_LEVEL_6_4, &op) == REBLOCK_SUCCESS);
  const auto columns_size = static_cast<std::size_t>(columns_buffer.TotalTensorSizeInBytes);
  const auto image_size = static_cast<std::size_t>(image_buffer.TotalTensorSizeInBytes);
  for (const std::size_t threads : {1u, 3u}) {
    CHECK(reblock_operator_dispatch(op, from, columns_size, to, image_size, threads) == REBLOCK_SUCCESS);
  }
  reblock_operator_destroy(op);
}

void run_calls(runner& runs) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(runs.input());
  auto* to = reinterpret_cast<std::uint8_t*>(runs.output());
  runs.run_call([&] {
    const tensor_view<const std::uint8_t> depth(from, {2, 12, 7, 7});
    const tensor_view<std::uint8_t> space(to, {2, 3, 14, 14});
    depth_to_space(depth, space, 2);
    static_cast<void>(try_depth_to_space(depth, space, 3));  // refuses
    const window sliding{.sizes = 3, .start_padding = 1, .end_padding = 1};
    const tensor_view<std::uint8_t> columns(to, {2, 108, 49});
    unfold(depth, columns, sliding);
    const tensor_view<const std::uint8_t> terms(from, {2, 108, 49});
    fold(terms, tensor_view<std::uint8_t>(to, {2, 12, 7, 7}), sliding, test::backward_executor{2});
    static_cast<void>(try_unfold(depth, space, sliding));  // refuses
  });
  runs.run_call([&] {
    try {
      depth_to_space(tensor_view<const std::uint8_t>(from, {2, 12, 7, 7}),
                     tensor_view<std::uint8_t>(to, {2, 3, 14, 14}), 5);
    } catch (const std::invalid_argument&) {  // it is thrown on the small stack
    }
  });
  runs.run_call([&] { call_from_c(from, to); });
  constexpr window sliding{.sizes = 3, .start_padding = 1, .end_padding = 1};
  runs.run_call([&] {
    unfold(tensor_view<const std::uint8_t>(from, {1, 470, 128, 128}),
           tensor_view<std::uint8_t>(to, {1, 9 * 470, 128 * 128}), sliding, test::backward_executor{2});
  });
}

/// Unfolds with a conversion, of drawn images.
template <class In, class T>
[[maybe_unused]] void run_converted_windows(runner& runs) {
  const auto* from = reinterpret_cast<const In*>(runs.input());
  auto* to = reinterpret_cast<T*>(runs.output());
  test::backward_executor chunks{3};
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const axis_values image{draw(random, 1, 2), draw(random, 1, 5), draw(random, 8, 40), draw(random, 8, 40)};
    const window sliding{.sizes = draw(random, 1, 4),
                         .strides = draw(random, 1, 3),
                         .dilations = draw(random, 1, 2),
                         .start_padding = draw(random, 0, 1) * draw(random, 0, 3)};
    const axis_values columns = unfold_extents(image, sliding);
    runs.run_call([&] {
      unfold(tensor_view<const In>(from, image), tensor_view<T>(to, columns), sliding, conversion{}, chunks);
    });
  }
}

void run_conversions(runner& runs) {
// Without optimization, and by the -O1 of the tests for other machines, a call takes some KiB more. C libraries may not leave
// them of 128 KiB.
#if defined(__OPTIMIZE__) && defined(__x86_64__)
  run_converted_windows<std::uint8_t, float>(runs);
  run_converted_windows<float, float>(runs);
  run_converted_windows<double, float>(runs);
#endif
  const auto* from = reinterpret_cast<const std::uint8_t*>(runs.input());
  auto* to = reinterpret_cast<double*>(runs.output());
  const double scale[] = {1, 2, 3};
  const conversion by{.scale = scale, .axis = 1};
  const tensor_view<const std::uint8_t> images =
      tensor_view<const std::uint8_t>(from, {2, 60, 70, 3}).permuted({0, 3, 1, 2});
  runs.run_call([&] { copy(images, tensor_view<double>(to, {2, 3, 60, 70}), by); });
  // both sides scattered, and a window whose padding reaches around the image
  runs.run_call([&] {
    copy(images, tensor_view<double>(to, {2, 70, 60, 3}).permuted({0, 3, 2, 1}), by,
         test::backward_executor{2});
  });
  runs.run_call([&] {
    const window sliding{.sizes = 3, .strides = 2, .start_padding = 2, .end_padding = 3};
    const axis_values columns = unfold_extents({2, 3, 60, 70}, sliding);
    unfold(images, tensor_view<double>(to, columns), sliding, by);
  });
}

/// Weighted sums of windows that share no position, whose lists of weights have room or none.
template <class T>
void run_separate_windows(runner& runs) {
  const auto* from = reinterpret_cast<const T*>(runs.input());
  auto* to = reinterpret_cast<T*>(runs.output());
  test::backward_executor chunks{2};
  for (const double first : {1.0, 1 + 0x1p-30}) {
    std::vector<double> weights(64, 2);
    weights[0] = first;
    for (const std::int64_t size : {3, 7, 64}) {
      for (const axis_values& spatial : {axis_values{4 * size, 3 * size}, axis_values{size, 2 * size, size},
                                         axis_values{64 * size}, axis_values{640, 640}}) {
        const window sliding{.sizes = size, .strides = size, .start_padding = 2};
        fold_options sums;
        for (std::size_t d = 0; d < spatial.size(); ++d)
          sums.weights.push_back(std::span(weights).first(static_cast<std::size_t>(size)));
        for (const std::size_t channel_axis : {std::size_t{1}, spatial.size() + 1}) {
          const axis_values image = oracle::join(2, 3, spatial, channel_axis);
          const auto axis = static_cast<std::int64_t>(channel_axis);
          const axis_values columns = unfold_extents(image, sliding, axis);
          const tensor_view<const T> in_columns(from, columns);
          const tensor_view<T> out_image(to, image);
          runs.run_call([&] { fold(in_columns, out_image, sliding, sums, serial_executor(), axis); });
          runs.run_call([&] { fold(in_columns, out_image, sliding, sums, chunks, axis); });
        }
      }
    }
  }
}

/// Padding modes of images that are summed in groups of channels, and of signals; reductions with and without them.
void run_modes_and_reductions(runner& runs) {
  const auto* from = reinterpret_cast<const float*>(runs.input());
  auto* to = reinterpret_cast<float*>(runs.output());
  const std::vector<double> weights(49, 0.5);
  test::backward_executor chunks{2};
  constexpr padding_mode modes[] = {padding_mode::constant, padding_mode::edge, padding_mode::reflection,
                                    padding_mode::wrap};
  for (const axis_values& image : {axis_values{2, 40, 30, 34}, axis_values{3, 1, 5000}}) {
    for (const padding_mode mode : modes) {
      const window sliding{
          .sizes = 7, .strides = 2, .start_padding = 5, .end_padding = 30, .padding_mode = mode};
      const axis_values columns = unfold_extents(image, sliding);
      const tensor_view<const float> in_image(from, image);
      const tensor_view<float> out_columns(to, columns);
      const tensor_view<const float> in_columns(from, columns);
      const tensor_view<float> out_image(to, image);
      fold_options blend{.reduction = fold_reduction::mean};
      for (std::size_t d = 2; d < image.size(); ++d) blend.weights.push_back(std::span(weights).first(7));
      runs.run_call([&] { unfold(in_image, out_columns, sliding, chunks); });
      runs.run_call([&] { fold(in_columns, out_image, sliding); });
      runs.run_call([&] { fold(in_columns, out_image, sliding, chunks); });
      runs.run_call([&] { fold(in_columns, out_image, sliding, blend); });
      const tensor_view<double> wide(reinterpret_cast<double*>(to), image);
      runs.run_call(
          [&] { fold(in_columns, wide, sliding, fold_options{.reduction = fold_reduction::max}, chunks); });
      const axis_values sizes = axis_values::repeat(image.size() - 2, 7);
      const fold_options weighted{.accumulate = true,
                                  .weights = tensor_view<const double>(weights.data(), sizes)};
      runs.run_call([&] { fold(in_columns, out_image, sliding, weighted, chunks); });
    }
  }
}

TEST_CASE("a stack of 128 KiB is enough for a call") {
  runner runs;
  SUBCASE("on views") { run_calls(runs); }
  SUBCASE("with conversions") { run_conversions(runs); }
  SUBCASE("with padding modes and reductions") { run_modes_and_reductions(runs); }
  SUBCASE("with weights of windows that share no position") {
    run_separate_windows<std::uint8_t>(runs);
    run_separate_windows<float>(runs);
    run_separate_windows<double>(runs);
  }
  SUBCASE("small") { run_small(runs); }
  SUBCASE("large") { run_large(runs); }
  CHECK(runs.most_used() <= promised_bytes);
}

}  // namespace
}  // namespace reblock

#endif
