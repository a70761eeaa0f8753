// SPDX-License-Identifier: BSD-3-Clause
//
// block_lines are the lines of a block on one side of its moves. Processors do not predict where those of the next block are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/list_places.hpp>
#include <reblock/detail/simd/streams.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class block_lines {
 public:
  /// A block has `at_once` indices of each axis.
  [[gnu::noinline]] block_lines(std::span<const cut_axis> axes, std::int64_t element_size,
                                std::int64_t tile_axis::* stride) noexcept
      : run_(element_size) {
    places_[0] = 0;
    std::array<bool, max_axes> is_in_run{};
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        if (is_in_run[i] || axes[i].at_once == 1 || axes[i].*stride != run_) continue;
        is_in_run[i] = grows = true;
        run_ *= axes[i].at_once;
      }
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (is_in_run[i]) continue;
      if (axes[i].at_once > static_cast<std::int64_t>(most_runs / runs_)) {
        runs_ = 0;  // there are more lines than it is worth to ask for
        return;
      }
      runs_ = list_places(axes[i].at_once, axes[i].*stride, places_.data(), runs_);
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
    for (std::size_t i = 0; i < runs_; ++i) {
      for (std::int64_t k = 0; k < run_; k += cache_sizes::line) visit(places_[i] + k);
    }
  }

 private:
  static constexpr std::size_t most_runs = 512;

  std::int64_t run_;  ///< bytes
  std::size_t runs_ = 1;
  std::array<std::int64_t, most_runs> places_;  ///< of the runs, bytes
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
