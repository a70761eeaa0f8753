# SPDX-License-Identifier: BSD-3-Clause
"""`rearrange` and `repeat` of `reblock.torch`."""

from __future__ import annotations  # docs/conf.py mocks torch, of which | makes no union

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

import reblock
from reblock._patterns import Axes, Use, lengths_in, named, refuse_out, shape_of, spelled
from reblock.torch._conversion import Conversion, of_pattern
from reblock.torch._operators import define_operator
from reblock.torch._tensors import bits, require_dense_on_the_cpu, tensor

_Int = int | np.integer[Any]
AxisFactor = float | Mapping[str, Any]


def rearrange(
    x: torch.Tensor | Sequence[torch.Tensor],
    pattern: str,
    /,
    *,
    dtype: torch.dtype | None = None,
    scale: AxisFactor | None = None,
    bias: AxisFactor | None = None,
    threads: _Int | None = None,
    **axes_lengths: _Int,
) -> torch.Tensor:
    """Split, reorder and join the axes of a tensor by a pattern in the language of einops.

    This is `reblock.rearrange`. The result is always a new tensor, never a view.

    Parameters
    ----------
    x : torch.Tensor or sequence of torch.Tensor
        On the CPU; any dtype and strides. Several tensors of one shape are stacked along a new
        first axis.
    pattern : str
        The axes of `x`, ``->``, the axes of the result, as in `reblock.rearrange`.
    dtype : torch.dtype, optional
        The dtype of the result: bool, integer or floating point. The default is that of `x`.
    scale, bias : float or {str: sequence of float}, optional
        Each element becomes ``cast(x * scale + bias, dtype)``, as in `reblock.rearrange`. They are
        constants, without gradients.
    threads : int, optional
        The largest number of threads that may move the bytes, at least 1. The default is that of
        `reblock.get_num_threads`, not that of PyTorch.
    **axes_lengths : int
        Lengths of axes of the pattern, by their names.

    Returns
    -------
    torch.Tensor
        Contiguous, of `dtype`, or else of the dtype of `x`.

    Raises
    ------
    ValueError
        As `reblock.rearrange`.
    TypeError
        As `reblock.rearrange`.
    NotImplementedError
        For a tensor that is sparse, quantized or on another device than the CPU.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> images = torch.zeros(8, 3, 224, 224)
    >>> reblock.torch.rearrange(images, "n c (h p) (w q) -> n (h w) (p q c)", p=16, q=16).shape
    torch.Size([8, 196, 768])
    """
    conversion = Conversion(dtype, scale, bias)
    return _apply("rearrange", x, pattern, conversion, axes_lengths, threads=threads)


def repeat(
    x: torch.Tensor | Sequence[torch.Tensor],
    pattern: str,
    /,
    *,
    dtype: torch.dtype | None = None,
    scale: AxisFactor | None = None,
    bias: AxisFactor | None = None,
    threads: _Int | None = None,
    **axes_lengths: _Int,
) -> torch.Tensor:
    """Rearrange the axes of a tensor and repeat its elements along new ones.

    This is `reblock.repeat`. Its gradient sums over the new axes.

    Parameters
    ----------
    x : torch.Tensor or sequence of torch.Tensor
        As in `rearrange`.
    pattern : str
        As in `reblock.repeat`.
    dtype, scale, bias
        As in `rearrange`.
    threads : int, optional
        As in `rearrange`.
    **axes_lengths : int
        Lengths of axes of the pattern, by their names; every new name must have one.

    Returns
    -------
    torch.Tensor
        Contiguous, of `dtype`, or else of the dtype of `x`.

    Raises
    ------
    ValueError
        As `reblock.repeat`.
    TypeError
        As `reblock.repeat`.
    NotImplementedError
        For a tensor that is sparse, quantized or on another device than the CPU.

    Examples
    --------
    >>> import torch
    >>> import reblock.torch
    >>> reblock.torch.repeat(torch.tensor([[1, 2]]), "h w -> (h 2) (w r)", r=2)
    tensor([[1, 1, 2, 2],
            [1, 1, 2, 2]])
    """
    conversion = Conversion(dtype, scale, bias)
    return _apply("repeat", x, pattern, conversion, axes_lengths, threads=threads)


def _apply(
    use: Use,
    x: torch.Tensor | Sequence[torch.Tensor],
    pattern: str,
    conversion: Conversion,
    axes_lengths: Mapping[str, _Int],
    *,
    threads: _Int | None,
) -> torch.Tensor:
    if isinstance(x, Sequence) and x and all(isinstance(each, torch.Tensor) for each in x):
        x = torch.stack(list(x))
    require_dense_on_the_cpu("x", x, f"einops.{use}")
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be a str, got {pattern!r} ({type(pattern).__name__})")
    refuse_out(use, axes_lengths)
    for name, value in {"threads": 1 if threads is None else threads, **axes_lengths}.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer | torch.SymInt):
            raise TypeError(f"{name} must be an int, got {value!r} ({type(value).__name__})")
    lengths = list(axes_lengths.values())
    moved = partial(_move, x, pattern, use, " ".join(axes_lengths), lengths, threads)
    if conversion:
        return of_pattern(use, x, conversion, pattern, moved, lengths=axes_lengths, threads=threads)
    return moved()


class _Call(NamedTuple):
    """The operator's arguments without the tensor."""

    pattern: str
    use: Use
    names: str  # with spaces between them: torch.jit.trace takes no list of str
    lengths: Sequence[int]  # of the axes that have these names
    threads: int | None

    @property
    def given(self) -> dict[str, Any]:
        return dict(zip(self.names.split(), self.lengths, strict=True))

    def resolved(self, shape: Sequence[int]) -> tuple[Axes, Sequence[int]]:
        """Return the axes of the pattern, and all their lengths, which may be symbols."""
        axes = Axes.of(self.pattern, self.use, len(shape))
        if any(isinstance(size, torch.SymInt) for size in (*shape, *self.lengths)):
            # What is wrong shows when the operator runs.
            return axes, axes.lengths(shape, self.given)
        return axes, lengths_in(self.pattern, self.use, shape, self.given)


def _make(x: torch.Tensor, *values: Any) -> torch.Tensor:
    """Make a tensor like the operator's result, whose elements have any values."""
    axes, lengths = _Call(*values).resolved(x.shape)
    return x.new_empty(shape_of(axes.right, lengths))


def _run(x: torch.Tensor, *values: Any) -> torch.Tensor:
    call = _Call(*values)
    result = getattr(reblock, call.use)(bits(x), call.pattern, threads=call.threads, **call.given)
    # NumPy gives an array without elements strides of its own.
    return tensor(result, x.dtype) if result.size else _make(x, *values)


def _adjoint(gradient: torch.Tensor, shape: Sequence[int], *values: Any) -> torch.Tensor:
    """Sum over the new axes, and move what is left back."""
    call = _Call(*values)
    axes, lengths = call.resolved(shape)
    groups = axes.right
    if axes.new:
        flat = [i for group in groups for i in group]
        split = gradient.reshape([lengths[i] for i in flat])
        gradient = split.sum([place for place, i in enumerate(flat) if i in axes.new])
        groups = tuple((i,) for i in flat if i not in axes.new)
    back = f"{spelled(groups)} -> {spelled(axes.left)}"
    kept = {f"a{i}": n for i, n in enumerate(lengths) if i not in axes.new}
    return _move(gradient, back, "rearrange", " ".join(kept), list(kept.values()), call.threads)


def _run_batches(
    _info: Any, in_dims: Sequence[int], x: torch.Tensor, *values: Any
) -> tuple[torch.Tensor, int]:
    """Run on all samples at once: the batch is one more axis."""
    call = _Call(*values)
    x = x.movedim(in_dims[0], 0)
    axes, lengths = call.resolved(x.shape[1:])
    left, right = axes.spelled().split("->")
    given = named(lengths)
    pattern = f"batch {left}-> batch {right}"
    moved = _move.custom(x, pattern, call.use, " ".join(given), list(given.values()), call.threads)
    return moved, 0


_move = define_operator(
    "rearrange",
    "str pattern, str use, str names, SymInt[] lengths, int? threads",
    kernel=_run,
    make=_make,
    run_batches=_run_batches,
    adjoint=_adjoint,
)
