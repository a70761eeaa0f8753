# SPDX-License-Identifier: BSD-3-Clause
"""unfold and fold are what their index formula says, and each other's adjoint."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import reblock
from calls import LARGE, UNFOLD, Call, Shape, window_calls, window_pairs
from checks import assert_same_bytes, assert_same_values
from dtypes import BFLOAT16, SUMMABLE, integers, movable, summable
from layouts import allocate, layouts, small_integers


@given(st.data())
def test_unfold_reads_what_the_formula_says(data: st.DataObject) -> None:
    (call, _), dtype = data.draw(window_pairs()), data.draw(movable())
    layout = data.draw(layouts(len(call.input_shape), dtype.itemsize))
    x = allocate(call.input_shape, dtype, layout).array
    assert_same_bytes(call(x), call.oracle(x))


@given(st.data())
def test_fold_sums_what_the_formula_says(data: st.DataObject) -> None:
    (_, call), dtype = data.draw(window_pairs()), data.draw(summable())
    layout = data.draw(layouts(3, dtype.itemsize))
    memory = allocate(call.input_shape, dtype, layout)
    columns = small_integers(memory, dtype)
    assert_same_values(call(columns), call.oracle(columns))


@given(st.data())
def test_fold_rounds_as_the_order_of_addition_says(data: st.DataObject) -> None:
    """Any bits, so that another order or another accumulator would be seen."""
    (_, call) = data.draw(window_pairs())
    dtype = data.draw(st.sampled_from([np.dtype(c) for c in "efdFD"] + [BFLOAT16]))
    seed = data.draw(st.integers(0, 2**32 - 1))
    columns = allocate(call.input_shape, dtype, seed=seed).array
    assert_same_values(call(columns), call.oracle(columns))


@given(window_pairs(budget=LARGE), summable())
def test_larger_images_are_summed_alike(pair: tuple[Call, Call], dtype: np.dtype[Any]) -> None:
    """Images that do not fit into the cache as a whole."""
    unfold, fold = pair
    x = allocate(unfold.input_shape, dtype).array
    assert_same_bytes(unfold(x), unfold.oracle(x))
    columns = small_integers(allocate(fold.input_shape, dtype), dtype)
    assert_same_values(fold(columns), fold.oracle(columns))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.complex128, np.clongdouble])
@pytest.mark.parametrize("sizes", [(20_011,), (129, 131), (3, 5, 700), (2000, 3), (3, 2000)])
def test_images_of_many_cache_sized_pieces(sizes: Shape, dtype: Any) -> None:
    axes = len(sizes)
    _, fold = window_calls(2, 3, sizes, (3,) * axes, start_padding=(1,) * axes)
    columns = small_integers(allocate(fold.input_shape, np.dtype(dtype)), np.dtype(dtype))
    assert_same_values(fold(columns), fold.oracle(columns))


@given(st.data())
def test_fold_of_integers_wraps(data: st.DataObject) -> None:
    (_, call), dtype = data.draw(window_pairs()), data.draw(integers())
    columns = allocate(call.input_shape, dtype).array
    assert_same_bytes(call(columns), call.oracle(columns))


@given(st.data())
def test_unfold_and_fold_are_adjoint(data: st.DataObject) -> None:
    """<unfold(x), y> == <x, fold(y)>, exactly."""
    unfold, fold = data.draw(window_pairs())
    dtype = data.draw(st.sampled_from([np.dtype(np.int64), np.dtype(np.float64)]))
    x = small_integers(allocate(unfold.input_shape, dtype, seed=1), dtype)
    y = small_integers(allocate(fold.input_shape, dtype, seed=2), dtype)
    assert np.sum(unfold(x) * y) == np.sum(x * fold(y))


@given(window_pairs())
def test_fold_of_ones_counts_the_blocks_over_each_position(pair: tuple[Call, Call]) -> None:
    unfold, fold = pair
    x = small_integers(allocate(unfold.input_shape, np.dtype(np.int32)), np.dtype(np.int32))
    counts = fold(np.ones(fold.input_shape, np.int32))
    assert_same_bytes(fold(unfold(x)), x * counts)


def fold_three(terms: tuple[float, float, float], dtype: Any) -> float:
    """Add three terms by fold, given in ascending order of their window offsets."""
    columns = np.zeros((1, 3, 3), dtype)
    columns[0, [0, 1, 2], [2, 1, 0]] = terms
    return float(reblock.fold(columns, 5, 3)[0, 0, 2])


def test_terms_are_added_in_ascending_order_of_the_offset() -> None:
    large = 2.0**24  # plus one is not a float32
    assert fold_three((large, -large, 1), np.float32) == 1
    assert fold_three((1, large, -large), np.float32) == 0


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_narrow_sum_is_rounded_once(dtype: Any) -> None:
    """One plus twice half of its last bit: lost one by one, kept by a wider accumulator."""
    half = float(np.spacing(dtype(1))) / 2
    assert fold_three((1, half, half), dtype) == 1 + 2 * half
    assert fold_three((half, half, 1), dtype) == 1 + 2 * half


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_narrow_sum_rounds_half_to_even(dtype: Any) -> None:
    last_bit = float(np.spacing(dtype(1)))
    assert fold_three((1, last_bit / 2, 0), dtype) == 1
    assert fold_three((1 + last_bit, last_bit / 2, 0), dtype) == 1 + 2 * last_bit


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_narrow_sum_may_overflow(dtype: Any) -> None:
    largest = float(np.nextafter(dtype(np.inf), dtype(0)))
    assert fold_three((largest, largest / 2, 0), dtype) == np.inf
    assert fold_three((-largest, -largest / 2, 0), dtype) == -np.inf


def test_a_float16_sum_may_leave_its_range_on_the_way() -> None:
    assert fold_three((65504, 65504, -65504), np.float16) == 65504


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_narrow_sum_may_be_subnormal(dtype: Any) -> None:
    tiny = float(np.nextafter(dtype(0), dtype(1)))
    assert fold_three((tiny, tiny, tiny), dtype) == 3 * tiny


@pytest.mark.parametrize("dtype", [dtype for dtype in SUMMABLE if dtype.kind not in "biu"], ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 16])
def test_a_sum_starts_from_positive_zero(dtype: np.dtype[Any], size: int) -> None:
    """Even one of a single term, which is otherwise that term."""
    for blocks in (*range(1, 20), 33, 100):
        terms = np.random.default_rng(blocks).choice(
            [-0.0, 0.0, -1.5, np.inf], (2, 3, size, blocks)
        )
        terms = terms.astype(dtype)
        sums = terms.swapaxes(2, 3) + dtype.type(0)
        result = reblock.fold(terms.reshape(2, 3 * size, blocks), blocks * size, size, strides=size)
        assert_same_values(result, sums.reshape(result.shape))
        parts = result.view(result.real.dtype)
        assert not np.signbit(parts[parts == 0]).any()


def test_bool_sums_are_logical_or() -> None:
    columns = np.array([[[True, True, False], [True, False, False]]])
    assert reblock.fold(columns, 4, 2).tolist() == [[[True, True, False, False]]]


def test_fold_leaves_zero_where_no_block_reaches() -> None:
    result = reblock.fold(np.ones((1, 1, 2), np.int8), 6, 1, strides=3)
    assert result.tolist() == [[[1, 0, 0, 1, 0, 0]]]


def test_unfold_leaves_out_a_remainder() -> None:
    """Five positions hold two whole windows of two at stride two; the fifth belongs to none."""
    result = reblock.unfold(np.arange(5).reshape(1, 1, 5), 2, strides=2)
    assert result.tolist() == [[[0, 2], [1, 3]]]


def test_padding_alone_may_hold_the_window() -> None:
    result = reblock.unfold(np.ones((1, 2, 0)), 2, start_padding=1, end_padding=2)
    assert result.tolist() == [[[0, 0]] * 4]
    assert reblock.fold(result, 0, 2, start_padding=1, end_padding=2).shape == (1, 2, 0)


def test_steps_may_be_far_larger_than_the_image() -> None:
    """The window's last position meets the image's first element, and no sum overflows."""
    far = 2**61
    window: dict[str, Any] = {"strides": far, "dilations": far, "start_padding": 2 * far}
    x = np.array([[[3.0, 4.0]]])
    columns = reblock.unfold(x, 3, **window)
    assert columns.tolist() == [[[0], [0], [3]]]
    assert reblock.fold(columns, 2, 3, **window).tolist() == [[[3, 0]]]


def test_padding_is_zero_bytes_for_every_dtype() -> None:
    x = np.array([[["2026-01-01"]]], "M8[D]")
    result = reblock.unfold(x, 1, start_padding=1)
    assert result.astype(np.int64).tolist() == [[[0, x.astype(np.int64).item()]]]


@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 33, 64, 65, 257])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
def test_rows_of_every_length(dtype: Any, stride: int, width: int) -> None:
    window: dict[str, Any] = {
        "strides": (1, stride),
        "dilations": (2, 1),
        "start_padding": (2, 1),
        "end_padding": (2, 1),
    }
    x = allocate((1, 2, 5, width), np.dtype(dtype)).array
    columns = reblock.unfold(x, 3, **window)
    assert_same_bytes(columns, oracle.unfold(x, (3, 3), **window))
    sums = reblock.fold(columns, (5, width), 3, **window)
    assert_same_values(sums, oracle.fold(columns, (5, width), (3, 3), **window))


def test_the_channel_axis_is_that_of_the_image() -> None:
    """Columns are (N, C*K, L) wherever the channels of the image lie."""
    x = allocate((2, 3, 5, 4), np.dtype(np.int32)).array
    columns = reblock.unfold(x, (2, 3))
    assert columns.shape == (2, 18, 8)
    last = np.moveaxis(x, 1, -1)
    assert_same_bytes(reblock.unfold(last, (2, 3), channel_axis=-1), columns)
    folded = reblock.fold(columns, (5, 4), (2, 3), channel_axis=-1)
    assert_same_bytes(np.moveaxis(folded, -1, 1), reblock.fold(columns, (5, 4), (2, 3)))


def test_defaults_are_dense_windows_without_padding() -> None:
    x = allocate(UNFOLD.input_shape, np.dtype(np.int32)).array
    window: dict[str, Any] = {
        "strides": (1, 1),
        "dilations": (1, 1),
        "start_padding": (0, 0),
        "end_padding": (0, 0),
    }
    columns = reblock.unfold(x, (3, 2))
    assert_same_bytes(columns, oracle.unfold(x, (3, 2), **window))
    folded = reblock.fold(columns, (7, 5), (3, 2))
    assert_same_bytes(folded, oracle.fold(columns, (7, 5), (3, 2), **window))


@pytest.mark.parametrize("two", [2, np.int16(2), (2, 2), [2, 2], np.array([2, 2])], ids=repr)
@pytest.mark.parametrize(
    "name", ["window_sizes", "strides", "dilations", "start_padding", "end_padding"]
)
def test_an_int_stands_for_every_spatial_axis(name: str, two: Any) -> None:
    x = allocate((1, 2, 9, 8), np.dtype(np.int32)).array
    names = ["window_sizes", "strides", "dilations", "start_padding", "end_padding"]
    values = {**dict.fromkeys(names, 1), "window_sizes": 3, name: two}
    window: dict[str, Any] = {n: (2, 2) if n == name else (values[n],) * 2 for n in names}
    columns = reblock.unfold(x, **values)
    assert_same_bytes(columns, oracle.unfold(x, **window))
    folded = reblock.fold(columns, (9, 8), **values)
    assert_same_bytes(folded, oracle.fold(columns, (9, 8), **window))


def test_fold_has_as_many_spatial_axes_as_its_first_sequence() -> None:
    columns = np.ones((1, 4, 9), np.int32)
    expected = reblock.fold(columns, (4, 4), (2, 2))
    assert expected.shape == (1, 1, 4, 4)
    assert_same_bytes(reblock.fold(columns, 4, (2, 2)), expected)
    assert_same_bytes(reblock.fold(columns, (4, 4), 2), expected)
    assert_same_bytes(reblock.fold(columns, 4, 2, dilations=[1, 1]), expected)
    assert reblock.fold(columns, 12, 4).shape == (1, 1, 12)
