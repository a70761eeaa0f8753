# SPDX-License-Identifier: BSD-3-Clause
"""Patches cuts an image into overlapping windows, and blends it from them."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reblock
from checks import assert_same_bytes, refuses
from dtypes import BFLOAT16
from oracle import Array

DTYPES = [np.uint8, np.int16, np.float32, np.float64, np.complex64]


def photo(shape: tuple[int, ...], dtype: Any = np.uint8) -> Array:
    numbers = np.random.default_rng(0).integers(0, 256, shape)
    result: Array = numbers.astype(dtype)
    return result


@st.composite
def plans(draw: st.DrawFn) -> tuple[Array, dict[str, Any]]:
    """Draw an image and the arguments of its patches, which may not fit its edges."""
    layout = draw(st.sampled_from(["HWC", "CHW", "HCW", "HW", "L", "DHWC"]))
    axes = len(layout.replace("C", ""))
    sizes = [draw(st.integers(1, 20 if axes < 3 else 6)) for _ in layout]
    image = photo(tuple(sizes), draw(st.sampled_from(DTYPES)))
    spatial = [n for n, letter in zip(sizes, layout, strict=True) if letter != "C"]
    edges = draw(st.sampled_from(["pad", "shift", "drop"]))
    windows = tuple(draw(st.integers(1, n + 3 if edges == "pad" else n)) for n in spatial)
    return image, {
        "window_sizes": windows,
        "strides": tuple(draw(st.integers(1, w)) for w in windows),
        "layout": layout,
        "edges": edges,
        "padding_mode": draw(st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap"])),
    }


def padded(image: Array, p: reblock.Patches, mode: str) -> Array:
    """Return the image with all that patches find behind it."""
    pads = [(0, 0)] * image.ndim
    spatial = [axis for axis, letter in enumerate(p.layout) if letter != "C"]
    last = p.origin(tuple(n - 1 for n in p.grid))
    for axis, start, window in zip(spatial, last, p.window_sizes, strict=True):
        pads[axis] = (0, max(0, start + window - image.shape[axis]))
    result: Array = np.pad(image, pads, mode)  # type: ignore[call-overload] # of any mode
    return result


@given(plans())
def test_each_patch_is_a_window_of_the_padded_image(plan: tuple[Array, dict[str, Any]]) -> None:
    image, arguments = plan
    p = reblock.Patches(image, **arguments)
    whole = padded(image, p, arguments["padding_mode"])
    spatial = [axis for axis, letter in enumerate(p.layout) if letter != "C"]
    each = []
    for index in itertools.product(*map(range, p.grid)):
        where = [slice(None)] * image.ndim
        for axis, start, window in zip(spatial, p.origin(index), p.window_sizes, strict=True):
            where[axis] = slice(start, start + window)
        assert p[index].shape == p.patch_shape
        assert np.array_equal(p[index], whole[tuple(where)])
        each.append(p[index])
    assert len(p) == math.prod(p.grid) == len(each)
    assert all(np.array_equal(a, b) for a, b in zip(p, each, strict=True))
    assert np.array_equal(np.concatenate(list(p.bands(1000))), np.stack(each))


def of_grid(p: reblock.Patches) -> Array:
    result: Array = np.stack(list(p)).reshape(*p.grid, *p.patch_shape)
    return result


@given(
    plans(),
    st.sampled_from(["mean", "max", "min"]),
    st.sampled_from([None, "hann", "gaussian"]),
    st.sampled_from([iter, list, lambda p: np.stack(list(p)), of_grid]),
)
def test_patches_merge_to_the_image(
    plan: tuple[Array, dict[str, Any]],
    reduction: Any,
    weights: Any,
    given_as: Callable[[reblock.Patches], Any],
) -> None:
    image, arguments = plan
    p = reblock.Patches(image, **arguments)
    if reduction != "mean":
        weights = None
        if image.dtype.kind == "c":
            reduction = "mean"
    merged = p.merge(given_as(p), weights=weights, reduction=reduction)
    reached = np.ones(image.shape, bool)
    if arguments["edges"] == "drop":
        for axis, start, window in zip(
            [axis for axis, letter in enumerate(p.layout) if letter != "C"],
            p.origin(tuple(n - 1 for n in p.grid)),
            p.window_sizes,
            strict=True,
        ):
            reached[(slice(None),) * axis + (slice(start + window, None),)] = False
    assert merged.dtype == image.dtype
    if image.dtype == np.float64:
        np.testing.assert_allclose(merged[reached], image[reached], rtol=1e-14)
    else:
        assert np.array_equal(merged[reached], image[reached])
    assert not merged[~reached].any()


@given(plans(), st.sampled_from(["sum", "mean"]))
def test_a_merge_weighs_as_its_definition_says(
    plan: tuple[Array, dict[str, Any]], reduction: Any
) -> None:
    image, arguments = plan
    p = reblock.Patches(image.real.astype(np.float64), **arguments)
    spatial = [axis for axis, letter in enumerate(p.layout) if letter != "C"]
    weights = np.random.default_rng(1).random(p.window_sizes)
    patches = [np.random.default_rng(k).random(p.patch_shape) for k in range(len(p))]
    order = [*spatial, *({*range(image.ndim)} - {*spatial})]
    sums = np.zeros([image.shape[axis] + 40 for axis in order])
    counts = np.zeros_like(sums)
    for index, patch in zip(itertools.product(*map(range, p.grid)), patches, strict=True):
        where = tuple(
            slice(start, start + n)
            for start, n in zip(p.origin(index), p.window_sizes, strict=True)
        )
        channels = (slice(0, image.shape[order[-1]]),) * (image.ndim - len(spatial))
        factors = weights.reshape(weights.shape + (1,) * (image.ndim - len(spatial)))
        sums[where + channels] += factors * patch.transpose(order)
        counts[where + channels] += factors
    whole = tuple(slice(image.shape[axis]) for axis in order)
    expected = sums[whole]
    if reduction == "mean":
        expected = np.where(
            counts[whole] > 0, expected / np.where(counts[whole] > 0, counts[whole], 1), 0
        )
    merged = p.merge(np.stack(patches), weights=weights, reduction=reduction)
    np.testing.assert_allclose(merged.transpose(order), expected, rtol=1e-12, atol=1e-12)


def test_patches_inside_are_views_and_those_of_integers_are_safe() -> None:
    image = photo((50, 60, 3))
    p = reblock.Patches(image, 16, strides=8)
    assert np.shares_memory(p[0, 0], image)
    assert not np.shares_memory(p[p.grid[0] - 1, -1], image)
    assert np.array_equal(p[-1], p[p.grid[0] - 1, p.grid[1] - 1])
    bright = np.full_like(image, 255)
    assert np.array_equal(
        reblock.Patches(bright, 16, strides=4).merge(
            [patch.copy() for patch in reblock.Patches(bright, 16, strides=4)], weights="hann"
        ),
        bright,
    )


def test_patches_may_change_channels_and_dtype() -> None:
    image = photo((30, 40, 3))
    p = reblock.Patches(image, 16, strides=8, edges="shift")
    gray = p.merge(
        (patch.mean(axis=2, keepdims=True, dtype=np.float32) for patch in p), weights="hann"
    )
    assert gray.shape == (30, 40, 1)
    np.testing.assert_allclose(gray, image.mean(axis=2, keepdims=True), rtol=1e-6)
    out = np.empty((30, 40, 3), np.float32)
    assert p.merge(p, dtype=np.float32, out=out) is out
    assert_same_bytes(out, image.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int8, np.bool_])
@pytest.mark.parametrize("reduction", ["mean", "sum", "max", "min"])
def test_the_largest_integers_stay(dtype: Any, reduction: Any) -> None:
    largest = 1 if dtype == np.bool_ else np.iinfo(dtype).max
    image = np.full((20, 30, 3), largest, dtype)
    p = reblock.Patches(image, 8, strides=5)
    assert_same_bytes(p.merge(p, reduction=reduction), image)


@pytest.mark.parametrize("reduction", ["mean", "sum", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16, np.int64, np.int16], ids=str)
def test_values_beyond_the_range_become_the_nearest(dtype: Any, reduction: Any) -> None:
    p = reblock.Patches(IMAGE, 8, strides=5)
    shape = (len(p), 8, 8, 3)
    for value, expected in ((300, 255), (-300, 0)):
        merged = p.merge(np.full(shape, value, dtype), reduction=reduction, dtype=np.uint8)
        assert (merged == expected).all()


@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16], ids=str)
def test_floats_are_rounded_and_nan_becomes_zero(dtype: Any) -> None:
    p = reblock.Patches(IMAGE, 8, strides=5)
    for reduction in ("mean", "max", "min"):
        for value, expected in ((3.5, 4), (2.5, 2), (np.nan, 0)):
            patches = np.full((len(p), 8, 8, 3), value, dtype)
            merged = p.merge(patches, reduction=reduction, dtype=np.uint8)
            assert (merged == expected).all()
            merged = p.merge(patches, reduction=reduction, dtype=np.bool_)
            assert (merged == bool(expected)).all()


@pytest.mark.parametrize("value", [1e-310, 1e300, np.nan])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_merge_raises_no_floating_point_error(value: float, reduction: Any) -> None:
    """An iterator of patches keeps the errors that its owner wants."""
    p = reblock.Patches(IMAGE, 8, strides=5)
    patches = [np.full((8, 8, 3), value)] * len(p)

    def each() -> Iterator[Array]:
        for patch in patches:
            assert np.geterr()["over"] == "raise"
            yield patch

    expected = p.merge(patches, weights="hann", reduction=reduction, dtype=np.float32)
    with np.errstate(all="raise"):
        merged = p.merge(each(), weights="hann", reduction=reduction, dtype=np.float32)
    assert_same_bytes(merged, expected)


@pytest.mark.parametrize("form", [list, lambda p: np.stack([*p]), of_grid])
@pytest.mark.parametrize("weights", [None, np.ones((8, 8))])
def test_patches_without_channels_make_an_image_without(form: Any, weights: Any) -> None:
    p = reblock.Patches(IMAGE[..., :0], 8, strides=(8, 5))
    assert p.merge(form(p), weights=weights, reduction="sum").shape == (20, 30, 0)
    assert p.merge(form(p), weights=weights).shape == (20, 30, 0)


def test_a_mean_of_bools_is_rounded_as_that_of_fold() -> None:
    """Of one term in two, 0; of two terms in three, 1."""
    p = reblock.Patches(np.zeros(7, bool), 3, strides=1, layout="L", edges="drop")
    patches = np.zeros((5, 3), bool)
    patches[[0, 2, 4]] = True
    expected = reblock.fold(patches, 7, 3, layout="LC", out_layout="L", reduction="mean")
    assert_same_bytes(p.merge(patches), expected)
    assert expected.tolist() == [True, False, True, False, True, False, True]


def test_long_doubles_keep_their_digits() -> None:
    image = np.full((20, 30, 3), 1 + np.finfo(np.longdouble).eps)
    p = reblock.Patches(image, 8, strides=4, edges="drop")
    assert (p.merge(p)[:20, :28] == image[:20, :28]).all()


def peak_of(call: Callable[[], object]) -> int:
    """Return the bytes that a call allocates at most at once."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("edges", ["drop", "pad", "shift"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "max"])
def test_memory_does_not_grow_with_the_image(edges: Any, reduction: Any) -> None:
    """A band, and the sums of a few rows, are all that a merge keeps."""
    peaks = []
    for rows in (2000, 8000):
        image = np.zeros((rows, 256, 3), np.uint8)
        out = np.zeros_like(image)
        p = reblock.Patches(image, 32, strides=24, edges=edges)
        merges = [partial(p.merge, p.bands(2**18), reduction=reduction, out=out) for _ in range(3)]
        peaks.append(min(map(peak_of, merges)))  # other threads may allocate meanwhile
    small, large = peaks
    assert large < small + 2**17  # of 4.4 MiB that the image grows; lists grow with the grid
    assert large < 2 * 2**20  # of an image of 6 MiB, whose patches have 10 MiB


def test_a_file_larger_than_the_memory_that_is_used(tmp_path: Path) -> None:
    """Both files have 48 MiB; the arrays that are made, one eighth of it."""
    shape = (4096, 4096, 3)
    image = np.memmap(tmp_path / "image", np.uint8, "w+", shape=shape)
    image[::64] = 200
    out = np.memmap(tmp_path / "out", np.uint8, "w+", shape=shape)
    p = reblock.Patches(image, 64, strides=48, edges="shift")
    peak = peak_of(lambda: p.merge(p.bands(2**20), weights="hann", out=out))
    assert peak < 32 * 2**20
    assert np.array_equal(out[::64, :100], image[::64, :100])
    assert np.array_equal(out[100:130], image[100:130])


IMAGE = photo((20, 30, 3))


@pytest.mark.parametrize(
    ("kind", "argument", "options"),
    [
        (ValueError, "edges", {"edges": "cut"}),
        (TypeError, "edges", {"edges": np.ones(2)}),
        (ValueError, "padding_mode", {"padding_mode": "mirror"}),
        (ValueError, "layout", {"layout": "HWW"}),
        (ValueError, "layout", {"layout": "NHW"}),
        (ValueError, "layout", {"layout": "HÄC"}),
        (ValueError, "image", {"layout": "HW"}),
        (ValueError, "layout", {"layout": "C"}),
        (TypeError, "layout", {"layout": 3}),
        (ValueError, "window_sizes", {"window_sizes": 0}),
        (ValueError, "window_sizes", {"window_sizes": (4, 4, 4)}),
        (TypeError, "window_sizes", {"window_sizes": 4.5}),
        (TypeError, "window_sizes", {"window_sizes": True}),
        (TypeError, "window_sizes", {"window_sizes": {8: 1, 5: 1}}),
        (TypeError, "window_sizes", {"window_sizes": {8, 5}}),
        (TypeError, "strides", {"strides": b"22"}),
        (TypeError, "strides", {"strides": (2, "3")}),
        (ValueError, "strides", {"strides": (0, 1)}),
        (ValueError, "window_sizes", {"window_sizes": 21, "edges": "shift"}),
        (TypeError, "padding_mode", {"padding_mode": None}),
        (ValueError, "padding_value", {"padding_value": 256}),
        (ValueError, "padding_value", {"padding_value": -1}),
        (ValueError, "padding_value", {"padding_value": 0.5}),
        (ValueError, "padding_value", {"padding_value": 1, "padding_mode": "edge"}),
        (TypeError, "padding_value", {"padding_value": "a"}),
        (TypeError, "padding_value", {"padding_value": [1, 2]}),
    ],
)
def test_bad_arguments_are_refused(
    kind: type[Exception], argument: str, options: dict[str, Any]
) -> None:
    refuses(lambda: reblock.Patches(IMAGE, **{"window_sizes": 8, **options}), kind, argument)


@pytest.mark.parametrize(
    ("image", "told"),
    [
        (None, "NoneType"),
        (np.ma.masked_array(IMAGE), "pass its .filled"),
        (np.array([[[None]]]), "object"),
    ],
)
def test_images_that_the_functions_refuse_are_refused(image: Any, told: str) -> None:
    refuses(lambda: reblock.Patches(image, 1), TypeError, "image", told)


@pytest.mark.parametrize(
    ("argument", "patches", "options"),
    [
        ("patches", np.zeros((3, 8, 8, 3)), {}),
        ("patches", np.zeros((13, 8, 8, 3)), {}),
        ("patches", np.zeros((4, 3, 8, 8, 3)), {}),
        ("patches", np.zeros((12, 8, 7, 3)), {}),
        ("patches", np.zeros(()), {}),
        ("reduction", np.zeros((12, 8, 8, 3)), {"reduction": "median"}),
        ("weights", np.zeros((12, 8, 8, 3)), {"weights": "hamming"}),
        ("weights", np.zeros((12, 8, 8, 3)), {"weights": np.ones((8, 7))}),
        ("weights", np.zeros((12, 8, 8, 3)), {"weights": []}),
        ("weights", np.zeros((12, 8, 8, 3)), {"weights": [np.ones(8)]}),
        ("weights", np.zeros((12, 8, 8, 3)), {"weights": [np.ones(8)] * 7}),
        ("weights", np.zeros((12, 8, 8, 3)), {"weights": [1.0] * 8}),
        ("weights", np.zeros((12, 8, 8, 3)), {"weights": [[1] * 8, [-1] * 8]}),
        ("weights", np.zeros((12, 8, 8, 3)), {"weights": "hann", "reduction": "max"}),
        ("out", np.zeros((12, 8, 8, 3)), {"out": np.zeros((20, 30, 3), np.uint8)}),
    ],
)
def test_bad_merges_are_refused(argument: str, patches: Array, options: dict[str, Any]) -> None:
    p = reblock.Patches(IMAGE, 8)
    assert p.grid == (3, 4)
    refuses(lambda: p.merge(patches, **options), ValueError, argument)


@pytest.mark.parametrize(
    ("argument", "told", "change"),
    [
        ("patches", "12", lambda good: good[:-1]),
        ("patches", "12", lambda good: [*good, good[0]]),
        ("patches", "12", lambda good: np.stack(good)[:-1]),
        ("patches", "12", lambda good: [np.stack(good[:8]), np.stack(good[8:11])]),
        ("patches", "(7, 8, 3)", lambda good: [*good[:-1], good[0][:7]]),
        ("patches", "(8, 8, 2)", lambda good: (*good[:-1], good[0][..., :2])),
        ("patches", "()", lambda good: ["a" for _ in good]),
    ],
)
def test_wrong_patches_in_memory_write_nothing(argument: str, told: str, change: Any) -> None:
    """Also if only the last one is wrong, which belongs to the last rows."""
    p = reblock.Patches(IMAGE, 8)
    patches = change(list(p))
    out = np.full_like(IMAGE, 7)
    refuses(lambda: p.merge(patches, out=out), ValueError, argument, told, untouched=[out])


@pytest.mark.parametrize(
    ("reduction", "last", "told"),
    [("mean", np.complex64, "complex64"), ("sum", "S3", "S3"), ("max", np.float32, "float32")],
)
def test_a_last_patch_of_another_dtype_writes_nothing(reduction: Any, last: Any, told: str) -> None:
    p = reblock.Patches(IMAGE, 8)
    patches = [*p]
    patches[-1] = patches[-1].astype(last)
    out = np.full_like(IMAGE, 7)
    merge = partial(p.merge, patches, reduction=reduction, out=out)
    refuses(merge, TypeError, "patches", told, untouched=[out])


@pytest.mark.parametrize(
    ("argument", "change", "options"),
    [
        ("patches", lambda good: np.ma.masked_array(np.stack(good)), {}),
        ("patches", lambda good: [*good[:-1], np.ma.masked_array(good[-1])], {}),
        ("patches", lambda good: (np.ma.masked_array(patch) for patch in good), {}),
        ("out", list, {"out": np.ma.masked_array(np.full(IMAGE.shape, 7, np.float32))}),
    ],
)
def test_masked_arrays_are_not_merged(argument: str, change: Any, options: dict[str, Any]) -> None:
    p = reblock.Patches(IMAGE.astype(np.float32), 8)
    out = {"out": np.full(IMAGE.shape, 7, np.float32), **options}["out"]
    merge = partial(p.merge, change([*p]), out=out)
    refuses(merge, TypeError, argument, "masked array", untouched=[out])


class Other(np.ndarray):
    """An array that has no function of NumPy."""

    def __array_function__(self, *_: object, **__: object) -> None:
        raise AssertionError


@pytest.mark.parametrize("kind", [np.matrix, Other])
@pytest.mark.parametrize("strides", [8, (8, 5)])
def test_subclasses_are_arrays_as_others(kind: Any, strides: Any) -> None:
    image = photo((20, 30)).view(kind)
    p = reblock.Patches(image, 8, strides=strides, layout="HW")
    patches = [*p]
    assert {type(patch) for patch in patches} == {np.ndarray}
    assert_same_bytes(p.merge(np.stack(patches).view(np.ndarray)), np.asarray(image))
    out = np.zeros_like(np.asarray(image)).view(kind)
    assert p.merge((patch.view(kind) for patch in patches), out=out) is out
    assert np.asarray(out).tolist() == np.asarray(image).tolist()


@pytest.mark.parametrize("reduction", ["mean", "sum", "max", "min"])
@pytest.mark.parametrize("strides", [8, 4])
def test_the_byte_order_of_patches_is_that_of_the_image(reduction: Any, strides: int) -> None:
    p = reblock.Patches(IMAGE.astype("i2"), 8, strides=strides, edges="shift")
    expected = p.merge(p, reduction=reduction).astype(">i2")
    patches = np.stack([*p]).astype(">i2")
    for form in patches, np.asfortranarray(patches), [*patches], iter(patches):
        assert_same_bytes(p.merge(form, reduction=reduction), expected)


def test_the_first_of_several_dtypes_is_that_of_the_image() -> None:
    p = reblock.Patches(IMAGE, 8)
    patches = [*p]
    patches[1:] = [patch.astype(np.float32) for patch in patches[1:]]
    assert_same_bytes(p.merge(patches), p.merge(p))


@pytest.mark.parametrize("reduction", ["mean", "sum", "max", "min"])
@pytest.mark.parametrize(("source", "target"), [(np.int16, BFLOAT16), (BFLOAT16, np.int16)])
def test_integers_and_bfloat16_become_each_other(reduction: Any, source: Any, target: Any) -> None:
    p = reblock.Patches(IMAGE.astype(source), 8)
    expected = p.merge(p, reduction=reduction, dtype=np.float64).astype(target)
    assert_same_bytes(p.merge(p, reduction=reduction, dtype=target), expected)


@pytest.mark.parametrize("edges", ["drop", "pad", "shift"])
@pytest.mark.parametrize("strides", [8, (20, 16), 20])
@pytest.mark.parametrize("reduction", ["mean", "sum", "max", "min"])
@pytest.mark.parametrize("weights", [None, "hann", np.ones((16, 16))])
def test_elements_that_no_patch_covers_become_0_in_any_array(
    edges: Any, strides: Any, reduction: Any, weights: Any
) -> None:
    if reduction in ("max", "min"):
        weights = None
    image = photo((35, 45, 3))
    p = reblock.Patches(image, 16, strides=strides, edges=edges)
    covered = np.zeros(image.shape, bool)
    for index in itertools.product(*map(range, p.grid)):
        y, x = p.origin(index)
        covered[y : y + 16, x : x + 16] = True
    for patches in p, np.stack(list(p)):
        out = np.full_like(image, 7)
        merged = p.merge(patches, reduction=reduction, weights=weights, out=out)
        assert merged is out
        assert not out[~covered].any()
        assert np.array_equal(out, p.merge(p, reduction=reduction, weights=weights))
        if reduction != "sum":
            assert np.array_equal(out[covered], image[covered])


@pytest.mark.parametrize("dtype", [np.uint64, np.int64])
def test_an_array_of_patches_keeps_all_digits_of_integers(dtype: Any) -> None:
    image = np.iinfo(dtype).max - photo((20, 30, 3), dtype)
    p = reblock.Patches(image, 8, strides=4)
    assert np.array_equal(p.merge(np.stack(list(p))), image)


def test_the_result_may_take_the_place_of_the_image() -> None:
    image = photo((35, 45, 3))
    p = reblock.Patches(image.copy(), 16, strides=8)
    p.merge((255 - patch for patch in p), weights="hann", out=p._image)
    assert np.array_equal(p._image, 255 - image)


@pytest.mark.parametrize("form", [lambda patches: patches, list, lambda patches: patches[:, None]])
@pytest.mark.parametrize("edges", ["drop", "shift"])
def test_patches_may_share_memory_with_the_result(form: Any, edges: Any) -> None:
    p = reblock.Patches(photo((22, 8, 3), np.float32), 8, strides=4, edges=edges)
    patches = np.stack([*p])
    expected = p.merge(patches, weights="hann")
    size = patches.size + p._image.size
    for start in range(0, size, 97):
        memory = np.zeros(size + p._image.size, np.float32)
        shared = memory[p._image.size // 2 :][: patches.size].reshape(patches.shape)
        shared[...] = patches
        out = memory[start:][: p._image.size].reshape(p._image.shape)
        assert_same_bytes(p.merge(form(shared), weights="hann", out=out), expected)


def test_an_array_that_overlaps_itself_is_refused() -> None:
    p = reblock.Patches(IMAGE, 8)
    memory = np.full(IMAGE.size, 7, np.float32)
    for strides in (0, 12, 4), (356, 12, 4):
        out = np.lib.stride_tricks.as_strided(memory, IMAGE.shape, strides)
        merge = partial(p.merge, p, dtype=np.float32, out=out)
        refuses(merge, ValueError, "out", "overlap", untouched=[memory])


def test_wrong_patches_of_an_iterator_are_refused_when_they_come() -> None:
    p = reblock.Patches(IMAGE, 8)
    good = list(p)
    refuses(lambda: p.merge(iter(good[:-1])), ValueError, "patches", "12", "11")
    refuses(lambda: p.merge(itertools.chain(good, good)), ValueError, "patches", "12", "more")
    refuses(lambda: p.merge(q if k else q[:7] for k, q in enumerate(p)), ValueError, "patches")


@pytest.mark.parametrize(
    ("argument", "told", "patches", "options"),
    [
        ("patches", "NoneType", None, {}),
        ("patches", "int", 5, {}),
        ("patches", "|S3", np.zeros((12, 8, 8, 3), "S3"), {}),
        ("patches", "datetime64", np.zeros((12, 8, 8, 3), "M8[s]"), {}),
        ("patches", "float64", [np.zeros((8, 8, 3), int)] * 11 + [np.zeros((8, 8, 3))], {}),
        ("dtype", "|S3", np.zeros((12, 8, 8, 3)), {"dtype": "S3"}),
        ("dtype", "nope", np.zeros((12, 8, 8, 3)), {"dtype": "nope"}),
        ("dtype", "<f8", np.zeros((12, 8, 8, 3)), {"dtype": (float, (1,))}),
        ("dtype", "uint8", np.zeros((12, 8, 8, 3), complex), {"dtype": np.uint8}),
        ("reduction", "complex128", np.zeros((12, 8, 8, 3), complex), {}),
        ("out", "list", np.zeros((12, 8, 8, 3)), {"out": [1]}),
    ],
)
def test_merges_of_wrong_kinds_are_refused(
    argument: str, told: str, patches: Any, options: dict[str, Any]
) -> None:
    p = reblock.Patches(IMAGE, 8)
    options = {"reduction": "mean" if "dtype" in options else "max", **options}
    refuses(lambda: p.merge(patches, **options), TypeError, argument, told)


def test_an_array_that_is_read_only_is_refused() -> None:
    p = reblock.Patches(IMAGE, 8)
    out = np.zeros_like(IMAGE)
    out.flags.writeable = False
    refuses(lambda: p.merge(p, out=out), ValueError, "out", "read-only")


@pytest.mark.parametrize(
    ("kind", "value"), [(ValueError, 0), (ValueError, -1), (TypeError, 1.5), (TypeError, None)]
)
def test_bands_of_no_bytes_are_refused(kind: type[Exception], value: Any) -> None:
    """At the call, not when the first band is taken."""
    refuses(lambda: reblock.Patches(IMAGE, 8).bands(value), kind, "max_bytes", value)


def test_an_image_without_elements_is_refused() -> None:
    refuses(lambda: reblock.Patches(np.zeros((0, 30, 3)), 8), ValueError, "image")
    no_channels = reblock.Patches(np.zeros((20, 30, 0)), 8)
    assert no_channels[0, 0].shape == (8, 8, 0)


def test_padding_is_named_and_valued_as_for_unfold() -> None:
    image = photo((10, 10, 2), np.int16)
    for mode in reblock.PaddingMode:
        number: Any = int(mode)
        names: Any = ["constant", "edge", "reflect", "symmetric", "wrap"]
        last = [
            reblock.Patches(image, 8, padding_mode=m)[-1] for m in (mode, number, names[number])
        ]
        assert np.array_equal(last[0], last[1])
        assert np.array_equal(last[0], last[2])
    patch = reblock.Patches(image, 8, padding_value=-3)[-1]
    assert (patch[2:] == -3).all()


@pytest.mark.parametrize("index", [1.5, slice(2), (0, slice(2)), True, None, "a"])
def test_an_index_that_is_no_int_is_refused(index: Any) -> None:
    refuses(lambda: reblock.Patches(IMAGE, 8)[index], TypeError, "index", repr(index))


@pytest.mark.parametrize("index", [(3, 0), (0, 4), (-4, 0), 12, (0, 0, 0)])
def test_an_index_beyond_the_grid_is_refused(index: Any) -> None:
    with pytest.raises(IndexError, match="index"):
        reblock.Patches(IMAGE, 8)[index]
