# SPDX-License-Identifier: BSD-3-Clause
"""A file for the tests of the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from commands import noise


@pytest.fixture
def array(tmp_path: Path) -> Path:
    path = tmp_path / "in.npy"
    np.save(path, noise(2, 4, 3, 5))
    return path
