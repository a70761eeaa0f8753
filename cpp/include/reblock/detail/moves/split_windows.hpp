// SPDX-License-Identifier: BSD-3-Clause
//
// split_windows moves the windows inside an image apart from those that reach its padding. Windows inside have no bounds, so
// any mover may take them. This is fast if windows share few elements: a buffer would copy each element once more.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/box_copy.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/padded_axis.hpp>
#include <reblock/detail/moves/remembered_moves.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/tile.hpp>
#include <reblock/padding_mode.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// edge_windows are the windows of an image that reach beyond it. They are moved box by box: a box has one window along each
/// axis where windows reach beyond the image, and those elements of it that follow each other evenly in the image, or that
/// find a value outside of it. It is trivially copyable.
class edge_windows {
 public:
  /// Takes windows of a padded image. Requires an element size of at most most_padding_bytes if a value of the padding is not
  /// 0. Returns whether there are windows inside.
  bool find(const padded_request& request) noexcept {
    whole_.take(request.moves);
    size_ = request.element_size;
    value_ = request.value;
    for (std::size_t b = 0; b < whole_.bound_count; ++b) {
      if (!find_axes(b)) return false;
    }
    return true;
  }

  /// Describes the windows inside. Their bounds always hold.
  layout inside() const noexcept {
    layout moves;
    moves.take(whole_);
    moves.whole_bytes = total_bytes(whole_, size_);
    for (std::size_t b = 0; b < whole_.bound_count; ++b)
      moves.narrow(bounded_[b].windows, bounded_[b].inside.begin, bounded_[b].inside.end);
    return moves;
  }

  /// Estimates the cycles of all boxes.
  double cost(instruction_set set) const noexcept {
    double boxes = 1;
    double edges = 0;
    for (std::size_t b = 0; b < whole_.bound_count; ++b) {
      boxes *= 1 + 2 * static_cast<double>(windows_at_edges(b));  // most are inside and on one side
      if (windows_at_edges(b) > 0) edges += cost_of_edges(b, set);
    }
    const double units = bytes_at_edges() / static_cast<double>(unit_of(size_));
    return (boxes - 1) * padding_costs::edge_box + units * padding_costs::edge_unit + edges;
  }

  // These functions give the axes that are walked in pieces: those without bounds.
  std::size_t rank() const noexcept { return whole_.rank; }
  const layout_axis& axis(std::size_t i) const noexcept { return whole_.axes[i]; }
  std::int64_t at_once(std::size_t i) const noexcept {
    return whole_.axes[i].bounded() ? whole_.axes[i].extent : 1;
  }
  std::int64_t bytes() const noexcept { return static_cast<std::int64_t>(bytes_at_edges()); }
  bool is_empty() const noexcept { return false; }
  void narrow(std::size_t i, const index_range& range) noexcept { whole_.narrow(i, range.begin, range.end); }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    std::int64_t from = whole_.source_offset;
    for (std::size_t b = 0; b < whole_.bound_count; ++b) {
      const axis_bound& bound = whole_.bounds[b];
      from = wrapping_subtract(from, wrapping_multiply(bound.offset, bound.source_stride));
    }
    walk(0, {}, source + from, destination + whole_.destination_offset);
  }

 private:
  /// The axes of a bound, and the windows that lie inside along them.
  struct bounded_axes {
    std::size_t offsets;  ///< no_axis: the bound has only windows
    std::size_t windows;
    index_range inside;
  };
  /// What a box has along the axes of a bound. Positions are those of the image.
  struct bound_choice {
    index_range windows;
    index_range offsets;
    std::int64_t first = 0;        ///< position of the first window's first offset
    std::int64_t window_step = 0;  ///< positions from one window to the next
    std::int64_t offset_step = 0;
  };
  struct box_choice {
    std::array<bound_choice, max_bounds> bounds;
    bool is_edge = false;
    bool has_value = false;  ///< whether it has what lies outside, in the constant mode
  };

  std::int64_t offsets_of(std::size_t b) const noexcept {
    return bounded_[b].offsets == no_axis ? 1 : whole_.axes[bounded_[b].offsets].extent;
  }

  std::int64_t windows_at_edges(std::size_t b) const noexcept {
    const index_range& inside = bounded_[b].inside;
    return whole_.axes[bounded_[b].windows].extent - (inside.end - inside.begin);
  }

  /// Estimates the cycles to move the windows at both edges of a bound as one box each.
  double cost_of_edges(std::size_t b, instruction_set set) const noexcept {
    layout edge;
    for (std::size_t i = 0; i < whole_.rank; ++i) {
      const layout_axis& axis = whole_.axes[i];
      const std::int64_t extent =
          bounded_[b].windows == i ? ceil_divide(windows_at_edges(b), 2) : axis.extent;
      edge.add({extent, axis.source_stride, axis.destination_stride});
    }
    edge.whole_bytes = total_bytes(whole_, size_);
    const std::int64_t size = simplify_as_turned(edge, size_);
    return 2 * offer_block(edge, size, set, buffered_side::none).cost;
  }

  double bytes_at_edges() const noexcept {
    double inside = 1;
    for (std::size_t b = 0; b < whole_.bound_count; ++b) {
      inside *= static_cast<double>(bounded_[b].inside.end - bounded_[b].inside.begin) /
                static_cast<double>(whole_.axes[bounded_[b].windows].extent);
    }
    return static_cast<double>(total_bytes(whole_, size_)) * (1 - inside);
  }

  /// Finds the axes of a bound. Returns whether there are windows inside.
  bool find_axes(std::size_t b) noexcept {
    bounded_axes& found = bounded_[b];
    found.offsets = found.windows = no_axis;
    for (std::size_t i = 0; i < whole_.rank; ++i) {
      if (whole_.axes[i].bound != b) continue;
      if (found.offsets != no_axis) return false;
      found.offsets = found.windows;
      found.windows = i;
    }
    if (found.windows == no_axis) return false;
    const std::int64_t reach =
        found.offsets == no_axis ? 0 : (offsets_of(b) - 1) * whole_.axes[found.offsets].bound_step;
    const index_range first = range_inside(whole_.bounds[b], 0, whole_.axes[found.windows]);
    const index_range last = range_inside(whole_.bounds[b], reach, whole_.axes[found.windows]);
    found.inside = {std::max(first.begin, last.begin), std::min(first.end, last.end)};
    return found.inside.begin < found.inside.end;
  }

  /// Chooses windows and offsets of bound `b` and of those behind it. `source` is the image's first element.
  [[gnu::noinline]] void walk(std::size_t b, const box_choice& before, const std::byte* source,
                              std::byte* destination) const noexcept {
    if (b == whole_.bound_count || b == max_bounds) {
      if (before.is_edge) move(before, source, destination);
      return;
    }
    const bounded_axes& axes = bounded_[b];
    const axis_bound& bound = whole_.bounds[b];
    const padded_axis image{bound.mode, bound.extent};
    const layout_axis& windows = whole_.axes[axes.windows];
    const std::int64_t offsets = offsets_of(b);
    const std::int64_t step = axes.offsets == no_axis ? 1 : whole_.axes[axes.offsets].bound_step;
    box_choice choice = before;
    choice.bounds[b] = {axes.inside,
                        {0, offsets},
                        bound.offset + axes.inside.begin * windows.bound_step,
                        windows.bound_step,
                        step};
    walk(b + 1, choice, source, destination);
    choice.is_edge = true;
    for (std::int64_t w = 0; w < windows.extent; ++w) {
      if (w == axes.inside.begin) w = axes.inside.end;
      if (w == windows.extent) break;
      for (std::int64_t o = 0; o < offsets;) {
        const std::int64_t position = bound.offset + w * windows.bound_step + o * step;
        const bool is_inside = position >= 0 && position < bound.extent;
        const padded_piece piece = image.piece_at(position, offsets - o, step);
        choice.bounds[b] = {{w, w + 1}, {o, o + piece.count}, piece.first, 0, piece.step};
        choice.has_value = before.has_value || (bound.mode == padding_mode::constant && !is_inside);
        walk(b + 1, choice, source, destination);
        o += piece.count;
      }
    }
  }

  /// Moves a box.
  [[gnu::noinline]] void move(const box_choice& choice, const std::byte* source,
                              std::byte* destination) const noexcept {
    copied_box box;
    box.unit = unit_of(size_);
    std::int64_t from = 0;
    std::int64_t to = 0;
    if (box.unit < size_) {
      const bool is_short = size_ <= static_cast<std::int64_t>(value_.size());
      box.add({size_ / box.unit, choice.has_value && !is_short ? 0 : box.unit, box.unit});
    }
    for (std::size_t i = whole_.rank; i-- > 0;) {
      const layout_axis& axis = whole_.axes[i];
      index_range range{0, axis.extent};
      std::int64_t stride = axis.source_stride;
      if (axis.bounded()) {
        const bound_choice& own = choice.bounds[axis.bound];
        const bool are_windows = bounded_[axis.bound].windows == i;
        range = are_windows ? own.windows : own.offsets;
        stride = wrapping_multiply(are_windows ? own.window_step : own.offset_step,
                                   whole_.bounds[axis.bound].source_stride);
      }
      to = wrapping_add(to, wrapping_multiply(range.begin, axis.destination_stride));
      box.add({range.end - range.begin, choice.has_value ? 0 : stride, axis.destination_stride});
    }
    for (std::size_t b = 0; b < whole_.bound_count; ++b) {
      from = wrapping_add(from, wrapping_multiply(choice.bounds[b].first, whole_.bounds[b].source_stride));
    }
    if (choice.has_value) return box.copy(value_.data(), destination + to);
    copy_box(box, buffered_side::none, total_bytes(whole_, size_), source + from, destination + to);
  }

  layout whole_;
  std::int64_t size_ = 1;  ///< bytes of an element
  std::array<std::byte, most_padding_bytes> value_;
  std::array<bounded_axes, max_bounds> bounded_;
};

/// split_windows is trivially copyable.
class split_windows {
 public:
  split_windows() noexcept : inside_(no_moves(), 1) {}

  /// Plans all windows of `request` and returns the cycles, or never if there is no window inside. If it would take more
  /// than `limit` cycles, it plans nothing.
  double plan(const padded_request& request, instruction_set set, double limit) noexcept {
    if (!edges_.find(request)) return never;
    const double at_edges = edges_.cost(set);
    if (at_edges >= limit) return never;
    new (&inside_) move_plan(edges_.inside(), request.element_size, set);
    return at_edges + inside_.cost();
  }

  const move_plan& inside() const noexcept { return inside_; }
  const edge_windows& edges() const noexcept { return edges_; }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    inside_.run(source, destination);
    edges_.run(source, destination);
  }

 private:
  edge_windows edges_;
  move_plan inside_;
};
static_assert(std::is_trivially_copyable_v<split_windows>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
