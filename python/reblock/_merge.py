# SPDX-License-Identifier: BSD-3-Clause
"""Blend patches into an image, as many of its rows at a time as a window has."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from reblock._core import check_output, fold, rearrange

_Array = NDArray[Any]
_LETTERS = "HWDUVX"  # of the spatial axes of a fold


def spatial_axes(layout: str) -> list[int]:
    """Return the spatial axes of an image with this layout."""
    return [axis for axis, letter in enumerate(layout) if letter != "C"]


class Plan(NamedTuple):
    """Where the patches of an image lie. Lists have a value for each spatial axis."""

    layout: str
    shape: tuple[int, ...]  # of the image, in its layout
    window_sizes: tuple[int, ...]
    strides: tuple[int, ...]
    starts: list[list[int]]

    @property
    def spatial(self) -> list[int]:
        """The spatial axes of the image."""
        return spatial_axes(self.layout)

    @property
    def grid(self) -> tuple[int, ...]:
        """How many patches there are along each spatial axis."""
        return tuple(len(starts) for starts in self.starts)


def profile(name: str, size: int) -> NDArray[np.float64]:
    """Return weights along one axis of a window: "hann" or "gaussian". None of them is 0."""
    middle = np.arange(size) + 0.5
    if name == "hann":
        return np.sin(np.pi * middle / size) ** 2
    if name == "gaussian":  # a standard deviation of an eighth of the window, as MONAI has it
        return np.exp(-32.0 * (middle / size - 0.5) ** 2)
    raise ValueError(f'weights must be "hann", "gaussian" or numbers, got {name!r}')


class Merger:
    """The sums of the rows that the last patches reach, and the image of the finished rows."""

    # Like fold, a merge rounds and overflows in silence. Only its own arithmetic does, not that of
    # an iterator that makes patches.
    @np.errstate(all="ignore")
    def __init__(
        self,
        plan: Plan,
        channels: int,
        terms: np.dtype[Any],
        weights: Any,
        *,
        reduction: Literal["sum", "mean", "max", "min"],
        dtype: DTypeLike | None,
        out: _Array | None,
    ) -> None:
        self._plan, self._weights, self._reduction = plan, weights, reduction
        sizes = tuple(plan.shape[axis] for axis in plan.spatial)
        self._sizes = sizes
        shape = plan.shape
        if "C" in plan.layout:
            shape = tuple(
                channels if letter == "C" else n
                for letter, n in zip(plan.layout, shape, strict=True)
            )
        result = _check_dtypes(terms, dtype, reduction)
        if out is None:
            out = np.zeros(shape, result)
        elif not isinstance(out, np.ndarray):
            raise TypeError(f"out must be a numpy.ndarray, got {type(out).__name__}")
        elif out.shape != shape or out.dtype != result:
            raise ValueError(
                f"out must have shape {shape} and dtype {result}, got {out.shape} and {out.dtype}"
            )
        else:
            check_output(out, "out")
        self.out = out
        # The spatial axes first, then the channels.
        self._to_rows = [*plan.spatial]
        if "C" in plan.layout:
            self._to_rows.append(plan.layout.index("C"))
        self._done = 0  # rows of the image
        self._first_dtype = terms
        self._compares = reduction in ("max", "min")
        # Each dtype is joined with float64 first: NumPy joins bfloat16 with no integers.
        wide = np.result_type(*(np.result_type(each, np.float64) for each in (terms, result)))
        if self._compares:
            wide = terms.newbyteorder("=")
        self._wide = wide
        self._begin = _least(wide, reduction) if self._compares else wide.type(0)
        self._channels = channels
        self._sums = np.empty((0, *sizes[1:], channels), wide)
        self._counts: _Array | None = None

    def may_fold(self, patches: _Array) -> bool:
        """Tell whether one fold blends all patches: they are its columns, on a regular grid."""
        plan = self._plan
        return (
            self._reduction != "sum"  # integers would wrap around
            and patches.dtype == self.out.dtype
            and patches.dtype.isnative
            and patches.flags.c_contiguous
            and plan.layout.find("C") in (-1, 0, len(plan.layout) - 1)
            and all(len(self._groups(axis)) == 1 for axis in range(len(plan.grid)))
        )

    def fold_all(self, patches: _Array) -> _Array:
        """Blend patches for which may_fold() holds, without sums of their own."""
        plan = self._plan
        ends = [starts[-1] + n for starts, n in zip(plan.starts, plan.window_sizes, strict=True)]
        letters = _LETTERS[: len(plan.grid)]
        is_first = plan.layout.startswith("C")
        fold(
            patches.reshape(math.prod(plan.grid), -1),
            self._sizes,
            plan.window_sizes,
            strides=plan.strides,
            end_padding=tuple(
                max(0, end - size) for end, size in zip(ends, self._sizes, strict=True)
            ),
            reduction=self._reduction,
            weights=self._weights,
            layout="LC",
            out_layout="C" + letters if is_first else letters + "C",
            order="CRD" if is_first else "DCR",
            out=self.out if "C" in plan.layout else np.asarray(self.out)[..., None],
        )
        return self.out

    def check(self, dtype: np.dtype[Any]) -> None:
        """Raise an error for patches of a dtype that the sums do not hold."""
        # The sums hold terms of any real dtype, but a maximum keeps those of its own alone.
        if not np.can_cast(dtype, self._sums.dtype, "safe" if self._compares else "same_kind"):
            raise TypeError(
                f"patches must have the dtype of the first, {self._first_dtype}, got {dtype}"
            )

    @np.errstate(all="ignore")
    def add(self, place: int, row: _Array) -> None:
        """Add the patches of one index on the first axis."""
        plan = self._plan
        self.check(row.dtype)
        if place == 0:
            shape = (plan.window_sizes[0], *self._sizes[1:])
            self._sums = np.full((*shape, self._channels), self._begin, self._wide)
            if self._along is None and self._reduction == "mean":
                self._counts = np.zeros((*shape, 1), np.float64)
        self._finish_until(plan.starts[0][place])
        row = row.transpose(0, *(1 + axis for axis in self._to_rows))
        row = row.reshape(*plan.grid[1:], *row.shape[1:])
        for index in itertools.product(*map(self._groups, range(1, len(plan.grid)))):
            self._fold(row, index)

    @functools.cached_property
    def _along(self) -> list[_Array] | None:
        """The sums of weights along each axis, or None for an array of weights.

        The sums of weights of the image are the products of these.
        """
        profiles = _profiles(self._weights, self._plan.window_sizes)
        if profiles is None:
            return None
        return [self._counts_along(axis, profile) for axis, profile in enumerate(profiles)]

    def _counts_along(self, axis: int, weights: _Array) -> _Array:
        """Return the sums of weights along one axis, and NaN where no patch is."""
        size = self._sizes[axis]
        counts = np.zeros(size)
        for start in self._plan.starts[axis]:
            counts[start : start + len(weights)] += weights[: size - start]
        counts[counts == 0] = np.nan
        return counts

    def _groups(self, axis: int) -> list[tuple[slice, int]]:
        """Return the patches along an axis that lie on one regular grid, and where it begins."""
        starts = self._plan.starts[axis]
        regular = len(starts)
        if regular > 1 and starts[-1] - starts[-2] != self._plan.strides[axis]:
            regular -= 1
        groups = [(slice(0, regular), starts[0])]
        return groups + [(slice(i, i + 1), starts[i]) for i in range(regular, len(starts))]

    def _fold(self, row: _Array, groups: tuple[tuple[slice, int], ...]) -> None:
        plan = self._plan
        part = row[tuple(group for group, _ in groups)]
        counts = [1, *part.shape[: len(groups)]]
        native = part.dtype.newbyteorder("=")
        columns = np.ascontiguousarray(part, native).reshape(math.prod(counts), -1)
        if self._compares:
            columns = columns.astype(self._sums.dtype, copy=False)
        where: list[slice] = [slice(None)]
        end = [0]
        for axis, (_, first) in enumerate(groups, 1):
            size, window = self._sizes[axis], plan.window_sizes[axis]
            reach = first + (counts[axis] - 1) * plan.strides[axis] + window
            where.append(slice(first, min(size, reach)))
            end.append(max(0, reach - size))
        sums = self._sums[tuple(where)]
        options: dict[str, Any] = {
            "window_sizes": plan.window_sizes,
            "strides": (1, *plan.strides[1:]),
            "end_padding": tuple(end),
            "layout": "LC",
            "out_layout": _LETTERS[: len(self._sizes)] + "C",
            "order": "DCR",
            "accumulate": True,
        }
        if self._compares:
            fold(columns, sums.shape[:-1], **options, reduction=self._reduction, out=sums)
            return
        options["weights"] = self._weights
        fold(columns, sums.shape[:-1], **options, dtype=self._sums.dtype, out=sums)
        if self._counts is not None:
            # Columns of an image of ones with one channel, without memory of their size.
            ones = np.broadcast_to(np.float64(1), (len(columns), math.prod(plan.window_sizes)))
            fold(ones, sums.shape[:-1], **options, out=self._counts[tuple(where)])

    def _finish_until(self, row: int) -> None:
        """Write the rows before `row`, to which nothing will be added."""
        if row <= self._done:
            return
        window = self._plan.window_sizes[0]
        count = min(row - self._done, window)
        self._write(count)
        image = self._image()
        image[self._done + count : row] = 0  # no patch is there
        for held, begin in (self._sums, self._begin), (self._counts, 0):
            if held is not None:
                held[: window - count] = held[count:]
                held[window - count :] = begin
        self._done = row

    def _image(self) -> _Array:
        """Return the result with the axes of the sums."""
        image = np.asarray(self.out).transpose(self._to_rows)
        return image if "C" in self._plan.layout else image[..., None]

    def _write(self, count: int) -> None:
        values = self._sums[:count]
        rows = slice(self._done, self._done + count)
        counts: _Array | None = None
        if self._along is not None and (self._reduction == "mean" or self._compares):
            counts = self._along[0][rows].reshape(-1, *(1 for _ in self._sizes))
            for axis, along in enumerate(self._along[1:], 1):
                shape = [1] * values.ndim
                shape[axis] = -1
                counts = counts * along.reshape(shape)
        elif self._counts is not None:
            counts = np.where(self._counts[:count] > 0, self._counts[:count], np.nan)
        if counts is not None and np.isnan(counts).any():
            values = np.where(np.isnan(counts), values.dtype.type(0), values)
            counts = np.where(np.isnan(counts), 1, counts)
        if self._reduction == "mean" and counts is not None:
            values = np.divide(values, counts, out=values)
        _round_to(values, self._image()[rows])

    @np.errstate(all="ignore")
    def finish(self) -> _Array:
        """Write all rows that are left."""
        self._finish_until(self._sizes[0])
        return self.out


def _profiles(weights: Any, window_sizes: tuple[int, ...]) -> list[_Array] | None:
    """Return the weights along each axis, or None for others, which `fold` takes or refuses."""
    if weights is None:
        return [np.ones(size) for size in window_sizes]
    if not isinstance(weights, (list, tuple)) or len(weights) != len(window_sizes):
        return None
    try:
        profiles = [np.asarray(each, np.float64) for each in weights]
    except (TypeError, ValueError):
        return None
    shapes = [each.shape for each in profiles]
    return profiles if shapes == [(size,) for size in window_sizes] else None


def _least(dtype: np.dtype[Any], reduction: str) -> Any:
    """Return a value that is no larger than any other, or for "min" no smaller."""
    largest = reduction == "min"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.max if largest else limits.min
    if dtype.kind == "b":
        return largest
    return dtype.type(np.inf if largest else -np.inf)


@functools.lru_cache(maxsize=64)
def _has_sums(dtype: np.dtype[Any]) -> bool:
    """Tell whether `fold` sums a dtype."""
    try:
        fold(np.zeros((1, 1, 1), dtype.newbyteorder("=")), 1, 1)
    except (TypeError, ValueError):  # ValueError: a subarray adds axes
        return False
    return True


def _check_dtypes(patches: np.dtype[Any], dtype: DTypeLike | None, reduction: str) -> np.dtype[Any]:
    """Return the dtype of the result."""
    try:
        result = patches if dtype is None else np.dtype(dtype)
    except (TypeError, ValueError):
        raise TypeError(f"dtype must be a NumPy dtype, got {dtype!r}") from None
    for name, given in ("patches", patches), ("dtype", result):
        if not _has_sums(given):
            raise TypeError(f"{name} must have a dtype that can be summed, got {given}")
    if patches.kind == "c" and reduction in ("max", "min"):
        raise TypeError(f"reduction {reduction} needs a dtype with an order, got {patches}")
    if patches.kind == "c" and result.kind != "c":
        raise TypeError(f"dtype must be complex for complex patches, got {result}")
    return result


def _round_to(values: _Array, image: _Array) -> None:
    """Write values into an image. Integers are rounded to the nearest value; NaN becomes 0."""
    dtype = image.dtype
    if dtype.kind in "iu" and values.dtype == np.float64:
        letters = " ".join("abcdefg"[: values.ndim])
        rearrange(values, f"{letters} -> {letters}", dtype=dtype, out=image)
        return
    if dtype.kind in "biu" and values.dtype.kind not in "biu":
        values = np.where(np.isnan(values), 0, values)
        if values.dtype.itemsize < 8:  # bfloat16 has no rint
            values = values.astype(np.float64)
        values = np.rint(values)
    if dtype.kind == "b":
        image[...] = values != 0
        return
    if dtype.kind not in "iu" or values.dtype.kind == "b":
        image[...] = values
        return
    limits = np.iinfo(dtype)
    # Floats beyond the range are found before they are cast: the largest int64 is no float64.
    low, high = values < limits.min, values >= limits.max
    np.copyto(image, values, casting="unsafe", where=~(low | high))
    image[low], image[high] = limits.min, limits.max
