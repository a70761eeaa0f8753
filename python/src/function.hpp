// SPDX-License-Identifier: BSD-3-Clause
//
// Functions of a module that take their arguments by CPython's own convention, in place of pybind11's, which
// looks every name up anew: a call on a small array costs little else.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace reblock::python {

namespace py = pybind11;

struct parameter {
  const char* name;
  py::object fallback{};  ///< none: the argument must be given
};

/// The names that a call's arguments are bound to. It lives as long as the process.
class signature {
 public:
  /// The first `positional` parameters may be given without their names.
  signature(const char* function, std::size_t positional, std::initializer_list<parameter> parameters)
      : function_(function), positional_(positional), count_(parameters.size()) {
    std::size_t i = 0;
    for (const parameter& p : parameters) {
      names_[i] = PyUnicode_InternFromString(p.name);
      fallbacks_[i++] = p.fallback;
    }
  }

  /// An argument for each parameter, into `bound`. TypeError where they do not fit.
  void bind(std::span<PyObject* const> positional, std::span<PyObject* const> names,
            std::span<PyObject* const> named, std::span<py::handle> bound) const {
    if (positional.size() > positional_) {
      fail(" takes at most " + std::to_string(positional_) + " positional arguments, got " +
           std::to_string(positional.size()));
    }
    for (std::size_t i = 0; i < positional.size(); ++i) bound[i] = positional[i];
    for (std::size_t k = 0; k < named.size(); ++k) {
      const std::size_t i = find(names[k]);
      if (i == count_) fail(" got an unexpected keyword argument " + text(names[k]));
      if (bound[i]) fail(" got multiple values for argument " + text(names[k]));
      bound[i] = named[k];
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (!bound[i]) bound[i] = fallbacks_[i];
      if (!bound[i]) fail(" misses a required argument: " + text(names_[i]));
    }
  }

 private:
  static constexpr std::size_t most = 10;

  std::size_t find(PyObject* name) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (names_[i] == name) return i;  // both are interned but for names that were made up
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (PyUnicode_Compare(names_[i], name) == 0) return i;
    }
    return count_;
  }
  [[noreturn]] void fail(const std::string& why) const { throw py::type_error(function_ + ("()" + why)); }
  static std::string text(PyObject* name) { return py::repr(name); }

  std::string function_;
  std::size_t positional_;
  std::size_t count_;
  std::array<PyObject*, most> names_{};
  std::array<py::object, most> fallbacks_;
};

/// What `run` returns, or null with Python's error set.
template <class Run>
PyObject* without_exceptions(Run&& run) noexcept {
  try {
    return run().release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

/// The items of a tuple, or none where there is no tuple.
inline std::span<PyObject* const> items(PyObject* tuple) {
  if (tuple == nullptr) return {};
  return {reinterpret_cast<PyTupleObject*>(tuple)->ob_item,
          static_cast<std::size_t>(PyTuple_GET_SIZE(tuple))};
}

/// Calls a function with what is bound to its parameters.
template <class Function, std::size_t Count>
py::object apply(Function&& function, const std::array<py::handle, Count>& bound) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return function(bound[I]...);
  }(std::make_index_sequence<Count>{});
}

/// A function of handles that Python can call.
template <auto Function>
class function;

template <class... Arguments, py::object (*Function)(Arguments...)>
class function<Function> {
 public:
  static void define(py::module_& m, const char* name, const char* doc, std::size_t positional,
                     std::initializer_list<parameter> parameters) {
    names = new signature(name, positional, parameters);
    method = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call)),
              METH_FASTCALL | METH_KEYWORDS, doc};
    const auto module_name = m.attr("__name__").cast<py::object>();
    m.attr(name) = py::reinterpret_steal<py::object>(PyCFunction_NewEx(&method, m.ptr(), module_name.ptr()));
  }

 private:
  static PyObject* call(PyObject*, PyObject* const* values, py::ssize_t count, PyObject* keywords) noexcept {
    return without_exceptions([&] {
      const auto positional = static_cast<std::size_t>(count);
      std::array<py::handle, sizeof...(Arguments)> bound;
      names->bind({values, positional}, items(keywords), {values + positional, items(keywords).size()},
                  bound);
      return apply(Function, bound);
    });
  }

  static inline const signature* names = nullptr;
  static inline PyMethodDef method{};
};

}  // namespace reblock::python
