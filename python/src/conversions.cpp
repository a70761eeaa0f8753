// SPDX-License-Identifier: BSD-3-Clause
#include "conversions.hpp"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "data_types.hpp"

namespace reblock::python {

namespace {

using detail::element_type;

constexpr const char* dtypes = "bool, integer or floating point of up to 64 bits";

bool is_native(const py::dtype& dtype) { return dtype.attr("isnative").cast<bool>(); }

/// NumPy knows bfloat16 and others only when ml_dtypes has been imported.
py::object dtype_by_name(py::handle name) {
  try {
    return py::dtype::from_args(py::reinterpret_borrow<py::object>(name));
  } catch (py::error_already_set& why) {
    if (!why.matches(PyExc_TypeError) && !why.matches(PyExc_ValueError) && !why.matches(PyExc_SyntaxError))
      throw;
  }
  if (!PyUnicode_Check(name.ptr())) return {};
  try {
    const py::object found = py::module_::import("ml_dtypes").attr(name);
    return py::dtype::from_args(found);
  } catch (py::error_already_set&) {
    return {};
  }
}

py::dtype to_result_dtype(py::handle value) {
  if (py::isinstance<data_type>(value)) return to_dtype(value.cast<data_type>());
  py::object found;
  const bool is_other =
      text(py::type::of(value).attr("__name__")) == "dtype";  // str(torch.float32) is "torch.float32"
  if (is_other) {
    const std::string whole = text(value);
    found = dtype_by_name(py::str(whole.substr(whole.rfind('.') + 1)));
  } else if (!is_int(value) && !PyFloat_Check(value.ptr())) {
    found = dtype_by_name(value);
  }
  if (!found) raise_type_error("dtype", "a dtype or the name of one", value);
  return found.cast<py::dtype>();
}

/// A float or an int of any size, or nothing for other objects. ValueError for an int that float64 does not hold.
std::optional<double> to_plain_number(py::handle value, const char* name) {
  if (PyFloat_Check(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());
  if (!PyLong_CheckExact(value.ptr())) return std::nullopt;
  const double number = PyLong_AsDouble(value.ptr());
  if (number != -1 || PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  throw py::value_error(std::string(name) + " must be in the range of float64, got " + describe(value));
}

/// The numbers of a list or a tuple, or nothing where it has other items than int and float.
std::optional<std::vector<double>> to_plain_numbers(py::handle value, const char* name) {
  if (!PyList_CheckExact(value.ptr()) && !PyTuple_CheckExact(value.ptr())) return std::nullopt;
  std::vector<double> numbers;
  for (const py::handle item : py::reinterpret_borrow<py::sequence>(value)) {
    const auto number = to_plain_number(item, name);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

/// The numbers of an array with one axis of double, as NumPy makes them. Nothing for other objects, which take longer.
std::optional<std::vector<double>> to_doubles(py::handle value) {
  const bool is_array = py::type::handle_of(value).ptr() ==
                        reinterpret_cast<PyObject*>(py::detail::npy_api::get().PyArray_Type_);
  if (!is_array || !py::isinstance<py::array_t<double>>(value)) return std::nullopt;
  const auto array = py::reinterpret_borrow<py::array>(value);
  if (array.ndim() != 1) return std::nullopt;
  std::vector<double> numbers(static_cast<std::size_t>(array.size()));
  const auto* place = static_cast<const std::byte*>(array.data());
  for (double& number : numbers) {
    std::memcpy(&number, place, sizeof(number));  // at any alignment
    place += array.strides(0);
  }
  return numbers;
}

/// As to_input, but for objects of Python that are no numbers, the error says what was `expected` in `whole`.
py::array to_array_of_numbers(py::handle value, const char* name, const char* expected, py::handle whole) {
  if (value.is_none() || PyDict_Check(value.ptr()) != 0) raise_type_error(name, expected, whole);
  if (PyList_Check(value.ptr()) == 0 && PyTuple_Check(value.ptr()) == 0) return to_input(value, name);
  try {
    return to_input(value, name);
  } catch (const py::type_error&) {
    raise_type_error(name, expected, whole);
  } catch (const py::error_already_set& why) {
    if (!why.matches(PyExc_ValueError)) throw;
    raise_type_error(name, expected, whole);
  }
}

/// Reads a number or numbers, which an argument is or has, into `result`.
void read_numbers(py::handle value, const char* name, const char* expected, py::handle whole,
                  factor_argument& result) {
  if (const auto number = to_plain_number(value, name)) {
    result.values = {*number};
    result.is_number = true;
    return;
  }
  auto plain = to_plain_numbers(value, name);
  if (!plain) plain = to_doubles(value);
  if (plain) {
    result.values = *std::move(plain);
    return;
  }
  if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr())) raise_type_error(name, expected, whole);
  const py::array array = to_array_of_numbers(value, name, expected, whole);
  const element_type type = element_type_of(array.dtype());
  if (!detail::is_convertible(type)) raise_type_error(name, expected, whole);
  if (array.ndim() > 1) {
    error why;
    why << name << " must be " << expected << ", got an array of shape " << array_shape(array);
    throw py::value_error(why.message());
  }
  const auto doubles = py::array_t < double, py::array::c_style | py::array::forcecast > ::ensure(array);
  if (!doubles) throw py::error_already_set();
  result.values.assign(doubles.data(), doubles.data() + doubles.size());
  result.is_number = array.ndim() == 0;
}

void check_count(const factor_argument& factor, const char* name, std::int64_t channels) {
  if (!factor.is_given || factor.is_number || static_cast<std::int64_t>(factor.values.size()) == channels)
    return;
  throw py::value_error(std::string(name) + " must be a number, or one for each of the " +
                        std::to_string(channels) + " channels, got " + std::to_string(factor.values.size()));
}

factor_argument to_factor(py::handle value, const char* name, factor_form form) {
  factor_argument result;
  if (value.is_none()) return result;
  result.is_given = true;
  const char* const expected = form == factor_form::channels
                                   ? "a number, or a sequence with one for each channel"
                                   : "a number, or {name of an axis: numbers}";
  py::handle numbers = value;
  const bool is_dict = PyDict_Check(value.ptr()) != 0;
  if (is_dict != (form == factor_form::axes) && is_dict) raise_type_error(name, expected, value);
  if (is_dict) {
    const auto items = py::reinterpret_borrow<py::dict>(value);
    if (items.size() != 1) {
      throw py::value_error(std::string(name) + " must have one axis, got " + std::to_string(items.size()));
    }
    for (const auto& [key, values] : items) {
      if (!PyUnicode_Check(key.ptr())) raise_type_error(name, expected, value);
      result.axis = py::reinterpret_borrow<py::object>(key);
      numbers = values;
    }
  }
  read_numbers(numbers, name, expected, value, result);
  if (!result.is_number && form == factor_form::axes && !is_dict) raise_type_error(name, expected, value);
  for (const double number : result.values) {
    if (std::isfinite(number)) continue;
    throw py::value_error(std::string(name) + " must be finite, got " + text(py::float_(number)));
  }
  return result;
}

}  // namespace

factor_arguments::factor_arguments(py::handle scale_argument, py::handle bias_argument, factor_form form)
    : scale(to_factor(scale_argument, "scale", form)), bias(to_factor(bias_argument, "bias", form)) {}

bool can_convert(const py::dtype& from, const py::dtype& to) {
  return detail::is_convertible(element_type_of(from)) && detail::is_convertible(element_type_of(to));
}

void factor_arguments::check_channels(std::int64_t channels) const {
  check_count(scale, "scale", channels);
  check_count(bias, "bias", channels);
}

conversion_argument::conversion_argument(py::handle dtype, const factor_arguments& factors,
                                         const py::array& input)
    : factors_(&factors), dtype_(input.dtype()), widest_(input.itemsize()) {
  const py::dtype given = input.dtype();
  if (!dtype.is_none()) dtype_ = to_result_dtype(dtype);
  converts_ = factors.scale.is_given || factors.bias.is_given || !dtype_.equal(given);
  if (!converts_) return;
  from_ = element_type_of(given);
  to_ = element_type_of(dtype_);
  if (!detail::is_convertible(from_)) {
    throw py::type_error("x must have a dtype that can be converted (" + std::string(dtypes) + "), got " +
                         text(given));
  }
  if (!detail::is_convertible(to_)) {
    throw py::type_error("dtype must be " + std::string(dtypes) + ", got " + text(dtype_));
  }
  swaps_source_ = !is_native(given);
  swaps_destination_ = !is_native(dtype_);
  widest_ = std::max<std::int64_t>(input.itemsize(), dtype_.itemsize());
}

detail::conversion_request conversion_argument::request(const detail::layout& moves, std::size_t scale_axis,
                                                        std::size_t bias_axis) const {
  detail::conversion_request request;
  request.moves.take(moves);
  request.from = from_;
  request.to = to_;
  request.swaps_source = swaps_source_;
  request.swaps_destination = swaps_destination_;
  const auto factor_of = [](const factor_argument& given, std::size_t axis) {
    if (given.values.empty()) return detail::conversion_factor{};
    return detail::conversion_factor{given.values.data(),
                                     given.values.size() == 1 ? detail::one_factor : axis};
  };
  request.scale = factor_of(factors_->scale, scale_axis);
  request.bias = factor_of(factors_->bias, bias_axis);
  return request;
}

}  // namespace reblock::python
