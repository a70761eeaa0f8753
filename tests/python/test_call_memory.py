# SPDX-License-Identifier: BSD-3-Clause
"""A thread remembers the plans of its last calls; no result or error depends on what it remembers.

A new thread remembers nothing, so that it tells what a call gives by itself.
"""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reblock
from calls import SAMPLES, Call
from calls import operator as name_of
from layouts import random_bytes
from oracle import Array

PATTERN = "n (i j c) h w -> n c (h i) (w j)"

# Each call differs from another one in a single argument. Some calls are refused.
PLANS: dict[str, tuple[str, tuple[Any, ...], list[dict[str, Any]]]] = {
    "blocks": (
        "depth_to_space",
        (2,),
        [
            {"order": "CRD"},
            {"order": 1},
            {"order": "crd"},
            {"channel_axis": 1},
            {"channel_axis": 2},
            {"channel_axis": True},
            {"layout": "NCHW"},
            {"layout": "NHWC"},
            {"layout": "NCHW", "out_layout": "NHWC"},
            {"layout": "NCHW", "channel_axis": 1},
            {"block_size": (2, 2)},
            {"block_size": [2, 2]},
            {"block_size": (2, 3)},
            {"block_size": ((2,), 2)},
            {"block_size": 2.0},
            {"block_size": True},
            {"block_size": 10**30},
            {"threads": 2},
            {"threads": 0},
        ],
    ),
    "conversions": (
        "depth_to_space",
        (2,),
        [
            {"dtype": "float32"},
            {"dtype": np.float32},
            {"dtype": np.dtype("float32")},
            {"dtype": np.dtype(">f4")},
            {"dtype": np.int8},
            {"scale": 2},
            {"scale": 2.5},
            {"scale": -0.0},
            {"bias": 2},
            {"scale": 2, "bias": 2},
            {"scale": [2, 2]},
            {"scale": list(range(9))},
            {"scale": tuple(range(9))},
            {"bias": list(range(9))},
            {"bias": np.arange(9, dtype=np.uint8)},
            {"block_size": 3, "scale": [1, 2, 3, 4]},
            {"block_size": 3, "scale": [1, 2, 3, 5], "bias": 1},
            {"block_size": 3, "scale": 4},
            {"scale": "2"},
            {"scale": 10**400},
        ],
    ),
    "converted patterns": (
        "rearrange",
        (PATTERN,),
        [
            {"i": 2, "j": 2, "dtype": "float32"},
            {"i": 2, "j": 2, "scale": 2},
            {"i": 2, "j": 2, "bias": 2},
            {"i": 2, "j": 2, "scale": {"i": [1, 2]}},
            {"i": 2, "j": 2, "scale": {"j": [1, 2]}},
            {"i": 2, "j": 2, "bias": {"i": [1, 2]}},
            {"i": 2, "j": 2, "scale": {"i": [1, 3]}},
            {"i": 2, "j": 2, "scale": {"c": range(9)}},
            {"i": 2, "j": 2, "scale": {"k": [1, 2]}},
        ],
    ),
    "windows": (
        "unfold",
        (2,),
        [
            {"strides": 2},
            {"strides": (1, 2)},
            {"strides": [1, 2]},
            {"strides": [2, 1]},
            {"strides": [1, [2]]},
            {"strides": [1, np.int64(2)]},
            {"strides": []},
            {"dilations": 2},
            {"start_padding": 1},
            {"start_padding": 1, "padding_mode": "edge"},
            {"start_padding": 1, "padding_mode": "edge", "dtype": "float64"},
            {"start_padding": 1, "padding_value": 3, "dtype": "float64"},
            {"start_padding": 1, "padding_value": 4, "dtype": "float64", "scale": 2},
            {"end_padding": 1},
            {"order": "DCR"},
            {"blocks": (0, 2)},
            {"blocks": ((0, 2), None)},
            {"blocks": slice(0, 2)},
            {"blocks": (0, 9)},
            {"out_layout": "NLC"},
            {"window_sizes": 9},
        ],
    ),
    "sums": (
        "fold",
        ((4, 4), (3, 2)),
        [
            {"strides": (1, 1)},
            {"strides": (1, 3), "dilations": 1, "end_padding": (0, 6)},
            {"order": "DCR"},
            {"accumulate": False},
            {"accumulate": True},
            {"layout": "NCL", "out_layout": "NHWC"},
            {"blocks": ((0, 2), (0, 3))},
            {"output_sizes": (4, 5)},
            {"output_sizes": [4, 5]},
            {"output_sizes": [5, 4]},
        ],
    ),
    "reductions": (
        "fold",
        ((4, 4), (3, 2)),
        [
            {"reduction": "mean"},
            {"reduction": "max"},
            {"reduction": "min"},
            {"reduction": "mean", "dtype": "float32"},
            {"dtype": "float32"},
            {"dtype": np.int16},
            {"reduction": "mean", "padding_mode": "wrap"},
            {"reduction": "mean", "weights": [[1, 2, 3], [1, 0]]},
            {"reduction": "mean", "weights": [[1, 2, 3], [1, 2]]},
            {"weights": np.arange(6.0).reshape(3, 2)},
            {"weights": np.arange(6.0).reshape(3, 2)[::-1]},
            {"weights": np.ones((3, 2))},
            {"weights": (np.ones(3), np.ones(2))},
            {"weights": ([1, 2, 3], (1, 2))},
            {"weights": np.ones((2, 3))},
            {"weights": (np.ones(3),)},
            {"weights": np.ones((1,) * 9)},
            {"weights": np.ones((3, 2)), "dtype": "float64"},
            {"weights": [[1, 2, 3], [1, -1]]},
            {"weights": []},
            {"weights": [[1, 2, 3], [1, 2]] * 3},
            {"weights": [[1, 2, 3], [1, 2]] * 4},
            {"reduction": "median"},
        ],
    ),
    "patterns": (
        "rearrange",
        (PATTERN,),
        [{"i": 2, "j": 2}, {"i": 4, "j": 1}, {"j": 2, "i": 2}, {"i": 2}, {"i": 2, "j": 2, "k": 1}],
    ),
}


def outcome(work: Callable[[], Array]) -> Any:
    """Return the result, or the error."""
    try:
        result = work()
    except Exception as error:  # noqa: BLE001 - whatever it is has to be the same each time
        return type(error), str(error)
    return result.dtype, result.shape, result.tobytes()


@cache
def inputs(name: str) -> list[Array]:
    image = [(2, 36, 4, 6), (2, 4, 6, 36), (1, 36, 4, 6)]
    arrays = []
    for seed, shape in enumerate(
        [(2, 36, 6), (2, 36, 9)] if name in ("sums", "reductions") else image
    ):
        values = np.arange(np.prod(shape), dtype=np.int64).reshape(shape) * 7 + seed
        wide = np.repeat(values, 2, -1)[..., ::2]
        arrays += [values.astype(d) for d in ("i1", "<i4", ">i4", "<f4", "c8")]
        arrays += [wide, values[::-1], values.T.copy().T]
    return arrays


def work(name: str, array: int, change: int) -> Callable[[], Array]:
    operator, arguments, changes = PLANS[name]
    keywords = dict(changes[change])
    if "output_sizes" in keywords:
        arguments = (keywords.pop("output_sizes"), *arguments[1:])
    elif keywords.keys() & {"block_size", "window_sizes"}:
        arguments = ()
    return partial(getattr(reblock, operator), inputs(name)[array], *arguments, **keywords)


@cache
def alone(name: str, array: int, change: int) -> Any:
    """Return the outcome in a thread that has made no other call."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(outcome, work(name, array, change)).result()


@pytest.mark.parametrize("name", PLANS)
@given(data=st.data())
def test_any_calls_one_after_the_other(name: str, data: st.DataObject) -> None:
    arrays, changes = (range(len(those)) for those in (inputs(name), PLANS[name][2]))
    drawn = st.tuples(st.sampled_from(arrays), st.sampled_from(changes))
    calls = data.draw(st.lists(drawn, min_size=2, max_size=12))
    for call in [*calls, *calls]:
        assert outcome(work(name, *call)) == alone(name, *call)


@pytest.mark.parametrize("call", SAMPLES, ids=name_of)
def test_outputs_of_any_strides(call: Call) -> None:
    x = random_bytes(int(np.prod(call.input_shape)), 0).reshape(call.input_shape)
    expected = call.oracle(x)
    for _ in range(2):
        for order in ("C", "F"):
            out = np.empty(call.output_shape, np.uint8, order)
            assert call(x, out=out) is out
            assert np.array_equal(out, expected)
        gaps = np.zeros((*call.output_shape, 2), np.uint8)
        call(x, out=gaps[..., 0])
        assert np.array_equal(gaps[..., 0], expected)
        assert not gaps[..., 1].any()
        assert np.array_equal(call(x), expected)


def test_an_output_over_the_input() -> None:
    memory = np.arange(32, dtype=np.uint8)
    for _ in range(3):
        x, out = memory[:16].reshape(1, 4, 2, 2), memory[8:24].reshape(1, 1, 4, 4)
        expected = reblock.depth_to_space(x.copy(), 2)
        assert np.array_equal(reblock.depth_to_space(x, 2, out=out), expected)
        apart = np.empty_like(out)
        reblock.depth_to_space(x.copy(), 2, out=apart)


def test_an_output_over_itself() -> None:
    x = np.arange(16, dtype=np.uint8).reshape(1, 4, 2, 2)
    out = np.lib.stride_tricks.as_strided(np.empty(16, np.uint8), (1, 1, 4, 4), (0, 0, 0, 1))
    for _ in range(2):
        with pytest.raises(ValueError, match="out must not overlap itself"):
            reblock.depth_to_space(x, 2, out=out)
        with pytest.raises(ValueError, match="out must not overlap itself"):
            reblock.rearrange(x, "n (i j) h w -> n 1 (h i) (w j)", i=2, out=out)
        with pytest.raises(ValueError, match="dst must not overlap itself"):
            reblock.copyto(out, x.reshape(1, 1, 4, 4))


def test_copies_that_differ_in_one_thing() -> None:
    wide = np.arange(48, dtype=np.int16).reshape(6, 8)
    sources = [wide[:3, :4], wide[3:, 4:], wide[:3, ::2], wide[::2, :4], wide[3::-1, :4][1:]]
    sources += [wide[:1, :4], wide[:3, :1], wide[0, :4], np.array(7, np.int16), wide[:2, :4]]
    sources += [x.astype(dtype) for x in sources[:1] for dtype in (">i2", np.uint16, np.int8)]
    gaps = np.zeros((4, 6, 8), np.int16)
    targets = [
        gaps[0, :3, :4],
        gaps[1, ::2, ::2],
        gaps[2, :4, :3].T,
        gaps[3, :3, 3::-1],
        gaps[:2, :3, :4],
    ]
    targets += [np.zeros((3, 4), dtype) for dtype in (">i2", np.int32, np.float32)]
    for _ in range(3):
        for x, target in itertools.product(sources, targets):
            outcomes: list[Any] = []
            for copy in (partial(np.copyto, casting="safe"), reblock.copyto):
                gaps[...] = target[...] = 0
                try:
                    copy(target, x)
                    outcomes.append((target.tobytes(), gaps.tobytes()))
                except (TypeError, ValueError) as why:
                    outcomes.append(type(why))
            assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "copy",
    [
        lambda out, x: reblock.copyto(out, x.T),
        lambda out, x: reblock.rearrange(x, "h w -> w h", out=out),
    ],
)
def test_a_copy_over_itself_after_one_between_two_arrays(
    copy: Callable[[Array, Array], Any],
) -> None:
    memory = np.arange(160, dtype=np.uint8).reshape(2, 8, 10)
    for shift in (80, 1, 80, 3, 0):
        values = memory.ravel().copy()
        x = values[:80].reshape(8, 10)[:, :4]
        out = values[shift : shift + 40].reshape(4, 10)[:, :8]
        expected = x.T.copy()
        copy(out, x)
        assert np.array_equal(out, expected)


def test_a_list_that_changes() -> None:
    x = np.arange(64).reshape(1, 16, 2, 2)
    block_size = [2, 2]
    for change in ([2, 2], [4, 1], [1, 4]):
        block_size[:] = change
        assert np.array_equal(
            reblock.depth_to_space(x, block_size), reblock.depth_to_space(x, tuple(change))
        )


def test_a_list_that_has_itself() -> None:
    strides: list[Any] = [1]
    strides.append(strides)
    for _ in range(2):
        with pytest.raises(TypeError, match="strides must be"):
            reblock.unfold(np.zeros((1, 2, 6, 6)), 2, strides=strides)


@pytest.mark.parametrize("size", [2, 16, 17])  # the weights of the last one are not remembered
@pytest.mark.parametrize("has_products", [False, True])
def test_weights_that_change(size: int, has_products: bool) -> None:
    columns = np.arange(4.0 * size**2).reshape(1, size**2, 4)
    axis, box = np.ones(size), np.ones((size, size))
    image = (size + 1, size + 1)
    for value in (2, 3, 2):
        axis[-1] = value
        box[...] = np.multiply.outer(axis, axis)
        weights = (axis, axis) if has_products else box
        expected = reblock.fold(columns * box.reshape(1, -1, 1), image, size)
        assert np.allclose(reblock.fold(columns, image, size, weights=weights), expected)


def test_weights_that_are_gone() -> None:
    columns = np.ones((1, 9, 4))

    def blend() -> Array:
        return reblock.fold(columns, (4, 4), 3, weights=np.full((3, 3), 2.0))

    expected = blend()
    for _ in range(3):
        gc.collect()
        others = [np.full((3, 3), 7.0) for _ in range(100)]  # where the first weights may have been
        assert np.array_equal(blend(), expected)
        assert len(others) == 100


def test_more_shapes_than_are_remembered() -> None:
    for extent in [*range(1, 20), *range(1, 20)]:
        x = np.arange(4 * extent).reshape(1, 4, extent, 1)
        expected = x.reshape(2, 2, extent).transpose(2, 0, 1).reshape(1, 1, 2 * extent, 2)
        assert np.array_equal(reblock.depth_to_space(x, 2), expected)


def test_a_reference_to_no_argument_is_kept() -> None:
    class Text(str):
        __slots__ = ("__weakref__",)

    order: Any = Text("CRD")
    x = np.zeros((1, 4, 2, 2))
    alive = weakref.ref(order), weakref.ref(x)
    reblock.depth_to_space(x, 2, order=order)
    reblock.depth_to_space(x, (2, 2))
    del order, x
    gc.collect()
    assert [reference() for reference in alive] == [None, None]
