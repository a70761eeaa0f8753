# SPDX-License-Identifier: BSD-3-Clause
"""Every dtype is moved bit for bit, and every dtype with a sum is folded in that sum."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reblock
from calls import FOLD, MOVING, SAMPLES, Call, moving, operator
from checks import assert_same_bytes, assert_same_values, refuses
from dtypes import DIRECTML, MOVABLE, SUMMABLE, UNSUMMABLE, name
from layouts import allocate, small_integers
from oracle import Array

BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}

every_moving_operator = pytest.mark.parametrize("call", MOVING, ids=operator)


@pytest.mark.parametrize("dtype", MOVABLE, ids=name)
@every_moving_operator
def test_the_moving_operators_take_every_dtype(call: Call, dtype: np.dtype[Any]) -> None:
    x = allocate(call.input_shape, dtype).array
    result = call(x)
    assert result.dtype == dtype
    assert result.dtype.byteorder == dtype.byteorder
    assert_same_bytes(result, call.oracle(x))


@pytest.mark.parametrize("dtype", SUMMABLE, ids=name)
def test_fold_takes_every_dtype_with_a_sum(dtype: np.dtype[Any]) -> None:
    columns = small_integers(allocate(FOLD.input_shape, dtype), dtype)
    result = FOLD(columns)
    assert result.dtype == dtype
    assert_same_values(result, FOLD.oracle(columns))


@pytest.mark.parametrize("dtype", UNSUMMABLE, ids=name)
def test_fold_refuses_every_dtype_without_a_sum(dtype: np.dtype[Any]) -> None:
    columns = allocate(FOLD.input_shape, dtype).array
    out = allocate(FOLD.output_shape, dtype)
    refuses(
        lambda: FOLD(columns, out=out.array),
        TypeError,
        "columns",
        untouched=[out.buffer],
    )


@given(moving(), st.integers(1, 40))
def test_elements_of_every_size(call: Call, size: int) -> None:
    x = allocate(call.input_shape, np.dtype((np.void, size))).array
    assert_same_bytes(call(x), call.oracle(x))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@every_moving_operator
def test_special_values_survive_bit_for_bit(call: Call, dtype: Any) -> None:
    """NaN of any sign and payload, signaling ones too, infinities, and both zeros."""
    bits = BITS[np.dtype(dtype).itemsize]
    infinity = int(np.array(np.inf, dtype).view(bits))
    sign = 1 << (8 * np.dtype(dtype).itemsize - 1)
    payloads = [infinity, infinity + 1, infinity + 0x155, infinity | infinity >> 1, 0, 1]
    values = np.array(payloads + [sign | payload for payload in payloads], bits)
    x = np.resize(values, call.input_shape).view(dtype)
    result = call(x)
    assert_same_bytes(result.view(bits), call.oracle(x.view(bits)))
    assert np.isnan(result).any()


@pytest.mark.parametrize("dtype", [*DIRECTML.values(), np.dtype(np.complex64)], ids=name)
@every_moving_operator
def test_byte_order_is_kept(call: Call, dtype: np.dtype[Any]) -> None:
    native = allocate(call.input_shape, dtype).array
    swapped = native.byteswap().view(dtype.newbyteorder())
    result = call(swapped)
    assert result.dtype == swapped.dtype
    assert_same_bytes(result.byteswap().view(dtype), call(native))


@every_moving_operator
def test_dates_and_text_keep_their_values(call: Call) -> None:
    count = int(np.prod(call.input_shape))
    dates = np.datetime64("2024-02-28") + np.arange(count).reshape(call.input_shape)
    texts = dates.astype("U10")
    moved = call(np.arange(1, count + 1).reshape(call.input_shape))
    inside = moved > 0
    assert np.array_equal(call(dates)[inside], dates.reshape(-1)[moved[inside] - 1])
    assert np.array_equal(call(texts)[inside], texts.reshape(-1)[moved[inside] - 1])


def test_structured_elements_move_whole() -> None:
    pixel = np.dtype([("red", np.uint8), ("depth", "<f4")])
    x = np.zeros((1, 1, 2, 4), pixel)
    x["red"], x["depth"] = np.arange(8).reshape(x.shape), -np.arange(8).reshape(x.shape)
    packed = reblock.space_to_depth(x, 2)
    assert packed["red"].tolist() == [[[[0, 2]], [[1, 3]], [[4, 6]], [[5, 7]]]]
    assert np.array_equal(packed["depth"], -packed["red"].astype(np.float32))


@every_moving_operator
def test_a_field_is_read_where_it_lies(call: Call) -> None:
    records = allocate(call.input_shape, np.dtype([("a", "u1"), ("b", "<f4"), ("c", "<u2")])).array
    for field in ("a", "b", "c"):
        assert_same_bytes(call(records[field]), call.oracle(records[field]))


@pytest.mark.parametrize(
    "dtype",
    [np.dtype(object), np.dtype([("a", np.int32), ("b", object)]), np.dtype([("s", [("o", "O")])])],
    ids=["object", "field", "nested"],
)
@pytest.mark.parametrize("call", SAMPLES, ids=operator)
def test_references_are_refused(call: Call, dtype: np.dtype[Any]) -> None:
    x = np.zeros(call.input_shape, dtype)
    refuses(lambda: call(x), TypeError, call.tensor())


@pytest.mark.parametrize("code", "bBhHiIlLqQefdgFDG?")
def test_fold_knows_every_c_type(code: str) -> None:
    """Two C types of one size are one dtype, whatever NumPy's number for it."""
    columns = np.ones((1, 2, 2), code)
    both = 1 if code == "?" else 2
    assert reblock.fold(columns, 3, 2).tolist() == [[[1, both, 1]]]


def test_integers_wrap() -> None:
    columns = np.array([[[0, 200], [100, 0]]])
    assert reblock.fold(columns.astype(np.uint8), 3, 2)[0, 0, 1] == 44
    assert reblock.fold(columns.astype(np.int8), 3, 2)[0, 0, 1] == 44
    largest = np.array([[[0, 2**63 - 1], [1, 0]]], np.int64)
    assert reblock.fold(largest, 3, 2)[0, 0, 1] == -(2**63)


def test_bool_sums_of_any_true_byte_are_true() -> None:
    """A bool array viewed over other bytes holds true wherever the byte is not zero."""
    columns: Array = np.array([[[0, 2], [128, 0]]], np.uint8).view(np.bool_)
    assert reblock.fold(columns, 3, 2).view(np.uint8).tolist() == [[[0, 1, 0]]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_infinities_and_nan_add_as_they_do(dtype: Any) -> None:
    infinity, nan = np.inf, np.nan
    columns = np.array([[[0, infinity, infinity, nan, 1], [infinity, -infinity, 1, 1, 0]]], dtype)
    result = reblock.fold(columns, 6, 2)[0, 0].astype(np.float64)
    expected = [0, infinity + infinity, np.nan, np.nan, 2, 0]
    assert np.array_equal(result, expected, equal_nan=True)


def test_complex_parts_add_apart() -> None:
    columns = np.array([[[0, complex(np.inf, 1)], [complex(1, np.nan), 0]]], np.complex64)
    result = reblock.fold(columns, 3, 2)[0, 0, 1]
    assert result.real == np.inf
    assert np.isnan(result.imag)
