// SPDX-License-Identifier: BSD-3-Clause
//
// These functions and methods take their arguments by CPython's own convention, instead of pybind11's. pybind11 looks
// up every name at each call, and on a small array this takes most of the time. Its errors also print C++ types and
// whole buffers.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "words.hpp"

namespace reblock::python {

namespace py = pybind11;

/// Where users find what this module defines.
inline constexpr const char* public_module = "reblock";

struct parameter {
  const char* name;
  py::object fallback{};  ///< none: the argument must be given
};

/// The items of a tuple, or none where there is no tuple.
inline std::span<PyObject* const> items(PyObject* tuple) {
  if (tuple == nullptr) return {};
  return {reinterpret_cast<PyTupleObject*>(tuple)->ob_item,
          static_cast<std::size_t>(PyTuple_GET_SIZE(tuple))};
}

/// Keyword arguments whose names are no parameter's, with their values.
using other_keywords = std::vector<std::pair<py::handle, py::handle>>;

/// What is bound to the parameters of a function, one after the other.
using bound_arguments = std::span<const py::handle>;

/// The names that a call's arguments are bound to. It lives as long as the process.
class signature {
 public:
  /// The first `positional` parameters may be given without their names.
  signature(std::string function, std::size_t positional, const std::vector<parameter>& parameters)
      : function_(std::move(function)), positional_(positional) {
    for (const parameter& p : parameters) {
      names_.push_back(PyUnicode_InternFromString(p.name));
      fallbacks_.push_back(p.fallback);
    }
  }

  /// An argument for each parameter, into `bound`, which has only null handles before. TypeError where they do not
  /// fit. It takes them as a vector call has them. Where there is room for `others`, keywords that are no parameter's go
  /// there, and what may be given without its name must be.
  void bind(std::span<PyObject* const> positional, std::span<PyObject* const> names,
            std::span<PyObject* const> named, std::span<py::handle> bound,
            other_keywords* others = nullptr) const {
    take_positional(positional, bound);
    for (std::size_t k = 0; k < named.size(); ++k) {
      if (others != nullptr && !may_be_named(find(names[k]))) {
        others->emplace_back(names[k], named[k]);
      } else {
        take_named(names[k], named[k], bound);
      }
    }
    fill(bound);
  }
  /// The same for a tuple, and a dict or null.
  void bind(PyObject* positional, PyObject* named, std::span<py::handle> bound) const {
    take_positional(items(positional), bound);
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    py::ssize_t at = 0;
    while (named != nullptr && PyDict_Next(named, &at, &name, &value) != 0) take_named(name, value, bound);
    fill(bound);
  }

 private:
  bool may_be_named(std::size_t i) const { return positional_ <= i && i < names_.size(); }
  void take_positional(std::span<PyObject* const> positional, std::span<py::handle> bound) const {
    if (positional.size() > positional_) {
      std::string why = " takes at most " + std::to_string(positional_) + " positional arguments, got " +
                        std::to_string(positional.size());
      if (positional_ < names_.size()) why += ": name the others, from " + text(names_[positional_]) + " on";
      fail(why);
    }
    for (std::size_t i = 0; i < positional.size(); ++i) bound[i] = positional[i];
  }
  void take_named(PyObject* name, PyObject* value, std::span<py::handle> bound) const {
    const std::size_t i = find(name);
    if (i == names_.size()) fail(" got an unexpected keyword argument " + text(name) + hint(name, names_));
    if (bound[i]) fail(" got multiple values for argument " + text(name));
    bound[i] = value;
  }
  void fill(std::span<py::handle> bound) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!bound[i]) bound[i] = fallbacks_[i];
      if (!bound[i]) fail(" misses a required argument: " + text(names_[i]));
    }
  }
  std::size_t find(PyObject* name) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return i;
    }
    if (PyUnicode_CHECK_INTERNED(name) != 0) return names_.size();  // as those above are; others were made up
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (PyUnicode_Compare(names_[i], name) == 0) return i;
    }
    return names_.size();
  }
  [[noreturn]] void fail(const std::string& why) const { throw py::type_error(function_ + "()" + why); }
  static std::string text(PyObject* name) { return py::repr(name); }

  std::string function_;
  std::size_t positional_;
  std::vector<PyObject*> names_;
  std::vector<py::object> fallbacks_;
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

/// Calls a function with what is bound to its parameters.
template <class Function, std::size_t Count>
auto apply(Function&& function, const std::array<py::handle, Count>& bound) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return function(bound[I]...);
  }(std::make_index_sequence<Count>{});
}

/// A function of handles that Python can call; as a method it takes its object first. Its last parameter may be
/// other_keywords, which it takes then, or bound_arguments, which are the handles once more.
template <auto Function, bool IsMethod = false>
class function;

template <class... Arguments, py::object (*Function)(Arguments...), bool IsMethod>
class function<Function, IsMethod> {
 public:
  /// Makes a function of a module. `parameters` are those that a call binds; the first `positional` of them may be
  /// given without their names.
  static void define(py::module_& m, const char* name, const char* doc, std::size_t positional,
                     const std::vector<parameter>& parameters) {
    m.attr(name) = make(m, name, doc, positional, parameters);
  }
  static py::object make(py::handle m, const char* name, const char* doc, std::size_t positional,
                         const std::vector<parameter>& parameters) {
    names = new signature(name, positional, parameters);
    definition = define_as(name, doc);
    return py::reinterpret_steal<py::object>(
        PyCFunction_NewEx(&definition, m.ptr(), py::str(public_module).ptr()));
  }
  /// For the list of a class's methods; `owner` is the class.
  static PyMethodDef method(const std::string& owner, const char* name, const char* doc,
                            std::size_t positional, const std::vector<parameter>& parameters) {
    names = new signature(owner + "." + name, positional, parameters);
    return define_as(name, doc);
  }

  /// As CPython calls a method by METH_FASTCALL | METH_KEYWORDS.
  static PyObject* call(PyObject* self, PyObject* const* values, py::ssize_t count,
                        PyObject* keywords) noexcept {
    return without_exceptions([&] {
      const auto positional = static_cast<std::size_t>(count);
      std::array<py::handle, (std::size_t{0} + ... + std::size_t{std::same_as<Arguments, py::handle>})> bound;
      [[maybe_unused]] std::conditional_t<takes_others, other_keywords, std::monostate> others;
      if constexpr (IsMethod) bound[0] = self;
      other_keywords* to_others = nullptr;
      if constexpr (takes_others) to_others = &others;
      names->bind({values, positional}, items(keywords), {values + positional, items(keywords).size()},
                  std::span(bound).subspan(IsMethod ? 1 : 0), to_others);
      if constexpr (takes_others) {
        return apply([&others](auto... each) { return Function(each..., others); }, bound);
      } else if constexpr ((std::same_as<Arguments, bound_arguments> || ...)) {
        return apply([&bound](auto... each) { return Function(each..., bound); }, bound);
      } else {
        return apply(Function, bound);
      }
    });
  }

 private:
  static PyMethodDef define_as(const char* name, const char* doc) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call)),
            METH_FASTCALL | METH_KEYWORDS, doc};
  }

  static constexpr bool takes_others = (std::same_as<Arguments, const other_keywords&> || ...);
  static inline const signature* names = nullptr;
  static inline PyMethodDef definition{};
};

}  // namespace reblock::python
