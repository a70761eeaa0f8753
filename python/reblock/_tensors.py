# SPDX-License-Identifier: BSD-3-Clause
"""Choose the corners of tensors that `explain` shows, their tables and their words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias

import numpy as np

from reblock import _layouts
from reblock._index_map import Cell, Part, Plane

if TYPE_CHECKING:
    from reblock._core import _Ints

Index: TypeAlias = tuple[int, ...]
Extents: TypeAlias = Sequence[int]

# How much of a large tensor is shown.
PIXELS = 6  # along each of the last two spatial axes
DEPTH_PIXELS = 3  # the same of a depth tensor, of which more channels are shown
SLICES = 2  # along the spatial axis before those, and one along each before that
CHANNELS = 3  # of images; fewer where each has several slices
DEPTH_CHANNELS = 12  # the same of a depth tensor
WINDOW_CHANNELS = 2
ROWS = COLUMNS = 9


class Tensor:
    """A tensor, and how its indices are written: with a layout, in the order of its letters."""

    def __init__(self, shape: _Ints, layout: str | None = None) -> None:
        self.shape = tuple(map(int, shape))
        self.layout = layout

    def written(self, values: Index) -> Index:
        """Return values of all axes in the order in which the array has these axes."""
        if self.layout is None:
            return values
        return tuple(_layouts.arrange(values, _layouts.in_order(self.layout), self.layout, 0))

    def title(self, name: str, shown: Index) -> str:
        """Return the name with the shape, and the extents that are shown if these are fewer."""
        title = f"{name} {self.written(self.shape)}"
        if shown != self.shape:
            title += f", shown: [{', '.join(f':{extent}' for extent in self.written(shown))}]"
        return title


class Pixels(Tensor):
    """A tensor of channels and spatial axes. With a layout, its shape has N, C, then the others."""

    def __init__(
        self, shape: _Ints, channel_axis: SupportsIndex, layout: str | None = None
    ) -> None:
        super().__init__(shape, layout)
        self.channel_axis = int(channel_axis) % len(self.shape)
        self.spatial = [axis for axis in range(1, len(self.shape)) if axis != self.channel_axis]

    @property
    def sizes(self) -> Index:
        return tuple(self.shape[axis] for axis in self.spatial)

    def index(self, channel: int, position: Extents) -> Index:
        """Return the index in the first item of the batch."""
        index = [0] * len(self.shape)
        index[self.channel_axis] = channel
        for axis, place in zip(self.spatial, position, strict=True):
            index[axis] = place
        return tuple(index)

    def split(self, index: Index) -> tuple[int, Index]:
        """Return the channel and the position."""
        return index[self.channel_axis], tuple(index[axis] for axis in self.spatial)

    def text(self, index: Index) -> str:
        channel, position = self.split(index)
        return f"{channel}:{joined(position)}"

    def corner(self, sizes: Extents) -> Index:
        """Return the shape of these spatial sizes with one item of the batch and few channels."""
        channels = min(self.shape[self.channel_axis], CHANNELS)
        batch = min(self.shape[0], 1)
        return (batch, *self.index(channels, sizes)[1:])

    def shown(self, channels: int, pixels: int) -> Index:
        """Return the extents of the corner that is shown, of one item of the batch."""
        extents = [min(self.shape[0], 1)] * len(self.shape)
        limits = pixels_shown(pixels, len(self.spatial))
        for axis, limit in zip(self.spatial, limits, strict=True):
            extents[axis] = min(self.shape[axis], limit)
        slices = math.prod(extents[axis] for axis in self.spatial[:-2])
        limit = max(1, channels // max(1, slices))
        extents[self.channel_axis] = min(self.shape[self.channel_axis], limit)
        return tuple(extents)

    def part(self, name: str, shown: Index, cell: Callable[[Index], Cell]) -> Part:
        """Return a table for each channel, and for each slice of more than two spatial axes."""
        channels, sizes = self.split(shown)
        *slices, height, width = (1, *sizes) if len(sizes) == 1 else sizes
        planes = []
        for channel, *before in np.ndindex(channels, *slices) if shown[0] else ():
            rows = [
                [cell(self.index(channel, (*before, y, x)[-len(sizes) :])) for x in range(width)]
                for y in range(height)
            ]
            title = f"channel {channel}" + (f" at {joined(before)}" if before else "")
            row_labels = [""] if len(sizes) == 1 else [str(y) for y in range(height)]
            cut = (len(sizes) > 1 and height < self.sizes[-2], width < self.sizes[-1])
            planes.append(Plane.of(title, row_labels, [str(x) for x in range(width)], rows, cut))
        return Part(self.title(name, shown), planes)


class Plain(Tensor):
    """A tensor of any axes."""

    @property
    def shown(self) -> Index:
        """The extents of the corner that is shown."""
        limits = (*(1,) * (len(self.shape) - 4), SLICES, CHANNELS, PIXELS, PIXELS)
        return tuple(map(min, self.shape, limits[len(limits) - len(self.shape) :]))

    def part(self, name: str, cell: Callable[[Index], Cell]) -> Part:
        """Return a table for each index of all axes but the last two."""
        shape, shown = (1,) * (2 - len(self.shape)) + self.shape, self.shown
        *slices, height, width = (1,) * (2 - len(shown)) + shown
        planes = []
        for before in np.ndindex(*slices):
            rows = [
                [cell((*before, y, x)[len(shape) - len(shown) :]) for x in range(width)]
                for y in range(height)
            ]
            row_labels = [""] if len(shown) < 2 else [str(y) for y in range(height)]
            cut = (height < shape[-2], width < shape[-1])
            columns = [str(x) for x in range(width)]
            title = f"{name}[{joined(before)}]" if before else ""
            planes.append(Plane.of(title, row_labels, columns, rows, cut))
        return Part(self.title(name, shown), planes)


@dataclass(frozen=True)
class Windows:
    """Windows over spatial axes; each attribute has one value for each axis."""

    window_sizes: Extents
    strides: Extents
    dilations: Extents
    start_padding: Extents
    end_padding: Extents

    @property
    def volume(self) -> int:
        return math.prod(self.window_sizes)

    def counts(self, extents: Extents) -> Index:
        """Return how many windows there are along each axis of these extents."""
        return tuple(
            (extent + start + end - dilation * (size - 1) - 1) // stride + 1
            for extent, size, stride, dilation, start, end in zip(
                extents, *vars(self).values(), strict=True
            )
        )

    def corner(self, extents: Extents) -> tuple[Index, Windows]:
        """Return smaller extents, and windows over them that are the same where it is shown.

        The first COLUMNS windows lie in the corner, and all that reach pixels that are shown.
        """
        counts = self.counts(extents)
        limits = pixels_shown(PIXELS, len(counts))
        small, end_padding = [], []
        for axis, (extent, count, pixels) in enumerate(zip(extents, counts, limits, strict=True)):
            stride, start = self.strides[axis], self.start_padding[axis]
            first = -(-COLUMNS // math.prod(counts[axis + 1 :]))
            reaching = (pixels - 1 + start) // stride + 1
            last = min(count, max(first, reaching)) - 1
            end = last * stride - start + self.dilations[axis] * (self.window_sizes[axis] - 1) + 1
            small.append(min(extent, max(pixels, end)))
            end_padding.append(max(0, end - small[-1]))
        return tuple(small), replace(self, end_padding=end_padding)

    def rows_shown(self) -> Iterator[int]:
        """Yield the rows of the first ROWS offsets and of all that reach pixels that are shown."""
        limits = pixels_shown(PIXELS, len(self.window_sizes))
        for row, offset in enumerate(np.ndindex(*self.window_sizes)):
            axes = zip(offset, self.dilations, self.start_padding, limits, strict=True)
            if row < ROWS or all(o * step - start < end for o, step, start, end in axes):
                yield row


class Columns(Tensor):
    """A tensor of windows as columns. With a layout, its shape has N, C and L."""

    def __init__(
        self, shape: _Ints, windows: Windows, counts: Extents, layout: str | None = None
    ) -> None:
        super().__init__(shape, layout)
        self.windows = windows
        self.counts = counts

    @property
    def shown(self) -> Index:
        """How many channels, rows of each channel, and columns are shown."""
        batch, rows, columns = self.shape
        channels = min(rows // self.windows.volume, WINDOW_CHANNELS) if batch else 0
        return channels, min(self.windows.volume, ROWS), min(columns, COLUMNS)

    def legend(self) -> Iterator[str]:
        """Explain the label of a row, by the last row of the first channel as an example."""
        channels, rows, _ = self.shown
        if channels:
            offset = joined(unrank(rows - 1, self.windows.window_sizes))
            yield f"{rows - 1} ({offset}) beside a row: row {rows - 1}, offset {offset} in a window"

    def indices(self) -> list[Index]:
        channels, rows, columns = self.shown
        volume = self.windows.volume
        return [
            (0, c * volume + row, column) for c, row, column in np.ndindex(channels, rows, columns)
        ]

    def part(self, name: str, cell: Callable[[Index], Cell]) -> Part:
        """Return a table for each channel: the offsets in a window by the windows."""
        volume = self.windows.volume
        channels, rows, columns = self.shown
        offsets = [joined(unrank(row, self.windows.window_sizes)) for row in range(rows)]
        cut = (rows < volume, columns < self.shape[2])
        planes = []
        for channel in range(channels):
            numbers = range(channel * volume, channel * volume + rows)
            planes.append(
                Plane.of(
                    f"channel {channel}",
                    [f"{row} ({offset})" for row, offset in zip(numbers, offsets, strict=True)],
                    [str(column) for column in range(columns)],
                    [[cell((0, row, column)) for column in range(columns)] for row in numbers],
                    cut,
                )
            )
        title = f"{name} {self.written(self.shape)}"
        if any(cut) or self.shape[:2] != (1, channels * volume):
            title += (
                f", shown: {channels} of {self.shape[1] // volume} channels,"
                f" {rows} of {volume} rows of each, {columns} of {self.shape[2]} columns"
            )
        return Part(title, planes)


def pixels_shown(pixels: int, axes: int) -> Index:
    """Return how many pixels are shown along each spatial axis."""
    return (*(1,) * (axes - 3), SLICES, pixels, pixels)[-axes:]


def rank(index: Extents, extents: Extents) -> int:
    """Return the position of an index in C order."""
    position = 0
    for i, extent in zip(index, extents, strict=True):
        position = position * extent + i
    return position


def unrank(position: int, extents: Extents) -> Index:
    index = []
    for extent in reversed(extents):
        position, i = divmod(position, extent)
        index.append(i)
    return tuple(reversed(index))


def joined(numbers: Extents) -> str:
    return ",".join(map(str, numbers))
