// SPDX-License-Identifier: BSD-3-Clause
//
// A converted_runner runs a converted_move: it brings each box into a buffer, converts its runs, and moves it out of a buffer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/converted_moves.hpp>
#include <reblock/detail/conversions/factor_table.hpp>
#include <reblock/detail/conversions/run_conversion.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/block_lines.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

class converted_runner {
 public:
  explicit converted_runner(const converted_move& move) noexcept
      : move_(move),
        source_lines_(lines(&tile_axis::source_stride, move.from_size_)),
        destination_lines_(lines(&tile_axis::destination_stride, move.to_size_)),
        table_(move.conversion_, {move.scale_.values(), move.bias_.values()}, move.in_run_,
               move.outer_count_ == 0 ? factor_places{} : moved({}, move.outer_[0], 1)) {
    if (move.is_shuffled_) return;
    if (move.is_gathered_) gather_.emplace(move.gather_);
    if (move.is_scattered_) scatter_.emplace(move.scatter_);
  }
  converted_runner(const converted_runner&) = delete;

  void run(const std::byte* source, std::byte* destination) noexcept {
    const layout& axes = move_.axes_;
    const index_range readable = readable_bytes(axes, move_.from_size_);
    const bool is_readable = readable.begin != readable.end;
    readable_begin_ = is_readable ? source + readable.begin : nullptr;
    readable_end_ = is_readable ? source + readable.end : nullptr;
    const std::int64_t first = axes.bounds[converted_move::scale_mark].offset;
    const std::int64_t first_bias = axes.bounds[converted_move::bias_mark].offset;
    walk(0, {source + axes.source_offset,
             destination + axes.destination_offset,
             {first, move_.are_together_ ? first : first_bias}});
    convert_box(next_);
  }

 private:
  struct box_place {
    const std::byte* source = nullptr;
    std::byte* destination = nullptr;
    factor_places factors{};  ///< of the first element
  };

  void walk(std::size_t i, const box_place& place) noexcept {
    if (i == move_.axes_.rank) return take_next(place);
    const layout_axis& axis = move_.axes_.axes[i];
    const cut_axis cut(axis, move_.at_once_[i]);
    const std::int64_t pieces = cut.pieces();
    for (std::int64_t k = 0; k < pieces; ++k) {
      const std::int64_t index = cut.piece(k);
      walk(i + 1, {place.source + index * axis.source_stride,
                   place.destination + index * axis.destination_stride, moved(place.factors, axis, index)});
    }
  }
  void take_next(const box_place& place) noexcept {
    const box_place box = next_;
    next_ = place;
    if (box.source == nullptr) return;
    if (move_.is_large_) {
      if (!source_lines_.are_predicted()) source_lines_.prefetch_at<2>(place.source);
      if (!destination_lines_.are_predicted()) destination_lines_.prefetch_at<2>(place.destination);
    }
    convert_box(box);
  }
  block_lines lines(std::int64_t tile_axis::* stride, std::int64_t element_size) const noexcept {
    std::array<cut_axis, max_axes> axes;
    std::size_t count = 0;
    if (move_.is_large_) {
      for (; count < move_.axes_.rank; ++count)
        axes[count] = {move_.axes_.axes[count], move_.at_once_[count]};
    }
    return {std::span<const cut_axis>(axes).first(count), element_size, stride};
  }
  factor_places moved(factor_places first, const layout_axis& axis, std::int64_t index) const noexcept {
    if (move_.has_scale(axis)) first[0] += index;
    if (move_.has_bias(axis)) first[1] += index;
    return first;
  }

  void convert_box(const box_place& box) noexcept {
    const std::byte* from = box.source;
    std::byte* to = box.destination;
    if (move_.is_gathered_) {
      move_.is_shuffled_ ? move_.shuffle_->run(from, gathered_.data()) : gather_->run(from, gathered_.data());
      if (move_.swaps_source_) swap_bytes(gathered_.data(), move_.elements_, move_.conversion_.source_size());
      from = gathered_.data();
    }
    if (move_.is_scattered_) to = converted_.data();
    convert_runs(move_.outer_count_, from, to, box.factors);
    if (!move_.is_scattered_) return;
    if (move_.swaps_destination_)
      swap_bytes(converted_.data(), move_.elements_, move_.conversion_.destination_size());
    if (move_.is_shuffled_) return move_.shuffle_->run(converted_.data(), box.destination);
    scatter_->run(converted_.data(), box.destination);
  }

  /// Walks the axes of a box that are not in a run, from axis `count` - 1 inwards. The table walks the innermost one.
  void convert_runs(std::size_t count, const std::byte* source, std::byte* destination,
                    const factor_places& first) noexcept {
    even_runs runs{static_cast<std::size_t>(move_.run_)};
    runs.spacing = static_cast<std::size_t>(move_.spacing_);
    runs.begin = readable_begin_;
    runs.end = readable_end_;
    if (count <= 1) {
      if (count == 1) set_inner(runs);
      return table_.convert(move_.conversion_, source, destination, runs, first);
    }
    const layout_axis& axis = move_.outer_[count - 1];
    if (count == 2 && !axis.bounded()) {
      set_inner(runs);
      runs.rows = static_cast<std::size_t>(axis.extent);
      runs.source_row = axis.source_stride;
      runs.destination_row = axis.destination_stride;
      return table_.convert(move_.conversion_, source, destination, runs, first);
    }
    for (std::int64_t index = 0; index < axis.extent; ++index) {
      convert_runs(count - 1, source + index * axis.source_stride,
                   destination + index * axis.destination_stride, moved(first, axis, index));
    }
  }

  void set_inner(even_runs& runs) const noexcept {
    const layout_axis& axis = move_.outer_[0];
    runs.runs = static_cast<std::size_t>(axis.extent);
    runs.source_step = axis.source_stride;
    runs.destination_step = axis.destination_stride;
  }

  static constexpr std::size_t buffer_bytes = block_buffer_bytes + readable_slack;

  const converted_move& move_;
  block_lines source_lines_;
  block_lines destination_lines_;
  factor_table table_;
  std::optional<block_runner> gather_;
  std::optional<block_runner> scatter_;
  const std::byte* readable_begin_ = nullptr;
  const std::byte* readable_end_ = nullptr;
  box_place next_;
  alignas(64) std::array<std::byte, buffer_bytes> gathered_;
  alignas(64) std::array<std::byte, buffer_bytes> converted_;
};

[[gnu::noinline]] inline void run_converted(const converted_move& move, const std::byte* source,
                                            std::byte* destination) noexcept {
  if (!move.is_empty()) converted_runner(move).run(source, destination);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
