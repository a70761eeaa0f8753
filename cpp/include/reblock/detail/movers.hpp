// SPDX-License-Identifier: BSD-3-Clause
//
// movers lists the functions that plans use to move. Plans get them as an argument, so planning compiles without them.
#pragma once

#include <cstddef>

#include <reblock/detail/configuration.hpp>
#include <reblock/detail/look_up.hpp>
#include <reblock/detail/tile.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Chooses the leaf for a tile, or null if there is none; see leaves.hpp.
using choose_leaf_function = leaf_function (*)(const tile&, bool streams_are_fixed, std::size_t lookup_width);

/// Tells whether registers of 64 bytes interleave, or else separate, the streams of a tile; see leaves.hpp.
using has_wide_leaf_function = bool (*)(const tile&, bool interleaves);

struct movers {
  choose_leaf_function choose_leaf;
  has_wide_leaf_function has_wide_leaf;
  look_up_function look_up;
};

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

/// Returns the engine's functions.
REBLOCK_ENGINE_FUNCTION detail::movers all_movers() noexcept;

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine
