// SPDX-License-Identifier: BSD-3-Clause
//
// These functions cut a plan into chunks and give them to an executor. A chunk is a copy of the plan with one axis narrowed
// to some of its indices. Nothing is planned again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// An operation has at most this many chunks, even if an executor asks for more.
[[gnu::visibility("hidden")]] inline constexpr std::size_t most_chunks = 1024;

/// Returns the begin of the i-th of `chunks` shares.
constexpr std::int64_t share(std::int64_t total, std::int64_t i, std::int64_t chunks) noexcept {
  return total / chunks * i + std::min(i, total % chunks);
}

/// Sums of either kind that are run in chunks of boxes.
template <class Sums>
struct chunked_sums {
  const Sums& sums;
  std::int64_t chunks;
  const std::byte* source;
  std::byte* destination;

  void run(std::size_t chunk) const noexcept {
    const auto i = static_cast<std::int64_t>(chunk);
    const std::int64_t boxes = sums.boxes();
    fill_boxes(sums, {share(boxes, i, chunks), share(boxes, i + 1, chunks)}, source, destination);
  }
};

template <class Chunked>
void run_chunks(const executor_reference& executor, const Chunked& chunked) {
  executor.run(
      executor.executor, static_cast<std::size_t>(chunked.chunks),
      [](const void* self, std::size_t chunk) { static_cast<const Chunked*>(self)->run(chunk); }, &chunked);
}

/// shared_pieces is an axis that is walked in pieces. A chunk has several pieces.
struct shared_pieces {
  std::int64_t extent;
  std::int64_t at_once;

  /// Counts the whole pieces. The chunk with the last piece also moves the indices behind it, and some indices twice.
  constexpr std::int64_t count() const noexcept { return extent / at_once; }
  constexpr index_range chunk(std::int64_t i, std::int64_t chunks) const noexcept {
    return {share(count(), i, chunks) * at_once,
            i + 1 == chunks ? extent : share(count(), i + 1, chunks) * at_once};
  }
};

/// Runs chunks of a move in blocks or windows along the axis with the most pieces. `pieces(i)` returns the pieces of axis i,
/// and `run(axis, range)` moves a range of its indices.
template <class Pieces, class Run>
void run_shared(const executor_reference& executor, std::int64_t concurrency, std::size_t rank,
                std::int64_t bytes, const Pieces& pieces, const Run& run) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (pieces(i).count() > pieces(longest).count()) longest = i;
  }
  const shared_pieces all = rank > 0 ? pieces(longest) : shared_pieces{1, 1};
  const std::int64_t chunks = std::min({concurrency, all.count(), bytes / block_costs::least_chunk});
  if (chunks <= 1) return run(longest, index_range{0, all.extent});
  const auto run_chunk = [&](std::size_t chunk) {
    run(longest, all.chunk(static_cast<std::int64_t>(chunk), chunks));
  };
  executor.run(
      executor.executor, static_cast<std::size_t>(chunks),
      [](const void* self, std::size_t chunk) { (*static_cast<decltype(run_chunk)*>(self))(chunk); },
      &run_chunk);
}

/// Runs a part of a plan. It is not inlined, because a copy of the plan needs much stack.
template <class Moves, class Run>
[[gnu::noinline]] void run_part(const Moves& moves, std::size_t i, const index_range& range,
                                const std::byte* source, std::byte* destination, const Run& run) {
  Moves part = moves;
  part.narrow(i, range);
  run(part, source, destination);
}

/// Runs a plan that walks a layout in pieces: `run(moves, source, destination)` moves all pieces of one.
template <class Moves, class Run>
void run_chunks_of_pieces(const Moves& moves, const std::byte* source, std::byte* destination,
                          const executor_reference& executor, std::int64_t concurrency, const Run& run) {
  if (moves.is_empty()) return;
  if (concurrency == 1) return run(moves, source, destination);
  run_shared(
      executor, concurrency, moves.rank(), moves.bytes(),
      [&](std::size_t i) { return shared_pieces{moves.axis(i).extent, moves.at_once(i)}; },
      [&](std::size_t i, const index_range& range) {
        const bool is_whole = moves.rank() == 0 || range == index_range{0, moves.axis(i).extent};
        if (is_whole) return run(moves, source, destination);
        run_part(moves, i, range, source, destination, run);
      });
}

template <class Sums>
void run_chunks_of_sums(const Sums& sums, const std::byte* source, std::byte* destination,
                        const executor_reference& executor, std::int64_t concurrency) {
  const chunked_sums<Sums> chunked{sums, std::min(sums.boxes(), concurrency), source, destination};
  if (chunked.chunks > 0) run_chunks(executor, chunked);
}

/// Does the same for sums whose boxes may become smaller. It is not inlined, because a copy of the sums needs much stack.
template <class Sums>
[[gnu::noinline]] void run_smaller_boxes(const Sums& sums, const std::byte* source, std::byte* destination,
                                         const executor_reference& executor, std::int64_t concurrency) {
  Sums shared = sums;
  shared.share_among(concurrency);
  run_chunks_of_sums(shared, source, destination, executor, concurrency);
}

template <class Sums>
void run_shared_sums(const Sums& sums, const std::byte* source, std::byte* destination,
                     const executor_reference& executor, std::int64_t concurrency) {
  if (concurrency == 1) return fill_boxes(sums, {0, sums.boxes()}, source, destination);
  run_smaller_boxes(sums, source, destination, executor, concurrency);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
