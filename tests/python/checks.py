# SPDX-License-Identifier: BSD-3-Clause
"""What the tests ask of results and of errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from layouts import Memory
from oracle import Array, as_bytes


def assert_same_bytes(actual: Array, expected: Array) -> None:
    """Require the same dtype, the same shape, and the same elements bit for bit."""
    assert type(actual) is np.ndarray
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert as_bytes(actual).tobytes() == as_bytes(expected).tobytes()


def assert_same_values(actual: Array, expected: Array) -> None:
    """Require the same dtype, the same shape, and equal elements.

    Zeros have equal signs; every NaN equals any.
    """
    assert type(actual) is np.ndarray
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    for actual_part, expected_part in zip(_reals(actual), _reals(expected), strict=True):
        with np.errstate(invalid="ignore"):  # of NaNs that signal
            number, is_number = ~np.isnan(expected_part), ~np.isnan(actual_part)
        assert np.array_equal(is_number, number)
        assert np.array_equal(actual_part[number], expected_part[number])
        assert np.array_equal(np.signbit(actual_part[number]), np.signbit(expected_part[number]))


def _reals(x: Array) -> tuple[Array, ...]:
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def assert_writes_only_elements(memory: Memory, operation: Callable[[Array], object]) -> None:
    """Require that the operation returns the array, and writes no byte beside its elements."""
    before = memory.guard_bytes()
    assert operation(memory.array) is memory.array
    assert memory.guard_bytes() == before


def refuses(
    operation: Callable[[], object],
    kind: type[Exception],
    argument: str,
    *values: object,
    untouched: Iterable[Array] = (),
) -> None:
    """Require an error that names the argument and tells the values.

    The arrays in `untouched` keep their bytes.
    """
    before = [x.tobytes() for x in untouched]
    with pytest.raises(kind) as caught:
        operation()
    assert caught.type is kind
    message = str(caught.value)
    assert re.search(rf"\b{argument}\b", message), f"{argument!r} is not named by: {message}"
    for value in values:
        assert re.search(_pattern(value), message), f"{value!r} is not told by: {message}"
    assert [x.tobytes() for x in untouched] == before


def _pattern(value: object) -> str:
    """Match the numbers of a tuple in a row, whatever is between them; any other value alone."""
    parts = value if isinstance(value, tuple) else (value,)
    return r"[^\d-]+".join(rf"(?<![\w.-]){re.escape(str(part))}(?![\w.])" for part in parts)
