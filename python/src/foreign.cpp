// SPDX-License-Identifier: BSD-3-Clause
#include "foreign.hpp"

#include <string>

namespace reblock::python {

namespace {

constexpr int on_the_cpu = 1;  // DLPack's kDLCPU

/// The module that has the functions of the library of `x`, or None.
py::object library_of(py::handle x) {
  if (py::hasattr(x, "__array_namespace__")) return x.attr("__array_namespace__")();
  const py::object modules = py::module_::import("sys").attr("modules");
  for (const py::handle type : py::type::of(x).attr("__mro__")) {
    const py::object package = type.attr("__module__").attr("partition")(".")[py::int_(0)];
    py::object module = modules.attr("get")(package);
    if (py::hasattr(module, "from_dlpack")) return module;
  }
  return py::none();
}

std::string describe_type(py::handle x) {
  const py::type type = py::type::of(x);
  return std::string(py::str("{}.{}").format(type.attr("__module__"), type.attr("__qualname__")));
}

[[noreturn]] void raise_unviewable(py::handle x, const char* name, py::error_already_set& why) {
  std::string message = std::string(name) + " must be an array that NumPy can view, got a " +
                        describe_type(x) + " (" + std::string(py::str(why.value())) + ")";
  const py::object library = library_of(x);
  if (std::string(py::str(py::getattr(library, "__name__", py::none()))) == "torch") {
    message += "; reblock.torch takes tensors of any dtype, with gradients";
  }
  py::raise_from(why, PyExc_TypeError, message.c_str());
  throw py::error_already_set();
}

/// Views it by `function` of NumPy.
py::array view_by(const char* function, py::handle x, const char* name) {
  try {
    const py::object device = x.attr("__dlpack_device__")();
    if (device[py::int_(0)].cast<int>() == on_the_cpu) {
      return py::module_::import("numpy").attr(function)(x);
    }
  } catch (py::error_already_set& why) {
    if (!why.matches(PyExc_Exception)) throw;  // an interrupt, for one
    raise_unviewable(x, name, why);
  }
  throw py::type_error(std::string(name) + " must lie on the CPU, got a " + describe_type(x) +
                       " on another device");
}

}  // namespace

bool is_foreign(py::handle x) { return py::hasattr(py::type::of(x), "__dlpack__"); }

py::array view_foreign(py::handle x, const char* name) {
  // Libraries refuse by __array__ what their bytes alone would not tell, such as PyTorch's tensors that are
  // negated only in name, and JAX gives dtypes by it that NumPy cannot take by DLPack.
  return view_by(py::hasattr(x, "__array__") ? "asarray" : "from_dlpack", x, name);
}

py::array view_foreign_output(py::handle out) {
  py::array view = view_foreign(out, "out");
  if (view.size() == 0 || !view.writeable()) return view;
  // __array__ may copy, and DLPack of old says of no memory that it may be written: each knows what the
  // other does not.
  if (view_by("from_dlpack", out, "out").data() != view.data()) {
    throw py::type_error("out must be an array that NumPy can view without copying, got a " +
                         describe_type(out));
  }
  return view;
}

py::object give_back(py::handle x, const py::array& result) {
  const py::object library = library_of(x);
  if (!py::hasattr(library, "from_dlpack")) return result;
  // NumPy exports no dtypes but its own.
  const bool exportable = result.dtype().attr("isbuiltin").cast<int>() == 1;
  return library.attr(exportable ? "from_dlpack" : "asarray")(result);
}

}  // namespace reblock::python
