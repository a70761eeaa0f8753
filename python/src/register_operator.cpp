// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "arguments.hpp"
#include "data_types.hpp"
#include "function.hpp"
#include "gate.hpp"
#include "register.hpp"
#include "threads.hpp"
#include "value_class.hpp"

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

constexpr const char* operator_doc =
    R"(A CompiledOperator holds an operator that `compile` has checked and planned.

It is a value. No call changes it, so that any number of threads may use it at once.
Operators of equal descriptions are equal. One that is pickled is compiled again
where it arrives, for the processor there.

See Also
--------
compile : Makes it.
)";

constexpr const char* call_doc = R"(__call__($self, x, out=None, threads=None)
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

constexpr const char* dispatch_doc = R"(dispatch($self, input_buffer, output_buffer)
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
      raise_type_error(name, "a buffer", object);
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

using any_desc = std::variant<depth_to_space_desc, space_to_depth_desc, unfold_desc, fold_desc>;

/// An operator with the description that it was compiled from, whose output is filled in.
struct planned_operator {
  any_desc desc;
  compiled_operator op;
};

using operator_class = value_class<planned_operator>;

py::object dispatch(py::handle self, py::handle input_buffer, py::handle output_buffer) {
  const compiled_operator& op = operator_class::of(self).op;
  const held_buffer input(input_buffer, "input_buffer");
  const held_buffer output(output_buffer, "output_buffer");
  input.require(op.input(), "input_buffer");
  output.require(op.output(), "output_buffer");
  output.require_writable("output_buffer");
  const std::byte* from = input.data();
  std::vector<std::byte> copy;
  if (detail::share_memory(input.place(op.input()), output.place(op.output())) != detail::overlap::none) {
    copy.assign(from, from + total_size_in_bytes(op.input()));
    from = copy.data();
  }
  const auto bytes =
      static_cast<py::ssize_t>(std::max(total_size_in_bytes(op.input()), total_size_in_bytes(op.output())));
  move_bytes(bytes, to_threads(py::none()),
             [&](pool_executor executor) { op.dispatch(from, output.data(), executor); });
  return py::none();
}

py::object call(py::handle self, py::handle x, py::handle out, py::handle threads) {
  const compiled_operator& op = operator_class::of(self).op;
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
  return run(x, input, out, input.dtype(), op.output().sizes, to_threads(threads),
             [&](const operands& where, pool_executor executor) {
               op.dispatch(where.input, where.input_strides, where.output, where.output_strides, executor);
             });
}

/// op(...) itself, by CPython's vector call.
PyObject* call_by_vector(PyObject* self, PyObject* const* values, std::size_t count,
                         PyObject* keywords) noexcept {
  return function<&call, true>::call(self, values, PyVectorcall_NARGS(count), keywords);
}

std::optional<feature_level> to_feature_level(py::handle value) {
  if (value.is_none()) return std::nullopt;
  const std::int64_t number = to_int(value, "feature_level");
  const auto level = static_cast<feature_level>(number);
  if (static_cast<std::int64_t>(level) != number || name(level) == nullptr) {
    throw py::value_error("feature_level must be a FeatureLevel, got " + describe(value));
  }
  return level;
}

/// Compiles `desc` if it is a description of this kind.
template <class Desc>
std::optional<planned_operator> compile_as(py::handle desc, std::optional<feature_level> level) {
  if (!value_class<Desc>::has(desc)) return std::nullopt;
  Desc described = value_class<Desc>::of(desc);
  const auto op = try_compile(described, level);
  described.output = value_or_raise(op).output();
  return planned_operator{described, *op};
}

py::object compile_any(py::handle desc, py::handle feature_level) {
  const auto level = to_feature_level(feature_level);
  const auto compile_first = [&]<class... Desc>(const std::variant<Desc...>*) {
    std::optional<planned_operator> op;
    static_cast<void>(((op = compile_as<Desc>(desc, level)) || ...));
    return op;
  };
  const auto op = compile_first(static_cast<const any_desc*>(nullptr));
  if (!op) raise_type_error("desc", "a DepthToSpaceDesc, SpaceToDepthDesc, UnfoldDesc or FoldDesc", desc);
  return operator_class::make(*op);
}

py::object get_desc(const planned_operator& planned) {
  return std::visit([]<class Desc>(const Desc& desc) { return value_class<Desc>::make(desc); }, planned.desc);
}

}  // namespace

void register_operator(py::module_& m) {
  function<&compile_any>::define(m, "compile", compile_doc, 1, {{"desc"}, {"feature_level", py::none()}});
  constexpr const char* owner = "CompiledOperator";
  PyMethodDef call_method = function<&call, true>::method(
      owner, "__call__", call_doc, 3, {{"x"}, {"out", py::none()}, {"threads", py::none()}});
  call_method.ml_flags |= METH_COEXIST;  // in place of the one that CPython makes, which has no signature
  operator_class::define(
      m, {.name = owner,
          .doc = operator_doc,
          .positional = 1,
          .fields = {{.told = {"desc", &get_desc, "What was compiled, with the output filled in."}}},
          .attributes = {{"input",
                          [](const planned_operator& planned) {
                            return value_class<tensor_desc>::make(planned.op.input());
                          },
                          "What is read: a TensorDesc."},
                         {"output",
                          [](const planned_operator& planned) {
                            return value_class<tensor_desc>::make(planned.op.output());
                          },
                          "What is written: a TensorDesc."}},
          .methods = {call_method, function<&dispatch, true>::method(owner, "dispatch", dispatch_doc, 2,
                                                                     {{"input_buffer"}, {"output_buffer"}})},
          .made_by = m.attr("compile"),
          .call = &call_by_vector});
}

}  // namespace reblock::python
