# SPDX-License-Identifier: BSD-3-Clause
"""The `reblock` command in tests: calls of it, and what they say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import oracle
from reblock import _cli, _convert

COMMAND = (sys.executable, "-m", "reblock")
WHOLE = "it must be a whole .npy file without Python objects, and NumPy says: "


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


def in_pieces(work: _convert.Work, x: oracle.Array) -> oracle.Array:
    """Return what the work makes of the array, in pieces of a few bytes."""
    result = np.full(work.shape, 7, work.dtype or x.dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_convert, "PIECE", 64)
        _convert.run(work, x, result)
    return result
