// SPDX-License-Identifier: BSD-3-Clause
//
// A term_list gives the places of a sum's terms.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/simd/lanes.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// term_masks keep the bits of terms in each row; other bits belong to elements beside the terms. With a period, rows of
/// that many bytes follow each other without gaps. Then the masks are for any row and mask_overrun bytes behind it.
struct term_masks {
  const std::byte* first = nullptr;  ///< of the first term, or null: all terms count
  std::size_t period = 0;            ///< bytes, or 0
};

/// A term_list has the terms in the order of addition. They are the indices of a few axes, the last axis innermost.
class term_list {
 public:
  struct axis {
    std::int64_t extent = 1;
    std::int64_t stride = 0;       ///< bytes
    std::int64_t mask_stride = 0;  ///< bytes
  };

  /// If the list accumulates, a sum begins from the value in its target, else from zero.
  explicit term_list(std::span<const axis> axes, term_masks masks = {}, bool accumulates = false) noexcept
      : axes_(axes), masks_(masks), accumulates_(accumulates) {
    for (const axis& a : axes) size_ *= static_cast<std::size_t>(a.extent);
    if (size_ != 0) list(0);
  }

  std::size_t size() const noexcept { return size_; }
  bool has_masks() const noexcept { return masks_.first != nullptr; }
  bool accumulates() const noexcept { return accumulates_; }

  /// Returns up to `limit` terms from `first` on.
  term_offsets from(std::size_t first) noexcept {
    if (size_ > limit) list(first);
    return {offsets_.data(),
            std::min(size_ - first, limit),
            {has_masks() ? mask_places_.data() : nullptr, 0, masks_.period}};
  }
  [[gnu::visibility("hidden")]] static constexpr std::size_t limit = most_added_terms;

 private:
  [[gnu::noinline]] void list(std::size_t first) noexcept {
    const std::size_t end = std::min(size_ - first, limit);
    const axis inner = axes_.back();
    auto index = static_cast<std::int64_t>(first);
    for (std::size_t k = 0; k < end;) {
      const std::int64_t begin = index % inner.extent;
      std::int64_t offset = wrapping_multiply(begin, inner.stride);
      std::int64_t mask = begin * inner.mask_stride;
      std::int64_t rest = index / inner.extent;
      for (std::size_t i = axes_.size() - 1; i-- > 0; rest /= axes_[i].extent) {
        offset = wrapping_add(offset, wrapping_multiply(rest % axes_[i].extent, axes_[i].stride));
        mask += rest % axes_[i].extent * axes_[i].mask_stride;
      }
      index += inner.extent - begin;
      for (std::int64_t i = begin; i < inner.extent && k < end; ++i, ++k) {
        offsets_[k] = offset;
        offset = wrapping_add(offset, inner.stride);  // the last step is not used
        if (!has_masks()) continue;
        mask_places_[k] = masks_.first + mask;
        mask += inner.mask_stride;
      }
    }
  }

  std::span<const axis> axes_;
  term_masks masks_;
  bool accumulates_;
  std::size_t size_ = 1;
  std::array<std::int64_t, limit> offsets_;
  std::array<const std::byte*, limit> mask_places_;
};

/// Calls add(offset) for each term of a list.
template <class Add>
[[gnu::always_inline]] inline void for_each_term(term_list& terms, Add&& add) {
  for (std::size_t first = 0; first < terms.size();) {
    const term_offsets listed = terms.from(first);
    for (std::size_t t = 0; t < listed.count; ++t) add(listed.offsets[t]);
    first += listed.count;
  }
}

/// A sum_function makes the sums of a tile, each with equally many terms. `source` points to the first term of its first
/// element. If terms have masks, rows are contiguous.
using sum_function = void (*)(const tile&, term_list&, const std::byte* source, std::byte* destination);

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
