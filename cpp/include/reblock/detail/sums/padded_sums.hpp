// SPDX-License-Identifier: BSD-3-Clause
//
// These functions sum the positions that have terms from the padding, one run of positions at a time. The positions
// without such terms are a box: the plain sums of fold fill it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/padded_axis.hpp>
#include <reblock/detail/reductions/accumulation.hpp>
#include <reblock/detail/reductions/reduced_rows.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/detail/sums/padded_bands.hpp>
#include <reblock/detail/sums/padded_sum_axis.hpp>
#include <reblock/fold_options.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

struct padded_sums;

/// Describes plain sums as a reduction.
inline reducer reducer_of(const sum_request& request) noexcept {
  if (request.reduce != nullptr) return *request.reduce;
  const element_format format{element_type::none, request.sum.is_pair, request.sum.element_size};
  return {{format, format}, fold_reduction::sum, {}, request.accumulates};
}

/// Sums the positions with terms from the padding, of some channels. Channels are counted through all images.
using padded_sum_function = void (*)(const padded_sums& sums, const index_range& channels,
                                     const std::byte* columns, std::byte* image);

/// padded_sums describes all sums of fold with a padding mode. It is trivially copyable.
struct padded_sums {
  sum_request request;
  padded_sum_function run = nullptr;
  const reduction_functions::by_set* sum = nullptr;  ///< of plain sums

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

  std::array<padded_sum_axis, max_bounds> axes() const noexcept {
    std::array<padded_sum_axis, max_bounds> all;
    for (std::size_t d = 0; d < rank(); ++d) all[d] = axis(d);
    return all;
  }
  /// Tells whether all positions are summed in bands. There is no inner part then.
  bool are_in_bands() const noexcept { return padded_bands::fits(reducer_of(request), rank(), axes()); }

  /// Returns the axis along which channels are taken together: that of the images if each has one channel.
  std::size_t channel_axis() const noexcept { return request.extents[1] == 1 ? 0 : 1; }
  /// Returns the offsets in bytes of a channel in the columns and in the image.
  std::pair<std::int64_t, std::int64_t> offsets_of(std::int64_t channel) const noexcept {
    const std::size_t i = channel_axis();
    const std::int64_t n = channel / request.extents[i];  // 0 if all images have one channel
    const std::int64_t c = channel % request.extents[i];
    const auto along = [&](std::int64_t image, std::int64_t step) {
      return wrapping_add(wrapping_multiply(n, image), wrapping_multiply(c, step));
    };
    return {along(request.moves.axes[0].source_stride, request.moves.axes[i].source_stride),
            along(request.output_strides[0], request.output_strides[i])};
  }

  /// Counts groups of channels. All columns of a group stay in a cache, so the positions inside and those at the edges read
  /// them from memory once. Each group lists the terms of its positions anew: there is one if groups would have few channels.
  std::int64_t groups() const noexcept {
    const std::int64_t all = request.extents[channel_axis()];
    const bool are_far =
        static_cast<double>(total_bytes(request.moves, request.sum.element_size)) > cache_sizes::outer_level;
    if (!are_far || std::min(all, cached_channels()) < padding_costs::least_grouped) return 1;
    return channels() / all * groups_of_image();
  }
  index_range group(std::int64_t i) const noexcept {
    const std::int64_t all = request.extents[channel_axis()];
    const std::int64_t each = (all - 1) / groups_of_image() + 1;
    const std::int64_t first = i / groups_of_image() * all;
    const std::int64_t begin = i % groups_of_image() * each;
    return {first + std::min(begin, all), first + std::min(begin + each, all)};
  }
  /// Counts the channels whose columns stay in a cache while all their bands are summed.
  std::int64_t cached_channels() const noexcept {
    std::int64_t rest = padding_costs::grouped_bytes / request.sum.element_size;
    for (std::size_t i = 2; i < request.moves.rank; ++i) {
      rest /= std::max<std::int64_t>(request.moves.axes[i].extent, 1);
    }
    return std::max<std::int64_t>(rest, 1);
  }
  /// Keeps so many channels of one image.
  void keep_channels(sum_request& part, std::int64_t count) const noexcept {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t extent = i == channel_axis() ? count : 1;
      part.extents[i] = part.moves.axes[i].extent = extent;
    }
  }

  /// Tells whether the plain sums are those of all positions, because whole rows are faster. Sums that accumulate would begin
  /// from these sums.
  bool sums_all_inside() const noexcept {
    double share = 1;
    for (std::size_t d = 0; d < rank(); ++d) {
      const index_range inner = axis(d).inner();
      share *= static_cast<double>(inner.end - inner.begin) / static_cast<double>(request.extents[2 + d]);
    }
    return !request.accumulates && share >= padding_costs::least_inner_share;
  }

  /// Returns the plain sums of the positions without terms from the padding, and sometimes of all positions: these are summed
  /// again later. If sums accumulate, it leaves out positions without terms. Its output begins `output_offset` bytes behind
  /// the whole output.
  sum_request inner() const noexcept {
    sum_request part = request;
    part.mode = padding_mode::constant;
    if (sums_all_inside()) return part;
    for (std::size_t d = 0; d < rank(); ++d) {
      const padded_sum_axis along = axis(d);
      index_range range = along.inner();
      if (part.accumulates) {
        range.begin = std::clamp(along.first, range.begin, range.end);
        range.end = along.windows == 0 ? range.begin : std::clamp(along.last() + 1, range.begin, range.end);
      }
      part.extents[2 + d] = range.end - range.begin;
      part.moves.bounds[d] = {along.first - range.begin, range.end - range.begin};
      const std::int64_t before = wrapping_multiply(range.begin, along.output_stride);
      part.output_offset = wrapping_add(part.output_offset, before);
      part.moves.destination_offset = wrapping_subtract(part.moves.destination_offset, before);
    }
    return part;
  }

 private:
  std::int64_t groups_of_image() const noexcept {
    return (request.extents[channel_axis()] - 1) / cached_channels() + 1;
  }
};
static_assert(std::is_trivially_copyable_v<padded_sums>);

/// A padded_summer walks the positions that have terms from the padding.
class padded_summer {
 public:
  padded_summer(const padded_sums& sums, const index_range& channels, const std::byte* columns,
                std::byte* image) noexcept
      : sums_(sums),
        how_(reducer_of(sums.request)),
        channels_(channels),
        columns_(columns),
        image_(image),
        rows_(how_) {
    for (std::size_t d = 0; d < sums.rank(); ++d) {
      axes_[d] = sums.axis(d);
      cut(axes_[d], parts_[d]);
    }
  }

  /// Walks all regions: each axis has positions before, in, or behind its inner part.
  void run() noexcept { choose_region(0, true); }

 private:
  /// A part of an axis has positions with their own terms only, or others. Where all axes have the former, plain sums have
  /// summed them.
  struct part {
    index_range range{0, 0};
    bool is_in = false;
  };
  using parts = std::array<part, 5>;

  /// Cuts an axis. A reflection is not that of the positions at both ends, which have their own terms.
  void cut(const padded_sum_axis& axis, parts& to) const noexcept {
    const index_range inner = axis.inner();
    const std::int64_t extent = axis.image.extent;
    const bool has_ends = sums_.sums_all_inside() && axis.image.mode == padding_mode::reflection;
    const std::int64_t first = has_ends && inner.begin > 0 && inner.begin < extent ? 1 : 0;
    const std::int64_t last = has_ends && inner.end < extent && inner.end > 0 ? 1 : 0;
    to[0] = {{0, first}, true};
    to[1] = {{first, inner.begin}, false};
    to[2] = {inner, true};
    to[3] = {{inner.end, extent - last}, false};
    to[4] = {{extent - last, extent}, true};
  }

  void choose_region(std::size_t d, bool is_inner) noexcept {
    if (d == sums_.rank()) {
      if (!is_inner) walk_region();
      return;
    }
    for (const part& next : parts_[d]) {
      region_[d] = next.range;
      if (region_[d].begin == region_[d].end) continue;
      is_in_[d] = next.is_in;
      choose_region(d + 1, is_inner && next.is_in);
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
    choose_tile();
    if (along_ == no_axis && sums_.rank() == 1 && !rows_.is_weighted()) return walk_line();
    walk(0);
  }

  /// Chooses the other axis of the elements that are summed at once: the channels, or the images if there is one channel.
  void choose_tile() noexcept {
    const sum_request& request = sums_.request;
    const std::size_t i = sums_.channel_axis();
    tile_ = {request.extents[i], request.moves.axes[i].source_stride, request.output_strides[i]};
    positions_ = {};
    if (along_ != no_axis) {
      const padded_sum_axis& axis = axes_[along_];
      positions_ = {axis.window_stride, wrapping_multiply(axis.stride, axis.output_stride)};
    }
    const std::int64_t size = how_.types.terms.size;
    tile_is_row_ = along_ == no_axis || (tile_.source_stride == size && positions_.source != size);
    most_positions_ = rows_.most_elements();
    if (tile_is_row_) most_positions_ /= std::min(tile_.extent, most_positions_);
    const reduced_rows::steps along_tile{tile_.source_stride, tile_.destination_stride};
    if (tile_is_row_) {
      rows_.set_steps(along_tile, positions_);
    } else {
      rows_.set_steps(positions_, along_tile);
    }
  }

  void walk(std::size_t d) noexcept {
    if (d == sums_.rank()) return along_ == no_axis ? sum(1) : sum_along();
    if (d == along_) return walk(d + 1);
    for (std::int64_t q = region_[d].begin; q < region_[d].end; ++q) {
      take_terms(d, axes_[d].terms_of(q));
      walk(d + 1);
    }
  }

  /// Walks the positions of the only axis. Neighbouring positions often have terms of neighbouring offsets. These positions
  /// are summed at once, unless there are channels side by side.
  void walk_line() noexcept {
    const padded_sum_axis& axis = axes_[0];
    const bool has_channels =
        tile_.source_stride == how_.types.terms.size && tile_.extent >= padding_costs::many_channels;
    for (std::int64_t q = region_[0].begin; q < region_[0].end;) {
      take_terms(0, axis.terms_of(q));
      std::int64_t count = 1;
      if (!has_channels && lists_[0].has_all && lists_[0].count > 0) {
        const std::int64_t limit = std::min(region_[0].end - q, rows_.most_elements());
        count = std::min(limit, axis.positions_with_same_terms(terms_[0]));
      }
      if (count == 1) {
        sum(1);
      } else {
        sum_line(count);
      }
      q += count;
    }
  }

  /// Sums `count` neighbouring positions of the only axis, whose terms follow the directions in the list.
  void sum_line(std::int64_t count) noexcept {
    const padded_sum_axis& axis = axes_[0];
    const offset_list& list = lists_[0];
    const std::size_t terms = list.begins[list.count];
    const auto term_count = static_cast<std::int64_t>(terms);
    const bool is_mean = how_.by == fold_reduction::mean;
    const accumulation& functions = functions_for(term_count);
    const std::int64_t place =
        wrapping_add(sums_.request.output_offset, wrapping_multiply(at_[0], axis.output_stride));
    for_each_group(count, [&](const std::byte* source, std::byte* image, std::int64_t at_once) {
      const auto choose_direction = [&](std::int64_t direction) {
        rows_.set_steps({wrapping_multiply(direction, axis.size_stride), axis.output_stride},
                        {tile_.source_stride, tile_.destination_stride});
      };
      choose_direction(1);
      rows_.set_size(at_once, count);
      rows_.begin(functions, image + place);
      for (std::size_t t = 0; t < terms; ++t) {
        choose_direction(list.directions[t]);
        rows_.add(source, {&list.distances[t], 1}, weights_of_terms_, {});
      }
      rows_.finish(image + place, {is_mean ? term_count : 1, nullptr, true, is_mean});
    });
    choose_tile();
  }

  const accumulation& functions_for(std::int64_t term_count) const noexcept {
    return sums_.sum != nullptr ? usable(*sums_.sum) : functions_of(how_, term_count);
  }

  /// Calls take(source, image, channels) for groups of channels, for sums of `count` positions each.
  template <class Take>
  void for_each_group(std::int64_t count, const Take& take) noexcept {
    const std::int64_t all = tile_.extent;
    const std::int64_t limit = rows_.most_elements() / count;
    for (std::int64_t channel = channels_.begin, at_once = 0; channel < channels_.end; channel += at_once) {
      at_once = std::min({channels_.end - channel, all - channel % all, limit});
      const auto [from, at] = sums_.offsets_of(channel);
      take(columns_ + wrapping_add(sums_.request.moves.source_offset, from), image_ + at, at_once);
    }
  }

  /// Sums positions that lie a stride apart: with every step, each term comes from the next window.
  void sum_along() noexcept {
    const padded_sum_axis& axis = axes_[along_];
    const index_range& range = region_[along_];
    const std::int64_t phases = std::min(axis.stride, range.end - range.begin);
    for (std::int64_t phase = 0; phase < phases; ++phase) {
      for (std::int64_t q = range.begin + phase; q < range.end;) {
        const std::int64_t rest = ceil_divide(range.end - q, axis.stride);
        const std::int64_t count = std::min({rest, most_positions_, axis.positions_with_same_windows(q)});
        take_terms(along_, axis.own_terms(q));
        sum(count);
        q += count * axis.stride;
      }
    }
  }

  /// Goes to a position of axis `d`.
  void take_terms(std::size_t d, const position_terms& all) noexcept {
    at_[d] = all.position;
    terms_[d] = all;
    axes_[d].list(all, lists_[d]);
  }

  /// Sums `count` positions from at_ on, of all channels. They have the same terms. If all terms are in the list, they are
  /// listed once for all channels.
  void sum(std::int64_t count) noexcept {
    std::int64_t term_count = 0;
    double weight = 0;  // of all terms
    const auto count_terms = [&] {
      term_count += static_cast<std::int64_t>(listed_);
      for (std::size_t t = 0; t < listed_ && rows_.is_weighted(); ++t) weight += weights_[t];
    };
    list_terms(taker(count_terms));
    if (term_count == 0 && how_.accumulates) return;
    const quotient by{how_.by == fold_reduction::mean ? term_count : 1, &weight, true,
                      how_.by == fold_reduction::mean};
    quotient by_terms = by;
    if (!by.is_mean || !rows_.is_weighted()) by_terms.factors = nullptr;
    weight = how_.factor_of_mean(weight);
    const accumulation& functions = functions_for(term_count);

    std::int64_t place = sums_.request.output_offset;
    for (std::size_t d = 0; d < sums_.rank(); ++d) {
      place = wrapping_add(place, wrapping_multiply(at_[d], axes_[d].output_stride));
    }
    for_each_group(count, [&](const std::byte* source, std::byte* image, std::int64_t at_once) {
      std::byte* const to = image + place;
      rows_.set_size(tile_is_row_ ? count : at_once, tile_is_row_ ? at_once : count);
      if (term_count == 0) return rows_.clear(to);
      rows_.begin(functions, to);
      const auto add = [&] { rows_.add(source, {offsets_, listed_}, weights_of_terms_, {}); };
      if (term_count <= std::int64_t{reduced_rows::most_terms}) {
        add();
      } else {
        list_terms(taker(add));
      }
      rows_.finish(to, by_terms);
    });
  }

  /// A taker calls a function that takes the listed terms. It is no template, so the terms are listed by one function.
  class taker {
   public:
    template <class Take>
    explicit taker(const Take& take) noexcept
        : take_(&take), call_([](const void* self) { (*static_cast<const Take*>(self))(); }) {}
    void operator()() const { call_(take_); }

   private:
    const void* take_;
    void (*call_)(const void*);
  };

  /// Lists the terms in the order of addition. Calls `take` when the list is full, and at the end.
  void list_terms(const taker& take) noexcept {
    listed_ = 0;
    choose_offset(0, 0, take);
    take();
  }

  /// Chooses the window offsets in ascending order. Offsets without a window are left out early.
  [[gnu::noinline]] void choose_offset(std::size_t d, std::int64_t from, const taker& take) noexcept {
    if (d == sums_.rank()) return choose_window(0, from, take);
    const padded_sum_axis& axis = axes_[d];
    if (const offset_list& list = lists_[d]; list.has_all) {
      for (std::size_t i = 0; i < list.count; ++i) {
        offset_[d] = list.offsets[i];
        chosen_[d] = i;
        choose_offset(d + 1, from, take);
      }
      return;
    }
    axis.for_each_offset(terms_[d], [&](std::int64_t o, const terms_of_offset& terms) {
      offset_[d] = o;
      found_[d] = &terms;
      choose_offset(d + 1, wrapping_add(from, wrapping_multiply(o, axis.size_stride)), take);
    });
  }

  void choose_window(std::size_t d, std::int64_t from, const taker& take) noexcept {
    if (d == sums_.rank()) return list_term(from, take);
    if (const offset_list& list = lists_[d]; list.has_all) {
      for (std::size_t i = list.begins[chosen_[d]]; i < list.begins[chosen_[d] + 1]; ++i) {
        choose_window(d + 1, wrapping_add(from, list.distances[i]), take);
      }
      return;
    }
    const auto choose = [&](std::int64_t window) {
      choose_window(d + 1, wrapping_add(from, wrapping_multiply(window, axes_[d].window_stride)), take);
    };
    const terms_of_offset& terms = *found_[d];
    if (terms.count > most_images) return axes_[d].for_each_window(at_[d], offset_[d], choose);
    for (std::size_t i = 0; i < terms.count; ++i) choose(terms.windows[i]);
  }

  void list_term(std::int64_t from, const taker& take) noexcept {
    if (listed_ == reduced_rows::most_terms) {
      take();
      listed_ = 0;
    }
    offsets_[listed_] = from;
    if (rows_.is_weighted()) {
      weights_[listed_] = weight_at(how_.weights, offset_, sums_.rank());
      weights_of_terms_[listed_] = &weights_[listed_];
    }
    ++listed_;
  }

  static constexpr std::size_t no_axis = max_rank;

  const padded_sums& sums_;
  const reducer how_;
  index_range channels_;
  const std::byte* columns_;
  std::byte* image_;
  std::array<padded_sum_axis, max_bounds> axes_;
  std::array<parts, max_bounds> parts_;
  std::array<index_range, max_bounds> region_;
  std::array<bool, max_bounds> is_in_;       ///< whether positions of the region have only their own terms
  std::array<std::int64_t, max_bounds> at_;  ///< the position
  std::array<position_terms, max_bounds> terms_;
  std::size_t along_ = no_axis;
  reduced_rows::steps positions_;    ///< along the positions that are summed at once
  std::int64_t most_positions_ = 1;  ///< so many
  tile_axis tile_;                   ///< the channels or images that are summed at once
  bool tile_is_row_ = false;  ///< whether they lie along the rows of accumulators, else the positions do
  std::array<std::int64_t, max_bounds> offset_;  ///< in the window, of the listed term
  std::array<offset_list, max_bounds> lists_;
  std::array<std::size_t, max_bounds> chosen_;            ///< the offset's number in the list
  std::array<const terms_of_offset*, max_bounds> found_;  ///< the offset's windows if they are not listed
  std::size_t listed_ = 0;
  std::int64_t offsets_[reduced_rows::most_terms];
  double weights_[reduced_rows::most_terms];
  const double* weights_of_terms_[reduced_rows::most_terms];
  reduced_rows rows_;
};

/// Sums all positions of some channels in bands.
[[gnu::noinline]] inline void sum_bands(const padded_sums& sums, const index_range& channels,
                                        const std::byte* columns, std::byte* image) noexcept {
  const reducer how = reducer_of(sums.request);
  const std::array<padded_sum_axis, max_bounds> axes = sums.axes();
  const accumulation& functions =
      sums.sum != nullptr ? usable(*sums.sum) : functions_of(how, padded_bands::most_terms);
  padded_bands bands(how, functions, sums.rank(), axes);
  const layout& moves = sums.request.moves;
  const std::size_t c = sums.channel_axis();
  const index_range readable = readable_bytes(moves, sums.request.sum.element_size);
  const bool is_dense = readable.begin != readable.end;
  const bool are_far =
      static_cast<double>(total_bytes(moves, sums.request.sum.element_size)) > cache_sizes::outer_level;
  const std::int64_t each = sums.cached_channels();
  for (std::int64_t first = channels.begin; first < channels.end; first += each) {
    const std::int64_t end = std::min(first + each, channels.end);
    bands.for_each_band([&] {
      for (std::int64_t channel = first, count = 0; channel < end; channel += count) {
        const std::int64_t of_image = sums.request.extents[c];
        count = std::min(end - channel, of_image - channel % of_image);
        const auto [from, to] = sums.offsets_of(channel);
        const std::int64_t at = wrapping_add(moves.source_offset, from);
        const index_range rest =
            is_dense ? index_range{readable.begin - at, readable.end - at} : index_range{};
        bands.sum({columns + at, image + wrapping_add(sums.request.output_offset, to), count,
                   moves.axes[c].source_stride, sums.request.output_strides[c], rest, are_far});
      }
    });
  }
}

[[gnu::noinline]] inline void sum_outer(const padded_sums& sums, const index_range& channels,
                                        const std::byte* columns, std::byte* image) noexcept {
  padded_summer(sums, channels, columns, image).run();
}

inline void sum_padded(const padded_sums& sums, const index_range& channels, const std::byte* columns,
                       std::byte* image) {
  (sums.are_in_bands() ? sum_bands : sum_outer)(sums, channels, columns, image);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
