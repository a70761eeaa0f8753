// SPDX-License-Identifier: BSD-3-Clause
//
// Moving a layout without bounds block by block: rows of the source become columns of the destination, or runs are copied from
// a list of places to a list of others.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/stream_block.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Streams of either side that a mover is told of at a time.
inline constexpr std::size_t most_streams = 256;

/// An axis of which `at_once` indices are taken at a time. Where its extent is no multiple of them, the last ones are taken
/// once more: it is faster to move some elements twice than to do with fewer.
struct cut_axis : tile_axis {
  std::int64_t at_once = 1;

  constexpr cut_axis() noexcept = default;
  constexpr cut_axis(const tile_axis& axis, std::int64_t some) noexcept : tile_axis(axis), at_once(some) {}

  constexpr std::int64_t pieces() const noexcept { return (extent - 1) / at_once + 1; }
  constexpr std::int64_t piece(std::int64_t i) const noexcept {
    return std::min(i * at_once, extent - at_once);
  }
};

/// Which axes of a layout a mover takes as rows and as columns; it is repeated for the others. Trivially copyable.
struct block_move {
  /// Axes [0, repeated), the outermost first; then those of the columns, then those of the rows, innermost first. Runs are in
  /// rows alone.
  std::array<cut_axis, max_axes> axes;
  std::uint8_t repeated = 0;
  std::uint8_t column_axes = 0;
  std::uint8_t row_axes = 0;
  bool by_destination = false;
  bool are_runs = false;
  /// Whether one axis is all of the columns, or of the rows, and these follow each other on both sides: they need no list.
  bool dense_columns = false;
  bool dense_rows = false;
  std::uint8_t exact = 0;
  std::int64_t element_size = 0;  ///< bytes
  block_mover mover = nullptr;

  constexpr std::size_t rank() const noexcept { return std::size_t{repeated} + column_axes + row_axes; }
};

/// Runs a block_move: has the places of its rows and columns, which are the same for all of them.
class block_runner {
 public:
  explicit block_runner(const block_move& move) noexcept : move_(move) {
    const cut_axis* columns = move.axes.data() + move.repeated;
    const cut_axis* rows = columns + move.column_axes;
    block_.sources = sources_.data();
    block_.destinations = destinations_.data();
    block_.by_destination = move.by_destination;
    block_.exact = move.exact;
    sources_[0] = destinations_[0] = 0;
    block_.rows = move.dense_rows ? static_cast<std::size_t>(rows->at_once)
                                  : list(rows, move.row_axes, &tile_axis::source_stride, sources_.data());
    if (move.are_runs) {
      list(rows, move.row_axes, &tile_axis::destination_stride, destinations_.data());
      block_.columns = static_cast<std::size_t>(move.element_size);
    } else if (move.dense_columns) {
      block_.columns = static_cast<std::size_t>(columns->at_once);
    } else {
      block_.columns = list(columns, move.column_axes, &tile_axis::destination_stride, destinations_.data());
    }
    // the innermost axis that is repeated is the mover's to repeat, unless pieces of others come in between
    inner_ = move.repeated;
    bool has_pieces = false;
    for (std::size_t i = move.repeated; i < move.rank(); ++i)
      has_pieces = has_pieces || move.axes[i].pieces() > 1;
    if (inner_ > 0 && !has_pieces) {
      const cut_axis& inner = move.axes[--inner_];
      block_.repeats = inner.extent;
      block_.source_step = inner.source_stride;
      block_.destination_step = inner.destination_stride;
    }
    const auto size = static_cast<std::size_t>(move.element_size);
    if (move.dense_columns) block_.close_gaps(size, block_.rows, std::bit_ceil(block_.rows));
    if (move.dense_rows) block_.open_gaps(size, block_.columns, std::bit_ceil(block_.columns));
  }
  block_runner(const block_runner&) = delete;

  /// Up to `readable_end`, unless it is null, all that follows elements of the source may be read along with them.
  void run(const std::byte* source, std::byte* destination, const std::byte* readable_end) noexcept {
    block_.readable_end = readable_end;
    repeat(0, source, destination);
  }

 private:
  /// The offsets of all indices of some axes, the first of them innermost, of the last one as many as are taken at once.
  static std::size_t list(const cut_axis* axes, std::size_t count, std::int64_t tile_axis::* stride,
                          std::int64_t* offsets) noexcept {
    std::size_t filled = 1;
    offsets[0] = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t before = filled;
      for (std::int64_t index = 1; index < axes[i].at_once; ++index) {
        const std::int64_t offset = index * axes[i].*stride;
        assert(filled + before <= most_streams);
        for (std::size_t k = 0; k < before; ++k) offsets[filled++] = offsets[k] + offset;
      }
    }
    return filled;
  }

  /// All pieces of the axis are gone through: one of those that are repeated, or cut.
  void repeat(std::size_t i, const std::byte* source, std::byte* destination) const noexcept {
    if (i == inner_ && block_.repeats > 1) i = move_.rank();
    if (i == move_.rank()) return move_.mover(block_, source, destination);
    const cut_axis& axis = move_.axes[i];
    const std::int64_t pieces = axis.pieces();
    if (pieces == 1) return repeat(i + 1, source, destination);
    for (std::int64_t k = 0; k < pieces; ++k) {
      const std::int64_t index = axis.piece(k);
      repeat(i + 1, source + index * axis.source_stride, destination + index * axis.destination_stride);
    }
  }

  const block_move& move_;
  stream_block block_{};
  std::size_t inner_;
  std::array<std::int64_t, most_streams> sources_;
  std::array<std::int64_t, most_streams> destinations_;
};

/// What lies in a buffer between two moves.
struct staged_move {
  /// The axes of the whole, the outermost first: so much of each is in a block.
  std::array<cut_axis, max_axes> axes;
  std::uint8_t rank = 0;
  std::int64_t source_offset = 0;       ///< bytes
  std::int64_t destination_offset = 0;  ///< bytes
  /// All bytes of the source from the first element on to this one are elements; 0: not all.
  std::int64_t readable = 0;
  bool is_empty = false;
  bool is_staged = false;  ///< else `second` is all there is
  block_move first;        ///< into the buffer
  block_move second;       ///< out of it
  std::int64_t bytes = 0;  ///< of all elements

  /// The axes that are gone through in pieces, by whichever of the two does so.
  constexpr std::size_t cuts() const noexcept { return is_staged ? rank : second.rank(); }
  constexpr cut_axis& cut(std::size_t i) noexcept { return is_staged ? axes[i] : second.axes[i]; }
  constexpr const cut_axis& cut(std::size_t i) const noexcept { return is_staged ? axes[i] : second.axes[i]; }
  /// Keeps some indices of a cut axis, no fewer than are taken at once.
  constexpr void narrow(std::size_t i, const index_range& range) noexcept {
    cut_axis& axis = cut(i);
    axis.extent = range.end - range.begin;
    source_offset += range.begin * axis.source_stride;
    destination_offset += range.begin * axis.destination_stride;
    if (readable > 0) readable -= range.begin * axis.source_stride;
  }
};

/// Bytes of the buffer: it stays in the first-level cache with what it is filled from.
inline constexpr std::int64_t block_buffer_bytes = 12 * 1024;
/// Bytes behind what a buffer holds that may be read along with it.
inline constexpr std::int64_t readable_slack = 64;

class staged_runner {
 public:
  /// `buffer` has block_buffer_bytes and readable_slack more.
  staged_runner(const staged_move& move, std::byte* buffer, const std::byte* readable_end) noexcept
      : move_(move), buffer_(buffer), readable_end_(readable_end), first_(move.first), second_(move.second) {}

  void run(const std::byte* source, std::byte* destination) noexcept { walk(0, source, destination); }

 private:
  void walk(std::size_t i, const std::byte* source, std::byte* destination) noexcept {
    if (i == move_.rank) {
      first_.run(source, buffer_, readable_end_);
      second_.run(buffer_, destination, buffer_ + block_buffer_bytes + readable_slack);
      return;
    }
    const cut_axis& axis = move_.axes[i];
    const std::int64_t pieces = axis.pieces();
    for (std::int64_t k = 0; k < pieces; ++k) {
      const std::int64_t index = axis.piece(k);
      walk(i + 1, source + index * axis.source_stride, destination + index * axis.destination_stride);
    }
  }

  const staged_move& move_;
  std::byte* buffer_;
  const std::byte* readable_end_;
  block_runner first_;
  block_runner second_;
};

[[gnu::noinline]] inline void run_direct(const block_move& move, const std::byte* source,
                                         std::byte* destination, const std::byte* readable_end) noexcept {
  block_runner(move).run(source, destination, readable_end);
}
[[gnu::noinline]] inline void run_staged(const staged_move& move, const std::byte* source,
                                         std::byte* destination, std::byte* buffer,
                                         const std::byte* readable_end) noexcept {
  staged_runner(move, buffer, readable_end).run(source, destination);
}

/// `buffer` has block_buffer_bytes and readable_slack more.
inline void run_blocks(const staged_move& move, const std::byte* source, std::byte* destination,
                       std::byte* buffer) noexcept {
  if (move.is_empty) return;
  source += move.source_offset;
  destination += move.destination_offset;
  const std::byte* const readable_end = move.readable > 0 ? source + move.readable : nullptr;
  if (move.is_staged) return run_staged(move, source, destination, buffer, readable_end);
  run_direct(move.second, source, destination, readable_end);
}
[[gnu::noinline]] inline void run_blocks(const staged_move& move, const std::byte* source,
                                         std::byte* destination) noexcept {
  alignas(64) std::array<std::byte, block_buffer_bytes + readable_slack> buffer;
  run_blocks(move, source, destination, buffer.data());
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
