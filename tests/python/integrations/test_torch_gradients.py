# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of reblock.torch: the adjoints, and the networks that learn by them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from hypothesis import given

import reblock.torch
from calls import Call, any_call
from torch_calls import (
    MARKS,
    every_operator,
    every_rank,
    run,
    sample,
)

pytestmark = MARKS


@every_rank
def test_gradients(call: Call) -> None:
    x = torch.randn(call.input_shape, dtype=torch.float64, requires_grad=True)
    # Linear, and exact but for rounding: a step of any width finds the slope.
    assert torch.autograd.gradcheck(lambda x: run(call, x), x, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda x: run(call, x), x, fast_mode=True)


@every_operator
def test_gradients_of_complex_numbers(call: Call) -> None:
    x = torch.randn(call.input_shape, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: run(call, x), x, fast_mode=True)


@given(any_call())
def test_the_gradient_is_the_adjoint(call: Call) -> None:
    """<operator(x), y> == <x, gradient of y>, exactly, since the integers are small."""
    x = sample(call).requires_grad_()
    result = run(call, x)
    y = (torch.arange(result.numel(), dtype=torch.float64) % 7).reshape(call.output_shape)
    (gradient,) = torch.autograd.grad(result, x, y)
    assert gradient.shape == x.shape
    assert torch.sum(result * y) == torch.sum(x * gradient)


def test_a_network_learns_through_the_operators() -> None:
    """The same loss, step by step, as with the operators that PyTorch has."""

    def losses(shuffle: Callable[[torch.Tensor], torch.Tensor]) -> list[float]:
        torch.manual_seed(0)
        layer = torch.nn.Conv2d(1, 4, 3, padding=1)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        x, wanted = torch.rand(2, 1, 5, 5), torch.rand(2, 1, 10, 10)
        result = []
        for _ in range(5):
            loss = torch.nn.functional.mse_loss(shuffle(layer(x)), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            result.append(loss.item())
        return result

    ours = losses(lambda x: reblock.torch.depth_to_space(x, 2, order="CRD"))
    assert ours == losses(torch.nn.PixelShuffle(2))
    assert ours[-1] < ours[0]
