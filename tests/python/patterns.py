# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of rearrange and repeat, drawn together with what they mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

import reblock
from oracle import Array, as_bytes

Use = Literal["rearrange", "repeat"]

NAMES = ("b", "c", "h", "w", "p1", "p2", "gt", "a_b", "Δt", "q", "r", "s", "k", "t")
MORE_NAMES = ("x", "pattern", "in")  # which einops does not like


@dataclass(frozen=True)
class Axis:
    """An elementary axis: its text in the pattern, and whether the left side has it."""

    text: str
    length: int
    is_new: bool = False


Group = tuple[Axis, ...]  # of elementary axes that make up one axis of an array


@dataclass(frozen=True)
class Pattern:
    """A call of rearrange or repeat, and what it is to give."""

    use: Use
    text: str
    axes_lengths: dict[str, int]
    left: tuple[Group, ...]
    right: tuple[Group, ...]

    @property
    def input_shape(self) -> tuple[int, ...]:
        return shape_of(self.left)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return shape_of(self.right)

    def __call__(self, x: Any, **options: Any) -> Any:
        return getattr(reblock, self.use)(x, self.text, **self.axes_lengths, **options)

    def oracle(self, x: Array) -> Array:
        """Return the result, by NumPy's functions on the axes that were drawn."""
        old = [axis for group in self.left for axis in group]
        new = [axis for group in self.right for axis in group]
        elements = as_bytes(x).copy().reshape([axis.length for axis in old])
        order = [old.index(axis) for axis in new if not axis.is_new]
        kept = [1 if axis.is_new else axis.length for axis in new]
        moved = np.transpose(elements, order).reshape(kept)
        repeated = np.broadcast_to(moved, [axis.length for axis in new])
        result: Array = repeated.reshape(self.output_shape).view(x.dtype)
        return result


def shape_of(groups: Iterable[Group]) -> tuple[int, ...]:
    return tuple(math.prod(axis.length for axis in group) for group in groups)


def grouped(draw: st.DrawFn, axes: Sequence[Axis]) -> tuple[list[Group], list[str]]:
    """Divide axes among those of an array, with axes of one element here and there."""
    groups: list[Group] = []
    texts = []
    left = list(axes)
    while left:
        size = draw(st.sampled_from([1, 1, 1, 2, 3]))
        group, left = left[:size], left[size:]
        words = [axis.text for axis in group]
        if draw(st.integers(0, 9)) == 0:
            words.insert(draw(st.integers(0, len(words))), "1")
        alone = len(words) == 1 and draw(st.integers(0, 9)) > 0
        groups.append(tuple(group))
        texts.append(words[0] if alone else f"({' '.join(words)})")
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        place = draw(st.integers(0, len(groups)))
        groups.insert(place, ())
        texts.insert(place, draw(st.sampled_from(["1", "()", "(1)"])))
    return groups, texts


def spread(draw: st.DrawFn, groups: list[Group], texts: list[str], covered: list[Axis]) -> None:
    """Put "..." between the axes of an array, for axes that the pattern does not name."""
    place = draw(st.integers(0, len(groups)))
    texts.insert(place, "...")
    groups[place:place] = [(axis,) for axis in covered]


@st.composite
def patterns(
    draw: st.DrawFn,
    use: Use,
    *,
    most_axes: int = 12,
    names: Sequence[str] = NAMES + MORE_NAMES,
    least_length: int = 0,
) -> Pattern:
    """Draw a pattern of up to `most_axes` elementary axes, with or without "..."."""
    count = draw(st.integers(0, most_axes))
    names = draw(st.permutations(names))[:count]
    longest = {0: 20, 1: 20, 2: 20, 3: 9, 4: 5}.get(count, 3 if count < 8 else 2)
    lengths = st.integers(1, longest)
    if draw(st.integers(0, 19)) == 0:
        lengths = st.integers(least_length, longest)
    axes = [Axis(name, draw(lengths)) for name in names]
    with_ellipsis = draw(st.booleans())
    covered = [Axis(f"...{i}", draw(st.integers(1, 3))) for i in range(draw(st.integers(0, 3)))]
    covered = covered if with_ellipsis else []

    left, left_texts = grouped(draw, axes)
    open_axes = [draw(st.sampled_from(group)) for group in left if group]
    must = [axis for axis in axes if axis not in open_axes or _ambiguous(axis, left)]
    may = [axis for axis in open_axes if draw(st.integers(0, 4)) == 0]
    given = {axis.text: axis.length for axis in (*must, *may)}

    new: list[Axis] = []
    if use == "repeat":
        for _ in range(draw(st.integers(0, 3))):
            length = draw(st.integers(1, 3))
            name = draw(st.sampled_from([f"n{len(new)}", str(length)]))
            if length == 1 and name == "1":
                continue
            # Numbers are axes of their own, however often they are there.
            new.append(Axis(name, length, is_new=True))
            if not name.isdecimal():
                given[name] = length
    shuffled = draw(st.permutations([*axes, *new]))
    right, right_texts = grouped(draw, shuffled)
    if with_ellipsis:
        spread(draw, left, left_texts, covered)
        inside = [i for i, text in enumerate(right_texts) if text.startswith("(")]
        if inside and draw(st.sampled_from([True, False])):
            at = draw(st.sampled_from(inside))
            inner = right_texts[at][1:-1]
            if draw(st.sampled_from([True, False])):
                right_texts[at], right[at] = f"({inner} ...)", (*right[at], *covered)
            else:
                right_texts[at], right[at] = f"(... {inner})", (*covered, *right[at])
        else:
            spread(draw, right, right_texts, covered)
    text = f"{' '.join(left_texts)} -> {' '.join(right_texts)}"
    return Pattern(use, text, given, tuple(left), tuple(right))


@st.composite
def factors(draw: st.DrawFn, pattern: Pattern) -> tuple[Any, Any]:
    """Draw a scale or a bias: as an argument, and as what broadcasts to the result."""
    numbers = st.floats(-300, 300, width=32).map(lambda v: round(v * 16) / 16 / 7)
    named = [axis for group in pattern.right for axis in group if axis.text.isidentifier()]
    if not named or draw(st.booleans()):
        number = draw(st.none() | numbers)
        return number, number
    axis = draw(st.sampled_from(named))
    values = draw(st.lists(numbers, min_size=axis.length, max_size=axis.length))
    elementary = [each for group in pattern.right for each in group]
    lengths = [each.length for each in elementary]
    shape = [each.length if each is axis else 1 for each in elementary]
    whole = np.broadcast_to(np.reshape(values, shape), lengths)
    return {axis.text: values}, whole.reshape(pattern.output_shape)


def _ambiguous(axis: Axis, groups: Iterable[Group]) -> bool:
    """Whether the length cannot be found since another one in the same parentheses is 0."""
    return any(
        axis in group and any(other.length == 0 for other in group if other is not axis)
        for group in groups
    )
