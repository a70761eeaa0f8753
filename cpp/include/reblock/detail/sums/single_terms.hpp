// SPDX-License-Identifier: BSD-3-Clause
//
// single_terms is fold of windows that share no position, inside the image: each of its sums has one term.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/costs.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/moves/added_zero.hpp>
#include <reblock/detail/moves/cut_moves.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/moves/plan_blocks.hpp>
#include <reblock/detail/simplify.hpp>
#include <reblock/detail/sums/tile_list.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Bytes of a piece: it stays in the second-level cache.
inline constexpr std::int64_t piece_bytes = 64 * 1024;

/// Moves the terms. If terms are not sums already, moves add 0 on their way. If they cannot, it moves a piece of the image at a
/// time, and then makes sums of the piece's terms in place: 0 + term. If terms get weights, the caller does this for each
/// piece that has been moved. A single_terms is trivially copyable.
class single_terms : public cut_moves {
 public:
  /// `windows` has the axes of a fold: n, c, the offsets and the windows.
  single_terms(const layout& windows, std::int64_t element_size, const single_sums& add_to_zero,
               bool are_weighed = false) noexcept
      : is_cut_(add_to_zero.on_the_way == added_zero::none ? add_to_zero.add != nullptr
                                                           : is_one_run(windows, element_size)),
        element_size_(element_size),
        add_to_zero_(add_to_zero.on_the_way == added_zero::none ? add_to_zero.add : nullptr),
        moves_(cut(windows, is_cut_ || are_weighed, add_to_zero.on_the_way), element_size) {}

  /// Tells whether the moves from the first term to the first position are all there is to do.
  bool are_sums() const noexcept { return !is_cut_; }
  const move_plan& moves() const noexcept { return moves_; }

  /// Returns the estimated cost in cycles.
  double cost() const noexcept {
    const double sums = add_to_zero_ == nullptr ? 0 : sum_costs::added_byte * static_cast<double>(bytes());
    return pieces() * moves_.cost() + sums;
  }

  bool is_empty() const noexcept { return bytes() == 0; }

  void run(const std::byte* source, std::byte* destination) const noexcept {
    tile_list positions;  // of a piece
    for (std::size_t i = rank_; i-- > 0;) {
      const image_axis& axis = image_[i];
      positions.add({axis.positions, axis.stride, axis.stride});
    }
    run(source, destination, [&](std::byte* to) {
      if (add_to_zero_ == nullptr) return;
      positions.for_each(
          [this](const tile& t, const std::byte* terms, std::byte* sums) { add_to_zero_(t, terms, sums); },
          to, to, element_size_);
    });
  }
  /// Moves a piece at a time, then calls `finish` with its first position.
  template <class Finish>
  void run(const std::byte* source, std::byte* destination, const Finish& finish) const noexcept {
    for_each_piece(source, destination, [&](const std::byte* from, std::byte* to) {
      moves_.run(from, to);
      finish(to);
    });
  }

  /// An axis of the image. Along n and c, windows are indices.
  struct image_axis {
    std::int64_t positions = 1;           ///< from the first one of a piece to the last one
    std::int64_t stride = 0;              ///< from position to position, bytes
    std::int64_t offsets = 1;             ///< in the window
    std::int64_t step = 0;                ///< from offset to offset, bytes
    std::size_t spatial_axis = max_rank;  ///< max_rank: none
  };
  /// Returns an axis of the image, the outermost first.
  const image_axis& image(std::size_t i) const noexcept { return image_[i]; }

 private:
  /// Lists the axes of the image, the outermost first. Cuts them, if wanted, into pieces that have runs on both sides. If
  /// windows have other windows' positions between theirs, a piece has all of them. Returns the moves of a piece.
  layout cut(const layout& windows, bool in_pieces, added_zero zero) noexcept {
    begin(windows, element_size_);
    const std::size_t spatial = (windows.rank - 2) / 2;
    rank_ = 2 + spatial;
    const block_extents piece(windows, element_size_, order_of(windows, &layout_axis::source_stride),
                              order_of(windows, &layout_axis::destination_stride), piece_bytes,
                              {2, static_cast<std::int64_t>(2 + spatial)});
    for (std::size_t k = 0; k < rank_; ++k) {
      const std::size_t i = k < 2 ? k : k + spatial;
      const layout_axis& along = windows.axes[i];
      const layout_axis offsets = k < 2 ? layout_axis(1, 0, 0) : windows.axes[k];
      const std::int64_t step = offsets.extent > 1 ? offsets.destination_stride : along.destination_stride;
      const bool are_dense = along.extent == 1 || along.destination_stride == offsets.extent * step;
      const std::int64_t at_once = in_pieces && are_dense ? piece.at_once[i] : along.extent;
      image_axis next{at_once * offsets.extent, step};
      next.offsets = offsets.extent;
      next.step = step;
      if (k >= 2) next.spatial_axis = k - 2;
      if (!are_dense) {
        next.stride = std::gcd(step, along.destination_stride) * (step < 0 ? -1 : 1);
        next.positions =
            ((at_once - 1) * along.destination_stride + (offsets.extent - 1) * step) / next.stride + 1;
      }
      std::size_t to = k;
      for (; to > 0 && magnitude(image_[to - 1].stride) < magnitude(next.stride); --to) {
        image_[to] = image_[to - 1];
        axes_[to] = axes_[to - 1];
      }
      image_[to] = next;
      axes_[to] = {along, at_once};
    }
    return piece_of(windows, zero);
  }

  /// Tells whether the terms are one run on both sides. Moves cannot cut it for several threads.
  static bool is_one_run(const layout& windows, std::int64_t element_size) noexcept {
    layout moves;
    moves.take(windows);
    return simplify(moves, element_size) == total_bytes(windows, element_size);
  }

  /// Describes the moves of a piece.
  layout piece_of(const layout& windows, added_zero zero) const noexcept {
    layout piece;
    piece.source_run = windows.source_run;
    piece.zero = zero;
    for (std::size_t i = 0; i < rank_; ++i)
      piece.add({axes_[i].at_once, axes_[i].source_stride, axes_[i].destination_stride});
    for (std::size_t i = 2; i < rank_; ++i) piece.add(windows.axes[i]);
    return piece;
  }

  bool is_cut_;                             ///< into pieces
  std::array<image_axis, max_rank> image_;  ///< the outermost first
  std::int64_t element_size_;               ///< bytes
  leaf_function add_to_zero_;               ///< what makes sums of a piece's terms, or null
  move_plan moves_;                         ///< of a piece
};
static_assert(std::is_trivially_copyable_v<single_terms>);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
