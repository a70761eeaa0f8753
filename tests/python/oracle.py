# SPDX-License-Identifier: BSD-3-Clause
"""The four operators by index arithmetic alone: slow, and plainly what their formulas say.

The formulas are those of the operators' definition, written over full index arrays. Every
argument has one value per spatial axis. The moving operators see elements as opaque bytes: any
dtype will do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Extents = Sequence[int]

NARROW_FLOATS = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def as_bytes(x: Array) -> Array:
    """View the elements as opaque bytes, so that no padding or NaN payload is interpreted."""
    return x.view(np.dtype((np.void, x.dtype.itemsize)))


def rank(index: Sequence[Any], extents: Extents) -> Any:
    """Return the position of a multi-index in a box of these extents, in C order."""
    position: Any = 0
    for i, extent in zip(index, extents, strict=True):
        position = position * extent + i
    return position


def unrank(position: Array, extents: Extents) -> list[Array]:
    """Return the multi-index whose rank is `position`."""
    index = []
    for extent in reversed(extents):
        index.append(position % extent)
        position = position // extent
    return index[::-1]


def channels_second(shape: Extents, channel_axis: int) -> tuple[int, ...]:
    """Return (N, C, S_1, ..., S_k) of an array whose channels lie along `channel_axis`."""
    axis = channel_axis % len(shape)
    return (shape[0], shape[axis], *(s for d, s in enumerate(shape) if d not in (0, axis)))


def channels_at(index: Iterable[Any], channel_axis: int) -> tuple[Any, ...]:
    """Rewrite (n, c, p_1, ..., p_k) for an array whose channels lie along `channel_axis`."""
    n, c, *p = index
    axis = channel_axis % (2 + len(p))
    return (n, *p[: axis - 1], c, *p[axis - 1 :])


def depth_index(space: Extents, block: Extents, order: str) -> tuple[Array, ...]:
    """Return the index in the depth tensor of each element of a space tensor of these extents."""
    n, c, *p = np.indices(space)
    s = [p_d // b for p_d, b in zip(p, block, strict=True)]
    j = [p_d % b for p_d, b in zip(p, block, strict=True)]
    q = {"DCR": rank(j, block) * space[1] + c, "CRD": c * math.prod(block) + rank(j, block)}
    return (n, q[order], *s)


def depth_to_space(
    x: Array, block_size: Extents, order: str = "DCR", channel_axis: int = 1
) -> Array:
    n, q, *s = channels_second(x.shape, channel_axis)
    space = (n, q // math.prod(block_size), *(e * b for e, b in zip(s, block_size, strict=True)))
    source = channels_at(depth_index(space, block_size, order), channel_axis)
    target = channels_at(np.indices(space), channel_axis)
    result = np.zeros(channels_at(space, channel_axis), x.dtype)
    as_bytes(result)[target] = as_bytes(x)[source]
    return result


def space_to_depth(
    x: Array, block_size: Extents, order: str = "DCR", channel_axis: int = 1
) -> Array:
    space = n, c, *p = channels_second(x.shape, channel_axis)
    depth = (n, c * math.prod(block_size), *(e // b for e, b in zip(p, block_size, strict=True)))
    source = channels_at(np.indices(space), channel_axis)
    target = channels_at(depth_index(space, block_size, order), channel_axis)
    result = np.zeros(channels_at(depth, channel_axis), x.dtype)
    as_bytes(result)[target] = as_bytes(x)[source]
    return result


def block_counts(
    sizes: Extents,
    window_sizes: Extents,
    *,
    strides: Extents,
    dilations: Extents,
    start_padding: Extents,
    end_padding: Extents,
) -> list[int]:
    """Return L_d: how often the window fits along each axis."""
    axes = zip(sizes, window_sizes, strides, dilations, start_padding, end_padding, strict=True)
    return [
        (size + start + end - dilation * (window - 1) - 1) // stride + 1
        for size, window, stride, dilation, start, end in axes
    ]


def positions(
    offset: Sequence[Any],
    block: Sequence[Any],
    strides: Extents,
    dilations: Extents,
    start_padding: Extents,
) -> list[Any]:
    """Return p: where the window offset `offset` of the block `block` lies."""
    axes = zip(offset, block, strides, dilations, start_padding, strict=True)
    return [b * stride + o * dilation - start for o, b, stride, dilation, start in axes]


def all_inside(p: Sequence[Array], sizes: Extents) -> Array:
    inside = np.ones(p[0].shape, bool)
    for p_d, size in zip(p, sizes, strict=True):
        inside &= (p_d >= 0) & (p_d < size)
    return inside


def arrange(x: Array, order: str, layout: str) -> Array:
    """View an array of axes in one order of letters in another; missing axes are of extent 1."""
    kept = [letter for letter in order if letter in layout]
    missing = tuple(axis for axis, letter in enumerate(order) if letter not in layout)
    result: Array = x.squeeze(missing).transpose([kept.index(letter) for letter in layout])
    return result


def row_of(c: Any, o: Any, channels: int, window_sizes: Extents, order: str) -> Any:
    """Return the row of the columns that has window offset `o` of channel `c`."""
    window = math.prod(window_sizes)
    return {"CRD": c * window + o, "DCR": o * channels + c}[order]


def unfold(
    x: Array,
    window_sizes: Extents,
    *,
    strides: Extents,
    dilations: Extents,
    start_padding: Extents,
    end_padding: Extents,
    channel_axis: int = 1,
    order: str = "CRD",
    blocks: Sequence[tuple[int, int]] | None = None,
) -> Array:
    batch, channels, *sizes = channels_second(x.shape, channel_axis)
    counts = block_counts(
        sizes,
        window_sizes,
        strides=strides,
        dilations=dilations,
        start_padding=start_padding,
        end_padding=end_padding,
    )
    ranges = blocks or [(0, count) for count in counts]
    counts = [stop - start for start, stop in ranges]
    window = math.prod(window_sizes)
    result = np.zeros((batch, channels * window, math.prod(counts)), x.dtype)

    n, c, o, column = np.indices((batch, channels, window, math.prod(counts)))
    target = (n, row_of(c, o, channels, window_sizes, order), column)
    b = [first + i for (first, _), i in zip(ranges, unrank(column, counts), strict=True)]
    p = positions(unrank(o, window_sizes), b, strides, dilations, start_padding)
    inside = all_inside(p, sizes)
    source = channels_at([i[inside] for i in (n, c, *p)], channel_axis)
    as_bytes(result)[tuple(i[inside] for i in target)] = as_bytes(x)[source]
    return result


def fold(
    columns: Array,
    output_sizes: Extents,
    window_sizes: Extents,
    *,
    strides: Extents,
    dilations: Extents,
    start_padding: Extents,
    end_padding: Extents,
    channel_axis: int = 1,
    order: str = "CRD",
    blocks: Sequence[tuple[int, int]] | None = None,
    onto: Array | None = None,
) -> Array:
    """Start from zero, or from what `onto` holds, where something is added to it."""
    batch, rows, count = columns.shape
    counts = block_counts(
        output_sizes,
        window_sizes,
        strides=strides,
        dilations=dilations,
        start_padding=start_padding,
        end_padding=end_padding,
    )
    ranges = blocks or [(0, count) for count in counts]
    counts = [stop - start for start, stop in ranges]
    channels = rows // math.prod(window_sizes)
    sum_type = np.dtype(np.float32) if columns.dtype in NARROW_FLOATS else columns.dtype
    shape = channels_at((batch, channels, *output_sizes), channel_axis)
    result = np.zeros(shape, columns.dtype) if onto is None else onto.copy()
    reached = np.zeros(shape, bool)

    n, c, column = np.indices((batch, channels, count))
    b = [first + i for (first, _), i in zip(ranges, unrank(column, counts), strict=True)]
    with np.errstate(all="ignore"):
        total = result.astype(sum_type)
        for o in np.ndindex(*window_sizes):
            # Two blocks never reach the same position by the same offset: no index occurs twice.
            p = positions(o, b, strides, dilations, start_padding)
            inside = all_inside(p, output_sizes)
            target = channels_at([i[inside] for i in (n, c, *p)], channel_axis)
            row = row_of(c, rank(o, window_sizes), channels, window_sizes, order)
            total[target] += columns[n, row, column][inside].astype(sum_type)
            reached[target] = True
        result[reached] = total.astype(columns.dtype)[reached]
    return result
