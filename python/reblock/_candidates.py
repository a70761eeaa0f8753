# SPDX-License-Identifier: BSD-3-Clause
"""Hold ways to turn one array into another: a call of an operator between changes of layout."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from reblock import _core

Array: TypeAlias = npt.NDArray[Any]
Ints: TypeAlias = tuple[int, ...]

LEAST_AXES, MOST_AXES = 3, 8  # of an operator's image
WITHOUT_BATCH, WITHOUT_CHANNELS = 4, 3  # most axes of an image that lacks these
SPATIAL_LETTERS = "RSTDHW"  # of up to six spatial axes; an image has the last ones
NEAREST = 8  # candidates that are kept of those that differ from the sample


class Step(NamedTuple):
    """A change of layout: a method of arrays and its arguments, or an index without a method."""

    method: str
    arguments: tuple[Any, ...]

    def __call__(self, x: Array) -> Array:
        changed: Array = (
            getattr(x, self.method)(*self.arguments) if self.method else x[self.arguments]
        )
        return changed

    def __str__(self) -> str:
        listed = ", ".join("..." if value is ... else str(value) for value in self.arguments)
        return f".{self.method}({listed})" if self.method else f"[{listed}]"


@dataclass(frozen=True, repr=False)
class Candidate:
    """A way to turn one array into another. `str` is a call to evaluate, for an array `x`.

    Attributes
    ----------
    operator : str or None
        The name of the function of `reblock`; None if only layouts change.
    arguments : tuple
        Its arguments after the input, by position.
    parameters : dict
        Its other arguments, except those with default values.
    before, after : tuple of Step
        The changes of layout of the input and of the result.
    """

    operator: str | None
    arguments: tuple[int | Ints, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    before: tuple[Step, ...] = ()
    after: tuple[Step, ...] = ()

    def __call__(self, x: npt.ArrayLike) -> Array:
        """Apply the candidate to an array of the same layout, of any sizes."""
        array = np.asarray(x)
        for step in self.before:
            array = step(array)
        if self.operator:
            array = getattr(_core, self.operator)(array, *self.arguments, **self.parameters)
        for step in self.after:
            array = step(array)
        return array

    def __repr__(self) -> str:
        text = "x" + "".join(map(str, self.before))
        if self.operator:
            named = [f"{name}={value!r}" for name, value in self.parameters.items()]
            text = f"{self.operator}({', '.join((text, *map(str, self.arguments), *named))})"
        return text + "".join(map(str, self.after))

    def __hash__(self) -> int:
        return hash(str(self))  # of the parameters too, which are in a dict

    @property
    def simplicity(self) -> tuple[int, int, int, str]:
        """The key of the order: blocks, layouts, windows; then missing axes; then the text."""
        kind = 1 if self.operator is None else 2 if self.operator in ("unfold", "fold") else 0
        layouts = (self.parameters.get(name, "NC") for name in ("layout", "out_layout"))
        missing = sum(letter not in layout for layout in layouts for letter in "NC")
        return kind, missing, len(str(self)), str(self)


def number_or_tuple(values: Sequence[int]) -> int | Ints:
    """Return one number for all axes if they agree, else the number of each axis."""
    return values[0] if len(set(values)) == 1 else tuple(values)


class Tried:
    """The candidates that were compared with a sample of the data."""

    def __init__(self) -> None:
        self.agreeing: list[Candidate] = []
        self.count = 0
        self.complete = True
        self._nearest: list[tuple[float, int, Candidate]] = []

    def add(self, candidate: Candidate, share: float) -> None:
        """Store the share of the sample that the candidate gives."""
        self.count += 1
        if share == 1:
            self.agreeing.append(candidate)
            return
        heapq.heappush(self._nearest, (share, -self.count, candidate))
        if len(self._nearest) > NEAREST:
            heapq.heappop(self._nearest)

    def would_keep(self, share: float) -> bool:
        """Whether `add` would keep a candidate with this share."""
        return share == 1 or len(self._nearest) < NEAREST or share > self._nearest[0][0]

    @property
    def nearest(self) -> list[tuple[float, Candidate]]:
        """The candidates nearest to the sample, with their shares, the largest first."""
        kept = sorted(self._nearest, reverse=True)
        return [(share, candidate) for share, _, candidate in kept]


# Layouts ----------------------------------------------------------------------------------------


class Image(NamedTuple):
    """An array read as (N, C, S_1, ..., S_k) with the channels along one of its axes.

    `array` has all axes. `missing` counts the axes that the given array lacks: the batch, and the
    channels.
    """

    array: Array
    channel_axis: int
    missing: int = 0

    @property
    def spatial(self) -> list[int]:
        return [axis for axis in range(1, self.array.ndim) if axis != self.channel_axis]

    @property
    def sizes(self) -> Ints:
        return tuple(self.array.shape[axis] for axis in self.spatial)

    @property
    def channels(self) -> int:
        return int(self.array.shape[self.channel_axis])

    @property
    def layout(self) -> str:
        """The letters of the given array's axes, as `layout` takes them."""
        letters = list("N" + SPATIAL_LETTERS[-len(self.spatial) :])
        letters.insert(self.channel_axis, "C")
        return "".join(letter for letter in letters if letter not in "NC"[: self.missing])

    def channels_second(self) -> Array:
        return np.moveaxis(self.array, self.channel_axis, 1)


def images(x: Array) -> Iterator[Image]:
    """Yield every way to read an array as images: a batch, one image, one channel of an image."""
    if LEAST_AXES <= x.ndim <= MOST_AXES:
        for axis in range(1, x.ndim):
            yield Image(x, axis)
    if x.ndim <= WITHOUT_BATCH:
        for axis in range(1, x.ndim + 1):
            yield Image(x[None], axis, 1)
    if x.ndim <= WITHOUT_CHANNELS:
        yield Image(x[None, None], 1, 2)
        yield Image(x[None, ..., None], x.ndim + 1, 2)


class Columns(NamedTuple):
    """An array read as columns: rows along one axis, window positions along the others.

    `array` has the batch and the rows first. `in_grid` tells whether the window positions have an
    axis for each spatial axis. `rows_last` tells whether the rows come after them. `missing` tells
    whether the given array lacks the batch.
    """

    array: Array
    in_grid: bool
    rows_last: bool
    missing: bool

    @property
    def rows(self) -> int:
        return int(self.array.shape[1])

    @property
    def positions(self) -> Ints:
        return self.array.shape[2:]

    def split(self, channels: int, sizes: Ints, counts: Ints, channels_last: bool) -> Array:
        """Return a view (N, C, K_1, ..., K_k, L_1, ..., L_k)."""
        batch = self.array.shape[0]
        if channels_last:
            view = self.array.reshape(batch, *sizes, channels, *counts)
            return np.moveaxis(view, 1 + len(sizes), 1)
        return self.array.reshape(batch, channels, *sizes, *counts)

    @property
    def layout(self) -> str:
        """The letters of the axes, as `layout` takes them, with the window positions as one."""
        return ("" if self.missing else "N") + ("LC" if self.rows_last else "CL")

    @property
    def flat_shape(self) -> Ints:
        """The shape with the window positions as one axis, for any batch."""
        return self._shape((math.prod(self.positions),))

    @property
    def grid_shape(self) -> Ints:
        """The shape with an axis of window positions for each spatial axis, for any batch."""
        return self._shape(self.positions)

    def _shape(self, positions: Ints) -> Ints:
        batch = () if self.missing else (-1,)
        return (
            (*batch, *positions, self.rows) if self.rows_last else (*batch, self.rows, *positions)
        )


def columns(x: Array, axes: int) -> Iterator[Columns]:
    """Yield every way to read an array as the columns of windows over so many spatial axes."""
    for missing, array in ((False, x), (True, x[None])):
        for in_grid in (False, True):
            if array.ndim != (2 + axes if in_grid else 3) or (in_grid and axes == 1):
                continue
            for rows_last in (False, True):
                placed = np.moveaxis(array, -1, 1) if rows_last else array
                yield Columns(placed, in_grid, rows_last, missing)


def layout_parameters(
    operator: str, given: str, made: str
) -> tuple[dict[str, str], tuple[Step, ...]]:
    """Return the layouts of an argument and a result for a call, without defaults.

    No operator leaves out a batch of its input. A step after the call leaves it out.
    """
    after: tuple[Step, ...] = ()
    if "N" in given and "N" not in made:
        made, after = "N" + made, (Step("", (0,)),)
    batch = "N" if "N" in given else ""
    spatial = (made if operator == "fold" else given).translate({ord("N"): None, ord("C"): None})
    default = "CL" if operator == "unfold" else "C" + spatial
    if operator in ("depth_to_space", "space_to_depth") and "C" in given:
        default = given.removeprefix("N")
    usual = "NCL" if operator == "fold" else "NC" + spatial
    named = {}
    if given != usual or "C" not in made:
        named["layout"] = given
    if made != batch + default:
        named["out_layout"] = made
    return named, after


# Equality ---------------------------------------------------------------------------------------


def equal(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    """Return which elements are equal; NaN equals NaN. TypeError if elements cannot be compared."""
    if a.dtype.type is np.void and b.dtype.type is np.void:
        return np.asarray(a == b)  # bytes or fields, which ufuncs do not take
    alike: npt.NDArray[np.bool_] = np.asarray(np.equal(a, b))
    if not alike.all():
        alike |= np.not_equal(a, a) & np.not_equal(b, b)
    return alike


def rounds(x: Array, result: Array) -> bool:
    """Whether sums are rounded, and so depend on the order of addition."""
    return x.dtype.kind in "fc" and result.dtype.kind in "fc"


def rounding(x: Array, result: Array) -> float:
    """Return a bound on the relative error of an addition in the coarser dtype."""
    return float(max(np.finfo(array.dtype).eps for array in (x, result)))


def share_of(candidate: Candidate, x: Array, result: Array) -> float:
    """Return the share of the elements of `result` that the candidate gives."""
    given = candidate(x)
    alike = equal(given, result)
    if candidate.operator == "fold" and not alike.all() and rounds(x, result):
        sizes, window = candidate.arguments
        terms = math.prod(np.broadcast_to(window, np.shape(sizes)).tolist())
        with np.errstate(invalid="ignore"):  # infinities differ by NaN, which is within no bound
            bound = terms * rounding(x, result) * candidate(np.abs(x).astype(np.float64))
            alike |= np.abs(given - result) <= bound
    return float(np.count_nonzero(alike) / alike.size)
