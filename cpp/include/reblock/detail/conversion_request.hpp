// SPDX-License-Identifier: BSD-3-Clause
//
// A conversion_request describes moves that convert elements, at the engine's boundary.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/element_type.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/layout.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

inline constexpr std::size_t one_factor = max_axes;

/// A factor multiplies elements or is added to them. It has one value for all, or one for each index of an axis.
struct conversion_factor {
  const double* values = nullptr;  ///< null: there is no factor
  std::size_t axis = one_factor;   ///< axis of the layout
};

/// The moves have strides of both types: the source's in bytes of `from`, the destination's in bytes of `to`.
struct conversion_request {
  layout moves;
  element_type from = element_type::none;
  element_type to = element_type::none;
  /// Whether the bytes of an element have the other order than this machine's.
  bool swaps_source = false;
  bool swaps_destination = false;
  conversion_factor scale{};
  conversion_factor bias{};
  /// The bytes of the destination's element where the source lies outside of its bounds.
  std::array<std::byte, 8> outside{};

  constexpr bool has_factors() const noexcept { return scale.values != nullptr || bias.values != nullptr; }

  /// Keeps the indices begin <= index < end of axis `i`.
  constexpr void narrow(std::size_t i, std::int64_t begin, std::int64_t end) noexcept {
    moves.narrow(i, begin, end);
    for (conversion_factor* factor : {&scale, &bias}) {
      if (factor->axis == i) factor->values += begin;
    }
  }
};

/// A conversion_call runs a request on tensors that share no memory.
struct conversion_call {
  const conversion_request& request;
  const void* source;
  void* destination;
  executor_reference executor;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

/// Runs a conversion_call. See detail/engine.hpp.
REBLOCK_ENGINE_FUNCTION void convert(const void* call) noexcept;

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine
