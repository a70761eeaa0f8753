// SPDX-License-Identifier: BSD-3-Clause
//
// A tile_list makes tiles of any number of axes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The list has axes, the innermost first. It merges axes where it can.
class tile_list {
 public:
  [[gnu::noinline]] void add(const tile_axis& next) noexcept {
    if (next.extent == 1) return;
    if (count_ > 0) {
      tile_axis& inner = axes_[count_ - 1];
      if (next.source_stride == wrapping_multiply(inner.extent, inner.source_stride) &&
          next.destination_stride == wrapping_multiply(inner.extent, inner.destination_stride)) {
        inner.extent *= next.extent;
        return;
      }
    }
    axes_[count_++] = next;
  }

  /// Calls `visit(tile, source, destination)` for each tile of all axes.
  template <class Visit>
  void for_each(const Visit& visit, const std::byte* source, std::byte* destination,
                std::int64_t element_size) const {
    tile t;
    t.element_size = static_cast<std::size_t>(element_size);
    std::size_t taken = 0;
    for (const auto member : {&tile::inner, &tile::outer, &tile::rows, &tile::slices}) {
      if (taken < count_) t.*member = axes_[taken++];
    }
    if (count_ == taken) return visit(t, source, destination);
    const visitor calls{&visit, [](const void* self, const tile& next, const std::byte* from, std::byte* to) {
                          (*static_cast<const Visit*>(self))(next, from, to);
                        }};
    walk(calls, t, count_, taken, source, destination);
  }

  /// Tells whether rows are contiguous on both sides.
  bool has_runs(std::int64_t element_size) const noexcept {
    return count_ > 0 && axes_[0].source_stride == element_size &&
           axes_[0].destination_stride == element_size;
  }
  /// Counts the rows of all tiles, and the tiles.
  std::int64_t rows() const noexcept { return extents_from(1); }
  std::int64_t tiles() const noexcept { return extents_from(4); }

 private:
  std::int64_t extents_from(std::size_t first) const noexcept {
    std::int64_t count = 1;
    for (std::size_t i = first; i < count_; ++i) count *= axes_[i].extent;
    return count;
  }
  /// A visitor hides the type of a function, so that the other axes are walked by one function.
  struct visitor {
    const void* visit;
    void (*call)(const void* visit, const tile&, const std::byte* source, std::byte* destination);
  };

  [[gnu::noinline]] void walk(const visitor& calls, const tile& t, std::size_t end, std::size_t taken,
                              const std::byte* source, std::byte* destination) const {
    if (end == taken) return calls.call(calls.visit, t, source, destination);
    const tile_axis& outer = axes_[end - 1];
    for (std::int64_t i = 0; i < outer.extent; ++i) {
      walk(calls, t, end - 1, taken, source + wrapping_multiply(i, outer.source_stride),
           destination + wrapping_multiply(i, outer.destination_stride));
    }
  }

  std::array<tile_axis, max_axes> axes_;
  std::size_t count_ = 0;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
