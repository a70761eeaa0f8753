# SPDX-License-Identifier: BSD-3-Clause
"""Apply dtype, scale and bias for the functions in `reblock.torch`.

A plain call converts while it moves. If PyTorch records the call, for gradients, transforms or the
compiler, an operator of PyTorch converts before or after the move. It calls `reblock` too, so that
the same arguments are refused, and the same numbers come out.
"""

from __future__ import annotations  # docs/conf.py mocks torch, of which | makes no union

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch.autograd import forward_ad

import reblock
from reblock import _core
from reblock._layouts import resolve_layouts
from reblock._patterns import Axes, Use, lengths_in
from reblock.torch._arguments import read_int, read_threads
from reblock.torch._operators import as_given, define_operator
from reblock.torch._tensors import (
    is_plain,
    numbers,
    numpy_dtype,
    require_constant,
    require_dense_on_the_cpu,
    tensor,
)

Factor: TypeAlias = "float | Sequence[float] | npt.NDArray[Any] | torch.Tensor"
_Factor: TypeAlias = "tuple[str | None, float | tuple[float, ...]]"  # the name of an axis, numbers

_PEERS = {
    "depth_to_space": "pixel_shuffle",
    "space_to_depth": "pixel_unshuffle",
    "unfold": "unfold",
}


class Conversion(NamedTuple):
    """The dtype, scale and bias of a call. Calls without any do not use this file."""

    dtype: torch.dtype | None
    scale: Any
    bias: Any

    def __bool__(self) -> bool:
        return not all(value is None for value in self)

    def checked(self, x: object, peer: str) -> Conversion:
        """Return the same for the functions of `reblock`, or raise for what only PyTorch has."""
        require_dense_on_the_cpu("x", x, peer)
        if not isinstance(self.dtype, torch.dtype | None):
            raise TypeError(
                f"dtype must be a torch.dtype, got {self.dtype!r} ({type(self.dtype).__name__})"
            )
        return Conversion(self.dtype, _numbers("scale", self.scale), _numbers("bias", self.bias))


class _Call(NamedTuple):
    """The operator's arguments without the tensor. `source` is the dtype of the tensor.

    A number is a list of one number, with -1 as its axis.
    """

    source: torch.dtype
    dtype: torch.dtype
    scale: Sequence[float] | None
    scale_axis: int
    bias: Sequence[float] | None
    bias_axis: int
    threads: int | None


def of_channels(
    name: str,
    x: torch.Tensor,
    conversion: Conversion,
    arguments: Mapping[str, Any],
    move: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Call depth_to_space, space_to_depth or unfold. `move` is the call without a conversion."""
    conversion = conversion.checked(x, f"torch.nn.functional.{_PEERS[name]}")
    if is_plain(x):
        return _plain(name, x, (), conversion, as_given(dict(arguments)))
    axis = _channel_axis(name, x.ndim, arguments)
    if axis is not None and not 0 <= axis < x.ndim:
        move(x)  # tells what is wrong with the axes
    image = move(x) if name == "depth_to_space" else x
    channels = 1 if axis is None else image.shape[axis]
    factors = _read(x.dtype, *conversion, _constant(channels, conversion))
    converted = _converted(image, conversion.dtype, factors, (axis, axis), arguments["threads"])
    return converted if name == "depth_to_space" else move(converted)


def of_pattern(
    use: Use,
    x: torch.Tensor,
    conversion: Conversion,
    pattern: str,
    move: Callable[[], torch.Tensor],
    *,
    lengths: Mapping[str, Any],
    threads: int | np.integer[Any] | None,
) -> torch.Tensor:
    """Call rearrange or repeat. `move` is the call without a conversion."""
    conversion = conversion.checked(x, f"einops.{use}")
    if is_plain(x):
        return _plain(use, x, (pattern,), conversion, {**lengths, "threads": threads})
    factors = _read(x.dtype, *conversion, None)
    given = (conversion.scale, conversion.bias)
    if not torch.compiler.is_compiling():
        lengths_in(pattern, use, x.shape, lengths, given)  # the errors of a plain call
    moved = move()
    names = [None if factor is None else factor[0] for factor in factors]
    if names == [None, None]:
        return _converted(moved, conversion.dtype, factors, (None, None), threads)
    axes = Axes(*_axes(pattern, use, x.ndim))
    extents = axes.lengths(x.shape, lengths)
    if not all(_fits(factor, axes, extents) for factor in factors):
        lengths_in(pattern, use, x.shape, lengths, given)  # tells what does not fit
    flat = [i for group in axes.right for i in group]
    places = [None if name is None else flat.index(axes.names.index(name)) for name in names]
    split = moved.reshape([extents[i] for i in flat])
    return _converted(split, conversion.dtype, factors, places, threads).reshape(moved.shape)


def _fits(factor: _Factor | None, axes: Axes, extents: Sequence[int]) -> bool:
    if factor is None or factor[0] is None:
        return True
    name, values = factor
    if name not in axes.names:
        return False
    return not isinstance(values, tuple) or len(values) == extents[axes.names.index(name)]


def _channel_axis(name: str, rank: int, arguments: Mapping[str, Any]) -> int | None:
    """Return the axis of the channels in the image or the space tensor, or None if it has none.

    It is -1 or out of range if a call with this axis is an error.
    """
    axis: int | None
    names = arguments["layout"], arguments["out_layout"]
    if names != (None, None):
        axis = _named_channels(name, *names, rank - 2)
        return axis
    axis = read_int("channel_axis", arguments["channel_axis"])
    axis += rank if axis < 0 else 0
    return axis if axis > 0 else -1


def _constant(channels: int, conversion: Conversion) -> int:
    """Return the number of channels, which may be a symbol of the compiler, as a constant.

    As many channels as there are numbers are a constant by the comparison.
    """
    for factor in (conversion.scale, conversion.bias):
        if isinstance(factor, (list, tuple)):
            return len(factor) if len(factor) == channels else channels
    return 1


# The compiler does not look into the functions of the core: for it, these are constants.


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator] # the types of torch are left out
def _named_channels(name: str, layout: str | None, out_layout: str | None, axes: int) -> int | None:
    layouts = resolve_layouts(name, layout, out_layout, axes) or ("", "")
    axis = layouts[1 if name == "depth_to_space" else 0].find("C")
    return None if axis < 0 else axis


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator] # the types of torch are left out
def _axes(pattern: str, use: Use, rank: int) -> tuple[Any, ...]:
    axes = Axes.of(pattern, use, rank)
    return axes.names, axes.left, axes.right


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator] # the types of torch are left out
def _read(
    source: torch.dtype, target: torch.dtype | None, scale: Any, bias: Any, channels: int | None
) -> tuple[_Factor | None, _Factor | None]:
    """Read scale and bias, for so many channels or, for None, by the axes of a pattern.

    The errors are those of a plain call, because the same functions raise them.
    """
    nothing = np.empty(0, numpy_dtype(source, "x"))
    factors = _core.read_factors(scale, bias, channels)
    # The dtypes, as far as it matters to them whether there are factors.
    reblock.rearrange(nothing, "a -> a", dtype=target, scale=None if factors == (None, None) else 1)
    return factors


def _plain(
    name: str,
    x: torch.Tensor,
    positional: Sequence[Any],
    conversion: Conversion,
    arguments: Mapping[str, Any],
) -> torch.Tensor:
    keywords = {**arguments, **conversion._asdict()}
    result = getattr(reblock, name)(numbers(x, "x"), *positional, **keywords)
    dtype = conversion.dtype or x.dtype
    if result.size == 0:  # NumPy gives an array without elements strides of its own
        return torch.empty(result.shape, dtype=dtype)
    return tensor(result, dtype)


def _numbers(name: str, factor: Any) -> Any:
    """Return numbers of Python. A compiled function treats them as constants."""
    if isinstance(factor, Mapping):
        return {axis: _numbers(name, values) for axis, values in factor.items()}
    if isinstance(factor, torch.Tensor):
        if factor.requires_grad or forward_ad.unpack_dual(factor).tangent is not None:
            raise ValueError(f"{name} must not require gradients: it is a constant")
        require_constant(name, factor)
    return factor.tolist() if isinstance(factor, torch.Tensor | np.ndarray | np.generic) else factor


def _converted(
    x: torch.Tensor,
    dtype: torch.dtype | None,
    factors: tuple[_Factor | None, _Factor | None],
    axes: Sequence[int | None],
    threads: Any,
) -> torch.Tensor:
    """Return cast(x * scale + bias), with factors along axes of `x`."""
    target = x.dtype if dtype is None else dtype
    if factors == (None, None) and target == x.dtype:
        return x.contiguous()
    if not target.is_floating_point:
        x = x.detach()  # whole numbers have no derivatives
    operands: list[Any] = []
    for factor, axis in zip(factors, axes, strict=True):
        values = None if factor is None else factor[1]
        is_number = not isinstance(values, tuple) or axis is None
        operands += [[values] if isinstance(values, float) else values, -1 if is_number else axis]
    return _convert(x, x.dtype, target, *operands, read_threads("threads", threads))


# The operator.


def _run(x: torch.Tensor, *values: Any) -> torch.Tensor:
    call = _Call(*values)
    names = " ".join(f"a{axis}" for axis in range(x.ndim))
    result = reblock.rearrange(
        numbers(x, "x"),
        f"{names} -> {names}",
        dtype=call.dtype,
        scale=_along(call.scale, call.scale_axis),
        bias=_along(call.bias, call.bias_axis),
        threads=call.threads,
    )
    # NumPy gives an array without elements strides of its own.
    return tensor(result, call.dtype) if result.size else _make(x, *values)


def _along(values: Any, axis: int) -> Any:
    """Return a factor as the functions of patterns take it."""
    if values is None:
        return None
    return {f"a{axis}": values} if axis >= 0 else values[0]


def _make(x: torch.Tensor, *values: Any) -> torch.Tensor:
    """Make a tensor like the operator's result, whose elements have any values."""
    return torch.empty(x.shape, dtype=_Call(*values).dtype, device=x.device)


def _run_batches(
    _info: Any, in_dims: Sequence[int], x: torch.Tensor, *values: Any
) -> tuple[torch.Tensor, int]:
    """Run on all samples at once: the batch is one more axis."""
    call = _Call(*values)
    axes = {n: getattr(call, n) + (getattr(call, n) >= 0) for n in ("scale_axis", "bias_axis")}
    return _convert.custom(x.movedim(in_dims[0], 0), *call._replace(**axes)), 0


def _adjoint(gradient: torch.Tensor, _shape: Sequence[int], *values: Any) -> torch.Tensor:
    call = _Call(*values)
    back = call._replace(source=call.dtype, dtype=call.source, bias=None, bias_axis=-1)
    return _convert(gradient, *back)


_convert = define_operator(
    "convert",
    "ScalarType source, ScalarType dtype, float[]? scale, int scale_axis, float[]? bias,"
    " int bias_axis, int? threads",
    kernel=_run,
    make=_make,
    run_batches=_run_batches,
    adjoint=_adjoint,
    operands=_Call._fields,
)
