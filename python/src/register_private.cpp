// SPDX-License-Identifier: BSD-3-Clause
//
// What the Python part of the package shares with the functions of the module: how arrays, scale and bias are read,
// how outputs are checked, and hints.

#include <string>

#include "arguments.hpp"
#include "conversions.hpp"
#include "function.hpp"
#include "gate.hpp"
#include "register.hpp"
#include "words.hpp"

namespace reblock::python {

namespace {

py::object read_array(py::handle x, py::handle name) {
  // Subclasses may have functions and shapes of their own, which are not asked.
  return py::module_::import("numpy").attr("asarray")(to_input(x, py::cast<std::string>(name).c_str()));
}

py::object check_output(py::handle x, py::handle name) {
  const std::string called = py::cast<std::string>(name);
  const py::array output = to_writeable(x, called.c_str());
  check_overlap(output, placement_of(output), called.c_str());
  return py::none();
}

py::object give_hint(py::handle keyword, py::handle parameters) {
  const py::tuple names(py::reinterpret_borrow<py::object>(parameters));
  return py::str(hint(keyword, items(names.ptr())));
}

/// None, or the axis that has a name and a number or numbers.
py::object to_python(const factor_argument& factor) {
  if (!factor.is_given) return py::none();
  const py::object axis = factor.axis ? factor.axis : py::none();
  if (factor.is_number) return py::make_tuple(axis, factor.values.front());
  py::list numbers;
  for (const double number : factor.values) numbers.append(number);
  return py::make_tuple(axis, py::tuple(numbers));
}

py::object read_factors(py::handle scale, py::handle bias, py::handle channels) {
  const bool by_axis = channels.is_none();
  const factor_arguments factors(scale, bias, by_axis ? factor_form::axes : factor_form::channels);
  if (!by_axis) factors.check_channels(to_int(channels, "channels"));
  return py::make_tuple(to_python(factors.scale), to_python(factors.bias));
}

}  // namespace

void register_private(py::module_& m) {
  function<&read_array>::define(m, "read_array", "View an array without copying, as every function does.", 2,
                                {{"x"}, {"name"}});
  function<&check_output>::define(
      m, "check_output",
      "Raise an error for an array of up to 8 axes that cannot be written or overlaps itself.", 2,
      {{"x"}, {"name"}});
  function<&read_factors>::define(
      m, "read_factors", "Read scale and bias, of so many channels or, for None, of the axes of a pattern.",
      3, {{"scale"}, {"bias"}, {"channels"}});
  function<&give_hint>::define(m, "hint", "What to add to an error about an unknown keyword.", 2,
                               {{"keyword"}, {"parameters"}});
}

}  // namespace reblock::python
