// SPDX-License-Identifier: BSD-3-Clause
//
// A pattern moves short rows: some hundred bytes that repeat. Registers of its destination take bytes from a few windows of
// its source. A table, which is made once, says which bytes. Here a window is a range of bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/look_up.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/moves/pattern_units.hpp>
#include <reblock/detail/moves/window_cover.hpp>
#include <reblock/detail/simd/registers.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class pattern {
 public:
  static constexpr std::size_t most_bytes = pattern_units::limit;
  static constexpr std::int64_t least_window = 16;  ///< a window has at least this many bytes without a gap

  /// Leaves the members uninitialized: a pattern is large, and most plans have none.
  pattern() noexcept {}  // NOLINT(modernize-use-equals-default): a default one would be cleared at times

  /// Makes the table for a pattern of the axes of `moves` from `first` on, for registers of up to `width` bytes. Their
  /// destination is dense. Elements with an index outside of `inside` on any axis become 0. The pattern may read bytes
  /// between source elements inside if the source_run has them. Returns whether there is a table.
  bool make(std::size_t width, const layout& moves, std::size_t first, std::span<const index_range> inside,
            std::int64_t element_size, const sibling_axis& siblings = {}) noexcept {
    pattern_units units;
    is_too_large_ = false;
    if (!units.list(moves, first, inside, element_size) || units.run_count == 0) return false;
    for (source_bytes& run : std::span(units.runs).first(units.run_count)) {
      run.end += static_cast<std::int32_t>(siblings.extent - 1) * siblings.source_stride;
    }
    unit_ = units.size;
    go_back_ = units.go_back;
    siblings_ = siblings;
    width_ = width;
    return add_groups(units);
  }

  /// Tells whether there is no table because it would have no room: a part of the pattern may have one.
  bool is_too_large() const noexcept { return is_too_large_; }
  /// Has no table for the same reason as another pattern.
  void fail_like(const pattern& other) noexcept { is_too_large_ = other.is_too_large_; }

  /// Copies only the used part of another pattern: most of a pattern is room for larger tables.
  void take(const pattern& made) noexcept {
    is_too_large_ = false;
    std::copy_n(made.groups_.begin(), made.group_count_, groups_.begin());
    std::copy_n(made.targets_.begin(), made.target_count_, targets_.begin());
    std::copy_n(made.offsets_.begin(), made.offset_count_, offsets_.begin());
    std::copy_n(made.places_.begin(), made.place_count_, places_.begin());
    width_ = made.width_;
    cost_ = made.cost_;
    siblings_ = made.siblings_;
    unit_ = made.unit_;
    group_count_ = made.group_count_;
    target_count_ = made.target_count_;
    offset_count_ = made.offset_count_;
    place_count_ = made.place_count_;
  }

  /// Returns the estimated cost of one move of the pattern and its siblings, in tenths of a cycle.
  std::size_t cost() const noexcept { return cost_; }
  /// Counts the registers of the destination, each with its own table.
  std::size_t registers() const noexcept { return target_count_; }

  /// Moves the pattern and its siblings for each index of two axes. Elements outside become those of the register
  /// `outside`, or 0 if it is null. Parts of elements get 0 added, as `zero` says.
  void move(const tile_axis& outer, const tile_axis& inner, const std::byte* source, std::byte* destination,
            const std::byte* outside = nullptr, added_zero zero = added_zero::none) const noexcept {
    look_up(width_, std::span(groups_).first(group_count_),
            {offsets_.data(), places_.data(), targets_.data(), outside, zero}, outer, inner, source,
            destination);
  }

 private:
  static constexpr std::size_t most_groups = 96;
  static constexpr std::size_t most_targets = 96;
  static constexpr std::size_t most_offsets = 192;
  static constexpr std::size_t most_places = 4608;

  /// A choice is the best next group so far.
  struct choice {
    lookup_shape best{};
    std::size_t gain = 0;  ///< bytes of the destination that it finishes
    std::size_t cost = 0;
    /// The cost of all bytes that are left, if this group comes next.
    std::size_t estimate = std::numeric_limits<std::size_t>::max();
    std::size_t begin = 0;    ///< bytes of the destination before the group
    std::size_t covered = 0;  ///< units
    window_cover cover;
  };

  /// Adds groups for all units. Returns whether this was possible.
  bool add_groups(const pattern_units& units) noexcept {
    const std::size_t bytes = units.count * unit_;
    cost_ = group_count_ = target_count_ = offset_count_ = place_count_ = 0;
    for (std::size_t done = 0; done < bytes;) {
      choice next;
      if (width_ < 64) {
        if (width_ == 32 && unit_ >= 4) consider(next, units, done, 32, 32);
        if (width_ == 32) consider(next, units, done, 32, 16);
        consider(next, units, done, 16, 16);
      } else {
        for (const std::size_t store : {std::size_t{64}, std::size_t{32}}) {
          if (store < 64 && next.gain > 0 && bytes - done >= 64) break;
          consider(next, units, done, store, 32);
          const bool are_windows_full =
              2 * next.gain * siblings_.extent > std::size_t{next.best.windows} * 32;
          if (!are_windows_full) consider(next, units, done, store, 16);
        }
      }
      if (next.gain == 0) return false;
      is_too_large_ = !append(next, bytes);
      if (is_too_large_) return false;
      done += next.gain;
    }
    return true;
  }

  /// Considers groups that finish bytes of the destination from `done` on.
  void consider(choice& next, const pattern_units& all, std::size_t done, std::size_t store,
                std::size_t window_bytes) const noexcept {
    const std::size_t bytes = all.count * unit_;
    const std::size_t step =
        width_ == 32 && window_bytes == 32 ? sizeof(std::uint32_t) : 1;  // tables of words
    window_cover cover(window_bytes, unit_, step, std::span(all.runs).first(all.run_count), siblings_,
                       all.go_back);
    if (bytes < store || !cover.fits()) return;
    const std::size_t begin = std::min(done, bytes - store);
    const std::size_t in_register = store / unit_;
    const std::size_t siblings = siblings_.extent;
    const auto units = std::span(all.offsets).first(all.count).subspan(begin / unit_);
    bool is_best = false;
    const auto try_with = [&](std::size_t windows, std::size_t limit) {
      const std::size_t covered =
          cover.extend(units.first(std::min(units.size(), limit * in_register)), windows);
      if (units.size() == in_register && covered < in_register) return;  // nothing comes after it
      const std::size_t whole = covered / in_register;
      for (const auto& [targets, count] :
           {std::pair(whole, whole * in_register), std::pair(whole + 1, covered)}) {
        const std::size_t right = begin + count * unit_;
        if (targets > limit || right <= done) continue;
        const std::size_t cost = cost_of_group(windows, window_bytes, targets * siblings, store);
        const std::size_t estimate = cost + cost_of_rest(bytes - right, cost, right - done);
        if (estimate >= next.estimate) continue;
        next.best = {static_cast<std::uint8_t>(store), static_cast<std::uint8_t>(window_bytes),
                     static_cast<std::uint8_t>(windows), static_cast<std::uint8_t>(targets * siblings)};
        next.gain = right - done;
        next.cost = cost;
        next.estimate = estimate;
        next.begin = begin;
        next.covered = count;
        is_best = true;
      }
    };
    if (width_ < 64) {
      const std::size_t most =
          window_bytes == 16 ? lookup_shape::most_windows_of_one : lookup_shape::most_windows_of_words;
      for (std::size_t windows = 1; windows <= most; ++windows) try_with(windows, 1);
    } else {
      for (std::size_t loaded = 1; loaded <= 4; loaded *= 2) {  // registers
        const bool is_alone = loaded == 1 && siblings == 1;
        try_with(loaded * width_ / window_bytes, is_alone ? 1 : sibling_axis::limit / siblings);
      }
    }
    if (is_best) next.cover = cover;
  }

  /// Returns the cost of looking a group up once, in tenths of a cycle, with its share of the cost of a call.
  std::size_t cost_of_group(std::size_t windows, std::size_t window_bytes, std::size_t targets,
                            std::size_t store) const noexcept {
    using costs = lookup_costs;
    if (width_ == 32 && go_back_ && unit_ >= sizeof(std::uint32_t) && windows > 1)
      return costs::backward_window * windows;
    if (width_ < 64)
      return costs::window * (windows + 1) +
             (store == 32 && windows > costs::many_windows ? costs::long_store : 0);
    const std::size_t loaded = windows * window_bytes / width_;
    if (loaded == 4 && window_bytes == 16)
      return costs::call + costs::short_windows.windows + costs::short_windows.target * targets;
    const costs::group& each = loaded == 4                         ? costs::four_registers
                               : loaded == 2 && window_bytes == 16 ? costs::two_registers
                                                                   : costs::one_register;
    return costs::call + std::max(each.windows, each.target * targets);
  }

  /// Estimates the cost of `rest` bytes after a group that finishes `gain` bytes. The cost is proportional, but at least the
  /// cost of the best possible groups, and of one more group if there is a rest.
  std::size_t cost_of_rest(std::size_t rest, std::size_t cost, std::size_t gain) const noexcept {
    const std::size_t proportional = cost * rest / gain;
    if (width_ < 64 || rest == 0) return proportional;
    const lookup_costs::group& each = lookup_costs::one_register;
    const std::size_t best = (lookup_costs::call + 2 * each.target) * rest * siblings_.extent / (2 * width_);
    return std::max({proportional, best, lookup_costs::call + each.windows});
  }

  /// Adds a group to the table. Returns whether there was room.
  bool append(const choice& next, std::size_t bytes) noexcept {
    const lookup_shape& g = next.best;
    const std::size_t tables = g.tables(width_);
    if (group_count_ == most_groups || g.targets > most_targets - target_count_ ||
        g.windows > most_offsets - offset_count_ ||
        g.targets * tables * g.store > most_places - place_count_) {
      return false;
    }
    groups_[group_count_++] = g;
    cost_ += next.cost;
    for (std::size_t k = 0; k < g.windows; ++k) offsets_[offset_count_++] = next.cover.offset(k);
    const std::size_t in_register = g.store / unit_;
    const std::size_t last = (bytes - next.begin) / unit_ - in_register;
    const std::size_t table_bytes = g.table_bytes(width_);
    for (std::size_t t = 0; t < g.targets; ++t) {
      const std::size_t sibling = t % siblings_.extent;
      const std::size_t first = std::min(t / siblings_.extent * in_register, last);
      targets_[target_count_++] = static_cast<std::int64_t>(next.begin + first * unit_) +
                                  static_cast<std::int64_t>(sibling) * siblings_.destination_stride;
      const std::size_t covered = std::min(in_register, next.covered - std::min(first, next.covered));
      const auto places = next.cover.places().subspan(first * siblings_.extent + sibling);
      for (std::size_t table = 0; table < tables; ++table) {
        std::uint8_t* const found = places_.data() + place_count_;
        const auto find = [&](auto unit) {
          for (std::size_t i = 0; i < covered; ++i) {
            const std::size_t place = places[i * siblings_.extent] - table * table_bytes;
            for (std::size_t k = 0; k < unit; ++k) {
              found[i * unit + k] = static_cast<std::uint8_t>(place < table_bytes ? place + k : 255);
            }
          }
        };
        unrolled<5>([&](auto log_unit) {
          constexpr std::size_t unit = std::size_t{1} << log_unit;
          if (unit == unit_) find(std::integral_constant<std::size_t, unit>{});
        });
        std::fill(found + covered * unit_, found + g.store, std::uint8_t{255});
        place_count_ += g.store;
      }
    }
    return true;
  }

  std::size_t width_;
  std::size_t cost_;
  sibling_axis siblings_;
  std::size_t unit_;  ///< bytes
  bool go_back_;      ///< whether the source is read backwards; while a table is made
  bool is_too_large_ = false;
  std::size_t group_count_;
  std::size_t target_count_;
  std::size_t offset_count_;
  std::size_t place_count_;
  std::array<lookup_shape, most_groups> groups_;
  std::array<std::int64_t, most_targets> targets_;
  std::array<std::int64_t, most_offsets> offsets_;  ///< bytes from the source of the pattern to each window
  std::array<std::uint8_t, most_places> places_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
