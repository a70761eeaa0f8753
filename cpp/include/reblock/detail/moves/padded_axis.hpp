// SPDX-License-Identifier: BSD-3-Clause
//
// A padded_axis maps the positions of a padded axis to the positions of the image's axis.
#pragma once

#include <algorithm>
#include <cstdint>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/padding_mode.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A padded_piece has neighbouring positions of a padded axis, `count` of them. They are the image's positions
/// first, first + step, ...
struct padded_piece {
  std::int64_t count = 0;
  std::int64_t first = 0;
  std::int64_t step = 0;
};

/// Positions are numbered from the image's first one. Those below 0 and those from `extent` on lie in the padding.
struct padded_axis {
  padding_mode mode = padding_mode::constant;
  std::int64_t extent = 0;

  /// Returns after how many positions the axis repeats itself, or 0 if it does not.
  [[gnu::noinline]] constexpr std::int64_t period() const noexcept {
    switch (repeated()) {
      case padding_mode::reflection: return 2 * (extent - 1);
      case padding_mode::symmetric: return 2 * extent;
      case padding_mode::wrap: return extent;
      default: return 0;
    }
  }

  /// Returns the positions p, p + step, p + 2*step, ... that follow each other evenly in the image, up to `limit` of them.
  /// Requires an extent of at least 1. The constant mode finds its value at all positions of a piece that begins outside.
  constexpr padded_piece piece_at(std::int64_t p, std::int64_t limit, std::int64_t step) const noexcept {
    const auto up_to = [&](std::int64_t positions) { return std::min(limit, ceil_divide(positions, step)); };
    if (p >= 0 && p < extent) return {up_to(extent - p), p, step};
    const std::int64_t all = period();
    if (all == 0) return p < 0 ? padded_piece{up_to(-p), 0, 0} : padded_piece{limit, extent - 1, 0};
    const std::int64_t in_period = p - floor_divide(p, all) * all;
    if (in_period < extent) return {up_to(extent - in_period), in_period, step};
    const std::int64_t last =
        repeated() == padding_mode::reflection ? all : all - 1;  // this position is that of 0
    return {up_to(all - in_period), last - in_period, -step};
  }

  /// Returns the image's position that the axis finds at position p. Requires an extent of at least 1, and another mode than
  /// the constant one. Positions near the image need no division.
  constexpr std::int64_t at(std::int64_t p) const noexcept {
    if (p >= 0 && p < extent) return p;
    const bool is_before = p < 0;
    std::int64_t near = 0;
    switch (repeated()) {
      case padding_mode::reflection: near = (is_before ? 0 : 2 * (extent - 1)) - p; break;
      case padding_mode::symmetric: near = (is_before ? -1 : 2 * extent - 1) - p; break;
      case padding_mode::wrap: near = is_before ? p + extent : p - extent; break;
      default: return is_before ? 0 : extent - 1;
    }
    return near >= 0 && near < extent ? near : piece_at(p, 1, 1).first;
  }

  /// Returns the other position of a period that is the image's position q; q itself if there is none.
  constexpr std::int64_t mirrored(std::int64_t q) const noexcept {
    if (mode == padding_mode::symmetric) return period() - 1 - q;
    return repeated() == padding_mode::reflection && q > 0 ? period() - q : q;
  }

 private:
  /// numpy.pad reflects an axis of extent 1 as an edge.
  constexpr padding_mode repeated() const noexcept {
    return mode == padding_mode::reflection && extent == 1 ? padding_mode::edge : mode;
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
