# SPDX-License-Identifier: BSD-3-Clause
"""Find which pixels the elements of columns come from, and which elements reach a pixel.

The answers come from `unfold` on arrays of positions. These arrays repeat one axis without memory
of their own, so images may have any size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from operator import index as as_int
from typing import TYPE_CHECKING, Any

import numpy as np

from reblock import _core
from reblock._ranges import slices_of
from reblock._tensors import COLUMNS, Columns, Index, Pixels, Windows, rank, unrank

if TYPE_CHECKING:
    from reblock._core import _Blocks

# The window positions whose terms reach a pixel of an axis, in the order of addition, by offset
Reaching = Mapping[int, list[int]]


def ranges_of(windows: Windows, blocks: _Blocks) -> list[tuple[int, int]]:
    """Return the window positions that `blocks` chooses along each axis. It must be valid."""
    ranges = []
    slices = slices_of(blocks, len(windows.sizes))
    for axis, (size, chosen) in enumerate(zip(windows.sizes, slices, strict=True)):
        padded = size + windows.start_padding[axis] + windows.end_padding[axis]
        reach = windows.dilations[axis] * (windows.window_sizes[axis] - 1) + 1
        count = (padded - reach) // windows.strides[axis] + 1
        start, stop, _ = chosen.indices(count)
        ranges.append((start, stop))
    return ranges


def of_columns(x: Pixels, columns: Columns) -> dict[Index, tuple[Index, ...]]:
    """Return the index in the image of each shown element of the columns; nothing for padding."""
    indices = columns.indices()
    if not indices:
        return {}
    windows = columns.windows
    counts = windows.counts
    few = [min(n, -(-COLUMNS // math.prod(counts[d + 1 :]))) for d, n in enumerate(counts)]
    blocks = [(start, start + n) for (start, _), n in zip(windows.ranges, few, strict=True)]
    corner = x.corner(x.sizes)
    axes = (x.channel_axis, *x.spatial)
    places = [
        _core.unfold(
            _positions(corner, axis),
            windows.window_sizes,
            strides=windows.strides,
            dilations=windows.dilations,
            start_padding=windows.start_padding,
            end_padding=windows.end_padding,
            padding_mode=windows.padding_mode,
            order=windows.order,
            blocks=blocks,
            channel_axis=x.channel_axis,
        )[0]
        for axis in axes
    ]
    sources: dict[Index, tuple[Index, ...]] = {}
    for index, (channel, offset, column) in zip(indices, np.ndindex(columns.shown), strict=True):
        row = windows.row(channel, offset, corner[x.channel_axis])
        found = [int(place[row, rank(unrank(column, counts), few)]) - 1 for place in places]
        sources[index] = (x.index(found[0], found[1:]),) if min(found) >= 0 else ()
    return sources


def of_pixels(result: Pixels, columns: Columns, shown: Index) -> dict[Index, tuple[Index, ...]]:
    """Return the elements of the columns that `fold` adds to each shown pixel, in its order."""
    windows = columns.windows
    starts = [start for start, _ in windows.ranges]
    axes = [_reaching(windows, d, shown[axis]) for d, axis in enumerate(result.spatial)]

    def terms(channel: int, position: Index) -> Iterator[Index]:
        reaching = [axis[place] for axis, place in zip(axes, position, strict=True)]
        for offset in itertools.product(*map(sorted, reaching)):
            row = columns.row(channel, rank(offset, windows.window_sizes))
            each = (found[o] for found, o in zip(reaching, offset, strict=True))
            for window in itertools.product(*each):
                place = [number - start for number, start in zip(window, starts, strict=True)]
                yield 0, row, rank(place, windows.counts)

    return {index: tuple(terms(*result.split(index))) for index in np.ndindex(*shown)}


def _reaching(windows: Windows, d: int, pixels: int) -> list[Reaching]:
    """Return which window positions reach each of the first pixels of an axis."""
    size, stride, padding = windows.sizes[d], windows.strides[d], windows.start_padding[d]
    dilation, window_size = windows.dilations[d], windows.window_sizes[d]
    reach = dilation * (window_size - 1)
    start, stop = windows.ranges[d]
    # Windows between these begin behind the pixels, and end before the padding.
    near = (pixels - 1 + padding) // stride + 1
    far = max(near, -((reach - size - padding) // stride))
    if windows.padding_mode == "constant":
        start, far = max(start, -((reach - padding) // stride)), stop
    terms = []
    for first, last in ((start, min(stop, near)), (max(start, far), stop)):
        if first >= last:
            continue
        table = _core.unfold(
            np.arange(1, 1 + size).reshape(1, 1, size),
            window_size,
            strides=stride,
            dilations=dilation,
            start_padding=padding,
            end_padding=windows.end_padding[d],
            padding_mode=windows.padding_mode,
            blocks=(first, last),
        )[0]
        for offset, i in np.argwhere((table > 0) & (table <= pixels)).tolist():
            place = (first + i) * stride + offset * dilation - padding
            side = 0 if 0 <= place < size else 1 if place < 0 else 2
            terms.append((offset, side, first + i, as_int(table[offset, i]) - 1))
    found: list[dict[int, list[int]]] = [{} for _ in range(pixels)]
    # For each offset, the pixel itself comes first, then the padding before and behind the image.
    for offset, _, window, pixel in sorted(terms):
        found[pixel].setdefault(offset, []).append(window)
    return list(found)


def _positions(shape: Index, axis: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return an array of the positions along one axis, from 1 on. A 0 after a move is padding."""
    numbers = np.arange(1, 1 + shape[axis], dtype=np.int64)
    return np.broadcast_to(numbers.reshape([-1] + [1] * (len(shape) - 1 - axis)), shape)
