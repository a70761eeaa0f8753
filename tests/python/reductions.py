# SPDX-License-Identifier: BSD-3-Clause
"""What reductions of fold make of listed terms, written another way."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from hypothesis import strategies as st

import oracle
from calls import Shape
from dtypes import BFLOAT16
from oracle import Array


def rounded_mean(total: int, count: int) -> int:
    """Divide exactly and round to the nearest integer, ties to even."""
    quotient, rest = divmod(total, count)
    return quotient + (2 * rest > count or (2 * rest == count and quotient % 2 == 1))


def exact_mean(terms: Array, present: Array) -> Array:
    """Return the mean of integers by Python's own integers."""
    numbers = np.where(present, terms.astype(object), 0).sum(axis=0)
    counts = present.sum(axis=0)
    means = [
        rounded_mean(int(n), int(c)) if c else 0
        for n, c in zip(np.ravel(numbers), np.ravel(counts), strict=True)
    ]
    return np.array(means, object).reshape(counts.shape).astype(terms.dtype)


def compared(terms: Array, present: Array, keeps: Any) -> Array:
    """Return the largest or smallest term as np.max and np.min say, in ascending order."""
    result = np.zeros(terms.shape[1:], terms.dtype)
    begun = np.zeros(result.shape, bool)
    for term, is_there in zip(terms, present, strict=True):
        with np.errstate(invalid="ignore"):
            stays = begun & (keeps(result, term) | np.isnan(result))
        result = np.where(is_there & ~stays, term, result)
        begun |= is_there
    return result


def assert_close(
    actual: Array, terms: Array, present: Array, weights: Array, *, mean: bool
) -> None:
    """Require a weighted sum or mean to be that of a wider type, within rounding.

    Weights are one for each term, or one for each term of each element.
    """
    wide = np.clongdouble if terms.dtype.kind == "c" else np.longdouble
    if weights.ndim == 1:
        weights = weights.reshape(-1, *(1,) * (terms.ndim - 1))
    factors = np.where(present, weights, 0).astype(np.longdouble)
    products = factors * np.where(present, terms, 0).astype(wide)
    total, size = products.sum(axis=0), np.abs(products).sum(axis=0)
    if mean:
        divisor = factors.sum(axis=0)
        total = np.where(divisor == 0, 0, total / np.where(divisor == 0, 1, divisor))
        size = size / np.where(divisor == 0, 1, divisor)
    narrow = terms.dtype in oracle.NARROW_FLOATS
    eps = 2.0 ** (-7 if terms.dtype == BFLOAT16 else -10) if narrow else 0
    if terms.dtype.kind in "fc" and not narrow:
        eps = float(np.finfo(terms.dtype).eps)
    step = 2.0**-22 if narrow else 2.0**-51
    tolerance = eps * np.abs(total) + len(terms) * step * size + 1e-30
    if terms.dtype.kind in "biu":
        limits = (
            (0, 1)
            if terms.dtype.kind == "b"
            else (np.iinfo(terms.dtype).min, np.iinfo(terms.dtype).max)
        )
        total = np.clip(total, *limits)
        tolerance = tolerance + 0.5
    assert np.all(np.abs(actual.astype(wide) - total) <= tolerance)


@st.composite
def weights_of(draw: st.DrawFn, window_sizes: Shape) -> tuple[Any, Array]:
    """Draw weights in one of the ways to write them, and the weight of each offset."""
    numbers = np.random.default_rng(draw(st.integers(0, 99)))
    axes = [numbers.integers(0, 5, n) / 4 for n in window_sizes]
    kind = draw(st.sampled_from(["array", "strided", "axes", "lists"]))
    if kind in ("axes", "lists"):
        product = functools.reduce(np.multiply.outer, axes)
        return (axes if kind == "axes" else tuple(a.tolist() for a in axes)), product.ravel()
    values = numbers.integers(0, 9, window_sizes) / 8
    return (np.asfortranarray(values)[::1] if kind == "strided" else values), values.ravel()
