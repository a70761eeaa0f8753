# SPDX-License-Identifier: BSD-3-Clause
"""reblock.torch.rearrange and repeat: tensors, gradients, transforms and compiled functions."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import forward_ad

import reblock.torch
from checks import assert_same_bytes, refuses
from patterns import Pattern, Use, patterns
from torch_calls import MARKS

pytestmark = MARKS

USES: list[Use] = ["rearrange", "repeat"]
every_use = pytest.mark.parametrize("use", USES)


def move(x: torch.Tensor) -> torch.Tensor:
    """Split an axis, and join others with all that "..." covers."""
    return reblock.torch.rearrange(x, "b (h p) c ... -> (p b) (... c) h", p=2)


def blow_up(x: torch.Tensor) -> torch.Tensor:
    """Repeat along axes of all kinds."""
    return reblock.torch.repeat(x, "b (h p) c ... -> n (p b 2) (... c m) h", p=2, n=3, m=2)


# The same by PyTorch's own functions, for a tensor of four axes
def moved(x: torch.Tensor) -> torch.Tensor:
    split = x.unflatten(1, (x.shape[1] // 2, 2)).permute(2, 0, 4, 3, 1)
    return split.flatten(2, 3).flatten(0, 1)


def blown_up(x: torch.Tensor) -> torch.Tensor:
    split = x.unflatten(1, (x.shape[1] // 2, 2)).permute(2, 0, 4, 3, 1)
    p, b, rest, c, h = split.shape
    all_axes = split[None, :, :, None, :, :, None].expand(3, p, b, 2, rest, c, 2, h)
    return all_axes.reshape(3, p * b * 2, rest * c * 2, h)


PAIRS = [(move, moved), (blow_up, blown_up)]
every_function = pytest.mark.parametrize(("function", "definition"), PAIRS)
Function = Callable[[torch.Tensor], torch.Tensor]


def sample(*shape: int, dtype: Any = torch.float64) -> torch.Tensor:
    return torch.randn(shape or (2, 4, 3, 2), dtype=torch.float64).to(dtype)


# Elements


@every_use
@given(data=st.data())
def test_patterns_mean_what_they_mean_on_arrays(use: Use, data: st.DataObject) -> None:
    pattern: Pattern = data.draw(patterns(use, most_axes=8))
    x = torch.arange(torch.Size(pattern.input_shape).numel()).reshape(pattern.input_shape)
    result = getattr(reblock.torch, use)(x, pattern.text, **pattern.axes_lengths)
    assert_same_bytes(result.numpy(), pattern.oracle(x.numpy()))
    assert result.is_contiguous()


@pytest.mark.parametrize(
    "dtype",
    [torch.bool, torch.uint8, torch.bfloat16, torch.float8_e5m2, torch.complex64, torch.complex128],
)
@every_function
def test_any_dtype(function: Function, definition: Function, dtype: torch.dtype) -> None:
    x = sample(dtype=dtype)
    result = function(x)
    assert result.dtype == dtype
    assert torch.equal(result.view(torch.uint8), definition(x).contiguous().view(torch.uint8))


def test_several_tensors_are_stacked() -> None:
    x = sample()
    assert torch.equal(reblock.torch.rearrange([*x], "b ... -> ... b"), x.movedim(0, -1))
    assert torch.equal(reblock.torch.rearrange(tuple(x), "b ... -> b ..."), x)


def test_conjugates_that_were_put_off_are_made() -> None:
    x = sample(dtype=torch.complex64)
    assert torch.equal(move(x.conj()), moved(x.conj().resolve_conj()))


def test_arguments_are_checked() -> None:
    call: Any = reblock.torch.rearrange
    x = sample(2, 3)
    refuses(lambda: call(x.numpy(), "a b -> b a"), TypeError, "x", "ndarray")
    refuses(lambda: call(x, 5), TypeError, "pattern", 5)
    refuses(lambda: call(x, "(a b) c -> a b c", a=1.0), TypeError, "a", 1.0)
    refuses(lambda: call(x, "(a b) c -> a b c", a=3), ValueError, "x", (2, 3))
    refuses(lambda: call(x, "a b -> b a", threads=0), ValueError, "threads", 0)
    refuses(lambda: call(x, "a b -> b"), ValueError, "pattern", "'a'")
    with pytest.raises(TypeError, match=r"^rearrange\(\) got an unexpected .* 'out'$"):
        call(x, "a b -> b a", out=sample(3, 2))
    with pytest.raises(NotImplementedError):
        call(x.to_sparse(), "a b -> b a")


def test_threads_do_not_change_the_result() -> None:
    x = sample(3, 512, 512)
    expected = x.movedim(0, -1)
    assert torch.equal(reblock.torch.rearrange(x, "c h w -> h w c", threads=2), expected)


# Gradients


@every_function
def test_gradients(function: Function, definition: Function) -> None:
    x = sample().requires_grad_()
    assert torch.autograd.gradcheck(function, x, fast_mode=True, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, x, fast_mode=True)
    weights = torch.randn_like(definition(x))
    (actual,) = torch.autograd.grad((function(x) * weights).sum(), x)
    (expected,) = torch.autograd.grad((definition(x) * weights).sum(), x)
    assert torch.allclose(actual, expected)


@pytest.mark.parametrize(
    "arguments",
    [
        ("b (h p) c ... -> (p b) (... c) h", "rearrange", "p", [2], None),
        ("b (h p) ... -> n (p b 2) (...) h", "repeat", "p n", [2, 3], None),
    ],
)
def test_pytorch_finds_the_operator_in_order(arguments: Any) -> None:
    operator = torch.ops.reblock.rearrange.default
    torch.library.opcheck(operator, (sample().requires_grad_(), *arguments))


@every_function
def test_traced(function: Function, definition: Function) -> None:
    traced = torch.jit.trace(function, sample())
    x = sample() + 1
    assert torch.equal(traced(x), definition(x))


@every_function
def test_forward_mode(function: Function, definition: Function) -> None:
    x, tangent = sample(), sample()
    with forward_ad.dual_level():
        result = forward_ad.unpack_dual(function(forward_ad.make_dual(x, tangent)))
    assert torch.equal(result.tangent, definition(tangent))


# Transforms


@pytest.mark.parametrize("axis", [0, 1, -1])
@every_function
def test_vmap(function: Function, definition: Function, axis: int) -> None:
    x = sample(2, 4, 4, 3, 2)
    expected = torch.stack([definition(each) for each in x.unbind(axis)])
    assert torch.equal(torch.vmap(function, in_dims=axis)(x), expected)


@every_function
def test_a_gradient_for_each_sample(function: Function, definition: Function) -> None:
    x = sample(3, 2, 4, 3, 2)

    def loss(f: Function) -> Any:
        return torch.vmap(torch.func.grad(lambda sample: (f(sample) ** 2).sum()))

    assert torch.allclose(loss(function)(x), loss(definition)(x))


# Compiled functions


@pytest.mark.parametrize("dynamic", [False, True])
@every_function
def test_compiled_without_breaks(function: Function, definition: Function, dynamic: bool) -> None:
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x: function(x * 2) + 1, fullgraph=True, dynamic=dynamic, backend="aot_eager"
    )
    for extent in (2, 3, 5) if dynamic else (2,):
        x = sample(extent, 2 * extent, 3, extent + 1).requires_grad_()
        result = compiled(x)
        assert torch.equal(result, definition(x * 2) + 1)
        (actual,) = torch.autograd.grad(result.square().sum(), x)
        (expected,) = torch.autograd.grad((definition(x * 2) + 1).square().sum(), x)
        assert torch.allclose(actual, expected)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_by_inductor(dynamic: bool) -> None:
    """Between steps that inductor fuses, whose results may have any strides."""

    def loss(x: torch.Tensor, there: Function, again: Function) -> torch.Tensor:
        return again(there(x.mT * 2).unflatten(1, (-1, x.shape[3])).exp()).square()

    torch.compiler.reset()
    compiled = torch.compile(lambda x: loss(x, move, blow_up), fullgraph=True, dynamic=dynamic)
    for extent in (4, 6) if dynamic else (4,):
        x = sample(2, 4, 2 * extent, extent).requires_grad_()
        expected = loss(x, moved, blown_up)
        result = compiled(x)
        assert torch.allclose(result, expected)
        ours, theirs = (torch.autograd.grad(y.sum(), x) for y in (result, expected))
        assert torch.allclose(*ours, *theirs)


def test_lengths_may_be_expressions_in_a_compiled_function() -> None:
    def join(x: torch.Tensor) -> torch.Tensor:
        b, n, _ = x.shape
        return reblock.torch.rearrange(x, "b (h w) c -> b c h w", h=n // 2, b=b)

    torch.compiler.reset()
    compiled = torch.compile(join, fullgraph=True, dynamic=True, backend="aot_eager")
    for extent in (4, 6):
        x = sample(2, extent, 3)
        expected = x.unflatten(1, (extent // 2, 2)).permute(0, 3, 1, 2)
        assert torch.equal(compiled(x), expected)


@pytest.mark.parametrize("name", USES)
def test_the_examples_run(name: Use) -> None:
    docstring = inspect.getdoc(getattr(reblock.torch, name)) or ""
    test = doctest.DocTestParser().get_doctest(docstring, {}, name, None, None)
    report: list[str] = []
    assert doctest.DocTestRunner().run(test, out=report.append).failed == 0, "".join(report)
