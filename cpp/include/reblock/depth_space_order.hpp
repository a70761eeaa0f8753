// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <reblock/detail/configuration.hpp>

namespace reblock::inline REBLOCK_NAMESPACE {

/// Which of two indices is the slow one where both share an axis: the position in a block or a window, or the
/// channel. The axis is that of a depth tensor's channels, or of the rows of columns. The values are those of
/// DirectML's DML_DEPTH_SPACE_ORDER.
enum class depth_space_order : std::uint32_t {
  depth_column_row = 0,  ///< DCR: the position is the slow index, the channel the fast one
  column_row_depth = 1,  ///< CRD: the channel is the slow index, the position the fast one
};

}  // namespace reblock::inline REBLOCK_NAMESPACE
