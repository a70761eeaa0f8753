# SPDX-License-Identifier: BSD-3-Clause
"""reblock.dask.rearrange and repeat give what reblock gives on the whole array, chunk by chunk."""

from __future__ import annotations

import doctest
import inspect
import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reblock
import reblock.dask
from checks import assert_same_bytes, refuses
from dtypes import movable
from layouts import allocate
from patterns import Pattern, Use, factors, patterns

USES: list[Use] = ["rearrange", "repeat"]
every_use = pytest.mark.parametrize("use", USES)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


@st.composite
def chunkings(draw: st.DrawFn, shape: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Draw up to three chunks along each axis, some of them empty."""
    chunks = []
    for extent in shape:
        bounds = [0, *sorted(draw(st.lists(st.integers(0, extent), max_size=2))), extent]
        chunks.append(tuple(last - first for first, last in itertools.pairwise(bounds)))
    return tuple(chunks)


def lazily(pattern: Pattern, x: Any, **options: Any) -> da.Array:
    function: Callable[..., da.Array] = getattr(reblock.dask, pattern.use)
    return function(x, pattern.text, **pattern.axes_lengths, **options)


@every_use
@given(data=st.data())
def test_any_pattern_on_any_chunks(use: Use, data: st.DataObject) -> None:
    pattern = data.draw(patterns(use, most_axes=6))
    # Dask leaves the padding inside of elements behind where it puts chunks together.
    dtype = data.draw(movable().filter(lambda dtype: not dtype.isalignedstruct))
    x = allocate(pattern.input_shape, dtype).array
    chunks = data.draw(chunkings(x.shape))
    with warnings.catch_warnings(action="ignore"):
        result = lazily(pattern, da.from_array(x, chunks=chunks))
    assert result.dtype == x.dtype
    assert result.shape == pattern.output_shape
    pieces = result.compute()
    assert_same_bytes(np.asarray(pieces), pattern.oracle(x))
    for index in itertools.product(*map(range, result.numblocks)):
        sizes = tuple(sizes[i] for i, sizes in zip(index, result.chunks, strict=True))
        assert result.blocks[index].compute().shape == sizes if index else True


@every_use
@given(data=st.data())
def test_any_conversion_on_any_chunks(use: Use, data: st.DataObject) -> None:
    pattern = data.draw(patterns(use, most_axes=6))
    x = allocate(pattern.input_shape, np.dtype(np.uint8)).array
    conversion = {
        "dtype": data.draw(st.sampled_from([None, "float32", np.dtype(">i2")])),
        "scale": data.draw(factors(pattern))[0],
        "bias": data.draw(factors(pattern))[0],
    }
    chunks = data.draw(chunkings(x.shape))
    with warnings.catch_warnings(action="ignore"):
        result = lazily(pattern, da.from_array(x, chunks=chunks), **conversion)
    expected = pattern(x, **conversion)
    assert result.dtype == expected.dtype
    assert_same_bytes(np.asarray(result.compute()), expected)


def test_numbers_of_an_axis_are_cut_with_it() -> None:
    x = da.ones((4, 6, 2), dtype=np.uint8, chunks=(2, 4, 2))
    scale = np.arange(6)
    result = reblock.dask.rearrange(x, "n c h -> c (n h)", dtype="float32", scale={"c": scale})
    assert result.chunks == ((4, 2), (4, 4))
    expected = np.broadcast_to(scale[:, np.newaxis], (6, 8)).astype(np.float32)
    assert_same_bytes(np.asarray(result.compute()), expected)


@pytest.mark.parametrize(
    ("pattern", "lengths", "chunks", "expected"),
    [
        ("n h w c -> n c h w", {}, (2, 6, 4, 3), (2, 3, 6, 4)),
        ("n (h p) w c -> (n h) (p w c)", {"p": 2}, (2, 12, 8, 3), (12, 48)),
        ("n h w c -> (n h w) c", {}, (2, 12, 8, 3), (192, 3)),
        ("n (1 h p) w c -> 1 (h n) p (w c)", {"p": 2}, (4, 4, 8, 3), (1, 8, 2, 24)),
        ("n h ... -> 2 (h 3) ... n", {}, (2, 6, 4, 3), (2, 18, 4, 3, 2)),
    ],
)
def test_chunks_go_through_where_the_outermost_names_do(
    pattern: str, lengths: dict[str, Any], chunks: Any, expected: tuple[int, ...]
) -> None:
    x = da.zeros((4, 12, 8, 3), chunks=chunks)
    result = reblock.dask.repeat(x, pattern, **lengths)
    assert result.chunksize == expected
    assert len(dict(result.dask)) == len(dict(x.dask)) + result.npartitions


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("n (h p) w c -> n h p w c", "along axis 1 multiples of 4, "),
        ("n (h p) w c -> n (p h) w c", "along axis 1 a single chunk, "),
        ("n (h p) w c -> (w n) h p c", "along axis 0 a single chunk and along axis 1 multiples"),
        ("n (h p) w c -> c w (p h n)", "along axis 0 a single chunk and along axis 1 a single"),
    ],
)
def test_chunks_that_do_not_fit_are_told(pattern: str, told: str) -> None:
    x = da.zeros((4, 12, 8, 3), chunks=(2, 6, 8, 3))
    with pytest.warns(da.PerformanceWarning, match=told) as caught:
        reblock.dask.rearrange(x, pattern, p=4)
    assert caught[0].filename == __file__


def test_what_is_wrong_is_refused_at_the_call() -> None:
    x = da.zeros((4, 6), chunks=2)
    call: Any = reblock.dask.rearrange
    refuses(lambda: call(x, "a b -> a"), ValueError, "pattern", "'b'")
    refuses(lambda: call(x, "a (b c) -> a b c", b=5), ValueError, "x", (4, 6))
    refuses(lambda: call(x, "a b -> b a", threads=0), ValueError, "threads", 0)
    refuses(lambda: call(x, "a b -> b a", scale={"c": [1]}), ValueError, "scale", "c")
    refuses(lambda: call(x, "a b -> b a", bias={"a": [1]}), ValueError, "bias", "a")
    refuses(lambda: call(x, "a b -> b a", dtype="c8"), TypeError, "dtype", "complex64")
    refuses(lambda: call(x.astype(object), "a b -> b a"), TypeError, "x", "object")
    refuses(lambda: call(x[x[:, 0] > 0], "a b -> b a"), ValueError, "x", 0)
    with pytest.raises(TypeError, match=r"^rearrange\(\) got an unexpected .* 'out'$"):
        call(x, "a b -> b a", out=np.zeros((6, 4)))


def test_array_likes_are_taken() -> None:
    result = reblock.dask.rearrange([[1, 2], [3, 4]], "a b -> b a", threads=None)
    assert result.compute().tolist() == [[1, 3], [2, 4]]


@every_use
def test_the_examples_run(use: Use) -> None:
    docstring = inspect.getdoc(getattr(reblock.dask, use)) or ""
    test = doctest.DocTestParser().get_doctest(docstring, {}, use, None, None)
    report: list[str] = []
    assert doctest.DocTestRunner().run(test, out=report.append).failed == 0, "".join(report)
