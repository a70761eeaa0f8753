# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch knows of the operators: compile, export, trace, vmap, torch.func, forward mode."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from hypothesis import given
from torch.autograd import forward_ad

import reblock.torch
from calls import Call, any_call
from torch_calls import (
    CHANNELS_LAST,
    MARKS,
    OPERATORS,
    every_operator,
    every_rank,
    operands,
    run,
    sample,
)

pytestmark = MARKS


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8], ids=str)
@every_rank
def test_the_operators_are_what_they_say(call: Call, dtype: torch.dtype) -> None:
    """No alias, no mutation, the right fake results, gradients that can be traced."""
    operator = getattr(torch.ops.reblock, call.operator).default
    x = sample(call, dtype).requires_grad_(dtype.is_floating_point)
    torch.library.opcheck(operator, (x, *operands(call)))
    if x.ndim in CHANNELS_LAST:
        last = x.detach().to(memory_format=CHANNELS_LAST[x.ndim])
        torch.library.opcheck(operator, (last, *operands(call)))


@given(any_call())
def test_fake_results_are_like_the_real_ones(call: Call) -> None:
    fake = run(call, torch.empty(call.input_shape, device="meta"))
    assert fake.device.type == "meta"
    assert fake.shape == call.output_shape
    assert fake.stride() == run(call, sample(call, torch.float32)).stride()


@every_rank
def test_compiled_without_breaks_for_any_extents(call: Call) -> None:
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x: run(call, x * 2) + 1, fullgraph=True, dynamic=True, backend="aot_eager"
    )
    x = sample(call)
    for batch in (x, torch.cat([x, x, x])):
        assert torch.equal(compiled(batch), run(call, batch * 2) + 1)


def test_compiled_with_every_extent_a_symbol() -> None:
    """By the formulas for symbols, there and back; the gradient goes through both."""

    def there_and_back(x: torch.Tensor) -> torch.Tensor:
        window: dict[str, Any] = {"window_sizes": 3, "strides": 2, "end_padding": (0, 2)}
        columns = reblock.torch.unfold(x, **window, channel_axis=-1)
        image = reblock.torch.fold(columns, x.shape[1:-1], **window)
        space = reblock.torch.depth_to_space(image, (2, 1))
        return reblock.torch.space_to_depth(space, (1, 2), order="CRD")

    torch.compiler.reset()
    compiled = torch.compile(there_and_back, fullgraph=True, dynamic=True, backend="aot_eager")
    for shape in ((2, 6, 8, 2), (3, 5, 4, 4), (1, 9, 10, 6)):
        x = torch.randn(shape, requires_grad=True)
        expected = there_and_back(x)
        actual = compiled(x)
        assert torch.equal(actual, expected)
        assert actual.stride() == expected.stride()
        ours, theirs = (torch.autograd.grad(y.square().sum(), x) for y in (actual, expected))
        assert torch.equal(*ours, *theirs)


def test_compiled_to_machine_code() -> None:
    torch.compiler.reset()
    x = torch.randn(1, 8, 4, 4)

    def f(x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.depth_to_space(torch.relu(x), 2).mul(2)

    assert torch.equal(torch.compile(f, fullgraph=True)(x), f(x))


class Upscale(torch.nn.Module):  # type: ignore[misc] # the types of torch are left out
    """A module to export."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        image = reblock.torch.depth_to_space(x, 2, order="CRD")
        return reblock.torch.unfold(image, 3, strides=2)


def test_exported_with_extents_that_vary() -> None:
    dynamic = {
        0: torch.export.Dim("n"),
        2: torch.export.Dim("h", min=2),
        3: torch.export.Dim("w", min=2),
    }
    program = torch.export.export(Upscale(), (torch.randn(2, 8, 4, 5),), dynamic_shapes=(dynamic,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    module = torch.export.load(file).module()
    for shape in ((2, 8, 4, 5), (3, 8, 7, 2)):
        x = torch.randn(shape)
        assert torch.equal(module(x), Upscale()(x))


class Windows(torch.nn.Module):  # type: ignore[misc] # as above
    """A module to trace."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.unfold(x * 2, 3, strides=2)


def test_traced_saved_and_loaded() -> None:
    x = torch.randn(1, 2, 7, 5)
    traced = torch.jit.trace(Windows(), (x,))
    assert "reblock::unfold" in str(traced.graph)
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    other = torch.randn(3, 2, 6, 8)
    assert torch.equal(torch.jit.load(file)(other), Windows()(other))


def test_traced_by_torch_fx() -> None:
    traced = torch.fx.symbolic_trace(Windows())
    assert reblock.torch.unfold in [node.target for node in traced.graph.nodes]
    x = torch.randn(1, 2, 7, 5)
    assert torch.equal(traced(x), Windows()(x))


def test_a_script_is_refused_in_one_line() -> None:
    for name in OPERATORS:
        wanted = f"^TorchScript error: reblock.torch.{name} is not supported: use torch.compile.*$"
        with pytest.raises(RuntimeError, match=wanted):
            torch.jit.script(getattr(reblock.torch, name))
    with pytest.raises(RuntimeError, match=r"^TorchScript error: reblock.torch.unfold .*export$"):
        torch.jit.script(Windows())


@every_rank
def test_mapped_over_another_axis(call: Call) -> None:
    samples = [sample(call, seed=seed) for seed in range(3)]
    expected = torch.stack([run(call, x) for x in samples])
    for axis in range(-1, len(call.input_shape)):
        mapped = torch.vmap(lambda x: run(call, x), in_dims=axis)
        assert torch.equal(mapped(torch.stack(samples, axis)), expected)


@every_operator
def test_gradients_through_a_map(call: Call) -> None:
    x = torch.stack([sample(call, seed=seed) for seed in range(3)]).requires_grad_()
    mapped, one_by_one = torch.vmap(lambda x: run(call, x))(x), [run(call, each) for each in x]
    (ours,) = torch.autograd.grad(mapped.square().sum(), x)
    (expected,) = torch.autograd.grad(torch.stack(one_by_one).square().sum(), x)
    assert torch.equal(ours, expected)


@every_operator
def test_gradients_of_torch_func(call: Call) -> None:
    """By grad, and by vmap of it: a gradient for each sample."""
    x = torch.stack([sample(call, seed=seed) for seed in range(3)])

    def loss(x: torch.Tensor) -> torch.Tensor:
        return run(call, x).square().sum()

    expected: list[torch.Tensor] = []
    for each in x:
        leaf = each.clone().requires_grad_()
        expected.append(*torch.autograd.grad(loss(leaf), leaf))
    assert torch.equal(torch.func.grad(loss)(x[0]), expected[0])
    assert torch.equal(torch.vmap(torch.func.grad(loss))(x), torch.stack(expected))


@every_operator
def test_forward_mode(call: Call) -> None:
    """Linear: the derivative in a direction is the operator of the direction."""
    x, direction = sample(call), sample(call, seed=1)
    result, derivative = torch.func.jvp(lambda x: run(call, x), (x,), (direction,))
    assert torch.equal(result, run(call, x))
    assert torch.equal(derivative, run(call, direction))
    with forward_ad.dual_level():
        dual = run(call, forward_ad.make_dual(x, direction))
        assert torch.equal(forward_ad.unpack_dual(dual).tangent, run(call, direction))
    assert torch.autograd.gradcheck(
        lambda x: run(call, x), x.requires_grad_(), fast_mode=True, check_forward_ad=True
    )


def test_a_compiled_function_does_not_lose_forward_mode() -> None:
    """It goes on uncompiled, and where it must not, that is an error."""

    def slope(x: torch.Tensor) -> torch.Tensor:
        derivative: torch.Tensor = torch.func.jvp(lambda x: reblock.torch.unfold(x, 2), (x,), (x,))[
            1
        ]
        return derivative

    torch.compiler.reset()
    x = torch.randn(1, 1, 3, 3)
    assert torch.equal(torch.compile(slope, backend="aot_eager")(x), reblock.torch.unfold(x, 2))
    torch.compiler.reset()
    with pytest.raises(RuntimeError, match="exception"):
        torch.compile(slope, backend="aot_eager", fullgraph=True)(x)


def test_hessians() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return reblock.torch.unfold(x**3, 2).square().sum()

    def expected(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.unfold(x**3, 2).square().sum()

    x = torch.randn(1, 1, 3, 3, dtype=torch.float64)
    by_torch = torch.func.hessian(expected)(x)
    for outer in (torch.func.jacfwd, torch.func.jacrev):
        for inner in (torch.func.jacfwd, torch.func.jacrev):
            torch.testing.assert_close(outer(inner(f))(x), by_torch)
