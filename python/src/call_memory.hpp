// SPDX-License-Identifier: BSD-3-Clause
//
// Each thread remembers the plans of its last calls. A call that is like one of them needs no plan, and its parameters need
// no checks: it costs little more than the new array.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <type_traits>

#include <reblock/reblock.hpp>

#include "conversions.hpp"
#include "function.hpp"

namespace reblock::python {

namespace py = pybind11;

/// The functions whose calls are remembered.
enum class planned_function : std::uint8_t {
  depth_to_space,
  space_to_depth,
  unfold,
  fold,
  rearrange,
  repeat,
  copyto
};

/// The weights of a call of fold, and the place of their argument.
struct given_weights {
  std::size_t place;
  const window_weights& values;
};

/// The values that the plan of a call depends on. It refers to no object of Python, which could change or be gone.
class call_key {
 public:
  /// For a call with an input, parameters, `out`, `threads`, and other keywords. `input` is a view of the first
  /// argument. The plan does not depend on `threads`. `factors` have been read from the last parameters, scale and
  /// bias; null: those are None, or there are none. `weights` have been read as well; null: there are none.
  call_key(planned_function function, const py::array& input, bound_arguments arguments,
           const other_keywords& others = {}, const factor_arguments* factors = nullptr,
           const given_weights* weights = nullptr) noexcept;

  /// Whether the key has all values. Those of some types are not looked at, such as NumPy's scalars.
  bool complete() const noexcept { return complete_; }
  bool operator==(const call_key& other) const noexcept;

  /// The weights that the key holds, of the same extents as `given`. Requires a complete key of these weights.
  window_weights held(const window_weights& given) const noexcept;

 private:
  void add(std::int64_t word) noexcept;
  void add_axes(py::handle array) noexcept;
  void add_argument(py::handle argument) noexcept;
  void add_factor(const factor_argument& factor) noexcept;
  void add_weights(const window_weights& given) noexcept;

  static constexpr std::size_t capacity = 96;
  static constexpr std::size_t most_weights = 256;  // a plan takes little of the time of larger windows
  std::array<std::int64_t, capacity> words_;        // of which there are `size_`
  std::array<double, most_weights> weights_;        // of which there are `weight_count_`
  std::size_t size_ = 0;
  std::size_t weight_count_ = 0;
  bool complete_ = true;
};

/// A call with its plan.
struct remembered_call {
  call_key key;
  axis_values output_extents;
  int dtype_number;           ///< of the result
  detail::reducer reduction;  ///< to which the plan of a reduction refers
  detail::operation plan;

  bool keeps_dtype() const noexcept { return dtype_number == same_dtype; }
  py::dtype dtype(const py::array& input) const {
    return keeps_dtype() ? input.dtype() : py::dtype(dtype_number);
  }

  static constexpr int same_dtype = -1;  ///< as the input
};
static_assert(std::is_trivially_copyable_v<remembered_call>);

/// NumPy's number of a result's dtype; nothing for a dtype that a number does not tell.
std::optional<int> number_of(const py::dtype& dtype, const py::array& input);

/// The call of this thread that has an equal key, or null. It stays until any code of Python runs, which may call again.
const remembered_call* find_call(const call_key& key) noexcept;

/// Room for a call of this thread, in place of the oldest one.
void* room_for_call();

/// Remembers a call. Requires a complete key. `plan` takes a reducer and the key, to which what it returns may refer; it
/// refers to nothing else.
template <class Plan>
const remembered_call& remember_call(const call_key& key, const axis_values& output_extents, int dtype_number,
                                     Plan&& plan) {
  auto* const room = static_cast<remembered_call*>(room_for_call());
  return *new (room)
      remembered_call{key, output_extents, dtype_number, {}, plan(room->reduction, &room->key)};
}

}  // namespace reblock::python
