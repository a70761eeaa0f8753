// SPDX-License-Identifier: BSD-3-Clause
//
// split_windows moves the windows inside an image apart from the windows at its edges. Those inside have no bounds, so any
// mover may take them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/move_plan.hpp>
#include <reblock/detail/window_blocks.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// An inside_range tells which windows along an axis of the image lie inside it.
struct inside_range {
  std::size_t axis;   ///< of the layout: it walks windows
  index_range range;  ///< may have no index
};

/// Finds the windows that lie inside along the axes of a bound. The last one of these axes walks windows.
constexpr inside_range find_inside(const layout& moves, std::size_t bound) noexcept {
  inside_range found{moves.rank, {0, 0}};
  std::int64_t reach = 0;
  for (std::size_t i = 0; i < moves.rank; ++i) {
    if (moves.axes[i].bound != bound) continue;
    if (found.axis < moves.rank) {
      reach = (moves.axes[found.axis].extent - 1) * moves.axes[found.axis].bound_step;
    }
    found.axis = i;
  }
  if (found.axis == moves.rank) return found;
  const layout_axis& windows = moves.axes[found.axis];
  const index_range first = range_inside(moves.bounds[bound], 0, windows);
  const index_range last = range_inside(moves.bounds[bound], reach, windows);
  found.range.begin = std::max(first.begin, last.begin);
  found.range.end = std::max(found.range.begin, std::min(first.end, last.end));
  return found;
}

/// An inside_windows has the windows of an image, which lie inside or at its edges. It is trivially copyable.
class inside_windows {
 public:
  /// An image may have bounds along at most this many axes.
  static constexpr std::size_t most_bounds = 3;

  /// Takes moves with bounds. Returns whether there are windows inside.
  bool find(const layout& moves) noexcept {
    if (moves.bound_count > most_bounds || !has_windows(moves)) return false;
    whole_.take(moves);
    for (std::size_t b = 0; b < moves.bound_count; ++b) {
      ranges_[b] = find_inside(moves, b);
      if (ranges_[b].range.begin == ranges_[b].range.end) return false;
    }
    return true;
  }

  /// Returns the moves of the windows inside, which have no bounds.
  layout inside(std::int64_t element_size) const noexcept {
    layout moves;
    moves.take(whole_);
    moves.whole_bytes = total_bytes(whole_, element_size);
    for (std::size_t b = 0; b < whole_.bound_count; ++b)
      moves.narrow(ranges_[b].axis, ranges_[b].range.begin, ranges_[b].range.end);
    drop_idle_bounds(moves);
    moves.bound_count = 0;
    return moves;
  }

  /// Calls `visit(part, bound, is_second)` for the edges on both sides of the image along each of its axes. Both edges of an
  /// axis have equally many windows. Some of these may lie inside, and are moved twice.
  template <class Visit>
  void list_edges(const Visit& visit) const {
    list_edges([](const void* self, const layout& part, std::size_t bound,
                  bool is_second) { (*static_cast<const Visit*>(self))(part, bound, is_second); },
               &visit);
  }

 private:
  [[gnu::noinline]] void list_edges(void (*visit)(const void*, const layout&, std::size_t, bool),
                                    const void* self) const {
    layout rest;
    rest.take(whole_);
    for (std::size_t b = 0; b < whole_.bound_count; ++b) {
      const auto& [axis, range] = ranges_[b];
      const std::int64_t extent = whole_.axes[axis].extent;
      const std::int64_t width = std::max(range.begin, extent - range.end);
      bool is_second = false;
      for (const bool at_end : {false, true}) {
        if (at_end ? range.end == extent : range.begin == 0) continue;
        layout part;
        part.take(rest);
        part.narrow(axis, at_end ? extent - width : 0, at_end ? extent : width);
        visit(self, part, b, is_second);
        is_second = true;
      }
      rest.narrow(axis, range.begin, range.end);
    }
  }

  layout whole_;
  std::array<inside_range, most_bounds> ranges_;
};

/// A split_windows has a plan for the windows inside, and one for the edges along each axis. It is trivially copyable.
class split_windows {
 public:
  /// Plans a layout with bounds if this costs less than `least` cycles.
  split_windows(const layout& moves, std::int64_t element_size, instruction_set set, double least) noexcept
      : element_size_(element_size), inside_(no_moves(), 1) {
    if (!windows_.find(moves)) return;
    double cost = 0;
    double of_edge = 0;
    windows_.list_edges([&](const layout& part, std::size_t bound, bool is_second) {
      if (!is_second) of_edge = plan_windows(edges_[bound], part, element_size, set);
      cost += of_edge;
    });
    if (mover_costs::of(set).split_factor * cost >= least) return;
    new (&inside_) move_plan(windows_.inside(element_size), element_size);
    cost_ = mover_costs::of(set).split_factor * (cost + inside_.cost());
  }

  /// The estimated cycles, or infinity if there is no plan.
  double cost() const noexcept { return cost_; }
  const move_plan& inside() const noexcept { return inside_; }

  /// Calls `visit` with the moves of each edge.
  template <class Visit>
  void for_each_edge(const Visit& visit) const {
    windows_.list_edges([&](const layout& part, std::size_t bound, bool) {
      visit(window_move(part, element_size_, edges_[bound]));
    });
  }

 private:
  inside_windows windows_;
  std::int64_t element_size_;
  double cost_ = std::numeric_limits<double>::infinity();
  std::array<window_block, inside_windows::most_bounds> edges_;  ///< for each bound
  move_plan inside_;
};
static_assert(std::is_trivially_copyable_v<split_windows>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
