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
from oracle import Array
from reblock import DataType

DEPTH = [
    [
        [[0, 1, 2], [3, 4, 5]],
        [[9, 10, 11], [12, 13, 14]],
        [[18, 19, 20], [21, 22, 23]],
        [[27, 28, 29], [30, 31, 32]],
        [[36, 37, 38], [39, 40, 41]],
        [[45, 46, 47], [48, 49, 50]],
        [[54, 55, 56], [57, 58, 59]],
        [[63, 64, 65], [66, 67, 68]],
    ]
]
SPACE_DCR = [
    [
        [
            [0, 18, 1, 19, 2, 20],
            [36, 54, 37, 55, 38, 56],
            [3, 21, 4, 22, 5, 23],
            [39, 57, 40, 58, 41, 59],
        ],
        [
            [9, 27, 10, 28, 11, 29],
            [45, 63, 46, 64, 47, 65],
            [12, 30, 13, 31, 14, 32],
            [48, 66, 49, 67, 50, 68],
        ],
    ]
]
SPACE_CRD = [
    [
        [
            [0, 9, 1, 10, 2, 11],
            [18, 27, 19, 28, 20, 29],
            [3, 12, 4, 13, 5, 14],
            [21, 30, 22, 31, 23, 32],
        ],
        [
            [36, 45, 37, 46, 38, 47],
            [54, 63, 55, 64, 56, 65],
            [39, 48, 40, 49, 41, 50],
            [57, 66, 58, 67, 59, 68],
        ],
    ]
]
IMAGE = np.arange(25).reshape(1, 1, 5, 5)
COLUMNS = [
    [
        [0, 1, 2, 5, 6, 7, 10, 11, 12],
        [1, 2, 3, 6, 7, 8, 11, 12, 13],
        [2, 3, 4, 7, 8, 9, 12, 13, 14],
        [5, 6, 7, 10, 11, 12, 15, 16, 17],
        [6, 7, 8, 11, 12, 13, 16, 17, 18],
        [7, 8, 9, 12, 13, 14, 17, 18, 19],
        [10, 11, 12, 15, 16, 17, 20, 21, 22],
        [11, 12, 13, 16, 17, 18, 21, 22, 23],
        [12, 13, 14, 17, 18, 19, 22, 23, 24],
    ]
]
COLUMNS_PADDED = [
    [
        [0, 0, 0, 0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17],
        [0, 0, 0, 1, 2, 3, 6, 7, 8, 11, 12, 13, 16, 17, 18],
        [0, 0, 0, 2, 3, 4, 7, 8, 9, 12, 13, 14, 17, 18, 19],
        [0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17, 20, 21, 22],
        [1, 2, 3, 6, 7, 8, 11, 12, 13, 16, 17, 18, 21, 22, 23],
        [2, 3, 4, 7, 8, 9, 12, 13, 14, 17, 18, 19, 22, 23, 24],
        [5, 6, 7, 10, 11, 12, 15, 16, 17, 20, 21, 22, 0, 0, 0],
        [6, 7, 8, 11, 12, 13, 16, 17, 18, 21, 22, 23, 0, 0, 0],
        [7, 8, 9, 12, 13, 14, 17, 18, 19, 22, 23, 24, 0, 0, 0],
    ]
]
FOLDED = [[[[0, 5, 13, 9], [14, 38, 54, 32], [38, 86, 102, 56], [26, 57, 65, 35]]]]
FOLDED_PADDED = [[26, 70, 102, 60], [78, 183, 231, 129], [84, 195, 243, 135], [82, 182, 214, 116]]
FOLDED_SECOND_CHANNEL = [
    [170, 358, 390, 204],
    [294, 615, 663, 345],
    [300, 627, 675, 351],
    [226, 470, 502, 260],
]


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
