// SPDX-License-Identifier: BSD-3-Clause
//
// phase_moves interleaves the phases of an axis: positions that lie apart in a buffer, and side by side in an image.
#pragma once

#include <algorithm>
#include <cstdint>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A position is place (position + padding) / phases of phase (position + padding) % phases. Strides are in bytes.
struct phase_moves {
  index_range positions;
  std::int64_t padding;
  std::int64_t phases;
  std::int64_t first_place;  ///< in the buffer
  std::int64_t place_stride;
  std::int64_t phase_stride;
  std::int64_t image_stride;

  /// Calls `run(moves)` for moves from the buffer to the image, with the axes of `others` and this one. One move takes all
  /// places that have all phases. The first and the last place may have fewer phases and need their own moves.
  template <class Run>
  void for_each(const layout& others, const Run& run) const {
    for (std::int64_t position = positions.begin; position < positions.end;) {
      const std::int64_t place = floor_divide(position + padding, phases);
      const std::int64_t phase = position + padding - place * phases;
      const std::int64_t left = positions.end - position;
      const std::int64_t count = std::min(phases - phase, left);
      const std::int64_t places = count == phases ? left / phases : 1;
      layout moves;
      moves.take(others);
      moves.add({places, place_stride, wrapping_multiply(phases, image_stride)});
      moves.add({count, phase_stride, image_stride});
      moves.source_offset += (place - first_place) * place_stride + phase * phase_stride;
      moves.destination_offset =
          wrapping_add(moves.destination_offset, wrapping_multiply(position, image_stride));
      run(moves);
      position += places * count;
    }
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
