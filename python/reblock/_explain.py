# SPDX-License-Identifier: BSD-3-Clause
"""Show which elements of its input each element of an operator's result comes from.

`explain` runs the operator on arrays of indices, so the map shows what the operator does. For large
tensors, it shows and runs only a corner. A corner suffices, because a position depends on few
others, and all batch items are equal. For windows, all channels are equal too: `_window_sources`
tells what runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from reblock import _core, _index_map, _layouts, _patterns, _window_sources
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
    from PIL import Image
    from rich.console import Console, ConsoleOptions, RenderResult

    from reblock._core import (
        _AxisFactor,
        _Blocks,
        _Factor,
        _IntOrInts,
        _Ints,
        _Order,
        _PaddingMode,
        _Reduction,
    )

Sources: TypeAlias = Mapping[Index, tuple[Index, ...]]

SUMS = 9  # lines that tell what adds up

PADDING = Cell("pad")
DEFAULTS: Mapping[str, object] = {"channel_axis": 1, "layout": None, "out_layout": None}
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


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The result of `explain`. A prompt shows text, and a notebook shows coloured tables.

    Attributes
    ----------
    sources : mapping of tuple to tuple of tuples
        For the index of each shown element of the result, the indices of its elements of the input:
        one for a copied element, none for padding, and for `fold` all terms, in the order in which
        it adds them.
    """

    sources: Sources
    _map: IndexMap

    def __repr__(self) -> str:
        lines = _index_map.as_lines(self._map)
        return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return _index_map.as_html(self._map)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text  # noqa: PLC0415 - an extra, which rich users alone have

        for line in _index_map.as_lines(self._map, options.max_width):
            # Words may go on in the next line; a row of a table may not.
            text = Text(no_wrap=len(line) > 1, overflow="crop" if len(line) > 1 else "fold")
            for segment, colour in line:
                style = f"{colour.ink.code} on {colour.code}" if colour else ""
                text.append(segment, style)
            yield text

    def image(self) -> Image.Image:
        """Return the map as a picture, to save or show. Needs Pillow.

        Returns
        -------
        PIL.Image.Image
            The input beside the result. Each element has the colour of its source.
        """
        try:
            return _index_map.as_image(self._map)
        except ModuleNotFoundError as missing:
            line = f'{missing.name} is missing; pip install "reblock[cli]"'
            raise ModuleNotFoundError(line, name=missing.name) from None


@overload
def explain(
    operator: Literal["depth_to_space", "space_to_depth"],
    shape: _Ints,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: npt.DTypeLike | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
) -> Explanation: ...
@overload
def explain(
    operator: Literal["unfold"],
    shape: _Ints,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    padding_value: complex = 0,
    order: _Order = "CRD",
    blocks: _Blocks = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
    dtype: npt.DTypeLike | None = None,
    scale: _Factor | None = None,
    bias: _Factor | None = None,
) -> Explanation: ...
@overload
def explain(
    operator: Literal["fold"],
    shape: _Ints,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    padding_mode: _PaddingMode = "constant",
    order: _Order = "CRD",
    blocks: _Blocks = None,
    reduction: _Reduction = "sum",
    weights: npt.ArrayLike | Sequence[npt.ArrayLike] | None = None,
    dtype: npt.DTypeLike | None = None,
    channel_axis: SupportsIndex = 1,
    layout: str | None = None,
    out_layout: str | None = None,
) -> Explanation: ...
@overload
def explain(
    operator: Literal["rearrange", "repeat"],
    shape: _Ints,
    pattern: str,
    *,
    dtype: npt.DTypeLike | None = None,
    scale: _AxisFactor | None = None,
    bias: _AxisFactor | None = None,
    **axes_lengths: SupportsIndex,
) -> Explanation: ...
@overload
def explain(
    operator: Callable[..., Any], shape: _Ints, *arguments: Any, **parameters: Any
) -> Explanation: ...
def explain(operator: object, shape: _Ints, *arguments: Any, **parameters: Any) -> Explanation:
    """Show which elements of its input each element of an operator's result comes from.

    Parameters
    ----------
    operator : {"depth_to_space", "space_to_depth", "unfold", "fold", "rearrange", "repeat"}
        The operator, by its name or as the function itself.
    shape : sequence of int
        The shape of the operator's input, of any size. For large shapes, a corner is shown.
    *arguments, **parameters : Any
        The operator's arguments after the input: `block_size`, `order` and so on, except `out` and
        `threads`, and except `accumulate` of `fold`. A `reduction` and `weights` of `fold` show in
        the formulas of elements. `dtype`, `scale` and `bias` move no element. A line tells how they
        change elements.

    Returns
    -------
    Explanation
        A prompt or `print` shows a text, and a notebook shows coloured tables. `.image()` is a
        picture, and `.sources` is the map itself.

    Raises
    ------
    ValueError
        If there is no such operator, or it refuses the shape or a parameter.
    TypeError
        If an argument is of a wrong kind, missing, or unknown.

    Examples
    --------
    Four channels become the four pixels of a block. A cell with ``2:0,1`` comes from channel 2,
    row 0, column 1.

    >>> import reblock
    >>> print(reblock.explain("depth_to_space", (1, 4, 1, 2), block_size=2, order="CRD"))
    depth_to_space(x, block_size=2, order='CRD'): (1, 4, 1, 2) -> (1, 1, 2, 4)
    <BLANKLINE>
    x (1, 4, 1, 2)
    channel 0          channel 1          channel 2          channel 3
         0      1           0      1           0      1           0      1
    0  0:0,0  0:0,1    0  1:0,0  1:0,1    0  2:0,0  2:0,1    0  3:0,0  3:0,1
    <BLANKLINE>
    result (1, 1, 2, 4)
    channel 0
         0      1      2      3
    0  0:0,0  1:0,0  0:0,1  1:0,1
    1  2:0,0  3:0,0  2:0,1  3:0,1
    <BLANKLINE>
    3:0,1 in a cell: it comes from x's channel 3, position 0,1
    result[0, 0, 1, 3] = x[0, 3, 0, 1]
    """
    name = str(getattr(operator, "__name__", operator))
    if name not in EXPLAINED:
        raise ValueError(f"operator must be one of {', '.join(EXPLAINED)}, got {operator!r}")
    if name == "fold":
        return _fold(shape, *arguments, **parameters)
    conversion = {key: parameters.pop(key, None) for key in ("dtype", "scale", "bias")}
    explanation = EXPLAINED[name](shape, *arguments, **parameters)
    if all(value is None for value in conversion.values()):
        return explanation
    _refuse_conversion(name, shape, arguments, parameters, conversion)
    shown = explanation._map
    notes = (*shown.notes, f"each element becomes {_formula(**conversion)}")
    return replace(explanation, _map=replace(shown, notes=notes))


def _refuse_conversion(
    name: str,
    shape: _Ints,
    arguments: Sequence[Any],
    parameters: Mapping[str, Any],
    conversion: Mapping[str, Any],
) -> None:
    """Raise what the operator raises for a dtype, a scale or a bias that it cannot use."""
    element = np.zeros(())
    use: _patterns.Use
    if name == "rearrange":
        use = "rearrange"
    elif name == "repeat":
        use = "repeat"
    else:
        nothing = np.broadcast_to(element, (0, *shape[1:]))
        getattr(_core, name)(nothing, *arguments, **parameters, **conversion)
        return
    (pattern,) = arguments
    factors = conversion["scale"], conversion["bias"]
    extents = [int(extent) for extent in shape]
    _patterns.lengths_in(pattern, use, extents, parameters, factors)
    _core.rearrange(element, "->", dtype=conversion["dtype"])


def _formula(dtype: Any, scale: object, bias: object) -> str:
    def factor(value: object, name: str) -> str:
        return name if isinstance(value, Mapping) or np.ndim(value) else str(value)  # type: ignore[arg-type]

    value = "x"
    if scale is not None:
        value += f" * {factor(scale, 'scale')}"
    if bias is not None:
        value += f" + {factor(bias, 'bias')}"
    result = "x.dtype" if dtype is None else _core.rearrange(np.zeros(()), "->", dtype=dtype).dtype
    return f"cast({value}, {result})"


# Operators --------------------------------------------------------------------------------------


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
            _call(f"{name}(x", parameters, x, result),
            (
                x.part("x", x_shown, cell),
                result.part("result", result_shown, lambda index: cell(sources[index][0])),
            ),
            (
                *_meaning(x, [sources[index][0] for index in lasts], "it comes from x's"),
                *_equations("x", x, result, sources, lasts),
                *_of_batch(x),
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
            _call("unfold(x", parameters, x, columns, WINDOW_DEFAULTS),
            (x.part("x", x.shown(WINDOW_CHANNELS, PIXELS), pixel), columns.part("result", copied)),
            (
                *_meaning(x, origins, "it comes from x's"),
                *([f"pad in a cell: it is {padding_value}"] if len(origins) < len(indices) else []),
                *columns.legend(),
                *_equations("x", x, columns, sources, indices[-1:], str(padding_value)),
                *_of_batch(x),
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
            _call("fold(columns", parameters, columns, result, WINDOW_DEFAULTS),
            (columns.part("columns", added), result.part("result", shown, count)),
            (
                *_meaning(result, reached, verb),
                *([f"pad in a cell: {pad}"] if len(reached) < len(cells) else []),
                *columns.legend(),
                *([f"a number in the result: {how.count()}"] if sources else []),
                *_values(result, of_channel_0, lambda i: how.value("columns", columns, sources[i])),
                *([f"each term becomes {_formula(how.dtype, None, None)} first"] if dtype else []),
                *_of_batch(result),
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
    example = tuple(range(1, 1 + len(x.shape)))
    last = tuple(extent - 1 for extent in result.shown)
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
                *_equations("x", x, result, sources, [last] if last in sources else []),
            ),
        ),
    )


EXPLAINED: Mapping[str, Callable[..., Explanation]] = {
    "depth_to_space": partial(_depth_space, "depth_to_space"),
    "space_to_depth": partial(_depth_space, "space_to_depth"),
    "unfold": _unfold,
    "fold": _fold,
    "rearrange": partial(_rearrange, "rearrange"),
    "repeat": partial(_rearrange, "repeat"),
}


# Layouts ----------------------------------------------------------------------------------------


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


# Numbers ----------------------------------------------------------------------------------------


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


# Words ------------------------------------------------------------------------------------------


def _call(
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


def _equations(  # noqa: PLR0917 - both tensors, and what is told of them
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

    yield from _values(result, indices, value)


def _values(
    result: Tensor, indices: Sequence[Index], value: Callable[[Index], str]
) -> Iterator[str]:
    for index in indices[:SUMS]:
        yield f"result{list(result.written(index))} = {value(index)}"
    if len(indices) > SUMS:
        yield "..."


def _meaning(pixels: Pixels, indices: Sequence[Index], verb: str) -> Iterator[str]:
    """Explain a cell with one of these indices, by the last index as an example."""
    for index in indices[-1:]:
        channel, position = pixels.split(index)
        text = f"channel {channel}, position {joined(position)}"
        yield f"{pixels.text(index)} in a cell: {verb} {text}"


def _first_column_last(indices: Sequence[Index]) -> list[Index]:
    """Order indices of columns so that the last one is shown on a terminal of any width."""
    return sorted(indices, key=lambda index: index[2] == 0)


def _of_batch(pixels: Pixels) -> Iterator[str]:
    if pixels.shape[0] > 1:
        yield f"all {pixels.shape[0]} items of the batch are alike"
