// SPDX-License-Identifier: BSD-3-Clause
//
// The arguments dtype, scale and bias: a conversion of the elements while they move.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <reblock/reblock.hpp>

#include "gate.hpp"

namespace reblock::python {

namespace py = pybind11;

/// A scale or a bias: no value, a number, or numbers.
struct factor_argument {
  bool is_given = false;
  std::vector<double> values;
  bool is_number = false;
  py::object axis;  ///< the name of the axis that the numbers are for, where there is one
};

/// What scale and bias may be.
enum class factor_form {
  channels,  ///< a number, or one for each channel
  axes,      ///< a number, or {name of an axis: numbers}
};

/// A scale or a bias, called `name`. TypeError and ValueError for what it cannot be.
factor_argument to_factor(py::handle value, const char* name, factor_form form);

inline bool asks_for_conversion(py::handle dtype, py::handle scale, py::handle bias) {
  return !(dtype.is_none() && scale.is_none() && bias.is_none());
}

/// What dtype, scale and bias ask for; nothing where all are None. TypeError and ValueError for what they cannot be.
class conversion_argument {
 public:
  conversion_argument(py::handle dtype, py::handle scale, py::handle bias, const py::array& input,
                      factor_form form);

  /// Whether elements change; otherwise moves copy their bytes.
  bool converts() const noexcept { return converts_; }
  /// The dtype of the result.
  const py::dtype& dtype() const noexcept { return dtype_; }
  /// Bytes of an element of `x` or of the result, whichever has more.
  std::int64_t widest() const noexcept { return widest_; }
  const factor_argument& scale() const noexcept { return scale_; }
  const factor_argument& bias() const noexcept { return bias_; }

  /// ValueError where scale and bias are neither a number nor one for each of the channels.
  void check_channels(std::int64_t channels) const;

  /// Moves and converts. `outside` is an element of the result for places outside of an image; null: zero. `scale_axis` and `bias_axis` are axes of the moves.
  void run(const detail::layout& moves, std::size_t scale_axis, std::size_t bias_axis, const void* source,
           void* destination, pool_executor executor, const std::byte* outside = nullptr) const;
  /// Moves, and converts where this was asked for: what an operator on arrays does.
  void run(const detail::layout& moves, std::int64_t itemsize, const operands& where, pool_executor executor,
           const std::byte* outside = nullptr) const;

 private:
  factor_argument scale_;
  factor_argument bias_;
  py::dtype dtype_;
  std::int64_t widest_;
  detail::element_type from_ = detail::element_type::none;
  detail::element_type to_ = detail::element_type::none;
  bool swaps_source_ = false;
  bool swaps_destination_ = false;
  bool converts_ = false;
};

}  // namespace reblock::python
