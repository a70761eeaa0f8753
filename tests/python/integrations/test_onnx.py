# SPDX-License-Identifier: BSD-3-Clause
"""reblock.onnx: models run by ONNX's reference evaluator with reblock's operators, and without."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from typing import Any
from unittest.mock import Mock

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import reblock.onnx
from calls import FOLD, Call, depth_space_calls, window_calls, window_pairs
from checks import assert_same_values
from layouts import random_bytes
from oracle import Array

LATEST = onnx.defs.onnx_opset_version()

# The dtypes that arrays of ONNX's types have, but for strings.
DTYPES: list[Any] = [
    np.bool_,
    np.uint8,
    np.int8,
    np.uint16,
    np.int16,
    np.uint32,
    np.int32,
    np.uint64,
    np.int64,
    np.float16,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
    ml_dtypes.bfloat16,
]

# What onnxruntime has kernels for, on the CPU.
RUNTIME_MOVES = (np.uint8, np.float16, np.float32, np.float64)
RUNTIME_SUMS = (np.float16, np.float32)


def model(operator: str, x: Array, *shapes: Array, opset: int, **attributes: Any) -> Any:
    """Make a model of one node, unchecked."""
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    inputs = [helper.make_tensor_value_info("x", element, x.shape)]
    for number, shape in enumerate(shapes):
        name = f"shape_{number}"
        inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, shape.shape))
    rank = 2 + len(shapes[0]) if shapes else 4
    output = helper.make_tensor_value_info("y", element, [None] * rank)
    node = helper.make_node(operator, [info.name for info in inputs], ["y"], **attributes)
    graph = helper.make_graph([node], "graph", inputs, [output])
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def run(proto: Any, *inputs: Array, **more: Any) -> Array:
    """Evaluate the model by reblock's operators, or by ONNX's own with new_ops=None."""
    more = {"new_ops": reblock.onnx.ops, **more}
    evaluator = ReferenceEvaluator(proto, **more)
    (result,) = evaluator.run(None, dict(zip(evaluator.input_names, inputs, strict=True)))
    assert isinstance(result, np.ndarray)
    return result


def by_runtime(proto: Any, *inputs: Array) -> Array:
    options = onnxruntime.SessionOptions()
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    names = [each.name for each in session.get_inputs()]
    (result,) = session.run(None, dict(zip(names, inputs, strict=True)))
    assert isinstance(result, np.ndarray)
    return result


def sample(shape: tuple[int, ...], dtype: Any) -> Array:
    """Make an array of small integers."""
    count = int(np.prod(shape))
    return (random_bytes(count, 1) % 5).reshape(shape).astype(dtype)


def test_ops_are_the_three_operators() -> None:
    names = [(op.op_domain, op.__name__) for op in reblock.onnx.ops]
    assert names == [("", "DepthToSpace"), ("", "SpaceToDepth"), ("", "Col2Im")]


def test_the_nodes_run_on_reblock(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = {
        name: Mock(wraps=getattr(reblock, name))
        for name in ("depth_to_space", "space_to_depth", "fold")
    }
    for name, function in functions.items():
        monkeypatch.setattr(reblock, name, function)
    x, columns = sample((1, 4, 2, 2), np.float32), sample((1, 4, 1), np.float32)
    run(model("DepthToSpace", x, opset=13, blocksize=2), x)
    run(model("SpaceToDepth", x, opset=13, blocksize=2), x)
    two = np.array([2, 2])
    run(model("Col2Im", columns, two, two, opset=18), columns, two, two)
    assert [function.call_count for function in functions.values()] == [1, 1, 1]


# DepthToSpace and SpaceToDepth

OPSETS = [(1, "DCR"), (11, "DCR"), (11, "CRD"), (13, "DCR"), (13, "CRD")]
OPSETS += [(LATEST, "DCR"), (LATEST, "CRD")]


def moves(opset: int, order: str, dtype: Any, block: int = 3) -> list[tuple[Any, Array, Call]]:
    """Return valid models of both operators, as far as the opset has them with this order."""
    result = []
    for call in depth_space_calls(2, 3, (2, 4), (block, block), order):
        name = {"depth_to_space": "DepthToSpace", "space_to_depth": "SpaceToDepth"}[call.operator]
        x = sample(call.input_shape, dtype)
        mode = {} if order == "DCR" else {"mode": order}
        proto = model(name, x, opset=opset, blocksize=block, **mode)
        if "mode" not in mode or "mode" in onnx.defs.get_schema(name, opset, "").attributes:
            onnx.checker.check_model(proto)
            result.append((proto, x, call))
    return result


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("opset", "order"), OPSETS)
def test_moves_are_those_of_onnx(opset: int, order: str, dtype: Any) -> None:
    for proto, x, call in moves(opset, order, dtype):
        result = run(proto, x)
        assert_same_values(result, call.oracle(x))
        assert_same_values(result, run(proto, x, new_ops=None))


@pytest.mark.parametrize("dtype", RUNTIME_MOVES)
@pytest.mark.parametrize(("opset", "order"), [(11, "CRD"), (13, "DCR"), (13, "CRD")])
def test_moves_agree_with_onnxruntime(opset: int, order: str, dtype: Any) -> None:
    for proto, x, _ in moves(opset, order, dtype):
        assert_same_values(run(proto, x), by_runtime(proto, x))


@pytest.mark.parametrize("mode", [{}, {"mode": "DCR"}, {"mode": "CRD"}])
def test_a_mode_is_dcr_unless_it_is_given(mode: dict[str, str]) -> None:
    x = sample((1, 8, 1, 2), np.float32)
    expected = reblock.depth_to_space(x, 2, order="CRD" if mode.get("mode") == "CRD" else "DCR")
    assert_same_values(run(model("DepthToSpace", x, opset=13, blocksize=2, **mode), x), expected)


def test_strings_are_moved() -> None:
    x = np.array([f"text {i}" for i in range(24)], object).reshape(1, 12, 1, 2)
    deep = run(model("DepthToSpace", x, opset=13, blocksize=2), x)
    assert (
        deep.tolist()
        == run(model("DepthToSpace", x, opset=13, blocksize=2), x, new_ops=None).tolist()
    )
    assert run(model("SpaceToDepth", deep, opset=13, blocksize=2), deep).tolist() == x.tolist()


# Col2Im


def col2im(call: Call, dtype: Any, **attributes: Any) -> tuple[Any, tuple[Array, ...]]:
    """Return the model of a fold, and its inputs."""
    x = sample(call.input_shape, dtype)
    shapes = [np.array(sizes, np.int64) for sizes in call.arguments]
    proto = model("Col2Im", x, *shapes, opset=18, **attributes)
    onnx.checker.check_model(proto)
    return proto, (x, *shapes)


def window_attributes(call: Call) -> dict[str, Any]:
    return {
        "strides": call.keywords["strides"],
        "dilations": call.keywords["dilations"],
        "pads": [*call.keywords["start_padding"], *call.keywords["end_padding"]],
    }


@settings(max_examples=50)
@given(window_pairs(describable=True, budget=300), st.sampled_from([np.int32, np.float32]))
def test_col2im(pair: tuple[Call, Call], dtype: Any) -> None:
    _, fold = pair
    proto, inputs = col2im(fold, dtype, **window_attributes(fold))
    result = run(proto, *inputs)
    assert_same_values(result, fold.oracle(inputs[0]))
    assert_same_values(result, run(proto, *inputs, new_ops=None))
    # With other than two spatial axes onnxruntime goes wrong: its issue 18156.
    if dtype == np.float32 and len(fold.arguments[0]) == 2:
        assert_same_values(result, by_runtime(proto, *inputs))


@pytest.mark.parametrize("dtype", DTYPES)
def test_col2im_of_every_dtype(dtype: Any) -> None:
    proto, inputs = col2im(FOLD, dtype, **window_attributes(FOLD))
    result = run(proto, *inputs)
    assert_same_values(result, FOLD.oracle(inputs[0]))
    assert_same_values(result, run(proto, *inputs, new_ops=None))
    if dtype in RUNTIME_SUMS:
        assert_same_values(result, by_runtime(proto, *inputs))


def test_attributes_of_col2im_are_ones_and_zeros_unless_they_are_given() -> None:
    _, fold = window_calls(2, 3, (5, 4), (3, 2))
    proto, inputs = col2im(fold, np.float32)
    assert_same_values(run(proto, *inputs), fold.oracle(inputs[0]))
    assert_same_values(run(proto, *inputs), by_runtime(proto, *inputs))


# Models, functions and errors


def test_a_node_in_a_function_with_attributes_of_its_own() -> None:
    node = helper.make_node("DepthToSpace", ["x"], ["y"])
    node.attribute.add(name="blocksize", ref_attr_name="size", type=onnx.AttributeProto.INT)
    node.attribute.add(name="mode", ref_attr_name="order", type=onnx.AttributeProto.STRING)
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)]
    function = helper.make_function(
        "local", "Up", ["x"], ["y"], [node], imports[:1], ["size", "order"]
    )
    x = sample((1, 18, 2, 2), np.float32)
    call = helper.make_node("Up", ["x"], ["y"], domain="local", size=3, order="CRD")
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * 4) for name in "xy"]
    graph = helper.make_graph([call], "graph", infos[:1], infos[1:])
    proto = helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=8)
    onnx.checker.check_model(proto)
    assert_same_values(run(proto, x), reblock.depth_to_space(x, 3, order="CRD"))


def test_other_nodes_run_as_before() -> None:
    x = sample((1, 4, 2, 2), np.float32)
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("DepthToSpace", ["a"], ["b"], blocksize=2),
        helper.make_node("SpaceToDepth", ["b"], ["c"], blocksize=2),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name in "xy"]
    graph = helper.make_graph(nodes, "graph", infos[:1], infos[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    assert_same_values(run(proto, x), np.zeros_like(x))


IMAGE = np.zeros((1, 12, 4, 4), np.float32)
COLUMNS = np.zeros((1, 9, 4), np.float32)
FOUR, THREE = np.array([4, 4]), np.array([3, 3])

# An operator, its opset, its inputs, its attributes; what the error says.
BAD: list[tuple[str, int, tuple[Array, ...], dict[str, Any], str]] = [
    ("DepthToSpace", 13, (IMAGE,), {"blocksize": 5}, "12 channels"),
    ("DepthToSpace", 13, (IMAGE,), {"blocksize": 0}, "block_size must be at least 1"),
    ("DepthToSpace", 13, (IMAGE,), {"blocksize": 2, "mode": "RGB"}, "order must be .* 'RGB'"),
    ("DepthToSpace", 13, (IMAGE[0],), {"blocksize": 2}, "4 axes"),
    (
        "DepthToSpace",
        1,
        (IMAGE,),
        {"blocksize": 2, "mode": "CRD"},
        "no attribute 'mode' in opset 1",
    ),
    ("SpaceToDepth", 13, (IMAGE,), {"blocksize": 3}, "block_size"),
    ("SpaceToDepth", 13, (IMAGE,), {"blocksize": 2, "mode": "CRD"}, "no attribute 'mode'"),
    ("SpaceToDepth", 13, (IMAGE[..., None],), {"blocksize": 2}, "4 axes"),
    ("Col2Im", 18, (COLUMNS, FOUR, np.array([3, 2])), {}, "columns"),
    ("Col2Im", 18, (COLUMNS, FOUR + 1, THREE), {}, "columns"),
    ("Col2Im", 18, (COLUMNS, FOUR, THREE[:1]), {}, "window_sizes"),
    ("Col2Im", 18, (COLUMNS, FOUR, THREE), {"strides": [1]}, "strides"),
    ("Col2Im", 18, (COLUMNS, FOUR, THREE), {"dilations": [0, 1]}, "dilations"),
    ("Col2Im", 18, (COLUMNS, FOUR, THREE), {"pads": [0, 0, 0]}, "pads"),
    ("Col2Im", 18, (COLUMNS, FOUR, THREE), {"pads": [0, 0, 0, -1]}, "end_padding"),
    ("Col2Im", 18, (COLUMNS[0], FOUR, THREE), {}, "columns"),
]


@pytest.mark.parametrize(("operator", "opset", "inputs", "attributes", "told"), BAD)
def test_what_does_not_fit_is_refused(
    operator: str, opset: int, inputs: tuple[Array, ...], attributes: dict[str, Any], told: str
) -> None:
    proto = model(operator, *inputs, opset=opset, **attributes)
    with pytest.raises(ValueError, match=told):
        run(proto, *inputs)


def test_a_missing_attribute_is_refused() -> None:
    for operator in ("DepthToSpace", "SpaceToDepth"):
        with pytest.raises(RuntimeError, match="'blocksize' is expected"):
            run(model(operator, IMAGE, opset=13), IMAGE)


def test_an_operator_that_came_later_is_refused() -> None:
    with pytest.raises(onnx.defs.SchemaError, match="Col2Im"):
        run(model("Col2Im", COLUMNS, FOUR, THREE, opset=17), COLUMNS, FOUR, THREE)


def test_without_onnx_the_error_names_the_extra() -> None:
    script = "import sys; sys.modules['onnx'] = None; import reblock; import reblock.onnx"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    last = result.stderr.splitlines()[-1]
    assert last == 'ModuleNotFoundError: reblock.onnx needs onnx: pip install "reblock[onnx]"'
    assert result.returncode == 1


@pytest.mark.parametrize("op", reblock.onnx.ops)
def test_the_examples_run(op: type[Any]) -> None:
    text = inspect.getdoc(op) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, op.__name__, None, None)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted >= 2
    assert result.failed == 0, "".join(report)
