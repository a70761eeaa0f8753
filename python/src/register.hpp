// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

namespace reblock::python {

/// A class of Python's ordinary metaclass. It is final: a subclass could leave the C++ value unmade.
template <class T>
pybind11::class_<T> plain_class(pybind11::module_& m, const char* name, const char* doc) {
  const pybind11::handle type(reinterpret_cast<PyObject*>(&PyType_Type));
  return pybind11::class_<T>(m, name, pybind11::metaclass(type), pybind11::is_final(), doc);
}

void register_depth_space(pybind11::module_& m);
void register_window(pybind11::module_& m);
/// The enums and descriptors; the operator that they are compiled into comes after them.
void register_descriptors(pybind11::module_& m);
void register_operator(pybind11::module_& m);

}  // namespace reblock::python
