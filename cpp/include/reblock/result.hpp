// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/fail.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// An error tells why a call was refused: its message names the argument, its value, and the values that it may have. It
/// needs no heap. A message of more than 639 characters is cut.
class error {
 public:
  constexpr error() = default;
  [[gnu::cold]] constexpr explicit error(std::string_view text) { *this << text; }

  /// Returns the null-terminated message.
  constexpr const char* message() const noexcept { return text_; }

  [[gnu::cold, gnu::noinline]] constexpr error& operator<<(std::string_view text) noexcept {
    for (const char c : text) append(c);
    return *this;
  }
  template <class Integer>
    requires std::is_integral_v<Integer>
  [[gnu::cold, gnu::noinline]] constexpr error& operator<<(Integer value) noexcept {
    char digits[20] = {};
    std::size_t count = 0;
    auto rest = static_cast<std::uint64_t>(value);
    if (value < 0) {
      append('-');
      rest = 0 - rest;
    }
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    while (count != 0) append(digits[--count]);
    return *this;
  }
  [[gnu::cold, gnu::noinline]] constexpr error& operator<<(const char* text) noexcept {
    return *this << std::string_view(text);
  }
  /// Appends values as Python prints a tuple: (1, 8, 2, 3), and (5,) for a single value.
  template <std::size_t MostAxes>
  [[gnu::cold, gnu::noinline]] constexpr error& operator<<(
      const basic_axis_values<MostAxes>& values) noexcept {
    append('(');
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i != 0) *this << ", ";
      *this << values[i];
    }
    return *this << (values.given() > values.size() ? ", ...)" : values.size() == 1 ? ",)" : ")");
  }
  /// Appends a plain number if one value holds for all axes, else the tuple.
  [[gnu::cold, gnu::noinline]] constexpr error& operator<<(const spatial_values& given) noexcept {
    return given.uniform() ? *this << given.values()[0] : *this << given.values();
  }

 private:
  constexpr void append(char c) noexcept {
    if (length_ + 1 < capacity) text_[length_++] = c;
  }

  static constexpr std::size_t capacity = 640;
  char text_[capacity] = {};
  std::size_t length_ = 0;
};

/// A result holds a value, or the error of a call that made no value. Every throwing call of the library has a form that
/// returns a result, for programs without exceptions.
template <class T>
class [[nodiscard]] result {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  constexpr result(const T& value) : value_(value), has_value_(true) {}
  constexpr result(const error& why) : error_(why), has_value_(false) {}

  constexpr explicit operator bool() const noexcept { return has_value_; }
  /// Requires a value.
  constexpr const T& operator*() const noexcept { return value_; }
  constexpr const T* operator->() const noexcept { return &value_; }
  /// Requires an error.
  constexpr const error& why() const noexcept { return error_; }

  /// Returns the value, or throws std::invalid_argument with the error's message.
  constexpr const T& value() const {
    if (!has_value_) detail::fail(error_.message());
    return value_;
  }

 private:
  union {
    T value_;
    error error_;
  };
  bool has_value_;
};

/// A call without a value returns a status.
struct success {};
using status = result<success>;

}  // namespace reblock::inline REBLOCK_NAMESPACE
