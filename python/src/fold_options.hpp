// SPDX-License-Identifier: BSD-3-Clause
//
// These functions read the arguments of fold that say how the terms of an element become its value.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <vector>

#include <reblock/reblock.hpp>

namespace reblock::python {

namespace py = pybind11;

/// The weights of a call of fold, and the arrays that hold them. They have at least one axis.
class weight_arguments {
 public:
  /// Reads the argument. An `out` of the call may share memory with arrays of weights, which are copied then.
  weight_arguments(py::handle weights, py::handle out);

  const window_weights& values() const noexcept { return values_; }

 private:
  window_weights values_;
  std::vector<py::array> arrays_;
};

/// The options of a call of fold. Its weights must outlive it.
class fold_arguments {
 public:
  /// Reads the arguments. `columns` is the dtype of the columns. `weights` is null without weights.
  fold_arguments(const py::dtype& columns, py::handle accumulate, py::handle reduction,
                 const weight_arguments* weights, py::handle dtype);

  const fold_options& options() const noexcept { return options_; }
  const detail::summation& terms() const noexcept { return terms_; }
  /// The dtype of the result.
  const py::dtype& dtype() const noexcept { return dtype_; }
  /// How terms are reduced; without functions, and null for a plain sum.
  detail::reducer* reducer() const noexcept { return is_plain_sum_ ? nullptr : &reducer_; }
  /// ValueError or TypeError for options that do not fit windows of these sizes.
  void check(const axis_values& window_sizes) const;

 private:
  py::dtype dtype_;
  detail::summation terms_;
  fold_options options_;
  mutable detail::reducer reducer_;  ///< a plan fills in its functions
  bool is_plain_sum_;
};

}  // namespace reblock::python
