# SPDX-License-Identifier: BSD-3-Clause
import enum
from collections.abc import Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypeVar, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Buffer

__version__: str
compiler: str
instruction_set: str

_Scalar = TypeVar("_Scalar", bound=np.generic)

# An ndarray, or another library's array.
class _DLPackArray(Protocol):
    def __dlpack__(self) -> Any: ...

_Foreign = TypeVar("_Foreign", bound=_DLPackArray)
_Out = TypeVar("_Out", bound=_DLPackArray)
_Input: TypeAlias = ArrayLike | _DLPackArray
_Ints: TypeAlias = Sequence[SupportsIndex] | NDArray[np.integer[Any]]
_IntOrInts: TypeAlias = SupportsIndex | _Ints
# Before Python 3.12 a type checker does not know that an array is a buffer.
_Buffer: TypeAlias = Buffer | NDArray[Any]
_Order: TypeAlias = Literal["DCR", "CRD", 0, 1] | DepthSpaceOrder

@overload
def depth_to_space(
    x: NDArray[_Scalar],
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Scalar]: ...
@overload
def depth_to_space(
    x: _Foreign,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> _Foreign: ...
@overload
def depth_to_space(
    x: ArrayLike,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[Any]: ...
@overload
def depth_to_space(
    x: _Input,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    out: _Out,
    threads: SupportsIndex | None = None,
) -> _Out: ...
@overload
def space_to_depth(
    x: NDArray[_Scalar],
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Scalar]: ...
@overload
def space_to_depth(
    x: _Foreign,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> _Foreign: ...
@overload
def space_to_depth(
    x: ArrayLike,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[Any]: ...
@overload
def space_to_depth(
    x: _Input,
    block_size: _IntOrInts,
    *,
    order: _Order = "DCR",
    channel_axis: SupportsIndex = 1,
    out: _Out,
    threads: SupportsIndex | None = None,
) -> _Out: ...
@overload
def unfold(
    x: NDArray[_Scalar],
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Scalar]: ...
@overload
def unfold(
    x: _Foreign,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> _Foreign: ...
@overload
def unfold(
    x: ArrayLike,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[Any]: ...
@overload
def unfold(
    x: _Input,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: SupportsIndex = 1,
    out: _Out,
    threads: SupportsIndex | None = None,
) -> _Out: ...
@overload
def fold(
    columns: NDArray[_Scalar],
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[_Scalar]: ...
@overload
def fold(
    columns: _Foreign,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> _Foreign: ...
@overload
def fold(
    columns: ArrayLike,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: SupportsIndex = 1,
    out: None = None,
    threads: SupportsIndex | None = None,
) -> NDArray[Any]: ...
@overload
def fold(
    columns: _Input,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: SupportsIndex = 1,
    out: _Out,
    threads: SupportsIndex | None = None,
) -> _Out: ...
def depth_to_space_shape(
    shape: _Ints,
    block_size: _IntOrInts,
    *,
    channel_axis: SupportsIndex = 1,
) -> tuple[int, ...]: ...
def space_to_depth_shape(
    shape: _Ints,
    block_size: _IntOrInts,
    *,
    channel_axis: SupportsIndex = 1,
) -> tuple[int, ...]: ...
def unfold_shape(
    shape: _Ints,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: SupportsIndex = 1,
) -> tuple[int, ...]: ...
def fold_shape(
    shape: _Ints,
    output_sizes: _IntOrInts,
    window_sizes: _IntOrInts,
    *,
    strides: _IntOrInts = 1,
    dilations: _IntOrInts = 1,
    start_padding: _IntOrInts = 0,
    end_padding: _IntOrInts = 0,
    channel_axis: SupportsIndex = 1,
) -> tuple[int, ...]: ...

class DataType(enum.IntEnum):
    UNKNOWN = 0
    FLOAT32 = 1
    FLOAT16 = 2
    UINT32 = 3
    UINT16 = 4
    UINT8 = 5
    INT32 = 6
    INT16 = 7
    INT8 = 8
    FLOAT64 = 9
    UINT64 = 10
    INT64 = 11
    UINT4 = 12
    INT4 = 13

class DepthSpaceOrder(enum.IntEnum):
    DEPTH_COLUMN_ROW = 0
    COLUMN_ROW_DEPTH = 1

class FeatureLevel(enum.IntEnum):
    LEVEL_1_0 = 0x1000
    LEVEL_2_0 = 0x2000
    LEVEL_2_1 = 0x2100
    LEVEL_3_0 = 0x3000
    LEVEL_3_1 = 0x3100
    LEVEL_4_0 = 0x4000
    LEVEL_4_1 = 0x4100
    LEVEL_5_0 = 0x5000
    LEVEL_5_1 = 0x5100
    LEVEL_5_2 = 0x5200
    LEVEL_6_0 = 0x6000
    LEVEL_6_1 = 0x6100
    LEVEL_6_2 = 0x6200
    LEVEL_6_3 = 0x6300
    LEVEL_6_4 = 0x6400

@final
class TensorDesc:
    def __init__(
        self, data_type: DataType | int, sizes: _Ints, strides: _Ints | None = None
    ) -> None: ...
    @property
    def data_type(self) -> DataType: ...
    @property
    def sizes(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...] | None: ...
    @property
    def total_size_in_bytes(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class DepthToSpaceDesc:
    def __init__(
        self,
        input: TensorDesc,
        output: TensorDesc | None = None,
        *,
        block_size: _IntOrInts,
        order: _Order = "DCR",
    ) -> None: ...
    @property
    def input(self) -> TensorDesc: ...
    @property
    def output(self) -> TensorDesc | None: ...
    @property
    def block_size(self) -> int | tuple[int, ...]: ...
    @property
    def order(self) -> DepthSpaceOrder: ...

@final
class SpaceToDepthDesc:
    def __init__(
        self,
        input: TensorDesc,
        output: TensorDesc | None = None,
        *,
        block_size: _IntOrInts,
        order: _Order = "DCR",
    ) -> None: ...
    @property
    def input(self) -> TensorDesc: ...
    @property
    def output(self) -> TensorDesc | None: ...
    @property
    def block_size(self) -> int | tuple[int, ...]: ...
    @property
    def order(self) -> DepthSpaceOrder: ...

@final
class UnfoldDesc:
    def __init__(
        self,
        input: TensorDesc,
        output: TensorDesc | None = None,
        *,
        window_sizes: _IntOrInts,
        strides: _IntOrInts | None = None,
        dilations: _IntOrInts | None = None,
        start_padding: _IntOrInts | None = None,
        end_padding: _IntOrInts | None = None,
    ) -> None: ...
    @property
    def input(self) -> TensorDesc: ...
    @property
    def output(self) -> TensorDesc | None: ...
    @property
    def window_sizes(self) -> int | tuple[int, ...]: ...
    @property
    def strides(self) -> int | tuple[int, ...]: ...
    @property
    def dilations(self) -> int | tuple[int, ...]: ...
    @property
    def start_padding(self) -> int | tuple[int, ...]: ...
    @property
    def end_padding(self) -> int | tuple[int, ...]: ...

@final
class FoldDesc:
    def __init__(
        self,
        input: TensorDesc,
        output: TensorDesc,
        *,
        window_sizes: _IntOrInts,
        strides: _IntOrInts | None = None,
        dilations: _IntOrInts | None = None,
        start_padding: _IntOrInts | None = None,
        end_padding: _IntOrInts | None = None,
    ) -> None: ...
    @property
    def input(self) -> TensorDesc: ...
    @property
    def output(self) -> TensorDesc: ...
    @property
    def window_sizes(self) -> int | tuple[int, ...]: ...
    @property
    def strides(self) -> int | tuple[int, ...]: ...
    @property
    def dilations(self) -> int | tuple[int, ...]: ...
    @property
    def start_padding(self) -> int | tuple[int, ...]: ...
    @property
    def end_padding(self) -> int | tuple[int, ...]: ...

@final
class CompiledOperator:
    @property
    def input(self) -> TensorDesc: ...
    @property
    def output(self) -> TensorDesc: ...
    @overload
    def __call__(
        self, x: NDArray[_Scalar], out: None = None, threads: SupportsIndex | None = None
    ) -> NDArray[_Scalar]: ...
    @overload
    def __call__(
        self, x: _Foreign, out: None = None, threads: SupportsIndex | None = None
    ) -> _Foreign: ...
    @overload
    def __call__(
        self, x: ArrayLike, out: None = None, threads: SupportsIndex | None = None
    ) -> NDArray[Any]: ...
    @overload
    def __call__(self, x: _Input, out: _Out, threads: SupportsIndex | None = None) -> _Out: ...
    def dispatch(self, input_buffer: _Buffer, output_buffer: _Buffer) -> None: ...

def compile(
    desc: DepthToSpaceDesc | SpaceToDepthDesc | UnfoldDesc | FoldDesc,
    *,
    feature_level: FeatureLevel | int | None = None,
) -> CompiledOperator: ...
def get_num_threads() -> int: ...
def set_num_threads(threads: SupportsIndex) -> None: ...
