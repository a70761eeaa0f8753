// SPDX-License-Identifier: BSD-3-Clause
//
// These functions estimate which lines leave a cache before they are used again.
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
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Estimates the cycles of the lines of one side that each run of an axis brings into the first-level cache. The lines of a
/// row of runs are still there when the next row needs them, unless they are too many, or share a few sets of the cache.
/// `again` is the axis that repeats rows, or null. The whole move has `bytes`.
inline double cost_of_lines(const tile_axis& runs, const tile_axis* again, std::int64_t tile_axis::* stride,
                            double bytes, const mover_costs::line_costs& each) noexcept {
  using caches = cache_sizes;
  const bool is_near = bytes <= caches::both_sides;
  const auto share = [&](const tile_axis& axis) {
    return static_cast<double>(std::min(magnitude(axis.*stride), caches::line)) / double{caches::line};
  };
  const auto count = static_cast<double>(runs.extent);
  const double lines = share(runs);
  if (again == nullptr) return is_near ? 0 : each.next * lines;
  const std::int64_t apart = std::min(magnitude(runs.*stride), caches::page);
  const bool follow = apart < caches::line;  // a processor predicts lines that follow each other
  const bool is_paged =
      !is_near && !follow && count * static_cast<double>(apart) > caches::near_pages * double{caches::page};
  const std::int64_t step = magnitude(runs.*stride) | caches::page;
  const std::int64_t sets = std::min(caches::page / (step & -step), caches::line);
  const std::int64_t room = std::max(caches::near_lines * sets / caches::line, std::int64_t{1});
  const bool fits = lines * count <= static_cast<double>(room);
  if (!fits && bytes > caches::second_level && !follow) return lines * each.far;
  if (is_paged) return lines * each.paged;
  if (fits) return is_near ? 0 : each.next * lines * share(*again);
  return lines * (sets == 1 ? each.same_set : each.evicted);
}

/// near_lines are the lines of some near places of one side. They evict each other from the first-level cache if more of them
/// share a set than it has room for.
class near_lines {
 public:
  /// Repeats the places along an axis. Axes with short strides come first.
  void repeat(std::int64_t extent, std::int64_t stride) noexcept {
    const std::int64_t room = ceil_divide(most_places, static_cast<std::int64_t>(count_));
    count_ = list_places(std::min(extent, room), stride, places_.data(), count_);
  }
  bool collide() const noexcept {
    constexpr std::size_t sets = cache_sizes::page / cache_sizes::line;
    std::array<std::uint8_t, sets> lines{};
    std::uint64_t last = ~std::uint64_t{0};
    for (const std::int64_t place : std::span(places_).first(count_)) {
      const std::uint64_t line = static_cast<std::uint64_t>(place) / cache_sizes::line;
      if (line != last && ++lines[line % sets] > cache_sizes::ways) return true;
      last = line;
    }
    return false;
  }

 private:
  static constexpr std::int64_t most_places = 64;

  std::array<std::int64_t, 2 * most_places> places_{};  // the last axis may lead beyond so many
  std::size_t count_ = 1;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
