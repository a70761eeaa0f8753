// SPDX-License-Identifier: BSD-3-Clause
//
// Tensors with any strides, in a buffer of their own whose other bytes are guards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <reblock/axis_values.hpp>
#include <reblock/tensor.hpp>

#include "oracle.hpp"

namespace reblock::test {

inline constexpr std::byte guard{0xa5};

template <class T>
class strided_tensor {
 public:
  /// Strides in elements, of either sign. Every byte is a guard.
  strided_tensor(const axis_values& extents, const axis_values& strides)
      : extents_(extents), strides_(strides) {
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (extents[i] > 0) (strides[i] < 0 ? least : most) += (extents[i] - 1) * strides[i];
    }
    constexpr std::int64_t margin = 5;
    origin_ = margin - least;
    bytes_.assign(static_cast<std::size_t>(margin + most - least + 1 + margin) * sizeof(T), guard);
  }

  /// Holds the given values.
  strided_tensor(const oracle::tensor<T>& values, const axis_values& strides)
      : strided_tensor(values.extents, strides) {
    write(values, bytes_);
  }

  tensor_view<T> view() { return {reinterpret_cast<T*>(bytes_.data()) + origin_, extents_, strides_}; }
  tensor_view<const T> view() const {
    return {reinterpret_cast<const T*>(bytes_.data()) + origin_, extents_, strides_};
  }

  /// Whether the elements are these, bit for bit, and every other byte is still a guard.
  bool holds_exactly(const oracle::tensor<T>& values) const {
    std::vector<std::byte> expected(bytes_.size(), guard);
    write(values, expected);
    return values.extents == extents_ && bytes_ == expected;
  }

  bool untouched() const { return bytes_ == std::vector<std::byte>(bytes_.size(), guard); }

 private:
  void write(const oracle::tensor<T>& values, std::vector<std::byte>& bytes) const {
    oracle::for_each_index(extents_, [&](const axis_values& index) {
      std::int64_t place = origin_;
      for (std::size_t i = 0; i < index.size(); ++i) place += index[i] * strides_[i];
      std::memcpy(bytes.data() + static_cast<std::size_t>(place) * sizeof(T), &values.at(index), sizeof(T));
    });
  }

  axis_values extents_;
  axis_values strides_;
  std::int64_t origin_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace reblock::test
