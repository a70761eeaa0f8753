# SPDX-License-Identifier: BSD-3-Clause
"""Cut an image into overlapping patches, and blend patches into an image."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from reblock._core import PaddingMode, fold, read_array, unfold
from reblock._keywords import with_hints
from reblock._merge import Merger, Plan, profile, spatial_axes

__all__ = ["Patches"]

_Array = NDArray[Any]
_Weights = Literal["hann", "gaussian"] | ArrayLike | Sequence[ArrayLike] | None
_REDUCTIONS = ("sum", "mean", "max", "min")
_PADDING_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


class Patches:
    """The patches of an image under a sliding window, and the inverse, `merge`.

    Only reading a patch may copy it, so the image may be a ``np.memmap`` larger than memory.
    Patches have the axes of the image, in its layout.

    Parameters
    ----------
    image : array_like
        One image, without a batch; any strides and any dtype without Python objects.
    window_sizes : int or sequence of int
        Elements of a patch, for all spatial axes or one for each; at least 1.
    strides : int or sequence of int, optional
        Elements from one patch to the next, at least 1. The default is `window_sizes`.
    layout : str, default "HWC"
        A letter for each axis of the image: ``C`` is the channels, and any other upper-case letter
        but ``N`` is a spatial axis. Without ``C`` there is one channel.
    edges : {"pad", "shift", "drop"}, default "pad"
        What happens if the last patch does not fit. "pad" pads it, "shift" moves it inwards, and
        "drop" leaves it out, with the elements that no other patch covers.
    padding_mode : str or PaddingMode, default "constant"
        The elements after the end of the image, for ``edges="pad"``: "constant", "edge", "reflect",
        "symmetric" or "wrap", as in ``np.pad``.
    padding_value : number, default 0
        The value of the padding of "constant". The dtype of the image must hold it exactly.

    Attributes
    ----------
    grid : tuple of int
        How many patches there are along each spatial axis.
    patch_shape : tuple of int
        The shape of each patch.
    window_sizes, strides : tuple of int
        The parameters, with one value for each spatial axis.
    layout, edges : str
        The parameters.

    Raises
    ------
    ValueError
        For an argument out of range, or a window larger than an image without padding.
    TypeError
        For an argument of the wrong kind.

    Examples
    --------
    >>> import numpy as np
    >>> import reblock
    >>> photo = np.random.default_rng(0).integers(0, 256, (100, 150, 3), np.uint8)
    >>> patches = reblock.Patches(photo, 64, strides=32, edges="shift")
    >>> patches.grid, len(patches), patches[0, 1].shape
    ((3, 4), 12, (64, 64, 3))
    >>> np.shares_memory(patches[0, 1], photo)
    True
    >>> merged = patches.merge((255 - patch for patch in patches), weights="hann")
    >>> np.array_equal(merged, 255 - photo)
    True
    """

    @with_hints
    def __init__(
        self,
        image: ArrayLike,
        window_sizes: SupportsIndex | Sequence[SupportsIndex],
        *,
        strides: SupportsIndex | Sequence[SupportsIndex] | None = None,
        layout: str = "HWC",
        edges: Literal["pad", "shift", "drop"] = "pad",
        padding_mode: PaddingMode
        | Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant",
        padding_value: complex = 0,
    ) -> None:
        self._image = read_array(image, "image")
        self.layout = _check_layout(layout, self._image.shape)
        if not isinstance(edges, str):
            raise TypeError(f"edges must be a str, got {type(edges).__name__}")
        if edges not in ("pad", "shift", "drop"):
            raise ValueError(f'edges must be "pad", "shift" or "drop", got {edges!r}')
        # unfold refuses other modes, and values that the dtype does not hold.
        padding = unfold(
            np.zeros((1, 1, 1), self._image.dtype),
            1,
            start_padding=1,
            padding_mode=padding_mode,
            padding_value=padding_value,
        )
        self._spatial = spatial_axes(layout)
        sizes = [self._image.shape[axis] for axis in self._spatial]
        self.window_sizes = _per_axis(window_sizes, "window_sizes", len(sizes))
        self.strides = self.window_sizes
        if strides is not None:
            self.strides = _per_axis(strides, "strides", len(sizes))
        self.edges = edges
        self._padding_mode: Any = padding_mode
        if not isinstance(padding_mode, str):
            self._padding_mode = _PADDING_MODES[padding_mode]
        self._padding_value = padding[0, 0, 0]
        starts = [
            _starts(*each, edges)
            for each in zip(sizes, self.window_sizes, self.strides, strict=True)
        ]
        self._plan = Plan(layout, self._image.shape, self.window_sizes, self.strides, starts)
        self.grid = self._plan.grid
        shape = list(self._image.shape)
        for axis, size in zip(self._spatial, self.window_sizes, strict=True):
            shape[axis] = size
        self.patch_shape = tuple(shape)

    def __repr__(self) -> str:
        return (
            f"<{len(self)} patches of shape {self.patch_shape}, grid {self.grid}, of an image of"
            f" shape {self._image.shape} and dtype {self._image.dtype}>"
        )

    def __len__(self) -> int:
        return math.prod(self.grid)

    def __iter__(self) -> Iterator[_Array]:
        """Iterate over the patches in C order of the grid."""
        return (self[index] for index in itertools.product(*map(range, self.grid)))

    def origin(self, index: SupportsIndex | tuple[SupportsIndex, ...]) -> tuple[int, ...]:
        """Return where a patch begins in the image, along each spatial axis."""
        found = self._index(index)
        return tuple(starts[i] for starts, i in zip(self._plan.starts, found, strict=True))

    def __getitem__(self, index: SupportsIndex | tuple[SupportsIndex, ...]) -> _Array:
        """Return one patch: a view of the image, or a copy if it is padded.

        An int for each spatial axis is a place in the grid. One int counts in C order.
        """
        where: list[slice] = [slice(None)] * self._image.ndim
        outside = [(0, 0)] * self._image.ndim
        places = zip(self._spatial, self.origin(index), self.window_sizes, strict=True)
        for axis, start, size in places:
            where[axis] = slice(start, start + size)
            outside[axis] = (0, max(0, start + size - self._image.shape[axis]))
        if not any(after for _, after in outside):
            view: _Array = self._image[tuple(where)]
            return view
        if self._padding_mode == "constant":
            value = self._padding_value
            inside = np.asarray(self._image[tuple(where)])
            return np.pad(inside, outside, constant_values=value)
        # Padding may reach far into the image: each axis lists where its elements come from.
        # Axes without padding come first, so that the copy is as small as the patch along them.
        inside_of = (
            slice(None) if pads[1] else part for pads, part in zip(outside, where, strict=True)
        )
        patch = np.asarray(self._image[tuple(inside_of)])
        for axis, (_, after) in enumerate(outside):
            if after:
                places_of = np.pad(np.arange(patch.shape[axis]), (0, after), self._padding_mode)
                patch = np.take(patch, places_of[where[axis]], axis)
        return np.ascontiguousarray(patch)

    def bands(self, max_bytes: int = 2**26) -> Iterator[_Array]:
        """Iterate over arrays of consecutive patches, of up to `max_bytes` bytes each.

        Yields
        ------
        np.ndarray
            Shape ``(n, *patch_shape)``, with at least one patch.

        Raises
        ------
        ValueError
            For `max_bytes` below 1.
        TypeError
            For `max_bytes` that is no int.
        """
        each = math.prod(self.patch_shape) * self._image.itemsize
        try:
            limit = operator.index(max_bytes)
        except TypeError:
            raise TypeError(f"max_bytes must be an int, got {max_bytes!r}") from None
        if limit < 1:
            raise ValueError(f"max_bytes must be at least 1, got {max_bytes}")
        return self._bands(max(1, limit // max(1, each)))

    def _bands(self, at_once: int) -> Iterator[_Array]:
        patches = iter(self)
        for first in range(0, len(self), at_once):
            band = np.empty((min(at_once, len(self) - first), *self.patch_shape), self._image.dtype)
            for place, patch in zip(band, patches, strict=False):
                place[...] = patch
            yield band

    @with_hints
    def merge(
        self,
        patches: ArrayLike | Iterable[ArrayLike],
        *,
        weights: _Weights = None,
        reduction: Literal["sum", "mean", "max", "min"] = "mean",
        dtype: DTypeLike | None = None,
        out: _Array | None = None,
    ) -> _Array:
        """Blend patches into an image with the spatial sizes of the first image.

        `merge` keeps float64 sums of as many rows of the image as a window has. Of the image's
        size, it allocates only the result. Integers beyond 2^53 lose their last digits. One array
        of all patches, on a regular grid, needs no sums: `fold` makes the mean, max or min. This is
        faster, and means of integers are exact.

        Parameters
        ----------
        patches : array_like or iterable
            All patches in C order of the grid: an array of shape ``(len(self), *patch_shape)`` or
            ``(*grid, *patch_shape)``, or an iterable of patches, or of arrays of several patches,
            as from `bands`. The number of channels may differ from that of the image.
        weights : {"hann", "gaussian"} or array_like, optional
            The weight of each element of a patch, for "sum" and "mean": a name, or numbers as in
            `fold`. The default is 1 for all elements.
        reduction : {"sum", "mean", "max", "min"}, default "mean"
            How the elements of several patches are combined, as in `fold`. Elements that no patch
            covers become 0.
        dtype : dtype, optional
            The dtype of the result. The default is that of the first patch. Integers are rounded to
            nearest, ties to even. Values beyond its range become the nearest value, and NaN becomes
            0.
        out : ndarray, optional
            The array for the result, of exactly its shape and dtype, such as a ``np.memmap``. An
            array or a list of patches that shares memory with it is copied first. It may be the
            first image if an iterator yields its patches, unless they are padded by "wrap": then
            the last ones have rows that are already finished.

        Returns
        -------
        np.ndarray
            `out` if given, else a new array.

        Raises
        ------
        ValueError
            For a wrong number or shape of patches, or weights that `fold` refuses. Nothing is
            written, unless a wrong patch comes from an iterator after finished rows.
        TypeError
            For an argument of the wrong kind, such as a dtype without sums.
        """
        given: Any = reduction
        if not isinstance(given, str) or given not in _REDUCTIONS:
            fold(np.zeros((1, 1, 1)), 1, 1, reduction=given)  # which refuses other values
        parts = self._parts_of(patches, out)
        rows = self._rows_of(parts)
        first, terms = next(rows)
        factors = self._weights(weights, reduction)
        channels = first.shape[1 + self.layout.index("C")] if "C" in self.layout else 1
        merger = Merger(
            self._plan, channels, terms, factors, reduction=reduction, dtype=dtype, out=out
        )
        if isinstance(parts, np.ndarray) and merger.may_fold(parts):
            return merger.fold_all(parts)
        if isinstance(parts, list):
            for part in parts:
                merger.check(part.dtype)
        for place, row in enumerate(itertools.chain([first], (row for row, _ in rows))):
            merger.add(place, row)
        return merger.finish()

    def _index(self, index: SupportsIndex | tuple[SupportsIndex, ...]) -> tuple[int, ...]:
        given = index if isinstance(index, tuple) else (index,)
        counts = self.grid if isinstance(index, tuple) or len(self.grid) == 1 else (len(self),)
        if len(given) != len(counts):
            raise IndexError(f"index must have {len(counts)} ints, got {index}")
        found = []
        for i, count in zip(map(_as_int, given), counts, strict=True):
            if i is None:
                raise TypeError(f"index must have ints, got {index!r}")
            if not -count <= i < count:
                raise IndexError(f"index {index} is out of range for a grid of {self.grid}")
            found.append(i % count)
        if len(counts) == len(self.grid):
            return tuple(found)
        return tuple(int(i) for i in np.unravel_index(found[0], self.grid))

    def _weights(self, weights: _Weights, reduction: str) -> Any:
        if weights is not None and reduction in ("max", "min"):
            raise ValueError(f"weights are for reduction sum or mean, got reduction {reduction}")
        if isinstance(weights, str):
            return [profile(weights, size) for size in self.window_sizes]
        return weights

    def _parts_of(
        self, patches: ArrayLike | Iterable[ArrayLike], out: _Array | None
    ) -> Iterable[_Array]:
        """Return arrays of one or several patches. All that are in memory have been checked."""

        def read(part: ArrayLike) -> _Array:
            array = read_array(part, "patches")
            shared = isinstance(out, np.ndarray) and np.may_share_memory(array, out)
            return array.copy() if shared else array

        rank = len(self.patch_shape)
        if isinstance(patches, np.ndarray):
            patches = read(patches)
            if patches.ndim == rank + len(self.grid) != rank + 1:
                if patches.shape[: len(self.grid)] != self.grid:
                    raise ValueError(
                        f"patches must have the grid {self.grid} or {len(self)} patches first,"
                        f" got shape {patches.shape}"
                    )
                # Joined, the axes of the grid could need a copy of all patches.
                in_row = math.prod(self.grid[1:])
                parts = [row.reshape(in_row, *row.shape[-rank:]) for row in patches]
            elif patches.ndim == rank + 1:
                if len(patches) == len(self):
                    next(self._patches_in([patches]))  # all have the shape of the first
                else:
                    self._check_shapes([patches])
                return patches
            else:
                parts = list(patches) if patches.ndim else [patches]
        elif isinstance(patches, (list, tuple)):
            parts = [read(part) for part in patches]
        elif isinstance(patches, Iterable):
            return (read_array(part, "patches") for part in patches)
        else:
            raise TypeError(
                f"patches must be an array or an iterable of arrays, got {type(patches).__name__}"
            )
        self._check_shapes(parts)
        return parts

    def _check_shapes(self, parts: Iterable[_Array]) -> None:
        for _ in self._patches_in(parts):
            pass

    def _patches_in(self, parts: Iterable[_Array]) -> Iterator[_Array]:
        """Yield each patch. Raise an error for a wrong shape or number."""
        shape = list(self.patch_shape)
        count = 0
        for part in parts:
            for patch in part if part.ndim == len(shape) + 1 else (part,):
                if count == len(self):
                    raise ValueError(f"patches must be {count}, got more than {count}")
                if count == 0 and "C" in self.layout and patch.ndim == len(shape):
                    axis = self.layout.index("C")
                    shape[axis] = patch.shape[axis]  # all patches may have other channels
                if patch.shape != tuple(shape):
                    raise ValueError(f"patches must have shape {tuple(shape)}, got {patch.shape}")
                yield patch
                count += 1
        if count != len(self):
            raise ValueError(f"patches must be {len(self)}, got {count}")

    def _rows_of(self, parts: Iterable[_Array]) -> Iterator[tuple[_Array, np.dtype[Any]]]:
        """Yield the patches of one index on the first axis, and the dtype of the first one."""
        in_row = math.prod(self.grid[1:])
        if isinstance(parts, np.ndarray):  # all have been checked, and none needs to be copied
            for row in parts.reshape(self.grid[0], in_row, *parts.shape[1:]):
                yield row, parts.dtype
            return
        held: list[_Array] = []
        for patch in self._patches_in(parts):
            held.append(patch)
            if len(held) == in_row:
                yield np.stack(held), held[0].dtype
                held.clear()


def _as_int(value: Any) -> int | None:
    """Return an int, but not for a bool."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _check_layout(layout: str, shape: tuple[int, ...]) -> str:
    rank = len(shape)
    if not isinstance(layout, str):
        raise TypeError(f"layout must be a str such as 'HWC', got {type(layout).__name__}")
    letters = set(layout)
    if (
        len(letters) != len(layout)
        or not (layout.isascii() and layout.isalpha())
        or not layout.isupper()
        or "N" in letters
    ):
        raise ValueError(
            f"layout must have an upper-case letter other than N for each axis, each once,"
            f" got {layout!r}"
        )
    if not 1 <= len(letters - {"C"}) <= 6:
        raise ValueError(f"layout must have letters for 1 to 6 spatial axes, got {layout!r}")
    if len(layout) != rank:
        raise ValueError(
            f"image must have {len(layout)} axes for layout {layout!r}, got {rank}: shape {shape}"
        )
    return layout


def _per_axis(value: Any, name: str, axes: int) -> tuple[int, ...]:
    # Sets and dicts are not in the order of the axes, and bytes are text.
    is_list = np.iterable(value) and not isinstance(value, (dict, set, frozenset, bytes, bytearray))
    given = [*map(_as_int, value)] if is_list else [_as_int(value)] * axes
    values = tuple(i for i in given if i is not None)
    if len(values) != len(given):
        raise TypeError(f"{name} must be an int or a sequence of ints, got {value!r}")
    if len(values) != axes or min(values) < 1:
        raise ValueError(
            f"{name} must be one value, or one for each of the {axes} spatial axes, at least 1,"
            f" got {value!r}"
        )
    return values


def _starts(size: int, window: int, stride: int, edges: str) -> list[int]:
    """Return where the patches begin along one axis."""
    if size < 1:
        raise ValueError("image must have elements along each spatial axis, got an extent of 0")
    if size < window and edges != "pad":
        raise ValueError(
            f"window_sizes must fit the image unless edges is 'pad', got {window} for an extent"
            f" of {size}"
        )
    rest = max(size - window, 0)
    starts = list(range(0, rest + 1, stride))
    if starts[-1] + window < size:
        if edges == "shift":
            starts.append(rest)
        elif edges == "pad":
            starts.append(starts[-1] + stride)
    # With strides larger than the window, a further patch may begin behind the image.
    return [start for start in starts if start < size]
