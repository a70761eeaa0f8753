# SPDX-License-Identifier: BSD-3-Clause
"""The four operators for PyTorch's tensors on the CPU, as custom operators of PyTorch.

`depth_to_space`, `space_to_depth`, `unfold` and `fold` take what the functions of the same names in
`reblock` take, but for `out` and `accumulate`, and give tensors. They are differentiable as often
as is wanted, since each is linear and another one of them is its adjoint; they work under
``torch.compile``, ``torch.export`` and ``torch.vmap``, and leave their input as it is.

Elements are moved bit for bit, so that any dtype will do. `fold` adds: it takes bool (logical or),
integers (which wrap around), floating point (float16 and bfloat16 are summed in float32 and rounded
once) and complex64 and complex128.

A tensor is read where it lies, whatever its strides. Each result is a new tensor of the same dtype,
which shares no memory with the input, and nothing else of its size is allocated. The input is
copied first in two cases: where its conjugation or negation has been put off by PyTorch, and where
``torch.vmap`` maps over an axis that does not merge with the batch.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

import reblock

try:
    import torch
except ModuleNotFoundError as missing:
    if missing.name != "torch":
        raise
    raise ModuleNotFoundError(
        'reblock.torch needs torch: pip install "reblock[torch]"', name="torch"
    ) from None

from reblock._layouts import spatial
from reblock.torch import _operators
from reblock.torch._operators import WINDOW_PARAMETERS

__all__ = ["depth_to_space", "fold", "space_to_depth", "unfold"]

_Int = int | np.integer[Any]
_IntOrInts = _Int | Sequence[_Int]
_Order = Literal["DCR", "CRD", 0, 1] | reblock.DepthSpaceOrder
_Range = slice | tuple[_Int | None, _Int | None] | None
_Blocks = _Range | Sequence[_Range]


def depth_to_space(
    x: torch.Tensor,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: _Int = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    threads: _Int | None = None,
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
        The axes of the argument and of the result, a letter each, as in `reblock.depth_to_space`:
        "NHWC", "CHW" or "NLC". Not beside another `channel_axis` than 1.
    threads : int, optional
        How many threads may move the bytes, at least 1; where it is not given, as many as
        `reblock.get_num_threads` says. PyTorch's own number is another one.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C, S_1*B_1, ..., S_k*B_k)``, of the dtype of `x`. It is contiguous in the memory
        format ``channels_last`` or ``channels_last_3d`` where `x` is that and not contiguous, else
        contiguous, as it is with a layout.

    Raises
    ------
    ValueError
        As `reblock.depth_to_space`.
    TypeError
        As `reblock.depth_to_space`.
    NotImplementedError
        For a tensor that is sparse, quantized or on a device.

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
    axes = _spatial_axes(_rank("x", x) - 2, layout, out_layout)
    block = _per_axis("block_size", block_size, axes)
    more = _more(channel_axis, layout, out_layout, threads)
    return _operators.depth_to_space(x, block, _order(order), *more)


def space_to_depth(
    x: torch.Tensor,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: _Int = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    threads: _Int | None = None,
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
        The axes of the argument and of the result, a letter each, as in `reblock.space_to_depth`:
        "NHWC", "CHW" or "NLC". Not beside another `channel_axis` than 1.
    threads : int, optional
        How many threads may move the bytes, at least 1; where it is not given, as many as
        `reblock.get_num_threads` says. PyTorch's own number is another one.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C*P, S_1, ..., S_k)``, of the dtype of `x`, in the memory format that
        `depth_to_space` would choose.

    Raises
    ------
    ValueError
        As `reblock.space_to_depth`.
    TypeError
        As `reblock.space_to_depth`.
    NotImplementedError
        For a tensor that is sparse, quantized or on a device.

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
    axes = _spatial_axes(_rank("x", x) - 2, layout, out_layout)
    block = _per_axis("block_size", block_size, axes)
    more = _more(channel_axis, layout, out_layout, threads)
    return _operators.space_to_depth(x, block, _order(order), *more)


def unfold(
    x: torch.Tensor,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: _Int = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    threads: _Int | None = None,
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
        Elements from one block to the next; at least 1.
    dilations : int or sequence of int, default 1
        Elements from one element of the window to the next; at least 1.
    start_padding, end_padding : int or sequence of int, default 0
        Implicit zeros before and behind each spatial axis; at least 0. A zero is all bits 0 in any
        dtype.
    order : {"CRD", "DCR"} or DepthSpaceOrder, default "CRD"
        Whether the channel (CRD) or the window position (DCR) is the slow index in the rows.
    blocks : slice, (start, stop), or a sequence of these, optional
        Which blocks to take: positions along all spatial axes, or a range for each. All where it is
        not given.
    channel_axis : int, default 1
        The axis of the channels in `x`; any axis but 0. A negative one counts from the
        end.
    layout, out_layout : str, optional
        The axes of the argument and of the result, a letter each, as in `reblock.unfold`:
        "NHWC", "CHW" or "NLC". Not beside another `channel_axis` than 1.
    threads : int, optional
        How many threads may move the bytes, at least 1; where it is not given, as many as
        `reblock.get_num_threads` says. PyTorch's own number is another one.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C*K, L)``, of the dtype of `x`, contiguous.

    Raises
    ------
    ValueError
        As `reblock.unfold`.
    TypeError
        As `reblock.unfold`.
    NotImplementedError
        For a tensor that is sparse, quantized or on a device.

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
    window = (window_sizes, strides, dilations, start_padding, end_padding)
    axes = _spatial_axes(_rank("x", x) - 2, layout)
    more = _more(channel_axis, layout, out_layout, threads)
    return _operators.unfold(x, *_window(window, axes), _order(order), _blocks(blocks, axes), *more)


def fold(
    columns: torch.Tensor,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: _Int = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    threads: _Int | None = None,
) -> torch.Tensor:
    """Add the columns up where their windows lie (col2im), the adjoint of `unfold`.

    This is `reblock.fold`, with ``K`` elements in the window and ``L`` positions of it. With two
    spatial axes, it is ``torch.nn.functional.fold``.

    Parameters
    ----------
    columns : torch.Tensor
        Shape ``(N, C*K, L)``, on the CPU; any strides, and any dtype that has a sum.
    output_sizes : int or sequence of int
        The spatial extents of the result, for all spatial axes or one for each. Where it is an int,
        the first sequence among the parameters that follow tells the number of spatial axes;
        without one there is a single axis.
    window_sizes : int or sequence of int
        Elements of the window, for all spatial axes or one for each; at least 1. This holds for the
        following parameters too.
    strides : int or sequence of int, default 1
        Elements from one block to the next; at least 1.
    dilations : int or sequence of int, default 1
        Elements from one element of the window to the next; at least 1.
    start_padding, end_padding : int or sequence of int, default 0
        Elements before and behind each spatial axis that are summed up by no one; at least 0.
    order : {"CRD", "DCR"} or DepthSpaceOrder, default "CRD"
        Whether the channel (CRD) or the window position (DCR) is the slow index in the rows.
    blocks : slice, (start, stop), or a sequence of these, optional
        Which blocks to take: positions along all spatial axes, or a range for each. All where it is
        not given.
    channel_axis : int, default 1
        The axis of the channels in the result; any axis but 0. A negative one counts from the
        end.
    layout, out_layout : str, optional
        The axes of the argument and of the result, a letter each, as in `reblock.fold`:
        "NHWC", "CHW" or "NLC". Not beside another `channel_axis` than 1.
    threads : int, optional
        How many threads may move the bytes, at least 1; where it is not given, as many as
        `reblock.get_num_threads` says. PyTorch's own number is another one.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C, *output_sizes)``, of the dtype of `columns`, contiguous.

    Raises
    ------
    ValueError
        As `reblock.fold`.
    TypeError
        As `reblock.fold`.
    NotImplementedError
        For a tensor that is sparse, quantized or on a device.
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
    window = (window_sizes, strides, dilations, start_padding, end_padding)
    lengths = [len(v) for v in (output_sizes, *window) if isinstance(v, Sequence)]
    axes = _spatial_axes(lengths[0] if lengths else 1, out_layout)
    sizes = _per_axis("output_sizes", output_sizes, axes)
    _rank("columns", columns)
    more = _more(channel_axis, layout, out_layout, threads)
    return _operators.fold(
        columns, sizes, *_window(window, axes), _order(order), _blocks(blocks, axes), *more
    )


# Arguments: the operators take one value for each axis, and ints that may be torch.SymInt.

_INTEGERS = (int, np.integer, torch.SymInt)


def _rank(name: str, tensor: torch.Tensor) -> int:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    rank: int = tensor.ndim
    return rank


def _ints(name: str, expected: str, values: Iterable[_Int], got: object) -> list[_Int]:
    values = list(values)
    if any(isinstance(v, bool) or not isinstance(v, _INTEGERS) for v in values):
        raise TypeError(f"{name} must be {expected}, got {got!r} ({type(got).__name__})")
    return values


def _int(name: str, value: _Int, expected: str = "an int") -> _Int:
    return _ints(name, expected, [value], value)[0]


def _per_axis(name: str, value: _IntOrInts, axes: int) -> list[_Int]:
    values = value if isinstance(value, Sequence) else [value] * max(axes, 1)
    return _ints(name, "an int or a sequence of ints", values, value)


def _window(values: Sequence[_IntOrInts], axes: int) -> list[list[_Int]]:
    return [
        _per_axis(name, value, axes) for name, value in zip(WINDOW_PARAMETERS, values, strict=True)
    ]


def _spatial_axes(axes: int, *layouts: str | None) -> int:
    """Return how many spatial axes the first layout names; `axes` where there is none."""
    for layout in layouts:
        if isinstance(layout, str):
            return len(spatial(layout))
    return axes


def _blocks(blocks: _Blocks, axes: int) -> list[_Int] | None:
    """Return where the ranges start and stop, one after the other."""
    if blocks is None:
        return None
    ranges = [_range(blocks)] * max(axes, 1)
    if ranges[0] is None and isinstance(blocks, Sequence) and not isinstance(blocks, str):
        ranges = [_operators.ALL_BLOCKS if each is None else _range(each) for each in blocks]
    bounds: list[_Int] = []
    for bound in ranges:
        if bound is None:
            raise TypeError(
                "blocks must be None, a slice, (start, stop), or a sequence with one of these for"
                f" each spatial axis, got {blocks!r} ({type(blocks).__name__})"
            )
        bounds += bound
    return bounds


def _range(given: object) -> tuple[_Int, _Int] | None:
    """Return where a slice or a pair starts and stops, or None for anything else."""
    pair: Sequence[Any]
    if isinstance(given, slice):
        if given.step not in (None, 1):
            raise ValueError(f"blocks must have slices of step 1, got {given}")
        pair = (given.start, given.stop)
    elif isinstance(given, Sequence) and len(given) == 2:
        pair = given
    else:
        return None
    for value in pair:
        if value is not None and (isinstance(value, bool) or not isinstance(value, _INTEGERS)):
            return None
    start, stop = (
        default if value is None else value
        for value, default in zip(pair, _operators.ALL_BLOCKS, strict=True)
    )
    return start, stop


def _more(
    channel_axis: _Int, layout: str | None, out_layout: str | None, threads: _Int | None
) -> tuple[_Int, str | None, str | None, _Int | None]:
    given: dict[str, object] = {"layout": layout, "out_layout": out_layout}
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            got = f"{value!r} ({type(value).__name__})"
            raise TypeError(f'{name} must be a str such as "NHWC", got {got}')
    axis = _int("channel_axis", channel_axis)
    if axis != 1 and not (layout is None and out_layout is None):
        raise ValueError(
            "channel_axis must not be given beside a layout, which tells it, got"
            f' {axis} and "{out_layout if layout is None else layout}"'
        )
    return axis, layout, out_layout, None if threads is None else _int("threads", threads)


def _order(order: _Order) -> str:
    if isinstance(order, str):
        return order
    number = _int("order", order, '"DCR", "CRD" or a DepthSpaceOrder')
    return {0: "DCR", 1: "CRD"}.get(int(number), str(number))
