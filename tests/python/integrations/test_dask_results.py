# SPDX-License-Identifier: BSD-3-Clause
"""Conversions and reductions of Dask arrays: the results of reblock on the whole array."""

from typing import Any

import numpy as np
import pytest

import reblock

pytest.importorskip("dask.array")

import dask.array as da

import reblock.dask

random = np.random.default_rng(1)
FACTORS = random.random(12)
CONVERSIONS: list[dict[str, Any]] = [
    {"dtype": "float32"},
    {"dtype": "float32", "scale": FACTORS, "bias": -0.5},
    {"scale": 0.5},
    {"dtype": np.dtype("float64")},
    {"dtype": "float16", "bias": list(FACTORS)},
]
REDUCTIONS: list[dict[str, Any]] = [
    {"reduction": "mean"},
    {"reduction": "max"},
    {"reduction": "min", "dtype": "float64"},
    {"weights": [np.hanning(5)[1:4], np.ones(3)]},
    {"reduction": "mean", "blocks": [slice(1, 4), slice(0, 5)]},
]


def check(result: da.Array, expected: np.ndarray[Any, Any]) -> None:
    assert result.dtype == expected.dtype
    assert np.array_equal(result.compute(), expected)


@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.filterwarnings("ignore::dask.array.PerformanceWarning")
def test_elements_are_converted(conversion: dict[str, Any]) -> None:
    x = random.integers(0, 256, (2, 12, 10, 14), np.uint8)
    image = da.from_array(x, chunks=(1, 4, 5, 14))
    packed = reblock.dask.space_to_depth(image, 2, **conversion)
    check(packed, reblock.space_to_depth(x, 2, **conversion))
    windows: dict[str, Any] = {"strides": 2, "start_padding": 1, "end_padding": 1}
    columns = reblock.dask.unfold(image, 3, **windows, **conversion)
    check(columns, reblock.unfold(x, 3, **windows, **conversion))
    depth = reblock.space_to_depth(x, 2)
    chunked = da.from_array(depth, chunks=(1, -1, 2, 7))
    space = reblock.dask.depth_to_space(chunked, 2, **conversion)
    check(space, reblock.depth_to_space(depth, 2, **conversion))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.filterwarnings("ignore::dask.array.PerformanceWarning")
def test_terms_are_reduced(reduction: dict[str, Any]) -> None:
    steps = 3 if "blocks" in reduction else 7
    columns = random.random((2, 36, 5 * steps), dtype=np.float32)
    chunked = da.from_array(columns, chunks=(1, 18, 5))
    image = reblock.dask.fold(chunked, (15, 11), 3, strides=2, **reduction)
    check(image, reblock.fold(columns, (15, 11), 3, strides=2, **reduction))


def test_empty_columns_of_some_blocks_are_reduced() -> None:
    columns = da.zeros((0, 0, 2), chunks=((0, 0), (0, 0), (1, 1)))
    blocks: dict[str, Any] = {"blocks": (1, 3)}
    image = reblock.dask.fold(columns, 5, 2, **blocks)
    check(image, reblock.fold(np.zeros((0, 0, 2)), 5, 2, **blocks))


@pytest.mark.parametrize("value", [3, -0.0])
def test_a_padding_value_is_not_converted(value: float) -> None:
    image = da.zeros((1, 1, 8), chunks=(1, 1, 4))
    with pytest.raises(
        ValueError, match=f"padding_value must be 0 with dtype, scale or bias, got {value}"
    ):
        reblock.dask.unfold(image, 3, start_padding=1, padding_value=value, dtype="float32")


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
@pytest.mark.filterwarnings("ignore::dask.array.PerformanceWarning")
def test_padding_that_repeats_elements_is_converted(mode: Any) -> None:
    image = random.integers(0, 256, (2, 3, 9, 8), np.uint8)
    keywords: dict[str, Any] = {
        "start_padding": (4, 1),
        "end_padding": 3,
        "padding_mode": mode,
        "dtype": "float32",
        "scale": [1, 0.5, 0.25],
        "bias": -1,
    }
    chunked = da.from_array(image, chunks=(1, 3, 4, 8))
    check(reblock.dask.unfold(chunked, 3, **keywords), reblock.unfold(image, 3, **keywords))
