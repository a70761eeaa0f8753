// SPDX-License-Identifier: BSD-3-Clause
//
// This header defines the engine's functions of depth_space.hpp: depth_to_space and space_to_depth on views.
#pragma once

#include <reblock/depth_space.hpp>
#include <reblock/detail/arguments_impl.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/engine_impl.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

REBLOCK_ENGINE_FUNCTION status run(const depth_space_call& call) noexcept {
  const tensor_names names;
  const auto& [input, output] = call.views;
  const auto geometry = depth_space_geometry::make(call.direction, input.extents, call.block_size, call.order,
                                                   call.channel_axis, input.element_size, names.input);
  if (!geometry) return geometry.why();
  if (const status fits = check_operands(call.views, geometry->output_extents(), names); !fits) return fits;
  const operation moves(
      geometry->moves(input.strides_in_bytes(), output.strides_in_bytes(), input.element_size),
      input.element_size);
  moves.run_by(input.data, call.views.destination(), call.executor);
  return success{};
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

REBLOCK_ENGINE_DEFINITION void depth_space(const void* call, void* done) noexcept {
  *static_cast<status*>(done) = detail::run(*static_cast<const detail::depth_space_call*>(call));
}

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine
