# SPDX-License-Identifier: BSD-3-Clause
"""reblock.torch with layouts by name, and with a part of the window positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import reblock.torch
from checks import refuses
from torch_calls import (
    MARKS,
)

pytestmark = MARKS


X = torch.randn(2, 6, 4, 6, dtype=torch.float64)
NAMED: list[tuple[Callable[[torch.Tensor], torch.Tensor], torch.Tensor, torch.Tensor]] = [
    # a call, its input, and what it gives by the calls without layouts
    (
        lambda x: reblock.torch.space_to_depth(x, 2, layout="NHWC"),
        X.permute(0, 2, 3, 1).contiguous(),
        reblock.torch.space_to_depth(X, 2).permute(0, 2, 3, 1),
    ),
    (
        lambda x: reblock.torch.space_to_depth(x, 2, layout="HWC", out_layout="NCHW"),
        X[0].permute(1, 2, 0),
        reblock.torch.space_to_depth(X[:1], 2),
    ),
    (
        lambda x: reblock.torch.space_to_depth(x, (2, 3), layout="HW", order="CRD"),
        X[0, 0],
        reblock.torch.space_to_depth(X[:1, :1], (2, 3))[0],
    ),
    (
        lambda x: reblock.torch.depth_to_space(x, 2, layout="CHW", out_layout="HWC"),
        X[0, :4],
        reblock.torch.depth_to_space(X[:1, :4], 2)[0].permute(1, 2, 0),
    ),
    (
        lambda x: reblock.torch.unfold(x, 3, out_layout="NLC", start_padding=1),
        X,
        reblock.torch.unfold(X, 3, start_padding=1).transpose(1, 2),
    ),
    (
        lambda x: reblock.torch.unfold(x, 3, layout="HWC", blocks=[(1, 2), None], order="DCR"),
        X[0].permute(1, 2, 0),
        reblock.torch.unfold(X[0, :, 1:4][None], 3)
        .unflatten(1, (6, 9))
        .transpose(1, 2)[0]
        .flatten(0, 1),
    ),
    (
        lambda x: reblock.torch.fold(
            x, (4, 6), 3, layout="LC", out_layout="NHWC", dilations=(1, 2)
        ),
        reblock.torch.unfold(X, 3, dilations=(1, 2))[1].T,
        reblock.torch.fold(
            reblock.torch.unfold(X, 3, dilations=(1, 2))[1:], (4, 6), 3, dilations=(1, 2)
        ).permute(0, 2, 3, 1),
    ),
    (
        lambda x: reblock.torch.fold(x, 6, 3, out_layout="HW", blocks=(-2, None)),
        X[0, 0, :3].reshape(-1)[:18].reshape(9, 2).repeat(1, 2),
        reblock.torch.fold(
            X[0, 0, :3].reshape(-1)[:18].reshape(1, 9, 2).repeat(1, 1, 2), (4, 4), 3
        ),
    ),
]
every_named_call = pytest.mark.parametrize(("call", "x", "expected"), NAMED)


def at_the_end(expected: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Pad with zeros before every axis, up to this shape."""
    result = expected.new_zeros(shape)
    result[tuple(slice(-extent, None) for extent in expected.shape[-len(shape) :])] = (
        expected.reshape(expected.shape[-len(shape) :])
    )
    return result


@every_named_call
def test_layouts_and_blocks(
    call: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, expected: torch.Tensor
) -> None:
    result = call(x)
    assert torch.equal(result, at_the_end(expected, result.shape))
    assert result.is_contiguous()
    fake = call(torch.empty_like(x, device="meta"))
    assert (fake.shape, fake.stride()) == (result.shape, result.stride())


@every_named_call
def test_layouts_and_blocks_in_all_that_torch_does(
    call: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    expected: torch.Tensor,  # noqa: ARG001 - of the test above
) -> None:
    x = x.detach().requires_grad_()
    assert torch.autograd.gradcheck(call, x, fast_mode=True, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, x, fast_mode=True)
    for axis in range(x.ndim + 1):
        several = torch.stack([x, 2 * x, -x], axis)
        mapped = torch.vmap(call, in_dims=axis)(several)
        assert torch.equal(mapped, torch.stack([call(x), call(2 * x), call(-x)]))
    for dynamic in (False, True):
        torch.compiler.reset()
        compiled = torch.compile(call, fullgraph=True, dynamic=dynamic, backend="aot_eager")
        actual, wanted = compiled(x), call(x)
        assert torch.equal(actual, wanted)
        assert actual.stride() == wanted.stride()
        ours, theirs = (torch.autograd.grad(y.square().sum(), x) for y in (actual, wanted))
        assert torch.equal(*ours, *theirs)


@pytest.mark.parametrize(
    ("arguments", "kind", "argument"),
    [
        ({"layout": "HWW"}, ValueError, "layout"),
        ({"layout": "NHW"}, ValueError, "x"),
        ({"layout": 3}, TypeError, "layout"),
        ({"out_layout": "NHW"}, ValueError, "out_layout"),
        ({"layout": "NCHW", "out_layout": "CL"}, ValueError, "out_layout"),
        ({"layout": "NHWC", "channel_axis": -1}, ValueError, "channel_axis"),
        ({"blocks": (0, 9)}, ValueError, "blocks"),
        ({"blocks": 3}, TypeError, "blocks"),
        ({"blocks": "ab"}, TypeError, "blocks"),
        ({"blocks": (0, 2.0)}, TypeError, "blocks"),
        ({"blocks": [(0, True), None]}, TypeError, "blocks"),
        ({"blocks": slice(0, 2, 2)}, ValueError, "blocks"),
        ({"order": "RGB"}, ValueError, "order"),
    ],
    ids=str,
)
def test_layouts_and_blocks_that_do_not_fit(
    arguments: dict[str, Any], kind: type[Exception], argument: str
) -> None:
    refuses(lambda: reblock.torch.unfold(X, 2, **arguments), kind, argument)


def test_a_map_over_a_batch_that_the_result_has_no_letter_for() -> None:
    with pytest.raises(ValueError, match="out_layout must have the letter N"):
        torch.vmap(lambda x: reblock.torch.unfold(x, 2, layout="NCHW", out_layout="CL"))(X[None])
