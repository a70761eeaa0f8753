// SPDX-License-Identifier: BSD-3-Clause
//
// Moving whole registers of elements: at any alignment, in part, shuffled.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <reblock/detail/compiler.hpp>

namespace reblock::detail {

inline register_bytes load(const std::byte* source) noexcept {
  register_bytes value;
  std::memcpy(&value, source, sizeof(value));
  return value;
}

inline void store(std::byte* destination, register_bytes value) noexcept {
  std::memcpy(destination, &value, sizeof(value));
}

/// `size` bytes, fewer than a register has; the others are 0.
inline register_bytes load_part(const std::byte* source, std::size_t size) noexcept {
  register_bytes value{};
  std::memcpy(&value, source, size);
  return value;
}

inline void store_part(std::byte* destination, register_bytes value, std::size_t size) noexcept {
  std::memcpy(destination, &value, size);
}

/// Calls `f` with each constant 0 ... Count - 1: a loop that leaves no array behind.
template <std::size_t Count, class F>
[[gnu::always_inline]] inline void unrolled(F&& f) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (f(std::integral_constant<std::size_t, K>{}), ...);
  }(std::make_index_sequence<Count>{});
}

template <std::size_t Count>
using registers = std::array<register_bytes, Count>;

/// The perfect shuffle of Count registers, seen as one row of elements: `Times` times, the elements of
/// the first half go to the even places and those of the second half to the odd ones. log2(Count)
/// shuffles interleave Count streams; log2(elements of a register) shuffles separate them again.
template <std::size_t Size, int Times, std::size_t Count>
[[gnu::always_inline]] inline registers<Count> shuffle(const registers<Count>& v) noexcept {
  if constexpr (Times == 0) {
    return v;
  } else {
    registers<Count> zipped;
    unrolled<Count / 2>([&](auto i) {
      zipped[2 * i] = zip_low<Size>(v[i], v[i + Count / 2]);
      zipped[2 * i + 1] = zip_high<Size>(v[i], v[i + Count / 2]);
    });
    return shuffle<Size, Times - 1>(zipped);
  }
}

constexpr int log2(std::size_t power_of_two) noexcept { return std::countr_zero(power_of_two); }

/// Calls `step(i)` for i = 0, width, ... with a last step that ends at `count`, over what the one before
/// has done already: a short remainder would cost more than doing some elements twice. Requires
/// count >= width.
template <class Step>
void for_overlapping_steps(std::size_t count, std::size_t width, Step&& step) {
  std::size_t i = 0;
  for (; i + width <= count; i += width) step(i);
  if (i < count) step(count - width);
}

}  // namespace reblock::detail
