# SPDX-License-Identifier: BSD-3-Clause
"""The operators of PyTorch that `reblock.torch` calls: ``torch.ops.reblock``."""

from __future__ import annotations  # docs/conf.py mocks torch, of which | makes no union

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy.typing as npt
import torch
from torch.autograd import forward_ad

import reblock
from reblock._layouts import arrange, in_order, resolve_layouts, spatial
from reblock.torch._arguments import ALL_BLOCKS, operands, read_number
from reblock.torch._tensors import (
    bits,
    element,
    empty,
    is_plain,
    memory_format,
    numbers,
    require_dense_on_the_cpu,
    tensor,
)

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


def _blocks_in(start: int, stop: int, count: int) -> int:
    """Return how many of `count` window positions lie from `start` to `stop`."""
    start = start + count if start < 0 else start
    if stop == ALL_BLOCKS[1]:
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
    """Return ranges from the flat list of an operator's schema."""
    return list(zip(blocks[::2], blocks[1::2], strict=True))


# Layouts: operators take the letters as they are given, their adjoints the other way round.


def _layouts(name: str, rank: int, arguments: dict[str, Any]) -> tuple[str, str] | None:
    """Return both layouts of a call on a tensor of this rank, or None if it has none."""
    axes = len(arguments["output_sizes"]) if name == "fold" else rank - 2
    both: tuple[str, str] | None = resolve_layouts(
        name, arguments["layout"], arguments["out_layout"], axes
    )
    return both


# The custom operators.


@dataclass(frozen=True)
class Operator:
    """A custom operator, with the arguments of its schema, all positional.

    `kernel` computes the result. `adjoint` takes the shape of the tensor before the other
    arguments. `operands` are the names of the other arguments.
    """

    kernel: Callable[..., torch.Tensor]
    custom: Any
    adjoint: Callable[..., torch.Tensor]
    operands: tuple[str, ...] = ()

    def __call__(self, x: torch.Tensor, *operands: Any) -> torch.Tensor:
        if is_plain(x):
            return self.kernel(x, *operands)
        compiling = torch.compiler.is_compiling()
        if compiling and forward_ad.unpack_dual(x).tangent is not None:
            raise NotImplementedError("reblock.torch has no forward mode in compiled functions")
        recorded = compiling or torch.jit.is_tracing()
        result: torch.Tensor
        result = self.custom(x, *operands) if recorded else _Linear.apply(x, _Call(self, operands))
        return result

    def derivative(self, tangent: torch.Tensor, *operands: Any) -> torch.Tensor:
        """Return the operator's derivative: the operator itself, without what it adds."""
        given = dict(enumerate(operands))
        for name, nothing in (("padding_value", 0), ("bias", None)):
            if name in self.operands:
                given[self.operands.index(name)] = nothing
        return self(tangent, *given.values())


def define_operator(
    name: str,
    parameters: str,
    *,
    kernel: Callable[..., torch.Tensor],
    make: Callable[..., torch.Tensor],
    run_batches: Callable[..., Any],
    adjoint: Callable[..., torch.Tensor],
    operands: tuple[str, ...] = (),
) -> Operator:
    """Define ``torch.ops.reblock.name``, with `parameters` in its schema after the tensor.

    `make` returns a tensor like the result, whose elements have any values. `run_batches` is the
    rule for vmap. `kernel`, `adjoint` and `operands` are as in `Operator`.
    """

    def setup_context(
        ctx: Any,
        inputs: tuple[Any, ...],
        output: torch.Tensor,  # noqa: ARG001 - torch gives it by name
    ) -> None:
        x, *ctx.values = inputs
        ctx.shape = x.shape

    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return adjoint(gradient, ctx.shape, *ctx.values), *(None for _ in ctx.values)

    custom = torch.library.custom_op(
        f"reblock::{name}",
        kernel,
        mutates_args=(),
        device_types="cpu",
        schema=f"(Tensor x, {parameters}) -> Tensor",
    )
    custom.register_fake(make)
    custom.register_vmap(run_batches)
    custom.register_autograd(backward, setup_context=setup_context)
    return Operator(kernel, custom, adjoint, operands)


@dataclass(frozen=True)
class Function:
    """A function of `reblock` on tensors, with the same arguments, all positional.

    `run` computes the result. `peer` names the function of PyTorch.
    """

    parameters: tuple[str, ...]
    peer: str
    run: Callable[..., torch.Tensor]
    operator: Operator

    def __call__(self, x: torch.Tensor, *values: Any) -> torch.Tensor:
        if is_plain(x):
            return self.run(x, *values)
        require_dense_on_the_cpu(self.parameters[0], x, self.peer)
        return self.operator(x, *operands(self.parameters[1:], values, x.ndim))

    def on(self, arguments: Mapping[str, Any], x: torch.Tensor) -> torch.Tensor:
        """Call the function with arguments by their names."""
        return self(x, *(arguments[name] for name in self.parameters[1:]))


@dataclass(frozen=True)
class _Call:
    """An operator and its arguments, as one value: PyTorch must not take them for inputs."""

    operator: Operator
    operands: tuple[Any, ...]


class _Linear(torch.autograd.Function):  # type: ignore[misc] # the types of torch are left out
    """Give an operator the transforms of torch.func and forward mode.

    PyTorch supports neither for custom operators: torch.func.grad raises an error, and forward
    mode returns zero for every derivative.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, call: _Call) -> torch.Tensor:
        result: torch.Tensor = call.operator.custom(x, *call.operands)
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, _Call], _output: torch.Tensor) -> None:
        x, ctx.call = inputs
        ctx.shape = x.shape

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.call.operator.adjoint(gradient, ctx.shape, *ctx.call.operands), None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, _: None) -> torch.Tensor:
        result: torch.Tensor = ctx.call.operator.derivative(tangent, *ctx.call.operands)
        return result


def as_given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Leave `channel_axis` out if a layout places the channels."""
    told = _has_layout(arguments) and arguments["channel_axis"] == 1
    return {k: v for k, v in arguments.items() if not (told and k == "channel_axis")}


def _has_layout(arguments: dict[str, Any]) -> bool:
    return arguments["layout"] is not None or arguments["out_layout"] is not None


def _of_schema(arguments: dict[str, Any]) -> dict[str, Any]:
    """Turn the arguments of a custom operator into those of the functions of reblock."""
    given = as_given(arguments)
    if given.get("blocks") is not None:
        given["blocks"] = _pairs(given["blocks"])
    return given


def _symbols(
    name: str,
    function: Callable[..., Sequence[int]],
    shape: Sequence[int],
    geometry: dict[str, Any],
) -> Sequence[int]:
    """Return the result's shape by one of the formulas for symbols."""
    layouts = _layouts(name, len(shape), geometry)
    geometry = {
        k: v for k, v in geometry.items() if k not in ("padding_mode", "layout", "out_layout")
    }
    if layouts is None:
        return function(shape, **geometry)
    layout, out_layout = layouts
    result = function(arrange(shape, layout, in_order(layout), 1), **geometry)
    return arrange(result, in_order(out_layout), out_layout, 1)


def _function(
    name: str,
    parameters: tuple[str, ...],
    symbolic_shape: Callable[..., Sequence[int]],
    array: Callable[[torch.Tensor], npt.NDArray[Any]],
    *,
    adjoint: Callable[..., torch.Tensor],
    peer: str,
) -> Function:
    """Define a function and its operator, with the parameters of the function in `reblock`."""
    types = {
        "padding_mode": "str",
        "padding_value": "Scalar",
        "order": "str",
        "blocks": "SymInt[]?",
        "channel_axis": "int",
        "layout": "str?",
        "out_layout": "str?",
        "threads": "int?",
    }
    listed = ", ".join(f"{types.get(each, 'SymInt[]')} {each}" for each in parameters[1:])
    function, shape_function = getattr(reblock, name), getattr(reblock, f"{name}_shape")

    def make(x: torch.Tensor, *values: Any) -> torch.Tensor:
        """Make a tensor like the operator's result, whose elements have any values."""
        arguments = dict(zip(parameters[1:], values, strict=True))
        form = _form_of(x, arguments)
        geometry = {
            k: v for k, v in arguments.items() if k not in ("padding_value", "order", "threads")
        }
        sizes = [x.shape, *(v for v in geometry.values() if isinstance(v, Sequence))]
        if any(isinstance(size, torch.SymInt) for size in itertools.chain(*sizes)):
            return empty(x, _symbols(name, symbolic_shape, x.shape, geometry), form)
        return empty(x, shape_function(x.shape, **_of_schema(geometry)), form)

    def compute(x: torch.Tensor, arguments: dict[str, Any]) -> torch.Tensor:
        """Compute into memory that the function allocates, with huge pages for large results."""
        source = array(x)
        form = _form_of(x, arguments)
        if "padding_value" in arguments:
            value = read_number("padding_value", arguments["padding_value"])
            arguments["padding_value"] = element(value, x.dtype)
        contiguous = form is torch.contiguous_format
        call = function if contiguous else partial(_on_last_axis, function)
        result = call(source, **arguments)
        # NumPy gives an array without elements strides of its own.
        return tensor(result, x.dtype) if result.size else empty(x, result.shape, form)

    def run(x: torch.Tensor, *values: Any) -> torch.Tensor:
        return compute(x, as_given(dict(zip(parameters[1:], values, strict=True))))

    def kernel(x: torch.Tensor, *values: Any) -> torch.Tensor:
        return compute(x, _of_schema(dict(zip(parameters[1:], values, strict=True))))

    def run_batches(_info: Any, in_dims: Sequence[int], x: torch.Tensor, *values: Any) -> Any:
        arguments = dict(zip(parameters[1:], values, strict=True))

        def run(x: torch.Tensor, layouts: tuple[str, str] | None) -> torch.Tensor:
            if layouts is not None:
                arguments["layout"], arguments["out_layout"] = layouts
            result: torch.Tensor = operator.custom(x, *arguments.values())
            return result

        return run_on_batches(run, x, in_dims[0], _layouts(name, x.ndim - 1, arguments))

    operator = define_operator(
        name,
        listed,
        kernel=kernel,
        make=make,
        run_batches=run_batches,
        adjoint=adjoint,
        operands=parameters[1:],
    )
    return Function(parameters, peer, run, operator)


def run_on_batches(
    run: Callable[[torch.Tensor, tuple[str, str] | None], torch.Tensor],
    x: torch.Tensor,
    axis: int,
    layouts: tuple[str, str] | None,
) -> tuple[torch.Tensor, int | None]:
    """Run on the samples of all batches at once: along N, or along a new N.

    torch.vmap maps over `axis` of `x`. `layouts` are those of one call, and `run` takes a tensor
    and its layouts. Returned are all results in one tensor, and the axis along which they lie.
    """
    layout, out_layout = layouts or ("N", "N")
    source, target = max(layout.find("N"), 0), max(out_layout.find("N"), 0)
    x = x.movedim(axis, source)
    batches, samples = x.shape[source], 1
    if "N" in layout:
        samples = x.shape[source + 1]
        if "N" not in out_layout and samples != 1:
            return run(x.select(source, 0), layouts), None  # an error
        x = x.flatten(source, source + 1)
    if layouts is not None:
        layouts = (_with_batch(layout), _with_batch(out_layout))
    result = run(x, layouts)
    if "N" in out_layout:
        result = result.unflatten(target, (batches, samples))
    return result, target


def _with_batch(layout: str) -> str:
    return layout if "N" in layout else "N" + layout


def _form_of(x: torch.Tensor, arguments: dict[str, Any]) -> torch.memory_format:
    # Windows make other axes than those of `x`, and names of axes say where the channels lie.
    if "block_size" not in arguments or _has_layout(arguments):
        return torch.contiguous_format
    return memory_format(x, arguments["channel_axis"])


def _on_last_axis(
    function: Callable[..., npt.NDArray[Any]], x: npt.NDArray[Any], **arguments: Any
) -> npt.NDArray[Any]:
    """Call the function with the channels moved from axis 1 to the last axis, as in memory."""
    middle = range(1, x.ndim - 1)
    last = x.transpose(0, *(axis + 1 for axis in middle), 1)
    try:
        result = function(last, **{**arguments, "channel_axis": -1})
    except ValueError:
        function(x, **arguments)  # the same error, about the shape as it was given
        raise
    return result.transpose(0, x.ndim - 1, *middle)


_LAYOUTS = ("channel_axis", "layout", "out_layout", "threads")
_BLOCK = ("block_size", "order", *_LAYOUTS)
_FOLD = (*WINDOW_PARAMETERS, "padding_mode", "order", "blocks", *_LAYOUTS)
_UNFOLD = (*WINDOW_PARAMETERS, "padding_mode", "padding_value", "order", "blocks", *_LAYOUTS)


def _swapped(
    name: str, rank: int, parameters: Sequence[str], values: Sequence[Any]
) -> dict[str, Any]:
    """Return the arguments with the layouts of input and result swapped."""
    arguments = dict(zip(parameters, values, strict=True))
    layouts = _layouts(name, rank, arguments)
    if layouts is not None:
        arguments["out_layout"], arguments["layout"] = layouts
    return arguments


def _unfold_adjoint(g: torch.Tensor, shape: Sequence[int], *values: Any) -> torch.Tensor:
    arguments = dict(zip(_UNFOLD, values, strict=True))
    layouts = _layouts("unfold", len(shape), arguments)
    if layouts is None:
        sizes = _spatial(shape, arguments["channel_axis"])
    else:
        sizes = arrange(shape, layouts[0], spatial(layouts[0]), 1)
    swapped = _swapped("unfold", len(shape), _UNFOLD, values)
    return fold.operator(g, sizes, *(swapped[name] for name in _FOLD))


def _fold_adjoint(g: torch.Tensor, shape: Sequence[int], *values: Any) -> torch.Tensor:
    swapped = _swapped("fold", len(shape), ("output_sizes", *_FOLD), values)
    return unfold.operator(g, *({**swapped, "padding_value": 0}[name] for name in _UNFOLD))


depth_to_space: Function = _function(
    "depth_to_space",
    ("x", *_BLOCK),
    _depth_to_space_shape,
    bits,
    adjoint=lambda g, shape, *values: space_to_depth.operator(
        g, *_swapped("depth_to_space", len(shape), _BLOCK, values).values()
    ),
    peer='torch.nn.functional.pixel_shuffle (order="CRD")',
)
space_to_depth: Function = _function(
    "space_to_depth",
    ("x", *_BLOCK),
    _space_to_depth_shape,
    bits,
    adjoint=lambda g, shape, *values: depth_to_space.operator(
        g, *_swapped("space_to_depth", len(shape), _BLOCK, values).values()
    ),
    peer='torch.nn.functional.pixel_unshuffle (order="CRD")',
)
unfold: Function = _function(
    "unfold",
    ("x", *_UNFOLD),
    _unfold_shape,
    bits,
    adjoint=_unfold_adjoint,
    peer="torch.nn.functional.unfold (two spatial axes)",
)
fold: Function = _function(
    "fold",
    ("columns", "output_sizes", *_FOLD),
    _fold_shape,
    numbers,
    adjoint=_fold_adjoint,
    peer="torch.nn.functional.fold (two spatial axes)",
)
