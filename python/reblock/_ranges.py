# SPDX-License-Identifier: BSD-3-Clause
"""Read the parameter `blocks`, for the modules that cut arrays themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from reblock._core import _Blocks


def slices_of(blocks: _Blocks, axes: int) -> list[slice]:
    """Return a slice of window positions for each spatial axis. The functions check `blocks`."""
    each: list[Any] = [blocks] * axes  # one range stands for all axes
    if blocks is not None and not isinstance(blocks, slice):
        given: list[Any] = list(blocks)
        if any(isinstance(bound, slice) or np.ndim(bound) for bound in given):
            each = given
    return [
        chosen if isinstance(chosen, slice) else slice(*([None] if chosen is None else chosen))
        for chosen in each
    ]
