# SPDX-License-Identifier: BSD-3-Clause
#
# These are the types of the compiled module: functions of arrays, functions of shapes, DirectML's
# descriptions, and the number of threads. More than half of the lines are docstrings, which
# tools/stub_docstrings.py copies from the compiled module.
import enum
from collections.abc import Sequence
from typing import (
    Any,
    Literal,
    Protocol,
    Self,
    SupportsIndex,
    TypeAlias,
    TypeVar,
    final,
    overload,
)

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Buffer

__version__: str
compiler: str
instruction_set: str

def read_array(x: _Input, name: str) -> NDArray[Any]: ...
def check_output(x: NDArray[Any], name: str) -> None: ...
def hint(keyword: str, parameters: Sequence[str]) -> str: ...

# The name of an axis or None, and a number or numbers.
_ReadFactor: TypeAlias = tuple[str | None, float | tuple[float, ...]]

def read_factors(
    scale: object, bias: object, channels: SupportsIndex | None
) -> tuple[_ReadFactor | None, _ReadFactor | None]: ...

_Scalar = TypeVar("_Scalar", bound=np.generic)
_Result = TypeVar("_Result", bound=np.generic)

# An ndarray, or another library's array.
class _DLPackArray(Protocol):
    def __dlpack__(self) -> Any: ...

_Foreign = TypeVar("_Foreign", bound=_DLPackArray)
_Out = TypeVar("_Out", bound=_DLPackArray)
_Input: TypeAlias = ArrayLike | _DLPackArray
_Ints: TypeAlias = Sequence[SupportsIndex] | NDArray[np.integer[Any]]
_IntOrInts: TypeAlias = SupportsIndex | _Ints
# Before Python 3.12 a type checker does not know that an array is a buffer.
_Buffer: TypeAlias = Buffer | NDArray[Any]
_Order: TypeAlias = Literal["DCR", "CRD", 0, 1] | DepthSpaceOrder
_PaddingMode: TypeAlias = (
    Literal["constant", "edge", "reflect", "symmetric", "wrap", 0, 1, 2, 3, 4] | PaddingMode
)
_Reduction: TypeAlias = Literal["sum", "mean", "max", "min"]
_Range: TypeAlias = slice | tuple[SupportsIndex | None, SupportsIndex | None] | None
_Blocks: TypeAlias = _Range | Sequence[_Range | Sequence[SupportsIndex]] | NDArray[np.integer[Any]]

# PyTorch's dtype, for one, without importing it.
class _ForeignDType(Protocol):
    @property
    def is_floating_point(self) -> bool: ...

_Numbers: TypeAlias = Sequence[float] | NDArray[np.number[Any]] | _DLPackArray
_Factor: TypeAlias = float | np.number[Any] | _Numbers
_AxisFactor: TypeAlias = float | np.number[Any] | dict[str, Any]
_DType: TypeAlias = DataType | np.dtype[Any] | type[Any] | str | _ForeignDType

@overload
def depth_to_space(
    x: NDArray[_Scalar],
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Scalar]:
    """Move channels into blocks of space, the inverse of `space_to_depth`.

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
    """

@overload
def depth_to_space(
    x: NDArray[Any],
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: type[_Result] | np.dtype[_Result],
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Result]: ...
@overload
def depth_to_space(
    x: _Foreign,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: _DType | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> _Foreign: ...
@overload
def depth_to_space(
    x: ArrayLike,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: _DType | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[Any]: ...
@overload
def depth_to_space(
    x: _Input,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: _DType | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: _Out,
    threads: SupportsIndex | None = None,
) -> _Out: ...
@overload
def space_to_depth(
    x: NDArray[_Scalar],
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Scalar]:
    """Move blocks of space into channels, the inverse of `depth_to_space`.

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
    """

@overload
def space_to_depth(
    x: NDArray[Any],
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: type[_Result] | np.dtype[_Result],
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Result]: ...
@overload
def space_to_depth(
    x: _Foreign,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: _DType | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> _Foreign: ...
@overload
def space_to_depth(
    x: ArrayLike,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: _DType | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[Any]: ...
@overload
def space_to_depth(
    x: _Input,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: _DType | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: _Out,
    threads: SupportsIndex | None = None,
) -> _Out: ...
@overload
def unfold(
    x: NDArray[_Scalar],
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    padding_value: complex | np.generic = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Scalar]:
    """Copy every position of a sliding window into a column (im2col).

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
    """

@overload
def unfold(
    x: NDArray[Any],
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    padding_value: complex | np.generic = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: type[_Result] | np.dtype[_Result],
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Result]: ...
@overload
def unfold(
    x: _Foreign,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    padding_value: complex | np.generic = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: _DType | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> _Foreign: ...
@overload
def unfold(
    x: ArrayLike,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    padding_value: complex | np.generic = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: _DType | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[Any]: ...
@overload
def unfold(
    x: _Input,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    padding_value: complex | np.generic = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: _DType | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
    out: _Out,
    threads: SupportsIndex | None = None,
) -> _Out: ...
@overload
def fold(
    columns: NDArray[_Scalar],
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    order: _Order = "CRD",
    blocks: _Blocks = None,
    accumulate: bool = False,
    reduction: _Reduction = "sum",
    weights: ArrayLike | Sequence[ArrayLike] | None = None,
    dtype: None = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Scalar]:
    """Add columns up where windows overlap in an image (col2im), the adjoint of `unfold`.

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
    """

@overload
def fold(
    columns: NDArray[_Scalar],
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    order: _Order = "CRD",
    blocks: _Blocks = None,
    accumulate: bool = False,
    reduction: _Reduction = "sum",
    weights: ArrayLike | Sequence[ArrayLike] | None = None,
    dtype: DTypeLike,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[Any]: ...
@overload
def fold(
    columns: _Foreign,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    order: _Order = "CRD",
    blocks: _Blocks = None,
    accumulate: bool = False,
    reduction: _Reduction = "sum",
    weights: ArrayLike | Sequence[ArrayLike] | None = None,
    dtype: DTypeLike | None = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> _Foreign: ...
@overload
def fold(
    columns: ArrayLike,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    order: _Order = "CRD",
    blocks: _Blocks = None,
    accumulate: bool = False,
    reduction: _Reduction = "sum",
    weights: ArrayLike | Sequence[ArrayLike] | None = None,
    dtype: DTypeLike | None = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[Any]: ...
@overload
def fold(
    columns: _Input,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    order: _Order = "CRD",
    blocks: _Blocks = None,
    accumulate: bool = False,
    reduction: _Reduction = "sum",
    weights: ArrayLike | Sequence[ArrayLike] | None = None,
    dtype: DTypeLike | None = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    out: _Out,
    threads: SupportsIndex | None = None,
) -> _Out: ...
@overload
def rearrange(
    x: NDArray[_Scalar],
    pattern: str,
    /,
    *,
    dtype: None = None,
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
    **axes_lengths: SupportsIndex,
) -> NDArray[_Scalar]:
    """Split, reorder and join the axes of an array by a pattern in the language of einops.

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
    """

@overload
def rearrange(
    x: NDArray[Any],
    pattern: str,
    /,
    *,
    dtype: type[_Result] | np.dtype[_Result],
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
    **axes_lengths: SupportsIndex,
) -> NDArray[_Result]: ...
@overload
def rearrange(
    x: _Foreign,
    pattern: str,
    /,
    *,
    dtype: _DType | None = None,
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
    **axes_lengths: SupportsIndex,
) -> _Foreign: ...
@overload
def rearrange(
    x: ArrayLike,
    pattern: str,
    /,
    *,
    dtype: _DType | None = None,
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
    **axes_lengths: SupportsIndex,
) -> NDArray[Any]: ...
@overload
def rearrange(
    x: _Input,
    pattern: str,
    /,
    *,
    dtype: _DType | None = None,
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    out: _Out,
    threads: SupportsIndex | None = None,
    **axes_lengths: SupportsIndex,
) -> _Out: ...
@overload
def repeat(
    x: NDArray[_Scalar],
    pattern: str,
    /,
    *,
    dtype: None = None,
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
    **axes_lengths: SupportsIndex,
) -> NDArray[_Scalar]:
    """Rearrange the axes of an array and repeat its elements along new ones.

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
    """

@overload
def repeat(
    x: NDArray[Any],
    pattern: str,
    /,
    *,
    dtype: type[_Result] | np.dtype[_Result],
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
    **axes_lengths: SupportsIndex,
) -> NDArray[_Result]: ...
@overload
def repeat(
    x: _Foreign,
    pattern: str,
    /,
    *,
    dtype: _DType | None = None,
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
    **axes_lengths: SupportsIndex,
) -> _Foreign: ...
@overload
def repeat(
    x: ArrayLike,
    pattern: str,
    /,
    *,
    dtype: _DType | None = None,
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    out: None = None,
    threads: SupportsIndex | None = None,
    **axes_lengths: SupportsIndex,
) -> NDArray[Any]: ...
@overload
def repeat(
    x: _Input,
    pattern: str,
    /,
    *,
    dtype: _DType | None = None,
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    out: _Out,
    threads: SupportsIndex | None = None,
    **axes_lengths: SupportsIndex,
) -> _Out: ...
def copyto(
    dst: NDArray[Any] | _DLPackArray, src: _Input, *, threads: SupportsIndex | None = None
) -> None:
    """Copy one array into another, with broadcasting.

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
    """

# The names of axes, and the numbers of those in each axis of an array and of the result.
_Axes: TypeAlias = tuple[
    tuple[str | int, ...], tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]
]
_Use: TypeAlias = Literal["rearrange", "repeat"]

def pattern_axes(pattern: str, use: _Use, rank: int) -> _Axes: ...
def pattern_lengths(
    pattern: str,
    use: _Use,
    shape: tuple[int, ...],
    axes_lengths: dict[str, SupportsIndex],
    scale: object,
    bias: object,
) -> tuple[int, ...]: ...
def depth_to_space_shape(
    shape: _Ints,
    block_size: _IntOrInts,
    *,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
) -> tuple[int, ...]:
    """Return the shape that `depth_to_space` gives, by the same rules, without data.

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
    """

def space_to_depth_shape(
    shape: _Ints,
    block_size: _IntOrInts,
    *,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
) -> tuple[int, ...]:
    """Return the shape that `space_to_depth` gives, by the same rules, without data.

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
    """

def unfold_shape(
    shape: _Ints,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
) -> tuple[int, ...]:
    """Return the shape that `unfold` gives, by the same rules, without data.

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
    """

def fold_shape(
    shape: _Ints,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
) -> tuple[int, ...]:
    """Return the shape that `fold` gives, by the same rules, without data.

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
    """

def same_padding(
    extents: _Ints,
    window_sizes: _IntOrInts,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding that lets the window positions depend on the strides alone.

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
    """

def _resolve_layouts(
    operator: str, layout: str | None, out_layout: str | None, spatial_axes: int
) -> tuple[str, str] | None: ...

class DataType(enum.IntEnum):
    """A DataType is the type of a tensor's elements: DirectML's DML_TENSOR_DATA_TYPE."""

    UNKNOWN = 0
    FLOAT32 = 1
    FLOAT16 = 2
    UINT32 = 3
    UINT16 = 4
    UINT8 = 5
    INT32 = 6
    INT16 = 7
    INT8 = 8
    FLOAT64 = 9
    UINT64 = 10
    INT64 = 11
    UINT4 = 12
    INT4 = 13
    @staticmethod
    def from_onnx(number: SupportsIndex) -> DataType:
        """Return the data type that has this number in ONNX.

        Parameters
        ----------
        number : int
            A value of ``onnx.TensorProto.DataType``.

        Returns
        -------
        DataType
            DirectML's type of the same elements.

        Raises
        ------
        ValueError
            For a type that DirectML does not have.
        TypeError
            For anything but an int.

        Examples
        --------
        >>> import reblock
        >>> reblock.DataType.from_onnx(7).name  # onnx.TensorProto.INT64
        'INT64'
        """

class DepthSpaceOrder(enum.IntEnum):
    """A DepthSpaceOrder names the slow index of the channels: DirectML's DML_DEPTH_SPACE_ORDER."""

    DEPTH_COLUMN_ROW = 0
    COLUMN_ROW_DEPTH = 1

class PaddingMode(enum.IntEnum):
    """A PaddingMode says what `unfold` finds outside of an image: DML_PADDING_MODE, and WRAP."""

    CONSTANT = 0
    EDGE = 1
    REFLECTION = 2
    SYMMETRIC = 3
    WRAP = 4

class FeatureLevel(enum.IntEnum):
    """A FeatureLevel says what a version of DirectML can do: DirectML's DML_FEATURE_LEVEL."""

    LEVEL_1_0 = 0x1000
    LEVEL_2_0 = 0x2000
    LEVEL_2_1 = 0x2100
    LEVEL_3_0 = 0x3000
    LEVEL_3_1 = 0x3100
    LEVEL_4_0 = 0x4000
    LEVEL_4_1 = 0x4100
    LEVEL_5_0 = 0x5000
    LEVEL_5_1 = 0x5100
    LEVEL_5_2 = 0x5200
    LEVEL_6_0 = 0x6000
    LEVEL_6_1 = 0x6100
    LEVEL_6_2 = 0x6200
    LEVEL_6_3 = 0x6300
    LEVEL_6_4 = 0x6400

@final
class TensorDesc:
    """A TensorDesc describes what a buffer holds, as DirectML's buffer tensor.

    Parameters
    ----------
    data_type : DataType, dtype or str
        The type of the elements: ``DataType.FLOAT32``, ``"float32"``, ``np.float32``,
        ``torch.float32``. A plain number is refused, since DirectML's and ONNX's differ:
        `DataType` takes the one, `DataType.from_onnx` the other.
    sizes : sequence of int
        1 to 8 extents of at least 1, at most ``2**32 - 1`` elements in all.
    strides : sequence of int, optional
        In elements, not bytes; one for each size, not negative. 0 repeats an input,
        strides beyond packed leave gaps. By default packed in C order.

    Raises
    ------
    ValueError
        If no tensor can be as described.
    TypeError
        For an argument of the wrong kind.

    Notes
    -----
    The definition is that of DirectML's ``DML_BUFFER_TENSOR_DESC``.

    Examples
    --------
    >>> import reblock
    >>> reblock.TensorDesc("float32", (1, 8, 2, 3)).total_size_in_bytes
    192
    >>> reblock.TensorDesc("uint8", (2, 3), (4, 1))
    reblock.TensorDesc(reblock.DataType.UINT8, (2, 3), strides=(4, 1))
    """

    def __new__(cls, data_type: _DType, sizes: _Ints, strides: _Ints | None = None) -> Self: ...
    @property
    def data_type(self) -> DataType:
        """The type of the elements."""
    @property
    def sizes(self) -> tuple[int, ...]:
        """The extents."""
    @property
    def strides(self) -> tuple[int, ...] | None:
        """In elements; None if packed."""
    @property
    def total_size_in_bytes(self) -> int:
        """The bytes that a buffer of the tensor must have, a multiple of 4."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...

@final
class DepthToSpaceDesc:
    """A DepthToSpaceDesc describes a `depth_to_space` for `compile`. Its channels are axis 1.

    Parameters
    ----------
    input : TensorDesc
        Sizes ``(N, C*P, S_1, ..., S_k)``.
    output : TensorDesc, optional
        Sizes ``(N, C, S_1*B_1, ..., S_k*B_k)`` of the same data type; packed if left out.
    block_size : int or sequence of int
        As in `depth_to_space`.
    order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
        As in `depth_to_space`.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind, an unknown order; all else is for `compile`.

    Notes
    -----
    DirectML's ``DML_DEPTH_TO_SPACE1_OPERATOR_DESC``.

    Examples
    --------
    >>> import reblock
    >>> x = reblock.TensorDesc(reblock.DataType.UINT32, (1, 8, 2, 3))
    >>> reblock.compile(reblock.DepthToSpaceDesc(x, block_size=2)).output.sizes
    (1, 2, 4, 6)
    """

    def __new__(
        cls,
        input: TensorDesc,
        output: TensorDesc | None = None,
        *,
        block_size: _IntOrInts,
        order: _Order = "DCR",
    ) -> Self: ...
    @property
    def input(self) -> TensorDesc:
        """The tensor to read from."""
    @property
    def output(self) -> TensorDesc | None:
        """The tensor to write to, or None."""
    @property
    def block_size(self) -> int | tuple[int, ...]:
        """Elements of a block."""
    @property
    def order(self) -> DepthSpaceOrder:
        """The order of the channels."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...

@final
class SpaceToDepthDesc:
    """A SpaceToDepthDesc describes a `space_to_depth` for `compile`. Its channels are axis 1.

    Parameters
    ----------
    input : TensorDesc
        Sizes ``(N, C, S_1*B_1, ..., S_k*B_k)``.
    output : TensorDesc, optional
        Sizes ``(N, C*P, S_1, ..., S_k)`` of the same data type; packed if left out.
    block_size : int or sequence of int
        As in `space_to_depth`.
    order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
        As in `space_to_depth`.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind, an unknown order; all else is for `compile`.

    Notes
    -----
    DirectML's ``DML_SPACE_TO_DEPTH1_OPERATOR_DESC``.

    Examples
    --------
    >>> import reblock
    >>> x = reblock.TensorDesc(reblock.DataType.UINT32, (1, 2, 4, 6))
    >>> reblock.compile(reblock.SpaceToDepthDesc(x, block_size=2)).output.sizes
    (1, 8, 2, 3)
    """

    def __new__(
        cls,
        input: TensorDesc,
        output: TensorDesc | None = None,
        *,
        block_size: _IntOrInts,
        order: _Order = "DCR",
    ) -> Self: ...
    @property
    def input(self) -> TensorDesc:
        """The tensor to read from."""
    @property
    def output(self) -> TensorDesc | None:
        """The tensor to write to, or None."""
    @property
    def block_size(self) -> int | tuple[int, ...]:
        """Elements of a block."""
    @property
    def order(self) -> DepthSpaceOrder:
        """The order of the channels."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...

@final
class UnfoldDesc:
    """An UnfoldDesc describes an `unfold` for `compile`. Its channels are axis 1.

    Parameters
    ----------
    input : TensorDesc
        Sizes ``(N, C, S_1, ..., S_k)``.
    output : TensorDesc, optional
        Sizes ``(N, C*K, L)`` of the same data type, with leading sizes of 1 up to the
        rank of `input` if that is wanted; packed and of rank 3 if left out.
    window_sizes : int or sequence of int
        As in `unfold`.
    strides, dilations, start_padding, end_padding : int or sequence of int, optional
        As in `unfold`; by default 1 and 0.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind; all else is for `compile`.

    Notes
    -----
    DirectML's ``DML_UNFOLD_OPERATOR_DESC``.

    Examples
    --------
    >>> import reblock
    >>> x = reblock.TensorDesc(reblock.DataType.FLOAT32, (1, 1, 5, 5))
    >>> reblock.compile(reblock.UnfoldDesc(x, window_sizes=(3, 3))).output.sizes
    (1, 9, 9)
    """

    def __new__(
        cls,
        input: TensorDesc,
        output: TensorDesc | None = None,
        *,
        window_sizes: _IntOrInts,
        strides: _IntOrInts | None = None,
        dilations: _IntOrInts | None = None,
        start_padding: _IntOrInts | None = None,
        end_padding: _IntOrInts | None = None,
    ) -> Self: ...
    @property
    def input(self) -> TensorDesc:
        """The tensor to read from."""
    @property
    def output(self) -> TensorDesc | None:
        """The tensor to write to, or None."""
    @property
    def window_sizes(self) -> int | tuple[int, ...]:
        """Elements of the window."""
    @property
    def strides(self) -> int | tuple[int, ...]:
        """Elements from one window position to the next."""
    @property
    def dilations(self) -> int | tuple[int, ...]:
        """Elements from one element of the window to the next."""
    @property
    def start_padding(self) -> int | tuple[int, ...]:
        """Zeros before each spatial axis."""
    @property
    def end_padding(self) -> int | tuple[int, ...]:
        """Zeros after each spatial axis."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...

@final
class FoldDesc:
    """A FoldDesc describes a `fold` for `compile`. Its channels are axis 1.

    Parameters
    ----------
    input : TensorDesc
        Sizes ``(N, C*K, L)``, with leading sizes of 1 up to the rank of `output` if that
        is wanted.
    output : TensorDesc
        Sizes ``(N, C, S_1, ..., S_k)`` of the same data type.
    window_sizes : int or sequence of int
        As in `fold`.
    strides, dilations, start_padding, end_padding : int or sequence of int, optional
        As in `fold`; by default 1 and 0.

    Raises
    ------
    TypeError, ValueError
        For an argument of the wrong kind; all else is for `compile`.

    Notes
    -----
    DirectML's ``DML_FOLD_OPERATOR_DESC``.

    Examples
    --------
    >>> import reblock
    >>> columns = reblock.TensorDesc(reblock.DataType.FLOAT32, (1, 9, 4))
    >>> image = reblock.TensorDesc(reblock.DataType.FLOAT32, (1, 1, 4, 4))
    >>> reblock.compile(reblock.FoldDesc(columns, image, window_sizes=3)).input.sizes
    (1, 9, 4)
    """

    def __new__(
        cls,
        input: TensorDesc,
        output: TensorDesc,
        *,
        window_sizes: _IntOrInts,
        strides: _IntOrInts | None = None,
        dilations: _IntOrInts | None = None,
        start_padding: _IntOrInts | None = None,
        end_padding: _IntOrInts | None = None,
    ) -> Self: ...
    @property
    def input(self) -> TensorDesc:
        """The tensor to read from."""
    @property
    def output(self) -> TensorDesc:
        """The tensor to write to."""
    @property
    def window_sizes(self) -> int | tuple[int, ...]:
        """Elements of the window."""
    @property
    def strides(self) -> int | tuple[int, ...]:
        """Elements from one window position to the next."""
    @property
    def dilations(self) -> int | tuple[int, ...]:
        """Elements from one element of the window to the next."""
    @property
    def start_padding(self) -> int | tuple[int, ...]:
        """Zeros before each spatial axis."""
    @property
    def end_padding(self) -> int | tuple[int, ...]:
        """Zeros after each spatial axis."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...

@final
class CompiledOperator:
    """A CompiledOperator holds an operator that `compile` has checked and planned.

    It is a value. No call changes it, so that any number of threads may use it at once.
    Operators of equal descriptions are equal. One that is pickled is compiled again
    where it arrives, for the processor there.

    See Also
    --------
    compile : Makes it.
    """

    @property
    def desc(self) -> DepthToSpaceDesc | SpaceToDepthDesc | UnfoldDesc | FoldDesc:
        """What was compiled, with the output filled in."""
    @property
    def input(self) -> TensorDesc:
        """What is read: a TensorDesc."""
    @property
    def output(self) -> TensorDesc:
        """What is written: a TensorDesc."""
    @overload
    def __call__(
        self, x: NDArray[_Scalar], out: None = None, threads: SupportsIndex | None = None
    ) -> NDArray[_Scalar]:
        """Run on arrays of the described type and sizes, whatever their strides.

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
        """
    @overload
    def __call__(
        self, x: _Foreign, out: None = None, threads: SupportsIndex | None = None
    ) -> _Foreign: ...
    @overload
    def __call__(
        self, x: ArrayLike, out: None = None, threads: SupportsIndex | None = None
    ) -> NDArray[Any]: ...
    @overload
    def __call__(self, x: _Input, out: _Out, threads: SupportsIndex | None = None) -> _Out: ...
    def dispatch(self, input_buffer: _Buffer, output_buffer: _Buffer) -> None:
        """Run on raw buffers that are laid out as the descriptors say.

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
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: Any, /) -> Self: ...

def compile(
    desc: DepthToSpaceDesc | SpaceToDepthDesc | UnfoldDesc | FoldDesc,
    *,
    feature_level: FeatureLevel | int | None = None,
) -> CompiledOperator:
    """Check and plan an operator once, to run it many times.

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
    """

def get_num_threads() -> int:
    """Return how many threads a call may use without the argument `threads`.

    At first, this is the number of processors that the process may run on at once, within
    its affinity and its control groups. The environment variable ``REBLOCK_NUM_THREADS``
    replaces the number if it is set when Python imports reblock.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> import reblock
    >>> reblock.get_num_threads() >= 1
    True
    """

def set_num_threads(threads: SupportsIndex) -> None:
    """Set how many threads a call may use without the argument `threads`.

    A small call uses fewer, because waking a thread takes as long as moving some hundred
    kilobytes. No result depends on the number of threads.

    Parameters
    ----------
    threads : int
        At least 1; more than 256 are as good as 256.

    Raises
    ------
    ValueError, TypeError
        For anything but an int from 1 on.

    Examples
    --------
    >>> import reblock
    >>> before = reblock.get_num_threads()
    >>> reblock.set_num_threads(2)
    >>> reblock.get_num_threads()
    2
    >>> reblock.set_num_threads(before)
    """
