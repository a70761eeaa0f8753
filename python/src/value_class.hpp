// SPDX-License-Identifier: BSD-3-Clause
//
// A value_class is a Python class whose objects are values. They are made whole and never change. Two of them are
// equal if their parts are equal. Objects of pybind11's own classes exist before `__init__` gives them a value.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <structmember.h>

#include "function.hpp"

namespace reblock::python {

/// What a value tells under a name.
template <class T>
struct attribute {
  const char* name;
  py::object (*get)(const T&);
  const char* doc;
};

/// A parameter of what makes a value, and the attribute that tells it.
template <class T>
struct field {
  attribute<T> told;
  py::object fallback{};  ///< of the parameter; none: it must be given
  py::object usual{};     ///< what the attribute tells where the fallback was taken
};

/// What defines a class; see value_class::define.
template <class T>
struct class_definition {
  const char* name;
  const char* doc;
  std::size_t positional;  ///< so many fields may be given without their names
  std::vector<field<T>> fields;
  std::vector<attribute<T>> attributes{};  ///< more of them
  std::vector<PyMethodDef> methods{};
  py::object made_by{};           ///< what makes an object of its fields; by default the class
  vectorcallfunc call = nullptr;  ///< calls an object
};

/// The class of values of type T. It is final.
template <class T>
class value_class {
  // Nothing is run when an object is freed, and what is read by another thread needs no lock.
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  /// Adds the class to a module. Objects have `__eq__`, `__hash__`, a repr that can be evaluated, and can be pickled
  /// and copied, all by way of the fields. `Make` is a function of handles that makes a value of them.
  template <auto Make>
  static void define(py::module_& m, class_definition<T> definition) {
    define(m, std::move(definition), &create<Make>);
  }
  /// The same for a class that cannot be called: `made_by` makes its objects.
  static void define(py::module_& m, class_definition<T> definition, newfunc create = nullptr) {
    known = new knowledge(std::move(definition));  // as the class, it lives as long as the process
    const class_definition<T>& defined = known->definition;
    for (const field<T>& f : defined.fields) add(f.told);
    for (const attribute<T>& a : defined.attributes) add(a);
    known->properties.push_back({});
    known->methods = defined.methods;
    known->methods.push_back({"__copy__", &copy, METH_NOARGS, nullptr});
    known->methods.push_back({"__deepcopy__", &copy, METH_O, nullptr});
    known->methods.push_back({"__reduce__", &reduce, METH_NOARGS, nullptr});
    known->methods.push_back({});

    static std::array<PyMemberDef, 2> members{
        {{"__vectorcalloffset__", T_PYSSIZET, offsetof(head, call), READONLY, nullptr}, {}}};
    std::vector<PyType_Slot> slots{
        {Py_tp_doc, const_cast<char*>(defined.doc)},
        {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
        {Py_tp_getset, known->properties.data()},
        {Py_tp_hash, reinterpret_cast<void*>(&hash)},
        {Py_tp_methods, known->methods.data()},
        {Py_tp_repr, reinterpret_cast<void*>(&repr)},
        {Py_tp_richcompare, reinterpret_cast<void*>(&compare)},
    };
    unsigned flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE;
    if (create == nullptr) {
      flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
    } else {
      slots.push_back({Py_tp_new, reinterpret_cast<void*>(create)});
    }
    if (defined.call != nullptr) {
      flags |= Py_TPFLAGS_HAVE_VECTORCALL;
      slots.push_back({Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)});
      slots.push_back({Py_tp_members, members.data()});
    }
    slots.push_back({});
    known->name = std::string(public_module) + "." + defined.name;
    PyType_Spec spec{known->name.c_str(), sizeof(instance), 0, flags, slots.data()};
    PyObject* made = PyType_FromSpec(&spec);
    if (made == nullptr) throw py::error_already_set();
    type = reinterpret_cast<PyTypeObject*>(made);
    m.attr(defined.name) = py::reinterpret_borrow<py::object>(made);
    if (!known->definition.made_by) known->definition.made_by = py::reinterpret_steal<py::object>(made);
  }

  static bool has(py::handle object) noexcept { return Py_TYPE(object.ptr()) == type; }
  /// Requires has(object).
  static const T& of(py::handle object) noexcept {
    return reinterpret_cast<const instance*>(object.ptr())->value;
  }
  static py::object make(const T& value) {
    auto object = py::reinterpret_steal<py::object>(type->tp_alloc(type, 0));
    if (!object) throw py::error_already_set();
    auto* const made = reinterpret_cast<instance*>(object.ptr());
    made->first.call = known->definition.call;
    new (&made->value) T(value);
    return object;
  }

 private:
  struct head {
    PyObject_HEAD vectorcallfunc call;
  };
  struct instance {
    head first;
    T value;
  };
  static_assert(alignof(T) <= alignof(std::max_align_t));  // as objects of Python are aligned

  struct knowledge {
    explicit knowledge(class_definition<T> defined)
        : definition(std::move(defined)), names(definition.name, definition.positional, parameters()) {}
    std::vector<parameter> parameters() const {
      std::vector<parameter> result;
      result.reserve(definition.fields.size());
      for (const field<T>& f : definition.fields) result.push_back({f.told.name, f.fallback});
      return result;
    }

    class_definition<T> definition;
    signature names;
    std::string name;
    std::vector<PyGetSetDef> properties;
    std::vector<PyMethodDef> methods;
  };

  static void add(const attribute<T>& told) {
    known->properties.push_back({told.name, &get, nullptr, told.doc, const_cast<attribute<T>*>(&told)});
  }

  template <class... Arguments>
  static constexpr std::size_t count(T (*)(Arguments...)) noexcept {
    return sizeof...(Arguments);
  }

  template <auto Make>
  static PyObject* create(PyTypeObject*, PyObject* positional, PyObject* named) noexcept {
    return without_exceptions([&] {
      std::array<py::handle, count(Make)> bound;
      known->names.bind(positional, named, bound);
      return make(apply(Make, bound));
    });
  }

  static PyObject* get(PyObject* self, void* told) noexcept {
    return without_exceptions([&] { return static_cast<const attribute<T>*>(told)->get(of(self)); });
  }

  /// The values of all fields: what makes a value what it is.
  static py::tuple parts(py::handle self) {
    const auto& fields = known->definition.fields;
    py::tuple result(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) result[i] = fields[i].told.get(of(self));
    return result;
  }

  /// What `made_by` makes an equal object of: by place what must and can be given so, the rest by name unless it is
  /// as usual.
  static std::pair<py::list, py::dict> arguments(py::handle self) {
    std::pair<py::list, py::dict> result;
    const class_definition<T>& defined = known->definition;
    for (std::size_t i = 0; i < defined.fields.size(); ++i) {
      const field<T>& f = defined.fields[i];
      const py::object part = f.told.get(of(self));
      if (!f.usual && i < defined.positional) {
        result.first.append(part);
      } else if (!f.usual || !part.equal(f.usual)) {
        result.second[f.told.name] = part;
      }
    }
    return result;
  }

  static PyObject* compare(PyObject* self, PyObject* other, int operation) noexcept {
    return without_exceptions([&]() -> py::object {
      if (!has(other) || (operation != Py_EQ && operation != Py_NE)) {
        return py::reinterpret_borrow<py::object>(Py_NotImplemented);
      }
      return py::bool_(parts(self).equal(parts(other)) == (operation == Py_EQ));
    });
  }

  static Py_hash_t hash(PyObject* self) noexcept {
    Py_hash_t result = -1;
    const auto computed = py::reinterpret_steal<py::object>(without_exceptions([&]() -> py::object {
      result = py::hash(parts(self));
      return py::none();
    }));
    return result;
  }

  static PyObject* repr(PyObject* self) noexcept {
    return without_exceptions([&]() -> py::object {
      const auto [by_place, by_name] = arguments(self);
      py::list shown;
      for (const py::handle part : by_place) shown.append(evaluable(part));
      for (const auto& [name, part] : by_name) shown.append(py::str("{}={}").format(name, evaluable(part)));
      const py::object maker = known->definition.made_by.attr("__name__");
      return py::str("{}.{}({})").format(public_module, maker, py::str(", ").attr("join")(shown));
    });
  }
  static py::object evaluable(py::handle part) {
    if (!py::isinstance(part, py::module_::import("enum").attr("Enum"))) return py::repr(part);
    return py::str("{}.{}.{}").format(public_module, py::type::of(part).attr("__name__"), part.attr("name"));
  }

  static PyObject* reduce(PyObject* self, PyObject*) noexcept {
    return without_exceptions([&]() -> py::object {
      const auto [by_place, by_name] = arguments(self);
      py::object make = known->definition.made_by;
      if (!by_name.empty()) make = py::module_::import("functools").attr("partial")(make, **by_name);
      return py::make_tuple(make, py::tuple(by_place));
    });
  }

  /// A value is its own copy.
  static PyObject* copy(PyObject* self, PyObject*) noexcept { return Py_NewRef(self); }

  static void destroy(PyObject* self) noexcept {
    PyTypeObject* const freed = Py_TYPE(self);
    freed->tp_free(self);
    Py_DECREF(freed);
  }

  static inline knowledge* known = nullptr;
  static inline PyTypeObject* type = nullptr;
};

}  // namespace reblock::python
