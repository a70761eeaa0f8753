# SPDX-License-Identifier: BSD-3-Clause
"""Inputs and `out` are used without copying, and no byte beside an element is written."""

from __future__ import annotations

import array
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import reblock
from calls import DEPTH_TO_SPACE, SAMPLES, Call, any_call, depth_space_calls, moving, operator
from checks import assert_same_bytes, assert_same_values, assert_writes_only_elements, refuses
from dtypes import integers, movable, summable
from layouts import (
    MARGIN,
    Memory,
    allocate,
    in_one_buffer,
    layouts,
    random_bytes,
    small_integers,
    span,
)
from oracle import Array, as_bytes

every_operator = pytest.mark.parametrize("call", SAMPLES, ids=operator)


def sample(call: Call, seed: int = 0) -> Array:
    return allocate(call.input_shape, np.dtype(np.int32), seed=seed).array


# Results and `out`


@given(st.data())
def test_out_may_have_any_layout(data: st.DataObject) -> None:
    call = data.draw(any_call())
    dtype = data.draw(summable() if call.operator == "fold" else movable())
    layout = data.draw(layouts(len(call.input_shape), dtype.itemsize))
    out_layout = data.draw(layouts(len(call.output_shape), dtype.itemsize, for_output=True))
    source = allocate(call.input_shape, dtype, layout, seed=1)
    x = small_integers(source, dtype) if call.operator == "fold" else source.array
    target = allocate(call.output_shape, dtype, out_layout, seed=2)
    before = source.buffer.tobytes()
    assert_writes_only_elements(target, lambda out: call(x, out=out))
    same = assert_same_values if call.operator == "fold" else assert_same_bytes
    same(np.asarray(target.array), call.oracle(x))
    assert source.buffer.tobytes() == before


@every_operator
def test_a_result_is_a_fresh_c_contiguous_array(call: Call) -> None:
    x = sample(call)
    result = call(x)
    assert type(result) is np.ndarray
    assert result.flags.c_contiguous
    assert result.flags.writeable
    assert result.flags.aligned
    assert result.shape == call.output_shape
    assert not np.shares_memory(result, x)
    assert not np.shares_memory(result, call(x))


@pytest.mark.parametrize("bytes_beyond", [-1, 0, 1, 2**20])
def test_a_large_result_is_filled_from_its_first_to_its_last_byte(bytes_beyond: int) -> None:
    """From 4 MiB on its pages are provided before it is filled."""
    size = 4 * 2**20 + bytes_beyond
    x = np.full((1, size, 1), 201, np.uint8)
    assert reblock.unfold(x, 1).tobytes() == x.tobytes()


@every_operator
def test_out_is_returned(call: Call) -> None:
    out = np.empty(call.output_shape, np.int32)
    assert call(sample(call), out=out) is out


@every_operator
def test_out_none_is_a_fresh_result(call: Call) -> None:
    assert_same_bytes(call(sample(call), out=None), call.oracle(sample(call)))


@every_operator
def test_out_may_be_a_subclass(call: Call) -> None:
    class Image(np.ndarray):
        pass

    out = np.empty(call.output_shape, np.int32).view(Image)
    assert call(sample(call), out=out) is out
    assert_same_bytes(np.asarray(out), call.oracle(sample(call)))


@every_operator
def test_an_empty_out_is_returned(call: Call) -> None:
    shape = (0, *call.output_shape[1:])
    out = np.empty(shape, np.int32)
    assert call(np.empty((0, *call.input_shape[1:]), np.int32), out=out) is out


@given(st.data())
def test_out_may_have_any_strides_that_do_not_overlap(data: st.DataObject) -> None:
    """Nested or not: what counts is whether two elements share a byte."""
    dtype = np.dtype(data.draw(st.sampled_from([np.uint8, np.int16, np.float32])))
    unpack, _ = depth_space_calls(1, 1, (2, 3), (1, 2))
    x = allocate(unpack.input_shape, dtype).array
    shape = unpack.output_shape
    strides = data.draw(st.tuples(*[st.integers(-30, 30)] * len(shape)))
    lowest = sum(min(stride * (e - 1), 0) for e, stride in zip(shape, strides, strict=True))
    size = span(shape, [abs(stride) for stride in strides], dtype.itemsize)
    buffer = random_bytes(size + 2 * MARGIN, seed=3)
    out: Array = np.ndarray(shape, dtype, buffer.data, MARGIN - lowest, strides)
    places = [
        MARGIN - lowest + int(np.dot(index, strides)) + byte
        for index in np.ndindex(*shape)
        for byte in range(dtype.itemsize)
    ]
    if len(set(places)) == len(places):
        guard = np.delete(buffer, places)
        unpack(x, out=out)
        assert_same_bytes(out, unpack.oracle(x))
        assert np.array_equal(np.delete(buffer, places), guard)
    else:
        refuses(lambda: unpack(x, out=out), ValueError, "out", untouched=[buffer])


def test_out_with_interleaved_rows_does_not_overlap() -> None:
    buffer = np.zeros(8, np.int16)
    out: Array = np.ndarray((1, 1, 2, 3), np.int16, buffer.data, 0, (16, 16, 6, 4))
    reblock.depth_to_space(np.arange(1, 7).astype(np.int16).reshape(out.shape), 1, out=out)
    assert buffer.tolist() == [1, 0, 2, 4, 3, 5, 0, 6]


# `out` that shares memory with the input


@given(st.data())
def test_out_may_share_memory_with_the_input(data: st.DataObject) -> None:
    call = data.draw(any_call())
    dtype = data.draw(integers() if call.operator == "fold" else movable())
    source, target = data.draw(in_one_buffer(call.input_shape, call.output_shape, dtype))
    expected = call.oracle(source.array)
    assert_writes_only_elements(target, lambda out: call(source.array, out=out))
    assert_same_bytes(target.array, expected)


@given(st.data())
def test_out_may_be_the_input_itself(data: st.DataObject) -> None:
    """The same bytes under the shapes of input and output, as far as both are views of them."""
    call, dtype = data.draw(moving()), data.draw(movable())
    assume(math.prod(call.input_shape) == math.prod(call.output_shape))
    x = allocate(call.input_shape, dtype).array
    expected = call.oracle(x)
    out = x.reshape(call.output_shape)
    assert call(x, out=out) is out
    assert_same_bytes(out, expected)


def test_out_may_be_the_same_object() -> None:
    x = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    expected = reblock.unfold(x, 1)
    assert reblock.unfold(x, 1, out=x) is x
    assert_same_bytes(x, expected)
    assert reblock.fold(x, 4, 1, out=x) is x
    assert_same_bytes(x, expected)


@pytest.mark.parametrize("shift", [-40, -3, -1, 0, 1, 2, 7, 40])
@every_operator
def test_out_may_be_the_input_shifted(call: Call, shift: int) -> None:
    elements = max(math.prod(call.input_shape), math.prod(call.output_shape))
    buffer = random_bytes((elements + 80) * 4, seed=1).view(np.int32)
    x = buffer[40:][: math.prod(call.input_shape)].reshape(call.input_shape)
    out = buffer[40 + shift :][: math.prod(call.output_shape)].reshape(call.output_shape)
    expected = call.oracle(x)
    call(x, out=out)
    assert_same_bytes(out, expected)


def test_interleaved_arrays_that_share_no_element() -> None:
    call = DEPTH_TO_SPACE
    buffer = random_bytes(2 * math.prod(call.input_shape), seed=1)
    x, out = buffer[::2].reshape(call.input_shape), buffer[1::2].reshape(call.output_shape)
    before = x.copy()
    assert_writes_only_elements(
        Memory(buffer, out, np.arange(buffer.size) % 2 == 1), lambda out: call(x, out=out)
    )
    assert_same_bytes(np.asarray(out), call.oracle(before))
    assert np.array_equal(x, before)


# Inputs


@every_operator
def test_a_read_only_input_is_fine(call: Call) -> None:
    x = sample(call)
    x.flags.writeable = False
    assert_same_bytes(call(x), call.oracle(x))


@every_operator
def test_a_broadcast_input_is_fine(call: Call) -> None:
    x = np.broadcast_to(np.int32(7), call.input_shape)
    assert_same_bytes(call(x), call.oracle(np.ascontiguousarray(x)))


@every_operator
def test_a_subclass_gives_a_plain_array(call: Call) -> None:
    class Image(np.ndarray):
        pass

    assert_same_bytes(call(sample(call).view(Image)), call.oracle(sample(call)))


@every_operator
def test_a_memory_mapped_input_gives_a_plain_array(call: Call, tmp_path: Any) -> None:
    sample(call).tofile(tmp_path / "x.bin")
    x = np.memmap(tmp_path / "x.bin", np.int32, "r", shape=call.input_shape)
    assert_same_bytes(call(x), call.oracle(sample(call)))


@every_operator
def test_an_ndarray_is_asked_for_no_protocol(call: Call) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError

    protocols = ("__array__", "__array_namespace__", "__dlpack__", "__dlpack_device__")
    Image = type("Image", (np.ndarray,), dict.fromkeys(protocols, fail))  # noqa: N806 - a class
    assert_same_bytes(call(sample(call).view(Image)), call.oracle(sample(call)))


@every_operator
def test_nested_lists_are_arrays(call: Call) -> None:
    x = sample(call).astype(np.int64)
    assert_same_bytes(call(x.tolist()), call.oracle(x))
    assert_same_bytes(call((x / 2).tolist()), call.oracle(x / 2))


@every_operator
def test_buffer_objects_are_arrays(call: Call) -> None:
    x = sample(call)
    assert_same_bytes(call(x.data), call.oracle(x))
    flat = array.array("i", x.reshape(-1).tolist())
    shaped = memoryview(flat).cast("B").cast("i", list(x.shape))
    assert_same_bytes(call(shaped), call.oracle(x))


def test_objects_with_an_array_protocol_are_arrays() -> None:
    x = sample(DEPTH_TO_SPACE)

    class Holder:
        def __array__(self, dtype: object = None, copy: object = None) -> Array:
            return x

    class Interface:
        __array_interface__ = x.__array_interface__

    class Exporter:
        def __dlpack__(self, **keywords: Any) -> Any:
            return x.__dlpack__(**keywords)

        def __dlpack_device__(self) -> tuple[int, int]:
            return x.__dlpack_device__()

    for holder in (Holder(), Interface(), Exporter()):
        assert_same_bytes(DEPTH_TO_SPACE(holder), DEPTH_TO_SPACE.oracle(x))


@given(st.data())
def test_bytes_beside_the_input_are_not_read_into_the_result(data: st.DataObject) -> None:
    """Two buffers that agree on the elements alone give the same result."""
    call, dtype = data.draw(moving()), data.draw(movable())
    layout = data.draw(layouts(len(call.input_shape), dtype.itemsize))
    first = allocate(call.input_shape, dtype, layout, seed=1)
    second = allocate(call.input_shape, dtype, layout, seed=2)
    as_bytes(second.array)[...] = as_bytes(first.array)
    assert_same_bytes(call(first.array), call(second.array))


# Nothing of the image's size but the result


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"reduction": "mean"},
        {"reduction": "mean", "weights": [np.hanning(18)[1:-1]] * 2},
        {"weights": np.ones((16, 16))},
        {"reduction": "max", "dtype": np.float32},
    ],
    ids=str,
)
def test_windows_allocate_the_result_alone(mode: Any, how: dict[str, Any]) -> None:
    image = np.ones((2, 3, 200, 300), np.uint8)
    window: dict[str, Any] = {"strides": 8, "start_padding": 8, "end_padding": 8}
    window["padding_mode"] = mode
    small = 2**14
    tracemalloc.start()
    try:
        columns = reblock.unfold(image, 16, **window)
        _, peak = tracemalloc.get_traced_memory()
        assert peak < columns.nbytes + small
        for out in (None, np.zeros(image.shape, how.get("dtype", np.uint8))):
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            result = reblock.fold(columns, (200, 300), 16, **window, **how, out=out)
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < (result.nbytes if out is None else 0) + small
            del result
    finally:
        tracemalloc.stop()
