# SPDX-License-Identifier: BSD-3-Clause
"""depth_to_space and space_to_depth are what their index formula says, and each other's inverse."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import reblock
from calls import (
    DEPTH_TO_SPACE,
    LARGE,
    SPACE_TO_DEPTH,
    Call,
    depth_space,
    depth_space_pairs,
    operator,
)
from checks import assert_same_bytes
from dtypes import movable
from layouts import allocate, layouts
from reblock import DepthSpaceOrder

Order = Literal["DCR", "CRD"]


@given(st.data())
def test_every_element_goes_where_the_formula_says(data: st.DataObject) -> None:
    call, dtype = data.draw(depth_space()), data.draw(movable())
    layout = data.draw(layouts(len(call.input_shape), dtype.itemsize))
    x = allocate(call.input_shape, dtype, layout).array
    assert_same_bytes(call(x), call.oracle(x))


@given(st.data())
def test_space_to_depth_undoes_depth_to_space_bit_for_bit(data: st.DataObject) -> None:
    (unpack, pack), dtype = data.draw(depth_space_pairs()), data.draw(movable())
    depth = allocate(unpack.input_shape, dtype).array
    assert_same_bytes(pack(unpack(depth)), depth)
    space = allocate(pack.input_shape, dtype).array
    assert_same_bytes(unpack(pack(space)), space)


@given(depth_space_pairs(budget=LARGE), movable())
def test_larger_tensors_are_moved_alike(pair: tuple[Call, Call], dtype: np.dtype[Any]) -> None:
    """Tensors that do not fit into the cache as a whole."""
    unpack, pack = pair
    depth = allocate(unpack.input_shape, dtype).array
    space = unpack(depth)
    assert_same_bytes(space, unpack.oracle(depth))
    assert_same_bytes(pack(space), depth)


@pytest.mark.parametrize("order", ["DCR", "CRD"])
@pytest.mark.parametrize("block", [2, 3, 5, 7])
@pytest.mark.parametrize("batch", [1, 3])
def test_larger_blocks_than_the_documents_show(batch: int, block: int, order: Order) -> None:
    depth = np.arange(batch * 2 * block * block * 6).reshape(batch, 2 * block * block, 2, 3)
    space = reblock.depth_to_space(depth, block, order=order)
    for n, c, h, w in np.ndindex(space.shape):
        j = (h % block) * block + w % block
        q = j * 2 + c if order == "DCR" else c * block * block + j
        assert space[n, c, h, w] == depth[n, q, h // block, w // block]


@pytest.mark.parametrize("width", [1, 15, 16, 17, 31, 33, 63, 64, 65, 257])
@pytest.mark.parametrize("block", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64, np.complex128])
def test_rows_of_every_length(dtype: Any, block: int, width: int) -> None:
    depth = allocate((2, block, width), np.dtype(dtype)).array
    space = reblock.depth_to_space(depth, block)
    assert_same_bytes(space, oracle.depth_to_space(depth, [block]))
    assert_same_bytes(reblock.space_to_depth(space, block), depth)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 16, 21])
@pytest.mark.parametrize("order", ["DCR", "CRD"])
def test_channels_last(order: Order, channels: int) -> None:
    space = allocate((2, 6, 10, channels), np.dtype(np.uint8)).array
    depth = reblock.space_to_depth(space, 2, order=order, channel_axis=-1)
    assert depth.shape == (2, 3, 5, channels * 4)
    assert_same_bytes(depth, oracle.space_to_depth(space, [2, 2], order, 3))
    assert_same_bytes(reblock.depth_to_space(depth, 2, order=order, channel_axis=3), space)


@pytest.mark.parametrize("call", [DEPTH_TO_SPACE, SPACE_TO_DEPTH], ids=operator)
def test_defaults_are_depth_column_row_and_channels_second(call: Call) -> None:
    x = allocate(call.input_shape, np.dtype(np.int16)).array
    function = getattr(reblock, call.operator)
    assert_same_bytes(function(x, (2, 3)), call.oracle(x))


@pytest.mark.parametrize("call", [DEPTH_TO_SPACE, SPACE_TO_DEPTH], ids=operator)
@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        ("DCR", [DepthSpaceOrder.DEPTH_COLUMN_ROW, 0, np.int64(0)]),
        ("CRD", [DepthSpaceOrder.COLUMN_ROW_DEPTH, 1, np.uint8(1)]),
    ],
)
def test_an_order_is_a_name_an_enumerator_or_its_value(
    call: Call, name: str, spellings: list[Any]
) -> None:
    x = allocate(call.input_shape, np.dtype(np.int16)).array
    expected = call(x, order=name)
    for spelling in spellings:
        assert_same_bytes(call(x, order=spelling), expected)


@pytest.mark.parametrize("spelling", [3, np.int32(3), (3, 3), [3, 3], np.array([3, 3])], ids=repr)
def test_an_int_block_stands_for_every_spatial_axis(spelling: Any) -> None:
    depth = allocate((1, 18, 2, 4), np.dtype(np.int16)).array
    expected = oracle.depth_to_space(depth, [3, 3])
    assert_same_bytes(reblock.depth_to_space(depth, spelling), expected)
    assert_same_bytes(reblock.space_to_depth(expected, spelling), depth)


def test_block_values_may_be_numpy_integers() -> None:
    depth = allocate((1, 6, 2, 4), np.dtype(np.int16)).array
    block: list[Any] = [np.int8(2), np.uint64(3)]
    assert_same_bytes(reblock.depth_to_space(depth, block), oracle.depth_to_space(depth, [2, 3]))


def test_block_of_one_is_a_copy() -> None:
    x = allocate((2, 3, 4, 5), np.dtype(np.float32)).array
    result = reblock.depth_to_space(x, 1)
    assert_same_bytes(result, x)
    assert not np.shares_memory(result, x)


@pytest.mark.parametrize("zero", range(4))
def test_an_empty_tensor_has_an_empty_result(zero: int) -> None:
    shape = [2, 12, 3, 5]
    shape[zero] = 0
    result = reblock.depth_to_space(np.empty(shape, np.float32), (2, 3))
    assert result.shape == (shape[0], shape[1] // 6, shape[2] * 2, shape[3] * 3)
    assert math.prod(result.shape) == 0
