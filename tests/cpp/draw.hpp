// SPDX-License-Identifier: BSD-3-Clause
//
// Random values. Each trial has a generator of its own, whose seed a failing check prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <reblock/axis_values.hpp>

#include "oracle.hpp"

namespace reblock::test {

inline constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

/// From `low` to `high`, both included.
inline std::int64_t draw(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

inline bool flip_coin(std::mt19937& random) { return draw(random, 0, 1) == 1; }

inline axis_values draw_values(std::mt19937& random, std::size_t count, std::int64_t low, std::int64_t high) {
  axis_values values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(draw(random, low, high));
  return values;
}

/// The numbers from 0 to count - 1 in random order.
inline std::vector<std::size_t> draw_order(std::mt19937& random, std::size_t count) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::ptrdiff_t>(random() % (order.size() + 1));
    order.insert(order.begin() + place, i);
  }
  return order;
}

/// Strides, in elements, that keep the elements apart: the axes lie in any order and direction, often
/// with gaps between them.
inline axis_values draw_strides(std::mt19937& random, const axis_values& extents) {
  axis_values strides = extents;
  std::int64_t stride = draw(random, 1, 2);
  for (const std::size_t i : draw_order(random, extents.size())) {
    strides[i] = flip_coin(random) ? stride : -stride;
    stride = stride * (extents[i] == 0 ? 1 : extents[i]) + draw(random, 0, 2) / 2;
  }
  return strides;
}

/// Elements of any bits.
template <class T>
oracle::tensor<T> draw_bits(std::mt19937& random, const axis_values& extents) {
  oracle::tensor<T> tensor(extents);
  for (T& value : tensor.values) {
    unsigned char bytes[sizeof(T)];
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    std::memcpy(&value, bytes, sizeof(T));
  }
  return tensor;
}

/// Small integers.
template <class T>
oracle::tensor<T> draw_integers(std::mt19937& random, const axis_values& extents) {
  oracle::tensor<T> tensor(extents);
  for (T& value : tensor.values) value = static_cast<T>(static_cast<std::int16_t>(draw(random, -9, 9)));
  return tensor;
}

}  // namespace reblock::test
