// SPDX-License-Identifier: BSD-3-Clause
//
// separate_windows is fold of windows that share no position: each of its sums has at most one term (single_terms.hpp).
// Moves bring the windows inside the image at once. Windows that reach beyond it have moves of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/for_each_choice.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/sums/single_terms.hpp>
#include <reblock/detail/sums/sum_image.hpp>
#include <reblock/detail/sums/summation.hpp>

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
  [[gnu::noinline]] constexpr index_range inside() const noexcept {
    return indices_between(padding, extent + padding - (offsets - 1) * dilation, stride, windows);
  }
  /// Returns the offsets that go into the image, of one window.
  constexpr index_range offsets_inside(std::int64_t window) const noexcept {
    const std::int64_t first = window * stride - padding;
    return indices_between(-first, extent - first, dilation, offsets);
  }
  /// Returns positions that all have a term. There may be more if windows have gaps.
  constexpr index_range covered() const noexcept {
    index_range all{0, 0};
    if (windows > 0 && dilation == 1 && (windows == 1 || offsets == stride)) {
      all = {-padding, (windows - 1) * stride + offsets - padding};
    } else if (windows > 0 && offsets == stride && std::gcd(stride, dilation) == 1) {
      all = {(offsets - 1) * dilation - padding, (windows - 1) * stride + 1 - padding};
    }
    return indices_between(all.begin, all.end, 1, extent);
  }
};

/// separate_parts cuts windows that share no position into those inside the image, and those that reach beyond it. It is
/// trivially copyable.
class separate_parts {
 public:
  explicit separate_parts(const sum_request& sums) noexcept : spatial_axes_(sums.extents.size() - 2) {
    all_.take(sums.moves);
    all_.destination_offset = sums.output_offset;
    for (std::size_t d = 0; d < all_.bound_count; ++d) {
      all_.destination_offset = wrapping_add(
          all_.destination_offset, wrapping_multiply(all_.bounds[d].offset, sums.output_strides[2 + d]));
    }
    for (std::size_t i = 0; i < all_.rank; ++i) all_.axes[i].bound = no_bound;
    all_.bound_count = 0;
    for (std::size_t d = 0; d < spatial_axes_; ++d) {
      axes_[d] = separate_axis::of(sums, d);
      const index_range inside = axes_[d].inside();
      has_inside_ = has_inside_ && inside.begin < inside.end;
    }
  }

  std::size_t spatial_axes() const noexcept { return spatial_axes_; }
  const separate_axis& axis(std::size_t d) const noexcept { return axes_[d]; }
  bool has_inside() const noexcept { return has_inside_; }
  /// Tells whether windows reach beyond the image.
  bool has_edges() const noexcept {
    bool has = false;
    for (std::size_t d = 0; d < spatial_axes_; ++d) {
      const index_range inside = axes_[d].inside();
      has = has || inside.end - inside.begin < axes_[d].windows;
    }
    return has;
  }

  /// Describes the windows inside the image. If there are none, it is the first one, which must not be moved.
  layout inside() const noexcept {
    layout windows;
    windows.take(all_);
    for (std::size_t d = 0; d < spatial_axes_; ++d) {
      index_range inside = axes_[d].inside();
      if (inside.begin >= inside.end) inside = {0, 1};
      windows.narrow(2 + spatial_axes_ + d, inside.begin, inside.end);
    }
    return windows;
  }

  /// Calls `visit(windows, first)` for the windows that reach beyond the image. `first` has the first of their offsets in the
  /// window along each axis.
  template <class Visit>
  void for_each_edge(const Visit& visit) const {
    axis_values parts;  // of each axis: the windows inside, and each window that reaches beyond the image
    for (std::size_t d = 0; d < spatial_axes_; ++d) {
      const index_range inside = axes_[d].inside();
      parts.push_back(1 + axes_[d].windows - (inside.end - inside.begin));
    }
    for_each_choice(parts, [&](const axis_values& choice) {
      layout windows;
      axis_values first = axis_values::repeat(spatial_axes_, 0);
      if (take_edge(choice, windows, first)) visit(windows, first);
    });
  }

 private:
  /// Describes one choice of windows of which some reach beyond the image. Returns whether there are any.
  bool take_edge(const axis_values& choice, layout& windows, axis_values& first) const noexcept {
    windows.take(all_);
    bool is_edge = false;
    for (std::size_t d = 0; d < spatial_axes_; ++d) {
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
      windows.narrow(2 + spatial_axes_ + d, along.begin, along.end);
      windows.narrow(2 + d, offsets.begin, offsets.end);
      first[d] = offsets.begin;
    }
    return is_edge;
  }

  layout all_;  ///< all windows, from the output's first element on
  std::size_t spatial_axes_;
  std::array<separate_axis, max_rank - 2> axes_;
  bool has_inside_ = true;
};

/// A separate_windows is trivially copyable.
class separate_windows {
 public:
  /// Tells whether it is the way to make these sums, which begin from 0.
  static constexpr bool can_make(const sum_request& sums) noexcept {
    for (std::size_t d = 0; d + 2 < sums.extents.size(); ++d) {
      const separate_axis axis = separate_axis::of(sums, d);
      const index_range inside = axis.inside();
      if (axis.windows == 0 || !axis.is_separate()) return false;
      if (inside.begin > sum_costs::most_outside || axis.windows - inside.end > sum_costs::most_outside)
        return false;
    }
    return true;
  }

  /// `sum` is null if terms are their own results, or if they still get weights.
  separate_windows(const sum_request& sums, const sum_functions* sum, bool are_weighed = false) noexcept
      : parts_(sums),
        image_(sums),
        add_to_zero_(sum == nullptr ? single_sums{} : sum->add_to_zero),
        are_weighed_(are_weighed),
        inside_(parts_.inside(), image_.element_size, add_to_zero_, are_weighed) {}

  /// Sets positions to 0 that may have no term.
  void clear(std::byte* output) const noexcept {
    sum_image::box positions = image_.whole();
    for (std::size_t d = 0; d < parts_.spatial_axes(); ++d) {
      index_range& along = positions[2 + d];
      const index_range covered = parts_.axis(d).covered();
      along = {0, covered.begin};
      image_.clear(positions, output);
      along = {covered.end, parts_.axis(d).extent};
      image_.clear(positions, output);
      along = covered;
    }
  }

  /// Returns the estimated cost in cycles.
  double cost() const noexcept {
    double cycles = has_inside() ? inside_.cost() : 0;
    for_each_edge([&](const layout& windows, const axis_values&) {
      cycles += edge(windows).cost() +
                (is_remembered(windows) ? sum_costs::remembered_part : sum_costs::planned_part);
    });
    return cycles;
  }

  std::size_t spatial_axes() const noexcept { return parts_.spatial_axes(); }
  bool has_inside() const noexcept { return parts_.has_inside(); }
  /// Returns the windows inside the image, of which there must be some.
  const single_terms& inside() const noexcept { return inside_; }

  /// Calls `visit(windows, first)` for the windows that reach beyond the image. `first` has the first of their offsets in the
  /// window along each axis.
  template <class Visit>
  void for_each_edge(const Visit& visit) const {
    parts_.for_each_edge([&](layout& windows, const axis_values& first) {
      windows.zero = add_to_zero_.on_the_way;
      visit(windows, first);
    });
  }
  /// Plans windows that reach beyond the image.
  single_terms edge(const layout& windows) const noexcept {
    return {windows, image_.element_size, add_to_zero_, are_weighed_};
  }
  /// Tells whether recent_moves() bring such windows: few bytes that become sums on their way, if they have to. A thread does
  /// not plan them again in each call.
  bool is_remembered(const layout& windows) const noexcept {
    const bool are_moves = add_to_zero_.add == nullptr || add_to_zero_.on_the_way != added_zero::none;
    return are_moves && !are_weighed_ && total_bytes(windows, image_.element_size) <= piece_bytes;
  }
  std::int64_t element_size() const noexcept { return image_.element_size; }

 private:
  separate_parts parts_;
  sum_image image_;
  single_sums add_to_zero_;
  bool are_weighed_;
  single_terms inside_;
};
static_assert(std::is_trivially_copyable_v<separate_windows>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
