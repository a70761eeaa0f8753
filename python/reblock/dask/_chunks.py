# SPDX-License-Identifier: BSD-3-Clause
"""The chunks of Dask arrays: of known sizes, between borders, rechunked where needed."""

import inspect
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

import dask.array as da

from reblock._core import read_array
from reblock.dask._types import Input

Range: TypeAlias = tuple[int, int]  # half-open


def known(x: Input, name: str) -> da.Array:
    """Return a Dask array whose chunks are known."""
    array: da.Array = da.asarray(x)
    if array.dtype.hasobject and not isinstance(x, da.Array):
        read_array(x, name)  # which refuses it by the type that came
    for axis, sizes in enumerate(array.chunks):
        if any(math.isnan(size) for size in sizes):
            raise ValueError(
                f"{name} must have chunks of known sizes, got unknown ones along axis {axis}:"
                f" {name}.compute_chunk_sizes() finds them"
            )
    return array


def rechunk(name: str, x: da.Array, grains: Mapping[int, int]) -> da.Array:
    """Make chunks along these axes multiples of a grain, with a warning if they were not.

    Each border between chunks moves down to the next multiple, and no further.
    """
    chunks = {}
    for axis, grain in grains.items():
        sizes, extent = x.chunks[axis], x.shape[axis]
        if any(size % grain for size in sizes) if grain < extent else len(sizes) > 1:
            cuts = (end // grain * grain for end in borders(sizes))
            chunks[axis] = tuple(last - first for first, last in ranges(extent, cuts))
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
            stacklevel=_level_of_caller(),
        )
    result: da.Array = x.rechunk(chunks)
    return result


def ranges(extent: int, cuts: Iterable[int]) -> list[Range]:
    """Cut an extent at the borders that lie within it."""
    inner = {border for border in cuts if 0 < border < extent}
    return list(pairwise([0, *sorted(inner), extent]))


def borders(sizes: Sequence[int]) -> list[int]:
    """Return the indices where one chunk ends and the next begins, within the extent."""
    *inner, extent = accumulate(sizes)
    return [border for border in inner if 0 < border < extent]


def _level_of_caller() -> int:
    """Return the stacklevel of a warning for the first caller outside of this package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("reblock."):
        frame, level = frame.f_back, level + 1
    return level
