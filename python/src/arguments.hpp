// SPDX-License-Identifier: BSD-3-Clause
//
// These functions convert Python's arguments to the core's values. Each function takes the argument's name for its
// messages. It raises TypeError for a value of the wrong kind, and ValueError for a value out of range.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

#include <reblock/reblock.hpp>

namespace reblock::python {

namespace py = pybind11;

/// The core's value, or its error as a ValueError.
template <class T>
const T& value_or_raise(const result<T>& result) {
  if (!result) throw py::value_error(result.why().message());
  return *result;
}

/// str(value)
std::string text(py::handle value);
/// The characters of a str as UTF-8, with lone surrogates as if they were characters. For a message, its repr is shown.
std::string utf8(py::handle str);
/// A value of any type as a message shows it, on one short line: 2.0 (float), ndarray of shape (2, 3).
std::string describe(py::handle value);
/// TypeError: the argument of this name must be what is expected, and is something else.
[[noreturn]] void raise_type_error(const char* name, const char* expected, py::handle value);

/// Whether `value` is an integer. Python's bool counts as one there, but is none here.
bool is_int(py::handle value);
std::int64_t to_int(py::handle value, const char* name);
/// A sequence of ints, of any length.
axis_values to_axis_values(py::handle value, const char* name);
/// An int for all spatial axes, or a sequence with one for each.
spatial_values to_spatial_values(py::handle value, const char* name);
/// "DCR", "CRD", a DepthSpaceOrder or its value.
depth_space_order to_order(py::handle value);

/// Python's bool, or NumPy's.
bool to_bool(py::handle value, const char* name);
/// None for all blocks, a slice or (start, stop) for all spatial axes, or one for each.
block_range to_blocks(py::handle value);

window to_window(py::handle window_sizes, py::handle strides, py::handle dilations, py::handle start_padding,
                 py::handle end_padding);

py::tuple to_tuple(const axis_values& values);
/// As it was given: an int or a tuple.
py::object to_object(const spatial_values& values);

}  // namespace reblock::python
