// SPDX-License-Identifier: BSD-3-Clause
//
// This header defines the engine's functions of engine.hpp and includes everything that the engine compiles.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/conversion_request.hpp>
#include <reblock/detail/conversions/converted_moves.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/moves/padded_runner.hpp>
#include <reblock/detail/moves/padded_windows.hpp>
#include <reblock/detail/moves/window_plan.hpp>
#include <reblock/detail/reductions/find_reduction.hpp>
#include <reblock/detail/reductions/weighed_terms.hpp>
#include <reblock/detail/sums/accumulated_move.hpp>
#include <reblock/detail/sums/find_functions.hpp>
#include <reblock/detail/sums/gather.hpp>
#include <reblock/detail/sums/padded_sums.hpp>
#include <reblock/detail/sums/scatter.hpp>
#include <reblock/detail/sums/scatter_runner.hpp>
#include <reblock/detail/sums/separate_windows.hpp>
#include <reblock/detail/sums/single_terms.hpp>
#include <reblock/detail/sums/sum_image.hpp>
#include <reblock/detail/sums/sum_sweep.hpp>
#include <reblock/detail/sums/summation.hpp>
#include <reblock/detail/sums/sweep_runner.hpp>
#include <reblock/detail/sums/sweep_search.hpp>
#include <reblock/executor.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A chunk of fewer destination bytes would not be worth another thread.
inline constexpr std::int64_t least_chunk_bytes = 64 * 1024;
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
  const std::int64_t chunks = std::min({concurrency, all.count(), bytes / least_chunk_bytes});
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

/// Runs fold with a padding mode: all positions in bands, or the positions without terms from the padding, then the others. If there are enough groups
/// of channels, each group is finished while a cache holds its columns.
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

/// A run_request says where a plan runs, and who runs its chunks.
struct run_request {
  const std::byte* source;
  std::byte* destination;
  const executor_reference& by;
  std::int64_t concurrency;
};

/// Runs one of the ways to move a layout.
template <class Way>
void run_way(const Way& way, const run_request& how) noexcept {
  run_chunks_of_pieces(way, how.source, how.destination, how.by, how.concurrency,
                       [](const Way& part, const std::byte* source, std::byte* destination) {
                         part.run(source, destination);
                       });
}

/// run_planned runs a plan of any kind.
REBLOCK_ENGINE_FUNCTION void run_planned(const move_plan& moves, const run_request& how) noexcept {
  moves.visit([&](const auto& way) { run_way(way, how); });
}

REBLOCK_ENGINE_FUNCTION void run_planned(const lookup_move& lookups, const run_request& how) noexcept {
  run_way(lookups, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const window_plan& windows, const run_request& how) noexcept {
  windows.visit([&](const auto& way) { run_way(way, how); });
}

REBLOCK_ENGINE_FUNCTION void run_planned(const gather& sums, const run_request& how) noexcept {
  run_chunks_of_sums(sums, how.source, how.destination, how.by, how.concurrency);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const sum_sweep& sweep, const run_request& how) noexcept {
  run_shared_sums(sweep, how.source, how.destination, how.by, how.concurrency);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const scatter& sums, const run_request& how) noexcept {
  run_shared_sums(sums, how.source, how.destination, how.by, how.concurrency);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const single_terms& terms, const run_request& how) noexcept {
  if (!terms.are_sums())
    return run_chunks_of_pieces(terms, how.source, how.destination, how.by, how.concurrency,
                                run_single_terms);
  run_planned(terms.moves(), {how.source + terms.source_offset(),
                              how.destination + terms.destination_offset(), how.by, how.concurrency});
}

REBLOCK_ENGINE_FUNCTION void run_planned(const separate_windows& windows, const run_request& how) noexcept {
  windows.clear(how.destination);
  windows.for_each_part([&](const single_terms& part, const axis_values&) { run_planned(part, how); });
}

REBLOCK_ENGINE_FUNCTION void run_planned(const accumulated_windows& windows,
                                         const run_request& how) noexcept {
  windows.for_each_part([&](const accumulated_move& part) { run_way(part, how); });
}

REBLOCK_ENGINE_FUNCTION void run_planned(const weighed_windows& weighed, const run_request& how) noexcept {
  weighed.windows().clear(how.destination);
  weighed.windows().for_each_part([&](const single_terms& part, const axis_values& first) {
    run_chunks_of_pieces(part, how.source, how.destination, how.by, how.concurrency,
                         [&](const single_terms& chunk, const std::byte* source, std::byte* destination) {
                           weighed.run(chunk, first, source, destination);
                         });
  });
}

/// Sums of a part of an image. The other positions have no terms and are set to 0 before.
template <class Sums>
struct cleared_sums {
  sum_image image;
  Sums sums;
};

template <class Sums>
void run_planned(const cleared_sums<Sums>& cleared, const run_request& how) noexcept {
  cleared.image.clear(cleared.image.whole(), how.destination);
  run_planned(cleared.sums, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const padded_move& padded, const run_request& how) noexcept {
  run_way(padded, how);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const converted_move& conversion, const run_request& how) noexcept {
  run_chunks_of_pieces(conversion, how.source, how.destination, how.by, how.concurrency, run_converted);
}

REBLOCK_ENGINE_FUNCTION void run_planned(const padded_sums& sums, const run_request& how) noexcept {
  run_padded_sums(sums, how.source, how.destination, how.by, how.concurrency);
}

/// An any_plan is the content of an operation: a plan of any kind, and the function that runs it. So a program compiles only
/// the kinds that it plans.
struct any_plan {
  /// Bytes. The pointer to the function takes as many, also where pointers have four bytes.
  static constexpr std::size_t alignment = 8;
  void (*run)(const any_plan&, const run_request&) noexcept;
  alignas(alignment) std::array<std::byte, operation::plan_bytes - alignment> content;
};
static_assert(std::is_trivially_copyable_v<any_plan> && sizeof(any_plan) == operation::plan_bytes);

/// Makes a Plan from the arguments in `room`, which has the bytes of an operation.
template <class Plan, class... Arguments>
const Plan& place(void* room, const Arguments&... arguments) noexcept {
  static_assert(std::is_trivially_copyable_v<Plan> && sizeof(Plan) <= sizeof(any_plan::content) &&
                alignof(Plan) <= any_plan::alignment);
  auto* placed = new (room) any_plan;
  placed->run = [](const any_plan& self, const run_request& how) noexcept {
    run_planned(*std::launder(reinterpret_cast<const Plan*>(self.content.data())), how);
  };
  return *new (placed->content.data()) Plan{arguments...};
}

/// Plans windows in `room`, which has the bytes of an operation.
REBLOCK_ENGINE_FUNCTION void place_windows(void* room, const padded_request& request) noexcept {
  if (needs_window_plan(request.moves, request.element_size)) {
    place<window_plan>(room, request);
  } else {
    place<move_plan>(room, request.moves, request.element_size);
  }
}

/// Plans a fold whose positions have exactly one term each.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] void place_single_terms(void* room, const sum_request& request,
                                                                  const single_sums& add_to_zero) noexcept {
  layout windows;
  windows.take(request.moves);
  drop_idle_bounds(windows);
  place<single_terms>(room, windows, request.sum.element_size, add_to_zero, false);
}

/// Plans sums of the positions that windows can reach. The `image` has all positions.
template <class Sums>
void place_reachable(void* room, const sum_image& image, const Sums& sums, bool clears) noexcept {
  if (clears) {
    place<cleared_sums<Sums>>(room, image, sums);
  } else {
    place<Sums>(room, sums);
  }
}

/// Plans a fold as a sweep, as a scatter, or as sums of columns in place, if this costs less than `least` cycles.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] void place_overlapping(void* room, const sum_request& request,
                                                                 const sum_functions& sum,
                                                                 double least) noexcept {
  const sum_image image(request);
  sum_request reachable = request;
  const bool clears = keep_reachable(reachable) && !request.accumulates;
  const gather pieces(reachable, &sum);
  const scatter rows(request, sum);
  least = std::min({least, pieces.cost(), rows.cost()});
  if (const sum_sweep sweep(reachable, sum); sweep.cost() < least) {
    place_reachable(room, image, sweep, clears);
  } else if (rows.cost() <= least) {
    place<scatter>(room, rows);
  } else if (pieces.cost() <= least) {
    place_reachable(room, image, pieces, clears);
  }
}

/// Plans a fold whose windows share no position, if it is one. Returns the cost in cycles, or infinity.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] double place_separate(void* room, const sum_request& request,
                                                                const sum_functions& sum) noexcept {
  if (!separate_windows::can_make(request)) return std::numeric_limits<double>::infinity();
  if (request.accumulates) return ways_of(request).plan_accumulated(room, request, sum);
  return place<separate_windows>(room, request, &sum).cost();
}

/// Plans the sums of fold. If each position has exactly one term, it plans moves alone. For an output without elements it
/// computes nothing, because the other extents may have any value.
REBLOCK_ENGINE_FUNCTION void place_sums(void* room, const sum_request& request,
                                        const sum_functions& sum) noexcept {
  const std::int64_t element_size = request.sum.element_size;
  if (std::count(request.extents.begin(), request.extents.end(), 0) != 0) {
    place<move_plan>(room, no_moves(), element_size);
  } else if (request.mode != padding_mode::constant) {
    place<padded_sums>(room, padded_sums{request, sum_padded, &sum.sum_padded});
  } else if (!request.accumulates && covers_once(request.moves, request.extents)) {
    if (sum.add_to_zero.add != nullptr) return place_single_terms(room, request, sum.add_to_zero);
    place<move_plan>(room, request.moves, element_size);
  } else {
    place_overlapping(room, request, sum, place_separate(room, request, sum));
  }
}

/// Plans sums of windows that share no position onto an image. Returns the cost in cycles.
REBLOCK_ENGINE_DEFINITION double place_accumulated(void* room, const sum_request& request,
                                                   const sum_functions& sum) noexcept {
  return place<accumulated_windows>(room, request, sum).cost();
}

/// Plans a reduction of windows that share no position, if it is one. A term is its own mean, whatever its weight.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] bool place_single_reduction(void* room,
                                                                      const sum_request& request) noexcept {
  const reducer& how = *request.reduce;
  if (how.types.convert != nullptr || how.accumulates || !separate_windows::can_make(request)) return false;
  if (how.by == fold_reduction::sum) {
    if (how.weights.empty() || !weighed_windows::can_make(request)) return false;
    place<weighed_windows>(room, request);
    return true;
  }
  // a bool of unusual bits would not stay as it is
  if (how.types.terms.part == element_type::boolean) return false;
  sum_request kept = request;
  if (!how.weights.empty() && !keep_weighted(kept, how)) return false;
  place<separate_windows>(room, kept, nullptr);
  return true;
}

/// Plans a reduction of fold. If each position has exactly one term that is its own result, it plans moves alone.
REBLOCK_ENGINE_DEFINITION void place_reduction(void* room, const sum_request& request) noexcept {
  if (request.reduce->by == fold_reduction::sum) find_largest_weight(*request.reduce);
  const reducer& how = *request.reduce;
  // a bool of unusual bits would not stay as it is
  const bool keeps_single_terms = how.by != fold_reduction::sum && how.weights.empty() &&
                                  how.types.convert == nullptr && !how.accumulates &&
                                  how.types.terms.part != element_type::boolean;
  if (std::count(request.extents.begin(), request.extents.end(), 0) != 0) {
    place<move_plan>(room, no_moves(), request.sum.element_size);
  } else if (request.mode != padding_mode::constant) {
    place<padded_sums>(room, padded_sums{request, sum_padded});
  } else if (keeps_single_terms && covers_once(request.moves, request.extents)) {
    place<move_plan>(room, request.moves, request.sum.element_size);
  } else if (!place_single_reduction(room, request)) {
    place<gather>(room, request, static_cast<const sum_functions*>(nullptr));
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

REBLOCK_ENGINE_DEFINITION void plan_moves(void* operation, const void* moves,
                                          std::int64_t element_size) noexcept {
  detail::place<detail::move_plan>(operation, *static_cast<const detail::layout*>(moves), element_size);
}

REBLOCK_ENGINE_DEFINITION void plan_sums(void* operation, const void* sums) noexcept {
  const auto& request = *static_cast<const detail::sum_request*>(sums);
  if (request.reduce != nullptr) {
    detail::reduction& types = request.reduce->types;
    detail::complete(types);
    return types.ways->plan(operation, request);
  }
#if defined(REBLOCK_COMPILED)
  const detail::sum_functions* functions = detail::functions_of(request.sum);
#else
  const detail::sum_functions* functions = request.sum.functions;
#endif
  detail::place_sums(operation, request, *functions);
}

REBLOCK_ENGINE_DEFINITION void plan_windows(void* operation, const void* request) noexcept {
  detail::place_windows(operation, *static_cast<const detail::padded_request*>(request));
}

REBLOCK_ENGINE_DEFINITION void plan_conversion(void* operation, const void* request) noexcept {
  const auto& converted = *static_cast<const detail::conversion_request*>(request);
  if (converted.moves.bound_count == 0) {
    detail::place<detail::converted_move>(operation, converted);
    return;
  }
  detail::padded_request padded{converted.moves, static_cast<std::int64_t>(detail::size_of(converted.to))};
  std::copy(converted.outside.begin(), converted.outside.end(), padded.value.begin());
  detail::place<detail::padded_move>(operation, padded, converted);
}

REBLOCK_ENGINE_DEFINITION void run(const void* operation, const void* source, void* destination,
                                   const void* executor) noexcept {
  const auto& how = *std::launder(static_cast<const detail::any_plan*>(operation));
  const auto& by = *static_cast<const detail::executor_reference*>(executor);
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(destination);
  const auto concurrency =
      static_cast<std::int64_t>(std::min(by.concurrency(by.executor), detail::most_chunks));
  if (concurrency == 0) return;  // the executor threw
  how.run(how, {from, to, by, concurrency});
}

REBLOCK_ENGINE_DEFINITION const char* instruction_set() noexcept {
  return detail::name_of(detail::usable_instruction_set()).data();
}

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine
