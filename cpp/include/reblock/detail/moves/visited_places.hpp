// SPDX-License-Identifier: BSD-3-Clause
//
// visited_places follow a move from place to place. They estimate which lines and pages of memory each place brings into the
// first-level cache, for the first time or again.
#pragma once

#include <algorithm>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/cache_lines.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// visited_side follows one side of a move.
class visited_side {
 public:
  visited_side(std::int64_t tile_axis::* stride, const mover_costs& costs,
               const mover_costs::line_costs& each, double next) noexcept
      : stride_(stride), each_(each), next_(next), page_(costs.page) {}

  /// Goes on to the places along an axis outside of those before.
  void visit(const tile_axis& axis, const visited_side& other) noexcept {
    const std::int64_t step = magnitude(axis.*stride_);
    follow_ = follow_ || (step < 2 * cache_sizes::line && lines_.all() <= cache_sizes::predicted_streams);
    if (step < cache_sizes::line) {
      const double share = share_of(axis, cache_sizes::line);
      cost_ += lines_brought_ * (1 - share) * lines_.cost_of_evicted(each_, other.lines_);
      lines_brought_ *= share;
    }
    if (step < cache_sizes::page) {
      const double share = share_of(axis, cache_sizes::page);
      if (pages_ + other.pages_ > cache_sizes::most_pages) cost_ += pages_brought_ * (1 - share) * page_;
      pages_brought_ *= share;
    }
  }
  void take(const tile_axis& axis) noexcept {
    lines_.repeat(axis.extent, axis.*stride_);
    pages_ *= share_of(axis, cache_sizes::page) * static_cast<double>(axis.extent);
  }
  /// Returns the cycles of a place.
  double cost(double bytes) const noexcept {
    const double line = follow_ || bytes <= cache_sizes::second_level ? next_
                        : bytes <= cache_sizes::far_moves             ? each_.outer
                                                                      : each_.far;
    return cost_ + lines_brought_ * line;
  }

 private:
  /// Returns how many of the places along an axis are in a line or a page of their own.
  double share_of(const tile_axis& axis, std::int64_t size) const noexcept {
    const auto step = static_cast<double>(std::min(magnitude(axis.*stride_), size));
    return std::max(step / static_cast<double>(size), 1 / static_cast<double>(axis.extent));
  }

  std::int64_t tile_axis::* stride_;
  mover_costs::line_costs each_;
  double next_;  ///< the cycles of a line that is near or predicted
  double page_;  ///< the cycles of a page
  near_lines lines_;
  bool follow_ = false;  ///< whether lines follow few others: processors predict them
  double pages_ = 1;
  double lines_brought_ = 1;  ///< by a place
  double pages_brought_ = 1;
  double cost_ = 0;
};

/// visited_places follows both sides of a move that visits places along one axis after the other, the innermost first.
class visited_places {
 public:
  /// A line that is near or predicted takes `next` cycles.
  visited_places(const mover_costs& costs, double next) noexcept
      : read_(&tile_axis::source_stride, costs, costs.read_line, next),
        written_(&tile_axis::destination_stride, costs, costs.written_line, next) {}

  void visit(const tile_axis& axis) noexcept {
    if (axis.extent == 1) return;
    read_.visit(axis, written_);
    written_.visit(axis, read_);
    read_.take(axis);
    written_.take(axis);
  }
  /// These functions return the cycles that a place of a move of so many bytes waits for the caches.
  double cost_of_reads(double bytes) const noexcept { return read_.cost(bytes); }
  double cost_of_writes(double bytes) const noexcept { return written_.cost(bytes); }

 private:
  visited_side read_;
  visited_side written_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
