// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <initializer_list>
#include <string>

namespace reblock::python {

/// A class of Python's ordinary metaclass. It is final: a subclass could leave the C++ value unmade.
template <class T>
pybind11::class_<T> plain_class(pybind11::module_& m, const char* name, const char* doc) {
  const pybind11::handle type(reinterpret_cast<PyObject*>(&PyType_Type));
  pybind11::class_<T> result(m, name, pybind11::metaclass(type), pybind11::is_final(), doc);
  result.attr("__module__") = "reblock";
  return result;
}

/// The repr of an object: Name(a=..., b=...), from its attributes.
inline std::string describe(pybind11::handle self, std::initializer_list<const char*> attributes) {
  std::string text(pybind11::str(pybind11::type::of(self).attr("__name__")));
  const char* separator = "(";
  for (const char* attribute : attributes) {
    text += separator + std::string(attribute) + "=" + std::string(pybind11::repr(self.attr(attribute)));
    separator = ", ";
  }
  return text + ")";
}

void register_depth_space(pybind11::module_& m);
void register_window(pybind11::module_& m);
/// The enums and descriptors; the operator that they are compiled into comes after them.
void register_descriptors(pybind11::module_& m);
void register_operator(pybind11::module_& m);

}  // namespace reblock::python
