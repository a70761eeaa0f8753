// SPDX-License-Identifier: BSD-3-Clause
//
// This header runs fold with a padding mode: plain sums inside, and the positions with terms from the padding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/chunks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/kept_plan.hpp>
#include <reblock/detail/sums/padded_sums.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Sums the positions without terms from the padding. A request is large: it is not on the stack while a plan runs.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] void run_inside(const padded_sums& sums, const std::byte* source,
                                                          std::byte* destination,
                                                          const executor_reference& by) noexcept {
  std::int64_t offset = 0;  // of the first position, bytes
  const auto run = [&](const void* plan) { engine::run(plan, source, destination + offset, &by); };
  kept_plan kept;
  kept.make(
      [&](void* room) {
        sum_request plain = sums.inner();
        // without such positions, a stride may lead anywhere
        const bool is_empty = std::count(plain.extents.begin(), plain.extents.end(), 0) != 0;
        offset = std::exchange(plain.output_offset, 0);
        engine::plan_sums(room, &plain);
        if (is_empty) offset = 0;
        return true;
      },
      run);
  if (kept.is_kept()) run(kept.address());
}

/// Runs fold with a padding mode: all positions in bands, or the positions without terms from the padding, then the others.
REBLOCK_ENGINE_FUNCTION void run_padded_sums(const padded_sums& sums, const std::byte* source,
                                             std::byte* destination, const executor_reference& by,
                                             std::int64_t concurrency) noexcept {
  if (!sums.are_in_bands()) {
    run_inside(sums, source, destination, by);
    if (by.concurrency(by.executor) == 0) return;  // the executor threw
  }
  const std::int64_t channels = sums.channels();
  const std::int64_t chunks = std::min(concurrency, channels);
  const auto run_chunk = [&](std::size_t chunk) {
    const auto i = static_cast<std::int64_t>(chunk);
    sums.run(sums, {share(channels, i, chunks), share(channels, i + 1, chunks)}, source, destination);
  };
  by.run(
      by.executor, static_cast<std::size_t>(chunks),
      [](const void* self, std::size_t chunk) { (*static_cast<decltype(run_chunk)*>(self))(chunk); },
      &run_chunk);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
