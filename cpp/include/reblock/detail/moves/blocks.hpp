// SPDX-License-Identifier: BSD-3-Clause
//
// These functions move a layout without bounds block by block. Rows of the source become columns of the destination, or
// runs are copied from a list of places to another list of places.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/list_places.hpp>
#include <reblock/detail/movers/stream_block.hpp>
#include <reblock/detail/movers/wide_streams.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/moves/block_lines.hpp>
#include <reblock/detail/simd/streams.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A call of a mover takes at most this many streams of either side.
inline constexpr std::size_t most_streams = 256;

/// A block_shape has what a block_move knows beside its axes. Trivially copyable.
struct block_shape {
  std::uint8_t repeated = 0;
  std::uint8_t column_axes = 0;
  std::uint8_t row_axes = 0;
  std::uint8_t lines_at_once = 0;  ///< of each column: see stream_block
  bool are_runs = false;
  bool writes_lines = false;  ///< whether it can write whole lines past the caches
  bool is_streamed = false;   ///< whether it does
  added_zero zero = added_zero::none;
  /// Whether it asks for the lines of the next block. Then `at_once` indices of each repeated axis are moved together, and all
  /// axes are walked.
  bool is_far = false;
  bool are_spaced = false;  ///< whether runs are those of one axis, which needs no list
  /// Whether the columns, or the rows, are one axis and follow each other without gaps: then they need no list.
  bool dense_columns = false;
  bool dense_rows = false;
  std::uint8_t exact = 0;
  bool has_picks = false;         ///< whether the mover is one of wide streams
  std::int64_t element_size = 0;  ///< bytes
  lane_places places{};           ///< of few streams
  block_mover mover = nullptr;

  /// Tells whether rows and columns may lie apart: those of squares do.
  constexpr bool are_apart() const noexcept { return !are_runs && !dense_columns && !dense_rows; }
  constexpr std::size_t rank() const noexcept { return std::size_t{repeated} + column_axes + row_axes; }
};

/// A block_move says which axes of a layout are rows and which are columns. The mover is repeated for the other axes.
/// Trivially copyable.
struct block_move : block_shape {
  /// First the repeated axes, the outermost first. Then the axes of the columns, then the axes of the rows, each with the
  /// innermost first. Runs use rows alone.
  std::array<cut_axis, max_axes> axes;
};

/// A block_runner runs a block_move. It lists the places of rows and columns once for all blocks.
class block_runner {
 public:
  explicit block_runner(const block_move& move) noexcept : block_runner(move, move.axes.data()) {}
  /// Runs a move whose axes lie elsewhere.
  [[gnu::noinline]] block_runner(const block_shape& move, const cut_axis* axes) noexcept
      : move_(move), axes_(axes) {
    const cut_axis* columns = axes_ + move_.repeated;
    const cut_axis* rows = columns + move_.column_axes;
    block_.sources = sources_.data();
    block_.destinations = destinations_.data();
    block_.lines_at_once = move_.lines_at_once;
    block_.is_streamed = move_.is_streamed;
    block_.zero = move_.zero;
    block_.exact = move_.exact;
    sources_[0] = destinations_[0] = 0;
    block_.rows = move_.dense_rows || move_.are_spaced
                      ? static_cast<std::size_t>(rows->at_once)
                      : list(rows, move_.row_axes, &tile_axis::source_stride, sources_.data());
    if (move_.are_spaced) {
      block_.spaced_runs = rows->inner();
      block_.columns = static_cast<std::size_t>(move_.element_size);
    } else if (move_.are_runs) {
      list(rows, move_.row_axes, &tile_axis::destination_stride, destinations_.data());
      block_.columns = static_cast<std::size_t>(move_.element_size);
    } else if (move_.dense_columns) {
      block_.columns = static_cast<std::size_t>(columns->at_once);
    } else {
      block_.columns = list(columns, move_.column_axes, &tile_axis::destination_stride, destinations_.data());
    }
    // the mover repeats the innermost repeated axes by itself: if any axes are cut into pieces, the indices of a block alone
    walked_ = move_.rank();
    bool has_pieces = false;
    for (std::size_t i = move_.repeated; i < move_.rank(); ++i)
      has_pieces = has_pieces || axes_[i].pieces() > 1;
    if (move_.is_far || has_pieces) {
      if (move_.repeated > 0) block_.repeats = axes_[move_.repeated - std::size_t{1}].inner();
      if (move_.repeated > 1) block_.outer_repeats = axes_[move_.repeated - std::size_t{2}].inner();
    } else {
      walked_ = move_.repeated;
      if (walked_ > 0) block_.repeats = axes_[--walked_];
      if (walked_ > 0) block_.outer_repeats = axes_[--walked_];
    }
    block_.element_size = static_cast<std::size_t>(move_.element_size);
    block_.places = move_.places;
    block_.separates = move_.dense_rows;
    if (move_.has_picks) block_.picks = picks_.make(block_);
  }
  block_runner(const block_runner&) = delete;

  [[gnu::noinline]] void run(const std::byte* source, std::byte* destination) noexcept {
    walk(std::span(axes_, walked_), 0, 0,
         [&](std::int64_t from, std::int64_t to) { move_.mover(block_, source + from, destination + to); });
  }
  /// Does the same, and asks for the lines of the next block while it moves one. Processors do not predict where they are.
  void run_far(const std::byte* source, std::byte* destination) noexcept {
    const std::span<const cut_axis> axes = std::span(axes_, walked_);
    const block_lines read(axes, move_.element_size, &tile_axis::source_stride);
    const block_lines written(axes, move_.element_size, &tile_axis::destination_stride);
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    walk(axes, 0, 0, [&](std::int64_t next_from, std::int64_t next_to) {
      if (from != nullptr) {
        if (!read.are_predicted()) read.prefetch_at<2>(source + next_from);
        if (!written.are_predicted()) written.prefetch_at<2>(destination + next_to);
        move_.mover(block_, from, to);
      }
      from = source + next_from;
      to = destination + next_to;
    });
    move_.mover(block_, from, to);
  }

 private:
  /// Lists the offsets, in bytes, of the first piece of each of the axes, the innermost axis first.
  static std::size_t list(const cut_axis* axes, std::size_t count, std::int64_t tile_axis::* stride,
                          std::int64_t* offsets) noexcept {
    std::size_t filled = 1;
    for (std::size_t i = 0; i < count; ++i) {
      assert(filled * static_cast<std::size_t>(axes[i].at_once) <= most_streams);
      filled = list_places(axes[i].at_once, axes[i].*stride, offsets, filled);
    }
    return filled;
  }

  const block_shape& move_;
  const cut_axis* axes_;
  stream_block block_{};
  std::size_t walked_;  ///< axes
  std::array<std::int64_t, most_streams> sources_;
  std::array<std::int64_t, most_streams> destinations_;
  made_picks picks_;
};

/// A staged_move moves blocks directly, or in two moves through a buffer.
struct staged_move {
  /// The axes of the whole layout, the outermost first. A block has `at_once` indices of each.
  std::array<cut_axis, max_axes> axes;
  std::uint8_t staged_rank = 0;
  std::int64_t source_offset = 0;       ///< bytes
  std::int64_t destination_offset = 0;  ///< bytes
  bool has_no_elements = false;
  bool is_staged = false;        ///< else there is only `second`
  block_move first;              ///< into the buffer
  block_move second;             ///< out of it
  std::int64_t total_bytes = 0;  ///< of all elements

  /// These functions give the axes that are walked in pieces.
  bool is_empty() const noexcept { return has_no_elements; }
  std::int64_t bytes() const noexcept { return total_bytes; }
  /// Lets a direct move write past the caches. Returns whether it can.
  bool stream() noexcept {
    second.is_streamed = !is_staged && second.writes_lines;
    return second.is_streamed;
  }
  constexpr std::size_t rank() const noexcept { return is_staged ? staged_rank : second.rank(); }
  constexpr const cut_axis& axis(std::size_t i) const noexcept {
    return is_staged ? axes[i] : second.axes[i];
  }
  void run(const std::byte* source, std::byte* destination) const noexcept;

  constexpr std::int64_t at_once(std::size_t i) const noexcept { return axis(i).at_once; }
  /// Keeps some indices of an axis, at least `at_once`.
  constexpr void narrow(std::size_t i, const index_range& range) noexcept {
    cut_axis& cut = is_staged ? axes[i] : second.axes[i];
    cut.extent = range.end - range.begin;
    source_offset += range.begin * cut.source_stride;
    destination_offset += range.begin * cut.destination_stride;
  }
};

/// Bytes of the buffer: it and the source of one block fit into the first-level cache.
inline constexpr std::int64_t block_buffer_bytes = 12 * 1024;
/// Bytes behind a buffer's elements that a mover may read.
inline constexpr std::int64_t readable_slack = 64;

class staged_runner {
 public:
  /// `buffer` has block_buffer_bytes + readable_slack bytes.
  staged_runner(const staged_move& move, std::byte* buffer) noexcept
      : move_(move), buffer_(buffer), first_(move.first), second_(move.second) {}

  void run(const std::byte* source, std::byte* destination) noexcept {
    walk(std::span(move_.axes).first(move_.staged_rank), 0, 0, [&](std::int64_t from, std::int64_t to) {
      first_.run(source + from, buffer_);
      second_.run(buffer_, destination + to);
    });
  }
  /// Does the same, and asks for the lines of a block while it moves others. Processors do not predict where they are.
  void run_far(const std::byte* source, std::byte* destination) noexcept {
    const block_lines read = lines_of(move_.first, &tile_axis::source_stride);
    const block_lines written = lines_of(move_.second, &tile_axis::destination_stride);
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    walk(std::span(move_.axes).first(move_.staged_rank), 0, 0,
         [&](std::int64_t next_from, std::int64_t next_to) {
           if (from != nullptr) {
             first_.run(from, buffer_);
             if (!read.are_predicted()) read.prefetch_at<2>(source + next_from);
             second_.run(buffer_, to);
           }
           from = source + next_from;
           to = destination + next_to;
           if (!written.are_predicted()) written.prefetch_at<2>(to);
         });
    first_.run(from, buffer_);
    second_.run(buffer_, to);
  }

 private:
  /// Lists the lines of a whole block.
  static block_lines lines_of(const block_move& move, std::int64_t tile_axis::* stride) noexcept {
    std::array<cut_axis, max_axes> axes = move.axes;
    for (cut_axis& axis : axes) axis.at_once = axis.extent;
    return {std::span<const cut_axis>(axes).first(move.rank()), move.element_size, stride};
  }

  const staged_move& move_;
  std::byte* buffer_;
  block_runner first_;
  block_runner second_;
};

[[gnu::noinline]] inline void run_direct(const block_shape& move, const cut_axis* axes,
                                         const std::byte* source, std::byte* destination) noexcept {
  block_runner(move, axes).run(source, destination);
}
[[gnu::noinline]] inline void run_far(const block_move& move, const std::byte* source,
                                      std::byte* destination) noexcept {
  block_runner(move).run_far(source, destination);
}
[[gnu::noinline]] inline void run_staged(const staged_move& move, const std::byte* source,
                                         std::byte* destination, std::byte* buffer) noexcept {
  staged_runner runner(move, buffer);
  if (static_cast<double>(move.total_bytes) > cache_sizes::second_level)
    return runner.run_far(source, destination);
  runner.run(source, destination);
}

/// Runs a staged_move. `buffer` has block_buffer_bytes + readable_slack bytes, if the move is staged.
inline void run_blocks(const staged_move& move, const std::byte* source, std::byte* destination,
                       std::byte* buffer) noexcept {
  if (move.has_no_elements) return;
  source += move.source_offset;
  destination += move.destination_offset;
  if (move.is_staged) return run_staged(move, source, destination, buffer);
  if (move.second.is_far) return run_far(move.second, source, destination);
  run_direct(move.second, move.second.axes.data(), source, destination);
  if (move.second.is_streamed) finish_streams();
}
[[gnu::noinline]] inline void staged_move::run(const std::byte* source,
                                               std::byte* destination) const noexcept {
  alignas(64) std::array<std::byte, block_buffer_bytes + readable_slack> buffer;
  run_blocks(*this, source, destination, buffer.data());
}

/// Runs a staged_move from or into a buffer, which needs stack itself. A direct move takes no stack for another one.
inline void run_beside_buffer(const staged_move& move, const std::byte* source,
                              std::byte* destination) noexcept {
  if (move.is_staged) return move.run(source, destination);
  run_blocks(move, source, destination, nullptr);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
