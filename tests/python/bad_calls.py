# SPDX-License-Identifier: BSD-3-Clause
"""Calls of the four functions that must be refused, and what the error must tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calls import Shape

SHOWN = 9  # a message shows the first values of a list that is longer than any rank


@dataclass(frozen=True)
class BadCall:
    """Arguments of an operator; the kind of error, the argument it names, the values it tells."""

    operator: str
    shape: Shape  # of the operator's first argument
    arguments: tuple[Any, ...]
    kind: type[Exception]
    argument: str
    told: tuple[object, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Name the tests that make the call."""
        changed = "_".join(f"{name}_{value!r}" for name, value in self.keywords.items())
        return f"{self.operator}-{self.shape}-{self.arguments}-{changed}".replace(" ", "")


def wrong_types(axes: int) -> list[Any]:
    """Values that are no integer, alone and among integers."""
    alone = [True, np.True_, 2.0, np.float64(2), "2", None, 2j]
    rest = (2,) * (axes - 1)
    among = [(*rest, value) for value in (True, 2.0, "2", None)]
    return [*alone, *among, [2.0] * axes, np.array([2.0] * axes), np.array([True] * axes), {2: 2}]


def integer_argument(
    argument: str, axes: int, least: int
) -> Iterator[tuple[Any, type[Exception], tuple[object, ...]]]:
    """Bad values of an argument that takes an int or one for each axis, each at least `least`."""
    rest = (2,) * (axes - 1)
    for value in sorted({least - 1, -1, -(2**40)}):
        yield value, ValueError, (value,)
        yield (*rest, value), ValueError, ((*rest, value),)
    for value in (2**64, -(2**64), 2**63):
        yield value, ValueError, (value,)
        yield (*rest, value), ValueError, (value,)
    for value in wrong_types(axes):
        yield value, TypeError, (type(value).__name__,)
    # A sequence gives output_sizes its length, so that no length but those without a rank is wrong.
    lengths = [0, axes - 1, axes + 1, 11] if argument != "output_sizes" else [0, 7, 11]
    for length in lengths:
        told = (2,) * min(length, SHOWN)
        yield (2,) * length, ValueError, (told,)
        yield [2] * length, ValueError, (told,)


def channel_axes(rank: int) -> Iterator[tuple[Any, type[Exception], tuple[object, ...]]]:
    """Bad values of channel_axis for a tensor of this rank."""
    for value in (0, rank, -rank, -rank - 1, 2**40):
        yield value, ValueError, (value, rank - 1)
    for value in (2**64, -(2**63) - 1):
        yield value, ValueError, (value,)
    for wrong in (True, np.True_, 1.0, "1", None, (1,), [1], 1j):
        yield wrong, TypeError, (type(wrong).__name__,)


def ranks(operator: str, arguments: tuple[Any, ...]) -> Iterator[BadCall]:
    for rank in (0, 1, 2, 9, 11):
        told = (1,) * min(rank, SHOWN)
        yield BadCall(operator, (1,) * rank, arguments, ValueError, "x", (told,))
    yield BadCall(operator, (3, 5), arguments, ValueError, "x", ((3, 5),))


def depth_space() -> Iterator[BadCall]:
    shape = (2, 12, 6, 12)
    block = (2, 3)
    for operator in ("depth_to_space", "space_to_depth"):
        for value, kind, told in integer_argument("block_size", 2, 1):
            yield BadCall(operator, shape, (value,), kind, "block_size", told)
        for value, kind, told in channel_axes(4):
            keywords = {"channel_axis": value}
            yield BadCall(operator, shape, (block,), kind, "channel_axis", told, keywords)
        yield from ranks(operator, (1,))
    for channels, extents, told in (
        (7, (7, 2, 2), (2, 3)),
        (5, (5, 2, 2), (2, 3)),
        (1, (1, 6, 6), (2, 3)),
    ):
        for argument in ("x", "block_size"):
            yield BadCall(
                "depth_to_space",
                (2, *extents),
                (told,),
                ValueError,
                argument,
                (channels, (2, *extents), told, 6),
            )
    last = {"channel_axis": -1}
    for argument in ("x", "block_size"):
        yield BadCall("depth_to_space", (2, 12, 6, 7), (2,), ValueError, argument, (7, 2, 4), last)
        yield BadCall(
            "space_to_depth", (2, 3, 7, 12), (block,), ValueError, argument, ((7, 12), block)
        )
        yield BadCall(
            "space_to_depth", (2, 3, 6, 13), (block,), ValueError, argument, ((6, 13), block)
        )
        yield BadCall(
            "space_to_depth", (2, 6, 13, 3), (block,), ValueError, argument, ((6, 13), block), last
        )
    huge = (2**32, 2**32)
    yield BadCall("depth_to_space", shape, (huge,), ValueError, "block_size", (huge,))
    yield BadCall("depth_to_space", (0, 0, 2**61, 2), (8,), ValueError, "block_size", (8, 2**61))
    yield BadCall("space_to_depth", (0, 2**58, 8, 0), (8,), ValueError, "block_size", (8, 2**58))


WINDOW_ARGUMENTS = {
    "window_sizes": 1,
    "strides": 1,
    "dilations": 1,
    "start_padding": 0,
    "end_padding": 0,
}


def windows() -> Iterator[BadCall]:
    """Yield what unfold and fold refuse alike."""
    window = (3, 2)
    for operator, shape, before in (
        ("unfold", (2, 3, 7, 5), ()),
        ("fold", (2, 18, 20), ((7, 5),)),
    ):
        for argument, least in WINDOW_ARGUMENTS.items():
            for value, kind, told in integer_argument(argument, 2, least):
                if argument == "window_sizes":
                    yield BadCall(operator, shape, (*before, value), kind, argument, told)
                else:
                    arguments, keywords = (*before, window), {argument: value}
                    yield BadCall(operator, shape, arguments, kind, argument, told, keywords)
        for value, kind, told in channel_axes(4):
            keywords = {"channel_axis": value}
            yield BadCall(operator, shape, (*before, window), kind, "channel_axis", told, keywords)
        for keywords in ({"dilations": (4, 1)}, {"dilations": (2**62, 1)}):
            arguments = (*before, window)
            told = (keywords["dilations"], (7, 5))
            yield BadCall(operator, shape, arguments, ValueError, "window_sizes", told, keywords)
        for name in ("start_padding", "end_padding"):
            arguments, keywords = (*before, window), {name: (0, 2**63 - 1)}
            yield BadCall(operator, shape, arguments, ValueError, name, ((0, 2**63 - 1),), keywords)


def unfold() -> Iterator[BadCall]:
    yield from ranks("unfold", (1,))
    for shape, window in (((2, 3, 7, 5), (8, 2)), ((2, 3, 0, 5), (1, 2)), ((2, 3, 7, 1), (3, 2))):
        told = (window, shape[2:])
        yield BadCall("unfold", shape, (window,), ValueError, "window_sizes", told)
    pads = {"start_padding": 2, "end_padding": (3, 0)}
    yield BadCall(
        "unfold", (2, 3, 7, 5), ((13, 2),), ValueError, "window_sizes", ((13, 2), (7, 5), 12), pads
    )
    many = 2**39
    yield BadCall("unfold", (1, 1, 2**40), (many,), ValueError, "window_sizes", (many, 2**40))


def fold() -> Iterator[BadCall]:
    for value, kind, told in integer_argument("output_sizes", 2, 0):
        yield BadCall("fold", (2, 18, 20), (value, (3, 2)), kind, "output_sizes", told)
    sizes, window = (7, 5), (3, 2)
    columns: tuple[Shape, ...] = ((), (20,), (18, 20), (2, 3, 6, 20))
    for shape in columns:
        yield BadCall("fold", shape, (sizes, window), ValueError, "columns", (shape,))
    for rows in (17, 5, 1):
        shape = (2, rows, 20)
        told = (rows, shape, window, 6)
        yield BadCall("fold", shape, (sizes, window), ValueError, "columns", told)
    for blocks in (19, 21, 0, 40):
        shape = (2, 18, blocks)
        told = (blocks, shape, sizes, 20)
        yield BadCall("fold", shape, (sizes, window), ValueError, "columns", told)
    yield BadCall(
        "fold", (2, 48, 20), ((7, 5), (8, 2)), ValueError, "window_sizes", ((8, 2), (7, 5))
    )
    huge = (2**40, 2**40)
    yield BadCall("fold", (1, 1, 1), (huge, 1), ValueError, "output_sizes", (huge,))
    huge = (2**32, 2**32)
    yield BadCall("fold", (1, 1, 1), ((7, 5), huge), ValueError, "window_sizes", (huge,))


BAD_CALLS = [*depth_space(), *windows(), *unfold(), *fold()]
