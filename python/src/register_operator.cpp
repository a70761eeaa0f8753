// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "function.hpp"
#include "gate.hpp"
#include "register.hpp"
#include "threads.hpp"

namespace reblock::python {

namespace {

constexpr const char* compile_doc = R"(compile(desc, *, feature_level=None)
--

Check and plan an operator once, to run it many times.

Parameters
----------
desc : DepthToSpaceDesc, SpaceToDepthDesc, UnfoldDesc or FoldDesc
    The operator and its tensors.
feature_level : FeatureLevel, optional
    Refuse what DirectML does not take at this level. By default everything that
    reblock can do is taken.

Returns
-------
CompiledOperator
    With the output inferred where `desc` leaves it out.

Raises
------
ValueError
    If the description does not fit; the message tells what does not.
TypeError
    For an argument of the wrong kind.

Examples
--------
>>> import numpy as np
>>> import reblock
>>> x = reblock.TensorDesc(reblock.DataType.FLOAT32, (1, 8, 2, 3))
>>> op = reblock.compile(reblock.DepthToSpaceDesc(x, block_size=2))
>>> op.output.sizes
(1, 2, 4, 6)
>>> op(np.ones((1, 8, 2, 3), np.float32)).shape
(1, 2, 4, 6)
)";

constexpr const char* operator_doc = R"(An operator that `compile` has checked and planned.

It holds no state that a run changes: any number of threads may use it at once.

See Also
--------
compile : Makes it.
)";

constexpr const char* call_doc = R"(__call__(self, x, out=None, threads=None)
--

Run on arrays of the described type and sizes, whatever their strides.

Parameters
----------
x : array_like
    Of the sizes and the data type of `input`.
out : array, optional
    Of the sizes and the data type of `output`; as in `depth_to_space`.
threads : int, optional
    As in `depth_to_space`.

Returns
-------
array
    `out` if given, else a new C-contiguous array; as in `depth_to_space`.

Raises
------
ValueError
    For another shape, or an `out` that is read-only or overlaps itself.
TypeError
    For another dtype.
)";

constexpr const char* dispatch_doc = R"(dispatch(self, input_buffer, output_buffer)
--

Run on raw buffers that are laid out as the descriptors say.

Parameters
----------
input_buffer : buffer
    At least ``input.total_size_in_bytes`` contiguous bytes.
output_buffer : buffer
    At least ``output.total_size_in_bytes`` contiguous, writable bytes. Those that
    belong to no element are not written.

Raises
------
ValueError
    For a buffer that is too small, not contiguous or read-only.
TypeError
    For an object that is no buffer.
)";

/// A buffer of Python's, held for as long as this lives.
class held_buffer {
 public:
  held_buffer(py::handle object, const char* name) {
    if (PyObject_CheckBuffer(object.ptr()) == 0) {
      throw py::type_error(std::string(name) + " must be a buffer, got " + std::string(py::repr(object)));
    }
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) {
      const py::error_already_set why;
      throw py::value_error(std::string(name) + " must be contiguous: " + std::string(py::str(why.value())));
    }
  }
  held_buffer(const held_buffer&) = delete;
  held_buffer& operator=(const held_buffer&) = delete;
  ~held_buffer() { PyBuffer_Release(&view_); }

  void require(const tensor_desc& desc, const char* name) const {
    const std::uint64_t needed = total_size_in_bytes(desc);
    if (static_cast<std::uint64_t>(view_.len) < needed) {
      throw py::value_error(std::string(name) + " must have at least " + std::to_string(needed) +
                            " bytes, got " + std::to_string(view_.len));
    }
  }
  void require_writable(const char* name) const {
    if (view_.readonly != 0)
      throw py::value_error(std::string(name) + " must be writable, got a read-only buffer");
  }
  detail::placement place(const tensor_desc& desc) const {
    const auto size = static_cast<std::int64_t>(element_size(desc.type));
    return {static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(view_.buf)), desc.sizes,
            detail::in_bytes(desc.strides_or_packed(), size), size};
  }
  std::byte* data() const { return static_cast<std::byte*>(view_.buf); }

 private:
  Py_buffer view_{};
};

void dispatch(const compiled_operator& op, py::handle input_buffer, py::handle output_buffer) {
  const held_buffer input(input_buffer, "input_buffer");
  const held_buffer output(output_buffer, "output_buffer");
  input.require(op.input(), "input_buffer");
  output.require(op.output(), "output_buffer");
  output.require_writable("output_buffer");
  const std::byte* from = input.data();
  std::vector<std::byte> copy;
  if (detail::share_memory(input.place(op.input()), output.place(op.output())) !=
      detail::overlap::none) {
    copy.assign(from, from + total_size_in_bytes(op.input()));
    from = copy.data();
  }
  const auto bytes =
      static_cast<py::ssize_t>(std::max(total_size_in_bytes(op.input()), total_size_in_bytes(op.output())));
  move_bytes(bytes, to_threads(py::none()),
             [&](pool_executor executor) { op.dispatch(from, output.data(), executor); });
}

/// NumPy's dtype of a DirectML type, in native byte order.
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

py::object call(const compiled_operator& op, py::handle x, py::handle out, py::handle threads) {
  const py::array input = to_input(x, "x");
  const py::dtype dtype = to_dtype(op.input().type);
  if (!input.dtype().equal(dtype)) {
    throw py::type_error("x must have dtype " + std::string(py::str(dtype)) + ", got " +
                         std::string(py::str(input.dtype())));
  }
  if (extents_of(input) != op.input().sizes) {
    error why;
    why << "x must have shape " << op.input().sizes << ", got " << extents_of(input);
    throw py::value_error(why.message());
  }
  return run(x, input, out, op.output().sizes, to_threads(threads),
             [&](const operands& where, pool_executor executor) {
               op.dispatch(where.input, where.input_strides, where.output, where.output_strides, executor);
             });
}

/// op(...) itself, as `function` does it; op.__call__(...) is pybind11's.
PyObject* call_slot(PyObject* self, PyObject* values, PyObject* keywords) noexcept {
  return without_exceptions([&] {
    // not destroyed: Python may be gone by then
    static const auto& names =
        // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without_exceptions() handles it
        *new signature("CompiledOperator.__call__", 3, {{"x"}, {"out", py::none()}, {"threads", py::none()}});
    std::array<PyObject*, 3> named_by{};
    std::array<PyObject*, 3> named{};
    std::size_t count = 0;
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    for (py::ssize_t at = 0; keywords != nullptr && PyDict_Next(keywords, &at, &name, &value) != 0; ++count) {
      if (count == named.size())
        throw py::type_error("CompiledOperator.__call__() takes at most 3 arguments");
      named_by[count] = name;
      named[count] = value;
    }
    std::array<py::handle, 3> bound;
    names.bind(items(values), std::span(named_by).first(count), std::span(named).first(count), bound);
    const auto& op = py::handle(self).cast<const compiled_operator&>();
    return call(op, bound[0], bound[1], bound[2]);
  });
}

std::optional<feature_level> to_feature_level(py::handle value) {
  if (value.is_none()) return std::nullopt;
  const std::int64_t number = to_int(value, "feature_level");
  const auto level = static_cast<feature_level>(number);
  if (static_cast<std::int64_t>(level) != number || name(level) == nullptr) {
    throw py::value_error("feature_level must be a FeatureLevel, got " + std::to_string(number));
  }
  return level;
}

template <class... Desc>
compiled_operator compile_any(py::handle desc, std::optional<feature_level> level) {
  std::optional<compiled_operator> op;
  const auto try_one = [&]<class D>(const D*) {
    if (py::isinstance<D>(desc)) op = value_or_raise(try_compile(desc.cast<const D&>(), level));
    return op.has_value();
  };
  static_cast<void>((try_one(static_cast<const Desc*>(nullptr)) || ...));
  if (op) return *op;
  throw py::type_error("desc must be a DepthToSpaceDesc, SpaceToDepthDesc, UnfoldDesc or FoldDesc, got " +
                       std::string(py::repr(desc)));
}

}  // namespace

void register_operator(py::module_& m) {
  auto type = plain_class<compiled_operator>(m, "CompiledOperator", operator_doc);
  type.def("__call__", &call, call_doc, py::arg("x"), py::arg("out") = py::none(),
           py::arg("threads") = py::none())
      .def("dispatch", &dispatch, dispatch_doc, py::arg("input_buffer"), py::arg("output_buffer"))
      .def_property_readonly(
          "input", [](const compiled_operator& op) { return op.input(); }, "What is read: a TensorDesc.")
      .def_property_readonly(
          "output", [](const compiled_operator& op) { return op.output(); }, "What is written: a TensorDesc.")
      .def("__repr__", [](py::handle self) { return describe(self, {"input", "output"}); });
  reinterpret_cast<PyTypeObject*>(type.ptr())->tp_call = call_slot;
  m.def(
      "compile",
      [](py::handle desc, py::handle level) {
        return compile_any<depth_to_space_desc, space_to_depth_desc, unfold_desc, fold_desc>(
            desc, to_feature_level(level));
      },
      compile_doc, py::arg("desc"), py::kw_only(), py::arg("feature_level") = py::none());
}

}  // namespace reblock::python
