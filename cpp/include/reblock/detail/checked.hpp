// SPDX-License-Identifier: BSD-3-Clause
//
// These functions compute sizes and offsets without undefined overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A checked_size is a nonnegative size. It remembers whether a computation overflowed.
class checked_size {
 public:
  constexpr checked_size(std::int64_t value) : value_(value) {}

  constexpr checked_size& operator*=(checked_size other) noexcept {
    overflow_ = overflow_ || other.overflow_ || (other.value_ != 0 && value_ > largest / other.value_);
    value_ = overflow_ ? 0 : value_ * other.value_;
    return *this;
  }
  constexpr checked_size& operator+=(checked_size other) noexcept {
    overflow_ = overflow_ || other.overflow_ || value_ > largest - other.value_;
    value_ = overflow_ ? 0 : value_ + other.value_;
    return *this;
  }
  friend constexpr checked_size operator*(checked_size a, checked_size b) noexcept { return a *= b; }
  friend constexpr checked_size operator+(checked_size a, checked_size b) noexcept { return a += b; }

  constexpr bool overflow() const noexcept { return overflow_; }
  /// Requires that there was no overflow.
  constexpr std::int64_t value() const noexcept { return value_; }

 private:
  static constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  std::int64_t value_;
  bool overflow_ = false;
};

/// Multiplies nonnegative values. If one of them is 0, the product is 0, however large the others are.
template <std::size_t MostAxes = max_rank>
[[gnu::noinline]] constexpr checked_size product(const basic_axis_values<MostAxes>& values) noexcept {
  checked_size total = 1;
  for (const std::int64_t value : values) {
    if (value == 0) return 0;
    total *= value;
  }
  return total;
}

// Offsets and strides are computed modulo 2^64. A partial sum may leave the range, for example a base that padding moves
// out of the tensor, or the stride of an axis of extent 1. The offset of an element never leaves it.

constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

constexpr std::int64_t wrapping_subtract(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

constexpr std::int64_t wrapping_multiply(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

constexpr std::int64_t wrapping_negate(std::int64_t a) noexcept {
  return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
}

/// floor(a / b) for b > 0.
constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b < 0 ? 1 : 0);
}

/// ceil(a / b) for b > 0.
constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) noexcept {
  return a / b + (a % b > 0 ? 1 : 0);
}

/// Returns the largest of equal parts of `all`: as few parts as have at most `limit` each. Both are positive.
constexpr std::int64_t even_part(std::int64_t all, std::int64_t limit) noexcept {
  return ceil_divide(all, ceil_divide(all, limit));
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
