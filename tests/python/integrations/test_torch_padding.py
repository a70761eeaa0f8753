# SPDX-License-Identifier: BSD-3-Clause
"""Padding modes of unfold and fold on PyTorch's tensors: results, gradients, transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reblock
from checks import refuses

torch = pytest.importorskip("torch")
import reblock.torch  # noqa: E402 - after the check that torch is there

# PyTorch makes use of that itself, for forward mode.
pytestmark = pytest.mark.filterwarnings(r"ignore:`torch\.jit\.\w+` is deprecated")

BAD: Any = "mean"
SEVEN: Any = 7
NONE: Any = None
MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]
WINDOW: dict[str, Any] = {"strides": (1, 2), "start_padding": (2, 7), "end_padding": (5, 1)}


def image(dtype: Any = None) -> Any:
    return torch.arange(2 * 2 * 3 * 4, dtype=dtype or torch.float64).reshape(2, 2, 3, 4)


@pytest.mark.parametrize("mode", [*MODES, *reblock.PaddingMode])
def test_the_same_as_on_arrays(mode: Any) -> None:
    x = image()
    columns = reblock.torch.unfold(x, 2, **WINDOW, padding_mode=mode)
    expected = reblock.unfold(x.numpy(), 2, **WINDOW, padding_mode=mode)
    assert np.array_equal(columns.numpy(), expected)
    back = reblock.torch.fold(columns, (3, 4), 2, **WINDOW, padding_mode=mode)
    assert np.array_equal(
        back.numpy(), reblock.fold(expected, (3, 4), 2, **WINDOW, padding_mode=mode)
    )


def test_agreement_with_torch_pad() -> None:
    functional = torch.nn.functional
    x = image(torch.float32)
    names: list[Any] = [("edge", "replicate"), ("reflect", "reflect"), ("wrap", "circular")]
    for ours, theirs in names:
        padded = functional.pad(x, (3, 2, 1, 2), mode=theirs)
        result = reblock.torch.unfold(
            x, 3, start_padding=(1, 3), end_padding=(2, 2), padding_mode=ours
        )
        assert torch.equal(result, functional.unfold(padded, 3))


@pytest.mark.parametrize("mode", MODES)
def test_gradients_forward_mode_and_gradients_of_gradients(mode: Any) -> None:
    value = 2.5 if mode == "constant" else 0

    def unfold(x: Any) -> Any:
        return reblock.torch.unfold(x, 2, **WINDOW, padding_mode=mode, padding_value=value)

    def fold(y: Any) -> Any:
        return reblock.torch.fold(y, (3, 4), 2, **WINDOW, padding_mode=mode)

    x = image().requires_grad_()
    y = unfold(x).detach().requires_grad_()
    for function, at in ((unfold, x), (fold, y)):
        torch.autograd.gradcheck(function, at, check_forward_ad=True)
        torch.autograd.gradgradcheck(function, at)
    _, tangent = torch.func.jvp(unfold, (image(),), (torch.zeros_like(image()),))
    assert not tangent.any()  # the value does not depend on x


@pytest.mark.parametrize("mode", ["constant", "reflect"])
def test_compiled_and_mapped(mode: Any) -> None:
    value = 3 if mode == "constant" else 0

    def both(x: Any) -> Any:
        columns = reblock.torch.unfold(x, 2, **WINDOW, padding_mode=mode, padding_value=value)
        return reblock.torch.fold(columns, x.shape[2:], 2, **WINDOW, padding_mode=mode)

    x = image()
    compiled = torch.compile(both, fullgraph=True, backend="aot_eager", dynamic=True)
    assert torch.equal(compiled(x), both(x))
    stack = torch.stack([x, x + 1, x * 2])
    assert torch.equal(torch.vmap(both)(stack), torch.stack([both(each) for each in stack]))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (torch.bfloat16, 1.5),
        (torch.float16, -0.0),
        (torch.bool, True),
        (torch.int64, -(2**60)),
        (torch.complex64, 1 - 2j),
        (torch.complex128, 1j),
        (torch.float8_e4m3fn, 0.5),
        (torch.float32, float("nan")),
    ],
)
def test_a_value_of_any_dtype(dtype: Any, value: Any) -> None:
    x = torch.zeros(1, 1, 2, dtype=dtype)
    padded = reblock.torch.unfold(x, 1, start_padding=1, padding_value=value)
    expected = torch.zeros(3, dtype=dtype)
    expected[0] = value
    assert padded.dtype == dtype
    assert torch.equal(padded.view(torch.uint8).ravel(), expected.view(torch.uint8))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(torch.uint8, 256), (torch.int8, 0.5), (torch.bfloat16, 0.1), (torch.float32, 1j)],
)
def test_values_that_a_dtype_does_not_hold_are_refused(dtype: Any, value: Any) -> None:
    x = torch.zeros(1, 1, 2, dtype=dtype)
    refuses(
        lambda: reblock.torch.unfold(x, 1, padding_value=value),
        ValueError,
        "padding_value",
        str(dtype),
    )


def test_a_tensor_of_one_element_is_a_value() -> None:
    for x in (torch.zeros(1, 1, 2), torch.zeros(1, 1, 2, requires_grad=True)):
        padded = reblock.torch.unfold(x, 1, start_padding=1, padding_value=torch.tensor([2.0]))
        assert padded.tolist() == [[[2, 0, 0]]]
        with pytest.raises(RuntimeError, match="2 elements"):
            reblock.torch.unfold(x, 1, start_padding=1, padding_value=torch.ones(2))


def test_bad_modes_and_values_are_refused() -> None:
    x = image().requires_grad_()
    refuses(lambda: reblock.torch.unfold(x, 2, padding_mode=BAD), ValueError, "padding_mode")
    refuses(lambda: reblock.torch.unfold(x, 2, padding_mode=SEVEN), ValueError, "padding_mode", 7)
    refuses(lambda: reblock.torch.unfold(x, 2, padding_mode=NONE), TypeError, "padding_mode")
    refuses(lambda: reblock.torch.unfold(x, 2, padding_value=BAD), TypeError, "padding_value")
    refuses(
        lambda: reblock.torch.unfold(x, 2, padding_mode="edge", padding_value=1),
        ValueError,
        "padding_value",
    )
