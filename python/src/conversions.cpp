// SPDX-License-Identifier: BSD-3-Clause
#include "conversions.hpp"

#include <cmath>
#include <string>

#include "arguments.hpp"
#include "data_types.hpp"

namespace reblock::python {

namespace {

using detail::element_type;

constexpr const char* dtypes = "bool, integer or floating point of up to 64 bits";

std::string text(py::handle value) { return py::str(value); }

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

std::vector<double> to_numbers(py::handle value, const char* name, const char* expected) {
  if (PyUnicode_Check(value.ptr()) || PyBytes_Check(value.ptr())) raise_type_error(name, expected, value);
  const py::array array = to_input(value, name);
  const element_type type = element_type_of(array.dtype());
  if (!detail::is_convertible(type)) raise_type_error(name, expected, value);
  if (array.ndim() > 1) {
    error why;
    why << name << " must be " << expected << ", got an array of shape " << array_shape(array);
    throw py::value_error(why.message());
  }
  const auto doubles = py::array_t < double, py::array::c_style | py::array::forcecast > ::ensure(array);
  if (!doubles) throw py::error_already_set();
  return {doubles.data(), doubles.data() + doubles.size()};
}

void check_count(const factor_argument& factor, const char* name, std::int64_t channels) {
  if (!factor.is_given || factor.is_number || static_cast<std::int64_t>(factor.values.size()) == channels)
    return;
  throw py::value_error(std::string(name) + " must be a number, or one for each of the " +
                        std::to_string(channels) + " channels, got " + std::to_string(factor.values.size()));
}

}  // namespace

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
  if (PyFloat_Check(numbers.ptr())) {
    result.values = {PyFloat_AS_DOUBLE(numbers.ptr())};
    result.is_number = true;
  } else {
    result.values = to_numbers(numbers, name, expected);
    result.is_number = !py::hasattr(numbers, "__len__") ||
                       (py::hasattr(numbers, "ndim") && numbers.attr("ndim").cast<int>() == 0);
  }
  if (!result.is_number && form == factor_form::axes && !is_dict) raise_type_error(name, expected, value);
  for (const double number : result.values) {
    if (std::isfinite(number)) continue;
    throw py::value_error(std::string(name) + " must be finite, got " + text(py::float_(number)));
  }
  return result;
}

conversion_argument::conversion_argument(py::handle dtype, py::handle scale, py::handle bias,
                                         const py::array& input, factor_form form)
    : dtype_(input.dtype()), widest_(input.itemsize()) {
  if (dtype.is_none() && scale.is_none() && bias.is_none()) return;
  const py::dtype given = input.dtype();
  if (!dtype.is_none()) dtype_ = to_result_dtype(dtype);
  scale_ = to_factor(scale, "scale", form);
  bias_ = to_factor(bias, "bias", form);
  converts_ = !scale.is_none() || !bias.is_none() || !dtype_.equal(given);
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

void conversion_argument::check_channels(std::int64_t channels) const {
  check_count(scale_, "scale", channels);
  check_count(bias_, "bias", channels);
}

void conversion_argument::run(const detail::layout& moves, std::size_t scale_axis, std::size_t bias_axis,
                              const void* source, void* destination, pool_executor executor,
                              const std::byte* outside) const {
  detail::conversion_request request;
  request.moves.take(moves);
  request.from = from_;
  request.to = to_;
  request.swaps_source = swaps_source_;
  request.swaps_destination = swaps_destination_;
  if (outside != nullptr) std::copy_n(outside, dtype_.itemsize(), request.outside.begin());
  const auto factor_of = [](const factor_argument& given, std::size_t axis) {
    if (given.values.empty()) return detail::conversion_factor{};
    return detail::conversion_factor{given.values.data(),
                                     given.values.size() == 1 ? detail::one_factor : axis};
  };
  request.scale = factor_of(scale_, scale_axis);
  request.bias = factor_of(bias_, bias_axis);
  detail::held_executor<pool_executor> held(executor);
  const detail::conversion_call call{request, source, destination, held.reference()};
  engine::convert(&call);
  held.rethrow();
}

void conversion_argument::run(const detail::layout& moves, std::int64_t itemsize, const operands& where,
                              pool_executor executor, const std::byte* outside) const {
  if (!converts_) {
    detail::operation(moves, itemsize).run(where.input, where.output, executor);
    return;
  }
  run(moves, detail::channels_of_moves, detail::channels_of_moves, where.input, where.output, executor,
      outside);
}

}  // namespace reblock::python
