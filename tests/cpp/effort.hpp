// SPDX-License-Identifier: BSD-3-Clause
//
// How many of the cases of a test a run goes through. With the environment variable REBLOCK_THOROUGH it is all of
// them. Otherwise it is a part: cases that are the same in every run, so that what passed still passes, and as many
// that are new, so that the runs of all of us see the rest. REBLOCK_SEED draws the new ones of another run again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include <doctest/doctest.h>

namespace reblock::test {

inline bool is_thorough() {
  static const bool thorough = [] {
    const char* const value = std::getenv("REBLOCK_THOROUGH");
    return value != nullptr && *value != '\0';
  }();
  return thorough;
}

/// Decides what is new in this run. A test that uses it prints it, so that a failure can be repeated.
inline unsigned fresh_seed() {
  static const unsigned seed = [] {
    const char* const value = std::getenv("REBLOCK_SEED");
    const unsigned chosen = value != nullptr && *value != '\0'
                                ? static_cast<unsigned>(std::strtoul(value, nullptr, 10))
                                : std::random_device{}();
    MESSAGE("REBLOCK_SEED=", chosen, " repeats this run");
    return chosen;
  }();
  return seed;
}

/// The seeds of a test's trials: `whole` of them from 0 on, or `part` where the run is not thorough; and as many from
/// fresh_seed() on, so that the seed of a trial that failed, as REBLOCK_SEED, makes it the first of the new ones.
inline std::vector<unsigned> seeds(unsigned whole, unsigned part) {
  const unsigned count = is_thorough() ? whole : part;
  std::vector<unsigned> result;
  for (unsigned i = 0; i < count; ++i) result.push_back(i);
  for (unsigned i = 0; i < count; ++i) result.push_back(fresh_seed() + i);
  return result;
}

/// How many trials must have been of a kind: `whole` where the run is thorough, one of those that are the same in every
/// run otherwise.
inline int enough(int whole) { return is_thorough() ? whole : 1; }

/// The numbers from `first` to `last`; where the run is not thorough, both of them and up to 2 * `part` in between.
inline std::vector<std::int64_t> some_of(std::int64_t first, std::int64_t last, int part) {
  std::vector<std::int64_t> result;
  if (is_thorough() || last - first < 2 * part + 2) {
    for (std::int64_t i = first; i <= last; ++i) result.push_back(i);
    return result;
  }
  static std::mt19937 same(1);
  static std::mt19937 fresh(fresh_seed());
  result = {first, last};
  const auto between = static_cast<std::uint64_t>(last - first - 1);
  for (int i = 0; i < part; ++i) {
    for (std::mt19937* const random : {&same, &fresh}) {
      result.push_back(first + 1 + static_cast<std::int64_t>((*random)() % between));
    }
  }
  std::ranges::sort(result);
  result.erase(std::ranges::unique(result).begin(), result.end());
  return result;
}

}  // namespace reblock::test
