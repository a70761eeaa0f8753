# SPDX-License-Identifier: BSD-3-Clause
"""fold with a reduction, weights or a dtype is what the definition says of its terms."""

from __future__ import annotations

import functools
import itertools
import math
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import reblock
from calls import (
    LARGE,
    SMALL,
    Call,
    Ranges,
    Shape,
    counts_of,
    ranges_of,
    window_calls,
    window_pairs,
)
from checks import assert_same_bytes, assert_same_values, assert_writes_only_elements, refuses
from dtypes import BFLOAT16, SUMMABLE, summable
from layouts import allocate, layouts, small_integers
from oracle import Array
from reductions import assert_close, compared, exact_mean, weights_of

REAL = [dtype for dtype in SUMMABLE if dtype.kind != "c"]
INTEGERS = [dtype for dtype in SUMMABLE if dtype.kind in "ui"]
FLOATS = [dtype for dtype in SUMMABLE if dtype.kind in "fV" and dtype.itemsize <= 8]


def real() -> st.SearchStrategy[np.dtype[Any]]:
    return st.sampled_from(REAL)


def terms_of(
    columns: Array, call: Call, ranges: Ranges | None = None, order: str = "CRD"
) -> tuple[Array, Array]:
    """Return the term of each offset of the window for each element, and whether it has one."""
    output_sizes, window_sizes = call.arguments
    window = dict(call.keywords)
    axis = window.pop("channel_axis")
    batch, rows, count = columns.shape
    counts = oracle.block_counts(output_sizes, window_sizes, **window)
    chosen = ranges or [(0, count) for count in counts]
    counts = [stop - start for start, stop in chosen]
    channels = rows // math.prod(window_sizes)
    shape = oracle.channels_at((batch, channels, *output_sizes), axis)
    n, c, column = np.indices((batch, channels, count))
    blocks = [
        first + i for (first, _), i in zip(chosen, oracle.unrank(column, counts), strict=True)
    ]
    del window["end_padding"]
    terms = np.zeros((math.prod(window_sizes), *shape), columns.dtype)
    present = np.zeros(terms.shape, bool)
    for k, o in enumerate(np.ndindex(*window_sizes)):
        p = oracle.positions(o, blocks, **window)
        inside = oracle.all_inside(p, output_sizes)
        target = oracle.channels_at([i[inside] for i in (n, c, *p)], axis)
        row = oracle.row_of(c, k, channels, window_sizes, order)
        terms[(k, *target)] = columns[n, row, column][inside]
        present[(k, *target)] = True
    return terms, present


def fold_drawn(data: st.DataObject, columns: Array, call: Call, **options: Any) -> Array:
    """Fold into an output that lies anywhere, with any number of threads."""
    dtype = np.dtype(options.get("dtype", columns.dtype))
    layout = data.draw(layouts(len(call.output_shape), dtype.itemsize, for_output=True))
    memory = allocate(call.output_shape, dtype, layout, seed=3)
    threads = data.draw(st.sampled_from([1, 3]))
    assert_writes_only_elements(
        memory, lambda out: call(columns, **options, out=out, threads=threads)
    )
    return np.ascontiguousarray(memory.array)


def draw_columns(
    data: st.DataObject, dtypes: st.SearchStrategy[np.dtype[Any]], budget: int = SMALL
) -> tuple[Call, Array, dict[str, Any], Array, Array]:
    """Draw columns of a call, its order and blocks, and the terms of each element."""
    _, call = data.draw(window_pairs(budget=budget))
    dtype, order = data.draw(dtypes), data.draw(st.sampled_from(["CRD", "DCR"]))
    counts = counts_of(call)
    ranges = data.draw(st.sampled_from([[(0, n) for n in counts], data.draw(ranges_of(counts))]))
    shape = (*call.input_shape[:2], math.prod(stop - start for start, stop in ranges))
    memory = allocate(
        shape, dtype, data.draw(layouts(3, dtype.itemsize)), seed=data.draw(st.integers(0, 9))
    )
    columns = memory.array
    if dtype in FLOATS or dtype.kind in "fc":
        columns = small_integers(memory, dtype)
    elif dtype in INTEGERS and data.draw(st.booleans()):
        columns >>= 4 * dtype.itemsize  # half of the bits are left
    return (
        call,
        columns,
        {"order": order, "blocks": ranges},
        *terms_of(columns, call, ranges, order),
    )


@given(st.data())
def test_the_mean_of_integers_is_exact(data: st.DataObject) -> None:
    call, columns, options, terms, present = draw_columns(
        data, st.sampled_from([*INTEGERS, np.dtype(np.bool_)])
    )
    actual = fold_drawn(data, columns, call, **options, reduction="mean")
    assert_same_bytes(actual, exact_mean(terms, present))


@pytest.mark.parametrize(
    "dtype",
    [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64],
)
@pytest.mark.parametrize(
    "count", [2, 3, 5, 6, 7, 9, 11, 31, 64, 85, 127, 128, 129, 199, 254, 255, 300]
)
def test_means_of_integers_beside_a_half_are_exact(dtype: Any, count: int) -> None:
    """Totals are an odd number of halves times the count, or one more or less."""
    random = np.random.default_rng(count)
    # int64 has the totals of these integers
    low, high = max(np.iinfo(dtype).min, -(2**52)), min(np.iinfo(dtype).max, 2**52)
    length = 400
    extent = length + count - 1
    columns = random.integers(low, high + 1, (1, count, length))
    at = np.arange(extent)
    offsets, windows = np.arange(count)[:, None], at - np.arange(count)[:, None]
    is_there = (windows >= 0) & (windows < length)
    # the first term belongs to one position only, and makes its total what is wanted
    inner = slice(count - 1, length)
    columns[0, 0, inner] = random.integers(low // 2, high // 2, length - count + 1)
    terms = np.where(is_there, columns[0, offsets, windows.clip(0, length - 1)], 0)
    totals = terms.sum(axis=0)
    halves = 2 * (totals // count) + 1
    wanted = (halves * count + random.integers(-1, 2, extent)) // 2
    terms[0, inner] = (terms[0] + wanted - totals)[inner].clip(low, high)
    columns[0, 0, inner] = terms[0, inner]
    actual = reblock.fold(columns.astype(dtype), extent, count, reduction="mean")
    assert_same_bytes(actual[0, 0], exact_mean(terms.astype(dtype), is_there))


@given(st.data())
def test_the_mean_of_floats_is_rounded_once(data: st.DataObject) -> None:
    call, columns, options, terms, present = draw_columns(data, summable())
    actual = fold_drawn(data, columns, call, **options, reduction="mean")
    assert_close(actual, terms, present, np.ones(len(terms)), mean=True)


@given(st.data(), st.sampled_from(["max", "min"]))
def test_max_and_min_compare_in_order(data: st.DataObject, reduction: str) -> None:
    _, call = data.draw(window_pairs())
    dtype = data.draw(real())
    columns = allocate(call.input_shape, dtype, seed=data.draw(st.integers(0, 9))).array  # any bits
    if dtype.kind not in "biu":
        special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5], dtype)
        chosen = np.random.default_rng(1).choice(special, columns.shape)
        columns = np.where(np.random.default_rng(2).random(columns.shape) < 0.5, chosen, columns)
    if dtype.kind == "b":
        columns = columns.view(np.uint8) % 2 == 1
    terms, present = terms_of(columns, call)
    keeps = {"max": np.greater_equal, "min": np.less_equal}[reduction]
    actual = fold_drawn(data, columns, call, reduction=reduction)
    assert_same_values(actual, compared(terms, present, keeps))


@given(st.data(), st.sampled_from(["sum", "mean"]))
def test_weights_multiply_the_terms(data: st.DataObject, reduction: str) -> None:
    call, columns, options, terms, present = draw_columns(data, summable())
    weights, each = data.draw(weights_of(call.arguments[1]))
    actual = fold_drawn(data, columns, call, **options, reduction=reduction, weights=weights)
    assert_close(actual, terms, present, each, mean=reduction == "mean")


@given(st.data(), st.sampled_from([1, 3, 40, 300, 70_000]))
def test_a_sum_with_integer_weights_is_exact(data: st.DataObject, largest: int) -> None:
    """Small integers with small weights are summed as integers, others in float64."""
    small = [np.dtype(c) for c in "?bBhH"]
    call, columns, options, terms, present = draw_columns(data, st.sampled_from(small))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    sizes = call.arguments[1]
    weights: Any = [random.integers(0, largest + 1, n) for n in sizes]
    each = functools.reduce(np.multiply.outer, [w.astype(object) for w in weights]).ravel()
    if data.draw(st.booleans()):
        weights = random.integers(0, largest + 1, sizes)
        each = weights.astype(object).ravel()
    actual = fold_drawn(data, columns, call, **options, weights=weights)
    factors = each.reshape(-1, *(1,) * (terms.ndim - 1))
    total = (factors * np.where(present, terms, 0)).sum(axis=0)
    is_bool = columns.dtype.kind == "b"
    limits = (0, 1) if is_bool else (np.iinfo(columns.dtype).min, np.iinfo(columns.dtype).max)
    assert_same_bytes(actual, np.clip(total, *limits).astype(columns.dtype))


@given(st.data())
def test_weighted_sums_of_integers_are_those_of_float64(data: st.DataObject) -> None:
    """Terms are added in ascending order of their offsets. The sum is rounded once."""
    call, columns, options, terms, present = draw_columns(
        data, st.sampled_from([*INTEGERS, np.dtype(np.bool_)])
    )
    weights, each = data.draw(weights_of(call.arguments[1]))
    actual = fold_drawn(data, columns, call, **options, weights=weights)
    total = np.zeros(terms.shape[1:])
    for term, is_there, weight in zip(terms, present, each, strict=True):
        total = np.where(is_there, total + weight * term.astype(np.float64), total)
    limits = (0, 1) if columns.dtype.kind == "b" else np.iinfo(columns.dtype)
    least, most = limits if isinstance(limits, tuple) else (limits.min, limits.max)
    whole = [min(max(int(value), least), most) for value in np.rint(total).ravel()]
    assert_same_bytes(actual, np.array(whole, columns.dtype).reshape(total.shape))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
@pytest.mark.parametrize("length", [5, 13, 33, 90, 400])
@pytest.mark.parametrize(
    "weights", [None, [[0.5, 1, 0.75], [1, 3, 2]], np.arange(1, 10).reshape(3, 3)]
)
def test_the_mean_of_negative_zeros_is_a_negative_zero(
    dtype: str, length: int, weights: Any
) -> None:
    """Also at the edges, where positions have fewer terms, and where each has one term."""
    x = np.full((2, 2, 9, length), np.dtype(dtype).type(-0.0))
    for stride in (1, 2, 3, 4):
        ones = reblock.unfold(np.ones(x.shape, bool), 3, strides=stride)
        reached = reblock.fold(ones, x.shape[2:], 3, strides=stride)
        columns = reblock.unfold(x, 3, strides=stride)
        options: dict[str, Any] = {"reduction": "mean", "weights": weights}
        mean = reblock.fold(columns, x.shape[2:], 3, strides=stride, **options)
        assert_same_bytes(mean[reached], x[reached])
    pads: dict[str, Any] = {"start_padding": 1, "end_padding": 1, "padding_mode": "reflect"}
    mean = reblock.fold(reblock.unfold(x, 3, **pads), x.shape[2:], 3, **pads, **options)
    assert_same_bytes(mean, x)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "f4", "f8"])
@pytest.mark.parametrize("hop", [70, 128])
@pytest.mark.parametrize(
    "window", [(300, 1, 0, 0), (200, 3, 5, 66), (60, 2, 130, 1)], ids=["dense", "dilated", "sparse"]
)
def test_long_signals_whose_windows_are_far_apart(
    dtype: str, hop: int, window: tuple[int, int, int, int]
) -> None:
    """A part of the positions between two windows is reduced at a time, in rows of many windows."""
    size, dilation, padding, rest = window
    length = 300 * hop + rest
    call: dict[str, Any] = {"strides": hop, "dilations": dilation}
    call |= {"start_padding": padding, "end_padding": padding}
    places = reblock.unfold(np.arange(1, length + 1)[None, None], size, **call)[0]
    numbers = np.random.default_rng(0)
    columns = numbers.integers(0, 8, (2, 2, *places.shape)).astype(dtype)
    weights = numbers.integers(0, 4, size).astype(float)
    rows = weights[:, None] * columns.astype(float)
    count = np.bincount(places.ravel(), (places > 0).ravel(), length + 1)[1:]
    weight = np.bincount(places.ravel(), np.repeat(weights, places.shape[1]), length + 1)[1:]

    def summed(terms: Any) -> Any:
        each = [
            np.bincount(places.ravel(), t.ravel(), length + 1)[1:] for t in terms.reshape(4, -1)
        ]
        return np.reshape(each, (2, 2, length))

    def result(sums: Any) -> Any:
        rounded = np.rint(sums) if dtype[0] in "ui" else sums
        return (np.clip(rounded, 0, 255) if dtype == "u1" else rounded).astype(dtype)

    def folded(**options: Any) -> Any:
        rows_of_channels = columns.reshape(2, -1, places.shape[1])
        return reblock.fold(rows_of_channels, length, size, **call, **options)

    assert_same_values(folded(weights=[weights]), result(summed(rows)))
    means = summed(columns.astype(float)) / np.maximum(count, 1)
    weighted = summed(rows) / np.maximum(weight, 1)
    for actual, expected in (
        (folded(reduction="mean"), means),
        (folded(reduction="mean", weights=[weights]), weighted),
    ):
        np.testing.assert_allclose(
            actual.astype(float),
            result(expected).astype(float),
            rtol=2e-3 if dtype == "f2" else 1e-6,
        )
    held = np.ones((2, 2, length), dtype)
    folded(weights=[weights], accumulate=True, out=held)
    assert_same_values(held, result(summed(rows) + 1))


@given(st.data())
def test_a_dtype_converts_the_terms_first(data: st.DataObject) -> None:
    call, columns, options, _, _ = draw_columns(data, summable())
    dtypes = SUMMABLE if columns.dtype.kind != "c" else [d for d in SUMMABLE if d.kind == "c"]
    dtype = data.draw(st.sampled_from(dtypes))
    if dtype.kind in "u" and columns.dtype.kind not in "biu":
        columns = np.abs(columns)  # what C makes of a negative one differs
    actual = fold_drawn(data, columns, call, **options, dtype=dtype)
    # ml_dtypes takes the byte of a bool for its value
    values = columns.astype(np.float32) if columns.dtype.kind == "b" else columns
    with np.errstate(all="ignore"):
        converted = values.astype(dtype)
    keywords: dict[str, Any] = {**call.keywords, **options}
    expected = oracle.fold(converted, *call.arguments, **keywords)
    assert_same_values(actual, expected)


@pytest.mark.parametrize("order", list(itertools.permutations(range(2, 5))), ids=str)
def test_weights_of_axes_are_multiplied_in_order_in_any_memory(order: tuple[int, ...]) -> None:
    """Windows share no position, so each sum is one product."""
    numbers = np.random.default_rng(0)
    weights = [numbers.random(3) for _ in order]
    columns = numbers.random((1, 27, 5**3))
    products = functools.reduce(np.multiply.outer, weights).reshape(-1, 1)
    out = np.empty((1, 1, 15, 15, 15)).transpose(0, 1, *np.argsort(order) + 2)
    actual = reblock.fold(columns, out.shape[2:], 3, strides=3, weights=weights, out=out)
    expected = reblock.fold(columns * products, out.shape[2:], 3, strides=3)
    assert_same_bytes(actual, expected)


@pytest.mark.parametrize(
    ("terms", "dtype", "least", "digits"),
    [(np.float64, np.float16, 1, 11), (np.float64, BFLOAT16, 1, 8), (np.int32, BFLOAT16, 2**30, 8)],
    ids=str,
)
def test_terms_of_more_digits_are_rounded_to_halves_once(
    terms: Any, dtype: Any, least: int, digits: int
) -> None:
    """As float32, a term next to the middle of two halves would be the middle."""
    middle = least + least / 2**digits
    columns = np.array([[[middle, middle + least / 2**30]]]).astype(terms)
    expected = np.array([[[least, least + 2 * least / 2**digits]]], dtype)
    assert_same_bytes(reblock.fold(columns, 2, 1, dtype=dtype), expected)


@given(st.data())
def test_a_mean_in_another_dtype(data: st.DataObject) -> None:
    call, columns, options, terms, present = draw_columns(
        data, st.sampled_from([np.dtype(c) for c in "?bBhHiIf"])
    )
    dtype = np.dtype(data.draw(st.sampled_from(["f4", "f8", "c8"])))
    actual = fold_drawn(data, columns, call, **options, reduction="mean", dtype=dtype)
    assert_close(actual, terms.astype(dtype), present, np.ones(len(terms)), mean=True)


def any_bits(shape: Shape, dtype: np.dtype[Any], seed: int) -> Array:
    """Return numbers of all sizes; a NaN would not equal itself."""
    x = allocate(shape, dtype, seed=seed).array
    if dtype.kind == "b":
        return (x.view(np.uint8) % 2).astype(bool)
    if dtype.kind in "iu":
        return x
    parts = np.random.default_rng(seed).standard_normal(
        (2, *shape)
    ) * 10.0 ** np.random.default_rng(seed + 1).integers(-3, 4, shape)
    result: Array = (
        (parts[0] + 1j * parts[1]).astype(dtype) if dtype.kind == "c" else parts[0].astype(dtype)
    )
    return result


@given(st.data(), st.sampled_from(["mean", "max", "min"]), st.sampled_from([SMALL, SMALL, LARGE]))
def test_unfold_then_a_mean_is_the_identity(
    data: st.DataObject, reduction: str, budget: int
) -> None:
    unfold, fold = data.draw(window_pairs(budget=budget))
    dtype = data.draw(summable() if reduction == "mean" else real())
    x = any_bits(unfold.input_shape, dtype, data.draw(st.integers(0, 99)))
    reached = fold(unfold(np.ones(x.shape, bool)))
    actual = fold(unfold(x), reduction=reduction)
    assert_same_values(actual[reached], x[reached])
    assert not actual[~reached].any()


@pytest.mark.parametrize("dtype", SUMMABLE, ids=str)
def test_a_mean_of_many_terms_is_the_identity(dtype: np.dtype[Any]) -> None:
    """Fifteen times fifteen terms, which a sum of the same type could not undo."""
    x = any_bits((1, 2, 40, 37), dtype, 7)
    mean = reblock.fold(reblock.unfold(x, 15), (40, 37), 15, reduction="mean")
    assert_same_values(mean, x)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_the_mean_of_the_largest_integers(dtype: np.dtype[Any]) -> None:
    """Their sum does not fit 64 bits."""
    limits = np.iinfo(dtype)
    for value in (limits.min, limits.max):
        columns = np.full((1, 300, 9), value, dtype)
        mean = reblock.fold(columns, 308, 300, reduction="mean")
        assert (mean == value).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.bool_, np.int32, np.uint64, np.float32])
def test_a_mean_of_more_terms_than_a_narrow_accumulator_counts(dtype: Any) -> None:
    count = 70_000
    terms = np.zeros(count, dtype)
    terms[: count // 2 + 1] = 1
    # One element with all terms: the padding alone makes room for the windows.
    columns = np.broadcast_to(terms.reshape(1, count, 1), (1, count, count))
    mean = reblock.fold(
        columns, 1, count, start_padding=count - 1, end_padding=count - 1, reduction="mean"
    )
    expected = 1 if np.dtype(dtype).kind != "f" else np.float32((count // 2 + 1) / count)
    assert mean.tolist() == [[[expected]]]


@given(st.data(), st.sampled_from(["sum", "max", "min"]))
def test_parts_accumulate_to_the_whole(data: st.DataObject, reduction: str) -> None:
    _, fold = data.draw(window_pairs())
    counts = counts_of(fold)
    columns = small_integers(allocate(fold.input_shape, np.dtype(np.int32)), np.dtype(np.int32))
    weights = {"weights": np.full(fold.arguments[1], 2.0)} if reduction == "sum" else {}
    whole = fold(columns, reduction=reduction, **weights)
    reached = fold(np.ones(columns.shape, bool))
    held = np.zeros_like(whole)
    if reduction != "sum":
        held += np.iinfo(np.int32).min if reduction == "max" else np.iinfo(np.int32).max
    start = held.copy()
    cut = data.draw(st.integers(0, counts[0]))
    grid = columns.reshape(*columns.shape[:2], *counts)
    for first, last in ((0, cut), (cut, counts[0])):
        length = (last - first) * math.prod(counts[1:])
        part = grid[:, :, first:last].reshape(*columns.shape[:2], length)
        blocks = [(first, last), *[None] * (len(counts) - 1)]
        if len(counts) == 1:
            blocks = [(first, last)]
        fold(part, blocks=blocks, reduction=reduction, accumulate=True, out=held, **weights)
    assert_same_bytes(held, np.where(reached, whole, start))


def test_layouts_by_name() -> None:
    photo = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    names: dict[str, Any] = {"strides": (4, 6), "layout": "HWC"}
    for order in ("CRD", "DCR"):
        for out_layout in ("LC", "CL"):
            patches = reblock.unfold(photo, 8, **names, order=order, out_layout=out_layout)
            mean = reblock.fold(
                patches,
                (40, 50),
                8,
                strides=(4, 6),
                layout=out_layout,
                out_layout="HWC",
                order=order,
                reduction="mean",
                weights=[np.hanning(10)[1:-1]] * 2,
            )
            assert_same_bytes(mean, photo)


def test_weights_of_zero_give_zero() -> None:
    columns = np.full((1, 3, 4), np.int8(7))
    mean = reblock.fold(columns, 6, 3, reduction="mean", weights=[0, 1, 0])
    assert mean.tolist() == [[[0, 7, 7, 7, 7, 0]]]


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, *FLOATS, np.complex64], ids=str)
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_a_mean_is_right_or_zero_where_weights_are_small(
    dtype: Any, stride: int, mode: Any
) -> None:
    """The corners have only terms with small weights, whose inverse accumulators may not hold."""
    exponent = 100 if np.dtype(dtype).itemsize == 2 else 800
    x = np.full((1, 3, 6, 6), 93, dtype)
    window: dict[str, Any] = {"window_sizes": 2, "strides": stride}
    window |= {"start_padding": 1, "end_padding": 1, "padding_mode": mode}
    columns = reblock.unfold(x, **window)
    terms = reblock.fold(np.ones_like(columns, np.int64), (6, 6), **window)
    for small in (2.0**-exponent, 2.0 ** -(exponent + 1), 5e-324, 2.0**exponent / 4):
        for shape in ("product", "whole"):
            axes = [np.full(2, small), np.ones(2)]
            weights = axes if shape == "product" else np.outer(*axes)
            mean = reblock.fold(columns, (6, 6), **window, reduction="mean", weights=weights)
            assert np.array_equal(mean, np.where(terms * small >= 2.0**-exponent, x, x * 0))


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("dtype", [*FLOATS, np.uint8], ids=str)
def test_weights_whose_products_overflow_are_refused(reduction: Any, dtype: Any) -> None:
    half = np.dtype(dtype).itemsize == 2
    exponent = {"sum": (127, 1023), "mean": (100, 800)}[reduction][0 if half else 1]
    columns = np.ones((1, 2, 4), dtype)
    out = np.full((1, 1, 5), 7, dtype)
    weights = [2.0 ** (exponent - 1)] * 2
    reblock.fold(columns, 5, 2, reduction=reduction, weights=weights)
    weights[1] *= 1.5
    refuses(
        lambda: reblock.fold(columns, 5, 2, reduction=reduction, weights=weights, out=out),
        ValueError,
        "weights",
        f"2^{exponent}",
        reduction,
        untouched=[out],
    )


def test_a_weighted_sum_of_integers_keeps_within_its_range() -> None:
    columns = np.array([[[200, 100]]], np.uint8)
    assert reblock.fold(columns, 2, 1, weights=[2.0]).tolist() == [[[255, 200]]]
    assert reblock.fold(columns.astype(np.int64), 2, 1, weights=[1e300]).tolist() == [
        [[2**63 - 1] * 2]
    ]


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x = np.random.default_rng(1).standard_normal((2, 3, 70, 90)).astype(np.float32)
    columns = reblock.unfold(x, 7, strides=3)
    for options in ({"reduction": "mean"}, {"weights": [np.hanning(7)] * 2}, {"dtype": np.float64}):
        one = reblock.fold(columns, (70, 90), 7, strides=3, threads=1, **options)
        many = reblock.fold(columns, (70, 90), 7, strides=3, threads=5, **options)
        assert_same_bytes(many, one)


COLUMNS = np.zeros((1, 4, 4), np.float32)


@pytest.mark.parametrize(
    ("kind", "argument", "values", "options"),
    [
        (ValueError, "reduction", ["median"], {"reduction": "median"}),
        (ValueError, "reduction", [], {"reduction": "\ud800"}),
        (TypeError, "reduction", [], {"reduction": None}),
        (ValueError, "weights", [(2, 2), (2, 3)], {"weights": np.ones((2, 3))}),
        (ValueError, "weights", [(2, 2), (2, 3)], {"weights": [[1, 1], [1, 1, 1]]}),
        (ValueError, "weights", [(2, 2), (3,)], {"weights": [1.0, 2.0, 1.0]}),
        (ValueError, "weights", [], {"weights": [np.ones((2, 1)), [1, 1]]}),
        (ValueError, "weights", ["None", "[] (list)"], {"weights": []}),
        (ValueError, "weights", ["None", "() (tuple)"], {"weights": (), "reduction": "max"}),
        *[
            (ValueError, "weights", [(2, 2), (2,) * min(axes, 9)], {"weights": [[1, 1]] * axes})
            for axes in (1, 3, 6, 7, 8, 9, 10, 40)
        ],
        (ValueError, "weights", [(2, 2), (0,)], {"weights": [[]]}),
        (ValueError, "weights", [-1, "weights[0][1]"], {"weights": [[1, -1], [1, 1]]}),
        (ValueError, "weights", [-0.25, (0, 1)], {"weights": np.array([[1, -0.25], [1, 1]])}),
        (ValueError, "weights", ["nan", (1, 0)], {"weights": np.array([[1, 1], [np.nan, 1]])}),
        (ValueError, "weights", ["inf", "weights[1][0]"], {"weights": [[1, 1], [np.inf, 1]]}),
        (ValueError, "weights", ["2^1023"], {"weights": [[1e300] * 2] * 2}),
        (ValueError, "weights", ["2^1023"], {"weights": np.full((2, 2), 1e308)}),
        (
            ValueError,
            "weights",
            ["2^800"],
            {"weights": np.full((2, 2), 1e300), "reduction": "mean"},
        ),
        (ValueError, "weights", ["max"], {"weights": np.ones((2, 2)), "reduction": "max"}),
        (TypeError, "weights", [], {"weights": 2.0}),
        (TypeError, "weights", ["complex128"], {"weights": np.ones((2, 2), complex)}),
        (TypeError, "weights", [], {"weights": "hann"}),
        (TypeError, "weights", ["masked array"], {"weights": np.ma.ones((2, 2))}),
        (TypeError, "weights", ["masked array"], {"weights": [np.ma.ones(2), [1, 1]]}),
        (TypeError, "dtype", ["S3"], {"dtype": "S3"}),
        (TypeError, "dtype", [], {"dtype": 7}),
        (
            TypeError,
            "out",
            ["float64", "float32"],
            {"dtype": np.float64, "out": np.zeros((1, 1, 3, 3), np.float32)},
        ),
        (ValueError, "out", [], {"accumulate": True, "reduction": "max"}),
        (
            ValueError,
            "accumulate",
            ["mean"],
            {"accumulate": True, "reduction": "mean", "out": np.zeros((1, 1, 3, 3), np.float32)},
        ),
    ],
)
def test_bad_options_are_refused(
    kind: type[Exception], argument: str, values: list[Any], options: dict[str, Any]
) -> None:
    out = options.get("out", np.zeros((1, 1, 3, 3), np.float32))
    given = {"out": out, **options} if "accumulate" not in options else options
    refuses(
        lambda: reblock.fold(COLUMNS, (3, 3), 2, **given), kind, argument, *values, untouched=[out]
    )


def test_complex_numbers_have_no_order_and_no_real_result() -> None:
    columns = COLUMNS.astype(np.complex64)
    for dtype in (np.complex64, np.complex128, np.clongdouble):
        options: dict[str, Any] = {"reduction": "max", "dtype": dtype}
        refuses(
            partial(reblock.fold, COLUMNS, (3, 3), 2, **options),
            TypeError,
            "reduction",
            np.dtype(dtype).name,
        )
    refuses(
        lambda: reblock.fold(columns, (3, 3), 2, reduction="min"),
        TypeError,
        "reduction",
        "complex64",
    )
    refuses(
        lambda: reblock.fold(columns, (3, 3), 2, dtype=np.float32), TypeError, "dtype", "float32"
    )


@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16], ids=str)
def test_the_weights_of_numpy_are_any_real_numbers(dtype: Any) -> None:
    x = any_bits((1, 2, 9), np.dtype(np.float64), 3)
    columns = reblock.unfold(x, 3)
    expected = reblock.fold(columns, 9, 3, weights=np.array([1.0, 2.0, 0.5]))
    assert_same_bytes(reblock.fold(columns, 9, 3, weights=np.array([1, 2, 0.5], dtype)), expected)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("size", [2, 20])
def test_weights_may_share_memory_with_the_result(reduction: Any, size: int) -> None:
    numbers = np.random.default_rng(1)
    columns = numbers.random((1, size * size, 81))
    image = size + 8
    for start in (0, image, image * image // 2):
        memory = numbers.random(image * image + size * size)
        out = memory[: image * image].reshape(1, 1, image, image)
        values = memory[start:][: size * size].reshape(size, size)
        for weights in (values, [values[0], values[1]]):
            fold = partial(reblock.fold, columns, image, (size, size), reduction=reduction)
            before, expected = memory.copy(), fold(weights=weights)
            assert_same_bytes(fold(weights=weights, out=out), expected)
            memory[...] = before


def test_large_windows_of_few_patches() -> None:
    """Windows too large for any buffer."""
    _, call = window_calls(1, 2, (300, 310), (200, 130), strides=(100, 90))
    x = any_bits((1, 2, 300, 310), np.dtype(np.float32), 5)
    columns = reblock.unfold(x, (200, 130), strides=(100, 90))
    weights = [np.hanning(202)[1:-1], np.hanning(132)[1:-1]]
    assert_same_bytes(call(columns, reduction="mean", weights=weights), x)


CODE = """
import hashlib, itertools
import numpy as np
import reblock
seen = hashlib.sha256()
numbers = np.random.default_rng(1).normal(size=(2, 5, 23, 31)) * 40
dtypes = ("f2", "f4", "f8", "u1", "i2", "i4", "u8", "c8", "?")
layouts = (("NCL", "NCHW"), ("NLC", "NHWC"))
modes = ("constant", "reflect")
for dtype, (columns_in, image_in), mode in itertools.product(dtypes, layouts, modes):
    x = np.abs(numbers).astype(dtype) if dtype in ("u1", "u8") else numbers.astype(dtype)
    window = {"strides": (1, 2), "start_padding": (2, 3), "end_padding": (1, 4)}
    window |= {"padding_mode": mode, "blocks": [(1, 19), slice(None)]}
    columns = reblock.unfold(x, (5, 4), **window, out_layout=columns_in)
    window |= {"layout": columns_in, "out_layout": image_in}
    weights = {"weights": [np.arange(5) / 3, np.hanning(4)]}
    options = [{"reduction": "mean"}, {"reduction": "mean", **weights}, weights, {}]
    if dtype != "c8":
        options += [{"reduction": "max"}, {"reduction": "min"}]
    if dtype in ("u1", "f2"):
        options += [{"dtype": "f4"}, {"dtype": "i4", "reduction": "mean"}]
    for each, threads in itertools.product(options, (1, 3)):
        each = {**window, **each, "threads": threads}
        image = reblock.fold(columns, (23, 31), (5, 4), **each)
        seen.update(image.tobytes())
        if each.get("reduction") != "mean":
            reblock.fold(columns, (23, 31), (5, 4), **each, accumulate=True, out=image)
            seen.update(image.tobytes())
print(seen.hexdigest())
"""


def test_every_instruction_set_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = set()
    for instruction_set in ("", "baseline", "ssse3", "avx2"):
        monkeypatch.setenv("REBLOCK_ISA", instruction_set)
        run = subprocess.run(
            [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
        )
        digests.add(run.stdout)
    assert len(digests) == 1
