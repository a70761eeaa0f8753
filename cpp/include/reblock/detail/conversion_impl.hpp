// SPDX-License-Identifier: BSD-3-Clause
//
// This header defines the engine's function of conversion_request.hpp: it runs moves that convert.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversion_request.hpp>
#include <reblock/detail/converted_moves.hpp>
#include <reblock/detail/engine_impl.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A conversion that runs in chunks along an axis.
struct chunked_conversion {
  const conversion_call& call;
  std::size_t axis;
  std::int64_t chunks;

  void run(std::size_t chunk) const noexcept {
    const auto i = static_cast<std::int64_t>(chunk);
    conversion_request part = call.request;
    const std::int64_t extent = part.moves.axes[axis].extent;
    part.narrow(axis, share(extent, i, chunks), share(extent, i + 1, chunks));
    convert_bounded(part, static_cast<const std::byte*>(call.source),
                    static_cast<std::byte*>(call.destination));
  }
};

REBLOCK_ENGINE_FUNCTION void run(const conversion_call& call) noexcept {
  const layout& moves = call.request.moves;
  if (is_empty(moves, 1)) return;
  const auto concurrency =
      static_cast<std::int64_t>(std::min(call.executor.concurrency(call.executor.executor), most_chunks));
  if (concurrency == 0) return;  // the executor threw
  if (concurrency > 1 && moves.rank > 0) {
    const std::size_t axis = axis_to_cut(moves, concurrency);
    const std::int64_t bytes = total_bytes(moves, static_cast<std::int64_t>(size_of(call.request.to)));
    const chunked_conversion chunked{
        call, axis, std::min({concurrency, moves.axes[axis].extent, bytes / least_chunk_bytes})};
    if (chunked.chunks > 1) return run_chunks(call.executor, chunked);
  }
  convert_bounded(call.request, static_cast<const std::byte*>(call.source),
                  static_cast<std::byte*>(call.destination));
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

REBLOCK_ENGINE_DEFINITION void convert(const void* call) noexcept {
  detail::run(*static_cast<const detail::conversion_call*>(call));
}

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine
