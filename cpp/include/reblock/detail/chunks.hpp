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

/// A run_request says where a plan runs, and who runs its chunks.
struct run_request {
  const std::byte* source;
  std::byte* destination;
  const executor_reference& by;
  std::int64_t concurrency;

  /// Calls run(i) for each of some chunks.
  template <class Run>
  void run_chunks(std::int64_t chunks, const Run& run) const {
    by.run(
        by.executor, static_cast<std::size_t>(chunks),
        [](const void* self, std::size_t chunk) {
          (*static_cast<const Run*>(self))(static_cast<std::int64_t>(chunk));
        },
        &run);
  }
};

/// Returns the i-th of `chunks` shares.
constexpr index_range share(std::int64_t total, std::int64_t i, std::int64_t chunks) noexcept {
  const auto begin = [=](std::int64_t k) { return total / chunks * k + std::min(k, total % chunks); };
  return {begin(i), begin(i + 1)};
}

/// Runs a part of a plan. It is not inlined, because a copy of the plan needs much stack.
template <class Moves, class Run>
[[gnu::noinline]] void run_part(const Moves& moves, std::size_t i, const index_range& range,
                                const run_request& how, const Run& run) {
  Moves part = moves;
  part.narrow(i, range);
  run(part, how.source, how.destination);
}

/// Runs a plan that walks a layout in pieces: `run(moves, source, destination)` moves all pieces of one. Chunks have whole
/// pieces of the axis with the most. The last chunk also moves the indices behind them, and some indices twice.
template <class Moves, class Run>
void run_chunks_of_pieces(const Moves& moves, const run_request& how, const Run& run) {
  if (moves.is_empty()) return;
  if (how.concurrency == 1) return run(moves, how.source, how.destination);
  const auto pieces = [&](std::size_t i) { return moves.axis(i).extent / moves.at_once(i); };
  std::size_t longest = 0;
  for (std::size_t i = 1; i < moves.rank(); ++i) {
    if (pieces(i) > pieces(longest)) longest = i;
  }
  const std::int64_t all = moves.rank() > 0 ? pieces(longest) : 1;
  const std::int64_t chunks = std::min({how.concurrency, all, moves.bytes() / block_costs::least_chunk});
  if (chunks <= 1) return run(moves, how.source, how.destination);
  how.run_chunks(chunks, [&](std::int64_t i) {
    const index_range some = share(all, i, chunks);
    const std::int64_t at_once = moves.at_once(longest);
    const std::int64_t end = i + 1 == chunks ? moves.axis(longest).extent : some.end * at_once;
    run_part(moves, longest, {some.begin * at_once, end}, how, run);
  });
}

template <class Sums>
void run_chunks_of_sums(const Sums& sums, const run_request& how) {
  const std::int64_t boxes = sums.boxes();
  const std::int64_t chunks = std::min(boxes, how.concurrency);
  if (chunks == 0) return;
  how.run_chunks(chunks, [&](std::int64_t i) {
    fill_boxes(sums, share(boxes, i, chunks), how.source, how.destination);
  });
}

/// Does the same for sums whose boxes may become smaller. It is not inlined, because a copy of the sums needs much stack.
template <class Sums>
[[gnu::noinline]] void run_smaller_boxes(const Sums& sums, const run_request& how) {
  Sums shared = sums;
  shared.share_among(how.concurrency);
  run_chunks_of_sums(shared, how);
}

template <class Sums>
void run_shared_sums(const Sums& sums, const run_request& how) {
  if (how.concurrency == 1) return fill_boxes(sums, {0, sums.boxes()}, how.source, how.destination);
  run_smaller_boxes(sums, how);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
