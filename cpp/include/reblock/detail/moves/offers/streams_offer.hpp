// SPDX-License-Identifier: BSD-3-Clause
//
// The movers of few and of wide streams interleave rows, or separate columns, that follow each other without gaps.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/movers/stream_block.hpp>
#include <reblock/detail/movers/wide_streams.hpp>
#include <reblock/detail/moves/axis_order.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/offers/offered_layout.hpp>
#include <reblock/detail/simd/instruction_sets.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class streams_offer {
 public:
  /// Offers from `limit` on may cost more than they say.
  streams_offer(const offered_layout& of, buffered_side buffer, double limit = never) noexcept
      : of_(of), buffer_(buffer), limit_(limit) {}

  /// Offers to interleave few rows, or to separate few columns, that follow each other without gaps.
  block_offer offer_few() const noexcept {
    block_offer offer;
    if (of_.set < instruction_set::ssse3) return offer;
    block_move& move = offer.move;
    const dense_streams streams =
        find_streams(of_.side, [this](std::int64_t count) { return are_few(count); });
    if (streams.count == 0) return offer;
    set_out_streams(move, streams);
    stream_block lane{};
    const auto size = static_cast<std::size_t>(of_.size);
    const auto few = static_cast<std::size_t>(streams.count);
    if (streams.are_rows) {
      lane.close_gaps(size, few, std::bit_ceil(few));
    } else {
      lane.open_gaps(size, few, std::bit_ceil(few));
    }
    move.places = lane.places;
    const bool is_wide = of_.set >= instruction_set::avx2 && streams.length >= 2 * of_.side;
#if defined(__GNUC__) && defined(__x86_64__)
    const auto mover = is_wide ? avx2::few_streams_mover<> : ssse3::few_streams_mover<>;
#elif defined(_MSC_VER) && defined(_M_X64)
    const auto mover = ssse3::few_streams_mover<>;
#else
    const auto mover = baseline::few_streams_mover<>;
#endif
    move.mover = mover(size, few, streams.are_rows);
    const std::int64_t steps = ceil_divide(streams.length, is_wide ? 2 * of_.side : of_.side);
    const auto registers = static_cast<double>(steps * registers_of(streams.count));
    offer.cost = of_.cost_of_calls(move) +
                 rows_of(streams) * (of_.costs.row + registers * cost_of_register(streams.count, is_wide));
    of_.add_waiting(offer, buffer_, 0, limit_);
    return offer;
  }

  /// Offers the same with registers of 64 bytes.
  block_offer offer_wide() const noexcept {
    block_offer offer;
#if defined(__GNUC__) && defined(__x86_64__)
    if (of_.set < instruction_set::avx512) return offer;
    const dense_streams streams = find_streams(ceil_divide(block_costs::least_wide_row, of_.size),
                                               [](std::int64_t count) { return count <= 16; });
    if (streams.count == 0) return offer;
    const auto count = static_cast<std::size_t>(streams.count);
    const auto bytes =
        static_cast<std::size_t>(even_part(streams.length, block_costs::most_along_streams) * of_.size);
    offer.move.mover = choose_wide_mover<>(count, bytes, static_cast<std::size_t>(of_.size));
    if (offer.move.mover == nullptr) return offer;
    offer.move.has_picks = true;
    set_out_streams(offer.move, streams);
    const wide_slots shape = wide_slots::of(count, bytes);
    const double accesses = bytes >= 64 ? 1 : 1 + of_.costs.slot * static_cast<double>(shape.slots);
    const auto registers = static_cast<double>(shape.count * ((bytes - 1) / 64 + 1));
    offer.cost = of_.cost_of_calls(offer.move) +
                 of_.bytes / static_cast<double>(count * bytes) *
                     (of_.costs.row + registers * (of_.costs.pick * static_cast<double>(picks_of(shape)) +
                                                   of_.costs.wide_access * accesses));
    of_.add_waiting(offer, buffer_, 0, limit_);
#endif
    return offer;
  }

 private:
  /// Tells whether registers interleave or separate so many streams.
  bool are_few(std::int64_t streams) const noexcept {
    return of_.size < lane_bytes && (streams <= of_.side || streams == 3);
  }

  /// Returns how many registers interleave or separate so many streams.
  static std::int64_t registers_of(std::int64_t few) noexcept {
    return few == 3 ? 3 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(few)));
  }
  /// Estimates the cycles of each of these registers.
  double cost_of_register(std::int64_t few, bool is_wide) const noexcept {
    const std::int64_t count = registers_of(few);
    const double shuffles =
        few == 3 ? of_.costs.three_streams[static_cast<std::size_t>(log2(static_cast<std::size_t>(of_.size)))]
                 : log2(static_cast<std::size_t>(count));
    const double stores =
        few == count ? of_.costs.joined_store[is_wide ? 1 : 0] : of_.costs.lane_store * (is_wide ? 2 : 1);
    return of_.costs.stream_shuffle * shuffles + stores;
  }

  /// dense_streams are rows whose columns follow each other in the destination without gaps, or columns whose rows do so in
  /// the source.
  struct dense_streams {
    std::int64_t count = 0;  ///< 0: there are none
    std::int64_t length = 0;
    bool are_rows = false;
  };
  template <class AreFew>
  dense_streams find_streams(std::int64_t least, const AreFew& are_few) const noexcept {
    const layout_axis& row = of_.moves.axes[of_.rows.axes[0]];
    const layout_axis& column = of_.moves.axes[of_.columns.axes[0]];
    const auto follow = [&](const axis_chain& few, const layout_axis& along, std::int64_t stride) {
      return few.elements > 1 && are_few(few.elements) && along.extent >= least &&
             stride == of_.size * few.elements;
    };
    if (follow(of_.rows, column, column.destination_stride)) return {of_.rows.elements, column.extent, true};
    if (follow(of_.columns, row, row.source_stride)) return {of_.columns.elements, row.extent, false};
    return {};
  }
  void set_out_streams(block_move& move, const dense_streams& streams) const noexcept {
    axis_chain along;
    along.push(streams.are_rows ? of_.columns.axes[0] : of_.rows.axes[0], streams.length);
    if (streams.are_rows) {
      of_.set_out(move, along, block_costs::most_along_streams, of_.rows, most_streams);
    } else {
      of_.set_out(move, of_.columns, most_streams, along, block_costs::most_along_streams);
      offered_layout::order_repeats_by_source(move);
    }
    move.dense_columns = streams.are_rows;
    move.dense_rows = !streams.are_rows;
    move.writes_lines = streams.are_rows || separate_lines(move);
  }
  /// Tells whether separated streams can write whole lines past the caches.
  static bool separate_lines(const block_move& move) noexcept {
    std::int64_t places = 0;
    for (std::size_t i = 0; i < move.repeated + std::size_t{move.column_axes}; ++i)
      places |= move.axes[i].destination_stride;
    // more streams would need too many buffers at a time
    const std::int64_t streams = offered_layout::columns_of(move);
    return (streams <= 4 || streams == 8) && places % lane_bytes == 0;
  }
  /// Counts the rows of all streams.
  double rows_of(const dense_streams& streams) const noexcept {
    return of_.bytes / static_cast<double>(streams.count * streams.length * of_.size);
  }

  const offered_layout& of_;
  buffered_side buffer_;
  double limit_;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
