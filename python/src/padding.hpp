// SPDX-License-Identifier: BSD-3-Clause
//
// These functions read the arguments that say what windows find outside of an image.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>

#include <reblock/reblock.hpp>

namespace reblock::python {

namespace py = pybind11;

/// NumPy's name of a mode, a PaddingMode or its value.
padding_mode to_padding_mode(py::handle value);

/// An element that the constant mode finds.
struct padding_element {
  std::array<std::byte, detail::most_padding_bytes> bytes{};
  bool is_zero = true;  ///< whether all bits are 0
};

/// A number that the dtype holds exactly. ValueError for another one, TypeError for what is none.
padding_element to_padding_value(py::handle value, const py::dtype& dtype);

}  // namespace reblock::python
