// SPDX-License-Identifier: BSD-3-Clause
//
// cut_moves are the axes of a way that walks them in pieces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/layout.hpp>
#include <reblock/detail/traversal.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// A cut_moves is trivially copyable.
class cut_moves {
 public:
  static bool is_empty() noexcept { return false; }
  std::size_t rank() const noexcept { return rank_; }
  const cut_axis& axis(std::size_t i) const noexcept { return axes_[i]; }
  std::int64_t at_once(std::size_t i) const noexcept { return axes_[i].at_once; }
  std::int64_t bytes() const noexcept { return bytes_; }
  std::int64_t source_offset() const noexcept { return source_offset_; }
  std::int64_t destination_offset() const noexcept { return destination_offset_; }
  /// Keeps some indices of an axis, at least `at_once`.
  void narrow(std::size_t i, const index_range& range) noexcept {
    cut_axis& axis = axes_[i];
    axis.extent = range.end - range.begin;
    source_offset_ = wrapping_add(source_offset_, wrapping_multiply(range.begin, axis.source_stride));
    destination_offset_ =
        wrapping_add(destination_offset_, wrapping_multiply(range.begin, axis.destination_stride));
  }

 protected:
  /// Takes what pieces do not change from the layout that they are cut from.
  void begin(const layout& moves, std::int64_t element_size) noexcept {
    source_offset_ = moves.source_offset;
    destination_offset_ = moves.destination_offset;
    bytes_ = total_bytes(moves, element_size);
  }
  double pieces() const noexcept {
    double count = 1;
    for (std::size_t i = 0; i < rank_; ++i) count *= static_cast<double>(axes_[i].pieces());
    return count;
  }
  /// Calls `visit(source, destination)` for each piece of all axes.
  template <class Visit>
  void for_each_piece(const std::byte* source, std::byte* destination, const Visit& visit) const noexcept {
    source += source_offset_;
    destination += destination_offset_;
    walk(std::span(axes_).first(rank_), 0, 0,
         [&](std::int64_t from, std::int64_t to) { visit(source + from, destination + to); });
  }

  std::array<cut_axis, max_axes> axes_;  ///< the outermost first
  std::size_t rank_ = 0;

 private:
  std::int64_t source_offset_ = 0;  ///< bytes
  std::int64_t destination_offset_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
