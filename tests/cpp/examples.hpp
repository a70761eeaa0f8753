// SPDX-License-Identifier: BSD-3-Clause
//
// The examples of DirectML's reference pages, as float tensors in C order.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include <reblock/window.hpp>

namespace reblock::examples {

/// first, first + 1, ... `count` numbers.
inline std::vector<float> count_up(std::size_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Two channels: the given one, and one that is larger everywhere by `step`.
inline std::vector<float> two_channels(const std::vector<float>& channel, float step) {
  std::vector<float> values = channel;
  for (const float value : channel) values.push_back(value + step);
  return values;
}

/// {1, 8, 2, 3}
inline std::vector<float> depth() {
  std::vector<float> values;
  for (int q = 0; q < 8; ++q) {
    for (int i = 0; i < 6; ++i) values.push_back(static_cast<float>(9 * q + i));
  }
  return values;
}

/// {1, 2, 4, 6}, block size 2, DCR order.
inline std::vector<float> space_depth_column_row() {
  return two_channels(
      {0, 18, 1, 19, 2, 20, 36, 54, 37, 55, 38, 56, 3, 21, 4, 22, 5, 23, 39, 57, 40, 58, 41, 59}, 9);
}

/// {1, 2, 4, 6}, block size 2, CRD order.
inline std::vector<float> space_column_row_depth() {
  return two_channels(
      {0, 9, 1, 10, 2, 11, 18, 27, 19, 28, 20, 29, 3, 12, 4, 13, 5, 14, 21, 30, 22, 31, 23, 32}, 36);
}

/// Image {1, 1, 5, 5} = 0 ... 24.
struct unfold_example {
  reblock::window window;
  axis_values columns;
  std::vector<float> first_row;
  std::vector<float> last_row;
};
inline std::vector<unfold_example> unfold() {
  return {
      {{.sizes = {3, 3}}, {1, 9, 9}, {0, 1, 2, 5, 6, 7, 10, 11, 12}, {12, 13, 14, 17, 18, 19, 22, 23, 24}},
      {{.sizes = {3, 3}, .start_padding = {1, 0}, .end_padding = {1, 0}},
       {1, 9, 15},
       {0, 0, 0, 0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17},
       {7, 8, 9, 12, 13, 14, 17, 18, 19, 22, 23, 24, 0, 0, 0}},
  };
}

/// Columns = 0, 1, 2, ...
struct fold_example {
  reblock::window window;
  axis_values columns;
  axis_values image;
  std::vector<float> values;
};
inline std::vector<fold_example> fold() {
  const window padded{.sizes = {3, 3}, .start_padding = {1, 0}, .end_padding = {1, 0}};
  const std::vector<float> second = {26, 70,  102, 60,  78, 183, 231, 129,
                                     84, 195, 243, 135, 82, 182, 214, 116};
  std::vector<float> third = second;
  third.insert(third.end(), {170, 358, 390, 204, 294, 615, 663, 345,  //
                             300, 627, 675, 351, 226, 470, 502, 260});
  return {
      {{.sizes = {3, 3}},
       {1, 9, 4},
       {1, 1, 4, 4},
       {0, 5, 13, 9, 14, 38, 54, 32, 38, 86, 102, 56, 26, 57, 65, 35}},
      {padded, {1, 9, 8}, {1, 1, 4, 4}, second},
      {padded, {1, 18, 8}, {1, 2, 4, 4}, third},
  };
}

}  // namespace reblock::examples
