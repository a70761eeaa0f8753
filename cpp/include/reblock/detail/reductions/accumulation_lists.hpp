// SPDX-License-Identifier: BSD-3-Clause
//
// These functions of accumulations prepare lists of weights and of numbers of terms. They take little time, so all instruction
// sets have the same ones.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/reductions/accumulation_kernels.hpp>
#include <reblock/detail/simd/lanes.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Makes the listed doubles values of Weight, where they are, and repeats the first `period`. Tells whether all are
/// exact.
template <class Weight>
bool list_weights(double* weights, std::size_t count, std::size_t period) {
  bool are_exact = true;
  auto* const to = reinterpret_cast<std::byte*>(weights);
  if constexpr (!std::same_as<Weight, double>) {
    for (std::size_t i = 0; i < period; ++i) {
      const double weight = weights[i];
      const auto listed = static_cast<Weight>(weight);
      are_exact = are_exact && static_cast<double>(listed) == weight;
      std::memcpy(to + i * sizeof(listed), &listed, sizeof(listed));
    }
  }
  for (std::size_t done = period; done < count; done *= 2)
    std::memcpy(to + done * sizeof(Weight), to, std::min(done, count - done) * sizeof(Weight));
  return are_exact;
}

/// Makes numbers of terms, where they are, the list by which sums of small integers are divided. Returns whether it can.
template <class = void>
bool list_small_counts(double* counts, std::size_t count) {
  std::uint16_t twice[most_accumulators] = {};
  std::uint16_t inverses[most_accumulators] = {};
  for (std::size_t i = 0; i < count; ++i) {
    if (counts[i] > most_small_count) return false;
    twice[i] = static_cast<std::uint16_t>(2 * static_cast<int>(counts[i]));
    inverses[i] = inverse_of_twice(twice[i]);
  }
  std::memcpy(counts, twice, sizeof(twice));
  std::memcpy(reinterpret_cast<std::byte*>(counts) + sizeof(twice), inverses, sizeof(inverses));
  return true;
}
/// Tells that numbers of terms cannot be a list.
inline bool list_no_counts(double*, std::size_t) noexcept { return false; }

/// Makes accumulators 0, or, for a first term, what changes no sum.
template <class A, bool HasErrors>
void fill(std::byte* row, std::size_t count, beginning from) {
  auto* const to = reinterpret_cast<A*>(row);
  std::fill_n(to, count, neutral_summand<A>(from));
  if constexpr (HasErrors) std::fill_n(to + most_accumulators, count, A{});
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
