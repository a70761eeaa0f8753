# SPDX-License-Identifier: BSD-3-Clause
"""Put padding other than zeros around an array before windows are cut from it."""

import math
from collections.abc import Sequence

import dask.array as da
import numpy as np

import reblock
from reblock.dask._types import PaddingMode

PADDING = ("start_padding", "end_padding")
_CONSTANT = ("constant", reblock.PaddingMode.CONSTANT)
_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")  # by their numbers


def has_zeros(mode: PaddingMode, value: complex = 0) -> bool:
    """Tell whether the padding is the default of `reblock`: all bits 0."""
    return mode in _CONSTANT and value == 0 and math.copysign(1, value.real) > 0


def pad_axis(
    array: da.Array, axis: int, pads: Sequence[int], mode: PaddingMode, value: complex
) -> da.Array:
    """Pad one axis. Its first and its last chunk get the new elements; no other chunk changes."""
    start, end = pads
    if start + end == 0:
        return array
    size, chunks = array.shape[axis], list(array.chunks[axis])
    if mode in _CONSTANT:
        element = np.array(value, array.dtype)
        around = [
            da.full(
                (*array.shape[:axis], pad, *array.shape[axis + 1 :]),
                element,
                dtype=array.dtype,
                chunks=(*array.chunks[:axis], (pad,), *array.chunks[axis + 1 :]),
            )
            for pad in pads
        ]
    else:
        name = mode if isinstance(mode, str) else _MODES[int(mode)]
        index = np.pad(np.arange(size), (start, end), name)  # type: ignore[call-overload]
        ends = (index[:start], index[start + size :])
        around = [da.take(array, part, axis=axis) for part in ends]
    chunks[0] += start
    chunks[-1] += end
    padded = da.concatenate([around[0], array, around[1]], axis=axis)
    result: da.Array = padded.rechunk({axis: tuple(chunks)})
    return result
