// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "array_moves.hpp"
#include "axes_pattern.hpp"
#include "call_memory.hpp"
#include "conversions.hpp"
#include "foreign.hpp"
#include "function.hpp"
#include "gate.hpp"
#include "register.hpp"
#include "threads.hpp"

namespace reblock::python {

namespace {

constexpr const char* rearrange_doc =
    R"doc(rearrange(x, pattern, /, *, dtype=None, scale=None, bias=None, out=None, threads=None, **axes_lengths)
--

Split, reorder and join the axes of an array by a pattern in the language of einops.

``rearrange(x, "b (h p) c -> b h (p c)", p=16)`` splits axis 1 into ``h`` and ``p``,
and joins ``p`` and ``c``.

Parameters
----------
x : array_like
    Any dtype without Python objects; elements are moved bit for bit. Any strides. An
    ndarray, or another library's array on the CPU, is read without copying.
pattern : str
    The axes of `x`, ``->``, the axes of the result. A name stands for an axis, names in
    parentheses for one axis that is made of several, the first one the slowest. ``1``
    and ``()`` stand for an axis of one element, ``...`` for all axes that the others
    leave. Both sides have the same names, each once.
dtype : dtype, optional
    The dtype of the result: bool, integer or floating point of up to 64 bits, bfloat16
    of ml_dtypes among them. That of `x` where it is not given.
scale, bias : float or {str: sequence of float}, optional
    How elements change: each becomes ``cast(x * scale + bias, dtype)`` on
    the way. A number, or ``{"c": numbers}`` with one for each index of the axis with
    this name; finite. The arithmetic is that of float32, or of float64 if one of the
    dtypes is float64 or an integer of 32 or 64 bits. The cast rounds to nearest even; to
    integers it saturates, and makes 0 of a NaN. With `dtype` alone, integers and bool
    are cast as by ``astype``.
out : array, optional
    The array for the result: an ndarray, or another library's array that can be
    written without copying. It has exactly the result's shape and dtype, and any
    strides that do not overlap. Memory between its elements is not written. If it shares
    memory with `x`, the elements of `x` are copied first; nothing else of the
    tensor's size is allocated but the result.
threads : int, optional
    How many threads may move the bytes, at least 1. The default is that of
    `get_num_threads`. A small call uses fewer.
**axes_lengths : int
    Lengths of axes of the pattern, by their names. Of the names in a pair of
    parentheses on the left side, all but one must have a length. An axis cannot be
    given a length here if it is called ``bias``, ``dtype``, ``out``, ``scale`` or
    ``threads``.

Returns
-------
array
    `out` if given, else a new C-contiguous array of `dtype`, or else of the dtype of `x`,
    never a view: of the library of `x` if that has ``__dlpack__``, otherwise an ndarray.

Raises
------
ValueError
    For a pattern that is none, a shape or a length that does not fit it, or an `out`
    that does not fit. Also for more than 64 axes in the pattern, and where more than 16
    axes stay that do not merge: two axes merge where they follow each other in `x` as
    well as in the result. Nothing has been written then.
TypeError
    For an argument of the wrong kind, an array on a device or that NumPy cannot
    view, or an `out` of another dtype.

See Also
--------
repeat : The same with new axes.
copyto : A copy into an array that exists.

Notes
-----
The language is that of einops' ``rearrange``. The last 1,024 patterns at most are
remembered, so that each is read once; when there are more, all are forgotten.

Examples
--------
>>> import numpy as np
>>> import reblock
>>> x = np.arange(6).reshape(2, 3)
>>> reblock.rearrange(x, "h w -> w h")
array([[0, 3],
       [1, 4],
       [2, 5]])
>>> image = np.zeros((224, 224, 3), np.uint8)
>>> reblock.rearrange(image, "(h p) (w q) c -> (h w) (p q c)", p=16, q=16).shape
(196, 768)
>>> reblock.rearrange(np.zeros((2, 3, 4, 5)), "b ... c -> b c (...)").shape
(2, 5, 12)
)doc";

constexpr const char* repeat_doc =
    R"doc(repeat(x, pattern, /, *, dtype=None, scale=None, bias=None, out=None, threads=None, **axes_lengths)
--

Rearrange the axes of an array and repeat its elements along new ones.

``repeat(x, "h w -> (h 2) (w 2)")`` makes four pixels of each.

Parameters
----------
x : array_like
    As in `rearrange`.
pattern : str
    As in `rearrange`, but for the right side, which may have names that the left side
    does not have, and numbers: the elements are repeated along these axes.
dtype : dtype, optional
    The dtype of the result: bool, integer or floating point of up to 64 bits, bfloat16
    of ml_dtypes among them. That of `x` where it is not given.
scale, bias : float or {str: sequence of float}, optional
    How elements change: each becomes ``cast(x * scale + bias, dtype)`` on
    the way. A number, or ``{"c": numbers}`` with one for each index of the axis with
    this name; finite. The arithmetic is that of float32, or of float64 if one of the
    dtypes is float64 or an integer of 32 or 64 bits. The cast rounds to nearest even; to
    integers it saturates, and makes 0 of a NaN. With `dtype` alone, integers and bool
    are cast as by ``astype``.
out : array, optional
    As in `rearrange`.
threads : int, optional
    As in `rearrange`.
**axes_lengths : int
    As in `rearrange`; every new name must have a length.

Returns
-------
array
    `out` if given, else a new C-contiguous array of `dtype`, or else of the dtype of `x`:
    of the library of `x` if that has ``__dlpack__``, otherwise an ndarray.

Raises
------
ValueError, TypeError
    As `rearrange`.

See Also
--------
rearrange : The same without new axes.

Notes
-----
The language is that of einops' ``repeat``.

Examples
--------
>>> import numpy as np
>>> import reblock
>>> reblock.repeat(np.array([[1, 2]]), "h w -> (h 2) (w r)", r=3)
array([[1, 1, 1, 2, 2, 2],
       [1, 1, 1, 2, 2, 2]])
>>> reblock.repeat(np.zeros((4, 6)), "h w -> h w c", c=3).shape
(4, 6, 3)
)doc";

constexpr const char* copyto_doc =
    R"doc(copyto(dst, src, *, threads=None)
--

Copy one array into another, with broadcasting.

Parameters
----------
dst : array
    The array for the elements: an ndarray, or another library's array that can be
    written without copying. It has any dtype without Python objects, and any strides
    that do not overlap. Memory between its elements is not written.
src : array_like
    Shape of `dst`, or one that broadcasts to it; any strides. Elements of the same
    dtype are copied bit for bit, others are cast if that is safe in the sense of
    ``numpy.can_cast``. If it shares memory with `dst`, its elements are copied first;
    otherwise nothing of its size is allocated.
threads : int, optional
    How many threads may move the bytes, at least 1. The default is that of
    `get_num_threads`. A small call uses fewer.

Raises
------
ValueError
    If `src` does not broadcast to `dst`, if `dst` is read-only or overlaps itself, or
    where more than 16 axes do not merge. Nothing has been written then.
TypeError
    For an argument of the wrong kind, an array on a device or that NumPy cannot view,
    or a dtype that does not cast safely.
OverflowError
    For an int that the dtype of `dst` cannot hold.

See Also
--------
rearrange : A copy in another order.

Notes
-----
This is ``numpy.copyto`` with ``casting="safe"``. A cast of complex numbers, dates or text
is NumPy's, on one thread. A cast may make a signaling NaN quiet.

Examples
--------
>>> import numpy as np
>>> import reblock
>>> image = np.zeros((2, 3), np.int16)
>>> reblock.copyto(image.T, np.arange(2, dtype=np.int16))
>>> image
array([[0, 0, 0],
       [1, 1, 1]], dtype=int16)
)doc";

constexpr const char* pattern_axes_doc = R"doc(pattern_axes(pattern, use, rank)
--

The axes of a pattern of rearrange or repeat, for an array of so many axes.

Returns ``(names, left, right)``. Axes have numbers: ``names`` has the name of each, the
length of an axis that a number stands for, or ``"..."``. ``left`` and ``right`` have a
tuple for each axis of the array and of the result: the numbers of the axes that it is
made of.
)doc";

constexpr const char* pattern_lengths_doc =
    R"doc(pattern_lengths(pattern, use, shape, axes_lengths, scale, bias)
--

The length of each axis that pattern_axes gives, for an array of this shape. ValueError where
the pattern, scale or bias does not fit.
)doc";

// Patterns ----------------------------------------------------------------------------------------

/// A pattern that is kept by Python, so that it is not gone while a call uses it.
struct kept_pattern {
  py::object capsule;

  const axes_pattern& operator*() const {
    return *static_cast<const axes_pattern*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  }
};

kept_pattern read(py::handle pattern, pattern_use use) {
  auto made = std::make_unique<axes_pattern>(pattern, use);
  PyObject* capsule = PyCapsule_New(made.get(), nullptr, [](PyObject* self) {
    delete static_cast<axes_pattern*>(PyCapsule_GetPointer(self, nullptr));
  });
  if (capsule == nullptr) throw py::error_already_set();
  (void)made.release();
  return {py::reinterpret_steal<py::object>(capsule)};
}

/// The value of a key that is a str, or null.
py::object look_up(py::handle dict, py::handle key) {
  PyObject* found = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
  if (PyDict_GetItemRef(dict.ptr(), key.ptr(), &found) < 0) throw py::error_already_set();
#else
  found = PyDict_GetItemWithError(dict.ptr(), key.ptr());
  if (found == nullptr && PyErr_Occurred() != nullptr) throw py::error_already_set();
  Py_XINCREF(found);
#endif
  return py::reinterpret_steal<py::object>(found);
}

/// Reads a pattern, or finds it among those that were read before.
template <pattern_use Use>
kept_pattern remember(py::handle pattern) {
  constexpr py::ssize_t capacity = 1024;
  // A dict of Python's, which locks itself where there is no GIL. It lives as long as the process.
  static PyObject* const patterns = PyDict_New();
  if (!PyUnicode_CheckExact(pattern.ptr())) return read(pattern, Use);
  if (py::object found = look_up(patterns, pattern)) return {std::move(found)};
  kept_pattern made = read(pattern, Use);
  if (PyDict_Size(patterns) >= capacity) PyDict_Clear(patterns);
  if (PyDict_SetItem(patterns, pattern.ptr(), made.capsule.ptr()) != 0) throw py::error_already_set();
  return made;
}

/// The axis of a scale or a bias; ValueError where it has another length.
std::size_t factor_axis(const factor_argument& factor, const char* name, const axes_pattern& axes,
                        const axes_pattern::extents& extents) {
  if (!factor.axis) return array_moves::unnamed;
  const std::size_t axis = axes.axis_of(factor.axis, name);
  const std::int64_t length = extents.lengths[axis];
  if (factor.is_number || static_cast<std::int64_t>(factor.values.size()) == length) return axis;
  throw py::value_error(std::string(name) + " must have one number for each of the " +
                        std::to_string(length) + " along axis " + std::string(py::repr(factor.axis)) +
                        " of pattern " + axes.shown() + ", got " + std::to_string(factor.values.size()));
}

template <pattern_use Use>
py::object rearrange(py::handle x, py::handle pattern, py::handle dtype, py::handle scale, py::handle bias,
                     py::handle out, py::handle threads, const other_keywords& axes_lengths) {
  const py::array input = to_input(x, "x");
  std::optional<factor_arguments> factors;
  if (asks_for_conversion(dtype, scale, bias)) factors.emplace(scale, bias, factor_form::axes);
  const std::size_t wanted_threads = to_threads(threads);
  const std::array<py::handle, 7> arguments{x, pattern, dtype, scale, bias, out, threads};
  const call_key key(Use == pattern_use::rearrange ? planned_function::rearrange : planned_function::repeat,
                     input, arguments, axes_lengths, factors ? &*factors : nullptr);
  const auto run = [&](py::array& output, const detail::operation& plan) {
    const void* source = input.data();
    void* destination = output.mutable_data();
    const py::ssize_t bytes = output.nbytes();
    move_bytes(bytes, wanted_threads, [&](pool_executor executor) {
      if (out.is_none()) provide_pages(destination, bytes);
      plan.run(source, destination, executor);
    });
    return to_result(x, input, out, output);
  };
  // An output that may share memory with the input, or with itself, is checked anew in each call.
  const auto is_apart = [&](const py::array& output) { return out.is_none() || lie_apart(input, output); };

  if (const remembered_call* known = find_call(key); known != nullptr) {
    py::array output = to_output(out, known->dtype(input), array_shape(known->output_extents));
    check_result(x, input, out, output);
    known = find_call(key);  // once more, since the checks may have run any code of Python
    if (known != nullptr && is_apart(output)) return run(output, known->plan);
  }
  const auto conversion = to_conversion(dtype, factors, input);
  const kept_pattern kept = remember<Use>(pattern);
  const axes_pattern& axes = *kept;
  const array_shape shape(input);
  const axes_pattern::extents extents = axes.fit(shape, axes_lengths);
  const array_moves::converted_axes converted{
      conversion && conversion->converts() ? &*conversion : nullptr,
      factors ? factor_axis(factors->scale, "scale", axes, extents) : array_moves::unnamed,
      factors ? factor_axis(factors->bias, "bias", axes, extents) : array_moves::unnamed};
  const py::dtype result = conversion ? conversion->dtype() : input.dtype();
  const std::int64_t widest = conversion ? conversion->widest() : input.itemsize();
  py::array output = to_output(out, result, axes.result_shape(shape, extents, widest));
  check_result(x, input, out, output);
  array_moves moves = axes.moves(input, output, extents, {converted.scale, converted.bias});
  const std::optional<int> number = number_of(result, input);
  const bool is_held = number && (!factors || factors->are_held());
  if (key.complete() && is_held && output.ndim() <= static_cast<py::ssize_t>(max_rank) &&
      output.size() != 0 && is_apart(output)) {
    if (!out.is_none()) moves.check_output(output, "out");
    const auto plan = [&](detail::reducer&, const call_key*) { return moves.plan(input, converted); };
    return run(output, remember_call(key, extents_of(output), *number, plan).plan);
  }
  moves.run(input, output, "out", !out.is_none(), wanted_threads, converted);
  return to_result(x, input, out, output);
}

template <pattern_use Use>
void define_rearrange(py::module_& m, const char* name, const char* doc) {
  function<&rearrange<Use>>::define(m, name, doc, 2,
                                    {{"x"},
                                     {"pattern"},
                                     {"dtype", py::none()},
                                     {"scale", py::none()},
                                     {"bias", py::none()},
                                     {"out", py::none()},
                                     {"threads", py::none()}});
}

// For what is not done by the functions above: they leave no doubt about the meaning of a pattern.

pattern_use to_use(const std::string& use) {
  return use == "repeat" ? pattern_use::repeat : pattern_use::rearrange;
}

py::tuple pattern_axes(py::handle pattern, const std::string& use, std::size_t rank) {
  const kept_pattern kept = read(pattern, to_use(use));
  const axes_pattern& axes = *kept;
  const axes_pattern::extents of = axes.cover(rank);
  py::list names;
  for (const axes_pattern::axis& axis : axes.axes()) {
    names.append(axis.key ? axis.key : py::object(py::int_(axis.length)));
  }
  for (std::size_t k = 0; k < of.covered; ++k) names.append("...");
  const auto list = [&](const std::vector<axes_pattern::group>& groups) {
    py::list result;
    for (const axes_pattern::group& group : groups) {
      py::list numbers;
      for (const std::size_t i : group.axes) {
        if (i != axes_pattern::ellipsis) {
          numbers.append(i);
          continue;
        }
        for (std::size_t k = 0; k < of.covered; ++k) {
          const std::size_t number = axes.axes().size() + k;
          if (group.spreads) {
            result.append(py::make_tuple(number));
          } else {
            numbers.append(number);
          }
        }
      }
      if (!group.spreads) result.append(py::tuple(numbers));
    }
    return py::tuple(result);
  };
  return py::make_tuple(py::tuple(names), list(axes.left()), list(axes.right()));
}

py::tuple pattern_lengths(py::handle pattern, const std::string& use, const py::tuple& shape,
                          const py::dict& axes_lengths, py::handle scale, py::handle bias) {
  const kept_pattern kept = read(pattern, to_use(use));
  const axes_pattern& axes = *kept;
  if (shape.size() > array_shape::most_axes) throw py::value_error("shape must have at most 64 axes");
  array_shape extents;
  for (const py::handle extent : shape) extents.push_back(to_int(extent, "shape"));
  other_keywords given;
  for (const auto& [name, value] : axes_lengths) given.emplace_back(name, value);
  const axes_pattern::extents of = axes.fit(extents, given);
  const factor_arguments factors(scale, bias, factor_form::axes);
  (void)factor_axis(factors.scale, "scale", axes, of);
  (void)factor_axis(factors.bias, "bias", axes, of);
  py::list lengths;
  for (std::size_t i = 0; i < axes.axes().size(); ++i) lengths.append(of.lengths[i]);
  for (std::size_t k = 0; k < of.covered; ++k) lengths.append(extents[of.first_covered + k]);
  return py::tuple(lengths);
}

// Copies ------------------------------------------------------------------------------------------

bool can_cast_safely(const py::dtype& from, const py::dtype& to) {
  return py::module_::import("numpy").attr("can_cast")(from, to, "safe").cast<bool>();
}

[[noreturn]] void raise_unsafe(const py::dtype& from, const py::dtype& to) {
  throw py::type_error("src must have a dtype that casts safely to " + text(to) + ", got " + text(from));
}

/// Whether a value is a single one that is no array. NumPy casts a number of Python to any dtype that holds it.
bool is_number(py::handle src, const py::array& input) {
  return input.ndim() == 0 && !py::isinstance<py::array>(src) && !is_foreign(src);
}

/// Whether NumPy casts numbers of this type of Python to a dtype safely. A value that the dtype does not hold is an error then.
bool casts_safely(const PyTypeObject* number, const py::dtype& dtype) {
  const char* const kinds = number == &PyBool_Type    ? "biufc"
                            : number == &PyLong_Type  ? "iufc"
                            : number == &PyFloat_Type ? "fc"
                                                      : "";
  return std::strchr(kinds, dtype.kind()) != nullptr;
}

/// A number of Python as an array of one element of a dtype. Requires that casts_safely().
py::array to_element(py::handle number, const py::dtype& dtype) {
  PyObject* const made = py::detail::npy_api::get().PyArray_FromAny_(
      number.ptr(), py::dtype(dtype).release().ptr(), 0, 0, 0, nullptr);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::array>(made);
}

/// A number as an array of one element of another dtype.
py::array cast_number(py::handle src, const py::array& input, const py::dtype& dtype) {
  const auto numpy = py::module_::import("numpy");
  const py::array result = numpy.attr("empty")(py::tuple(), dtype);
  try {
    numpy.attr("copyto")(result, src, py::arg("casting") = "safe");
  } catch (py::error_already_set& why) {
    if (!why.matches(PyExc_TypeError)) throw;
    raise_unsafe(input.dtype(), dtype);
  }
  return result;
}

/// ValueError for a value that NumPy does not cast, such as text beyond ASCII. All values are cast into one element.
void check_values(const py::array& input, const py::dtype& dtype) {
  if (std::string_view("biufc").find(dtype.kind()) != std::string_view::npos) return;  // each number is cast
  const auto numpy = py::module_::import("numpy");
  const py::array element = numpy.attr("empty")(py::tuple(), dtype);
  const std::vector<py::ssize_t> shape(input.shape(), input.shape() + input.ndim());
  const std::vector<py::ssize_t> strides(shape.size(), 0);
  try {
    numpy.attr("copyto")(py::array(dtype, shape, strides, element.data(), element), input,
                         py::arg("casting") = "safe");
  } catch (py::error_already_set& why) {
    if (!why.matches(PyExc_ValueError)) throw;
    const std::string message =
        "src must have values that cast to " + text(dtype) + " (" + first_line(why) + ")";
    py::raise_from(why, PyExc_ValueError, message.c_str());
    throw py::error_already_set();
  }
}

/// Where the elements go by broadcasting; ValueError where `from` does not broadcast to `to`.
array_moves broadcast(const py::array& from, const py::array& to) {
  const array_shape source(from);
  const array_shape target(to);
  // Axes are counted from the last one. As in NumPy, axes of one element before all others do not matter.
  bool fits = true;
  for (std::size_t k = target.size(); k < source.size(); ++k)
    fits = fits && source[source.size() - 1 - k] == 1;
  array_moves moves;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const std::size_t behind = target.size() - i;
    const std::size_t at = source.size() - behind;
    const bool repeats = behind > source.size() || source[at] == 1;
    fits = fits && (repeats || source[at] == target[i]);
    if (fits && to.size() != 0) moves.add(target[i], repeats ? 0 : from.strides()[at], to.strides()[i]);
  }
  error why;
  if (!fits) {
    why << "src must broadcast to the shape of dst, " << target << ", got " << source;
  } else if (const std::size_t left = moves.merge(); left > max_view_rank) {
    why << "dst and src must have at most " << max_view_rank << " axes that do not merge, got " << left
        << ": shape " << target;
  } else {
    return moves;
  }
  throw py::value_error(why.message());
}

/// Copies where no moves convert: complex numbers, dates or text. Subclasses may have a copyto of their own, which is not asked.
void copy_by_numpy(const py::array& input, const py::array& output) {
  broadcast(input, output).check_output(output, "dst");
  const auto numpy = py::module_::import("numpy");
  const auto plain = numpy.attr("asarray");
  check_values(plain(input), output.dtype());
  numpy.attr("copyto")(plain(output), plain(input), py::arg("casting") = "safe");
}

/// Copies by a plan that the thread remembers, unless both arrays may share memory.
void copy_elements(py::handle src, const py::array& input, py::array& output, std::size_t threads) {
  const py::dtype from = input.dtype();
  const py::dtype to = output.dtype();
  const bool converts = !from.is(to) && !from.equal(to);
  const std::array<py::handle, 3> arguments{src, output, py::none()};
  const call_key key(planned_function::copyto, input, arguments);
  const bool is_kept = key.complete() && output.size() != 0 && lie_apart(input, output);
  const remembered_call* call = is_kept ? find_call(key) : nullptr;
  if (call != nullptr && (converts ? !call->dtype(input).equal(to) : !call->keeps_dtype())) call = nullptr;
  if (call == nullptr) {
    array_moves moves = broadcast(input, output);
    const factor_arguments none(py::none(), py::none(), factor_form::axes);
    std::optional<conversion_argument> conversion;
    if (converts) {
      if (!can_cast_safely(from, to)) raise_unsafe(from, to);
      if (!can_convert(from, to)) return copy_by_numpy(input, output);
      conversion.emplace(to, none, input);
    }
    const array_moves::converted_axes converted{conversion ? &*conversion : nullptr};
    const std::optional<int> number = converts ? number_of(to, input) : remembered_call::same_dtype;
    if (!is_kept || !number) return moves.run(input, output, "dst", true, threads, converted);
    moves.check_output(output, "dst");
    const auto plan = [&](detail::reducer&, const call_key*) { return moves.plan(input, converted); };
    call = &remember_call(key, {}, *number, plan);
  }
  const void* source = input.data();
  void* destination = output.mutable_data();
  move_bytes(output.nbytes(), threads,
             [&](pool_executor executor) { call->plan.run(source, destination, executor); });
}

py::object copyto(py::handle dst, py::handle src, py::handle threads) {
  py::array output = to_writeable(dst, "dst");
  (void)to_input(output, "dst");  // refuses Python objects
  const py::dtype dtype = output.dtype();
  const bool is_element = casts_safely(Py_TYPE(src.ptr()), dtype);
  py::array input = is_element ? to_element(src, dtype) : to_input(src, "src");
  const std::size_t wanted_threads = to_threads(threads);
  if (!is_element && !input.dtype().equal(dtype) && is_number(src, input)) {
    (void)broadcast(input, output);
    input = cast_number(src, input, dtype);
  }
  copy_elements(src, input, output, wanted_threads);
  return py::none();
}

}  // namespace

void register_rearrange(py::module_& m) {
  define_rearrange<pattern_use::rearrange>(m, "rearrange", rearrange_doc);
  define_rearrange<pattern_use::repeat>(m, "repeat", repeat_doc);
  function<&copyto>::define(m, "copyto", copyto_doc, 2, {{"dst"}, {"src"}, {"threads", py::none()}});
  m.def("pattern_axes", &pattern_axes, pattern_axes_doc, py::arg("pattern"), py::arg("use"), py::arg("rank"));
  m.def("pattern_lengths", &pattern_lengths, pattern_lengths_doc, py::arg("pattern"), py::arg("use"),
        py::arg("shape"), py::arg("axes_lengths"), py::arg("scale"), py::arg("bias"));
}

}  // namespace reblock::python
