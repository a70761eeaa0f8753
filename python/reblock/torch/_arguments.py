# SPDX-License-Identifier: BSD-3-Clause
"""Turn arguments into those of PyTorch's operators: ints, lists of ints for axes, an order."""

from __future__ import annotations  # docs/conf.py mocks torch, of which | makes no union

import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from reblock._layouts import spatial

ALL_BLOCKS = (0, sys.maxsize)  # what a range of blocks is where it is not given


def operands(parameters: Sequence[str], values: Sequence[Any], rank: int) -> list[Any]:
    """Return the arguments of a call on a tensor of this rank as its operator takes them.

    Arguments are positional. They may have all types that `reblock` takes, and any int may be a
    torch.SymInt. The operator checks the ranges of ints.
    """
    result = {n: _READ.get(n, _sizes)(n, v) for n, v in zip(parameters, values, strict=True)}
    _refuse_two_places_of_channels(result)
    axes = _spatial_axes(result, rank)
    for name, value in result.items():
        if name == "blocks":
            result[name] = _bounds(value, axes)
        elif name not in _READ and not isinstance(value, list):
            result[name] = [value] * max(axes, 1)
    return list(result.values())


def _spatial_axes(arguments: dict[str, Any], rank: int) -> int:
    """Return how many spatial axes the image has."""
    layouts = [arguments["layout"], arguments["out_layout"]]
    axes = rank - 2
    if "window_sizes" in arguments:
        layouts = layouts[:1]  # the other one is that of columns
    if "output_sizes" in arguments:  # columns have one axis for all of the image's
        layouts = [arguments["out_layout"]]
        axes = next((len(value) for value in arguments.values() if isinstance(value, list)), 1)
    return next((len(spatial(layout)) for layout in layouts if layout is not None), axes)


def _refuse_two_places_of_channels(arguments: dict[str, Any]) -> None:
    axis = arguments["channel_axis"]
    for layout in (arguments["layout"], arguments["out_layout"]):
        if layout is not None and axis != 1:
            raise ValueError(
                "channel_axis must not be given beside a layout, which tells it, got"
                f' {axis} and "{layout}"'
            )


def _index(value: Any) -> Any:
    """Return the int that `value` stands for, or None."""
    if isinstance(value, (int, torch.SymInt)):
        return None if isinstance(value, bool) else value
    try:
        return operator.index(value)
    except TypeError:
        return None


def read_int(name: str, value: object, expected: str = "an int") -> Any:
    number = _index(value)
    if number is None:
        raise _wrong_kind(name, value, expected)
    return number


def _sizes(name: str, value: object) -> Any:
    """Return an int or a list of ints."""
    number = _index(value)
    if number is not None:
        return number
    items = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(items, Sequence) and not isinstance(items, (str, bytes, bytearray)):
        numbers = [_index(item) for item in items]
        if all(number is not None for number in numbers):
            return numbers
    raise _wrong_kind(name, value, "an int or a sequence of ints")


def read_threads(name: str, value: object) -> Any:
    return None if value is None else read_int(name, value)


def _order(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    number = read_int(name, value, '"DCR", "CRD" or a DepthSpaceOrder')
    return {0: "DCR", 1: "CRD"}.get(number, str(number))


_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _mode(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    listed = '"constant", "edge", "reflect", "symmetric", "wrap" or a PaddingMode'
    number = read_int(name, value, listed)
    return _MODES[number] if 0 <= number < len(_MODES) else str(number)


def read_number(name: str, value: object) -> Any:
    """Return a number as a Scalar of PyTorch."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    number = value.item() if isinstance(value, (np.generic, torch.Tensor)) else None
    if not isinstance(number, (bool, int, float, complex)):
        raise _wrong_kind(name, value, "a number")
    return number


def _layout(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _wrong_kind(name, value, 'a str such as "NHWC"')
    return value


def _as_given(_name: str, value: object) -> Any:
    return value


def _bounds(blocks: Any, axes: int) -> list[Any] | None:
    """Return the start and the stop of each range of window positions, in one list."""
    if blocks is None:
        return None
    ranges = [_range(blocks)] * max(axes, 1)
    if ranges[0] is None and isinstance(blocks, Sequence) and not isinstance(blocks, str):
        ranges = [ALL_BLOCKS if each is None else _range(each) for each in blocks]
    bounds: list[Any] = []
    for bound in ranges:
        if bound is None:
            expected = (
                "None, a slice, (start, stop), or a sequence with one of these for each spatial"
                " axis"
            )
            raise _wrong_kind("blocks", blocks, expected)
        bounds += bound
    return bounds


def _range(given: object) -> tuple[Any, Any] | None:
    """Return the start and the stop of a slice or a pair, or None for anything else."""
    pair: Sequence[Any]
    if isinstance(given, slice):
        if given.step not in (None, 1):
            raise ValueError(f"blocks must have slices of step 1, got {given}")
        pair = (given.start, given.stop)
    elif isinstance(given, Sequence) and len(given) == 2:
        pair = given
    else:
        return None
    start, stop = (
        default if value is None else _index(value)
        for value, default in zip(pair, ALL_BLOCKS, strict=True)
    )
    return None if start is None or stop is None else (start, stop)


def _wrong_kind(name: str, value: object, expected: str) -> TypeError:
    return TypeError(f"{name} must be {expected}, got {value!r} ({type(value).__name__})")


_READ = {
    "padding_mode": _mode,
    "padding_value": read_number,
    "order": _order,
    "blocks": _as_given,
    "channel_axis": read_int,
    "layout": _layout,
    "out_layout": _layout,
    "threads": read_threads,
}
