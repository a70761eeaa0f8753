# SPDX-License-Identifier: BSD-3-Clause
"""What windows find outside of an image: the elements that numpy.pad puts there."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import reblock
from calls import Call, Ranges, Shape, counts_of, padded_calls, window_calls
from checks import assert_same_bytes, assert_same_values, refuses
from dtypes import BFLOAT16, SUMMABLE, movable, summable
from layouts import allocate, in_one_buffer, layouts, small_integers
from padded import MODES, expected_fold, expected_unfold
from reblock import PaddingMode

REPEATING = MODES[1:]


@given(st.data(), st.sampled_from(MODES), st.sampled_from(["CRD", "DCR"]))
def test_unfold_finds_what_numpy_pads(data: st.DataObject, mode: Any, order: str) -> None:
    (unfold, _, ranges), dtype = data.draw(padded_calls()), data.draw(movable())
    layout = data.draw(layouts(len(unfold.input_shape), dtype.itemsize))
    x = allocate(unfold.input_shape, dtype, layout).array
    threads = data.draw(st.sampled_from([1, 2, 5]))
    result = unfold(x, padding_mode=mode, blocks=ranges, order=order, threads=threads)
    assert_same_bytes(result, expected_unfold(unfold, x, mode, ranges, order))


@given(st.data(), st.sampled_from(MODES))
def test_out_may_lie_anywhere(data: st.DataObject, mode: Any) -> None:
    """Also in the memory of `x`."""
    (unfold, _, _), dtype = data.draw(padded_calls()), data.draw(movable())
    source, target = data.draw(in_one_buffer(unfold.input_shape, unfold.output_shape, dtype))
    ranges = [(0, count) for count in counts_of(unfold)]
    before = oracle.as_bytes(source.array).copy().view(dtype)  # with the gaps of structures
    expected = expected_unfold(unfold, before, mode, ranges, "CRD")
    guards = target.guard_bytes()
    assert unfold(source.array, padding_mode=mode, out=target.array) is target.array
    assert_same_bytes(target.array, expected)
    assert target.guard_bytes() == guards


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("sizes", "windows", "pads"),
    [
        ((5000,), (7,), (9000,)),
        ((70_001,), (3,), (2,)),
        ((190, 211), (3, 3), (1, 1)),
        ((40, 30), (20, 21), (9, 9)),
        ((9, 1300), (2, 3), (7, 900)),
        ((3, 2), (3, 3), (90, 80)),
    ],
)
@pytest.mark.parametrize("letters", ["NCL", "NLC"])
def test_images_of_several_blocks_in_the_buffer(
    mode: Any, sizes: Shape, windows: Shape, pads: Shape, letters: str
) -> None:
    channels = 1 if math.prod(windows) > 9 else 3
    unfold, _ = window_calls(1, channels, sizes, windows, start_padding=pads, end_padding=pads)
    x = allocate(unfold.input_shape, np.dtype(np.uint16)).array
    ranges = [(0, min(count, 3000)) for count in counts_of(unfold)]
    expected = expected_unfold(unfold, x, mode, ranges, "DCR").swapaxes(1, 2)
    layout: dict[str, Any] = {"layout": "NC" + "HW"[: len(sizes)], "out_layout": letters}
    keywords: dict[str, Any] = {k: v for k, v in unfold.keywords.items() if k != "channel_axis"}
    for threads in (1, 3):
        result = reblock.unfold(
            x,
            windows,
            **keywords,
            **layout,
            blocks=ranges,
            order="DCR",
            padding_mode=mode,
            threads=threads,
        )
        assert np.array_equal(result if letters == "NLC" else result.swapaxes(1, 2), expected)


@given(st.data(), st.sampled_from(MODES), st.sampled_from(["CRD", "DCR"]))
def test_fold_adds_in_the_order_that_is_documented(
    data: st.DataObject, mode: Any, order: str
) -> None:
    """Any bits, so that another order or another accumulator would be seen."""
    (_, fold, ranges), dtype = data.draw(padded_calls()), data.draw(summable())
    shape = (*fold.input_shape[:2], math.prod(stop - first for first, stop in ranges))
    memory = allocate(shape, dtype, data.draw(layouts(3, dtype.itemsize)))
    floats = [np.dtype(c) for c in "efdFD"] + [BFLOAT16]
    columns = memory.array if dtype in floats else small_integers(memory, dtype)
    held = allocate(fold.output_shape, dtype, seed=3)
    options: dict[str, Any] = {"padding_mode": mode, "blocks": ranges, "order": order}
    threads = data.draw(st.sampled_from([1, 2, 5]))
    result = fold(columns, **options, threads=threads)
    assert_same_values(result, expected_fold(fold, columns, mode, ranges, order))
    onto = held.array if dtype in floats else small_integers(held, dtype)
    before = onto.copy()
    fold(columns, **options, threads=threads, accumulate=True, out=onto)
    assert_same_values(onto, expected_fold(fold, columns, mode, ranges, order, before))


@given(padded_calls(), st.sampled_from(MODES))
def test_unfold_and_fold_are_adjoint(calls: tuple[Call, Call, Ranges], mode: Any) -> None:
    """<unfold(x), y> == <x, fold(y)>, exactly."""
    unfold, fold, _ = calls
    dtype = np.dtype(np.int64)
    x = small_integers(allocate(unfold.input_shape, dtype, seed=1), dtype)
    y = small_integers(allocate(fold.input_shape, dtype, seed=2), dtype)
    left = (unfold(x, padding_mode=mode) * y).sum()
    assert left == (x * fold(y, padding_mode=mode)).sum()


@pytest.mark.parametrize("mode", REPEATING)
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.complex64])
def test_larger_images_are_summed_alike(mode: Any, dtype: Any) -> None:
    unfold, fold = window_calls(
        2, 3, (31, 90), (3, 5), strides=(1, 2), start_padding=(1, 2), end_padding=(2, 1)
    )
    columns = small_integers(allocate(fold.input_shape, np.dtype(dtype)), np.dtype(dtype))
    ranges = [(0, count) for count in counts_of(unfold)]
    expected = expected_fold(fold, columns, mode, ranges, "CRD")
    for threads in (1, 4):
        assert_same_values(fold(columns, padding_mode=mode, threads=threads), expected)


@pytest.mark.parametrize("mode", REPEATING)
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32])
@pytest.mark.parametrize(
    ("sizes", "window", "pads"),
    [
        (
            (7, 7),
            (3, 3),
            ((1, 1), (1, 1)),
        ),  # rows of the columns follow each other
        ((14, 14), (3, 3), ((1, 1), (1, 1))),
        ((9, 12), (3, 5), ((1, 2), (1, 2))),
        ((6, 9), (2, 3), ((3, 2), (0, 4))),  # they do not
        ((2, 5, 6), (2, 3, 3), ((1, 1, 1), (0, 1, 1))),
        ((31,), (5,), ((2,), (2,))),
    ],
)
def test_small_images_are_summed_in_order(
    mode: Any, dtype: Any, sizes: Shape, window: Shape, pads: tuple[Shape, Shape]
) -> None:
    unfold, fold = window_calls(2, 7, sizes, window, start_padding=pads[0], end_padding=pads[1])
    numbers = np.random.default_rng(3).standard_normal(fold.input_shape)
    columns = (numbers * 9).astype(np.int8 if dtype == np.uint8 else dtype).astype(dtype)
    ranges = [(0, count) for count in counts_of(unfold)]
    expected = expected_fold(fold, columns, mode, ranges, "CRD")
    assert_same_values(fold(columns, padding_mode=mode, threads=1), expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.complex128])
@pytest.mark.parametrize(
    ("sizes", "window", "strides", "pads"),
    [
        ((40, 2500), (3, 3), (1, 1), ((1, 2), (2, 0))),
        ((70, 2000), (2, 5), (3, 2), ((0, 5), (1, 9))),
        ((60_000,), (400,), (160,), ((200,), (150,))),
        ((3, 20, 1500), (2, 3, 3), (1, 1, 1), ((1, 1, 1), (1, 1, 1))),
    ],
)
def test_windows_inside_large_images(  # noqa: PLR0917 - all that the way to move depends on
    mode: Any, dtype: Any, sizes: Shape, window: Shape, strides: Shape, pads: tuple[Shape, Shape]
) -> None:
    x = np.random.default_rng(5).integers(0, 256, (2, 1, *sizes)).astype(dtype)
    value: dict[str, Any] = {"padding_value": 7} if mode == "constant" else {}
    options: dict[str, Any] = {"constant_values": 7} if mode == "constant" else {}
    padded = np.pad(x, [(0, 0), (0, 0), *zip(*pads, strict=True)], mode, **options)
    given: dict[str, Any] = {"strides": strides, "start_padding": pads[0], "end_padding": pads[1]}
    for threads in (1, 3):
        found = reblock.unfold(x, window, padding_mode=mode, threads=threads, **given, **value)
        assert np.array_equal(found, reblock.unfold(padded, window, strides=strides))


@pytest.mark.parametrize(
    ("mode", "row"),
    [
        ("edge", "aaaaaaabcddddddd"),
        ("reflect", "abcdcbabcdcbabcd"),
        ("symmetric", "cddcbaabcddcbaab"),
        ("wrap", "cdabcdabcdabcdab"),
    ],
)
def test_each_mode_continues_a_row(mode: Any, row: str) -> None:
    x = np.array(list("abcd"), "S1").reshape(1, 1, 4)
    padded = reblock.unfold(x, 1, start_padding=6, end_padding=6, padding_mode=mode)
    assert b"".join(padded.ravel().tolist()).decode() == row


# The value of the constant mode


@given(padded_calls(), st.sampled_from(SUMMABLE), st.data())
def test_the_value_lies_outside(
    calls: tuple[Call, Call, Ranges], dtype: np.dtype[Any], data: st.DataObject
) -> None:
    unfold, _, ranges = calls
    known: dict[str, list[Any]] = {
        "b": [True],
        "u": [1, 117],
        "i": [-1, 117],
        "c": [1.5 - 2j, 2],
    }
    values = known.get(dtype.kind, [-0.5, -0.0, 96, math.inf])
    value = data.draw(st.sampled_from(values))
    x = allocate(unfold.input_shape, dtype, data.draw(layouts(len(unfold.input_shape), 1))).array
    result = unfold(x, padding_value=value, blocks=ranges)
    expected = expected_unfold(unfold, x, "constant", ranges, "CRD", dtype.type(value))
    if dtype.char in "gG":  # with bytes that belong to no number
        assert_same_values(result, expected)
    else:
        assert_same_bytes(result, expected)


@pytest.mark.parametrize("value", [math.nan, np.float32(math.nan), np.nan * 1j])
def test_not_a_number_is_a_value(value: Any) -> None:
    x = np.zeros((1, 1, 2), np.complex64 if isinstance(value, complex) else np.float16)
    padded = reblock.unfold(x, 1, start_padding=1, padding_value=value)
    assert np.isnan(padded[0, 0, 0])
    assert padded[0, 0, 1] == 0


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (np.uint8, -1),
        (np.uint8, 256),
        (np.int8, 0.5),
        (np.int64, 2**63),
        (np.int32, math.nan),
        (np.float16, 70_000),
        (np.float16, 0.1),
        (np.float32, 0.1),
        (np.float32, 2**24 + 1),
        (np.float64, 1j),
        (np.complex64, 0.1),
        (bool, 2),
        (ml_dtypes.bfloat16, 0.1),
        (ml_dtypes.bfloat16, 257),
    ],
)
def test_values_that_a_dtype_does_not_hold_are_refused(dtype: Any, value: Any) -> None:
    x, out = np.zeros((1, 1, 3), dtype), np.ones((1, 1, 4), dtype)
    refuses(
        lambda: reblock.unfold(x, 1, start_padding=1, padding_value=value, out=out),
        ValueError,
        "padding_value",
        np.dtype(dtype).name,
        untouched=[out],
    )


@pytest.mark.parametrize(
    "value", [[1], [[1], 2], "a", None, np.ones(1), np.datetime64("2020"), np.ma.masked]
)
def test_values_that_are_no_numbers_are_refused(value: Any) -> None:
    refuses(
        lambda: reblock.unfold(np.zeros((1, 1, 3)), 1, padding_value=value),
        TypeError,
        "padding_value",
    )


def test_other_dtypes_and_modes_have_no_value() -> None:
    for dtype in ("S3", "M8[s]", [("a", "i4"), ("b", "i4")], "V9"):
        x = np.zeros((1, 1, 3), dtype)
        assert reblock.unfold(x, 1, start_padding=1).shape == (1, 1, 4)
        refuses(lambda: reblock.unfold(x, 1, padding_value=1), TypeError, "padding_value")  # noqa: B023 - called at once
    x = np.zeros((1, 1, 3))
    refuses(
        lambda: reblock.unfold(x, 1, padding_mode="edge", padding_value=1),
        ValueError,
        "padding_value",
        "EDGE",
        1,
    )


@pytest.mark.parametrize("swapped", [">f4", ">u2", ">c16"])
def test_a_value_in_the_byte_order_of_the_dtype(swapped: str) -> None:
    x = np.arange(3).astype(swapped).reshape(1, 1, 3)
    result = reblock.unfold(x, 1, start_padding=1, padding_value=5)
    assert result.tolist() == [[[5, 0, 1, 2]]]
    assert result.dtype == np.dtype(swapped)


# The names of modes


def test_modes_have_names_and_numbers() -> None:
    assert {mode.name: mode.value for mode in PaddingMode} == {
        "CONSTANT": 0,
        "EDGE": 1,
        "REFLECTION": 2,
        "SYMMETRIC": 3,
        "WRAP": 4,
    }
    x = np.arange(4).reshape(1, 1, 4)
    for name, mode in zip(MODES, PaddingMode, strict=True):
        spelled: Any = name
        by_name = reblock.unfold(x, 2, start_padding=3, padding_mode=spelled)
        others: list[Any] = [mode, mode.value, np.int8(mode.value)]
        for same in others:
            assert_same_bytes(reblock.unfold(x, 2, start_padding=3, padding_mode=same), by_name)


@pytest.mark.parametrize(
    ("mode", "kind", "told"),
    [
        ("mean", ValueError, ()),
        ("Edge", ValueError, ("edge",)),
        ("replicate", ValueError, ("edge",)),
        ("circular", ValueError, ("wrap",)),
        ("mirror", ValueError, ("reflect",)),
        (5, ValueError, (5,)),
        (-1, ValueError, (-1,)),
        (None, TypeError, ()),
        (True, TypeError, ()),
        (1.0, TypeError, ()),
    ],
)
def test_other_modes_are_refused(
    mode: Any, kind: type[Exception], told: tuple[object, ...]
) -> None:
    x, columns = np.zeros((1, 1, 5)), np.zeros((1, 3, 3))
    out = np.ones((1, 3, 3))
    refuses(
        lambda: reblock.unfold(x, 3, padding_mode=mode, out=out),
        kind,
        "padding_mode",
        *told,
        untouched=[out],
    )
    refuses(lambda: reblock.fold(columns, 5, 3, padding_mode=mode), kind, "padding_mode", *told)
    refuses(lambda: reblock.unfold_shape(x.shape, 3, padding_mode=mode), kind, "padding_mode")
    refuses(lambda: reblock.fold_shape((1, 3, 3), 5, 3, padding_mode=mode), kind, "padding_mode")


def test_words_of_other_libraries_get_a_hint() -> None:
    for word in ("mode", "pad_mode"):
        given: dict[str, Any] = {word: "edge"}
        refuses(
            lambda: reblock.unfold(np.zeros((1, 1, 5)), 3, **given),  # noqa: B023 - called at once
            TypeError,
            "padding_mode",
            word,
        )


@pytest.mark.parametrize("mode", REPEATING)
def test_an_axis_without_elements_has_nothing_to_repeat(mode: Any) -> None:
    x = np.zeros((1, 2, 3, 0))
    pads: dict[str, Any] = {"start_padding": (1, 1), "padding_mode": mode}
    refuses(lambda: reblock.unfold(x, 1, **pads), ValueError, "padding_mode", (3, 0), 1)
    with pytest.raises(ValueError, match="empty axis"):
        np.pad(x, [(0, 0), (0, 0), (1, 0), (1, 0)], mode)
    columns = np.zeros((1, 2, 4))
    refuses(lambda: reblock.fold(columns, (3, 0), 1, **pads), ValueError, "padding_mode", (3, 0))
    for shape in ((0, 2, 3), (2, 0, 3)):
        empty = reblock.unfold(np.zeros(shape), 2, start_padding=4, padding_mode=mode)
        assert empty.shape == (shape[0], 2 * shape[1], 6)


def test_padding_far_larger_than_memory() -> None:
    """Only the blocks that are asked for count."""
    x = np.arange(5, dtype=np.int8).reshape(1, 1, 5)
    far = 2**60
    start = {"edge": 0, "reflect": -far % 8, "symmetric": -far % 10, "wrap": -far % 5}
    modes: list[Any] = REPEATING
    for mode in modes:
        near = reblock.unfold(x, 2, end_padding=40, padding_mode=mode)
        options: dict[str, Any] = {"start_padding": far, "padding_mode": mode, "blocks": (0, 9)}
        result = reblock.unfold(x, 2, **options)
        first = start[mode]
        expected = near[:, :, first : first + 9] if mode != "edge" else np.zeros((1, 2, 9))
        assert np.array_equal(result, expected)
        image = reblock.fold(result, 5, 2, **options)
        assert image.sum() == result.astype(int).sum().astype(np.int8)


@pytest.mark.parametrize("mode", REPEATING)
def test_windows_far_apart(mode: Any) -> None:
    """The padding has 2**61 positions, and few of them have a window."""
    window: dict[str, Any] = {"start_padding": 2**61, "strides": 2**57, "padding_mode": mode}
    x = np.arange(1, 6).reshape(1, 1, 5)
    columns = reblock.unfold(x, 2, **window)
    assert columns.shape == (1, 2, 17)
    sums = reblock.fold(columns, 5, 2, **window)
    expected = np.bincount(columns.ravel(), columns.ravel(), 6)[1:]
    assert sums.ravel().tolist() == expected.tolist()
    assert reblock.fold(columns, 5, 2, **window, reduction="max").max() == columns.max()


CODE = """
import hashlib, itertools
import numpy as np
import reblock
x = np.random.default_rng(1).normal(size=(2, 5, 23, 31)).astype(np.float16)
seen = hashlib.sha256()
for mode, order, threads in itertools.product(reblock.PaddingMode, ("CRD", "DCR"), (1, 3)):
    window = {"start_padding": (2, 30), "end_padding": (25, 1), "order": order}
    window |= {"threads": threads}
    columns = reblock.unfold(x, (3, 2), padding_mode=mode, strides=(1, 2), **window)
    seen.update(columns.tobytes())
    image = reblock.fold(columns, (23, 31), (3, 2), padding_mode=mode, strides=(1, 2), **window)
    seen.update(image.tobytes())
print(seen.hexdigest())
"""


def test_every_instruction_set_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = set()
    for instruction_set in ("", "baseline", "ssse3", "avx2"):
        monkeypatch.setenv("REBLOCK_ISA", instruction_set)
        run = subprocess.run(
            [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
        )
        digests.add(run.stdout)
    assert len(digests) == 1
