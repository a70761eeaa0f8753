// SPDX-License-Identifier: BSD-3-Clause
#include "foreign.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "gate.hpp"

namespace reblock::python {

namespace {

constexpr int on_the_cpu = 1;  // DLPack's kDLCPU

/// The first value that `find` gives for a package that the type of `x` or a base of it comes from, or None.
template <class Find>
py::object find_package(py::handle x, Find&& find) {
  for (const py::handle type : py::type::of(x).attr("__mro__")) {
    const py::object package = type.attr("__module__").attr("partition")(".")[py::int_(0)];
    if (py::object found = find(package); !found.is_none()) return found;
  }
  return py::none();
}

/// Whether the type of `x` or a base of it comes from this package.
bool is_of(py::handle x, const char* name) {
  return !find_package(x, [&](const py::object& package) -> py::object {
            return package.equal(py::str(name)) ? package : py::none();
          }).is_none();
}

/// The module that has the functions of the library of `x`, or None.
py::object library_of(py::handle x) {
  if (py::hasattr(x, "__array_namespace__")) return x.attr("__array_namespace__")();
  const py::object modules = py::module_::import("sys").attr("modules");
  return find_package(x, [&](const py::object& package) -> py::object {
    py::object module = modules.attr("get")(package);
    return py::hasattr(module, "from_dlpack") ? module : py::none();
  });
}

std::string name_of(const py::object& library) {
  return py::str(py::getattr(library, "__name__", py::none()));
}

/// Whether NumPy exports arrays of this dtype by DLPack. It exports no dtypes but its own.
bool is_exportable(const py::dtype& dtype) { return dtype.attr("isbuiltin").cast<int>() == 1; }

/// What TensorFlow makes of an array. Its from_dlpack takes the capsule alone, and is not where others have theirs.
py::object to_tensorflow(const py::array& array, bool exportable) {
  const auto tensorflow = py::module_::import("tensorflow");
  if (!exportable) return tensorflow.attr("convert_to_tensor")(array);
  return tensorflow.attr("experimental").attr("dlpack").attr("from_dlpack")(array.attr("__dlpack__")());
}

[[noreturn]] void raise_unviewable(py::handle x, const char* name, py::error_already_set& why) {
  if (is_of(x, "jax") && describe_type(x).ends_with("Tracer")) {
    const std::string traced =
        std::string(name) + " must be an array with values, got a " + describe_type(x) +
        ": what jax.jit, jax.grad and jax.vmap trace calls reblock by jax.pure_callback, with jax.custom_vjp";
    py::raise_from(why, PyExc_TypeError, traced.c_str());
    throw py::error_already_set();
  }
  std::string message = std::string(name) + " must be an array that NumPy can view, got a " +
                        describe_type(x) + " (" + first_line(why) + ")";
  const py::object library = library_of(x);
  if (name_of(library) == "torch") {
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

std::string describe_type(py::handle value) {
  const py::type type = py::type::of(value);
  const std::string module_name = py::str(type.attr("__module__"));
  const std::string name = py::str(type.attr("__qualname__"));
  return module_name == "builtins" ? name : module_name + "." + name;
}

std::string first_line(const py::error_already_set& why) {
  constexpr int longest = 200;
  return py::str(
      py::str("{:.{}}").format(py::str(why.value()).attr("partition")("\n")[py::int_(0)], longest));
}

bool is_foreign(py::handle x) { return py::hasattr(py::type::of(x), "__dlpack__"); }

py::array view_foreign(py::handle x, const char* name) {
  // Libraries refuse by __array__ what their bytes alone would not tell, such as PyTorch's tensors that are
  // negated only in name, and JAX gives dtypes by it that NumPy cannot take by DLPack.
  return view_by(py::hasattr(x, "__array__") ? "asarray" : "from_dlpack", x, name);
}

py::array view_foreign_output(py::handle out, const char* name) {
  py::array view = view_foreign(out, name);
  if (view.size() == 0 || !view.writeable()) return view;
  // __array__ may copy, and DLPack of old says of no memory that it may be written: each knows what the
  // other does not.
  if (view_by("from_dlpack", out, name).data() != view.data()) {
    throw py::type_error(std::string(name) + " must be an array that NumPy can view without copying, got a " +
                         describe_type(out));
  }
  return view;
}

void refuse_what_would_be_lost(py::handle x, const char* name) {
  struct other {
    const char* package;
    const char* wanted;
    const char* way;
  };
  constexpr std::array<other, 3> others{{
      {"dask", "an array in memory", "reblock.dask takes it, or pass its .compute()"},
      {"xarray", "an array whose axes have no names", "pass its .to_numpy()"},
      {"tensorflow", "a tensor with values",
       "inside of tf.function call reblock by tf.numpy_function, and of a variable pass .value()"},
  }};
  // Those packages make their types by class statements, and none of lists and tuples.
  const bool is_built_in = (Py_TYPE(x.ptr())->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0;
  if (is_built_in || py::isinstance<py::list>(x) || py::isinstance<py::tuple>(x)) return;
  for (const other& o : others) {
    if (!is_of(x, o.package)) continue;
    throw py::type_error(std::string(name) + " must be " + o.wanted + ", got a " + describe_type(x) + ": " +
                         o.way);
  }
}

void check_library_has(py::handle x, const py::dtype& dtype) {
  if (is_exportable(dtype)) return;
  try {
    (void)give_back(x, py::array(dtype, std::array<py::ssize_t, 1>{0}));
  } catch (py::error_already_set& why) {
    if (!why.matches(PyExc_Exception)) throw;  // an interrupt, for one
    const std::string library = name_of(library_of(x));
    std::string message = "dtype must be one that " + (library == "None" ? describe_type(x) : library) +
                          " has, got " + std::string(py::str(dtype)) + " (" + first_line(why) +
                          "): pass an out of this dtype";
    if (library == "torch") message += ", or use reblock.torch with a torch.dtype";
    py::raise_from(why, PyExc_TypeError, message.c_str());
    throw py::error_already_set();
  }
}

py::object give_back(py::handle x, const py::array& result) {
  const py::object library = library_of(x);
  const bool exportable = is_exportable(result.dtype());
  if (!py::hasattr(library, "from_dlpack")) {
    if (is_of(x, "tensorflow")) return to_tensorflow(result, exportable);
    return result;
  }
  if (exportable) return library.attr("from_dlpack")(result);
  if (element_type_of(result.dtype()) == detail::element_type::bfloat16 && name_of(library) == "torch") {
    // PyTorch has this dtype, but takes no array of it.
    return library.attr("from_dlpack")(result.attr("view")("int16")).attr("view")(library.attr("bfloat16"));
  }
  return library.attr("asarray")(result);
}

}  // namespace reblock::python
