# SPDX-License-Identifier: BSD-3-Clause
"""Show which elements of its input each element of an operator's result comes from.

`explain` runs the operator on arrays of indices, so the map shows what the operator does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from reblock import _core, _patterns
from reblock._explained_operators import EXPLAINED
from reblock._explained_words import formula
from reblock._explanation import Explanation

if TYPE_CHECKING:
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
    if name == "fold":  # its dtype changes terms before they are added
        return EXPLAINED[name](shape, *arguments, **parameters)
    conversion = {key: parameters.pop(key, None) for key in ("dtype", "scale", "bias")}
    explanation = EXPLAINED[name](shape, *arguments, **parameters)
    if all(value is None for value in conversion.values()):
        return explanation
    _refuse_conversion(name, shape, arguments, parameters, conversion)
    shown = explanation._map
    notes = (*shown.notes, f"each element becomes {formula(**conversion)}")
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
    if name not in {"rearrange", "repeat"}:
        nothing = np.broadcast_to(element, (0, *shape[1:]))
        getattr(_core, name)(nothing, *arguments, **parameters, **conversion)
        return
    use: _patterns.Use = "repeat" if name == "repeat" else "rearrange"
    (pattern,) = arguments
    factors = conversion["scale"], conversion["bias"]
    extents = [int(extent) for extent in shape]
    _patterns.lengths_in(pattern, use, extents, parameters, factors)
    _core.rearrange(element, "->", dtype=conversion["dtype"])
