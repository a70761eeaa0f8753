# SPDX-License-Identifier: BSD-3-Clause
"""The *_shape functions have the rules of the operators, without data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import reblock
from bad_calls import BAD_CALLS, BadCall
from calls import SAMPLES, Call, any_call, operator
from checks import refuses

every_operator = pytest.mark.parametrize("call", SAMPLES, ids=operator)


@given(any_call())
def test_shapes_agree_with_results(call: Call) -> None:
    shape = call.shape()
    assert shape == call.output_shape
    assert shape == call(np.zeros(call.input_shape, np.int8)).shape


@every_operator
def test_a_shape_is_a_tuple_of_ints(call: Call) -> None:
    shape = call.shape()
    assert type(shape) is tuple
    assert all(type(extent) is int for extent in shape)


@pytest.mark.parametrize("bad", BAD_CALLS, ids=str)
def test_shapes_refuse_what_operators_refuse(bad: BadCall) -> None:
    function = getattr(reblock, bad.operator + "_shape")
    argument = "shape" if bad.argument in ("x", "columns") else bad.argument
    refuses(
        lambda: function(bad.shape, *bad.arguments, **bad.keywords), bad.kind, argument, *bad.told
    )


@every_operator
@pytest.mark.parametrize("spelling", [tuple, list, np.array])
def test_a_shape_is_any_sequence_of_integers(call: Call, spelling: Any) -> None:
    function = getattr(reblock, call.operator + "_shape")
    keywords = {name: value for name, value in call.keywords.items() if name != "order"}
    shape = spelling([np.int64(extent) for extent in call.input_shape])
    assert function(shape, *call.arguments, **keywords) == call.output_shape


@every_operator
def test_a_negative_extent_is_refused(call: Call) -> None:
    function = getattr(reblock, call.operator + "_shape")
    shape = (-1, *call.input_shape[1:])
    refuses(lambda: function(shape, *call.arguments), ValueError, "shape", shape)


@every_operator
@pytest.mark.parametrize("value", [True, 2.0, "2", None], ids=repr)
def test_an_extent_of_another_type_is_refused(call: Call, value: Any) -> None:
    function = getattr(reblock, call.operator + "_shape")
    shape = (value, *call.input_shape[1:])
    refuses(lambda: function(shape, *call.arguments), TypeError, "shape")


@every_operator
@pytest.mark.parametrize("shape", [5, 5.0, None, {1: 2}], ids=repr)
def test_a_shape_that_is_no_sequence_is_refused(call: Call, shape: Any) -> None:
    function = getattr(reblock, call.operator + "_shape")
    refuses(lambda: function(shape, *call.arguments), TypeError, "shape")


@every_operator
def test_an_extent_beyond_64_bits_is_refused(call: Call) -> None:
    function = getattr(reblock, call.operator + "_shape")
    shape = (2**64, *call.input_shape[1:])
    refuses(lambda: function(shape, *call.arguments), ValueError, "shape", 2**64)


def test_shapes_need_no_memory() -> None:
    assert reblock.depth_to_space_shape((1, 4, 2**30, 2**30), 2) == (1, 1, 2**31, 2**31)
    assert reblock.space_to_depth_shape((1, 1, 2**31, 2**30), 2) == (1, 4, 2**30, 2**29)
    assert reblock.unfold_shape((1, 1, 2**40), 3) == (1, 3, 2**40 - 2)
    assert reblock.fold_shape((1, 3, 2**40 - 2), 2**40, 3) == (1, 1, 2**40)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (reblock.depth_to_space_shape((1, 8, 2, 3), 2), (1, 2, 4, 6)),
        (reblock.space_to_depth_shape((1, 2, 4, 6), 2), (1, 8, 2, 3)),
        (reblock.space_to_depth_shape((5, 4, 6, 3), (2, 3), channel_axis=-1), (5, 2, 2, 18)),
        (reblock.unfold_shape((1, 1, 5, 5), 3), (1, 9, 9)),
        (
            reblock.unfold_shape((1, 1, 5, 5), 3, start_padding=(1, 0), end_padding=(1, 0)),
            (1, 9, 15),
        ),
        (reblock.unfold_shape((2, 3, 10), 3, strides=2, dilations=2), (2, 9, 3)),
        (reblock.fold_shape((1, 9, 4), (4, 4), 3), (1, 1, 4, 4)),
        (reblock.fold_shape((1, 9, 4), (4, 4), 3, channel_axis=3), (1, 4, 4, 1)),
    ],
)
def test_worked_shapes(result: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert result == expected
