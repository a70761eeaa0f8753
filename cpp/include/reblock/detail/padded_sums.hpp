// SPDX-License-Identifier: BSD-3-Clause
//
// These functions sum the positions that have terms from the padding, one run of positions at a time. The positions
// without such terms are a box: the plain sums of fold fill it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/half.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/padded_axis.hpp>
#include <reblock/detail/sum_traits.hpp>
#include <reblock/detail/summand.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A padded_sum_axis describes one spatial axis. Window l adds its term of offset o to the padded position
/// first + o * dilation + l * stride. Strides of memory are in bytes.
struct padded_sum_axis {
  std::int64_t size = 1;     ///< window offsets
  std::int64_t windows = 1;  ///< window positions
  std::int64_t dilation = 1;
  std::int64_t stride = 1;
  std::int64_t first = 0;
  padded_axis image;
  std::int64_t size_stride = 0;
  std::int64_t window_stride = 0;
  std::int64_t output_stride = 0;

  /// Returns the positions whose only terms are their own. The others are before and behind them.
  constexpr index_range inner() const noexcept {
    const std::int64_t last = first + (size - 1) * dilation + (windows - 1) * stride;
    const std::int64_t start = std::max<std::int64_t>(-first, 0);
    const std::int64_t end = std::max<std::int64_t>(last - image.extent + 1, 0);
    const std::int64_t extent = image.extent;
    std::int64_t from = 0;
    std::int64_t to = extent;
    switch (image.mode) {
      case padding_mode::constant: break;
      case padding_mode::edge:
        from = std::min<std::int64_t>(start, 1);
        to = extent - std::min<std::int64_t>(end, 1);
        break;
      case padding_mode::reflection:
        from = start == 0 ? 0 : std::min(start, extent - 1) + 1;
        to = end == 0 ? extent : extent - 1 - std::min(end, extent - 1);
        break;
      case padding_mode::symmetric:
        from = std::min(start, extent);
        to = extent - std::min(end, extent);
        break;
      case padding_mode::wrap:
        from = std::min(end, extent);
        to = extent - std::min(start, extent);
        break;
    }
    return from < to ? index_range{from, to} : index_range{extent, extent};
  }

  /// Calls visit(l) for each window position l whose offset o adds to position q, in the order of addition. First comes
  /// the position itself, then the padding before the image, then the padding behind it, each in ascending order.
  template <class Visit>
  constexpr void for_each_window(std::int64_t q, std::int64_t o, Visit&& visit) const {
    const std::int64_t base = first + o * dilation;
    const std::int64_t own = q - base;
    if (own >= 0 && own % stride == 0 && own / stride < windows) visit(own / stride);
    const std::int64_t before = std::clamp<std::int64_t>(ceil_divide(-base, stride), 0, windows);
    const std::int64_t behind =
        std::clamp<std::int64_t>(ceil_divide(image.extent - base, stride), 0, windows);
    if (before > 0) for_each_repeated(q, base, {0, before}, 0, visit);
    if (behind < windows) for_each_repeated(q, base, {behind, windows}, image.extent - 1, visit);
  }

 private:
  /// Does the same for windows that reach the padding beside the position `edge`.
  template <class Visit>
  constexpr void for_each_repeated(std::int64_t q, std::int64_t base, const index_range& range,
                                   std::int64_t edge, Visit& visit) const {
    const std::int64_t period = image.period();
    if (period == 0) {
      for (std::int64_t index = range.begin; q == edge && index < range.end; ++index) visit(index);
      return;
    }
    const std::int64_t step = period / std::gcd(period, stride);
    std::array<std::int64_t, 2> next = {first_window(q, base, range, period),
                                        first_window(image.mirrored(q), base, range, period)};
    if (next[0] == next[1]) next[1] = range.end;
    for (;;) {
      std::int64_t& least = next[0] < next[1] ? next[0] : next[1];
      if (least >= range.end) return;
      visit(least);
      least = least < range.end - step ? least + step : range.end;
    }
  }

  /// Returns the first window position of a range that reaches `place` modulo the period, or the end of the range.
  constexpr std::int64_t first_window(std::int64_t place, std::int64_t base, const index_range& range,
                                      std::int64_t period) const noexcept {
    const std::int64_t begin = base + range.begin * stride;
    std::int64_t rest = floor_modulo(place - begin, period);
    const std::int64_t common = std::gcd(period, stride);
    const std::int64_t step = period / common;
    if (rest % common != 0) return range.end;
    rest /= common;
    const std::int64_t advance = stride / common % step;
    if (advance == 1 || step == 1)
      return rest % step < range.end - range.begin ? range.begin + rest % step : range.end;
    for (std::int64_t i = 0, reached = 0; i < step && i < range.end - range.begin; ++i) {
      if (reached == rest) return range.begin + i;
      reached += advance;
      if (reached >= step) reached -= step;
    }
    return range.end;
  }

  static constexpr std::int64_t floor_modulo(std::int64_t a, std::int64_t b) noexcept {
    return a - floor_divide(a, b) * b;
  }
};

struct padded_sums;

/// Sums the positions with terms from the padding, of some channels. Channels are counted through all images.
using padded_sum_function = void (*)(const padded_sums& sums, const index_range& channels,
                                     const std::byte* columns, std::byte* image);

/// padded_sums describes all sums of fold with a padding mode. It is trivially copyable.
struct padded_sums {
  sum_request request;
  padded_sum_function sum = nullptr;

  std::size_t rank() const noexcept { return request.extents.size() - 2; }
  std::int64_t channels() const noexcept { return request.extents[0] * request.extents[1]; }

  padded_sum_axis axis(std::size_t d) const noexcept {
    const layout& moves = request.moves;
    const layout_axis& offsets = moves.axes[2 + d];
    const layout_axis& windows = moves.axes[2 + rank() + d];
    return {offsets.extent,        windows.extent,         offsets.bound_step,
            windows.bound_step,    moves.bounds[d].offset, {request.mode, request.extents[2 + d]},
            offsets.source_stride, windows.source_stride,  request.output_strides[2 + d]};
  }

  /// Returns the plain sums of the positions without terms from the padding. If sums accumulate, it leaves out positions
  /// without terms. Its output begins `output_offset` bytes behind the whole output.
  sum_request inner() const noexcept {
    sum_request part = request;
    part.mode = padding_mode::constant;
    for (std::size_t d = 0; d < rank(); ++d) {
      const padded_sum_axis along = axis(d);
      index_range range = along.inner();
      if (part.accumulates) {
        const std::int64_t end =
            along.first + (along.size - 1) * along.dilation + (along.windows - 1) * along.stride + 1;
        range.begin = std::clamp(along.first, range.begin, range.end);
        range.end = along.windows == 0 ? range.begin : std::clamp(end, range.begin, range.end);
      }
      part.extents[2 + d] = range.end - range.begin;
      part.moves.bounds[d] = {along.first - range.begin, range.end - range.begin};
      const std::int64_t before = wrapping_multiply(range.begin, along.output_stride);
      part.output_offset = wrapping_add(part.output_offset, before);
      part.moves.destination_offset = wrapping_subtract(part.moves.destination_offset, before);
    }
    return part;
  }
};
static_assert(std::is_trivially_copyable_v<padded_sums>);

/// A padded_summer walks the positions that have terms from the padding.
template <class T>
class padded_summer {
  using part = typename parts_of<T>::type;
  using value = std::conditional_t<std::is_same_v<part, bool>, unsigned char, part>;  // any byte is a bool
  using traits = sum_traits<part>;
  using accumulator = typename traits::accumulator;

 public:
  padded_summer(const padded_sums& sums, const index_range& channels, const std::byte* columns,
                std::byte* image) noexcept
      : sums_(sums), channels_(channels), columns_(columns), image_(image) {
    for (std::size_t d = 0; d < sums.rank(); ++d) {
      axes_[d] = sums.axis(d);
      const index_range inner = axes_[d].inner();
      const std::int64_t extent = axes_[d].image.extent;
      parts_[d] = {index_range{0, inner.begin}, inner, index_range{inner.end, extent}};
    }
  }

  /// Walks all regions: each axis has positions before, in, or behind its inner part.
  void run() noexcept { choose_region(0, true); }

 private:
  void choose_region(std::size_t d, bool is_inner) noexcept {
    if (d == sums_.rank()) {
      if (!is_inner) walk_region();
      return;
    }
    for (std::size_t i = 0; i < parts_[d].size(); ++i) {
      region_[d] = parts_[d][i];
      if (region_[d].begin == region_[d].end) continue;
      is_in_[d] = i == 1;
      choose_region(d + 1, is_inner && i == 1);
    }
  }

  /// Walks a region. Along the longest axis with inner positions, positions with the same terms are summed at once.
  void walk_region() noexcept {
    along_ = no_axis;
    for (std::size_t d = 0; d < sums_.rank(); ++d) {
      const auto longer = [&](std::size_t other) {
        return region_[d].end - region_[d].begin >= region_[other].end - region_[other].begin;
      };
      if (is_in_[d] && (along_ == no_axis || longer(along_))) along_ = d;
    }
    walk(0);
  }

  void walk(std::size_t d) noexcept {
    if (d == sums_.rank()) return along_ == no_axis ? sum(1) : sum_along();
    if (d == along_) return walk(d + 1);
    for (std::int64_t q = region_[d].begin; q < region_[d].end; ++q) {
      at_[d] = q;
      walk(d + 1);
    }
  }

  /// Sums positions that lie a stride apart. With every step, each term comes from the next window position.
  void sum_along() noexcept {
    const padded_sum_axis& axis = axes_[along_];
    const index_range& range = region_[along_];
    const std::int64_t phases = std::min(axis.stride, range.end - range.begin);
    for (std::int64_t phase = 0; phase < phases; ++phase) {
      for (std::int64_t q = range.begin + phase; q < range.end;) {
        std::int64_t count = std::min<std::int64_t>(ceil_divide(range.end - q, axis.stride), most_at_once);
        for (std::int64_t o = 0; o < axis.size; ++o) {
          const std::int64_t own = q - axis.first - o * axis.dilation;
          if (own % axis.stride != 0) continue;
          const std::int64_t index = own / axis.stride;
          if (index < 0) count = std::min(count, -index);
          if (index >= 0 && index < axis.windows) count = std::min(count, axis.windows - index);
        }
        at_[along_] = q;
        sum(count);
        q += count * axis.stride;
      }
    }
  }

  /// Sums `count` positions from at_ on, of all channels.
  void sum(std::int64_t count) noexcept {
    const sum_request& request = sums_.request;
    std::int64_t place = request.output_offset;
    for (std::size_t d = 0; d < sums_.rank(); ++d) {
      place = wrapping_add(place, wrapping_multiply(at_[d], axes_[d].output_stride));
    }
    const std::int64_t all = request.extents[1];
    rows_ = {count, 0, 0};
    if (along_ != no_axis) {
      rows_.source_stride = axes_[along_].window_stride;
      rows_.destination_stride = wrapping_multiply(axes_[along_].stride, axes_[along_].output_stride);
    }
    for (std::int64_t channel = channels_.begin; channel < channels_.end; channel += tile_.extent) {
      const std::int64_t n = channel / all;
      const std::int64_t c = channel % all;
      tile_ = {std::min({channels_.end - channel, all - c, most_at_once / count}),
               request.moves.axes[1].source_stride, request.output_strides[1]};
      const std::int64_t from = wrapping_add(
          request.moves.source_offset, wrapping_add(wrapping_multiply(n, request.moves.axes[0].source_stride),
                                                    wrapping_multiply(c, tile_.source_stride)));
      const std::int64_t to =
          wrapping_add(place, wrapping_add(wrapping_multiply(n, request.output_strides[0]),
                                           wrapping_multiply(c, tile_.destination_stride)));
      for (std::size_t i = 0; i < sizeof(T) / sizeof(part); ++i) {
        sum_tile(from, image_ + to + i * sizeof(part), columns_ + i * sizeof(part));
      }
    }
  }

  void sum_tile(std::int64_t from, std::byte* to, const std::byte* columns) noexcept {
    source_ = columns;
    has_terms_ = false;
    const bool accumulates = sums_.request.accumulates;
    for_each_sum(to, [&](accumulator& sum, std::byte* place) {
      sum = {};
      if (!accumulates) return;
      value held;
      std::memcpy(&held, place, sizeof(held));
      if constexpr (half<part>) {
        sum = to_float(held);
      } else {
        std::memcpy(&sum, &held, sizeof(held));
      }
    });
    choose_offset(0, from);
    if (accumulates && !has_terms_) return;
    for_each_sum(to, [](const accumulator& sum, std::byte* place) {
      if constexpr (half<part>) {
        part rounded;
        round_to(rounded, sum);
        std::memcpy(place, &rounded, sizeof(rounded));
      } else {
        std::memcpy(place, &sum, sizeof(part));
      }
    });
  }

  template <class Visit>
  void for_each_sum(std::byte* first, const Visit& visit) noexcept {
    for (std::int64_t c = 0; c < tile_.extent; ++c) {
      for (std::int64_t i = 0; i < rows_.extent; ++i) {
        visit(totals_[static_cast<std::size_t>(c * rows_.extent + i)],
              first + wrapping_add(wrapping_multiply(c, tile_.destination_stride),
                                   wrapping_multiply(i, rows_.destination_stride)));
      }
    }
  }

  /// Chooses the window offsets in ascending order. Offsets without a window are left out early.
  void choose_offset(std::size_t d, std::int64_t from) noexcept {
    if (d == sums_.rank()) return choose_window(0, from);
    const padded_sum_axis& axis = axes_[d];
    for (std::int64_t o = 0; o < axis.size; ++o) {
      std::size_t found = 0;
      for_each_window(d, o, [&](std::int64_t index) {
        if (found < most_listed) listed_[d][found] = index;
        ++found;
      });
      if (found == 0) continue;
      offsets_[d] = o;
      found_[d] = found;
      choose_offset(d + 1, wrapping_add(from, wrapping_multiply(o, axis.size_stride)));
    }
  }

  template <class Visit>
  void for_each_window(std::size_t d, std::int64_t o, Visit&& visit) const noexcept {
    const padded_sum_axis& axis = axes_[d];
    if (!is_in_[d]) return axis.for_each_window(at_[d], o, visit);
    const std::int64_t own = at_[d] - axis.first - o * axis.dilation;
    if (own >= 0 && own % axis.stride == 0 && own / axis.stride < axis.windows) visit(own / axis.stride);
  }

  void choose_window(std::size_t d, std::int64_t from) noexcept {
    if (d == sums_.rank()) return add(from);
    const auto choose = [&](std::int64_t index) {
      choose_window(d + 1, wrapping_add(from, wrapping_multiply(index, axes_[d].window_stride)));
    };
    if (found_[d] > most_listed) return for_each_window(d, offsets_[d], choose);
    for (std::size_t i = 0; i < found_[d]; ++i) choose(listed_[d][i]);
  }

  void add(std::int64_t from) noexcept {
    has_terms_ = true;
    const std::byte* const source = source_ + from;
    accumulator* total = totals_.data();
    const auto add_row = [&](const std::byte* row, std::int64_t step) {
      for (std::int64_t i = 0; i < rows_.extent; ++i) {
        value term;
        std::memcpy(&term, row + i * step, sizeof(term));
        total[i] = traits::add(total[i], term);
      }
      total += rows_.extent;
    };
    for (std::int64_t c = 0; c < tile_.extent; ++c) {
      const std::byte* const row = source + c * tile_.source_stride;
      if (rows_.source_stride == sizeof(T)) {
        add_row(row, sizeof(T));
      } else {
        add_row(row, rows_.source_stride);
      }
    }
  }

  static constexpr std::size_t no_axis = max_rank;
  static constexpr std::int64_t most_at_once = 256;
  static constexpr std::size_t most_listed = 16;

  const padded_sums& sums_;
  index_range channels_;
  const std::byte* columns_;
  std::byte* image_;
  std::array<padded_sum_axis, max_bounds> axes_;
  std::array<std::array<index_range, 3>, max_bounds> parts_;
  std::array<index_range, max_bounds> region_;
  std::array<bool, max_bounds> is_in_;       ///< whether positions of the region have only their own terms
  std::array<std::int64_t, max_bounds> at_;  ///< the position
  std::size_t along_ = no_axis;
  tile_axis rows_;  ///< positions that are summed at once
  tile_axis tile_;  ///< channels that are summed at once
  const std::byte* source_ = nullptr;
  bool has_terms_ = false;
  std::array<std::int64_t, max_bounds> offsets_;
  std::array<std::size_t, max_bounds> found_;  ///< windows of each axis, and the first of them
  std::array<std::array<std::int64_t, most_listed>, max_bounds> listed_;
  std::array<accumulator, most_at_once> totals_;
};

template <class T>
void sum_padded(const padded_sums& sums, const index_range& channels, const std::byte* columns,
                std::byte* image) {
  padded_summer<T>(sums, channels, columns, image).run();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
