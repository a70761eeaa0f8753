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
  /// A place has `size` bytes. A line that is near takes `next` cycles, and `waiting` more if it is not predicted.
  visited_side(std::int64_t tile_axis::* stride, std::int64_t size, const mover_costs& costs,
               const mover_costs::line_costs& each, double next, double waiting) noexcept
      : stride_(stride),
        each_(each),
        next_(next),
        waiting_(waiting),
        page_(costs.page),
        run_(static_cast<double>(size)) {}

  /// Goes on to the places along an axis outside of those before. `evicts`: lines and pages may have been evicted meanwhile.
  void visit(const tile_axis& axis, const visited_side& other, bool evicts) noexcept {
    const std::int64_t step = magnitude(axis.*stride_);
    if (step < cache_sizes::line) {
      const double share = share_of(axis, cache_sizes::line);
      if (evicts) cost_ += lines_brought_ * (1 - share) * lines_.cost_of_evicted(each_, other.lines_);
      lines_brought_ *= share;
    }
    if (step < cache_sizes::page) {
      const double share = share_of(axis, cache_sizes::page);
      if (evicts && pages_ + other.pages_ > cache_sizes::most_pages)
        cost_ += pages_brought_ * (1 - share) * page_;
      pages_brought_ *= share;
    }
    const auto extent = static_cast<double>(axis.extent);
    if (static_cast<double>(step) < run_ + 2 * cache_sizes::line && runs_ <= cache_sizes::predicted_streams) {
      run_ += static_cast<double>(step) * (extent - 1);
    } else {
      runs_ *= extent;
    }
  }
  void take(const tile_axis& axis) noexcept {
    lines_.repeat(axis.extent, axis.*stride_);
    pages_ *= share_of(axis, cache_sizes::page) * static_cast<double>(axis.extent);
  }
  /// Returns the cycles of a place. Lines that are not predicted take this part of their time: `waits`.
  double cost(double bytes, double waits) const noexcept {
    if (bytes <= cache_sizes::second_level) {
      return cost_ +
             lines_brought_ * (next_ + waiting_ * std::min(1.0, cache_sizes::unpredicted_near / run_));
    }
    const double far = bytes <= cache_sizes::far_moves ? each_.outer : each_.far;
    const double share = std::min(1.0, cache_sizes::unpredicted_bytes / run_);
    return cost_ + lines_brought_ * (next_ + waits * share * std::max(far - next_, 0.0));
  }

 private:
  /// Returns how many of the places along an axis are in a line or a page of their own.
  double share_of(const tile_axis& axis, std::int64_t size) const noexcept {
    const auto step = static_cast<double>(std::min(magnitude(axis.*stride_), size));
    return std::max(step / static_cast<double>(size), 1 / static_cast<double>(axis.extent));
  }

  std::int64_t tile_axis::* stride_;
  mover_costs::line_costs each_;
  double next_;     ///< the cycles of a line that is near or predicted
  double waiting_;  ///< the cycles that an access waits for a line that is near, but not predicted
  double page_;     ///< the cycles of a page
  near_lines lines_;
  double run_;  ///< bytes that follow each other in time, beside few others: processors predict their lines
  double runs_ = 1;  ///< one beside the other
  double pages_ = 1;
  double lines_brought_ = 1;  ///< by a place
  double pages_brought_ = 1;
  double cost_ = 0;
};

/// visited_places follows both sides of a move that visits places along one axis after the other, the innermost first.
class visited_places {
 public:
  /// A place has `size` bytes. A line that is near or predicted takes `next` cycles.
  visited_places(const mover_costs& costs, std::int64_t size, double next) noexcept
      : read_(&tile_axis::source_stride, size, costs, costs.read_line, next, 0),
        written_(&tile_axis::destination_stride, size, costs, costs.written_line, next,
                 next > 0 ? costs.stored_line : 0) {}

  /// Goes on to the places along an axis. Those of one block keep their lines: then nothing `evicts` them.
  void visit(const tile_axis& axis, bool evicts = true) noexcept {
    if (axis.extent == 1) return;
    read_.visit(axis, written_, evicts);
    written_.visit(axis, read_, evicts);
    read_.take(axis);
    written_.take(axis);
  }
  /// These functions return the cycles that a place of a move of so many bytes waits for the caches. Lines that nobody predicts
  /// or asks for take their whole time.
  double cost_of_reads(double bytes, double waits = 1) const noexcept { return read_.cost(bytes, waits); }
  double cost_of_writes(double bytes, double waits = 1) const noexcept { return written_.cost(bytes, waits); }

 private:
  visited_side read_;
  visited_side written_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
