// SPDX-License-Identifier: BSD-3-Clause
//
// block_lines are the lines of a block on one side of its moves. Processors do not predict where those of the next block are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/simd/streams.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class block_lines {
 public:
  /// A block has `at_once` indices of each axis.
  [[gnu::noinline]] block_lines(std::span<const cut_axis> axes, std::int64_t element_size,
                                std::int64_t tile_axis::* stride) noexcept
      : run_(element_size) {
    std::array<bool, max_axes> is_in_run{};
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        if (is_in_run[i] || axes[i].at_once == 1 || axes[i].*stride != run_) continue;
        is_in_run[i] = grows = true;
        run_ *= axes[i].at_once;
      }
    }
    std::int64_t runs = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (is_in_run[i] || axes[i].at_once == 1) continue;
      if (axes[i].at_once > most_runs / runs) {  // there are more lines than it is worth to ask for
        are_some_ = false;
        return;
      }
      runs *= axes[i].at_once;
      // the axis with most runs is the innermost one: few loops begin
      const bool is_longest = rank_ == 0 || axes[i].at_once >= axes_[rank_ - 1].extent;
      axes_[rank_] = {axes[i].at_once, axes[i].*stride};
      if (!is_longest) std::swap(axes_[rank_], axes_[rank_ - 1]);
      ++rank_;
    }
  }

  /// Whether processors predict the lines after all: runs are long.
  bool are_predicted() const noexcept { return run_ > cache_sizes::longest_asked_run; }

  /// Asks for the lines of the block whose first element is at this place, up to the first or the second level of the caches.
  template <int Level>
  void prefetch_at(const std::byte* place) const noexcept {
    for_each_line([place](std::int64_t offset) { prefetch<Level>(place, offset); });
  }
  /// Visits the offsets that are asked for, in bytes from the first element.
  template <class Visit>
  void for_each_line(const Visit& visit) const noexcept {
    if (are_some_) walk_runs(0, 0, visit);
  }

 private:
  static constexpr std::int64_t most_runs = 512;

  struct runs_axis {
    std::int64_t extent;
    std::int64_t stride;  ///< bytes
  };

  template <class Visit>
  void walk_runs(std::size_t i, std::int64_t place, const Visit& visit) const noexcept {
    const runs_axis axis = i < rank_ ? axes_[i] : runs_axis{1, 0};
    for (std::int64_t n = 0; n < axis.extent; ++n, place = wrapping_add(place, axis.stride)) {
      if (i + 1 < rank_) {
        walk_runs(i + 1, place, visit);
        continue;
      }
      for (std::int64_t k = 0; k < run_; k += cache_sizes::line) visit(wrapping_add(place, k));
    }
  }

  std::int64_t run_;  ///< bytes
  std::array<runs_axis, max_axes> axes_;
  std::size_t rank_ = 0;
  bool are_some_ = true;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
