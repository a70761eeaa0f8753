// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// The order says which of two indices on one axis is the slow one: the position or the channel. For depth and space,
/// the position is a position in a block, and the axis has the depth tensor's channels. For unfold and fold, the position
/// is an element of the window, and the axis has the rows of columns. The values are those of DirectML's
/// DML_DEPTH_SPACE_ORDER.
enum class depth_space_order : std::uint32_t {
  depth_column_row = 0,  ///< DCR: the position is the slow index, the channel the fast one
  column_row_depth = 1,  ///< CRD: the channel is the slow index, the position the fast one
};

}  // namespace reblock::inline REBLOCK_NAMESPACE
