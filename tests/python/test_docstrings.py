# SPDX-License-Identifier: BSD-3-Clause
"""The docstrings: every example runs, and every section that is due is there."""

from __future__ import annotations

import ast
import doctest
import enum
import importlib.resources
import inspect
import itertools
import operator
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import reblock
from reblock import DataType

SECTIONS = ("Parameters", "Returns", "Raises", "Examples")

PUBLIC = [*reblock.__all__, "compile"]
FUNCTIONS = [
    name
    for name in PUBLIC
    if callable(getattr(reblock, name)) and not isinstance(getattr(reblock, name), type)
]
CLASSES = [name for name in PUBLIC if isinstance(getattr(reblock, name), type)]


def documented() -> Iterator[tuple[str, Any]]:
    """Every public name, and every public member that a class defines itself."""
    for name in PUBLIC:
        thing = getattr(reblock, name)
        if isinstance(thing, str | ModuleType):
            continue
        yield name, thing
        if isinstance(thing, type) and not issubclass(thing, enum.Enum):
            for member, value in vars(thing).items():
                if not member.startswith("_") or member == "__call__":
                    yield f"{name}.{member}", value


DOCUMENTED = dict(documented())


def sections(docstring: str) -> list[str]:
    """Return the numpydoc sections: titles underlined to their length."""
    lines = inspect.cleandoc(docstring).splitlines()
    return [
        title
        for title, underline in itertools.pairwise(lines)
        if title and underline == "-" * len(title)
    ]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_example_runs(name: str) -> None:
    test = doctest.DocTestParser().get_doctest(
        inspect.getdoc(DOCUMENTED[name]) or "", {"np": np, "reblock": reblock}, name, None, None
    )
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_public_name_has_a_docstring(name: str) -> None:
    docstring = inspect.getdoc(DOCUMENTED[name])
    assert docstring
    summary = docstring.splitlines()[0]
    assert summary.endswith(".")
    assert len(summary) <= 100


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_the_sections_that_are_due(name: str) -> None:
    function = getattr(reblock, name)
    due = {"Examples"}
    signature = inspect.signature(function)
    if signature.parameters:
        due = set(SECTIONS)
    if name.startswith("set_") or name == "copyto":
        due.remove("Returns")
    assert due <= set(sections(function.__doc__))


@pytest.mark.parametrize("name", [name for name in CLASSES if name.endswith("Desc")])
def test_every_descriptor_has_the_sections_that_are_due(name: str) -> None:
    assert {"Parameters", "Examples"} <= set(sections(inspect.getdoc(getattr(reblock, name)) or ""))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_documented(name: str) -> None:
    function = getattr(reblock, name)
    documented_lines = (inspect.getdoc(function) or "").splitlines()
    for parameter in inspect.signature(function).parameters:
        assert any(
            parameter in re.split("[ ,*]+", line.split(":")[0]) and " : " in line
            for line in documented_lines
        ), f"{parameter} is not documented"


# Stubs


def in_stubs(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every docstring in the stubs of the compiled module."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = prefix + node.name
            if docstring := ast.get_docstring(node):
                yield name, docstring
            yield from in_stubs(node.body, name + ".")


def test_editors_show_the_docstrings_of_the_compiled_module() -> None:
    """They read the stubs. `python tools/stub_docstrings.py` writes them there."""
    stubs = importlib.resources.files(reblock).joinpath("_core.pyi").read_text(encoding="utf-8")
    found = list(in_stubs(ast.parse(stubs).body))
    names = [name for name, _ in found]
    assert len(set(names)) == len(names), "only the first of some overloads has a docstring"
    compiled = {
        name: inspect.getdoc(thing)
        for name, thing in DOCUMENTED.items()
        if hasattr(reblock._core, name.partition(".")[0])
    }
    assert dict(found) == {**compiled, "DataType.from_onnx": inspect.getdoc(DataType.from_onnx)}


SIGNATURES = {
    "depth_to_space": "(x, block_size, *, order='DCR', channel_axis=1, layout=None,"
    " out_layout=None, dtype=None, scale=None, bias=None, out=None, threads=None)",
    "space_to_depth": "(x, block_size, *, order='DCR', channel_axis=1, layout=None,"
    " out_layout=None, dtype=None, scale=None, bias=None, out=None, threads=None)",
    "unfold": "(x, window_sizes, *, strides=1, dilations=1, start_padding=0, end_padding=0,"
    " padding_mode='constant', padding_value=0,"
    " order='CRD', blocks=None, channel_axis=1, layout=None, out_layout=None, dtype=None,"
    " scale=None, bias=None, out=None, threads=None)",
    "fold": "(columns, output_sizes, window_sizes, *, strides=1, dilations=1, start_padding=0,"
    " end_padding=0, padding_mode='constant', order='CRD', blocks=None, accumulate=False,"
    " reduction='sum', weights=None, dtype=None, channel_axis=1, layout=None, out_layout=None,"
    " out=None, threads=None)",
    "rearrange": "(x, pattern, /, *, dtype=None, scale=None, bias=None, out=None, threads=None,"
    " **axes_lengths)",
    "repeat": "(x, pattern, /, *, dtype=None, scale=None, bias=None, out=None, threads=None,"
    " **axes_lengths)",
    "copyto": "(dst, src, *, threads=None)",
    "depth_to_space_shape": "(shape, block_size, *, channel_axis=1, layout=None, out_layout=None)",
    "space_to_depth_shape": "(shape, block_size, *, channel_axis=1, layout=None, out_layout=None)",
    "unfold_shape": "(shape, window_sizes, *, strides=1, dilations=1, start_padding=0,"
    " end_padding=0, padding_mode='constant', blocks=None, channel_axis=1, layout=None,"
    " out_layout=None)",
    "fold_shape": "(shape, output_sizes, window_sizes, *, strides=1, dilations=1, start_padding=0,"
    " end_padding=0, padding_mode='constant', blocks=None, channel_axis=1, layout=None,"
    " out_layout=None)",
    "same_padding": "(extents, window_sizes, strides=1, dilations=1)",
    "diagnose": "(x, result)",
    "explain": "(operator, shape, *arguments, **parameters)",
    "compile": "(desc, *, feature_level=None)",
    "show_config": "()",
    "get_include": "()",
    "get_cmake_dir": "()",
    "get_num_threads": "()",
    "set_num_threads": "(threads)",
    "DataType.from_onnx": "(number)",
    "TensorDesc": "(data_type, sizes, strides=None)",
    "DepthToSpaceDesc": "(input, output=None, *, block_size, order='DCR')",
    "SpaceToDepthDesc": "(input, output=None, *, block_size, order='DCR')",
    "UnfoldDesc": "(input, output=None, *, window_sizes, strides=None, dilations=None,"
    " start_padding=None, end_padding=None)",
    "FoldDesc": "(input, output, *, window_sizes, strides=None, dilations=None,"
    " start_padding=None, end_padding=None)",
    "CompiledOperator.__call__": "(self, /, x, out=None, threads=None)",
    "CompiledOperator.dispatch": "(self, /, input_buffer, output_buffer)",
}


def without_annotations(signature: inspect.Signature) -> str:
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in signature.parameters.values()]
    return str(inspect.Signature(parameters))


def test_every_public_function_has_a_known_signature() -> None:
    assert set(FUNCTIONS) <= set(SIGNATURES)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name: str) -> None:
    thing = operator.attrgetter(name)(reblock)
    assert without_annotations(inspect.signature(thing)) == SIGNATURES[name]
