// SPDX-License-Identifier: BSD-3-Clause
//
// These functions take arrays of other libraries: their types have __dlpack__. The arrays are read and written
// without copying, and results go back to the library of the input.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>

namespace reblock::python {

namespace py = pybind11;

/// The type of a value with its module: torch.Tensor; without it for Python's own: list.
std::string describe_type(py::handle value);

/// The first line of an error's message, which some libraries make long.
std::string first_line(const py::error_already_set& why);

/// Whether this is another library's array; to be asked of what is no ndarray.
bool is_foreign(py::handle x);

/// TypeError for what NumPy would make an array of that lacks a part of it or is none of the library's any more:
/// lazy arrays, arrays with names, and what stands for an array while a function is traced. To be asked of what is
/// neither an ndarray nor foreign.
void refuse_what_would_be_lost(py::handle x, const char* name);

/// A view of another library's array. TypeError if it is on a device, or NumPy cannot view it.
py::array view_foreign(py::handle x, const char* name);

/// As view_foreign; what is written into the view is written into `out`. It is read-only where `out` is.
py::array view_foreign_output(py::handle out, const char* name);

/// TypeError where the library of `x` has no arrays of this dtype.
void check_library_has(py::handle x, const py::dtype& dtype);

/// The result as an array of the library of `x`: by the function from_dlpack of x.__array_namespace__(), or
/// of the package of its type or of a base, or as TensorFlow has it. Where there is none, the ndarray.
py::object give_back(py::handle x, const py::array& result);

}  // namespace reblock::python
