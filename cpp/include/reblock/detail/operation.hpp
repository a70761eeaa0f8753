// SPDX-License-Identifier: BSD-3-Clause
//
// What every operator becomes once its tensors' extents and strides are known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include <reblock/detail/gather.hpp>
#include <reblock/detail/plan_moves.hpp>
#include <reblock/detail/traversal.hpp>
#include <reblock/executor.hpp>

namespace reblock::detail {

/// Less than this many destination bytes a chunk are not worth handing to another thread.
inline constexpr std::int64_t least_chunk_bytes = 64 * 1024;
/// More chunks than this are not made, however many an executor asks for.
inline constexpr std::size_t most_chunks = 1024;

/// Moves by a plan, or sums by a gather. A trivially copyable value: make it once, run it often.
class operation {
 public:
  /// To move as plan_moves has it.
  operation(const layout& moves, std::int64_t element_size, const settling* sums = nullptr) noexcept
      : how_(std::in_place_type<plan>, moves) {
    set_out_moves(*std::get_if<plan>(&how_), moves, element_size, sums, usable_instruction_set());
  }
  explicit operation(const gather& sums) noexcept : how_(sums) {}

  /// `source` and `destination` point to the first element (index 0 on every axis) of each tensor,
  /// which must not share memory. `leaf` sums where the operation does not know how.
  template <executor Executor>
  void run(const void* source, void* destination, Executor& executor, sum_function leaf = nullptr) const {
    const auto* from = static_cast<const std::byte*>(source);
    auto* to = static_cast<std::byte*>(destination);
    if (const plan* moves = std::get_if<plan>(&how_)) {
      run_moves(*moves, from, to, executor);
    } else {
      run_sums(*std::get_if<gather>(&how_), from, to, executor, leaf);
    }
  }

 private:
  template <executor Executor>
  static void run_sums(const gather& sums, const std::byte* from, std::byte* to, Executor& executor,
                       sum_function leaf) {
    const std::int64_t boxes = sums.boxes();
    const std::int64_t chunks = std::min(boxes, concurrency(executor));
    if (chunks == 0) return;
    executor.run(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
      const auto i = static_cast<std::int64_t>(chunk);
      for (std::int64_t box = share(boxes, i, chunks); box < share(boxes, i + 1, chunks); ++box) {
        sums.fill_box(box, from, to, leaf);
      }
    });
  }

  template <executor Executor>
  static void run_moves(const plan& moves, const std::byte* from, std::byte* to, Executor& executor) {
    if (moves.empty) return;
    const auto element_size = static_cast<std::int64_t>(moves.leaf_tile.element_size);
    const layout whole = moves.whole();
    const std::size_t axis = axis_to_cut(whole, concurrency(executor));
    const std::int64_t chunks = chunk_count(whole, axis, element_size, concurrency(executor));
    if (chunks <= 1) {
      traversal<fill_outside>(moves, from, to).run();
      return;
    }
    executor.run(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
      const auto i = static_cast<std::int64_t>(chunk);
      const std::int64_t extent = whole.axes[axis].extent;
      layout part = whole;
      part.narrow(axis, share(extent, i, chunks), share(extent, i + 1, chunks));
      const plan part_plan = plan_moves(part, element_size, moves.sums);
      traversal<fill_outside>(part_plan, from, to).run();
    });
  }

  template <executor Executor>
  static std::int64_t concurrency(Executor& executor) {
    return static_cast<std::int64_t>(std::clamp<std::size_t>(executor.concurrency(), 1, most_chunks));
  }

  /// Where the share of the i-th of `chunks` begins.
  static std::int64_t share(std::int64_t total, std::int64_t i, std::int64_t chunks) noexcept {
    return total / chunks * i + std::min(i, total % chunks);
  }

  /// The axis that cuts the output into the longest contiguous pieces among those that make enough of
  /// them; if none does, the longest.
  static std::size_t axis_to_cut(const layout& moves, std::int64_t pieces) noexcept {
    std::size_t best = 0;
    const auto enough = [&](std::size_t i) { return moves.axes[i].extent >= pieces; };
    for (std::size_t i = 1; i < moves.rank; ++i) {
      const bool longer = enough(i) && enough(best)
                              ? moves.axes[i].destination_stride > moves.axes[best].destination_stride
                              : moves.axes[i].extent > moves.axes[best].extent;
      if (longer) best = i;
    }
    return best;
  }

  static std::int64_t chunk_count(const layout& moves, std::size_t axis, std::int64_t element_size,
                                  std::int64_t concurrency) noexcept {
    if (moves.rank == 0) return 1;
    const std::int64_t bytes = total_bytes(moves, element_size);
    return std::min({concurrency, moves.axes[axis].extent, bytes / least_chunk_bytes});
  }

  std::variant<plan, gather> how_;
};
static_assert(std::is_trivially_copyable_v<operation>);

/// What `gather` does, by moves alone where each position has exactly one term. Works nothing out for an output without
/// elements, whose other extents may be of any size.
inline operation plan_sums(const layout& moves, const axis_values& extents, const axis_values& output_strides,
                           const summation& sum) noexcept {
  if (std::count(extents.begin(), extents.end(), 0) != 0) {
    layout nothing;
    nothing.add({0, 0, 0});
    return operation(nothing, sum.element_size);
  }
  if (covers_once(moves, extents)) return operation(moves, sum.element_size, sum.settling);
  return operation(gather(moves, extents, output_strides, sum));
}

}  // namespace reblock::detail
