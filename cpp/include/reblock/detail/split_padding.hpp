// SPDX-License-Identifier: BSD-3-Clause
//
// split_padding moves the windows inside an image apart from those that reach its padding. Those inside need no buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/move_plan.hpp>
#include <reblock/detail/padded_windows.hpp>
#include <reblock/detail/split_windows.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A split_padding has a plan for the windows inside. Those at the edges are planned when they are moved, because their plans
/// are large. It is trivially copyable.
class split_padding {
 public:
  explicit split_padding(const padded_request& request) noexcept
      : element_size_(request.element_size), value_(request.value), inside_(no_moves(), 1) {
    const std::int64_t bytes = total_bytes(request.moves, element_size_);
    if (bytes < padding_costs::least_split || !windows_.find(request.moves)) return;
    const layout inside = windows_.inside(element_size_);
    double at_edges = 0;
    windows_.list_edges([&](const layout& part, std::size_t, bool) { at_edges += runs_of(part); });
    pays_ = at_edges * padding_costs::run_at_edge < static_cast<double>(bytes) * padding_costs::buffered_byte;
    if (pays_) new (&inside_) move_plan(inside, element_size_);
  }

  /// Tells whether this is faster than a padded_move of all windows.
  bool pays() const noexcept { return pays_; }
  const move_plan& inside() const noexcept { return inside_; }

  /// Calls `visit` with the request of each edge.
  template <class Visit>
  void for_each_edge(const Visit& visit) const {
    windows_.list_edges(
        [&](const layout& part, std::size_t, bool) { visit(padded_request{part, element_size_, value_}); });
  }

 private:
  /// Counts the contiguous runs of the destination.
  double runs_of(const layout& part) const noexcept {
    double runs = 1;
    std::int64_t run = element_size_;
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t i = 0; i < part.rank; ++i) {
        if (part.axes[i].extent == 1 || part.axes[i].destination_stride != run) continue;
        run *= part.axes[i].extent;
        grows = true;
      }
    }
    for (std::size_t i = 0; i < part.rank; ++i) runs *= static_cast<double>(part.axes[i].extent);
    return runs * static_cast<double>(element_size_) / static_cast<double>(run);
  }

  inside_windows windows_;
  std::int64_t element_size_;
  std::array<std::byte, most_padding_bytes> value_;
  bool pays_ = false;
  move_plan inside_;
};
static_assert(std::is_trivially_copyable_v<split_padding>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
