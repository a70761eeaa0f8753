# SPDX-License-Identifier: BSD-3-Clause
"""Tensor and operator descriptors, and the operators compiled from them."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reblock
from calls import (
    DEPTH_TO_SPACE,
    FOLD,
    SPACE_TO_DEPTH,
    UNFOLD,
    Call,
    Shape,
    any_call,
    depth_space_calls,
    operator,
    window_calls,
)
from checks import assert_same_bytes, assert_writes_only_elements
from descriptors import describe, describe_tensors
from dtypes import DIRECTML, as_pytorch
from layouts import Layout, Memory, allocate, layouts, random_bytes, small_integers, view
from reblock import (
    DataType,
    DepthSpaceOrder,
    DepthToSpaceDesc,
    FoldDesc,
    SpaceToDepthDesc,
    TensorDesc,
    UnfoldDesc,
)

DESCRIBABLE = [*depth_space_calls(2, 3, (5, 4), (3, 3), "CRD"), UNFOLD, FOLD]

every_operator = pytest.mark.parametrize("call", DESCRIBABLE, ids=operator)
every_data_type = pytest.mark.parametrize("data_type", DIRECTML, ids=lambda t: t.name)


# Tensor descriptors


def test_data_types_have_directml_values() -> None:
    names = "UNKNOWN FLOAT32 FLOAT16 UINT32 UINT16 UINT8 INT32 INT16 INT8 FLOAT64 UINT64 INT64"
    expected = {name: value for value, name in enumerate([*names.split(), "UINT4", "INT4"])}
    assert {member.name: member.value for member in DataType} == expected


def test_a_tensor_descriptor_holds_what_it_was_given() -> None:
    tensor = TensorDesc(DataType.INT16, [2, 3], strides=(np.int64(4), 1))
    assert tensor.data_type is DataType.INT16
    assert tensor.sizes == (2, 3)
    assert tensor.strides == (4, 1)
    assert TensorDesc(DataType.INT16, (2, 3)).strides is None
    assert TensorDesc(DataType.INT16, np.array([2, 3])).sizes == (2, 3)


@every_data_type
def test_a_data_type_has_many_names(data_type: DataType) -> None:
    """A DataType, NumPy's dtype and whatever NumPy makes one of, and the names of both."""
    dtype = DIRECTML[data_type]
    for name in (data_type, data_type.name, dtype, dtype.name, dtype.str, dtype.type):
        assert TensorDesc(name, (2, 3)).data_type is data_type
    for same in (np.dtype(char) for char in np.typecodes["All"]):
        if same == dtype:  # the C types of the same size, for one
            assert TensorDesc(same, (2, 3)).data_type is data_type
    assert TensorDesc(float, (2, 3)).data_type is DataType.FLOAT64


@every_data_type
def test_a_dtype_of_pytorch_is_a_data_type(data_type: DataType) -> None:
    dtype = as_pytorch(DIRECTML[data_type].name)
    assert TensorDesc(dtype, (2, 3)).data_type is data_type


ONNX = {
    1: DataType.FLOAT32,
    2: DataType.UINT8,
    3: DataType.INT8,
    4: DataType.UINT16,
    5: DataType.INT16,
    6: DataType.INT32,
    7: DataType.INT64,
    10: DataType.FLOAT16,
    11: DataType.FLOAT64,
    12: DataType.UINT32,
    13: DataType.UINT64,
    21: DataType.UINT4,
    22: DataType.INT4,
}


@pytest.mark.parametrize(("number", "data_type"), ONNX.items(), ids=repr)
def test_onnx_has_numbers_of_its_own(number: int, data_type: DataType) -> None:
    assert DataType.from_onnx(number) is data_type
    assert DataType.from_onnx(np.int32(number)) is data_type


@every_data_type
def test_packed_tensors_have_the_size_of_their_elements(data_type: DataType) -> None:
    tensor = TensorDesc(data_type, (2, 3, 4))
    assert tensor.total_size_in_bytes == 24 * DIRECTML[data_type].itemsize


@pytest.mark.parametrize(
    ("sizes", "strides", "elements"),
    [
        ((1,), None, 1),
        ((5,), None, 5),
        ((2, 3), (10, 2), 15),
        ((2, 3), (1, 10), 22),
        ((2, 3), (0, 1), 3),
        ((4, 4), (0, 0), 1),
        ((1, 1), (99, 99), 1),
        ((2,) * 8, None, 256),
    ],
)
@every_data_type
def test_total_size_ends_at_the_last_element_rounded_up_to_four(
    sizes: Shape, strides: Shape | None, elements: int, data_type: DataType
) -> None:
    exact = elements * DIRECTML[data_type].itemsize
    assert TensorDesc(data_type, sizes, strides).total_size_in_bytes == -(-exact // 4) * 4


@pytest.mark.parametrize(
    ("data_type", "sizes", "strides", "expected"),
    [
        (DataType.UINT8, (2**32 - 1,), None, 2**32),
        (DataType.FLOAT64, (2**31, 1), None, 2**34),
        (DataType.FLOAT64, (65535, 65537), None, (2**32 - 1) * 8),
        (DataType.UINT16, (3, 2), (2**32 - 1, 1), (2 * (2**32 - 1) + 2) * 2),
        (DataType.UINT8, (2, 2, 2), (2**32 - 1,) * 3, 3 * (2**32 - 1) + 1 + 2),
    ],
)
def test_total_size_may_exceed_32_bits(
    data_type: DataType, sizes: Shape, strides: Shape | None, expected: int
) -> None:
    assert TensorDesc(data_type, sizes, strides).total_size_in_bytes == expected


# Operator descriptors


def test_operator_descriptors_hold_what_they_were_given() -> None:
    depth = TensorDesc(DataType.INT8, (1, 8, 2, 3))
    space = TensorDesc(DataType.INT8, (1, 2, 4, 6))
    unpack = DepthToSpaceDesc(depth, space, block_size=2, order="CRD")
    assert (unpack.input, unpack.output, unpack.block_size) == (depth, space, 2)
    assert unpack.order is DepthSpaceOrder.COLUMN_ROW_DEPTH
    pack = SpaceToDepthDesc(space, block_size=2)
    assert (pack.input, pack.output, pack.block_size) == (space, None, 2)
    assert pack.order is DepthSpaceOrder.DEPTH_COLUMN_ROW

    image, columns = describe(UNFOLD, DataType.INT8).input, describe(FOLD, DataType.INT8).input
    unfold = UnfoldDesc(image, window_sizes=[3, 2], strides=(2, 1), end_padding=(0, 2))
    assert (unfold.input, unfold.output) == (image, None)
    assert unfold.window_sizes == (3, 2)
    assert unfold.strides == (2, 1)
    assert unfold.end_padding == (0, 2)
    fold = FoldDesc(columns, image, window_sizes=(3, 2), dilations=(1, 2), start_padding=(1, 0))
    assert (fold.input, fold.output) == (columns, image)
    assert fold.dilations == (1, 2)
    assert fold.start_padding == (1, 0)


def test_orders_have_directml_values() -> None:
    orders = {order.name: order.value for order in DepthSpaceOrder}
    assert orders == {"DEPTH_COLUMN_ROW": 0, "COLUMN_ROW_DEPTH": 1}


@every_operator
def test_a_compiled_operator_tells_its_tensors(call: Call) -> None:
    compiled = reblock.compile(describe(call, DataType.UINT8))
    assert compiled.input == TensorDesc(DataType.UINT8, call.input_shape)
    assert compiled.output == TensorDesc(DataType.UINT8, call.output_shape)


@pytest.mark.parametrize("call", DESCRIBABLE[:3], ids=operator)
def test_an_output_left_out_is_inferred(call: Call) -> None:
    tensor = TensorDesc(DataType.FLOAT16, call.input_shape)
    compiled = reblock.compile(describe_tensors(call, tensor, None))
    assert compiled.output.data_type is DataType.FLOAT16
    assert compiled.output.sizes == call.output_shape
    x = allocate(call.input_shape, np.dtype(np.float16)).array
    assert_same_bytes(compiled(x), call.oracle(x))


@pytest.mark.parametrize("axes", [1, 2, 3, 6])
@pytest.mark.parametrize("inverse", [False, True], ids=["unfold", "fold"])
def test_columns_may_have_leading_extents_of_one(axes: int, inverse: bool) -> None:
    """The columns' rank is 3, or any up to that of the image."""
    unfold, fold = window_calls(2, 3, (3,) * axes, (2,) * axes)
    call = fold if inverse else unfold
    x = small_integers(allocate(call.input_shape, np.dtype(np.int16)), np.dtype(np.int16))
    expected = call.oracle(x)
    for leading in range(axes):
        tensors = [
            TensorDesc(DataType.INT16, (1,) * leading + shape if len(shape) == 3 else shape)
            for shape in (call.input_shape, call.output_shape)
        ]
        compiled = reblock.compile(describe_tensors(call, *tensors))
        result = compiled(x.reshape(tensors[0].sizes))
        assert_same_bytes(result, expected.reshape(tensors[1].sizes))


@every_data_type
@every_operator
def test_every_data_type_compiles_and_runs(call: Call, data_type: DataType) -> None:
    dtype = DIRECTML[data_type]
    x = small_integers(allocate(call.input_shape, dtype), dtype)
    compiled = reblock.compile(describe(call, data_type))
    assert_same_bytes(compiled(x), call.oracle(x))


@pytest.mark.parametrize("call", [DEPTH_TO_SPACE, SPACE_TO_DEPTH], ids=operator)
def test_window_defaults_are_dense_and_unpadded(call: Call) -> None:
    image = TensorDesc(DataType.INT32, call.input_shape)
    compiled = reblock.compile(UnfoldDesc(image, window_sizes=(2, 2)))
    x = allocate(call.input_shape, np.dtype(np.int32)).array
    columns = compiled(x)
    assert_same_bytes(columns, reblock.unfold(x, 2))
    back = reblock.compile(FoldDesc(compiled.output, image, window_sizes=(2, 2)))
    assert_same_bytes(back(columns), reblock.fold(columns, call.input_shape[2:], 2))


# Running a compiled operator


@given(st.data())
def test_a_compiled_operator_takes_arrays_of_any_strides(data: st.DataObject) -> None:
    call = data.draw(any_call(describable=True))
    data_type = data.draw(st.sampled_from(list(DIRECTML)))
    dtype = DIRECTML[data_type]
    layout = data.draw(layouts(len(call.input_shape), dtype.itemsize))
    out_layout = data.draw(layouts(len(call.output_shape), dtype.itemsize, for_output=True))
    x = small_integers(allocate(call.input_shape, dtype, layout), dtype)
    out = allocate(call.output_shape, dtype, out_layout)
    compiled = reblock.compile(describe(call, data_type))
    expected = call.oracle(x)
    result = compiled(x)
    assert_same_bytes(result, expected)
    assert result.flags.c_contiguous
    assert_writes_only_elements(out, lambda array: compiled(x, out=array))
    assert_same_bytes(out.array, expected)


def tensor_layouts(axes: int, itemsize: int, *, for_output: bool) -> st.SearchStrategy[Layout]:
    """Draw what a tensor descriptor can tell: whole elements, ascending, from the first byte on."""
    drawn = layouts(axes, itemsize, for_output=for_output, unit=itemsize)
    upwards = (False,) * axes
    return drawn.map(lambda t: Layout(t.nesting, t.gaps, upwards, t.repeated))


def bound_buffer(shape: Shape, dtype: np.dtype[Any], layout: Layout, seed: int) -> Memory:
    """Make an array in a buffer of exactly the size that its tensor descriptor asks for."""
    tight = allocate(shape, dtype, layout, margin=0)
    size = -(-tight.buffer.size // 4) * 4
    return view(random_bytes(size, seed), 0, layout, shape, dtype)


@given(st.data())
def test_dispatch_follows_the_strides_and_leaves_gaps_untouched(data: st.DataObject) -> None:
    call = data.draw(any_call(describable=True))
    data_type = data.draw(st.sampled_from(list(DIRECTML)))
    dtype = DIRECTML[data_type]
    size = dtype.itemsize
    layout = data.draw(tensor_layouts(len(call.input_shape), size, for_output=False))
    out_layout = data.draw(tensor_layouts(len(call.output_shape), size, for_output=True))
    source = bound_buffer(call.input_shape, dtype, layout, seed=1)
    target = bound_buffer(call.output_shape, dtype, out_layout, seed=2)
    x = small_integers(source, dtype)
    compiled = reblock.compile(
        describe(
            call,
            data_type,
            input_strides=[stride // size for stride in x.strides],
            output_strides=[stride // size for stride in target.array.strides],
        )
    )
    assert compiled.input.total_size_in_bytes == source.buffer.size
    assert compiled.output.total_size_in_bytes == target.buffer.size
    expected, guard = call.oracle(x), target.guard_bytes()
    compiled.dispatch(source.buffer, target.buffer)
    assert_same_bytes(target.array, expected)
    assert target.guard_bytes() == guard


@every_operator
def test_dispatch_runs_many_times_over_any_contiguous_buffer(call: Call) -> None:
    compiled = reblock.compile(describe(call, DataType.INT32))
    output = bytearray(math.prod(call.output_shape) * 4 + 1000)
    guard = output[-1000:]
    for seed in range(3):
        x = allocate(call.input_shape, np.dtype(np.int32), seed=seed).array
        expected = call.oracle(x).tobytes()
        for source in (x, x.tobytes(), bytearray(x.tobytes()), memoryview(x.tobytes() + b"more")):
            output[:-1000] = bytes(len(output) - 1000)
            compiled.dispatch(source, memoryview(output))
            assert output[:-1000] == expected
    assert output[-1000:] == guard


@every_operator
def test_threads_may_share_an_operator(call: Call) -> None:
    compiled = reblock.compile(describe(call, DataType.INT32))
    inputs = [allocate(call.input_shape, np.dtype(np.int32), seed=seed).array for seed in range(64)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(compiled, inputs))
    for x, result in zip(inputs, results, strict=True):
        assert_same_bytes(result, call.oracle(x))


@every_operator
def test_dispatch_over_one_buffer_is_as_if_there_were_two(call: Call) -> None:
    compiled = reblock.compile(describe(call, DataType.INT32))
    sizes = compiled.input.total_size_in_bytes, compiled.output.total_size_in_bytes
    for start in (0, 4, 20):
        buffer = random_bytes(sum(sizes) + start, seed=start)
        source = buffer[start : start + sizes[0]]
        x = np.frombuffer(source.tobytes(), np.int32).reshape(call.input_shape)
        compiled.dispatch(source, buffer[: sizes[1]])
        assert buffer[: sizes[1]].tobytes() == call.oracle(x).tobytes()
