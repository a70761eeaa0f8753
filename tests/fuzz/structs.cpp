// SPDX-License-Identifier: BSD-3-Clause
//
// Fuzz target: DirectML's structs with anything in them are either refused or become operators, as the rules say, through
// the C library. What they point to is no longer than they say. An operator does to buffers of exactly the sizes that it
// needs what the C++ library's does, and nothing to buffers that are shorter.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include <reblock/c.h>
#include <reblock/reblock.hpp>

#include "rules.hpp"
#include "source.hpp"

namespace reblock::fuzz {
namespace {

// What is larger is created, but not dispatched.
constexpr std::uint64_t most_bytes = 1 << 16;

/// Any number in an enumeration, which is read and written as bytes.
template <class Enumeration>
void set_number(Enumeration& value, std::uint32_t number) {
  std::memcpy(&value, &number, sizeof(value));
}
template <class Enumeration>
std::uint32_t number_of(const Enumeration& value) {
  std::uint32_t number = 0;
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

/// `usual`, or rarely any number.
std::uint32_t number(source& s, std::uint32_t usual) { return s.rarely() ? s.any<std::uint32_t>() : usual; }

/// An array of UINT that is as long as is said, or null.
class array {
 public:
  array() = default;
  array(source& s, const axis_values& values, bool may_be_null = true)
      : values_(may_be_null && s.rarely() ? nullptr : new UINT[values.size()]) {
    for (std::size_t i = 0; values_ && i < values.size(); ++i) {
      values_[i] = number(s, static_cast<UINT>(values[i]));
    }
  }
  const UINT* get() const { return values_.get(); }
  /// Requires that it has so many values.
  axis_values read(std::size_t count) const {
    axis_values read;
    for (std::size_t i = 0; i < count; ++i) read.push_back(values_[i]);
    return read;
  }

 private:
  std::unique_ptr<UINT[]> values_;
};

/// A count that is rarely another one; then it is beyond what may be read.
UINT count_of(source& s, std::size_t values, std::size_t most) {
  if (!s.rarely()) return static_cast<UINT>(values);
  const auto count = s.any<UINT>();
  return count > most || count < values ? count : static_cast<UINT>(values);
}

/// A tensor's structs with all that they point to.
struct drawn_tensor {
  array sizes;
  array strides;
  DML_BUFFER_TENSOR_DESC buffer{};
  DML_TENSOR_DESC desc{};
  const DML_TENSOR_DESC* pointer = nullptr;

  drawn_tensor(source& s, std::uint32_t type, const axis_values& extents, bool is_input)
      : sizes(s, extents), strides(s.flip() ? array() : array(s, s.apart(extents, is_input), false)) {
    set_number(buffer.DataType, number(s, type));
    set_number(buffer.Flags, number(s, 0));
    buffer.DimensionCount = count_of(s, extents.size(), 8);
    buffer.Sizes = sizes.get();
    buffer.Strides = strides.get();
    buffer.GuaranteedBaseOffsetAlignment = s.rarely() ? 1u << s.between(0, 31) : number(s, 0);
    set_number(desc.Type, number(s, DML_TENSOR_TYPE_BUFFER));
    desc.Desc = s.rarely() ? nullptr : &buffer;
    pointer = s.rarely() ? nullptr : &desc;
    if (const auto layout = read(); layout && is_tensor(*layout)) {
      const std::int64_t more = s.rarely() ? s.between(-8, 8) : 0;
      buffer.TotalTensorSizeInBytes = total_size_in_bytes(*layout) + static_cast<std::uint64_t>(more);
    } else {
      buffer.TotalTensorSizeInBytes = s.any<std::uint64_t>();
    }
  }
  drawn_tensor(const drawn_tensor&) = delete;
  drawn_tensor& operator=(const drawn_tensor&) = delete;

  /// What it says, where that much can be read.
  std::optional<tensor_desc> read() const {
    if (buffer.DimensionCount < 1 || buffer.DimensionCount > 8 || buffer.Sizes == nullptr)
      return std::nullopt;
    tensor_desc read{static_cast<data_type>(number_of(buffer.DataType)), sizes.read(buffer.DimensionCount)};
    if (buffer.Strides != nullptr) read.strides = strides.read(buffer.DimensionCount);
    return read;
  }

  /// The tensor that it describes, if the rules of DirectML's structs let it.
  std::optional<tensor_desc> tensor() const {
    const auto layout = read();
    if (pointer == nullptr || desc.Desc == nullptr || number_of(desc.Type) != 1 || !layout)
      return std::nullopt;
    if (!is_tensor(*layout) || number_of(buffer.Flags) != 0) return std::nullopt;
    if (buffer.TotalTensorSizeInBytes < total_size_in_bytes(*layout)) return std::nullopt;
    const std::uint64_t alignment = buffer.GuaranteedBaseOffsetAlignment;
    if (alignment == 0) return layout;
    for (std::uint64_t power = element_size(layout->type); power <= 1ull << 31; power *= 2) {
      if (power == alignment) return layout;
    }
    return std::nullopt;
  }
};

struct destroys {
  void operator()(reblock_operator* op) const { reblock_operator_destroy(op); }
};

/// Runs the operator and the one of the C++ library on the same bytes.
void check_dispatch(source& s, const reblock_operator* op, const compiled_operator& expected) {
  const std::uint64_t input_size = reblock_operator_input_size(op);
  const std::uint64_t output_size = reblock_operator_output_size(op);
  require(input_size >= total_size_in_bytes(expected.input()), "the input holds its tensor");
  require(output_size >= total_size_in_bytes(expected.output()), "the output holds its tensor");
  if (input_size > most_bytes || output_size > most_bytes) return;
  const auto buffer_of = [&](std::uint64_t size) {
    exact_buffer buffer(static_cast<std::size_t>(size), static_cast<std::size_t>(s.between(0, 15)));
    buffer.fill(s.any<std::uint8_t>());
    return buffer;
  };
  const exact_buffer input = buffer_of(input_size);
  exact_buffer output = buffer_of(output_size);
  std::vector<std::byte> result(output.data(), output.data() + output.size());
  const auto dispatch = [&](std::size_t from, std::size_t to) {
    return reblock_operator_dispatch(op, input.data(), from, output.data(), to, s.any<std::uint8_t>());
  };
  require(dispatch(input.size() - 1, output.size()) == REBLOCK_BUFFER_TOO_SMALL, "a short input is refused");
  require(dispatch(input.size(), output.size() - 1) == REBLOCK_BUFFER_TOO_SMALL, "a short output is refused");
  require(std::memcmp(output.data(), result.data(), result.size()) == 0, "nothing is written on an error");
  require(dispatch(input.size(), output.size()) == REBLOCK_SUCCESS, "buffers of the right sizes are taken");
  expected.dispatch(input.data(), result.data());
  require(std::memcmp(output.data(), result.data(), result.size()) == 0,
          "dispatch does what the C++ library does");
}

/// Creates the operator; it must be there if the rules and the C++ library take the description.
template <class Description>
void check_create(source& s, DML_OPERATOR_TYPE type, const void* desc, std::uint32_t level, bool is_valid,
                  const Description& description) {
  DML_OPERATOR_DESC operator_desc{type, s.rarely() ? nullptr : desc};
  const auto compiled =
      try_compile(description, level == 0 ? std::nullopt : std::optional(static_cast<feature_level>(level)));
  const bool expected = is_valid && compiled && operator_desc.Desc != nullptr;

  reblock_operator* made = nullptr;
  const reblock_status status =
      reblock_operator_create(&operator_desc, static_cast<DML_FEATURE_LEVEL>(level), &made);
  const std::unique_ptr<reblock_operator, destroys> op(made);
  require((status == REBLOCK_SUCCESS) == (made != nullptr), "there is an operator, or there is an error");
  require((status == REBLOCK_SUCCESS) == expected, "create follows the rules");
  if (status != REBLOCK_SUCCESS) {
    require(status == REBLOCK_INVALID_ARGUMENT, "what is wrong is the description");
    require(*reblock_last_error() != '\0', "an error has a message");
    return;
  }
  check_dispatch(s, made, *compiled);
}

/// A number, which becomes a DML_FEATURE_LEVEL where it is passed: not every number is a value of that type.
std::uint32_t draw_level(source& s) {
  constexpr std::uint32_t levels[] = {0, 0, 0x1000, 0x2000, 0x2100, 0x5000, 0x6400};
  return number(s, levels[s.between(0, 6)]);
}

std::uint32_t draw_type(source& s) { return static_cast<std::uint32_t>(s.between(1, 11)); }

template <class Struct, class Description>
void fuzz_blocks(source& s, DML_OPERATOR_TYPE type) {
  constexpr bool to_space = std::is_same_v<Description, depth_to_space_desc>;
  const auto axes = static_cast<std::size_t>(s.between(0, 3) == 3 ? s.between(1, 6) : 2);
  const std::int64_t block = s.between(1, 4);
  axis_values depth{s.between(1, 3), s.between(1, 4)};
  axis_values space = depth;
  for (std::size_t d = 0; d < axes; ++d) {
    depth[1] *= block;
    depth.push_back(s.between(1, 4));
    space.push_back(depth[depth.size() - 1] * block);
  }
  const std::uint32_t data_type = draw_type(s);
  const drawn_tensor input(s, data_type, to_space ? depth : space, true);
  const drawn_tensor output(s, data_type, to_space ? space : depth, false);
  Struct desc{};
  desc.InputTensor = input.pointer;
  desc.OutputTensor = output.pointer;
  desc.BlockSize = number(s, static_cast<UINT>(block));
  std::uint32_t order = 0;
  const std::uint32_t level = draw_level(s);
  bool is_there = true;
  if constexpr (requires { desc.Order; }) {
    order = number(s, s.flip());
    set_number(desc.Order, order);
    is_there = level == 0 || level >= 0x2100;
  }
  const auto from = input.tensor();
  const auto to = output.tensor();
  const Description description{.input = from.value_or(tensor_desc{}),
                                .output = to,
                                .block_size = desc.BlockSize,
                                .order = static_cast<depth_space_order>(order)};
  check_create(s, type, &desc, level, from && to && is_there, description);
}

template <class Struct>
void fuzz_windows(source& s, DML_OPERATOR_TYPE type) {
  constexpr bool is_fold = std::is_same_v<Struct, DML_FOLD_OPERATOR_DESC>;
  const auto axes = static_cast<std::size_t>(s.between(1, 6));
  axis_values image{s.between(1, 3), s.between(1, 3)};
  window drawn{axis_values{}, axis_values{}, axis_values{}, axis_values{}, axis_values{}};
  axis_values sizes, strides, dilations, start_padding, end_padding;
  for (std::size_t d = 0; d < axes; ++d) {
    image.push_back(s.between(1, axes < 3 ? 9 : 3));
    sizes.push_back(s.between(1, 3));
    strides.push_back(s.between(1, 3));
    dilations.push_back(s.between(1, 2));
    start_padding.push_back(s.between(0, 2));
    end_padding.push_back(s.between(0, 2));
  }
  drawn = {sizes, strides, dilations, start_padding, end_padding};
  axis_values columns;
  for (std::int64_t i = s.between(0, 5); i > 0 && columns.size() + 3 < image.size(); --i)
    columns.push_back(1);
  for (const std::int64_t size : columns_of(image, 1, drawn).value_or(axis_values{1, 1, 1}))
    columns.push_back(size);

  const std::uint32_t data_type = draw_type(s);
  const drawn_tensor input(s, data_type, is_fold ? columns : image, true);
  const drawn_tensor output(s, data_type, is_fold ? image : columns, false);
  const array parameters[] = {{s, sizes}, {s, strides}, {s, dilations}, {s, start_padding}, {s, end_padding}};
  const UINT count = count_of(s, axes, 6);
  const Struct desc{input.pointer,       output.pointer,      count,
                    parameters[0].get(), parameters[1].get(), parameters[2].get(),
                    parameters[3].get(), parameters[4].get()};
  const auto from = input.tensor();
  const auto to = output.tensor();
  bool is_valid = from && to && count >= 1 && count <= 6;
  for (const array& parameter : parameters) is_valid = is_valid && parameter.get() != nullptr;
  is_valid = is_valid && (is_fold ? to : from)->sizes.size() == count + 2;
  std::conditional_t<is_fold, fold_desc, unfold_desc> description;
  if (is_valid) {
    description.input = *from;
    description.output = *to;
    description.window = {parameters[0].read(count), parameters[1].read(count), parameters[2].read(count),
                          parameters[3].read(count), parameters[4].read(count)};
  }
  check_create(s, type, &desc, draw_level(s), is_valid, description);
}

/// A Type that is none of the six, on a struct that must not be read.
void fuzz_type(source& s) {
  const std::uint32_t type = s.any<std::uint32_t>();
  for (const std::uint32_t known : {68u, 69u, 113u, 114u, 176u, 177u}) {
    if (type == known) return;
  }
  const std::unique_ptr<std::byte[]> nothing(new std::byte[0]);
  DML_OPERATOR_DESC desc{DML_OPERATOR_INVALID, nothing.get()};
  set_number(desc.Type, type);
  reblock_operator* op = nullptr;
  require(reblock_operator_create(&desc, static_cast<DML_FEATURE_LEVEL>(draw_level(s)), &op) ==
              REBLOCK_UNSUPPORTED_OPERATOR,
          "six are supported");
  require(op == nullptr, "there is no operator");
}

}  // namespace
}  // namespace reblock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reblock::fuzz;
  source s(data, size);
  switch (s.between(0, 6)) {
    case 0:
      fuzz_blocks<DML_DEPTH_TO_SPACE_OPERATOR_DESC, reblock::depth_to_space_desc>(
          s, DML_OPERATOR_DEPTH_TO_SPACE);
      break;
    case 1:
      fuzz_blocks<DML_DEPTH_TO_SPACE1_OPERATOR_DESC, reblock::depth_to_space_desc>(
          s, DML_OPERATOR_DEPTH_TO_SPACE1);
      break;
    case 2:
      fuzz_blocks<DML_SPACE_TO_DEPTH_OPERATOR_DESC, reblock::space_to_depth_desc>(
          s, DML_OPERATOR_SPACE_TO_DEPTH);
      break;
    case 3:
      fuzz_blocks<DML_SPACE_TO_DEPTH1_OPERATOR_DESC, reblock::space_to_depth_desc>(
          s, DML_OPERATOR_SPACE_TO_DEPTH1);
      break;
    case 4: fuzz_windows<DML_UNFOLD_OPERATOR_DESC>(s, DML_OPERATOR_UNFOLD); break;
    case 5: fuzz_windows<DML_FOLD_OPERATOR_DESC>(s, DML_OPERATOR_FOLD); break;
    default: fuzz_type(s); break;
  }
  return 0;
}
