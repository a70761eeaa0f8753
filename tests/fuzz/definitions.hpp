// SPDX-License-Identifier: BSD-3-Clause
//
// What the operators do to the bytes of tensors with strides, element by element, as slow as it gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <reblock/depth_space.hpp>
#include <reblock/window.hpp>

#include "../cpp/oracle.hpp"

namespace reblock::fuzz {

/// Where the elements of a tensor lie; strides in elements.
struct elements {
  axis_values extents;
  axis_values strides;
  std::size_t size;  ///< of one element, in bytes

  /// In elements, from the element whose index is 0 on every axis.
  std::int64_t place(const axis_values& index) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < index.size(); ++i) sum += index[i] * strides[i];
    return sum;
  }
  template <class Byte>
  Byte* at(const axis_values& index, Byte* first) const {
    return first + place(index) * static_cast<std::ptrdiff_t>(size);
  }
};

/// Depth to space, or space to depth: `space` and `block` say which elements are equal.
inline void define_depth_space(bool to_space, const axis_values& space, const axis_values& block,
                               depth_space_order order, std::size_t channel_axis, const elements& input,
                               const elements& output, const std::byte* from, std::byte* to) {
  oracle::for_each_depth_space_pair(space, block, order, channel_axis,
                                    [&](const axis_values& in_depth, const axis_values& in_space) {
                                      std::memcpy(output.at(to_space ? in_space : in_depth, to),
                                                  input.at(to_space ? in_depth : in_space, from), input.size);
                                    });
}

inline void define_unfold(const window& w, std::size_t channel_axis, const elements& image,
                          const elements& columns, const std::byte* from, std::byte* to) {
  oracle::for_each_window_pair(image.extents, w, channel_axis,
                               [&](const axis_values& in_columns, const axis_values& in_image, bool inside) {
                                 std::byte* element = columns.at(in_columns, to);
                                 if (inside) {
                                   std::memcpy(element, image.at(in_image, from), image.size);
                                 } else {
                                   std::memset(element, 0, image.size);
                                 }
                               });
}

/// Elements of type T, each sum in a variable of type Sum, rounded once.
template <class T, class Sum>
void define_fold(const window& w, std::size_t channel_axis, const elements& columns, const elements& image,
                 const std::byte* from, std::byte* to) {
  oracle::tensor<Sum> sums(image.extents);
  oracle::for_each_window_pair(image.extents, w, channel_axis,
                               [&](const axis_values& in_columns, const axis_values& in_image, bool inside) {
                                 if (!inside) return;
                                 T term;
                                 std::memcpy(&term, columns.at(in_columns, from), sizeof(T));
                                 Sum& sum = sums.at(in_image);
                                 sum = static_cast<Sum>(sum + static_cast<Sum>(term));
                               });
  oracle::for_each_index(image.extents, [&](const axis_values& index) {
    const auto rounded = static_cast<T>(sums.at(index));
    std::memcpy(image.at(index, to), &rounded, sizeof(T));
  });
}

/// Makes every NaN the same one: which bits a sum with a NaN has, the compiler decides.
template <class T>
void unify_nans(const elements& tensor, std::byte* first) {
  oracle::for_each_index(tensor.extents, [&](const axis_values& index) {
    T value;
    std::memcpy(&value, tensor.at(index, first), sizeof(T));
    if (value != value) std::memset(tensor.at(index, first), 0xff, sizeof(T));
  });
}

}  // namespace reblock::fuzz
