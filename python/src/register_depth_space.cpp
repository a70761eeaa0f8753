// SPDX-License-Identifier: BSD-3-Clause
#include "arguments.hpp"
#include "axis_names.hpp"
#include "conversions.hpp"
#include "function.hpp"
#include "gate.hpp"
#include "planned_call.hpp"
#include "register.hpp"

namespace reblock::python {

namespace {

using detail::depth_space_direction;
using detail::depth_space_geometry;

constexpr const char* depth_to_space_doc =
    R"(depth_to_space(x, block_size, *, order='DCR', channel_axis=1, layout=None, out_layout=None, dtype=None, scale=None, bias=None, out=None, threads=None)
--

Move channels into blocks of space, the inverse of `space_to_depth`.

With block extents ``B_d`` and their product ``P``, the result of shape
``(N, C, S_1*B_1, ..., S_k*B_k)`` is

``result[n, c, s_1*B_1 + j_1, ..., s_k*B_k + j_k] == x[n, q, s_1, ..., s_k]``

where ``q = rank(j) * C + c`` in DCR order and ``q = c * P + rank(j)`` in CRD
order, and ``rank(j)`` is the row-major rank of ``j`` in the block.

Parameters
----------
x : array_like
    Shape ``(N, C*P, S_1, ..., S_k)``, with 1 to 6 spatial axes, or
    as `layout` says. Any dtype without
    Python objects; elements are moved bit for bit. Any strides. An ndarray, or
    another library's array on the CPU, is read without copying.
block_size : int or sequence of int
    Elements of a block, for all spatial axes or one for each; at least 1.
order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
    Whether the block position (DCR) or the channel (CRD) is the slow index in the
    channels of `x`. ONNX's and TensorFlow's default is DCR, PyTorch's
    ``pixel_shuffle`` is CRD.
channel_axis : int, default 1
    The axis of the channels in `x` and in the result; any axis but 0. A negative
    one counts from the end. Not beside a layout.
layout : str, optional
    The axes of `x`, a letter each: ``N`` the batch, ``C`` the channels, any other
    upper-case letter a spatial axis,
    such as "NHWC". An `x` without ``N`` is one item, without ``C`` it has one
    channel. "NC", then the spatial axes, where it is not given; without ``N`` if
    `out_layout` has none.
out_layout : str, optional
    The axes of the result, with the spatial letters of `layout` in the same order.
    Without ``N`` there has to be one item, without ``C`` one channel. As `layout`
    where it is not given.
dtype : dtype, optional
    The dtype of the result: bool, integer or floating point of up to 64 bits, bfloat16
    of ml_dtypes among them. That of `x` where it is not given.
scale, bias : float or sequence of float, optional
    How elements change: each becomes ``cast(x * scale + bias, dtype)`` on
    the way. A number, or one for each channel of the result; finite. The
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
    If the channels are not a multiple of ``P``, for a rank outside of 3 to 8, or
    for any other argument out of range. Nothing has been written then.
TypeError
    For an argument of the wrong kind, an array on a device or that NumPy cannot
    view, or an `out` of another dtype.

See Also
--------
depth_to_space_shape : The shape of the result, without data.

Notes
-----
The definition is that of DirectML's ``DML_DEPTH_TO_SPACE1_OPERATOR_DESC``, for any
number of spatial axes, rectangular blocks and any channel axis.

Examples
--------
>>> import numpy as np
>>> import reblock
>>> x = np.arange(8).reshape(1, 4, 1, 2)
>>> reblock.depth_to_space(x, 2)
array([[[[0, 2, 1, 3],
         [4, 6, 5, 7]]]])
>>> reblock.depth_to_space(np.zeros((1, 8, 2, 3)), 2).shape
(1, 2, 4, 6)
>>> reblock.depth_to_space(np.zeros((1, 2, 3, 12)), (2, 3), channel_axis=-1).shape
(1, 4, 9, 2)
>>> reblock.depth_to_space(np.zeros((12, 90, 160)), 2, layout="CHW", out_layout="HWC").shape
(180, 320, 3)
)";

constexpr const char* space_to_depth_doc =
    R"(space_to_depth(x, block_size, *, order='DCR', channel_axis=1, layout=None, out_layout=None, dtype=None, scale=None, bias=None, out=None, threads=None)
--

Move blocks of space into channels, the inverse of `depth_to_space`.

With block extents ``B_d`` and their product ``P``, the result of shape
``(N, C*P, S_1, ..., S_k)`` is

``result[n, q, s_1, ..., s_k] == x[n, c, s_1*B_1 + j_1, ..., s_k*B_k + j_k]``

where ``q = rank(j) * C + c`` in DCR order and ``q = c * P + rank(j)`` in CRD
order, and ``rank(j)`` is the row-major rank of ``j`` in the block.

Parameters
----------
x : array_like
    Shape ``(N, C, S_1*B_1, ..., S_k*B_k)``, with 1 to 6 spatial axes, or
    as `layout` says. Any dtype
    without Python objects; elements are moved bit for bit. Any strides. An
    ndarray, or another library's array on the CPU, is read without copying.
block_size : int or sequence of int
    Elements of a block, for all spatial axes or one for each; at least 1.
order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
    Whether the block position (DCR) or the channel (CRD) becomes the slow index
    in the channels of the result. ONNX's and TensorFlow's is DCR, PyTorch's
    ``pixel_unshuffle`` is CRD.
channel_axis : int, default 1
    The axis of the channels in `x` and in the result; any axis but 0. A negative
    one counts from the end. Not beside a layout.
layout : str, optional
    The axes of `x`, a letter each: ``N`` the batch, ``C`` the channels, any other
    upper-case letter a spatial axis,
    such as "HWC". An `x` without ``N`` is one item, without ``C`` it has one
    channel. "NC", then the spatial axes, where it is not given; without ``N`` if
    `out_layout` has none.
out_layout : str, optional
    The axes of the result, with the spatial letters of `layout` in the same order.
    Without ``N`` there has to be one item. As `layout` where it is not given, with
    ``C`` before the spatial axes if `layout` has none.
dtype : dtype, optional
    The dtype of the result: bool, integer or floating point of up to 64 bits, bfloat16
    of ml_dtypes among them. That of `x` where it is not given.
scale, bias : float or sequence of float, optional
    How elements change: each becomes ``cast(x * scale + bias, dtype)`` on
    the way. A number, or one for each channel of `x`; finite. The
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
    If a spatial extent is not a multiple of the block's, for a rank outside of 3
    to 8, or for any other argument out of range. Nothing has been written then.
TypeError
    For an argument of the wrong kind, an array on a device or that NumPy cannot
    view, or an `out` of another dtype.

See Also
--------
space_to_depth_shape : The shape of the result, without data.

Notes
-----
The definition is that of DirectML's ``DML_SPACE_TO_DEPTH1_OPERATOR_DESC``, for any
number of spatial axes, rectangular blocks and any channel axis.

Examples
--------
>>> import numpy as np
>>> import reblock
>>> x = np.arange(8).reshape(1, 1, 2, 4)
>>> reblock.space_to_depth(x, 2).reshape(4, 2)
array([[0, 2],
       [1, 3],
       [4, 6],
       [5, 7]])
>>> reblock.space_to_depth(np.zeros((1, 2, 4, 6)), 2).shape
(1, 8, 2, 3)
>>> reblock.space_to_depth(np.zeros((2, 1, 6)), 3).shape
(2, 3, 2)
>>> photo = np.zeros((400, 600, 3), np.uint8)
>>> reblock.space_to_depth(photo, 2, layout="HWC").shape
(200, 300, 12)
>>> reblock.space_to_depth(photo, 2, layout="HWC", out_layout="NCHW").shape
(1, 12, 200, 300)
)";

constexpr const char* depth_to_space_shape_doc =
    R"(depth_to_space_shape(shape, block_size, *, channel_axis=1, layout=None, out_layout=None)
--

Return the shape that `depth_to_space` gives, by the same rules, without data.

Parameters
----------
shape : sequence of int
    The shape of the input, ``(N, C*P, S_1, ..., S_k)``.
block_size : int or sequence of int
    As in `depth_to_space`.
channel_axis : int, default 1
    As in `depth_to_space`.
layout, out_layout : str, optional
    As in `depth_to_space`.

Returns
-------
tuple of int
    ``(N, C, S_1*B_1, ..., S_k*B_k)``.

Raises
------
ValueError, TypeError
    As `depth_to_space`.

Examples
--------
>>> import reblock
>>> reblock.depth_to_space_shape((1, 8, 2, 3), 2)
(1, 2, 4, 6)
)";

constexpr const char* space_to_depth_shape_doc =
    R"(space_to_depth_shape(shape, block_size, *, channel_axis=1, layout=None, out_layout=None)
--

Return the shape that `space_to_depth` gives, by the same rules, without data.

Parameters
----------
shape : sequence of int
    The shape of the input, ``(N, C, S_1*B_1, ..., S_k*B_k)``.
block_size : int or sequence of int
    As in `space_to_depth`.
channel_axis : int, default 1
    As in `space_to_depth`.
layout, out_layout : str, optional
    As in `space_to_depth`.

Returns
-------
tuple of int
    ``(N, C*P, S_1, ..., S_k)``.

Raises
------
ValueError, TypeError
    As `space_to_depth`.

Examples
--------
>>> import reblock
>>> reblock.space_to_depth_shape((1, 2, 4, 6), 2)
(1, 8, 2, 3)
)";

result<depth_space_geometry> geometry_of(depth_space_direction direction, const axis_values& shape,
                                         const char* name, std::int64_t itemsize, const call_axes& axes,
                                         py::handle block_size, depth_space_order order,
                                         py::handle channel_axis) {
  return depth_space_geometry::make(
      direction, axes.input.extents_of(shape, name, "layout"), to_spatial_values(block_size, "block_size"),
      order, axes.channel_axis(channel_axis), itemsize, axes.input.name_in_order(name).c_str());
}

/// `arguments` has `out` and `threads` too.
template <depth_space_direction Direction>
py::object move(py::handle x, py::handle block_size, py::handle order, py::handle channel_axis,
                py::handle layout, py::handle out_layout, py::handle dtype, py::handle scale, py::handle bias,
                py::handle /*out*/, py::handle /*threads*/, bound_arguments arguments) {
  const py::array input = to_input(x, "x");
  std::optional<factor_arguments> factors;
  if (asks_for_conversion(dtype, scale, bias)) factors.emplace(scale, bias, factor_form::channels);
  constexpr auto function = Direction == depth_space_direction::depth_to_space
                                ? planned_function::depth_to_space
                                : planned_function::space_to_depth;
  return run_planned(function, input, arguments, factors ? &*factors : nullptr, [&] {
    const auto conversion = to_conversion(dtype, factors, input);
    const std::int64_t itemsize = input.itemsize();
    const call_axes axes = depth_space_axes(layout, out_layout, Direction);
    const auto geometry =
        geometry_of(Direction, extents_of(input), "x", conversion ? conversion->widest() : itemsize, axes,
                    block_size, to_order(order), channel_axis);
    const axis_values extents = axes.output.shape_of(value_or_raise(geometry).output_extents());
    if (conversion) conversion->check_channels(geometry->channels());
    return described_call{extents, conversion ? conversion->dtype() : input.dtype(),
                          [axes, geometry = *geometry, itemsize, conversion](const operands& where) {
                            const detail::layout moves =
                                geometry.moves(axes.input.to_operator(where.input_strides, 0),
                                               axes.output.to_operator(where.output_strides, 0), itemsize);
                            return conversion ? conversion->plan(moves, itemsize)
                                              : detail::operation(detail::move_request{moves, itemsize});
                          }};
  });
}

template <depth_space_direction Direction>
py::object shape(py::handle shape, py::handle block_size, py::handle channel_axis, py::handle layout,
                 py::handle out_layout) {
  const call_axes axes = depth_space_axes(layout, out_layout, Direction);
  const auto geometry = geometry_of(Direction, to_axis_values(shape, "shape"), "shape", 1, axes, block_size,
                                    depth_space_order::depth_column_row, channel_axis);
  return to_tuple(axes.output.shape_of(value_or_raise(geometry).output_extents()));
}

template <depth_space_direction Direction>
void register_direction(py::module_& m, const char* name, const char* doc, const char* shape_name,
                        const char* shape_doc) {
  function<&move<Direction>>::define(m, name, doc, 2,
                                     {{"x"},
                                      {"block_size"},
                                      {"order", py::str("DCR")},
                                      {"channel_axis", default_channel_axis()},
                                      {"layout", py::none()},
                                      {"out_layout", py::none()},
                                      {"dtype", py::none()},
                                      {"scale", py::none()},
                                      {"bias", py::none()},
                                      {"out", py::none()},
                                      {"threads", py::none()}});
  function<&shape<Direction>>::define(m, shape_name, shape_doc, 2,
                                      {{"shape"},
                                       {"block_size"},
                                       {"channel_axis", default_channel_axis()},
                                       {"layout", py::none()},
                                       {"out_layout", py::none()}});
}

}  // namespace

void register_depth_space(py::module_& m) {
  register_direction<depth_space_direction::depth_to_space>(m, "depth_to_space", depth_to_space_doc,
                                                            "depth_to_space_shape", depth_to_space_shape_doc);
  register_direction<depth_space_direction::space_to_depth>(m, "space_to_depth", space_to_depth_doc,
                                                            "space_to_depth_shape", space_to_depth_shape_doc);
}

}  // namespace reblock::python
