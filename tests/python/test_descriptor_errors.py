# SPDX-License-Identifier: BSD-3-Clause
"""Bad descriptors, arrays and buffers of an operator: an error before a byte is written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import pytest

import reblock
from bad_calls import SHOWN, wrong_types
from calls import Shape
from checks import refuses
from dtypes import BFLOAT16, as_pytorch
from layouts import Layout, allocate
from oracle import Array
from reblock import (
    CompiledOperator,
    DataType,
    DepthToSpaceDesc,
    FoldDesc,
    SpaceToDepthDesc,
    TensorDesc,
    UnfoldDesc,
)

INT32 = DataType.INT32


def tensor(*sizes: int, strides: Shape | None = None, data_type: DataType = INT32) -> TensorDesc:
    return TensorDesc(data_type, sizes, strides)


# Tensor descriptors


@pytest.mark.parametrize("data_type", [DataType.UNKNOWN, "UNKNOWN", "unknown"], ids=repr)
def test_an_unknown_data_type_is_refused(data_type: Any) -> None:
    refuses(lambda: TensorDesc(data_type, (2, 3)), ValueError, "data_type", "UNKNOWN")


@pytest.mark.parametrize("data_type", ["float33", "", "torch.float32", "\udc80"], ids=ascii)
def test_a_name_of_no_data_type_is_refused(data_type: str) -> None:
    refuses(lambda: TensorDesc(data_type, (2, 3)), ValueError, "data_type")


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (7, ": DataType(7) is DirectML's INT16, DataType.from_onnx(7) is ONNX's INT64"),
        (8, ": DataType(8) is DirectML's INT8"),
        (np.int64(21), ": DataType.from_onnx(21) is ONNX's UINT4"),
        (99, ""),
        (-1, ""),
    ],
)
def test_a_plain_number_is_no_data_type_but_may_be_one_of_directml_or_of_onnx(
    number: Any, hint: str
) -> None:
    with pytest.raises(TypeError) as caught:
        TensorDesc(number, (2, 3))
    assert str(caught.value) == (
        "data_type must be a DataType, a dtype or the name of one, got"
        f" {number!r} ({type(number).__name__}){hint}"
    )


@pytest.mark.parametrize("data_type", [DataType.UINT4, DataType.INT4], ids=repr)
def test_data_types_for_quantization_are_refused(data_type: DataType) -> None:
    refuses(lambda: TensorDesc(data_type, (2, 3)), ValueError, "data_type", data_type.name)


@pytest.mark.parametrize(
    "data_type", [1.0, True, None, np.float32(1), np.ones(2, np.float32), ["float32"]], ids=repr
)
def test_a_data_type_of_another_type_is_refused(data_type: Any) -> None:
    refuses(lambda: TensorDesc(data_type, (2, 3)), TypeError, "data_type", type(data_type).__name__)


@pytest.mark.parametrize(
    "dtype", [bool, "complex64", np.dtype(">f4"), object, "S3", BFLOAT16, np.longdouble], ids=str
)
def test_a_dtype_that_directml_does_not_have_is_refused(dtype: Any) -> None:
    refuses(lambda: TensorDesc(dtype, (2, 3)), TypeError, "data_type", np.dtype(dtype))


def test_a_dtype_of_pytorch_that_directml_does_not_have_is_refused() -> None:
    dtype = as_pytorch("bfloat16")
    refuses(lambda: TensorDesc(dtype, (2, 3)), TypeError, "data_type", dtype)


@pytest.mark.parametrize("number", [0, 8, 9, 16, 23, -1, 2**31, 2**70], ids=repr)
def test_a_number_of_onnx_that_directml_has_no_type_for_is_refused(number: int) -> None:
    refuses(lambda: DataType.from_onnx(number), ValueError, "number", number)


@pytest.mark.parametrize("number", ["7", 7.0, True, None], ids=repr)
def test_what_is_no_number_of_onnx_is_refused(number: Any) -> None:
    refuses(lambda: DataType.from_onnx(number), TypeError, "number", type(number).__name__)


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ((), ()),
        ((1,) * 9, (1,) * 9),
        ((1,) * 12, (1,) * SHOWN),
        ((0,), (0,)),
        ((2, 0, 3), (2, 0, 3)),
        ((2, -1), (2, -1)),
        ((2**16, 2**16), (2**16, 2**16)),
        ((2**32,), 2**32),
        ((2**40, 2**40), (2**40, 2**40)),
        ((2**64, 1), 2**64),
    ],
)
def test_invalid_sizes_are_refused(sizes: Shape, told: object) -> None:
    refuses(lambda: TensorDesc(INT32, sizes), ValueError, "sizes", told)


@pytest.mark.parametrize("sizes", [*wrong_types(2), 5], ids=repr)
def test_sizes_of_another_type_are_refused(sizes: Any) -> None:
    refuses(lambda: TensorDesc(INT32, sizes), TypeError, "sizes")


@pytest.mark.parametrize(
    ("strides", "told"),
    [
        ((-1, 1), (-1, 1)),
        ((3, 1, 1), (3, 1, 1)),
        ((3,), (3,)),
        ((), 2),
        ((2**63 - 1, 1), 2**63 - 1),
        ((2**61, 2**61), 2**61),
        ((2**64, 1), 2**64),
    ],
)
def test_invalid_strides_are_refused(strides: Shape, told: object) -> None:
    refuses(lambda: TensorDesc(INT32, (2, 3), strides), ValueError, "strides", told)


@pytest.mark.parametrize("strides", [s for s in wrong_types(2) if s is not None] + [5], ids=repr)
def test_strides_of_another_type_are_refused(strides: Any) -> None:
    refuses(lambda: TensorDesc(INT32, (2, 3), strides), TypeError, "strides")


# Operator descriptors

DEPTH, SPACE = tensor(2, 8, 2, 3), tensor(2, 2, 4, 6)
IMAGE, COLUMNS = tensor(2, 3, 7, 5), tensor(2, 18, 20)

BAD_DESCRIPTORS: dict[str, tuple[Callable[[], Any], str, tuple[object, ...]]] = {
    "depth_channels": (lambda: DepthToSpaceDesc(DEPTH, block_size=3), "input", (8, 3, 9)),
    "space_extents": (lambda: SpaceToDepthDesc(SPACE, block_size=3), "input", ((4, 6), 3)),
    "block_zero": (lambda: DepthToSpaceDesc(DEPTH, block_size=0), "block_size", (0,)),
    "block_negative": (lambda: SpaceToDepthDesc(SPACE, block_size=-2), "block_size", (-2,)),
    "block_huge": (lambda: SpaceToDepthDesc(SPACE, block_size=2**64), "block_size", (2**64,)),
    "order": (
        lambda: DepthToSpaceDesc(DEPTH, block_size=2, order=cast(Any, "RGB")),
        "order",
        ("RGB",),
    ),
    "order_value": (
        lambda: SpaceToDepthDesc(SPACE, block_size=2, order=cast(Any, 2)),
        "order",
        (2,),
    ),
    "depth_rank": (lambda: DepthToSpaceDesc(tensor(8, 2), block_size=2), "input", ((8, 2),)),
    "depth_output": (
        lambda: DepthToSpaceDesc(DEPTH, tensor(2, 2, 4, 7), block_size=2),
        "output",
        ((2, 2, 4, 6), (2, 2, 4, 7)),
    ),
    "space_output": (
        lambda: SpaceToDepthDesc(SPACE, tensor(2, 8, 6), block_size=2),
        "output",
        ((2, 8, 2, 3), (2, 8, 6)),
    ),
    "output_type": (
        lambda: DepthToSpaceDesc(
            DEPTH, tensor(2, 2, 4, 6, data_type=DataType.UINT32), block_size=2
        ),
        "output",
        ("INT32", "UINT32"),
    ),
    "output_repeats": (
        lambda: DepthToSpaceDesc(DEPTH, tensor(2, 2, 4, 6, strides=(0, 24, 6, 1)), block_size=2),
        "output",
        ((0, 24, 6, 1),),
    ),
    "output_overlaps": (
        lambda: DepthToSpaceDesc(DEPTH, tensor(2, 2, 4, 6, strides=(48, 24, 5, 1)), block_size=2),
        "output",
        ((48, 24, 5, 1),),
    ),
    "window_zero": (lambda: UnfoldDesc(IMAGE, window_sizes=(3, 0)), "window_sizes", ((3, 0),)),
    "window_length": (lambda: UnfoldDesc(IMAGE, window_sizes=(3,)), "window_sizes", (3, 2)),
    "window_large": (lambda: UnfoldDesc(IMAGE, window_sizes=(8, 2)), "window_sizes", ((8, 2), 7)),
    "strides_zero": (
        lambda: UnfoldDesc(IMAGE, window_sizes=(3, 2), strides=(1, 0)),
        "strides",
        ((1, 0),),
    ),
    "dilations_negative": (
        lambda: UnfoldDesc(IMAGE, window_sizes=(3, 2), dilations=(1, -1)),
        "dilations",
        ((1, -1),),
    ),
    "start_padding_negative": (
        lambda: UnfoldDesc(IMAGE, window_sizes=(3, 2), start_padding=(-1, 0)),
        "start_padding",
        ((-1, 0),),
    ),
    "end_padding_length": (
        lambda: FoldDesc(COLUMNS, IMAGE, window_sizes=(3, 2), end_padding=(0, 0, 0)),
        "end_padding",
        ((0, 0, 0),),
    ),
    "unfold_rank": (lambda: UnfoldDesc(tensor(3, 7), window_sizes=()), "input", ((3, 7),)),
    "unfold_output": (
        lambda: UnfoldDesc(IMAGE, tensor(2, 18, 21), window_sizes=(3, 2)),
        "output",
        ((2, 18, 20), (2, 18, 21)),
    ),
    "unfold_output_leading": (
        lambda: UnfoldDesc(IMAGE, tensor(2, 2, 18, 20), window_sizes=(3, 2)),
        "output",
        ((2, 2, 18, 20),),
    ),
    "unfold_output_rank": (
        lambda: UnfoldDesc(IMAGE, tensor(1, 1, 2, 18, 20), window_sizes=(3, 2)),
        "output",
        ((1, 1, 2, 18, 20),),
    ),
    "unfold_output_type": (
        lambda: UnfoldDesc(
            IMAGE, tensor(2, 18, 20, data_type=DataType.FLOAT32), window_sizes=(3, 2)
        ),
        "output",
        ("INT32", "FLOAT32"),
    ),
    "fold_rows": (
        lambda: FoldDesc(tensor(2, 17, 20), IMAGE, window_sizes=(3, 2)),
        "input",
        (17, (3, 2), 6),
    ),
    "fold_blocks": (
        lambda: FoldDesc(tensor(2, 18, 19), IMAGE, window_sizes=(3, 2)),
        "input",
        (19, 20),
    ),
    "fold_leading": (
        lambda: FoldDesc(tensor(3, 2, 18, 20), IMAGE, window_sizes=(3, 2)),
        "input",
        ((3, 2, 18, 20),),
    ),
    "fold_channels": (
        lambda: FoldDesc(COLUMNS, tensor(2, 4, 7, 5), window_sizes=(3, 2)),
        "output",
        ((2, 4, 7, 5), 3),
    ),
    "fold_batch": (
        lambda: FoldDesc(COLUMNS, tensor(1, 3, 7, 5), window_sizes=(3, 2)),
        "output",
        ((1, 3, 7, 5), 2),
    ),
    "fold_rank": (lambda: FoldDesc(COLUMNS, tensor(3, 7), window_sizes=3), "output", ((3, 7),)),
    "fold_type": (
        lambda: FoldDesc(COLUMNS, tensor(2, 3, 7, 5, data_type=DataType.INT8), window_sizes=(3, 2)),
        "output",
        ("INT32", "INT8"),
    ),
    "fold_repeats": (
        lambda: FoldDesc(COLUMNS, tensor(2, 3, 7, 5, strides=(105, 0, 5, 1)), window_sizes=(3, 2)),
        "output",
        ((105, 0, 5, 1),),
    ),
    "too_many_elements": (
        lambda: UnfoldDesc(tensor(1, 1, 2**16, 2**15), window_sizes=(4, 4), start_padding=(4, 4)),
        "output",
        (16,),
    ),
}


@pytest.mark.parametrize(
    ("make", "argument", "told"), BAD_DESCRIPTORS.values(), ids=BAD_DESCRIPTORS
)
def test_a_bad_description_is_refused_when_it_is_compiled(
    make: Callable[[], Any], argument: str, told: tuple[object, ...]
) -> None:
    refuses(lambda: reblock.compile(make()), ValueError, argument, *told)


@pytest.mark.parametrize(
    "value", [*wrong_types(2)[:7], pytest.param(object(), id="object()")], ids=repr
)
def test_descriptor_arguments_of_another_type_are_refused(value: Any) -> None:
    refuses(lambda: DepthToSpaceDesc(DEPTH, block_size=value), TypeError, "block_size")
    refuses(lambda: SpaceToDepthDesc(SPACE, block_size=value), TypeError, "block_size")
    refuses(lambda: UnfoldDesc(IMAGE, window_sizes=(3, value)), TypeError, "window_sizes")
    for name in ("strides", "dilations", "start_padding", "end_padding"):
        window: dict[str, Any] = {name: (1, value)}
        refuses(partial(UnfoldDesc, IMAGE, window_sizes=3, **window), TypeError, name)
        refuses(partial(FoldDesc, COLUMNS, IMAGE, window_sizes=3, **window), TypeError, name)


def test_an_operator_descriptor_needs_its_tensors() -> None:
    for tensor_ in (None, "tensor", (2, 8, 2, 3)):
        with pytest.raises(TypeError):
            DepthToSpaceDesc(tensor_, block_size=2)  # type: ignore[arg-type] # on purpose
    with pytest.raises(TypeError):
        FoldDesc(COLUMNS, window_sizes=(3, 2))  # type: ignore[call-arg] # on purpose
    with pytest.raises(TypeError):
        FoldDesc(COLUMNS, None, window_sizes=(3, 2))  # type: ignore[arg-type] # on purpose


@pytest.mark.parametrize("desc", [None, "desc", DEPTH, 5], ids=repr)
def test_only_operator_descriptors_are_compiled(desc: Any) -> None:
    with pytest.raises(TypeError):
        reblock.compile(desc)


# Running a compiled operator


@pytest.fixture
def compiled() -> CompiledOperator:
    """Eight elements in 32 bytes, moved to eight elements with a gap in 44 bytes."""
    source = TensorDesc(DataType.INT32, (1, 4, 1, 2))
    target = TensorDesc(DataType.INT32, (1, 1, 2, 4), (99, 99, 7, 1))
    return reblock.compile(DepthToSpaceDesc(source, target, block_size=2))


def described(shape: Shape, dtype: Any = np.int32, layout: Layout | None = None) -> Array:
    return allocate(shape, np.dtype(dtype), layout).array


@pytest.mark.parametrize(
    "shape", [(1, 4, 1, 3), (1, 4, 2), (4, 1, 2), (0, 4, 1, 2), (), (1, 8, 1, 2)]
)
def test_an_array_of_another_shape_is_refused(compiled: CompiledOperator, shape: Shape) -> None:
    out = described((1, 1, 2, 4))
    refuses(
        lambda: compiled(described(shape), out=out),
        ValueError,
        "x",
        shape,
        (1, 4, 1, 2),
        untouched=[out],
    )


@pytest.mark.parametrize("dtype", ["u4", "i8", "f4", ">i4", "V4"])
def test_an_array_of_another_dtype_is_refused(compiled: CompiledOperator, dtype: str) -> None:
    x, out = described((1, 4, 1, 2)), described((1, 1, 2, 4))
    wrong = str(np.dtype(dtype))
    refuses(
        lambda: compiled(x.view(dtype) if dtype != "i8" else x.astype(dtype), out=out),
        TypeError,
        "x",
        wrong,
        "int32",
        untouched=[out],
    )
    bad_out = described((1, 1, 2, 4), dtype)
    refuses(lambda: compiled(x, out=bad_out), TypeError, "out", wrong, "int32", untouched=[bad_out])


def test_a_bad_out_is_refused(compiled: CompiledOperator) -> None:
    x = described((1, 4, 1, 2))
    wrong = described((1, 1, 4, 2))
    refuses(
        lambda: compiled(x, out=wrong),
        ValueError,
        "out",
        (1, 1, 4, 2),
        (1, 1, 2, 4),
        untouched=[wrong],
    )
    read_only = described((1, 1, 2, 4))
    read_only.flags.writeable = False
    refuses(lambda: compiled(x, out=read_only), ValueError, "out", untouched=[read_only])
    repeated = np.lib.stride_tricks.as_strided(np.ones(4, np.int32), (1, 1, 2, 4), (0, 0, 0, 4))
    refuses(lambda: compiled(x, out=repeated), ValueError, "out", untouched=[repeated])
    for no_array in ([0] * 8, bytearray(32), 0):
        refuses(partial(compiled, x, out=no_array), TypeError, "out")


def test_a_small_buffer_is_refused(compiled: CompiledOperator) -> None:
    assert (compiled.input.total_size_in_bytes, compiled.output.total_size_in_bytes) == (32, 44)
    output = bytearray(b"\xa5" * 44)
    for size in (31, 28, 0):
        refuses(
            partial(compiled.dispatch, bytes(size), output),
            ValueError,
            "input_buffer",
            size,
            32,
        )
    assert output == b"\xa5" * 44
    for size in (43, 40, 0):
        short = bytearray(b"\xa5" * size)
        refuses(
            partial(compiled.dispatch, bytes(32), short),
            ValueError,
            "output_buffer",
            size,
            44,
        )
        assert short == b"\xa5" * size


def test_a_read_only_output_buffer_is_refused(compiled: CompiledOperator) -> None:
    output = bytes(b"\xa5" * 44)
    read_only = np.frombuffer(output, np.uint8)
    for target in (output, memoryview(output), read_only):
        refuses(partial(compiled.dispatch, bytes(32), target), ValueError, "output_buffer")
    assert output == b"\xa5" * 44


def test_what_is_no_buffer_is_refused(compiled: CompiledOperator) -> None:
    output = bytearray(b"\xa5" * 44)
    no_buffers: list[Any] = [None, 5, "text", [0] * 44, object()]
    for wrong in no_buffers:
        refuses(partial(compiled.dispatch, wrong, output), TypeError, "input_buffer")
        refuses(partial(compiled.dispatch, bytes(32), wrong), TypeError, "output_buffer")
    assert output == b"\xa5" * 44


def test_a_buffer_with_gaps_is_refused(compiled: CompiledOperator) -> None:
    """It is not one run of bytes."""
    spaced = np.full(2 * 44, 0xA5, np.uint8)
    refuses(lambda: compiled.dispatch(spaced[::2], bytearray(44)), ValueError, "input_buffer")
    refuses(lambda: compiled.dispatch(bytes(32), spaced[::2]), ValueError, "output_buffer")
    assert (spaced == 0xA5).all()
