# SPDX-License-Identifier: BSD-3-Clause
"""The examples of README.md run as they stand."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"

BLOCKS = [
    (README.read_text(encoding="utf-8").count("\n", 0, found.start()) + 2, found[1])
    for found in re.finditer(
        r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
]


def test_there_are_examples() -> None:
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize(("line", "block"), BLOCKS, ids=[f"line_{line}" for line, _ in BLOCKS])
def test_an_example_runs(
    line: int, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "example.py"
    # Blank lines before the block, so that a traceback tells the line in the README.
    script.write_text("\n" * (line - 1) + block, encoding="utf-8")
    runpy.run_path(str(script), run_name="__main__")
