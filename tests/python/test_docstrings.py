# SPDX-License-Identifier: BSD-3-Clause
"""The docstrings: every example runs, and every section that is due is there."""

from __future__ import annotations

import doctest
import enum
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

SECTIONS = ("Parameters", "Returns", "Raises", "Examples")

FUNCTIONS = [
    name
    for name in reblock.__all__
    if callable(getattr(reblock, name)) and not isinstance(getattr(reblock, name), type)
]
CLASSES = [name for name in reblock.__all__ if isinstance(getattr(reblock, name), type)]


def documented() -> Iterator[tuple[str, Any]]:
    """Every public name, and every public member that a class defines itself."""
    for name in reblock.__all__:
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
    if name.startswith("set_"):
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


SIGNATURES = {
    "depth_to_space": "(x, block_size, *, order='DCR', channel_axis=1, out=None, threads=None)",
    "space_to_depth": "(x, block_size, *, order='DCR', channel_axis=1, out=None, threads=None)",
    "unfold": "(x, window_sizes, *, strides=1, dilations=1, start_padding=0, end_padding=0,"
    " channel_axis=1, out=None, threads=None)",
    "fold": "(columns, output_sizes, window_sizes, *, strides=1, dilations=1, start_padding=0,"
    " end_padding=0, channel_axis=1, out=None, threads=None)",
    "depth_to_space_shape": "(shape, block_size, *, channel_axis=1)",
    "space_to_depth_shape": "(shape, block_size, *, channel_axis=1)",
    "unfold_shape": "(shape, window_sizes, *, strides=1, dilations=1, start_padding=0,"
    " end_padding=0, channel_axis=1)",
    "fold_shape": "(shape, output_sizes, window_sizes, *, strides=1, dilations=1, start_padding=0,"
    " end_padding=0, channel_axis=1)",
    "diagnose": "(x, result)",
    "explain": "(operator, shape, *arguments, **parameters)",
    "compile": "(desc, *, feature_level=None)",
    "show_config": "()",
    "get_include": "()",
    "get_cmake_dir": "()",
    "get_num_threads": "()",
    "set_num_threads": "(threads)",
    "TensorDesc": "(data_type, sizes, strides=None)",
    "DepthToSpaceDesc": "(input, output=None, *, block_size, order='DCR')",
    "SpaceToDepthDesc": "(input, output=None, *, block_size, order='DCR')",
    "UnfoldDesc": "(input, output=None, *, window_sizes, strides=None, dilations=None,"
    " start_padding=None, end_padding=None)",
    "FoldDesc": "(input, output, *, window_sizes, strides=None, dilations=None,"
    " start_padding=None, end_padding=None)",
    "CompiledOperator.__call__": "(self, x, out=None, threads=None)",
    "CompiledOperator.dispatch": "(self, input_buffer, output_buffer)",
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
