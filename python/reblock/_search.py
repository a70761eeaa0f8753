# SPDX-License-Identifier: BSD-3-Clause
"""Search for the windows that turn one array into another, by a sample of the data.

The shapes of image and columns allow few products of window sizes and numbers of windows. For each
product, the parameters along one axis are independent of those along the others. The search makes
an array of parameters for each axis, and compares all combinations at once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from reblock._candidates import (
    Array,
    Candidate,
    Columns,
    Image,
    Ints,
    Step,
    Tried,
    columns,
    equal,
    images,
    layout_parameters,
    number_or_tuple,
    rounding,
    rounds,
)

Numbers: TypeAlias = npt.NDArray[np.int64]
Shares: TypeAlias = npt.NDArray[np.float64]

DILATION = 8
PADDING = 64
FACTORS = 1000  # ways to share a number of windows, or of elements of one, among the axes
LIKELIEST = 48  # of them that are tried
COMBINATIONS = 1 << 18  # of parameters that are compared, in all
AT_ONCE = 1 << 14  # of them for one shape of windows
SUMS_AT_ONCE = 1 << 10  # the same for sums, which cost more
LEAST = 1 << 8  # combinations that one shape of windows counts for, since each takes some time
LEAST_OF_SUMS = 1 << 10  # the same for sums
SAMPLES = 16
FIRST_SUMS = 4  # samples of which one has to agree, or the others are not looked at
AGREEING = 64  # combinations that are kept of those that agree with the sample
DIFFERING = 2  # the same of those that do not

DEFAULTS = {"strides": 1, "dilations": 1, "start_padding": 0, "end_padding": 0}


def search_windows(
    operator: Literal["unfold", "fold"], x: Array, result: Array, tried: Tried
) -> None:
    """Compare all windows by which the operator makes an array of the shape of `result` of `x`."""
    if operator == "unfold":
        whole, cut, limits, shares_of = x, result, (AT_ONCE, LEAST), _shares_of_moves
    elif x.dtype.kind in "biufc":
        whole, cut, limits, shares_of = result, x, (SUMS_AT_ONCE, LEAST_OF_SUMS), _shares_of_sums
    else:
        return
    fitting = (
        hypothesis
        for image in images(whole)
        for read in columns(cut, len(image.sizes))
        for hypothesis in _hypotheses(operator, image, read, tried)
    )
    _search(fitting, limits, shares_of, tried)


class Hypothesis(NamedTuple):
    """Window sizes and numbers of windows along each axis, and how the arrays are read."""

    operator: str
    image: Image
    columns: Columns
    channels_last: bool
    sizes: Ints
    counts: Ints

    @property
    def oddity(self) -> tuple[int, int, float]:
        """The key of the order: all axes given, equal and equally dense windows on all axes."""
        missing = self.image.missing + self.columns.missing
        return missing, _spread(self.sizes), _unevenness(self.counts, self.image.sizes)

    def split(self) -> Array:
        """Return a view of the columns, (N, C, K_1, ..., K_k, L_1, ..., L_k)."""
        channels = self.image.channels
        return self.columns.split(channels, self.sizes, self.counts, self.channels_last)

    def parameters(self, limit: int) -> list[Numbers]:
        """Return the parameters to combine: an array for each axis, of so many rows at most."""
        axes = zip(self.image.sizes, self.sizes, self.counts, strict=True)
        return [axis_parameters(*axis)[:limit] for axis in axes]

    def tiles(self, parameters: Sequence[Numbers]) -> bool:
        """Whether windows in a grid tile the image: what they make is a tensor of depth."""
        plain = all(
            tuple(row) == (size, 1, 0, 0) and size * count == extent
            for row, size, count, extent in zip(
                np.array(parameters).tolist(),
                self.sizes,
                self.counts,
                self.image.sizes,
                strict=True,
            )
        )
        return plain and self.columns.in_grid

    def candidate(self, parameters: Sequence[Numbers]) -> Candidate:
        """Return the call with these parameters, four for each axis."""
        each = map(number_or_tuple, np.transpose(parameters).tolist())
        values = dict(zip(DEFAULTS, each, strict=True))
        named: dict[str, Any] = {
            name: value for name, value in values.items() if value != DEFAULTS[name]
        }
        if self.channels_last:
            named["order"] = "DCR"
        window = number_or_tuple(self.sizes)
        image, read = self.image.layout, self.columns.layout
        if self.operator == "unfold":
            layouts, last = layout_parameters("unfold", image, read)
            if self.columns.in_grid:
                batch = (-1,) if last else ()  # which the columns lack
                last = (Step("reshape", (*batch, *self.columns.grid_shape)), *last)
            return Candidate("unfold", (window,), named | layouts, after=last)
        layouts, last = layout_parameters("fold", read, image)
        before = (Step("reshape", self.columns.flat_shape),) if self.columns.in_grid else ()
        arguments = self.image.sizes, window
        return Candidate("fold", arguments, named | layouts, before, last)


def _search(
    fitting: Iterator[Hypothesis],
    limits: tuple[int, int],
    shares_of: Callable[[Hypothesis, list[Numbers]], Shares],
    tried: Tried,
) -> None:
    left, (at_once, least) = COMBINATIONS, limits
    for hypothesis in sorted(fitting, key=lambda hypothesis: hypothesis.oddity):
        if left <= 0:
            tried.complete = False
            break
        limit = int(at_once ** (1 / len(hypothesis.sizes)))
        parameters = hypothesis.parameters(limit + 1)
        if not all(map(len, parameters)):
            continue
        if any(len(of_axis) > limit for of_axis in parameters):
            tried.complete = False
        parameters = [of_axis[:limit] for of_axis in parameters]
        shares = shares_of(hypothesis, parameters)
        left -= max(least, shares.size)
        _note(hypothesis, parameters, shares, tried)


def _note(hypothesis: Hypothesis, parameters: list[Numbers], shares: Shares, tried: Tried) -> None:
    """Store the combinations that agree with the sample, and the best of the others."""
    agreeing = np.flatnonzero(shares == 1)
    if len(agreeing) > AGREEING:
        tried.complete = False
    differing = np.where(shares == 1, -1, shares)
    best = np.argsort(-differing, axis=None, kind="stable")[:DIFFERING]
    kept = dict.fromkeys([*agreeing[:AGREEING].tolist(), *best.tolist()])
    tried.count += shares.size - len(kept)
    for place in kept:
        share = float(shares.flat[place])
        if tried.would_keep(share):
            index = np.unravel_index(place, shares.shape)
            chosen = [of_axis[i] for of_axis, i in zip(parameters, index, strict=True)]
            if not hypothesis.tiles(chosen):
                tried.add(hypothesis.candidate(chosen), share)
                continue
        tried.count += 1


# What the shapes allow --------------------------------------------------------------------------


def _hypotheses(operator: str, image: Image, cut: Columns, tried: Tried) -> Iterator[Hypothesis]:
    if image.array.shape[0] != cut.array.shape[0] or cut.rows % image.channels:
        return
    volume = cut.rows // image.channels
    if volume == 1:
        return
    limits = [extent + 2 * PADDING for extent in image.sizes]
    windows = _likeliest(factorizations(volume, limits), _spread, tried)
    if cut.in_grid:
        counts = [cut.positions] if all(map(_at_most, cut.positions, limits)) else []
    else:
        found = factorizations(cut.positions[0], limits)
        counts = _likeliest(found, lambda each: _unevenness(each, image.sizes), tried)
    orders = (False, True) if image.channels > 1 else (False,)
    for sizes in windows:
        for numbers in counts:
            for channels_last in orders:
                yield Hypothesis(operator, image, cut, channels_last, sizes, numbers)


def _at_most(value: int, limit: int) -> bool:
    return value <= limit


def _spread(sizes: Ints) -> int:
    return max(sizes) - min(sizes)


def _unevenness(counts: Ints, extents: Ints) -> float:
    """Return how much denser windows are along one axis than along another, at least 1."""
    densities = [count / extent for count, extent in zip(counts, extents, strict=True)]
    return max(densities) / min(densities)


def _likeliest(found: Iterator[Ints], oddity: Callable[[Ints], float], tried: Tried) -> list[Ints]:
    """Return the least odd hypotheses, and store whether there are more."""
    shares = list(itertools.islice(found, FACTORS))
    if len(shares) > LIKELIEST or next(found, None) is not None:
        tried.complete = False
    return sorted(shares, key=oddity)[:LIKELIEST]


def factorizations(number: int, limits: Sequence[int]) -> Iterator[Ints]:
    """Yield the factors, one for each limit and at most as large, that multiply to the number."""
    limit, *rest = limits
    if not rest:
        if number <= limit:
            yield (number,)
        return
    for factor in _divisors(number):
        if factor <= limit and number // factor <= math.prod(rest):
            for others in factorizations(number // factor, rest):
                yield (factor, *others)


@lru_cache(maxsize=256)
def _divisors(number: int) -> Ints:
    small = [factor for factor in range(1, math.isqrt(number) + 1) if number % factor == 0]
    return (*small, *(number // factor for factor in reversed(small) if factor**2 != number))


@lru_cache(maxsize=1024)
def axis_parameters(extent: int, size: int, count: int) -> Numbers:
    """Return the parameters for this number of windows along an axis, the simplest first.

    A row is a stride, a dilation, the start and the end padding. Several end paddings may give the
    same columns. Only one is returned: the start padding if it is one of them, else the smallest.
    """
    rows = []
    for dilation in range(1, (DILATION if size > 1 else 1) + 1):
        reach = dilation * (size - 1) + 1
        padding = min(reach - 1, PADDING)
        start = np.arange(padding + 1)
        if count == 1:
            stride = np.maximum(1, extent + start - reach + 1)
        else:
            low = max(1, (extent - reach) // count + 1)
            high = (extent + padding - 1) // (count - 1)
            stride = np.repeat(np.arange(low, high + 1), len(start))
            start = np.tile(start, max(0, high + 1 - low))
        least = np.maximum(0, (count - 1) * stride + reach - extent - start)
        same = (extent + 2 * start - reach) // stride + 1 == count
        end = np.where(same & (start >= least), start, least)
        fits = (extent + start + end - reach) // stride + 1 == count
        fits &= (end <= padding) & (extent + start + end >= reach)
        row = np.stack([stride, np.full_like(stride, dilation), start, end], axis=1)
        rows.append(row[fits])
    found = np.concatenate(rows)
    stride, dilation, start, end = found.T
    odd = (stride != 1) & (stride != size)
    changed = odd.astype(int) + (dilation > 1) + (start > 0) + (start != end)
    return found[np.lexsort((stride, dilation + start + end, changed))]


# Samples ----------------------------------------------------------------------------------------


def _sample(shape: Ints) -> list[Numbers]:
    """Return an index of SAMPLES elements: the first, the last, and others at random."""
    extents = np.array(shape)[:, np.newaxis]
    index = np.random.default_rng(0).integers(0, extents, (len(shape), SAMPLES))
    index[:, 0] = 0
    index[:, 1] = extents[:, 0] - 1
    return list(index)


def _combined(of_axes: Sequence[Array]) -> list[Array]:
    """Return arrays (n, ...) of each axis in axes of their own, to be combined by broadcasting."""
    axes = len(of_axes)
    return [
        array.reshape(*(1,) * axis, len(array), *(1,) * (axes - 1 - axis), *array.shape[1:])
        for axis, array in enumerate(of_axes)
    ]


def _shares_of_moves(hypothesis: Hypothesis, parameters: list[Numbers]) -> Shares:
    """Return the share of a sample of the columns that each combination gives."""
    image, split = hypothesis.image.channels_second(), hypothesis.split()
    axes = len(parameters)
    item, channel, *index = sample = _sample(split.shape)
    positions, inside = [], []
    for axis, of_axis in enumerate(parameters):
        stride, dilation, start, _ = of_axis.T[..., np.newaxis]
        position = index[axes + axis] * stride + index[axis] * dilation - start
        extent = image.shape[2 + axis]
        inside.append((position >= 0) & (position < extent))
        positions.append(np.clip(position, 0, extent - 1))
    given = image[(item, channel, *_combined(positions))]
    outside = ~np.all(np.broadcast_arrays(*_combined(inside)), axis=0)
    given[outside] = np.zeros((), image.dtype)
    shares: Shares = equal(given, split[tuple(sample)]).mean(axis=-1)
    return shares


def _shares_of_sums(hypothesis: Hypothesis, parameters: list[Numbers]) -> Shares:
    """Return the share of a sample of the image that each combination gives."""
    image, split = hypothesis.image.channels_second(), hypothesis.split()
    alike: list[npt.NDArray[np.bool_]] = []
    for index in np.transpose(_sample(image.shape)).tolist():
        value = image[(*index, None)]
        alike.append(_sums_are(value, tuple(index), split, hypothesis, parameters))
        if len(alike) == FIRST_SUMS and not np.any(alike):
            break
    shares: Shares = np.mean(alike, axis=0)
    return shares


def _sums_are(
    value: Array,
    index: Ints,
    split: Array,
    hypothesis: Hypothesis,
    parameters: list[Numbers],
) -> npt.NDArray[np.bool_]:
    """Return for each combination whether it gives this value (1,) at this index of the image.

    A term is where an offset and a window meet the position along every axis: the sum is a product
    of the terms with a matrix for each axis, of ones where they meet.
    """
    item, channel, *position = index
    meetings = [
        _meetings(place, of_axis, size, count)
        for place, of_axis, size, count in zip(
            position, parameters, hypothesis.sizes, hypothesis.counts, strict=True
        )
    ]
    offsets, windows = zip(
        *(
            np.divmod(rows, count)
            for (rows, _), count in zip(meetings, hypothesis.counts, strict=True)
        ),
        strict=True,
    )
    terms = split[(item, channel, *_combined(offsets), *_combined(windows))]
    exact = split.dtype.kind in "biu"
    terms = terms.astype(np.int64) if exact else np.where(np.isfinite(terms), terms, 0)
    if not exact:
        terms = terms.astype(np.complex128 if split.dtype.kind == "c" else np.float64)
    matrices = [matrix for _, matrix in meetings]
    sums = _products(terms, matrices)
    if split.dtype.kind == "b":
        return equal(sums > 0, value)
    if exact or not rounds(split, value):
        return equal(sums.astype(split.dtype) if exact else sums, value)
    bound = math.prod(hypothesis.sizes) * rounding(split, value)
    return np.asarray(np.abs(sums - value) <= bound * _products(np.abs(terms), matrices))


def _meetings(place: int, parameters: Numbers, size: int, count: int) -> tuple[Numbers, Numbers]:
    """Return which offsets and windows meet a position along one axis.

    First come the numbers ``offset * count + window`` of all that do so for some parameters, then a
    matrix that has a 1 for each that does so for the parameters of its row.
    """
    stride, dilation, start, _ = parameters.T[..., np.newaxis]
    steps = place + start - np.arange(size) * dilation
    window = steps // stride
    meet = (window * stride == steps) & (window >= 0) & (window < count)
    numbers = np.arange(size) * count + window
    rows, places = np.unique(numbers[meet], return_inverse=True)
    matrix = np.zeros((len(parameters), len(rows)), np.int64)
    matrix[np.nonzero(meet)[0], places] = 1
    return rows, matrix


def _products(terms: Array, matrices: Sequence[Numbers]) -> Array:
    """Return the sums of the terms along every axis that the rows of its matrix tell."""
    for matrix in matrices:
        # The first axis goes away, and the one that takes its place comes last.
        terms = np.tensordot(terms, matrix.astype(terms.dtype), axes=(0, 1))
    return terms
