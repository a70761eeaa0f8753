// SPDX-License-Identifier: BSD-3-Clause
//
// A run_conversion converts contiguous elements of one type to contiguous elements of another type:
//
//     result = cast(x * scale + bias)
//
// The arithmetic is that of float, or of double: is_converted_in_double(). Product and sum are rounded separately. The
// cast rounds once, to nearest, ties to even. A cast to integers saturates, and makes 0 of a NaN. Without scale and bias,
// conversions between integers and bool wrap, and all others are a cast alone, with a single rounding.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <reblock/data_type.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/run_steps.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/simd/conversions.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Whether conversions compute with elements of type T as values of type Value. Only integers of 64 bits may lose digits.
template <class T, class Value>
inline constexpr bool has_values = is_convertible(element_type_of<T>()) &&
                                   (std::same_as<Value, double> || !needs_double(element_type_of<T>()));

/// Returns the step for single elements that makes float or double of them, or null.
template <class Value>
run_step single_making_step(element_type from) noexcept {
  run_step found = nullptr;
  with_element(from, [&]<class T>() {
    if constexpr (has_values<T, Value>) found = for_runs<make_values<T, Value>>;
  });
  return found;
}

/// Returns the step for single elements that makes them of float or double, or null.
template <class Value>
run_step single_storing_step(element_type to) noexcept {
  run_step found = nullptr;
  with_element(to, [&]<class T>() {
    if constexpr (has_values<T, Value> && !std::same_as<T, Value>) found = for_runs<make_elements<T, Value>>;
  });
  return found;
}

constexpr element_type unsigned_type(std::size_t size) noexcept {
  switch (size) {
    case 1: return element_type::uint8;
    case 2: return element_type::uint16;
    case 4: return element_type::uint32;
    default: return element_type::uint64;
  }
}

/// Returns the step that casts integers and bool as static_cast does. Requires different types.
REBLOCK_ENGINE_FUNCTION inline run_step casting_step(element_type from, element_type to) noexcept {
  // The sign of an integer decides only which bytes are added.
  if (is_integer(to)) to = unsigned_type(size_of(to));
  if (is_integer(from) && size_of(to) <= size_of(from)) from = unsigned_type(size_of(from));
  run_step found = nullptr;
  with_element(from, [&]<class From>() {
    with_element(to, [&]<class To>() {
      constexpr bool is_used = std::integral<From> && std::unsigned_integral<To> && !std::same_as<From, To>;
      if constexpr (is_used && (std::unsigned_integral<From> || sizeof(To) > sizeof(From)))
        found = for_runs<cast_integers<From, To>>;
    });
  });
  return found;
}

inline run_step copying_step(std::size_t size) noexcept {
  switch (size) {
    case 1: return for_runs<copy_elements<1>>;
    case 2: return for_runs<copy_elements<2>>;
    case 4: return for_runs<copy_elements<4>>;
    default: return for_runs<copy_elements<8>>;
  }
}

/// A run_conversion is trivially copyable. It converts in one step, or in two: elements become values (float or double) in
/// a small buffer, and these become elements.
class run_conversion {
 public:
  run_conversion() noexcept = default;
  /// `has_factors` says whether runs have a scale or a bias. Requires types other than none.
  REBLOCK_ENGINE_FUNCTION run_conversion(element_type from, element_type to, bool has_factors,
                                         instruction_set set = usable_instruction_set()) noexcept
      : source_size_(static_cast<std::uint8_t>(size_of(from))),
        destination_size_(static_cast<std::uint8_t>(size_of(to))),
        is_double_(is_converted_in_double(from, to)) {
    const bool are_whole = !is_floating(from) && !is_floating(to);
    if (!has_factors && (from == to || are_whole)) {
      const bool has_boolean = from == element_type::boolean || to == element_type::boolean;
      const bool is_copied = from == to || (!has_boolean && source_size_ == destination_size_);
      ways_.fill({is_copied ? copying_step(source_size_) : casting_step(from, to), nullptr});
      return;
    }
    value_size_ = is_double_ ? 8 : 4;
    const conversion_steps steps = steps_of(set);
    if (source_size_ == 1 && destination_size_ <= steps.lookups.size())
      lookup_ = steps.lookups[destination_size_ - 1];
    spaced_ = {steps.spaced(from, to, false), steps.spaced(from, to, true)};
    ways_[0] = find_way(from, to, has_factors, steps);
    ways_[1] = set > instruction_set::avx2 ? find_way(from, to, has_factors, steps_of(instruction_set::avx2))
                                           : ways_[0];
    ways_[2] = ways_[0];
    if (set == instruction_set::baseline) return;
    ways_[2] = find_way(from, to, has_factors, steps_of(instruction_set::baseline));
    ways_[2].quick = nullptr;  // it cannot fuse, so its results may differ from those of the others
  }

  /// Whether scale and bias are arrays of double, otherwise of float.
  constexpr bool is_double() const noexcept { return is_double_; }
  constexpr std::size_t source_size() const noexcept { return source_size_; }
  constexpr std::size_t destination_size() const noexcept { return destination_size_; }

  /// Converts without scale and bias.
  void operator()(const std::byte* source, std::byte* destination, std::size_t count) const noexcept {
    (*this)(source, destination, count,
            is_double_ ? identity_factors<double>.all() : identity_factors<float>.all());
  }
  /// Converts `count` elements, at any alignment. Source and destination must not share memory.
  void operator()(const std::byte* source, std::byte* destination, std::size_t count,
                  const run_factors& factors) const noexcept {
    (*this)(source, destination, even_runs{count}, factors);
  }
  /// Does the same for runs at even distances. Spaced bytes require can_space(), and factors with a step of 0. `may_be_quick`
  /// says that quick steps are right for all factors.
  void operator()(const std::byte* source, std::byte* destination, const even_runs& runs,
                  const run_factors& factors, bool may_be_quick = false) const noexcept {
    if (runs.spacing > 1) return convert_spaced(source, destination, runs, factors, may_be_quick);
    const way& by = ways_[runs.count >= 16 ? 0 : runs.count >= 8 ? 1 : 2];
    if (may_be_quick && by.quick != nullptr) return by.quick(source, destination, runs, factors);
    if (by.second == nullptr) return by.first(source, destination, runs, factors);
    const even_runs row = runs.with(1, runs.runs);
    for (std::size_t k = 0; k < runs.rows;
         ++k, source += runs.source_row, destination += runs.destination_row)
      convert_by(by, source, destination, row, factors);
  }

  /// Tells whether runs may have bytes at these distances.
  constexpr bool can_space(std::int64_t bytes, std::int64_t count) const noexcept {
    return spaced_[0] != nullptr && bytes > 1 && bytes <= static_cast<std::int64_t>(most_spacing) &&
           count >= static_cast<std::int64_t>(least_spaced);
  }

  /// Returns the estimated costs.
  constexpr conversion_costs costs() const noexcept {
    conversion_costs costs;
    if (ways_[0].second != nullptr) costs.element *= 2;
    if (is_double_) costs.element *= 2;
    if (lookup_ == nullptr) costs.lookup = costs.quick;
    return costs;
  }

  /// Tells whether runs may be converted by a table of the results of all bytes, or by a quick step that such a table shows to
  /// be right. They have factors of float then.
  constexpr bool can_look_up(const even_runs& runs) const noexcept {
    return looks_up(runs) || can_be_quick(runs);
  }
  /// Tells the same of quick steps alone, which elements with factors of their own may also take.
  constexpr bool can_be_quick(const even_runs& runs) const noexcept {
    if (runs.spacing > 1) return spaced_[1] != nullptr;
    return ways_[0].quick != nullptr && runs.count >= least_looked_up;
  }
  /// Makes the table for one scale and one bias, and tells whether quick steps are right for them. Returns whether look_up()
  /// is.
  bool make_results(byte_results& results, const run_factors& factors) const noexcept {
    constexpr std::size_t all = 256;
    std::array<std::byte, all> bytes;
    for (std::size_t i = 0; i < all; ++i) bytes[i] = static_cast<std::byte>(i);
    std::array<std::byte, 2 * all> elements;
    (*this)(bytes.data(), elements.data(), all, factors);
    results.is_quick_right = ways_[0].quick != nullptr;
    if (results.is_quick_right) {
      std::array<std::byte, 2 * all> made;  // all quick steps have the same results
      (*this)(bytes.data(), made.data(), even_runs{all}, factors, true);
      results.is_quick_right = std::memcmp(made.data(), elements.data(), all * destination_size_) == 0;
    }
    if (lookup_ == nullptr) return results.is_quick_right;
    if (destination_size_ == 1) {
      std::copy_n(elements.begin(), all, results.bytes.begin());
    } else {
      for (std::size_t i = 0; i < all; ++i) {
        results.bytes[i] = elements[2 * i];
        results.bytes[all + i] = elements[2 * i + 1];
      }
    }
    return true;
  }
  /// Converts runs of bytes by what make_results() made of `factors`. Requires can_look_up(runs). Source and destination must
  /// not share memory.
  void look_up(const std::byte* source, std::byte* destination, const even_runs& runs,
               const run_factors& factors, const byte_results& results) const noexcept {
    if (looks_up(runs)) return lookup_(source, destination, runs, results);
    (*this)(source, destination, runs, factors, results.is_quick_right);
  }

 private:
  static constexpr std::size_t buffer_bytes = 4096;

  constexpr bool looks_up(const even_runs& runs) const noexcept {
    return lookup_ != nullptr && runs.spacing == 1 && runs.count >= least_looked_up;
  }

  /// Converts spaced bytes by a step that may read around them, and those at the ends of what may be read by a buffer.
  void convert_spaced(const std::byte* source, std::byte* destination, const even_runs& runs,
                      const run_factors& factors, bool may_be_quick) const noexcept {
    if (runs.may_read_around(source)) {
      const bool is_quick = may_be_quick && spaced_[1] != nullptr;
      return spaced_[is_quick ? 1 : 0](source, destination, runs, factors);
    }
    if (runs.rows > 1) {
      const std::size_t half = runs.rows / 2;
      const auto rows = static_cast<std::int64_t>(half);
      convert_spaced(source, destination, runs.with(half, runs.runs), factors, may_be_quick);
      return convert_spaced(source + rows * runs.source_row, destination + rows * runs.destination_row,
                            runs.with(runs.rows - half, runs.runs), factors, may_be_quick);
    }
    if (runs.runs > 1) {
      const std::size_t half = runs.runs / 2;
      convert_spaced(source, destination, runs.with(1, half), factors, may_be_quick);
      return convert_spaced(source + runs.source(half), destination + runs.destination(half),
                            runs.with(1, runs.runs - half), factors.from(0, half), may_be_quick);
    }
    convert_ends(source, destination, runs, factors, may_be_quick);
  }
  /// Converts the ends of a run by a buffer. They have so many elements, which are more bytes than a step reads around them.
  static constexpr std::size_t end = even_runs::read_behind / 2;
  void convert_ends(const std::byte* source, std::byte* destination, even_runs run,
                    const run_factors& factors, bool may_be_quick) const noexcept {
    const std::size_t count = run.count;
    if (count < 4 * end) return convert_some(source, destination, run, 0, count, factors);
    convert_some(source, destination, run, 0, end, factors);
    convert_some(source, destination, run, count - end, end, factors);
    run.count -= 2 * end;
    convert_spaced(source + end * run.spacing, destination + end * destination_size_, run, factors.from(end),
                   may_be_quick);
  }
  /// Converts fewer than 4 * end elements from element `first` on.
  void convert_some(const std::byte* source, std::byte* destination, const even_runs& run, std::size_t first,
                    std::size_t count, const run_factors& factors) const noexcept {
    std::array<std::byte, 4 * end> bytes;
    for (std::size_t i = 0; i < count; ++i) bytes[i] = source[(first + i) * run.spacing];
    (*this)(bytes.data(), destination + first * destination_size_, count, factors.from(first));
  }

  struct way {
    run_step first = nullptr;
    run_step second = nullptr;  ///< or null
    run_step quick = nullptr;   ///< or null
  };

  REBLOCK_ENGINE_FUNCTION way find_way(element_type from, element_type to, bool has_factors,
                                       const conversion_steps& steps) const noexcept {
    const element_type value = is_double_ ? element_type::float64 : element_type::float32;
    way found;
    found.first = steps.single(from, to);
    found.quick = steps.quick(from, to);
    if (found.first != nullptr) return found;
    if (from != value || to == value) found.first = making_step(from, to, has_factors, steps);
    if (to != value) found.second = storing_step(value, to, steps);
    if (found.first == nullptr) std::swap(found.first, found.second);
    return found;
  }

  /// Converts a row of runs in two steps.
  void convert_by(const way& by, const std::byte* source, std::byte* destination, const even_runs& runs,
                  const run_factors& factors) const noexcept {
    alignas(64) std::array<std::byte, buffer_bytes> values;
    const std::size_t room = buffer_bytes / value_size_;
    if (runs.count > room) {
      for (std::size_t run = 0; run < runs.runs; ++run) {
        const std::byte* const from = source + runs.source(run);
        std::byte* const to = destination + runs.destination(run);
        for (std::size_t i = 0; i < runs.count; i += room) {
          convert_some_by(by, values.data(), from + i * source_size_, to + i * destination_size_,
                          {std::min(room, runs.count - i)}, factors.from(i, run));
        }
      }
      return;
    }
    const std::size_t at_once = room / std::max<std::size_t>(1, runs.count);
    for (std::size_t run = 0; run < runs.runs; run += at_once) {
      even_runs some = runs;
      some.runs = std::min(at_once, runs.runs - run);
      convert_some_by(by, values.data(), source + runs.source(run), destination + runs.destination(run), some,
                      factors.from(0, run));
    }
  }
  /// Does it for runs whose values fit the buffer, where runs follow each other.
  void convert_some_by(const way& by, std::byte* values, const std::byte* source, std::byte* destination,
                       even_runs runs, const run_factors& factors) const noexcept {
    const auto bytes = static_cast<std::int64_t>(runs.count * value_size_);
    by.first(source, values, {runs.count, runs.runs, runs.source_step, bytes}, factors);
    runs.source_step = bytes;
    if (runs.destination_step == static_cast<std::int64_t>(runs.count * destination_size_)) {
      runs.count *= runs.runs;
      runs.runs = 1;
    }
    by.second(values, destination, runs,
              is_double_ ? identity_factors<double>.all() : identity_factors<float>.all());
  }

  REBLOCK_ENGINE_FUNCTION static run_step making_step(element_type from, element_type to, bool has_factors,
                                                      const conversion_steps& steps) noexcept {
    const bool is_double = is_converted_in_double(from, to);
    if (!has_factors && to != element_type::float64) {
      if (from == element_type::uint64) return for_runs<make_traced_doubles<std::uint64_t>>;
      if (from == element_type::int64) return for_runs<make_traced_doubles<std::int64_t>>;
    }
    const run_step found = steps.making(from, is_double);
    if (found != nullptr) return found;
    return is_double ? single_making_step<double>(from) : single_making_step<float>(from);
  }
  REBLOCK_ENGINE_FUNCTION static run_step storing_step(element_type value, element_type to,
                                                       const conversion_steps& steps) noexcept {
    const run_step found = steps.single(value, to);
    if (found != nullptr) return found;
    return value == element_type::float64 ? single_storing_step<double>(to) : single_storing_step<float>(to);
  }

  /// For long runs, and for runs that are shorter than the widest registers, or than those half as wide.
  std::array<way, 3> ways_{};
  std::array<run_step, 2> spaced_{};  ///< the step for spaced bytes, and the quick one. Or null
  lookup_step lookup_ = nullptr;      ///< or null
  std::uint8_t source_size_ = 0;
  std::uint8_t destination_size_ = 0;
  std::uint8_t value_size_ = 0;
  bool is_double_ = false;
};
static_assert(std::is_trivially_copyable_v<run_conversion>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
