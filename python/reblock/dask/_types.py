# SPDX-License-Identifier: BSD-3-Clause
"""The types of the parameters of `reblock.dask`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias

import dask.array as da
import numpy as np
import numpy.typing as npt

import reblock

IntOrInts: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | npt.NDArray[np.integer[Any]]
Order: TypeAlias = Literal["DCR", "CRD", 0, 1] | reblock.DepthSpaceOrder
PaddingMode: TypeAlias = (
    Literal["constant", "edge", "reflect", "symmetric", "wrap", 0, 1, 2, 3, 4] | reblock.PaddingMode
)
Blocks: TypeAlias = slice | Sequence[Any] | npt.NDArray[np.integer[Any]] | None
Array: TypeAlias = npt.NDArray[Any]
Factor: TypeAlias = float | Sequence[float] | npt.NDArray[Any]
AxisFactor: TypeAlias = float | Mapping[str, Sequence[float] | npt.NDArray[Any]]
Reduction: TypeAlias = Literal["sum", "mean", "max", "min"]
Weights: TypeAlias = npt.ArrayLike | Sequence[npt.ArrayLike]
Input: TypeAlias = da.Array | npt.ArrayLike
