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
/// run has no such axis, else 1.
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
      : is_double_(conversion.is_double()), values_(values), axes_(axes) {}

  /// Converts a run. `first` has the places of its first element's factors in their values.
  void convert(const run_conversion& conversion, const std::byte* source, std::byte* destination,
               std::int64_t count, const factor_places& first) noexcept {
    if (period() == 1) {
      fill(first, 0, 1);
      return run(conversion, source, destination, count, 0);
    }
    constexpr std::int64_t enough = 32;  // elements: then registers with one factor are faster than a table
    if (same() >= enough) {
      for (std::int64_t i = 0; i < count; i += same()) {
        fill(first, i, 1);
        run(conversion, source + i * from(conversion), destination + i * to(conversion),
            std::min(same(), count - i), 0);
      }
      return;
    }
    const std::int64_t limit = room / value_size();
    const std::int64_t whole = period() > limit ? limit : limit / period() * period();
    for (std::int64_t i = 0; i < count; i += whole) {
      const std::int64_t batch = std::min(whole, count - i);
      fill(first, whole % period() == 0 ? 0 : i, std::max(batch, std::min(whole, count)));
      run(conversion, source + i * from(conversion), destination + i * to(conversion), batch, value_size());
    }
  }

 private:
  static constexpr std::int64_t room = 2048;  // bytes of each table

  static std::int64_t from(const run_conversion& c) noexcept {
    return static_cast<std::int64_t>(c.source_size());
  }
  static std::int64_t to(const run_conversion& c) noexcept {
    return static_cast<std::int64_t>(c.destination_size());
  }
  std::int64_t value_size() const noexcept { return is_double_ ? 8 : 4; }

  /// Elements after which the factors repeat.
  std::int64_t period() const noexcept {
    std::int64_t longest = 1;
    for (const factor_axis& f : axes_) {
      if (f.step != 0) longest = std::max(longest, f.inner * f.extent);
    }
    return longest;
  }
  /// Elements that have the same factors.
  std::int64_t same() const noexcept {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const factor_axis& f : axes_) {
      if (f.step != 0) least = std::min(least, f.inner);
    }
    return least;
  }

  void run(const run_conversion& conversion, const std::byte* source, std::byte* destination,
           std::int64_t count, std::int64_t step) const noexcept {
    conversion(source, destination, static_cast<std::size_t>(count),
               {tables_[0].data(), tables_[1].data(), static_cast<std::size_t>(step)});
  }

  /// Fills the tables with the factors of `count` elements from element `begin` on. A single factor is repeated.
  void fill(const factor_places& first, std::int64_t begin, std::int64_t count) noexcept {
    if (first == first_ && begin == begin_ && count <= count_) return;
    first_ = first;
    begin_ = begin;
    count_ = count;
    for (std::size_t k = 0; k < 2; ++k) {
      const factor_axis& f = axes_[k];
      const double absent = k == 0 ? 1.0 : -0.0;  // x + -0.0 is x, also for -0.0
      const auto at = [&](std::int64_t index) {
        return values_[k] == nullptr ? absent : values_[k][first[k] + index * f.step];
      };
      if (count == 1) {
        const double value = at(begin / f.inner % f.extent);
        for (std::int64_t i = 0; i < 64 / value_size(); ++i) put(k, i, value);
        continue;
      }
      // The factors of the first period repeat.
      const std::int64_t period = f.step == 0 ? 1 : std::min(count, f.inner * f.extent);
      std::int64_t index = begin / f.inner % f.extent;
      std::int64_t rest = f.inner - begin % f.inner;
      for (std::int64_t i = 0; i < period; ++i) {
        put(k, i, at(index));
        if (--rest > 0) continue;
        rest = f.inner;
        if (++index == f.extent) index = 0;
      }
      std::byte* const table = tables_[k].data();
      for (std::int64_t filled = period; filled < count;) {
        const std::int64_t more = std::min(filled, count - filled);
        std::memcpy(table + filled * value_size(), table, static_cast<std::size_t>(more * value_size()));
        filled += more;
      }
    }
  }
  void put(std::size_t k, std::int64_t i, double value) noexcept {
    std::byte* const place = tables_[k].data() + i * value_size();
    is_double_ ? write(place, value) : write(place, static_cast<float>(value));
  }

  bool is_double_;
  std::array<const double*, 2> values_;  ///< or null
  std::array<factor_axis, 2> axes_;
  factor_places first_{-1, -1};
  std::int64_t begin_ = 0;
  std::int64_t count_ = 0;
  alignas(64) std::array<std::array<std::byte, room>, 2> tables_;
};

/// Reverses the bytes of each element.
inline void swap_bytes(std::byte* elements, std::int64_t count, std::size_t size) noexcept {
  for (std::int64_t i = 0; i < count; ++i, elements += size) std::reverse(elements, elements + size);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
