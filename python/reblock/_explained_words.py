# SPDX-License-Identifier: BSD-3-Clause
"""The lines of an explanation: the call, what elements are, and what a cell means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from reblock import _core
from reblock._explanation import Sources
from reblock._tensors import Index, Pixels, Tensor, joined

SUMS = 9  # lines that tell what adds up

DEFAULTS: Mapping[str, object] = {"channel_axis": 1, "layout": None, "out_layout": None}


def call_of(
    start: str,
    parameters: Mapping[str, Any],
    x: Tensor,
    result: Tensor,
    defaults: Mapping[str, object] = DEFAULTS,
) -> str:
    """Return the call as text, without default arguments, and the two shapes."""

    def as_is(name: str, value: object) -> bool:
        return isinstance(value, tuple) or name in {"blocks", "weights"}

    given = {
        name: value if as_is(name, value) else np.asarray(value).tolist()
        for name, value in parameters.items()
    }
    changed = [f"{name}={v!r}" for name, v in given.items() if v != defaults.get(name)]
    return f"{start}, {', '.join(changed)}): {x.written(x.shape)} -> {result.written(result.shape)}"


def equations(  # noqa: PLR0917 - both tensors, and what is told of them
    name: str,
    x: Tensor,
    result: Tensor,
    sources: Sources,
    indices: Sequence[Index],
    nothing: str = "0",
) -> Iterator[str]:
    """Yield what some elements of the result are; `nothing` is one without a source."""

    def value(index: Index) -> str:
        terms = [f"{name}{list(x.written(source))}" for source in sources[index]]
        return " + ".join(terms) or nothing

    yield from values(result, indices, value)


def values(
    result: Tensor, indices: Sequence[Index], value: Callable[[Index], str]
) -> Iterator[str]:
    for index in indices[:SUMS]:
        yield f"result{list(result.written(index))} = {value(index)}"
    if len(indices) > SUMS:
        yield "..."


def meaning(pixels: Pixels, indices: Sequence[Index], verb: str) -> Iterator[str]:
    """Explain a cell with one of these indices, by the last index as an example."""
    for index in indices[-1:]:
        channel, position = pixels.split(index)
        text = f"channel {channel}, position {joined(position)}"
        yield f"{pixels.text(index)} in a cell: {verb} {text}"


def of_batch(pixels: Pixels) -> Iterator[str]:
    if pixels.shape[0] > 1:
        yield f"all {pixels.shape[0]} items of the batch are alike"


def formula(dtype: Any, scale: object, bias: object) -> str:
    def factor(value: object, name: str) -> str:
        return name if isinstance(value, Mapping) or np.ndim(value) else str(value)  # type: ignore[arg-type]

    value = "x"
    if scale is not None:
        value += f" * {factor(scale, 'scale')}"
    if bias is not None:
        value += f" + {factor(bias, 'bias')}"
    result = "x.dtype" if dtype is None else _core.rearrange(np.zeros(()), "->", dtype=dtype).dtype
    return f"cast({value}, {result})"
