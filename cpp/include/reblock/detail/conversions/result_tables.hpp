// SPDX-License-Identifier: BSD-3-Clause
//
// A byte has 256 values. A conversion of many bytes with one scale and one bias is faster if it looks their results up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/run_conversion.hpp>
#include <reblock/detail/conversions/run_steps.hpp>
#include <reblock/detail/costs.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The result_tables of a conversion have the results of all bytes, for the last few scales and biases.
class result_tables {
 public:
  /// Results of so many factors are kept.
  static constexpr std::int64_t most = 16;

  /// Tells whether tables have been worth their search: not if many factors have followed each other, each for few elements.
  bool are_useful() const noexcept { return in_vain_ < 2 * entries_.size(); }

  /// Returns the results for the factors of a run of `count` elements. Returns null if these factors have had too few elements
  /// for a table, or if there is no right one. Requires conversion.can_look_up(), and factors with a step of 0.
  const byte_results* find(const run_conversion& conversion, const run_factors& factors,
                           std::int64_t count) noexcept {
    const std::uint64_t key =
        read<std::uint32_t>(factors.scale) | std::uint64_t{read<std::uint32_t>(factors.bias)} << 32;
    for (entry& known : entries_) {
      if (known.elements > 0 && known.key == key) return use(known, conversion, factors, count);
    }
    ++in_vain_;
    entry& made = entries_[next_];
    next_ = (next_ + 1) % entries_.size();
    made.key = key;
    made.elements = 0;
    return use(made, conversion, factors, count);
  }

 private:
  struct entry {
    std::uint64_t key = 0;      ///< the bits of a scale and of a bias
    std::int64_t elements = 0;  ///< that had these factors
    bool is_right = false;      ///< once a table has been made
    byte_results results;
  };

  const byte_results* use(entry& of, const run_conversion& conversion, const run_factors& factors,
                          std::int64_t count) noexcept {
    const bool is_made = of.elements >= conversion_costs::least_table;
    of.elements += count;
    if (of.elements < conversion_costs::least_table) return nullptr;
    if (!is_made) of.is_right = conversion.make_results(of.results, factors);
    in_vain_ = of.is_right ? 0 : in_vain_ + 1;
    return of.is_right ? &of.results : nullptr;
  }

  std::array<entry, most> entries_;
  std::size_t next_ = 0;
  std::size_t in_vain_ = 0;  ///< new factors since a table was last used
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
