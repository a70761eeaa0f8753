# SPDX-License-Identifier: BSD-3-Clause
"""The operators of reblock.torch in tests: calls of them, and the dtypes that they take."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import reblock.torch
from calls import MOVING, SAMPLES, Call, depth_space_calls, window_calls
from calls import operator as name_of
from layouts import random_bytes
from oracle import Array

MARKS = [
    # Of every tensor of this dtype.
    pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning"),
    # PyTorch's opcheck asks for it itself.
    pytest.mark.filterwarnings(r"ignore:The \.grad attribute of a Tensor that is not a leaf"),
    # It makes use of that itself, for forward mode and in the backend "inductor", and it is still
    # there to be used. The category of the warning depends on the version.
    pytest.mark.filterwarnings(r"ignore:`torch\.jit\.\w+` is deprecated"),
    # Of Python 3.13.0 alone.
    pytest.mark.filterwarnings("ignore:Guards may run slower on Python:RuntimeWarning"),
]

OPERATORS = ("depth_to_space", "space_to_depth", "unfold", "fold")

# One call of each operator with one spatial axis, and with three.
OTHER_RANKS = [
    *depth_space_calls(2, 3, (4,), (3,), "CRD"),
    *window_calls(2, 3, (7,), (3,), strides=(2,), start_padding=(1,)),
    *depth_space_calls(2, 1, (2, 1, 3), (1, 2, 3), "DCR", channel_axis=-1),
    *window_calls(1, 2, (3, 4, 2), (2, 1, 2), dilations=(1, 1, 1), end_padding=(0, 2, 1)),
]

# What fold adds, and the dtypes of NumPy with the same values.
SUMMABLE = {
    torch.bool: np.bool_,
    torch.uint8: np.uint8,
    torch.int8: np.int8,
    torch.int16: np.int16,
    torch.uint16: np.uint16,
    torch.int32: np.int32,
    torch.uint32: np.uint32,
    torch.int64: np.int64,
    torch.uint64: np.uint64,
    torch.float16: np.float16,
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.float32: np.float32,
    torch.float64: np.float64,
    torch.complex64: np.complex64,
    torch.complex128: np.complex128,
}

UNSUMMABLE = [
    torch.complex32,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
]

CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}

every_operator = pytest.mark.parametrize("call", SAMPLES, ids=name_of)
every_moving_operator = pytest.mark.parametrize("call", MOVING, ids=name_of)
every_rank = pytest.mark.parametrize(
    "call", SAMPLES + OTHER_RANKS, ids=lambda call: f"{call.operator}-{len(call.arguments[0])}"
)


def run(call: Call, x: torch.Tensor) -> torch.Tensor:
    """Make the call by reblock.torch."""
    function = getattr(reblock.torch, call.operator)
    result: torch.Tensor = function(x, *call.arguments, **call.keywords)
    return result


def operands(call: Call) -> tuple[Any, ...]:
    """Return all arguments of PyTorch's operator but the tensor, in order."""
    window = [
        call.keywords[name] for name in call.keywords if name not in ("order", "channel_axis")
    ]
    values = [list(value) for value in (*call.arguments, *window)]
    mode = ["constant"] if window else []
    value = [0] if call.operator == "unfold" else []
    order = [call.keywords.get("order", "CRD"), *([None] if window else [])]  # and blocks
    return (*values, *mode, *value, *order, call.keywords["channel_axis"], None, None, None)


def elements(x: torch.Tensor) -> Array:
    """Return the elements in C order, as opaque bytes."""
    bytes_: Array = (
        x.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8).numpy()
    )
    return bytes_.view(np.dtype((np.void, x.itemsize))).reshape(x.shape)


def sample(call: Call, dtype: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    """Make an input of small integers, for the call."""
    values = random_bytes(math.prod(call.input_shape), seed) % 19
    return torch.from_numpy(values).reshape(call.input_shape).to(dtype)
