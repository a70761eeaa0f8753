# SPDX-License-Identifier: BSD-3-Clause
"""What the functions of reblock.torch take and refuse, and what is imported when."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import reblock.torch
from calls import FOLD, Call
from checks import refuses
from torch_calls import (
    MARKS,
    OPERATORS,
    UNSUMMABLE,
    every_operator,
    every_rank,
    run,
    sample,
)

pytestmark = MARKS


@pytest.mark.parametrize("name", OPERATORS)
def test_the_parameters_are_those_of_reblock(name: str) -> None:
    def parameters(function: Any) -> list[tuple[str, Any, object]]:
        listed = inspect.signature(function).parameters.values()
        without = ("out", "accumulate")  # which writes into out
        return [(p.name, p.kind, p.default) for p in listed if p.name not in without]

    assert parameters(getattr(reblock.torch, name)) == parameters(getattr(reblock, name))


@pytest.mark.parametrize(
    ("name", "word", "hint"),
    [
        ("depth_to_space", "upscale_factor", "block_size= (upscale_factor in PyTorch)"),
        ("space_to_depth", "downscale_factor", "block_size= (downscale_factor in PyTorch)"),
        ("unfold", "kernel_size", "window_sizes= (kernel_size in PyTorch)"),
        ("fold", "output_size", "output_sizes= (output_size in PyTorch)"),
    ],
)
def test_words_of_pytorch_are_known(name: str, word: str, hint: str) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(reblock.torch, name)(torch.zeros(1, 4, 4, 4), **{word: 2})
    unexpected = f"{name}() got an unexpected keyword argument {word!r}"
    assert str(caught.value) == f"{unexpected}: did you mean {hint}?"


@pytest.mark.parametrize("name", ["PixelShuffle", "PixelUnshuffle", "Unfold", "Fold"])
def test_modules_of_pytorch_are_found(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"did you mean reblock\.torch\.nn\.{name}\("):
        getattr(reblock, name)
    assert isinstance(getattr(reblock.torch.nn, name), type)


def test_an_int_stands_for_every_axis() -> None:
    x = torch.randn(1, 8, 4, 4, 4)
    twos: list[Any] = [2, np.int64(2), [2, np.int32(2), 2]]
    for two in twos:
        assert reblock.torch.depth_to_space(x, two).shape == (1, 1, 8, 8, 8)
    columns = reblock.torch.unfold(x, 2, strides=(2, 2, 2))
    assert torch.equal(reblock.torch.fold(columns, 4, 2, strides=(2, 2, 2)), x)
    assert reblock.torch.fold(torch.ones(1, 6, 4), 6, 3).shape == (1, 2, 6)


@every_rank
def test_sizes_are_whatever_the_functions_of_reblock_take(call: Call) -> None:
    """Lists, tuples, ranges and arrays of ints, whether or not the dispatcher gets the call."""
    kinds: list[Callable[[Any], Any]] = [
        list,
        lambda values: np.array(values, np.int16),
        lambda values: [np.uint8(value) for value in values],
        lambda values: [torch.tensor(value) for value in values],
        lambda values: values if len(set(values)) > 1 else np.array(values[0]),
        lambda values: range(values[0], 9)[: len(values)] if len(values) == 1 else values,
    ]
    x = sample(call)
    expected = run(call, x)
    for kind in kinds:
        keywords = {
            name: value if name == "order" else kind(value) if name != "channel_axis" else value
            for name, value in call.keywords.items()
        }
        other = replace(call, arguments=tuple(map(kind, call.arguments)), keywords=keywords)
        for tensor in (x, x.clone().requires_grad_()):
            assert torch.equal(run(other, tensor), expected)


@pytest.mark.parametrize("order", [*reblock.DepthSpaceOrder, 0, 1], ids=repr)
def test_an_order_may_be_its_number(order: Any) -> None:
    x = torch.randn(1, 8, 2, 2)
    named = reblock.torch.depth_to_space(x, 2, order=["DCR", "CRD"][order])
    assert torch.equal(reblock.torch.depth_to_space(x, 2, order=order), named)


def test_threads_do_not_change_a_result() -> None:
    x = torch.randn(1, 64, 256, 256)
    results = [reblock.torch.depth_to_space(x, 4, threads=threads) for threads in (1, 2, None)]
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("dtype", UNSUMMABLE, ids=str)
def test_a_dtype_without_sums_is_refused(dtype: torch.dtype) -> None:
    columns = torch.zeros(FOLD.input_shape, dtype=torch.uint8).repeat(1, 1, dtype.itemsize)
    refuses(lambda: run(FOLD, columns.view(dtype)), TypeError, "columns", str(dtype))


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"block_size": 2.0}, TypeError, "block_size"),
    ({"block_size": (2, True)}, TypeError, "block_size"),
    ({"block_size": "2"}, TypeError, "block_size"),
    ({"block_size": 0}, ValueError, "block_size"),
    ({"block_size": 5}, ValueError, "block_size"),
    ({"block_size": 5}, ValueError, "x"),
    ({"block_size": (2, 2, 2)}, ValueError, "block_size"),
    ({"order": "dcr"}, ValueError, "order"),
    ({"order": 2}, ValueError, "order"),
    ({"order": None}, TypeError, "order"),
    ({"channel_axis": 0}, ValueError, "channel_axis"),
    ({"channel_axis": 1.0}, TypeError, "channel_axis"),
    ({"threads": 0}, ValueError, "threads"),
    ({"threads": True}, TypeError, "threads"),
]


@pytest.mark.parametrize(("wrong", "kind", "argument"), BAD, ids=str)
def test_bad_arguments_are_refused(
    wrong: dict[str, Any], kind: type[Exception], argument: str
) -> None:
    arguments = {"block_size": 2, **wrong}
    x = torch.zeros(2, 12, 4, 4)
    for tensor in (x, x.clone().requires_grad_()):
        refuses(partial(reblock.torch.depth_to_space, tensor, **arguments), kind, argument)


@pytest.mark.parametrize("wrong", [[[[[1.0]]]], np.zeros((1, 1, 1, 1)), None])
def test_what_is_no_tensor_is_refused(wrong: Any) -> None:
    got = type(wrong).__name__
    refuses(lambda: reblock.torch.depth_to_space(wrong, 1), TypeError, "x", got)
    refuses(lambda: reblock.torch.space_to_depth(wrong, 1), TypeError, "x", got)
    refuses(lambda: reblock.torch.unfold(wrong, 1), TypeError, "x", got)
    refuses(lambda: reblock.torch.fold(wrong, (1, 1), 1), TypeError, "columns", got)


def test_bad_shapes_are_refused() -> None:
    for shape in ((), (4,), (4, 4), (1,) * 9):
        with pytest.raises(ValueError, match=r"^x must have 3 to 8 axes"):
            reblock.torch.unfold(torch.zeros(shape), 1)
    with pytest.raises(ValueError, match="channels"):
        reblock.torch.depth_to_space(torch.zeros(1, 6, 2, 2, device="meta"), 2)


DENSE = torch.zeros(1, 4, 4)
NOT_DENSE: dict[str, tuple[Callable[[], torch.Tensor], str]] = {
    "sparse": (DENSE.to_sparse, "torch.sparse_coo"),
    "sparse rows": (DENSE.to_sparse_csr, "torch.sparse_csr"),
    "oneDNN": (DENSE.to_mkldnn, "torch._mkldnn"),
    "quantized": (lambda: torch.quantize_per_tensor(DENSE, 1.0, 0, torch.quint8), "torch.quint8"),
    "nested": (lambda: torch.nested.nested_tensor([DENSE]), "nested"),
    "jagged": (lambda: torch.nested.nested_tensor([DENSE], layout=torch.jagged), "nested"),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta:UserWarning")
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor, :UserWarning")
@pytest.mark.parametrize("kind", NOT_DENSE)
@every_operator
def test_what_is_not_dense_is_refused_in_one_line(call: Call, kind: str) -> None:
    make, told = NOT_DENSE[kind]
    with pytest.raises(NotImplementedError) as caught:
        run(call, make())
    assert re.fullmatch(f"{call.tensor()} must be a dense tensor, got .*", str(caught.value))
    assert told in str(caught.value)


PEERS = {
    "depth_to_space": 'pixel_shuffle (order="CRD")',
    "space_to_depth": 'pixel_unshuffle (order="CRD")',
    "unfold": "unfold (two spatial axes)",
    "fold": "fold (two spatial axes)",
}


@every_operator
def test_another_device_is_refused_in_a_line_that_names_the_function_there(call: Call) -> None:
    """Fake tensors show it where there is no other device."""
    with FakeTensorMode():
        x = torch.empty(call.input_shape, device="cuda")
        told = re.escape(
            f"{call.tensor()} must lie on the CPU, got a tensor on cuda:0: there, use"
            f" torch.nn.functional.{PEERS[call.operator]}"
        )
        with pytest.raises(NotImplementedError, match=f"^{told}$"):
            run(call, x)


def test_the_module_is_imported_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(reblock, "torch")
    assert reblock.torch is sys.modules["reblock.torch"]


def test_without_torch_the_error_names_the_extra() -> None:
    script = "import sys; sys.modules['torch'] = None; import reblock; import reblock.torch"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    last = result.stderr.splitlines()[-1]
    assert last == 'ModuleNotFoundError: reblock.torch needs torch: pip install "reblock[torch]"'
    assert result.returncode == 1


def test_without_ml_dtypes_only_fold_of_bfloat16_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    columns = reblock.torch.unfold(torch.ones(1, 1, 3, dtype=torch.bfloat16), 2)
    with pytest.raises(ModuleNotFoundError, match=r"ml_dtypes: pip install .reblock\[torch\]"):
        reblock.torch.fold(columns, 3, 2)
    assert reblock.torch.fold(columns.float(), 3, 2).tolist() == [[[1, 2, 1]]]


@pytest.mark.parametrize(
    "documented",
    [
        *(getattr(reblock.torch, name) for name in OPERATORS),
        reblock.torch.accelerate,
        *(getattr(reblock.torch.nn, name) for name in reblock.torch.nn.__all__),
    ],
    ids=lambda documented: documented.__name__,
)
def test_the_examples_run(documented: Any) -> None:
    text = inspect.getdoc(documented) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, documented.__name__, None, None)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted >= 2
    assert result.failed == 0, "".join(report)
