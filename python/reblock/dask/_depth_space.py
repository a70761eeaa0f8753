# SPDX-License-Identifier: BSD-3-Clause
"""`depth_to_space` and `space_to_depth` of Dask arrays."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, SupportsIndex

import dask.array as da
import numpy.typing as npt

import reblock
from reblock._keywords import with_hints
from reblock.dask._call import (
    call_by_layout,
    empty_result,
    is_crd,
    per_axis,
    per_channel,
    split_axes,
)
from reblock.dask._chunks import rechunk
from reblock.dask._types import Array, Factor, Input, IntOrInts, Order


@with_hints
def depth_to_space(
    x: Input,
    block_size: IntOrInts,
    *,
    order: Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: npt.DTypeLike | None = None,
    scale: Factor | None = None,
    bias: Factor | None = None,
    threads: SupportsIndex | None = 1,
) -> da.Array:
    """Move channels into blocks of space, the inverse of `space_to_depth`.

    This is `reblock.depth_to_space`, for blocks of ``P`` elements, ``B_d`` along spatial axis
    ``d``. Each chunk of `x` gives one chunk of the result.

    Parameters
    ----------
    x : dask.array.Array or array_like
        Shape ``(N, C*P, S_1, ..., S_k)``, with 1 to 6 spatial axes. Any dtype without Python
        objects; elements are moved bit for bit. Along the channels, CRD order needs chunks that are
        multiples of ``P``, and DCR order needs a single chunk. Other axes may have any chunks.
    block_size : int or sequence of int
        Elements of a block, for all spatial axes or one for each; at least 1.
    order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
        Whether the block position (DCR) or the channel (CRD) is the slow index in the channels of
        `x`.
    channel_axis : int, default 1
        The axis of the channels in `x` and in the result; any axis but 0. A negative one counts
        from the end.
    layout, out_layout : str, optional
        A letter for each axis of the argument and of the result, as in `reblock`: "NHWC", "CHW" or
        "NLC". `channel_axis` must then be 1.
    dtype, scale, bias : optional
        How elements are converted, as in `reblock`. Values for each channel need a single chunk
        along the channels.
    threads : int or None, default 1
        The largest number of threads of each task, at least 1. None means the number of
        `reblock.get_num_threads` in the process of the task.

    Returns
    -------
    dask.array.Array
        Shape ``(N, C, S_1*B_1, ..., S_k*B_k)``, of `dtype`, or else of the dtype of `x`.

    Raises
    ------
    ValueError
        As `reblock.depth_to_space`, and for chunks of unknown sizes; raised at the call.
    TypeError
        As `reblock.depth_to_space`; raised at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If the call rechunks `x`.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> x = da.zeros((2, 12, 90, 160), chunks=(1, 12, 45, 160))
    >>> reblock.dask.depth_to_space(x, 2).chunks
    ((1, 1), (3,), (90, 90), (320,))
    """
    return call_by_layout(
        "depth_to_space",
        partial(_depth_space, reblock.depth_to_space),
        x,
        (layout, out_layout),
        channel_axis,
        block_size=block_size,
        order=order,
        dtype=dtype,
        scale=scale,
        bias=bias,
        threads=threads,
    )


@with_hints
def space_to_depth(
    x: Input,
    block_size: IntOrInts,
    *,
    order: Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: npt.DTypeLike | None = None,
    scale: Factor | None = None,
    bias: Factor | None = None,
    threads: SupportsIndex | None = 1,
) -> da.Array:
    """Move blocks of space into channels, the inverse of `depth_to_space`.

    This is `reblock.space_to_depth`, for blocks of ``P`` elements, ``B_d`` along spatial axis
    ``d``. Each chunk of `x` gives one chunk of the result.

    Parameters
    ----------
    x : dask.array.Array or array_like
        Shape ``(N, C, S_1*B_1, ..., S_k*B_k)``, with 1 to 6 spatial axes. Any dtype without Python
        objects; elements are moved bit for bit. Along a spatial axis, chunks must be
        multiples of ``B_d``. Along the channels, DCR order needs a single chunk. CRD order may have
        any chunks there. The batch may have any chunks.
    block_size : int or sequence of int
        Elements of a block, for all spatial axes or one for each; at least 1.
    order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
        Whether the block position (DCR) or the channel (CRD) is the slow index in the channels of
        the result.
    channel_axis : int, default 1
        The axis of the channels in `x` and in the result; any axis but 0. A negative one counts
        from the end.
    layout, out_layout : str, optional
        A letter for each axis of the argument and of the result, as in `reblock`: "NHWC", "CHW" or
        "NLC". `channel_axis` must then be 1.
    dtype, scale, bias : optional
        How elements are converted, as in `reblock`. Values for each channel need a single chunk
        along the channels.
    threads : int or None, default 1
        The largest number of threads of each task, at least 1. None means the number of
        `reblock.get_num_threads` in the process of the task.

    Returns
    -------
    dask.array.Array
        Shape ``(N, C*P, S_1, ..., S_k)``, of `dtype`, or else of the dtype of `x`.

    Raises
    ------
    ValueError
        As `reblock.space_to_depth`, and for chunks of unknown sizes; raised at the call.
    TypeError
        As `reblock.space_to_depth`; raised at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If the call rechunks `x`.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> x = da.zeros((2, 3, 180, 320), chunks=(1, 3, 90, 320))
    >>> reblock.dask.space_to_depth(x, 2).chunks
    ((1, 1), (12,), (45, 45), (160,))
    """
    return call_by_layout(
        "space_to_depth",
        partial(_depth_space, reblock.space_to_depth),
        x,
        (layout, out_layout),
        channel_axis,
        block_size=block_size,
        order=order,
        dtype=dtype,
        scale=scale,
        bias=bias,
        threads=threads,
    )


def _depth_space(function: Callable[..., Array], array: da.Array, **keywords: Any) -> da.Array:
    meta = empty_result(function, array, keywords)
    channels, spatial = split_axes(array.ndim, keywords["channel_axis"])
    block = dict(zip(spatial, per_axis(keywords["block_size"], len(spatial)), strict=True))
    elements = {channels: math.prod(block.values())}
    to_space = function is reblock.depth_to_space
    grow, shrink = (block, elements) if to_space else (elements, block)
    grains = dict(shrink)
    if not is_crd(keywords["order"]) and elements[channels] > 1:
        # The channels of the depth tensor that belong to one channel of the space tensor lie apart.
        grains[channels] = array.shape[channels]
    if per_channel(scale=keywords["scale"], bias=keywords["bias"]):
        grains[channels] = array.shape[channels]
    array = rechunk("x", array, grains)
    chunks = [
        tuple(size * grow.get(axis, 1) // shrink.get(axis, 1) for size in sizes)
        for axis, sizes in enumerate(array.chunks)
    ]
    result: da.Array = da.map_blocks(partial(function, **keywords), array, chunks=chunks, meta=meta)
    return result
