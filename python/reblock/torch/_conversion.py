# SPDX-License-Identifier: BSD-3-Clause
"""Apply dtype, scale and bias for the functions in `reblock.torch`.

A plain call converts while it moves. If PyTorch records the call, for gradients, transforms or the
compiler, PyTorch's operators do the same arithmetic before or after the move.
"""

from __future__ import annotations  # docs/conf.py mocks torch, of which | makes no union

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

import reblock
from reblock._layouts import resolve_layouts
from reblock._patterns import Axes, Use
from reblock.torch._tensors import is_plain, numbers, require_dense_on_the_cpu, tensor

Factor: TypeAlias = "float | Sequence[float] | npt.NDArray[Any] | torch.Tensor"

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

    def checked(self, x: object, peer: str) -> dict[str, Any]:
        """Return the arguments for the functions of `reblock`, or raise for invalid ones."""
        require_dense_on_the_cpu("x", x, peer)
        if not isinstance(self.dtype, torch.dtype | None):
            raise TypeError(
                f"dtype must be a torch.dtype, got {self.dtype!r} ({type(self.dtype).__name__})"
            )
        for name, value in (("scale", self.scale), ("bias", self.bias)):
            if isinstance(value, torch.Tensor) and value.requires_grad:
                raise ValueError(f"{name} must not require gradients: it is a constant")
        return {"dtype": self.dtype, "scale": _numbers(self.scale), "bias": _numbers(self.bias)}

    def result_dtype(self, x: torch.Tensor) -> torch.dtype:
        return x.dtype if self.dtype is None else self.dtype


def of_channels(
    name: str,
    x: torch.Tensor,
    conversion: Conversion,
    arguments: Mapping[str, Any],
    move: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Call depth_to_space, space_to_depth or unfold. `move` is the call without a conversion."""
    keywords = conversion.checked(x, f"torch.nn.functional.{_PEERS[name]}")
    conversion = Conversion(**keywords)
    if is_plain(x):
        return _plain(name, x, (), {**arguments, **keywords})
    result = move(x) if name == "depth_to_space" else x
    names = arguments["layout"], arguments["out_layout"]
    axis = arguments["channel_axis"]
    if names != (None, None):
        axis = _channels(name, *names, x.ndim - 2)

    def shaped(values: torch.Tensor) -> torch.Tensor:
        shape = [1] * result.ndim
        shape[axis] = -1
        return values.reshape(shape)

    converted = _converted(result, conversion, shaped, shaped)
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
    keywords = conversion.checked(x, f"einops.{use}")
    conversion = Conversion(**keywords)
    if is_plain(x):
        return _plain(use, x, (pattern,), {**lengths, **keywords, "threads": threads})
    axes = Axes(*_axes(pattern, use, x.ndim))
    extents = axes.lengths(x.shape, lengths)  # what is wrong shows when the elements are moved
    flat = [i for group in axes.right for i in group]
    moved = move()
    split = moved.reshape([extents[i] for i in flat])

    def along(factor: Any) -> Callable[[torch.Tensor], torch.Tensor]:
        axis = next(iter(factor)) if isinstance(factor, Mapping) else None
        if axis is not None and axis not in axes.names:
            raise ValueError(
                f"scale and bias must have the name of an axis of pattern {pattern!r}, got {axis!r}"
            )

        def shaped(values: torch.Tensor) -> torch.Tensor:
            place = flat.index(axes.names.index(axis)) if axis is not None else 0
            return values.reshape([-1 if i == place else 1 for i in range(len(flat))])

        return shaped

    result = _converted(split, conversion, along(conversion.scale), along(conversion.bias))
    return result.reshape(moved.shape)


# The compiler does not look into the functions of the core: for it, these are constants.


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator] # the types of torch are left out
def _channels(name: str, layout: str | None, out_layout: str | None, axes: int) -> int:
    """Return the axis of the channels, in the image or the space tensor."""
    layouts = resolve_layouts(name, layout, out_layout, axes) or ("", "")
    return layouts[1 if name == "depth_to_space" else 0].find("C")


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator] # the types of torch are left out
def _axes(pattern: str, use: Use, rank: int) -> tuple[Any, ...]:
    axes = Axes.of(pattern, use, rank)
    return axes.names, axes.left, axes.right


def _plain(
    name: str, x: torch.Tensor, positional: Sequence[Any], arguments: Mapping[str, Any]
) -> torch.Tensor:
    given = dict(arguments)
    if given.get("layout") is not None or given.get("out_layout") is not None:
        given.pop("channel_axis", None)
    result = getattr(reblock, name)(numbers(x, "x"), *positional, **given)
    dtype = x.dtype if given["dtype"] is None else given["dtype"]
    if result.size == 0:  # NumPy gives an array without elements strides of its own
        return torch.empty(result.shape, dtype=dtype)
    return tensor(result, dtype)


def _numbers(factor: Any) -> Any:
    """Return numbers of Python. A compiled function treats them as constants."""
    if isinstance(factor, Mapping):
        return {name: _numbers(values) for name, values in factor.items()}
    return factor.tolist() if isinstance(factor, torch.Tensor | np.ndarray | np.generic) else factor


def _values(factor: Any, kind: torch.dtype) -> torch.Tensor:
    if isinstance(factor, Mapping):
        factor = next(iter(factor.values()))
    values = torch.as_tensor(factor, dtype=torch.float64)
    if not all(map(math.isfinite, [factor] if isinstance(factor, int | float) else factor)):
        raise ValueError(f"scale and bias must be finite, got {factor}")
    return values.to(kind)


def _converted(
    x: torch.Tensor,
    conversion: Conversion,
    scale_shape: Callable[[torch.Tensor], torch.Tensor],
    bias_shape: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Return cast(x * scale + bias), by PyTorch's operators."""
    target = conversion.result_dtype(x)
    wide = (torch.float64, torch.int32, torch.int64, torch.uint32, torch.uint64)
    kind = torch.float64 if x.dtype in wide or target in wide else torch.float32
    whole = not (x.dtype.is_floating_point or target.is_floating_point)
    if conversion.scale is None and conversion.bias is None and whole:
        return x.to(target)
    value = x.to(kind)
    if conversion.scale is not None:
        values = _values(conversion.scale, kind)
        value = value * (scale_shape(values) if values.ndim else values)
    if conversion.bias is not None:
        values = _values(conversion.bias, kind)
        value = value + (bias_shape(values) if values.ndim else values)
    if target.is_floating_point or target == torch.bool:
        return value.to(target)
    limits = torch.iinfo(target)
    return (
        value.round()
        .nan_to_num(0.0, float(limits.max), float(limits.min))
        .clamp(limits.min, limits.max)
        .to(target)
    )
