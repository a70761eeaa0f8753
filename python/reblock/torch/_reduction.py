# SPDX-License-Identifier: BSD-3-Clause
"""Fold PyTorch's tensors with a reduction, weights or a dtype."""

from __future__ import annotations  # docs/conf.py mocks torch, of which | makes no union

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import reblock
from reblock._layouts import resolve_layouts, spatial
from reblock._reductions import window_weights
from reblock.torch._operators import WINDOW_PARAMETERS, run_on_batches
from reblock.torch._tensors import (
    is_plain,
    is_traced,
    numbers,
    numpy_dtype,
    require_constant,
    require_dense_on_the_cpu,
    tensor,
)

_PEER = "torch.nn.functional.fold (two spatial axes)"
_NAMES = ("reduction", "weights", "dtype")


def fold(
    plain: Callable[..., torch.Tensor],
    unfold: Callable[..., torch.Tensor],
    columns: torch.Tensor,
    output_sizes: Any,
    *,
    reduction: str,
    weights: Any,
    dtype: torch.dtype | None,
    **window: Any,
) -> torch.Tensor:
    """Fold plain sums by `plain`, and others by `reblock.fold`. `unfold` is the adjoint."""
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype must be a torch.dtype, got {dtype!r}")
    if reduction == "sum" and weights is None and dtype in (None, columns.dtype):
        return plain(columns, output_sizes, **window)
    require_dense_on_the_cpu("columns", columns, _PEER)
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        raise NotImplementedError(
            f"{_given(reduction, weights, dtype)} is not for compiled functions: exclude the call"
            " by torch.compiler.disable"
        )
    if columns.device.type == "meta":  # of the result, only shape and dtype
        return plain(columns.to(dtype or columns.dtype), output_sizes, **window)
    weights = _numbers_of(weights)
    how = {"reduction": reduction, "weights": weights, "dtype": dtype}
    if window["layout"] is not None or window["out_layout"] is not None:
        if window["channel_axis"] != 1:
            return plain(columns, output_sizes, **window)  # an error
        del window["channel_axis"]
    call = _Call(unfold, output_sizes, how, window)
    if is_plain(columns):
        return call.run(columns)
    target = columns.dtype if dtype is None else dtype
    if not (target.is_floating_point or target.is_complex):
        columns = columns.detach()  # whole numbers have no derivatives
    return call(columns)


def _given(*values: Any) -> str:
    """Return the name of the first value that is given. Weights may be an array."""
    are_given = (v is not None and not (isinstance(v, str) and v == "sum") for v in values)
    return next(name for name, is_given in zip(_NAMES, are_given, strict=True) if is_given)


def _numbers_of(weights: Any) -> Any:
    """Return the weights, or those of each axis, as arrays instead of tensors."""
    if isinstance(weights, (list, tuple)):
        return [_numbers_of(each) for each in weights]
    if isinstance(weights, torch.Tensor):
        require_constant("weights", weights)
        return numbers(weights, "weights")
    return weights


class _Call:
    """A call of fold, its derivative and its adjoint.

    `run` takes a tensor whose elements are in memory. All other methods take tensors that PyTorch
    records or maps over.
    """

    def __init__(
        self,
        unfold: Callable[..., torch.Tensor],
        output_sizes: Any,
        how: dict[str, Any],
        window: dict[str, Any],
    ) -> None:
        self.unfold, self.output_sizes, self.how, self.window = unfold, output_sizes, how, window

    def __call__(self, columns: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = _Reduced.apply(columns, self)
        return result

    def run(self, columns: torch.Tensor) -> torch.Tensor:
        how = dict(self.how)
        dtype = how["dtype"] or columns.dtype
        if how["dtype"] is not None:
            how["dtype"] = numpy_dtype(dtype, "dtype")
        return tensor(
            reblock.fold(numbers(columns), self.output_sizes, **self.window, **how), dtype
        )

    def having(self, **how: Any) -> _Call:
        """Return the call with another reduction, weights or dtype."""
        return _Call(self.unfold, self.output_sizes, {**self.how, **how}, self.window)

    def run_on_batches(self, columns: torch.Tensor, axis: int) -> tuple[torch.Tensor, int | None]:
        """Run on what torch.vmap maps over along an axis of the columns."""

        def run(columns: torch.Tensor, layouts: tuple[str, str] | None) -> torch.Tensor:
            window = self.window
            if layouts is not None:
                window = {**window, "layout": layouts[0], "out_layout": layouts[1]}
            return _Call(self.unfold, self.output_sizes, self.how, window)(columns)

        return run_on_batches(run, columns, axis, self.layouts())

    def layouts(self) -> tuple[str, str] | None:
        """Return both layouts, or None for columns and images with all axes in their order."""
        layout, out_layout = self.window.get("layout"), self.window.get("out_layout")
        if out_layout is not None:
            axes = len(spatial(out_layout))
        else:
            sizes = (self.output_sizes, *(self.window[name] for name in WINDOW_PARAMETERS))
            axes = next((len(size) for size in sizes if np.ndim(size)), 1)
        both: tuple[str, str] | None = resolve_layouts("fold", layout, out_layout, axes)
        return both

    @property
    def layout(self) -> str:
        """The layout of the columns."""
        return (self.layouts() or ("NCL", ""))[0]

    def rows(self, shape: torch.Size) -> torch.Tensor:
        """Return the weight of each row of columns of this shape, in their layout."""
        product = window_weights(self.how["weights"])
        flat = torch.from_numpy(np.ascontiguousarray(product)).flatten()
        channels = shape[self.layout.index("C")] // len(flat)
        is_fast = self.window.get("order") not in ("CRD", 1, reblock.DepthSpaceOrder(1))
        rows = flat.repeat_interleave(channels) if is_fast else flat.repeat(channels)
        return rows.reshape([-1 if letter == "C" else 1 for letter in self.layout])

    def divisor(self, shape: torch.Size, dtype: torch.dtype) -> torch.Tensor:
        """Return the divisors of a mean of columns of this shape and dtype, as an image."""
        ones = torch.ones((), dtype=torch.float64).expand(shape)
        # The sum of weights has no channels, and is computed for each: as large as the image.
        total = self.having(reduction="sum", dtype=None)(ones)
        # Where the weights add up to less, the mean is 0, as in `reblock.fold`.
        is_half = (self.how["dtype"] or dtype) in (torch.float16, torch.bfloat16)
        least = 2.0 ** (-100 if is_half else -800)
        return torch.where(total < least, torch.inf, total)

    @property
    def selects(self) -> bool:
        """Tell whether each element of the result is one term."""
        return self.how["reduction"] in ("max", "min")

    def unfolded(self, image: torch.Tensor) -> torch.Tensor:
        """Return for each term the element of an image that it belongs to."""
        window = dict(self.window)
        layouts = self.layouts()
        if layouts is not None:
            window["out_layout"], window["layout"] = layouts
        return self.unfold(image, **window)

    def chosen(self, columns: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
        """Tell which terms are the results of a maximum or minimum: the first of equal terms."""
        terms = columns.to(result.dtype)
        results = self.unfolded(result)
        are_equal = (terms == results) | (terms.isnan() & results.isnan())
        layout = self.layout
        rows, windows = layout.index("C"), layout.index("L")
        places = torch.arange(columns.shape[rows] * columns.shape[windows])
        places = places.reshape(columns.shape[rows], columns.shape[windows])
        if rows > windows:
            places = places.T
        if "N" in layout:
            places = places.unsqueeze(layout.index("N"))
        places = torch.where(are_equal, places, torch.iinfo(torch.int64).max)
        first = self.having(reduction="min", dtype=None)(places)
        return are_equal & (places == self.unfolded(first))

    def derivative(self, tangent: torch.Tensor, chosen: torch.Tensor | None) -> torch.Tensor:
        """Return the derivative in a direction. All but a maximum or minimum are linear."""
        if chosen is None:
            return self(tangent)
        result: torch.Tensor = _Selected.apply(tangent, chosen, self)
        return result

    def adjoint(
        self,
        gradient: torch.Tensor,
        shape: torch.Size,
        dtype: torch.dtype,
        chosen: torch.Tensor | None,
    ) -> torch.Tensor:
        """Return the gradient of columns of this shape and dtype."""
        if self.how["reduction"] == "mean":
            gradient = gradient / self.divisor(shape, dtype).to(gradient.dtype)
        result = self.unfolded(gradient)
        if self.how["weights"] is not None:
            result = result * self.rows(shape).to(gradient.real.dtype)
        if chosen is not None:
            result = torch.where(chosen, result, 0)
        if result.is_complex() and not dtype.is_complex:
            result = result.real
        return result.to(dtype)


class _Reduced(torch.autograd.Function):  # type: ignore[misc] # the types of torch are left out
    @staticmethod
    def forward(columns: torch.Tensor, call: _Call) -> torch.Tensor:
        if is_traced(columns):  # the result would be a constant of the graph
            raise NotImplementedError(
                "fold with a reduction, weights or a dtype is not for functions that are traced by"
                " make_fx or torch.func.linearize, nor for subclasses such as fake tensors"
            )
        return call.run(columns)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, _Call], output: torch.Tensor) -> None:
        columns, ctx.call = inputs
        # Only the form of the columns matters for a sum, not their elements.
        ctx.shape, ctx.dtype = columns.shape, columns.dtype
        if ctx.call.selects:
            ctx.save_for_backward(columns, output)
            ctx.save_for_forward(columns, output)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.call.adjoint(gradient, ctx.shape, ctx.dtype, _chosen(ctx)), None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, _: None) -> torch.Tensor:
        result: torch.Tensor = ctx.call.derivative(tangent, _chosen(ctx))
        return result

    @staticmethod
    def vmap(
        _info: Any, in_dims: tuple[int, None], columns: torch.Tensor, call: _Call
    ) -> tuple[torch.Tensor, int | None]:
        return call.run_on_batches(columns, in_dims[0])


class _Selected(torch.autograd.Function):  # type: ignore[misc] # as above
    """Select the terms that a maximum or minimum has chosen: its derivative, which is linear.

    It is a function of its own because PyTorch records no operators in `_Reduced.jvp`: derivatives
    of derivatives in forward mode would be zero.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(columns: torch.Tensor, chosen: torch.Tensor, call: _Call) -> torch.Tensor:
        return call.having(reduction="sum")(torch.where(chosen, columns, 0))

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[torch.Tensor, torch.Tensor, _Call], _output: torch.Tensor
    ) -> None:
        columns, chosen, ctx.call = inputs
        ctx.shape, ctx.dtype = columns.shape, columns.dtype
        ctx.save_for_backward(chosen)
        ctx.save_for_forward(chosen)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (chosen,) = ctx.saved_tensors
        return ctx.call.adjoint(gradient, ctx.shape, ctx.dtype, chosen), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor, _chosen: None, _call: None) -> torch.Tensor:
        result: torch.Tensor = _Selected.apply(tangent, *ctx.saved_tensors, ctx.call)
        return result


def _chosen(ctx: Any) -> torch.Tensor | None:
    """Tell which terms a maximum or minimum has chosen, without a gradient."""
    if not ctx.call.selects:
        return None
    columns, result = (saved.detach() for saved in ctx.saved_tensors)
    chosen: torch.Tensor = ctx.call.chosen(columns, result)
    return chosen
