// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/operator.hpp>

#include "draw.hpp"
#include "examples.hpp"
#include "executors.hpp"
#include "oracle.hpp"
#include "refusal.hpp"

namespace reblock {
namespace {

using test::check_refused;
using test::draw;

using test::crd;
using test::dcr;

constexpr feature_level levels[] = {
    feature_level::level_1_0, feature_level::level_2_0, feature_level::level_2_1, feature_level::level_3_0,
    feature_level::level_3_1, feature_level::level_4_0, feature_level::level_4_1, feature_level::level_5_0,
    feature_level::level_5_1, feature_level::level_5_2, feature_level::level_6_0, feature_level::level_6_1,
    feature_level::level_6_2, feature_level::level_6_3, feature_level::level_6_4,
};

static_assert(std::is_trivially_copyable_v<compiled_operator>);

tensor_desc floats(const axis_values& sizes, std::optional<axis_values> strides = {}) {
  return {data_type::float32, sizes, strides};
}

std::size_t buffer_size(const tensor_desc& desc) {
  return static_cast<std::size_t>(total_size_in_bytes(desc));
}

std::vector<float> dispatch(const compiled_operator& op, const std::vector<float>& input) {
  REQUIRE(input.size() * sizeof(float) >= buffer_size(op.input()));
  std::vector<float> output(buffer_size(op.output()) / sizeof(float), -1.0f);
  op.dispatch(input.data(), output.data());
  return output;
}

TEST_CASE("the examples of depth_to_space and space_to_depth through descriptors") {
  for (const auto order : {dcr, crd}) {
    const std::vector<float> space =
        order == dcr ? examples::space_depth_column_row() : examples::space_column_row_depth();
    const auto to_space = compile(depth_to_space_desc{
        .input = floats({1, 8, 2, 3}), .output = floats({1, 2, 4, 6}), .block_size = 2, .order = order});
    CHECK(dispatch(to_space, examples::depth()) == space);
    const auto to_depth = compile(space_to_depth_desc{
        .input = floats({1, 2, 4, 6}), .output = floats({1, 8, 2, 3}), .block_size = 2, .order = order});
    CHECK(dispatch(to_depth, space) == examples::depth());
  }
}

TEST_CASE("the examples of unfold and fold through descriptors") {
  for (const auto& example : examples::unfold()) {
    const auto op = compile(unfold_desc{
        .input = floats({1, 1, 5, 5}), .output = floats(example.columns), .window = example.window});
    const std::vector<float> columns = dispatch(op, examples::count_up(25));
    const auto row = static_cast<std::ptrdiff_t>(example.first_row.size());
    CHECK(std::vector<float>(columns.begin(), columns.begin() + row) == example.first_row);
    CHECK(std::vector<float>(columns.end() - row, columns.end()) == example.last_row);
  }
  for (const auto& example : examples::fold()) {
    const auto op = compile(fold_desc{
        .input = floats(example.columns), .output = floats(example.image), .window = example.window});
    const auto count = static_cast<std::size_t>(oracle::volume(example.columns));
    CHECK(dispatch(op, examples::count_up(count)) == example.values);
  }
}

TEST_CASE("an output that is left out is packed and of the input's type") {
  const tensor_desc input{data_type::int16, {2, 8, 2, 3}, axis_values{100, 12, 4, 1}};
  const auto to_space = compile(depth_to_space_desc{.input = input, .block_size = 2});
  CHECK(to_space.input() == input);
  CHECK(to_space.output() == tensor_desc{data_type::int16, {2, 2, 4, 6}});
  const auto to_depth = compile(space_to_depth_desc{.input = input, .block_size = {2, 1}});
  CHECK(to_depth.output() == tensor_desc{data_type::int16, {2, 16, 1, 3}});
  const auto columns = compile(unfold_desc{.input = input, .window = {.sizes = 2}});
  CHECK(columns.output() == tensor_desc{data_type::int16, {2, 32, 2}});
}

TEST_CASE("columns may have leading sizes of 1 up to the rank of the image") {
  const window w{.sizes = 3};
  const std::vector<float> image = examples::count_up(25);
  const auto packed = compile(unfold_desc{.input = floats({1, 1, 1, 5, 5}), .window = {.sizes = {1, 3, 3}}});
  const std::vector<float> columns = dispatch(packed, image);
  for (const axis_values& sizes :
       {axis_values{1, 9, 9}, axis_values{1, 1, 9, 9}, axis_values{1, 1, 1, 9, 9}}) {
    const auto unfolded = compile(unfold_desc{
        .input = floats({1, 1, 1, 5, 5}), .output = floats(sizes), .window = {.sizes = {1, 3, 3}}});
    CHECK(unfolded.output().sizes == sizes);
    CHECK(dispatch(unfolded, image) == columns);
    const auto folded = compile(
        fold_desc{.input = floats(sizes), .output = floats({1, 1, 1, 5, 5}), .window = {.sizes = {1, 3, 3}}});
    CHECK(dispatch(folded, columns)[12] == 9 * image[12]);
  }
  const auto refused = [&](const axis_values& sizes) {
    return try_compile(unfold_desc{.input = floats({1, 1, 5, 5}), .output = floats(sizes), .window = w});
  };
  check_refused(refused({1, 1, 1, 9, 9}), {"output: ", "sizes", "(1, 1, 1, 9, 9)"});
  check_refused(refused({2, 1, 9, 9}), {"output: ", "sizes", "(2, 1, 9, 9)"});
  check_refused(refused({9, 9}), {"output: ", "sizes", "(9, 9)"});
  check_refused(refused({1, 9, 8}), {"output: ", "sizes", "(1, 9, 9)", "(1, 9, 8)"});
  check_refused(
      try_compile(fold_desc{.input = floats({2, 1, 9, 9}), .output = floats({1, 1, 5, 5}), .window = w}),
      {"input: ", "sizes", "(2, 1, 9, 9)"});
}

/// Positive strides, in elements, with gaps, the axes in any order; those of an input may be 0.
axis_values draw_desc_strides(std::mt19937& random, const axis_values& sizes, bool is_input) {
  axis_values strides = sizes;
  std::int64_t stride = draw(random, 1, 3);
  for (const std::size_t i : test::draw_order(random, sizes.size())) {
    strides[i] = is_input && draw(random, 0, 4) == 0 ? 0 : stride;
    stride = stride * sizes[i] + draw(random, 0, 3);
  }
  return strides;
}

std::vector<std::uint16_t> buffer_for(const tensor_desc& desc, std::mt19937& random) {
  std::vector<std::uint16_t> buffer(buffer_size(desc) / 2 + 3);
  for (auto& value : buffer) value = static_cast<std::uint16_t>(random());
  return buffer;
}

std::size_t place(const tensor_desc& desc, const axis_values& index) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * desc.strides_or_packed()[i];
  return static_cast<std::size_t>(offset);
}

TEST_CASE("dispatch writes the elements of its output and leaves the gaps alone") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const axis_values block = test::draw_values(random, 2, 1, 4);
    const axis_values space{draw(random, 1, 2), draw(random, 1, 3), block[0] * draw(random, 1, 5),
                            block[1] * draw(random, 1, 5)};
    const axis_values depth = oracle::depth_extents(space, block, 1);
    const auto order = test::flip_coin(random) ? dcr : crd;
    const bool to_space = test::flip_coin(random);
    const axis_values& from = to_space ? depth : space;
    const axis_values& to = to_space ? space : depth;
    const tensor_desc input{data_type::uint16, from, draw_desc_strides(random, from, true)};
    const tensor_desc output{data_type::uint16, to, draw_desc_strides(random, to, false)};
    const auto op = to_space ? compile(depth_to_space_desc{input, output, block, order})
                             : compile(space_to_depth_desc{input, output, block, order});
    const std::vector<std::uint16_t> source = buffer_for(input, random);
    std::vector<std::uint16_t> result = buffer_for(output, random);
    std::vector<std::uint16_t> expected = result;
    oracle::for_each_depth_space_pair(
        space, block, order, 1, [&](const axis_values& d, const axis_values& s) {
          expected[place(output, to_space ? s : d)] = source[place(input, to_space ? d : s)];
        });
    op.dispatch(source.data(), result.data());
    CHECK(result == expected);
  }
}

TEST_CASE("dispatch of a window operator leaves the gaps alone") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed ", seed);
    std::mt19937 random(seed);
    const axis_values image{draw(random, 1, 2), draw(random, 1, 3), draw(random, 4, 9), draw(random, 4, 9)};
    const window w{.sizes = test::draw_values(random, 2, 1, 3),
                   .strides = test::draw_values(random, 2, 1, 3),
                   .dilations = test::draw_values(random, 2, 1, 2),
                   .start_padding = test::draw_values(random, 2, 0, 3),
                   .end_padding = test::draw_values(random, 2, 0, 3)};
    const axis_values columns = oracle::columns_extents(image, w, 1);
    const bool folds = test::flip_coin(random);
    const axis_values& from = folds ? columns : image;
    const axis_values& to = folds ? image : columns;
    const tensor_desc input{data_type::int16, from, draw_desc_strides(random, from, true)};
    const tensor_desc output{data_type::int16, to, draw_desc_strides(random, to, false)};
    const auto op = folds ? compile(fold_desc{input, output, w}) : compile(unfold_desc{input, output, w});
    const std::vector<std::uint16_t> source = buffer_for(input, random);
    std::vector<std::uint16_t> result = buffer_for(output, random);
    std::vector<std::uint16_t> expected = result;
    oracle::for_each_index(to, [&](const axis_values& index) { expected[place(output, index)] = 0; });
    oracle::for_each_window_pair(image, w, 1, [&](const axis_values& c, const axis_values& i, bool inside) {
      if (!inside) return;
      std::uint16_t& element = expected[place(output, folds ? i : c)];
      element = static_cast<std::uint16_t>(element + source[place(input, folds ? c : i)]);
    });
    op.dispatch(source.data(), result.data());
    CHECK(result == expected);
    std::vector<std::uint16_t> threaded = result;
    op.dispatch(source.data(), threaded.data(), test::thread_executor{3});
    CHECK(threaded == expected);
  }
}

TEST_CASE("fold of every data type") {
  const window w{.sizes = 2, .start_padding = 1, .end_padding = 1};
  const auto check = [&]<class T>(data_type type, T one, T two) {
    INFO(name(type));
    REQUIRE(element_size(type) == sizeof(T));
    const auto op = compile(fold_desc{{type, {1, 2, 4}}, {type, {1, 1, 3}}, w});
    const std::vector<T> columns(8, one);
    std::vector<T> image(4, one);  // the total size is a multiple of 4 bytes
    op.dispatch(columns.data(), image.data());
    CHECK(image == std::vector<T>{two, two, two, one});
  };
  check(data_type::float32, 1.5f, 3.0f);
  check(data_type::float64, 1.5, 3.0);
  check(data_type::float16, std::uint16_t{0x3c00}, std::uint16_t{0x4000});
  check(data_type::int8, std::int8_t{-128}, std::int8_t{0});
  check(data_type::uint8, std::uint8_t{200}, std::uint8_t{144});
  check(data_type::int16, std::int16_t{-20000}, std::int16_t{25536});
  check(data_type::uint16, std::uint16_t{40000}, std::uint16_t{14464});
  check(data_type::int32, std::numeric_limits<std::int32_t>::min(), std::int32_t{0});
  check(data_type::uint32, std::uint32_t{0x80000001}, std::uint32_t{2});
  check(data_type::int64, std::numeric_limits<std::int64_t>::min(), std::int64_t{0});
  check(data_type::uint64, std::uint64_t{1} << 63, std::uint64_t{0});
}

TEST_CASE("the same operation on tensors that lie in another way") {
  const auto op = compile(depth_to_space_desc{.input = floats({1, 8, 2, 3}), .block_size = 2});
  const std::vector<float> depth = examples::depth();
  std::vector<float> reversed(48);
  op.dispatch(depth.data(), {192, 24, 12, 4}, reversed.data() + 47, {-192, -96, -24, -4});
  const std::vector<float> space = examples::space_depth_column_row();
  CHECK(reversed == std::vector<float>(space.rbegin(), space.rend()));
  std::vector<float> as_described(48);
  op.dispatch(depth.data(), {192, 24, 12, 4}, as_described.data(), {192, 96, 24, 4});
  CHECK(as_described == space);
}

TEST_CASE("depth and space are held to the table of feature levels") {
  struct {
    data_type type;
    depth_space_order order;
    feature_level least;
  } const table[] = {
      {data_type::float32, dcr, feature_level::level_1_0},
      {data_type::float16, dcr, feature_level::level_1_0},
      {data_type::float32, crd, feature_level::level_2_1},
      {data_type::float16, crd, feature_level::level_2_1},
      {data_type::int32, dcr, feature_level::level_2_1},
      {data_type::int16, crd, feature_level::level_2_1},
      {data_type::int8, dcr, feature_level::level_2_1},
      {data_type::uint32, crd, feature_level::level_2_1},
      {data_type::uint16, dcr, feature_level::level_2_1},
      {data_type::uint8, crd, feature_level::level_2_1},
      {data_type::float64, dcr, feature_level::level_5_0},
      {data_type::int64, crd, feature_level::level_5_0},
      {data_type::uint64, dcr, feature_level::level_5_0},
  };
  for (const auto& row : table) {
    for (const feature_level level : levels) {
      INFO(name(row.type), " at ", name(level), " in order ", static_cast<int>(row.order));
      const tensor_desc depth{row.type, {1, 8, 2, 3}};
      const tensor_desc space{row.type, {1, 2, 4, 6}};
      const bool accepted = level >= row.least;
      CHECK(bool(try_compile(depth_to_space_desc{depth, space, 2, row.order}, level)) == accepted);
      CHECK(bool(try_compile(space_to_depth_desc{space, depth, 2, row.order}, level)) == accepted);
    }
  }
  const auto outcome = [](const tensor_desc& input, const spatial_values& block, depth_space_order order,
                          feature_level level) {
    return try_compile(depth_to_space_desc{.input = input, .block_size = block, .order = order}, level);
  };
  const auto newest = feature_level::level_6_4;
  check_refused(outcome({data_type::int64, {1, 8, 2, 3}}, 2, dcr, feature_level::level_4_1),
                {"INT64", "feature_level LEVEL_5_0", "got LEVEL_4_1"});
  check_refused(outcome(floats({1, 8, 2, 3}), 2, crd, feature_level::level_2_0),
                {"order", "feature_level LEVEL_2_1", "got LEVEL_2_0"});
  check_refused(outcome(floats({1, 8, 3}), 2, dcr, newest), {"input: ", "sizes", "(1, 8, 3)"});
  check_refused(outcome(floats({1, 8, 2, 3}), {2, 4}, dcr, newest), {"block_size", "(2, 4)"});
  check_refused(outcome(floats({1, 8, 2, 3}), 2, dcr, static_cast<feature_level>(0x2200)),
                {"feature_level", "got 8704"});
  CHECK(outcome(floats({1, 8, 2, 3}), {2, 2}, dcr, newest));
}

TEST_CASE("unfold and fold need the newest feature level") {
  for (const data_type type : {data_type::float32, data_type::uint8, data_type::int64}) {
    for (const feature_level level : levels) {
      const bool accepted = level == feature_level::level_6_4;
      const tensor_desc image{type, {1, 1, 5, 5}};
      const tensor_desc columns{type, {1, 9, 9}};
      CHECK(bool(try_compile(unfold_desc{image, columns, {.sizes = 3}}, level)) == accepted);
      CHECK(bool(try_compile(fold_desc{columns, image, {.sizes = 3}}, level)) == accepted);
    }
  }
  check_refused(
      try_compile(unfold_desc{.input = floats({1, 1, 5, 5}), .window = {}}, feature_level::level_6_3),
      {"feature_level LEVEL_6_4", "got LEVEL_6_3"});
  check_refused(
      try_compile(unfold_desc{.input = floats({1, 1, 5, 5}), .window = {}}, static_cast<feature_level>(1)),
      {"feature_level", "got 1"});
  const axis_values sizes{1, 2, 5, 5};
  for (const window& beyond : {window{.sizes = 3, .order = depth_space_order::depth_column_row},
                               window{.sizes = 3, .blocks = {0, 3}}, window{.sizes = 3, .blocks = {1, 3}}}) {
    const unfold_desc unfolds{.input = floats(sizes), .window = beyond};
    const fold_desc folds{floats(unfold_extents(sizes, beyond)), floats(sizes), beyond};
    CHECK(try_compile(unfolds));
    CHECK(try_compile(folds));
    check_refused(try_compile(unfolds, feature_level::level_6_4),
                  {"window", "order, padding_mode and blocks"});
    check_refused(try_compile(folds, feature_level::level_6_4), {"window", "order, padding_mode and blocks"});
  }
}

TEST_CASE("a bad description of depth and space is refused") {
  const tensor_desc depth = floats({1, 8, 2, 3});
  const auto outcome = [&](const tensor_desc& input, const std::optional<tensor_desc>& output,
                           const spatial_values& block) {
    return try_compile(depth_to_space_desc{.input = input, .output = output, .block_size = block});
  };
  check_refused(outcome({data_type::uint4, {1, 8, 2, 3}}, {}, 2), {"input: ", "data_type UINT4"});
  check_refused(outcome(floats({1, 8, 0, 3}), {}, 2), {"input: ", "sizes", "(1, 8, 0, 3)"});
  check_refused(outcome(floats({8, 2}), {}, 2), {"input", "3 to 8 axes", "(8, 2)"});
  check_refused(outcome(depth, {}, 3), {"input", "8 channels", "block_size 3"});
  check_refused(outcome(depth, floats({1, 2, 6, 4}), 2), {"output: ", "(1, 2, 4, 6)", "(1, 2, 6, 4)"});
  check_refused(outcome(depth, tensor_desc{data_type::int32, {1, 2, 4, 6}}, 2),
                {"output: ", "data_type", "FLOAT32", "INT32"});
  check_refused(outcome(depth, floats({1, 2, 4, 6}, axis_values{48, 24, 0, 1}), 2),
                {"output: ", "strides", "overlap", "(48, 24, 0, 1)"});
  check_refused(outcome(depth, floats({1, 2, 4, 6}, axis_values{48, 24, 5, 1}), 2),
                {"output: ", "strides", "overlap", "(48, 24, 5, 1)"});
  check_refused(outcome(depth, floats({1, 2, 4, 6}, axis_values{48, 24, 6}), 2),
                {"output: ", "strides", "(48, 24, 6)"});
  check_refused(try_compile(depth_to_space_desc{
                    .input = depth, .block_size = 2, .order = static_cast<depth_space_order>(7)}),
                {"order", "got 7"});
  check_refused(try_compile(space_to_depth_desc{.input = floats({1, 2, 4, 5}), .block_size = 2}),
                {"input", "(4, 5)", "block_size 2"});
  CHECK_THROWS_AS((void)compile(depth_to_space_desc{.input = depth, .block_size = 3}), std::invalid_argument);
}

TEST_CASE("an inferred output with too many elements is refused") {
  const window w{.sizes = 1024, .start_padding = 1023, .end_padding = 1023};
  const auto refused = try_compile(
      unfold_desc{.input = {data_type::uint8, {1, 1, 8192, 8192}, axis_values{0, 0, 0, 0}}, .window = w});
  if constexpr (sizeof(std::ptrdiff_t) == 8) {
    check_refused(refused, {"output: ", "2**32 - 1"});
  } else {
    check_refused(refused, {"columns", "cannot be addressed"});
  }
}

TEST_CASE("a bad description of a window operator is refused") {
  const tensor_desc image = floats({1, 1, 5, 5});
  const tensor_desc columns = floats({1, 9, 9});
  const window w{.sizes = 3};
  check_refused(try_compile(unfold_desc{.input = floats({1, -1, 5, 5}), .window = w}),
                {"input: ", "(1, -1, 5, 5)"});
  check_refused(try_compile(unfold_desc{.input = floats({5, 5}), .window = w}), {"input", "3 to 8 axes"});
  check_refused(try_compile(unfold_desc{.input = image, .window = {.sizes = 6}}), {"window_sizes (6, 6)"});
  check_refused(try_compile(unfold_desc{image, tensor_desc{data_type::float16, {1, 9, 9}}, w}),
                {"output: ", "data_type", "FLOAT32", "FLOAT16"});
  check_refused(try_compile(unfold_desc{image, floats({1, 9, 9}, axis_values{81, 9, 0}), w}),
                {"output: ", "strides", "overlap"});
  check_refused(try_compile(fold_desc{columns, floats({1, 1, 5, 6}), w}),
                {"input", "9 window positions", "(5, 6)", "12"});
  check_refused(try_compile(fold_desc{floats({1, 10, 9}), image, w}), {"input", "10 rows", "(3, 3)"});
  check_refused(try_compile(fold_desc{columns, floats({2, 1, 5, 5}), w}),
                {"output: ", "(1, 1, 5, 5)", "(2, 1, 5, 5)"});
  check_refused(try_compile(fold_desc{columns, floats({1, 1, 5, 5}, axis_values{25, 25, 5, 0}), w}),
                {"output: ", "strides", "overlap"});
  check_refused(try_compile(fold_desc{columns, {data_type::int32, {1, 1, 5, 5}}, w}),
                {"output: ", "data_type"});
  check_refused(try_compile(fold_desc{columns, {data_type::int32, {5, 5}}, w}),
                {"output", "3 to 8 axes", "(5, 5)"});
  CHECK_THROWS_AS((void)compile(fold_desc{floats({1, 10, 9}), image, w}), std::invalid_argument);
  CHECK_THROWS_AS((void)compile(unfold_desc{.input = image, .window = {.sizes = 6}}), std::invalid_argument);
}

}  // namespace
}  // namespace reblock
