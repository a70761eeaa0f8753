# SPDX-License-Identifier: BSD-3-Clause
"""The operators of PyTorch that `reblock.torch` calls: ``torch.ops.reblock``."""

from __future__ import annotations  # docs/conf.py mocks torch, of which | makes no union

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import torch
from torch.autograd import forward_ad

import reblock
from reblock._layouts import arrange, in_order, resolve_layouts, spatial

WINDOW_PARAMETERS = ("window_sizes", "strides", "dilations", "start_padding", "end_padding")

# Shapes that hold symbols, which the shape functions of reblock do not take: by the same formulas.
# What is wrong shows when the operator runs.


def _spatial(values: Sequence[int], channel_axis: int) -> list[int]:
    return [v for axis, v in enumerate(values) if axis not in (0, channel_axis % len(values))]


def _with_channels(channels: int, shape: list[int], channel_axis: int) -> list[int]:
    shape.insert(channel_axis % (len(shape) + 1), channels)
    return shape


def _depth_to_space_shape(
    shape: Sequence[int], block_size: Sequence[int], channel_axis: int
) -> list[int]:
    extents = zip(_spatial(shape, channel_axis), block_size, strict=True)
    space = [shape[0], *(extent * block for extent, block in extents)]
    return _with_channels(shape[channel_axis] // math.prod(block_size), space, channel_axis)


def _space_to_depth_shape(
    shape: Sequence[int], block_size: Sequence[int], channel_axis: int
) -> list[int]:
    extents = zip(_spatial(shape, channel_axis), block_size, strict=True)
    depth = [shape[0], *(extent // block for extent, block in extents)]
    return _with_channels(shape[channel_axis] * math.prod(block_size), depth, channel_axis)


ALL_BLOCKS = (0, sys.maxsize)  # what a range of blocks is where it is not given


def _blocks_in(start: int, stop: int, count: int) -> int:
    """Return how many of `count` blocks there are from `start` to `stop`."""
    start = start + count if start < 0 else start
    if stop == sys.maxsize:
        stop = count
    return (stop + count if stop < 0 else stop) - start


def _unfold_shape(
    shape: Sequence[int], channel_axis: int, blocks: Sequence[int] | None, **window: Sequence[int]
) -> list[int]:
    extents = _spatial(shape, channel_axis)
    counts = [
        (size + start + end - dilation * (extent - 1) - 1) // stride + 1
        for size, extent, stride, dilation, start, end in zip(
            extents, *(window[name] for name in WINDOW_PARAMETERS), strict=True
        )
    ]
    if blocks is not None:
        counts = [_blocks_in(*r, n) for r, n in zip(_pairs(blocks), counts, strict=True)]
    return [shape[0], shape[channel_axis] * math.prod(window["window_sizes"]), math.prod(counts)]


def _fold_shape(
    shape: Sequence[int],
    output_sizes: Sequence[int],
    channel_axis: int,
    blocks: Sequence[int] | None,  # noqa: ARG001 - they make no difference to the image
    **window: Sequence[int],
) -> list[int]:
    channels = shape[1] // math.prod(window["window_sizes"])
    return _with_channels(channels, [shape[0], *output_sizes], channel_axis)


def _pairs(blocks: Sequence[int]) -> list[tuple[int, int]]:
    """Return ranges from the flat list that an operator's schema has of them."""
    return list(zip(blocks[::2], blocks[1::2], strict=True))


# Layouts: operators take the letters as they are given, their adjoints the other way round.


def _layouts(name: str, rank: int, arguments: dict[str, Any]) -> tuple[str, str] | None:
    """Return both layouts of a call on a tensor of this rank, or None where it has none."""
    axes = len(arguments["output_sizes"]) if name == "fold" else rank - 2
    both: tuple[str, str] | None = resolve_layouts(
        name, arguments["layout"], arguments["out_layout"], axes
    )
    return both


# Tensors as arrays.

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _bits(x: torch.Tensor) -> npt.NDArray[Any]:
    """View as integers of the same size, since NumPy does not know every dtype."""
    array: npt.NDArray[Any] = x.detach().view(_BITS.get(x.itemsize, x.dtype)).numpy()
    return array


def _numbers(columns: torch.Tensor) -> npt.NDArray[Any]:
    if columns.dtype == torch.bfloat16:
        try:
            import ml_dtypes  # noqa: PLC0415 - of use to bfloat16 alone
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                'fold of bfloat16 needs ml_dtypes: pip install "reblock[torch]"', name="ml_dtypes"
            ) from None
        return _bits(columns).view(ml_dtypes.bfloat16)
    try:
        array: npt.NDArray[Any] = columns.detach().numpy()
    except TypeError:
        raise TypeError(
            "columns must have a dtype that can be summed (bool, integer, floating point of 16 bits"
            f" or more, complex64 or complex128), got {columns.dtype}"
        ) from None
    return array


def _empty(x: torch.Tensor, shape: Sequence[int], *, named: bool) -> torch.Tensor:
    """Make a tensor of this shape, in the memory format of `x` where it has the same rank.

    Where its axes are named it is contiguous: the names say what its format is.
    """
    form = torch.contiguous_format
    if x.ndim == len(shape) and not x.is_contiguous() and not named:
        last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.ndim, form)
        form = last if x.is_contiguous(memory_format=last) else form
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=form)


# The custom operators.


@dataclass(frozen=True)
class Operator:
    """A custom operator and its adjoint, which is given the shape of `x` before the arguments."""

    custom: Any
    adjoint: Callable[..., torch.Tensor]

    def __call__(self, x: torch.Tensor, *values: Any) -> torch.Tensor:
        result: torch.Tensor
        if torch.compiler.is_compiling():
            if forward_ad.unpack_dual(x).tangent is not None:
                raise NotImplementedError("reblock.torch has no forward mode in compiled functions")
            result = self.custom(x, *values)
        else:
            result = _Linear.apply(x, _Call(self, values))
        return result


@dataclass(frozen=True)
class _Call:
    """An operator and its arguments, which are not to be taken for inputs of their own."""

    operator: Operator
    values: tuple[Any, ...]


class _Linear(torch.autograd.Function):  # type: ignore[misc] # the types of torch are left out
    """Give an operator the transforms of torch.func and forward mode.

    PyTorch has neither for custom operators: torch.func.grad raises an error, and forward mode
    takes every derivative for zero.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, call: _Call) -> torch.Tensor:
        result: torch.Tensor = call.operator.custom(x, *call.values)
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, _Call], _output: torch.Tensor) -> None:
        x, ctx.call = inputs
        ctx.shape = x.shape

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.call.operator.adjoint(gradient, ctx.shape, *ctx.call.values), None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, _: None) -> torch.Tensor:
        result: torch.Tensor = ctx.call.operator(tangent, *ctx.call.values)
        return result


def _as_given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the functions of reblock take them."""
    given = {key: value for key, value in arguments.items() if value is not None}
    if "layout" in given or "out_layout" in given:
        del given["channel_axis"]
    if "blocks" in given:
        given["blocks"] = _pairs(given["blocks"])
    return given


def _symbols(
    name: str,
    function: Callable[..., Sequence[int]],
    shape: Sequence[int],
    geometry: dict[str, Any],
) -> Sequence[int]:
    """Return the result's shape, by one of the formulas for symbols."""
    layouts = _layouts(name, len(shape), geometry)
    geometry = {k: v for k, v in geometry.items() if k not in ("layout", "out_layout")}
    if layouts is None:
        return function(shape, **geometry)
    layout, out_layout = layouts
    result = function(arrange(shape, layout, in_order(layout), 1), **geometry)
    return arrange(result, in_order(out_layout), out_layout, 1)


def _operator(
    name: str,
    parameters: Sequence[str],
    symbolic_shape: Callable[..., Sequence[int]],
    array: Callable[[torch.Tensor], npt.NDArray[Any]],
    adjoint: Callable[..., torch.Tensor],
) -> Operator:
    """Define an operator with the parameters of the function in `reblock`, each given by place."""
    types = {
        "order": "str",
        "blocks": "SymInt[]?",
        "channel_axis": "int",
        "layout": "str?",
        "out_layout": "str?",
        "threads": "int?",
    }
    listed = ", ".join(f"{types.get(each, 'SymInt[]')} {each}" for each in parameters)
    function, shape_function = getattr(reblock, name), getattr(reblock, f"{name}_shape")

    def make(x: torch.Tensor, *values: Any) -> torch.Tensor:
        """Make what the operator gives, but for its elements."""
        geometry = dict(zip(parameters, values, strict=True))
        geometry.pop("order")
        geometry.pop("threads")
        named = geometry["layout"] is not None or geometry["out_layout"] is not None
        sizes = [x.shape, *(v for v in geometry.values() if isinstance(v, Sequence))]
        if any(isinstance(size, torch.SymInt) for size in itertools.chain(*sizes)):
            return _empty(x, _symbols(name, symbolic_shape, x.shape, geometry), named=named)
        return _empty(x, shape_function(x.shape, **_as_given(geometry)), named=named)

    def run(x: torch.Tensor, *values: Any) -> torch.Tensor:
        arguments = _as_given(dict(zip(parameters, values, strict=True)))
        try:
            out = make(x, *values)
        except ValueError:
            function(array(x), **arguments)  # the same error, about the tensor instead of its shape
            raise
        function(array(x), **arguments, out=array(out))
        return out

    def run_batches(_info: Any, in_dims: Sequence[int], x: torch.Tensor, *values: Any) -> Any:
        """Run on the samples of all batches at once: along N, or with an N where there is none."""
        arguments = dict(zip(parameters, values, strict=True))
        layouts = _layouts(name, x.ndim - 1, arguments)
        layout, out_layout = layouts or ("N", "N")
        source, target = max(layout.find("N"), 0), max(out_layout.find("N"), 0)
        x = x.movedim(in_dims[0], source)
        batches, each = x.shape[source], 1
        if "N" in layout:
            each = x.shape[source + 1]
            if "N" not in out_layout and each != 1:
                return custom(x.select(source, 0), *values), None  # an error
            x = x.flatten(source, source + 1)
        if layouts is not None:
            for key, letters in (("layout", layout), ("out_layout", out_layout)):
                arguments[key] = letters if "N" in letters else "N" + letters
        result = custom(x, *arguments.values())
        if "N" in out_layout:
            result = result.unflatten(target, (batches, each))
        return result, target

    def setup_context(
        ctx: Any,
        inputs: tuple[Any, ...],
        output: torch.Tensor,  # noqa: ARG001 - torch gives it by name
    ) -> None:
        x, *ctx.values = inputs
        ctx.shape = x.shape

    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return adjoint(gradient, ctx.shape, *ctx.values), *(None for _ in ctx.values)

    schema = f"(Tensor x, {listed}) -> Tensor"
    custom = torch.library.custom_op(
        f"reblock::{name}", run, mutates_args=(), device_types="cpu", schema=schema
    )
    custom.register_fake(make)
    custom.register_vmap(run_batches)
    custom.register_autograd(backward, setup_context=setup_context)
    return Operator(custom, adjoint)


_LAYOUTS = ("channel_axis", "layout", "out_layout", "threads")
_BLOCK = ("block_size", "order", *_LAYOUTS)
_WINDOW = (*WINDOW_PARAMETERS, "order", "blocks", *_LAYOUTS)


def _swapped(name: str, rank: int, parameters: Sequence[str], values: Sequence[Any]) -> list[Any]:
    """Return the arguments with the layouts of what goes in and what comes out swapped."""
    arguments = dict(zip(parameters, values, strict=True))
    layouts = _layouts(name, rank, arguments)
    if layouts is not None:
        arguments["out_layout"], arguments["layout"] = layouts
    return list(arguments.values())


def _unfold_adjoint(g: torch.Tensor, shape: Sequence[int], *values: Any) -> torch.Tensor:
    arguments = dict(zip(_WINDOW, values, strict=True))
    layouts = _layouts("unfold", len(shape), arguments)
    if layouts is None:
        sizes = _spatial(shape, arguments["channel_axis"])
    else:
        sizes = arrange(shape, layouts[0], spatial(layouts[0]), 1)
    return fold(g, sizes, *_swapped("unfold", len(shape), _WINDOW, values))


def _fold_adjoint(g: torch.Tensor, shape: Sequence[int], *values: Any) -> torch.Tensor:
    return unfold(g, *_swapped("fold", len(shape), ("output_sizes", *_WINDOW), values)[1:])


depth_to_space: Operator = _operator(
    "depth_to_space",
    _BLOCK,
    _depth_to_space_shape,
    _bits,
    adjoint=lambda g, shape, *values: space_to_depth(
        g, *_swapped("depth_to_space", len(shape), _BLOCK, values)
    ),
)
space_to_depth: Operator = _operator(
    "space_to_depth",
    _BLOCK,
    _space_to_depth_shape,
    _bits,
    adjoint=lambda g, shape, *values: depth_to_space(
        g, *_swapped("space_to_depth", len(shape), _BLOCK, values)
    ),
)
unfold: Operator = _operator(
    "unfold",
    _WINDOW,
    _unfold_shape,
    _bits,
    adjoint=_unfold_adjoint,
)
fold: Operator = _operator(
    "fold",
    ("output_sizes", *_WINDOW),
    _fold_shape,
    _numbers,
    adjoint=_fold_adjoint,
)
