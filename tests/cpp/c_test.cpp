// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <reblock/c.h>
#include <reblock/reblock.hpp>

#include "examples.hpp"

namespace reblock {
namespace {

constexpr auto no_level = static_cast<DML_FEATURE_LEVEL>(0);

/// Puts a number into an enumeration that may have no such value, as a program in C can.
template <class Enumeration>
void set_number(Enumeration& value, std::uint32_t number) {
  static_assert(sizeof(value) == sizeof(number));
  std::memcpy(&value, &number, sizeof(number));
}

/// A tensor's description with all that it points to, valid as it is made.
struct described {
  std::vector<UINT> sizes;
  std::vector<UINT> strides;
  DML_BUFFER_TENSOR_DESC buffer{};
  DML_TENSOR_DESC desc{};

  explicit described(const std::vector<UINT>& extents, const std::vector<UINT>& elements_apart = {})
      : sizes(extents), strides(elements_apart) {
    buffer.DataType = DML_TENSOR_DATA_TYPE_FLOAT32;
    buffer.DimensionCount = static_cast<UINT>(sizes.size());
    buffer.Sizes = sizes.data();
    buffer.Strides = strides.empty() ? nullptr : strides.data();
    desc = {DML_TENSOR_TYPE_BUFFER, &buffer};
    REQUIRE(reblock_buffer_tensor_size(&buffer, &buffer.TotalTensorSizeInBytes) == REBLOCK_SUCCESS);
  }
  described(const described&) = delete;
  described& operator=(const described&) = delete;
  ~described() = default;
};

template <class Struct>
constexpr DML_OPERATOR_TYPE type_of =
    std::is_same_v<Struct, DML_DEPTH_TO_SPACE_OPERATOR_DESC>    ? DML_OPERATOR_DEPTH_TO_SPACE
    : std::is_same_v<Struct, DML_DEPTH_TO_SPACE1_OPERATOR_DESC> ? DML_OPERATOR_DEPTH_TO_SPACE1
    : std::is_same_v<Struct, DML_SPACE_TO_DEPTH_OPERATOR_DESC>  ? DML_OPERATOR_SPACE_TO_DEPTH
    : std::is_same_v<Struct, DML_SPACE_TO_DEPTH1_OPERATOR_DESC> ? DML_OPERATOR_SPACE_TO_DEPTH1
    : std::is_same_v<Struct, DML_UNFOLD_OPERATOR_DESC>          ? DML_OPERATOR_UNFOLD
    : std::is_same_v<Struct, DML_FOLD_OPERATOR_DESC>            ? DML_OPERATOR_FOLD
                                                                : DML_OPERATOR_INVALID;

template <class Struct>
constexpr bool has_blocks = requires(Struct desc) { desc.BlockSize; };

struct destroys {
  void operator()(reblock_operator* op) const { reblock_operator_destroy(op); }
};
using handle = std::unique_ptr<reblock_operator, destroys>;

/// What create() makes of a description; null after an error.
template <class Struct>
handle create(const Struct& desc, DML_FEATURE_LEVEL level = no_level) {
  const DML_OPERATOR_DESC operator_desc{type_of<Struct>, &desc};
  reblock_operator* op = nullptr;
  const reblock_status status = reblock_operator_create(&operator_desc, level, &op);
  CHECK((status == REBLOCK_SUCCESS) == (op != nullptr));
  return handle(op);
}

std::vector<float> dispatch(const handle& op, const std::vector<float>& input, std::size_t threads = 1) {
  REQUIRE_MESSAGE(op, reblock_last_error());
  REQUIRE(input.size() * sizeof(float) == reblock_operator_input_size(op.get()));
  const auto size = static_cast<std::size_t>(reblock_operator_output_size(op.get()));
  std::vector<float> output(size / sizeof(float), -1.0f);
  REQUIRE(reblock_operator_dispatch(op.get(), input.data(), input.size() * sizeof(float), output.data(), size,
                                    threads) == REBLOCK_SUCCESS);
  return output;
}

/// A valid description of the operator that a struct is for: the first example of its page, with rows of its own.
template <class Struct>
struct example;

template <class Struct>
  requires has_blocks<Struct>
struct example<Struct> {
  static constexpr bool to_space =
      type_of<Struct> == DML_OPERATOR_DEPTH_TO_SPACE || type_of<Struct> == DML_OPERATOR_DEPTH_TO_SPACE1;
  described depth{{1, 8, 2, 3}};
  described space{{1, 2, 4, 6}};
  described& input = to_space ? depth : space;
  described& output = to_space ? space : depth;
  Struct desc{};

  example() {
    desc.InputTensor = &input.desc;
    desc.OutputTensor = &output.desc;
    desc.BlockSize = 2;
  }
};

template <class Struct>
  requires(!has_blocks<Struct>)
struct example<Struct> {
  static constexpr bool is_fold = type_of<Struct> == DML_OPERATOR_FOLD;
  described columns{{1, 9, 9}};
  described image{{1, 1, 5, 5}};
  described& input = is_fold ? columns : image;
  described& output = is_fold ? image : columns;
  std::array<UINT, 2> window_sizes{3, 3};
  std::array<UINT, 2> strides{1, 1};
  std::array<UINT, 2> dilations{1, 1};
  std::array<UINT, 2> start_padding{0, 0};
  std::array<UINT, 2> end_padding{0, 0};
  Struct desc{&input.desc,          &output.desc,      2,
              window_sizes.data(),  strides.data(),    dilations.data(),
              start_padding.data(), end_padding.data()};
};

/// Makes a mistake in a valid description: it must be refused with a message that has all of the parts, and none of the
/// names that the C++ library gives to what is wrong.
template <class Struct, class Mistake>
void check_refused(Mistake&& make, std::initializer_list<const char*> parts, std::uint32_t level = 0) {
  example<Struct> valid;
  make(valid);
  const DML_OPERATOR_DESC operator_desc{type_of<Struct>, &valid.desc};
  auto* op = reinterpret_cast<reblock_operator*>(&valid);  // anything but null
  CHECK(reblock_operator_create(&operator_desc, static_cast<DML_FEATURE_LEVEL>(level), &op) ==
        REBLOCK_INVALID_ARGUMENT);
  CHECK(op == nullptr);
  const std::string message = reblock_last_error();
  INFO("got: ", message);
  for (const char* part : parts) {
    INFO("expected: ", part);
    CHECK(message.find(part) != std::string::npos);
  }
  for (const char* name :
       {"data_type", "block_size", "_sizes", "_padding", "dilations", " sizes", "input:"}) {
    CHECK(message.find(name) == std::string::npos);
  }
}

TEST_CASE("the examples of depth and space, from each of their structs") {
  const described depth({1, 8, 2, 3});
  const described space({1, 2, 4, 6});
  const auto planes = examples::depth();
  for (const auto order : {DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW, DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH}) {
    const auto pixels = order == DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW ? examples::space_depth_column_row()
                                                                        : examples::space_column_row_depth();
    const DML_DEPTH_TO_SPACE1_OPERATOR_DESC unpack{&depth.desc, &space.desc, 2, order};
    const DML_SPACE_TO_DEPTH1_OPERATOR_DESC pack{&space.desc, &depth.desc, 2, order};
    CHECK(dispatch(create(unpack, DML_FEATURE_LEVEL_2_1), planes) == pixels);
    CHECK(dispatch(create(pack, DML_FEATURE_LEVEL_2_1), pixels) == planes);
  }
  const DML_DEPTH_TO_SPACE_OPERATOR_DESC unpack{&depth.desc, &space.desc, 2};
  const DML_SPACE_TO_DEPTH_OPERATOR_DESC pack{&space.desc, &depth.desc, 2};
  CHECK(dispatch(create(unpack, DML_FEATURE_LEVEL_1_0), planes) == examples::space_depth_column_row());
  CHECK(dispatch(create(pack, DML_FEATURE_LEVEL_1_0), examples::space_depth_column_row()) == planes);
}

std::vector<UINT> to_uints(const axis_values& values) { return {values.begin(), values.end()}; }

std::vector<UINT> to_uints(const spatial_values& values) { return to_uints(values.expand(2)); }

template <class Struct>
handle create_window(const described& input, const described& output, const window& parameters) {
  const auto sizes = to_uints(parameters.sizes);
  const auto strides = to_uints(parameters.strides);
  const auto dilations = to_uints(parameters.dilations);
  const auto start = to_uints(parameters.start_padding);
  const auto end = to_uints(parameters.end_padding);
  const Struct desc{&input.desc,      &output.desc, 2,         sizes.data(), strides.data(),
                    dilations.data(), start.data(), end.data()};
  return create(desc, DML_FEATURE_LEVEL_6_4);  // and forgets the arrays
}

TEST_CASE("the examples of unfold and fold, from their structs") {
  for (const auto& unfold : examples::unfold()) {
    const auto op = create_window<DML_UNFOLD_OPERATOR_DESC>(
        described({1, 1, 5, 5}), described(to_uints(unfold.columns)), unfold.window);
    const std::vector<float> columns = dispatch(op, examples::count_up(25));
    const auto row = static_cast<std::ptrdiff_t>(unfold.first_row.size());
    CHECK(std::vector<float>(columns.begin(), columns.begin() + row) == unfold.first_row);
    CHECK(std::vector<float>(columns.end() - row, columns.end()) == unfold.last_row);
  }
  for (const auto& fold : examples::fold()) {
    const auto op = create_window<DML_FOLD_OPERATOR_DESC>(described(to_uints(fold.columns)),
                                                          described(to_uints(fold.image)), fold.window);
    const auto count = static_cast<std::size_t>(fold.columns[1] * fold.columns[2]);
    CHECK(dispatch(op, examples::count_up(count)) == fold.values);
  }
}

TEST_CASE("each parameter of a window is read from its own member") {
  const window parameters{.sizes = {2, 3},
                          .strides = {2, 1},
                          .dilations = {1, 2},
                          .start_padding = {1, 0},
                          .end_padding = {3, 2}};
  const auto expected =
      compile(unfold_desc{.input = {data_type::float32, {1, 2, 5, 7}}, .window = parameters});
  const auto op = create_window<DML_UNFOLD_OPERATOR_DESC>(
      described({1, 2, 5, 7}), described(to_uints(expected.output().sizes)), parameters);
  const auto pixels = examples::count_up(70);
  const auto columns = dispatch(op, pixels);
  std::vector<float> result(columns.size());
  expected.dispatch(pixels.data(), result.data());
  CHECK(columns == result);
}

TEST_CASE_TEMPLATE("each bad member of a tensor is refused by its name", Struct,
                   DML_DEPTH_TO_SPACE_OPERATOR_DESC, DML_DEPTH_TO_SPACE1_OPERATOR_DESC,
                   DML_SPACE_TO_DEPTH_OPERATOR_DESC, DML_SPACE_TO_DEPTH1_OPERATOR_DESC,
                   DML_UNFOLD_OPERATOR_DESC, DML_FOLD_OPERATOR_DESC) {
  for (const bool of_input : {true, false}) {
    const char* const name = of_input ? "InputTensor" : "OutputTensor";
    const auto tensor = [of_input](auto& valid) -> described& {
      return of_input ? valid.input : valid.output;
    };
    const auto check = [&](const char* member, auto&& make) {
      check_refused<Struct>([&](auto& valid) { make(tensor(valid)); }, {name, member});
    };
    for (const std::uint32_t type : {0u, 2u, ~0u}) {
      check("Type must be DML_TENSOR_TYPE_BUFFER (1)", [&](described& t) { set_number(t.desc.Type, type); });
    }
    check("Desc must not be null", [](described& t) { t.desc.Desc = nullptr; });
    for (const std::uint32_t type : {0u, 12u, 13u, 14u, ~0u}) {
      check("DataType", [&](described& t) { set_number(t.buffer.DataType, type); });
    }
    for (const std::uint32_t flags : {1u, 2u, ~0u}) {
      check("Flags must be DML_TENSOR_FLAG_NONE (0)",
            [&](described& t) { set_number(t.buffer.Flags, flags); });
    }
    for (const UINT count : {0u, 9u, ~0u}) {
      check("DimensionCount must be 1 to 8", [&](described& t) { t.buffer.DimensionCount = count; });
    }
    check("", [](described& t) { t.buffer.DimensionCount = 2; });
    check("Sizes must not be null", [](described& t) { t.buffer.Sizes = nullptr; });
    check("Sizes must be at least 1", [](described& t) { t.sizes[0] = 0; });
    check("Sizes (4294967295, ", [](described& t) { t.sizes[0] = t.sizes[1] = ~0u; });
    check("TotalTensorSizeInBytes must be at least", [](described& t) { --t.buffer.TotalTensorSizeInBytes; });
    check("TotalTensorSizeInBytes must be at least",
          [](described& t) { t.buffer.TotalTensorSizeInBytes = 0; });
    for (const UINT alignment : {1u, 2u, 3u, 24u, ~0u}) {
      check("GuaranteedBaseOffsetAlignment must be 0 or a power of two from 4 on",
            [&](described& t) { t.buffer.GuaranteedBaseOffsetAlignment = alignment; });
    }
    check_refused<Struct>(
        [&](auto& valid) { (of_input ? valid.desc.InputTensor : valid.desc.OutputTensor) = nullptr; },
        {name, "must not be null"});
  }
  // What depends on both tensors is told of the output.
  const auto of_output = [](const char* member, auto&& make) {
    check_refused<Struct>([&](auto& valid) { make(valid.output); }, {"OutputTensor", member});
  };
  of_output("DataType must be the InputTensor's, FLOAT32, got INT32",
            [](described& t) { t.buffer.DataType = DML_TENSOR_DATA_TYPE_INT32; });
  of_output("Strides must not make elements overlap", [](described& t) {
    t.strides.assign(t.sizes.size(), 1);
    t.buffer.Strides = t.strides.data();
  });
}

TEST_CASE_TEMPLATE("each bad member of depth and space is refused by its name", Struct,
                   DML_DEPTH_TO_SPACE_OPERATOR_DESC, DML_DEPTH_TO_SPACE1_OPERATOR_DESC,
                   DML_SPACE_TO_DEPTH_OPERATOR_DESC, DML_SPACE_TO_DEPTH1_OPERATOR_DESC) {
  for (const UINT size : {0u, 5u, ~0u}) {
    check_refused<Struct>([&](auto& valid) { valid.desc.BlockSize = size; },
                          {"BlockSize", std::to_string(size).c_str()});
  }
  check_refused<Struct>([](auto& valid) { valid.desc.BlockSize = 1; }, {"OutputTensor: Sizes must be"});
  check_refused<Struct>([](auto& valid) { valid.output.sizes[1] = 1; }, {"OutputTensor: Sizes must be"});
  if constexpr (requires(Struct desc) { desc.Order; }) {
    for (const std::uint32_t order : {2u, ~0u}) {
      check_refused<Struct>([&](auto& valid) { set_number(valid.desc.Order, order); }, {"Order must be"});
    }
  }
}

TEST_CASE_TEMPLATE("each bad member of unfold and fold is refused by its name", Struct,
                   DML_UNFOLD_OPERATOR_DESC, DML_FOLD_OPERATOR_DESC) {
  for (const UINT count : {0u, 1u, 3u, 6u, 7u, ~0u}) {
    check_refused<Struct>(
        [&](auto& valid) { valid.desc.DimensionCount = count; },
        {"DimensionCount must be 2, one for each spatial size of ", std::to_string(count).c_str()});
  }
  const auto check_null = [](const UINT* Struct::* member, const char* name) {
    check_refused<Struct>([&](auto& valid) { valid.desc.*member = nullptr; }, {name, "must not be null"});
  };
  check_null(&Struct::WindowSizes, "WindowSizes");
  check_null(&Struct::Strides, "Strides");
  check_null(&Struct::Dilations, "Dilations");
  check_null(&Struct::StartPadding, "StartPadding");
  check_null(&Struct::EndPadding, "EndPadding");
  check_refused<Struct>([](auto& valid) { valid.window_sizes[1] = 0; }, {"WindowSizes must be at least 1"});
  check_refused<Struct>([](auto& valid) { valid.strides[1] = 0; }, {"Strides must be at least 1"});
  check_refused<Struct>([](auto& valid) { valid.dilations[1] = 0; }, {"Dilations must be at least 1"});
  check_refused<Struct>([](auto& valid) { valid.dilations[1] = ~0u; },
                        {"WindowSizes (3, 3) with Dilations (1, 4294967295) do not fit"});
  // What is valid by itself, but gives another number of window positions, is told of the tensor that has them.
  const char* const columns = type_of<Struct> == DML_OPERATOR_FOLD ? "InputTensor" : "OutputTensor";
  check_refused<Struct>([](auto& valid) { valid.strides[0] = 2; }, {columns});
  check_refused<Struct>([](auto& valid) { valid.start_padding[0] = 1; }, {columns});
  const UINT most_padding = sizeof(void*) > 4 ? ~0u : 1u << 20;  // its columns can be addressed
  check_refused<Struct>([&](auto& valid) { valid.end_padding[0] = most_padding; }, {columns});
  check_refused<Struct>([](auto& valid) { valid.window_sizes[0] = 2; }, {columns});
}

TEST_CASE("an operator that is none of the six is not supported") {
  const int anything = 0;
  for (const std::uint32_t type : {0u, 1u, 67u, 70u, 112u, 115u, 175u, 178u, ~0u}) {
    DML_OPERATOR_DESC desc{DML_OPERATOR_INVALID, &anything};
    set_number(desc.Type, type);
    reblock_operator* op = nullptr;
    CHECK(reblock_operator_create(&desc, no_level, &op) == REBLOCK_UNSUPPORTED_OPERATOR);
    CHECK(op == nullptr);
    const std::string message = reblock_last_error();
    CHECK(message.find("Type must be DML_OPERATOR_DEPTH_TO_SPACE") == 0);
    CHECK(message.find("got " + std::to_string(type)) != std::string::npos);
  }
}

TEST_CASE("null pointers are refused by their names") {
  const example<DML_UNFOLD_OPERATOR_DESC> valid;
  const DML_OPERATOR_DESC without{DML_OPERATOR_UNFOLD, nullptr};
  const DML_OPERATOR_DESC with{DML_OPERATOR_UNFOLD, &valid.desc};
  reblock_operator* op = nullptr;
  const auto refuses = [](reblock_status status, const std::string& message) {
    return status == REBLOCK_INVALID_ARGUMENT && message == reblock_last_error();
  };
  CHECK(refuses(reblock_operator_create(&with, no_level, nullptr), "op must not be null"));
  CHECK(refuses(reblock_operator_create(nullptr, no_level, &op), "desc must not be null"));
  CHECK(refuses(reblock_operator_create(&without, no_level, &op), "Desc must not be null"));
  const handle made = create(valid.desc);
  std::array<float, 81> memory{};
  const auto dispatch_on = [&](const reblock_operator* on, const void* input, void* output) {
    return reblock_operator_dispatch(on, input, 100, output, 324, 1);
  };
  CHECK(refuses(dispatch_on(nullptr, memory.data(), memory.data()), "op must not be null"));
  CHECK(refuses(dispatch_on(made.get(), nullptr, memory.data()), "input must not be null"));
  CHECK(refuses(dispatch_on(made.get(), memory.data(), nullptr), "output must not be null"));
  std::uint64_t size = 5;
  CHECK(refuses(reblock_buffer_tensor_size(nullptr, &size), "desc must not be null"));
  CHECK(refuses(reblock_buffer_tensor_size(&valid.image.buffer, nullptr), "size must not be null"));
  CHECK(size == 5);
  CHECK(reblock_operator_input_size(nullptr) == 0);
  CHECK(reblock_operator_output_size(nullptr) == 0);
  reblock_operator_destroy(nullptr);
}

TEST_CASE("a short buffer is refused before a byte is written") {
  const example<DML_FOLD_OPERATOR_DESC> valid;
  const handle op = create(valid.desc);
  REQUIRE(reblock_operator_input_size(op.get()) == 9 * 9 * 4);
  REQUIRE(reblock_operator_output_size(op.get()) == 5 * 5 * 4);
  const std::vector<float> input(81, 1.0f);
  std::vector<float> output(25, -1.0f);
  const auto status = [&](std::size_t input_size, std::size_t output_size) {
    return reblock_operator_dispatch(op.get(), input.data(), input_size, output.data(), output_size, 0);
  };
  for (const std::size_t size : {0u, 1u, 320u, 323u}) CHECK(status(size, 100) == REBLOCK_BUFFER_TOO_SMALL);
  CHECK(std::string(reblock_last_error()) == "input must have at least 324 bytes, got 323");
  for (const std::size_t size : {0u, 1u, 96u, 99u}) CHECK(status(324, size) == REBLOCK_BUFFER_TOO_SMALL);
  CHECK(std::string(reblock_last_error()) == "output must have at least 100 bytes, got 99");
  CHECK(std::ranges::all_of(output, [](float value) { return value == -1.0f; }));
  CHECK(status(324, 100) == REBLOCK_SUCCESS);
  CHECK(status(SIZE_MAX, SIZE_MAX) == REBLOCK_SUCCESS);
  CHECK(output[12] == 9.0f);
}

TEST_CASE("buffers that share memory are refused before a byte is written") {
  const example<DML_DEPTH_TO_SPACE_OPERATOR_DESC> valid;
  const handle op = create(valid.desc);
  std::vector<float> memory = examples::count_up(96);
  const auto before = memory;
  for (const std::ptrdiff_t apart : {0, 1, 47}) {
    CHECK(reblock_operator_dispatch(op.get(), memory.data(), 192, memory.data() + apart, 192, 1) ==
          REBLOCK_INVALID_ARGUMENT);
    CHECK(std::string(reblock_last_error()) == "output must not share memory with input");
  }
  CHECK(memory == before);
  CHECK(reblock_operator_dispatch(op.get(), memory.data(), 192, memory.data() + 48, 192, 1) ==
        REBLOCK_SUCCESS);
  CHECK(memory[49] == 12.0f);
}

TEST_CASE("strides, sizes of buffers and what lies between elements are as described") {
  described depth({1, 4, 1, 2}, {0, 3, 0, 1});
  described space({1, 1, 2, 4}, {0, 0, 5, 1});
  space.buffer.TotalTensorSizeInBytes += 8;
  depth.buffer.GuaranteedBaseOffsetAlignment = 16;
  const handle op =
      create(DML_DEPTH_TO_SPACE_OPERATOR_DESC{&depth.desc, &space.desc, 2}, DML_FEATURE_LEVEL_6_4);
  REQUIRE(reblock_operator_input_size(op.get()) == 11 * 4);
  REQUIRE(reblock_operator_output_size(op.get()) == (9 + 2) * 4);
  const std::vector<float> expected{0, 3, 1, 4, -1, 6, 9, 7, 10, -1, -1};
  CHECK(dispatch(op, examples::count_up(11)) == expected);
}

TEST_CASE("a feature level refuses what DirectML does not take there, none takes all") {
  using blocks = DML_DEPTH_TO_SPACE1_OPERATOR_DESC;
  const auto nothing = [](auto&) {};
  const auto of_type = [](DML_TENSOR_DATA_TYPE type) {
    return [type](example<blocks>& valid) {
      for (described* tensor : {&valid.input, &valid.output}) {
        tensor->buffer.DataType = type;
        tensor->buffer.TotalTensorSizeInBytes *= 2;
      }
    };
  };
  check_refused<blocks>(nothing, {"DEPTH_TO_SPACE1", "LEVEL_2_1", "got LEVEL_2_0"}, DML_FEATURE_LEVEL_2_0);
  check_refused<blocks>(of_type(DML_TENSOR_DATA_TYPE_INT64), {"InputTensor: DataType INT64", "LEVEL_5_0"},
                        DML_FEATURE_LEVEL_4_1);
  check_refused<DML_DEPTH_TO_SPACE_OPERATOR_DESC>(
      [](auto& valid) { valid.input.buffer.DataType = DML_TENSOR_DATA_TYPE_INT32; },
      {"InputTensor: DataType INT32", "LEVEL_2_1"}, DML_FEATURE_LEVEL_1_0);
  check_refused<DML_UNFOLD_OPERATOR_DESC>(nothing, {"LEVEL_6_4", "got LEVEL_6_3"}, DML_FEATURE_LEVEL_6_3);
  check_refused<DML_FOLD_OPERATOR_DESC>(nothing, {"LEVEL_6_4", "got LEVEL_1_0"}, DML_FEATURE_LEVEL_1_0);
  for (const std::uint32_t number : {1u, 0x999u, 0x6500u, ~0u}) {
    check_refused<blocks>(nothing, {"feature_level must be", std::to_string(number).c_str()}, number);
    check_refused<DML_FOLD_OPERATOR_DESC>(nothing, {"feature_level must be"}, number);
  }
  const described sound({2, 6, 5});
  const described longer({2, 3, 10});
  const DML_DEPTH_TO_SPACE_OPERATOR_DESC one_axis{&sound.desc, &longer.desc, 2};
  CHECK(create(one_axis));
  CHECK_FALSE(create(one_axis, DML_FEATURE_LEVEL_6_4));
}

TEST_CASE("columns may have leading dimensions of 1") {
  const described leading({1, 1, 9, 9});
  example<DML_UNFOLD_OPERATOR_DESC> unfold;
  unfold.desc.OutputTensor = &leading.desc;
  example<DML_FOLD_OPERATOR_DESC> fold;
  fold.desc.InputTensor = &leading.desc;
  const auto pixels = examples::count_up(25);
  const auto sums = dispatch(create(fold.desc, DML_FEATURE_LEVEL_6_4),
                             dispatch(create(unfold.desc, DML_FEATURE_LEVEL_6_4), pixels));
  CHECK(sums[12] == 9 * pixels[12]);
}

TEST_CASE("the size of a buffer tensor is what the C++ library says") {
  example<DML_FOLD_OPERATOR_DESC> valid;
  DML_BUFFER_TENSOR_DESC& buffer = valid.image.buffer;
  const std::array<UINT, 4> strides{0, 7, 5, 3};
  buffer.Strides = strides.data();
  for (std::uint32_t type = 1; type <= 11; ++type) {
    set_number(buffer.DataType, type);
    set_number(buffer.Flags, ~0u);
    buffer.TotalTensorSizeInBytes = 1;
    std::uint64_t size = 0;
    CHECK(reblock_buffer_tensor_size(&buffer, &size) == REBLOCK_SUCCESS);
    CHECK(size == total_size_in_bytes({static_cast<data_type>(type), {1, 1, 5, 5}, axis_values{0, 7, 5, 3}}));
  }
  std::uint64_t size = 5;
  set_number(buffer.DataType, 0);
  CHECK(reblock_buffer_tensor_size(&buffer, &size) == REBLOCK_INVALID_ARGUMENT);
  CHECK(std::string(reblock_last_error()).find("desc: DataType UNKNOWN (0)") == 0);
  buffer.DimensionCount = 0;
  CHECK(reblock_buffer_tensor_size(&buffer, &size) == REBLOCK_INVALID_ARGUMENT);
  CHECK(std::string(reblock_last_error()) == "desc: DimensionCount must be 1 to 8, got 0");
  CHECK(size == 5);
}

TEST_CASE("an error is its thread's, and stays until the thread's next one") {
  std::thread([] {
    CHECK(std::string(reblock_last_error()).empty());
    CHECK(reblock_operator_create(nullptr, no_level, nullptr) == REBLOCK_INVALID_ARGUMENT);
    const std::string first = reblock_last_error();
    std::thread([] { CHECK(std::string(reblock_last_error()).empty()); }).join();
    const example<DML_FOLD_OPERATOR_DESC> valid;
    CHECK(create(valid.desc));
    CHECK(reblock_last_error() == first);
    CHECK(reblock_buffer_tensor_size(nullptr, nullptr) == REBLOCK_INVALID_ARGUMENT);
    CHECK(reblock_last_error() != first);
  }).join();
}

/// More than a MiB, so that threads share the work.
struct large_example {
  described depth{{1, 4, 300, 300}};
  described space{{1, 1, 600, 600}};
  DML_DEPTH_TO_SPACE_OPERATOR_DESC desc{&depth.desc, &space.desc, 2};
};

TEST_CASE("a result does not depend on the number of threads") {
  const large_example large;
  const handle op = create(large.desc);
  const auto input = examples::count_up(4 * 300 * 300);
  const auto expected = dispatch(op, input);
  for (const std::size_t threads : {std::size_t{0}, std::size_t{2}, std::size_t{5}, SIZE_MAX}) {
    CHECK(dispatch(op, input, threads) == expected);
  }
}

TEST_CASE("eight threads at once create, dispatch, fail and destroy") {
  const large_example large;
  const handle shared = create(large.desc);
  const auto input = examples::count_up(4 * 300 * 300);
  const auto expected = dispatch(shared, input);
  std::atomic<int> failures{0};
  std::vector<std::thread> callers;
  for (UINT caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      std::vector<float> output(expected.size());
      const auto run = [&](const reblock_operator* op) {
        const std::size_t size = output.size() * sizeof(float);
        std::ranges::fill(output, -1.0f);
        const auto status =
            reblock_operator_dispatch(op, input.data(), size, output.data(), size, caller % 4);
        return status == REBLOCK_SUCCESS && output == expected;
      };
      const DML_OPERATOR_DESC good{DML_OPERATOR_DEPTH_TO_SPACE, &large.desc};
      auto wrong_desc = large.desc;
      wrong_desc.BlockSize = 100 + caller;
      const DML_OPERATOR_DESC wrong{DML_OPERATOR_DEPTH_TO_SPACE, &wrong_desc};
      const std::string named = "BlockSize " + std::to_string(100 + caller);
      for (int round = 0; round < 5; ++round) {
        reblock_operator* own = nullptr;
        reblock_operator* none = nullptr;
        bool right = reblock_operator_create(&wrong, no_level, &none) == REBLOCK_INVALID_ARGUMENT;
        right = right && reblock_operator_create(&good, no_level, &own) == REBLOCK_SUCCESS && run(own);
        right = right && run(shared.get());
        right = right && std::string(reblock_last_error()).find(named) != std::string::npos;
        reblock_operator_destroy(own);
        if (!right) ++failures;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(failures == 0);
}

TEST_CASE("the version is the library's") { CHECK(std::string(reblock_version()) == version); }

}  // namespace
}  // namespace reblock
