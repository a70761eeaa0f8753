// SPDX-License-Identifier: BSD-3-Clause
//
// These functions move elements and convert them on the way. The destination is cut into boxes that fit the first-level
// cache. The movers bring a box into a buffer where its elements are contiguous, and runs are converted from there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include <reblock/detail/blocks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversion_request.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/move_plan.hpp>
#include <reblock/detail/movers.hpp>
#include <reblock/detail/offers.hpp>
#include <reblock/detail/plan.hpp>
#include <reblock/detail/plan_blocks.hpp>
#include <reblock/detail/run_conversion.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A factor_table gives the factors of a run's elements. Elements follow each other along a few axes, the innermost first.
class factor_table {
 public:
  /// The factor of an element is values[first + index * step], with its index on the factor's axis. The axis repeats each
  /// index for `inner` elements. Without an axis, `step` is 0.
  struct factor {
    const double* values = nullptr;
    std::int64_t step = 0;
    std::int64_t inner = 1;
    std::int64_t extent = 1;
  };

  factor_table(bool is_double, const factor& scale, const factor& bias) noexcept
      : is_double_(is_double), factors_{scale, bias} {}

  /// Converts a run. `first` has the places of its first element's factors in their values.
  void convert(const run_conversion& conversion, const std::byte* source, std::byte* destination,
               std::int64_t count, const std::array<std::int64_t, 2>& first) noexcept {
    if (period() == 1) {
      fill(first, 0, 1);
      return run(conversion, source, destination, count, 0);
    }
    constexpr std::int64_t enough = 32;  // elements: then registers with one factor are faster than a table
    if (same() >= enough) {
      for (std::int64_t i = 0; i < count; i += same()) {
        fill(first, i, 1);
        run(conversion, source + i * from(conversion), destination + i * to(conversion),
            std::min(same(), count - i), 0);
      }
      return;
    }
    const std::int64_t limit = room / value_size();
    const std::int64_t whole = period() > limit ? limit : limit / period() * period();
    for (std::int64_t i = 0; i < count; i += whole) {
      const std::int64_t part = std::min(whole, count - i);
      fill(first, whole % period() == 0 ? 0 : i, std::max(part, std::min(whole, count)));
      run(conversion, source + i * from(conversion), destination + i * to(conversion), part, value_size());
    }
  }

 private:
  static constexpr std::int64_t room = 2048;  // bytes of each table

  static std::int64_t from(const run_conversion& c) noexcept {
    return static_cast<std::int64_t>(c.source_size());
  }
  static std::int64_t to(const run_conversion& c) noexcept {
    return static_cast<std::int64_t>(c.destination_size());
  }
  std::int64_t value_size() const noexcept { return is_double_ ? 8 : 4; }

  /// Elements after which the factors repeat.
  std::int64_t period() const noexcept {
    std::int64_t longest = 1;
    for (const factor& f : factors_) {
      if (f.step != 0) longest = std::max(longest, f.inner * f.extent);
    }
    return longest;
  }
  /// Elements that have the same factors.
  std::int64_t same() const noexcept {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const factor& f : factors_) {
      if (f.step != 0) least = std::min(least, f.inner);
    }
    return least;
  }

  void run(const run_conversion& conversion, const std::byte* source, std::byte* destination,
           std::int64_t count, std::int64_t step) const noexcept {
    conversion(source, destination, static_cast<std::size_t>(count),
               {tables_[0].data(), tables_[1].data(), static_cast<std::size_t>(step)});
  }

  /// Fills the tables with the factors of `count` elements from element `begin` on. A single factor is repeated.
  void fill(const std::array<std::int64_t, 2>& first, std::int64_t begin, std::int64_t count) noexcept {
    if (first == first_ && begin == begin_ && count <= count_) return;
    first_ = first;
    begin_ = begin;
    count_ = count;
    for (std::size_t k = 0; k < 2; ++k) {
      const factor& f = factors_[k];
      const double absent = k == 0 ? 1.0 : -0.0;  // x + -0.0 is x, also for -0.0
      const auto at = [&](std::int64_t index) {
        return f.values == nullptr ? absent : f.values[first[k] + index * f.step];
      };
      if (count == 1) {
        const double value = at(begin / f.inner % f.extent);
        for (std::int64_t i = 0; i < 64 / value_size(); ++i) put(k, i, value);
        continue;
      }
      std::int64_t index = begin / f.inner % f.extent;
      std::int64_t rest = f.inner - begin % f.inner;
      for (std::int64_t i = 0; i < count; ++i) {
        put(k, i, at(index));
        if (--rest > 0) continue;
        rest = f.inner;
        if (++index == f.extent) index = 0;
      }
    }
  }
  void put(std::size_t k, std::int64_t i, double value) noexcept {
    std::byte* const place = tables_[k].data() + i * value_size();
    is_double_ ? write(place, value) : write(place, static_cast<float>(value));
  }

  bool is_double_;
  std::array<factor, 2> factors_;
  std::array<std::int64_t, 2> first_{-1, -1};
  std::int64_t begin_ = 0;
  std::int64_t count_ = 0;
  alignas(64) std::array<std::array<std::byte, room>, 2> tables_;
};

/// Reverses the bytes of each element.
inline void swap_bytes(std::byte* elements, std::int64_t count, std::size_t size) noexcept {
  for (std::int64_t i = 0; i < count; ++i, elements += size) std::reverse(elements, elements + size);
}

/// converted_boxes moves and converts a layout without bounds, box by box.
class converted_boxes {
 public:
  explicit converted_boxes(const conversion_request& request) noexcept
      : request_(request),
        conversion_(request.from, request.to, request.has_factors()),
        from_size_(static_cast<std::int64_t>(size_of(request.from))),
        to_size_(static_cast<std::int64_t>(size_of(request.to))),
        table_(conversion_.is_double(), {}, {}) {
    set_out_axes();
    // The buffer of the side that is shuffled decides how large a box is, unless the other side needs one as well.
    const std::int64_t shuffled = std::min(from_size_, to_size_);
    set_out_box(shuffled);
    if (std::max(from_size_, to_size_) > shuffled && needs_both_buffers())
      set_out_box(std::max(from_size_, to_size_));
    set_out_runs();
  }
  converted_boxes(const converted_boxes&) = delete;

  void run(const std::byte* source, std::byte* destination) noexcept {
    walk(0, source + axes_.source_offset, destination + axes_.destination_offset,
         {axes_.bounds[0].offset, axes_.bounds[bias_mark_].offset});
  }

 private:
  using places = std::array<std::int64_t, 2>;  ///< of a scale and a bias in their values

  /// Simplifies the layout. An axis with a factor has a bound: it is not merged, and the bound's offset is the place of the
  /// factor of index 0.
  void set_out_axes() noexcept {
    axes_.take(request_.moves);
    for (std::size_t i = 0; i < axes_.rank; ++i) axes_.axes[i].bound = no_bound;
    axes_.bounds = {};
    mark(request_.scale.axis, 0);
    bias_mark_ = request_.bias.axis == request_.scale.axis ? 0 : 1;
    mark(request_.bias.axis, bias_mark_);
    drop_single_indices(axes_);
    order_by_destination(axes_);
    merge_nested(axes_);
  }
  void mark(std::size_t axis, std::size_t bound) noexcept {
    if (axis == one_factor) return;
    axes_.axes[axis].bound = bound;
    axes_.axes[axis].bound_step = 1;
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
    is_gathered_ = request_.swaps_source || !is_long(source_run_);
    is_scattered_ = request_.swaps_destination || !is_long(destination_run_);
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
    std::array<factor_table::factor, 2> factors;
    factors[0].values = request_.scale.values;
    factors[1].values = request_.bias.values;
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
                                  axis.bounded() ? axis.bound_step : 0};
      }
      if (is_in_run && axis.bounded()) {
        const factor_table::factor along{nullptr, axis.bound_step, before, extent};
        if (axis.bound == 0 && request_.scale.axis != one_factor) take(factors[0], along);
        if (axis.bound == bias_mark_ && request_.bias.axis != one_factor) take(factors[1], along);
      }
      before *= extent;
    }
    table_ = factor_table(conversion_.is_double(), factors[0], factors[1]);
    if (is_gathered_) plan_box(gather_, in, from_size_);
    if (is_scattered_) plan_box(scatter_, out, to_size_);
  }
  [[gnu::noinline]] static void plan_box(std::optional<move_plan>& plan, const layout& moves,
                                         std::int64_t element_size) noexcept {
    plan.emplace(moves, element_size, engine::all_movers(), nullptr);
  }
  static void take(factor_table::factor& factor, const factor_table::factor& along) noexcept {
    factor = {factor.values, along.step, along.inner, along.extent};
  }

  void walk(std::size_t i, const std::byte* source, std::byte* destination, places first) noexcept {
    if (i == axes_.rank) return convert_box(source, destination, first);
    const layout_axis& axis = axes_.axes[i];
    const cut_axis cut({axis.extent, axis.source_stride, axis.destination_stride}, at_once_[i]);
    const std::int64_t pieces = cut.pieces();
    for (std::int64_t k = 0; k < pieces; ++k) {
      const std::int64_t index = cut.piece(k);
      walk(i + 1, source + index * axis.source_stride, destination + index * axis.destination_stride,
           moved(first, axis, index));
    }
  }
  places moved(places first, const layout_axis& axis, std::int64_t index) const noexcept {
    if (axis.bound == 0) first[0] += index * axis.bound_step;
    if (axis.bound == bias_mark_) first[1] += index * axis.bound_step;
    return first;
  }

  void convert_box(const std::byte* source, std::byte* destination, const places& first) noexcept {
    const std::byte* from = source;
    std::byte* to = destination;
    if (is_gathered_) {
      gather_->run(source, gathered_.data());
      if (request_.swaps_source) swap_bytes(gathered_.data(), elements_, size_of(request_.from));
      from = gathered_.data();
    }
    if (is_scattered_) to = converted_.data();
    convert_runs(outer_count_, from, to, first);
    if (!is_scattered_) return;
    if (request_.swaps_destination) swap_bytes(converted_.data(), elements_, size_of(request_.to));
    scatter_->run(converted_.data(), destination);
  }

  /// Walks the axes of a box that are not in a run, from axis `count` - 1 inwards.
  void convert_runs(std::size_t count, const std::byte* source, std::byte* destination,
                    const places& first) noexcept {
    if (count == 0) return table_.convert(conversion_, source, destination, run_, first);
    const layout_axis& axis = outer_[count - 1];
    for (std::int64_t index = 0; index < axis.extent; ++index) {
      convert_runs(count - 1, source + index * axis.source_stride,
                   destination + index * axis.destination_stride, moved(first, axis, index));
    }
  }

  static constexpr std::size_t buffer_bytes = block_buffer_bytes + readable_slack;

  const conversion_request& request_;
  run_conversion conversion_;
  std::int64_t from_size_;
  std::int64_t to_size_;
  layout axes_;
  std::size_t bias_mark_ = 0;
  std::array<std::int64_t, max_axes> at_once_;
  axis_order order_;           ///< of the buffers
  std::int64_t elements_ = 1;  ///< of a box
  std::int64_t run_ = 1;       ///< elements that are contiguous wherever they are read and written
  bool is_gathered_ = false;
  bool is_scattered_ = false;
  std::array<layout_axis, max_axes> outer_;
  std::size_t outer_count_ = 0;
  std::optional<move_plan> gather_;   ///< from the source into a buffer
  std::optional<move_plan> scatter_;  ///< from a buffer into the destination
  std::int64_t source_run_ = 1;       ///< elements of a box that are contiguous
  std::int64_t destination_run_ = 1;
  factor_table table_;
  alignas(64) std::array<std::byte, buffer_bytes> gathered_;
  alignas(64) std::array<std::byte, buffer_bytes> converted_;
};

[[gnu::noinline]] inline void convert_unbounded(const conversion_request& request, const std::byte* source,
                                                std::byte* destination) noexcept {
  converted_boxes(request).run(source, destination);
}

/// Writes the value outside to all elements of the destination.
[[gnu::noinline]] inline void fill_with_outside(const conversion_request& request,
                                                std::byte* destination) noexcept {
  layout fill;
  fill.take(request.moves);
  fill.source_offset = 0;
  fill.source_run = 0;
  for (std::size_t i = 0; i < fill.rank; ++i) {
    fill.axes[i].source_stride = 0;
    fill.axes[i].bound = no_bound;
  }
  fill.bound_count = 0;
  alignas(64) std::array<std::byte, block_buffer_bytes + readable_slack> buffer;
  move_unbounded(fill, static_cast<std::int64_t>(size_of(request.to)), request.outside.data(), destination,
                 buffer.data());
}

/// Converts a layout. Along each bound, indices of one axis that have the same indices of the other axis inside form a
/// group: then its elements are boxes without bounds, inside or outside.
inline void convert_bounded(const conversion_request& request, const std::byte* source,
                            std::byte* destination) noexcept {
  const layout& moves = request.moves;
  if (is_empty(moves, 1)) return;
  std::size_t cut = no_axis;
  std::size_t other = no_axis;
  for (std::size_t i = 0; i < moves.rank; ++i) {
    if (cut == no_axis && moves.axes[i].bounded()) {
      cut = i;
    } else if (cut != no_axis && share_bound(moves.axes[cut], moves.axes[i])) {
      other = i;
    }
  }
  if (cut == no_axis) return convert_unbounded(request, source, destination);
  const axis_bound& bound = moves.bounds[moves.axes[cut].bound];
  layout_axis alone{1, 0, 0};
  alone.bound_step = 1;
  const auto range_at = [&](std::size_t axis, std::size_t across, std::int64_t index) {
    return range_inside(bound, index * moves.axes[axis].bound_step,
                        across == no_axis ? alone : moves.axes[across]);
  };
  const auto end_of_group = [&](std::size_t axis, std::size_t across, std::int64_t begin) {
    const index_range range = range_at(axis, across, begin);
    std::int64_t end = begin + 1;
    while (end < moves.axes[axis].extent && range_at(axis, across, end) == range) ++end;
    return end;
  };
  const auto count_groups = [&](std::size_t axis, std::size_t across) {
    std::int64_t groups = 0;
    for (std::int64_t i = 0; i < moves.axes[axis].extent; i = end_of_group(axis, across, i)) ++groups;
    return groups;
  };
  if (other != no_axis && count_groups(other, cut) <= count_groups(cut, other)) std::swap(cut, other);
  for (std::int64_t begin = 0; begin < moves.axes[cut].extent;) {
    const std::int64_t end = end_of_group(cut, other, begin);
    const index_range range = range_at(cut, other, begin);
    conversion_request group = request;
    group.narrow(cut, begin, end);
    group.moves.axes[cut].bound = no_bound;
    const std::int64_t across = other == no_axis ? 1 : moves.axes[other].extent;
    for (const index_range& outside : {index_range{0, range.begin}, index_range{range.end, across}}) {
      if (outside.begin == outside.end) continue;
      conversion_request part = group;
      if (other != no_axis) part.narrow(other, outside.begin, outside.end);
      fill_with_outside(part, destination);
    }
    if (range.begin < range.end) {
      if (other != no_axis) {
        group.narrow(other, range.begin, range.end);
        group.moves.axes[other].bound = no_bound;
      }
      convert_bounded(group, source, destination);
    }
    begin = end;
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
