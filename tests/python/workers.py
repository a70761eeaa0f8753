# SPDX-License-Identifier: BSD-3-Clause
"""What the processes of a cluster run: here, where they can import it by its name."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from oracle import Array

SHAPE, CHUNK = (1, 4, 8192, 8192), (1, 1, 256, 8192)


def known(*index: slice) -> Array:
    """Make this part of an image that is nowhere the same as nearby."""
    n, c, h, w = (places.astype(np.int32) for places in np.ogrid[index])
    image: Array = h * 1_000_003 + w * 7919 + c * 104_729 + n
    return image


def known_block(block_id: tuple[int, ...]) -> Array:
    """Make one chunk of the image."""
    places = zip(block_id, CHUNK, strict=True)
    return known(*(slice(b * size, (b + 1) * size) for b, size in places))


def peak_memory() -> int:
    """Return the most bytes of memory that this process has had since it began to run Python.

    `getrusage` also counts those of the process that it was forked from.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kibibytes = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    assert kibibytes is not None
    return int(kibibytes[1]) * 1024
