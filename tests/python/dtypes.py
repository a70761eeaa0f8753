# SPDX-License-Identifier: BSD-3-Clause
"""The dtypes that the operators take."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import reblock

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# DirectML's data types and the dtypes that an array of each has.
DIRECTML: dict[reblock.DataType, np.dtype[Any]] = {
    reblock.DataType.FLOAT32: np.dtype(np.float32),
    reblock.DataType.FLOAT16: np.dtype(np.float16),
    reblock.DataType.UINT32: np.dtype(np.uint32),
    reblock.DataType.UINT16: np.dtype(np.uint16),
    reblock.DataType.UINT8: np.dtype(np.uint8),
    reblock.DataType.INT32: np.dtype(np.int32),
    reblock.DataType.INT16: np.dtype(np.int16),
    reblock.DataType.INT8: np.dtype(np.int8),
    reblock.DataType.FLOAT64: np.dtype(np.float64),
    reblock.DataType.UINT64: np.dtype(np.uint64),
    reblock.DataType.INT64: np.dtype(np.int64),
}

FLOAT8: list[np.dtype[Any]] = [
    np.dtype(ml_dtypes.float8_e4m3fn),
    np.dtype(ml_dtypes.float8_e5m2),
    np.dtype(ml_dtypes.float8_e8m0fnu),
]

STRUCTURED: list[np.dtype[Any]] = [
    np.dtype([("r", np.uint8), ("g", np.uint8), ("b", np.uint8)]),
    np.dtype([("label", "S5"), ("weight", ">f4"), ("box", np.int16, (2, 2))]),
    np.dtype([("flag", np.uint8), ("value", np.float64)], align=True),
]

# What fold has a sum for.
SUMMABLE: list[np.dtype[Any]] = [
    *DIRECTML.values(),
    np.dtype(np.bool_),
    np.dtype(np.longdouble),
    np.dtype(np.complex64),
    np.dtype(np.complex128),
    np.dtype(np.clongdouble),
    BFLOAT16,
]

# What can be moved and has no sum.
UNSUMMABLE: list[np.dtype[Any]] = [
    np.dtype("M8[ns]"),
    np.dtype("m8[D]"),
    np.dtype(">f4"),
    np.dtype(">i8"),
    np.dtype(">u2"),
    np.dtype(">c16"),
    np.dtype("S3"),
    np.dtype("U2"),
    np.dtype("V7"),
    np.dtype("V24"),
    *FLOAT8,
    *STRUCTURED,
]

MOVABLE = SUMMABLE + UNSUMMABLE


def as_pytorch(name: str) -> Any:
    """Make something with the type's name and the words of a dtype of PyTorch."""
    members = {"__str__": lambda _: f"torch.{name}", "is_floating_point": True}
    return type("dtype", (), members)()


def movable() -> st.SearchStrategy[np.dtype[Any]]:
    return st.sampled_from(MOVABLE)


def summable() -> st.SearchStrategy[np.dtype[Any]]:
    return st.sampled_from(SUMMABLE)


def integers() -> st.SearchStrategy[np.dtype[Any]]:
    return st.sampled_from([dtype for dtype in SUMMABLE if dtype.kind in "ui"])


def name(value: object) -> str:
    """Name the tests of a dtype."""
    if isinstance(value, np.dtype):
        if value.names is not None:
            return "_".join(value.names)
        return value.name if value.isnative else value.str
    return str(value)
