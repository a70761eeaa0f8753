// SPDX-License-Identifier: BSD-3-Clause
//
// What the operators mean, by index arithmetic straight from their definitions: dense tensors, one
// element at a time, no strides and no layouts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <reblock/axis_values.hpp>
#include <reblock/depth_space.hpp>
#include <reblock/window.hpp>

namespace reblock::test {

inline constexpr auto dcr = depth_space_order::depth_column_row;
inline constexpr auto crd = depth_space_order::column_row_depth;

}  // namespace reblock::test

namespace reblock::oracle {

/// The number of elements: 0 if an extent is 0, however large the others are.
inline std::int64_t volume(const axis_values& extents) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return 0;
  std::int64_t elements = 1;
  for (const std::int64_t extent : extents) elements *= extent;
  return elements;
}

/// The row-major rank of a multi-index among all those of a box.
inline std::int64_t rank(const axis_values& index, const axis_values& extents) {
  std::int64_t result = 0;
  for (std::size_t i = 0; i < extents.size(); ++i) result = result * extents[i] + index[i];
  return result;
}

/// Calls f with every multi-index of a box, in row-major order.
template <class F>
void for_each_index(const axis_values& extents, F&& f) {
  axis_values index = axis_values::repeat(extents.size(), 0);
  for (std::int64_t left = volume(extents); left > 0; --left) {
    f(std::as_const(index));
    for (std::size_t i = extents.size(); i-- > 0 && ++index[i] == extents[i];) index[i] = 0;
  }
}

/// The elements of a tensor in C order.
template <class T>
struct tensor {
  explicit tensor(const axis_values& all_extents)
      : extents(all_extents), values(static_cast<std::size_t>(volume(all_extents))) {}

  T& at(const axis_values& index) { return values[static_cast<std::size_t>(rank(index, extents))]; }
  const T& at(const axis_values& index) const {
    return values[static_cast<std::size_t>(rank(index, extents))];
  }

  axis_values extents;
  std::vector<T> values;
};

/// The values of all axes: n, the spatial ones, and c at the channel axis.
inline axis_values join(std::int64_t n, std::int64_t c, const axis_values& spatial,
                        std::size_t channel_axis) {
  axis_values all{n};
  for (const std::int64_t value : spatial) {
    if (all.size() == channel_axis) all.push_back(c);
    all.push_back(value);
  }
  if (all.size() == channel_axis) all.push_back(c);
  return all;
}

/// The place of spatial axis d among all axes.
inline std::size_t axis_of_spatial(std::size_t d, std::size_t channel_axis) {
  return d + 1 < channel_axis ? d + 1 : d + 2;
}

inline axis_values spatial(const axis_values& all, std::size_t channel_axis) {
  axis_values result;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (i != channel_axis) result.push_back(all[i]);
  }
  return result;
}

inline axis_values depth_extents(const axis_values& space, const axis_values& block,
                                 std::size_t channel_axis) {
  axis_values blocks = spatial(space, channel_axis);
  for (std::size_t d = 0; d < block.size(); ++d) blocks[d] /= block[d];
  return join(space[0], space[channel_axis] * volume(block), blocks, channel_axis);
}

/// Calls f(depth index, space index) for every two elements that are equal by definition.
template <class F>
void for_each_depth_space_pair(const axis_values& space_extents, const axis_values& block,
                               depth_space_order order, std::size_t channel_axis, F&& f) {
  const std::int64_t channels = space_extents[channel_axis];
  const std::int64_t positions = volume(block);
  axis_values depth = space_extents;
  for_each_index(space_extents, [&](const axis_values& space) {
    std::int64_t j = 0;  // the position in the block
    depth[0] = space[0];
    for (std::size_t d = 0; d < block.size(); ++d) {
      const std::size_t axis = axis_of_spatial(d, channel_axis);
      j = j * block[d] + space[axis] % block[d];
      depth[axis] = space[axis] / block[d];
    }
    const std::int64_t c = space[channel_axis];
    depth[channel_axis] = order == depth_space_order::depth_column_row ? j * channels + c : c * positions + j;
    f(std::as_const(depth), space);
  });
}

/// The block counts L_d. Every parameter of the window must have one value per spatial axis.
inline axis_values block_counts(const axis_values& spatial_extents, const window& w) {
  axis_values counts = spatial_extents;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    const std::int64_t padded = counts[d] + w.start_padding.values()[d] + w.end_padding.values()[d];
    const std::int64_t span = w.dilations.values()[d] * (w.sizes.values()[d] - 1) + 1;
    counts[d] = padded < span ? 0 : (padded - span) / w.strides.values()[d] + 1;
  }
  return counts;
}

/// Along each axis, the first block of a window's range, and how many there are from there on.
struct block_part {
  axis_values first;
  axis_values counts;
};
inline block_part blocks_of(const axis_values& spatial_extents, const window& w) {
  block_part part{block_counts(spatial_extents, w), block_counts(spatial_extents, w)};
  for (std::size_t d = 0; d < part.counts.size(); ++d) {
    const std::int64_t all = part.counts[d];
    const std::int64_t start = w.blocks.start.expand(part.counts.size())[d];
    const std::int64_t stop = w.blocks.stop.expand(part.counts.size())[d];
    part.first[d] = start < 0 ? all + start : start;
    part.counts[d] = (stop == block_range::end ? all : stop < 0 ? all + stop : stop) - part.first[d];
  }
  return part;
}

inline axis_values columns_extents(const axis_values& image, const window& w, std::size_t channel_axis) {
  return {image[0], image[channel_axis] * volume(w.sizes.values()),
          volume(blocks_of(spatial(image, channel_axis), w).counts)};
}

/// Walks from position p outside, one reflection or copy after the other, until it is inside; -1 for the constant mode.
inline std::int64_t inside(std::int64_t p, std::int64_t extent, padding_mode mode) {
  const std::int64_t last = extent - 1;
  if (mode == padding_mode::reflection && last > 0) p %= 2 * last;
  if (mode == padding_mode::symmetric) p %= 2 * extent;
  if (mode == padding_mode::wrap) p %= extent;
  while (p < 0 || p >= extent) {
    switch (mode) {
      case padding_mode::constant: return -1;
      case padding_mode::edge: p = p < 0 ? 0 : last; break;
      case padding_mode::reflection: p = extent == 1 ? 0 : p < 0 ? -p : 2 * last - p; break;
      case padding_mode::symmetric: p = p < 0 ? -1 - p : 2 * last + 1 - p; break;
      case padding_mode::wrap: p += p < 0 ? extent : -extent; break;
    }
  }
  return p;
}

/// Calls f(column index, image index, whether it lies inside the image) for every element of the
/// columns, where o, the position in the window, ascends.
template <class F>
void for_each_window_pair(const axis_values& image_extents, const window& w, std::size_t channel_axis,
                          F&& f) {
  const axis_values& sizes = w.sizes.values();
  const axis_values spatial_extents = spatial(image_extents, channel_axis);
  const auto [first, blocks] = blocks_of(spatial_extents, w);
  const bool is_crd = w.order == depth_space_order::column_row_depth;
  const std::int64_t channels = image_extents[channel_axis];
  const std::int64_t offsets = volume(sizes);
  axis_values in_columns{0, 0, 0};
  axis_values in_image = image_extents;
  for_each_index({image_extents[0], channels}, [&](const axis_values& n_c) {
    in_columns[0] = in_image[0] = n_c[0];
    in_image[channel_axis] = n_c[1];
    for_each_index(sizes, [&](const axis_values& o) {
      in_columns[1] = is_crd ? n_c[1] * offsets + rank(o, sizes) : rank(o, sizes) * channels + n_c[1];
      for_each_index(blocks, [&](const axis_values& l) {
        bool inside = true;
        for (std::size_t d = 0; d < l.size(); ++d) {
          const std::int64_t p = (first[d] + l[d]) * w.strides.values()[d] + o[d] * w.dilations.values()[d] -
                                 w.start_padding.values()[d];
          in_image[axis_of_spatial(d, channel_axis)] = p;
          inside = inside && p >= 0 && p < spatial_extents[d];
        }
        in_columns[2] = rank(l, blocks);
        f(std::as_const(in_columns), std::as_const(in_image), inside);
      });
    });
  });
}

/// What an assignment may not do: the x87's registers change the bits of some NaNs.
template <class T>
void copy_bits(T& to, const T& from) {
  std::memcpy(&to, &from, sizeof(T));
}

template <class T>
tensor<T> depth_to_space(const tensor<T>& depth, const axis_values& space_extents, const axis_values& block,
                         depth_space_order order, std::size_t channel_axis = 1) {
  tensor<T> space(space_extents);
  for_each_depth_space_pair(space_extents, block, order, channel_axis,
                            [&](const axis_values& in_depth, const axis_values& in_space) {
                              copy_bits(space.at(in_space), depth.at(in_depth));
                            });
  return space;
}

template <class T>
tensor<T> unfold(const tensor<T>& image, const window& w, std::size_t channel_axis = 1) {
  tensor<T> columns(columns_extents(image.extents, w, channel_axis));
  for_each_window_pair(image.extents, w, channel_axis,
                       [&](const axis_values& in_columns, const axis_values& in_image, bool inside) {
                         if (inside) copy_bits(columns.at(in_columns), image.at(in_image));
                       });
  return columns;
}

/// What an assignment need not do: the x87's registers hold more digits than types have.
template <class T>
T stored(T value) {
  volatile unsigned char bytes[sizeof(T)];
  auto* const part = reinterpret_cast<unsigned char*>(&value);
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = part[i];
  for (std::size_t i = 0; i < sizeof(T); ++i) part[i] = bytes[i];
  return value;
}

/// Sums in type T, in ascending order of o, starting from what the image holds.
template <class T>
tensor<T> fold_onto(tensor<T> image, const tensor<T>& columns, const window& w,
                    std::size_t channel_axis = 1) {
  const axis_values extents = image.extents;
  for_each_window_pair(extents, w, channel_axis,
                       [&](const axis_values& in_columns, const axis_values& in_image, bool inside) {
                         if (!inside) return;
                         T& sum = image.at(in_image);
                         sum = stored(static_cast<T>(sum + columns.at(in_columns)));
                       });
  return image;
}

/// The same, starting from zero.
template <class T>
tensor<T> fold(const tensor<T>& columns, const axis_values& image_extents, const window& w,
               std::size_t channel_axis = 1) {
  return fold_onto(tensor<T>(image_extents), columns, w, channel_axis);
}

}  // namespace reblock::oracle
