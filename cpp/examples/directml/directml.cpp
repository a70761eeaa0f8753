// SPDX-License-Identifier: BSD-3-Clause
//
// DirectML's way: fill in an operator's description, compile it, bind an input and an output buffer,
// dispatch. The members and the numbers are those of the examples on DirectML's reference pages; each
// output is printed and compared with the one on the page.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include <reblock/reblock.hpp>

namespace {

using reblock::axis_values;
using reblock::data_type;
using reblock::tensor_desc;

// first, first + 1, ...: `count` values.
template <class T>
std::vector<T> count_up(std::size_t count, int first = 0) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), static_cast<T>(first));
  return values;
}

// The values, then the same with `step` added to each.
template <class T>
std::vector<T> two_channels(std::vector<T> values, int step) {
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(values[i] + static_cast<T>(step));
  return values;
}

template <class T>
void print(const std::vector<T>& values, const axis_values& sizes) {
  const auto row = static_cast<std::size_t>(*(sizes.end() - 1));
  const auto plane = static_cast<std::size_t>(*(sizes.end() - 2)) * row;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0 && i % plane == 0) std::printf("\n");
    std::printf("%4g%s", static_cast<double>(values[i]), (i + 1) % row == 0 ? "\n" : "");
  }
}

// What a program does with any description. Returns whether the output is the page's.
template <class T, class Desc>
bool show(const char* title, const Desc& desc, const std::vector<T>& input, const std::vector<T>& page) {
  const auto compiled = reblock::try_compile(desc);
  if (!compiled) {
    std::printf("%s: %s\n", title, compiled.why().message());
    return false;
  }
  // A buffer holds total_size_in_bytes() of its tensor, and needs no type and no alignment.
  const auto buffer_for = [](const tensor_desc& tensor) {
    return std::vector<std::byte>(static_cast<std::size_t>(reblock::total_size_in_bytes(tensor)));
  };
  std::vector<std::byte> input_buffer = buffer_for(compiled->input());
  std::vector<std::byte> output_buffer = buffer_for(compiled->output());
  std::memcpy(input_buffer.data(), input.data(), input.size() * sizeof(T));
  compiled->dispatch(input_buffer.data(), output_buffer.data());

  std::vector<T> output(page.size());
  std::memcpy(output.data(), output_buffer.data(), output.size() * sizeof(T));
  const bool right = output == page;
  std::printf("%s: %s\n", title, right ? "as on the page" : "WRONG");
  print(output, compiled->output().sizes);
  return right;
}

bool depth_and_space() {
  using reblock::depth_space_order;
  const tensor_desc depth{data_type::uint32, {1, 8, 2, 3}};
  const tensor_desc space{data_type::uint32, {1, 2, 4, 6}};
  std::vector<std::uint32_t> planes;
  for (int q = 0; q < 8; ++q) {
    for (const std::uint32_t value : count_up<std::uint32_t>(6, 9 * q)) planes.push_back(value);
  }
  const auto dcr = two_channels<std::uint32_t>(
      {0, 18, 1, 19, 2, 20, 36, 54, 37, 55, 38, 56, 3, 21, 4, 22, 5, 23, 39, 57, 40, 58, 41, 59}, 9);
  const auto crd = two_channels<std::uint32_t>(
      {0, 9, 1, 10, 2, 11, 18, 27, 19, 28, 20, 29, 3, 12, 4, 13, 5, 14, 21, 30, 22, 31, 23, 32}, 36);
  bool right = true;
  for (const bool is_dcr : {true, false}) {
    const auto order = is_dcr ? depth_space_order::depth_column_row : depth_space_order::column_row_depth;
    const auto& blocks = is_dcr ? dcr : crd;
    const reblock::depth_to_space_desc to_space{
        .input = depth, .output = space, .block_size = 2, .order = order};
    const reblock::space_to_depth_desc to_depth{
        .input = space, .output = depth, .block_size = 2, .order = order};
    right = show(is_dcr ? "DEPTH_TO_SPACE1, DCR" : "DEPTH_TO_SPACE1, CRD", to_space, planes, blocks) && right;
    right = show(is_dcr ? "SPACE_TO_DEPTH1, DCR" : "SPACE_TO_DEPTH1, CRD", to_depth, blocks, planes) && right;
  }
  return right;
}

const reblock::window plain{
    .sizes = {3, 3}, .strides = {1, 1}, .dilations = {1, 1}, .start_padding = {0, 0}, .end_padding = {0, 0}};
const reblock::window padded{
    .sizes = {3, 3}, .strides = {1, 1}, .dilations = {1, 1}, .start_padding = {1, 0}, .end_padding = {1, 0}};

bool unfolds() {
  const tensor_desc image{data_type::float32, {1, 1, 5, 5}};
  const reblock::unfold_desc first{
      .input = image, .output = tensor_desc{data_type::float32, {1, 9, 9}}, .window = plain};
  const reblock::unfold_desc second{
      .input = image, .output = tensor_desc{data_type::float32, {1, 9, 15}}, .window = padded};
  const std::vector<float> first_page = {
      0,  1,  2,  5,  6,  7,  10, 11, 12,  //
      1,  2,  3,  6,  7,  8,  11, 12, 13,  //
      2,  3,  4,  7,  8,  9,  12, 13, 14,  //
      5,  6,  7,  10, 11, 12, 15, 16, 17,  //
      6,  7,  8,  11, 12, 13, 16, 17, 18,  //
      7,  8,  9,  12, 13, 14, 17, 18, 19,  //
      10, 11, 12, 15, 16, 17, 20, 21, 22,  //
      11, 12, 13, 16, 17, 18, 21, 22, 23,  //
      12, 13, 14, 17, 18, 19, 22, 23, 24,  //
  };
  const std::vector<float> second_page = {
      0, 0, 0, 0,  1,  2,  5,  6,  7,  10, 11, 12, 15, 16, 17,  //
      0, 0, 0, 1,  2,  3,  6,  7,  8,  11, 12, 13, 16, 17, 18,  //
      0, 0, 0, 2,  3,  4,  7,  8,  9,  12, 13, 14, 17, 18, 19,  //
      0, 1, 2, 5,  6,  7,  10, 11, 12, 15, 16, 17, 20, 21, 22,  //
      1, 2, 3, 6,  7,  8,  11, 12, 13, 16, 17, 18, 21, 22, 23,  //
      2, 3, 4, 7,  8,  9,  12, 13, 14, 17, 18, 19, 22, 23, 24,  //
      5, 6, 7, 10, 11, 12, 15, 16, 17, 20, 21, 22, 0,  0,  0,   //
      6, 7, 8, 11, 12, 13, 16, 17, 18, 21, 22, 23, 0,  0,  0,   //
      7, 8, 9, 12, 13, 14, 17, 18, 19, 22, 23, 24, 0,  0,  0,   //
  };
  const std::vector<float> values = count_up<float>(25);
  const bool right = show("UNFOLD, example 1", first, values, first_page);
  return show("UNFOLD, example 2", second, values, second_page) && right;
}

bool folds() {
  const auto desc = [](const axis_values& columns, const axis_values& image, const reblock::window& window) {
    return reblock::fold_desc{
        .input = {data_type::float32, columns}, .output = {data_type::float32, image}, .window = window};
  };
  const std::vector<float> first = {0, 5, 13, 9, 14, 38, 54, 32, 38, 86, 102, 56, 26, 57, 65, 35};
  const std::vector<float> second = {26, 70,  102, 60,  78, 183, 231, 129,
                                     84, 195, 243, 135, 82, 182, 214, 116};
  std::vector<float> third = second;
  third.insert(third.end(), {170, 358, 390, 204, 294, 615, 663, 345,  //
                             300, 627, 675, 351, 226, 470, 502, 260});
  bool right = show("FOLD, example 1", desc({1, 9, 4}, {1, 1, 4, 4}, plain), count_up<float>(36), first);
  right =
      show("FOLD, example 2", desc({1, 9, 8}, {1, 1, 4, 4}, padded), count_up<float>(72), second) && right;
  return show("FOLD, example 3", desc({1, 18, 8}, {1, 2, 4, 4}, padded), count_up<float>(144), third) &&
         right;
}

}  // namespace

int main() {
  bool right = depth_and_space();
  right = unfolds() && right;
  right = folds() && right;
  return right ? 0 : 1;
}
