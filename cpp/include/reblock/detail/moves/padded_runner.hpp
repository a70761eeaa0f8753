// SPDX-License-Identifier: BSD-3-Clause
//
// A padded_runner fills the buffer of a padded_move for each block: it copies pieces of the image, converts them, and
// repeats what is periodic.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/conversion_request.hpp>
#include <reblock/detail/conversions/factor_table.hpp>
#include <reblock/detail/conversions/run_conversion.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/blocks.hpp>
#include <reblock/detail/moves/box_copy.hpp>
#include <reblock/detail/moves/offers.hpp>
#include <reblock/detail/moves/padded_axis.hpp>
#include <reblock/detail/moves/padded_windows.hpp>
#include <reblock/detail/moves/remembered_moves.hpp>
#include <reblock/detail/traversal.hpp>
#include <reblock/padding_mode.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A padded_runner runs a padded_move.
class padded_runner {
 public:
  /// A conversion needs room for a `table` of its factors. Else it is null.
  explicit padded_runner(const padded_move& move, std::optional<factor_table>* table = nullptr) noexcept
      : move_(move), table_(table) {}

  void run(const std::byte* source, std::byte* destination) noexcept {
    source_ = source;
    destination_ = destination;
    for (std::size_t b = 0; b < move_.whole_.bound_count; ++b) positions_[b] = move_.whole_.bounds[b].offset;
    walk(0, move_.whole_.source_offset, move_.whole_.destination_offset);
  }

 private:
  friend class padded_move;

  void walk(std::size_t i, std::int64_t source, std::int64_t destination) noexcept {
    if (i == move_.whole_.rank) return move_block(source, destination);
    const layout_axis& axis = move_.whole_.axes[i];
    const cut_axis cut(axis, move_.at_once_[i]);
    const std::int64_t pieces = cut.pieces();
    for (std::int64_t k = 0; k < pieces; ++k) {
      const std::int64_t index = cut.piece(k);
      const std::int64_t to = wrapping_add(destination, wrapping_multiply(index, axis.destination_stride));
      if (axis.bounded()) {
        positions_[axis.bound] += index * axis.bound_step;
        walk(i + 1, source, to);
        positions_[axis.bound] -= index * axis.bound_step;
      } else {
        if (i == move_.channel_axis_) channel_ = move_.first_channel_ + index;
        walk(i + 1, wrapping_add(source, wrapping_multiply(index, axis.source_stride)), to);
      }
    }
  }

  void move_block(std::int64_t source, std::int64_t destination) noexcept {
    find_stored();
    bool is_there = true;
    for (std::size_t k = 0; k < move_.part_.rank; ++k)
      is_there = is_there && stored_[k].begin < stored_[k].end;
    if (is_there) {
      stage(move_.part_.rank, source, 0);
      if (move_.converts()) move_.convert_(*this);
      repeat();
    }
    move_.out_.visit([&](const auto& way) { run_out(way, destination_ + destination); });
  }

  template <class Way>
  void run_out(const Way& way, std::byte* destination) const noexcept {
    way.run(buffer_.data(), destination);
  }
  void run_out(const staged_move& blocks, std::byte* destination) const noexcept {
    run_beside_buffer(blocks, buffer_.data(), destination);
  }

  /// Finds the indices of the buffer that are read from the image: those inside for the constant mode. Else those of the first
  /// period, without those that find in the buffer what they repeat.
  void find_stored() noexcept {
    std::array<index_range, max_axes> found;
    bool is_same = has_value_;
    bool is_whole = true;
    std::int64_t all = 1;
    for (std::size_t k = 0; k < move_.part_.rank; ++k) {
      const auto& axis = move_.part_.axes[k];
      found[k] = {0, axis.extent};
      if (axis.bound == no_bound) continue;
      const std::int64_t extent = move_.whole_.bounds[axis.bound].extent;
      if (move_.mode() == padding_mode::constant) {
        found[k] =
            range_inside({positions_[axis.bound], extent}, 0, {axis.extent, 0, 0, axis.bound, axis.step});
      } else if (const std::int64_t period = padded_axis{move_.mode(), extent}.period(); period != 0) {
        found[k].end = std::min(axis.extent, period / std::gcd(period, axis.step));
      }
      period_ends_[k] = found[k].end;
      if (move_.mode() != padding_mode::constant) leave_out_repeated(k, found[k]);
    }
    for (std::size_t k = 0; k < move_.part_.rank; ++k) {
      is_same = is_same && found[k] == stored_[k];
      stored_[k] = found[k];
      is_whole = is_whole && found[k] == index_range{0, move_.part_.axes[k].extent};
      all *= move_.part_.axes[k].extent;
    }
    if (move_.mode() != padding_mode::constant || is_same || is_whole) return;
    // what lies outside stays in the buffer until other elements lie there
    has_value_ = true;
    const auto size = static_cast<std::size_t>(move_.element_size_);
    const auto bytes = static_cast<std::size_t>(all * move_.unit_);
    if (size > move_.value_.size()) {
      std::memset(buffer_.data(), 0, bytes);
      return;
    }
    std::memcpy(buffer_.data(), move_.value_.data(), size);
    for (std::size_t filled = size; filled < bytes;) {
      const std::size_t more = std::min(filled, bytes - filled);
      std::memcpy(buffer_.data() + filled, buffer_.data(), more);
      filled += more;
    }
  }

  /// Narrows the indices of an axis to those inside the image, if the others repeat them.
  void leave_out_repeated(std::size_t k, index_range& found) const noexcept {
    const auto& axis = move_.part_.axes[k];
    const std::int64_t first = positions_[axis.bound];
    const padded_axis image{move_.mode(), move_.whole_.bounds[axis.bound].extent};
    const index_range inside =
        range_inside({first, image.extent}, 0, {found.end, 0, 0, axis.bound, axis.step});
    if (inside.begin == inside.end) return;
    const std::int64_t held_from = first + inside.begin * axis.step;
    const std::int64_t held_to = first + (inside.end - 1) * axis.step;
    for (const index_range& outside : {index_range{0, inside.begin}, index_range{inside.end, found.end}}) {
      for (std::int64_t i = outside.begin; i < outside.end;) {
        const padded_piece next = image.piece_at(first + i * axis.step, outside.end - i, axis.step);
        const std::int64_t last = next.first + (next.count - 1) * next.step;
        if ((next.first - first) % axis.step != 0 || std::min(next.first, last) < held_from ||
            std::max(next.first, last) > held_to) {
          return;
        }
        i += next.count;
      }
    }
    found = inside;
  }

  /// Copies pieces of the image along the first `count` axes of the part, to unit `to`. The pieces of the other axes are
  /// known.
  void stage(std::size_t count, std::int64_t source, std::int64_t to) noexcept {
    const std::int64_t unit = move_.source_unit_;
    if (count == 0) return copy(piece_, source_ + source, staged() + to * unit);
    const std::size_t k = count - 1;
    const auto& axis = move_.part_.axes[k];
    piece_.rank = std::max(piece_.rank, count);
    piece_.unit = unit;
    if (axis.bound == no_bound) {
      piece_.axes[k] = {axis.extent, axis.source_stride, axis.buffer_stride * unit};
      return stage(k, source, to);
    }
    const padded_axis image{move_.mode(), move_.whole_.bounds[axis.bound].extent};
    for (std::int64_t i = stored_[k].begin; i < stored_[k].end;) {
      const padded_piece next =
          image.piece_at(positions_[axis.bound] + i * axis.step, stored_[k].end - i, axis.step);
      piece_.axes[k] = {next.count, wrapping_multiply(next.step, axis.source_stride),
                        axis.buffer_stride * unit};
      stage(k, wrapping_add(source, wrapping_multiply(next.first, axis.source_stride)),
            to + i * axis.buffer_stride);
      i += next.count;
    }
  }

  std::byte* staged() noexcept { return buffer_.data() + move_.staged_offset(); }

  /// Converts what has been staged. Axes whose units follow each other form a run.
  void convert() noexcept {
    std::size_t in_run = 0;
    std::int64_t count = 1;
    std::int64_t first = 0;
    std::array<factor_axis, 2> axes;
    for (bool is_whole = true; is_whole && in_run < move_.part_.rank; ++in_run) {
      const auto& axis = move_.part_.axes[in_run];
      const index_range& stored = stored_[in_run];
      if (move_.is_channel(axis)) {
        const factor_axis channels{1, axis.buffer_stride, axis.extent};
        if (move_.has_scales_) axes[0] = channels;
        if (move_.has_biases_) axes[1] = channels;
      }
      count *= stored.end - stored.begin;
      first += stored.begin * axis.buffer_stride;
      is_whole = stored == index_range{0, axis.extent};
    }
    if (!*table_ || axes != axes_in_run_) {
      axes_in_run_ = axes;
      table_->emplace(move_.conversion_, std::array{move_.scale_.values(), move_.bias_.values()}, axes);
    }
    convert_runs(move_.part_.rank, in_run, first, count, channel_);
  }
  /// Converts runs along the first `axes` axes of the part.
  void convert_runs(std::size_t axes, std::size_t in_run, std::int64_t first, std::int64_t count,
                    std::int64_t channel) noexcept {
    if (axes == in_run) {
      const run_conversion& by = move_.conversion_;
      std::byte* const from = staged() + first * move_.source_unit_;
      std::byte* const to = buffer_.data() + first * move_.unit_;
      if (move_.swaps_source_) swap_bytes(from, count, by.source_size());
      (*table_)->convert(by, from, to, count,
                         {move_.has_scales_ ? channel : 0, move_.has_biases_ ? channel : 0});
      if (move_.swaps_destination_) swap_bytes(to, count, by.destination_size());
      return;
    }
    const std::size_t k = axes - 1;
    const auto& axis = move_.part_.axes[k];
    for (std::int64_t i = stored_[k].begin; i < stored_[k].end; ++i) {
      convert_runs(k, in_run, first + i * axis.buffer_stride, count,
                   channel + (move_.is_channel(axis) ? i : 0));
    }
  }

  /// Repeats what the buffer holds, first within a period of an axis, then the period.
  void repeat() noexcept {
    if (move_.mode() == padding_mode::constant) return;
    copied_box held;
    held.rank = move_.part_.rank;
    held.unit = move_.unit_;
    std::byte* first = buffer_.data();
    for (std::size_t k = 0; k < held.rank; ++k) {
      const std::int64_t stride = move_.part_.axes[k].buffer_stride * held.unit;
      held.axes[k] = {stored_[k].end - stored_[k].begin, stride, stride};
      first += stored_[k].begin * stride;
    }
    for (std::size_t k = 0; k < held.rank; ++k) {
      const std::int64_t extent = move_.part_.axes[k].extent;
      const std::int64_t stride = held.axes[k].destination_stride;
      first -= stored_[k].begin * stride;
      if (move_.part_.axes[k].bound != no_bound) {
        repeat_within(k, {0, stored_[k].begin}, held, first);
        repeat_within(k, {stored_[k].end, period_ends_[k]}, held, first);
        for (std::int64_t filled = period_ends_[k]; filled < extent; filled += held.axes[k].count) {
          held.axes[k].count = std::min(filled, extent - filled);
          copy(held, first, first + filled * stride);
        }
      }
      held.axes[k].count = extent;
    }
  }
  /// Copies to indices of an axis what they repeat. The other axes have the elements of `held`, from `first` on.
  void repeat_within(std::size_t k, const index_range& indices, copied_box held, std::byte* first) noexcept {
    const auto& axis = move_.part_.axes[k];
    const std::int64_t position = positions_[axis.bound];
    const std::int64_t stride = held.axes[k].destination_stride;
    const padded_axis image{move_.mode(), move_.whole_.bounds[axis.bound].extent};
    for (std::int64_t i = indices.begin; i < indices.end; i += held.axes[k].count) {
      const padded_piece next = image.piece_at(position + i * axis.step, indices.end - i, axis.step);
      held.axes[k] = {next.count, next.step / axis.step * stride, stride};
      copy(held, first + (next.first - position) / axis.step * stride, first + i * stride);
    }
  }

  void copy(const copied_box& whole, const std::byte* source, std::byte* to) noexcept {
    copied_box merged;
    merged.unit = whole.unit;
    for (std::size_t k = 0; k < whole.rank; ++k) merged.add(whole.axes[k]);
    copy_box(merged, buffered_side::destination, 0, source, to);
  }

  const padded_move& move_;
  std::optional<factor_table>* table_;
  const std::byte* source_ = nullptr;
  std::byte* destination_ = nullptr;
  std::array<std::int64_t, max_bounds> positions_{};
  std::array<index_range, max_axes> stored_;
  std::array<std::int64_t, max_axes>
      period_ends_;  ///< indices of bounded axes behind those of the first period
  bool has_value_ = false;
  std::int64_t channel_ = 0;  ///< the first one of a block
  std::array<factor_axis, 2> axes_in_run_;
  copied_box piece_;  ///< units of the part that follow each other evenly on both sides
  alignas(64) std::array<std::byte, padded_buffer_bytes + readable_slack> buffer_;
};

REBLOCK_ENGINE_DEFINITION inline padded_move::padded_move(const padded_request& request,
                                                          const conversion_request& converted) noexcept
    : padded_move(request.element_size) {
  convert_ = [](padded_runner& runner) { runner.convert(); };
  conversion_ = run_conversion(converted.from, converted.to, converted.has_factors());
  scale_ = held_factor(converted, converted.scale);
  bias_ = held_factor(converted, converted.bias);
  has_scales_ = converted.scale.axis != one_factor;
  has_biases_ = converted.bias.axis != one_factor;
  swaps_source_ = converted.swaps_source;
  swaps_destination_ = converted.swaps_destination;
  set_out(request, usable_instruction_set());
}

// A runner and what plans need are large, so only one of them is on the stack.

[[gnu::noinline]] inline void run_blocks(const padded_move& move, const std::byte* source,
                                         std::byte* destination) noexcept {
  padded_runner(move).run(source, destination);
}

[[gnu::noinline]] inline void run_converting(const padded_move& move, const std::byte* source,
                                             std::byte* destination) noexcept {
  std::optional<factor_table> table;
  padded_runner(move, &table).run(source, destination);
}

inline void padded_move::run(const std::byte* source, std::byte* destination) const noexcept {
  if (is_empty()) return;
  converts() ? run_converting(*this, source, destination) : run_blocks(*this, source, destination);
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
