// SPDX-License-Identifier: BSD-3-Clause
//
// This header runs fold with a padding mode: plain sums inside, and the positions with terms from the padding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <reblock/detail/chunks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/kept_plan.hpp>
#include <reblock/detail/sums/padded_sums.hpp>
#include <reblock/executor.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// inside_sums sums channels at the positions without terms from the padding. It keeps the plan of equally many channels.
class inside_sums {
 public:
  explicit inside_sums(const padded_sums& sums) noexcept : sums_(sums) {}

  /// Sums `channels` channels, which begin at both pointers.
  void run(std::int64_t channels, const std::byte* source, std::byte* destination,
           const executor_reference& by) noexcept {
    if (channels != channels_ || !plan_.is_kept()) {
      channels_ = channels;
      plan_.make([&](void* room) { return plan(room); },
                 [&](const void* plan) { run(plan, source, destination, by); });
    }
    if (plan_.is_kept()) run(plan_.address(), source, destination, by);
  }

 private:
  /// A request is large. It is not on the stack while a plan runs.
  [[gnu::noinline]] bool plan(void* room) noexcept {
    sum_request plain = sums_.inner();
    offset_ = std::exchange(plain.output_offset, 0);
    if (channels_ < sums_.channels()) sums_.keep_channels(plain, channels_);
    engine::plan_sums(room, &plain);
    // without such positions, a stride may lead anywhere
    if (std::count(plain.extents.begin(), plain.extents.end(), 0) != 0) offset_ = 0;
    return true;
  }

  void run(const void* plan, const std::byte* source, std::byte* destination,
           const executor_reference& by) const noexcept {
    engine::run(plan, source, destination + offset_, &by);
  }

  const padded_sums& sums_;
  kept_plan plan_;
  std::int64_t channels_ = 0;
  std::int64_t offset_ = 0;  ///< of the first position, bytes
};

/// Sums all channels at the positions without terms from the padding.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] void run_inside(const padded_sums& sums, const std::byte* source,
                                                          std::byte* destination,
                                                          const executor_reference& by) noexcept {
  inside_sums(sums).run(sums.channels(), source, destination, by);
}

/// Sums some groups of channels with a padding mode, all positions of each group.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] void run_groups(const padded_sums& sums, const index_range& groups,
                                                          const std::byte* source,
                                                          std::byte* destination) noexcept {
  serial_executor serial;
  held_executor held(serial);
  inside_sums inside(sums);
  for (std::int64_t i = groups.begin; i < groups.end; ++i) {
    const index_range channels = sums.group(i);
    const std::int64_t count = channels.end - channels.begin;
    if (count == 0) continue;
    const auto [from, to] = sums.offsets_of(channels.begin);
    inside.run(count, source + from, destination + to, held.reference());
    sums.run(sums, channels, source, destination);
  }
}

/// Runs fold with a padding mode: all positions in bands, or the positions without terms from the padding, then the others.
/// If there are enough groups of channels, each group is finished while a cache holds its columns.
REBLOCK_ENGINE_FUNCTION void run_planned(const padded_sums& sums, const run_request& how) noexcept {
  const std::int64_t groups = sums.groups();
  const bool in_bands = sums.are_in_bands();
  const bool by_groups = !in_bands && groups > 1 && (how.concurrency == 1 || groups >= 2 * how.concurrency);
  if (!by_groups && !in_bands) {
    run_inside(sums, how.source, how.destination, how.by);
    if (how.by.concurrency(how.by.executor) == 0) return;  // the executor threw
  }
  const std::int64_t all = by_groups ? groups : sums.channels();
  const std::int64_t chunks = std::min(how.concurrency, all);
  how.run_chunks(chunks, [&](std::int64_t i) {
    const index_range range = share(all, i, chunks);
    if (by_groups) return run_groups(sums, range, how.source, how.destination);
    sums.run(sums, range, how.source, how.destination);
  });
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
