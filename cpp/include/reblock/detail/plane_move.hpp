// SPDX-License-Identifier: BSD-3-Clause
//
// A plane_move moves planes that are equally large on both sides, shifted by an offset within a window: unfold with
// stride 1 and "same" padding. Each plane is one run, which also has elements of neighbouring rows. They become zeros.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/runs.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>
#include <reblock/detail/simplify.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A plane_move is trivially copyable.
class plane_move {
 public:
  bool is_empty() const noexcept { return false; }
  std::size_t rank() const noexcept { return rows(); }
  const layout_axis& axis(std::size_t i) const noexcept { return moves_.axes[i]; }
  static std::int64_t at_once(std::size_t) noexcept { return 1; }
  std::int64_t bytes() const noexcept { return total_bytes(moves_, size_); }
  void narrow(std::size_t i, const index_range& range) noexcept {
    moves_.narrow(i, range.begin, range.end);
    dense_ = std::max(dense_, i);  // the axes before now have gaps
  }

  /// Plans a simplified layout and returns the cost in cycles, or infinity if planes are not shifted.
  double plan(const layout& moves, std::int64_t element_size, instruction_set set) noexcept;

  void run(const std::byte* source, std::byte* destination) const noexcept;

 private:
  friend class plane_runner;

  std::size_t rows() const noexcept { return moves_.rank - 2; }  ///< axis of the rows of a plane
  std::int64_t plane_bytes() const noexcept {
    return moves_.axes[rows()].extent * moves_.axes[rows()].destination_stride;
  }

  layout moves_;  ///< the last axes are planes, if there are several, rows and columns
  std::int64_t size_ = 0;
  std::size_t walked_ = 0;  ///< axes before the planes
  std::size_t dense_ = 0;   ///< the axes from this one on have no gaps in the destination
  bool is_streamed_ = false;
  void (*copy_long_)(std::byte*, const std::byte*, std::size_t) noexcept = nullptr;
};
static_assert(std::is_trivially_copyable_v<plane_move>);

/// Tells whether the last two axes are the rows and columns of equally large planes.
constexpr bool has_shifted_planes(const layout& moves, std::int64_t element_size) noexcept {
  if (moves.rank < 2) return false;
  const layout_axis& columns = moves.axes[moves.rank - 1];
  const layout_axis& rows = moves.axes[moves.rank - 2];
  return columns.bounded() && !share_bound(rows, columns) && columns.source_stride == element_size &&
         columns.destination_stride == element_size && columns.bound_step == 1 &&
         rows.source_stride == rows.destination_stride &&
         rows.source_stride == moves.bounds[columns.bound].extent * element_size &&
         rows.destination_stride == columns.extent * element_size;
}

inline double plane_move::plan(const layout& moves, std::int64_t element_size, instruction_set set) noexcept {
  if (!has_shifted_planes(moves, element_size)) return std::numeric_limits<double>::infinity();
  moves_.take(moves);
  size_ = element_size;
  const mover_costs costs = mover_costs::of(set);
  // the same window offset of many small planes is found once; larger outputs are written from begin to end
  std::size_t planes = no_axis;
  const bool are_small = plane_bytes() <= cache_sizes::page && bytes() < cache_sizes::near_planes;
  for (std::size_t i = 0; are_small && i < rows(); ++i) {
    if (moves.axes[i].bounded()) continue;
    if (planes == no_axis || moves.axes[i].extent > moves.axes[planes].extent) planes = i;
  }
  walked_ = rows();
  if (planes != no_axis) rotate_axis(moves_, planes, --walked_);
  dense_ = moves_.rank;
  std::int64_t dense_bytes = size_;
  for (std::size_t i = moves_.rank; i-- > 0 && moves_.axes[i].destination_stride == dense_bytes;) {
    dense_bytes *= moves_.axes[i].extent;
    dense_ = i;
  }
  const std::int64_t row_bytes = moves.axes[rows()].destination_stride;
  is_streamed_ = goes_past_caches(moves, size_) && row_bytes >= costs.least_streamed_row;
  copy_long_ = baseline::copy_long;
#if defined(__GNUC__) && defined(__x86_64__)
  if (set >= instruction_set::avx2) copy_long_ = avx2::copy_long;
  if (set >= instruction_set::avx512) copy_long_ = avx512::copy_long;
#endif
  const auto all = static_cast<double>(bytes());
  const double count = all / static_cast<double>(plane_bytes());
  const double borders = costs.border * static_cast<double>(moves_.axes[rows()].extent);
  return all / costs.plane_bytes + count * (costs.plane + borders);
}

/// A plane_runner walks the axes before planes, and computes which elements of a plane are inside.
class plane_runner {
 public:
  plane_runner(const plane_move& move, const std::byte* source, std::byte* destination) noexcept
      : move_(move), moves_(move.moves_), source_(source), destination_(destination) {
    for (std::size_t i = 0; i < moves_.rank; ++i) ranges_[i] = {0, moves_.axes[i].extent};
  }

  void run() noexcept { visit(0, moves_.source_offset, moves_.destination_offset); }

 private:
  void visit(std::size_t i, std::int64_t source, std::int64_t destination) noexcept {
    if (i == move_.walked_) return move_planes(source, destination);
    const layout_axis& axis = moves_.axes[i];
    const index_range inside = ranges_[i];
    clear(i, destination, {0, inside.begin});
    clear(i, destination, {inside.end, axis.extent});
    for (std::int64_t index = inside.begin; index < inside.end; ++index) {
      const std::int64_t to = wrapping_add(destination, wrapping_multiply(index, axis.destination_stride));
      if (decide(i, index)) {
        visit(i + 1, wrapping_add(source, wrapping_multiply(index, axis.source_stride)), to);
      } else {
        clear(i + 1, to, {0, moves_.axes[i + 1].extent});
      }
    }
  }

  /// Computes the range that `index` on axis `i` decides, if there is one. Returns whether any index is inside.
  bool decide(std::size_t i, std::int64_t index) noexcept {
    const layout_axis& axis = moves_.axes[i];
    if (!axis.bounded()) return true;
    for (std::size_t j = i + 1; j < moves_.rank; ++j) {
      const layout_axis& other = moves_.axes[j];
      if (!share_bound(axis, other)) continue;
      ranges_[j] = range_inside(moves_.bounds[other.bound], index * axis.bound_step, other);
      return ranges_[j].begin < ranges_[j].end;
    }
    return true;
  }

  /// Sets the indices of a range of axis `i`, and all of the axes behind it, to 0.
  [[gnu::noinline]] void clear(std::size_t i, std::int64_t destination,
                               const index_range& range) const noexcept {
    if (range.begin >= range.end) return;
    const std::int64_t stride = moves_.axes[i].destination_stride;
    destination = wrapping_add(destination, wrapping_multiply(range.begin, stride));
    const std::int64_t count = range.end - range.begin;
    if (i >= move_.dense_) {
      std::memset(destination_ + destination, 0, static_cast<std::size_t>(count * stride));
      return;
    }
    for (std::int64_t k = 0; k < count; ++k, destination = wrapping_add(destination, stride)) {
      clear(i + 1, destination, {0, moves_.axes[i + 1].extent});
    }
  }

  void move_planes(std::int64_t source, std::int64_t destination) noexcept {
    const bool has_planes = move_.walked_ < move_.rows();
    const layout_axis planes = has_planes ? moves_.axes[move_.walked_] : layout_axis{1, 0, 0};
    const std::int64_t row = moves_.axes[move_.rows()].destination_stride;
    const std::int64_t bytes = move_.plane_bytes();
    const index_range rows = ranges_[move_.rows()];
    const index_range columns = ranges_[move_.rows() + 1];
    const bool is_empty = rows.begin >= rows.end || columns.begin >= columns.end;
    // from the first to the last element inside
    const std::int64_t begin = is_empty ? bytes : rows.begin * row + columns.begin * move_.size_;
    const std::int64_t end = is_empty ? bytes : (rows.end - 1) * row + columns.end * move_.size_;
    for (std::int64_t plane = 0; plane < planes.extent; ++plane) {
      const std::int64_t from = plane * planes.source_stride;
      std::byte* const to = destination_ + destination + plane * planes.destination_stride;
      if (begin > 0) std::memset(to, 0, static_cast<std::size_t>(begin));
      if (begin < end) copy(to + begin, source_ + wrapping_add(source, from + begin), end - begin);
      if (end < bytes) std::memset(to + end, 0, static_cast<std::size_t>(bytes - end));
      if (!is_empty) clear_borders(to, rows, columns);
    }
  }

  /// Copies a run of a plane.
  void copy(std::byte* to, const std::byte* from, std::int64_t count) const noexcept {
    const auto size = static_cast<std::size_t>(count);
    constexpr std::size_t widest = 64;  // bytes of a register
    if (move_.is_streamed_) return stream_run(to, from, size);
    if (size >= widest) return move_.copy_long_(to, from, size);
    copy_run(to, from, size);
  }

  /// Clears what lies between the rows' elements inside.
  void clear_borders(std::byte* to, const index_range& rows, const index_range& columns) const noexcept {
    const std::int64_t row = moves_.axes[move_.rows()].destination_stride;
    const auto gap = static_cast<std::size_t>(row - (columns.end - columns.begin) * move_.size_);
    if (gap == 0) return;
    to += rows.begin * row + columns.end * move_.size_;
    const std::int64_t count = rows.end - rows.begin - 1;
    switch (gap) {  // borders have only a few bytes
      case 1: return clear_gaps<1>(to, count, row, gap);
      case 2: return clear_gaps<2>(to, count, row, gap);
      case 4: return clear_gaps<4>(to, count, row, gap);
      case 8: return clear_gaps<8>(to, count, row, gap);
      case 16: return clear_gaps<16>(to, count, row, gap);
      default: return clear_gaps<0>(to, count, row, gap);
    }
  }
  /// Clears gaps of Size bytes, or, if it is 0, of `size` bytes.
  template <std::size_t Size>
  static void clear_gaps(std::byte* to, std::int64_t count, std::int64_t row, std::size_t size) noexcept {
    for (std::int64_t i = 0; i < count; ++i) std::memset(to + i * row, 0, Size == 0 ? size : Size);
  }

  const plane_move& move_;
  const layout& moves_;
  const std::byte* source_;
  std::byte* destination_;
  std::array<index_range, max_axes> ranges_;
};

inline void plane_move::run(const std::byte* source, std::byte* destination) const noexcept {
  plane_runner(*this, source, destination).run();
  if (is_streamed_) finish_streams();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
