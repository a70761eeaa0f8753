# SPDX-License-Identifier: BSD-3-Clause
"""Padding modes of unfold and fold on Dask arrays: those of reblock on the whole array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reblock
from checks import refuses

da = pytest.importorskip("dask.array")
import reblock.dask  # noqa: E402 - after the check that dask is there

BAD: Any = "mean"
MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]
WINDOW: dict[str, Any] = {"strides": (2, 1), "start_padding": (9, 3), "end_padding": (2, 20)}
X = np.arange(2 * 3 * 11 * 7, dtype=np.int32).reshape(2, 3, 11, 7)


@pytest.mark.parametrize("mode", [*MODES, reblock.PaddingMode.WRAP, 1])
@pytest.mark.parametrize("chunks", [(1, 2, 4, 7), (2, 3, 11, 7), (2, 1, 1, 7)])
@pytest.mark.parametrize("blocks", [None, [(2, 7), None]])
def test_unfold_of_any_chunks(mode: Any, chunks: tuple[int, ...], blocks: Any) -> None:
    value = 5 if mode == "constant" else 0
    keywords: dict[str, Any] = {**WINDOW, "padding_mode": mode, "blocks": blocks}
    result = reblock.dask.unfold(
        da.from_array(X, chunks=chunks), (3, 2), **keywords, padding_value=value
    )
    expected = reblock.unfold(X, (3, 2), **keywords, padding_value=value)
    assert np.array_equal(result.compute(), expected)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("mode", MODES)
def test_unfold_of_many_empty_chunks(mode: Any) -> None:
    chunks = ((0, 2), (3,), (0, 5, 0, 6), (0, 0, 7, *(0,) * 9))
    keywords: dict[str, Any] = {**WINDOW, "padding_mode": mode}
    keywords["padding_value"] = 5 if mode == "constant" else 0
    result = reblock.dask.unfold(da.from_array(X, chunks=chunks), (3, 2), **keywords)
    assert np.array_equal(result.compute(), reblock.unfold(X, (3, 2), **keywords))


@pytest.mark.parametrize("mode", MODES)
def test_padding_keeps_the_byte_order(mode: Any) -> None:
    x = X.astype(">i2")
    keywords: dict[str, Any] = {**WINDOW, "padding_mode": mode}
    keywords["padding_value"] = 5 if mode == "constant" else 0
    result = reblock.dask.unfold(da.from_array(x, chunks=(1, 3, 4, 7)), (3, 2), **keywords)
    expected = reblock.unfold(x, (3, 2), **keywords)
    assert result.dtype == result.compute().dtype == expected.dtype
    assert np.array_equal(result.compute(), expected)


@pytest.mark.parametrize("value", [-0.0, complex(0, -0.0)])
def test_a_negative_zero_is_no_zero(value: complex) -> None:
    x = np.ones((1, 1, 4), np.complex64)
    result = reblock.dask.unfold(x, 2, start_padding=1, padding_value=value)
    expected = reblock.unfold(x, 2, start_padding=1, padding_value=value)
    assert result.compute().tobytes() == expected.tobytes()


def test_layouts_name_the_axes_of_padded_windows() -> None:
    x = np.moveaxis(X, 1, -1)
    names: dict[str, Any] = {"layout": "NHWC", "out_layout": "NLC", "padding_mode": "reflect"}
    result = reblock.dask.unfold(da.from_array(x, chunks=(1, 5, 7, 3)), 3, **names, **WINDOW)
    assert np.array_equal(result.compute(), reblock.unfold(x, 3, **names, **WINDOW))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("channel_axis", [1, -1])
@pytest.mark.parametrize(
    "how", [{}, {"reduction": "mean", "weights": [[1, 2, 1], [3, 1]]}, {"reduction": "max"}]
)
def test_fold_of_one_chunk_of_blocks(mode: Any, channel_axis: int, how: dict[str, Any]) -> None:
    keywords: dict[str, Any] = {**WINDOW, "padding_mode": mode, **how}
    columns = reblock.unfold(X, (3, 2), **WINDOW, padding_mode=mode).astype(np.float32) / 7
    array = da.from_array(columns, chunks=(1, 6, -1))
    keywords["channel_axis"] = channel_axis
    result = reblock.dask.fold(array, (11, 7), (3, 2), **keywords)
    expected = reblock.fold(columns, (11, 7), (3, 2), **keywords)
    assert np.array_equal(result.compute(), expected)
    assert result.shape == expected.shape


def test_fold_of_several_chunks_of_blocks_is_refused() -> None:
    columns = da.zeros((1, 9, 25), chunks=(1, 9, 5))
    window: dict[str, Any] = {"start_padding": 1, "end_padding": 1}
    refuses(
        lambda: reblock.dask.fold(columns, (5, 5), 3, **window, padding_mode="reflect"),
        ValueError,
        "columns",
        (5, 5, 5, 5, 5),
    )


def test_bad_arguments_are_refused_at_the_call() -> None:
    x = da.from_array(X)
    refuses(lambda: reblock.dask.unfold(x, 3, padding_mode=BAD), ValueError, "padding_mode")
    refuses(lambda: reblock.dask.unfold(x, 3, padding_value=0.5), ValueError, "padding_value")
