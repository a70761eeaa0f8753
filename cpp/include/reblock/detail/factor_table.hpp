// SPDX-License-Identifier: BSD-3-Clause
//
// These classes bring the factors of a conversion to the elements of a run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversion_request.hpp>
#include <reblock/detail/result_tables.hpp>
#include <reblock/detail/run_conversion.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A held_factor is a factor in a plan: few values are copied. It is trivially copyable.
class held_factor {
 public:
  held_factor() noexcept = default;
  held_factor(const conversion_request& request, const conversion_factor& factor) noexcept
      : given_(factor.values), count_(request.count(factor)) {
    if (count_ <= most_held_factors) std::copy_n(given_, count_, own_.begin());
  }

  /// Returns null if there is no factor.
  const double* values() const noexcept {
    if (count_ == 0) return nullptr;
    return count_ <= most_held_factors ? own_.data() : given_;
  }

 private:
  std::array<double, most_held_factors> own_;
  const double* given_ = nullptr;
  std::int64_t count_ = 0;
};

/// A factor_axis is the axis of a factor within a run. It repeats each index for `inner` elements. `step` is 0 where the
/// run has no such axis, else 1. Two such axes are the same axis, or one is within an index of the other.
struct factor_axis {
  std::int64_t step = 0;
  std::int64_t inner = 1;
  std::int64_t extent = 1;
  friend constexpr bool operator==(const factor_axis&, const factor_axis&) = default;
};

/// The places of a scale and a bias in their values.
using factor_places = std::array<std::int64_t, 2>;

/// A factor_table gives the factors of a run's elements. Elements follow each other along a few axes, the innermost first.
/// The factor of an element is values[first + index * step], with its index on the factor's axis.
class factor_table {
 public:
  factor_table(const run_conversion& conversion, const std::array<const double*, 2>& values,
               const std::array<factor_axis, 2>& axes) noexcept
      : is_double_(conversion.is_double()), values_(values), axes_(axes) {
    for (const factor_axis& f : axes_) {
      if (f.step == 0) continue;
      period_ = std::max(period_, f.inner * f.extent);
      same_ = std::min(same_, f.inner);
    }
    if (same_ >= enough) kept_ = std::min(period_ == 1 ? 1 : period_ / same_, room / one_register);
  }

  /// Converts a run. `first` has the places of its first element's factors in their values.
  void convert(const run_conversion& conversion, const std::byte* source, std::byte* destination,
               std::int64_t count, const factor_places& first) noexcept {
    if (same_ >= enough) return convert_stretches(conversion, source, destination, count, first);
    const std::int64_t limit = room / value_size();
    const std::int64_t whole = period_ > limit ? limit : limit / period_ * period_;
    for (std::int64_t i = 0; i < count; i += whole) {
      const std::int64_t batch = std::min(whole, count - i);
      fill(first, whole % period_ == 0 ? 0 : i, std::max(batch, std::min(whole, count)));
      run(conversion, source + i * from(conversion), destination + i * to(conversion), batch, 0,
          value_size());
    }
  }

 private:
  /// From so many elements on with the same factors, a stretch, registers with one factor are faster than a table.
  static constexpr std::int64_t enough = 32;
  static constexpr std::int64_t room = 2048;  // bytes of the factors in a table
  /// So many copies of a factor are written at once. The last ones may be behind the others.
  static constexpr std::int64_t at_once = 4;
  /// Bytes of the widest register. A factor of all elements fills it.
  static constexpr std::int64_t one_register = 64;

  /// The factors that a table has, or the registers that it has, from element `begin` on. `count` is 0 for none.
  struct contents {
    std::int64_t first = 0;
    std::int64_t begin = 0;
    std::int64_t count = 0;
  };

  static std::int64_t from(const run_conversion& c) noexcept {
    return static_cast<std::int64_t>(c.source_size());
  }
  static std::int64_t to(const run_conversion& c) noexcept {
    return static_cast<std::int64_t>(c.destination_size());
  }
  std::int64_t value_size() const noexcept { return is_double_ ? 8 : 4; }

  /// Converts with the factors that are `place` bytes behind the begin of the tables.
  void run(const run_conversion& conversion, const std::byte* source, std::byte* destination,
           std::int64_t count, std::int64_t place, std::int64_t step) const noexcept {
    conversion(source, destination, static_cast<std::size_t>(count),
               {tables_[0].data() + place, tables_[1].data() + place, static_cast<std::size_t>(step)});
  }

  /// Converts stretches of elements that have the same factors. The tables keep the registers of one period, or of as many
  /// stretches as fit.
  void convert_stretches(const run_conversion& conversion, const std::byte* source, std::byte* destination,
                         std::int64_t count, const factor_places& first) noexcept {
    const std::int64_t period = period_ == 1 ? same_ : period_;
    for (std::int64_t i = 0, kept = kept_; i < count; ++kept) {
      if (kept == kept_) {
        kept = 0;
        put_registers(first, kept_ * same_ == period ? 0 : i, std::min(kept_, (count - i - 1) / same_ + 1));
      }
      const std::int64_t elements = std::min(same_, count - i);
      run_stretch(conversion, source + i * from(conversion), destination + i * to(conversion), elements,
                  kept * one_register);
      i += elements;
    }
  }

  void run_stretch(const run_conversion& conversion, const std::byte* source, std::byte* destination,
                   std::int64_t count, std::int64_t place) noexcept {
    if (conversion.can_look_up()) {
      const run_factors factors{tables_[0].data() + place, tables_[1].data() + place, 0};
      const std::byte* const results = results_.find(conversion, factors, count);
      if (results != nullptr)
        return conversion.look_up(source, destination, static_cast<std::size_t>(count), results);
    }
    run(conversion, source, destination, count, place, 0);
  }

  /// The index of an element on the axis of a factor.
  std::int64_t index_of(std::size_t k, std::int64_t element) const noexcept {
    const factor_axis& f = axes_[k];
    return element == 0 || f.step == 0 ? 0 : element / f.inner % f.extent;
  }
  double value(std::size_t k, std::int64_t place) const noexcept {
    if (values_[k] != nullptr) return values_[k][place];
    return k == 0 ? 1.0 : -0.0;  // x + -0.0 is x, also for -0.0
  }

  /// Fills registers with the factors of `count` stretches from element `begin` on.
  void put_registers(const factor_places& first, std::int64_t begin, std::int64_t count) noexcept {
    for (std::size_t k = 0; k < 2; ++k) {
      contents& held = held_[k];
      if (held.first == first[k] && held.begin == begin && count <= held.count) continue;
      held = {first[k], begin, count};
      for (std::int64_t n = 0; n < count; ++n) {
        const double factor = value(k, first[k] + index_of(k, n == 0 ? begin : begin + n * same_));
        std::byte* const place = tables_[k].data() + n * one_register;
        is_double_ ? put_register(place, factor) : put_register(place, static_cast<float>(factor));
      }
    }
  }
  template <class Value>
  static void put_register(std::byte* place, Value factor) noexcept {
    std::array<Value, one_register / sizeof(Value)> copies;
    copies.fill(factor);
    std::memcpy(place, copies.data(), one_register);
  }

  /// Fills the tables with the factors of `count` elements from element `begin` on.
  void fill(const factor_places& first, std::int64_t begin, std::int64_t count) noexcept {
    for (std::size_t k = 0; k < 2; ++k) {
      const std::int64_t from = axes_[k].step == 0 ? 0 : begin;  // there all elements have the same factor
      contents& held = held_[k];
      if (held.first == first[k] && held.begin == from && count <= held.count) continue;
      held = {first[k], from, count};
      is_double_ ? fill_table<double>(k) : fill_table<float>(k);
    }
  }
  template <class Value>
  void fill_table(std::size_t k) noexcept {
    constexpr auto size = static_cast<std::int64_t>(sizeof(Value));
    const factor_axis& f = axes_[k];
    const auto [first, begin, count] = held_[k];
    std::byte* const table = tables_[k].data();
    if (f.step == 0) return put_copies(table, count, static_cast<Value>(value(k, first)));
    const double* const values = values_[k] + first;
    // The factors of the first period repeat.
    const std::int64_t period = std::min(count, f.inner * f.extent);
    std::int64_t index = index_of(k, begin);
    std::int64_t rest = f.inner - begin % f.inner;  // elements that have this factor
    for (std::int64_t i = 0; i < period;) {
      std::byte* const place = table + i * size;
      const std::int64_t whole = std::min(f.extent - index, (period - i) / f.inner);
      if (rest < f.inner || whole == 0) {
        rest = std::min(rest, period - i);
        put_copies(place, rest, static_cast<Value>(values[index]));
        ++index;
        i += rest;
        rest = f.inner;
      } else {
        put_factors<Value>(place, values + index, whole, f.inner);
        index += whole;
        i += whole * f.inner;
      }
      if (index == f.extent) index = 0;
    }
    for (std::int64_t filled = period; filled < count;) {
      const std::int64_t more = std::min(filled, count - filled);
      std::memcpy(table + filled * size, table, static_cast<std::size_t>(more * size));
      filled += more;
    }
  }

  /// Writes each value `inner` times.
  template <class Value>
  static void put_factors(std::byte* place, const double* values, std::int64_t count,
                          std::int64_t inner) noexcept {
    constexpr auto size = static_cast<std::int64_t>(sizeof(Value));
    if (inner == 1) {
      for (std::int64_t i = 0; i < count; ++i) write(place + i * size, static_cast<Value>(values[i]));
      return;
    }
    for (std::int64_t i = 0; i < count; ++i)
      put_copies(place + i * inner * size, inner, static_cast<Value>(values[i]));
  }
  /// Writes a value `count` times, and up to `at_once` - 1 times more.
  template <class Value>
  static void put_copies(std::byte* place, std::int64_t count, Value value) noexcept {
    constexpr auto size = static_cast<std::int64_t>(sizeof(Value));
    for (std::int64_t i = 0; i < count; i += at_once) {
      for (std::int64_t n = 0; n < at_once; ++n) write(place + (i + n) * size, value);
    }
  }

  bool is_double_;
  std::array<const double*, 2> values_;  ///< or null
  std::array<factor_axis, 2> axes_;
  std::int64_t period_ = 1;                                       ///< elements after which the factors repeat
  std::int64_t same_ = std::numeric_limits<std::int64_t>::max();  ///< elements that have the same factors
  std::int64_t kept_ = 0;                                         ///< registers that the tables keep
  std::array<contents, 2> held_;
  result_tables results_;
  alignas(64) std::array<std::array<std::byte, room + at_once * 8>, 2> tables_;
};

/// Reverses the bytes of each element.
inline void swap_bytes(std::byte* elements, std::int64_t count, std::size_t size) noexcept {
  for (std::int64_t i = 0; i < count; ++i, elements += size) std::reverse(elements, elements + size);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
