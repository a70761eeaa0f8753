// SPDX-License-Identifier: BSD-3-Clause
//
// A shuffle_table fills a short run of the destination. Its bytes come from near places of the source, in any order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/movers/list_places.hpp>
#include <reblock/detail/movers/look_up.hpp>
#include <reblock/detail/sums/tile.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Registers of the run look their bytes up in windows of the source. The last register may overlap the one before.
class shuffle_table {
 public:
  static constexpr std::int64_t window = 16;       ///< bytes
  static constexpr std::int64_t most_bytes = 128;  ///< of a run
  static constexpr std::int64_t most_reach = 512;  ///< bytes of the source

  /// Leaves the members uninitialized.
  shuffle_table() noexcept {
  }  // NOLINT(modernize-use-equals-default): a default one would be cleared at times

  /// Makes the table for elements of `size` bytes along some axes, the innermost first. The destination has no gaps along
  /// them, and each has `at_once` indices in a run. The mover may read all bytes between the elements. Registers have up to
  /// `width` bytes. Returns whether there is a table.
  [[gnu::noinline]] bool make(std::span<const cut_axis> axes, std::int64_t size, std::size_t width) noexcept {
    count_ = windows_ = 0;
    bytes_ = size;
    std::array<std::int64_t, most_bytes> offsets;
    std::int64_t lowest = 0;
    std::int64_t reach = size;
    for (const cut_axis& axis : axes) {
      const std::int64_t far = wrapping_multiply(axis.source_stride, axis.at_once - 1);
      if (far > most_reach || far < -most_reach) return false;
      lowest += std::min<std::int64_t>(far, 0);
      reach += far < 0 ? -far : far;
      bytes_ *= axis.at_once;
    }
    if (bytes_ < window || bytes_ > most_bytes || reach < window || reach > most_reach) return false;
    offsets[0] = -lowest;
    std::size_t filled = list_places(size, 1, offsets.data(), 1);
    for (const cut_axis& axis : axes)
      filled = list_places(axis.at_once, axis.source_stride, offsets.data(), filled);
    const std::size_t store = filled < 32 || width < 32 ? 16 : 32;
    for (std::size_t first = 0; first < filled; first += store) {
      const std::size_t begin = std::min(first, filled - store);
      if (!add(std::span(offsets).subspan(begin, store), reach, lowest)) return false;
      targets_[count_ - 1] = static_cast<std::int64_t>(begin);
    }
    return true;
  }

  /// Returns how many of `extent` indices, `bytes` each, should be in a run: as few as fill the fewest registers in all. There
  /// is room for `most`.
  static constexpr std::int64_t choose_piece(std::int64_t extent, std::int64_t bytes,
                                             std::int64_t most) noexcept {
    constexpr std::int64_t widest = 32;  // bytes
    const auto registers = [&](std::int64_t piece) {
      return ceil_divide(extent, piece) * ceil_divide(piece * bytes, widest);
    };
    std::int64_t best = std::min(extent, most);
    for (std::int64_t piece = best; piece > 1 && piece * bytes >= widest; --piece) {
      if (registers(piece) < registers(best) || (best < extent && registers(piece) == registers(best)))
        best = piece;
    }
    return best;
  }

  std::size_t registers() const noexcept { return count_; }
  /// Counts the windows of all registers.
  std::size_t windows() const noexcept { return windows_; }

  /// Fills a run for each index of two axes, some kilobytes at a time, because each register walks all runs.
  void move(const tile_axis& outer, const tile_axis& inner, const std::byte* source,
            std::byte* destination) const noexcept {
    constexpr std::int64_t near = 8192;  // bytes
    const std::int64_t together = count_ == 1 ? inner.extent : std::max<std::int64_t>(1, near / bytes_);
    tile_axis few = inner;
    tile_axis rows = outer;
    for (std::int64_t i = 0; i < inner.extent; i += together) {
      few.extent = std::min(together, inner.extent - i);
      const std::int64_t most = count_ == 1 ? outer.extent : std::max<std::int64_t>(1, together / few.extent);
      for (std::int64_t j = 0; j < outer.extent; j += most) {
        rows.extent = std::min(most, outer.extent - j);
        fill(rows, few, source + j * outer.source_stride + i * inner.source_stride,
             destination + j * outer.destination_stride + i * inner.destination_stride);
      }
    }
  }

 private:
  void fill(const tile_axis& outer, const tile_axis& inner, const std::byte* source,
            std::byte* destination) const noexcept {
    constexpr std::size_t narrow = 32;  // each register is looked up alone
    look_up(narrow, std::span(shapes_).first(count_), {windows_at_.data(), places_.data(), targets_.data()},
            outer, inner, source, destination);
  }

  static constexpr std::size_t most_registers = most_bytes / 16;
  static constexpr std::size_t most_windows = lookup_shape::most_windows_of_one;
  static constexpr std::size_t most_all_windows = 40;

  /// Adds a register whose bytes have these offsets, counted from the lowest one.
  bool add(std::span<const std::int64_t> offsets, std::int64_t reach, std::int64_t lowest) noexcept {
    constexpr std::size_t word = 64;  // bits
    std::array<std::uint64_t, most_reach / word> wanted{};
    for (const std::int64_t offset : offsets) {
      const auto bit = static_cast<std::size_t>(offset);
      wanted[bit / word] |= std::uint64_t{1} << bit % word;
    }
    std::array<std::int64_t, most_windows> first;
    std::size_t count = 0;
    std::size_t covered = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (std::uint64_t left = wanted[i]; left != 0; left &= left - 1) {
        const std::size_t bit = i * word + static_cast<std::size_t>(std::countr_zero(left));
        if (bit < covered) continue;
        if (count == most_windows || windows_ == most_all_windows) return false;
        first[count] = std::min(static_cast<std::int64_t>(bit), reach - window);
        covered = static_cast<std::size_t>(first[count] + window);
        windows_at_[windows_++] = first[count++] + lowest;
      }
    }
    const std::size_t store = offsets.size();
    std::uint8_t* const places = places_.data() + placed();
    std::fill_n(places, count * store, std::uint8_t{255});
    for (std::size_t i = 0; i < store; ++i) {
      std::size_t in = count - 1;
      while (first[in] > offsets[i]) --in;
      places[in * store + i] = static_cast<std::uint8_t>(offsets[i] - first[in]);
    }
    shapes_[count_++] = {static_cast<std::uint8_t>(store), window, static_cast<std::uint8_t>(count), 1};
    return true;
  }

  /// Counts the bytes of the places of all registers so far.
  std::size_t placed() const noexcept {
    std::size_t bytes = 0;
    for (const lookup_shape& shape : std::span(shapes_).first(count_))
      bytes += std::size_t{shape.windows} * shape.store;
    return bytes;
  }

  std::int64_t bytes_ = 0;  ///< of a run
  std::size_t count_ = 0;   ///< registers
  std::size_t windows_ = 0;
  std::array<lookup_shape, most_registers> shapes_;
  std::array<std::int64_t, most_registers> targets_;        ///< bytes from the run's first byte
  std::array<std::int64_t, most_all_windows> windows_at_;   ///< bytes from the source of the run
  std::array<std::uint8_t, most_all_windows * 32> places_;  ///< of the registers' bytes in their windows
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
