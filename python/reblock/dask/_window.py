# SPDX-License-Identifier: BSD-3-Clause
"""`unfold` and `fold` of Dask arrays."""

import math
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
from reblock.dask._chunks import borders, ranges, rechunk
from reblock.dask._padding import CONSTANT, PADDING, has_zeros, pad_axis
from reblock.dask._parts import map_parts
from reblock.dask._sliding import SlidingWindow
from reblock.dask._types import (
    Array,
    Blocks,
    Factor,
    Input,
    IntOrInts,
    Order,
    PaddingMode,
    Reduction,
    Weights,
)


@with_hints
def unfold(
    x: Input,
    window_sizes: IntOrInts,
    *,
    strides: IntOrInts = 1,
    dilations: IntOrInts = 1,
    start_padding: IntOrInts = 0,
    end_padding: IntOrInts = 0,
    padding_mode: PaddingMode = "constant",
    padding_value: complex = 0,
    order: Order = "CRD",
    blocks: Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: npt.DTypeLike | None = None,
    scale: Factor | None = None,
    bias: Factor | None = None,
    threads: SupportsIndex | None = 1,
) -> da.Array:
    """Copy every position of a sliding window into a column (im2col), the adjoint of `fold`.

    This is `reblock.unfold`, with ``K`` elements in the window and ``L`` positions of it.

    The leading spatial axis is the first one with more than one window position. The result has one
    chunk, called a stripe, for each chunk of `x` along it. A stripe has the window positions that
    would begin in its chunk without padding. The neighbours send the elements that these windows
    cover beyond the chunk.

    Parameters
    ----------
    x : dask.array.Array or array_like
        Shape ``(N, C, S_1, ..., S_k)``, with 1 to 6 spatial axes. Any dtype without Python objects;
        elements are moved bit for bit. All spatial axes but the leading one need a single chunk.
        The batch and the channels may have any chunks.
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
        What the padding holds, as in `reblock.unfold`. Elements other than zeros come from
        the chunks that have them, and join the first and the last chunk of their axis.
    padding_value : number, default 0
        The value of the padding of "constant", as in `reblock.unfold`.
    order : {"CRD", "DCR"} or DepthSpaceOrder, default "CRD"
        Whether the channel (CRD) or the window's element (DCR) is the slow index in the rows. DCR
        needs a single chunk along the channels or the rows.
    blocks : slice, (start, stop), or a sequence of these, optional
        The window positions to take, as in `reblock`. The default is all.
    channel_axis : int, default 1
        The axis of the channels in `x`; any axis but 0. A negative one counts from the
        end.
    layout, out_layout : str, optional
        A letter for each axis of the argument and of the result, as in `reblock`: "NHWC", "CHW" or
        "NLC". `channel_axis` must then be 1.
    dtype, scale, bias : optional
        How elements are converted, as in `reblock`. `padding_value` must then be 0. Values for
        each channel need a single chunk along the channels.
    threads : int or None, default 1
        The largest number of threads of each task, at least 1. None means the number of
        `reblock.get_num_threads` in the process of the task.

    Returns
    -------
    dask.array.Array
        Shape ``(N, C*K, L)``, of `dtype`, or else of the dtype of `x`. Its chunks are larger than
        those of `x`, in the ratio of the two arrays.

    Raises
    ------
    ValueError
        As `reblock.unfold`, and for chunks of unknown sizes; raised at the call.
    TypeError
        As `reblock.unfold`; raised at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If the call rechunks `x`.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> x = da.zeros((1, 3, 224, 224), chunks=(1, 3, 112, 224))
    >>> reblock.dask.unfold(x, 16, strides=16).chunks
    ((1,), (768,), (98, 98))
    """
    return call_by_layout(
        "unfold",
        _unfold,
        x,
        (layout, out_layout),
        channel_axis,
        window_sizes=window_sizes,
        strides=strides,
        dilations=dilations,
        start_padding=start_padding,
        end_padding=end_padding,
        padding_mode=padding_mode,
        padding_value=padding_value,
        order=order,
        blocks=blocks,
        dtype=dtype,
        scale=scale,
        bias=bias,
        threads=threads,
    )


@with_hints
def fold(
    columns: Input,
    output_sizes: IntOrInts,
    window_sizes: IntOrInts,
    *,
    strides: IntOrInts = 1,
    dilations: IntOrInts = 1,
    start_padding: IntOrInts = 0,
    end_padding: IntOrInts = 0,
    padding_mode: PaddingMode = "constant",
    order: Order = "CRD",
    blocks: Blocks = None,
    reduction: Reduction = "sum",
    weights: Weights | None = None,
    dtype: npt.DTypeLike | None = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    threads: SupportsIndex | None = 1,
) -> da.Array:
    """Add up overlapping windows into an image (col2im), the adjoint of `unfold`.

    This is `reblock.fold`, with ``K`` elements in the window and ``L`` positions of it.

    The leading spatial axis is the first one with more than one window position. The result is
    chunked along this axis, and has one chunk along the other spatial axes. `fold` of `unfold`
    restores chunks of the image that are multiples of the strides. Each chunk takes all columns
    that reach into it, from its own chunk of `columns` and from the neighbours. So its sums have
    the same terms in the same order as in `reblock.fold`.

    Parameters
    ----------
    columns : dask.array.Array or array_like
        Shape ``(N, C*K, L)``. A dtype that `reblock.fold` can sum. Along axis 1, chunks must be
        multiples of ``K``. Along axis 2, they must be multiples of the window positions for each
        step along the leading axis. The batch may have any chunks. `unfold` makes chunks that fit.
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
        What happens to the terms in the padding, as in `reblock.fold`. All modes but
        "constant" need `columns` with a single chunk along axis 2.
    order : {"CRD", "DCR"} or DepthSpaceOrder, default "CRD"
        Whether the channel (CRD) or the window's element (DCR) is the slow index in the rows. DCR
        needs a single chunk along the channels or the rows.
    blocks : slice, (start, stop), or a sequence of these, optional
        The window positions to take, as in `reblock`. The default is all.
    reduction : {"sum", "mean", "max", "min"}, default "sum"
        How the terms of an element are combined, as in `reblock.fold`.
    weights, dtype : optional
        The weights of the window's elements, and the dtype of the result, as in `reblock.fold`.
    channel_axis : int, default 1
        The axis of the channels in the result; any axis but 0. A negative one counts from the
        end.
    layout, out_layout : str, optional
        A letter for each axis of the argument and of the result, as in `reblock`: "NHWC", "CHW" or
        "NLC". `channel_axis` must then be 1.
    threads : int or None, default 1
        The largest number of threads of each task, at least 1. None means the number of
        `reblock.get_num_threads` in the process of the task.

    Returns
    -------
    dask.array.Array
        Shape ``(N, C, *output_sizes)``, of `dtype`, or else of the dtype of `columns`.

    Raises
    ------
    ValueError
        As `reblock.fold`, and for chunks of unknown sizes; raised at the call.
    TypeError
        As `reblock.fold`; raised at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If the call rechunks `columns`.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> columns = da.zeros((1, 768, 196), chunks=(1, 768, 98))
    >>> reblock.dask.fold(columns, (224, 224), 16, strides=16).chunks
    ((1,), (3,), (112, 112), (224,))
    """
    return call_by_layout(
        "fold",
        _fold,
        columns,
        (layout, out_layout),
        channel_axis,
        output_sizes=output_sizes,
        window_sizes=window_sizes,
        strides=strides,
        dilations=dilations,
        start_padding=start_padding,
        end_padding=end_padding,
        padding_mode=padding_mode,
        order=order,
        blocks=blocks,
        reduction=reduction,
        weights=weights,
        dtype=dtype,
        threads=threads,
    )


def _unfold(
    array: da.Array,
    *,
    padding_mode: PaddingMode,
    padding_value: complex,
    order: Order,
    blocks: Blocks,
    channel_axis: SupportsIndex,
    dtype: npt.DTypeLike | None,
    scale: Factor | None,
    bias: Factor | None,
    threads: SupportsIndex | None,
    **window: IntOrInts,
) -> da.Array:
    options: dict[str, Any] = {"order": order, "channel_axis": channel_axis, "threads": threads}
    # NumPy's float64 is equal to None.
    converts = any(value is not None for value in (dtype, scale, bias))
    if converts:
        options |= {"dtype": dtype, "scale": scale, "bias": bias}
    padding = {"padding_mode": padding_mode, "padding_value": padding_value}
    meta = empty_result(reblock.unfold, array, window | padding | options | {"blocks": blocks})
    channels, spatial = split_axes(array.ndim, channel_axis)
    if not has_zeros(padding_mode, padding_value):
        if converts and padding_mode in CONSTANT:  # the value is one of the result
            raise ValueError(
                f"padding_value must be 0 with dtype, scale or bias, got {padding_value!r}:"
                " unfold the converted array"
            )
        sides = (per_axis(window.pop(side), len(spatial)) for side in PADDING)
        for axis, *pads in zip(spatial, *sides, strict=True):
            array = pad_axis(array, axis, pads, padding_mode, padding_value)
        window |= dict.fromkeys(PADDING, 0)
    sliding = SlidingWindow.of([array.shape[axis] for axis in spatial], window)
    if blocks is not None:
        part = sliding.part(blocks)
        if part is None:
            return _zeros(array, meta)
        covered, sliding = part
        index = [slice(None)] * array.ndim
        for d, each in zip(spatial, covered, strict=True):
            index[d] = slice(*each)
        array = array[tuple(index)]
    leading, axis = sliding.axes[sliding.lead], spatial[sliding.lead]
    grains = {d: array.shape[d] for d in spatial if d != axis}
    if (not is_crd(order) and sliding.elements > 1) or per_channel(scale=scale, bias=bias):
        grains[channels] = array.shape[channels]
    array = rechunk("x", array, grains)

    stripes = ranges(leading.positions, map(leading.position_at, borders(array.chunks[axis])))
    parts = []
    for stripe in stripes:
        rows, local = leading.rows_of(stripe)
        parts.append((rows, sliding.with_lead(local).keywords() | options))
    return map_parts(
        reblock.unfold,
        array,
        parts,
        source_axes=(0, channels, axis),
        target_axes=(0, 1, 2),
        chunks=(
            array.chunks[0],
            tuple(size * sliding.elements for size in array.chunks[channels]),
            tuple((last - first) * sliding.row for first, last in stripes),
        ),
        meta=meta,
    )


def _fold(
    array: da.Array,
    *,
    output_sizes: IntOrInts,
    padding_mode: PaddingMode,
    order: Order,
    blocks: Blocks,
    reduction: Reduction,
    weights: Weights | None,
    dtype: npt.DTypeLike | None,
    channel_axis: SupportsIndex,
    threads: SupportsIndex | None,
    **window: IntOrInts,
) -> da.Array:
    options: dict[str, Any] = {"order": order, "channel_axis": channel_axis, "threads": threads}
    options |= {"reduction": reduction, "weights": weights, "dtype": dtype}
    given = {"output_sizes": output_sizes, "blocks": blocks} | window | options
    given["padding_mode"] = padding_mode
    meta = empty_result(reblock.fold, array, given)
    channels, spatial = split_axes(meta.ndim, channel_axis)
    if not has_zeros(padding_mode):
        return _fold_whole(array, meta, given, channels)
    sliding = SlidingWindow.of(per_axis(output_sizes, len(spatial)), window)
    if blocks is not None:
        part = sliding.part(blocks)
        if part is None or 0 in array.shape:
            return _zeros(array, meta)
        reached, sliding = part
        if any(first == last for first, last in reached):
            return _zeros(array, meta)
        of_part: dict[str, Any] = sliding.keywords() | options
        image = _fold(
            array, output_sizes=sliding.sizes(), padding_mode=padding_mode, blocks=None, **of_part
        )
        around = [(0, 0)] * image.ndim
        for d, (first, last) in zip(spatial, reached, strict=True):
            around[d] = (first, meta.shape[d] - last)
        padded: da.Array = da.pad(image, around)
        return padded
    leading, axis, row = sliding.axes[sliding.lead], spatial[sliding.lead], sliding.row
    together = not is_crd(order) and sliding.elements > 1
    array = rechunk("columns", array, {1: array.shape[1] if together else sliding.elements, 2: row})

    cuts = (border // row for border in borders(array.chunks[2]))
    stripes = ranges(leading.size, map(leading.row_at, cuts))
    parts = []
    for rows in stripes:
        (first, last), local = leading.positions_of(rows)
        stripe = sliding.with_lead(local)
        keywords = {"output_sizes": stripe.sizes()} | stripe.keywords() | options
        parts.append(((first * row, last * row), keywords))
    chunks: list[tuple[int, ...]] = [(size,) for size in meta.shape]
    chunks[0] = array.chunks[0]
    chunks[channels] = tuple(size // sliding.elements for size in array.chunks[1])
    chunks[axis] = tuple(last - first for first, last in stripes)
    return map_parts(
        reblock.fold,
        array,
        parts,
        source_axes=(0, 1, 2),
        target_axes=(0, channels, axis),
        chunks=chunks,
        meta=meta,
    )


def _fold_whole(array: da.Array, meta: Array, given: dict[str, Any], channels: int) -> da.Array:
    """Fold all window positions in one task for each chunk of the batch and the channels."""
    if len(array.chunks[2]) > 1:
        raise ValueError(
            "columns must have a single chunk along axis 2 with padding_mode"
            f" {given['padding_mode']!r}, got chunks {array.chunks[2]}: use"
            " columns.rechunk({2: -1})"
        )
    window = math.prod(per_axis(given["window_sizes"], meta.ndim - 2))
    together = not is_crd(given["order"]) and window > 1
    array = rechunk("columns", array, {1: array.shape[1] if together else window})
    spatial = [axis for axis in range(meta.ndim) if axis not in (0, channels)]
    result: da.Array = da.blockwise(
        partial(reblock.fold, **given),
        range(meta.ndim),
        array,
        (0, channels, meta.ndim),
        new_axes={axis: meta.shape[axis] for axis in spatial},
        adjust_chunks={channels: tuple(rows // window for rows in array.chunks[1])},
        concatenate=True,
        dtype=meta.dtype,
        meta=meta,
    )
    return result


def _zeros(array: da.Array, meta: Array) -> da.Array:
    """Return the result of a call without window positions."""
    shape = (array.shape[0], *meta.shape[1:])
    result: da.Array = da.zeros(shape, dtype=meta.dtype, chunks=shape)
    return result
