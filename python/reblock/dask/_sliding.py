# SPDX-License-Identifier: BSD-3-Clause
"""Compute the positions of a window that slides over an image, and the rows that they cover."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from reblock._ranges import slices_of
from reblock.dask._call import per_axis
from reblock.dask._chunks import Range
from reblock.dask._types import Blocks, IntOrInts


@dataclass(frozen=True)
class AxisWindow:
    """A window that slides along one spatial axis."""

    size: int  # of the axis
    window_size: int
    stride: int
    dilation: int
    start_padding: int
    end_padding: int

    @property
    def reach(self) -> int:
        """Elements from the first to the last one of the window, both included."""
        return self.dilation * (self.window_size - 1) + 1

    @property
    def positions(self) -> int:
        padded = self.start_padding + self.size + self.end_padding
        return (padded - self.reach) // self.stride + 1

    def position_at(self, row: int) -> int:
        """Return the first window position of the stripe that begins at `row`.

        A window position belongs to the chunk where it would begin without padding. With half the
        reach as padding, its middle lies in this chunk.
        """
        return -(-row // self.stride)

    def row_at(self, position: int) -> int:
        """Return the first row of the stripe of `position`: the inverse of `position_at`."""
        return position * self.stride

    def rows_of(self, positions: Range) -> tuple[Range, Self]:
        """Return the rows that these positions cover, and the window that slides along them."""
        begin = positions[0] * self.stride - self.start_padding
        end = (positions[1] - 1) * self.stride - self.start_padding + self.reach
        first = min(max(begin, 0), self.size)
        last = max(min(end, self.size), first)
        start_padding = min(max(first - begin, 0), end - begin)
        return (first, last), replace(
            self,
            size=last - first,
            start_padding=start_padding,
            end_padding=end - begin - start_padding - (last - first),
        )

    def positions_of(self, rows: Range) -> tuple[Range, Self]:
        """Return the positions that cover these rows, and the window that slides along them.

        There is at least one position, even if it does not reach the rows.
        """
        begin, end = rows[0] + self.start_padding, rows[1] + self.start_padding
        # Padding is not negative: in a gap, the first position begins no later than the first row.
        first = max(min(-((self.reach - 1 - begin) // self.stride), begin // self.stride), 0)
        first = min(first, self.positions - 1)
        last = max(min(-(-end // self.stride), self.positions), first + 1)
        return (first, last), replace(
            self,
            size=rows[1] - rows[0],
            start_padding=begin - first * self.stride,
            end_padding=max((last - 1) * self.stride + self.reach - end, 0),
        )


@dataclass(frozen=True)
class SlidingWindow:
    """A window that slides along each of the spatial axes."""

    axes: tuple[AxisWindow, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], window: Mapping[str, IntOrInts]) -> Self:
        values = (per_axis(value, len(sizes)) for value in window.values())
        return cls(tuple(AxisWindow(*axis) for axis in zip(sizes, *values, strict=True)))

    @property
    def elements(self) -> int:
        return math.prod(axis.window_size for axis in self.axes)

    @property
    def lead(self) -> int:
        """The first axis with more than one window position. Stripes are cut along it."""
        several = (d for d, axis in enumerate(self.axes) if axis.positions > 1)
        return next(several, len(self.axes) - 1)

    @property
    def row(self) -> int:
        """Window positions for each step along the leading axis."""
        return math.prod(axis.positions for axis in self.axes[self.lead + 1 :])

    def part(self, blocks: Blocks) -> tuple[list[Range], Self] | None:
        """Return the rows along each axis that a part of the positions covers, and its window.

        None if the part has no positions.
        """
        slices = slices_of(blocks, len(self.axes))
        ranges = [s.indices(a.positions)[:2] for s, a in zip(slices, self.axes, strict=True)]
        if any(first == last for first, last in ranges):
            return None
        rows, axes = zip(
            *(a.rows_of(r) for a, r in zip(self.axes, ranges, strict=True)), strict=True
        )
        return list(rows), replace(self, axes=axes)

    def with_lead(self, leading: AxisWindow) -> Self:
        axes = list(self.axes)
        axes[self.lead] = leading
        return replace(self, axes=tuple(axes))

    def sizes(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    def keywords(self) -> dict[str, tuple[int, ...]]:
        """Return the arguments that the functions take."""
        return {
            "window_sizes": tuple(axis.window_size for axis in self.axes),
            "strides": tuple(axis.stride for axis in self.axes),
            "dilations": tuple(axis.dilation for axis in self.axes),
            "start_padding": tuple(axis.start_padding for axis in self.axes),
            "end_padding": tuple(axis.end_padding for axis in self.axes),
        }
