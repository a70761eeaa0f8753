// SPDX-License-Identifier: BSD-3-Clause
//
// near_lines estimate which lines leave the first-level cache before they are used again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/list_places.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// near_lines are the lines of some near places of one side. They evict each other from the first-level cache if they are too
/// many, or if more of them share a set than it has room for.
class near_lines {
 public:
  near_lines() noexcept { lines_[0] = 0; }

  /// Repeats the lines along an axis. Those of one line become one.
  void repeat(std::int64_t extent, std::int64_t stride) noexcept {
    if (magnitude(stride) < cache_sizes::line) {
      const std::int64_t bytes = wrapping_multiply(extent, magnitude(stride));
      extent = std::max<std::int64_t>(ceil_divide(bytes, cache_sizes::line), 1);
      stride = cache_sizes::line;
    }
    const std::int64_t room = ceil_divide(most_listed, static_cast<std::int64_t>(count_));
    count_ = list_places(std::min(extent, room), stride, lines_.data(), count_);
    all_ *= static_cast<double>(extent);
  }
  /// Counts the lines of the list that share a set of the cache, in the set with most lines.
  int of_one_set() const noexcept {
    constexpr std::size_t sets = cache_sizes::page / cache_sizes::line;
    std::array<std::uint8_t, sets> lines{};
    std::uint8_t most = 0;
    for (const std::int64_t place : std::span(lines_).first(count_))
      most = std::max(most, ++lines[static_cast<std::uint64_t>(place) / cache_sizes::line % sets]);
    return most;
  }
  double all() const noexcept { return all_; }
  bool collide() const noexcept { return of_one_set() > cache_sizes::ways; }

  /// Estimates the cycles to bring a line again before its next part is needed: 0 if lines stay. The cache has lines of the
  /// other side, too. Lines that are evicted take the more time, the fewer sets they share.
  double cost_of_evicted(const mover_costs::line_costs& each, const near_lines& other) const noexcept {
    if (all_ + other.all_ <= cache_sizes::ways) return 0;
    const double sets = static_cast<double>(count_) / of_one_set();
    if (all_ + other.all_ <= cache_sizes::most_lines) {
      const double sets_of_other = static_cast<double>(other.count_) / other.of_one_set();
      if (all_ / sets + other.all_ / sets_of_other <= cache_sizes::ways) return 0;
    }
    return each.evicted + each.of_few_sets / sets;
  }

 private:
  static constexpr std::int64_t most_listed = 64;

  std::array<std::int64_t, 2 * most_listed> lines_;  // the last axis may lead beyond so many
  std::size_t count_ = 1;
  double all_ = 1;  ///< lines, with those that are not listed
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
