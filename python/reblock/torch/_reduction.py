# SPDX-License-Identifier: BSD-3-Clause
"""Fold PyTorch's tensors with a reduction, weights or a dtype."""

from __future__ import annotations  # docs/conf.py mocks torch, of which | makes no union

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import reblock
from reblock._layouts import resolve_layouts
from reblock._reductions import window_weights
from reblock.torch._tensors import numbers, require_dense_on_the_cpu, tensor

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
    result: torch.Tensor = _Reduced.apply(columns, call)
    return result


def _given(*values: Any) -> str:
    return next(n for n, v in zip(_NAMES, values, strict=True) if v not in (None, "sum"))


def _numbers_of(weights: Any) -> Any:
    """Return the weights, or those of each axis, as arrays instead of tensors."""
    if isinstance(weights, (list, tuple)):
        return [_numbers_of(each) for each in weights]
    if isinstance(weights, torch.Tensor):
        return numbers(weights, "weights")
    return weights


class _Call:
    """A call of fold on arrays, and its adjoint on tensors."""

    def __init__(
        self,
        unfold: Callable[..., torch.Tensor],
        output_sizes: Any,
        how: dict[str, Any],
        window: dict[str, Any],
    ) -> None:
        self.unfold, self.output_sizes, self.how, self.window = unfold, output_sizes, how, window

    def run(self, columns: torch.Tensor) -> torch.Tensor:
        dtype = self.how["dtype"] or columns.dtype
        how = self.how
        if self.how["dtype"] is not None:
            how = {**how, "dtype": numbers(torch.empty(0, dtype=dtype)).dtype}
        return tensor(
            reblock.fold(numbers(columns), self.output_sizes, **self.window, **how), dtype
        )

    def rows(self, columns: torch.Tensor) -> torch.Tensor:
        """Return the weight of each row of the columns, in their layout."""
        layout, _ = self.layouts(columns)
        product = window_weights(self.how["weights"])
        flat = torch.from_numpy(np.ascontiguousarray(product)).flatten()
        channels = columns.shape[layout.index("C")] // len(flat)
        is_fast = self.window.get("order") not in ("CRD", 1, reblock.DepthSpaceOrder(1))
        rows = flat.repeat_interleave(channels) if is_fast else flat.repeat(channels)
        shape = [-1 if letter == "C" else 1 for letter in layout]
        return rows.reshape(shape)

    def layouts(self, columns: torch.Tensor) -> tuple[str, str]:
        axes = np.size(self.output_sizes)
        both = resolve_layouts(
            "fold", self.window.get("layout"), self.window.get("out_layout"), axes
        )
        return both or ("NCL"[-columns.ndim :], "")

    def divisor(self, columns: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
        """Return the divisors of a mean, as an image of one channel."""
        ones = torch.ones((), dtype=torch.float64).expand(columns.shape)
        how = {**self.how, "reduction": "sum", "dtype": None}
        counts = _Call(self.unfold, self.output_sizes, how, self.window)
        # The sum of weights has no channels, and is computed for each: as large as the image.
        total = counts.run(ones)
        # Where the weights add up to less, the mean is 0, as in `reblock.fold`.
        is_half = (self.how["dtype"] or columns.dtype) in (torch.float16, torch.bfloat16)
        least = 2.0 ** (-100 if is_half else -800)
        return torch.where(total < least, torch.inf, total).to(gradient.dtype)

    @property
    def selects(self) -> bool:
        """Tell whether each element of the result is one term."""
        return self.how["reduction"] in ("max", "min")

    def unfolded(self, columns: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        """Return for each term the element of an image that it belongs to."""
        window = dict(self.window)
        layout, out_layout = window.pop("layout", None), window.pop("out_layout", None)
        if layout is not None or out_layout is not None:
            layout, out_layout = self.layouts(columns)
            window |= {"layout": out_layout, "out_layout": layout}
        return self.unfold(image, **window)

    def chosen(self, columns: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
        """Tell which terms are the results of a maximum or minimum: the first of equal terms."""
        terms = columns.to(result.dtype)
        results = self.unfolded(columns, result)
        are_equal = (terms == results) | (terms.isnan() & results.isnan())
        layout, _ = self.layouts(columns)
        rows, windows = layout.index("C"), layout.index("L")
        places = torch.arange(columns.shape[rows] * columns.shape[windows])
        places = places.reshape(columns.shape[rows], columns.shape[windows])
        if rows > windows:
            places = places.T
        if "N" in layout:
            places = places.unsqueeze(layout.index("N"))
        places = torch.where(are_equal, places, torch.iinfo(torch.int64).max)
        how = {"reduction": "min", "weights": None, "dtype": None}
        first = _Call(self.unfold, self.output_sizes, how, self.window).run(places)
        return are_equal & (places == self.unfolded(columns, first))

    def adjoint(
        self, columns: torch.Tensor, gradient: torch.Tensor, chosen: torch.Tensor | None = None
    ) -> torch.Tensor:
        if self.how["reduction"] == "mean":
            gradient = gradient / self.divisor(columns, gradient)
        result = self.unfolded(columns, gradient)
        if self.how["weights"] is not None:
            result = result * self.rows(columns).to(gradient.real.dtype)
        if chosen is not None:
            result = torch.where(chosen, result, 0)
        return result.to(columns.dtype)


class _Reduced(torch.autograd.Function):  # type: ignore[misc] # the types of torch are left out
    @staticmethod
    def forward(columns: torch.Tensor, call: _Call) -> torch.Tensor:
        return call.run(columns)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, _Call], output: torch.Tensor) -> None:
        columns, ctx.call = inputs
        # Only the form of the columns matters for a sum, not their elements.
        ctx.columns = columns.detach().new_empty(()).expand(columns.shape)
        if ctx.call.selects:
            ctx.save_for_backward(columns, output)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        chosen = None
        if ctx.call.selects:
            columns, result = (saved.detach() for saved in ctx.saved_tensors)
            chosen = ctx.call.chosen(columns, result)
        return ctx.call.adjoint(ctx.columns, gradient, chosen), None
