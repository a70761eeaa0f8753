// SPDX-License-Identifier: BSD-3-Clause
#include "gate.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

#include "arguments.hpp"
#include "foreign.hpp"

namespace reblock::python {

namespace {

constexpr std::uint64_t holds_references = 0x01;  // NPY_ITEM_REFCOUNT
constexpr int builtin_types = 24;                 // NPY_NTYPES_LEGACY: numbers from here on are others' types

template <class Values = axis_values>
Values copy_values(const py::ssize_t* values, std::size_t count) {
  Values result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(values[i]);
  return result;
}

py::array view(py::handle x, const char* name) {
  if (py::isinstance<py::array>(x)) {
    refuse_mask(x, name);
    return py::reinterpret_borrow<py::array>(x);
  }
  if (is_foreign(x)) return view_foreign(x, name);
  refuse_what_would_be_lost(x, name);
  try {
    return py::array(py::reinterpret_borrow<py::object>(x));
  } catch (py::error_already_set& why) {
    if (!why.matches(PyExc_ValueError)) throw;
    const std::string message = std::string(name) + " must be an array or nested sequences of numbers, got " +
                                describe_type(x) + " (" + first_line(why) + ")";
    py::raise_from(why, PyExc_ValueError, message.c_str());
    throw py::error_already_set();
  }
}

detail::element_type floating_type(py::ssize_t size) {
  using enum detail::element_type;
  if (size == 2) return detail::element_type::float16;
  if (size == 4) return float32;
  if (size == 8) return float64;
  return size == sizeof(long double) ? long_double : none;
}

py::array new_array(const py::dtype& dtype, const array_shape& shape) {
  const auto& numpy = py::detail::npy_api::get();
  PyObject* array = numpy.PyArray_NewFromDescr_(numpy.PyArray_Type_, py::dtype(dtype).release().ptr(),
                                                static_cast<int>(shape.size()), shape.begin(), nullptr,
                                                nullptr, 0, nullptr);
  if (array == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::array>(array);
}

/// The addresses from an array's first byte to the one behind its last byte. Those of an empty array have no meaning.
detail::index_range bytes_of(const py::array& array) {
  detail::index_range bytes{address_of(array), address_of(array) + array.itemsize()};
  const auto* const axes = py::detail::array_proxy(array.ptr());
  for (int i = 0; i < axes->nd; ++i) {
    const std::int64_t reach = (axes->dimensions[i] - 1) * axes->strides[i];
    (reach < 0 ? bytes.begin : bytes.end) += reach;
  }
  return bytes;
}

}  // namespace

void refuse_mask(py::handle x, const char* name) {
  const auto type = py::type::of(x);
  const auto ndarray = py::handle(reinterpret_cast<PyObject*>(py::detail::npy_api::get().PyArray_Type_));
  if (type.is(ndarray)) return;
  const py::object ma = py::module_::import("sys").attr("modules").attr("get")("numpy.ma");
  if (ma.is_none() || !py::isinstance(x, ma.attr("MaskedArray"))) return;
  throw py::type_error(
      std::string(name) +
      " must not be a masked array: pass its .filled(value), or its .data and its mask apart");
}

py::array to_input(py::handle x, const char* name) {
  py::array array = view(x, name);
  if ((array.dtype().flags() & holds_references) == 0) return array;
  if (py::isinstance<py::array>(x)) {
    throw py::type_error(std::string(name) + " must have a dtype without Python objects, got " +
                         text(array.dtype()));
  }
  throw py::type_error(std::string(name) + " must be an array or nested sequences of numbers, got " +
                       describe_type(x) + ", of which NumPy makes an array of dtype " + text(array.dtype()));
}

axis_values extents_of(const py::array& array) {
  return copy_values(array.shape(), static_cast<std::size_t>(array.ndim()));
}

axis_values strides_of(const py::array& array) {
  return copy_values(array.strides(), static_cast<std::size_t>(array.ndim()));
}

std::int64_t address_of(const py::array& array) {
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(array.data()));
}

detail::placement placement_of(const py::array& array) {
  return {address_of(array), extents_of(array), strides_of(array), array.itemsize()};
}

bool is_c_contiguous(const py::array& array) { return (array.flags() & py::array::c_style) != 0; }

bool lie_apart(const py::array& a, const py::array& b) {
  const detail::index_range of_a = bytes_of(a);
  const detail::index_range of_b = bytes_of(b);
  return of_a.end <= of_b.begin || of_b.end <= of_a.begin;
}

error& operator<<(error& why, const array_shape& shape) {
  return why << copy_values<view_values>(shape.begin(), shape.size());
}

py::array to_writeable(py::handle x, const char* name) {
  const bool foreign = !py::isinstance<py::array>(x);
  if (foreign && !is_foreign(x)) {
    throw py::type_error(std::string(name) + " must be a numpy.ndarray or have __dlpack__, got " +
                         text(py::type::of(x).attr("__name__")));
  }
  if (!foreign) refuse_mask(x, name);
  auto array = foreign ? view_foreign_output(x, name) : py::reinterpret_borrow<py::array>(x);
  if (!array.writeable())
    throw py::value_error(std::string(name) + " must be writeable, got a read-only array");
  return array;
}

py::array to_output(py::handle out, const py::dtype& dtype, const array_shape& shape) {
  if (out.is_none()) return new_array(dtype, shape);
  auto array = to_writeable(out, "out");
  if (!array.dtype().equal(dtype)) {
    throw py::type_error("out must have dtype " + text(dtype) + ", got " + text(array.dtype()));
  }
  const array_shape got(array);
  if (!std::equal(got.begin(), got.end(), shape.begin(), shape.end())) {
    error why;
    why << "out must have shape " << shape << ", got " << got;
    throw py::value_error(why.message());
  }
  return array;
}

void check_overlap(const py::array& array, const detail::placement& where, const char* name) {
  const detail::overlap own = detail::overlaps_itself(where.extents, where.strides, where.element_size);
  if (own == detail::overlap::none) return;
  error why;
  why << name << " must not overlap itself, got shape " << array_shape(array) << " with strides (in bytes) "
      << copy_values<view_values>(array.strides(), static_cast<std::size_t>(array.ndim()))
      << detail::doubt(own);
  throw py::value_error(why.message());
}

void check_result(py::handle x, const py::array& input, py::handle out, const py::array& output) {
  if (!out.is_none() || input.is(x) || output.dtype().equal(input.dtype())) return;
  if (is_foreign(x)) check_library_has(x, output.dtype());
}

py::object to_result(py::handle x, const py::array& input, py::handle out, const py::array& output) {
  if (!out.is_none()) return py::reinterpret_borrow<py::object>(out);
  if (!input.is(x) && is_foreign(x)) return give_back(x, output);
  return output;
}

checked_arrays::checked_arrays(const py::array& input, py::handle out, const py::dtype& dtype,
                               const axis_values& output_extents)
    : source(input), output(to_output(out, dtype, array_shape(output_extents))), is_new(out.is_none()) {
  if (is_new) return;
  if (!is_c_contiguous(output)) check_overlap(output, placement_of(output), "out");
  source = apart_from(input, output);
}

void provide_pages(void* begin, py::ssize_t size) noexcept {
  // NumPy asks for huge pages from 4 MiB on. Linux clears one towards the byte that was touched first, and
  // is faster upwards than downwards: so the last byte of each is touched before the others are.
  constexpr std::uintptr_t huge_page = std::uintptr_t{2} * 1024 * 1024;
  constexpr py::ssize_t least = 4 * 1024 * 1024;
  if (size < least) return;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t end = first + static_cast<std::uintptr_t>(size);
  for (std::uintptr_t next = (first / huge_page + 1) * huge_page; next <= end; next += huge_page) {
    static_cast<volatile char*>(begin)[next - 1 - first] = 0;
  }
}

py::array apart_from(const py::array& input, const py::array& output) {
  if (lie_apart(input, output)) return input;
  if (detail::share_memory(placement_of(input), placement_of(output)) == detail::overlap::none) return input;
  // Not by NumPy, which leaves the padding inside of structured elements behind.
  py::array copy = new_array(input.dtype(), array_shape(input));
  detail::layout moves;
  for (py::ssize_t i = 0; i < input.ndim(); ++i) {
    moves.add({input.shape(i), input.strides(i), copy.strides(i)});
  }
  serial_executor executor;
  detail::operation(detail::move_request{moves, input.itemsize()})
      .run(input.data(), copy.mutable_data(), executor);
  return copy;
}

detail::summation summation_of(const py::dtype& dtype, const char* name) {
  const auto size = static_cast<std::size_t>(dtype.itemsize());
  const bool builtin = dtype.num() < builtin_types;
  if (dtype.attr("isnative").cast<bool>()) {
    switch (builtin ? dtype.kind() : ' ') {
      case 'b': return detail::summation_of<bool>();
      case 'i':
      case 'u':
        if (size == 1) return detail::summation_of<std::uint8_t>();
        if (size == 2) return detail::summation_of<std::uint16_t>();
        if (size == 4) return detail::summation_of<std::uint32_t>();
        if (size == 8) return detail::summation_of<std::uint64_t>();
        break;
      case 'f':
        if (size == 2) return detail::summation_of<float16>();
        if (size == 4) return detail::summation_of<float>();
        if (size == 8) return detail::summation_of<double>();
        if (size == sizeof(long double)) return detail::summation_of<long double>();
        break;
      case 'c':
        if (size == 8) return detail::summation_of<std::complex<float>>();
        if (size == 16) return detail::summation_of<std::complex<double>>();
        if (size == sizeof(std::complex<long double>)) {
          return detail::summation_of<std::complex<long double>>();
        }
        break;
      default:
        // NumPy has no bfloat16 of its own; ml_dtypes' is the one that arrays have.
        if (!builtin && size == 2 && text(dtype.attr("name")) == "bfloat16") {
          return detail::summation_of<bfloat16>();
        }
        break;
    }
  }
  throw py::type_error(std::string(name) +
                       " must have a dtype that can be summed (bool, integer, floating point or complex, in "
                       "native byte order), got " +
                       text(dtype));
}

detail::element_type element_type_of(const py::dtype& dtype) {
  using enum detail::element_type;
  const py::ssize_t size = dtype.itemsize();
  switch (dtype.kind()) {
    case 'b': return boolean;
    case 'u': return size == 1 ? uint8 : size == 2 ? uint16 : size == 4 ? uint32 : size == 8 ? uint64 : none;
    case 'i': return size == 1 ? int8 : size == 2 ? int16 : size == 4 ? int32 : size == 8 ? int64 : none;
    default: break;
  }
  // NumPy has no bfloat16 of its own; ml_dtypes' is the one that arrays have.
  const bool builtin = dtype.num() < builtin_types;
  if (!builtin && size == 2 && text(dtype.attr("name")) == "bfloat16") return detail::element_type::bfloat16;
  return dtype.kind() == 'f' ? floating_type(size) : none;
}

detail::element_format format_of(const py::dtype& dtype, const char* name) {
  const detail::summation sum = summation_of(dtype, name);
  return {sum.is_pair ? floating_type(dtype.itemsize() / 2) : element_type_of(dtype), sum.is_pair,
          sum.element_size};
}

}  // namespace reblock::python
