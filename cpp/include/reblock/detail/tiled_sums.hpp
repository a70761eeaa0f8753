// SPDX-License-Identifier: BSD-3-Clause
//
// tiled_sums is fold of windows that lie side by side without gaps: most of its sums are single terms (single_terms.hpp). A
// sweep (sum_sweep.hpp) fills the positions at the edges of the image.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/single_terms.hpp>
#include <reblock/detail/sum_sweep.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Finds the windows of a fold that lie inside the image, and the positions that they cover. Returns whether windows lie
/// side by side without gaps and cover most of the image.
constexpr bool find_tiles(const sum_request& sums, layout& windows, image_part& covered) noexcept {
  const std::size_t spatial = sums.extents.size() - 2;
  windows.take(sums.moves);
  std::int64_t place = sums.output_offset;
  double share = 1;
  for (std::size_t d = 0; d < spatial; ++d) {
    const layout_axis& offsets = sums.moves.axes[2 + d];
    const layout_axis& all = sums.moves.axes[2 + spatial + d];
    const std::int64_t padding = -sums.moves.bounds[d].offset;
    const std::int64_t size = offsets.extent;
    if ((size > 1 && offsets.bound_step != 1) || (all.extent > 1 && all.bound_step != size)) return false;
    const std::int64_t begin = std::clamp<std::int64_t>(ceil_divide(padding, size), 0, all.extent);
    const std::int64_t end = std::clamp(floor_divide(sums.extents[2 + d] + padding, size), begin, all.extent);
    if (begin == end) return false;
    covered[d] = {begin * size - padding, end * size - padding};
    place = wrapping_add(place, wrapping_multiply(covered[d].begin, sums.output_strides[2 + d]));
    share *=
        static_cast<double>(covered[d].end - covered[d].begin) / static_cast<double>(sums.extents[2 + d]);
    windows.narrow(2 + spatial + d, begin, end);
    windows.axes[2 + d].bound = windows.axes[2 + spatial + d].bound = no_bound;
  }
  windows.bound_count = 0;
  windows.destination_offset = place;
  return share > sum_costs::mostly_inside;
}

/// A tiled_sums is trivially copyable.
struct tiled_sums {
  tiled_sums(const layout& windows, const image_part& positions, const sum_sweep& edges,
             std::int64_t element_size, leaf_function add_to_zero) noexcept
      : inside(windows, element_size, add_to_zero), covered(positions), sweep(edges) {}

  /// Calls `visit` with each part of the image that is not covered.
  template <class Visit>
  void for_each_edge(const Visit& visit) const {
    const image_part whole = sweep.whole_image();
    image_part edge = whole;
    for (std::size_t d = 0; d < sweep.spatial_axes(); ++d) {
      for (const index_range& range :
           {index_range{0, covered[d].begin}, index_range{covered[d].end, whole[d].end}}) {
        edge[d] = range;
        if (range.begin < range.end) visit(edge);
      }
      edge[d] = covered[d];
    }
  }

  single_terms inside;
  image_part covered;
  sum_sweep sweep;
};
static_assert(std::is_trivially_copyable_v<tiled_sums>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
