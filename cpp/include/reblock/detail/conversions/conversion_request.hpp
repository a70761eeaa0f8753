// SPDX-License-Identifier: BSD-3-Clause
//
// A conversion_request describes moves that convert elements, at the engine's boundary.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// In the layouts of all operators, this axis has the channels.
inline constexpr std::size_t channels_of_moves = 1;
inline constexpr std::size_t one_factor = max_axes;
/// A plan copies up to this many values of a factor. If there are more, they must outlive the plan.
inline constexpr std::int64_t most_held_factors = 8;

/// A factor multiplies elements or is added to them. It has one value for all, or one for each index of an axis.
struct conversion_factor {
  const double* values = nullptr;  ///< null: there is no factor
  std::size_t axis = one_factor;   ///< axis of the layout
};

/// The moves have strides of both types: the source's in bytes of `from`, the destination's in bytes of `to`. Moves with
/// bounds are those of unfold: only the channels may have factors then.
struct conversion_request {
  layout moves;
  element_type from = element_type::none;
  element_type to = element_type::none;
  /// Whether the bytes of an element have the other order than this machine's.
  bool swaps_source = false;
  bool swaps_destination = false;
  conversion_factor scale{};
  conversion_factor bias{};
  /// What windows find outside of the image in the constant mode: the bytes of an element of `to`.
  std::array<std::byte, 8> outside{};

  constexpr bool has_factors() const noexcept { return scale.values != nullptr || bias.values != nullptr; }
  constexpr std::int64_t count(const conversion_factor& factor) const noexcept {
    if (factor.values == nullptr) return 0;
    return factor.axis == one_factor ? 1 : moves.axes[factor.axis].extent;
  }
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
