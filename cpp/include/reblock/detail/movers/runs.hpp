// SPDX-License-Identifier: BSD-3-Clause
//
// These functions copy runs of bytes.
#pragma once

#include <cstddef>
#include <cstring>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/simd/registers.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Copies `size` bytes without memcpy(). A call would cost more than a few bytes. For many bytes, memcpy() may use string
/// instructions: see has_fast_strings().
inline void copy_run(std::byte* destination, const std::byte* source, std::size_t size) {
  constexpr std::size_t width = sizeof(register_bytes);
  if (size > 2 * width) {
    std::size_t i = 0;
    if (size >= 8 * width) {
      // four at a time: the speed of a shorter loop depends on the address of its code
      for (; i + 4 * width <= size; i += 4 * width) {
        unrolled<4>([&](auto k) { store(destination + i + k * width, load(source + i + k * width)); });
      }
      if (i == size) return;
    }
    for (; i + width <= size; i += width) store(destination + i, load(source + i));
    if (i != size) store(destination + size - width, load(source + size - width));
  } else if (size >= width) {
    store(destination, load(source));
    store(destination + size - width, load(source + size - width));
  } else if (size >= 8) {
    std::memcpy(destination, source, 8);
    std::memcpy(destination + size - 8, source + size - 8, 8);
  } else if (size >= 4) {
    std::memcpy(destination, source, 4);
    std::memcpy(destination + size - 4, source + size - 4, 4);
  } else {
    for (std::size_t i = 0; i < size; ++i) destination[i] = source[i];
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
