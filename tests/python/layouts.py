# SPDX-License-Identifier: BSD-3-Clause
"""Arrays placed anywhere in memory, with guard bytes around and between their elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oracle import Array, as_bytes

MARGIN = 64  # bytes before and after the elements; a multiple of every alignment that occurs


@dataclass(frozen=True)
class Layout:
    """Where the elements of an array lie, whatever its extents. One value per axis."""

    nesting: tuple[int, ...]  # the axes from the slowest in memory to the fastest
    gaps: tuple[int, ...]  # unused bytes after each step along the axis
    flipped: tuple[bool, ...]  # whether indices ascend as addresses descend
    repeated: tuple[bool, ...]  # whether all indices share one place (zero stride)
    offset: int = 0  # bytes past an aligned address

    def strides(self, shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
        """Return unsigned strides in bytes: elements share none unless an axis is repeated."""
        strides = [0] * len(shape)
        size = itemsize
        for axis in reversed(self.nesting):
            if not self.repeated[axis]:
                strides[axis] = size + self.gaps[axis]
                size = strides[axis] * max(shape[axis], 1)
        return tuple(strides)


def packed(axes: int) -> Layout:
    """Return the layout of C order without gaps."""
    return Layout(tuple(range(axes)), (0,) * axes, (False,) * axes, (False,) * axes)


def span(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> int:
    """Count the bytes from the first element to the end of the last."""
    if 0 in shape:
        return 0
    return itemsize + sum(stride * (e - 1) for e, stride in zip(shape, strides, strict=True))


@dataclass(frozen=True)
class Memory:
    """A buffer of bytes and an array that lies in it."""

    buffer: Array
    array: Array
    owned: Array  # for every byte of the buffer whether it belongs to an element

    def guard_bytes(self) -> bytes:
        """Return the bytes that belong to no element."""
        return bytes(self.buffer[~self.owned].tobytes())


def view(
    buffer: Array, start: int, layout: Layout, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Memory:
    """Make an array in `buffer` whose lowest address is byte `start`."""
    strides = layout.strides(shape, dtype.itemsize)
    owned = np.zeros(buffer.size, np.uint8)

    def array_in(bytes_: Array) -> Array:
        lowest: Array = np.ndarray(shape, dtype, bytes_.data, start, strides)
        steps = [slice(None, None, -1 if flip else 1) for flip in layout.flipped]
        index: Any = (*steps, ...)
        result: Array = lowest[index]
        return result

    as_bytes(array_in(owned))[...] = np.void(b"\xff" * dtype.itemsize)
    return Memory(buffer, array_in(buffer), owned != 0)


def random_bytes(size: int, seed: int) -> Array:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def allocate(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    layout: Layout | None = None,
    *,
    seed: int = 0,
    margin: int = MARGIN,
) -> Memory:
    """Make an array of random bytes amid random bytes; packed unless a layout is given."""
    layout = layout or packed(len(shape))
    size = span(shape, layout.strides(shape, dtype.itemsize), dtype.itemsize)
    buffer = random_bytes(margin + layout.offset + size + margin, seed)
    return view(buffer, margin + layout.offset, layout, shape, dtype)


def small_integers(memory: Memory, dtype: np.dtype[Any]) -> Array:
    """Replace an array's random bytes by integers from -9 to 9 (0 to 18 where unsigned)."""
    bytes_ = memory.buffer[: math.prod(memory.array.shape)]
    values = np.resize(bytes_ if bytes_.size else [0], memory.array.shape).astype(np.int64) % 19
    if dtype.kind not in "ub":
        values -= 9
    memory.array[...] = values.astype(dtype)
    return memory.array


@st.composite
def layouts(
    draw: st.DrawFn, axes: int, itemsize: int, *, for_output: bool = False, unit: int = 1
) -> Layout:
    """Draw C, Fortran, permuted, sliced, flipped, broadcast, unaligned, or all at once.

    An output has no repeated axis. Gaps and the offset are multiples of `unit` bytes.
    """
    kinds = ["C", "Fortran", "permuted", "sliced", "flipped", "unaligned", "combined"]
    if not for_output:
        kinds.insert(5, "broadcast")
    kind = draw(st.sampled_from(kinds))

    def per_axis(wanted: str, values: st.SearchStrategy[Any], default: Any) -> tuple[Any, ...]:
        if kind not in (wanted, "combined"):
            return (default,) * axes
        return tuple(draw(st.lists(values, min_size=axes, max_size=axes)))

    nesting = tuple(range(axes))
    if kind == "Fortran":
        nesting = nesting[::-1]
    elif kind in ("permuted", "combined"):
        nesting = tuple(draw(st.permutations(nesting)))
    gaps = [0, itemsize, 2 * itemsize, unit, 3 * unit]
    repeats = st.just(False) if for_output else st.booleans()
    return Layout(
        nesting=nesting,
        gaps=per_axis("sliced", st.sampled_from(gaps), 0),
        flipped=per_axis("flipped", st.booleans(), False),
        repeated=per_axis("broadcast", repeats, False),
        offset=draw(st.sampled_from([unit, 3 * unit])) if kind in ("unaligned", "combined") else 0,
    )


@st.composite
def in_one_buffer(
    draw: st.DrawFn, shape: tuple[int, ...], out_shape: tuple[int, ...], dtype: np.dtype[Any]
) -> tuple[Memory, Memory]:
    """Place an input and an output anywhere in one buffer, each in any layout."""
    shapes = shape, out_shape
    both = [
        draw(layouts(len(each), dtype.itemsize, for_output=i == 1)) for i, each in enumerate(shapes)
    ]
    sizes = [
        span(each, layout.strides(each, dtype.itemsize), dtype.itemsize)
        for each, layout in zip(shapes, both, strict=True)
    ]
    buffer = random_bytes(MARGIN + sum(sizes) + MARGIN, draw(st.integers(0, 99)))
    starts = [MARGIN + draw(st.integers(0, sum(sizes) - size)) for size in sizes]
    source, target = (
        view(buffer, start, layout, each, dtype)
        for start, layout, each in zip(starts, both, shapes, strict=True)
    )
    return source, target
