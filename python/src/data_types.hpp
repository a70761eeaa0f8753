// SPDX-License-Identifier: BSD-3-Clause
//
// These functions find DirectML's data types by their numbers, and by the names that other libraries use.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <reblock/data_type.hpp>

namespace reblock::python {

namespace py = pybind11;

/// A DataType; a dtype of NumPy or PyTorch, or what NumPy makes one of; or the name of either. ValueError for an
/// unknown name, TypeError for anything else: a plain number could be DirectML's or ONNX's.
data_type to_data_type(py::handle value);

/// The data type of this number in ONNX's TensorProto.DataType; ValueError where DirectML has none.
py::object from_onnx(py::handle number);

/// NumPy's dtype of a data type that a tensor can have, in native byte order.
py::dtype to_dtype(data_type type);

}  // namespace reblock::python
