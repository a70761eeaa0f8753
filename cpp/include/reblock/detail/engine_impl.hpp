// SPDX-License-Identifier: BSD-3-Clause
//
// This header defines the engine's functions of engine.hpp and includes everything that the engine compiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include <reblock/detail/any_plan.hpp>
#include <reblock/detail/chunks.hpp>
#include <reblock/detail/configuration.hpp>
#include <reblock/detail/conversions/conversion_request.hpp>
#include <reblock/detail/conversions/converted_moves.hpp>
#include <reblock/detail/engine.hpp>
#include <reblock/detail/executor_reference.hpp>
#include <reblock/detail/instruction_set.hpp>
#include <reblock/detail/moves/move_plan.hpp>
#include <reblock/detail/moves/padded_windows.hpp>
#include <reblock/detail/moves/window_plan.hpp>
#include <reblock/detail/place_plan.hpp>
#include <reblock/detail/reductions/place_reduction.hpp>
#include <reblock/detail/sums/find_functions.hpp>
#include <reblock/detail/sums/place_sums.hpp>

namespace reblock::inline REBLOCK_NAMESPACE::detail {

/// Plans windows in `room`, which has the bytes of an operation.
REBLOCK_ENGINE_FUNCTION void place_windows(void* room, const padded_request& request) noexcept {
  if (needs_window_plan(request.moves, request.element_size)) {
    place<window_plan>(room, request);
  } else {
    place<move_plan>(room, request.moves, request.element_size);
  }
}

}  // namespace reblock::inline REBLOCK_NAMESPACE::detail

namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine {

REBLOCK_ENGINE_DEFINITION void plan_moves(void* operation, const void* moves,
                                          std::int64_t element_size) noexcept {
  detail::place<detail::move_plan>(operation, *static_cast<const detail::layout*>(moves), element_size);
}

REBLOCK_ENGINE_DEFINITION void plan_sums(void* operation, const void* sums) noexcept {
  const auto& request = *static_cast<const detail::sum_request*>(sums);
  if (request.reduce != nullptr) {
    detail::reduction& types = request.reduce->types;
    detail::complete(types);
    return types.ways->plan(operation, request);
  }
#if defined(REBLOCK_COMPILED)
  const detail::sum_functions* functions = detail::functions_of(request.sum);
#else
  const detail::sum_functions* functions = request.sum.functions;
#endif
  detail::place_sums(operation, request, *functions);
}

REBLOCK_ENGINE_DEFINITION void plan_windows(void* operation, const void* request) noexcept {
  detail::place_windows(operation, *static_cast<const detail::padded_request*>(request));
}

REBLOCK_ENGINE_DEFINITION void plan_conversion(void* operation, const void* request) noexcept {
  const auto& converted = *static_cast<const detail::conversion_request*>(request);
  if (converted.moves.bound_count == 0) {
    detail::place<detail::converted_move>(operation, converted);
    return;
  }
  detail::padded_request padded{converted.moves, static_cast<std::int64_t>(detail::size_of(converted.to))};
  std::copy(converted.outside.begin(), converted.outside.end(), padded.value.begin());
  detail::place<detail::padded_move>(operation, padded, converted);
}

REBLOCK_ENGINE_DEFINITION void run(const void* operation, const void* source, void* destination,
                                   const void* executor) noexcept {
  const auto& how = *std::launder(static_cast<const detail::any_plan*>(operation));
  const auto& by = *static_cast<const detail::executor_reference*>(executor);
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(destination);
  const auto concurrency =
      static_cast<std::int64_t>(std::min(by.concurrency(by.executor), detail::most_chunks));
  if (concurrency == 0) return;  // the executor threw
  how.run(how, {from, to, by, concurrency});
}

REBLOCK_ENGINE_DEFINITION const char* instruction_set() noexcept {
  return detail::name_of(detail::usable_instruction_set()).data();
}

}  // namespace reblock::inline REBLOCK_ENGINE_NAMESPACE::engine
