// SPDX-License-Identifier: BSD-3-Clause
//
// block_offers chooses the mover for a layout's blocks and estimates its cost.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/listed_runs.hpp>
#include <reblock/detail/movers/wide_streams.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/cache_lines.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>
#include <reblock/detail/simplify.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The enum says which side of a move is a buffer in the first-level cache.
enum class buffered_side : std::uint8_t { none, source, destination };

/// The enum names the movers of blocks.
enum class mover_kind : std::uint8_t {
  runs,
  spaced_runs,
  squares,
  few_rows,
  few_streams,
  wide_streams,
  shuffled_runs
};

struct block_offer {
  block_move move;
  double cost = std::numeric_limits<double>::infinity();  ///< cycles
};

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
        bytes_(static_cast<double>(total_bytes(moves, element_size))),
        is_large_(goes_past_caches(moves, element_size)) {
    find_chains();
  }

  /// Calls `visit(kind, offer)` with the offer of each mover. The cost is infinite if the mover cannot move the layout.
  template <class Visit>
  void for_each_offer(buffered_side buffer, const Visit& visit) const noexcept {
    visit(mover_kind::runs, offer_runs(buffer));
    // what comes from memory should be read line by line
    if (is_word() && layout_.rank > 0 && !is_large_) visit(mover_kind::spaced_runs, offer_spaced_runs());
    if (can_shuffle(buffer)) visit(mover_kind::shuffled_runs, offer_shuffled_runs(buffer));
    if (rows_.count == 0) return;
    if (rows_.elements >= side_ && columns_.elements >= side_) {
      visit(mover_kind::squares, offer_squares(buffer));
    } else {
      visit(mover_kind::few_rows, offer_few_rows(buffer));
    }
    if (set_ >= instruction_set::ssse3) visit(mover_kind::few_streams, offer_few_streams());
    if (set_ >= instruction_set::avx512) visit(mover_kind::wide_streams, offer_wide_streams());
  }

  /// Returns the cheapest offer. If the source is a buffer, a mover may read all of the buffer's bytes behind an element.
  block_offer best(buffered_side buffer) const noexcept {
    block_offer found = cheapest(buffer);
    found.move.writes_lines = writes_lines(found.move);
    if (are_apart(found.move)) {
      found.move.by_destination = do_columns_collide(found.move);
      if (buffer == buffered_side::none && is_far()) go_far(found.move);
    }
    return found;
  }

 private:
  /// Tells whether rows and columns may lie apart: those of squares and of few rows do.
  static bool are_apart(const block_move& move) noexcept {
    return !move.are_runs && !move.dense_columns && !move.dense_rows && !move.are_shuffled();
  }
  /// Tells whether such a mover asks for the lines of the next block. Moves of larger elements are faster without.
  bool is_far() const noexcept {
    return !is_large_ && bytes_ > cache_sizes::far_moves && size_ <= cache_sizes::far_element;
  }
  /// Tells whether the lines of near columns evict each other from the first-level cache before they are full: more of them
  /// share a set than it has ways.
  static bool do_columns_collide(const block_move& move) noexcept {
    constexpr std::int64_t near = 64;  // columns
    constexpr std::size_t sets = cache_sizes::page / cache_sizes::line;
    std::array<std::int64_t, 2 * near> places;
    places[0] = 0;
    std::size_t count = 1;
    for (std::size_t i = move.repeated; i < move.repeated + std::size_t{move.column_axes}; ++i) {
      const std::int64_t room = ceil_divide(near, static_cast<std::int64_t>(count));
      count = list_places(std::min(move.axes[i].at_once, room), move.axes[i].destination_stride,
                          places.data(), count);
    }
    std::array<std::uint8_t, sets> lines{};
    std::uint64_t last = ~std::uint64_t{0};
    for (const std::int64_t place : std::span(places).first(count)) {
      const std::uint64_t line = static_cast<std::uint64_t>(place) / cache_sizes::line;
      if (line != last && ++lines[line % sets] > cache_sizes::ways) return true;
      last = line;
    }
    return false;
  }
  /// Lets a block have so many indices of the repeated axes that it has enough bytes.
  static void go_far(block_move& move) noexcept {
    move.is_far = true;
    std::int64_t bytes = move.element_size;
    for (std::size_t i = move.rank(); i-- > 0 && i + 2 >= move.repeated;) {
      cut_axis& axis = move.axes[i];
      if (i < move.repeated) axis.at_once = even_pieces(axis.extent, cache_sizes::far_block / bytes);
      if (axis.at_once < axis.extent) return;
      bytes *= axis.at_once;
    }
  }
  /// Returns the indices of pieces of about equal length, at most `limit` and at least 1.
  static std::int64_t even_pieces(std::int64_t extent, std::int64_t limit) noexcept {
    const std::int64_t pieces = (extent - 1) / std::max<std::int64_t>(1, limit) + 1;
    return (extent - 1) / pieces + 1;
  }

  block_offer cheapest(buffered_side buffer) const noexcept {
    block_offer found;
    for_each_offer(buffer, [&](mover_kind, const block_offer& offer) { take_cheaper(found, offer, buffer); });
    return found;
  }

  /// Tells whether a mover can write whole lines past the caches.
  [[gnu::noinline]] static bool writes_lines(const block_move& move) noexcept {
    if (move.are_runs) return move.writes_lines;
    if (move.dense_columns) return true;
    if (!move.dense_rows) return false;
    std::int64_t places = 0;
    for (std::size_t i = 0; i < move.repeated + std::size_t{move.column_axes}; ++i)
      places |= move.axes[i].destination_stride;
    // more separated streams would need too many buffers at a time
    return (columns_of(move) <= 4 || columns_of(move) == 8) && places % lane_bytes == 0;
  }

  [[gnu::noinline]] void take_cheaper(block_offer& found, const block_offer& other,
                                      buffered_side buffer) const noexcept {
    const bool is_cached = is_large_ && buffer == buffered_side::none && !writes_lines(other.move);
    const double cost = other.cost + (is_cached ? bytes_ * costs_.cached_byte : 0);
    if (cost < found.cost) found = {other.move, cost};
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
    if (size_ > lane_bytes || !std::has_single_bit(static_cast<std::uint64_t>(size_))) return;
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
    move.zero = layout_.zero;
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

  /// Lets a call's source, which is one row, follow the source of the call before.
  static void order_repeats_by_source(block_move& move) noexcept {
    for (std::size_t i = 1; i < move.repeated; ++i) {
      for (std::size_t k = i; k > 0; --k) {
        if (magnitude(move.axes[k - 1].source_stride) >= magnitude(move.axes[k].source_stride)) break;
        std::swap(move.axes[k - 1], move.axes[k]);
      }
    }
  }

  /// Lets blocks whose columns follow each other in the source follow each other in time, so that the source is read from
  /// begin to end.
  void follow_columns(block_move& move) const noexcept {
    const std::int64_t bytes = size_ * columns_.elements;
    for (std::size_t i = 0; i < move.repeated; ++i) {
      if (magnitude(move.axes[i].source_stride) != bytes) continue;
      std::rotate(move.axes.begin() + i, move.axes.begin() + i + 1, move.axes.begin() + move.repeated);
      return;
    }
  }

  void take_chain(block_move& move, std::size_t at, const axis_chain& chain,
                  std::int64_t limit) const noexcept {
    std::int64_t streams = 1;
    for (std::size_t k = 0; k < chain.count; ++k) {
      const layout_axis& axis = layout_.axes[chain.axes[k]];
      const std::int64_t at_once = even_pieces(axis.extent, limit / streams);
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

  /// Estimates the cycles of all calls. A call repeats the innermost repeated axes by itself, unless it moves a piece.
  [[gnu::noinline]] double cost_of_calls(const block_move& move) const noexcept {
    double blocks = 1;
    double pieces = 1;
    for (std::size_t i = 0; i < move.repeated; ++i) blocks *= static_cast<double>(move.axes[i].extent);
    for (std::size_t i = move.repeated; i < move.rank(); ++i)
      pieces *= static_cast<double>(move.axes[i].pieces());
    const std::int64_t listed = (move.dense_rows || move.are_spaced ? 0 : rows_of(move)) +
                                (move.dense_columns ? 0 : columns_of(move));
    const double lists = costs_.place * static_cast<double>(listed);
    if (pieces > 1) return lists + blocks * pieces * costs_.call;
    double calls = blocks;
    for (std::size_t i = move.repeated; i-- > 0 && i + 2 >= move.repeated;)
      calls /= static_cast<double>(move.axes[i].extent);
    return lists + calls * costs_.call + blocks * costs_.block;
  }

  /// Returns how many elements are moved for each of `count` elements, in whole steps.
  static double waste(std::int64_t count, std::int64_t step) noexcept {
    return static_cast<double>(ceil_divide(count, step) * step) / static_cast<double>(count);
  }

  /// Bytes of the shortest run that goes past the caches wherever it is: the ends of shorter runs cost more than it saves.
  static constexpr std::int64_t least_streamed_run = 512;

  /// Returns the bytes of the words in which shorter runs may go past the caches, or 0 if there are none.
  std::int64_t streamed_width() const noexcept {
    constexpr std::int64_t least_run = 16;  // bytes
    if (!is_large_ || adds_zero() || size_ < least_run || size_ >= least_streamed_run) return 0;
    std::int64_t places = size_;
    for (std::size_t i = 0; i < layout_.rank; ++i) places |= layout_.axes[i].destination_stride;
    for (std::int64_t width = 16; width >= 4; width /= 2) {
      if (places % width == 0) return width;
    }
    return 0;
  }

  bool adds_zero() const noexcept { return layout_.zero != added_zero::none; }

  block_mover choose_run_mover(bool over) const noexcept {
    const auto size = static_cast<std::size_t>(size_);
    if (adds_zero()) {
#if defined(__GNUC__) && defined(__x86_64__)
      if (set_ >= instruction_set::avx2) return avx2::add_zero_to_runs<>;
#endif
      return baseline::add_zero_to_runs<>;
    }
#if defined(__GNUC__) && defined(__x86_64__)
    if (set_ >= instruction_set::avx512) return avx512::run_mover(size, over);
    if (set_ >= instruction_set::avx2) return avx2::run_mover(size, over);
#endif
    return baseline::run_mover(size, over);
  }

  /// Lets runs that follow each other in the source follow each other in time, if they go to few places of the output.
  /// Otherwise each part of the source would be read once for each place.
  void join_runs(axis_order& order) const noexcept {
    constexpr std::int64_t most_places = 16;
    for (std::size_t k = 1; k < order.count; ++k) {
      const layout_axis& axis = layout_.axes[order.axes[k]];
      if (axis.source_stride != size_ || axis.extent > most_places) continue;
      std::rotate(order.axes.begin(), order.axes.begin() + k, order.axes.begin() + k + 1);
      return;
    }
  }

  /// Offers to copy elements as runs. The list has the innermost axes of the destination. If the destination is a buffer,
  /// it has the innermost axes of the source.
  block_offer offer_runs(buffered_side buffer) const noexcept {
    block_offer offer;
    block_move& move = offer.move;
    constexpr std::int64_t enough = 64;  // runs in a list
    axis_chain rows;
    const std::int64_t streamed = buffer == buffered_side::none ? streamed_width() : 0;
    const bool is_streamed = streamed != 0;
    axis_order order =
        order_of(layout_, buffer == buffered_side::destination ? &layout_axis::source_stride
                                                               : &layout_axis::destination_stride);
    if (is_streamed) join_runs(order);
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
    const bool is_over =
        is_dense && !is_word() && !adds_zero() && size_ < longest_over && rows_of(move) >= 2 * exact;
    move.exact = is_over ? exact : std::uint8_t{0};
    move.writes_lines = is_large_ && buffer == buffered_side::none && !adds_zero() &&
                        (is_streamed || size_ >= least_streamed_run);
    move.mover = is_streamed         ? stream_words_mover(streamed)
                 : move.writes_lines ? stream_runs
                                     : choose_run_mover(is_over);
    const double each = is_word() || is_over ? costs_.word : size_ < 32 ? costs_.short_run : costs_.long_run;
    offer.cost = bytes_ * (each / static_cast<double>(size_) + costs_.run_byte) + cost_of_calls(move);
    return offer;
  }

  /// Tells whether a register moves an element.
  bool is_word() const noexcept {
    return size_ <= 32 && std::has_single_bit(static_cast<std::uint64_t>(size_));
  }

  /// Offers to copy elements along one axis, without a list.
  block_offer offer_spaced_runs() const noexcept {
    const std::size_t by_source = order_of(layout_, &layout_axis::source_stride).axes[0];
    const std::size_t by_destination = order_of(layout_, &layout_axis::destination_stride).axes[0];
    std::size_t longest = by_destination;
    for (std::size_t i = 0; i < layout_.rank; ++i) {
      if (layout_.axes[i].extent > layout_.axes[longest].extent) longest = i;
    }
    block_offer best;
    for (const std::size_t axis : {by_destination, by_source, longest}) {
      block_offer offer;
      offer.move.are_runs = offer.move.are_spaced = true;
      axis_chain runs;
      runs.push(axis, layout_.axes[axis].extent);
      set_out(offer.move, {}, 1, runs, layout_.axes[axis].extent);
      if (axis == by_destination) order_repeats_by_source(offer.move);
      offer.cost = cost_of_spaced(offer.move);
      if (offer.cost < best.cost) best = offer;
    }
#if defined(__GNUC__) && defined(__x86_64__)
    best.move.mover = set_ >= instruction_set::avx2
                          ? avx2::spaced_mover<>(static_cast<std::size_t>(size_))
                          : baseline::spaced_mover<>(static_cast<std::size_t>(size_));
#else
    best.move.mover = baseline::spaced_mover<>(static_cast<std::size_t>(size_));
#endif
    return best;
  }
  double cost_of_spaced(const block_move& move) const noexcept {
    const double all = bytes_ / static_cast<double>(size_);
    const tile_axis& runs = move.axes[move.repeated];
    const tile_axis* const again = move.repeated > 0 ? &move.axes[move.repeated - std::size_t{1}] : nullptr;
    const double rows = all / static_cast<double>(runs.extent);
    return cost_of_calls(move) + rows * costs_.row +
           all * (costs_.spaced_run +
                  cost_of_lines(runs, again, &tile_axis::source_stride, bytes_, costs_.read_line) +
                  cost_of_lines(runs, again, &tile_axis::destination_stride, bytes_, costs_.written_line));
  }
  /// Offers squares, for at least as many rows and columns as registers have elements.
  block_offer offer_squares(buffered_side buffer) const noexcept {
    block_offer offer;
    block_move& move = offer.move;
    constexpr std::int64_t most_rows = 96;  // so that a line of each row fits into the first-level cache
    set_out(move, columns_, most_streams, rows_, most_rows);
    if (buffer != buffered_side::source) follow_columns(move);
    const auto log = static_cast<std::size_t>(log2(static_cast<std::size_t>(size_)));
    double each = std::numeric_limits<double>::infinity();
    for (const square_width& by : squares_of(set_)) {
      const std::int64_t tall = side_ * by.lanes;
      const block_mover mover = by.mover(static_cast<std::size_t>(size_));
      if (mover == nullptr || rows_of(move) < tall) continue;
      const auto& speeds = costs_.squares;
      double cost = waste(rows_of(move), tall) / speeds[by.column][log];
      const std::int64_t rest = rows_of(move) % tall;
      if (by.lanes > 1 && size_ <= 2 && rest > 0 && rest <= tall / 2) {  // narrower squares move the rest
        cost = (static_cast<double>(rows_of(move) - rest) / speeds[by.column][log] +
                static_cast<double>(tall / 2) / speeds[by.column - 1][log]) /
               static_cast<double>(rows_of(move));
      }
      if (cost >= each) continue;
      each = cost;
      move.mover = mover;
    }
    offer.cost = bytes_ * each * waste(columns_of(move), side_) + cost_of_calls(move);
    return offer;
  }

  /// Offers to move few rows, or few columns, at any places on both sides.
  block_offer offer_few_rows(buffered_side buffer) const noexcept {
    block_offer offer;
    block_move& move = offer.move;
    axis_chain rows = rows_;
    while (rows.elements > side_ && rows.count > 1)
      rows.elements /= layout_.axes[rows.axes[--rows.count]].extent;
    set_out(move, columns_, most_streams, rows, side_);
    if (buffer != buffered_side::source) follow_columns(move);
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
    const double blocks = bytes_ / static_cast<double>(rows_of(move) * columns_of(move) * size_);
    offer.cost = cost_of_calls(move) +
                 blocks * (steps * (costs_.few_rows_register * (static_cast<double>(count) + shuffles) +
                                    costs_.few_rows_step) +
                           stores);
    return offer;
  }

  /// Tells whether registers interleave or separate so many streams.
  bool are_few(std::int64_t streams) const noexcept {
    return size_ < lane_bytes && (streams <= side_ || streams == 3);
  }

  /// Returns how many registers interleave or separate so many streams.
  static std::int64_t registers_of(std::int64_t few) noexcept {
    return few == 3 ? 3 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(few)));
  }
  /// Estimates the cycles of each of these registers.
  double cost_of_register(std::int64_t few, bool is_wide) const noexcept {
    const std::int64_t count = registers_of(few);
    const double shuffles =
        few == 3 ? costs_.three_streams[static_cast<std::size_t>(log2(static_cast<std::size_t>(size_)))]
                 : log2(static_cast<std::size_t>(count));
    const double stores =
        few == count ? costs_.joined_store[is_wide ? 1 : 0] : costs_.lane_store * (is_wide ? 2 : 1);
    return costs_.stream_shuffle * shuffles + stores;
  }

  /// Indices in a piece of the long axis of streams, which has no list.
  static constexpr std::int64_t most_along = 8192;

  /// dense_streams are rows whose columns follow each other in the destination without gaps, or columns whose rows do so in
  /// the source.
  struct dense_streams {
    std::int64_t count = 0;  ///< 0: there are none
    std::int64_t length = 0;
    bool are_rows = false;
  };
  template <class AreFew>
  dense_streams find_streams(std::int64_t least, const AreFew& are_few) const noexcept {
    const layout_axis& row = layout_.axes[rows_.axes[0]];
    const layout_axis& column = layout_.axes[columns_.axes[0]];
    const auto follow = [&](const axis_chain& few, const layout_axis& along, std::int64_t stride) {
      return few.elements > 1 && are_few(few.elements) && along.extent >= least &&
             stride == size_ * few.elements;
    };
    if (follow(rows_, column, column.destination_stride)) return {rows_.elements, column.extent, true};
    if (follow(columns_, row, row.source_stride)) return {columns_.elements, row.extent, false};
    return {};
  }
  void set_out_streams(block_move& move, const dense_streams& streams) const noexcept {
    axis_chain along;
    along.push(streams.are_rows ? columns_.axes[0] : rows_.axes[0], streams.length);
    if (streams.are_rows) {
      set_out(move, along, most_along, rows_, most_streams);
    } else {
      set_out(move, columns_, most_streams, along, most_along);
      order_repeats_by_source(move);
    }
    move.dense_columns = streams.are_rows;
    move.dense_rows = !streams.are_rows;
  }
  /// Counts the rows of all streams.
  double rows_of(const dense_streams& streams) const noexcept {
    return bytes_ / static_cast<double>(streams.count * streams.length * size_);
  }

  /// Offers to interleave few rows, or to separate few columns, that follow each other without gaps.
  block_offer offer_few_streams() const noexcept {
    block_offer offer;
    block_move& move = offer.move;
    const dense_streams streams = find_streams(side_, [this](std::int64_t count) { return are_few(count); });
    if (streams.count == 0) return offer;
    set_out_streams(move, streams);
    stream_block lane{};
    const auto size = static_cast<std::size_t>(size_);
    const auto few = static_cast<std::size_t>(streams.count);
    if (streams.are_rows) {
      lane.close_gaps(size, few, std::bit_ceil(few));
    } else {
      lane.open_gaps(size, few, std::bit_ceil(few));
    }
    move.places = lane.places;
    const bool is_wide = set_ >= instruction_set::avx2 && streams.length >= 2 * side_;
#if defined(__GNUC__) && defined(__x86_64__)
    const auto mover = is_wide ? avx2::few_streams_mover<> : ssse3::few_streams_mover<>;
#elif defined(_MSC_VER) && defined(_M_X64)
    const auto mover = ssse3::few_streams_mover<>;
#else
    const auto mover = baseline::few_streams_mover<>;
#endif
    move.mover = mover(size, few, streams.are_rows);
    const std::int64_t steps = ceil_divide(streams.length, is_wide ? 2 * side_ : side_);
    const auto registers = static_cast<double>(steps * registers_of(streams.count));
    offer.cost = cost_of_calls(move) +
                 rows_of(streams) * (costs_.row + registers * cost_of_register(streams.count, is_wide));
    return offer;
  }

  /// Offers the same with registers of 64 bytes.
  block_offer offer_wide_streams() const noexcept {
    block_offer offer;
#if defined(__GNUC__) && defined(__x86_64__)
    constexpr std::int64_t least_row = 8;  // bytes
    const dense_streams streams =
        find_streams(ceil_divide(least_row, size_), [](std::int64_t count) { return count <= 16; });
    if (streams.count == 0) return offer;
    const auto count = static_cast<std::size_t>(streams.count);
    const auto bytes = static_cast<std::size_t>(std::min(streams.length, most_along) * size_);
    offer.move.mover = choose_wide_mover<>(count, bytes, static_cast<std::size_t>(size_));
    if (offer.move.mover == nullptr) return offer;
    offer.move.has_picks = true;
    set_out_streams(offer.move, streams);
    const wide_slots shape = wide_slots::of(count, bytes);
    const double accesses = bytes >= 64 ? 1 : 1 + costs_.slot * static_cast<double>(shape.slots);
    const auto registers = static_cast<double>(shape.count * ((bytes - 1) / 64 + 1));
    offer.cost =
        cost_of_calls(offer.move) +
        rows_of(streams) * (costs_.row + registers * (costs_.pick * static_cast<double>(picks_of(shape)) +
                                                      costs_.wide_access * accesses));
#endif
    return offer;
  }

  /// Returns the bytes of the registers of shuffled runs, which have at most 32.
  std::size_t shuffled_width() const noexcept { return std::min<std::size_t>(lookup_width(set_), 32); }
  /// Tells whether shuffled runs may be the fastest way: squares and streams move words. Processors that look up in more bytes
  /// have faster ways, but not into a buffer or out of it.
  bool can_shuffle(buffered_side buffer) const noexcept {
    const std::size_t width = lookup_width(set_);
    const bool is_widest = width > shuffled_width() && buffer == buffered_side::none;
    return width > 0 && !is_widest && size_ < 8 && size_ != 4 && !adds_zero();
  }
  /// Offers to fill short runs of the destination from near places of the source.
  block_offer offer_shuffled_runs(buffered_side buffer) const noexcept {
    block_offer offer;
    block_move& move = offer.move;
    const std::size_t width = shuffled_width();
    axis_chain run;
    std::int64_t bytes = size_;
    std::int64_t reach = size_;
    for (std::size_t i = layout_.rank; i-- > 0 && bytes < shuffle_table::most_bytes;) {
      const layout_axis& axis = layout_.axes[i];
      const bool is_near = buffer == buffered_side::source || layout_.in_source_run(axis);
      if (axis.destination_stride != bytes || !is_near || axis.extent < 2) break;
      const std::int64_t most = std::min(
          shuffle_table::most_bytes / bytes,
          1 + (shuffle_table::most_reach - reach) / std::max<std::int64_t>(1, magnitude(axis.source_stride)));
      if (most < 2) break;
      run.push(i, axis.extent);
      const std::int64_t piece = shuffle_table::choose_piece(axis.extent, bytes, most);
      bytes *= piece;
      if (piece < axis.extent) break;
      reach += magnitude(axis.source_stride) * (axis.extent - 1);
    }
    if (run.count == 0 || bytes < shuffle_table::window) return offer;
    move.shuffled_width = static_cast<std::uint8_t>(width);
    set_out(move, {}, 1, run, std::numeric_limits<std::int64_t>::max());
    cut_axis& outermost = move.axes[move.rank() - 1];
    const std::int64_t inner = run.elements / outermost.extent * size_;
    outermost.at_once = std::min(outermost.extent, bytes / inner);
    shuffle_table table;
    if (!table.make(std::span(move.axes).subspan(move.repeated, move.row_axes), size_, width)) return offer;
    const double memory = buffer == buffered_side::none ? costs_.shuffle_byte * bytes_ : 0;
    offer.cost = cost_of_shuffles(move, table) + memory;
    return offer;
  }
  double cost_of_shuffles(const block_move& move, const shuffle_table& table) const noexcept {
    const cut_axis& outermost = move.axes[move.rank() - 1];
    const bool is_cut = outermost.extent != outermost.at_once;
    std::size_t left = move.repeated;
    const auto next_repeated = [&] { return left > 0 ? static_cast<double>(move.axes[--left].extent) : 1.0; };
    double calls = 1;
    const double inner = is_cut ? static_cast<double>(outermost.pieces()) : next_repeated();
    const double outer = next_repeated();
    while (left > 0) calls *= next_repeated();
    const double rows = calls * outer * (outermost.extent % outermost.at_once != 0 ? 2 : 1);
    const auto registers = static_cast<double>(table.registers());
    return costs_.shuffles + registers * (calls * costs_.shuffle_call + rows * costs_.shuffle_row) +
           calls * outer * inner *
               (static_cast<double>(table.windows()) * costs_.shuffle_window +
                registers * costs_.shuffle_store);
  }

  const layout& layout_;
  std::int64_t size_;  ///< bytes of an element
  std::int64_t side_;  ///< elements of a lane
  instruction_set set_;
  mover_costs costs_;
  double bytes_;  ///< of all elements
  bool is_large_;
  axis_chain rows_;
  axis_chain columns_;
};

[[gnu::noinline]] inline block_offer offer_block(const layout& moves, std::int64_t element_size,
                                                 instruction_set set, buffered_side buffer) noexcept {
  return block_offers(moves, element_size, set).best(buffer);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
