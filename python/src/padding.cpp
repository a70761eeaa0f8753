// SPDX-License-Identifier: BSD-3-Clause
#include "padding.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "arguments.hpp"
#include "gate.hpp"

namespace reblock::python {

namespace {

struct mode_name {
  const char* name;
  padding_mode mode;
};
constexpr mode_name mode_names[] = {{"constant", padding_mode::constant},
                                    {"edge", padding_mode::edge},
                                    {"reflect", padding_mode::reflection},
                                    {"symmetric", padding_mode::symmetric},
                                    {"wrap", padding_mode::wrap}};

/// What others call a mode, in lower case: SciPy's "reflect" is another one, so it has no entry.
constexpr struct {
  const char* theirs;
  const char* ours;
} other_names[] = {{"circular", "wrap"},    {"grid-wrap", "wrap"},     {"mirror", "reflect"},
                   {"nearest", "edge"},     {"reflection", "reflect"}, {"replicate", "edge"},
                   {"replication", "edge"}, {"zeros", "constant"}};

std::string hint_for_mode(py::handle value) {
  if (!PyUnicode_Check(value.ptr())) return "";
  const py::object written = value.attr("lower")();
  const auto suggest = [](const char* ours) { return std::string(": did you mean \"") + ours + "\"?"; };
  for (const mode_name& known : mode_names) {
    if (written.equal(py::str(known.name))) return suggest(known.name);
  }
  for (const auto& [theirs, ours] : other_names) {
    if (written.equal(py::str(theirs))) return suggest(ours);
  }
  return "";
}

[[noreturn]] void raise_inexact(py::handle value, const py::dtype& dtype) {
  throw py::value_error("padding_value must be a number that dtype " + std::string(py::str(dtype)) +
                        " holds exactly, got " + describe(value));
}

/// As a number of Python, or as it is.
py::object plain(py::handle value) {
  const py::object item = py::getattr(value, "item", py::none());
  return item.is_none() ? py::reinterpret_borrow<py::object>(value) : item();
}

/// Whether both numbers are equal, or both are NaN.
bool are_same(const py::object& a, const py::object& b) {
  const auto is_nan = [](const py::object& number) {  // an object may be taken to equal itself
    const auto differs =
        py::reinterpret_steal<py::object>(PyObject_RichCompare(number.ptr(), number.ptr(), Py_NE));
    if (!differs) throw py::error_already_set();
    return PyObject_IsTrue(differs.ptr()) == 1;
  };
  return a.equal(b) || (is_nan(a) && is_nan(b));
}

}  // namespace

padding_mode to_padding_mode(py::handle value) {
  constexpr const char* expected =
      "\"constant\", \"edge\", \"reflect\", \"symmetric\", \"wrap\" or a PaddingMode";
  if (PyUnicode_Check(value.ptr())) {
    for (const mode_name& known : mode_names) {
      if (PyUnicode_CompareWithASCIIString(value.ptr(), known.name) == 0) return known.mode;
    }
  } else if (is_int(value)) {
    const std::int64_t number = to_int(value, "padding_mode");
    if (number >= 0 && number <= 4) return static_cast<padding_mode>(number);
  } else {
    raise_type_error("padding_mode", expected, value);
  }
  throw py::value_error(std::string("padding_mode must be ") + expected + ", got " + describe(value) +
                        hint_for_mode(value));
}

padding_element to_padding_value(py::handle value, const py::dtype& dtype) {
  if (PyLong_CheckExact(value.ptr()) && value.equal(py::int_(0))) return {};
  refuse_mask(value, "padding_value");
  if (PyNumber_Check(value.ptr()) == 0) raise_type_error("padding_value", "a number", value);
  const py::module_ numpy = py::module_::import("numpy");
  const py::object given = numpy.attr("asarray")(value);
  const std::string kind = py::str(given.attr("dtype").attr("kind"));
  if (given.attr("ndim").cast<int>() != 0 || kind == "U" || kind == "S" || kind == "M" || kind == "m") {
    raise_type_error("padding_value", "a number", value);
  }
  const bool has_numbers = std::strchr("biufc", dtype.kind()) != nullptr || dtype.num() >= 256;
  const auto size = static_cast<std::size_t>(dtype.itemsize());
  if (!has_numbers || size > detail::most_padding_bytes) {
    throw py::type_error("padding_value must be 0 for dtype " + std::string(py::str(dtype)) + ", got " +
                         describe(value));
  }
  padding_element element;
  try {
    const py::dict quiet(py::arg("all") = "ignore");
    const py::object ignoring = numpy.attr("errstate")(**quiet);
    ignoring.attr("__enter__")();
    py::object held;
    try {
      held = numpy.attr("array")(value, dtype);
    } catch (...) {
      ignoring.attr("__exit__")(py::none(), py::none(), py::none());
      throw;
    }
    ignoring.attr("__exit__")(py::none(), py::none(), py::none());
    // an element of ml_dtypes compares as its own type: not before it is a number of Python
    const py::object number =
        dtype.num() < 256 ? plain(held) : py::reinterpret_steal<py::object>(PyNumber_Float(held.ptr()));
    if (!number) throw py::error_already_set();
    if (!are_same(number, plain(value))) raise_inexact(value, dtype);
    const std::string bytes = py::bytes(held.attr("tobytes")());
    std::memcpy(element.bytes.data(), bytes.data(), bytes.size());
  } catch (py::error_already_set& why) {
    if (!why.matches(PyExc_TypeError) && !why.matches(PyExc_ValueError) &&
        !why.matches(PyExc_OverflowError)) {
      throw;
    }
    raise_inexact(value, dtype);
  }
  element.is_zero =
      std::all_of(element.bytes.begin(), element.bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  return element;
}

}  // namespace reblock::python
