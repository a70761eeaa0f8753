# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that are more than their elements: what is given back, and what is refused.

The libraries are played by classes of the same names and protocols, since they are too large to be
installed for every run. The integrations are tested with the libraries themselves.
"""

from __future__ import annotations

import sys
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import reblock
from calls import MOVING, SAMPLES, SPACE_TO_DEPTH, Call
from calls import operator as name_of
from checks import assert_same_bytes, refuses
from oracle import Array

every_operator = pytest.mark.parametrize("call", SAMPLES, ids=name_of)


def sample(call: Call, dtype: Any = np.int32) -> Array:
    values = np.arange(np.prod(call.input_shape)) % 5
    return values.astype(dtype).reshape(call.input_shape)


# Masked arrays


@every_operator
def test_a_masked_array_is_refused(call: Call) -> None:
    x = np.ma.masked_array(sample(call), mask=False)
    refuses(partial(call, x), TypeError, call.tensor(), "masked array")
    out = np.ma.masked_array(np.zeros(call.output_shape, np.int32))
    refuses(
        lambda: call(sample(call), out=out), TypeError, "out", "masked array", untouched=[out.data]
    )


def test_a_masked_array_is_refused_by_a_compiled_operator() -> None:
    x = reblock.TensorDesc(reblock.DataType.FLOAT32, (1, 8, 2, 3))
    operator = reblock.compile(reblock.DepthToSpaceDesc(x, block_size=2))
    refuses(lambda: operator(np.ma.zeros((1, 8, 2, 3), np.float32)), TypeError, "x", "masked array")


def test_other_kinds_of_ndarray_are_taken(tmp_path: Any) -> None:
    x = sample(SPACE_TO_DEPTH)
    mapped = np.memmap(tmp_path / "x", np.int32, "w+", shape=x.shape)
    mapped[...] = x
    fields = np.zeros(x.shape, [("mask", "i4")])
    fields["mask"] = x
    records = fields.view(np.recarray)
    for given in (mapped, records):
        result = SPACE_TO_DEPTH(given)
        assert type(result) is np.ndarray
        assert_same_bytes(result.view(np.int32), SPACE_TO_DEPTH.oracle(x))


# TensorFlow, which has from_dlpack where no other library has it


class EagerTensor:
    """What TensorFlow's eager tensors have of the protocols."""

    def __init__(self, x: Array) -> None:
        self.x = x

    def __array__(self, *_: Any, **__: Any) -> Array:
        return self.x

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.x.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()


class Variable:
    """As an EagerTensor, without DLPack."""

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise AssertionError  # what it is would be lost


EagerTensor.__module__ = "tensorflow.python.framework.ops"
Variable.__module__ = "tensorflow.python.ops.resource_variable_ops"


@pytest.fixture
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("tensorflow")

    def from_dlpack(capsule: Any) -> EagerTensor:
        assert type(capsule).__name__ == "PyCapsule"
        exporter = SimpleNamespace(__dlpack__=lambda **_: capsule, __dlpack_device__=lambda: (1, 0))
        return EagerTensor(np.from_dlpack(exporter))

    module.experimental = SimpleNamespace(dlpack=SimpleNamespace(from_dlpack=from_dlpack))
    module.convert_to_tensor = EagerTensor
    monkeypatch.setitem(sys.modules, "tensorflow", module)


@pytest.mark.usefixtures("tensorflow")
@every_operator
def test_eager_tensors_give_eager_tensors(call: Call) -> None:
    x = sample(call)
    result: Any = call(EagerTensor(x))
    assert type(result) is EagerTensor
    assert_same_bytes(np.asarray(result.x), call.oracle(x))


@pytest.mark.usefixtures("tensorflow")
@pytest.mark.parametrize("call", MOVING, ids=name_of)
def test_eager_tensors_of_dtypes_that_dlpack_does_not_have(call: Call) -> None:
    x = sample(call, ml_dtypes.bfloat16)
    result: Any = call(EagerTensor(x))
    assert type(result) is EagerTensor
    assert_same_bytes(result.x, call.oracle(x))


@every_operator
def test_other_tensors_of_tensorflow_are_refused(call: Call) -> None:
    told = "tensorflow.python.ops.resource_variable_ops.Variable", r"tf.numpy_function"
    refuses(lambda: call(Variable()), TypeError, call.tensor(), *told)


# Lazy arrays, and arrays with names


class Other:
    """An array that is not in memory, or has more than elements."""

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise AssertionError  # what it is would be lost


@pytest.mark.parametrize(
    ("module", "way"),
    [
        ("dask.array.core", "an array in memory, got a {}: reblock.dask takes it, or pass"),
        (
            "xarray.core.dataarray",
            "an array whose axes have no names, got a {}: pass its .to_numpy()",
        ),
    ],
)
@every_operator
def test_what_would_be_lost_is_refused(call: Call, module: str, way: str) -> None:
    kind = type("Array", (Other,), {"__module__": module})
    derived = type("Derived", (kind,), {})
    for array, name in ((kind(), f"{module}.Array"), (derived(), f"{__name__}.Derived")):
        with pytest.raises(TypeError, match=f"^{call.tensor()} must be ") as caught:
            call(array)
        assert way.format(name) in str(caught.value)


def test_the_reason_is_one_line() -> None:
    class Unviewable:
        def __array__(self, *_: Any, **__: Any) -> Array:
            raise ValueError("no\nand this is why,\nat length")

        def __dlpack__(self, **_: Any) -> Any:
            raise AssertionError

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    with pytest.raises(
        TypeError, match=r"^x must be an array that NumPy can view, got a .* \(no\)$"
    ):
        SPACE_TO_DEPTH(Unviewable())
