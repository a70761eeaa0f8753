// SPDX-License-Identifier: BSD-3-Clause
//
// A pattern_cache keeps a thread's last tables of patterns. To make a table takes as long as to copy some hundred
// kilobytes, and the same operator is often called again.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/pattern.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class pattern_cache {
 public:
  /// Does the same as table.make() with every index inside, or takes the table from the cache. If a table without siblings
  /// is cheaper, it changes `siblings`.
  bool make(pattern& table, std::size_t width, const layout& moves, std::size_t first,
            std::int64_t element_size, sibling_axis& siblings) noexcept {
    entry* found = nullptr;
    for (entry& e : entries_) {
      const bool is_same = e.is_made && e.width == width && e.element_size == element_size &&
                           e.wanted == siblings && e.rank == moves.rank - first && e.bounds == moves.bounds &&
                           e.stride_in_run == stride_in_run(moves, first) &&
                           std::equal(e.axes.begin(), e.axes.begin() + e.rank, moves.axes.begin() + first);
      if (is_same) found = &e;
    }
    if (found == nullptr) {
      found = &entries_[next_];
      next_ = (next_ + 1) % entries_.size();
      found->is_made = true;
      found->width = width;
      found->element_size = element_size;
      found->wanted = siblings;
      found->rank = moves.rank - first;
      std::copy_n(moves.axes.begin() + first, found->rank, found->axes.begin());
      found->bounds = moves.bounds;
      found->stride_in_run = stride_in_run(moves, first);
      fill(*found, moves, first, table);
    }
    siblings = found->siblings;
    if (found->has_table) {
      table.take(found->table);
    } else {
      table.fail_like(found->table);
    }
    return found->has_table;
  }

 private:
  struct entry {
    bool is_made = false;
    bool has_table = false;
    std::size_t width = 0;
    std::int64_t element_size = 0;
    sibling_axis wanted;
    sibling_axis siblings;
    std::size_t rank = 0;
    std::array<layout_axis, max_axes> axes{};
    std::array<axis_bound, max_bounds> bounds{};
    std::int64_t stride_in_run = 0;
    pattern table;
  };

  /// Returns the longest stride within the source_run, of the axes from `first` on. It tells which axes lie within the run.
  static std::int64_t stride_in_run(const layout& moves, std::size_t first) noexcept {
    std::int64_t longest = 0;
    for (std::size_t i = first; i < moves.rank; ++i) {
      const std::int64_t stride = magnitude(moves.axes[i].source_stride);
      if (moves.in_source_run(moves.axes[i])) longest = std::max(longest, stride);
    }
    return longest;
  }

  /// Makes the table of an entry. `shared` is room for another table.
  static void fill(entry& e, const layout& moves, std::size_t first, pattern& shared) noexcept {
    std::array<index_range, max_axes> whole;
    for (std::size_t i = 0; i < moves.rank; ++i) whole[i] = {0, moves.axes[i].extent};
    e.siblings = {};
    e.has_table = e.table.make(e.width, moves, first, whole, e.element_size);
    if (e.wanted.extent == 1) return;
    if (!shared.make(e.width, moves, first, whole, e.element_size, e.wanted)) return;
    if (e.has_table && shared.cost() >= e.table.cost() * e.wanted.extent) return;
    e.siblings = e.wanted;
    e.has_table = true;
    e.table.take(shared);
  }

  std::array<entry, 2> entries_;
  std::size_t next_ = 0;  ///< the entry that is forgotten next
};

/// Returns this thread's cache. It is hidden, like all data of the library that a linker could share in a process: each
/// loaded library has its own.
[[gnu::visibility("hidden")]] inline pattern_cache& recent_patterns() noexcept {
  static thread_local pattern_cache cache;
  return cache;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
