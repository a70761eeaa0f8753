# SPDX-License-Identifier: BSD-3-Clause
"""Descriptors and compiled operators are values: equal by their parts, and the same elsewhere."""

from __future__ import annotations

import copy
import multiprocessing
import operator
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reblock
from calls import any_call
from descriptors import OperatorDesc, describe, describe_tensors
from dtypes import DIRECTML
from layouts import allocate
from reblock import (
    CompiledOperator,
    DataType,
    DepthToSpaceDesc,
    FoldDesc,
    SpaceToDepthDesc,
    TensorDesc,
    UnfoldDesc,
)

DEPTH = TensorDesc(DataType.INT16, (1, 8, 2, 3))
SPACE = TensorDesc(DataType.INT16, (1, 2, 4, 6), (99, 48, 7, 1))
IMAGE = TensorDesc(DataType.FLOAT32, (1, 1, 5, 5))
COLUMNS = TensorDesc(DataType.FLOAT32, (1, 9, 9))

# Values that differ from each other, and how they are written.
WRITTEN: dict[str, object] = {
    "reblock.TensorDesc(reblock.DataType.INT16, (1, 8, 2, 3))": DEPTH,
    "reblock.TensorDesc(reblock.DataType.INT16, (1, 2, 4, 6), strides=(99, 48, 7, 1))": SPACE,
    f"reblock.DepthToSpaceDesc({DEPTH}, block_size=2)": DepthToSpaceDesc(DEPTH, block_size=2),
    f"reblock.DepthToSpaceDesc({DEPTH}, output={SPACE}, block_size=(2, 2),"
    " order=reblock.DepthSpaceOrder.COLUMN_ROW_DEPTH)": DepthToSpaceDesc(
        DEPTH, SPACE, block_size=(2, 2), order="CRD"
    ),
    f"reblock.SpaceToDepthDesc({SPACE}, block_size=2)": SpaceToDepthDesc(SPACE, block_size=2),
    f"reblock.UnfoldDesc({IMAGE}, window_sizes=3)": UnfoldDesc(IMAGE, window_sizes=3),
    f"reblock.UnfoldDesc({IMAGE}, window_sizes=(3, 1), strides=2, dilations=(1, 2),"
    " start_padding=1, end_padding=(0, 1))": UnfoldDesc(
        IMAGE,
        window_sizes=(3, 1),
        strides=2,
        dilations=(1, 2),
        start_padding=1,
        end_padding=(0, 1),
    ),
    f"reblock.FoldDesc({COLUMNS}, {IMAGE}, window_sizes=3)": FoldDesc(
        COLUMNS, IMAGE, window_sizes=3, strides=1
    ),
    f"reblock.compile(reblock.FoldDesc({COLUMNS}, {IMAGE}, window_sizes=3))": reblock.compile(
        FoldDesc(COLUMNS, IMAGE, window_sizes=3)
    ),
    f"reblock.compile(reblock.UnfoldDesc({IMAGE}, output={COLUMNS}, window_sizes=3))": (
        reblock.compile(UnfoldDesc(IMAGE, window_sizes=3))
    ),
}

every_value = pytest.mark.parametrize("value", WRITTEN.values(), ids=repr)


@st.composite
def descriptions(draw: st.DrawFn) -> OperatorDesc:
    """Draw a description of any operator, now and then with the output left out."""
    call = draw(any_call(describable=True))
    data_type = draw(st.sampled_from(list(DIRECTML)))
    if call.operator != "fold" and draw(st.booleans()):
        return describe_tensors(call, TensorDesc(data_type, call.input_shape), None)
    return describe(call, data_type)


@given(descriptions())
def test_what_is_written_or_pickled_is_equal_when_it_is_read(desc: OperatorDesc) -> None:
    for value in (desc.input, desc, reblock.compile(desc)):
        for read in (eval(repr(value)), pickle.loads(pickle.dumps(value))):
            assert type(read) is type(value)
            assert read == value
            assert hash(read) == hash(value)


@pytest.mark.parametrize(("written", "value"), WRITTEN.items(), ids=repr)
def test_a_value_is_written_as_it_is_made(written: str, value: object) -> None:
    assert repr(value) == written


@every_value
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle_is_served(value: object, protocol: int) -> None:
    assert pickle.loads(pickle.dumps(value, protocol)) == value


@every_value
def test_a_value_is_its_own_copy(value: object) -> None:
    assert copy.copy(value) is value
    assert copy.deepcopy(value) is value
    assert copy.deepcopy([value, value]) == [value, value]


def test_values_are_equal_by_all_of_their_parts() -> None:
    values = list(WRITTEN.values())
    for i, value in enumerate(values):
        assert [value == other for other in values] == [i == j for j in range(len(values))]
        assert [value != other for other in values] == [i != j for j in range(len(values))]
        assert value != repr(value)
    assert len(set(values)) == len(values)
    assert len({*values, *pickle.loads(pickle.dumps(values))}) == len(values)


def test_a_default_that_is_written_out_makes_no_difference() -> None:
    assert DepthToSpaceDesc(DEPTH, None, block_size=2, order="DCR") == DepthToSpaceDesc(
        DEPTH, block_size=2
    )
    assert UnfoldDesc(IMAGE, window_sizes=3, strides=1, end_padding=0) == UnfoldDesc(
        IMAGE, window_sizes=3
    )


@every_value
def test_values_have_no_order(value: Any) -> None:
    with pytest.raises(TypeError):
        operator.lt(value, value)


@every_value
def test_values_cannot_be_changed(value: Any) -> None:
    for name in ("input", "sizes", "anything"):
        with pytest.raises(AttributeError):
            setattr(value, name, 1)
    with pytest.raises(TypeError, match="immutable"):
        type(value).anything = 1


def test_a_compiled_operator_has_its_description_with_the_output_filled_in() -> None:
    desc = DepthToSpaceDesc(DEPTH, block_size=2, order="CRD")
    op = reblock.compile(desc)
    assert op.desc == DepthToSpaceDesc(DEPTH, op.output, block_size=2, order="CRD")
    assert op.desc != desc
    assert reblock.compile(op.desc) == op
    assert reblock.compile(desc, feature_level=reblock.FeatureLevel.LEVEL_6_4) == op
    assert reblock.compile(DepthToSpaceDesc(DEPTH, block_size=2)) != op


# No object without a value

CLASSES = [
    TensorDesc,
    DepthToSpaceDesc,
    SpaceToDepthDesc,
    UnfoldDesc,
    FoldDesc,
    CompiledOperator,
]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_there_is_no_object_without_a_value(kind: Any) -> None:
    assert kind.__bases__ == (object,)
    for make in (kind, partial(kind.__new__, kind), partial(object.__new__, kind)):
        with pytest.raises(TypeError):
            make()


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_classes_are_final(kind: Any) -> None:
    with pytest.raises(TypeError, match="base type"):
        type("Derived", (kind,), {})


# In other processes


def test_an_operator_runs_in_other_processes() -> None:
    op = reblock.compile(DepthToSpaceDesc(TensorDesc("int32", (1, 4, 1, 2)), block_size=2))
    images = [allocate((1, 4, 1, 2), np.dtype(np.int32), seed=seed).array for seed in range(4)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        results = list(pool.map(op, images))
        assert pool.submit(copy.copy, op).result() == op
    for x, result in zip(images, results, strict=True):
        assert np.array_equal(result, op(x))
