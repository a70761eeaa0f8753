// SPDX-License-Identifier: BSD-3-Clause
//
// These functions check the views of every operator before anything is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <reblock/axis_values.hpp>
#include <reblock/detail/arguments.hpp>
#include <reblock/detail/checked.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/overlap.hpp>
#include <reblock/result.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

inline placement placement_of(const untyped_view& view) noexcept {
  return {static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(view.data)), view.extents,
          view.strides_in_bytes(), view.element_size};
}

/// Checks that there is one stride per axis, and that offsets can be computed without overflow.
inline status check_strides(const untyped_view& view, const char* name) {
  if (view.strides.given() != view.extents.size()) {
    return error() << name << " must have one stride for each of the " << view.extents.size()
                   << " axes, got strides " << view.strides;
  }
  checked_size span = 1;
  for (std::size_t i = 0; i < view.extents.size(); ++i) {
    const std::int64_t stride = view.strides[i];
    if (view.extents[i] < 2) continue;
    if (stride == std::numeric_limits<std::int64_t>::min()) {
      span *= std::numeric_limits<std::int64_t>::max();  // no type holds its magnitude
    } else {
      span += checked_size(view.extents[i] - 1) * (stride < 0 ? -stride : stride);
    }
  }
  span *= 4 * view.element_size;
  if (span.overflow()) {
    return error() << name << " of shape " << view.extents << " with strides " << view.strides
                   << " spans more than can be addressed";
  }
  return success{};
}

/// Checks everything that does not depend on the operator.
inline status check_operands(const operands& views, const view_values& output_extents,
                             const tensor_names& names) {
  if (const status fits = check_strides(views.input, names.input); !fits) return fits;
  if (const status fits = check_strides(views.output, names.output); !fits) return fits;
  if (views.output.extents != output_extents) {
    return error() << names.output << " must have shape " << output_extents << ", got "
                   << views.output.extents;
  }
  const placement from = placement_of(views.input);
  const placement to = placement_of(views.output);
  const overlap own = overlaps_itself(to.extents, to.strides, to.element_size);
  if (own != overlap::none) {
    return error() << names.output << " must not overlap itself, got shape " << views.output.extents
                   << " with strides " << views.output.strides << doubt(own);
  }
  const overlap shared = share_memory(from, to);
  if (shared != overlap::none) {
    return error() << names.output << " must not share memory with " << names.input << doubt(shared);
  }
  return success{};
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail
