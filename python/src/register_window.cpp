// SPDX-License-Identifier: BSD-3-Clause
#include "arguments.hpp"
#include "axis_names.hpp"
#include "conversions.hpp"
#include "fold_options.hpp"
#include "function.hpp"
#include "gate.hpp"
#include "padding.hpp"
#include "planned_call.hpp"
#include "register.hpp"

namespace reblock::python {

namespace {

using detail::window_geometry;

constexpr const char* unfold_doc =
    R"(unfold(x, window_sizes, *, strides=1, dilations=1, start_padding=0, end_padding=0, padding_mode='constant', padding_value=0, order='CRD', blocks=None, channel_axis=1, layout=None, out_layout=None, dtype=None, scale=None, bias=None, out=None, threads=None)
--

Copy every position of a sliding window into a column (im2col).

With window extents ``K_d``, their product ``K``, counts of window positions ``L_d``
and their product ``L``, the result of shape ``(N, C*K, L)`` is

``result[n, c*K + rank(o), rank(l)] == x[n, c, p_1, ..., p_k]``

where ``p_d = l_d*strides_d + o_d*dilations_d - start_padding_d``. Where a ``p_d`` lies
outside of `x`, the result has what `padding_mode` says, by default 0. ``rank`` is the
row-major rank. The counts of positions are
``L_d = (S_d + start_padding_d + end_padding_d - dilations_d*(K_d - 1) - 1) // strides_d + 1``.

Parameters
----------
x : array_like
    Shape ``(N, C, S_1, ..., S_k)``, with 1 to 6 spatial axes, or as `layout` says.
    Any dtype without Python objects; elements are moved bit for bit. Any strides. An
    ndarray, or another library's array on the CPU, is read without copying.
window_sizes : int or sequence of int
    Elements of the window, for all spatial axes or one for each; at least 1. This
    holds for the following parameters too.
strides : int or sequence of int, default 1
    Elements from one window position to the next; at least 1.
dilations : int or sequence of int, default 1
    Elements from one element of the window to the next; at least 1.
start_padding, end_padding : int or sequence of int, default 0
    Elements of padding before and after each spatial axis; at least 0.
padding_mode : str or PaddingMode, default "constant"
    What the padding holds, in the words of ``numpy.pad``, which gives the same
    elements for padding of any size. Of ``a b c d`` with 3 elements on each side,
    "constant" makes ``v v v a b c d v v v`` with `padding_value` ``v``, "edge"
    ``a a a a b c d d d d``, "reflect" ``d c b a b c d c b a``, "symmetric"
    ``c b a a b c d d c b``, and "wrap" ``b c d a b c d a b c``. All but "constant" need
    an extent of at least 1 along axes with padding.
padding_value : number, default 0
    What "constant" finds; the result's dtype must hold it exactly. 0 is all bits 0 in any
    dtype. Other modes and dtypes without numbers take only 0.
order : {"CRD", "DCR"} or DepthSpaceOrder, default "CRD"
    Whether the channel (CRD) or the window's element (DCR) is the slow index in the
    rows of the result: row ``c*K + rank(o)`` or ``rank(o)*C + c``. DirectML's and
    PyTorch's is CRD; DCR is that of networks with the channels last.
blocks : slice, (start, stop), or a sequence of these, optional
    The window positions to copy: one range for all spatial axes, or for each axis a
    slice of step 1, (start, stop) or None. Negative numbers count from the end. The
    default is all positions. ``L`` is the product of the positions in the ranges.
channel_axis : int, default 1
    The axis of the channels in `x`; any axis but 0. A negative one counts from the
    end. Not beside a layout.
layout : str, optional
    The axes of `x`, a letter each: ``N`` the batch, ``C`` the channels, any other
    upper-case letter a spatial axis, such as "HWC". An `x` without ``N`` is one
    image, without ``C`` it has one channel. "NC", then the spatial axes, where it is
    not given.
out_layout : str, optional
    The axes of the result: ``C`` its rows, ``L`` the window positions, and ``N``.
    "NLC" gives one row for each position. The default is "NCL", or "CL" without a
    batch.
dtype : dtype, optional
    The dtype of the result: bool, integer or floating point of up to 64 bits, bfloat16
    of ml_dtypes among them. That of `x` where it is not given.
scale, bias : float or sequence of float, optional
    How elements change: each becomes ``cast(x * scale + bias, dtype)`` on
    the way. A number, or one for each channel of the image; finite. The
    arithmetic is that of float32, or of float64 if one of the dtypes is float64 or an
    integer of 32 or 64 bits. The cast rounds to nearest even; to integers it saturates,
    and makes 0 of a NaN. With `dtype` alone, integers and bool are cast as by
    ``astype``.
out : array, optional
    The array for the result: an ndarray, or another library's array that can be
    written without copying. It has exactly the result's shape and dtype, and any
    strides that do not overlap. Memory between its elements is not written. If it shares
    memory with `x`, `x` is copied first; nothing else of the tensor's size is
    allocated but the result.
threads : int, optional
    How many threads may move the bytes, at least 1. The default is that of
    `get_num_threads`. A small call uses fewer.

Returns
-------
array
    `out` if given, else a new C-contiguous array: of the
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
>>> reblock.unfold(np.arange(1, 4).reshape(1, 1, 3), 3, start_padding=1, padding_mode="reflect")
array([[[2, 1],
        [1, 2],
        [2, 3]]])
>>> reblock.unfold(np.zeros((1, 3, 224, 224)), 16, strides=16).shape
(1, 768, 196)
>>> photo = np.zeros((400, 600, 3), np.uint8)
>>> reblock.unfold(photo, 16, strides=16, layout="HWC", out_layout="LC").shape
(925, 768)
>>> reblock.unfold(photo, 3, layout="HWC", blocks=[(0, 10), None]).shape
(27, 5980)
>>> reblock.unfold(photo, 16, strides=16, layout="HWC", out_layout="LC", dtype=np.float32,
...                scale=1 / 255).dtype
dtype('float32')
)";

constexpr const char* fold_doc =
    R"(fold(columns, output_sizes, window_sizes, *, strides=1, dilations=1, start_padding=0, end_padding=0, padding_mode='constant', order='CRD', blocks=None, accumulate=False, reduction='sum', weights=None, dtype=None, channel_axis=1, layout=None, out_layout=None, out=None, threads=None)
--

Add columns up where windows overlap in an image (col2im), the adjoint of `unfold`.

With window extents ``K_d`` and their product ``K``, the result of shape
``(N, C, *output_sizes)`` is, at each position ``p``, the sum of

``columns[n, c*K + rank(o), rank(l)]``

over all elements ``o`` of the window and all window positions ``l`` with
``l_d*strides_d + o_d*dilations_d - start_padding_d == p_d``, and 0 where there are
none. The terms are added in ascending order of ``o``, starting from zero, or from
what `out` holds.

Parameters
----------
columns : array_like
    Shape ``(N, C*K, L)``, or as `layout` says; ``L`` is the number of window
    positions in `output_sizes`. Any strides. An ndarray, or another library's array on
    the CPU, is read without copying. Integers wrap around, bool is a logical or, float16
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
    Elements from one window position to the next; at least 1.
dilations : int or sequence of int, default 1
    Elements from one element of the window to the next; at least 1.
start_padding, end_padding : int or sequence of int, default 0
    Elements of padding before and after each spatial axis; at least 0.
padding_mode : str or PaddingMode, default "constant"
    What happens to the terms in the padding. "constant" leaves them out. With "edge",
    "reflect", "symmetric" and "wrap", they are terms of the elements that `unfold` takes
    with this mode, in every reduction. For one ``o``, an element's own term comes first,
    then those of the padding before the image, then those of the padding after it, axis
    by axis.
order : {"CRD", "DCR"} or DepthSpaceOrder, default "CRD"
    Whether the channel (CRD) or the window's element (DCR) is the slow index in the
    rows of `columns`: row ``c*K + rank(o)`` or ``rank(o)*C + c``. DirectML's and
    PyTorch's is CRD; DCR is that of networks with the channels last.
blocks : slice, (start, stop), or a sequence of these, optional
    The window positions that `columns` has, as in `unfold`. The default is all.
accumulate : bool, default False
    Whether the result begins from what `out` holds, which has to be given then: terms
    are added to it, or compared with it. What no window reaches is not touched. A mean
    cannot accumulate.
reduction : {"sum", "mean", "max", "min"}, default "sum"
    What becomes of the terms of an element. "mean" divides their sum by their number,
    or by the sum of their weights; 0 where this is 0. Integers and bool are averaged
    exactly and rounded to nearest, ties to even. "max" and "min" take no complex
    dtype; NaN wins, and of equal terms the first is kept.
weights : array_like, optional
    A weight for each element of the window, for "sum" and "mean": an array of the
    window's shape, or a list or tuple with one 1-D array for each spatial axis, whose
    products count. Finite and not negative. Terms are multiplied and added in float64
    (float16 and bfloat16 in float32), and rounded once; integers beyond their range
    become the nearest value. Those of a mean add up to at most 2^800 (float16 and
    bfloat16: 2^100); where they add up to less than its inverse, the mean is 0.
dtype : dtype, optional
    The dtype of the result and of the arithmetic. Terms are converted to it first. The
    dtype of `columns` where it is not given.
channel_axis : int, default 1
    The axis of the channels in the result; any axis but 0. A negative one counts
    from the end. Not beside a layout.
layout : str, optional
    The axes of `columns`, a letter each: ``C`` the rows, ``L`` the window positions,
    and ``N`` the batch if there is one, such as "NLC". "NCL" where it is not given, or "CL" if
    `out_layout` has no ``N``.
out_layout : str, optional
    The axes of the result: ``C`` the channels, ``N`` the batch, any other upper-case
    letter a spatial axis, such as "HWC". Without ``C`` there has to be one channel,
    without ``N`` one image. "NC", then the spatial axes, where it is not given;
    without ``N`` if `layout` has none.
out : array, optional
    The array for the result: an ndarray, or another library's array that can be
    written without copying. It has exactly the result's shape and dtype, and any
    strides that do not overlap. Memory between its elements is not written. If it shares
    memory with `columns`, they are copied first; nothing else of the tensor's
    size is allocated but the result.
threads : int, optional
    How many threads may move the bytes, at least 1. The default is that of
    `get_num_threads`. A small call uses fewer.

Returns
-------
array
    `out` if given, else a new C-contiguous array of `dtype`: of the library of
    `columns` if that has ``__dlpack__``, otherwise an ndarray.

Raises
------
ValueError
    If the rows or the window positions of `columns` do not match, or for any other
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
The definition is that of DirectML's ``DML_FOLD_OPERATOR_DESC``, which has sums alone.
``reduction="mean"`` undoes `unfold` wherever a window reaches, bit for bit in every
dtype. No array of counts is made.

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
>>> image = np.zeros((1, 1, 3, 3), dtype=int)
>>> for row in range(2):
...     part = [(row, row + 1), None]  # one row of windows
...     image = reblock.fold(columns[:, :, 2 * row : 2 * row + 2], (3, 3), 2, blocks=part,
...                          accumulate=True, out=image)
>>> image.tolist()
[[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]]
>>> photo = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
>>> patches = reblock.unfold(photo, 2, layout="HWC", out_layout="LC")
>>> mean = reblock.fold(patches, (4, 4), 2, layout="LC", out_layout="HWC", reduction="mean")
>>> np.array_equal(mean, photo)
True
>>> reblock.fold([[[1.0, 2], [5, 6]]], 3, 2, reduction="mean", weights=[1, 3])
array([[[1.  , 4.25, 6.  ]]])
>>> tokens = np.zeros((925, 768))
>>> reblock.fold(tokens, (400, 600), 16, strides=16, layout="LC", out_layout="HWC").shape
(400, 600, 3)
)";

constexpr const char* unfold_shape_doc =
    R"(unfold_shape(shape, window_sizes, *, strides=1, dilations=1, start_padding=0, end_padding=0, padding_mode='constant', blocks=None, channel_axis=1, layout=None, out_layout=None)
--

Return the shape that `unfold` gives, by the same rules, without data.

Parameters
----------
shape : sequence of int
    The shape of the input, ``(N, C, S_1, ..., S_k)``, or as `layout` says.
window_sizes, strides, dilations, start_padding, end_padding : int or sequence of int
    As in `unfold`.
padding_mode : str or PaddingMode, default "constant"
    As in `unfold`.
blocks : slice, (start, stop), or a sequence of these, optional
    As in `unfold`.
channel_axis : int, default 1
    As in `unfold`.
layout, out_layout : str, optional
    As in `unfold`.

Returns
-------
tuple of int
    ``(N, C*K, L)``, or as `out_layout` says.

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
    R"(fold_shape(shape, output_sizes, window_sizes, *, strides=1, dilations=1, start_padding=0, end_padding=0, padding_mode='constant', blocks=None, channel_axis=1, layout=None, out_layout=None)
--

Return the shape that `fold` gives, by the same rules, without data.

Parameters
----------
shape : sequence of int
    The shape of the columns, ``(N, C*K, L)``, or as `layout` says.
output_sizes, window_sizes : int or sequence of int
    As in `fold`.
strides, dilations, start_padding, end_padding : int or sequence of int
    As in `fold`.
padding_mode : str or PaddingMode, default "constant"
    As in `fold`.
blocks : slice, (start, stop), or a sequence of these, optional
    As in `fold`.
channel_axis : int, default 1
    As in `fold`.
layout, out_layout : str, optional
    As in `fold`.

Returns
-------
tuple of int
    ``(N, C, *output_sizes)``, the channels at `channel_axis`, or as `out_layout` says.

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

constexpr const char* same_padding_doc =
    R"(same_padding(extents, window_sizes, strides=1, dilations=1)
--

Return the padding that lets the window positions depend on the strides alone.

There are ``ceil(S_d / strides_d)`` window positions along each axis. Both sides together have
``max((ceil(S_d / strides_d) - 1)*strides_d + dilations_d*(K_d - 1) + 1 - S_d, 0)``
elements; of an odd number the end has one more.

Parameters
----------
extents : sequence of int
    The spatial extents ``S_d`` of the image, at least 1.
window_sizes : int or sequence of int
    Elements of the window, for all spatial axes or one for each; at least 1.
strides : int or sequence of int, default 1
    Elements from one window position to the next; at least 1.
dilations : int or sequence of int, default 1
    Elements from one element of the window to the next; at least 1.

Returns
-------
(start, end) : tuple of tuple of int
    Values for `start_padding` and `end_padding` of `unfold` and `fold`.

Raises
------
ValueError
    For an argument out of range, or not 1 to 6 extents.
TypeError
    For an argument of the wrong kind.

Notes
-----
This is TensorFlow's ``padding="SAME"``, and ``SAME_UPPER`` of ONNX.

Examples
--------
>>> import reblock
>>> start, end = reblock.same_padding((5, 6), 3, strides=2)
>>> start, end
((1, 0), (1, 1))
>>> reblock.unfold_shape((1, 1, 5, 6), 3, strides=2, start_padding=start, end_padding=end)
(1, 9, 9)
)";

/// The window of a function, which has more parameters than that of a descriptor.
window to_function_window(py::handle window_sizes, py::handle strides, py::handle dilations,
                          py::handle start_padding, py::handle end_padding, py::handle padding_mode,
                          py::handle order, py::handle blocks) {
  window result = to_window(window_sizes, strides, dilations, start_padding, end_padding);
  result.padding_mode = to_padding_mode(padding_mode);
  result.order = to_order(order);
  result.blocks = to_blocks(blocks);
  return result;
}

/// One value for each spatial axis that a layout names. ValueError where there is another number of them.
spatial_values to_output_sizes(py::handle output_sizes, const axis_names& image) {
  spatial_values sizes = to_spatial_values(output_sizes, "output_sizes");
  if (!image.given()) return sizes;
  const std::size_t axes = image.spatial().size();
  if (sizes.fits(axes)) return sizes.expand(axes);
  error why;
  why << "output_sizes must be one value, or one for each of the " << axes << " spatial axes of out_layout \""
      << image.letters() << "\", got " << sizes.values().given() << ": " << sizes;
  throw py::value_error(why.message());
}

result<window_geometry> unfold_geometry(const axis_values& shape, const char* name, std::int64_t itemsize,
                                        const call_axes& axes, const window& parameters,
                                        py::handle channel_axis) {
  return window_geometry::make(axes.input.extents_of(shape, name, "layout"), parameters,
                               axes.channel_axis(channel_axis), itemsize,
                               axes.input.name_in_order(name).c_str());
}

/// Also names the axes of the output, where they were not known yet.
result<window_geometry> fold_geometry(const axis_values& shape, const char* name, std::int64_t itemsize,
                                      call_axes& axes, py::handle output_sizes, const window& parameters,
                                      py::handle channel_axis) {
  auto geometry = window_geometry::make_from_columns(
      axes.input.extents_of(shape, name, "layout"), to_output_sizes(output_sizes, axes.output), parameters,
      axes.channel_axis(channel_axis), itemsize, axes.input.name_in_order(name).c_str());
  if (geometry && axes.given() && !axes.output.given()) {
    axes.output = axis_names::in_order(axes.input.has('N'), true, geometry->image().size() - 2);
  }
  return geometry;
}

py::object unfold_array(py::handle x, py::handle window_sizes, py::handle strides, py::handle dilations,
                        py::handle start_padding, py::handle end_padding, py::handle padding_mode,
                        py::handle padding_value, py::handle order, py::handle blocks,
                        py::handle channel_axis, py::handle layout, py::handle out_layout, py::handle dtype,
                        py::handle scale, py::handle bias, py::handle /*out*/, py::handle /*threads*/,
                        bound_arguments arguments) {
  const py::array input = to_input(x, "x");
  std::optional<factor_arguments> factors;
  if (asks_for_conversion(dtype, scale, bias)) factors.emplace(scale, bias, factor_form::channels);
  return run_planned(planned_function::unfold, input, arguments, factors ? &*factors : nullptr, [&] {
    const auto conversion = to_conversion(dtype, factors, input);
    const py::dtype result = conversion ? conversion->dtype() : input.dtype();
    const std::int64_t itemsize = input.itemsize();
    const call_axes axes = unfold_axes(layout, out_layout, static_cast<std::size_t>(input.ndim()));
    const window parameters = to_function_window(window_sizes, strides, dilations, start_padding, end_padding,
                                                 padding_mode, order, blocks);
    const auto geometry = unfold_geometry(
        extents_of(input), "x", conversion ? conversion->widest() : itemsize, axes, parameters, channel_axis);
    const padding_element padding = to_padding_value(padding_value, result);
    if (!padding.is_zero && parameters.padding_mode != padding_mode::constant) {
      throw py::value_error(std::string("padding_value must be 0 with padding_mode ") +
                            name(parameters.padding_mode) + ", got " + describe(padding_value) +
                            ": only CONSTANT finds a value");
    }
    value_or_raise(
        window_geometry::check_padding_value(padding.is_zero, parameters.padding_mode, result.itemsize()));
    const axis_values extents = axes.output.shape_of(value_or_raise(geometry).columns());
    if (conversion) conversion->check_channels(geometry->channels());
    return described_call{
        extents, result, [axes, geometry = *geometry, itemsize, padding, conversion](const operands& where) {
          const axis_values from = axes.input.to_operator(where.input_strides, 0);
          const axis_values to = axes.output.to_operator(where.output_strides, 0);
          if (conversion && conversion->converts()) {
            auto request = conversion->request(geometry.moves(from, to, itemsize));
            std::copy_n(padding.bytes.begin(), request.outside.size(), request.outside.begin());
            geometry.convert_padding(request, from);
            return detail::operation(request);
          }
          return detail::plan_unfold(geometry, from, to, itemsize,
                                     padding.is_zero ? nullptr : padding.bytes.data());
        }};
  });
}

constexpr std::size_t place_of_weights = 12;  // among the arguments of fold_array

py::object fold_array(py::handle columns, py::handle output_sizes, py::handle window_sizes,
                      py::handle strides, py::handle dilations, py::handle start_padding,
                      py::handle end_padding, py::handle padding_mode, py::handle order, py::handle blocks,
                      py::handle accumulate, py::handle reduction, py::handle weights, py::handle dtype,
                      py::handle channel_axis, py::handle layout, py::handle out_layout, py::handle out,
                      py::handle /*threads*/, bound_arguments arguments) {
  const py::array input = to_input(columns, "columns");
  const auto describe = [&](const fold_arguments& how) {
    call_axes axes = fold_axes(layout, out_layout);
    const window parameters = to_function_window(window_sizes, strides, dilations, start_padding, end_padding,
                                                 padding_mode, order, blocks);
    const auto geometry = fold_geometry(extents_of(input), "columns", input.itemsize(), axes, output_sizes,
                                        parameters, channel_axis);
    const axis_values image = axes.output.shape_of(value_or_raise(geometry).image());
    how.check(geometry->window_sizes());
    if (how.options().accumulate && out.is_none()) {
      throw py::value_error("out must be given with accumulate=True, which adds to what it holds, got None");
    }
    const auto plan = [axes, geometry = *geometry, sum = how.terms(), options = how.options(),
                       reduces = how.reducer() != nullptr,
                       by = how.reducer() != nullptr ? *how.reducer() : detail::reducer{}](
                          const operands& where, detail::reducer& reduce, const call_key* key) {
      reduce = by;
      if (key != nullptr && !by.weights.empty()) reduce.weights = key->held(by.weights);
      return detail::operation(geometry.sums(axes.input.to_operator(where.input_strides, 0),
                                             axes.output.to_operator(where.output_strides, 0), sum, options,
                                             reduces ? &reduce : nullptr));
    };
    return described_call{image, how.dtype(), plan};
  };
  if (weights.is_none()) {
    return run_planned(planned_function::fold, input, arguments, nullptr, [&] {
      return describe(fold_arguments(input.dtype(), accumulate, reduction, nullptr, dtype));
    });
  }
  const weight_arguments all(weights, out);
  const given_weights given{place_of_weights, all.values()};
  return run_planned(
      planned_function::fold, input, arguments, nullptr,
      [&] { return describe(fold_arguments(input.dtype(), accumulate, reduction, &all, dtype)); }, &given);
}

py::object unfold_shape(py::handle shape, py::handle window_sizes, py::handle strides, py::handle dilations,
                        py::handle start_padding, py::handle end_padding, py::handle padding_mode,
                        py::handle blocks, py::handle channel_axis, py::handle layout,
                        py::handle out_layout) {
  const axis_values extents = to_axis_values(shape, "shape");
  const call_axes axes = unfold_axes(layout, out_layout, extents.given());
  const window parameters = to_function_window(window_sizes, strides, dilations, start_padding, end_padding,
                                               padding_mode, py::str("CRD"), blocks);
  const auto geometry = unfold_geometry(extents, "shape", 1, axes, parameters, channel_axis);
  return to_tuple(axes.output.shape_of(value_or_raise(geometry).columns()));
}

py::object fold_shape(py::handle shape, py::handle output_sizes, py::handle window_sizes, py::handle strides,
                      py::handle dilations, py::handle start_padding, py::handle end_padding,
                      py::handle padding_mode, py::handle blocks, py::handle channel_axis, py::handle layout,
                      py::handle out_layout) {
  const axis_values extents = to_axis_values(shape, "shape");
  call_axes axes = fold_axes(layout, out_layout);
  const window parameters = to_function_window(window_sizes, strides, dilations, start_padding, end_padding,
                                               padding_mode, py::str("CRD"), blocks);
  const auto geometry = fold_geometry(extents, "shape", 1, axes, output_sizes, parameters, channel_axis);
  return to_tuple(axes.output.shape_of(value_or_raise(geometry).image()));
}

py::object same_padding_of(py::handle extents, py::handle window_sizes, py::handle strides,
                           py::handle dilations) {
  const auto found =
      try_same_padding(to_axis_values(extents, "extents"), to_spatial_values(window_sizes, "window_sizes"),
                       to_spatial_values(strides, "strides"), to_spatial_values(dilations, "dilations"));
  const padding& same = value_or_raise(found);
  return py::make_tuple(to_tuple(same.start), to_tuple(same.end));
}

}  // namespace

void register_window(py::module_& m) {
  const py::int_ zero(0);
  const py::int_ one(1);
  const py::str crd("CRD");
  const py::str constant("constant");
  function<&unfold_array>::define(m, "unfold", unfold_doc, 2,
                                  {{"x"},
                                   {"window_sizes"},
                                   {"strides", one},
                                   {"dilations", one},
                                   {"start_padding", zero},
                                   {"end_padding", zero},
                                   {"padding_mode", constant},
                                   {"padding_value", zero},
                                   {"order", crd},
                                   {"blocks", py::none()},
                                   {"channel_axis", default_channel_axis()},
                                   {"layout", py::none()},
                                   {"out_layout", py::none()},
                                   {"dtype", py::none()},
                                   {"scale", py::none()},
                                   {"bias", py::none()},
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
                                 {"padding_mode", constant},
                                 {"order", crd},
                                 {"blocks", py::none()},
                                 {"accumulate", py::bool_(false)},
                                 {"reduction", py::str("sum")},
                                 {"weights", py::none()},
                                 {"dtype", py::none()},
                                 {"channel_axis", default_channel_axis()},
                                 {"layout", py::none()},
                                 {"out_layout", py::none()},
                                 {"out", py::none()},
                                 {"threads", py::none()}});
  function<&unfold_shape>::define(m, "unfold_shape", unfold_shape_doc, 2,
                                  {{"shape"},
                                   {"window_sizes"},
                                   {"strides", one},
                                   {"dilations", one},
                                   {"start_padding", zero},
                                   {"end_padding", zero},
                                   {"padding_mode", constant},
                                   {"blocks", py::none()},
                                   {"channel_axis", default_channel_axis()},
                                   {"layout", py::none()},
                                   {"out_layout", py::none()}});
  function<&fold_shape>::define(m, "fold_shape", fold_shape_doc, 3,
                                {{"shape"},
                                 {"output_sizes"},
                                 {"window_sizes"},
                                 {"strides", one},
                                 {"dilations", one},
                                 {"start_padding", zero},
                                 {"end_padding", zero},
                                 {"padding_mode", constant},
                                 {"blocks", py::none()},
                                 {"channel_axis", default_channel_axis()},
                                 {"layout", py::none()},
                                 {"out_layout", py::none()}});
  function<&same_padding_of>::define(m, "same_padding", same_padding_doc, 4,
                                     {{"extents"}, {"window_sizes"}, {"strides", one}, {"dilations", one}});
}

}  // namespace reblock::python
