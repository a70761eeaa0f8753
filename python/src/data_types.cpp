// SPDX-License-Identifier: BSD-3-Clause
#include "data_types.hpp"

#include <pybind11/native_enum.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "arguments.hpp"

namespace reblock::python {

namespace {

constexpr const char* expected = "a DataType, a dtype or the name of one";

/// All of them, by their numbers.
constexpr auto last_data_type = static_cast<std::uint32_t>(data_type::int4);

std::optional<data_type> by_directml_number(std::int64_t number) {
  if (number < 0 || number > last_data_type) return std::nullopt;
  return static_cast<data_type>(number);
}

/// The numbers of onnx.TensorProto.DataType, which ONNX promises to keep.
std::optional<data_type> by_onnx_number(std::int64_t number) {
  switch (number) {
    case 1: return data_type::float32;
    case 2: return data_type::uint8;
    case 3: return data_type::int8;
    case 4: return data_type::uint16;
    case 5: return data_type::int16;
    case 6: return data_type::int32;
    case 7: return data_type::int64;
    case 10: return data_type::float16;
    case 11: return data_type::float64;
    case 12: return data_type::uint32;
    case 13: return data_type::uint64;
    case 21: return data_type::uint4;
    case 22: return data_type::int4;
    default: return std::nullopt;
  }
}

/// DirectML's names are NumPy's in capitals.
std::optional<data_type> by_name(std::string_view text) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; };
  for (std::uint32_t number = 0; number <= last_data_type; ++number) {
    const std::string_view known = name(static_cast<data_type>(number));
    bool equal = known.size() == text.size();
    for (std::size_t i = 0; equal && i < text.size(); ++i) equal = upper(text[i]) == known[i];
    if (equal) return static_cast<data_type>(number);
  }
  return std::nullopt;
}

/// What NumPy takes for a dtype, or null.
py::object dtype_like(py::handle value) {
  const py::object dtype = py::module_::import("numpy").attr("dtype");
  if (PyUnicode_Check(value.ptr()) || PyType_Check(value.ptr())) {
    try {
      return dtype(value);
    } catch (py::error_already_set& why) {
      if (!why.matches(PyExc_TypeError) && !why.matches(PyExc_ValueError)) throw;
      return {};
    }
  }
  return py::isinstance(value, dtype) ? py::reinterpret_borrow<py::object>(value) : py::object();
}

[[noreturn]] void raise_number(py::handle value) {
  const std::int64_t number = to_int(value, "data_type");
  std::string message = std::string("data_type must be ") + expected + ", got " + describe(value);
  const auto directml = by_directml_number(number);
  const auto onnx = by_onnx_number(number);
  const auto write = [&](const char* function, const char* library, data_type type) {
    message += std::string(function) + "(" + std::to_string(number) + ") is " + library + " " + name(type);
  };
  if (directml) write(": DataType", "DirectML's", *directml);
  if (onnx) write(directml ? ", DataType.from_onnx" : ": DataType.from_onnx", "ONNX's", *onnx);
  throw py::type_error(message);
}

}  // namespace

data_type to_data_type(py::handle value) {
  if (py::isinstance<data_type>(value)) return value.cast<data_type>();
  if (is_int(value)) raise_number(value);
  const bool is_ascii = PyUnicode_Check(value.ptr()) && value.attr("isascii")().cast<bool>();
  if (is_ascii) {
    if (const auto named = by_name(text(value))) return *named;
  }
  if (const py::object dtype = dtype_like(value)) {
    const bool native = dtype.attr("isnative").cast<bool>();
    if (const auto named = by_name(text(dtype.attr("name"))); named && native) return *named;
    throw py::type_error("data_type must be one that DirectML has, in native byte order, got dtype " +
                         text(dtype));
  }
  // PyTorch's dtypes, for one: str(torch.float32) is "torch.float32".
  if (text(py::type::of(value).attr("__name__")) == "dtype") {
    const std::string whole = text(value);
    if (const auto named = by_name(whole.substr(whole.rfind('.') + 1))) return *named;
    throw py::type_error("data_type must be one that DirectML has, got " + whole);
  }
  if (!PyUnicode_Check(value.ptr())) raise_type_error("data_type", expected, value);
  throw py::value_error(std::string("data_type must be ") + expected + ", got " + describe(value));
}

py::object from_onnx(py::handle number) {
  const auto type = by_onnx_number(to_int(number, "number"));
  if (type) return py::cast(*type);
  throw py::value_error(
      "number must be that of ONNX's FLOAT (1), UINT8 to INT64 (2 to 7), FLOAT16 to UINT64 (10 to 13), UINT4 "
      "(21) "
      "or INT4 (22), got " +
      describe(number));
}

py::dtype to_dtype(data_type type) {
  switch (type) {
    case data_type::float64: return py::dtype::of<double>();
    case data_type::float32: return py::dtype::of<float>();
    case data_type::float16: return py::dtype("float16");
    case data_type::uint64: return py::dtype::of<std::uint64_t>();
    case data_type::uint32: return py::dtype::of<std::uint32_t>();
    case data_type::uint16: return py::dtype::of<std::uint16_t>();
    case data_type::uint8: return py::dtype::of<std::uint8_t>();
    case data_type::int64: return py::dtype::of<std::int64_t>();
    case data_type::int32: return py::dtype::of<std::int32_t>();
    case data_type::int16: return py::dtype::of<std::int16_t>();
    case data_type::int8: return py::dtype::of<std::int8_t>();
    default: throw py::value_error(std::string("no dtype for ") + name(type));
  }
}

}  // namespace reblock::python
