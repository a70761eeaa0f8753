# SPDX-License-Identifier: BSD-3-Clause
"""The operators on Dask arrays: larger than memory, or than one machine.

`depth_to_space`, `space_to_depth`, `unfold`, `fold`, `rearrange` and `repeat` take what the
functions of the same names in `reblock` take, except ``out`` and ``accumulate``: a Dask array is
never written into. They return lazy arrays and know the shape of every chunk. Errors in the
arguments come at the call. The results are those of `reblock` on the whole array, bit for bit,
however the array is chunked.

`threads` is how many threads each task may use: 1 unless given, since Dask runs as many tasks at
once as there are cores.

Most chunks are taken as they are. Where they cannot be, the array is rechunked along the axes
concerned and no others, and a ``dask.array.PerformanceWarning`` tells which chunks would have
fitted.

Nothing is computed at the call. A task reads its chunk where it lies and allocates the chunk of the
result. With a layout, chunks are views with their axes permuted. Where blocks of `unfold` or `fold`
reach into other chunks, the edges of these are cut off by tasks of their own, and the task has a
copy of its chunk with the edges as well. No chunk of the input is written, and none of the result
shares memory with one.
"""

import math
import operator
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise, product
from typing import Any, Literal, Self, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

import reblock
from reblock import _layouts, _patterns

try:
    import dask.array as da
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph
    from dask.task_spec import Task, TaskRef
except ModuleNotFoundError as missing:
    # An old version does not have every module.
    if (missing.name or "").partition(".")[0] != "dask":
        raise
    raise ModuleNotFoundError(
        'reblock.dask needs dask: pip install "reblock[dask]"', name="dask"
    ) from None

__all__ = ["depth_to_space", "fold", "rearrange", "repeat", "space_to_depth", "unfold"]

_IntOrInts: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]]
_Order: TypeAlias = Literal["DCR", "CRD", 0, 1] | reblock.DepthSpaceOrder
_Blocks: TypeAlias = slice | Sequence[Any] | npt.NDArray[np.integer[Any]] | None
_Array: TypeAlias = npt.NDArray[Any]
_Range: TypeAlias = tuple[int, int]  # half-open
_Axes: TypeAlias = tuple[int, int, int]  # of the batch, of the channels, and one of space
_Input: TypeAlias = da.Array | npt.ArrayLike

_CRD = ("CRD", reblock.DepthSpaceOrder.COLUMN_ROW_DEPTH)


def depth_to_space(
    x: _Input,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
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
        multiples of ``P``, DCR order a single chunk; along the other axes, any chunks will do.
    block_size : int or sequence of int
        Elements of a block, for all spatial axes or one for each; at least 1.
    order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
        Whether the block position (DCR) or the channel (CRD) is the slow index in the channels of
        `x`.
    channel_axis : int, default 1
        The axis of the channels in `x` and in the result; any axis but 0. A negative one counts
        from the end.
    layout, out_layout : str, optional
        The axes of the argument and of the result, a letter each, as in `reblock`: "NHWC", "CHW" or
        "NLC". Not beside another `channel_axis` than 1.
    threads : int or None, default 1
        How many threads each task may use, at least 1; where None, as many as
        `reblock.get_num_threads` says where the task runs.

    Returns
    -------
    dask.array.Array
        Shape ``(N, C, S_1*B_1, ..., S_k*B_k)``, of the dtype of `x`.

    Raises
    ------
    ValueError
        As `reblock.depth_to_space`, and for chunks of unknown sizes: at the call.
    TypeError
        As `reblock.depth_to_space`: at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If `x` has to be rechunked.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> x = da.zeros((2, 12, 90, 160), chunks=(1, 12, 45, 160))
    >>> reblock.dask.depth_to_space(x, 2).chunks
    ((1, 1), (3,), (90, 90), (320,))
    """
    names = layout, out_layout
    if names != (None, None):
        keywords = {"block_size": block_size, "order": order, "threads": threads}
        return _by_name(depth_to_space, _known(x, "x"), names, channel_axis, keywords)
    return _depth_space(
        reblock.depth_to_space,
        x,
        block_size=block_size,
        order=order,
        channel_axis=channel_axis,
        threads=threads,
    )


def space_to_depth(
    x: _Input,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    threads: SupportsIndex | None = 1,
) -> da.Array:
    """Move blocks of space into channels, the inverse of `depth_to_space`.

    This is `reblock.space_to_depth`, for blocks of ``P`` elements, ``B_d`` along spatial axis
    ``d``. Each chunk of `x` gives one chunk of the result.

    Parameters
    ----------
    x : dask.array.Array or array_like
        Shape ``(N, C, S_1*B_1, ..., S_k*B_k)``, with 1 to 6 spatial axes. Any dtype without Python
        objects; elements are moved bit for bit. Along a spatial axis, chunks are needed that are
        multiples of ``B_d``; along the channels, DCR order needs a single chunk and CRD order takes
        any; along the batch, any chunks will do.
    block_size : int or sequence of int
        Elements of a block, for all spatial axes or one for each; at least 1.
    order : {"DCR", "CRD"} or DepthSpaceOrder, default "DCR"
        Whether the block position (DCR) or the channel (CRD) is the slow index in the channels of
        the result.
    channel_axis : int, default 1
        The axis of the channels in `x` and in the result; any axis but 0. A negative one counts
        from the end.
    layout, out_layout : str, optional
        The axes of the argument and of the result, a letter each, as in `reblock`: "NHWC", "CHW" or
        "NLC". Not beside another `channel_axis` than 1.
    threads : int or None, default 1
        How many threads each task may use, at least 1; where None, as many as
        `reblock.get_num_threads` says where the task runs.

    Returns
    -------
    dask.array.Array
        Shape ``(N, C*P, S_1, ..., S_k)``, of the dtype of `x`.

    Raises
    ------
    ValueError
        As `reblock.space_to_depth`, and for chunks of unknown sizes: at the call.
    TypeError
        As `reblock.space_to_depth`: at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If `x` has to be rechunked.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> x = da.zeros((2, 3, 180, 320), chunks=(1, 3, 90, 320))
    >>> reblock.dask.space_to_depth(x, 2).chunks
    ((1, 1), (12,), (45, 45), (160,))
    """
    names = layout, out_layout
    if names != (None, None):
        keywords = {"block_size": block_size, "order": order, "threads": threads}
        return _by_name(space_to_depth, _known(x, "x"), names, channel_axis, keywords)
    return _depth_space(
        reblock.space_to_depth,
        x,
        block_size=block_size,
        order=order,
        channel_axis=channel_axis,
        threads=threads,
    )


def unfold(
    x: _Input,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    threads: SupportsIndex | None = 1,
) -> da.Array:
    """Copy every position of a sliding window into a column (im2col), the adjoint of `fold`.

    This is `reblock.unfold`, with ``K`` elements in the window and ``L`` positions of it.

    The spatial axes are flattened in the result, so that it is chunked into stripes: one for each
    chunk of the leading spatial axis, the first along which there is more than one block. A stripe
    has the blocks that would begin in its chunk if there were no padding. What they cover beyond
    the chunk is cut off its neighbours and sent over.

    Parameters
    ----------
    x : dask.array.Array or array_like
        Shape ``(N, C, S_1, ..., S_k)``, with 1 to 6 spatial axes. Any dtype without Python objects;
        elements are moved bit for bit. The spatial axes but the leading one need a single chunk;
        along the other axes, any chunks will do.
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
        Whether the channel (CRD) or the window position (DCR) is the slow index in the rows; DCR
        needs a single chunk along the channels or the rows.
    blocks : slice, (start, stop), or a sequence of these, optional
        Which blocks to take, as in `reblock`: all where it is not given.
    channel_axis : int, default 1
        The axis of the channels in `x`; any axis but 0. A negative one counts from the
        end.
    layout, out_layout : str, optional
        The axes of the argument and of the result, a letter each, as in `reblock`: "NHWC", "CHW" or
        "NLC". Not beside another `channel_axis` than 1.
    threads : int or None, default 1
        How many threads each task may use, at least 1; where None, as many as
        `reblock.get_num_threads` says where the task runs.

    Returns
    -------
    dask.array.Array
        Shape ``(N, C*K, L)``, of the dtype of `x`. Its chunks are larger than those of `x` as it is
        larger than `x`.

    Raises
    ------
    ValueError
        As `reblock.unfold`, and for chunks of unknown sizes: at the call.
    TypeError
        As `reblock.unfold`: at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If `x` has to be rechunked.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> x = da.zeros((1, 3, 224, 224), chunks=(1, 3, 112, 224))
    >>> reblock.dask.unfold(x, 16, strides=16).chunks
    ((1,), (768,), (98, 98))
    """
    array = _known(x, "x")
    window = {
        "window_sizes": window_sizes,
        "strides": strides,
        "dilations": dilations,
        "start_padding": start_padding,
        "end_padding": end_padding,
    }
    names = layout, out_layout
    if names != (None, None):
        more: dict[str, Any] = {"order": order, "blocks": blocks, "threads": threads}
        return _by_name(unfold, array, names, channel_axis, window | more)
    options: dict[str, Any] = {"order": order, "channel_axis": channel_axis, "threads": threads}
    meta = _meta(reblock.unfold, array, window | options | {"blocks": blocks})
    channels, spatial = _axes(array.ndim, channel_axis)
    windows = _Windows.of([array.shape[axis] for axis in spatial], window)
    if blocks is not None:
        part = windows.part(blocks)
        if part is None:
            return _zeros(array, meta)
        covered, windows = part
        index = [slice(None)] * array.ndim
        for d, each in zip(spatial, covered, strict=True):
            index[d] = slice(*each)
        array = array[tuple(index)]
    leading, axis = windows.axes[windows.lead], spatial[windows.lead]
    grains = {d: array.shape[d] for d in spatial if d != axis}
    if order not in _CRD and windows.elements > 1:
        grains[channels] = array.shape[channels]
    array = _rechunk("x", array, grains)

    stripes = _ranges(leading.blocks, map(leading.block_at, _borders(array.chunks[axis])))
    parts = []
    for stripe in stripes:
        rows, local = leading.rows_of(stripe)
        parts.append((rows, windows.with_lead(local).keywords() | options))
    return _map_parts(
        reblock.unfold,
        array,
        parts,
        source_axes=(0, channels, axis),
        target_axes=(0, 1, 2),
        chunks=(
            array.chunks[0],
            tuple(size * windows.elements for size in array.chunks[channels]),
            tuple((last - first) * windows.row for first, last in stripes),
        ),
        meta=meta,
    )


def fold(
    columns: _Input,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    threads: SupportsIndex | None = 1,
) -> da.Array:
    """Sum overlapping blocks up into an image (col2im), the adjoint of `unfold`.

    This is `reblock.fold`, with ``K`` elements in the window and ``L`` positions of it.

    The result is chunked along the leading spatial axis, the first along which there is more than
    one block, and has one chunk along the others; `fold` of `unfold` gives the chunks of the image
    back where they are multiples of the strides. Each chunk takes all columns that reach into it,
    from its own chunk of `columns` and from the neighbours, so that its sums have the same terms in
    the same order as those of `reblock.fold`.

    Parameters
    ----------
    columns : dask.array.Array or array_like
        Shape ``(N, C*K, L)``. A dtype that `reblock.fold` can sum. Along axis 1, chunks are needed
        that are multiples of ``K``; along axis 2, multiples of the number of blocks per step along
        the leading axis; along the batch, any chunks will do. `unfold` makes such chunks.
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
        Whether the channel (CRD) or the window position (DCR) is the slow index in the rows; DCR
        needs a single chunk along the channels or the rows.
    blocks : slice, (start, stop), or a sequence of these, optional
        Which blocks to take, as in `reblock`: all where it is not given.
    channel_axis : int, default 1
        The axis of the channels in the result; any axis but 0. A negative one counts from the
        end.
    layout, out_layout : str, optional
        The axes of the argument and of the result, a letter each, as in `reblock`: "NHWC", "CHW" or
        "NLC". Not beside another `channel_axis` than 1.
    threads : int or None, default 1
        How many threads each task may use, at least 1; where None, as many as
        `reblock.get_num_threads` says where the task runs.

    Returns
    -------
    dask.array.Array
        Shape ``(N, C, *output_sizes)``, of the dtype of `columns`.

    Raises
    ------
    ValueError
        As `reblock.fold`, and for chunks of unknown sizes: at the call.
    TypeError
        As `reblock.fold`: at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If `columns` has to be rechunked.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> columns = da.zeros((1, 768, 196), chunks=(1, 768, 98))
    >>> reblock.dask.fold(columns, (224, 224), 16, strides=16).chunks
    ((1,), (3,), (112, 112), (224,))
    """
    array = _known(columns, "columns")
    window = {
        "window_sizes": window_sizes,
        "strides": strides,
        "dilations": dilations,
        "start_padding": start_padding,
        "end_padding": end_padding,
    }
    names = layout, out_layout
    if names != (None, None):
        more = {"output_sizes": output_sizes, "order": order, "blocks": blocks, "threads": threads}
        return _by_name(fold, array, names, channel_axis, window | more)
    options: dict[str, Any] = {"order": order, "channel_axis": channel_axis, "threads": threads}
    given = {"output_sizes": output_sizes, "blocks": blocks} | window | options
    meta = _meta(reblock.fold, array, given)
    channels, spatial = _axes(meta.ndim, channel_axis)
    windows = _Windows.of(_per_axis(output_sizes, len(spatial)), window)
    if blocks is not None:
        of_blocks = windows.part(blocks)
        if of_blocks is None:
            return _zeros(array, meta)
        reached, windows = of_blocks
        of_part: dict[str, Any] = windows.keywords() | options
        image = fold(array, windows.sizes(), **of_part)
        around = [(0, 0)] * image.ndim
        for d, (first, last) in zip(spatial, reached, strict=True):
            around[d] = (first, meta.shape[d] - last)
        padded: da.Array = da.pad(image, around)
        return padded
    leading, axis, row = windows.axes[windows.lead], spatial[windows.lead], windows.row
    several = order not in _CRD and windows.elements > 1
    array = _rechunk("columns", array, {1: array.shape[1] if several else windows.elements, 2: row})

    borders = (border // row for border in _borders(array.chunks[2]))
    stripes = _ranges(leading.size, map(leading.row_at, borders))
    parts = []
    for rows in stripes:
        (first, last), local = leading.blocks_of(rows)
        part = windows.with_lead(local)
        keywords = {"output_sizes": part.sizes()} | part.keywords() | options
        parts.append(((first * row, last * row), keywords))
    chunks: list[tuple[int, ...]] = [(size,) for size in meta.shape]
    chunks[0] = array.chunks[0]
    chunks[channels] = tuple(size // windows.elements for size in array.chunks[1])
    chunks[axis] = tuple(last - first for first, last in stripes)
    return _map_parts(
        reblock.fold,
        array,
        parts,
        source_axes=(0, 1, 2),
        target_axes=(0, channels, axis),
        chunks=chunks,
        meta=meta,
    )


def rearrange(
    x: _Input,
    pattern: str,
    /,
    *,
    threads: SupportsIndex | None = 1,
    **axes_lengths: SupportsIndex,
) -> da.Array:
    """Split, reorder and join the axes of an array by a pattern in the language of einops.

    This is `reblock.rearrange`. Each chunk of `x` gives one chunk of the result.

    Parameters
    ----------
    x : dask.array.Array or array_like
        Any dtype without Python objects; elements are moved bit for bit. An axis that the pattern
        splits, ``(h p)``, needs chunks that are multiples of ``p``, or of the product of all names
        behind the first. It needs a single chunk where its first name, of those of more than one
        element, is not the first one of an axis of the result too.
    pattern : str
        The axes of `x`, ``->``, the axes of the result, as in `reblock.rearrange`.
    threads : int or None, default 1
        How many threads each task may use, at least 1; where None, as many as
        `reblock.get_num_threads` says where the task runs.
    **axes_lengths : int
        Lengths of axes of the pattern, by their names.

    Returns
    -------
    dask.array.Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        As `reblock.rearrange`, and for chunks of unknown sizes: at the call.
    TypeError
        As `reblock.rearrange`: at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If `x` has to be rechunked.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> x = da.zeros((100, 224, 224, 3), chunks=(10, 112, 224, 3))
    >>> reblock.dask.rearrange(x, "n (h p) w c -> n c h p w", p=16).chunksize
    (10, 3, 7, 16, 224)
    """
    return _by_pattern("rearrange", x, pattern, axes_lengths, threads)


def repeat(
    x: _Input,
    pattern: str,
    /,
    *,
    threads: SupportsIndex | None = 1,
    **axes_lengths: SupportsIndex,
) -> da.Array:
    """Rearrange the axes of an array and repeat its elements along new ones.

    This is `reblock.repeat`. Each chunk of `x` gives one chunk of the result.

    Parameters
    ----------
    x : dask.array.Array or array_like
        As in `rearrange`.
    pattern : str
        As in `reblock.repeat`.
    threads : int or None, default 1
        As in `rearrange`.
    **axes_lengths : int
        Lengths of axes of the pattern, by their names; every new name must have one.

    Returns
    -------
    dask.array.Array
        Of the dtype of `x`.

    Raises
    ------
    ValueError
        As `reblock.repeat`, and for chunks of unknown sizes: at the call.
    TypeError
        As `reblock.repeat`: at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If `x` has to be rechunked.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> x = da.zeros((1000, 1000), chunks=(500, 500))
    >>> reblock.dask.repeat(x, "h w -> (h 2) (w 2)").chunks
    ((1000, 1000), (1000, 1000))
    """
    return _by_pattern("repeat", x, pattern, axes_lengths, threads)


def _by_pattern(
    use: _patterns.Use,
    x: _Input,
    pattern: str,
    axes_lengths: Mapping[str, SupportsIndex],
    threads: SupportsIndex | None,
) -> da.Array:
    array = _known(x, "x")
    lengths = _patterns.lengths_in(pattern, use, array.shape, axes_lengths)
    axes = _patterns.Axes.of(pattern, use, array.ndim)
    cuts = axes.cuts(lengths)
    grains = [
        cuts[axis].grain if axis in cuts else extent for axis, extent in enumerate(array.shape)
    ]
    array = _rechunk("x", array, dict(enumerate(grains)), stacklevel=4)

    # An axis of the result that is chunked has the symbol of the axis of x that it comes from.
    symbols = [array.ndim + axis for axis, _ in enumerate(axes.right)]
    chunks = {}
    for axis, cut in cuts.items():
        symbols[cut.result_axis] = axis
        chunks[axis] = tuple(size // cut.grain * cut.result_grain for size in array.chunks[axis])
    shape = _patterns.shape_of(axes.right, lengths)
    whole = {s: extent for s, extent in zip(symbols, shape, strict=True) if s not in chunks}
    cut_axes = {cut.axis for cut in cuts.values()}
    named = _patterns.named(lengths)
    task = partial(_move_chunk, getattr(reblock, use), axes.spelled(), threads)
    # What tasks would refuse is refused now, by a call on a chunk without elements.
    nothing = np.empty(_patterns.shape_of(axes.left, [0] * len(lengths)), array.dtype)
    meta = task(nothing, dict.fromkeys(named, 0))
    result: da.Array = da.blockwise(
        task,
        symbols,
        array,
        range(array.ndim),
        {name: n for i, (name, n) in enumerate(named.items()) if i not in cut_axes},
        None,
        new_axes=whole,
        adjust_chunks=chunks,
        concatenate=True,
        align_arrays=False,
        meta=meta,
        name=f"{use}-{tokenize(array, use, axes, lengths, threads)}",
    )
    return result


def _move_chunk(
    function: Callable[..., _Array],
    pattern: str,
    threads: SupportsIndex | None,
    chunk: _Array,
    lengths: Mapping[str, int],
) -> _Array:
    return function(chunk, pattern, threads=threads, **lengths)


def _depth_space(function: Callable[..., _Array], x: _Input, **keywords: Any) -> da.Array:
    array = _known(x, "x")
    meta = _meta(function, array, keywords)
    channels, spatial = _axes(array.ndim, keywords["channel_axis"])
    block = dict(zip(spatial, _per_axis(keywords["block_size"], len(spatial)), strict=True))
    elements = {channels: math.prod(block.values())}
    to_space = function is reblock.depth_to_space
    grow, shrink = (block, elements) if to_space else (elements, block)
    grains = dict(shrink)
    if keywords["order"] not in _CRD and elements[channels] > 1:
        # What belongs to one channel of the space tensor is spread over those of the depth tensor.
        grains[channels] = array.shape[channels]
    array = _rechunk("x", array, grains, stacklevel=4)
    chunks = [
        tuple(size * grow.get(axis, 1) // shrink.get(axis, 1) for size in sizes)
        for axis, sizes in enumerate(array.chunks)
    ]
    result: da.Array = da.map_blocks(function, array, chunks=chunks, meta=meta, **keywords)
    return result


@dataclass(frozen=True)
class _Window:
    """A window that slides along one spatial axis."""

    size: int  # of the axis
    window_size: int
    stride: int
    dilation: int
    start_padding: int
    end_padding: int

    @property
    def reach(self) -> int:
        """How many elements lie from the first to the last element of a block, both included."""
        return self.dilation * (self.window_size - 1) + 1

    @property
    def blocks(self) -> int:
        padded = self.start_padding + self.size + self.end_padding
        return (padded - self.reach) // self.stride + 1

    def block_at(self, row: int) -> int:
        """Return the first block of the stripe that begins at `row`.

        A block belongs to the chunk where it would begin if there were no padding: with half the
        reach as padding, that is where its middle lies.
        """
        return -(-row // self.stride)

    def row_at(self, block: int) -> int:
        """Return where the stripe that begins with `block` begins: the inverse of `block_at`."""
        return block * self.stride

    def rows_of(self, blocks: _Range) -> tuple[_Range, Self]:
        """Return the rows that these blocks cover, and how the window slides along them alone."""
        begin = blocks[0] * self.stride - self.start_padding
        end = (blocks[1] - 1) * self.stride - self.start_padding + self.reach
        first = min(max(begin, 0), self.size)
        last = max(min(end, self.size), first)
        start_padding = min(max(first - begin, 0), end - begin)
        return (first, last), replace(
            self,
            size=last - first,
            start_padding=start_padding,
            end_padding=end - begin - start_padding - (last - first),
        )

    def blocks_of(self, rows: _Range) -> tuple[_Range, Self]:
        """Return the blocks that cover these rows, and how the window slides along them alone.

        There is one block at least, even if it does not reach the rows.
        """
        begin, end = rows[0] + self.start_padding, rows[1] + self.start_padding
        # Even in a gap, the first block begins no later than the first row: padding is at least 0.
        first = max(min(-((self.reach - 1 - begin) // self.stride), begin // self.stride), 0)
        first = min(first, self.blocks - 1)
        last = max(min(-(-end // self.stride), self.blocks), first + 1)
        return (first, last), replace(
            self,
            size=rows[1] - rows[0],
            start_padding=begin - first * self.stride,
            end_padding=max((last - 1) * self.stride + self.reach - end, 0),
        )


@dataclass(frozen=True)
class _Windows:
    """A window that slides along each of the spatial axes."""

    axes: tuple[_Window, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], window: Mapping[str, _IntOrInts]) -> Self:
        values = (_per_axis(value, len(sizes)) for value in window.values())
        return cls(tuple(_Window(*axis) for axis in zip(sizes, *values, strict=True)))

    @property
    def elements(self) -> int:
        return math.prod(axis.window_size for axis in self.axes)

    @property
    def lead(self) -> int:
        """The first axis along which there is more than one block: along it the blocks are cut."""
        several = (d for d, axis in enumerate(self.axes) if axis.blocks > 1)
        return next(several, len(self.axes) - 1)

    @property
    def row(self) -> int:
        """How many blocks there are for each step along the leading axis."""
        return math.prod(axis.blocks for axis in self.axes[self.lead + 1 :])

    def part(self, blocks: _Blocks) -> tuple[list[_Range], Self] | None:
        """Return the rows along each axis that these blocks cover, and the window on those alone.

        None where there are no blocks.
        """
        each = [] if blocks is None or isinstance(blocks, slice) else list(blocks)
        if all(bound is None or isinstance(bound, SupportsIndex) for bound in each):
            each = [blocks] * len(self.axes)  # one range, which stands for all axes
        slices = [
            b if isinstance(b, slice) else slice(None) if b is None else slice(*b) for b in each
        ]
        ranges = [s.indices(a.blocks)[:2] for s, a in zip(slices, self.axes, strict=True)]
        if any(first == last for first, last in ranges):
            return None
        rows, axes = zip(
            *(a.rows_of(r) for a, r in zip(self.axes, ranges, strict=True)), strict=True
        )
        return list(rows), replace(self, axes=axes)

    def with_lead(self, leading: _Window) -> Self:
        axes = list(self.axes)
        axes[self.lead] = leading
        return replace(self, axes=tuple(axes))

    def sizes(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    def keywords(self) -> dict[str, tuple[int, ...]]:
        """Return the arguments that the functions take."""
        return {
            "window_sizes": tuple(axis.window_size for axis in self.axes),
            "strides": tuple(axis.stride for axis in self.axes),
            "dilations": tuple(axis.dilation for axis in self.axes),
            "start_padding": tuple(axis.start_padding for axis in self.axes),
            "end_padding": tuple(axis.end_padding for axis in self.axes),
        }


def _known(x: _Input, name: str) -> da.Array:
    """Return a Dask array whose chunks are known."""
    array: da.Array = da.asarray(x)
    for axis, sizes in enumerate(array.chunks):
        if any(math.isnan(size) for size in sizes):
            raise ValueError(
                f"{name} must have chunks of known sizes, got unknown ones along axis {axis}:"
                f" {name}.compute_chunk_sizes() finds them"
            )
    return array


def _meta(function: Callable[..., _Array], x: da.Array, keywords: Mapping[str, Any]) -> _Array:
    """Check the arguments and return an empty result."""
    element = np.empty((), x.dtype)
    try:
        return function(np.broadcast_to(element, (0, *x.shape[1:])), **keywords)
    except ValueError:
        # The same again, for an error that tells the shape as it is.
        return function(np.broadcast_to(element, x.shape), **keywords)


def _by_name(
    function: Callable[..., da.Array],
    array: da.Array,
    names: tuple[str | None, str | None],
    channel_axis: SupportsIndex,
    keywords: dict[str, Any],
) -> da.Array:
    """Call a function of this module on an array with the axes in the function's own order."""
    given: dict[str, Any] = {"layout": names[0], "out_layout": names[1]}
    if channel_axis != 1:
        given["channel_axis"] = channel_axis  # an error
    whole = getattr(reblock, function.__name__)
    sizes = {key: v for key, v in keywords.items() if key not in ("order", "threads")}
    try:
        shape = getattr(reblock, f"{function.__name__}_shape")(array.shape, **sizes, **given)
    except ValueError:
        # The same again, for an error that tells the array.
        whole(np.broadcast_to(np.empty((), array.dtype), array.shape), **keywords, **given)
        raise
    axes = array.ndim - 2
    if function is fold:
        axes = len(shape) - 1 - ("N" in (names[0] or "N"))
    layout, out_layout = _layouts.resolve_layouts(function.__name__, *names, axes) or ("", "")
    array = function(_layouts.arrange_axes(array, layout, _layouts.in_order(layout)), **keywords)
    result: da.Array = _layouts.arrange_axes(array, _layouts.in_order(out_layout), out_layout)
    return result


def _zeros(x: da.Array, meta: _Array) -> da.Array:
    """Return what the columns of no blocks are, or fold to."""
    shape = (x.shape[0], *meta.shape[1:])
    result: da.Array = da.zeros(shape, dtype=x.dtype, chunks=shape)
    return result


def _axes(rank: int, channel_axis: SupportsIndex) -> tuple[int, list[int]]:
    """Return the axis of the channels and the spatial axes."""
    channels = operator.index(channel_axis) % rank
    return channels, [axis for axis in range(1, rank) if axis != channels]


def _per_axis(value: _IntOrInts, axes: int) -> list[int]:
    values: list[int] = np.broadcast_to(np.asarray(value), axes).tolist()
    return values


def _rechunk(name: str, x: da.Array, grains: Mapping[int, int], *, stacklevel: int = 3) -> da.Array:
    """Make chunks along these axes multiples of a grain, and say so where they were not.

    The borders between chunks move down to the next multiple: no more is moved than has to be.
    """
    chunks = {}
    for axis, grain in grains.items():
        sizes, extent = x.chunks[axis], x.shape[axis]
        if any(size % grain for size in sizes) if grain < extent else len(sizes) > 1:
            borders = (end // grain * grain for end in _borders(sizes))
            chunks[axis] = tuple(last - first for first, last in _ranges(extent, borders))
    if chunks:
        needed = " and ".join(
            f"along axis {axis} "
            + ("a single chunk" if grain >= x.shape[axis] else f"multiples of {grain}")
            for axis, grain in grains.items()
            if axis in chunks
        )
        warnings.warn(
            f"{name} is rechunked: it needs {needed}, got chunks"
            f" {tuple(x.chunks[axis] for axis in chunks)}",
            da.PerformanceWarning,
            stacklevel=stacklevel,
        )
    result: da.Array = x.rechunk(chunks)
    return result


def _ranges(extent: int, borders: Iterable[int]) -> list[_Range]:
    """Cut an extent at the borders that lie within it."""
    inner = {border for border in borders if 0 < border < extent}
    return list(pairwise([0, *sorted(inner), extent]))


def _borders(sizes: Sequence[int]) -> list[int]:
    """Return where one chunk ends and the next begins, within the extent."""
    *inner, extent = accumulate(sizes)
    return [border for border in inner if 0 < border < extent]


def _map_parts(
    function: Callable[..., _Array],
    x: da.Array,
    parts: Sequence[tuple[_Range, Mapping[str, Any]]],
    *,
    source_axes: _Axes,
    target_axes: _Axes,
    chunks: Sequence[tuple[int, ...]],
    meta: _Array,
) -> da.Array:
    """Call a function on parts of an array that may overlap, each with keywords of its own.

    The parts are ranges along the last of `source_axes`; their results lie side by side along the
    last of `target_axes`. Along the axes that are not named, the arrays have one chunk.
    """
    token = tokenize(function, x, parts, source_axes, target_axes)
    name, edge = (f"{function.__name__}{kind}-{token}" for kind in ("", "-edge"))
    batch, channels, axis = source_axes
    ends = list(accumulate(x.chunks[axis]))
    graph: dict[Any, Task] = {}
    for i, (part, keywords) in enumerate(parts):
        pieces = _overlaps(ends, part)
        # Where most of the part lies, the call will be made: this piece need not be cut off.
        own = max(range(len(pieces)), key=lambda k: pieces[k][1].stop - pieces[k][1].start)
        within = own, _along(axis, pieces[own][1])
        for n, c in product(range(x.numblocks[batch]), range(x.numblocks[channels])):
            sources = []
            for k, (j, piece) in enumerate(pieces):
                source = _key(x.name, x.ndim, source_axes, (n, c, j))
                if k != own and piece != slice(0, x.chunks[axis][j]):
                    whole, source = source, (edge, n, c, j, piece.start, piece.stop)
                    graph[source] = Task(source, _cut, TaskRef(whole), _along(axis, piece))
                sources.append(TaskRef(source))
            key = _key(name, len(chunks), target_axes, (n, c, i))
            graph[key] = Task(key, _call, function, keywords, axis, within, *sources)
    layers = HighLevelGraph.from_collections(
        name,
        graph,
        dependencies=[x],  # type: ignore[list-item] # Dask's arrays do not fit Dask's own protocol
    )
    result: da.Array = da.Array(layers, name, tuple(chunks), meta=meta)
    return result


def _key(name: str, rank: int, axes: _Axes, block: _Axes) -> tuple[str | int, ...]:
    """Return the key of a block, given by its place along three axes: the first along any other."""
    place = dict(zip(axes, block, strict=True))
    return (name, *(place.get(axis, 0) for axis in range(rank)))


def _overlaps(ends: Sequence[int], part: _Range) -> list[tuple[int, slice]]:
    """Return which of the chunks that end there a part has elements of, and which of each."""
    found = []
    for j in range(bisect_right(ends, part[0]), len(ends)):
        begin = ends[j - 1] if j else 0
        if begin >= part[1]:
            break
        found.append((j, slice(max(part[0] - begin, 0), min(part[1], ends[j]) - begin)))
    return found or [(0, slice(0, 0))]


def _along(axis: int, piece: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (piece,)


def _cut(chunk: _Array, index: tuple[slice, ...]) -> _Array:
    """Copy a part, so that the chunk need not be kept for it."""
    return chunk[index].copy()


def _call(
    function: Callable[..., _Array],
    keywords: Mapping[str, Any],
    axis: int,
    within: tuple[int, tuple[slice, ...]],
    *sources: _Array,
) -> _Array:
    """Call a function on the sources side by side; of one of them, only on what is within."""
    own, index = within
    pieces = [*sources[:own], sources[own][index], *sources[own + 1 :]]
    # Without a dtype, NumPy would give the native byte order.
    x = pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis, dtype=pieces[0].dtype)
    return function(x, **keywords)
