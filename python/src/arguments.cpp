// SPDX-License-Identifier: BSD-3-Clause
#include "arguments.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace reblock::python {

namespace {

/// A repr on one line of at most so many characters, however much the value holds.
std::string shorten(py::handle value) {
  constexpr int characters = 90;
  const py::object shortener = py::module_::import("reprlib").attr("Repr")();
  for (const char* limit : {"maxother", "maxstring", "maxlong"}) shortener.attr(limit) = characters;
  for (const char* limit : {"maxtuple", "maxlist"}) shortener.attr(limit) = max_rank + 1;
  const py::object shown = shortener.attr("repr")(value);
  const py::object line = py::str(" ").attr("join")(shown.attr("split")());
  if (py::len(line) <= characters) return py::str(line);
  return py::str(py::str("{:.{}}...").format(line, characters));
}

bool is_sequence(py::handle value) {
  return PySequence_Check(value.ptr()) != 0 && !PyUnicode_Check(value.ptr()) && !PyBytes_Check(value.ptr()) &&
         !PyByteArray_Check(value.ptr());
}

axis_values to_values(py::handle sequence, const char* name, const char* expected) {
  const auto items = py::reinterpret_steal<py::object>(PySequence_Tuple(sequence.ptr()));
  if (!items) {  // a 0-dimensional array, for one, claims to be a sequence
    PyErr_Clear();
    raise_type_error(name, expected, sequence);
  }
  axis_values values;
  for (const py::handle item : items) {
    if (!is_int(item)) raise_type_error(name, expected, sequence);
    values.push_back(to_int(item, name));
  }
  return values;
}

}  // namespace

std::string text(py::handle value) { return py::str(value); }

std::string utf8(py::handle str) {
  PyObject* bytes = PyUnicode_AsEncodedString(str.ptr(), "utf-8", "surrogatepass");
  if (bytes == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(bytes);
}

std::string describe(py::handle value) {
  std::string type = py::str(py::type::of(value).attr("__name__"));
  try {
    const py::object shape = py::getattr(value, "shape", py::none());
    if (py::isinstance<py::tuple>(shape) && py::len(shape) != 0) {
      const auto plain = py::reinterpret_steal<py::object>(PySequence_Tuple(shape.ptr()));
      return type + " of shape " + std::string(py::str(plain));
    }
    constexpr std::size_t short_bytes = 16;
    if ((PyBytes_Check(value.ptr()) || PyByteArray_Check(value.ptr())) && py::len(value) > short_bytes) {
      return type + " of length " + std::to_string(py::len(value));
    }
    return shorten(value) + " (" + type + ")";
  } catch (py::error_already_set& why) {
    if (!why.matches(PyExc_Exception)) throw;  // an interrupt, for one
    return type;                               // which has no repr, or an int of too many digits for one
  }
}

void raise_type_error(const char* name, const char* expected, py::handle value) {
  throw py::type_error(std::string(name) + " must be " + expected + ", got " + describe(value));
}

bool is_int(py::handle value) {
  if (PyLong_Check(value.ptr())) return !PyBool_Check(value.ptr());
  if (!PyIndex_Check(value.ptr())) return false;
  // Arrays have __index__ whatever they hold; only those with one integer answer it.
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) PyErr_Clear();
  return static_cast<bool>(index);
}

std::int64_t to_int(py::handle value, const char* name) {
  if (!is_int(value)) raise_type_error(name, "an int", value);
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) {
    throw py::value_error(std::string(name) + " must fit in 64 bits, got " + describe(value));
  }
  return number;
}

axis_values to_axis_values(py::handle value, const char* name) {
  constexpr const char* expected = "a sequence of ints";
  if (is_int(value) || !is_sequence(value)) raise_type_error(name, expected, value);
  return to_values(value, name, expected);
}

spatial_values to_spatial_values(py::handle value, const char* name) {
  constexpr const char* expected = "an int or a sequence of ints";
  if (is_int(value)) return to_int(value, name);
  if (!is_sequence(value)) raise_type_error(name, expected, value);
  return to_values(value, name, expected);
}

namespace {

/// What a string in other letters, or DirectML's name of an order, was to be.
std::string hint_for_order(py::handle value) {
  if (!PyUnicode_Check(value.ptr())) return "";
  const py::object written = value.attr("upper")();
  for (const auto& [name, order] :
       {std::pair("DEPTH_COLUMN_ROW", "DCR"), std::pair("COLUMN_ROW_DEPTH", "CRD")}) {
    if (written.equal(py::str(name)) || written.equal(py::str(order))) {
      return std::string(": did you mean \"") + order + "\"?";
    }
  }
  return "";
}

}  // namespace

depth_space_order to_order(py::handle value) {
  constexpr const char* expected = "\"DCR\", \"CRD\" or a DepthSpaceOrder";
  if (PyUnicode_Check(value.ptr())) {
    if (PyUnicode_CompareWithASCIIString(value.ptr(), "DCR") == 0) return depth_space_order::depth_column_row;
    if (PyUnicode_CompareWithASCIIString(value.ptr(), "CRD") == 0) return depth_space_order::column_row_depth;
  } else if (is_int(value)) {
    const std::int64_t number = to_int(value, "order");
    if (number == 0 || number == 1) return static_cast<depth_space_order>(number);
  } else {
    raise_type_error("order", expected, value);
  }
  throw py::value_error(std::string("order must be ") + expected + ", got " + describe(value) +
                        hint_for_order(value));
}

bool to_bool(py::handle value, const char* name) {
  if (PyBool_Check(value.ptr())) return value.is(py::bool_(true));
  if (std::string(py::str(py::type::of(value).attr("__name__"))) != "bool") {
    raise_type_error(name, "a bool", value);
  }
  return PyObject_IsTrue(value.ptr()) == 1;  // NumPy's
}

block_range to_blocks(py::handle value) {
  if (value.is_none()) return {};
  constexpr const char* expected =
      "None, a slice, (start, stop), or a sequence with one of these for each spatial axis";
  const auto is_bound = [](py::handle item) { return item.is_none() || is_int(item); };
  const auto start_of = [](py::handle item) { return item.is_none() ? 0 : to_int(item, "blocks"); };
  const auto stop_of = [](py::handle item) {
    return item.is_none() ? block_range::end : to_int(item, "blocks");
  };
  // Adds the range of one axis; returns whether the item is one.
  const auto add = [&](py::handle item, axis_values& starts, axis_values& stops) {
    py::object start = py::none();
    py::object stop = py::none();
    if (PySlice_Check(item.ptr())) {
      start = item.attr("start");
      stop = item.attr("stop");
      const py::object step = item.attr("step");
      if (!is_bound(start) || !is_bound(stop) || !is_bound(step)) return false;
      if (!step.is_none() && to_int(step, "blocks") != 1) {
        throw py::value_error("blocks must have slices of step 1, got " + describe(item));
      }
    } else if (!item.is_none()) {
      if (is_int(item) || !is_sequence(item)) return false;
      const auto pair = py::reinterpret_steal<py::object>(PySequence_Tuple(item.ptr()));
      if (!pair || PyTuple_GET_SIZE(pair.ptr()) != 2) {
        PyErr_Clear();
        return false;
      }
      start = pair[py::int_(0)];
      stop = pair[py::int_(1)];
      if (!is_bound(start) || !is_bound(stop)) return false;
    }
    starts.push_back(start_of(start));
    stops.push_back(stop_of(stop));
    return true;
  };
  axis_values starts;
  axis_values stops;
  if (add(value, starts, stops)) return {starts[0], stops[0]};
  const bool several = !is_int(value) && is_sequence(value);
  const auto items = py::reinterpret_steal<py::object>(several ? PySequence_Tuple(value.ptr()) : nullptr);
  if (!items) {
    PyErr_Clear();
    raise_type_error("blocks", expected, value);
  }
  for (const py::handle item : items) {
    if (!add(item, starts, stops)) raise_type_error("blocks", expected, value);
  }
  return {starts, stops};
}

window to_window(py::handle window_sizes, py::handle strides, py::handle dilations, py::handle start_padding,
                 py::handle end_padding) {
  return {.sizes = to_spatial_values(window_sizes, "window_sizes"),
          .strides = to_spatial_values(strides, "strides"),
          .dilations = to_spatial_values(dilations, "dilations"),
          .start_padding = to_spatial_values(start_padding, "start_padding"),
          .end_padding = to_spatial_values(end_padding, "end_padding")};
}

py::tuple to_tuple(const axis_values& values) {
  py::tuple result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = py::int_(values[i]);
  return result;
}

py::object to_object(const spatial_values& values) {
  if (values.uniform()) return py::int_(values.values()[0]);
  return to_tuple(values.values());
}

}  // namespace reblock::python
