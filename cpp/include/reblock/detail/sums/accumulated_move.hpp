// SPDX-License-Identifier: BSD-3-Clause
//
// An accumulated_move adds the elements of a layout to what the destination holds. It moves a piece at a time into a buffer
// with the order of the destination, and adds rows of the buffer to rows of the destination.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/block_lines.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/cut_moves.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/sums/tile_list.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// An accumulated_move is trivially copyable.
class accumulated_move : public cut_moves {
 public:
  /// `terms` is a layout without bounds whose destination does not overlap itself.
  accumulated_move(const layout& terms, std::int64_t element_size, const sum_functions& sum) noexcept
      : element_size_(element_size), sum_(&sum), moves_(cut(ordered(terms)), element_size) {}

  /// Returns the estimated cost in cycles, or `never` if the destination has short rows.
  double cost() const noexcept {
    if (run_bytes() < sum_costs::least_accumulated_run) return never;
    const auto all = static_cast<double>(bytes());
    const double asked = asks_for_lines() ? sum_costs::asked_byte * all : 0;
    return pieces() * moves_.cost() + sum_costs::added_byte * all - asked;
  }

  /// Tells whether lines of the destination are asked for: a cache may not hold them.
  bool asks_for_lines() const noexcept { return static_cast<double>(bytes()) > cache_sizes::second_level; }

  /// Returns the bytes of the runs that a piece has in the destination.
  std::int64_t run_bytes() const noexcept {
    std::int64_t run = element_size_;
    for (std::size_t i = rank_; i-- > 0 && axes_[i].destination_stride == run;) run *= axes_[i].at_once;
    return run;
  }

  bool is_empty() const noexcept { return bytes() == 0; }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    alignas(64) std::array<std::byte, buffer_bytes + readable_slack> buffer;
    std::array<std::int64_t, max_axes> done{};
    const block_lines lines(std::span<const cut_axis>(axes_).first(rank_), element_size_,
                            &tile_axis::destination_stride);
    walk(0, done, source + source_offset(), destination + destination_offset(),
         {buffer.data(), asks_for_lines() ? &lines : nullptr});
  }

 private:
  static constexpr std::int64_t buffer_bytes = 32 * 1024;

  /// A piece has a buffer, and lines of the destination, or null if a cache may hold them.
  struct piece_buffer {
    std::byte* first;
    const block_lines* lines;
  };

  static layout ordered(const layout& terms) noexcept {
    layout whole;
    whole.take(terms);
    drop_single_indices(whole);
    turn_to_destination(whole);
    order_by_destination(whole);
    return whole;
  }

  /// Cuts the axes into pieces and describes the moves of one.
  layout cut(const layout& terms) noexcept {
    const block_extents piece(terms, element_size_, order_of(terms, &layout_axis::source_stride),
                              order_of(terms, &layout_axis::destination_stride), buffer_bytes);
    begin(terms, element_size_);
    rank_ = terms.rank;
    layout in;
    in.take(terms);
    in.source_offset = in.destination_offset = 0;
    std::int64_t stride = element_size_;
    for (std::size_t i = rank_; i-- > 0;) {
      const layout_axis& axis = terms.axes[i];
      axes_[i] = {axis, piece.at_once[i]};
      in.axes[i] = {piece.at_once[i], axis.source_stride, stride};
      stride *= piece.at_once[i];
    }
    return in;
  }

  /// Walks the pieces. Of the last piece of an axis, `done` indices belong to the piece before as well.
  void walk(std::size_t i, std::array<std::int64_t, max_axes>& done, const std::byte* source,
            std::byte* destination, const piece_buffer& buffer) const noexcept {
    if (i == rank_) {
      if (buffer.lines != nullptr) buffer.lines->prefetch_at<1>(destination);
      moves_.run(source, buffer.first);
      return add(done, buffer.first, destination);
    }
    const cut_axis& axis = axes_[i];
    for (std::int64_t k = 0; k < axis.pieces(); ++k) {
      const std::int64_t index = axis.piece(k);
      done[i] = k * axis.at_once - index;
      walk(i + 1, done, source + wrapping_multiply(index, axis.source_stride),
           destination + wrapping_multiply(index, axis.destination_stride), buffer);
    }
  }

  void add(const std::array<std::int64_t, max_axes>& done, const std::byte* buffer,
           std::byte* destination) const noexcept {
    tile_list rows;
    std::int64_t stride = element_size_;
    std::int64_t from = 0;
    std::int64_t to = 0;
    for (std::size_t i = rank_; i-- > 0;) {
      const cut_axis& axis = axes_[i];
      rows.add({axis.at_once - done[i], stride, axis.destination_stride});
      from += done[i] * stride;
      to += done[i] * axis.destination_stride;
      stride *= axis.at_once;
    }
    add_rows(rows, *sum_, element_size_, buffer + from, destination + to);
  }

  std::int64_t element_size_;  ///< bytes
  const sum_functions* sum_;
  move_plan moves_;  ///< of a piece
};
static_assert(std::is_trivially_copyable_v<accumulated_move>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
