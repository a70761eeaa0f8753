# SPDX-License-Identifier: BSD-3-Clause
"""dtype, scale and bias of `reblock.torch`: those of `reblock`, with gradients and transforms."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import reblock
import reblock.torch as rt
from torch_calls import MARKS, elements

pytestmark = MARKS

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


@pytest.mark.parametrize("name", ["space_to_depth", "depth_to_space"])
@pytest.mark.parametrize("conversion", [{"dtype": torch.float32}, {"scale": 2}], ids=str)
def test_results_are_contiguous(name: str, conversion: dict[str, Any]) -> None:
    x = torch.rand(2, 4, 6, 8).to(memory_format=torch.channels_last)
    for each in (x, x.clone().requires_grad_()):
        assert getattr(rt, name)(each, 2, **conversion).is_contiguous()


# Every pair of dtypes

NUMBERS = [
    torch.bool,
    *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    *(torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
]
every_source = pytest.mark.parametrize("source", NUMBERS, ids=str)


def with_neighbours(*values: float) -> list[float]:
    """Return the numbers, those of float64 beside them, and all of them with the other sign."""
    near = [float(np.nextafter(v, v + side * np.inf)) for v in values for side in (-1, 1)]
    return [sign * v for v in (*values, *near) for sign in (1, -1)]


def limits(source: torch.dtype) -> torch.Tensor:
    """Return what any conversion has to round or to saturate, of the numbers of a dtype."""
    powers = [2**n + one for n in (7, 8, 15, 16, 31, 32, 63, 64) for one in (-1, 0, 1)]
    if not source.is_floating_point:
        least, most = 0, 1
        if source != torch.bool:
            least, most = torch.iinfo(source).min, torch.iinfo(source).max
        whole = {0, 1, 2, 3, *powers, *(-n for n in powers)}
        return torch.tensor(sorted(n for n in whole if least <= n <= most), dtype=source)
    numbers = with_neighbours(0.5, 1.5, 2.5, 1e30, *map(float, powers), *(n + 0.5 for n in powers))
    # Halfway between numbers of float16, or of bfloat16: usual ones, the least, the largest.
    for bits, least, most in ((11, -24, 16), (8, -133, 128)):
        ulp = 2.0 ** (1 - bits)
        numbers += with_neighbours(
            1 + ulp / 2, 1 + 3 * ulp / 2, 2.0 ** (least - 1), 2.0**least * 1.5
        )
        numbers += with_neighbours(2.0**most * (1 - ulp / 4), 2.0**most * (1 - ulp / 2))
        numbers += [(1 + ulp / 2) * (1 + 2.0**-n) for n in (23, 24, 25, 30, 50)]
    numbers += [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, sys.float_info.max]
    return torch.tensor(numbers, dtype=torch.float64).to(source)


Calls = Callable[[torch.Tensor], list[torch.Tensor]]


def by_gradient(calls: Calls, x: torch.Tensor) -> list[torch.Tensor]:
    return [each.detach() for each in calls(x.clone().requires_grad_(x.is_floating_point()))]


def by_vmap(calls: Calls, x: torch.Tensor) -> list[torch.Tensor]:
    return [each[1] for each in torch.vmap(calls)(torch.stack([x.flip(0), x]))]


def by_profiler(calls: Calls, x: torch.Tensor) -> list[torch.Tensor]:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        return calls(x)


def by_compiler(calls: Calls, x: torch.Tensor) -> list[torch.Tensor]:
    torch.compiler.reset()
    results: list[torch.Tensor] = torch.compile(calls, backend="aot_eager", fullgraph=True)(x)
    return results


@pytest.mark.parametrize("recorded", [by_gradient, by_vmap, by_profiler, by_compiler])
@every_source
def test_recorded_calls_round_and_saturate_as_plain_ones(
    source: torch.dtype, recorded: Callable[[Calls, torch.Tensor], list[torch.Tensor]]
) -> None:
    def convert_to_every_dtype(x: torch.Tensor) -> list[torch.Tensor]:
        plain = [rt.rearrange(x, "a b -> b a", dtype=dtype) for dtype in NUMBERS]
        factors: dict[str, Any] = {"scale": {"a": [1.25, -0.5]}, "bias": -1}
        return plain + [rt.rearrange(x, "a b -> b a", dtype=dtype, **factors) for dtype in NUMBERS]

    x = torch.stack([limits(source)] * 2)
    results = recorded(convert_to_every_dtype, x)
    for ours, expected in zip(results, convert_to_every_dtype(x), strict=True):
        assert ours.dtype == expected.dtype
        assert np.array_equal(elements(ours), elements(expected)), expected.dtype


@pytest.mark.parametrize("dtype", [d for d in NUMBERS if not d.is_floating_point][1:], ids=str)
def test_integers_saturate(dtype: torch.dtype) -> None:
    info = torch.iinfo(dtype)
    x = torch.tensor([1e30, torch.inf, -1e30, -torch.inf, torch.nan], requires_grad=True)
    result = rt.rearrange(x, "a -> a", dtype=dtype)
    assert result.tolist() == [info.max, info.max, info.min, info.min, 0]


def test_doubles_are_rounded_once() -> None:
    tie, half, brain = 2.0**-40, 1 + 2.0**-11, 1 + 2.0**-8  # float32 does not hold what is beside
    x = torch.tensor([half, half + tie, brain, brain + tie], dtype=torch.float64)
    x.requires_grad_()
    assert rt.rearrange(x, "a -> a", dtype=torch.float16).tolist()[:2] == [1, 1 + 2.0**-10]
    assert rt.rearrange(x, "a -> a", dtype=torch.bfloat16).tolist()[2:] == [1, 1 + 2.0**-7]


# Gradients, and what PyTorch knows of the operator


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
def test_forward_mode_and_second_derivatives(name: str) -> None:
    call, _, shape = CALLS[name]
    x = torch.rand(shape, dtype=torch.float64)

    def convert(x: torch.Tensor) -> torch.Tensor:
        return call(x, **CONVERSION)

    result, derivative = torch.func.jvp(convert, (x,), (torch.ones_like(x),))
    assert torch.equal(result, convert(x))
    assert torch.equal(derivative, call(torch.ones_like(x), scale=SCALE))
    assert torch.autograd.gradgradcheck(convert, x.requires_grad_(), fast_mode=True)


def test_hessians() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return rt.unfold(x**3, 2, scale=[2, 0.5], bias=1).square().sum()

    x = torch.rand(1, 2, 3, 3, dtype=torch.float64)
    expected = torch.autograd.functional.hessian(f, x)
    for outer in (torch.func.jacfwd, torch.func.jacrev):
        for inner in (torch.func.jacfwd, torch.func.jacrev):
            torch.testing.assert_close(outer(inner(f))(x), expected)


@every_call
def test_compiled_functions(name: str) -> None:
    call, _, shape = CALLS[name]
    x = pixels(shape, torch.uint8)
    compiled = torch.compile(
        lambda v: call(v, dtype=torch.float32, **CONVERSION), backend="aot_eager", fullgraph=True
    )
    assert torch.equal(compiled(x), call(x, dtype=torch.float32, **CONVERSION))


@pytest.mark.parametrize("dynamic", [None, True])
def test_compiled_functions_for_any_extents(dynamic: bool | None) -> None:
    def convert(x: torch.Tensor) -> torch.Tensor:
        # Numbers from outside of the function would be symbols too.
        factors: dict[str, Any] = {"scale": {"c": [0.25, 0.5, 2.0]}, "bias": {"p": [1, 2]}}
        tokens = rt.rearrange(x, "n c (h p) w -> n h (p w c)", p=x.shape[2] // 2, **factors)
        columns = rt.unfold(x, 3, dtype=torch.float64, scale=[2, 0.5, 0], bias=0.125)
        return columns + tokens.sum()

    torch.compiler.reset()
    compiled = torch.compile(convert, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for extents in ((2, 3, 4, 4), (3, 3, 4, 5)):
        x = torch.rand(extents)
        assert torch.equal(compiled(x), convert(x))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int16], ids=str)
def test_the_operator_is_what_it_says(dtype: torch.dtype) -> None:
    """No alias, no mutation, the right fake results, gradients that can be traced."""
    x = torch.rand(2, 3, 4).transpose(0, 2).requires_grad_(dtype.is_floating_point)
    operands = (x.dtype, dtype, SCALE, 1, [2.0], -1, None)
    torch.library.opcheck(torch.ops.reblock.convert.default, (x, *operands))


# The code generator of PyTorch makes use of it itself.
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
def test_code_is_generated_around_patterns() -> None:
    """Inductor compiles what PyTorch's operators do, and calls the others."""

    def network_input(v: torch.Tensor) -> torch.Tensor:
        factors = of_axis(CONVERSION)
        planes = rt.rearrange(v, "n h w c -> n c h w", dtype=torch.float32, **factors)
        return rt.rearrange(planes + 1, "n c (h p) w -> n h (p c) w", p=2)

    x = pixels((2, 8, 8, 3), torch.uint8)
    torch.compiler.reset()
    compiled = torch.compile(network_input, fullgraph=True)
    assert torch.equal(compiled(x), network_input(x))


# Wrong arguments

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"dtype": np.float32}, TypeError, "dtype must be a torch.dtype, got <class"),
    ({"dtype": "float32"}, TypeError, "dtype must be a torch.dtype, got 'float32' (str)"),
    ({"dtype": torch.complex64}, TypeError, "dtype must be bool, integer or floating point of"),
    ({"dtype": torch.float8_e5m2}, TypeError, "dtype must be bool, integer or floating point of"),
    ({"dtype": torch.quint8}, TypeError, "dtype must be a dtype"),
    ({"bias": torch.inf}, ValueError, "bias must be finite, got inf"),
    ({"scale": "1"}, TypeError, "scale must be a number, or "),
    ({"scale": 1j}, TypeError, "scale must be a number, or "),
    ({"scale": torch.ones(3, requires_grad=True)}, ValueError, "scale must not require"),
    ({"scale": 2, "threads": 0}, ValueError, "threads must be at least 1, got 0"),
    ({"scale": 2, "threads": True}, TypeError, "threads must be an int, got True (bool)"),
]
WRONG_OF_CHANNELS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"scale": [1, 2]}, ValueError, "scale must be a number, or one for each of the 3 channels"),
    ({"bias": [1]}, ValueError, "bias must be a number, or one for each of the 3 channels, got 1"),
    ({"bias": [[1, 2, 3]]}, ValueError, "bias must be a number, or a sequence with one for each"),
    ({"scale": {"c": 1}}, TypeError, "scale must be a number, or a sequence with one for each"),
    ({"scale": 2, "order": "dcr"}, ValueError, 'order must be "DCR", "CRD"'),
    ({"scale": 2, "channel_axis": 7}, ValueError, "channel_axis must be"),
    ({"scale": 2, "channel_axis": 0}, ValueError, "channel_axis must be from 1 to 3"),
    ({"scale": 2, "channel_axis": 1.0}, TypeError, "channel_axis must be an int, got 1.0 (float)"),
    ({"scale": 2, "layout": "HWC"}, ValueError, 'x must have 3 axes for layout "HWC"'),
    (
        {"scale": 2, "layout": "NCHW", "channel_axis": 2},
        ValueError,
        "channel_axis must not be given beside a layout",
    ),
]
WRONG_OF_PATTERNS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"scale": {"c": 1, "n": 2}}, ValueError, "scale must have one axis, got 2"),
    ({"scale": {}}, ValueError, "scale must have one axis, got 0"),
    ({"scale": [1, 2, 3]}, TypeError, "scale must be a number, or {name of an axis: numbers}"),
    ({"scale": {1: 1}}, TypeError, "scale must be a number, or {name of an axis: numbers}"),
    ({"bias": {"d": 1}}, ValueError, "bias must have the name of an axis of pattern 'n c"),
    ({"bias": {"c": [1]}}, ValueError, "bias must have one number for each of the 3 along axis"),
    ({"scale": 2, "p": 5}, ValueError, "x must have an extent along axis 2 that"),
    ({"scale": {"c": [1, 2, 3]}, "p": 0}, ValueError, "x must have an extent along axis 2 that"),
]


def plain(x: torch.Tensor, call: Callable[[torch.Tensor], Any]) -> None:
    call(x)


def with_gradient(x: torch.Tensor, call: Callable[[torch.Tensor], Any]) -> None:
    call(x.clone().requires_grad_())


def with_profiler(x: torch.Tensor, call: Callable[[torch.Tensor], Any]) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        call(x)


every_way = pytest.mark.parametrize("way", [plain, with_gradient, with_profiler])


@every_way
@pytest.mark.parametrize("name", ["space_to_depth", "unfold", "rearrange"])
def test_wrong_arguments(name: str, way: Callable[..., None]) -> None:
    def call(x: torch.Tensor, arguments: dict[str, Any]) -> torch.Tensor:
        if name == "rearrange":
            return rt.rearrange(x, "n c (h p) w -> n h (p c) w", **{"p": 2, **arguments})
        result: torch.Tensor = getattr(rt, name)(x, 2, **arguments)
        return result

    x = IMAGES.float()
    more = WRONG_OF_PATTERNS if name == "rearrange" else WRONG_OF_CHANNELS
    for arguments, error, message in WRONG + more:
        with pytest.raises(error, match=f"^{re.escape(message)}"):
            way(x, partial(call, arguments=arguments))


@every_way
def test_wrong_numbers_of_channels_of_a_result(way: Callable[..., None]) -> None:
    x = IMAGES.float().reshape(2, 12, 4, 4)
    told = "scale must be a number, or one for each of the 3 channels, got 12"
    with pytest.raises(ValueError, match=f"^{told}$"):
        way(x, lambda x: rt.depth_to_space(x, 2, scale=[1.0] * 12))


@every_way
@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        (torch.complex64, "x must have a dtype that can be converted (bool, integer or floating"),
        (torch.float8_e5m2, "x must have a dtype of numbers (bool, integer, floating point of 16"),
        (torch.complex32, "x must have a dtype of numbers (bool, integer, floating point of 16"),
    ],
    ids=str,
)
def test_wrong_dtypes(dtype: torch.dtype, message: str, way: Callable[..., None]) -> None:
    x = torch.zeros(1, 1, 2, 2).to(dtype)
    for arguments in ({"dtype": torch.float32}, {"scale": 2}):
        with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
            way(x, lambda x, arguments=arguments: rt.space_to_depth(x, 2, **arguments))
        with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
            way(x, lambda x, arguments=arguments: rt.rearrange(x, "... a -> a ...", **arguments))


@every_way
def test_a_padding_value_that_the_result_does_not_hold(way: Callable[..., None]) -> None:
    window: dict[str, Any] = {"start_padding": 1, "padding_value": 0.5}
    with pytest.raises(ValueError, match=r"^padding_value must .*uint8 holds exactly, got 0\.5"):
        way(torch.zeros(1, 1, 4), lambda x: rt.unfold(x, 2, **window, dtype=torch.uint8))


# It does not compile the call then.
@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace the builtin:UserWarning")
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"c": [1, 2]}, "scale must have one number for each of the 3 along axis 'c' of pattern"),
        ({"d": [1, 2]}, "scale must have the name of an axis of pattern"),
        ({"c": 1, "n": 2}, "scale must have one axis, got 2"),
    ],
)
def test_compiled_functions_refuse_the_same(
    wrong: dict[str, Any], message: str, dynamic: bool | None
) -> None:
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x: rt.rearrange(x, "n c h w -> n h w c", scale=wrong),
        backend="aot_eager",
        dynamic=dynamic,
    )
    with pytest.raises(Exception, match=re.escape(message)):
        compiled(IMAGES.float())


def test_factors_may_be_tensors() -> None:
    expected = rt.unfold(IMAGES, 2, dtype=torch.float32, **CONVERSION)
    result = rt.unfold(
        IMAGES, 2, dtype=torch.float32, scale=torch.tensor(SCALE), bias=np.array(BIAS)
    )
    assert torch.equal(result, expected)


def test_factors_are_constants() -> None:
    x, ones = IMAGES.float(), torch.ones(3)

    def of_axes(scale: torch.Tensor) -> torch.Tensor:
        return rt.rearrange(x, "n c h w -> n h w c", scale={"c": scale}).sum()

    def of_channels(scale: torch.Tensor) -> torch.Tensor:
        return rt.unfold(x, 2, scale=scale).sum()

    for run in (of_axes, of_channels):
        ways: list[Callable[[], Any]] = [
            partial(run, ones.clone().requires_grad_()),
            partial(torch.func.jvp, run, (ones,), (ones,)),
        ]
        for way in ways:
            with pytest.raises(ValueError, match="scale must not require gradients"):
                way()
        with pytest.raises(NotImplementedError, match="scale must be constant"):
            torch.vmap(run)(torch.ones(2, 3))
        with pytest.raises(NotImplementedError, match="scale must lie on the CPU"):
            run(ones.to("meta"))
