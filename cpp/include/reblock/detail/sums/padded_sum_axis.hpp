// SPDX-License-Identifier: BSD-3-Clause
//
// A padded_sum_axis tells which terms a position of one axis has through the padding.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/padded_axis.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A position of an axis has terms through at most so many padded positions, or their windows are searched for each offset.
inline constexpr std::size_t most_images = 16;

/// The terms that a position of one axis has through one padded position: window `window` with offset `offset`, then
/// `advance` windows before with `cycle` offsets behind, `count` times.
struct image_terms {
  std::int64_t offset = 0;
  std::int64_t window = 0;
  std::int64_t count = 0;
  std::int64_t direction = 1;  ///< 1 or -1: where the padded position of the next position is
};

/// All terms that a position of one axis has.
struct position_terms {
  std::int64_t position = 0;
  bool is_listed = true;                        ///< whether all terms are in `images`
  std::size_t count = 0;                        ///< padded positions
  std::array<image_terms, most_images> images;  ///< in the order of addition
};

/// The windows whose same offset adds to a position. If there are more than most_images, they are not listed.
struct terms_of_offset {
  std::size_t count = 0;
  std::array<std::int64_t, most_images> windows;
  std::array<std::int64_t, most_images> directions;  ///< of the padded positions
};

/// An offset_list has the terms of a position of one axis, as distances in bytes from the columns' first element along the
/// axis. They are sorted by window offset.
struct offset_list {
  static constexpr std::size_t most_terms = 64;

  bool has_all = true;    ///< whether there was room for all terms
  std::size_t count = 0;  ///< offsets
  std::array<std::int64_t, most_terms> offsets;
  std::array<std::size_t, most_terms + 1> begins;  ///< where the terms of an offset begin
  std::array<std::int64_t, most_terms> distances;
  std::array<std::int64_t, most_terms> directions;  ///< of the padded positions
};

/// A term_run has positions of one axis that get a term of the same window offset: position `first` from window `window`,
/// and so on. Positions follow each other by `step`, windows by one.
struct term_run {
  std::int64_t first = 0;
  std::int64_t step = 0;
  std::int64_t count = 0;
  std::int64_t window = 0;

  /// Keeps the positions in a range.
  constexpr term_run inside(const index_range& range) const noexcept {
    if (count <= 0 || step == 0) return range.begin <= first && first < range.end ? *this : term_run{};
    const auto [begin, end] =
        step > 0 ? indices_between(range.begin - first, range.end - first, step, count)
                 : indices_between(first - range.end + 1, first - range.begin + 1, -step, count);
    return {first + begin * step, step, end - begin, window + begin};
  }
};

/// A padded_sum_axis describes one spatial axis. Window l adds its term of offset o to the padded position
/// first + o * dilation + l * stride. Strides of memory are in bytes.
struct padded_sum_axis {
  std::int64_t size = 1;     ///< window offsets
  std::int64_t windows = 1;  ///< windows
  std::int64_t dilation = 1;
  std::int64_t stride = 1;
  std::int64_t first = 0;
  padded_axis image;
  std::int64_t size_stride = 0;
  std::int64_t window_stride = 0;
  std::int64_t output_stride = 0;
  std::int64_t common = std::gcd(stride, dilation);
  std::int64_t cycle = stride / common;      ///< offsets from one term of a position to the next
  std::int64_t advance = dilation / common;  ///< windows between them

  /// Returns the positions whose only terms are their own. The others are before and behind them.
  constexpr index_range inner() const noexcept {
    const std::int64_t extent = image.extent;
    const std::int64_t start = std::max<std::int64_t>(-first, 0);
    const std::int64_t end = std::max<std::int64_t>(last() - extent + 1, 0);
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

  constexpr std::int64_t last() const noexcept {
    return first + (size - 1) * dilation + (windows - 1) * stride;
  }

  /// Returns the terms of position q. Its own come first, then those of the padding before the image and behind it.
  constexpr position_terms terms_of(std::int64_t q) const noexcept {
    position_terms all = own_terms(q);
    if (windows == 0) return all;
    if (first < 0) add_images(all, first, std::min<std::int64_t>(last(), -1), 0);
    if (last() >= image.extent) {
      add_images(all, std::max(first, image.extent), last(), image.extent - 1);
    }
    return all;
  }
  /// Returns the terms of position q that are not from the padding.
  constexpr position_terms own_terms(std::int64_t q) const noexcept {
    position_terms own;
    own.position = q;
    if (windows > 0 && first <= q && q <= last()) add_image(own, q);
    return own;
  }

  /// Returns for how many positions q, q + stride, ... the own terms come from the next windows.
  constexpr std::int64_t positions_with_same_windows(std::int64_t q) const noexcept {
    std::int64_t count = std::numeric_limits<std::int64_t>::max();
    image_terms found;
    if (!find_first(q - first, found)) return count;
    for (std::int64_t o = found.offset, window = found.window; o < size; o += cycle, window -= advance) {
      if (window < 0) return std::min(count, -window);
      if (window < windows) count = std::min(count, windows - window);
    }
    return count;
  }

  /// Returns how many positions from that of `all` on have the same terms, each with its offset one further, or one back, from
  /// position to position. Their order stays. Returns 1 if that is not known.
  constexpr std::int64_t positions_with_same_terms(const position_terms& all) const noexcept {
    const std::int64_t q = all.position;
    const std::int64_t period = image.period();
    // Only then each padded position has terms.
    const bool has_no_gaps = dilation == 1 && size >= stride;
    // At both ends, a reflection is the position itself.
    if (!all.is_listed || !has_no_gaps || period == 0 || q == 0 || q >= image.extent - 1) return 1;
    std::int64_t count = image.extent - 1 - q;
    const auto keep = [&](std::int64_t limit) { count = std::min(count, limit); };
    if (q < first) keep(first - q);  // there, its own terms begin
    // until the padding has a further position
    for (const auto& [begin, end] : {index_range{first, std::min<std::int64_t>(last(), -1)},
                                     index_range{std::max(first, image.extent), last()}}) {
      if (begin > end) continue;
      keep(period - floor_modulo(q - begin, period));
      keep(period - floor_modulo(end - image.mirrored(q), period));
    }
    for (std::size_t i = 0; i < all.count; ++i) {
      const image_terms& terms = all.images[i];
      const std::int64_t last_offset = terms.offset + (terms.count - 1) * stride;
      const std::int64_t last_window = terms.window - (terms.count - 1);
      if (terms.direction > 0) {
        keep(size - last_offset);
        if (terms.window + 1 < windows) keep(stride - terms.offset);
      } else {
        keep(terms.offset + 1);
        if (last_window > 0) keep(last_offset + stride - size + 1);
      }
      for (std::size_t k = 0; k < all.count && terms.direction > 0; ++k) {
        if (all.images[k].direction > 0) continue;
        // They come closer by two. Of equal offsets, the first image's comes first.
        const std::int64_t apart = floor_modulo(all.images[k].offset - terms.offset, stride);
        if (i < k) keep(apart / 2 + 1);
        if (i > k) keep((apart == 0 ? stride - 1 : apart - 1) / 2 + 1);
      }
    }
    return std::max<std::int64_t>(count, 1);
  }

  /// Calls visit(o, windows) for each offset o that adds to a position, in ascending order.
  template <class Visit>
  constexpr void for_each_offset(const position_terms& all, const Visit& visit) const {
    terms_of_offset found;
    if (!all.is_listed) {
      for (std::int64_t o = 0; o < size; ++o) {
        found.count = 0;
        for_each_window(all.position, o, [&](std::int64_t window) {
          if (found.count < most_images) found.windows[found.count] = window;
          ++found.count;
        });
        if (found.count > 0) visit(o, std::as_const(found));
      }
      return;
    }
    std::array<image_terms, most_images> next;
    std::copy_n(all.images.begin(), all.count, next.begin());
    for (;;) {
      std::int64_t o = size;
      for (std::size_t i = 0; i < all.count; ++i) {
        if (next[i].count > 0) o = std::min(o, next[i].offset);
      }
      if (o == size) return;
      found.count = 0;
      for (std::size_t i = 0; i < all.count; ++i) {
        if (next[i].count == 0 || next[i].offset != o) continue;
        found.windows[found.count] = next[i].window;
        found.directions[found.count++] = next[i].direction;
        next[i] = {o + cycle, next[i].window - advance, next[i].count - 1, next[i].direction};
      }
      visit(o, std::as_const(found));
    }
  }

  /// Lists the terms of a position if there is room for them.
  constexpr void list(const position_terms& all, offset_list& to) const noexcept {
    to.count = 0;
    to.has_all = all.is_listed;
    to.begins[0] = 0;
    if (!all.is_listed) return;
    std::size_t used = 0;
    for_each_offset(all, [&](std::int64_t o, const terms_of_offset& terms) {
      to.has_all = to.has_all && terms.count <= offset_list::most_terms - used;
      if (!to.has_all) return;
      const std::int64_t first_distance = wrapping_multiply(o, size_stride);
      for (std::size_t i = 0; i < terms.count; ++i) {
        to.directions[used] = terms.directions[i];
        to.distances[used++] =
            wrapping_add(first_distance, wrapping_multiply(terms.windows[i], window_stride));
      }
      to.offsets[to.count++] = o;
      to.begins[to.count] = used;
    });
  }

  /// Calls visit(run) for the runs of window offset `o`, in the order of addition: positions of their own, the padding before
  /// the image, the padding behind it.
  template <class Visit>
  constexpr void for_each_run(std::int64_t o, const Visit& visit) const {
    const std::int64_t base = first + o * dilation;
    const auto [begin, end] = indices_between(-base, image.extent - base, stride, windows);
    if (begin < end) visit(term_run{base + begin * stride, stride, end - begin, begin});
    for (const auto& [from, to] : {index_range{0, begin}, index_range{end, windows}}) {
      for (std::int64_t window = from; window < to;) {
        const padded_piece next = image.piece_at(base + window * stride, to - window, stride);
        visit(term_run{next.first, next.step, next.count, window});
        window += next.count;
      }
    }
  }

  /// Calls visit(l) for each window l whose offset o adds to position q, in the order of addition.
  template <class Visit>
  constexpr void for_each_window(std::int64_t q, std::int64_t o, const Visit& visit) const {
    for_each_run(o, [&](const term_run& all) {
      const term_run at = all.inside({q, q + 1});
      for (std::int64_t i = 0; i < at.count; ++i) visit(at.window + i);
    });
  }

 private:
  /// Finds the smallest offset whose elements lie `distance` behind the first window's first element, or that of a window
  /// before it or behind it.
  constexpr bool find_first(std::int64_t distance, image_terms& found) const noexcept {
    if (distance % common != 0) return false;
    const std::int64_t wanted = floor_modulo(distance, stride);
    const std::int64_t by = floor_modulo(dilation, stride);
    const std::int64_t limit = std::min(cycle, size);
    std::int64_t o = by == 1 ? wanted : 0;
    for (std::int64_t reached = 0; by != 1 && o < limit && reached != wanted; ++o) {
      reached += by;
      if (reached >= stride) reached -= stride;
    }
    if (o >= limit) return false;
    found.offset = o;
    found.window = (distance - o * dilation) / stride;
    return true;
  }

  /// Adds the terms through padded position p.
  constexpr void add_image(position_terms& all, std::int64_t position,
                           std::int64_t direction = 1) const noexcept {
    image_terms found;
    if (!find_first(position - first, found)) return;
    const std::int64_t skipped =
        found.window < windows ? 0 : ceil_divide(found.window - windows + 1, advance);
    const std::int64_t end =
        std::min(ceil_divide(size - found.offset, cycle), found.window < 0 ? 0 : found.window / advance + 1);
    if (skipped >= end) return;
    if (all.count == most_images) {
      all.is_listed = false;
      return;
    }
    all.images[all.count++] = {found.offset + skipped * cycle, found.window - skipped * advance,
                               end - skipped, direction};
  }

  /// Adds the terms through the padded positions from `begin` to `end` that stand for the position. `edge` is the
  /// image's position beside them.
  constexpr void add_images(position_terms& all, std::int64_t begin, std::int64_t end,
                            std::int64_t edge) const noexcept {
    const std::int64_t q = all.position;
    const std::int64_t period = image.period();
    if (period == 0 && q != edge) return;
    // Windows far apart leave many positions to try.
    constexpr std::int64_t most_tried = 4 * std::int64_t{most_images};
    if ((end - begin) / std::max<std::int64_t>(period, 1) >= most_tried) {
      all.is_listed = false;
      return;
    }
    if (period == 0) {
      for (std::int64_t position = begin; position <= end && all.is_listed; ++position)
        add_image(all, position);
      return;
    }
    const auto first_from_begin = [&](std::int64_t place) {
      return begin + floor_modulo(place - begin, period);
    };
    std::int64_t own = first_from_begin(q);
    std::int64_t mirrored = first_from_begin(image.mirrored(q));
    if (own == mirrored) mirrored = end + 1;
    while (all.is_listed && (own <= end || mirrored <= end)) {
      std::int64_t& least = own < mirrored ? own : mirrored;
      add_image(all, least, own < mirrored ? 1 : -1);
      least = least <= end - period ? least + period : end + 1;
    }
  }

  static constexpr std::int64_t floor_modulo(std::int64_t a, std::int64_t b) noexcept {
    return a - floor_divide(a, b) * b;
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
