# SPDX-License-Identifier: BSD-3-Clause
"""Descriptors beside other libraries: their data types, and cloudpickle."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import cloudpickle  # type: ignore[import-untyped] # it has no annotations
import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

import reblock
from reblock import DataType, TensorDesc

TORCH = [value for value in vars(torch).values() if isinstance(value, torch.dtype)]


def by_name(name: str) -> DataType | None:
    return DataType.__members__.get(name.upper())


@pytest.mark.parametrize("name", TensorProto.DataType.keys())
def test_a_number_of_onnx_is_the_data_type_of_the_same_elements(name: str) -> None:
    number = TensorProto.DataType.Value(name)
    known = number in helper.get_all_tensor_dtypes()
    expected = by_name(helper.tensor_dtype_to_np_dtype(number).name) if known else None
    if name in ("UINT4", "INT4"):
        expected = DataType[name]
    if name == "STRING" or expected is None:
        with pytest.raises(ValueError, match="number must be that of ONNX's"):
            DataType.from_onnx(number)
    else:
        assert DataType.from_onnx(number) is expected


def test_onnx_itself_is_told_how_to_write_its_types() -> None:
    with pytest.raises(TypeError, match=r"DataType\.from_onnx\(7\) is ONNX's INT64"):
        TensorDesc(onnx.TensorProto.INT64, (1,))  # type: ignore[arg-type] # on purpose
    tensor = helper.make_tensor_value_info("x", onnx.TensorProto.INT64, (1,))
    with pytest.raises(TypeError, match=r"^x must be an array .*, got onnx\.[\w.]*ValueInfoProto"):
        reblock.unfold(tensor, 2)


@pytest.mark.parametrize("dtype", TORCH, ids=str)
def test_a_dtype_of_pytorch_is_the_data_type_of_the_same_elements(dtype: Any) -> None:
    expected = by_name(str(dtype).removeprefix("torch."))
    if expected is None or str(dtype) in ("torch.uint4", "torch.int4"):
        with pytest.raises((TypeError, ValueError), match=r"^(TensorDesc: )?data_type"):
            TensorDesc(dtype, (1,))
    else:
        assert TensorDesc(dtype, (1,)).data_type is expected


def test_an_operator_in_a_closure_runs_in_a_process_that_has_not_imported_reblock() -> None:
    op = reblock.compile(reblock.DepthToSpaceDesc(TensorDesc("int64", (1, 4, 1, 2)), block_size=2))
    x = np.arange(8).reshape(1, 4, 1, 2)
    pickled = cloudpickle.dumps(lambda: (op, op(x)))
    script = (
        "import pickle, sys; sys.stdout.buffer.write(pickle.dumps(pickle.load(sys.stdin.buffer)()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=pickled, capture_output=True, check=True
    )
    there, result = cloudpickle.loads(done.stdout)
    assert there == op
    assert np.array_equal(result, op(x))
