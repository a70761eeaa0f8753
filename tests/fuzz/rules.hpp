// SPDX-License-Identifier: BSD-3-Clause
//
// What makes a description valid, written down a second time: in 128 bits, which do not overflow here,
// and as one expression of conditions, without a message for each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <reblock/operator.hpp>

#include "../cpp/oracle.hpp"
#include "definitions.hpp"

namespace reblock::fuzz {

using wide = __int128;
inline constexpr wide enormous = wide{1} << 63;

/// The product, or `enormous` where it is at least as large. For factors from 0 to 2^63.
inline wide capped_product(const axis_values& factors, wide product = 1) {
  for (const std::int64_t factor : factors) {
    product *= factor;
    if (product > enormous) product = enormous;
  }
  return product;
}

inline bool all_from(std::int64_t least, const axis_values& values) {
  for (const std::int64_t value : values) {
    if (value < least) return false;
  }
  return true;
}

inline bool is_tensor(const tensor_desc& desc) {
  const auto type = static_cast<std::uint32_t>(desc.type);
  if (type < 1 || type > 11 || desc.sizes.given() < 1 || desc.sizes.given() > 8) return false;
  if (!all_from(1, desc.sizes) || capped_product(desc.sizes) > 0xffffffff) return false;
  if (!desc.strides) return true;
  if (desc.strides->given() != desc.sizes.given() || !all_from(0, *desc.strides)) return false;
  wide span = 1;
  for (std::size_t i = 0; i < desc.sizes.size(); ++i) span += wide{desc.sizes[i] - 1} * (*desc.strides)[i];
  return span * wide{element_size(desc.type)} <= std::numeric_limits<std::ptrdiff_t>::max() / 4;
}

/// One value for each axis, none below `least`.
inline std::optional<axis_values> expanded(const spatial_values& given, std::size_t axes,
                                           std::int64_t least) {
  if (!given.uniform() && given.values().given() != axes) return std::nullopt;
  axis_values values;
  for (std::size_t d = 0; d < axes; ++d) values.push_back(given.values()[given.uniform() ? 0 : d]);
  return all_from(least, values) ? std::optional(values) : std::nullopt;
}

/// The window with one value for each spatial axis.
inline std::optional<window> expanded(const window& given, std::size_t axes) {
  const auto sizes = expanded(given.sizes, axes, 1);
  const auto strides = expanded(given.strides, axes, 1);
  const auto dilations = expanded(given.dilations, axes, 1);
  const auto start_padding = expanded(given.start_padding, axes, 0);
  const auto end_padding = expanded(given.end_padding, axes, 0);
  if (!sizes || !strides || !dilations || !start_padding || !end_padding) return std::nullopt;
  window each{*sizes, *strides, *dilations, *start_padding, *end_padding, given.padding_mode, given.order};
  if (static_cast<std::uint32_t>(each.padding_mode) > 4 || static_cast<std::uint32_t>(each.order) > 1) {
    return std::nullopt;
  }
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const auto start = expanded(given.blocks.start, axes, least);
  const auto stop = expanded(given.blocks.stop, axes, least);
  if (!start || !stop) return std::nullopt;
  each.blocks = {*start, *stop};
  return each;
}

/// The number of window positions in a range, of `all` along an axis; nothing where they are not among these.
inline std::optional<std::int64_t> count_of(std::int64_t start, std::int64_t stop, wide all) {
  const wide first = start < 0 ? start + all : start;
  const wide last = stop == block_range::end ? all : stop < 0 ? stop + all : stop;
  if (first < 0 || last > all || first > last) return std::nullopt;
  return static_cast<std::int64_t>(last - first);
}

/// {N, C*K, L}; nothing where the window does not fit, or where a padded extent or an extent of the
/// columns has no 64-bit value.
inline std::optional<axis_values> columns_of(const axis_values& image, std::size_t channel_axis,
                                             const window& w) {
  const axis_values spatial = oracle::spatial(image, channel_axis);
  axis_values counts;
  for (std::size_t d = 0; d < spatial.size(); ++d) {
    const wide padded = wide{spatial[d]} + w.start_padding.values()[d] + w.end_padding.values()[d];
    const wide span = wide{w.sizes.values()[d] - 1} * w.dilations.values()[d] + 1;
    if (padded >= enormous || span > padded) return std::nullopt;
    if (w.padding_mode != padding_mode::constant && spatial[d] == 0 && padded > 0) return std::nullopt;
    const auto count =
        count_of(w.blocks.start.at(d), w.blocks.stop.at(d), (padded - span) / w.strides.values()[d] + 1);
    if (!count) return std::nullopt;
    counts.push_back(*count);
  }
  const wide rows = capped_product(w.sizes.values(), image[channel_axis]);
  const wide blocks = capped_product(counts);
  if (capped_product(w.sizes.values()) >= enormous || rows >= enormous || blocks >= enormous) {
    return std::nullopt;
  }
  return axis_values{image[0], static_cast<std::int64_t>(rows), static_cast<std::int64_t>(blocks)};
}

/// Whether two elements have one place; strides in elements.
inline bool overlaps(const axis_values& extents, const axis_values& strides) {
  const elements tensor{extents, strides, 1};
  std::vector<std::int64_t> places;
  oracle::for_each_index(extents, [&](const axis_values& index) { places.push_back(tensor.place(index)); });
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

}  // namespace reblock::fuzz
