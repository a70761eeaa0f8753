// SPDX-License-Identifier: BSD-3-Clause
//
// A plane_move moves planes that are equally large on both sides, shifted by an offset within a window: unfold with
// stride 1 and "same" padding. Each plane is one run, which also has elements of neighbouring rows. They are replaced by what
// lies outside of the image: a value, or elements inside that a padding mode repeats.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/runs.hpp>
#include <reblock/detail/moves/padded_axis.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/with_word.hpp>
#include <reblock/padding_mode.hpp>

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

  /// Plans a simplified layout and returns the cost in cycles, or never if planes are not shifted.
  double plan(const layout& moves, std::int64_t element_size, instruction_set set) noexcept;

  /// Sets the element that the constant mode finds outside of the image. It is zero before.
  void set_outside(const std::array<std::byte, most_padding_bytes>& value,
                   std::int64_t element_size) noexcept {
    if (element_size > std::int64_t{most_padding_bytes}) return;
    const auto size = static_cast<std::size_t>(element_size);
    filled_ = outside_.size() - outside_.size() % size;
    for (std::size_t i = 0; i < filled_; ++i) {
      outside_[i] = value[i % size];
      has_equal_bytes_ = has_equal_bytes_ && outside_[i] == outside_[0];
    }
  }

  /// Returns the cost in cycles with a padding mode or a value, after plan().
  double padded_cost() const noexcept;

  void run(const std::byte* source, std::byte* destination) const noexcept;

 private:
  friend class plane_runner;

  static constexpr std::size_t widest = 64;  ///< bytes of a register
  /// The most rows or columns of a plane that are outside, if a padding mode repeats elements there.
  static constexpr std::size_t most_repeated = 32;

  std::size_t rows() const noexcept { return moves_.rank - 2; }  ///< axis of the rows of a plane
  std::int64_t plane_bytes() const noexcept {
    return moves_.axes[rows()].extent * moves_.axes[rows()].destination_stride;
  }
  double cost_of(double byte, double plane, double row) const noexcept {
    const auto all = static_cast<double>(bytes());
    const double planes = all / static_cast<double>(plane_bytes());
    return all * byte + planes * (plane + row * static_cast<double>(moves_.axes[rows()].extent));
  }

  layout moves_;  ///< the last axes are planes, if there are several, rows and columns
  std::int64_t size_ = 0;
  std::size_t walked_ = 0;  ///< axes before the planes
  std::size_t dense_ = 0;   ///< the axes from this one on have no gaps in the destination
  bool is_streamed_ = false;
  long_copier copy_long_ = nullptr;
  std::array<std::byte, widest> outside_{};  ///< what the constant mode finds, as often as it fits
  std::size_t filled_ = widest;              ///< bytes of `outside_` in use
  bool has_equal_bytes_ = true;              ///< whether they all are equal
};
static_assert(std::is_trivially_copyable_v<plane_move>);

/// Counts the most indices of an axis that are outside, of all indices of the bound's other axis.
constexpr std::int64_t most_outside(const layout& moves, std::size_t i) noexcept {
  const layout_axis& axis = moves.axes[i];
  if (!axis.bounded()) return 0;
  std::int64_t most = 0;
  for (std::size_t k = 0; k < moves.rank; ++k) {
    const layout_axis& other = moves.axes[k];
    if (k == i || !share_bound(axis, other)) continue;
    for (const std::int64_t index : {std::int64_t{0}, other.extent - 1}) {
      const index_range inside = range_inside(moves.bounds[axis.bound], index * other.bound_step, axis);
      most = std::max(most, axis.extent - (inside.end - inside.begin));
    }
  }
  return most;
}

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
  if (!has_shifted_planes(moves, element_size)) return never;
  for (const std::size_t i : {moves.rank - 2, moves.rank - 1}) {
    if (moves.repeats_inside(i) && most_outside(moves, i) > std::int64_t{most_repeated}) return never;
  }
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
  copy_long_ = long_copier_of(set);
  return cost_of(1 / costs.plane_bytes, costs.plane, costs.border);
}

inline double plane_move::padded_cost() const noexcept {
  using costs = padding_costs;
  const auto outside = static_cast<double>(most_outside(moves_, rows() + 1));
  return cost_of(costs::plane_byte, costs::plane, costs::plane_row + costs::outside_column * outside);
}

/// A plane_runner walks the axes before planes, and computes which elements of a plane are inside.
class plane_runner {
 public:
  plane_runner(const plane_move& move, const std::byte* source, std::byte* destination) noexcept
      : move_(move), moves_(move.moves_), source_(source), destination_(destination) {
    for (std::size_t i = 0; i < moves_.rank; ++i) {
      parts_[i] = {{0, moves_.axes[i].extent}, 0};
      repeats_ = repeats_ || moves_.repeats_inside(i);
    }
  }

  void run() noexcept { visit(0, moves_.source_offset, moves_.destination_offset); }

 private:
  /// An axis_part says which indices of an axis are inside, and the position of index 0 in the image.
  struct axis_part {
    index_range inside;
    std::int64_t first;
  };

  /// An index outside, and the element that a padding mode repeats there, in bytes from those of index 0.
  struct repeated_index {
    std::int64_t to;
    std::int64_t from;
  };
  class repeated_indices {
   public:
    /// Lists the indices of an axis that are outside.
    void list(const plane_runner& runner, std::size_t i) noexcept {
      const layout_axis& axis = runner.moves_.axes[i];
      const axis_part& part = runner.parts_[i];
      count_ = 0;
      for (std::int64_t index = 0; index < axis.extent; ++index) {
        if (index == part.inside.begin) index = part.inside.end;
        if (index >= axis.extent) return;
        assert(count_ < all_.size());
        all_[count_++] = {index * axis.destination_stride,
                          wrapping_add(index * axis.source_stride, runner.to_repeated(i, part, index))};
      }
    }
    std::span<const repeated_index> listed() const noexcept { return std::span(all_).first(count_); }

   private:
    std::array<repeated_index, plane_move::most_repeated> all_;
    std::size_t count_ = 0;
  };

  void visit(std::size_t i, std::int64_t source, std::int64_t destination) noexcept {
    if (i == move_.walked_) return move_planes(source, destination);
    const layout_axis& axis = moves_.axes[i];
    const axis_part part = parts_[i];
    const index_range walked = repeats_ ? index_range{0, axis.extent} : part.inside;
    fill(i, destination, {0, walked.begin});
    fill(i, destination, {walked.end, axis.extent});
    for (std::int64_t index = walked.begin; index < walked.end; ++index) {
      const std::int64_t to = wrapping_add(destination, wrapping_multiply(index, axis.destination_stride));
      if (decide(i, index) || repeats_) {
        const std::int64_t from = wrapping_add(source, wrapping_multiply(index, axis.source_stride));
        visit(i + 1, wrapping_add(from, to_repeated(i, part, index)), to);
      } else {
        fill(i + 1, to, {0, moves_.axes[i + 1].extent});
      }
    }
  }

  /// Computes what `index` on axis `i` decides of another axis, if there is one. Returns whether any index is inside.
  bool decide(std::size_t i, std::int64_t index) noexcept {
    const layout_axis& axis = moves_.axes[i];
    if (!axis.bounded()) return true;
    for (std::size_t j = i + 1; j < moves_.rank; ++j) {
      const layout_axis& other = moves_.axes[j];
      if (!share_bound(axis, other)) continue;
      const axis_bound& bound = moves_.bounds[other.bound];
      const std::int64_t moved = index * axis.bound_step;
      parts_[j] = {range_inside(bound, moved, other), bound.offset + moved};
      return parts_[j].inside.begin < parts_[j].inside.end;
    }
    return true;
  }

  /// Returns the bytes from where an index lies to the element that a padding mode repeats there: 0 if it is inside.
  std::int64_t to_repeated(std::size_t i, const axis_part& part, std::int64_t index) const noexcept {
    if (index >= part.inside.begin && index < part.inside.end) return 0;
    const layout_axis& axis = moves_.axes[i];
    const axis_bound& bound = moves_.bounds[axis.bound];
    const std::int64_t position = part.first + index * axis.bound_step;
    return wrapping_multiply(padded_axis{bound.mode, bound.extent}.at(position) - position,
                             bound.source_stride);
  }

  /// Fills a range of axis `i`, and all of the axes behind it, with what the constant mode finds.
  [[gnu::noinline]] void fill(std::size_t i, std::int64_t destination,
                              const index_range& range) const noexcept {
    if (range.begin >= range.end) return;
    const std::int64_t stride = moves_.axes[i].destination_stride;
    destination = wrapping_add(destination, wrapping_multiply(range.begin, stride));
    const std::int64_t count = range.end - range.begin;
    if (i >= move_.dense_) return fill(destination_ + destination, count * stride);
    for (std::int64_t k = 0; k < count; ++k, destination = wrapping_add(destination, stride)) {
      fill(i + 1, destination, {0, moves_.axes[i + 1].extent});
    }
  }
  [[gnu::noinline]] void fill(std::byte* to, std::int64_t bytes) const noexcept {
    const auto size = static_cast<std::size_t>(bytes);
    if (move_.has_equal_bytes_) {
      std::memset(to, std::to_integer<int>(move_.outside_[0]), size);
      return;
    }
    std::size_t filled = std::min(size, move_.filled_);
    std::memcpy(to, move_.outside_.data(), filled);
    for (; filled < size; filled += std::min(filled, size - filled)) {
      std::memcpy(to + filled, to, std::min(filled, size - filled));
    }
  }

  void move_planes(std::int64_t source, std::int64_t destination) noexcept {
    if (repeats_) {
      outside_rows_.list(*this, move_.rows());
      outside_columns_.list(*this, move_.rows() + 1);
    }
    const bool has_planes = move_.walked_ < move_.rows();
    const layout_axis planes = has_planes ? moves_.axes[move_.walked_] : layout_axis{1, 0, 0};
    for (std::int64_t plane = 0; plane < planes.extent; ++plane) {
      const std::byte* const from = source_ + wrapping_add(source, plane * planes.source_stride);
      std::byte* const to = destination_ + destination + plane * planes.destination_stride;
      move_plane(from, to);
    }
  }

  std::int64_t row_stride() const noexcept { return moves_.axes[move_.rows()].destination_stride; }
  const index_range& rows_inside() const noexcept { return parts_[move_.rows()].inside; }
  const index_range& columns_inside() const noexcept { return parts_[move_.rows() + 1].inside; }

  /// Moves what is inside of a plane, and replaces what is outside.
  void move_plane(const std::byte* from, std::byte* to) const noexcept {
    const index_range& rows = rows_inside();
    const index_range& columns = columns_inside();
    const std::int64_t bytes = move_.plane_bytes();
    const bool is_empty = rows.begin >= rows.end || columns.begin >= columns.end;
    // from the first to the last element inside
    const std::int64_t begin = is_empty ? bytes : rows.begin * row_stride() + columns.begin * move_.size_;
    const std::int64_t end = is_empty ? bytes : (rows.end - 1) * row_stride() + columns.end * move_.size_;
    if (begin < end) copy(to + begin, from + begin, end - begin);
    if (repeats_) return repeat_borders(from, to);
    if (begin > 0) fill(to, begin);
    if (end < bytes) fill(to + end, bytes - end);
    if (!is_empty) fill_borders(to);
  }

  /// Repeats elements inside of a plane wherever it is outside.
  void repeat_borders(const std::byte* from, std::byte* to) const noexcept {
    const index_range& columns = columns_inside();
    const std::int64_t begin = columns.begin * move_.size_;
    const std::int64_t bytes = (columns.end - columns.begin) * move_.size_;
    for (const repeated_index& row : outside_rows_.listed()) {
      if (bytes > 0) copy(to + row.to + begin, from + row.from + begin, bytes);
    }
    if (outside_columns_.listed().empty()) return;
    with_word(move_.size_, [&]<std::size_t Size>() { repeat_columns<Size>(from, to); });
  }
  /// Repeats units of Size bytes, or, if it is 0, of any size.
  template <std::size_t Size>
  void repeat_columns(const std::byte* from, std::byte* to) const noexcept {
    const index_range rows = rows_inside();
    const std::int64_t row = row_stride();
    const std::size_t size = Size == 0 ? static_cast<std::size_t>(move_.size_) : Size;
    for (const repeated_index column : outside_columns_.listed()) {
      for (std::int64_t at = rows.begin * row; at < rows.end * row; at += row) {
        std::memcpy(to + column.to + at, from + column.from + at, size);
      }
      for (const repeated_index other : outside_rows_.listed()) {
        std::memcpy(to + column.to + other.to, from + column.from + other.from, size);
      }
    }
  }

  /// Copies a run of a plane.
  void copy(std::byte* to, const std::byte* from, std::int64_t count) const noexcept {
    const auto size = static_cast<std::size_t>(count);
    if (move_.is_streamed_) return stream_run(to, from, size);
    if (size >= plane_move::widest) return move_.copy_long_(to, from, size);
    copy_run(to, from, size);
  }

  /// Fills what lies between the rows' elements inside.
  void fill_borders(std::byte* to) const noexcept {
    const index_range& rows = rows_inside();
    const index_range& columns = columns_inside();
    const auto gap = static_cast<std::size_t>(row_stride() - (columns.end - columns.begin) * move_.size_);
    if (gap == 0) return;
    to += rows.begin * row_stride() + columns.end * move_.size_;
    const std::int64_t count = rows.end - rows.begin - 1;
    with_word(static_cast<std::int64_t>(gap), [&]<std::size_t Size>() { fill_gaps<Size>(to, count, gap); });
  }
  /// Fills gaps of Size bytes, or, if it is 0, of any size. Borders have only a few bytes.
  template <std::size_t Size>
  void fill_gaps(std::byte* to, std::int64_t count, std::size_t gap) const noexcept {
    std::array<std::byte, std::max(Size, std::size_t{1})> held;  // a copy, which no store can change
    std::memcpy(held.data(), move_.outside_.data(), Size);
    const std::int64_t row = row_stride();
    for (std::int64_t i = 0; i < count; ++i) {
      std::byte* const place = to + i * row;
      if constexpr (Size > 0) {
        std::memcpy(place, held.data(), Size);
      } else if (gap > move_.filled_) {
        fill(place, static_cast<std::int64_t>(gap));
      } else {
        copy_run(place, move_.outside_.data(), gap);
      }
    }
  }

  const plane_move& move_;
  const layout& moves_;
  const std::byte* source_;
  std::byte* destination_;
  bool repeats_ = false;  ///< whether a padding mode finds elements outside
  std::array<axis_part, max_axes> parts_;
  repeated_indices outside_rows_;
  repeated_indices outside_columns_;
};

inline void plane_move::run(const std::byte* source, std::byte* destination) const noexcept {
  plane_runner(*this, source, destination).run();
  if (is_streamed_) finish_streams();
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
