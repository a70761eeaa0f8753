# SPDX-License-Identifier: BSD-3-Clause
"""`reblock.diagnose`: what made one array of another, found by trying."""

from __future__ import annotations

import itertools
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
import reblock
from calls import Call, any_call
from checks import refuses
from reblock import _search
from reblock._diagnose import SHOWN

Array = oracle.Array


def noise(*shape: int, dtype: Any = np.float64) -> Array:
    if np.dtype(dtype).kind == "f":
        return np.random.default_rng(0).random(shape).astype(dtype)
    return np.random.default_rng(0).integers(0, 120, shape).astype(dtype)


def evaluate(candidate: object, x: Array) -> Any:
    """Return what the text of a candidate gives, as a user would evaluate it."""
    names = {name: getattr(reblock, name) for name in reblock.__all__}
    return eval(str(candidate), names | {"x": x})


# What is told

DEPTH, IMAGE = noise(2, 12, 4, 6), noise(2, 3, 12, 10)

KNOWN: list[tuple[Array, Callable[[Array], Array], str]] = [
    (DEPTH, lambda x: reblock.depth_to_space(x, 2), "depth_to_space(x, 2)"),
    (
        DEPTH,
        lambda x: reblock.depth_to_space(x, (1, 3), order="CRD"),
        "depth_to_space(x, (1, 3), order='CRD')",
    ),
    (
        DEPTH.transpose(0, 2, 3, 1),
        lambda x: reblock.depth_to_space(x, 2, order="CRD", channel_axis=-1),
        "depth_to_space(x, 2, order='CRD', layout='NHWC')",
    ),
    (
        DEPTH.transpose(0, 2, 1, 3),
        lambda x: reblock.depth_to_space(x, 2, channel_axis=2),
        "depth_to_space(x, 2, layout='NHCW')",
    ),
    (
        DEPTH,
        lambda x: reblock.depth_to_space(x, 2).transpose(0, 2, 3, 1),
        "depth_to_space(x, 2, out_layout='NHWC')",
    ),
    (
        DEPTH[0],
        lambda x: reblock.depth_to_space(x[None], 2)[0],
        "depth_to_space(x, 2, layout='CHW')",
    ),
    (DEPTH[:1], lambda x: reblock.depth_to_space(x, 2)[0], "depth_to_space(x, 2)[0]"),
    (
        DEPTH[0],
        lambda x: reblock.depth_to_space(x[None], 2),
        "depth_to_space(x, 2, layout='CHW', out_layout='NCHW')",
    ),
    (
        DEPTH[0, 0],
        lambda x: reblock.space_to_depth(x[None, None], (2, 3))[0].transpose(1, 2, 0),
        (
            "space_to_depth(x, (2, 3), layout='HW', out_layout='HWC')"
            "\nDCR and CRD order are the same here."
        ),
    ),
    (
        IMAGE,
        lambda x: reblock.space_to_depth(x, 2, order="CRD"),
        "space_to_depth(x, 2, order='CRD')",
    ),
    # Without its batch of one, it has three spatial axes as well, and blocks of (3, 2, 2).
    (
        noise(1, 6, 4, 12),
        lambda x: reblock.depth_to_space(x, 2, order="CRD", layout="NHWC", out_layout="NCHW"),
        "depth_to_space(x, 2, order='CRD', layout='NHWC', out_layout='NCHW')",
    ),
    (IMAGE, lambda x: x, "x"),
    (IMAGE, lambda x: x.transpose(0, 2, 3, 1), "x.transpose(0, 2, 3, 1)"),
    (IMAGE, lambda x: x.swapaxes(2, 3), "x.transpose(0, 1, 3, 2)"),
    (DEPTH, lambda x: x.reshape(2, 3, 8, 12), "x.reshape(2, 3, 8, 12)"),
    (IMAGE, lambda x: reblock.unfold(x, 3), "unfold(x, 3)"),
    (
        IMAGE,
        lambda x: reblock.unfold(x, 3, start_padding=1, end_padding=1),
        "unfold(x, 3, start_padding=1, end_padding=1)",
    ),
    (
        IMAGE,
        lambda x: reblock.unfold(x, (3, 2), strides=2, dilations=(1, 3), start_padding=(0, 2)),
        "unfold(x, (3, 2), strides=2, dilations=(1, 3), start_padding=(0, 2))",
    ),
    (
        IMAGE.transpose(0, 2, 3, 1),
        lambda x: reblock.unfold(x, 2, strides=2, channel_axis=-1),
        "unfold(x, 2, strides=2, layout='NHWC')",
    ),
    (
        IMAGE,
        lambda x: reblock.unfold(x, 2, strides=2).swapaxes(1, 2),
        "unfold(x, 2, strides=2, out_layout='NLC')",
    ),
    (
        IMAGE[0],
        lambda x: reblock.unfold(x[None], 4, strides=2)[0],
        "unfold(x, 4, strides=2, layout='CHW')",
    ),
    # Patches with the channels as the fast index, as TensorFlow's extract_patches has them.
    (
        IMAGE.transpose(0, 2, 3, 1),
        lambda x: (
            reblock.unfold(x, 4, strides=2, channel_axis=-1)
            .reshape(2, 3, 16, 5, 4)
            .transpose(0, 3, 4, 2, 1)
            .reshape(2, 5, 4, 48)
        ),
        (
            "unfold(x, 4, strides=2, order='DCR', layout='NHWC', out_layout='NLC')"
            ".reshape(-1, 5, 4, 48)"
        ),
    ),
    (noise(1, 1, 30), lambda x: reblock.unfold(x, 8, strides=4), "unfold(x, 8, strides=4)"),
    (
        noise(1, 2, 4, 5, 6),
        lambda x: reblock.unfold(x, (2, 3, 2)),
        "unfold(x, (2, 3, 2))",
    ),
    (
        noise(2, 3 * 9, 25),
        lambda x: reblock.fold(x, (7, 7), 3),
        "fold(x, (7, 7), 3)",
    ),
    (
        noise(2, 25, 3 * 9),
        lambda x: reblock.fold(x.swapaxes(1, 2), (7, 7), 3),
        "fold(x, (7, 7), 3, layout='NLC')",
    ),
    (
        noise(3 * 16, 20),
        lambda x: reblock.fold(x[None], (12, 10), 4, strides=2, channel_axis=-1)[0],
        "fold(x, (12, 10), 4, strides=2, layout='CL', out_layout='HWC')",
    ),
    (
        noise(1, 9, 30),
        lambda x: reblock.fold(x, (13, 10), 3, strides=2, end_padding=(0, 1)),
        "fold(x, (13, 10), 3, strides=2, end_padding=(0, 1))",
    ),
]


@pytest.mark.parametrize(("x", "make", "text"), KNOWN, ids=[text for *_, text in KNOWN])
def test_what_made_it(x: Array, make: Callable[[Array], Array], text: str) -> None:
    result = make(x)
    found = reblock.diagnose(x, result)
    assert repr(found) == f"equal to {text}"
    assert found.nearest is found.matches[0]
    assert found.share == 1
    for candidate in found.matches:
        assert np.array_equal(candidate(x), result)
        assert np.array_equal(evaluate(candidate, x), result)


@settings(max_examples=25)
@given(any_call())
def test_every_match_gives_the_result(call: Call) -> None:
    x = noise(*call.input_shape, dtype=np.int64)
    result = call.oracle(x)
    if not (x.size and result.size):
        refuses(partial(reblock.diagnose, x, result), ValueError, "elements")
        return
    found = reblock.diagnose(x, result)
    for candidate in found.matches:
        assert np.array_equal(evaluate(candidate, x), result)
    if call.operator in ("depth_to_space", "space_to_depth"):
        assert found.matches


def test_a_match_takes_another_batch() -> None:
    columns = reblock.unfold(IMAGE, 2, strides=2)
    tokens = columns.reshape(2, 3, 4, 30).transpose(0, 3, 2, 1).reshape(2, 30, 12)
    (match,) = reblock.diagnose(IMAGE, tokens).matches
    images = noise(5, 3, 12, 10, dtype=np.int16)
    columns = reblock.unfold(images, 2, strides=2)
    assert np.array_equal(
        match(images), columns.reshape(5, 3, 4, 30).transpose(0, 3, 2, 1).reshape(5, 30, 12)
    )


def test_candidates_are_values() -> None:
    first, second = (
        reblock.diagnose(IMAGE[0], reblock.space_to_depth(IMAGE[:1], 2, order="CRD")[0]).matches[0]
        for _ in range(2)
    )
    assert first == second == pickle.loads(pickle.dumps(first))
    assert len({first, second}) == 1


# What the data do not tell apart


def test_the_order_of_a_single_channel() -> None:
    x = noise(1, 4, 3, 3)
    found = reblock.diagnose(x, reblock.depth_to_space(x, 2))
    assert str(found) == "equal to depth_to_space(x, 2)\nDCR and CRD order are the same here."
    assert found.either_order
    assert not reblock.diagnose(DEPTH, reblock.depth_to_space(DEPTH, 2)).either_order


def test_equal_channels_do_not_tell_the_order() -> None:
    x = np.repeat(noise(1, 1, 3, 3), 8, axis=1)
    found = reblock.diagnose(x, reblock.depth_to_space(x, 2))
    assert str(found) == (
        "equal to each of these, which the data do not tell apart:\n"
        "  depth_to_space(x, 2)\n"
        "  depth_to_space(x, 2, order='CRD')"
    )
    assert not found.either_order


def test_constant_data_tell_nothing() -> None:
    x = np.zeros((1, 1, 8, 8))
    found = reblock.diagnose(x, np.zeros((1, 9, 36)))
    assert str(found.matches[0]) == "unfold(x, 3)"
    assert len(found.matches) > SHOWN
    assert str(found).endswith(f"\n  and {len(found.matches) - SHOWN} more")
    assert not found.complete


def test_what_does_the_same_is_told_once() -> None:
    """Windows that tile an image, in a grid, are blocks."""
    found = reblock.diagnose(IMAGE, reblock.space_to_depth(IMAGE, 2, order="CRD"))
    assert [match.operator for match in found.matches] == ["space_to_depth"]


# Where nothing is equal


@pytest.mark.parametrize(
    ("x", "operator", "arguments"),
    [
        (DEPTH, "depth_to_space", (2,)),
        (noise(1, 3, 20, 20), "unfold", (3,)),
        (noise(1, 27, 25), "fold", ((7, 7), 3)),
    ],
)
def test_the_nearest_is_told(x: Array, operator: str, arguments: Any) -> None:
    result = getattr(reblock, operator)(x, *arguments)
    wrong = np.random.default_rng(1).random(result.shape) < 0.25
    result[wrong] += 1
    found = reblock.diagnose(x, result)
    text = f"{operator}(x, {', '.join(map(str, arguments))})"
    assert found.matches == ()
    assert str(found.nearest) == text
    assert found.share == 1 - wrong.mean()
    percent = math.floor(1000 * found.share) / 10
    first, second, *_ = str(found).splitlines()
    assert (
        first == f"equal to none of the {found.tried} that fit; the nearest, {percent}% equal, is"
    )
    assert second == f"  {text}"


def test_almost_equal_is_not_told_to_be_100_percent() -> None:
    x = noise(1, 4, 100, 100)
    result = reblock.depth_to_space(x, 2)
    result[0, 0, -1, -1] = 2
    assert "the nearest, 99.9% equal, is\n" in str(reblock.diagnose(x, result))


def test_shapes_that_nothing_fits() -> None:
    found = reblock.diagnose(np.zeros((2, 5, 3, 3)), np.zeros((3, 2, 4, 7)))
    assert str(found) == "no operator turns the shape (2, 5, 3, 3) into (3, 2, 4, 7)"
    assert (found.nearest, found.share, found.tried, found.complete) == (None, 0, 0, True)


# What is compared


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, ">u2", np.float16, np.complex64, "M8[s]", "S3"]
)
def test_dtypes(dtype: Any) -> None:
    x = noise(1, 3, 9, 9, dtype=np.int64).astype(dtype)
    if dtype is np.bool_:
        x = noise(1, 3, 9, 9) < 0.5
    assert str(reblock.diagnose(x, reblock.unfold(x, 3)).matches[0]) == "unfold(x, 3)"


def test_arrays_of_structures_are_compared() -> None:
    x = np.zeros((1, 8, 3, 3), [("a", "i2"), ("b", "u1")])
    x["a"] = noise(1, 8, 3, 3, dtype=np.int16)
    assert str(reblock.diagnose(x, reblock.depth_to_space(x, 2))) == "equal to depth_to_space(x, 2)"


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float16, np.complex128])
def test_dtypes_of_sums(dtype: Any) -> None:
    x = (noise(1, 18, 25, dtype=np.int64) * 3).astype(dtype)
    if dtype is np.bool_:
        x = noise(1, 18, 25) < 0.1
    (match,) = reblock.diagnose(x, reblock.fold(x, (7, 7), 3)).matches
    assert str(match) == "fold(x, (7, 7), 3)"


def test_nan_is_equal_to_nan() -> None:
    x = DEPTH.copy()
    x[x < 0.3] = np.nan
    found = reblock.diagnose(x, reblock.depth_to_space(x, 2))
    assert str(found) == "equal to depth_to_space(x, 2)"
    columns = noise(1, 18, 25)
    columns[0, 3, 4], columns[0, 9, 7] = np.nan, np.inf
    found = reblock.diagnose(columns, reblock.fold(columns, (7, 7), 3))
    assert str(found) == "equal to fold(x, (7, 7), 3)"


def test_sums_in_another_order_and_another_dtype() -> None:
    x = noise(1, 18, 25, dtype=np.float32)
    image = np.zeros((1, 2, 7, 7), np.float32)
    windows = x.reshape(1, 2, 3, 3, 5, 5)
    for row, column in reversed(list(np.ndindex(3, 3))):
        image[:, :, row : row + 5, column : column + 5] += windows[:, :, row, column]
    assert not np.array_equal(image, reblock.fold(x, (7, 7), 3))
    for result in (image, image.astype(np.float64)):
        assert str(reblock.diagnose(x, result)) == "equal to fold(x, (7, 7), 3)"
    image[0, 0, 3, 3] *= 1.001
    assert not reblock.diagnose(x, image).matches


def test_another_dtype_of_the_same_values() -> None:
    x = noise(1, 3, 4, 4, dtype=np.uint8)
    result = reblock.space_to_depth(x, 2).astype(np.float32)
    assert str(reblock.diagnose(x, result)) == "equal to space_to_depth(x, 2)"


def test_any_strides_and_array_likes() -> None:
    x = np.flip(noise(2, 4, 6, 12), axis=1).transpose(0, 3, 1, 2)
    result = np.asfortranarray(reblock.depth_to_space(x, 2))
    assert str(reblock.diagnose(x, result)) == "equal to depth_to_space(x, 2)"
    assert reblock.diagnose([[1, 2, 3, 4]], [[1, 2], [3, 4]]).matches


# Parameters of windows, against all there are


@given(st.integers(1, 7), st.integers(1, 4), st.integers(1, 5))
def test_parameters_along_an_axis(extent: int, size: int, count: int) -> None:
    """Every map from columns to an axis, within the limits, is given by some parameters."""

    def source(stride: int, dilation: int, start: int) -> tuple[int, ...]:
        places = (
            window * stride + offset * dilation - start
            for offset, window in itertools.product(range(size), range(count))
        )
        return tuple(place if 0 <= place < extent else -1 for place in places)

    expected = set()
    for dilation in range(1, 3):
        padding = dilation * (size - 1)
        for stride, start, end in itertools.product(
            range(1, extent + 2 * padding + 2), range(padding + 1), range(padding + 1)
        ):
            spare = extent + start + end - padding - 1
            if spare >= 0 and spare // stride + 1 == count:
                expected.add(source(stride, dilation, start))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_search, "DILATION", 2)
        found = _search.axis_parameters.__wrapped__(extent, size, count)
    assert {source(*row[:3]) for row in found.tolist()} == expected
    for stride, dilation, start, end in found.tolist():
        spare = extent + start + end - dilation * (size - 1) - 1
        assert spare // stride + 1 == count


@given(st.integers(1, 200), st.lists(st.integers(1, 50), min_size=1, max_size=3))
def test_factorizations(number: int, limits: list[int]) -> None:
    every = itertools.product(*(range(1, min(limit, number) + 1) for limit in limits))
    expected = [factors for factors in every if math.prod(factors) == number]
    assert sorted(_search.factorizations(number, limits)) == expected


# What is refused


@pytest.mark.parametrize(
    ("wrong", "kind", "told"),
    [
        (np.zeros(4), ValueError, (4,)),
        (np.zeros((1,) * 9), ValueError, (1,) * 9),
        (np.zeros((1, 0, 2)), ValueError, (1, 0, 2)),
        (np.array([[None]]), TypeError, "object"),
        (None, TypeError, "NoneType"),
        (np.ma.masked_array(np.zeros((2, 2))), TypeError, "masked"),
    ],
)
def test_refusals(wrong: Any, kind: type[Exception], told: Any) -> None:
    fine = np.zeros((1, 4, 2, 2))
    refuses(lambda: reblock.diagnose(wrong, fine), kind, "x", told)
    refuses(lambda: reblock.diagnose(fine, wrong), kind, "result", told)


def test_dtypes_that_do_not_compare() -> None:
    x = np.zeros((1, 4, 2, 2))
    for other in ("S3", "M8[s]", [("a", "i2")]):
        made = x.astype(other)
        refuses(partial(reblock.diagnose, x, made), TypeError, "result", "float64")
        refuses(partial(reblock.diagnose, made, x), TypeError, "result", "float64")


def test_it_is_imported_when_it_is_asked_for() -> None:
    script = """
import sys, reblock
assert "diagnose" in dir(reblock)
assert "reblock._diagnose" not in sys.modules
reblock.diagnose
assert "reblock._diagnose" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
