// SPDX-License-Identifier: BSD-3-Clause
//
// An added_zero says to which parts of elements a move adds 0. A sum of one term is 0 + term: -0 becomes 0.
#pragma once

#include <cstdint>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

enum class added_zero : std::uint8_t { none, halves, singles, doubles };

/// The struct says how single terms become sums: 0 + term.
struct single_sums {
  leaf_function add = nullptr;               ///< null: terms are sums already
  added_zero on_the_way = added_zero::none;  ///< what moves can do instead
};

/// Tells whether movers of blocks can add 0.
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
inline constexpr bool movers_add_zero = true;
#else
inline constexpr bool movers_add_zero = false;
#endif

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
