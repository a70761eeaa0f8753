# SPDX-License-Identifier: BSD-3-Clause
"""Read patterns of `rearrange` and `repeat` for arrays of a known rank, as lists of axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np

from reblock import _core

Use: TypeAlias = Literal["rearrange", "repeat"]
Groups: TypeAlias = tuple[tuple[int, ...], ...]  # the axes that each axis of an array is made of


@dataclass(frozen=True)
class Cut:
    """An axis of the input along which a pattern can be applied to one part after the other.

    The cut is along `axis` of the pattern. `grain` elements along the axis of the input become
    `result_grain` elements along `result_axis`.
    """

    axis: int
    grain: int
    result_axis: int
    result_grain: int


@dataclass(frozen=True)
class Axes:
    """The axes of a pattern, by their numbers; those that "..." covers are among them."""

    names: tuple[str | int, ...]
    left: Groups
    right: Groups

    @classmethod
    def of(cls, pattern: str, use: Use, rank: int) -> Axes:
        """Read a pattern; ValueError if it is invalid."""
        return cls(*_core.pattern_axes(pattern, use, rank))

    @property
    def new(self) -> frozenset[int]:
        """The axes along which elements are repeated."""
        return frozenset(range(len(self.names))).difference(*self.left)

    def lengths(self, shape: Sequence[Any], given: Mapping[str, Any]) -> list[Any]:
        """Return the length of each axis, for a shape that fits and may hold symbols."""
        lengths: list[Any] = [
            name if isinstance(name, int) else given.get(name) for name in self.names
        ]
        for group, extent in zip(self.left, shape, strict=True):
            # a list: PyTorch's compiler takes no generator there
            known = math.prod([lengths[i] for i in group if lengths[i] is not None])
            for i in group:
                if lengths[i] is None:
                    lengths[i] = extent // known if len(group) > 1 else extent
        return lengths

    def spelled(self) -> str:
        """Return the pattern with a name for every axis: a0, a1 and so on."""
        return f"{spelled(self.left)} -> {spelled(self.right)}"

    def axis_of(self, factor: object) -> int | None:
        """Return the axis of a scale or a bias, or None where it has no axis."""
        return self.names.index(next(iter(factor))) if isinstance(factor, Mapping) else None

    def spell_factor(self, factor: Any, cut: tuple[int, int, int] | None = None) -> Any:
        """Return a scale or a bias by the names of `spelled`, for a part of the axes.

        `cut` is an axis and the range of its indices in this part.
        """
        axis = self.axis_of(factor)
        if axis is None:
            return factor
        (values,) = factor.values()
        if cut and cut[0] == axis and np.ndim(values):
            values = values[slice(*cut[1:])]
        return {f"a{axis}": values}

    def cuts(self, lengths: Sequence[int]) -> dict[int, Cut]:
        """Return the axes of the input that can be cut, so that each part is a part of the result.

        An axis of the input may combine several axes. The cut is along the outermost one, which
        must be the outermost one of an axis of the result too.
        """
        if 0 in lengths:
            return {}

        def outermost(group: Sequence[int]) -> tuple[int | None, int]:
            long = [i for i in group if lengths[i] != 1]
            return (long[0] if long else None), math.prod(lengths[i] for i in long[1:])

        targets = {outermost(group)[0]: axis for axis, group in enumerate(self.right)}
        cuts = {}
        for axis, group in enumerate(self.left):
            lead, grain = outermost(group)
            if lead is not None and lead in targets:
                target = targets[lead]
                cuts[axis] = Cut(lead, grain, target, outermost(self.right[target])[1])
        return cuts


def lengths_in(
    pattern: str,
    use: Use,
    shape: Sequence[int],
    given: Mapping[str, SupportsIndex],
    factors: tuple[object, object] = (None, None),
) -> tuple[int, ...]:
    """Return the length of each axis of Axes; ValueError if the shape does not fit.

    `factors` are a scale and a bias: ValueError and TypeError if they do not fit.
    """
    return _core.pattern_lengths(pattern, use, tuple(shape), dict(given), *factors)


def refuse_out(use: Use, axes_lengths: Mapping[str, object]) -> None:
    """Raise the usual TypeError for `out`, a parameter of `reblock` alone and never an axis."""
    if "out" in axes_lengths:
        raise TypeError(f"{use}() got an unexpected keyword argument 'out'")


def shape_of(groups: Groups, lengths: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(math.prod(lengths[i] for i in group) for group in groups)


def spelled(groups: Groups) -> str:
    return " ".join(f"({' '.join(f'a{i}' for i in group)})" for group in groups)


def named(lengths: Sequence[Any]) -> dict[str, Any]:
    """Return the lengths by the names that `spelled` gives."""
    return {f"a{i}": length for i, length in enumerate(lengths)}
