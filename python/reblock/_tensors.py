# SPDX-License-Identifier: BSD-3-Clause
"""Choose the corners of tensors that `explain` shows, their tables and their words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias

import numpy as np

from reblock import _layouts
from reblock._index_map import Cell, Part, Plane

if TYPE_CHECKING:
    from reblock._core import _Ints, _Order, _PaddingMode

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
    """Windows over an image. Sequences have one value for each spatial axis."""

    sizes: Extents  # of the image
    window_sizes: Extents
    strides: Extents
    dilations: Extents
    start_padding: Extents
    end_padding: Extents
    padding_mode: _PaddingMode
    order: _Order
    ranges: Sequence[tuple[int, int]]  # the window positions that have columns

    @property
    def volume(self) -> int:
        return math.prod(self.window_sizes)

    @property
    def counts(self) -> Index:
        """Return how many window positions have columns along each axis."""
        return tuple(stop - start for start, stop in self.ranges)

    def row(self, channel: int, offset: int, channels: int) -> int:
        """Return the row of the columns that has a channel's elements of one offset."""
        if self.order in ("DCR", 0):
            return offset * channels + channel
        return channel * self.volume + offset


class Columns(Tensor):
    """A tensor of windows as columns. With a layout, its shape has N, C and L."""

    def __init__(self, shape: _Ints, windows: Windows, layout: str | None = None) -> None:
        super().__init__(shape, layout)
        self.windows = windows

    @property
    def channels(self) -> int:
        return self.shape[1] // self.windows.volume

    @property
    def shown(self) -> Index:
        """How many channels, rows of each channel, and columns are shown."""
        channels = min(self.channels, WINDOW_CHANNELS) if self.shape[0] else 0
        return channels, min(self.windows.volume, ROWS), min(self.shape[2], COLUMNS)

    def row(self, channel: int, offset: int) -> int:
        return self.windows.row(channel, offset, self.channels)

    def legend(self) -> Iterator[str]:
        """Explain the label of a row, by the last row of the first channel as an example."""
        channels, rows, _ = self.shown
        if channels:
            offset = joined(unrank(rows - 1, self.windows.window_sizes))
            row = self.row(0, rows - 1)
            yield f"{row} ({offset}) beside a row: row {row}, offset {offset} in a window"

    def indices(self) -> list[Index]:
        return [(0, self.row(c, offset), column) for c, offset, column in np.ndindex(self.shown)]

    def part(self, name: str, cell: Callable[[Index], Cell]) -> Part:
        """Return a table for each channel: the offsets in a window by the windows."""
        volume = self.windows.volume
        channels, rows, columns = self.shown
        offsets = [joined(unrank(offset, self.windows.window_sizes)) for offset in range(rows)]
        cut = (rows < volume, columns < self.shape[2])
        planes = []
        for channel in range(channels):
            numbers = [self.row(channel, offset) for offset in range(rows)]
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
                f", shown: {channels} of {self.channels} channels,"
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
