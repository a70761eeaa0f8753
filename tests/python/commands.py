# SPDX-License-Identifier: BSD-3-Clause
"""The `reblock` command in tests: calls of it, and what they say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner, Result

import oracle
from reblock import _cli

COMMAND = (sys.executable, "-m", "reblock")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(_cli.app, [str(argument) for argument in arguments])


def assert_refused(result: Result, line: str) -> None:
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"reblock: {line}\n"


def noise(*shape: int, dtype: Any = np.uint8) -> oracle.Array:
    return np.random.default_rng(0).integers(0, 256, shape).astype(dtype)


def names(directory: Path) -> set[str]:
    """Return what lies in a directory, hidden files too."""
    return {path.name for path in directory.iterdir()}
