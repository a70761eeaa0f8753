# SPDX-License-Identifier: BSD-3-Clause
"""dtype, scale and bias of `reblock.torch`: those of `reblock`, with gradients and transforms."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import reblock
import reblock.torch as rt

SCALE, BIAS = [0.25, 0.5, 2.0], [1.0, -3.0, 0.125]
IMAGES = torch.arange(2 * 3 * 8 * 8, dtype=torch.uint8).reshape(2, 3, 8, 8)
CONVERSION: dict[str, Any] = {"scale": SCALE, "bias": BIAS}

Call = Callable[..., torch.Tensor]
CALLS: dict[str, tuple[Call, Callable[..., Any], tuple[int, ...]]] = {
    "space_to_depth": (
        lambda x, **k: rt.space_to_depth(x, 2, **k),
        lambda x, **k: reblock.space_to_depth(x, 2, **k),
        (2, 3, 8, 8),
    ),
    "depth_to_space": (
        lambda x, **k: rt.depth_to_space(x, 2, layout="NHWC", **k),
        lambda x, **k: reblock.depth_to_space(x, 2, layout="NHWC", **k),
        (2, 4, 4, 12),
    ),
    "unfold": (
        lambda x, **k: rt.unfold(x, 3, start_padding=2, out_layout="NLC", **k),
        lambda x, **k: reblock.unfold(x, 3, start_padding=2, out_layout="NLC", **k),
        (2, 3, 8, 8),
    ),
    "rearrange": (
        lambda x, **k: rt.rearrange(x, "n c (h p) w -> (n h) (p w c)", p=2, **of_axis(k)),
        lambda x, **k: reblock.rearrange(x, "n c (h p) w -> (n h) (p w c)", p=2, **of_axis(k)),
        (2, 3, 8, 8),
    ),
    "repeat": (
        lambda x, **k: rt.repeat(x, "n c h w -> n h 2 (w c)", **of_axis(k)),
        lambda x, **k: reblock.repeat(x, "n c h w -> n h 2 (w c)", **of_axis(k)),
        (2, 3, 8, 8),
    ),
}
every_call = pytest.mark.parametrize("name", CALLS)


def of_axis(conversion: dict[str, Any]) -> dict[str, Any]:
    return {k: {"c": v} if isinstance(v, list) else v for k, v in conversion.items()}


def pixels(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(IMAGES.numel()).reshape(shape).remainder(251).to(dtype)


@every_call
@pytest.mark.parametrize("source", [torch.uint8, torch.float32, torch.bfloat16, torch.int64])
@pytest.mark.parametrize(
    "target", [torch.float32, torch.bfloat16, torch.uint8, torch.float64, None]
)
def test_a_call_converts_as_reblock_does(
    name: str, source: torch.dtype, target: torch.dtype | None
) -> None:
    call, expected, shape = CALLS[name]
    x = pixels(shape, source)
    result = call(x, dtype=target, **CONVERSION)
    assert result.dtype == (target or source)
    assert result.is_contiguous()
    array = x.view(torch.int16).numpy().view("bfloat16") if source == torch.bfloat16 else x.numpy()
    reference = expected(array, dtype=target or source, **CONVERSION)
    numbers = result.to(torch.float64).numpy()
    assert np.array_equal(numbers, reference.astype(np.float64))


@every_call
@pytest.mark.parametrize("target", [torch.float32, torch.bfloat16, torch.uint8])
def test_recorded_calls_give_the_same(name: str, target: torch.dtype) -> None:
    call, _, shape = CALLS[name]
    x = pixels(shape, torch.float32)
    expected = call(x, dtype=target, **CONVERSION)
    recorded = call(x.clone().requires_grad_(), dtype=target, **CONVERSION)
    assert torch.equal(recorded, expected)
    each = torch.vmap(lambda one: call(one[None], dtype=target, **CONVERSION)[0])
    if name != "rearrange":  # which joins the batch with another axis
        assert torch.equal(each(x), expected)


@every_call
def test_gradients(name: str) -> None:
    call, _, shape = CALLS[name]
    x = torch.rand(shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: call(v, **CONVERSION), (x,))
    y = x.detach().float().requires_grad_()
    call(y, dtype=torch.bfloat16, scale=3).sum().backward()
    assert y.grad is not None
    assert y.grad.dtype == torch.float32


@every_call
def test_compiled_functions(name: str) -> None:
    call, _, shape = CALLS[name]
    x = pixels(shape, torch.uint8)
    compiled = torch.compile(
        lambda v: call(v, dtype=torch.float32, **CONVERSION), backend="aot_eager", fullgraph=True
    )
    assert torch.equal(compiled(x), call(x, dtype=torch.float32, **CONVERSION))


# The code generator of PyTorch makes use of it itself.
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
def test_code_is_generated_around_patterns() -> None:
    """Inductor compiles what PyTorch's operators do, and calls the operator for the moves."""

    def network_input(v: torch.Tensor) -> torch.Tensor:
        factors = of_axis(CONVERSION)
        planes = rt.rearrange(v, "n h w c -> n c h w", dtype=torch.float32, **factors)
        return rt.rearrange(planes + 1, "n c (h p) w -> n h (p c) w", p=2)

    x = pixels((2, 8, 8, 3), torch.uint8)
    torch.compiler.reset()
    compiled = torch.compile(network_input, fullgraph=True)
    assert torch.equal(compiled(x), network_input(x))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dtype": np.float32}, TypeError, "dtype must be a torch.dtype, got <class"),
        ({"dtype": "float32"}, TypeError, "dtype must be a torch.dtype, got 'float32' (str)"),
        (
            {"scale": [1, 2]},
            ValueError,
            "scale must be a number, or one for each of the 3 channels",
        ),
        ({"bias": torch.inf}, ValueError, "must be finite, got inf"),
        (
            {"scale": torch.ones(3, requires_grad=True)},
            ValueError,
            "scale must not require",
        ),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        rt.space_to_depth(IMAGES, 2, **arguments)


def test_factors_may_be_tensors() -> None:
    expected = rt.unfold(IMAGES, 2, dtype=torch.float32, **CONVERSION)
    result = rt.unfold(
        IMAGES, 2, dtype=torch.float32, scale=torch.tensor(SCALE), bias=np.array(BIAS)
    )
    assert torch.equal(result, expected)
