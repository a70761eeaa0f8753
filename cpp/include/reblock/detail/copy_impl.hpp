// SPDX-License-Identifier: BSD-3-Clause
//
// This header defines the engine's functions of copy.hpp: a copy between views.
#pragma once

#include <cstddef>
#include <cstdint>

#include <reblock/copy.hpp>
#include <reblock/detail/arguments_impl.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/engine_impl.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Checks the views and describes the moves.
REBLOCK_ENGINE_FUNCTION result<layout> moves_of(const copy_call& call) noexcept {
  const tensor_names names{"source", "destination"};
  const auto& [source, destination] = call.views;
  if (const status fits = check_view_rank(source.extents, names.input); !fits) return fits.why();
  for (const std::int64_t extent : source.extents) {
    if (extent < 0)
      return error() << names.input << " must not have a negative extent, got " << source.extents;
  }
  if (const status fits = check_operands(call.views, source.extents, names); !fits) return fits.why();
  const view_values from = source.strides_in_bytes();
  const view_values to = destination.strides_in_bytes();
  layout moves;
  for (std::size_t i = 0; i < from.size(); ++i) moves.add({source.extents[i], from[i], to[i]});
  moves.source_run = dense_run(source.extents, from, source.element_size);
  return moves;
}

REBLOCK_ENGINE_FUNCTION status run(const copy_call& call) noexcept {
  const result<layout> moves = moves_of(call);
  if (!moves) return moves.why();
  operation(move_request{*moves, call.views.input.element_size})
      .run_by(call.views.input.data, call.views.destination(), call.executor);
  return success{};
}

REBLOCK_ENGINE_FUNCTION status run(const copy_call& call, const typed_conversion& conversion) noexcept {
  const result<layout> moves = moves_of(call);
  if (!moves) return moves.why();
  std::size_t axis = 0;
  if (conversion.given.scale.size() > 1 || conversion.given.bias.size() > 1) {
    const result<std::size_t> given = check_axis(conversion.given.axis, moves->rank);
    if (!given) return given.why();
    axis = *given;
  }
  const result<conversion_request> request = request_of(conversion, *moves, axis);
  if (!request) return request.why();
  operation(*request).run_by(call.views.input.data, call.views.destination(), call.executor);
  return success{};
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

REBLOCK_ENGINE_DEFINITION void copy(const void* call, void* done) noexcept {
  *static_cast<status*>(done) = detail::run(*static_cast<const detail::copy_call*>(call));
}

REBLOCK_ENGINE_DEFINITION void copy_converted(const void* call, const void* conversion, void* done) noexcept {
  *static_cast<status*>(done) = detail::run(*static_cast<const detail::copy_call*>(call),
                                            *static_cast<const detail::typed_conversion*>(conversion));
}

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine
