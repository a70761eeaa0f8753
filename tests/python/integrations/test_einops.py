# SPDX-License-Identifier: BSD-3-Clause
"""rearrange and repeat do what einops does, by einops' own tests and on drawn patterns."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

import einops
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import reblock
import reblock.torch
from checks import assert_same_bytes
from dtypes import movable
from layouts import allocate, in_one_buffer, layouts
from oracle import Array, as_bytes
from patterns import NAMES, Pattern, Use, patterns

USES: list[Use] = ["rearrange", "repeat"]
every_use = pytest.mark.parametrize("use", USES)


einops_patterns = partial(patterns, names=NAMES, least_length=1)


def by_einops(pattern: Pattern, x: Array) -> Array:
    """Apply einops, to opaque elements: NumPy would leave the padding of structures behind."""
    function = getattr(einops, pattern.use)
    moved: Array = function(as_bytes(x).copy(), pattern.text, **pattern.axes_lengths)
    return moved.view(x.dtype)


@every_use
@given(data=st.data())
def test_drawn_patterns_give_what_einops_gives(use: Use, data: st.DataObject) -> None:
    pattern, dtype = data.draw(einops_patterns(use)), data.draw(movable())
    layout = data.draw(layouts(len(pattern.input_shape), dtype.itemsize))
    x = allocate(pattern.input_shape, dtype, layout).array
    assert_same_bytes(pattern(x), by_einops(pattern, x))


@every_use
@given(data=st.data())
def test_into_memory_that_is_shared(use: Use, data: st.DataObject) -> None:
    pattern, dtype = data.draw(einops_patterns(use)), data.draw(movable())
    source, target = data.draw(in_one_buffer(pattern.input_shape, pattern.output_shape, dtype))
    expected = by_einops(pattern, source.array)
    pattern(source.array, out=target.array)
    assert_same_bytes(np.asarray(target.array), expected)


@every_use
@given(data=st.data())
def test_what_einops_refuses_is_refused(use: Use, data: st.DataObject) -> None:
    """Patterns with a token too many, too few, or out of place."""
    pattern = data.draw(einops_patterns(use, most_axes=4))
    text = pattern.text
    place = data.draw(st.integers(0, len(text)))
    stray = data.draw(
        st.sampled_from(["(", ")", " 2 ", " 1 ", " z ", "...", ".", "_", "->", "", "*"])
    )
    text = text[:place] + stray + text[place + data.draw(st.integers(0, 2)) :]
    x = np.arange(np.prod(pattern.input_shape)).reshape(pattern.input_shape)
    outcomes = []
    for library in (einops, reblock):
        try:
            outcomes.append(getattr(library, use)(x, text, **pattern.axes_lengths).tolist())
        except (einops.EinopsError, ValueError):
            outcomes.append(None)
    assert outcomes[0] == outcomes[1]


# einops' own tests, where its package has them

EINOPS_TESTS = {
    "test_ops": """
        test_collapsed_ellipsis_errors_out test_ellipsis_ops_numpy test_ellipsis_ops_imperative
        test_rearrange_consistency_numpy test_rearrange_permutations_numpy
        test_concatenations_and_stacking test_repeat_numpy test_repeat_imperatives
        test_anonymous_axes test_list_inputs
    """,
    "test_examples": "test_rearrange_examples test_pytorch_yolo_fragment",
}


def of_the_right_library(use: Use) -> Callable[..., Any]:
    """Return a function that has tensors moved by reblock.torch, anything else by reblock."""

    def call(x: Any, pattern: str, **axes_lengths: Any) -> Any:
        first = x[0] if isinstance(x, list) else x
        library: ModuleType = reblock.torch if isinstance(first, torch.Tensor) else reblock
        return getattr(library, use)(x, pattern, **axes_lengths)

    return call


@pytest.fixture
def with_reblock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Give a module of einops' tests in which reblock takes einops' place."""
    monkeypatch.setenv("EINOPS_TEST_BACKENDS", "numpy,torch")

    def load(name: str) -> ModuleType:
        module = importlib.import_module(f"einops.tests.{name}")
        for use in USES:
            monkeypatch.setattr(module, use, of_the_right_library(use), raising=False)
        monkeypatch.setattr(module, "EinopsError", ValueError, raising=False)
        return module

    yield load
    torch.compiler.reset()


@pytest.mark.skipif(importlib.util.find_spec("einops.tests") is None, reason="not in the package")
@pytest.mark.parametrize(
    ("module", "test"), [(m, test) for m, tests in EINOPS_TESTS.items() for test in tests.split()]
)
def test_the_tests_of_einops_pass(
    module: str, test: str, with_reblock: Callable[[str], ModuleType]
) -> None:
    getattr(with_reblock(module), test)()
