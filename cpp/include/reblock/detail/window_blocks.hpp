// SPDX-License-Identifier: BSD-3-Clause
//
// These functions move windows of an image block by block. A buffer holds the part of the image under the windows of a
// block. Where this part reaches beyond the image, the buffer holds zeros.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <reblock/detail/blocks.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/plan_blocks.hpp>
#include <reblock/detail/remembered_moves.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A part_axis is an axis of the image's part in the buffer. Windows may walk the axis or not. Strides are in bytes.
struct part_axis {
  std::int64_t extent = 1;  ///< in the buffer
  std::int64_t source_stride = 0;
  std::int64_t buffer_stride = 0;
  std::size_t bound = no_bound;
  std::size_t axis = 0;  ///< axis of the layout, if the axis has no bound
};

/// The axes of an image, the innermost first.
using part_axes = std::array<part_axis, max_rank>;

/// A window_block is a block of a layout and the part of the image under its windows. It is trivially copyable.
struct window_block {
  std::array<std::int64_t, max_axes> at_once;  ///< indices of each axis of the layout
  part_axes part;
  std::size_t part_rank = 0;
  std::int64_t part_bytes = 0;
  block_move out;  ///< from the buffer to the destination
  /// Bytes from the first element of the buffer, and of a block of the destination, to the first element that `out` moves.
  std::int64_t out_source = 0;
  std::int64_t out_destination = 0;
};

/// Bytes of the buffer.
inline constexpr std::int64_t window_buffer_bytes = 16 * 1024;

class window_runner {
 public:
  window_runner(const layout& whole, std::int64_t element_size, const window_block& block) noexcept
      : whole_(whole), element_size_(element_size), block_(block), out_(block.out) {}

  void run(const std::byte* source, std::byte* destination) noexcept {
    source_ = source;
    destination_ = destination;
    for (std::size_t b = 0; b < whole_.bound_count; ++b) positions_[b] = whole_.bounds[b].offset;
    walk(0, whole_.source_offset, whole_.destination_offset);
  }

 private:
  [[gnu::noinline]] void walk(std::size_t i, std::int64_t source, std::int64_t destination) noexcept {
    if (i == whole_.rank) return move_block(source, destination);
    const layout_axis& axis = whole_.axes[i];
    const cut_axis cut({axis.extent, axis.source_stride, axis.destination_stride}, block_.at_once[i]);
    const std::int64_t pieces = cut.pieces();
    for (std::int64_t k = 0; k < pieces; ++k) {
      const std::int64_t index = cut.piece(k);
      if (axis.bounded()) positions_[axis.bound] += index * axis.bound_step;
      walk(i + 1, wrapping_add(source, wrapping_multiply(index, axis.source_stride)),
           wrapping_add(destination, wrapping_multiply(index, axis.destination_stride)));
      if (axis.bounded()) positions_[axis.bound] -= index * axis.bound_step;
    }
  }

  void move_block(std::int64_t source, std::int64_t destination) noexcept {
    layout in;
    in.source_run = whole_.source_run;
    in.source_offset = source;  // of an element outside of the image, if nothing lies inside
    bool is_same = is_filled_;
    bool is_whole = true;
    for (std::size_t i = 0; i < block_.part_rank; ++i) {
      const part_axis& axis = block_.part[i];
      index_range range{0, axis.extent};
      if (axis.bound != no_bound) {
        const std::int64_t first = positions_[axis.bound];
        range.begin = std::clamp<std::int64_t>(-first, 0, axis.extent);
        range.end =
            std::clamp<std::int64_t>(whole_.bounds[axis.bound].extent - first, range.begin, axis.extent);
      }
      is_same = is_same && inside_[i] == range;
      is_whole = is_whole && range == index_range{0, axis.extent};
      inside_[i] = range;
      in.source_offset = wrapping_add(in.source_offset, wrapping_multiply(range.begin, axis.source_stride));
      in.destination_offset += range.begin * axis.buffer_stride;
      in.add({range.end - range.begin, axis.source_stride, axis.buffer_stride});
    }
    // elements outside of the image become 0, and stay 0 for blocks with the same elements inside
    if (!is_same && !is_whole) std::memset(buffer_.data(), 0, static_cast<std::size_t>(block_.part_bytes));
    is_filled_ = true;
    in_.run(in, element_size_, buffered_side::destination, source_, buffer_.data());
    out_.run(buffer_.data() + block_.out_source, destination_ + destination + block_.out_destination,
             buffer_.data() + buffer_.size());
  }

  const layout& whole_;
  std::int64_t element_size_;
  const window_block& block_;
  const std::byte* source_ = nullptr;
  std::byte* destination_ = nullptr;
  std::array<std::int64_t, max_bounds> positions_{};
  std::array<index_range, max_axes> inside_;
  bool is_filled_ = false;
  remembered_moves<4> in_;
  block_runner out_;
  alignas(64) std::array<std::byte, window_buffer_bytes + readable_slack> buffer_;
};

/// Moves the windows of `whole`, whose axes have at least as many indices as a block.
[[gnu::noinline]] inline void run_windows(const layout& whole, std::int64_t element_size,
                                          const window_block& block, const std::byte* source,
                                          std::byte* destination) noexcept {
  window_runner(whole, element_size, block).run(source, destination);
}
/// A window_planner chooses how many indices of each axis a block has, and the block's part of the image.
class window_planner {
 public:
  window_planner(window_block& block, const layout& moves, std::int64_t element_size) noexcept
      : block_(block), whole_(moves), element_size_(element_size) {
    for (std::size_t i = 0; i < moves.rank; ++i) block.at_once[i] = is_window(i) ? moves.axes[i].extent : 1;
    if (part_bytes() > window_buffer_bytes) block.at_once.fill(1);
  }

  /// Plans the move and returns the cost in cycles, or infinity if the buffer is too small.
  double plan(instruction_set set) noexcept {
    if (part_bytes() > window_buffer_bytes) return std::numeric_limits<double>::infinity();
    grow();
    std::int64_t blocks = 1;
    for (std::size_t i = 0; i < whole_.rank; ++i) {
      const std::int64_t pieces = (whole_.axes[i].extent - 1) / block_.at_once[i] + 1;
      block_.at_once[i] = (whole_.axes[i].extent - 1) / pieces + 1;
      blocks *= pieces;
    }
    part_axes axes;
    const std::size_t rank = list_part(axes);
    double best = std::numeric_limits<double>::infinity();
    for (const bool by_source : {true, false}) best = std::min(best, offer(axes, rank, by_source, set, best));
    return mover_costs::of(set).windows_factor * best * static_cast<double>(blocks);
  }

 private:
  /// Tells whether axis `i` walks offsets within a window, not windows. It is the first of the two axes of a bound.
  bool is_window(std::size_t i) const noexcept {
    for (std::size_t j = i + 1; j < whole_.rank; ++j) {
      if (share_bound(whole_.axes[i], whole_.axes[j])) return true;
    }
    return false;
  }

  /// Lists the axes of the part of the image under a block.
  [[gnu::noinline]] std::size_t list_part(part_axes& axes) const noexcept {
    std::size_t rank = 0;
    std::array<std::size_t, max_bounds> of_bound;
    of_bound.fill(max_axes);
    for (std::size_t i = 0; i < whole_.rank; ++i) {
      const layout_axis& axis = whole_.axes[i];
      const std::int64_t reach = block_.at_once[i] - 1;
      if (!axis.bounded()) {
        axes[rank++] = {reach + 1, axis.source_stride, 0, no_bound, i};
        continue;
      }
      std::size_t& at = of_bound[axis.bound];
      if (at == max_axes) {
        at = rank++;
        axes[at] = {1, 0, 0, axis.bound, i};
      }
      // exact, because a step along an axis with several indices in a block is short; others may have wrapped
      if (reach > 0) axes[at].source_stride = axis.source_stride / axis.bound_step;
      axes[at].extent += reach * axis.bound_step;
    }
    return rank;
  }

  std::int64_t part_bytes() const noexcept {
    part_axes axes;
    const std::size_t rank = list_part(axes);
    double bytes = static_cast<double>(element_size_);
    for (std::size_t i = 0; i < rank; ++i) bytes *= static_cast<double>(axes[i].extent);
    return bytes > 1e9 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(bytes);
  }

  /// Makes blocks as large as the buffer, with runs of similar lengths on both sides.
  void grow() noexcept {
    const axis_order orders[] = {order_of(whole_, &layout_axis::destination_stride),
                                 order_of(whole_, &layout_axis::source_stride)};
    std::array<bool, max_axes> is_full{};
    for (;;) {
      std::size_t best = no_axis;
      double shortest = 0;
      for (const axis_order& order : orders) {
        double run = 1;
        for (std::size_t k = 0; k < order.count; ++k) {
          const std::size_t i = order.axes[k];
          run *= static_cast<double>(block_.at_once[i]);
          if (block_.at_once[i] == whole_.axes[i].extent || is_full[i]) continue;
          if (best == no_axis || run < shortest) {
            best = i;
            shortest = run;
          }
          break;
        }
      }
      if (best == no_axis) return;
      const std::int64_t before = block_.at_once[best];
      block_.at_once[best] = std::min(2 * before, whole_.axes[best].extent);
      if (part_bytes() <= window_buffer_bytes) continue;
      block_.at_once[best] = before;
      is_full[best] = true;
    }
  }

  /// Returns the cycles of a block. The buffer has the axes in the order of the source, or else the axes that windows walk
  /// are innermost.
  double offer(part_axes axes, std::size_t rank, bool by_source, instruction_set set, double limit) noexcept {
    const auto is_inner = [by_source](const part_axis& a, const part_axis& b) {
      const bool differ = !by_source && (a.bound == no_bound) != (b.bound == no_bound);
      if (differ) return a.bound != no_bound;
      if (!by_source && a.bound != no_bound) return a.bound > b.bound;
      return magnitude(a.source_stride) < magnitude(b.source_stride);
    };
    for (std::size_t i = 1; i < rank; ++i) {
      for (std::size_t k = i; k > 0 && is_inner(axes[k], axes[k - 1]); --k) std::swap(axes[k], axes[k - 1]);
    }
    std::int64_t stride = element_size_;
    layout in;
    in.source_run = whole_.source_run;
    for (std::size_t i = 0; i < rank; ++i) {
      axes[i].buffer_stride = stride;
      stride *= axes[i].extent;
      in.add({axes[i].extent, axes[i].source_stride, axes[i].buffer_stride});
    }
    layout out;
    for (std::size_t i = 0; i < whole_.rank; ++i) {
      const layout_axis& axis = whole_.axes[i];
      const auto is_own = [&](const part_axis& other) {
        return axis.bounded() ? other.bound == axis.bound : other.bound == no_bound && other.axis == i;
      };
      const part_axis& own = *std::find_if(axes.begin(), axes.begin() + rank, is_own);
      out.add({block_.at_once[i], wrapping_multiply(own.buffer_stride, axis.bounded() ? axis.bound_step : 1),
               axis.destination_stride});
    }
    const std::int64_t in_size = simplify(in, element_size_);
    const double in_cost = offer_block(in, in_size, set, buffered_side::destination).cost;
    if (in_cost >= limit) return limit;
    const std::int64_t out_size = simplify(out, element_size_);
    const block_offer moved = offer_block(out, out_size, set, buffered_side::source);
    if (in_cost + moved.cost >= limit) return limit;
    block_.out = moved.move;
    block_.out_source = out.source_offset;
    block_.out_destination = out.destination_offset;
    block_.part = axes;
    block_.part_rank = rank;
    block_.part_bytes = stride;
    return in_cost + moved.cost;
  }

  window_block& block_;
  const layout& whole_;
  std::int64_t element_size_;
};

/// Tells whether the source is an image: both axes of each bound walk the same axis of the source, upwards.
constexpr bool has_windows(const layout& moves) noexcept {
  std::size_t image_rank = moves.bound_count;
  for (std::size_t i = 0; i < moves.rank; ++i) {
    const layout_axis& axis = moves.axes[i];
    if (!axis.bounded()) {
      if (++image_rank > max_rank) return false;
      continue;
    }
    if (axis.bound_step <= 0) return false;
    for (std::size_t j = 0; j < i; ++j) {
      const layout_axis& other = moves.axes[j];
      if (!share_bound(axis, other) || axis.extent == 1 || other.extent == 1) continue;
      // strides may have wrapped
      if (wrapping_multiply(axis.source_stride, other.bound_step) !=
          wrapping_multiply(other.source_stride, axis.bound_step)) {
        return false;
      }
    }
  }
  return true;
}

/// Plans a layout with bounds and returns the cost in cycles, or infinity if its elements are larger than the buffer.
inline double plan_windows(window_block& block, const layout& moves, std::int64_t element_size,
                           instruction_set set) noexcept {
  assert(has_windows(moves));
  return window_planner(block, moves, element_size).plan(set);
}

/// A window_move moves all windows of a layout in blocks. It is trivially copyable.
class window_move {
 public:
  window_move() noexcept = default;
  window_move(const layout& whole, std::int64_t element_size, const window_block& block) noexcept
      : element_size_(element_size), block_(block) {
    whole_.take(whole);
  }

  /// Plans a layout with bounds, as it was described, and returns the cost in cycles.
  double plan(const layout& moves, std::int64_t element_size, instruction_set set) noexcept {
    whole_.take(moves);
    element_size_ = element_size;
    constexpr std::int64_t large = 1024;  // bytes: parts of large elements fit into the buffer
    if (element_size > large) {
      element_size_ = std::min<std::int64_t>(element_size & -element_size, 16);
      whole_.add({element_size / element_size_, element_size_, element_size_});
    }
    return plan_windows(block_, whole_, element_size_, set);
  }

  bool is_empty() const noexcept { return false; }
  std::size_t rank() const noexcept { return whole_.rank; }
  const layout_axis& axis(std::size_t i) const noexcept { return whole_.axes[i]; }
  std::int64_t at_once(std::size_t i) const noexcept { return block_.at_once[i]; }
  std::int64_t bytes() const noexcept { return total_bytes(whole_, element_size_); }
  /// Keeps some indices of an axis, at least `at_once`.
  void narrow(std::size_t i, const index_range& range) noexcept { whole_.narrow(i, range.begin, range.end); }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    run_windows(whole_, element_size_, block_, source, destination);
  }

 private:
  layout whole_;
  std::int64_t element_size_ = 0;
  window_block block_;
};
static_assert(std::is_trivially_copyable_v<window_move>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
