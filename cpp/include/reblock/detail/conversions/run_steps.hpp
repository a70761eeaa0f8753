// SPDX-License-Identifier: BSD-3-Clause
//
// This header has the two steps of a conversion for single elements: an element becomes a value, and a value becomes an
// element. The registers of simd/conversions.hpp give the same results.
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#if FLT_EVAL_METHOD != 0
#include <cmath>
#endif

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/movers/runs.hpp>
#include <reblock/detail/rounded.hpp>
#include <reblock/detail/simd/wide_lookups.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The factors of a run: value i becomes value * scale[i] + bias[i]. Both are arrays of values: float or double.
struct run_factors {
  const std::byte* scale;
  const std::byte* bias;
  /// Bytes from the factors of an element to those of the next: those of a value, or 0 if all elements of a run have the same.
  std::size_t step;
  /// Bytes from the factors of a run to those of the next.
  std::size_t run_step = 0;

  [[gnu::always_inline]] constexpr run_factors from(std::size_t element, std::size_t run = 0) const noexcept {
    const std::size_t offset = run * run_step + element * step;
    return {scale + offset, bias + offset, step, run_step};
  }
};

/// repeated_factors holds the same scale and bias for all elements of a run. The identity is x * 1 + -0.0, which keeps
/// the sign of zero.
template <std::floating_point Value>
struct repeated_factors {
  Value scale;
  Value bias;

  constexpr explicit repeated_factors(Value by = Value(1), Value plus = -Value(0)) noexcept
      : scale(by), bias(plus) {}
  run_factors all() const noexcept {
    return {reinterpret_cast<const std::byte*>(&scale), reinterpret_cast<const std::byte*>(&bias), 0};
  }
};
template <std::floating_point Value>
[[gnu::visibility("hidden")]] inline constexpr repeated_factors<Value> identity_factors{};

/// Rows of runs at even distances, in bytes. Each run has `count` elements, contiguous in the destination. Those of the source
/// are bytes if they are more than one byte apart. Then steps may read some bytes before the first one and behind the last one.
/// All rows have the same factors.
struct even_runs {
  static constexpr std::int64_t read_before = 8;
  static constexpr std::int64_t read_behind = 64;

  std::size_t count;
  std::size_t runs = 1;  ///< of a row
  std::int64_t source_step = 0;
  std::int64_t destination_step = 0;
  std::size_t rows = 1;
  std::int64_t source_row = 0;
  std::int64_t destination_row = 0;
  std::size_t spacing = 1;           ///< bytes from a byte of the source to the next one, otherwise 1
  const std::byte* begin = nullptr;  ///< of all bytes that may be read, only for spaced bytes
  const std::byte* end = nullptr;

  /// Tells whether steps may read around all runs from `source` on.
  constexpr bool may_read_around(const std::byte* source) const noexcept {
    if (begin == nullptr) return false;
    const std::int64_t last = this->source(runs - 1);
    const std::int64_t last_row = static_cast<std::int64_t>(rows - 1) * source_row;
    const auto run = static_cast<std::int64_t>((count - 1) * spacing + 1);
    return source - begin + std::min<std::int64_t>(last, 0) + std::min<std::int64_t>(last_row, 0) >=
               read_before &&
           end - source - std::max<std::int64_t>(last, 0) - std::max<std::int64_t>(last_row, 0) - run >=
               read_behind;
  }

  [[gnu::always_inline]] constexpr std::int64_t source(std::size_t run) const noexcept {
    return static_cast<std::int64_t>(run) * source_step;
  }
  [[gnu::always_inline]] constexpr std::int64_t destination(std::size_t run) const noexcept {
    return static_cast<std::int64_t>(run) * destination_step;
  }
  /// Returns the same runs with other numbers of them.
  constexpr even_runs with(std::size_t many_rows, std::size_t many_runs) const noexcept {
    even_runs others = *this;
    others.rows = many_rows;
    others.runs = many_runs;
    return others;
  }
};

/// The places of each run, one after another. They are copies, which no store to the destination can change.
class each_run {
 public:
  [[gnu::always_inline]] each_run(const std::byte* source, std::byte* destination,
                                  const even_runs& runs) noexcept
      : source_(source),
        destination_(destination),
        runs_(runs.runs),
        rows_(runs.runs == 0 ? 0 : runs.rows),
        source_step_(runs.source_step),
        destination_step_(runs.destination_step),
        to_source_row_(runs.source_row - runs.source(runs.runs)),
        to_destination_row_(runs.destination_row - runs.destination(runs.runs)) {}

  [[gnu::always_inline]] explicit operator bool() const noexcept { return rows_ > 0; }
  [[gnu::always_inline]] void operator++() noexcept {
    source_ += source_step_;
    destination_ += destination_step_;
    if (++run_ < runs_) return;
    run_ = 0;
    --rows_;
    source_ += to_source_row_;
    destination_ += to_destination_row_;
  }
  [[gnu::always_inline]] const std::byte* source() const noexcept { return source_; }
  [[gnu::always_inline]] std::byte* destination() const noexcept { return destination_; }
  /// The index in a row.
  [[gnu::always_inline]] std::size_t run() const noexcept { return run_; }

 private:
  const std::byte* source_;
  std::byte* destination_;
  std::size_t run_ = 0;
  std::size_t runs_;
  std::size_t rows_;  ///< that are left
  std::int64_t source_step_;
  std::int64_t destination_step_;
  std::int64_t to_source_row_;  ///< from the end of a row
  std::int64_t to_destination_row_;
};

/// A step of a conversion. It multiplies and adds.
using run_step = void (*)(const std::byte* source, std::byte* destination, const even_runs& runs,
                          const run_factors& factors);

/// Calls a step that takes one run, for each run.
template <auto Step>
void for_runs(const std::byte* source, std::byte* destination, const even_runs& given,
              const run_factors& by) {
  const std::size_t count = given.count;
  const run_factors factors = by;  // a copy, which no store to the destination can change
  for (each_run at(source, destination, given); at; ++at)
    Step(at.source(), at.destination(), count, factors.from(0, at.run()));
}

/// The results of a conversion of all 256 bytes.
struct byte_results {
  /// The first bytes of all results, then their second bytes, if they have any.
  alignas(64) std::array<std::byte, 512> bytes;
  bool is_quick_right;  ///< whether the quick steps have the same results
};
/// A step that looks results up. Requires runs of at least least_looked_up elements.
using lookup_step = void (*)(const std::byte* source, std::byte* destination, const even_runs& runs,
                             const byte_results& results) noexcept;
inline constexpr std::size_t least_looked_up = 16;

/// Steps read bytes up to so many bytes apart, in runs of at least so many elements.
inline constexpr std::size_t most_spacing = 4;
inline constexpr std::size_t least_spaced = 8;

/// These functions find the steps of an instruction set that use registers. They return null where the set has none. Quick steps
/// fuse the product with the sum, or round ties to bfloat16 away from 0. So they are right for most factors only.
struct conversion_steps {
  /// Finds the only step of a conversion, or the one that makes elements of float or double.
  run_step (*single)(element_type from, element_type to) noexcept;
  /// Finds the step that makes float or double of elements.
  run_step (*making)(element_type from, bool is_double) noexcept;
  /// Finds the only quick step of a conversion.
  run_step (*quick)(element_type from, element_type to) noexcept;
  /// Finds the only step of a conversion of spaced bytes, a quick one if wanted.
  run_step (*spaced)(element_type from, element_type to, bool is_quick) noexcept;
  /// The steps that look up results of one byte, and of two bytes, or null.
  std::array<lookup_step, 2> lookups{};
};

/// Keeps the compiler from fusing the operation that made `value` with the next one.
template <std::floating_point Value>
[[gnu::always_inline]] inline Value apart(Value value) noexcept {
#if defined(__GNUC__) && (defined(__x86_64__) || (defined(__i386__) && defined(__SSE2_MATH__)))
  __asm__("" : "+x"(value));
  return value;
#elif defined(__GNUC__) && defined(__aarch64__)
  __asm__("" : "+w"(value));
  return value;
#else
  volatile Value stored = value;
  return stored;
#endif
}

/// From here on, values are integers.
template <std::floating_point Value>
inline constexpr Value least_whole = std::same_as<Value, float> ? Value(8388608) : Value(4503599627370496);

/// Rounds to the nearest integer, ties to even.
template <std::floating_point Value>
Value round_to_integer(Value value) noexcept {
#if FLT_EVAL_METHOD != 0
  // x87 would round a sum to its registers' digits first, and then again.
  return std::nearbyint(value);
#else
  if (value >= least_whole<Value> || value <= -least_whole<Value>) return value;
  const Value shift = value < 0 ? -least_whole<Value> : least_whole<Value>;
  return rounded(apart(rounded(value + shift)) - shift);
#endif
}

/// Returns the nearest integer of type T, ties to even. Values beyond the range of T become its limits; a NaN becomes 0.
template <std::integral T, std::floating_point Value>
T saturated(Value value) noexcept {
  using limits = std::numeric_limits<T>;
  if (!(value == value)) return 0;
  constexpr Value low = static_cast<Value>(limits::min());
  constexpr Value behind = static_cast<Value>(limits::max() / 2 + 1) * 2;  // exact, unlike max()
  if (value <= low) return limits::min();
  if (value >= behind) return limits::max();
  value = round_to_integer(value);
  return value >= behind ? limits::max() : static_cast<T>(value);
}

/// Reads an element. Bytes of bool other than 0 are true.
template <class T>
T read_element(const std::byte* source) noexcept {
  if constexpr (std::same_as<T, bool>) {
    return *source != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, source, sizeof(T));
    return value;
  }
}

template <class T, class Value>
Value to_value(const T& element) noexcept {
  if constexpr (half<T>) {
    return static_cast<Value>(to_float(element));
  } else {
    return rounded(static_cast<Value>(element));  // an integer of 64 bits fits x87's registers
  }
}

template <class T, class Value>
void write_value(std::byte* destination, Value value) noexcept {
  T element;
  if constexpr (half<T>) {
    round_to(element, value);
  } else if constexpr (std::same_as<T, bool>) {
    element = value != 0;  // a NaN is not 0
  } else if constexpr (std::integral<T>) {
    element = saturated<T>(value);
  } else {
    element = static_cast<T>(value);
  }
  std::memcpy(destination, &element, sizeof(T));
}

/// Makes a value of element `i`, multiplies and adds.
template <class T, class Value>
Value scaled_value(const std::byte* source, std::size_t i, const run_factors& factors) noexcept {
  const auto scale = read<Value>(factors.scale + i * factors.step);
  const auto bias = read<Value>(factors.bias + i * factors.step);
  const Value product = apart(rounded(to_value<T, Value>(read_element<T>(source + i * sizeof(T))) * scale));
  return rounded(product + bias);
}

/// Makes values of elements, and multiplies and adds.
template <class T, class Value>
[[gnu::noinline]] void make_values(const std::byte* source, std::byte* values, std::size_t count,
                                   const run_factors& factors) {
  for (std::size_t i = 0; i < count; ++i)
    write(values + i * sizeof(Value), scaled_value<T, Value>(source, i, factors));
}

/// Multiplies and adds values, and makes elements of them.
template <class T, class Value>
[[gnu::noinline]] void make_elements(const std::byte* values, std::byte* destination, std::size_t count,
                                     const run_factors& factors) {
  for (std::size_t i = 0; i < count; ++i)
    write_value<T>(destination + i * sizeof(T), scaled_value<Value, Value>(values, i, factors));
}

/// Makes doubles of integers of 64 bits. Bits that a double does not hold leave a trace in its last bit. Rounding it to a
/// narrower format then gives the same as rounding the integer.
template <class T>
void make_traced_doubles(const std::byte* source, std::byte* values, std::size_t count, const run_factors&) {
  constexpr std::uint64_t lost = 0x7ff;
  for (std::size_t i = 0; i < count; ++i) {
    const T element = read_element<T>(source + i * sizeof(T));
    auto bits = static_cast<std::uint64_t>(element);
    constexpr T limit = T{1} << 53;
    const bool is_exact = element <= limit && (std::is_unsigned_v<T> || element >= static_cast<T>(0 - limit));
    if (!is_exact && (bits & lost) != 0) bits = (bits & ~lost) | (lost + 1);
    write(values + i * sizeof(double), static_cast<double>(static_cast<T>(bits)));
  }
}

/// Casts integers and bool: integers wrap, and a bool tells whether an integer is not 0.
template <std::integral From, std::integral To>
void cast_integers(const std::byte* source, std::byte* destination, std::size_t count, const run_factors&) {
  for (std::size_t i = 0; i < count; ++i)
    write(destination + i * sizeof(To), static_cast<To>(read_element<From>(source + i * sizeof(From))));
}

template <std::size_t Size>
void copy_elements(const std::byte* source, std::byte* destination, std::size_t count, const run_factors&) {
  copy_run(destination, source, count * Size);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
