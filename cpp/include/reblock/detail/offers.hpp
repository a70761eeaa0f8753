// SPDX-License-Identifier: BSD-3-Clause
//
// block_offers chooses the mover for a layout's blocks and estimates its cost.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>

#include <reblock/detail/blocks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/listed_runs.hpp>
#include <reblock/detail/plan.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The enum says which side of a move is a buffer in the first-level cache.
enum class buffered_side : std::uint8_t { none, source, destination };

struct block_offer {
  block_move move;
  double cost = std::numeric_limits<double>::infinity();  ///< cycles
};

/// An axis_order lists axes, the innermost first.
struct axis_order {
  std::array<std::uint8_t, max_axes> axes;
  std::size_t count = 0;
};

constexpr axis_order order_of(const layout& moves, std::int64_t layout_axis::* stride) noexcept {
  axis_order order;
  for (std::size_t i = moves.rank; i-- > 0;) {
    std::size_t k = order.count++;
    for (; k > 0 && magnitude(moves.axes[order.axes[k - 1]].*stride) > magnitude(moves.axes[i].*stride);
         --k) {
      order.axes[k] = order.axes[k - 1];
    }
    order.axes[k] = static_cast<std::uint8_t>(i);
  }
  return order;
}

/// An axis_chain lists axes along which one side is contiguous, the innermost first.
struct axis_chain {
  std::array<std::uint8_t, max_axes> axes;
  std::uint8_t count = 0;
  std::int64_t elements = 1;

  constexpr void push(std::size_t axis, std::int64_t extent) noexcept {
    axes[count++] = static_cast<std::uint8_t>(axis);
    elements *= extent;
  }
  constexpr bool has(std::size_t axis) const noexcept {
    return std::find(axes.begin(), axes.begin() + count, axis) != axes.begin() + count;
  }
};

inline constexpr std::int64_t lane_bytes = 16;

/// A square_width is a width of registers that transpose squares.
struct square_width {
  std::int64_t lanes;                      ///< of a register
  std::size_t column;                      ///< in the table of costs
  block_mover (*mover)(std::size_t size);  ///< may return null
};

[[gnu::visibility("hidden")]] inline constexpr square_width widths_of_squares[] = {
    {1, 0, baseline::square_mover<>},
#if defined(__GNUC__) && defined(__x86_64__)
    {2, 1, avx2::square_mover<>},
    {4, 2, avx512::square_mover<>},
#endif
};

/// Returns the widths that a processor with this set can use.
inline std::span<const square_width> squares_of(instruction_set set) noexcept {
  const std::size_t usable = set >= instruction_set::avx512 ? 3 : set >= instruction_set::avx2 ? 2 : 1;
  return std::span(widths_of_squares).first(std::min(usable, std::size(widths_of_squares)));
}

/// block_offers compares movers for one layout. The layout is simplified and has no bounds.
class block_offers {
 public:
  block_offers(const layout& moves, std::int64_t element_size, instruction_set set) noexcept
      : layout_(moves),
        size_(element_size),
        side_(element_size > 0 ? std::max<std::int64_t>(1, lane_bytes / element_size) : 1),
        set_(set),
        costs_(mover_costs::of(set)),
        bytes_(static_cast<double>(total_bytes(moves, element_size))) {}

  /// Returns the cheapest offer. If the source is a buffer, a mover may read all of the buffer's bytes behind an element.
  block_offer best(buffered_side buffer) noexcept {
    block_offer found = offer_runs(buffer);
    find_chains();
    const bool has_few_rows = rows_.elements < side_;
    const bool has_few_columns = columns_.elements < side_;
    if (rows_.count == 0) return found;
    if (!has_few_rows && !has_few_columns) {
      take_cheaper(found, offer_squares());
    } else {
      take_cheaper(found, offer_few_rows());
      if (set_ >= instruction_set::ssse3)
        take_cheaper(found, offer_few_streams(has_few_rows, has_few_columns));
    }
    return found;
  }

 private:
  static void take_cheaper(block_offer& found, const block_offer& other) noexcept {
    if (other.cost < found.cost) found = other;
  }

  /// Finds the axis with a stride of `bytes` on one side, or returns no_axis.
  std::size_t find_axis(std::int64_t layout_axis::* stride, std::int64_t bytes) const noexcept {
    for (std::size_t i = 0; i < layout_.rank; ++i) {
      if (layout_.axes[i].*stride == bytes) return i;
    }
    return no_axis;
  }

  /// Finds the axes along which the destination is contiguous (rows), and those along which the source is (columns). No
  /// axis is in both lists. Each list ends as soon as its axes fill whole lines.
  void find_chains() noexcept {
    if (size_ != lane_bytes && !has_squares(size_)) return;
    const std::size_t row = find_axis(&layout_axis::destination_stride, size_);
    const std::size_t column = find_axis(&layout_axis::source_stride, size_);
    if (row == no_axis || column == no_axis || row == column) return;
    rows_.push(row, layout_.axes[row].extent);
    columns_.push(column, layout_.axes[column].extent);
    for (;;) {
      const std::size_t next_row = find_axis(&layout_axis::destination_stride, size_ * rows_.elements);
      const std::size_t next_column = find_axis(&layout_axis::source_stride, size_ * columns_.elements);
      const bool row_grows = can_grow(rows_, next_row);
      const bool column_grows = can_grow(columns_, next_column);
      if (row_grows && (rows_.elements <= columns_.elements || !column_grows)) {
        rows_.push(next_row, layout_.axes[next_row].extent);
      } else if (column_grows) {
        columns_.push(next_column, layout_.axes[next_column].extent);
      } else {
        return;
      }
    }
  }

  bool can_grow(const axis_chain& chain, std::size_t next) const noexcept {
    constexpr std::int64_t limit = 4096;  // elements
    return next != no_axis && chain.elements < 4 * side_ &&
           layout_.axes[next].extent <= limit / chain.elements && !rows_.has(next) && !columns_.has(next);
  }

  /// Makes columns and rows of the axes in `columns` and `rows`, with at most `most_columns` and `most_rows` in a piece.
  /// The other axes are repeated.
  void set_out(block_move& move, const axis_chain& columns, std::int64_t most_columns, const axis_chain& rows,
               std::int64_t most_rows) const noexcept {
    move.element_size = size_;
    move.repeated = 0;
    for (std::size_t i = 0; i < layout_.rank; ++i) {
      if (columns.has(i) || rows.has(i)) continue;
      const layout_axis& axis = layout_.axes[i];
      move.axes[move.repeated++] = {{axis.extent, axis.source_stride, axis.destination_stride}, 1};
    }
    move.column_axes = columns.count;
    move.row_axes = rows.count;
    take_chain(move, move.repeated, columns, most_columns);
    take_chain(move, move.repeated + std::size_t{columns.count}, rows, most_rows);
  }

  void take_chain(block_move& move, std::size_t at, const axis_chain& chain,
                  std::int64_t limit) const noexcept {
    std::int64_t streams = 1;
    for (std::size_t k = 0; k < chain.count; ++k) {
      const layout_axis& axis = layout_.axes[chain.axes[k]];
      std::int64_t at_once = axis.extent;
      if (at_once > limit / streams) {  // in pieces of about equal length
        const std::int64_t pieces = (axis.extent - 1) / (limit / streams) + 1;
        at_once = (axis.extent - 1) / pieces + 1;
      }
      streams *= at_once;
      move.axes[at + k] = {{axis.extent, axis.source_stride, axis.destination_stride}, at_once};
    }
  }

  static std::int64_t listed(const block_move& move, std::size_t first, std::size_t count) noexcept {
    std::int64_t streams = 1;
    for (std::size_t k = first; k < first + count; ++k) streams *= move.axes[k].at_once;
    return streams;
  }
  static std::int64_t columns_of(const block_move& move) noexcept {
    return listed(move, move.repeated, move.column_axes);
  }
  static std::int64_t rows_of(const block_move& move) noexcept {
    return listed(move, move.repeated + std::size_t{move.column_axes}, move.row_axes);
  }

  static double calls_of(const block_move& move) noexcept {
    double calls = 1;
    for (std::size_t i = 0; i < move.rank(); ++i) calls *= static_cast<double>(move.axes[i].pieces());
    return calls;
  }

  /// Returns how many elements are moved for each of `count` elements, in whole steps.
  static double waste(std::int64_t count, std::int64_t step) noexcept {
    return static_cast<double>(ceil_divide(count, step) * step) / static_cast<double>(count);
  }

  /// Offers to copy elements as runs. The list has the innermost axes of the destination. If the destination is a buffer,
  /// it has the innermost axes of the source.
  block_offer offer_runs(buffered_side buffer) const noexcept {
    block_offer offer;
    block_move& move = offer.move;
    constexpr std::int64_t enough = 64;  // runs in a list
    axis_chain rows;
    const axis_order order =
        order_of(layout_, buffer == buffered_side::destination ? &layout_axis::source_stride
                                                               : &layout_axis::destination_stride);
    for (std::size_t k = 0; k < order.count && rows.elements < enough; ++k) {
      rows.push(order.axes[k], layout_.axes[order.axes[k]].extent);
    }
    move.are_runs = true;
    set_out(move, {}, 1, rows, most_streams);
    bool is_dense = buffer == buffered_side::source;
    std::int64_t filled = size_;
    for (std::size_t k = move.repeated; k < move.rank(); ++k) {
      is_dense = is_dense && move.axes[k].destination_stride == filled;
      filled *= move.axes[k].at_once;
    }
    constexpr std::int64_t longest_over = 48;  // bytes
    constexpr std::uint8_t exact = 4;  // runs: together they have more bytes than one copy exceeds its run by
    const bool is_word = size_ <= 32 && std::has_single_bit(static_cast<std::uint64_t>(size_));
    const bool is_over = is_dense && !is_word && size_ < longest_over && rows_of(move) >= 2 * exact;
    move.exact = is_over ? exact : std::uint8_t{0};
    move.mover = run_mover(static_cast<std::size_t>(size_), is_over);
    const double each = is_word || is_over ? costs_.word
                        : size_ < 32       ? costs_.short_run
                                           : costs_.long_run + static_cast<double>(size_) / costs_.run_bytes;
    offer.cost = bytes_ / static_cast<double>(size_) * each + calls_of(move) * costs_.call;
    return offer;
  }

  /// Offers squares, for at least as many rows and columns as registers have elements.
  block_offer offer_squares() const noexcept {
    block_offer offer;
    block_move& move = offer.move;
    constexpr std::int64_t most_rows = 64;  // so that a line of each row fits into the first-level cache
    set_out(move, columns_, most_streams, rows_, most_rows);
    const auto log = static_cast<std::size_t>(log2(static_cast<std::size_t>(size_)));
    double each = std::numeric_limits<double>::infinity();
    for (const square_width& by : squares_of(set_)) {
      const std::int64_t tall = side_ * by.lanes;
      const block_mover mover = by.mover(static_cast<std::size_t>(size_));
      if (mover == nullptr || rows_of(move) < tall) continue;
      const double cost = waste(rows_of(move), tall) / costs_.squares[by.column][log];
      if (cost >= each) continue;
      each = cost;
      move.mover = mover;
    }
    // takes whole lines of the side whose lines are more likely to evict each other from a cache
    const auto zeros = [](std::int64_t stride) {
      return std::countr_zero(static_cast<std::uint64_t>(stride));
    };
    const layout_axis& row = layout_.axes[rows_.axes[0]];
    const layout_axis& column = layout_.axes[columns_.axes[0]];
    move.by_destination = zeros(column.destination_stride) > zeros(row.source_stride) ||
                          (columns_of(move) < 4 * side_ && columns_of(move) < rows_of(move));
    offer.cost = bytes_ * each * waste(columns_of(move), side_) + calls_of(move) * costs_.call;
    return offer;
  }

  /// Offers to move few rows, or few columns, at any places on both sides.
  block_offer offer_few_rows() const noexcept {
    block_offer offer;
    block_move& move = offer.move;
    axis_chain rows = rows_;
    while (rows.elements > side_ && rows.count > 1)
      rows.elements /= layout_.axes[rows.axes[--rows.count]].extent;
    set_out(move, columns_, most_streams, rows, side_);
    const auto few = static_cast<std::size_t>(rows_of(move));
    if (few < 2) return offer;
#if defined(__GNUC__) && defined(__x86_64__)
    move.mover = set_ >= instruction_set::avx2
                     ? avx2::few_rows_mover(static_cast<std::size_t>(size_), few)
                     : baseline::few_rows_mover(static_cast<std::size_t>(size_), few);
#else
    move.mover = baseline::few_rows_mover(static_cast<std::size_t>(size_), few);
#endif
    const std::size_t count = std::bit_ceil(few);
    const double shuffles = static_cast<double>(count) * log2(count) / 2;
    const auto steps = static_cast<double>(ceil_divide(columns_of(move), side_));
    const double stores =
        static_cast<double>(columns_of(move)) * (few == count ? costs_.one_store : costs_.two_stores);
    offer.cost =
        calls_of(move) * (steps * (static_cast<double>(count) + shuffles + costs_.few_rows_step) + stores);
    return offer;
  }

  /// Offers to interleave few rows, or to separate few columns, that follow each other without gaps.
  block_offer offer_few_streams(bool has_few_rows, bool has_few_columns) const noexcept {
    block_offer offer;
    block_move& move = offer.move;
    const std::size_t row = rows_.axes[0];
    const std::size_t column = columns_.axes[0];
    const bool interleaves = has_few_rows && layout_.axes[column].extent >= side_ &&
                             layout_.axes[column].destination_stride == size_ * rows_.elements;
    const bool separates = has_few_columns && layout_.axes[row].extent >= side_ &&
                           layout_.axes[row].source_stride == size_ * columns_.elements;
    if (!interleaves && !separates) return offer;
    constexpr std::int64_t most_along = 8192;  // indices of the long axis, which has no list
    axis_chain along;
    along.push(interleaves ? column : row, layout_.axes[interleaves ? column : row].extent);
    if (interleaves) {
      set_out(move, along, most_along, rows_, most_streams);
    } else {
      set_out(move, columns_, most_streams, along, most_along);
    }
    move.dense_columns = interleaves;
    move.dense_rows = !interleaves;
    const std::int64_t few = interleaves ? rows_.elements : columns_.elements;
    const bool is_wide = set_ >= instruction_set::avx2 && along.elements >= 2 * side_;
    const auto count = static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(few)));
    const double each =
        count / static_cast<double>(few) / (is_wide ? costs_.wide_streams : costs_.narrow_streams);
#if defined(__GNUC__) && defined(__x86_64__)
    const auto mover = is_wide ? avx2::few_streams_mover : ssse3::few_streams_mover;
#elif defined(_MSC_VER) && defined(_M_X64)
    const auto mover = ssse3::few_streams_mover;
#else
    const auto mover = baseline::few_streams_mover;
#endif
    move.mover = mover(static_cast<std::size_t>(size_), static_cast<std::size_t>(few), interleaves);
    offer.cost = bytes_ * each + calls_of(move) * (costs_.call + costs_.last_step);
    return offer;
  }

  const layout& layout_;
  std::int64_t size_;  ///< bytes of an element
  std::int64_t side_;  ///< elements of a lane
  instruction_set set_;
  mover_costs costs_;
  double bytes_;  ///< of all elements
  axis_chain rows_;
  axis_chain columns_;
};

inline block_offer offer_block(const layout& moves, std::int64_t element_size, instruction_set set,
                               buffered_side buffer) noexcept {
  return block_offers(moves, element_size, set).best(buffer);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
