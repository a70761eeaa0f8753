// SPDX-License-Identifier: BSD-3-Clause
//
// A copied_box copies units between places at even distances, without a plan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/runs.hpp>
#include <reblock/detail/with_word.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Its units have 1, 2, 4, 8 or 16 bytes. Strides are in bytes.
struct copied_box {
  struct axis {
    std::int64_t count;
    std::int64_t source_stride;
    std::int64_t destination_stride;
  };

  std::array<axis, max_axes + 1> axes;  ///< elements of several units have an axis more
  std::size_t rank = 0;
  std::int64_t unit = 1;  ///< bytes

  std::int64_t units() const noexcept {
    std::int64_t all = 1;
    for (std::size_t k = 0; k < rank; ++k) all *= axes[k].count;
    return all;
  }

  /// Adds an axis outside of the others. An axis that continues the one before becomes a part of it.
  void add(const axis& next) noexcept {
    if (next.count == 1) return;
    if (rank > 0) {
      axis& last = axes[rank - 1];
      if (next.source_stride == wrapping_multiply(last.count, last.source_stride) &&
          next.destination_stride == wrapping_multiply(last.count, last.destination_stride)) {
        last.count *= next.count;
        return;
      }
    }
    axes[rank++] = next;
  }

  /// Tells whether the units of the innermost axis are a run of both sides.
  bool has_runs() const noexcept {
    return rank == 0 || (axes[0].source_stride == unit && axes[0].destination_stride == unit);
  }

  /// Tells whether a mover that is planned copies the box faster: it has many units, and no long runs.
  bool is_worth_planning() const noexcept {
    if (rank == 0 || (has_runs() && axes[0].count * unit >= padding_costs::long_run)) return false;
    return units() >= padding_costs::least_planned_units;
  }
  /// Describes the copies for such a mover.
  layout moves() const noexcept {
    layout all;
    for (std::size_t k = 0; k < rank; ++k)
      all.add({axes[k].count, axes[k].source_stride, axes[k].destination_stride});
    return all;
  }

  /// Copies runs, or else units along the longest axis.
  void copy(const std::byte* source, std::byte* destination) noexcept {
    if (rank == 0) axes[rank++] = {1, unit, unit};
    if (has_runs()) return copy_along(rank, source, destination, copy_contiguous);
    for (std::size_t k = 1; k < rank; ++k) {
      if (axes[k].count > axes[0].count) std::swap(axes[0], axes[k]);
    }
    with_word(unit, [&]<std::size_t Size>() { copy_along(rank, source, destination, copy_units<Size>); });
  }

 private:
  /// A run_copier copies a run, the innermost axis of a box.
  using run_copier = void (*)(const axis& run, const std::byte* source, std::byte* destination);

  static void copy_contiguous(const axis& run, const std::byte* source, std::byte* destination) noexcept {
    copy_run(destination, source, static_cast<std::size_t>(run.count * run.destination_stride));
  }
  template <std::size_t Size>
  static void copy_units(const axis& run, const std::byte* source, std::byte* destination) noexcept {
    const axis held = run;  // a copy, which no store can change
    std::int64_t read = 0;  // bytes; the next unit may lie beyond the tensor
    std::int64_t written = 0;
    for (std::int64_t i = 0; i < held.count; ++i) {
      std::memcpy(destination + written, source + read, Size);
      read = wrapping_add(read, held.source_stride);
      written = wrapping_add(written, held.destination_stride);
    }
  }
  /// Copies the runs along the first `count` axes.
  [[gnu::noinline]] void copy_along(std::size_t count, const std::byte* source, std::byte* destination,
                                    run_copier copy_one) const noexcept {
    if (count == 1) return copy_one(axes[0], source, destination);
    const axis outer = axes[count - 1];
    for (std::int64_t i = 0; i < outer.count; ++i) {
      const std::byte* const from = source + wrapping_multiply(i, outer.source_stride);
      std::byte* const to = destination + wrapping_multiply(i, outer.destination_stride);
      if (count == 2) {
        copy_one(axes[0], from, to);
      } else {
        copy_along(count - 1, from, to, copy_one);
      }
    }
  }
};

/// Returns the bytes of the units of an element: the largest ones that fill it.
constexpr std::int64_t unit_of(std::int64_t element_size) noexcept {
  std::int64_t unit = 1;
  while (unit < 16 && element_size % (2 * unit) == 0) unit *= 2;
  return unit;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
