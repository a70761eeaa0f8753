# SPDX-License-Identifier: BSD-3-Clause
"""Reductions of fold with a padding mode also take the terms of the padding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reblock
from calls import counts_of, padded_calls, window_calls
from checks import assert_same_bytes, assert_same_values
from dtypes import SUMMABLE
from layouts import allocate, layouts, small_integers
from oracle import Array
from padded import MODES, listed_terms, summed
from reductions import assert_close, compared, exact_mean, weights_of


@given(
    st.data(),
    st.sampled_from(MODES),
    st.sampled_from(["sum", "mean", "max", "min"]),
    st.booleans(),
)
def test_all_terms_of_a_position_are_reduced(
    data: st.DataObject, mode: Any, reduction: str, weighs: bool
) -> None:
    """Modes, pads, windows, blocks, order, layouts, dtypes, weights and accumulation at once."""
    _, fold, ranges = data.draw(padded_calls())
    weighs = weighs and reduction in ("sum", "mean")
    dtypes = [d for d in SUMMABLE if d.kind != "c" or reduction in ("sum", "mean")]
    dtype = data.draw(st.sampled_from(dtypes))
    order = data.draw(st.sampled_from(["CRD", "DCR"]))
    shape = (*fold.input_shape[:2], math.prod(stop - first for first, stop in ranges))
    memory = allocate(shape, dtype, data.draw(layouts(3, dtype.itemsize)))
    columns = memory.array
    if dtype.kind not in "iu":
        columns = small_integers(memory, dtype)
    options: dict[str, Any] = {"padding_mode": mode, "blocks": ranges, "order": order}
    options |= {"reduction": reduction, "threads": data.draw(st.sampled_from([1, 3]))}
    each: Array = np.ones(math.prod(fold.arguments[1]))
    if weighs:
        options["weights"], each = data.draw(weights_of(fold.arguments[1]))
    result = dtype
    if dtype.kind in "iu" and data.draw(st.booleans()):
        result = options["dtype"] = data.draw(st.sampled_from([np.dtype("i8"), np.dtype("f8")]))

    axis = fold.keywords["channel_axis"]
    out = allocate(
        fold.output_shape,
        result,
        data.draw(layouts(len(fold.output_shape), result.itemsize, for_output=True)),
        seed=3,
    )
    held = small_integers(out, result).copy()
    accumulates = options["accumulate"] = reduction != "mean" and data.draw(st.booleans())
    fold(columns, **options, out=out.array)
    actual = np.ascontiguousarray(np.moveaxis(out.array, axis, 1))

    terms, present, offsets = listed_terms(columns.astype(result), fold, mode, ranges, order)
    reached: Array = np.any(present, axis=0)
    weights = each[offsets]
    begin = np.ascontiguousarray(np.moveaxis(held, axis, 1))
    if not accumulates:
        begin = np.zeros_like(begin)
    else:
        assert_same_values(actual[~reached], begin[~reached])
    actual = np.where(reached, actual, 0).astype(result)
    if accumulates and (weighs or reduction != "sum"):
        terms = np.concatenate([begin[None], terms])
        present = np.concatenate([reached[None], present])
        weights = np.concatenate([np.ones_like(weights[:1]), weights])
    if reduction in ("max", "min"):
        keeps = {"max": np.greater_equal, "min": np.less_equal}[reduction]
        assert_same_values(actual, compared(terms, present, keeps))
    elif weighs:
        assert_close(actual, terms, present, weights, mean=reduction == "mean")
    elif reduction == "sum":
        expected = summed(terms, present, begin)
        assert_same_values(actual, np.where(reached, expected, 0).astype(result))
    elif result.kind in "biu":
        assert_same_bytes(actual, exact_mean(terms, present))
    else:
        assert_close(actual, terms, present, np.ones(terms.shape), mean=True)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["uint64", "int64"])
def test_integers_that_no_double_holds_stay_beside_the_terms(mode: Any, dtype: str) -> None:
    held = 2**60 + 1
    out = np.full((1, 1, 6), held, dtype)
    window = {"start_padding": 2, "end_padding": 2, "padding_mode": mode, "blocks": (0, 1)}
    reblock.fold(
        np.ones((1, 3, 1), dtype), 6, 3, **window, weights=np.ones(3), accumulate=True, out=out
    )
    assert np.count_nonzero(out == held) >= 3  # the window has three terms


@given(st.data(), st.sampled_from(MODES), st.booleans(), st.sampled_from(["u8", "f4", "f8"]))
def test_a_position_without_terms_keeps_its_bits(
    data: st.DataObject, mode: Any, weighs: bool, kind: str
) -> None:
    """Also what a sum in other arithmetic rounds, and -0. A signaling NaN may become quiet."""
    _, fold, ranges = data.draw(padded_calls())
    dtype = np.dtype(kind)
    shape = (*fold.input_shape[:2], math.prod(stop - first for first, stop in ranges))
    options: dict[str, Any] = {"padding_mode": mode, "blocks": ranges, "accumulate": True}
    if weighs:
        options["weights"], _ = data.draw(weights_of(fold.arguments[1]))
    columns: Array = np.ones(shape, dtype)
    out = allocate(
        fold.output_shape,
        dtype,
        data.draw(layouts(len(fold.output_shape), dtype.itemsize, for_output=True)),
        seed=3,
    ).array
    if dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # a sum makes signaling NaN quiet
            out[...] = -0.0 if data.draw(st.booleans()) else np.add(out, -0.0)
    axis = fold.keywords["channel_axis"]
    held = np.moveaxis(out.copy(), axis, 1)
    fold(columns, **options, out=out)
    _, present, _ = listed_terms(columns, fold, mode, ranges, "CRD")
    left = ~np.any(present, axis=0)
    assert_same_bytes(np.moveaxis(out, axis, 1)[left], held[left])


@given(st.data(), st.sampled_from(MODES), st.sampled_from(["mean", "max", "min"]))
def test_unfold_then_a_reduction_is_the_identity(
    data: st.DataObject, mode: Any, reduction: str
) -> None:
    """Every term of an element is the element, whichever way a window reached it."""
    unfold, fold, ranges = data.draw(padded_calls())
    dtypes = [d for d in SUMMABLE if reduction == "mean" or d.kind != "c"]
    dtype = data.draw(st.sampled_from(dtypes))
    x = small_integers(allocate(unfold.input_shape, dtype), dtype)
    options: dict[str, Any] = {"padding_mode": mode, "blocks": ranges}
    actual = fold(unfold(x, **options), **options, reduction=reduction)
    reached = fold(unfold(np.ones(x.shape, bool), **options), **options)
    assert_same_values(actual[reached], x[reached])
    assert not actual[~reached].any()


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.float64])
def test_a_mean_of_more_terms_than_a_list_holds(mode: Any, dtype: Any) -> None:
    """Pads far larger than the image: positions have hundreds of terms from the padding."""
    unfold, fold = window_calls(1, 2, (3, 2), (9, 7), start_padding=(90, 80), end_padding=(70, 60))
    x = small_integers(allocate(unfold.input_shape, np.dtype(dtype)), np.dtype(dtype))
    columns = unfold(x, padding_mode=mode)
    weights = [np.hanning(9 + 2)[1:-1], np.ones(7)]
    assert_same_bytes(fold(columns, padding_mode=mode, reduction="mean"), x)
    near = fold(columns, padding_mode=mode, reduction="mean", weights=weights)
    assert np.allclose(near.astype(float), x.astype(float), rtol=1e-2)


def test_frames_are_reduced_alike_in_every_layout() -> None:
    """Long windows of signals, as frames or as rows, of one channel or several."""
    unfold, fold = window_calls(
        3, 1, (600,), (64,), strides=(16,), start_padding=(32,), end_padding=(32,)
    )
    columns = allocate(fold.input_shape, np.dtype(np.float32)).array
    columns = np.random.default_rng(0).normal(size=columns.shape).astype(np.float32)
    ranges = [(0, count) for count in counts_of(unfold)]
    options: dict[str, Any] = {"padding_mode": "reflect"}
    terms, present, _ = listed_terms(columns, fold, "reflect", ranges, "CRD")
    expected = summed(terms, present, np.zeros(fold.output_shape, np.float32))
    assert_same_bytes(fold(columns, **options), expected)
    frames = np.ascontiguousarray(columns.swapaxes(1, 2))
    window: dict[str, Any] = {k: v for k, v in fold.keywords.items() if k != "channel_axis"}
    actual = reblock.fold(frames, 600, 64, **window, **options, layout="NLC", out_layout="NCW")
    assert_same_bytes(actual, expected)


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize(("batch", "channels"), [(1, 1), (3, 1), (1, 20)])
@pytest.mark.parametrize(
    ("size", "window", "stride", "pads"),
    [
        (300, 40, 12, (20, 25)),
        (300, 40, 12, (299, 250)),
        (31, 40, 7, (100, 90)),
        (64, 5, 5, (32, 32)),
        (64, 4, 9, (40, 32)),
        (50, 8, 1, (6, 7)),
    ],
)
def test_neighbouring_positions_of_signals_have_their_own_terms(  # noqa: PLR0917 - all sizes
    mode: Any,
    batch: int,
    channels: int,
    size: int,
    window: int,
    stride: int,
    pads: tuple[int, int],
) -> None:
    """Many positions are summed at once: their terms lie in opposite directions."""
    start, end = ((pad,) for pad in pads)
    unfold, fold = window_calls(
        batch, channels, (size,), (window,), strides=(stride,), start_padding=start, end_padding=end
    )
    columns = np.random.default_rng(0).normal(size=fold.input_shape).astype(np.float32)
    ranges = [(0, count) for count in counts_of(unfold)]
    terms, present, _ = listed_terms(columns, fold, mode, ranges, "CRD")
    nothing = np.zeros(fold.output_shape, np.float32)
    assert_same_bytes(fold(columns, padding_mode=mode), summed(terms, present, nothing))
    most = fold(columns, padding_mode=mode, reduction="max")
    assert_same_values(most, compared(terms, present, np.greater_equal))
    mean = fold(columns, padding_mode=mode, reduction="mean")
    assert_close(mean, terms, present, np.ones(terms.shape), mean=True)
    held = np.random.default_rng(1).normal(size=fold.output_shape).astype(np.float32)
    expected = summed(terms, present, held)
    fold(columns, padding_mode=mode, accumulate=True, out=held)
    assert_same_bytes(held, expected)
