# SPDX-License-Identifier: BSD-3-Clause
"""Handle layouts by name, for the modules that permute axes themselves.

`resolve_layouts` returns the letters of a call, or raises an error for wrong ones.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

from reblock._core import _resolve_layouts as resolve_layouts

__all__ = [
    "arrange",
    "arrange_axes",
    "in_order",
    "of_channel_axis",
    "resolve_layouts",
    "spatial",
]

_T = TypeVar("_T")

SPATIAL = "HWDUVX"  # letters for spatial axes that nobody has named


def spatial(layout: str) -> str:
    """Return the letters of the spatial axes; of columns the L."""
    return "".join(letter for letter in layout if letter not in "NC")


def in_order(layout: str) -> str:
    """Return the letters in the operators' order: N and C, even if missing, and the rest."""
    return "NC" + spatial(layout)


def of_channel_axis(rank: int, channel_axis: int) -> str:
    """Return the letters of an image of this rank."""
    letters = list("N" + SPATIAL[: rank - 2])
    letters.insert(channel_axis % rank, "C")
    return "".join(letters)


def arrange(values: Sequence[_T], order: str, layout: str, missing: _T) -> list[_T]:
    """Return values of axes that lie in `order` in another order."""
    by_letter = dict(zip(order, values, strict=True))
    return [by_letter.get(letter, missing) for letter in layout]


def arrange_axes(array: Any, order: str, layout: str) -> Any:
    """View an array whose axes lie in `order` in another order.

    An axis that only one of the two has must have an extent of 1.
    """
    new = [letter for letter in layout if letter not in order]
    array = array[(None,) * len(new)]
    letters = [*new, *order]
    array = array[tuple(slice(None) if letter in layout else 0 for letter in letters)]
    kept = [letter for letter in letters if letter in layout]
    return array.transpose([kept.index(letter) for letter in layout])
