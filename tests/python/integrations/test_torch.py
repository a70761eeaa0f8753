# SPDX-License-Identifier: BSD-3-Clause
"""reblock.torch: the functions of reblock on tensors, as operators of PyTorch."""

from __future__ import annotations

import importlib
import resource
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reblock.torch
from calls import UNFOLD, Call, any_call, depth_space_calls
from calls import moving as moving_calls
from checks import assert_same_values
from layouts import layouts, random_bytes, span
from reblock.torch import _operators
from torch_calls import (
    CHANNELS_LAST,
    MARKS,
    SUMMABLE,
    UNSUMMABLE,
    elements,
    every_operator,
    operands,
    run,
    sample,
)

pytestmark = MARKS


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
def test_every_operator_agrees_with_the_oracle(call: Call) -> None:
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
