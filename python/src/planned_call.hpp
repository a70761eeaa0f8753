// SPDX-License-Identifier: BSD-3-Clause
//
// These functions run an operator: by a plan that the thread remembers, or by a new plan.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "call_memory.hpp"
#include "function.hpp"
#include "gate.hpp"
#include "threads.hpp"

namespace reblock::python {

/// A call whose parameters have been checked.
template <class Plan>
struct described_call {
  axis_values output_extents;
  py::dtype dtype;  ///< of the result
  Plan plan;  ///< makes a detail::operation for the strides of operands, and may refer to a reducer and a key

  /// `key`: what a remembered plan may refer to; null: the plan is not remembered.
  detail::operation plan_for(const operands& where, detail::reducer& reduction,
                             const call_key* key = nullptr) const {
    if constexpr (std::is_invocable_v<const Plan&, const operands&, detail::reducer&, const call_key*>) {
      return plan(where, reduction, key);
    } else {
      return plan(where);
    }
  }
};
template <class Plan>
described_call(axis_values, py::dtype, Plan) -> described_call<Plan>;

/// Runs a call of a function, whose arguments are the input, parameters, `out` and `threads`. `input` is a view of the first
/// argument. `describe` checks the parameters and returns a described_call. It is called only where it has to be: what it
/// returns depends on nothing but `input` without its elements, the parameters, and whether `out` is None. `factors` are the
/// parameters before `out`, or null where those are None; `weights` those of fold, or null.
template <class Describe>
py::object run_planned(planned_function function, const py::array& input, bound_arguments arguments,
                       const factor_arguments* factors, Describe&& describe,
                       const given_weights* weights = nullptr) {
  const py::handle out = arguments[arguments.size() - 2];
  const std::size_t threads = to_threads(arguments.back());
  const call_key key(function, input, arguments, {}, factors, weights);

  std::optional<decltype(describe())> described;
  const auto known = [&]() -> const auto& {
    if (!described) described.emplace(describe());
    return *described;
  };
  const remembered_call* remembered = find_call(key);
  checked_arrays arrays(input, out, remembered != nullptr ? remembered->dtype(input) : known().dtype,
                        remembered != nullptr ? remembered->output_extents : known().output_extents);
  check_result(arguments.front(), input, out, arrays.output);
  const operands where = arrays.where();
  const auto run = [&](const detail::operation& plan) {
    arrays.move(threads, [&](pool_executor executor) { plan.run(where.input, where.output, executor); });
    return to_result(arguments.front(), input, out, arrays.output);
  };

  detail::reducer reduction;
  if (!key.complete() || !arrays.source.is(input)) return run(known().plan_for(where, reduction));
  remembered = find_call(key);  // once more, since the checks may have run any code of Python
  if (remembered != nullptr) return run(remembered->plan);
  const auto& call = known();
  const std::optional<int> number = number_of(call.dtype, input);
  if (!number || (factors != nullptr && !factors->are_held())) return run(call.plan_for(where, reduction));
  const auto plan = [&](detail::reducer& kept, const call_key* held) {
    return call.plan_for(where, kept, held);
  };
  return run(remember_call(key, call.output_extents, *number, plan).plan);
}

}  // namespace reblock::python
