# SPDX-License-Identifier: BSD-3-Clause
"""reblock.dask gives what reblock gives on the whole array, lazily, however it is chunked."""

from __future__ import annotations

import doctest
import inspect
import itertools
import math
import resource
import runpy
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

import oracle
import reblock
import reblock.dask
from bad_calls import BAD_CALLS, BadCall
from calls import (
    DEPTH_TO_SPACE,
    FOLD,
    SAMPLES,
    SPACE_TO_DEPTH,
    UNFOLD,
    Call,
    any_call,
    depth_space_calls,
    window_calls,
)
from calls import operator as name_of
from checks import assert_same_bytes, assert_same_values
from dtypes import movable, summable
from layouts import allocate
from oracle import Array

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "dask.md"

MIB = 2**20

Chunks = tuple[tuple[int, ...], ...]

every_operator = pytest.mark.parametrize("call", SAMPLES, ids=name_of)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def lazily(call: Call, x: Any, **more: Any) -> da.Array:
    function = getattr(reblock.dask, call.operator)
    result: da.Array = function(x, *call.arguments, **{**call.keywords, **more})
    return result


def cut(x: Array, chunks: Any) -> da.Array:
    result: da.Array = da.from_array(x, chunks=chunks)
    return result


@st.composite
def chunkings(draw: st.DrawFn, shape: Sequence[int]) -> Chunks:
    """Draw up to four chunks along each axis, some of them empty."""
    chunks = []
    for extent in shape:
        borders = draw(st.lists(st.integers(0, extent), max_size=3))
        bounds = [0, *sorted(borders), extent]
        chunks.append(tuple(last - first for first, last in itertools.pairwise(bounds)))
    return tuple(chunks)


def misfits(call: Call, chunks: Chunks) -> set[int]:
    """Return the axes along which the chunks cannot be taken as they are."""

    def cut_within(axis: int, grain: int) -> bool:
        inner = itertools.accumulate(chunks[axis][:-1])
        return any(end % grain for end in inner)

    def several(axis: int) -> bool:
        return len(chunks[axis]) > 1

    if call.operator == "fold":
        sizes, window = call.arguments
        lead, counts = _leading(call, sizes)
        found = {1} if cut_within(1, math.prod(window)) else set()
        return found | ({2} if cut_within(2, math.prod(counts[lead + 1 :])) else set())
    rank = len(call.input_shape)
    channels = call.keywords["channel_axis"] % rank
    spatial = [axis for axis in range(1, rank) if axis != channels]
    if call.operator == "unfold":
        lead, _ = _leading(call, [call.input_shape[axis] for axis in spatial])
        return {axis for axis in spatial if axis != spatial[lead] and several(axis)}
    (block,) = call.arguments
    elements, found = math.prod(block), set()
    if call.operator == "space_to_depth":
        found = {axis for axis, b in zip(spatial, block, strict=True) if cut_within(axis, b)}
    elif call.keywords["order"] == "CRD" and cut_within(channels, elements):
        found = {channels}
    if call.keywords["order"] == "DCR" and elements > 1 and several(channels):
        found |= {channels}
    return found


def _leading(call: Call, sizes: Sequence[int]) -> tuple[int, list[int]]:
    window = {k: v for k, v in call.keywords.items() if k != "channel_axis"}
    counts = oracle.block_counts(sizes, call.arguments[-1], **window)
    several = [d for d, count in enumerate(counts) if count > 1]
    return (several or [len(counts) - 1])[0], counts


# Results


@given(st.data())
def test_any_call_on_any_chunks(data: st.DataObject) -> None:
    call = data.draw(any_call())
    dtype = data.draw(summable() if call.operator == "fold" else movable())
    chunks = data.draw(chunkings(call.input_shape))
    x = allocate(call.input_shape, dtype).array

    with warnings.catch_warnings(record=True, action="always") as told:
        result = lazily(call, cut(x, chunks))
    assert [each.category for each in told] in ([], [da.PerformanceWarning])
    assert result.dtype == dtype
    assert result.shape == call.output_shape
    for axis, extent in enumerate(call.output_shape):
        assert sum(result.chunks[axis]) == extent

    blocks = dask.compute(*result.to_delayed().ravel())
    shapes = list(itertools.product(*result.chunks))
    assert [block.shape for block in blocks] == shapes
    assert {block.dtype for block in blocks} == {dtype}
    same = assert_same_values if call.operator == "fold" else assert_same_bytes
    # A sum of several NaNs has the bits of either.
    with np.errstate(invalid="ignore"):
        same(result.compute(), call(x))


@given(st.data())
def test_the_array_is_rechunked_where_it_must_be_and_nowhere_else(data: st.DataObject) -> None:
    call = data.draw(any_call())
    if 0 in call.input_shape:
        return
    chunks = tuple(
        tuple(size for size in sizes if size) for sizes in data.draw(chunkings(call.input_shape))
    )
    x = da.zeros(call.input_shape, chunks=chunks, dtype=np.uint8)
    with warnings.catch_warnings(record=True, action="always") as told:
        result = lazily(call, x)
    axes = misfits(call, chunks)
    layers = [name for name in result.dask.layers if name.startswith("rechunk")]
    assert len(layers) <= len(told) == bool(axes)
    for warning in told:
        assert warning.filename == __file__
        assert str(warning.message).startswith(f"{call.tensor()} is rechunked: it needs ")
        for axis in range(len(chunks)):
            assert (f"along axis {axis} " in str(warning.message)) == (axis in axes)
