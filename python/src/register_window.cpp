// SPDX-License-Identifier: BSD-3-Clause
#include "arguments.hpp"
#include "function.hpp"
#include "gate.hpp"
#include "register.hpp"
#include "threads.hpp"

namespace reblock::python {

namespace {

using detail::window_geometry;

constexpr const char* unfold_doc =
    R"(unfold(x, window_sizes, *, strides=1, dilations=1, start_padding=0, end_padding=0, channel_axis=1, out=None, threads=None)
--

Copy every position of a sliding window into a column (im2col).

With window extents ``K_d``, their product ``K``, block counts ``L_d`` and their
product ``L``, the result of shape ``(N, C*K, L)`` is

``result[n, c*K + rank(o), rank(l)] == x[n, c, p_1, ..., p_k]``

where ``p_d = l_d*strides_d + o_d*dilations_d - start_padding_d``, and 0 where a
``p_d`` lies outside of `x`. ``rank`` is the row-major rank. The block counts are
``L_d = (S_d + start_padding_d + end_padding_d - dilations_d*(K_d - 1) - 1) // strides_d + 1``.

Parameters
----------
x : array_like
    Shape ``(N, C, S_1, ..., S_k)``, with 1 to 6 spatial axes. Any dtype without
    Python objects; elements are moved bit for bit. Any strides; an ndarray, or
    another library's array on the CPU, is read where it lies.
window_sizes : int or sequence of int
    Elements of the window, for all spatial axes or one for each; at least 1. This
    holds for the following parameters too.
strides : int or sequence of int, default 1
    Elements from one block to the next; at least 1.
dilations : int or sequence of int, default 1
    Elements from one element of the window to the next; at least 1.
start_padding, end_padding : int or sequence of int, default 0
    Implicit zeros before and behind each spatial axis; at least 0. A zero is all
    bits 0 in any dtype.
channel_axis : int, default 1
    The axis of the channels in `x`; any axis but 0. A negative one counts from the
    end.
out : array, optional
    Where the result goes, an ndarray or another library's array that can be written
    where it lies: exactly the result's shape and dtype, any strides that do not
    overlap themselves. Memory between its elements is not written. If it shares
    memory with `x`, `x` is copied first; nothing else of the tensor's size is
    allocated but the result.
threads : int, optional
    How many threads may move the bytes, at least 1; where it is not given, as many as
    `get_num_threads` says. A small call uses fewer.

Returns
-------
array
    `out` if given, else a new C-contiguous array of the dtype of `x`: of the
    library of `x` if that has ``__dlpack__``, otherwise an ndarray.

Raises
------
ValueError
    If the window does not fit even once, for a rank outside of 3 to 8, or for any
    other argument out of range. Nothing has been written then.
TypeError
    For an argument of the wrong kind, an array on a device or that NumPy cannot
    view, or an `out` of another dtype.

See Also
--------
unfold_shape : The shape of the result, without data.
fold : The adjoint: sums the columns up again.

Notes
-----
The definition is that of DirectML's ``DML_UNFOLD_OPERATOR_DESC``. A remainder that
no whole window covers is left out.

Examples
--------
>>> import numpy as np
>>> import reblock
>>> reblock.unfold(np.arange(9).reshape(1, 1, 3, 3), 2)
array([[[0, 1, 3, 4],
        [1, 2, 4, 5],
        [3, 4, 6, 7],
        [4, 5, 7, 8]]])
>>> reblock.unfold(np.arange(1, 4).reshape(1, 1, 3), 3, start_padding=1)
array([[[0, 1],
        [1, 2],
        [2, 3]]])
>>> reblock.unfold(np.zeros((1, 3, 224, 224)), 16, strides=16).shape
(1, 768, 196)
)";

constexpr const char* fold_doc =
    R"(fold(columns, output_sizes, window_sizes, *, strides=1, dilations=1, start_padding=0, end_padding=0, channel_axis=1, out=None, threads=None)
--

Sum overlapping blocks up into an image (col2im), the adjoint of `unfold`.

With window extents ``K_d`` and their product ``K``, the result of shape
``(N, C, *output_sizes)`` is, at each position ``p``, the sum of

``columns[n, c*K + rank(o), rank(l)]``

over all window positions ``o`` and blocks ``l`` with
``l_d*strides_d + o_d*dilations_d - start_padding_d == p_d``, and 0 where there are
none. The terms are added in ascending order of ``o``, starting from zero.

Parameters
----------
columns : array_like
    Shape ``(N, C*K, L)``, where ``L`` is the number of blocks that `unfold` makes of
    `output_sizes`. Any strides; an ndarray, or another library's array on the
    CPU, is read where it lies. Integers wrap around, bool is a logical or, float16
    and bfloat16 are summed in float32 and rounded once, other floating point and
    complex dtypes in their own type.
output_sizes : int or sequence of int
    The spatial extents of the result, for all spatial axes or one for each. Where
    it is an int, the first sequence among the parameters that follow tells the
    number of spatial axes; without one there is a single axis.
window_sizes : int or sequence of int
    Elements of the window, for all spatial axes or one for each; at least 1. This
    holds for the following parameters too.
strides : int or sequence of int, default 1
    Elements from one block to the next; at least 1.
dilations : int or sequence of int, default 1
    Elements from one element of the window to the next; at least 1.
start_padding, end_padding : int or sequence of int, default 0
    Elements before and behind each spatial axis that are summed up by no one; at
    least 0.
channel_axis : int, default 1
    The axis of the channels in the result; any axis but 0. A negative one counts
    from the end.
out : array, optional
    Where the result goes, an ndarray or another library's array that can be written
    where it lies: exactly the result's shape and dtype, any strides that do not
    overlap themselves. Memory between its elements is not written. If it shares
    memory with `columns`, they are copied first; nothing else of the tensor's
    size is allocated but the result.
threads : int, optional
    How many threads may move the bytes, at least 1; where it is not given, as many as
    `get_num_threads` says. A small call uses fewer.

Returns
-------
array
    `out` if given, else a new C-contiguous array of the dtype of `columns`: of the
    library of `columns` if that has ``__dlpack__``, otherwise an ndarray.

Raises
------
ValueError
    If the rows or the block count of `columns` do not match, or for any other
    argument out of range. Nothing has been written then.
TypeError
    For an argument of the wrong kind, an array on a device or that NumPy cannot
    view, an `out` of another dtype, or a dtype that has no sum here: datetime64,
    structured, text, byte-swapped and others.

See Also
--------
fold_shape : The shape of the result, without data.

Notes
-----
The definition is that of DirectML's ``DML_FOLD_OPERATOR_DESC``. To undo `unfold`,
divide by the number of windows that cover each element: the fold of ones.

Examples
--------
>>> import numpy as np
>>> import reblock
>>> columns = np.ones((1, 4, 4), dtype=int)
>>> reblock.fold(columns, (3, 3), 2)
array([[[[1, 2, 1],
         [2, 4, 2],
         [1, 2, 1]]]])
>>> reblock.fold(np.zeros((1, 768, 196)), (224, 224), 16, strides=16).shape
(1, 3, 224, 224)
)";

constexpr const char* unfold_shape_doc =
    R"(unfold_shape(shape, window_sizes, *, strides=1, dilations=1, start_padding=0, end_padding=0, channel_axis=1)
--

Return the shape that `unfold` gives, by the same rules, without data.

Parameters
----------
shape : sequence of int
    The shape of the input, ``(N, C, S_1, ..., S_k)``.
window_sizes, strides, dilations, start_padding, end_padding : int or sequence of int
    As in `unfold`.
channel_axis : int, default 1
    As in `unfold`.

Returns
-------
tuple of int
    ``(N, C*K, L)``.

Raises
------
ValueError, TypeError
    As `unfold`.

Examples
--------
>>> import reblock
>>> reblock.unfold_shape((1, 3, 224, 224), 16, strides=16)
(1, 768, 196)
)";

constexpr const char* fold_shape_doc =
    R"(fold_shape(shape, output_sizes, window_sizes, *, strides=1, dilations=1, start_padding=0, end_padding=0, channel_axis=1)
--

Return the shape that `fold` gives, by the same rules, without data.

Parameters
----------
shape : sequence of int
    The shape of the columns, ``(N, C*K, L)``.
output_sizes, window_sizes : int or sequence of int
    As in `fold`.
strides, dilations, start_padding, end_padding : int or sequence of int
    As in `fold`.
channel_axis : int, default 1
    As in `fold`.

Returns
-------
tuple of int
    ``(N, C, *output_sizes)``, the channels at `channel_axis`.

Raises
------
ValueError, TypeError
    As `fold`.

Examples
--------
>>> import reblock
>>> reblock.fold_shape((1, 768, 196), (224, 224), 16, strides=16)
(1, 3, 224, 224)
)";

py::object unfold_array(py::handle x, py::handle window_sizes, py::handle strides, py::handle dilations,
                        py::handle start_padding, py::handle end_padding, py::handle channel_axis,
                        py::handle out, py::handle threads) {
  const py::array input = to_input(x, "x");
  const py::ssize_t itemsize = input.itemsize();  // known before the GIL is released: it counts references
  const auto geometry = window_geometry::make(
      extents_of(input), to_window(window_sizes, strides, dilations, start_padding, end_padding),
      to_int(channel_axis, "channel_axis"), itemsize, "x");
  return run(x, input, out, value_or_raise(geometry).columns(), to_threads(threads),
             [&](const operands& where, pool_executor executor) {
               detail::operation(geometry->moves(where.input_strides, where.output_strides, itemsize),
                                 itemsize)
                   .run(where.input, where.output, executor);
             });
}

py::object fold_array(py::handle columns, py::handle output_sizes, py::handle window_sizes,
                      py::handle strides, py::handle dilations, py::handle start_padding,
                      py::handle end_padding, py::handle channel_axis, py::handle out, py::handle threads) {
  const py::array input = to_input(columns, "columns");
  const detail::summation sum = summation_of(input.dtype(), "columns");
  const auto geometry = window_geometry::make_from_columns(
      extents_of(input), to_spatial_values(output_sizes, "output_sizes"),
      to_window(window_sizes, strides, dilations, start_padding, end_padding),
      to_int(channel_axis, "channel_axis"), input.itemsize(), "columns");
  return run(columns, input, out, value_or_raise(geometry).image(), to_threads(threads),
             [&](const operands& where, pool_executor executor) {
               detail::operation(geometry->sums(where.input_strides, where.output_strides, sum))
                   .run(where.input, where.output, executor);
             });
}

py::object unfold_shape(py::handle shape, py::handle window_sizes, py::handle strides, py::handle dilations,
                        py::handle start_padding, py::handle end_padding, py::handle channel_axis) {
  const auto geometry = window_geometry::make(
      to_axis_values(shape, "shape"), to_window(window_sizes, strides, dilations, start_padding, end_padding),
      to_int(channel_axis, "channel_axis"), 1, "shape");
  return to_tuple(value_or_raise(geometry).columns());
}

py::object fold_shape(py::handle shape, py::handle output_sizes, py::handle window_sizes, py::handle strides,
                      py::handle dilations, py::handle start_padding, py::handle end_padding,
                      py::handle channel_axis) {
  const auto geometry = window_geometry::make_from_columns(
      to_axis_values(shape, "shape"), to_spatial_values(output_sizes, "output_sizes"),
      to_window(window_sizes, strides, dilations, start_padding, end_padding),
      to_int(channel_axis, "channel_axis"), 1, "shape");
  return to_tuple(value_or_raise(geometry).image());
}

}  // namespace

void register_window(py::module_& m) {
  const py::int_ zero(0);
  const py::int_ one(1);
  function<&unfold_array>::define(m, "unfold", unfold_doc, 2,
                                  {{"x"},
                                   {"window_sizes"},
                                   {"strides", one},
                                   {"dilations", one},
                                   {"start_padding", zero},
                                   {"end_padding", zero},
                                   {"channel_axis", one},
                                   {"out", py::none()},
                                   {"threads", py::none()}});
  function<&fold_array>::define(m, "fold", fold_doc, 3,
                                {{"columns"},
                                 {"output_sizes"},
                                 {"window_sizes"},
                                 {"strides", one},
                                 {"dilations", one},
                                 {"start_padding", zero},
                                 {"end_padding", zero},
                                 {"channel_axis", one},
                                 {"out", py::none()},
                                 {"threads", py::none()}});
  function<&unfold_shape>::define(m, "unfold_shape", unfold_shape_doc, 2,
                                  {{"shape"},
                                   {"window_sizes"},
                                   {"strides", one},
                                   {"dilations", one},
                                   {"start_padding", zero},
                                   {"end_padding", zero},
                                   {"channel_axis", one}});
  function<&fold_shape>::define(m, "fold_shape", fold_shape_doc, 3,
                                {{"shape"},
                                 {"output_sizes"},
                                 {"window_sizes"},
                                 {"strides", one},
                                 {"dilations", one},
                                 {"start_padding", zero},
                                 {"end_padding", zero},
                                 {"channel_axis", one}});
}

}  // namespace reblock::python
