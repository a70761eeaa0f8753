// SPDX-License-Identifier: BSD-3-Clause
//
// What the Python part of the package shares with the functions of the module: how arrays are read, and hints.

#include <string>

#include "function.hpp"
#include "gate.hpp"
#include "register.hpp"
#include "words.hpp"

namespace reblock::python {

namespace {

py::object read_array(py::handle x, py::handle name) {
  return to_input(x, py::cast<std::string>(name).c_str());
}

py::object give_hint(py::handle keyword, py::handle parameters) {
  const py::tuple names(py::reinterpret_borrow<py::object>(parameters));
  return py::str(hint(keyword, items(names.ptr())));
}

}  // namespace

void register_private(py::module_& m) {
  function<&read_array>::define(m, "read_array", "View an array without copying, as every function does.", 2,
                                {{"x"}, {"name"}});
  function<&give_hint>::define(m, "hint", "What to add to an error about an unknown keyword.", 2,
                               {{"keyword"}, {"parameters"}});
}

}  // namespace reblock::python
