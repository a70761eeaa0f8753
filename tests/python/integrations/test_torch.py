# SPDX-License-Identifier: BSD-3-Clause
"""reblock.torch: the functions of reblock on tensors, as operators that PyTorch knows all about."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import math
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad

import reblock.torch
from calls import FOLD, MOVING, SAMPLES, UNFOLD, Call, any_call, depth_space_calls, window_calls
from calls import moving as moving_calls
from calls import operator as name_of
from checks import assert_same_values, refuses
from layouts import layouts, random_bytes, span
from oracle import Array
from reblock.torch import _operators

pytestmark = [
    # Of every tensor of this dtype.
    pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning"),
    # PyTorch's opcheck asks for it itself.
    pytest.mark.filterwarnings(r"ignore:The \.grad attribute of a Tensor that is not a leaf"),
    # It makes use of that itself, for forward mode and in the backend "inductor", and it is still
    # there to be used. The category of the warning depends on the version.
    pytest.mark.filterwarnings(r"ignore:`torch\.jit\.\w+` is deprecated"),
    # Of Python 3.13.0 alone.
    pytest.mark.filterwarnings("ignore:Guards may run slower on Python:RuntimeWarning"),
]

OPERATORS = ("depth_to_space", "space_to_depth", "unfold", "fold")

# One call of each operator with one spatial axis, and with three.
OTHER_RANKS = [
    *depth_space_calls(2, 3, (4,), (3,), "CRD"),
    *window_calls(2, 3, (7,), (3,), strides=(2,), start_padding=(1,)),
    *depth_space_calls(2, 1, (2, 1, 3), (1, 2, 3), "DCR", channel_axis=-1),
    *window_calls(1, 2, (3, 4, 2), (2, 1, 2), dilations=(1, 1, 1), end_padding=(0, 2, 1)),
]

# What fold adds, and the dtypes of NumPy with the same values.
SUMMABLE = {
    torch.bool: np.bool_,
    torch.uint8: np.uint8,
    torch.int8: np.int8,
    torch.int16: np.int16,
    torch.uint16: np.uint16,
    torch.int32: np.int32,
    torch.uint32: np.uint32,
    torch.int64: np.int64,
    torch.uint64: np.uint64,
    torch.float16: np.float16,
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.float32: np.float32,
    torch.float64: np.float64,
    torch.complex64: np.complex64,
    torch.complex128: np.complex128,
}

UNSUMMABLE = [
    torch.complex32,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
]

every_operator = pytest.mark.parametrize("call", SAMPLES, ids=name_of)
every_moving_operator = pytest.mark.parametrize("call", MOVING, ids=name_of)
every_rank = pytest.mark.parametrize(
    "call", SAMPLES + OTHER_RANKS, ids=lambda call: f"{call.operator}-{len(call.arguments[0])}"
)


def run(call: Call, x: torch.Tensor) -> torch.Tensor:
    """Make the call by reblock.torch."""
    function = getattr(reblock.torch, call.operator)
    result: torch.Tensor = function(x, *call.arguments, **call.keywords)
    return result


def operands(call: Call) -> tuple[Any, ...]:
    """Return all arguments of PyTorch's operator but the tensor, in order."""
    window = [
        call.keywords[name] for name in call.keywords if name not in ("order", "channel_axis")
    ]
    values = [list(value) for value in (*call.arguments, *window)]
    order = [call.keywords.get("order", "CRD"), *([None] if window else [])]  # and blocks
    return (*values, *order, call.keywords["channel_axis"], None, None, None)


def elements(x: torch.Tensor) -> Array:
    """Return the elements in C order, as opaque bytes."""
    bytes_: Array = (
        x.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8).numpy()
    )
    return bytes_.view(np.dtype((np.void, x.itemsize))).reshape(x.shape)


def sample(call: Call, dtype: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    """Make an input of small integers, for the call."""
    values = random_bytes(math.prod(call.input_shape), seed) % 19
    return torch.from_numpy(values).reshape(call.input_shape).to(dtype)


# Values


@st.composite
def tensors(draw: st.DrawFn, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Draw a tensor of random bits with any strides that PyTorch has: none is negative."""
    layout = draw(layouts(len(shape), dtype.itemsize, unit=dtype.itemsize))
    strides = layout.strides(shape, dtype.itemsize)
    size = layout.offset + span(shape, strides, dtype.itemsize)
    bits = torch.from_numpy(random_bytes(max(size, 1) * dtype.itemsize, draw(st.integers(0, 99))))
    elements = [stride // dtype.itemsize for stride in strides]
    return bits.view(dtype).as_strided(shape, elements, layout.offset // dtype.itemsize)


@given(st.data())
def test_elements_of_any_dtype_and_strides_are_moved_bit_for_bit(data: st.DataObject) -> None:
    call = data.draw(moving_calls())
    dtype = data.draw(st.sampled_from([*(d for d in SUMMABLE if d != torch.bool), *UNSUMMABLE]))
    x = data.draw(tensors(call.input_shape, dtype))
    before = elements(x)
    result = run(call, x)
    assert result.dtype == dtype
    assert elements(result).tobytes() == call.oracle(before).tobytes()
    assert elements(x).tobytes() == before.tobytes()


@pytest.mark.parametrize("dtype", SUMMABLE, ids=str)
@every_operator
def test_every_dtype_that_has_sums(call: Call, dtype: torch.dtype) -> None:
    x = sample(call, dtype)
    result = run(call, x)
    assert result.dtype == dtype
    numbers = elements(x).view(SUMMABLE[dtype])
    assert_same_values(elements(result).view(SUMMABLE[dtype]), call.oracle(numbers))


@given(any_call())
def test_any_call(call: Call) -> None:
    x = sample(call, torch.int32)
    assert_same_values(run(call, x).numpy(), call.oracle(x.numpy()))


@every_operator
def test_what_is_conjugated_or_negated_only_in_name(call: Call) -> None:
    x = torch.complex(sample(call), sample(call, seed=1))
    for lazy in (x.conj(), x.conj().imag):
        assert lazy.is_conj() or lazy.is_neg()
        assert torch.equal(run(call, lazy), run(call, lazy.resolve_conj().resolve_neg().clone()))


def test_agreement_with_torch() -> None:
    x = torch.randn(2, 12, 6, 9)
    functional = torch.nn.functional
    shuffled = functional.pixel_shuffle(x, 2)
    assert torch.equal(reblock.torch.depth_to_space(x, 2, order="CRD"), shuffled)
    assert torch.equal(
        reblock.torch.space_to_depth(x, 3, order="CRD"), functional.pixel_unshuffle(x, 3)
    )
    window: dict[str, Any] = {
        "strides": (2, 1),
        "dilations": (1, 2),
        "start_padding": 1,
        "end_padding": 1,
    }
    same = {"stride": (2, 1), "dilation": (1, 2), "padding": 1}
    columns = functional.unfold(x, 3, **same)
    assert torch.equal(reblock.torch.unfold(x, 3, **window), columns)
    torch.testing.assert_close(
        reblock.torch.fold(columns, (6, 9), 3, **window),
        functional.fold(columns, (6, 9), 3, **same),
    )


# Results


@every_operator
def test_a_result_is_fresh_and_contiguous(call: Call) -> None:
    x = sample(call)
    before = x.clone()
    result = run(call, x)
    assert result.is_contiguous()
    assert result.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    result.zero_()
    assert torch.equal(x, before)


CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


@pytest.mark.parametrize("blocks", [(2, 3), (2, 1, 3)], ids=len)
def test_channels_last_stays_channels_last(blocks: tuple[int, ...]) -> None:
    for call in depth_space_calls(2, 3, blocks, (2,) * len(blocks)):
        x = sample(call)
        form = CHANNELS_LAST[x.ndim]
        result = run(call, x.to(memory_format=form))
        assert result.is_contiguous(memory_format=form)
        assert not result.is_contiguous()
        assert torch.equal(result, run(call, x))
        # Neither of the two formats: PyTorch's default.
        assert run(call, x.transpose(2, 3).contiguous().transpose(2, 3)).is_contiguous()


def test_windows_of_channels_last() -> None:
    x = sample(UNFOLD)
    assert torch.equal(run(UNFOLD, x.to(memory_format=torch.channels_last)), run(UNFOLD, x))


# Calls that need nothing of PyTorch but the elements


def dispatched(call: Call, x: torch.Tensor) -> torch.Tensor:
    """Make the call by PyTorch's dispatcher."""
    operator = getattr(torch.ops.reblock, call.operator)
    result: torch.Tensor = operator(x, *operands(call))
    return result


def without_dispatcher(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    """Have the call fail where it takes the way through PyTorch's dispatcher."""

    def fail(*_: object) -> None:
        raise AssertionError("this call goes through the dispatcher")

    own = getattr(_operators, call.operator)
    operator = replace(own.operator, custom=fail)
    monkeypatch.setattr(_operators, call.operator, replace(own, operator=operator))


@every_operator
def test_a_plain_call_leaves_the_dispatcher_out(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_dispatcher(monkeypatch, call)
    x = sample(call)
    parameter = torch.nn.Parameter(x)
    expected = dispatched(call, x)
    assert torch.equal(run(call, x), expected)
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            assert torch.equal(run(call, parameter), expected)
    with torch.autocast("cpu"):
        assert torch.equal(run(call, x), expected)
    with pytest.raises(AssertionError, match="dispatcher"):
        run(call, parameter)


@given(any_call(), st.sampled_from([torch.float32, torch.bfloat16, torch.complex128]))
def test_the_dispatcher_changes_nothing(call: Call, dtype: torch.dtype) -> None:
    x = sample(call, dtype)
    for context in (torch.enable_grad, torch.inference_mode):
        with context():
            result, expected = run(call, x), dispatched(call, x)
            assert torch.equal(result, expected)
            assert result.stride() == expected.stride()
            assert result.is_inference() == expected.is_inference()
            assert not result.requires_grad


class Watch:
    """Keeps the names of what is called."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def note(self, function: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(function))
        return function(*args, **(kwargs or {}))


class Functions(Watch, torch.overrides.TorchFunctionMode):  # type: ignore[misc] # as for Upscale
    """Watches what PyTorch's functions are called with."""

    __torch_function__ = Watch.note


class Dispatches(Watch, torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc] # as above
    """Watches what the dispatcher calls."""

    __torch_dispatch__ = Watch.note


@every_operator
def test_what_watches_the_dispatcher_sees_each_call(call: Call) -> None:
    x = sample(call)
    for mode in (Functions(), Dispatches()):
        with mode:
            run(call, x)
        assert f"reblock.{call.operator}.default" in mode.seen
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        run(call, x)
    assert f"reblock::{call.operator}" in [event.key for event in profile.key_averages()]


def page_faults(work: Callable[[], object]) -> int:
    """Return the least page faults of a few runs, each of which gives its memory back."""
    counts = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        work()
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return min(counts)


def test_large_results_come_in_the_same_large_pages_as_those_of_reblock() -> None:
    """Fresh memory of PyTorch's own comes in pages of 4 KiB. Beyond 32 MiB all memory is fresh."""
    image = torch.zeros(1, 64, 128, 128)
    window: dict[str, Any] = {"start_padding": 1, "end_padding": 1, "threads": 1}
    small_pages = 9 * image.nbytes // 4096
    most = page_faults(lambda: reblock.unfold(image, 3, **window)) + small_pages // 2
    for x in (image, image.clone().requires_grad_()):
        assert page_faults(partial(reblock.torch.unfold, x, 3, **window)) < most


def test_the_bench_times_small_calls_and_large_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[3] / "bench")
    compare = importlib.import_module("compare")
    calls = compare.measure_calls(["torch"], 0.001)
    assert {"torch", "reblock.torch.depth_to_space(tensor, 2)"} <= calls.keys()
    results = compare.measure_tensors(0.001)
    assert list(results) == ["reblock.unfold", "reblock.torch.unfold", "torch"]
    assert all(taken > 0 for taken in (*calls.values(), *results.values()))


# Gradients


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


# What PyTorch knows of the operators


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


# Layouts by name, and parts of the blocks

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


# Arguments and errors


@pytest.mark.parametrize("name", OPERATORS)
def test_the_parameters_are_those_of_reblock(name: str) -> None:
    def parameters(function: Any) -> list[tuple[str, Any, object]]:
        listed = inspect.signature(function).parameters.values()
        without = ("out", "accumulate")  # which writes into out
        return [(p.name, p.kind, p.default) for p in listed if p.name not in without]

    assert parameters(getattr(reblock.torch, name)) == parameters(getattr(reblock, name))


def test_an_int_stands_for_every_axis() -> None:
    x = torch.randn(1, 8, 4, 4, 4)
    twos: list[Any] = [2, np.int64(2), [2, np.int32(2), 2]]
    for two in twos:
        assert reblock.torch.depth_to_space(x, two).shape == (1, 1, 8, 8, 8)
    columns = reblock.torch.unfold(x, 2, strides=(2, 2, 2))
    assert torch.equal(reblock.torch.fold(columns, 4, 2, strides=(2, 2, 2)), x)
    assert reblock.torch.fold(torch.ones(1, 6, 4), 6, 3).shape == (1, 2, 6)


@every_rank
def test_sizes_are_whatever_the_functions_of_reblock_take(call: Call) -> None:
    """Lists, tuples, ranges and arrays of ints, whether or not the dispatcher gets the call."""
    kinds: list[Callable[[Any], Any]] = [
        list,
        lambda values: np.array(values, np.int16),
        lambda values: [np.uint8(value) for value in values],
        lambda values: [torch.tensor(value) for value in values],
        lambda values: values if len(set(values)) > 1 else np.array(values[0]),
        lambda values: range(values[0], 9)[: len(values)] if len(values) == 1 else values,
    ]
    x = sample(call)
    expected = run(call, x)
    for kind in kinds:
        keywords = {
            name: value if name == "order" else kind(value) if name != "channel_axis" else value
            for name, value in call.keywords.items()
        }
        other = replace(call, arguments=tuple(map(kind, call.arguments)), keywords=keywords)
        for tensor in (x, x.clone().requires_grad_()):
            assert torch.equal(run(other, tensor), expected)


@pytest.mark.parametrize("order", [*reblock.DepthSpaceOrder, 0, 1], ids=repr)
def test_orders(order: Any) -> None:
    x = torch.randn(1, 8, 2, 2)
    named = reblock.torch.depth_to_space(x, 2, order=["DCR", "CRD"][order])
    assert torch.equal(reblock.torch.depth_to_space(x, 2, order=order), named)


def test_threads() -> None:
    x = torch.randn(1, 64, 256, 256)
    results = [reblock.torch.depth_to_space(x, 4, threads=threads) for threads in (1, 2, None)]
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("dtype", UNSUMMABLE, ids=str)
def test_a_dtype_without_sums_is_refused(dtype: torch.dtype) -> None:
    columns = torch.zeros(FOLD.input_shape, dtype=torch.uint8).repeat(1, 1, dtype.itemsize)
    refuses(lambda: run(FOLD, columns.view(dtype)), TypeError, "columns", str(dtype))


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"block_size": 2.0}, TypeError, "block_size"),
    ({"block_size": (2, True)}, TypeError, "block_size"),
    ({"block_size": "2"}, TypeError, "block_size"),
    ({"block_size": 0}, ValueError, "block_size"),
    ({"block_size": 5}, ValueError, "block_size"),
    ({"block_size": 5}, ValueError, "x"),
    ({"block_size": (2, 2, 2)}, ValueError, "block_size"),
    ({"order": "dcr"}, ValueError, "order"),
    ({"order": 2}, ValueError, "order"),
    ({"order": None}, TypeError, "order"),
    ({"channel_axis": 0}, ValueError, "channel_axis"),
    ({"channel_axis": 1.0}, TypeError, "channel_axis"),
    ({"threads": 0}, ValueError, "threads"),
    ({"threads": True}, TypeError, "threads"),
]


@pytest.mark.parametrize(("wrong", "kind", "argument"), BAD, ids=str)
def test_bad_arguments_are_refused(
    wrong: dict[str, Any], kind: type[Exception], argument: str
) -> None:
    arguments = {"block_size": 2, **wrong}
    x = torch.zeros(2, 12, 4, 4)
    for tensor in (x, x.clone().requires_grad_()):
        refuses(partial(reblock.torch.depth_to_space, tensor, **arguments), kind, argument)


@pytest.mark.parametrize("wrong", [[[[[1.0]]]], np.zeros((1, 1, 1, 1)), None])
def test_what_is_no_tensor_is_refused(wrong: Any) -> None:
    got = type(wrong).__name__
    refuses(lambda: reblock.torch.depth_to_space(wrong, 1), TypeError, "x", got)
    refuses(lambda: reblock.torch.space_to_depth(wrong, 1), TypeError, "x", got)
    refuses(lambda: reblock.torch.unfold(wrong, 1), TypeError, "x", got)
    refuses(lambda: reblock.torch.fold(wrong, (1, 1), 1), TypeError, "columns", got)


def test_bad_shapes_are_refused() -> None:
    for shape in ((), (4,), (4, 4), (1,) * 9):
        with pytest.raises(ValueError, match=r"^x must have 3 to 8 axes"):
            reblock.torch.unfold(torch.zeros(shape), 1)
    with pytest.raises(ValueError, match="channels"):
        reblock.torch.depth_to_space(torch.zeros(1, 6, 2, 2, device="meta"), 2)


DENSE = torch.zeros(1, 4, 4)
NOT_DENSE: dict[str, tuple[Callable[[], torch.Tensor], str]] = {
    "sparse": (DENSE.to_sparse, "torch.sparse_coo"),
    "sparse rows": (DENSE.to_sparse_csr, "torch.sparse_csr"),
    "oneDNN": (DENSE.to_mkldnn, "torch._mkldnn"),
    "quantized": (lambda: torch.quantize_per_tensor(DENSE, 1.0, 0, torch.quint8), "torch.quint8"),
    "nested": (lambda: torch.nested.nested_tensor([DENSE]), "nested"),
    "jagged": (lambda: torch.nested.nested_tensor([DENSE], layout=torch.jagged), "nested"),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta:UserWarning")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor, :UserWarning")
@pytest.mark.parametrize("kind", NOT_DENSE)
@every_operator
def test_what_is_not_dense_is_refused_in_one_line(call: Call, kind: str) -> None:
    make, told = NOT_DENSE[kind]
    with pytest.raises(NotImplementedError) as caught:
        run(call, make())
    assert re.fullmatch(f"{call.tensor()} must be a dense tensor, got .*", str(caught.value))
    assert told in str(caught.value)


PEERS = {
    "depth_to_space": 'pixel_shuffle (order="CRD")',
    "space_to_depth": 'pixel_unshuffle (order="CRD")',
    "unfold": "unfold (two spatial axes)",
    "fold": "fold (two spatial axes)",
}


@every_operator
def test_another_device_is_refused_in_a_line_that_names_the_function_there(call: Call) -> None:
    """Fake tensors show it where there is no other device."""
    with FakeTensorMode():
        x = torch.empty(call.input_shape, device="cuda")
        told = re.escape(
            f"{call.tensor()} must lie on the CPU, got a tensor on cuda:0: there, use"
            f" torch.nn.functional.{PEERS[call.operator]}"
        )
        with pytest.raises(NotImplementedError, match=f"^{told}$"):
            run(call, x)


def test_the_module_is_imported_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(reblock, "torch")
    assert reblock.torch is sys.modules["reblock.torch"]


def test_without_torch_the_error_names_the_extra() -> None:
    script = "import sys; sys.modules['torch'] = None; import reblock; import reblock.torch"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    last = result.stderr.splitlines()[-1]
    assert last == 'ModuleNotFoundError: reblock.torch needs torch: pip install "reblock[torch]"'
    assert result.returncode == 1


def test_without_ml_dtypes_only_fold_of_bfloat16_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    columns = reblock.torch.unfold(torch.ones(1, 1, 3, dtype=torch.bfloat16), 2)
    with pytest.raises(ModuleNotFoundError, match=r"ml_dtypes: pip install .reblock\[torch\]"):
        reblock.torch.fold(columns, 3, 2)
    assert reblock.torch.fold(columns.float(), 3, 2).tolist() == [[[1, 2, 1]]]


@pytest.mark.parametrize(
    "documented",
    [
        *(getattr(reblock.torch, name) for name in OPERATORS),
        reblock.torch.accelerate,
        *(getattr(reblock.torch.nn, name) for name in reblock.torch.nn.__all__),
    ],
    ids=lambda documented: documented.__name__,
)
def test_the_examples_run(documented: Any) -> None:
    text = inspect.getdoc(documented) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, documented.__name__, None, None)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted >= 2
    assert result.failed == 0, "".join(report)
