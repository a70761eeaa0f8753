# SPDX-License-Identifier: BSD-3-Clause
"""The map of each operator, made by running it on arrays of indices.

For large tensors, a map shows and runs only a corner. A corner suffices, because a position depends
on few others, and all batch items are equal. For windows, all channels are equal too:
`_window_sources` tells what runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from reblock import _core, _layouts, _patterns, _window_sources
from reblock._explained_words import (
    DEFAULTS,
    call_of,
    equations,
    formula,
    meaning,
    of_batch,
    values,
)
from reblock._explanation import Explanation, Sources
from reblock._index_map import Cell, IndexMap, hue
from reblock._reductions import Reduction
from reblock._tensors import (
    CHANNELS,
    DEPTH_CHANNELS,
    DEPTH_PIXELS,
    PIXELS,
    WINDOW_CHANNELS,
    Columns,
    Extents,
    Index,
    Pixels,
    Plain,
    Tensor,
    Windows,
    joined,
    pixels_shown,
    rank,
    unrank,
)

if TYPE_CHECKING:
    from reblock._core import _Blocks, _IntOrInts, _Ints, _Order, _PaddingMode, _Reduction

PADDING = Cell("pad")
WINDOW_DEFAULTS: Mapping[str, object] = {
    **DEFAULTS,
    "strides": 1,
    "dilations": 1,
    "start_padding": 0,
    "end_padding": 0,
    "padding_mode": "constant",
    "padding_value": 0,
    "order": "CRD",
    "blocks": None,
    "reduction": "sum",
    "weights": None,
    "dtype": None,
}
MODES = ("constant", "edge", "reflect", "symmetric", "wrap")  # by their numbers


def _depth_space(
    name: str,
    shape: _Ints,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
) -> Explanation:
    to_space = name == "depth_to_space"
    names = _names(channel_axis, layout, out_layout)
    result_shape = getattr(_core, f"{name}_shape")(shape, block_size, **names)
    letters = _letters(name, layout, out_layout, len(shape) - 2)
    if letters:
        shape, result_shape, channel_axis = *_in_order((shape, result_shape), letters), 1
    x, result = map(Pixels, (shape, result_shape), (channel_axis,) * 2, letters or (None,) * 2)
    block = _per_axis(block_size, x)

    corner = [min(x.shape[0], 1), *x.shape[1:]]
    limits = pixels_shown(PIXELS, len(block))
    for axis, extent, limit in zip(x.spatial, block, limits, strict=True):
        corner[axis] = min(corner[axis], limit if to_space else limit * extent)
    moved = getattr(_core, name)(
        _numbered(corner), block_size, order=order, channel_axis=channel_axis
    )
    depth_limits, space_limits = (DEPTH_CHANNELS, DEPTH_PIXELS), (CHANNELS, PIXELS)
    x_shown = x.shown(*(depth_limits if to_space else space_limits))
    result_shown = result.shown(*(space_limits if to_space else depth_limits))
    sources = {index: _named(moved[index], corner) for index in np.ndindex(*result_shown)}

    # Numbered anew, so that channels shown together differ in colour though many lie between them.
    channels = {x.split(index)[0] for (index,) in sources.values()}
    channels.update(range(x.split(x_shown)[0]))
    hues = {channel: number for number, channel in enumerate(sorted(channels))}

    def cell(index: Index) -> Cell:
        channel, position = x.split(index)
        if to_space:
            return Cell(x.text(index), hue(hues[channel]))
        offset = tuple(place % extent for place, extent in zip(position, block, strict=True))
        return Cell(x.text(index), hue(hues[channel], rank(offset, block) / math.prod(block)))

    last = result.index(0, [extent - 1 for extent in result.split(result_shown)[1]])
    parameters = {
        "block_size": block_size,
        "order": "CRD" if order in ("CRD", 1) else "DCR",
        **names,
    }
    lasts = [last] if last in sources else []
    return Explanation(
        _written(sources, x, result),
        IndexMap(
            call_of(f"{name}(x", parameters, x, result),
            (
                x.part("x", x_shown, cell),
                result.part("result", result_shown, lambda index: cell(sources[index][0])),
            ),
            (
                *meaning(x, [sources[index][0] for index in lasts], "it comes from x's"),
                *equations("x", x, result, sources, lasts),
                *of_batch(x),
            ),
        ),
    )


def _unfold(
    shape: _Ints,
    window_sizes: _IntOrInts,
    *,
    padding_mode: _PaddingMode = "constant",
    padding_value: complex = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    **window: _IntOrInts,
) -> Explanation:
    given: dict[str, Any] = _window_of(window_sizes, **window)
    names = _names(channel_axis, layout, out_layout)
    part: dict[str, Any] = {"padding_mode": padding_mode, "blocks": blocks}
    result_shape = _core.unfold_shape(shape, **given, **part, **names)
    mode = _mode_of(padding_mode, padding_value, order)
    letters = _letters("unfold", layout, out_layout, len(shape) - 2)
    if letters:
        shape, result_shape, channel_axis = *_in_order((shape, result_shape), letters), 1
    x_letters, columns_letters = letters or (None, None)
    x = Pixels(shape, channel_axis, x_letters)
    windows = _windows(x, given, mode, order, blocks)
    columns = Columns(result_shape, windows, columns_letters)
    indices = columns.indices()
    sources = _window_sources.of_columns(x, columns)

    def pixel(index: Index) -> Cell:
        return Cell(x.text(index), hue(x.split(index)[1][0]))

    def copied(index: Index) -> Cell:
        return pixel(sources[index][0]) if sources[index] else PADDING

    origins = [sources[index][0] for index in _first_column_last(indices) if sources[index]]
    parameters = {**given, "padding_mode": mode, "padding_value": padding_value}
    parameters |= {"order": windows.order, "blocks": blocks, **names}
    return Explanation(
        _written(sources, x, columns),
        IndexMap(
            call_of("unfold(x", parameters, x, columns, WINDOW_DEFAULTS),
            (x.part("x", x.shown(WINDOW_CHANNELS, PIXELS), pixel), columns.part("result", copied)),
            (
                *meaning(x, origins, "it comes from x's"),
                *([f"pad in a cell: it is {padding_value}"] if len(origins) < len(indices) else []),
                *columns.legend(),
                *equations("x", x, columns, sources, indices[-1:], str(padding_value)),
                *of_batch(x),
            ),
        ),
    )


def _fold(
    shape: _Ints,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    padding_mode: _PaddingMode = "constant",
    order: _Order = "CRD",
    blocks: _Blocks = None,
    reduction: _Reduction = "sum",
    weights: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    dtype: npt.DTypeLike | None = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    **window: _IntOrInts,
) -> Explanation:
    given: dict[str, Any] = _window_of(window_sizes, **window)
    names = _names(channel_axis, layout, out_layout)
    part: dict[str, Any] = {"padding_mode": padding_mode, "blocks": blocks}
    result_shape = _core.fold_shape(shape, output_sizes, **given, **part, **names)
    mode = _mode_of(padding_mode, 0, order)
    has_batch = "N" in (layout or out_layout or "N")
    letters = _letters("fold", layout, out_layout, len(result_shape) - 1 - has_batch)
    if letters:
        shape, result_shape, channel_axis = *_in_order((shape, result_shape), letters), 1
    columns_letters, result_letters = letters or (None, None)
    result = Pixels(result_shape, channel_axis, result_letters)
    windows = _windows(result, given, mode, order, blocks)
    columns = Columns(shape, windows, columns_letters)
    how = Reduction.of(columns.shape, output_sizes, given | part, reduction, weights, dtype)
    shown = result.shown(WINDOW_CHANNELS, PIXELS)
    sources = _window_sources.of_pixels(result, columns, shown)
    # fold adds each element of the columns where unfold takes it from.
    targets = _window_sources.of_columns(result, columns)

    def pixel(index: Index) -> Cell:
        return Cell(result.text(index), hue(result.split(index)[1][0]))

    def added(index: Index) -> Cell:
        return pixel(targets[index][0]) if targets[index] else PADDING

    def count(index: Index) -> Cell:
        return pixel(index)._replace(text=str(len(sources[index])))

    cells = columns.indices()
    reached = [targets[index][0] for index in _first_column_last(cells) if targets[index]]
    of_channel_0 = [index for index in sources if not index[result.channel_axis]]
    parameters = {"output_sizes": output_sizes, **given, "padding_mode": mode}
    parameters |= {"order": windows.order, "blocks": blocks, **how.given, **names}
    verb, pad = ("it is added to the result's", "it is added to none")
    if reduction != "sum":
        verb, pad = ("it is a term of the result's", "it is a term of none")
    return Explanation(
        _written(sources, columns, result),
        IndexMap(
            call_of("fold(columns", parameters, columns, result, WINDOW_DEFAULTS),
            (columns.part("columns", added), result.part("result", shown, count)),
            (
                *meaning(result, reached, verb),
                *([f"pad in a cell: {pad}"] if len(reached) < len(cells) else []),
                *columns.legend(),
                *([f"a number in the result: {how.count()}"] if sources else []),
                *values(result, of_channel_0, lambda i: how.value("columns", columns, sources[i])),
                *([f"each term becomes {formula(how.dtype, None, None)} first"] if dtype else []),
                *of_batch(result),
            ),
        ),
    )


def _window_of(
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
) -> dict[str, _IntOrInts]:
    return {
        "window_sizes": window_sizes,
        "strides": strides,
        "dilations": dilations,
        "start_padding": start_padding,
        "end_padding": end_padding,
    }


def _windows(
    pixels: Pixels, given: Mapping[str, _IntOrInts], mode: Any, order: _Order, blocks: _Blocks
) -> Windows:
    each = {name: _per_axis(value, pixels) for name, value in given.items()}
    windows = Windows(
        pixels.sizes,
        **each,
        padding_mode=mode,
        order="DCR" if order in ("DCR", 0) else "CRD",
        ranges=(),
    )
    return replace(windows, ranges=_window_sources.ranges_of(windows, blocks))


def _mode_of(padding_mode: _PaddingMode, padding_value: complex, order: _Order) -> str:
    """Return the name of a mode. Raise what unfold raises for other modes, values and orders."""
    nothing = np.zeros((0, 1, 1), np.complex128)
    options: dict[str, Any] = {"padding_mode": padding_mode, "order": order}
    _core.unfold(nothing, 1, padding_value=padding_value, **options)
    return padding_mode if isinstance(padding_mode, str) else MODES[int(padding_mode)]


def _rearrange(
    use: _patterns.Use, shape: _Ints, pattern: str, /, **axes_lengths: SupportsIndex
) -> Explanation:
    x = Plain(shape)
    lengths = _patterns.lengths_in(pattern, use, x.shape, axes_lengths)
    axes = _patterns.Axes.of(pattern, use, len(x.shape))
    result = Plain(_patterns.shape_of(axes.right, lengths))

    # How many indices of each axis of the pattern there are in the corner
    few = list(lengths)
    for group, extent in zip(axes.right, result.shown, strict=True):
        inner = 1
        for i in reversed(group):
            few[i] = min(lengths[i], -(-extent // inner))
            inner *= max(1, lengths[i])
    numbers = np.ones((), np.int64)
    for group, stride in zip(axes.left, _packed(x.shape), strict=True):
        steps = _packed([lengths[i] for i in group])
        for i, step in zip(group, steps, strict=True):
            numbers = np.add.outer(numbers, np.arange(few[i]) * step * stride)
    corner = numbers.reshape(_patterns.shape_of(axes.left, few))
    moved = getattr(_core, use)(corner, axes.spelled(), **_patterns.named(few))
    sources = {index: _named(moved[index], x.shape) for index in np.ndindex(*result.shown)}
    coloured = next((axis for axis, extent in enumerate(x.shape) if extent > 1), 0)

    def cell(index: Index) -> Cell:
        return Cell(joined(index), hue(index[coloured] if index else 0))

    call = ", ".join([f"{use}(x", repr(pattern), *(f"{n}={v}" for n, v in axes_lengths.items())])
    last = tuple(extent - 1 for extent in result.shown)
    example = sources[last][0] if last in sources else ()
    return Explanation(
        sources,
        IndexMap(
            f"{call}): {x.shape} -> {result.shape}",
            (
                x.part("x", cell),
                result.part("result", lambda index: cell(sources[index][0])),
            ),
            (
                *(
                    [f"{joined(example)} in a cell: it comes from x{list(example)}"]
                    if example
                    else []
                ),
                *equations("x", x, result, sources, [last] if last in sources else []),
            ),
        ),
    )


def _names(
    channel_axis: SupportsIndex, layout: str | None, out_layout: str | None
) -> dict[str, Any]:
    """Return the arguments that name axes: a layout, or else the axis of the channels."""
    if layout is None and out_layout is None:
        return {"channel_axis": channel_axis}
    given: dict[str, Any] = {"layout": layout, "out_layout": out_layout}
    # Both are an error, which is left to the functions.
    return given if channel_axis == 1 else given | {"channel_axis": channel_axis}


def _letters(
    operator: str, layout: str | None, out_layout: str | None, spatial_axes: int
) -> tuple[str, str] | None:
    """Return the letters of input and result, or None without a layout."""
    if layout is None and out_layout is None:
        return None
    return _layouts.resolve_layouts(operator, layout, out_layout, spatial_axes)


def _in_order(shapes: Sequence[_Ints], letters: tuple[str, str]) -> Iterator[Index]:
    """Yield shapes with the axes N, C, then the others."""
    for shape, layout in zip(shapes, letters, strict=True):
        extents = tuple(map(int, shape))
        yield tuple(_layouts.arrange(extents, layout, _layouts.in_order(layout), 1))


def _written(sources: Sources, x: Tensor, result: Tensor) -> Sources:
    """Return the map with indices as the arrays have them."""
    return {result.written(index): tuple(map(x.written, terms)) for index, terms in sources.items()}


def _per_axis(value: _IntOrInts, pixels: Pixels) -> Index:
    return tuple(np.broadcast_to(np.asarray(value), len(pixels.spatial)).tolist())


def _packed(extents: Extents) -> list[int]:
    """Return the strides of C order, in elements."""
    return [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]


def _numbered(shape: Extents) -> npt.NDArray[np.int64]:
    """Return an array of the numbers from 1 on. A 0 after a move comes from padding."""
    return np.arange(1, 1 + math.prod(shape), dtype=np.int64).reshape(shape)


def _named(number: np.int64, shape: Extents) -> tuple[Index, ...]:
    """Return the index that has this number, or nothing for 0."""
    return (unrank(int(number) - 1, shape),) if number else ()


def _first_column_last(indices: Sequence[Index]) -> list[Index]:
    """Order indices of columns so that the last one is shown on a terminal of any width."""
    return sorted(indices, key=lambda index: index[2] == 0)


EXPLAINED: Mapping[str, Callable[..., Explanation]] = {
    "depth_to_space": partial(_depth_space, "depth_to_space"),
    "space_to_depth": partial(_depth_space, "space_to_depth"),
    "unfold": _unfold,
    "fold": _fold,
    "rearrange": partial(_rearrange, "rearrange"),
    "repeat": partial(_rearrange, "repeat"),
}
