# SPDX-License-Identifier: BSD-3-Clause
"""Do the work that all calls share: layouts by name, checks before any task runs."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, SupportsIndex

import dask.array as da
import numpy as np

import reblock
from reblock import _layouts
from reblock.dask._chunks import known
from reblock.dask._types import Array, Input, IntOrInts, Order

# What a shape does not depend on.
_NOT_SIZES = frozenset(
    {"padding_value", "order", "threads", "dtype", "scale", "bias", "reduction", "weights"}
)


def call_by_layout(
    name: str,
    function: Callable[..., da.Array],
    x: Input,
    layouts: tuple[str | None, str | None],
    channel_axis: SupportsIndex,
    **parameters: Any,
) -> da.Array:
    """Call a function on an array whose axes are in the operator's own order.

    `name` is the operator's, `layouts` are the arguments ``layout`` and ``out_layout``.
    """
    array = known(x, "columns" if name == "fold" else "x")
    if layouts == (None, None):
        return function(array, channel_axis=channel_axis, **parameters)
    given: dict[str, Any] = {"layout": layouts[0], "out_layout": layouts[1]}
    if channel_axis != 1:
        given["channel_axis"] = channel_axis  # an error
    sizes = {key: v for key, v in parameters.items() if key not in _NOT_SIZES}
    try:
        shape = getattr(reblock, f"{name}_shape")(array.shape, **sizes, **given)
    except ValueError:
        # The same again, for an error that names the array.
        whole = np.broadcast_to(np.empty((), array.dtype), array.shape)
        getattr(reblock, name)(whole, **parameters, **given)
        raise
    axes = array.ndim - 2
    if name == "fold":
        axes = len(shape) - 1 - ("N" in (layouts[0] or "N"))
    layout, out_layout = _layouts.resolve_layouts(name, *layouts, axes) or ("", "")
    array = _layouts.arrange_axes(array, layout, _layouts.in_order(layout))
    array = function(array, channel_axis=1, **parameters)
    result: da.Array = _layouts.arrange_axes(array, _layouts.in_order(out_layout), out_layout)
    return result


def empty_result(function: Callable[..., Array], x: da.Array, keywords: Mapping[str, Any]) -> Array:
    """Check the arguments and return an empty result."""
    element = np.empty((), x.dtype)
    try:
        return function(np.broadcast_to(element, (0, *x.shape[1:])), **keywords)
    except ValueError:
        # The same again, for an error that tells the shape as it is.
        return function(np.broadcast_to(element, x.shape), **keywords)


def split_axes(rank: int, channel_axis: SupportsIndex) -> tuple[int, list[int]]:
    """Return the axis of the channels and the spatial axes."""
    channels = operator.index(channel_axis) % rank
    return channels, [axis for axis in range(1, rank) if axis != channels]


def per_axis(value: IntOrInts, axes: int) -> list[int]:
    values: list[int] = np.broadcast_to(np.asarray(value), axes).tolist()
    return values


def per_channel(**factors: object) -> bool:
    """Tell whether any factor has a value for each channel."""
    return any(np.ndim(factor) > 0 for factor in factors.values())  # type: ignore[arg-type]


def is_crd(order: Order) -> bool:
    """Tell whether an order that has been checked is CRD."""
    return order in ("CRD", reblock.DepthSpaceOrder.COLUMN_ROW_DEPTH)
