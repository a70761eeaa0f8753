# SPDX-License-Identifier: BSD-3-Clause
"""Put padding other than zeros around an array before windows are cut from it."""

from collections.abc import Sequence

import dask.array as da
import numpy as np

import reblock
from reblock.dask._types import PaddingMode

PADDING = ("start_padding", "end_padding")
CONSTANT = ("constant", reblock.PaddingMode.CONSTANT)
_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")  # by their numbers


def has_zeros(mode: PaddingMode, value: complex = 0) -> bool:
    """Tell whether the padding is the default of `reblock`: all bits 0."""
    if mode not in CONSTANT or value != 0:
        return False
    return not np.signbit([value.real, value.imag]).any()


def pad_axis(
    array: da.Array, axis: int, pads: Sequence[int], mode: PaddingMode, value: complex
) -> da.Array:
    """Pad one axis. Its first and its last chunk get the new elements; no other chunk changes."""
    start, end = pads
    if start + end == 0:
        return array
    # Dask takes no elements from an axis with many empty chunks.
    chunks = [size for size in array.chunks[axis] if size] or [0]
    size, array = array.shape[axis], array.rechunk({axis: tuple(chunks)})
    if mode in CONSTANT:
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
    # Dask has made the byte order native.
    result: da.Array = padded.rechunk({axis: tuple(chunks)}).astype(array.dtype)
    return result
