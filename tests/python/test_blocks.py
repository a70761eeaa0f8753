# SPDX-License-Identifier: BSD-3-Clause
"""A part of the windows: their columns alone, and folds that add to what is there."""

from __future__ import annotations

import math
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import reblock
from calls import LARGE, SMALL, Call, Ranges, Shape, counts_of, ranges_of, window_pairs
from checks import assert_same_bytes, assert_same_values, refuses
from dtypes import BFLOAT16, movable, summable
from layouts import allocate, layouts, small_integers
from oracle import Array


def spelled(data: st.DataObject, ranges: Ranges, counts: list[int]) -> Any:
    """Write ranges in one of the ways that there are."""

    def spell(start: int, stop: int, count: int) -> Any:
        starts: list[int | None] = [start, *([start - count] if start < count else [])]
        stops: list[int | None] = [stop, *([stop - count] if stop < count else [sys.maxsize])]
        starts += [None] * (start == 0)
        stops += [None] * (stop == count)
        pair = data.draw(st.sampled_from(starts)), data.draw(st.sampled_from(stops))
        whole = [None] if (start, stop) == (0, count) else []
        return data.draw(st.sampled_from([pair, list(pair), slice(*pair), slice(*pair, 1), *whole]))

    each = [spell(*r, count) for r, count in zip(ranges, counts, strict=True)]
    if len(each) == 1 and data.draw(st.booleans()):
        return each[0]
    return data.draw(st.sampled_from([list, tuple]))(each)


def shape_of(columns: Shape, ranges: Ranges) -> Shape:
    return (*columns[:2], math.prod(stop - start for start, stop in ranges))


@given(st.data())
def test_unfold_makes_the_columns_of_the_blocks(data: st.DataObject) -> None:
    (call, _), dtype = data.draw(window_pairs()), data.draw(movable())
    counts = counts_of(call)
    ranges, order = data.draw(ranges_of(counts)), data.draw(st.sampled_from(["CRD", "DCR"]))
    layout = data.draw(layouts(len(call.input_shape), dtype.itemsize))
    x = allocate(call.input_shape, dtype, layout).array
    blocks = spelled(data, ranges, counts)
    expected = oracle.unfold(x, *call.arguments, **call.keywords, blocks=ranges, order=order)
    assert_same_bytes(call(x, blocks=blocks, order=order), expected)
    shape = reblock.unfold_shape(x.shape, *call.arguments, **call.keywords, blocks=blocks)
    assert shape == expected.shape


def check_fold(
    data: st.DataObject, call: Call, columns: Array, held: Array, ranges: Ranges
) -> None:
    """Fold onto what is held, and onto nothing."""
    options = {"order": data.draw(st.sampled_from(["CRD", "DCR"]))}
    blocks = spelled(data, ranges, counts_of(call))
    keywords = {**call.keywords, **options, "blocks": ranges}
    result = call(columns, blocks=blocks, **options)
    assert_same_values(result, oracle.fold(columns, *call.arguments, **keywords))
    before = held.copy()
    threads = data.draw(st.sampled_from([1, 2, 5]))
    assert (
        call(columns, blocks=blocks, **options, accumulate=True, out=held, threads=threads) is held
    )
    assert_same_values(held, oracle.fold(columns, *call.arguments, **keywords, onto=before))


@given(st.data(), st.sampled_from([SMALL] * 3 + [LARGE]))
def test_fold_adds_the_blocks_to_what_out_holds(data: st.DataObject, budget: int) -> None:
    (_, call), dtype = data.draw(window_pairs(budget=budget)), data.draw(summable())
    counts = counts_of(call)
    ranges = data.draw(ranges_of(counts))
    shape = shape_of(call.input_shape, ranges)
    columns = small_integers(
        allocate(shape, dtype, data.draw(layouts(3, dtype.itemsize)), seed=1), dtype
    )
    layout = data.draw(layouts(len(call.output_shape), dtype.itemsize, for_output=True))
    memory = allocate(call.output_shape, dtype, layout, seed=2)
    held = small_integers(memory, dtype)
    guards = memory.guard_bytes()
    check_fold(data, call, columns, held, ranges)
    assert memory.guard_bytes() == guards


@given(st.data())
def test_an_accumulated_sum_rounds_as_its_order_says(data: st.DataObject) -> None:
    """Any bits, so that another order or another accumulator would be seen."""
    _, call = data.draw(window_pairs())
    dtype = data.draw(st.sampled_from([np.dtype(c) for c in "efdFD"] + [BFLOAT16]))
    counts = counts_of(call)
    ranges = data.draw(st.sampled_from([data.draw(ranges_of(counts)), [(0, n) for n in counts]]))
    seed = data.draw(st.integers(0, 2**32 - 2))
    columns = allocate(shape_of(call.input_shape, ranges), dtype, seed=seed).array
    held = allocate(call.output_shape, dtype, seed=seed + 1).array
    check_fold(data, call, columns, held, ranges)


@given(st.data())
def test_parts_that_make_up_all_blocks_accumulate_to_the_whole(data: st.DataObject) -> None:
    unfold, fold = data.draw(window_pairs())
    counts = counts_of(unfold)
    x = small_integers(allocate(unfold.input_shape, np.dtype(np.int64)), np.dtype(np.int64))
    whole = fold(unfold(x))
    parts = np.zeros_like(whole)
    cuts = [sorted({0, n, *data.draw(st.lists(st.integers(0, n), max_size=2))}) for n in counts]
    for index in np.ndindex(*(len(cut) - 1 for cut in cuts)):
        blocks = [(cut[i], cut[i + 1]) for cut, i in zip(cuts, index, strict=True)]
        fold(unfold(x, blocks=blocks), blocks=blocks, accumulate=True, out=parts)
    assert_same_bytes(parts, whole)


def test_a_part_of_a_photo_in_any_layout() -> None:
    photo = np.arange(8 * 9 * 3, dtype=np.int32).reshape(8, 9, 3)
    names: dict[str, Any] = {"layout": "HWC", "out_layout": "LC"}
    whole = reblock.unfold(photo, 3, **names, order="DCR").reshape(6, 7, 27)
    part = reblock.unfold(photo, 3, **names, order="DCR", blocks=[(2, 4), slice(-3, None)])
    assert np.array_equal(part.reshape(2, 3, 27), whole[2:4, -3:])
    assert np.array_equal(part[0].reshape(3, 3, 3), photo[2:5, 4:7])
    out = photo.copy()
    back = reblock.fold(
        part,
        (8, 9),
        3,
        layout="LC",
        out_layout="HWC",
        order="DCR",
        blocks=[(2, 4), (4, 7)],
        accumulate=True,
        out=out,
    )
    assert back is out
    counts = np.zeros((8, 9, 1), np.int32)
    for row, column in np.ndindex(2, 3):
        counts[2 + row : 5 + row, 4 + column : 7 + column] += 1
    assert np.array_equal(out, photo + photo * counts)


def test_one_range_stands_for_all_axes() -> None:
    x = np.arange(64).reshape(1, 1, 8, 8)
    part = reblock.unfold(x, 1, blocks=(2, 4))
    assert np.array_equal(part.reshape(2, 2), x[0, 0, 2:4, 2:4])
    assert np.array_equal(reblock.unfold(x, 1, blocks=slice(2, -4)), part)
    assert np.array_equal(reblock.unfold(x, 1, blocks=np.array([[2, 4], [2, 4]])), part)


def test_a_narrow_accumulated_sum_is_rounded_once() -> None:
    """One plus twice half of its last bit: lost one by one, kept by a wider accumulator."""
    for dtype in (np.float16, ml_dtypes.bfloat16):
        half = float(np.spacing(dtype(1))) / 2
        columns = np.zeros((1, 3, 3), dtype)
        columns[0, [0, 1], [2, 1]] = half
        out = np.ones((1, 1, 5), dtype)
        reblock.fold(columns, 5, 3, accumulate=True, out=out)
        assert float(out[0, 0, 2]) == 1 + 2 * half


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("length", [5, 9, 21, 33, 70, 200])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_sums_onto_negative_zeros_add_the_terms_alone(dtype: Any, length: int, layout: str) -> None:
    """A -0 stays where all terms are -0, also at the edges, where positions have fewer terms."""
    random = np.random.default_rng(length)
    for held_zeros in (1.0, 0.5, 0.02):
        shape = (2, 3, 6, length)
        held = random.integers(-2, 3, shape).astype(dtype)
        held[random.random(shape) < held_zeros] = -0.0
        columns = random.integers(-2, 3, (2, 27, 4, length - 2)).astype(dtype)
        columns[random.random(columns.shape) < 0.9] = -0.0
        expected = held.copy()
        for k, (y, x) in enumerate(np.ndindex(3, 3)):
            expected[:, :, y : y + 4, x : x + length - 2] += columns[:, k::9]
        out = np.ascontiguousarray(np.moveaxis(held, 1, -1)) if layout == "NHWC" else held
        rows = columns.reshape(2, 27, -1)
        reblock.fold(rows, (6, length), 3, accumulate=True, out_layout=layout, out=out)
        assert_same_bytes(np.moveaxis(out, -1, 1) if layout == "NHWC" else out, expected)


def test_out_may_share_memory_with_the_columns_that_are_added_to_it() -> None:
    buffer = np.arange(40, dtype=np.int64)
    columns, out = buffer[:9].reshape(1, 3, 3), buffer[4:9].reshape(1, 1, 5)
    expected = out + reblock.fold(columns.copy(), 5, 3)
    assert reblock.fold(columns, 5, 3, accumulate=True, out=out) is out
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("start_padding", [0, 1, 2])
def test_long_rows_get_each_term_once(dtype: type[np.generic], start_padding: int) -> None:
    random = np.random.default_rng(start_padding)
    windows = 1500
    length = windows + 2 - start_padding - 1
    columns = random.integers(1, 9, (1, 6, windows)).astype(dtype)
    held = random.integers(1, 9, (1, 2, length)).astype(dtype)
    options: dict[str, Any] = {"start_padding": start_padding, "end_padding": 1}
    expected = held + reblock.fold(columns, length, 3, **options)
    reblock.fold(columns, length, 3, **options, accumulate=True, out=held)
    assert_same_values(held, expected)


def test_accumulate_needs_out_and_a_bool() -> None:
    columns = np.ones((1, 3, 3))
    refuses(
        lambda: reblock.fold(columns, 5, 3, accumulate=True), ValueError, "out", "accumulate=True"
    )
    for value in (1, "yes", None):
        refuses(
            lambda: reblock.fold(columns, 5, 3, accumulate=value),  # type: ignore[call-overload] # noqa: B023 - called at once
            TypeError,
            "accumulate",
            type(value).__name__,
        )
    out = np.ones((1, 1, 5))
    assert reblock.fold(columns, 5, 3, accumulate=np.True_, out=out)[0, 0, 2] == 4  # type: ignore[call-overload]
    reblock.fold(columns, 5, 3, accumulate=np.False_, out=out)  # type: ignore[call-overload]
    assert out[0, 0, 2] == 3


@pytest.mark.parametrize(
    ("blocks", "kind", "told"),
    [
        ((0, 8), ValueError, (7, 0, "0 to 8")),
        ([(0, 7), (0, 7)], ValueError, (6, 1, "0 to 7")),
        ((4, 3), ValueError, ("4 to 3",)),
        ((-8, 2), ValueError, ("-8 to 2",)),
        (slice(9, None), ValueError, ("9 to 7",)),
        ([(0, 2)], ValueError, (2, 1)),
        ([(0, 2)] * 3, ValueError, (2, 3)),
        ((), ValueError, (2, 0)),
        ((0, 2**64), ValueError, (2**64,)),
        (slice(0, 6, 2), ValueError, ("step 1",)),
        (3, TypeError, (3,)),
        ("ab", TypeError, ("ab",)),
        ((0, 2, 4), TypeError, ()),
        ((0, 2.0), TypeError, (2.0,)),
        ([(0, 2), 3], TypeError, ()),
        ([(0, 2), slice(0, 2.0)], TypeError, ()),
        ([(0, True), None], TypeError, ()),
    ],
    ids=repr,
)
def test_blocks_that_there_are_not_are_refused(
    blocks: Any, kind: type[Exception], told: tuple[object, ...]
) -> None:
    x = np.zeros((1, 1, 9, 8), np.uint8)
    out = np.full((1, 9, 42), 7, np.uint8)
    refuses(
        lambda: reblock.unfold(x, 3, blocks=blocks, out=out), kind, "blocks", *told, untouched=[out]
    )
    refuses(lambda: reblock.unfold_shape(x.shape, 3, blocks=blocks), kind, "blocks", *told)
    columns = np.zeros((1, 9, 42), np.uint8)
    refuses(lambda: reblock.fold(columns, (9, 8), 3, blocks=blocks), kind, "blocks", *told)


def test_columns_of_other_blocks_are_refused() -> None:
    columns = np.zeros((1, 9, 42), np.uint8)
    refuses(
        lambda: reblock.fold(columns, (9, 8), 3, blocks=[(0, 2), None]),
        ValueError,
        "columns",
        42,
        (9, 8),
        12,
        (2, 6),
    )


# The padding of TensorFlow's "SAME"


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(
            st.tuples(*[st.integers(1, 40)] * 2, st.integers(1, 9), st.integers(1, 3)),
            min_size=n,
            max_size=n,
        )
    )
)
def test_same_padding_gives_a_block_for_each_stride(axes: list[tuple[int, int, int, int]]) -> None:
    extents, windows, strides, dilations = zip(*axes, strict=True)
    start, end = reblock.same_padding(extents, windows, strides, dilations)
    for extent, window, stride, dilation, before, after in zip(
        extents, windows, strides, dilations, start, end, strict=True
    ):
        blocks = -(-extent // stride)
        total = max((blocks - 1) * stride + dilation * (window - 1) + 1 - extent, 0)
        assert (before, after) == (total // 2, total - total // 2)
        counts = oracle.block_counts(
            [extent],
            [window],
            strides=[stride],
            dilations=[dilation],
            start_padding=[before],
            end_padding=[after],
        )
        assert counts == [blocks]


def test_same_padding_takes_one_value_for_all_axes() -> None:
    assert reblock.same_padding([5, 6], 3, strides=2) == ((1, 0), (1, 1))
    assert reblock.same_padding((7,), 2) == ((0,), (1,))
    assert reblock.same_padding((224, 224), 16, 16) == ((0, 0), (0, 0))


@pytest.mark.parametrize(
    ("arguments", "kind", "argument"),
    [
        (((), 3), ValueError, "extents"),
        (((1,) * 7, 3), ValueError, "extents"),
        (((5, 0), 3), ValueError, "extents"),
        ((5, 3), TypeError, "extents"),
        (((5, 6), (3, 3, 3)), ValueError, "window_sizes"),
        (((5, 6), 0), ValueError, "window_sizes"),
        (((5, 6), 2**62, 1, 4), ValueError, "window_sizes"),
        (((5, 6), 3, 0), ValueError, "strides"),
        (((5, 6), 3, 1, (1, -1)), ValueError, "dilations"),
        (((5, 6), 3, 1, 1.5), TypeError, "dilations"),
    ],
    ids=repr,
)
def test_same_padding_of_what_has_none_is_refused(
    arguments: tuple[Any, ...], kind: type[Exception], argument: str
) -> None:
    refuses(lambda: reblock.same_padding(*arguments), kind, argument)
