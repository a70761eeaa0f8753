// SPDX-License-Identifier: BSD-3-Clause
//
// separate_windows is fold of windows that share no position: each of its sums has at most one term (single_terms.hpp).
// Moves bring the windows inside the image at once. Windows that reach beyond it have moves of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/for_each_choice.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/single_terms.hpp>
#include <reblock/detail/sum_image.hpp>
#include <reblock/detail/summation.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// separate_axis describes the windows along one spatial axis. Window l has the positions
/// l * stride + o * dilation - padding.
struct separate_axis {
  std::int64_t offsets;  ///< values of o
  std::int64_t windows;  ///< values of l
  std::int64_t stride;
  std::int64_t dilation;
  std::int64_t padding;
  std::int64_t extent;  ///< positions of the image

  static constexpr separate_axis of(const sum_request& sums, std::size_t d) noexcept {
    const layout_axis& offsets = sums.moves.axes[2 + d];
    const layout_axis& windows = sums.moves.axes[sums.extents.size() + d];
    return {offsets.extent,
            windows.extent,
            windows.extent > 1 ? windows.bound_step : 1,
            offsets.extent > 1 ? offsets.bound_step : 1,
            -sums.moves.bounds[d].offset,
            sums.extents[2 + d]};
  }

  /// Tells whether no two windows have a position in common.
  constexpr bool is_separate() const noexcept {
    const std::int64_t common = std::gcd(stride, dilation);
    return offsets <= stride / common || windows <= dilation / common;
  }
  /// Returns the windows that lie inside the image.
  constexpr index_range inside() const noexcept {
    const std::int64_t last = extent - 1 + padding - (offsets - 1) * dilation;
    const std::int64_t begin = std::clamp<std::int64_t>(ceil_divide(padding, stride), 0, windows);
    return {begin, std::clamp<std::int64_t>(floor_divide(last, stride) + 1, begin, windows)};
  }
  /// Returns the offsets that go into the image, of one window.
  constexpr index_range offsets_inside(std::int64_t window) const noexcept {
    const std::int64_t first = window * stride - padding;
    const std::int64_t begin = std::clamp<std::int64_t>(ceil_divide(-first, dilation), 0, offsets);
    return {begin, std::clamp<std::int64_t>(floor_divide(extent - 1 - first, dilation) + 1, begin, offsets)};
  }
  /// Returns positions that all have a term. There may be more if windows have gaps.
  constexpr index_range covered() const noexcept {
    index_range all{0, 0};
    if (windows > 0 && dilation == 1 && (windows == 1 || offsets == stride)) {
      all = {-padding, (windows - 1) * stride + offsets - padding};
    } else if (windows > 0 && offsets == stride && std::gcd(stride, dilation) == 1) {
      all = {(offsets - 1) * dilation - padding, (windows - 1) * stride + 1 - padding};
    }
    const std::int64_t begin = std::clamp<std::int64_t>(all.begin, 0, extent);
    return {begin, std::clamp(all.end, begin, extent)};
  }
};

/// A separate_windows is trivially copyable.
class separate_windows {
 public:
  /// More windows than these that reach beyond one end of an axis would need too many moves.
  static constexpr std::int64_t most_outside = 4;

  /// Tells whether it is the way to make these sums, which begin from 0.
  static constexpr bool can_make(const sum_request& sums) noexcept {
    for (std::size_t d = 0; d + 2 < sums.extents.size(); ++d) {
      const separate_axis axis = separate_axis::of(sums, d);
      const index_range inside = axis.inside();
      if (axis.windows == 0 || !axis.is_separate()) return false;
      if (inside.begin > most_outside || axis.windows - inside.end > most_outside) return false;
    }
    return true;
  }

  separate_windows(const sum_request& sums, const sum_functions& sum) noexcept
      : inside_(inside_of(sums), sums.sum.element_size, sum.add_to_zero, around(sums)), image_(sums, sum) {
    all_.take(all_of(sums));
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      axes_[d] = separate_axis::of(sums, d);
      const index_range inside = axes_[d].inside();
      has_inside_ = has_inside_ && inside.begin < inside.end;
    }
  }

  /// Sets positions to 0 that may have no term.
  void clear(std::byte* output) const noexcept {
    sum_image::box positions = image_.whole();
    if (!has_long_runs()) return image_.clear(positions, output);
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      index_range& along = positions[2 + d];
      const index_range covered = axes_[d].covered();
      along = {0, covered.begin};
      image_.clear(positions, output);
      along = {covered.end, axes_[d].extent};
      image_.clear(positions, output);
      along = covered;
    }
  }

  /// Returns the estimated cost in cycles.
  double cost() const noexcept {
    double cycles = 0;
    for_each_part([&](const single_terms& part) { cycles += part.cost(); });
    return cycles;
  }

  /// Calls `visit` with single terms: those of all windows inside the image, and those of windows that reach beyond it.
  template <class Visit>
  void for_each_part(const Visit& visit) const {
    if (has_inside_) visit(inside_);
    axis_values parts;  // of each axis: the windows inside, and each window that reaches beyond the image
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      const index_range inside = axes_[d].inside();
      parts.push_back(1 + axes_[d].windows - (inside.end - inside.begin));
    }
    for_each_choice(parts, [&](const axis_values& choice) {
      layout windows;
      if (take_edge(choice, windows))
        visit(single_terms(windows, image_.element_size, image_.sum->add_to_zero));
    });
  }

 private:
  std::size_t spatial_axes() const noexcept { return image_.extents.size() - 2; }

  /// Tells whether it takes less time to leave out the covered positions than to set them to 0, too.
  bool has_long_runs() const noexcept {
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      const index_range covered = axes_[d].covered();
      const std::int64_t count = covered.end - covered.begin;
      if (count == axes_[d].extent) continue;
      if (count == 0 || magnitude(image_.strides[2 + d]) < sum_costs::least_kept_run / count) return false;
    }
    return true;
  }

  static layout all_of(const sum_request& sums) noexcept {
    layout all;
    all.take(sums.moves);
    all.destination_offset = sums.output_offset;
    for (std::size_t d = 0; d < all.bound_count; ++d) {
      all.destination_offset = wrapping_add(
          all.destination_offset, wrapping_multiply(all.bounds[d].offset, sums.output_strides[2 + d]));
    }
    for (std::size_t i = 0; i < all.rank; ++i) all.axes[i].bound = no_bound;
    all.bound_count = 0;
    return all;
  }
  static layout inside_of(const sum_request& sums) noexcept {
    layout windows = all_of(sums);
    for (std::size_t d = 0; d + 2 < sums.extents.size(); ++d) {
      index_range inside = separate_axis::of(sums, d).inside();
      // without windows inside the image, it is the first one's, and it is not moved
      if (inside.begin >= inside.end) inside = {0, 1};
      windows.narrow(sums.extents.size() + d, inside.begin, inside.end);
    }
    return windows;
  }

  /// Returns the whole image around its windows inside.
  static image_box around(const sum_request& sums) noexcept {
    image_box all;
    for (std::size_t d = 0; d + 2 < sums.extents.size(); ++d) {
      const separate_axis axis = separate_axis::of(sums, d);
      const index_range inside = axis.inside();
      if (inside.begin >= inside.end) continue;
      const std::int64_t first = inside.begin * axis.stride - axis.padding;
      all[d] = {{-first, axis.extent - first}, sums.output_strides[2 + d]};
    }
    return all;
  }

  /// Describes one choice of windows of which some reach beyond the image. Returns whether there are any.
  bool take_edge(const axis_values& choice, layout& windows) const noexcept {
    windows.take(all_);
    bool is_edge = false;
    for (std::size_t d = 0; d < spatial_axes(); ++d) {
      index_range along = axes_[d].inside();
      index_range offsets{0, axes_[d].offsets};
      if (choice[d] > 0) {
        is_edge = true;
        const std::int64_t window =
            choice[d] <= along.begin ? choice[d] - 1 : along.end + choice[d] - 1 - along.begin;
        along = {window, window + 1};
        offsets = axes_[d].offsets_inside(window);
      }
      if (along.begin >= along.end || offsets.begin >= offsets.end) return false;
      windows.narrow(image_.extents.size() + d, along.begin, along.end);
      windows.narrow(2 + d, offsets.begin, offsets.end);
    }
    return is_edge;
  }

  single_terms inside_;
  bool has_inside_ = true;
  layout all_;  ///< all windows, from the output's first element on
  std::array<separate_axis, max_rank - 2> axes_;
  sum_image image_;
};
static_assert(std::is_trivially_copyable_v<separate_windows>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
