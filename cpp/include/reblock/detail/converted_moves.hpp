// SPDX-License-Identifier: BSD-3-Clause
//
// These classes move elements and convert them on the way. The destination is cut into boxes that fit the first-level
// cache. The movers bring a box into a buffer where its elements are contiguous, and runs are converted from there.
// Layouts with bounds are those of unfold: padded_runner.hpp converts them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <reblock/detail/blocks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversion_request.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/factor_table.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/move_plan.hpp>
#include <reblock/detail/offers.hpp>
#include <reblock/detail/plan_blocks.hpp>
#include <reblock/detail/run_conversion.hpp>
#include <reblock/detail/simplify.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A converted_move plans the boxes of a layout without bounds. It is trivially copyable.
class converted_move {
 public:
  /// A program that converts nothing compiles no conversion.
  REBLOCK_ENGINE_FUNCTION converted_move(const conversion_request& request) noexcept
      : conversion_(request.from, request.to, request.has_factors()),
        scale_(request, request.scale),
        bias_(request, request.bias),
        from_size_(static_cast<std::int64_t>(size_of(request.from))),
        to_size_(static_cast<std::int64_t>(size_of(request.to))),
        swaps_source_(request.swaps_source),
        swaps_destination_(request.swaps_destination),
        empty_(detail::is_empty(request.moves, 1)) {
    if (empty_) return;
    set_out_axes(request);
    // The buffer of the side that is shuffled decides how large a box is, unless the other side needs one as well.
    const std::int64_t shuffled = std::min(from_size_, to_size_);
    set_out_box(shuffled);
    if (std::max(from_size_, to_size_) > shuffled && needs_both_buffers())
      set_out_box(std::max(from_size_, to_size_));
    set_out_runs();
  }

  bool is_empty() const noexcept { return empty_; }
  std::size_t rank() const noexcept { return axes_.rank; }
  const layout_axis& axis(std::size_t i) const noexcept { return axes_.axes[i]; }
  std::int64_t at_once(std::size_t i) const noexcept { return at_once_[i]; }
  std::int64_t bytes() const noexcept { return total_bytes(axes_, to_size_); }
  /// Keeps some indices of an axis, at least at_once() of them.
  void narrow(std::size_t i, const index_range& range) noexcept { axes_.narrow(i, range.begin, range.end); }

 private:
  friend class converted_runner;

  static constexpr std::size_t scale_mark = 0;
  static constexpr std::size_t bias_mark = 1;

  /// Simplifies the layout. An axis with a factor has a bound: it is not merged, and the bound's offset is the place of the
  /// factor of index 0. An axis with both factors has the mark of the scale.
  void set_out_axes(const conversion_request& request) noexcept {
    axes_.take(request.moves);
    for (std::size_t i = 0; i < axes_.rank; ++i) axes_.axes[i].bound = no_bound;
    axes_.bounds = {};
    const auto mark = [this](std::size_t axis, std::size_t bound) {
      if (axis == one_factor) return;
      axes_.axes[axis].bound = bound;
      axes_.axes[axis].bound_step = 1;
    };
    are_together_ = request.bias.axis != one_factor && request.bias.axis == request.scale.axis;
    mark(request.bias.axis, bias_mark);
    mark(request.scale.axis, scale_mark);
    drop_single_indices(axes_);
    order_by_destination(axes_);
    merge_nested(axes_);
  }
  bool has_scale(const layout_axis& axis) const noexcept { return axis.bound == scale_mark; }
  bool has_bias(const layout_axis& axis) const noexcept {
    return axis.bound == (are_together_ ? scale_mark : bias_mark);
  }

  void set_out_box(std::int64_t element_size) noexcept {
    const axis_order by_source = order_of(axes_, &layout_axis::source_stride);
    const axis_order by_destination = order_of(axes_, &layout_axis::destination_stride);
    const block_extents box(axes_, element_size, by_source, by_destination);
    at_once_ = box.at_once;
    order_ = to_size_ < from_size_ ? by_source : by_destination;  // the shuffles move the smaller elements
    elements_ = 1;
    for (std::size_t k = 0; k < order_.count; ++k) elements_ *= at_once_[order_.axes[k]];
    constexpr std::int64_t enough = 64;  // elements
    const auto is_long = [this](std::int64_t run) { return run == elements_ || run >= enough; };
    source_run_ = contiguous(&layout_axis::source_stride, from_size_);
    destination_run_ = contiguous(&layout_axis::destination_stride, to_size_);
    is_gathered_ = swaps_source_ || !is_long(source_run_);
    is_scattered_ = swaps_destination_ || !is_long(destination_run_);
  }
  /// Whether the elements of the wider type need a buffer.
  bool needs_both_buffers() const noexcept { return to_size_ > from_size_ ? is_scattered_ : is_gathered_; }

  /// Counts the elements of a box that are contiguous on a side, in the order of the buffers.
  std::int64_t contiguous(std::int64_t layout_axis::* stride, std::int64_t size) const noexcept {
    std::int64_t run = 1;
    for (std::size_t k = 0; k < order_.count; ++k) {
      const std::size_t i = order_.axes[k];
      if (at_once_[i] == 1) continue;
      if (axes_.axes[i].*stride != run * size) break;
      run *= at_once_[i];
    }
    return run;
  }

  /// Plans the moves of a box. A side without long runs has a buffer.
  void set_out_runs() noexcept {
    run_ = std::min(is_gathered_ ? elements_ : source_run_, is_scattered_ ? elements_ : destination_run_);
    layout in;
    layout out;
    in.source_run = axes_.source_run;
    out.source_run = elements_ * to_size_;
    std::int64_t before = 1;  // elements
    for (std::size_t k = 0; k < order_.count; ++k) {
      const std::size_t i = order_.axes[k];
      const layout_axis& axis = axes_.axes[i];
      const std::int64_t extent = at_once_[i];
      in.add({extent, axis.source_stride, before * from_size_});
      out.add({extent, before * to_size_, axis.destination_stride});
      const bool is_in_run = before < run_ && extent > 1;
      if (!is_in_run && extent > 1) {
        outer_[outer_count_++] = {extent, is_gathered_ ? before * from_size_ : axis.source_stride,
                                  is_scattered_ ? before * to_size_ : axis.destination_stride, axis.bound,
                                  axis.bound_step};
      }
      if (is_in_run && has_scale(axis)) in_run_[0] = {1, before, extent};
      if (is_in_run && has_bias(axis)) in_run_[1] = {1, before, extent};
      before *= extent;
    }
    if (is_gathered_ && is_scattered_) plan_unbounded(scatter_, out, to_size_);
    if (is_gathered_) {
      plan_shuffle(in, from_size_);
    } else if (is_scattered_) {
      plan_shuffle(out, to_size_);
    }
  }
  [[gnu::noinline]] void plan_shuffle(const layout& moves, std::int64_t element_size) noexcept {
    shuffle_.emplace(moves, element_size);
  }

  run_conversion conversion_;
  held_factor scale_;
  held_factor bias_;
  std::int64_t from_size_;
  std::int64_t to_size_;
  bool swaps_source_;
  bool swaps_destination_;
  bool empty_;
  bool are_together_ = false;  ///< whether scale and bias have the same axis
  bool is_gathered_ = false;
  bool is_scattered_ = false;
  layout axes_;
  std::array<std::int64_t, max_axes> at_once_;
  axis_order order_;             ///< of the buffers
  std::int64_t elements_ = 1;    ///< of a box
  std::int64_t run_ = 1;         ///< elements that are contiguous wherever they are read and written
  std::int64_t source_run_ = 1;  ///< elements of a box that are contiguous
  std::int64_t destination_run_ = 1;
  std::array<factor_axis, 2> in_run_;  ///< of a scale and a bias
  std::array<layout_axis, max_axes> outer_;
  std::size_t outer_count_ = 0;
  std::optional<move_plan>
      shuffle_;          ///< from the source into a buffer, or else from a buffer into the destination
  staged_move scatter_;  ///< from a second buffer into the destination
};
static_assert(std::is_trivially_copyable_v<converted_move>);

class converted_runner {
 public:
  explicit converted_runner(const converted_move& move) noexcept
      : move_(move),
        table_(move.conversion_, {move.scale_.values(), move.bias_.values()}, move.in_run_,
               move.outer_count_ == 0 ? factor_places{} : moved({}, move.outer_[0], 1)) {}
  converted_runner(const converted_runner&) = delete;

  void run(const std::byte* source, std::byte* destination) noexcept {
    const layout& axes = move_.axes_;
    const std::int64_t first = axes.bounds[converted_move::scale_mark].offset;
    const std::int64_t first_bias = axes.bounds[converted_move::bias_mark].offset;
    walk(0, source + axes.source_offset, destination + axes.destination_offset,
         {first, move_.are_together_ ? first : first_bias});
  }

 private:
  void walk(std::size_t i, const std::byte* source, std::byte* destination,
            const factor_places& first) noexcept {
    if (i == move_.axes_.rank) return convert_box(source, destination, first);
    const layout_axis& axis = move_.axes_.axes[i];
    const cut_axis cut({axis.extent, axis.source_stride, axis.destination_stride}, move_.at_once_[i]);
    const std::int64_t pieces = cut.pieces();
    for (std::int64_t k = 0; k < pieces; ++k) {
      const std::int64_t index = cut.piece(k);
      walk(i + 1, source + index * axis.source_stride, destination + index * axis.destination_stride,
           moved(first, axis, index));
    }
  }
  factor_places moved(factor_places first, const layout_axis& axis, std::int64_t index) const noexcept {
    if (move_.has_scale(axis)) first[0] += index;
    if (move_.has_bias(axis)) first[1] += index;
    return first;
  }

  void convert_box(const std::byte* source, std::byte* destination, const factor_places& first) noexcept {
    const std::byte* from = source;
    std::byte* to = destination;
    if (move_.is_gathered_) {
      move_.shuffle_->run(source, gathered_.data());
      if (move_.swaps_source_) swap_bytes(gathered_.data(), move_.elements_, move_.conversion_.source_size());
      from = gathered_.data();
    }
    if (move_.is_scattered_) to = converted_.data();
    convert_runs(move_.outer_count_, from, to, first);
    if (!move_.is_scattered_) return;
    if (move_.swaps_destination_)
      swap_bytes(converted_.data(), move_.elements_, move_.conversion_.destination_size());
    if (!move_.is_gathered_) return move_.shuffle_->run(converted_.data(), destination);
    move_.scatter_.run(converted_.data(), destination);
  }

  /// Walks the axes of a box that are not in a run, from axis `count` - 1 inwards. The table walks the innermost one.
  void convert_runs(std::size_t count, const std::byte* source, std::byte* destination,
                    const factor_places& first) noexcept {
    even_runs runs{static_cast<std::size_t>(move_.run_)};
    if (count <= 1) {
      if (count == 1) {
        const layout_axis& axis = move_.outer_[0];
        runs.runs = static_cast<std::size_t>(axis.extent);
        runs.source_step = axis.source_stride;
        runs.destination_step = axis.destination_stride;
      }
      return table_.convert(move_.conversion_, source, destination, runs, first);
    }
    const layout_axis& axis = move_.outer_[count - 1];
    for (std::int64_t index = 0; index < axis.extent; ++index) {
      convert_runs(count - 1, source + index * axis.source_stride,
                   destination + index * axis.destination_stride, moved(first, axis, index));
    }
  }

  static constexpr std::size_t buffer_bytes = block_buffer_bytes + readable_slack;

  const converted_move& move_;
  factor_table table_;
  alignas(64) std::array<std::byte, buffer_bytes> gathered_;
  alignas(64) std::array<std::byte, buffer_bytes> converted_;
};

[[gnu::noinline]] inline void run_converted(const converted_move& move, const std::byte* source,
                                            std::byte* destination) noexcept {
  if (!move.is_empty()) converted_runner(move).run(source, destination);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
