# SPDX-License-Identifier: BSD-3-Clause
"""Make a graph with one task for each part of an array. Parts may overlap."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, product
from typing import Any, TypeAlias

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import Task, TaskRef

from reblock.dask._chunks import Range
from reblock.dask._types import Array

Axes: TypeAlias = tuple[int, int, int]  # of the batch, of the channels, and one of space


def map_parts(
    function: Callable[..., Array],
    x: da.Array,
    parts: Sequence[tuple[Range, Mapping[str, Any]]],
    *,
    source_axes: Axes,
    target_axes: Axes,
    chunks: Sequence[tuple[int, ...]],
    meta: Array,
) -> da.Array:
    """Call a function on each part of an array, with its own keywords. Parts may overlap.

    The parts are ranges along the last of `source_axes`. Their results lie side by side along the
    last of `target_axes`. Along all other axes, the arrays have one chunk.
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


def _key(name: str, rank: int, axes: Axes, block: Axes) -> tuple[str | int, ...]:
    """Return the key of a Dask block by its place along `axes`; along others, the first."""
    place = dict(zip(axes, block, strict=True))
    return (name, *(place.get(axis, 0) for axis in range(rank)))


def _overlaps(ends: Sequence[int], part: Range) -> list[tuple[int, slice]]:
    """Return the chunks, given by their ends, that a part overlaps, and its range of each."""
    found = []
    for j in range(bisect_right(ends, part[0]), len(ends)):
        begin = ends[j - 1] if j else 0
        if begin >= part[1]:
            break
        found.append((j, slice(max(part[0] - begin, 0), min(part[1], ends[j]) - begin)))
    return found or [(0, slice(0, 0))]


def _along(axis: int, piece: slice) -> tuple[slice, ...]:
    return (slice(None),) * axis + (piece,)


def _cut(chunk: Array, index: tuple[slice, ...]) -> Array:
    """Copy a part, so that the chunk can be freed."""
    return chunk[index].copy()


def _call(
    function: Callable[..., Array],
    keywords: Mapping[str, Any],
    axis: int,
    within: tuple[int, tuple[slice, ...]],
    *sources: Array,
) -> Array:
    """Call a function on the sources side by side, with only a part of one of them."""
    own, index = within
    pieces = [*sources[:own], sources[own][index], *sources[own + 1 :]]
    # Without a dtype, NumPy would give the native byte order.
    x = pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis, dtype=pieces[0].dtype)
    return function(x, **keywords)
