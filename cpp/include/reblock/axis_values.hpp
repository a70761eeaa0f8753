// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// An operator's tensor may have at most this many axes, as in DirectML.
[[gnu::visibility("hidden")]] inline constexpr std::size_t max_rank = 8;
/// A view for copy() may have at most this many axes. It has more than max_rank because views can split axes.
[[gnu::visibility("hidden")]] inline constexpr std::size_t max_view_rank = 16;

/// The list has one integer per axis: extents, strides or sizes. It needs no heap.
///
/// It holds one value more than there may be axes, so functions can refuse a list that is too long. It counts further
/// values, but drops them.
template <std::size_t MostAxes>
class basic_axis_values {
 public:
  using value_type = std::int64_t;

  constexpr basic_axis_values() = default;
  [[gnu::noinline]] constexpr basic_axis_values(std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values) push_back(value);
  }
  template <std::size_t OtherMost>
  [[gnu::noinline]] constexpr basic_axis_values(const basic_axis_values<OtherMost>& other) noexcept {
    for (const std::int64_t value : other) push_back(value);
    given_ = other.given();
  }
  /// Makes a list of `count` times `value`.
  [[gnu::noinline]] static constexpr basic_axis_values repeat(std::size_t count, std::int64_t value) {
    basic_axis_values result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(value);
    return result;
  }

  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// Requires i < size().
  constexpr std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  constexpr std::int64_t& operator[](std::size_t i) noexcept { return values_[i]; }
  constexpr const std::int64_t* begin() const noexcept { return values_.data(); }
  constexpr const std::int64_t* end() const noexcept { return values_.data() + size_; }

  /// Appends a value. It counts a value beyond the capacity, but drops it.
  constexpr void push_back(std::int64_t value) noexcept {
    ++given_;
    if (size_ < capacity) values_[size_++] = value;
  }
  /// Returns how many values were given. The list keeps the first size() of them.
  constexpr std::size_t given() const noexcept { return given_; }

  template <std::size_t OtherMost>
  constexpr bool operator==(const basic_axis_values<OtherMost>& other) const noexcept {
    if (size_ != other.size()) return false;
    for (std::size_t i = 0; i < size_; ++i) {
      if (values_[i] != other[i]) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t capacity = MostAxes + 1;
  std::array<std::int64_t, capacity> values_{};
  std::size_t size_ = 0;
  std::size_t given_ = 0;
};

/// The list for an operator's tensor.
using axis_values = basic_axis_values<max_rank>;
/// The list for a view.
using view_values = basic_axis_values<max_view_rank>;

/// A spatial_values is a parameter of the spatial axes: one value for all axes, or one value per axis.
///
///     spatial_values block = 2;        // 2 along every spatial axis
///     spatial_values block = {2, 3};   // 2 along the first, 3 along the second
class spatial_values {
 public:
  constexpr spatial_values(std::int64_t value) : values_{value}, uniform_(true) {}
  constexpr spatial_values(std::initializer_list<std::int64_t> values) : values_(values) {}
  constexpr spatial_values(const axis_values& values) : values_(values) {}

  /// Tells whether one value holds for all axes.
  constexpr bool uniform() const noexcept { return uniform_; }
  /// Returns the given values.
  constexpr const axis_values& values() const noexcept { return values_; }
  /// Tells whether there is a value for each of `axes` axes.
  constexpr bool fits(std::size_t axes) const noexcept { return uniform_ || values_.size() == axes; }
  /// Returns the value of axis `i`. Requires fits() for more than `i` axes.
  constexpr std::int64_t at(std::size_t i) const noexcept { return values_[uniform_ ? 0 : i]; }
  /// Returns one value for each of `axes` axes. Requires fits(axes).
  constexpr axis_values expand(std::size_t axes) const noexcept {
    return uniform_ ? axis_values::repeat(axes, values_[0]) : values_;
  }

  friend constexpr bool operator==(const spatial_values&, const spatial_values&) = default;

 private:
  axis_values values_;
  bool uniform_ = false;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE
