# SPDX-License-Identifier: BSD-3-Clause
"""The examples in the definitions of the operators, through every way to run them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reblock
from calls import Call, depth_space_calls, window_calls
from checks import assert_same_bytes
from descriptors import describe
from documents import (
    COLUMNS,
    COLUMNS_PADDED,
    DEPTH,
    FOLDED,
    FOLDED_PADDED,
    FOLDED_SECOND_CHANNEL,
    SPACE_CRD,
    SPACE_DCR,
)
from oracle import Array
from reblock import DataType

IMAGE = np.arange(25).reshape(1, 1, 5, 5)


def window(channels: int, size: int, padding: int) -> tuple[Call, Call]:
    """Make unfold and fold of 3x3 windows over a square image, padded above and below."""
    pads = (padding, 0)
    return window_calls(1, channels, (size, size), (3, 3), start_padding=pads, end_padding=pads)


UNPACK_DCR, PACK_DCR = depth_space_calls(1, 2, (2, 3), (2, 2), "DCR")
UNPACK_CRD, PACK_CRD = depth_space_calls(1, 2, (2, 3), (2, 2), "CRD")

EXAMPLES = {
    "depth_to_space_1_depth_column_row": (UNPACK_DCR, DataType.UINT32, DEPTH, SPACE_DCR),
    "depth_to_space_2_column_row_depth": (UNPACK_CRD, DataType.UINT32, DEPTH, SPACE_CRD),
    "space_to_depth_1_depth_column_row": (PACK_DCR, DataType.UINT32, SPACE_DCR, DEPTH),
    "space_to_depth_2_column_row_depth": (PACK_CRD, DataType.UINT32, SPACE_CRD, DEPTH),
    "unfold_1": (window(1, 5, 0)[0], DataType.FLOAT32, IMAGE, COLUMNS),
    "unfold_2_padded": (window(1, 5, 1)[0], DataType.FLOAT32, IMAGE, COLUMNS_PADDED),
    "fold_1": (
        window(1, 4, 0)[1],
        DataType.FLOAT32,
        np.arange(36).reshape(1, 9, 4),
        FOLDED,
    ),
    "fold_2_padded": (
        window(1, 4, 1)[1],
        DataType.FLOAT32,
        np.arange(72).reshape(1, 9, 8),
        [[FOLDED_PADDED]],
    ),
    "fold_3_two_channels": (
        window(2, 4, 1)[1],
        DataType.FLOAT32,
        np.arange(144).reshape(1, 18, 8),
        [[FOLDED_PADDED, FOLDED_SECOND_CHANNEL]],
    ),
}

every_example = pytest.mark.parametrize(
    ("call", "data_type", "values", "expected_values"), EXAMPLES.values(), ids=EXAMPLES
)


def arrays(data_type: DataType, *values: Any) -> list[Array]:
    return [np.array(v, data_type.name.lower()) for v in values]


@every_example
def test_through_the_function(
    call: Call, data_type: DataType, values: Any, expected_values: Any
) -> None:
    x, expected = arrays(data_type, values, expected_values)
    assert x.shape == call.input_shape
    assert_same_bytes(call(x), expected)
    assert call.shape() == expected.shape


@every_example
def test_through_a_compiled_operator(
    call: Call, data_type: DataType, values: Any, expected_values: Any
) -> None:
    x, expected = arrays(data_type, values, expected_values)
    operator = reblock.compile(describe(call, data_type))
    assert_same_bytes(operator(x), expected)


@every_example
def test_through_dispatch(
    call: Call, data_type: DataType, values: Any, expected_values: Any
) -> None:
    x, expected = arrays(data_type, values, expected_values)
    output = bytearray(b"\xa5" * expected.nbytes)
    reblock.compile(describe(call, data_type)).dispatch(x.tobytes(), output)
    assert bytes(output) == expected.tobytes()
