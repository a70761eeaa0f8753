# SPDX-License-Identifier: BSD-3-Clause
"""`rearrange` and `repeat` of Dask arrays."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, SupportsIndex

import dask.array as da
import numpy as np
import numpy.typing as npt
from dask.base import tokenize

import reblock
from reblock import _patterns
from reblock.dask._chunks import known, rechunk
from reblock.dask._types import Array, AxisFactor, Input


def rearrange(
    x: Input,
    pattern: str,
    /,
    *,
    dtype: npt.DTypeLike | None = None,
    scale: AxisFactor | None = None,
    bias: AxisFactor | None = None,
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
        after the first. Names with one element do not count. The axis needs a single chunk if its
        first name is not also the first name of an axis of the result.
    pattern : str
        The axes of `x`, ``->``, the axes of the result, as in `reblock.rearrange`.
    dtype, scale, bias : optional
        How elements are converted, as in `reblock.rearrange`. Numbers along an axis do not
        restrict its chunks: each chunk takes its part of them.
    threads : int or None, default 1
        The largest number of threads of each task, at least 1. None means the number of
        `reblock.get_num_threads` in the process of the task.
    **axes_lengths : int
        Lengths of axes of the pattern, by their names.

    Returns
    -------
    dask.array.Array
        Of `dtype`, or else of the dtype of `x`.

    Raises
    ------
    ValueError
        As `reblock.rearrange`, and for chunks of unknown sizes; raised at the call.
    TypeError
        As `reblock.rearrange`; raised at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If the call rechunks `x`.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> x = da.zeros((100, 224, 224, 3), chunks=(10, 112, 224, 3))
    >>> reblock.dask.rearrange(x, "n (h p) w c -> n c h p w", p=16).chunksize
    (10, 3, 7, 16, 224)
    """
    options = _Options(threads, dtype, scale, bias)
    return _by_pattern("rearrange", x, pattern, axes_lengths, options)


def repeat(
    x: Input,
    pattern: str,
    /,
    *,
    dtype: npt.DTypeLike | None = None,
    scale: AxisFactor | None = None,
    bias: AxisFactor | None = None,
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
    dtype, scale, bias : optional
        As in `rearrange`.
    threads : int or None, default 1
        As in `rearrange`.
    **axes_lengths : int
        Lengths of axes of the pattern, by their names; every new name must have one.

    Returns
    -------
    dask.array.Array
        Of `dtype`, or else of the dtype of `x`.

    Raises
    ------
    ValueError
        As `reblock.repeat`, and for chunks of unknown sizes; raised at the call.
    TypeError
        As `reblock.repeat`; raised at the call.

    Warns
    -----
    dask.array.PerformanceWarning
        If the call rechunks `x`.

    Examples
    --------
    >>> import dask.array as da
    >>> import reblock.dask
    >>> x = da.zeros((1000, 1000), chunks=(500, 500))
    >>> reblock.dask.repeat(x, "h w -> (h 2) (w 2)").chunks
    ((1000, 1000), (1000, 1000))
    """
    options = _Options(threads, dtype, scale, bias)
    return _by_pattern("repeat", x, pattern, axes_lengths, options)


class _Options(NamedTuple):
    """The arguments of a call without the array and the pattern."""

    threads: SupportsIndex | None
    dtype: npt.DTypeLike | None
    scale: AxisFactor | None
    bias: AxisFactor | None


def _by_pattern(
    use: _patterns.Use,
    x: Input,
    pattern: str,
    axes_lengths: Mapping[str, SupportsIndex],
    options: _Options,
) -> da.Array:
    array = known(x, "x")
    _patterns.refuse_out(use, axes_lengths)
    given = (options.scale, options.bias)
    lengths = _patterns.lengths_in(pattern, use, array.shape, axes_lengths, given)
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
    cut_axes = {cut.axis: axis for axis, cut in cuts.items()}
    named = _patterns.named(lengths)
    factors = [_Factor.of(factor, axes) for factor in given]
    task = partial(
        _move_chunk,
        function=getattr(reblock, use),
        pattern=axes.spelled(),
        names=[factor.name for factor in factors],
        threads=options.threads,
        dtype=options.dtype,
    )
    # What tasks would refuse is refused now, by a call on a chunk without elements.
    nothing = np.empty(_patterns.shape_of(axes.left, [0] * len(lengths)), array.dtype)
    meta = task(nothing, dict.fromkeys(named, 0), *(factor.of_nothing for factor in factors))
    blocks: list[Any] = []
    for factor in factors:
        if factor.axis not in cut_axes:
            blocks += [factor.values, None]
            continue
        axis = cut_axes[factor.axis]
        sizes = tuple(size // cuts[axis].grain for size in array.chunks[axis])
        blocks += [da.from_array(factor.values, chunks=(sizes,)), [axis]]
    result: da.Array = da.blockwise(
        task,
        symbols,
        array,
        range(array.ndim),
        {name: n for i, (name, n) in enumerate(named.items()) if i not in cut_axes},
        None,
        *blocks,
        new_axes=whole,
        adjust_chunks=chunks,
        concatenate=True,
        align_arrays=False,
        meta=meta,
        name=f"{use}-{tokenize(array, use, axes, lengths, options)}",
    )
    return result


class _Factor(NamedTuple):
    """A scale or a bias: numbers along an axis of the pattern, or a number or None."""

    axis: int | None
    name: str | None
    values: Any

    @classmethod
    def of(cls, factor: object, axes: _patterns.Axes) -> "_Factor":
        if not isinstance(factor, Mapping):
            return cls(None, None, factor)
        (values,) = factor.values()
        if np.ndim(values) == 0:
            return cls(None, None, values)
        axis = axes.axis_of(factor)
        return cls(axis, f"a{axis}", np.asarray(values, np.float64))

    @property
    def of_nothing(self) -> Any:
        """The values for axes without elements."""
        return self.values if self.name is None else self.values[:0]


def _move_chunk(
    chunk: Array,
    lengths: Mapping[str, int],
    *values: Any,
    function: Callable[..., Array],
    pattern: str,
    names: Sequence[str | None],
    **options: Any,
) -> Array:
    """Move a chunk, with its part of the numbers of a scale and a bias."""
    scale, bias = (
        factor if name is None else {name: factor}
        for name, factor in zip(names, values, strict=True)
    )
    return function(chunk, pattern, scale=scale, bias=bias, **options, **lengths)
