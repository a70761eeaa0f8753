// SPDX-License-Identifier: BSD-3-Clause
//
// This header defines the engine's functions of depth_space.hpp: depth_to_space and space_to_depth on views.
#pragma once

#include <algorithm>
#include <cstdint>

#include <reblock/depth_space.hpp>
#include <reblock/detail/arguments_impl.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/engine_impl.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Checks the views and describes the moves.
REBLOCK_ENGINE_FUNCTION result<layout> moves_of(const depth_space_call& call) noexcept {
  const tensor_names names;
  const auto& [input, output] = call.views;
  const std::int64_t widest = std::max(input.element_size, output.element_size);
  const auto geometry = depth_space_geometry::make(call.direction, input.extents, call.block_size, call.order,
                                                   call.channel_axis, widest, names.input);
  if (!geometry) return geometry.why();
  if (const status fits = check_operands(call.views, geometry->output_extents(), names); !fits)
    return fits.why();
  return geometry->moves(input.strides_in_bytes(), output.strides_in_bytes(), input.element_size);
}

REBLOCK_ENGINE_FUNCTION status run(const depth_space_call& call) noexcept {
  const result<layout> moves = moves_of(call);
  if (!moves) return moves.why();
  operation(move_request{*moves, call.views.input.element_size})
      .run_by(call.views.input.data, call.views.destination(), call.executor);
  return success{};
}

REBLOCK_ENGINE_FUNCTION status run(const depth_space_call& call,
                                   const typed_conversion& conversion) noexcept {
  const result<layout> moves = moves_of(call);
  if (!moves) return moves.why();
  const result<conversion_request> request = request_of(conversion, *moves, channels_of_moves);
  if (!request) return request.why();
  operation(*request).run_by(call.views.input.data, call.views.destination(), call.executor);
  return success{};
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

REBLOCK_ENGINE_DEFINITION void depth_space(const void* call, void* done) noexcept {
  *static_cast<status*>(done) = detail::run(*static_cast<const detail::depth_space_call*>(call));
}

REBLOCK_ENGINE_DEFINITION void depth_space_converted(const void* call, const void* conversion,
                                                     void* done) noexcept {
  *static_cast<status*>(done) = detail::run(*static_cast<const detail::depth_space_call*>(call),
                                            *static_cast<const detail::typed_conversion*>(conversion));
}

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine
