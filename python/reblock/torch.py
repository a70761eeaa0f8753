# SPDX-License-Identifier: BSD-3-Clause
"""The four operators for PyTorch's tensors on the CPU, as custom operators of PyTorch.

`depth_to_space`, `space_to_depth`, `unfold` and `fold` take what the functions of the same names in
`reblock` take, but for `out`, and give tensors. They are differentiable as often as is wanted,
since each is linear and another one of them is its adjoint; they work under ``torch.compile``,
``torch.export`` and ``torch.vmap``, and leave their input as it is.

Elements are moved bit for bit, so that any dtype will do. `fold` adds: it takes bool (logical or),
integers (which wrap around), floating point (float16 and bfloat16 are summed in float32 and rounded
once) and complex64 and complex128.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import reblock

try:
    import torch
    from torch.autograd import forward_ad
except ModuleNotFoundError as missing:
    if missing.name != "torch":
        raise
    raise ModuleNotFoundError(
        'reblock.torch needs torch: pip install "reblock[torch]"', name="torch"
    ) from None

__all__ = ["depth_to_space", "fold", "space_to_depth", "unfold"]

_Int = int | np.integer[Any]
_IntOrInts = _Int | Sequence[_Int]
_Order = Literal["DCR", "CRD", 0, 1] | reblock.DepthSpaceOrder


def depth_to_space(
    x: torch.Tensor,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: _Int = 1,
    threads: _Int | None = None,
) -> torch.Tensor:
    """Move channels into blocks of space, the inverse of `space_to_depth`.

    In CRD order with two spatial axes, this is ``torch.nn.functional.pixel_shuffle``.

    Parameters
    ----------
    x : torch.Tensor
        Shape ``(N, C*P, S_1, ..., S_k)``, on the CPU; any dtype and strides.
    block_size, order, channel_axis, threads
        As in `reblock.depth_to_space`.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C, S_1*B_1, ..., S_k*B_k)``. It is contiguous in the memory format
        ``channels_last`` or ``channels_last_3d`` where `x` is that and not contiguous, else
        contiguous.

    Raises
    ------
    ValueError, TypeError
        As `reblock.depth_to_space`.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> x = torch.arange(8).reshape(1, 4, 1, 2)
    >>> reblock.torch.depth_to_space(x, 2)
    tensor([[[[0, 2, 1, 3],
              [4, 6, 5, 7]]]])
    """
    block = _per_axis("block_size", block_size, x.ndim - 2)
    return _depth_to_space(x, block, _order(order), *_more(channel_axis, threads))


def space_to_depth(
    x: torch.Tensor,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: _Int = 1,
    threads: _Int | None = None,
) -> torch.Tensor:
    """Move blocks of space into channels, the inverse of `depth_to_space`.

    In CRD order with two spatial axes, this is ``torch.nn.functional.pixel_unshuffle``.

    Parameters
    ----------
    x : torch.Tensor
        Shape ``(N, C, S_1*B_1, ..., S_k*B_k)``, on the CPU; any dtype and strides.
    block_size, order, channel_axis, threads
        As in `reblock.space_to_depth`.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C*P, S_1, ..., S_k)``, in the memory format that `depth_to_space` would choose.

    Raises
    ------
    ValueError, TypeError
        As `reblock.space_to_depth`.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> x = torch.arange(8).reshape(1, 1, 2, 4)
    >>> reblock.torch.space_to_depth(x, 2).reshape(4, 2)
    tensor([[0, 2],
            [1, 3],
            [4, 6],
            [5, 7]])
    """
    block = _per_axis("block_size", block_size, x.ndim - 2)
    return _space_to_depth(x, block, _order(order), *_more(channel_axis, threads))


def unfold(
    x: torch.Tensor,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: _Int = 1,
    threads: _Int | None = None,
) -> torch.Tensor:
    """Copy every position of a sliding window into a column (im2col), the adjoint of `fold`.

    With two spatial axes, this is ``torch.nn.functional.unfold``.

    Parameters
    ----------
    x : torch.Tensor
        Shape ``(N, C, S_1, ..., S_k)``, on the CPU; any dtype and strides.
    window_sizes, strides, dilations, start_padding, end_padding
        As in `reblock.unfold`.
    channel_axis, threads
        As in `reblock.unfold`.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C*K, L)``, contiguous.

    Raises
    ------
    ValueError, TypeError
        As `reblock.unfold`.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> sound = torch.arange(6, dtype=torch.uint8).reshape(1, 1, 6)
    >>> reblock.torch.unfold(sound, 4, strides=2)[0].T
    tensor([[0, 1, 2, 3],
            [2, 3, 4, 5]], dtype=torch.uint8)
    """
    window = (window_sizes, strides, dilations, start_padding, end_padding)
    return _unfold(x, *_window(window, x.ndim - 2), *_more(channel_axis, threads))


def fold(
    columns: torch.Tensor,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: _Int = 1,
    threads: _Int | None = None,
) -> torch.Tensor:
    """Add the columns up where their windows lie (col2im), the adjoint of `unfold`.

    With two spatial axes, this is ``torch.nn.functional.fold``.

    Parameters
    ----------
    columns : torch.Tensor
        Shape ``(N, C*K, L)``, on the CPU; any strides, and any dtype that has a sum.
    output_sizes, window_sizes, strides, dilations, start_padding, end_padding
        As in `reblock.fold`.
    channel_axis, threads
        As in `reblock.fold`.

    Returns
    -------
    torch.Tensor
        Shape ``(N, C, *output_sizes)``, contiguous.

    Raises
    ------
    ValueError, TypeError
        As `reblock.fold`.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> reblock.torch.fold(torch.ones(1, 4, 4), (3, 3), 2)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    window = (window_sizes, strides, dilations, start_padding, end_padding)
    lengths = [len(v) for v in (output_sizes, *window) if isinstance(v, Sequence)]
    axes = lengths[0] if lengths else 1
    sizes = _per_axis("output_sizes", output_sizes, axes)
    return _fold(columns, sizes, *_window(window, axes), *_more(channel_axis, threads))


# Arguments: the operators take one value for each axis, and ints that may be torch.SymInt.

_INTEGERS = (int, np.integer, torch.SymInt)
_WINDOW = ("window_sizes", "strides", "dilations", "start_padding", "end_padding")


def _ints(name: str, expected: str, values: Iterable[_Int], got: object) -> list[_Int]:
    values = list(values)
    if any(isinstance(v, bool) or not isinstance(v, _INTEGERS) for v in values):
        raise TypeError(f"{name} must be {expected}, got {got!r} ({type(got).__name__})")
    return values


def _int(name: str, value: _Int, expected: str = "an int") -> _Int:
    return _ints(name, expected, [value], value)[0]


def _per_axis(name: str, value: _IntOrInts, axes: int) -> list[_Int]:
    values = value if isinstance(value, Sequence) else [value] * max(axes, 1)
    return _ints(name, "an int or a sequence of ints", values, value)


def _window(values: Sequence[_IntOrInts], axes: int) -> list[list[_Int]]:
    return [_per_axis(name, value, axes) for name, value in zip(_WINDOW, values, strict=True)]


def _more(channel_axis: _Int, threads: _Int | None) -> tuple[_Int, _Int | None]:
    threads = None if threads is None else _int("threads", threads)
    return _int("channel_axis", channel_axis), threads


def _order(order: _Order) -> str:
    if isinstance(order, str):
        return order
    number = _int("order", order, '"DCR", "CRD" or a DepthSpaceOrder')
    return {0: "DCR", 1: "CRD"}.get(int(number), str(number))


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


def _unfold_shape(shape: Sequence[int], channel_axis: int, **window: Sequence[int]) -> list[int]:
    extents = _spatial(shape, channel_axis)
    blocks = [
        (size + start + end - dilation * (extent - 1) - 1) // stride + 1
        for size, extent, stride, dilation, start, end in zip(
            extents, *(window[name] for name in _WINDOW), strict=True
        )
    ]
    return [shape[0], shape[channel_axis] * math.prod(window["window_sizes"]), math.prod(blocks)]


def _fold_shape(
    shape: Sequence[int], output_sizes: Sequence[int], channel_axis: int, **window: Sequence[int]
) -> list[int]:
    channels = shape[1] // math.prod(window["window_sizes"])
    return _with_channels(channels, [shape[0], *output_sizes], channel_axis)


# Tensors as arrays.

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _bits(x: torch.Tensor) -> npt.NDArray[Any]:
    """View as integers of the same size, since NumPy does not know every dtype."""
    array: npt.NDArray[Any] = x.detach().view(_BITS.get(x.itemsize, x.dtype)).numpy()
    return array


def _numbers(columns: torch.Tensor) -> npt.NDArray[Any]:
    if columns.dtype == torch.bfloat16:
        import ml_dtypes  # noqa: PLC0415 - of use to bfloat16 alone

        return _bits(columns).view(ml_dtypes.bfloat16)
    try:
        array: npt.NDArray[Any] = columns.detach().numpy()
    except TypeError:
        raise TypeError(
            "columns must have a dtype that can be summed (bool, integer, floating point of 16 bits"
            f" or more, complex64 or complex128), got {columns.dtype}"
        ) from None
    return array


def _empty(x: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Make a tensor of this shape, in the memory format of `x` where it has the same rank."""
    form = torch.contiguous_format
    if x.ndim == len(shape) and not x.is_contiguous():
        last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.ndim, form)
        form = last if x.is_contiguous(memory_format=last) else form
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=form)


# The custom operators.


@dataclass(frozen=True)
class _Operator:
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

    operator: _Operator
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


def _operator(
    name: str,
    parameters: Sequence[str],
    symbolic_shape: Callable[..., Sequence[int]],
    array: Callable[[torch.Tensor], npt.NDArray[Any]],
    adjoint: Callable[..., torch.Tensor],
) -> _Operator:
    """Define an operator with the parameters of the function in `reblock`, each given by place."""
    types = {"order": "str", "channel_axis": "int", "threads": "int?"}
    listed = ", ".join(f"{types.get(each, 'SymInt[]')} {each}" for each in parameters)
    function, shape_function = getattr(reblock, name), getattr(reblock, f"{name}_shape")

    def make(x: torch.Tensor, *values: Any) -> torch.Tensor:
        """Make what the operator gives, but for its elements."""
        geometry = dict(zip(parameters, values, strict=True))
        geometry.pop("order", None)
        geometry.pop("threads")
        sizes = [x.shape, *(v for v in geometry.values() if isinstance(v, Sequence))]
        symbolic = any(isinstance(size, torch.SymInt) for size in itertools.chain(*sizes))
        return _empty(x, (symbolic_shape if symbolic else shape_function)(x.shape, **geometry))

    def run(x: torch.Tensor, *values: Any) -> torch.Tensor:
        out = make(x, *values)
        function(array(x), **dict(zip(parameters, values, strict=True)), out=array(out))
        return out

    def run_batches(_info: Any, in_dims: Sequence[int], x: torch.Tensor, *values: Any) -> Any:
        """Run on the samples of all batches at once."""
        x = x.movedim(in_dims[0], 0)
        return custom(x.flatten(0, 1), *values).unflatten(0, x.shape[:2]), 0

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
    return _Operator(custom, adjoint)


_BLOCK_PARAMETERS = ("block_size", "order", "channel_axis", "threads")
_WINDOW_PARAMETERS = (*_WINDOW, "channel_axis", "threads")

_depth_to_space: _Operator = _operator(
    "depth_to_space",
    _BLOCK_PARAMETERS,
    _depth_to_space_shape,
    _bits,
    adjoint=lambda g, _shape, *values: _space_to_depth(g, *values),
)
_space_to_depth: _Operator = _operator(
    "space_to_depth",
    _BLOCK_PARAMETERS,
    _space_to_depth_shape,
    _bits,
    adjoint=lambda g, _shape, *values: _depth_to_space(g, *values),
)
_unfold: _Operator = _operator(
    "unfold",
    _WINDOW_PARAMETERS,
    _unfold_shape,
    _bits,
    adjoint=lambda g, shape, *values: _fold(g, _spatial(shape, values[-2]), *values),
)
_fold: _Operator = _operator(
    "fold",
    ("output_sizes", *_WINDOW_PARAMETERS),
    _fold_shape,
    _numbers,
    adjoint=lambda g, _shape, _sizes, *values: _unfold(g, *values),
)
