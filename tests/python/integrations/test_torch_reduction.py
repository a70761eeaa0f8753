# SPDX-License-Identifier: BSD-3-Clause
"""fold of PyTorch's tensors with a reduction, weights or a dtype: as of arrays, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import reblock
import reblock.torch

HANN = [np.hanning(6)[1:-1]] * 2
WINDOW: dict[str, Any] = {"strides": (2, 3), "start_padding": (1, 0)}
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"channel_axis": -1},
    {"layout": "NLC", "out_layout": "NHWC", "order": "DCR"},
    {"padding_mode": "reflect"},
]


def columns_of(layout: dict[str, Any], dtype: torch.dtype = torch.float64) -> torch.Tensor:
    shape = reblock.unfold_shape((2, 3, 9, 13), 4, **WINDOW)
    x = torch.linspace(-1, 1, int(np.prod(shape)), dtype=torch.float64).reshape(shape)
    if "layout" in layout:
        x = x.transpose(1, 2).contiguous()
    return (x * x * 7 + x).to(dtype)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {"reduction": "mean"},
        {"reduction": "mean", "weights": HANN},
        {"weights": np.outer(*HANN)},
        {"reduction": "max"},
        {"reduction": "min"},
    ],
    ids=["mean", "blend", "weights", "max", "min"],
)
def test_results_are_those_of_arrays(layout: dict[str, Any], options: dict[str, Any]) -> None:
    for dtype in (torch.float32, torch.float64, torch.int32, torch.uint8):
        x = columns_of(layout, dtype)
        actual = reblock.torch.fold(x, (9, 13), 4, **WINDOW, **layout, **options)
        expected = reblock.fold(x.numpy(), (9, 13), 4, **WINDOW, **layout, **options)
        assert actual.dtype == dtype
        assert np.array_equal(actual.numpy(), expected)


def test_a_dtype_is_that_of_the_result() -> None:
    x = columns_of({}, torch.uint8)
    result = reblock.torch.fold(x, (9, 13), 4, **WINDOW, dtype=torch.float32)
    assert torch.equal(result, reblock.torch.fold(x.float(), (9, 13), 4, **WINDOW))
    mean = reblock.torch.fold(x, (9, 13), 4, **WINDOW, dtype=torch.bfloat16, reduction="mean")
    assert mean.dtype == torch.bfloat16


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize(
    "options",
    [{"reduction": "mean"}, {"reduction": "mean", "weights": HANN}, {"weights": HANN}],
    ids=["mean", "blend", "weights"],
)
def test_gradients(layout: dict[str, Any], options: dict[str, Any]) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.fold(x, (9, 13), 4, **WINDOW, **layout, **options)

    x = columns_of(layout).requires_grad_()
    assert torch.autograd.gradcheck(run, x, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, x, fast_mode=True)


def test_the_gradient_of_a_converted_mean_has_the_dtype_of_the_columns() -> None:
    x = columns_of({}, torch.float32).requires_grad_()
    reblock.torch.fold(
        x, (9, 13), 4, **WINDOW, reduction="mean", dtype=torch.float64
    ).sum().backward()
    assert x.grad is not None
    assert x.grad.dtype == torch.float32


@pytest.mark.parametrize("reduction", ["max", "min"])
def test_what_has_no_gradient_is_refused(reduction: Any) -> None:
    x = columns_of({}).requires_grad_()
    with pytest.raises(NotImplementedError, match=f'reduction="{reduction}" has no gradient'):
        reblock.torch.fold(x, (9, 13), 4, **WINDOW, reduction=reduction)
    with torch.no_grad():
        reblock.torch.fold(x, (9, 13), 4, **WINDOW, reduction=reduction)


def test_compiled_functions_are_refused() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.fold(x, (9, 13), 4, **WINDOW, reduction="mean")

    with pytest.raises(Exception, match="reduction is not for compiled functions"):
        torch.compile(run, backend="eager", fullgraph=True)(columns_of({}))


def test_a_numpy_dtype_is_refused() -> None:
    with pytest.raises(TypeError, match=r"dtype must be a torch\.dtype"):
        reblock.torch.fold(columns_of({}), (9, 13), 4, **WINDOW, dtype=np.float32)
