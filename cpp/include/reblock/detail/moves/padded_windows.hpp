// SPDX-License-Identifier: BSD-3-Clause
//
// A padded_move plans the windows of a padded image, which it moves block by block. A buffer holds the part of the padded
// image under the windows of a block. Windows are copied from there, so they have no bounds, and each mode of padding takes
// the same time. The cost of padding depends on the size of the image's part alone, which windows that overlap read several
// times. Conversions happen on the way into the buffer: an element that several windows read is converted once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/conversion_request.hpp>
#include <reblock/detail/conversions/factor_table.hpp>
#include <reblock/detail/conversions/run_conversion.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/box_copy.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/traversal.hpp>
#include <reblock/padding_mode.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class padded_runner;

/// Bytes of the buffer.
inline constexpr std::int64_t padded_buffer_bytes = 24 * 1024;

/// A padded_move plans and runs the windows of a padded image. It is trivially copyable.
class padded_move {
 public:
  explicit padded_move(const padded_request& request, instruction_set set = usable_instruction_set()) noexcept
      : padded_move(request.element_size) {
    set_out(request, set);
  }
  /// `converted` has the conversion on the way. The strides of `request` are of both types then; its element is that of the
  /// result. A program that converts nothing compiles no conversion.
  REBLOCK_ENGINE_FUNCTION padded_move(const padded_request& request,
                                      const conversion_request& converted) noexcept;

  std::size_t rank() const noexcept { return whole_.rank; }
  const layout_axis& axis(std::size_t i) const noexcept { return whole_.axes[i]; }
  std::int64_t at_once(std::size_t i) const noexcept { return at_once_[i]; }
  std::int64_t bytes() const noexcept { return empty_ ? 0 : total_bytes(whole_, unit_); }
  /// Keeps some indices of an axis, at least at_once() of them. Bounds alone say which positions windows have.
  void narrow(std::size_t i, const index_range& range) noexcept {
    const std::int64_t offset = whole_.source_offset;
    whole_.narrow(i, range.begin, range.end);
    if (whole_.axes[i].bounded()) whole_.source_offset = offset;
    if (i == channel_axis_) first_channel_ += range.begin;
  }
  bool is_empty() const noexcept { return empty_; }

  /// The estimated cycles without a conversion.
  double cost() const noexcept { return cost_; }

  void run(const std::byte* source, std::byte* destination) const noexcept;

 private:
  friend class padded_runner;

  /// A buffered_axis is an axis of the image's part in the buffer.
  struct buffered_axis {
    std::int64_t extent = 1;
    std::int64_t source_stride = 0;  ///< bytes to a neighbour in the image
    std::int64_t buffer_stride = 0;  ///< units
    std::int64_t step = 1;           ///< from one position in the buffer to the next
    std::size_t bound = no_bound;
    std::size_t axis = 0;  ///< axis of the layout, if the axis has no bound

    friend constexpr bool operator==(const buffered_axis&, const buffered_axis&) = default;
  };

  /// The axes of the image's part in the buffer, the innermost first: n, c, an element's units, and one for each spatial axis.
  struct buffered_part {
    std::array<buffered_axis, 3 + max_bounds> axes;
    std::size_t rank = 0;

    std::span<const buffered_axis> used() const noexcept { return std::span(axes).first(rank); }
    friend constexpr bool operator==(const buffered_part&, const buffered_part&) = default;
  };
  /// The order of the axes in the buffer: as in the destination, as in the image, or channels first. With channels first, a
  /// window is a few runs, each with all channels of some pixels.
  enum class part_order : std::uint8_t { by_destination, by_source, channels_first };

  explicit padded_move(std::int64_t element_size) noexcept
      : element_size_(element_size), out_(no_moves(), 1) {}
  void set_out(const padded_request& request, instruction_set set) noexcept {
    value_ = request.value;
    empty_ = detail::is_empty(request.moves, request.element_size);
    if (empty_) return;
    split_elements(request);
    choose_blocks(false);
    offer_blocks(set, never);
    if (!converts() && mover_costs::of(set).is_worth_search(cost_, static_cast<double>(bytes())))
      offer_single_lines(set);
  }

  padding_mode mode() const noexcept { return whole_.bounds[0].mode; }
  bool converts() const noexcept { return convert_ != nullptr; }
  /// Bytes of a unit wherever it lies in the buffer. A conversion reads it behind the converted units.
  std::int64_t buffered_bytes() const noexcept { return converts() ? unit_ + source_unit_ : unit_; }
  /// Where the units of the image lie in the buffer.
  std::int64_t staged_offset() const noexcept {
    return converts() ? (padded_buffer_bytes / buffered_bytes()) * unit_ : 0;
  }
  bool is_channel(const buffered_axis& axis) const noexcept {
    return axis.bound == no_bound && axis.axis == channel_axis_;
  }

  /// Elements of other sizes than registers move in units, along an axis of their own.
  void split_elements(const padded_request& request) noexcept {
    unit_ = unit_of(element_size_);
    source_unit_ = converts() ? static_cast<std::int64_t>(conversion_.source_size()) : unit_;
    whole_.take(request.moves);
    for (std::size_t b = 0; b < whole_.bound_count; ++b) {
      const axis_bound& bound = whole_.bounds[b];
      whole_.source_offset =
          wrapping_subtract(whole_.source_offset, wrapping_multiply(bound.offset, bound.source_stride));
    }
    if (unit_ < element_size_) whole_.add({element_size_ / unit_, unit_, unit_});
    const auto comes_later = [](const layout_axis& a, const layout_axis& b) {
      if (a.extent == 1 || b.extent == 1) return a.extent != 1;
      return magnitude(a.destination_stride) < magnitude(b.destination_stride);
    };
    for (std::size_t i = 1; i < whole_.rank; ++i) {
      for (std::size_t k = i; k > 0 && comes_later(whole_.axes[k - 1], whole_.axes[k]); --k) {
        std::swap(whole_.axes[k - 1], whole_.axes[k]);
        if (channel_axis_ == k - 1 || channel_axis_ == k) channel_axis_ = 2 * k - 1 - channel_axis_;
      }
    }
  }

  /// Lists the axes of the part of the image under a block, the innermost first.
  buffered_part list_part(part_order order) const noexcept {
    buffered_part part;
    auto& [axes, rank] = part;
    std::array<std::size_t, max_bounds> of_bound;
    of_bound.fill(max_axes);
    for (std::size_t i = whole_.rank; i-- > 0;) {
      const layout_axis& axis = whole_.axes[i];
      if (!axis.bounded()) {
        axes[rank++] = {at_once_[i], axis.source_stride, 0, 1, no_bound, i};
        continue;
      }
      std::size_t& at = of_bound[axis.bound];
      if (at == max_axes) {
        at = rank++;
        axes[at] = {1, whole_.bounds[axis.bound].source_stride, 0, 0, axis.bound, i};
      }
      if (at_once_[i] == 1) continue;
      buffered_axis& own = axes[at];
      const std::int64_t reach = (own.extent - 1) * own.step + (at_once_[i] - 1) * axis.bound_step;
      own.step = std::gcd(own.step, axis.bound_step);
      own.extent = reach / own.step + 1;
    }
    // units of an element stay together
    const auto others = std::span(axes).first(rank).subspan(unit_ < element_size_ ? 1 : 0);
    sort_few(others, [this, order](const buffered_axis& a, const buffered_axis& b) {
      if (order == part_order::by_destination) return false;
      if (order == part_order::channels_first) return is_channel(a) && !is_channel(b);
      return magnitude(a.source_stride) < magnitude(b.source_stride);
    });
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      axes[i].step = std::max<std::int64_t>(axes[i].step, 1);
      axes[i].buffer_stride = stride;
      stride = wrapping_multiply(stride, axes[i].extent);
    }
    return part;
  }

  /// Estimates the cycles to bring a block's part of the image into the buffer.
  double cost_of_part(const buffered_part& part, instruction_set set) const noexcept {
    layout in;
    for (const buffered_axis& axis : part.used()) {
      std::int64_t extent = axis.extent;
      if (axis.bound != no_bound) {  // what reaches beyond the image is not read there
        const std::int64_t inside = ceil_divide(whole_.bounds[axis.bound].extent, axis.step);
        extent = std::clamp<std::int64_t>(inside, 1, extent);
      }
      in.add({extent, wrapping_multiply(axis.source_stride, axis.step), axis.buffer_stride * unit_});
    }
    const std::int64_t all = total_bytes(whole_, unit_);
    if (static_cast<double>(all) > cache_sizes::second_level) in.whole_bytes = all;
    const std::int64_t size = simplify(in, unit_);
    return offer_block(in, size, set, buffered_side::destination).cost;
  }

  /// Takes this order of the buffer's axes if a block then needs less than `limit` cycles. Returns these cycles, or the limit.
  [[gnu::noinline]] double offer_order(part_order order, instruction_set set, double limit) noexcept {
    const buffered_part part = list_part(order);
    if (part == part_) return limit;
    const double of_part = cost_of_part(part, set);
    if (of_part >= limit) return limit;
    const move_plan out(out_of_buffer(part), unit_, set, 1, buffered_side::source);
    const double factor = order == part_order::channels_first ? padding_costs::channels_first : 1;
    const double cost = factor * (of_part + out.cost());
    if (cost >= limit) return limit;
    part_ = part;
    new (&out_) move_plan(out);
    return cost;
  }

  /// Counts the blocks.
  double blocks() const noexcept {
    double all = 1;
    for (std::size_t i = 0; i < whole_.rank; ++i)
      all *= static_cast<double>(ceil_divide(whole_.axes[i].extent, at_once_[i]));
    return all;
  }
  /// Estimates the cycles of the lines that all blocks bring into the first-level cache, if moves are large.
  double cost_of_far_lines() const noexcept {
    if (static_cast<double>(bytes()) <= cache_sizes::second_level) return 0;
    const buffered_part part = list_part(part_order::by_source);
    std::int64_t run = unit_;
    double runs = 1;
    for (const buffered_axis& axis : part.used()) {
      if (magnitude(wrapping_multiply(axis.source_stride, axis.step)) == run) {
        run *= axis.extent;
      } else {
        runs *= static_cast<double>(axis.extent);
      }
    }
    const double lines = static_cast<double>(run - 1) / double{cache_sizes::line} + 1;
    return blocks() * runs * lines * padding_costs::far_line;
  }

  /// Takes the chosen blocks, and their cycles, if all of them need less than `limit` cycles. Returns whether it took them.
  bool offer_blocks(instruction_set set, double limit) noexcept {
    const double times = padding_costs::factor * blocks();
    const double most = limit / times - padding_costs::block;
    double of_block = offer_order(part_order::by_destination, set, most);
    for (const part_order order : {part_order::by_source, part_order::channels_first}) {
      if (!converts()) of_block = offer_order(order, set, of_block);
    }
    if (of_block >= most) return false;
    cost_ = times * (of_block + padding_costs::block);
    return true;
  }

  /// Takes blocks that have one index of the outer axis of each bound whose positions lie lines apart, if they are faster.
  /// They read what windows share again, but have longer runs of the destination.
  [[gnu::noinline]] void offer_single_lines(instruction_set set) noexcept {
    const std::array<std::int64_t, max_axes> at_once = at_once_;
    const buffered_part part = part_;
    choose_blocks(true);
    if (!std::equal(at_once.begin(), at_once.begin() + whole_.rank, at_once_.begin())) {
      const double of_lines = cost_of_far_lines();
      part_ = {};
      if (offer_blocks(set, cost_ - of_lines)) {
        cost_ += of_lines;
        return;
      }
    }
    at_once_ = at_once;
    part_ = part;
  }

  /// Takes indices of the axes with the shortest strides on a side into a block until their run has so many bytes.
  void grow_runs(std::int64_t layout_axis::* stride, const std::array<bool, max_axes>& singles,
                 std::int64_t bytes) noexcept {
    const axis_order order = order_of(whole_, stride);
    std::int64_t run = unit_;
    for (std::size_t k = 0; k < order.count && run < bytes; ++k) {
      const std::size_t i = order.axes[k];
      if (singles[i]) continue;
      grow(i, ceil_divide(bytes, run), padded_buffer_bytes);
      run *= at_once_[i];
      if (at_once_[i] < whole_.axes[i].extent) break;
    }
  }

  /// Takes up to `limit` indices of an axis into a block, as far as its part of the image has `room` bytes.
  void grow(std::size_t i, std::int64_t limit, std::int64_t room) noexcept {
    limit = std::min(limit, whole_.axes[i].extent);
    const auto fits = [&] {
      const buffered_part part = list_part(part_order::by_destination);
      std::int64_t rest = room / buffered_bytes();
      for (const buffered_axis& own : part.used()) rest /= own.extent;
      return rest > 0;
    };
    while (at_once_[i] < limit) {
      const std::int64_t before = at_once_[i];
      at_once_[i] = std::min(2 * before, limit);
      if (fits()) continue;
      at_once_[i] = before;
      return;
    }
  }

  /// Makes blocks as large as the buffer. First of all they have whole windows, then runs of the destination, then windows
  /// that overlap, because neighbouring blocks read what they share twice.
  void choose_blocks(bool single_lines) noexcept {
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t least_read = cache_sizes::line;
    at_once_.fill(1);
    // a floating-point number, because steps may lead far beyond the image
    const auto reach = [&](std::size_t i) {
      return static_cast<double>(whole_.axes[i].bound_step) * static_cast<double>(whole_.axes[i].extent);
    };
    // For each axis, the other axis of its bound, or no_axis. The shorter of the two is among `offsets`. If it leaves wide
    // gaps, it is among `singles` instead, or else the longer one is: a block has one of its indices.
    std::array<std::size_t, max_axes> others;
    std::array<bool, max_axes> offsets{};
    std::array<bool, max_axes> singles{};
    others.fill(no_axis);
    for (std::size_t i = 0; i < whole_.rank; ++i) {
      for (std::size_t k = i + 1; k < whole_.rank; ++k) {
        if (!share_bound(whole_.axes[i], whole_.axes[k])) continue;
        if (whole_.axes[i].extent == 1 || whole_.axes[k].extent == 1) continue;
        others[i] = k;
        others[k] = i;
        const std::size_t shorter = reach(i) < reach(k) ? i : k;
        const std::size_t longer = shorter == i ? k : i;
        offsets[shorter] = true;
        const bool are_lines =
            magnitude(whole_.bounds[whole_.axes[i].bound].source_stride) >= cache_sizes::line;
        singles[i] = (single_lines && are_lines) ||
                     static_cast<double>(whole_.axes[longer].bound_step) >= 2 * reach(shorter);
      }
    }
    for (std::size_t i = whole_.rank; i-- > 0;) {
      const bool is_in_element = unit_ < element_size_ && whole_.axes[i].destination_stride == unit_;
      if (is_in_element || (offsets[i] && !singles[i])) grow(i, any, padded_buffer_bytes / 2);
    }
    grow_runs(&layout_axis::source_stride, singles, least_read);
    grow_runs(&layout_axis::destination_stride, singles, padding_costs::good_run);
    for (std::size_t i = whole_.rank; i-- > 0;) {
      if (others[i] == no_axis || singles[i] || singles[others[i]]) continue;
      const std::int64_t times = 3 * at_once_[others[i]];  // what neighbours share is a third at most
      const std::int64_t step = whole_.axes[others[i]].bound_step;
      const std::int64_t wanted = step <= any / times ? times * step : any;
      grow(i, ceil_divide(wanted, whole_.axes[i].bound_step), padded_buffer_bytes);
    }
    for (std::size_t i = whole_.rank; i-- > 0;) {
      if (!singles[i]) grow(i, any, padded_buffer_bytes);
    }
    for (std::size_t i = 0; i < whole_.rank; ++i) at_once_[i] = even_part(whole_.axes[i].extent, at_once_[i]);
  }

  /// Describes the moves of a block from the buffer to the columns.
  layout out_of_buffer(const buffered_part& part) const noexcept {
    layout out;
    for (std::size_t i = 0; i < whole_.rank; ++i) {
      const layout_axis& axis = whole_.axes[i];
      const auto is_own = [&](const buffered_axis& other) {
        return axis.bounded() ? other.bound == axis.bound : other.bound == no_bound && other.axis == i;
      };
      const buffered_axis& own = *std::find_if(part.axes.begin(), part.axes.begin() + part.rank, is_own);
      const std::int64_t steps =
          axis.bounded() ? axis.bound_step / own.step : 1;  // exact if there is a second index
      // it may wrap only if there is no second index
      out.add({at_once_[i], wrapping_multiply(own.buffer_stride * unit_, steps), axis.destination_stride});
    }
    out.source_run = padded_buffer_bytes;
    out.whole_bytes = total_bytes(whole_, unit_);
    return out;
  }

  layout whole_;  ///< the walked axes, the longest destination stride first
  std::array<std::int64_t, max_axes> at_once_;
  buffered_part part_;
  std::int64_t unit_ = 1;         ///< bytes that are moved as one
  std::int64_t source_unit_ = 1;  ///< the same for the image
  std::int64_t element_size_ = 1;
  void (*convert_)(padded_runner&) = nullptr;  ///< converts what has been staged; or null
  run_conversion conversion_;
  held_factor scale_;
  held_factor bias_;
  bool has_scales_ = false;  ///< whether each channel has its own
  bool has_biases_ = false;
  bool swaps_source_ = false;
  bool swaps_destination_ = false;
  std::size_t channel_axis_ = channels_of_moves;  ///< of the walked axes
  std::int64_t first_channel_ = 0;
  std::array<std::byte, most_padding_bytes> value_;
  bool empty_ = false;
  double cost_ = 0;
  move_plan out_;  ///< from the buffer to the columns
};

static_assert(std::is_trivially_copyable_v<padded_move>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
