// SPDX-License-Identifier: BSD-3-Clause
//
// This header defines the engine's functions of window.hpp: unfold and fold on views.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <reblock/detail/arguments_impl.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/engine_impl.hpp>
#include <reblock/detail/kept_plan.hpp>
#include <reblock/detail/reductions/check_fold_options.hpp>
#include <reblock/detail/reductions/reduction.hpp>
#include <reblock/fold_options.hpp>
#include <reblock/window.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// The element that a call finds in the padding, or null for zero.
inline const std::byte* padding_value_of(const window_call& call) noexcept {
  const auto* value = static_cast<const std::byte*>(call.padding_value);
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  const bool is_none =
      value == nullptr || std::all_of(value, value + call.views.output.element_size, is_zero);
  return is_none ? nullptr : value;
}

REBLOCK_ENGINE_FUNCTION status run_unfold(const window_call& call) noexcept {
  const auto& [input, columns] = call.views;
  const auto geometry =
      window_geometry::make(input.extents, call.parameters, call.channel_axis, input.element_size, "input");
  if (!geometry) return geometry.why();
  const status fits = check_operands(call.views, geometry->columns(), {"input", "columns"});
  if (!fits) return fits;
  const std::byte* const value = padding_value_of(call);
  const status has_value =
      window_geometry::check_padding_value(value == nullptr, geometry->padding_mode(), input.element_size);
  if (!has_value) return has_value;
  const operation moves =
      plan_unfold(*geometry, input.strides_in_bytes(), columns.strides_in_bytes(), input.element_size, value);
  moves.run_by(input.data, call.views.destination(), call.executor);
  return success{};
}

/// Plans an unfold that converts in the bytes of an operation. It is not inlined, as plan_fold() is not.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] status plan_unfold(const window_call& call,
                                                             const typed_conversion& conversion,
                                                             void* room) noexcept {
  const auto& [input, columns] = call.views;
  const std::int64_t widest = std::max(input.element_size, columns.element_size);
  const auto geometry =
      window_geometry::make(input.extents, call.parameters, call.channel_axis, widest, "input");
  if (!geometry) return geometry.why();
  const status fits = check_operands(call.views, geometry->columns(), {"input", "columns"});
  if (!fits) return fits;
  const std::byte* const value = padding_value_of(call);
  const status has_value =
      window_geometry::check_padding_value(value == nullptr, geometry->padding_mode(), columns.element_size);
  if (!has_value) return has_value;
  const axis_values strides = input.strides_in_bytes();
  const result<conversion_request> described =
      request_of(conversion, geometry->moves(strides, columns.strides_in_bytes(), input.element_size),
                 channels_of_moves);
  if (!described) return described.why();
  conversion_request request = *described;
  if (value != nullptr) std::copy_n(value, columns.element_size, request.outside.begin());
  geometry->convert_padding(request, strides);
  engine::plan_conversion(room, &request);
  return success{};
}

/// Plans and runs an unfold that converts. `done` is the only status, because this takes much of the stack.
REBLOCK_ENGINE_FUNCTION void run_unfold(const window_call& call, const typed_conversion& conversion,
                                        status& done) noexcept {
  alignas(operation) std::byte plan[sizeof(operation)];
  done = plan_unfold(call, conversion, plan);
  if (done) engine::run(plan, call.views.input.data, call.views.destination(), &call.executor);
}

/// Plans a fold in the bytes of an operation. It is not inlined: what a plan needs is not on the stack while the plan runs.
REBLOCK_ENGINE_FUNCTION [[gnu::noinline]] status plan_fold(const window_call& call, reducer& how,
                                                           void* room) noexcept {
  const auto& [columns, output] = call.views;
  if (const status fits = check_extents(output.extents, "output"); !fits) return fits;
  const auto axis = check_channel_axis(call.channel_axis, output.extents.size());
  if (!axis) return axis.why();
  const auto geometry =
      window_geometry::make_from_columns(columns.extents, spatial_part(output.extents, *axis),
                                         call.parameters, call.channel_axis, columns.element_size, "columns");
  if (!geometry) return geometry.why();
  const status are_options = check_fold_options(call.options, geometry->window_sizes(), call.types);
  if (!are_options) return are_options;
  const status fits = check_operands(call.views, geometry->image(), {"columns", "output"});
  if (!fits) return fits;
  const bool is_sum =
      how.by == fold_reduction::sum && how.weights.empty() && how.types.terms == how.types.results;
  sum_request request = geometry->sums(columns.strides_in_bytes(), output.strides_in_bytes(), call.sum,
                                       call.options, is_sum ? nullptr : &how);
  request.ways = call.types.ways;
  engine::plan_sums(room, &request);
  return success{};
}

REBLOCK_ENGINE_FUNCTION status run_fold(const window_call& call) noexcept {
  reducer how{call.types, call.options.reduction, call.options.weights, call.options.accumulate};
  const auto run = [&](const void* plan) {
    engine::run(plan, call.views.input.data, call.views.destination(), &call.executor);
  };
  status planned = success{};
  kept_plan plan;
  plan.make(
      [&](void* room) {
        planned = plan_fold(call, how, room);
        return static_cast<bool>(planned);
      },
      run);
  if (plan.is_kept()) run(plan.address());
  return planned;
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

REBLOCK_ENGINE_DEFINITION void unfold(const void* call, void* done) noexcept {
  *static_cast<status*>(done) = detail::run_unfold(*static_cast<const detail::window_call*>(call));
}

REBLOCK_ENGINE_DEFINITION void unfold_converted(const void* call, const void* conversion,
                                                void* done) noexcept {
  detail::run_unfold(*static_cast<const detail::window_call*>(call),
                     *static_cast<const detail::typed_conversion*>(conversion), *static_cast<status*>(done));
}

REBLOCK_ENGINE_DEFINITION void fold(const void* call, void* done) noexcept {
  *static_cast<status*>(done) = detail::run_fold(*static_cast<const detail::window_call*>(call));
}

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine
