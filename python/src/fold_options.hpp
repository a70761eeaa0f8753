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

/// The options of a call of fold, and the arrays of their weights.
class fold_arguments {
 public:
  /// Reads the arguments. `columns` is the dtype of the columns.
  fold_arguments(const py::dtype& columns, py::handle accumulate, py::handle reduction, py::handle weights,
                 py::handle dtype);

  const fold_options& options() const noexcept { return options_; }
  const detail::summation& terms() const noexcept { return terms_; }
  /// The dtype of the result.
  const py::dtype& dtype() const noexcept { return dtype_; }
  /// How terms are reduced; without functions, and null for a plain sum.
  detail::reducer* reducer() const noexcept { return is_plain_sum_ ? nullptr : &reducer_; }
  /// ValueError or TypeError for options that do not fit windows of these sizes.
  void check(const axis_values& window_sizes) const;

 private:
  void read_weights(py::handle weights);

  py::dtype dtype_;
  detail::summation terms_;
  fold_options options_;
  mutable detail::reducer reducer_;  ///< a plan fills in its functions
  bool is_plain_sum_;
  std::vector<py::array> weights_;
};

}  // namespace reblock::python
