// SPDX-License-Identifier: BSD-3-Clause
//
// This header runs fold with a padding mode: plain sums inside, and the positions with terms from the padding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/chunks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/sums/padded_sums.hpp>
#include <reblock/executor.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

// Plans and requests are large, so each function has at most one of them on the stack while another one runs.

/// Plans, in the bytes of an operation, the sums of some channels at the positions without terms from the padding. Returns
/// the offset of the first of these positions in bytes.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] std::int64_t plan_inside(void* room, const padded_sums& sums,
                                                                   std::int64_t channels) noexcept {
  sum_request plain = sums.inner();
  const std::int64_t offset = std::exchange(plain.output_offset, 0);
  if (channels < sums.channels()) sums.keep_channels(plain, channels);
  new (room) operation(plain);
  // without such positions, a stride may lead anywhere
  const bool is_empty = std::count(plain.extents.begin(), plain.extents.end(), 0) != 0;
  return is_empty ? 0 : offset;
}

/// Sums all channels at the positions without terms from the padding.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] void run_inside(const padded_sums& sums, const std::byte* source,
                                                          std::byte* destination,
                                                          const executor_reference& by) noexcept {
  alignas(operation) std::byte room[sizeof(operation)];
  const std::int64_t offset = plan_inside(room, sums, sums.channels());
  std::launder(reinterpret_cast<const operation*>(room))->run_by(source, destination + offset, by);
}

/// Sums some groups of channels with a padding mode, all positions of each group.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] void run_groups(const padded_sums& sums, const index_range& groups,
                                                          const std::byte* source,
                                                          std::byte* destination) noexcept {
  serial_executor serial;
  held_executor held(serial);
  alignas(operation) std::byte room[sizeof(operation)];
  std::int64_t planned = 0;
  std::int64_t offset = 0;
  for (std::int64_t i = groups.begin; i < groups.end; ++i) {
    const index_range channels = sums.group(i);
    const std::int64_t count = channels.end - channels.begin;
    if (count == 0) continue;
    if (count != planned) offset = plan_inside(room, sums, count);
    planned = count;
    const auto [from, to] = sums.offsets_of(channels.begin);
    std::launder(reinterpret_cast<const operation*>(room))
        ->run_by(source + from, destination + wrapping_add(to, offset), held.reference());
    sums.run(sums, channels, source, destination);
  }
}

/// Runs fold with a padding mode: all positions in bands, or the positions without terms from the padding, then the others.
/// If there are enough groups of channels, each group is finished while a cache holds its columns.
REBLOCK_ENGINE_FUNCTION void run_padded_sums(const padded_sums& sums, const std::byte* source,
                                             std::byte* destination, const executor_reference& by,
                                             std::int64_t concurrency) noexcept {
  const std::int64_t channels = sums.channels();
  const std::int64_t groups = sums.groups();
  const bool in_bands = sums.are_in_bands();
  const bool by_groups = !in_bands && groups > 1 && (concurrency == 1 || groups >= 2 * concurrency);
  if (!by_groups && !in_bands) {
    run_inside(sums, source, destination, by);
    if (by.concurrency(by.executor) == 0) return;  // the executor threw
  }
  const std::int64_t all = by_groups ? groups : channels;
  const std::int64_t chunks = std::min(concurrency, all);
  const auto run_chunk = [&](std::size_t chunk) {
    const auto i = static_cast<std::int64_t>(chunk);
    const index_range range{share(all, i, chunks), share(all, i + 1, chunks)};
    if (by_groups) return run_groups(sums, range, source, destination);
    sums.run(sums, range, source, destination);
  };
  by.run(
      by.executor, static_cast<std::size_t>(chunks),
      [](const void* self, std::size_t chunk) { (*static_cast<decltype(run_chunk)*>(self))(chunk); },
      &run_chunk);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
