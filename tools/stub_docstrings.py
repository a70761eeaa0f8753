# SPDX-License-Identifier: BSD-3-Clause
"""Write the docstrings of the installed compiled module into its stub, where editors read them.

Run it after a docstring in python/src has changed and the package has been installed again:
`python tools/stub_docstrings.py`. A function with overloads has its docstring in the first.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import reblock._core

STUB = Path(__file__).parents[1] / "python" / "reblock" / "_core.pyi"

Definition = ast.FunctionDef | ast.ClassDef


def definitions(body: list[ast.stmt], owner: Any) -> Iterator[tuple[Definition, str]]:
    """Yield the public definitions of a module or a class, with their docstrings."""
    seen = set()
    for node in body:
        if not isinstance(node, Definition) or node.name in seen:
            continue
        if node.name.startswith("_") and node.name != "__call__":
            continue
        if owner is reblock._core and not hasattr(reblock, node.name):
            continue  # for the package's own modules
        seen.add(node.name)
        yield node, inspect.getdoc(getattr(owner, node.name)) or ""
        if isinstance(node, ast.ClassDef):
            yield from definitions(node.body, getattr(owner, node.name))


def written(docstring: str, indent: str) -> str:
    """Return the docstring as it is written in a file."""
    end = f"\n{indent}" if "\n" in docstring else ""
    raw = "r" if "\\" in docstring else ""
    return f'{indent}{raw}"""{textwrap.indent(docstring, indent).lstrip()}{end}"""'


def with_docstrings(stub: str) -> str:
    """Return the stub with the docstrings that the module has now."""
    lines = stub.splitlines()
    found = list(definitions(ast.parse(stub).body, reblock._core))
    for node, docstring in sorted(found, key=lambda pair: -pair[0].lineno):
        first = node.body[0]
        text = written(docstring, " " * (node.col_offset + 4)).splitlines()
        above = [decorator.lineno for decorator in getattr(first, "decorator_list", [])]
        start, end = min([first.lineno, *above]) - 1, first.end_lineno or first.lineno
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if not is_text:  # a class without a docstring
            end = start
        elif lines[start][: first.col_offset].strip():  # def f() -> int: ...
            text.insert(0, lines[start][: first.col_offset].rstrip())
        lines[start:end] = text
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    STUB.write_text(with_docstrings(STUB.read_text(encoding="utf-8")), encoding="utf-8")
