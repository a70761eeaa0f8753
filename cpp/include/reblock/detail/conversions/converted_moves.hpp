// SPDX-License-Identifier: BSD-3-Clause
//
// A converted_move plans moves of elements that are converted on the way. The destination is cut into boxes that fit the
// first-level cache. A box is moved into a buffer, converted in runs, and moved out of another buffer. A side with long runs has
// no buffer, nor has a source whose bytes are a few bytes apart, as those of a photo's channels. Layouts with bounds are those
// of unfold: padded_runner.hpp converts them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/conversion_request.hpp>
#include <reblock/detail/conversions/factor_table.hpp>
#include <reblock/detail/conversions/result_tables.hpp>
#include <reblock/detail/conversions/run_conversion.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/simplify.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The layout has no bounds. A converted_move is trivially copyable.
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
    const index_range readable = readable_bytes(axes_, from_size_);
    is_readable_ = readable.begin != readable.end;
    set_out_boxes();
    is_large_ = static_cast<double>(total_bytes(axes_, from_size_ + to_size_)) > cache_sizes::outer_level;
  }

  bool is_empty() const noexcept { return empty_; }
  std::size_t rank() const noexcept { return axes_.rank; }
  const layout_axis& axis(std::size_t i) const noexcept { return axes_.axes[i]; }
  std::int64_t at_once(std::size_t i) const noexcept { return at_once_[i]; }
  std::int64_t bytes() const noexcept { return total_bytes(axes_, to_size_); }
  /// The estimated cycles, and what the planner has chosen: which sides have buffers, and the elements of a box and of a run.
  double cost() const noexcept { return cost_; }
  bool is_gathered() const noexcept { return is_gathered_; }
  bool is_scattered() const noexcept { return is_scattered_; }
  std::int64_t elements() const noexcept { return elements_; }
  std::int64_t run() const noexcept { return run_; }
  /// Bytes from a byte of a run to the next one in the source, or 1.
  std::int64_t spacing() const noexcept { return spacing_; }
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
    turn_axes();
    drop_single_indices(axes_);
    order_by_destination(axes_);
    merge_nested(axes_);
  }
  /// Makes the shorter stride of each axis positive. Values of factors that the plan does not hold keep their order, and
  /// their axis keeps its direction.
  void turn_axes() noexcept {
    for (std::size_t i = 0; i < axes_.rank; ++i) {
      layout_axis& axis = axes_.axes[i];
      if (!is_backwards(axis) || (axis.bounded() && axis.extent > most_held_factors)) continue;
      axes_.reverse(i);
      if (!axis.bounded()) continue;
      if (has_scale(axis)) scale_.reverse();
      if (has_bias(axis)) bias_.reverse();
      axis.bound_step = 1;
      axes_.bounds[axis.bound].offset = 0;
    }
  }
  bool has_scale(const layout_axis& axis) const noexcept { return axis.bound == scale_mark; }
  bool has_bias(const layout_axis& axis) const noexcept {
    return axis.bound == (are_together_ ? scale_mark : bias_mark);
  }

  /// Finds the cheapest way of a box: the order of its elements in the buffers, and which sides have one.
  void set_out_boxes() noexcept {
    const axis_order by_source = order_of(axes_, &layout_axis::source_stride);
    const axis_order by_destination = order_of(axes_, &layout_axis::destination_stride);
    const block_extents box(axes_, std::min(from_size_, to_size_), by_source, by_destination);
    offered_boxes offered;
    const auto offer_new = [&](const block_extents& extents, const axis_order& order) {
      if (offered.add(extents, order, axes_.rank)) offer_box(extents, order);
    };
    offer_new(box, join_orders(box, by_destination, max_axes, by_source));
    offer_new(box, join_orders(box, by_source, max_axes, by_destination));
    // longer moves are worth a longer search
    constexpr mover_costs costs;
    if (cost_ > costs.box_search) {
      const block_extents small_box(axes_, std::max(from_size_, to_size_), by_source, by_destination);
      for (const auto& [first, then] :
           {std::pair(&by_destination, &by_source), std::pair(&by_source, &by_destination)}) {
        offer_box(box, join_orders(box, *first, max_axes, *then), true);
        if (from_size_ != to_size_) offer_new(small_box, join_orders(small_box, *first, max_axes, *then));
        if (cost_ < costs.long_box_search) continue;
        for (const block_extents* extents : {&box, &small_box}) {
          for (std::size_t k = 1; k <= 2; ++k) offer_new(*extents, join_orders(*extents, *first, k, *then));
          offer_new(*extents, with_factors_last(join_orders(*extents, *first, max_axes, *then)));
          if (from_size_ == to_size_) break;
        }
      }
    }
    set_out_runs();
  }

  axis_order with_factors_last(const axis_order& order) const noexcept {
    axis_order moved;
    for (const bool has_factors : {false, true}) {
      for (std::size_t k = 0; k < order.count; ++k) {
        if (axes_.axes[order.axes[k]].bounded() == has_factors) moved.axes[moved.count++] = order.axes[k];
      }
    }
    return moved;
  }

  /// The boxes that have been offered: some extents and orders come up several times in a search.
  class offered_boxes {
   public:
    /// Tells whether a box is new, and keeps it.
    bool add(const block_extents& box, const axis_order& order, std::size_t rank) noexcept {
      for (std::size_t i = 0; i < count_; ++i) {
        if (std::equal(box.at_once.begin(), box.at_once.begin() + rank, boxes_[i].at_once.begin()) &&
            std::equal(order.axes.begin(), order.axes.begin() + order.count, boxes_[i].order.axes.begin(),
                       boxes_[i].order.axes.begin() + boxes_[i].order.count))
          return false;
      }
      if (count_ < boxes_.size()) boxes_[count_++] = {box.at_once, order};
      return true;
    }

   private:
    struct offered {
      std::array<std::int64_t, max_axes> at_once;
      axis_order order;
    };
    std::array<offered, 16> boxes_;
    std::size_t count_ = 0;
  };

  /// Takes a box and an order of its elements if they are cheaper than what is known. A side without a buffer is read or
  /// written in runs.
  void offer_box(const block_extents& box, const axis_order& order, bool may_shuffle = false) noexcept {
    double boxes = 1;
    for (std::size_t i = 0; i < axes_.rank; ++i)
      boxes *= static_cast<double>((axes_.axes[i].extent - 1) / box.at_once[i] + 1);
    layout in;
    layout out;
    in.source_run = axes_.source_run;
    std::int64_t elements = 1;
    for (std::size_t k = 0; k < order.count; ++k) {
      const layout_axis& axis = axes_.axes[order.axes[k]];
      const std::int64_t extent = box.at_once[order.axes[k]];
      in.add({extent, axis.source_stride, elements * from_size_});
      out.add({extent, elements * to_size_, axis.destination_stride});
      elements *= extent;
    }
    out.source_run = elements * to_size_;
    const std::int64_t source_run = contiguous(in, &layout_axis::source_stride, from_size_);
    const std::int64_t destination_run = contiguous(out, &layout_axis::destination_stride, to_size_);
    const std::int64_t spacing = in.rank == 0 ? 1 : in.axes[0].source_stride;
    const std::int64_t spaced_run = evenly_spaced(in, order, spacing);
    shuffle gather{in, from_size_, buffered_side::destination};
    shuffle scatter{out, to_size_, buffered_side::source};
    for (const auto& [gathers, scatters] :
         {std::pair(false, false), std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
      if (gathers ? elements * from_size_ > block_buffer_bytes : swaps_source_) continue;
      if (scatters ? elements * to_size_ > block_buffer_bytes : swaps_destination_) continue;
      std::int64_t run = std::min(gathers ? elements : source_run, scatters ? elements : destination_run);
      const std::int64_t spaced = gathers ? 1 : std::min(spaced_run, scatters ? elements : destination_run);
      const bool is_spaced = conversion_.can_space(spacing, spaced);
      if (is_spaced) run = spaced;
      const double conversion = boxes * cost_of_conversion(box, order, elements, run, is_spaced);
      double cost = conversion + boxes * ((gathers ? gather.least(elements) : 0) +
                                          (scatters ? scatter.least(elements) : 0));
      if (cost >= cost_) continue;
      if (gathers) cost += boxes * (gather.cost(axes_) - gather.least(elements));
      if (scatters && cost < cost_) cost += boxes * (scatter.cost(axes_) - scatter.least(elements));
      bool is_shuffled = false;
      if (may_shuffle && gathers != scatters &&
          mover_costs{}.is_worth_search(
              std::min(cost, cost_) - conversion,
              boxes * static_cast<double>(elements * std::min(from_size_, to_size_)))) {
        const shuffle& only = gathers ? gather : scatter;
        const move_plan plan(only.moves, only.element_size, usable_instruction_set(), boxes);
        const double planned = conversion + boxes * plan.cost();
        is_shuffled = planned < std::min(cost, cost_);
        if (is_shuffled) {
          cost = planned;
          shuffle_.emplace(plan);
        }
      }
      if (cost >= cost_) continue;
      cost_ = cost;
      at_once_ = box.at_once;
      order_ = order;
      elements_ = elements;
      run_ = run;
      spacing_ = is_spaced ? spacing : 1;
      is_gathered_ = gathers;
      is_scattered_ = scatters;
      is_shuffled_ = is_shuffled;
      if (gathers && !is_shuffled) gather_ = gather.offer.move;
      if (scatters && !is_shuffled) scatter_ = scatter.offer.move;
    }
  }

  /// The moves of a box into a buffer, or out of it.
  struct shuffle {
    layout& moves;
    std::int64_t size;  ///< bytes of an element
    buffered_side side;
    block_offer offer{};
    std::int64_t element_size = size;  ///< bytes of an element of the simplified moves
    bool is_planned = false;

    /// No mover is estimated to take fewer cycles for so many elements.
    double least(std::int64_t elements) const noexcept {
      constexpr mover_costs costs;
      return costs.call + costs.best_byte * static_cast<double>(elements * size);
    }
    double cost(const layout& whole) noexcept {
      if (is_planned) return offer.cost;
      is_planned = true;
      moves.whole_bytes = total_bytes(whole, element_size);
      moves.asks_for_lines = true;
      element_size = simplify_as_turned(moves, element_size);
      offer = offer_block(moves, element_size, usable_instruction_set(), side);
      return offer.cost;
    }
  };

  /// Counts the elements of a box that are contiguous on a side, in the order of the buffers.
  static std::int64_t contiguous(const layout& box, std::int64_t layout_axis::* stride,
                                 std::int64_t size) noexcept {
    std::int64_t run = 1;
    for (std::size_t i = 0; i < box.rank && box.axes[i].*stride == run * size; ++i) run *= box.axes[i].extent;
    return run;
  }

  /// Counts the elements of a box that have the same factors and are `spacing` bytes apart in the source, in the order of the
  /// buffers.
  std::int64_t evenly_spaced(const layout& box, const axis_order& order,
                             std::int64_t spacing) const noexcept {
    std::int64_t run = 1;
    for (std::size_t i = 0; is_readable_ && i < box.rank; ++i) {
      if (box.axes[i].source_stride != run * spacing || axes_.axes[order.axes[i]].bounded()) break;
      run *= box.axes[i].extent;
    }
    return run;
  }

  /// Estimates the cycles of converting a box in runs.
  double cost_of_conversion(const block_extents& box, const axis_order& order, std::int64_t elements,
                            std::int64_t run, bool is_spaced) const noexcept {
    const conversion_costs costs = conversion_.costs();
    std::int64_t before = 1;
    std::int64_t same = run;   // elements with the same factors
    std::int64_t period = 1;   // elements after which the factors of a run repeat
    std::int64_t factors = 1;  // of the whole layout
    bool differ = false;       // whether boxes have other factors
    for (std::size_t i = 0; i < axes_.rank; ++i) {
      if (!axes_.axes[i].bounded()) continue;
      factors = std::max(factors, axes_.axes[i].extent);
      differ = differ || box.at_once[i] < axes_.axes[i].extent;
    }
    for (std::size_t k = 0; k < order.count; ++k) {
      if (axes_.axes[order.axes[k]].bounded() && before < run) {
        same = std::min(same, before);
        period = before * box.at_once[order.axes[k]];
      }
      before *= box.at_once[order.axes[k]];
    }
    std::int64_t together = same;  // elements with the same factors in a call
    if (same == run) {
      std::int64_t longest = 1;
      before = 1;
      for (std::size_t k = 0; k < order.count; ++k) {
        const std::int64_t extent = box.at_once[order.axes[k]];
        if (before >= run && extent > longest) {
          longest = extent;
          together = axes_.axes[order.axes[k]].bounded() ? same : same * extent;
        }
        before *= extent;
      }
    }
    const auto all = static_cast<double>(elements);
    if (same == run || same >= conversion_costs::least_stretch) {
      even_runs runs{static_cast<std::size_t>(same)};
      if (is_spaced) runs.spacing = most_spacing;
      const bool looks_up = conversion_.can_look_up(runs) && together >= conversion_costs::least_lookups &&
                            factors <= result_tables::most &&
                            total_bytes(axes_, 1) >= 2 * factors * conversion_costs::least_table;
      return all * (!looks_up   ? costs.element
                    : is_spaced ? costs.quick
                                : costs.lookup) +
             all / static_cast<double>(same) * (is_spaced ? costs.apart_run : costs.run);
    }
    const bool fits = period <= factor_table::most_factors(conversion_);
    const double filled = !fits ? all : differ ? static_cast<double>(period) : 0;
    even_runs runs{static_cast<std::size_t>(run)};
    const bool is_quick = conversion_.can_be_quick(runs) && period <= result_tables::most &&
                          total_bytes(axes_, 1) >= 2 * factors * conversion_costs::least_table;
    return all * ((is_quick ? costs.quick : costs.element) + costs.factor) + filled * costs.filled_factor +
           all / static_cast<double>(run) * costs.run;
  }

  /// Sets the axes of a run and those around it.
  void set_out_runs() noexcept {
    std::int64_t before = 1;  // elements
    for (std::size_t k = 0; k < order_.count; ++k) {
      const std::size_t i = order_.axes[k];
      const layout_axis& axis = axes_.axes[i];
      const std::int64_t extent = at_once_[i];
      if (before >= run_) {
        outer_[outer_count_++] = {extent, is_gathered_ ? before * from_size_ : axis.source_stride,
                                  is_scattered_ ? before * to_size_ : axis.destination_stride, axis.bound,
                                  axis.bound_step};
      } else {
        if (has_scale(axis)) in_run_[0] = {1, before, extent};
        if (has_bias(axis)) in_run_[1] = {1, before, extent};
      }
      before *= extent;
    }
    // A step walks the innermost axis, and the next one if that has no factors: the longest ones.
    sort_few(std::span(outer_).first(outer_count_),
             [](const layout_axis& a, const layout_axis& b) { return a.extent > b.extent; });
    if (outer_count_ < 2) return;
    const auto next = std::find_if(outer_.begin() + 1, outer_.begin() + outer_count_,
                                   [](const layout_axis& a) { return !a.bounded(); });
    if (next == outer_.begin() + outer_count_) return;
    std::rotate(outer_.begin() + 1, next, next + 1);
    // short runs that follow each other in the destination share lines
    const std::int64_t bytes = run_ * to_size_;
    if (bytes < cache_sizes::line / 2 && outer_[1].destination_stride == bytes && !outer_[0].bounded())
      std::swap(outer_[0], outer_[1]);
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
  double cost_ = never;        ///< cycles
  axis_order order_;           ///< of the axes that a box has, in the buffers
  std::int64_t elements_ = 1;  ///< of a box
  std::int64_t run_ = 1;      ///< elements that are contiguous, or spaced, wherever they are read and written
  std::int64_t spacing_ = 1;  ///< bytes between those that are read
  std::array<factor_axis, 2> in_run_;  ///< of a scale and a bias
  std::array<layout_axis, max_axes> outer_;
  std::size_t outer_count_ = 0;
  bool is_shuffled_ = false;
  bool is_readable_ = false;          ///< whether all bytes between elements of the source are elements
  bool is_large_ = false;             ///< whether the lines of the next box are asked for
  std::optional<move_plan> shuffle_;  ///< into the only buffer, or out of it
  block_move gather_;                 ///< from the source into a buffer
  block_move scatter_;                ///< from a buffer into the destination
};
static_assert(std::is_trivially_copyable_v<converted_move>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
