# SPDX-License-Identifier: BSD-3-Clause
"""What windows find outside of an image, and what becomes of its terms, by numpy.pad."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import oracle
from calls import Call, Ranges
from oracle import Array

MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]


def sources(unfold: Call, mode: Any) -> Array:
    """Return the padded numbers of an image's elements; -1 stands for the constant's value."""
    numbers = np.arange(math.prod(unfold.input_shape)).reshape(unfold.input_shape)
    pads = zip(unfold.keywords["start_padding"], unfold.keywords["end_padding"], strict=True)
    widths = oracle.channels_at([(0, 0), (0, 0), *pads], unfold.keywords["channel_axis"])
    options: dict[str, Any] = {"constant_values": -1} if mode == "constant" else {}
    padded: Array = np.pad(numbers, widths, mode, **options)
    return padded


def expected_unfold(  # noqa: PLR0917 - all that a result depends on
    unfold: Call, x: Array, mode: Any, ranges: Ranges, order: str, value: object = None
) -> Array:
    numbers = sources(unfold, mode)
    nothing = (0,) * len(unfold.arguments[0])
    keywords = {**unfold.keywords, "start_padding": nothing, "end_padding": nothing}
    taken = oracle.unfold(numbers, *unfold.arguments, **keywords, order=order, blocks=ranges)
    result = np.zeros(taken.shape, x.dtype)
    if value is not None:
        result[...] = value
    found = np.concatenate([oracle.as_bytes(x).reshape(-1), oracle.as_bytes(result).reshape(-1)])
    if taken.size:
        oracle.as_bytes(result)[...] = found[np.where(taken < 0, x.size, taken)]
    return result


def expected_fold(  # noqa: PLR0917 - all that a result depends on
    fold: Call, columns: Array, mode: Any, ranges: Ranges, order: str, onto: Array | None = None
) -> Array:
    """Add terms one by one: for each offset a position's own, those before, those behind."""
    sizes, windows = fold.arguments
    window = fold.keywords
    batch, rows, _ = columns.shape
    channels = rows // math.prod(windows)
    shape = (batch, channels, *sizes)
    sum_type = np.dtype(np.float32) if columns.dtype in oracle.NARROW_FLOATS else columns.dtype
    start = np.zeros(shape, columns.dtype) if onto is None else _channels_second(onto, window)
    total, reached = start.astype(sum_type), np.zeros(shape, bool)
    counts = [stop - first for first, stop in ranges]
    pads = list(zip(window["start_padding"], window["end_padding"], strict=True))
    options: dict[str, Any] = {"constant_values": -1} if mode == "constant" else {}
    images = [
        np.pad(np.arange(size), pad, mode, **options) for size, pad in zip(sizes, pads, strict=True)
    ]
    with np.errstate(all="ignore"):
        for o in np.ndindex(*windows):
            terms = []
            for d, image in enumerate(images):
                places = []
                for block in range(*ranges[d]):
                    p = block * window["strides"][d] + o[d] * window["dilations"][d]
                    side = 1 if p < pads[d][0] else 2 if p >= pads[d][0] + sizes[d] else 0
                    if image[p] >= 0:
                        places.append((image[p], side, p, block - ranges[d][0]))
                terms.append(sorted(places))
            for term in itertools.product(*terms):
                c = np.arange(channels)
                row = oracle.row_of(c, oracle.rank(o, windows), channels, windows, order)
                at = (slice(None), slice(None), *(place[0] for place in term))
                column = oracle.rank([place[3] for place in term], counts)
                total[at] = total[at] + columns[:, row, column].astype(sum_type)
                reached[at] = True
        result = start.copy()
        result[reached] = total.astype(columns.dtype)[reached]
    return np.ascontiguousarray(np.moveaxis(result, 1, window["channel_axis"]))


def _channels_second(x: Array, window: dict[str, Any]) -> Array:
    return np.moveaxis(x, window["channel_axis"], 1)


def listed_terms(
    columns: Array, fold: Call, mode: Any, ranges: Ranges, order: str
) -> tuple[Array, Array, Array]:
    """Return the terms of each element in the order of addition, and their offsets in the window.

    The second array tells which terms there are. The first axis is that of the terms; the others
    are those of the image, channels second.
    """
    sizes, windows = fold.arguments
    window = fold.keywords
    batch, rows, _ = columns.shape
    channels = rows // math.prod(windows)
    counts = [stop - first for first, stop in ranges]
    pads = list(zip(window["start_padding"], window["end_padding"], strict=True))
    found: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for o in np.ndindex(*windows):
        places = []
        for d, (before, _) in enumerate(pads):
            numbers = np.arange(sizes[d])
            options: dict[str, Any] = {"constant_values": -1} if mode == "constant" else {}
            image = np.pad(numbers, pads[d], mode, **options)
            reached = [
                (l, l * window["strides"][d] + o[d] * window["dilations"][d])
                for l in range(*ranges[d])  # noqa: E741 - as in the definition
            ]
            # a position's own window comes first, then those before the image, then those behind
            sides = [
                [(l, p) for l, p in reached if inside(p - before, sizes[d])],  # noqa: E741
                [(l, p) for l, p in reached if p < before],  # noqa: E741
                [(l, p) for l, p in reached if p >= before + sizes[d]],  # noqa: E741
            ]
            places.append(
                [(l - ranges[d][0], image[p]) for side in sides for l, p in side if image[p] >= 0]  # noqa: E741
            )
        for term in itertools.product(*places):
            column = oracle.rank([block for block, _ in term], counts)
            at = tuple(int(q) for _, q in term)
            found.setdefault(at, []).append((oracle.rank(o, windows), int(column)))
    most = max((len(terms) for terms in found.values()), default=1)
    shape = (most, batch, channels, *sizes)
    terms, present = np.zeros(shape, columns.dtype), np.zeros(shape, bool)
    offsets = np.zeros(shape, int)
    for at, listed in found.items():
        for t, (number, column) in enumerate(listed):
            row = oracle.row_of(np.arange(channels), number, channels, windows, order)
            where: Any = (t, slice(None), slice(None), *at)
            terms[where], present[where], offsets[where] = columns[:, row, column], True, number
    return terms, present, offsets


def inside(p: int, size: int) -> bool:
    return 0 <= p < size


def summed(terms: Array, present: Array, begin: Array) -> Array:
    """Add the terms one after the other, each position's own list."""
    wide = np.dtype(np.float32) if terms.dtype in oracle.NARROW_FLOATS else terms.dtype
    total = begin.astype(wide)
    with np.errstate(all="ignore"):
        for term, is_there in zip(terms, present, strict=True):
            total = np.where(is_there, total + term.astype(wide), total)
        return total.astype(terms.dtype)
