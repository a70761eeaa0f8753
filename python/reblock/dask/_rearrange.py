# SPDX-License-Identifier: BSD-3-Clause
"""`rearrange` and `repeat` of Dask arrays."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import SupportsIndex

import dask.array as da
import numpy as np
from dask.base import tokenize

import reblock
from reblock import _patterns
from reblock.dask._chunks import known, rechunk
from reblock.dask._types import Array, Input


def rearrange(
    x: Input,
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
    x: Input,
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
    x: Input,
    pattern: str,
    axes_lengths: Mapping[str, SupportsIndex],
    threads: SupportsIndex | None,
) -> da.Array:
    array = known(x, "x")
    lengths = _patterns.lengths_in(pattern, use, array.shape, axes_lengths)
    axes = _patterns.Axes.of(pattern, use, array.ndim)
    cuts = axes.cuts(lengths)
    grains = [
        cuts[axis].grain if axis in cuts else extent for axis, extent in enumerate(array.shape)
    ]
    array = rechunk("x", array, dict(enumerate(grains)))

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
    function: Callable[..., Array],
    pattern: str,
    threads: SupportsIndex | None,
    chunk: Array,
    lengths: Mapping[str, int],
) -> Array:
    return function(chunk, pattern, threads=threads, **lengths)
