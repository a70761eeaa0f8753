// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <pybind11/pybind11.h>

#include <initializer_list>

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
inline pybind11::str describe(pybind11::handle self, std::initializer_list<const char*> attributes) {
  pybind11::list parts;
  for (const char* attribute : attributes) {
    parts.append(pybind11::str("{}={!r}").format(attribute, self.attr(attribute)));
  }
  const pybind11::object joined = pybind11::str(", ").attr("join")(parts);
  return pybind11::str("{}({})").format(pybind11::type::of(self).attr("__name__"), joined);
}

void register_depth_space(pybind11::module_& m);
void register_window(pybind11::module_& m);
/// The enums and descriptors; the operator that they are compiled into comes after them.
void register_descriptors(pybind11::module_& m);
void register_operator(pybind11::module_& m);
void register_threads(pybind11::module_& m);

}  // namespace reblock::python
