# SPDX-License-Identifier: BSD-3-Clause
"""Bad input of the functions: a clear error before a byte is written."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import reblock
from bad_calls import BAD_CALLS, BadCall
from calls import SAMPLES, Call, operator
from checks import refuses
from layouts import allocate, random_bytes
from oracle import Array

every_operator = pytest.mark.parametrize("call", SAMPLES, ids=operator)

INT32 = np.dtype(np.int32)
X = np.zeros((1, 4, 2, 2), np.float32)
OPERATOR = reblock.compile(
    reblock.DepthToSpaceDesc(reblock.TensorDesc(reblock.DataType.FLOAT32, X.shape), block_size=2)
)


def sample(call: Call) -> Array:
    return allocate(call.input_shape, INT32).array


@pytest.mark.parametrize("bad", BAD_CALLS, ids=str)
def test_bad_arguments_are_refused(bad: BadCall) -> None:
    function = getattr(reblock, bad.operator)
    # Nothing is read either, so that even an array that no memory could hold will do.
    x = np.empty(bad.shape, np.uint8) if 0 in bad.shape else np.broadcast_to(np.uint8(1), bad.shape)
    out = random_bytes(720, seed=1).reshape(2, 3, 10, 12)
    refuses(
        lambda: function(x, *bad.arguments, **bad.keywords, out=out),
        bad.kind,
        bad.argument,
        *bad.told,
        untouched=[out],
    )


@pytest.mark.parametrize("call", SAMPLES[:2], ids=operator)
@pytest.mark.parametrize("order", ["dcr", "RGB", "", "DEPTH_COLUMN_ROW", 2, -1, 2**70], ids=repr)
def test_an_unknown_order_is_refused(call: Call, order: Any) -> None:
    out = allocate(call.output_shape, INT32)
    refuses(
        lambda: call(sample(call), order=order, out=out.array),
        ValueError,
        "order",
        order,
        untouched=[out.buffer],
    )


@pytest.mark.parametrize("call", SAMPLES[:2], ids=operator)
@pytest.mark.parametrize("order", [None, 1.0, True, b"DCR", ["DCR"]], ids=repr)
def test_an_order_of_another_type_is_refused(call: Call, order: Any) -> None:
    out = allocate(call.output_shape, INT32)
    refuses(
        lambda: call(sample(call), order=order, out=out.array),
        TypeError,
        "order",
        untouched=[out.buffer],
    )


# `out`


@every_operator
def test_out_of_another_shape_is_refused(call: Call) -> None:
    shape = call.output_shape
    for wrong in (
        (*shape[:-1], shape[-1] + 1),
        (*shape[:-1], shape[-1] - 1),
        (*shape[:-2], shape[-1], shape[-2]),
        (shape[0], 1, *shape[2:]),
        (1, *shape),
        shape[1:],
        (math.prod(shape),),
        (0, *shape[1:]),
        (),
    ):
        out = allocate(wrong, INT32)
        refuses(
            partial(call, sample(call), out=out.array),
            ValueError,
            "out",
            shape,
            wrong,
            untouched=[out.buffer],
        )


@every_operator
def test_a_read_only_out_is_refused(call: Call) -> None:
    out = allocate(call.output_shape, INT32)
    out.array.flags.writeable = False
    refuses(lambda: call(sample(call), out=out.array), ValueError, "out", untouched=[out.buffer])


@every_operator
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_an_out_that_overlaps_itself_is_refused(call: Call, axis: int) -> None:
    """By a repeated axis, by rows that share elements, and by elements that share a byte."""
    buffer = random_bytes(10_000, seed=1)
    packed = np.empty(call.output_shape, INT32).strides
    for stride in (0, packed[axis] - 1, 3):
        strides = [*packed]
        strides[axis] = stride
        out: Array = np.ndarray(call.output_shape, INT32, buffer.data, 0, tuple(strides))
        refuses(
            partial(call, sample(call), out=out),
            ValueError,
            "out",
            tuple(strides),
            untouched=[buffer],
        )


@every_operator
@pytest.mark.parametrize(
    "dtype", [np.uint32, np.int64, np.float32, ">i4", "V4", object], ids=lambda d: np.dtype(d).str
)
def test_out_of_another_dtype_is_refused(call: Call, dtype: Any) -> None:
    if dtype is object:
        out = np.full(call.output_shape, None)
        untouched = []
    else:
        out = allocate(call.output_shape, np.dtype(dtype)).array
        untouched = [out]
    shown = str(np.dtype(dtype))
    refuses(
        lambda: call(sample(call), out=out), TypeError, "out", "int32", shown, untouched=untouched
    )


@every_operator
def test_out_that_is_no_array_is_refused(call: Call) -> None:
    bytes_ = bytearray(4 * math.prod(call.output_shape))
    nested = np.zeros(call.output_shape, INT32).tolist()
    for out in (nested, bytes_, memoryview(bytes_), 0, "out", np.int32(0), np.ndarray):
        refuses(partial(call, sample(call), out=out), TypeError, "out", type(out).__name__)
    assert bytes_ == bytes(len(bytes_))
    assert not np.any(nested)


# The input


@every_operator
def test_an_input_that_is_no_array_of_numbers_is_refused(call: Call) -> None:
    for x in (None, object(), {1: 2}, {1}, iter([1])):
        refuses(partial(call, x), TypeError, call.tensor(), "object")


# Calling


@every_operator
def test_arguments_that_are_no_sizes_are_given_by_name(call: Call) -> None:
    function = getattr(reblock, call.operator)
    with pytest.raises(TypeError):
        function(sample(call), *call.arguments, 1)


@every_operator
def test_unknown_and_missing_arguments_are_refused(call: Call) -> None:
    function = getattr(reblock, call.operator)
    with pytest.raises(TypeError):
        function(sample(call))
    with pytest.raises(TypeError):
        function(*call.arguments)
    with pytest.raises(TypeError):
        call(sample(call), workers=1)
    with pytest.raises(TypeError):
        function(sample(call), *call.arguments, **{call.tensor(): sample(call)})


@every_operator
def test_every_argument_has_a_name(call: Call) -> None:
    function = getattr(reblock, call.operator)
    names = list(inspect.signature(function).parameters)
    given = dict(zip(names, [sample(call), *call.arguments], strict=False))
    assert np.array_equal(function(**given, **call.keywords), call(sample(call)))


@pytest.mark.parametrize(
    ("function", "arguments", "keywords", "message"),
    [
        (
            reblock.depth_to_space,
            (X,),
            {},
            "depth_to_space() misses a required argument: 'block_size'",
        ),
        (reblock.fold, (X, 4), {}, "fold() misses a required argument: 'window_sizes'"),
        (reblock.depth_to_space, (X, 2, "CRD"), {}, "depth_to_space() takes at most 2 positional"),
        (
            reblock.unfold,
            (X, 2),
            {"stride": 1},
            "unfold() got an unexpected keyword argument 'stride'",
        ),
        (reblock.unfold, (X, 2), {"x": X}, "unfold() got multiple values for argument 'x'"),
        (OPERATOR, (), {}, "CompiledOperator.__call__() misses a required argument: 'x'"),
        (OPERATOR, (X, None, 1, 2), {}, "CompiledOperator.__call__() takes at most 3 positional"),
        (OPERATOR, (X,), {"output": X}, "got an unexpected keyword argument 'output'"),
        (OPERATOR, (X,), {"out": X, "x": X}, "got multiple values for argument 'x'"),
        (OPERATOR, (X,), dict.fromkeys("abcd", 1), "takes at most 3 arguments"),
    ],
)
def test_arguments_are_bound_as_in_python(
    function: Callable[..., object],
    arguments: tuple[object, ...],
    keywords: dict[str, object],
    message: str,
) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        function(*arguments, **keywords)


def test_names_that_are_made_up_at_run_time_are_known_too() -> None:
    keywords: dict[str, Any] = {
        name[:-1]: value for name, value in (("block_size_", 2), ("order_", "CRD"))
    }
    assert np.array_equal(
        reblock.depth_to_space(X, **keywords), reblock.depth_to_space(X, 2, order="CRD")
    )
