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
#include <reblock/detail/conversions/conversion_request.hpp>
#include <reblock/detail/conversions/result_tables.hpp>
#include <reblock/detail/conversions/run_conversion.hpp>
#include <reblock/detail/costs.hpp>

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
  /// Reverses the order of the values. Requires at most most_held_factors.
  void reverse() noexcept { std::reverse(own_.begin(), own_.begin() + count_); }

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

/// A factor_table gives the factors of the elements of some runs. Elements follow each other along a few axes, the innermost
/// first. The factor of an element is values[first + run * run_steps + index * step], with its index on the factor's axis.
class factor_table {
 public:
  static constexpr std::int64_t room = 4096;  ///< bytes of the factors in a table
  /// Returns how many factors a table holds.
  static constexpr std::int64_t most_factors(const run_conversion& conversion) noexcept {
    return room / (conversion.is_double() ? 8 : 4);
  }

  /// `run_steps` are the places from the factors of a run to those of the next.
  factor_table(const run_conversion& conversion, const std::array<const double*, 2>& values,
               const std::array<factor_axis, 2>& axes, const factor_places& run_steps = {0, 0}) noexcept
      : is_double_(conversion.is_double()), values_(values), axes_(axes), run_steps_(run_steps) {
    for (const factor_axis& f : axes_) {
      if (f.step == 0) continue;
      period_ = std::max(period_, f.inner * f.extent);
      same_ = std::min(same_, f.inner);
    }
    if (same_ >= conversion_costs::least_stretch) kept_ = std::min(period_ / same_, most_kept);
  }

  /// Converts a run. `first` has the places of its first element's factors in their values.
  void convert(const run_conversion& conversion, const std::byte* source, std::byte* destination,
               std::int64_t count, const factor_places& first) noexcept {
    convert(conversion, source, destination, even_runs{static_cast<std::size_t>(count)}, first);
  }
  /// Converts runs. `first` has the places of the first element's factors in their values.
  void convert(const run_conversion& conversion, const std::byte* source, std::byte* destination,
               const even_runs& runs, const factor_places& first) noexcept {
    if (period_ == 1) return convert_same(conversion, source, destination, runs, first);
    const bool differ = run_steps_ != factor_places{0, 0};
    const auto count = static_cast<std::int64_t>(runs.count);
    const std::int64_t limit = room / value_size();
    const std::int64_t whole = period_ > limit ? limit : limit / period_ * period_;
    if (same_ < conversion_costs::least_stretch && !differ && (count <= whole || whole % period_ != 0))
      return convert_batches_of_runs(conversion, source, destination, runs, whole, first);
    for (each_run at(source, destination, runs); at; ++at) {
      const factor_places places = run_places(first, static_cast<std::int64_t>(at.run()));
      if (same_ >= conversion_costs::least_stretch) {
        convert_stretches(conversion, at.source(), at.destination(), count, places);
      } else {
        convert_batches(conversion, at.source(), at.destination(), count, whole, places);
      }
    }
  }

 private:
  /// So many copies of a factor are written at once. The last ones may be behind the others.
  static constexpr std::int64_t at_once = 4;
  static constexpr std::int64_t most_kept = room / 8;  // factors of stretches, or of runs

  /// The factors that a table has, from element `begin` on: of elements, stretches or runs. `count` is 0 for none.
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
  factor_places run_places(const factor_places& first, std::int64_t run) const noexcept {
    return {first[0] + run * run_steps_[0], first[1] + run * run_steps_[1]};
  }

  /// The factors that are `place` bytes behind the begin of the tables.
  run_factors factors_at(std::int64_t place) const noexcept {
    return {tables_[0].data() + place, tables_[1].data() + place, 0};
  }
  /// Converts with own factors of `filled` elements, from element `begin` on.
  void convert_by_elements(const run_conversion& conversion, const std::byte* source, std::byte* destination,
                           const even_runs& runs, const factor_places& first, std::int64_t begin,
                           std::int64_t filled) noexcept {
    fill(first, begin, filled);
    run_factors factors = factors_at(0);
    factors.step = static_cast<std::size_t>(value_size());
    conversion(source, destination, runs, factors, are_quick(conversion, runs));
  }
  /// Tells whether quick steps are right for all factors in the table of elements.
  bool are_quick(const run_conversion& conversion, const even_runs& runs) noexcept {
    if (are_quick_ || !conversion.can_be_quick(runs) || period_ > result_tables::most) return are_quick_;
    const std::int64_t different = std::min(period_, held_[0].count);
    const auto same = static_cast<std::int64_t>(runs.count * runs.runs * runs.rows) / different;
    if (same < conversion_costs::least_lookups || !results_.are_useful()) return false;
    are_quick_ = true;
    for (std::int64_t i = 0; i < different; ++i) {
      const byte_results* const results = results_.find(conversion, factors_at(i * value_size()), same);
      are_quick_ = are_quick_ && results != nullptr && results->is_quick_right;
    }
    return are_quick_;
  }

  /// Converts runs that have the same factors, `whole` elements of each at a time: the table is filled once for all runs.
  void convert_batches_of_runs(const run_conversion& conversion, const std::byte* source,
                               std::byte* destination, even_runs runs, std::int64_t whole,
                               const factor_places& first) noexcept {
    const auto count = static_cast<std::int64_t>(runs.count);
    for (std::int64_t i = 0; i < count; i += whole) {
      const std::int64_t batch = std::min(whole, count - i);
      runs.count = static_cast<std::size_t>(batch);
      convert_by_elements(conversion, source + i * from(conversion) * static_cast<std::int64_t>(runs.spacing),
                          destination + i * to(conversion), runs, first, i, batch);
    }
  }
  /// Converts a run with a table of the factors of `whole` elements at a time.
  void convert_batches(const run_conversion& conversion, const std::byte* source, std::byte* destination,
                       std::int64_t count, std::int64_t whole, const factor_places& first) noexcept {
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t batch = std::min(whole, count - i);
      // batches of whole periods have the same factors
      const std::int64_t batches = whole % period_ == 0 ? (count - i) / batch : 1;
      convert_by_elements(conversion, source + i * from(conversion), destination + i * to(conversion),
                          even(conversion, batch, batches), first, whole % period_ == 0 ? 0 : i,
                          std::max(batch, std::min(whole, count)));
      i += batch * batches;
    }
  }

  /// Converts runs that have the same factors, or one factor each.
  void convert_same(const run_conversion& conversion, const std::byte* source, std::byte* destination,
                    const even_runs& runs, const factor_places& first) noexcept {
    if (run_steps_ == factor_places{0, 0}) {
      put_each(first, 0, 1, true);
      const auto same = static_cast<std::int64_t>(runs.count * runs.runs * runs.rows);
      return convert_by_results(conversion, source, destination, runs, factors_at(0), same);
    }
    const auto all = static_cast<std::int64_t>(runs.runs);
    for (std::int64_t r = 0; r < all; r += most_kept) {
      const std::int64_t next = std::min(most_kept, all - r);
      even_runs some = runs;
      some.runs = static_cast<std::size_t>(next);
      put_each(run_places(first, r), 0, next, true);
      run_stretches(conversion, source + runs.source(static_cast<std::size_t>(r)),
                    destination + runs.destination(static_cast<std::size_t>(r)), some, 0, value_size());
    }
  }

  /// Converts stretches of elements that have the same factors. The tables keep the factors of one period, or of as many
  /// stretches as fit.
  void convert_stretches(const run_conversion& conversion, const std::byte* source, std::byte* destination,
                         std::int64_t count, const factor_places& first) noexcept {
    for (std::int64_t i = 0, kept = kept_; i < count;) {
      if (kept == kept_) {
        kept = 0;
        put_each(first, kept_ * same_ == period_ ? 0 : i, std::min(kept_, (count - i - 1) / same_ + 1),
                 false);
      }
      const std::int64_t elements = std::min(same_, count - i);
      const std::int64_t stretches = std::min(kept_ - kept, (count - i) / elements);
      run_stretches(conversion, source + i * from(conversion), destination + i * to(conversion),
                    even(conversion, elements, stretches), kept * value_size(), value_size());
      i += elements * stretches;
      kept += stretches;
    }
  }

  /// Runs that follow each other.
  static even_runs even(const run_conversion& conversion, std::int64_t count, std::int64_t runs) noexcept {
    return {static_cast<std::size_t>(count), static_cast<std::size_t>(runs), count * from(conversion),
            count * to(conversion)};
  }

  /// Converts runs that have one factor each. `step` is 0 if all have the same.
  void run_stretches(const run_conversion& conversion, const std::byte* source, std::byte* destination,
                     const even_runs& runs, std::int64_t place, std::int64_t step) noexcept {
    const auto same = static_cast<std::int64_t>(runs.count * runs.rows);
    if (!may_look_up(conversion, runs, same)) {
      run_factors factors = factors_at(place);
      factors.run_step = static_cast<std::size_t>(step);
      return conversion(source, destination, runs, factors);
    }
    even_runs one = runs;
    one.runs = 1;
    for (std::size_t r = 0; r < runs.runs; ++r, place += step) {
      convert_by_results(conversion, source + runs.source(r), destination + runs.destination(r), one,
                         factors_at(place), same);
    }
  }

  /// Tells whether results are looked up for runs with `same` elements that have the same factors.
  bool may_look_up(const run_conversion& conversion, const even_runs& runs,
                   std::int64_t same) const noexcept {
    return conversion.can_look_up(runs) && same >= conversion_costs::least_lookups && results_.are_useful();
  }
  /// Converts runs with `same` elements that have the same factors, by their results if these are known.
  void convert_by_results(const run_conversion& conversion, const std::byte* source, std::byte* destination,
                          const even_runs& runs, const run_factors& factors, std::int64_t same) noexcept {
    const byte_results* const results =
        may_look_up(conversion, runs, same) ? results_.find(conversion, factors, same) : nullptr;
    if (results == nullptr) return conversion(source, destination, runs, factors);
    conversion.look_up(source, destination, runs, factors, *results);
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

  /// Fills the tables with a factor for each of `count` runs, or of `count` stretches from element `begin` on.
  void put_each(const factor_places& first, std::int64_t begin, std::int64_t count, bool are_runs) noexcept {
    for (std::size_t k = 0; k < 2; ++k) {
      contents& held = held_[k];
      if (held.first == first[k] && held.begin == begin && count <= held.count) continue;
      held = {first[k], begin, count};
      are_quick_ = false;
      const factor_axis& f = axes_[k];
      std::int64_t index = are_runs ? 0 : index_of(k, begin);
      std::int64_t rest = f.inner - (are_runs ? 0 : begin % f.inner);  // elements that have this factor
      for (std::int64_t n = 0; n < count; ++n) {
        const double factor = value(k, first[k] + index);
        std::byte* const place = tables_[k].data() + n * value_size();
        is_double_ ? write(place, factor) : write(place, static_cast<float>(factor));
        if (are_runs) {
          index += run_steps_[k];
        } else if (f.step != 0 && (rest -= same_) <= 0) {
          rest += f.inner;
          if (++index == f.extent) index = 0;
        }
      }
    }
  }

  /// Fills the tables with the factors of `count` elements from element `begin` on.
  void fill(const factor_places& first, std::int64_t begin, std::int64_t count) noexcept {
    for (std::size_t k = 0; k < 2; ++k) {
      const std::int64_t from = axes_[k].step == 0 ? 0 : begin;  // there all elements have the same factor
      contents& held = held_[k];
      if (held.first == first[k] && held.begin == from && count <= held.count) continue;
      held = {first[k], from, count};
      are_quick_ = false;
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
  factor_places run_steps_;
  std::int64_t period_ = 1;                                       ///< elements after which the factors repeat
  std::int64_t same_ = std::numeric_limits<std::int64_t>::max();  ///< elements that have the same factors
  std::int64_t kept_ = 0;  ///< factors of stretches that the tables keep
  std::array<contents, 2> held_;
  bool are_quick_ = false;  ///< whether quick steps are right for the elements in the tables
  result_tables results_;
  alignas(64) std::array<std::array<std::byte, room + at_once * 8>, 2> tables_;
};

/// Reverses the bytes of each element.
inline void swap_bytes(std::byte* elements, std::int64_t count, std::size_t size) noexcept {
  for (std::int64_t i = 0; i < count; ++i, elements += size) std::reverse(elements, elements + size);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
