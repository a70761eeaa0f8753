# SPDX-License-Identifier: BSD-3-Clause
"""Run the four operators on PyTorch's tensors on the CPU, as custom operators of PyTorch.

`depth_to_space`, `space_to_depth`, `unfold` and `fold` take the arguments of the functions of the
same names in `reblock`, except ``out`` and ``accumulate``, and return tensors. They have gradients
of any order, because each operator is linear and the adjoint of another one. They work under
``torch.compile``, ``torch.export``, ``torch.vmap``, ``torch.func``, ``torch.fx`` and
``torch.jit.trace``, and do not change their input. ``torch.jit.script`` and
``torch.func.functionalize`` are not supported.

`fold` with a reduction, weights or a dtype does not work under ``torch.export``,
``torch.jit.trace`` and ``torch.func.linearize``, which get an error. ``torch.compile`` does not
compile such a call, and refuses it with ``fullgraph=True``. The same holds for forward mode of
every operator.

Elements of any dtype are moved bit for bit. `fold` adds: it takes bool (logical or), integers
(which wrap around), floating point (float16 and bfloat16 are summed in float32 and rounded once),
complex64 and complex128.

`rearrange` and `repeat` take patterns, and have the same properties.

`dtype`, `scale` and `bias` convert elements. A plain call converts and moves in one pass. If
PyTorch records the call, for gradients, transforms or the compiler, it records two operators: one
converts, the other moves. Results and errors are the same.

An operator reads a tensor of any strides without copying. Each result is a new tensor, and shares
no memory with the input. Its dtype is that of the input unless `dtype` is given. Nothing else of
its size is allocated. NumPy allocates the memory of a result, so its storage cannot be resized. The
input is copied first in two cases: if PyTorch has delayed its conjugation or negation, and if
``torch.vmap`` maps over an axis that does not merge with the batch.

`reblock.torch.nn` has the modules of PyTorch for these operators, and `accelerate` puts them into
a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

import reblock

try:
    import torch
except ModuleNotFoundError as missing:
    if missing.name != "torch":
        raise
    raise ModuleNotFoundError(
        'reblock.torch needs torch: pip install "reblock[torch]"', name="torch"
    ) from None

from reblock._keywords import with_hints
from reblock.torch import _operators, _reduction, nn
from reblock.torch._conversion import Conversion, Factor, of_channels
from reblock.torch._rearrange import rearrange, repeat
from reblock.torch.nn import accelerate

__all__ = [
    "accelerate",
    "depth_to_space",
    "fold",
    "nn",
    "rearrange",
    "repeat",
    "space_to_depth",
    "unfold",
]

_IntOrInts = SupportsIndex | Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]]
_Order = Literal["DCR", "CRD", 0, 1] | reblock.DepthSpaceOrder
_PaddingMode = (
    Literal["constant", "edge", "reflect", "symmetric", "wrap", 0, 1, 2, 3, 4] | reblock.PaddingMode
)
_Range = slice | tuple[SupportsIndex | None, SupportsIndex | None] | None
_Blocks = _Range | Sequence[_Range]


@with_hints
def depth_to_space(
    x: torch.Tensor,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: torch.dtype | None = None,
    scale: Factor | None = None,
    bias: Factor | None = None,
    threads: SupportsIndex | None = None,
) -> torch.Tensor:
    """Move channels into blocks of space, the inverse of `space_to_depth`.

    This is `reblock.depth_to_space`, for blocks of ``P`` elements, ``B_d`` along spatial axis
    ``d``. In CRD order with two spatial axes, it is ``torch.nn.functional.pixel_shuffle``.

    Parameters
    ----------
    x : torch.Tensor
        Shape ``(N, C*P, S_1, ..., S_k)``, with 1 to 6 spatial axes, on the CPU; any dtype and
        strides.
    block_size : int or sequence of int
        Elements of a block, for all spatial axes or one for each; at least 1.
    order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
        Whether the block position (DCR) or the channel (CRD) is the slow index in the channels of
        `x`.
    channel_axis : int, default 1
        The axis of the channels in `x` and in the result; any axis but 0. A negative one counts
        from the end.
    layout, out_layout : str, optional
        A letter for each axis of the argument and of the result, as in `reblock.depth_to_space`:
        "NHWC", "CHW" or "NLC". `channel_axis` must then be 1.
    dtype : torch.dtype, optional
        The dtype of the result: bool, integer or floating point. The default is that of `x`.
    scale, bias : float, sequence of float or torch.Tensor, optional
        Each element becomes ``cast(x * scale + bias, dtype)``, as in `reblock.depth_to_space`.
        They are constants, without gradients. With them or a dtype, the result is contiguous.
    threads : int, optional
        The largest number of threads that may move the bytes, at least 1. The default is that of
        `reblock.get_num_threads`, not that of PyTorch.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C, S_1*B_1, ..., S_k*B_k)``, of `dtype`, or else of the dtype of `x`. If `x` has
        the memory format ``channels_last`` or ``channels_last_3d`` and is not contiguous, and
        `channel_axis` is 1, the result has the same format. Otherwise, and with a layout, it is
        contiguous.

    Raises
    ------
    ValueError
        As `reblock.depth_to_space`.
    TypeError
        As `reblock.depth_to_space`.
    NotImplementedError
        For a tensor that is sparse, quantized, nested or on another device than the CPU.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> x = torch.arange(8).reshape(1, 4, 1, 2)
    >>> reblock.torch.depth_to_space(x, 2)
    tensor([[[[0, 2, 1, 3],
              [4, 6, 5, 7]]]])
    >>> reblock.torch.depth_to_space(torch.zeros(1, 8, 2, 3), 2).shape
    torch.Size([1, 2, 4, 6])
    """
    conversion = Conversion(dtype, scale, bias)
    if conversion:
        arguments = {
            "block_size": block_size,
            "order": order,
            "channel_axis": channel_axis,
            "layout": layout,
            "out_layout": out_layout,
            "threads": threads,
        }
        move = partial(_operators.depth_to_space.on, arguments)
        return of_channels("depth_to_space", x, conversion, arguments, move)
    return _operators.depth_to_space(
        x, block_size, order, channel_axis, layout, out_layout, threads
    )


@with_hints
def space_to_depth(
    x: torch.Tensor,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: torch.dtype | None = None,
    scale: Factor | None = None,
    bias: Factor | None = None,
    threads: SupportsIndex | None = None,
) -> torch.Tensor:
    """Move blocks of space into channels, the inverse of `depth_to_space`.

    This is `reblock.space_to_depth`, for blocks of ``P`` elements, ``B_d`` along spatial axis
    ``d``. In CRD order with two spatial axes, it is ``torch.nn.functional.pixel_unshuffle``.

    Parameters
    ----------
    x : torch.Tensor
        Shape ``(N, C, S_1*B_1, ..., S_k*B_k)``, with 1 to 6 spatial axes, on the CPU; any dtype and
        strides.
    block_size : int or sequence of int
        Elements of a block, for all spatial axes or one for each; at least 1.
    order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
        Whether the block position (DCR) or the channel (CRD) is the slow index in the channels of
        the result.
    channel_axis : int, default 1
        The axis of the channels in `x` and in the result; any axis but 0. A negative one counts
        from the end.
    layout, out_layout : str, optional
        A letter for each axis of the argument and of the result, as in `reblock.space_to_depth`:
        "NHWC", "CHW" or "NLC". `channel_axis` must then be 1.
    dtype : torch.dtype, optional
        The dtype of the result: bool, integer or floating point. The default is that of `x`.
    scale, bias : float, sequence of float or torch.Tensor, optional
        Each element becomes ``cast(x * scale + bias, dtype)``, as in `reblock.space_to_depth`.
        They are constants, without gradients. With them or a dtype, the result is contiguous.
    threads : int, optional
        The largest number of threads that may move the bytes, at least 1. The default is that of
        `reblock.get_num_threads`, not that of PyTorch.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C*P, S_1, ..., S_k)``, of `dtype`, or else of the dtype of `x`. The rule for the
        memory format is that of `depth_to_space`.

    Raises
    ------
    ValueError
        As `reblock.space_to_depth`.
    TypeError
        As `reblock.space_to_depth`.
    NotImplementedError
        For a tensor that is sparse, quantized, nested or on another device than the CPU.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> x = torch.arange(8).reshape(1, 1, 2, 4)
    >>> reblock.torch.space_to_depth(x, 2).reshape(4, 2)
    tensor([[0, 2],
            [1, 3],
            [4, 6],
            [5, 7]])
    >>> reblock.torch.space_to_depth(torch.zeros(1, 2, 4, 6), 2).shape
    torch.Size([1, 8, 2, 3])
    """
    conversion = Conversion(dtype, scale, bias)
    if conversion:
        arguments = {
            "block_size": block_size,
            "order": order,
            "channel_axis": channel_axis,
            "layout": layout,
            "out_layout": out_layout,
            "threads": threads,
        }
        move = partial(_operators.space_to_depth.on, arguments)
        return of_channels("space_to_depth", x, conversion, arguments, move)
    return _operators.space_to_depth(
        x, block_size, order, channel_axis, layout, out_layout, threads
    )


@with_hints
def unfold(
    x: torch.Tensor,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    padding_value: complex = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: torch.dtype | None = None,
    scale: Factor | None = None,
    bias: Factor | None = None,
    threads: SupportsIndex | None = None,
) -> torch.Tensor:
    """Copy every position of a sliding window into a column (im2col), the adjoint of `fold`.

    This is `reblock.unfold`, with ``K`` elements in the window and ``L`` positions of it. With two
    spatial axes, it is ``torch.nn.functional.unfold``.

    Parameters
    ----------
    x : torch.Tensor
        Shape ``(N, C, S_1, ..., S_k)``, with 1 to 6 spatial axes, on the CPU; any dtype and
        strides.
    window_sizes : int or sequence of int
        Elements of the window, for all spatial axes or one for each; at least 1. This holds for the
        following parameters too.
    strides : int or sequence of int, default 1
        Elements from one window position to the next; at least 1.
    dilations : int or sequence of int, default 1
        Elements from one element of the window to the next; at least 1.
    start_padding, end_padding : int or sequence of int, default 0
        Elements of padding before and after each spatial axis; at least 0.
    padding_mode : str or PaddingMode, default "constant"
        What the padding holds, as in `reblock.unfold`: "constant", "edge" (PyTorch's
        "replicate"), "reflect", "symmetric" or "wrap" ("circular").
    padding_value : number, default 0
        The value of the padding of "constant". The dtype of the result must hold it exactly.
    order : {"CRD", "DCR"} or DepthSpaceOrder, default "CRD"
        Whether the channel (CRD) or the window's element (DCR) is the slow index in the rows.
    blocks : slice, (start, stop), or a sequence of these, optional
        The window positions to take: one range for all spatial axes, or one for each. The default
        is all.
    channel_axis : int, default 1
        The axis of the channels in `x`; any axis but 0. A negative one counts from the
        end.
    layout, out_layout : str, optional
        A letter for each axis of the argument and of the result, as in `reblock.unfold`:
        "NHWC", "CHW" or "NLC". `channel_axis` must then be 1.
    dtype : torch.dtype, optional
        The dtype of the result: bool, integer or floating point. The default is that of `x`.
    scale, bias : float, sequence of float or torch.Tensor, optional
        Each element becomes ``cast(x * scale + bias, dtype)``, as in `reblock.unfold`.
        They are constants, without gradients. With them or a dtype, the result is contiguous.
    threads : int, optional
        The largest number of threads that may move the bytes, at least 1. The default is that of
        `reblock.get_num_threads`, not that of PyTorch.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C*K, L)``, of `dtype`, or else of the dtype of `x`; contiguous.

    Raises
    ------
    ValueError
        As `reblock.unfold`.
    TypeError
        As `reblock.unfold`.
    NotImplementedError
        For a tensor that is sparse, quantized, nested or on another device than the CPU.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> sound = torch.arange(6, dtype=torch.uint8).reshape(1, 1, 6)
    >>> reblock.torch.unfold(sound, 4, strides=2)[0].T
    tensor([[0, 1, 2, 3],
            [2, 3, 4, 5]], dtype=torch.uint8)
    >>> reblock.torch.unfold(torch.zeros(1, 3, 224, 224), 16, strides=16).shape
    torch.Size([1, 768, 196])
    """
    more = (padding_mode, padding_value, order, blocks, channel_axis, layout, out_layout, threads)
    window = (window_sizes, strides, dilations, start_padding, end_padding)
    conversion = Conversion(dtype, scale, bias)
    if conversion:
        arguments = dict(zip(_operators.unfold.parameters[1:], (*window, *more), strict=True))
        move = partial(_operators.unfold.on, arguments)
        return of_channels("unfold", x, conversion, arguments, move)
    return _operators.unfold(x, *window, *more)


@with_hints
def fold(
    columns: torch.Tensor,
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
    reduction: Literal["sum", "mean", "max", "min"] = "sum",
    weights: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    dtype: torch.dtype | None = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    threads: SupportsIndex | None = None,
) -> torch.Tensor:
    """Add up overlapping windows into an image (col2im), the adjoint of `unfold`.

    This is `reblock.fold`, with ``K`` elements in the window and ``L`` positions of it. With two
    spatial axes, it is ``torch.nn.functional.fold``.

    Parameters
    ----------
    columns : torch.Tensor
        Shape ``(N, C*K, L)``, on the CPU; any strides, and any dtype that has a sum.
    output_sizes : int or sequence of int
        The spatial extents of the result, for all spatial axes or one for each. If it is an int,
        the first sequence among the following parameters gives the number of spatial axes. Without
        a sequence there is one spatial axis.
    window_sizes : int or sequence of int
        Elements of the window, for all spatial axes or one for each; at least 1. This holds for the
        following parameters too.
    strides : int or sequence of int, default 1
        Elements from one window position to the next; at least 1.
    dilations : int or sequence of int, default 1
        Elements from one element of the window to the next; at least 1.
    start_padding, end_padding : int or sequence of int, default 0
        Elements of padding before and after each spatial axis; at least 0.
    padding_mode : str or PaddingMode, default "constant"
        What happens to the terms in the padding, as in `reblock.fold`: "constant" leaves them
        out, the other modes add them to the elements that `unfold` takes.
    order : {"CRD", "DCR"} or DepthSpaceOrder, default "CRD"
        Whether the channel (CRD) or the window's element (DCR) is the slow index in the rows.
    blocks : slice, (start, stop), or a sequence of these, optional
        The window positions to take: one range for all spatial axes, or one for each. The default
        is all.
    reduction : {"sum", "mean", "max", "min"}, default "sum"
        How the terms of an element are combined, as in `reblock.fold`. All have gradients of any
        order. The gradient of "max" and "min" goes to one term: the first of equal terms, in the
        order of the rows of `columns`, then of the windows.
    weights : array_like, optional
        A weight for each element of the window, as in `reblock.fold`; constant for gradients.
    dtype : torch.dtype, optional
        The dtype of the result and of the arithmetic. The default is that of `columns`.
    channel_axis : int, default 1
        The axis of the channels in the result; any axis but 0. A negative one counts from the
        end.
    layout, out_layout : str, optional
        A letter for each axis of the argument and of the result, as in `reblock.fold`:
        "NHWC", "CHW" or "NLC". `channel_axis` must then be 1.
    threads : int, optional
        The largest number of threads that may move the bytes, at least 1. The default is that of
        `reblock.get_num_threads`, not that of PyTorch.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C, *output_sizes)``, of `dtype`, contiguous.

    Raises
    ------
    ValueError
        As `reblock.fold`.
    TypeError
        As `reblock.fold`.
    NotImplementedError
        For a tensor that is sparse, quantized, nested or on another device than the CPU; for
        `reduction`, `weights` or `dtype` in a function that is exported, traced, or compiled with
        ``fullgraph=True``.
    ModuleNotFoundError
        For bfloat16 without ml_dtypes, which the extra ``reblock[torch]`` installs.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> reblock.torch.fold(torch.ones(1, 4, 4), (3, 3), 2)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    >>> reblock.torch.fold(torch.zeros(1, 768, 196), (224, 224), 16, strides=16).shape
    torch.Size([1, 3, 224, 224])
    """
    more = (padding_mode, order, blocks, channel_axis, layout, out_layout, threads)
    window = (window_sizes, strides, dilations, start_padding, end_padding)
    if reduction == "sum" and weights is None and dtype is None:
        return _operators.fold(columns, output_sizes, *window, *more)
    return _reduction.fold(
        fold,
        unfold,
        columns,
        output_sizes,
        reduction=reduction,
        weights=weights,
        dtype=dtype,
        window_sizes=window_sizes,
        strides=strides,
        dilations=dilations,
        start_padding=start_padding,
        end_padding=end_padding,
        padding_mode=padding_mode,
        order=order,
        blocks=blocks,
        channel_axis=channel_axis,
        layout=layout,
        out_layout=out_layout,
        threads=threads,
    )


for _function in (depth_to_space, space_to_depth, unfold, fold, rearrange, repeat):
    # What torch.jit.script says instead of which line of the source it cannot compile.
    _function.__dict__["__script_unsupported"] = (
        f"reblock.torch.{_function.__name__} is not supported: use torch.compile or torch.export"
    )
    # torch.fx records a call instead of looking into it.
    torch.fx.wrap(_function.__name__)
