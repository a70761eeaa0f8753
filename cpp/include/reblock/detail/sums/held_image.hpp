// SPDX-License-Identifier: BSD-3-Clause
//
// A held_image is an image from whose values the sums of a gather begin. It walks the positions of a box in the order of
// the image and adds sums of integers from a buffer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/sums/gather_axis.hpp>
#include <reblock/detail/sums/piecewise_sum.hpp>
#include <reblock/detail/sums/summand.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/sums/tile_list.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of a box whose sums are added to the image.
inline constexpr std::int64_t added_bytes = 16 * 1024;

/// Tells whether sums are made in a buffer and then added to the image: integers have the same sum in any order.
/// `place_bytes`: of a place with all phases.
inline bool adds_from_buffer(const sum_request& sums, std::int64_t place_bytes) noexcept {
  return sums.accumulates && sums.reduce == nullptr && summand::integer8 <= sums.sum.part &&
         sums.sum.part <= summand::integer64 && place_bytes <= added_bytes;
}

class held_image {
 public:
  /// `strides` has those of n, c and the spatial axes in the image, in bytes.
  held_image(const columns_of_windows& columns, const axis_values& strides) noexcept
      : columns_(columns), strides_(strides) {
    list_by_strides(order_, strides.size(), [&](std::size_t i) { return strides[i]; });
  }

  /// Returns the places of a box in a buffer, in the order of the image. The box has `places`.
  box_target in_buffer(const axis_values& places, std::byte* buffer) const noexcept {
    box_target result{buffer, strides_, axis_values::repeat(columns_.rank, 0)};
    std::int64_t stride = columns_.element_size;
    for (const std::size_t i : std::span(order_).first(strides_.size())) {
      if (i >= 2) {
        result.phase_strides[i - 2] = stride;
        stride *= columns_.axes[i - 2].phases;
      }
      result.place_strides[i] = stride;
      stride *= places[i];
    }
    return result;
  }

  /// Adds the sums of a box to the image.
  void add(const box& part, const box_target& sums, const box_target& image) const noexcept {
    add_rows(rows_of(part, sums, image), *columns_.sum, columns_.element_size, sums.first, image.first);
  }

 private:
  /// Returns the positions of a box in two places.
  tile_list rows_of(const box& part, const box_target& from, const box_target& to) const noexcept {
    tile_list rows;
    for (const std::size_t i : std::span(order_).first(strides_.size())) {
      if (i < 2) {
        rows.add({part.extents[i], from.place_strides[i], to.place_strides[i]});
      } else {
        const gather_axis& along = columns_.axes[i - 2];
        const std::int64_t positions = along.extent - part.first[i] * along.phases;
        rows.add({std::min(part.extents[i] * along.phases, positions), from.phase_strides[i - 2],
                  to.phase_strides[i - 2]});
      }
    }
    return rows;
  }

  const columns_of_windows& columns_;
  const axis_values& strides_;
  std::array<std::uint8_t, max_rank> order_;  ///< axes, the innermost first
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
