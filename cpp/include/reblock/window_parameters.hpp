// SPDX-License-Identifier: BSD-3-Clause
//
// A window has the parameters of unfold and fold.
#pragma once

#include <cstdint>
#include <limits>

#include <reblock/axis_values.hpp>
#include <reblock/depth_space_order.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/padding_mode.hpp>
#include <reblock/tensor.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// A block_range selects the window positions start <= l < stop along each spatial axis. Each member has one value for
/// all axes, or one value per axis. A negative value counts from the end, as in Python's slices. The default is all
/// window positions.
struct block_range {
  static constexpr std::int64_t end =
      std::numeric_limits<std::int64_t>::max();  ///< as `stop`: after the last window position
  spatial_values start = 0;
  spatial_values stop = end;

  friend constexpr bool operator==(const block_range&, const block_range&) = default;
};

/// The struct describes how a window slides over the spatial axes. Each parameter is one value for all axes, or one value
/// per axis.
///
///     window{.sizes = 3, .start_padding = 1, .end_padding = 1}
///     window{.sizes = {3, 5}, .strides = {1, 2}}
struct window {
  spatial_values sizes = 1;          ///< elements of the window, at least 1
  spatial_values strides = 1;        ///< image elements from one window position to the next, at least 1
  spatial_values dilations = 1;      ///< image elements from one window element to the next, at least 1
  spatial_values start_padding = 0;  ///< elements of padding before the image, at least 0
  spatial_values end_padding = 0;    ///< elements of padding after the image, at least 0
  /// What the padding holds. Every mode but the constant one needs an image extent of at least 1 along axes with
  /// padding.
  reblock::padding_mode padding_mode = reblock::padding_mode::constant;
  /// The slow index of the rows: the channel (CRD, as in DirectML) or the element of the window (DCR).
  depth_space_order order = depth_space_order::column_row_depth;
  block_range blocks{};  ///< the window positions that have columns
};

}  // namespace reblock::inline REBLOCK_NAMESPACE
