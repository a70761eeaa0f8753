# SPDX-License-Identifier: BSD-3-Clause
"""Layouts by name: a letter for each axis, which permutes strides and copies nothing."""

from __future__ import annotations

import math
import re
import string
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import reblock
from calls import Call, Shape, counts_of, depth_space, padded_calls, ranges_of, window_pairs
from checks import (
    assert_same_bytes,
    assert_same_values,
    assert_writes_only_elements,
    refuses,
)
from dtypes import movable, summable
from layouts import Memory, allocate, layouts, small_integers
from oracle import Array, arrange
from padded import MODES, expected_fold, expected_unfold

LETTERS = sorted(set(string.ascii_uppercase) - set("NC"))
PHOTO = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)


@st.composite
def layout_of(draw: st.DrawFn, shape: Shape, order: str, *, needed: str = "") -> str:
    """Draw a layout of axes that lie in `order`: any other order, or without what is 1."""
    leave_out = draw(st.sampled_from(["", "N", "C", "NC"]))
    may_miss = [n for n, extent in zip("NC", shape, strict=False) if extent == 1]
    kept = [n for n in order if n in needed or n not in leave_out or n not in may_miss]
    if order != "NCL":  # the spatial axes remain in their order
        places = iter(n for n in kept if n not in "NC")
        return "".join(n if n in "NC" else next(places) for n in draw(st.permutations(kept)))
    return "".join(draw(st.permutations(kept)))


def place(shape: Shape, dtype: np.dtype[Any], data: st.DataObject, *, out: bool = False) -> Memory:
    return allocate(shape, dtype, data.draw(layouts(len(shape), dtype.itemsize, for_output=out)))


def spatial_letters(data: st.DataObject, axes: int) -> str:
    chosen = st.lists(st.sampled_from(LETTERS), min_size=axes, max_size=axes, unique=True)
    return "".join(data.draw(chosen))


def second(call: Call) -> tuple[Shape, Shape]:
    """Return the shapes of a call's arrays, with the channels second where they are images."""
    axis = call.keywords["channel_axis"]
    image, columns = (3 if call.operator == name else 0 for name in ("fold", "unfold"))
    shapes = (call.input_shape, call.output_shape)
    return tuple(  # type: ignore[return-value] # of two
        shape if place else oracle.channels_second(shape, axis)
        for shape, place in zip(shapes, (image, columns), strict=True)
    )


@given(st.data())
def test_blocks_move_between_any_layouts(data: st.DataObject) -> None:
    call = data.draw(depth_space())
    dtype = data.draw(movable())
    shape, result_shape = second(call)
    order = "NC" + spatial_letters(data, len(shape) - 2)
    layout = data.draw(layout_of(shape, order))
    out_layout = data.draw(layout_of(result_shape, order))
    names: dict[str, Any] = {"layout": layout, "out_layout": out_layout}
    if out_layout == layout:
        names = data.draw(st.sampled_from([names, {"layout": layout}]))

    x = place(shape, dtype, data).array
    function = getattr(oracle, call.operator)
    expected = arrange(function(x, *call.arguments, call.keywords["order"]), order, out_layout)
    if names.keys() == {"layout"} and call.operator == "space_to_depth" and "C" not in layout:
        return  # the result has a C then, see below
    options = {"order": call.keywords["order"], **names}
    operator = getattr(reblock, call.operator)
    assert_same_bytes(operator(arrange(x, order, layout), *call.arguments, **options), expected)
    out = place(expected.shape, dtype, data, out=True)
    assert_writes_only_elements(
        out, lambda a: operator(arrange(x, order, layout), *call.arguments, **options, out=a)
    )
    assert_same_bytes(out.array, expected)
    shape_of = getattr(reblock, call.operator + "_shape")
    assert shape_of(arrange(x, order, layout).shape, *call.arguments, **names) == expected.shape


@given(st.data())
def test_windows_move_between_any_layouts(data: st.DataObject) -> None:
    unfold, fold = data.draw(window_pairs())
    output_sizes, window_sizes = fold.arguments
    dtype = data.draw(summable())
    (image_shape, columns_shape) = second(unfold)
    order = "NC" + spatial_letters(data, len(image_shape) - 2)
    image = data.draw(layout_of(image_shape, order))
    columns = data.draw(layout_of(columns_shape, "NCL", needed="C"))
    names: dict[str, Any] = {"layout": image, "out_layout": columns}
    window: dict[str, Any] = {k: v for k, v in unfold.keywords.items() if k != "channel_axis"}
    counts = counts_of(unfold)
    ranges = data.draw(st.sampled_from([data.draw(ranges_of(counts)), [(0, n) for n in counts]]))
    columns_shape = (*columns_shape[:2], math.prod(stop - start for start, stop in ranges))
    window["blocks"] = ranges
    row_order: Any = data.draw(st.sampled_from(["CRD", "DCR"]))

    x = place(image_shape, dtype, data).array
    result = reblock.unfold(
        arrange(x, order, image), window_sizes, **window, order=row_order, **names
    )
    y = oracle.unfold(x, window_sizes, **window, order=row_order)
    assert_same_bytes(result, arrange(y, "NCL", columns))
    assert result.shape == reblock.unfold_shape(
        arrange(x, order, image).shape, window_sizes, **window, **names
    )

    terms = small_integers(place(columns_shape, dtype, data), dtype)
    held = small_integers(place(image_shape, dtype, data), dtype)
    accumulate = data.draw(st.booleans())
    names = {"layout": columns, "out_layout": image}
    onto = held if accumulate else None
    sums = oracle.fold(terms, output_sizes, window_sizes, **window, order=row_order, onto=onto)
    expected = arrange(sums, order, image)
    out = place(expected.shape, dtype, data, out=True)
    out.array[...] = arrange(held, order, image)
    assert_writes_only_elements(
        out,
        lambda a: reblock.fold(
            arrange(terms, "NCL", columns),
            output_sizes,
            window_sizes,
            **window,
            order=row_order,
            accumulate=accumulate,
            **names,
            out=a,
        ),
    )
    assert_same_values(out.array, expected)
    del window["blocks"]
    counts_shape = (*columns_shape[:2], math.prod(counts))
    folded = reblock.fold_shape(
        arrange(np.empty(counts_shape, np.uint8), "NCL", columns).shape,
        output_sizes,
        window_sizes,
        **window,
        **names,
    )
    assert folded == expected.shape


@given(st.data(), st.sampled_from(MODES), st.sampled_from(["CRD", "DCR"]))
def test_padded_windows_move_between_any_layouts(
    data: st.DataObject, mode: Any, row_order: Any
) -> None:
    """With far pads, strides, dilations and a part of the windows."""
    unfold, fold, ranges = data.draw(padded_calls())
    output_sizes, window_sizes = fold.arguments
    image_shape, columns_shape = second(unfold)
    columns_shape = (*columns_shape[:2], math.prod(stop - start for start, stop in ranges))
    window: dict[str, Any] = {k: v for k, v in unfold.keywords.items() if k != "channel_axis"}
    unfold = replace(unfold, keywords={**window, "channel_axis": 1}, input_shape=image_shape)
    fold = replace(fold, keywords=unfold.keywords)
    dtype = data.draw(summable())
    value = data.draw(st.sampled_from([0, 1])) if mode == "constant" else 0
    order = "NC" + spatial_letters(data, len(image_shape) - 2)
    image = data.draw(layout_of(image_shape, order))
    columns = data.draw(layout_of(columns_shape, "NCL", needed="C"))
    window |= {"padding_mode": mode, "blocks": ranges, "order": row_order}
    window["threads"] = data.draw(st.sampled_from([1, 3]))

    x = place(image_shape, dtype, data).array
    found = expected_unfold(
        unfold, x, mode, ranges, row_order, dtype.type(value) if value else None
    )
    expected = arrange(found, "NCL", columns)
    out = place(expected.shape, dtype, data, out=True)
    names: dict[str, Any] = {"layout": image, "out_layout": columns, "padding_value": value}
    assert_writes_only_elements(
        out,
        lambda a: reblock.unfold(arrange(x, order, image), window_sizes, **window, **names, out=a),
    )
    if dtype.char in "gG":  # a value has bytes that belong to no number
        assert_same_values(out.array, expected)
    else:
        assert_same_bytes(out.array, expected)

    terms = small_integers(place(columns_shape, dtype, data), dtype)
    held = small_integers(place(image_shape, dtype, data), dtype)
    accumulate = data.draw(st.booleans())
    sums = expected_fold(fold, terms, mode, ranges, row_order, held if accumulate else None)
    expected = arrange(sums, order, image)
    out = place(expected.shape, dtype, data, out=True)
    out.array[...] = arrange(held, order, image)
    names = {"layout": columns, "out_layout": image, "accumulate": accumulate}
    assert_writes_only_elements(
        out,
        lambda a: reblock.fold(
            arrange(terms, "NCL", columns), output_sizes, window_sizes, **window, **names, out=a
        ),
    )
    assert_same_values(out.array, expected)


# What is left out, and what a layout is where it is not given


def test_an_image_without_a_batch() -> None:
    planes = reblock.space_to_depth(PHOTO, 2, layout="HWC")
    assert planes.shape == (2, 3, 12)
    assert np.array_equal(reblock.depth_to_space(planes, 2, layout="HWC"), PHOTO)
    assert reblock.unfold(PHOTO, 3, layout="HWC").shape == (27, 8)
    assert reblock.unfold(PHOTO, 3, layout="HWC", out_layout="NLC").shape == (1, 8, 27)


def test_an_image_of_one_channel() -> None:
    gray = PHOTO[..., 0]
    planes = reblock.space_to_depth(gray, 2, layout="HW")
    assert planes.shape == (4, 2, 3)
    assert np.array_equal(planes[1], gray[0::2, 1::2])
    back = reblock.depth_to_space(planes, 2, layout="CHW", out_layout="HW")
    assert np.array_equal(back, gray)
    assert reblock.space_to_depth(gray[None], 2, layout="NHW").shape == (1, 4, 2, 3)
    assert reblock.unfold(gray, 2, strides=2, layout="HW").shape == (4, 6)


def test_the_default_layouts_have_the_channels_first() -> None:
    nchw = PHOTO.transpose(2, 0, 1)[None]
    assert np.array_equal(
        reblock.space_to_depth(nchw[0], 2, out_layout="HWC"),
        reblock.space_to_depth(PHOTO, 2, layout="HWC"),
    )
    columns = reblock.unfold(nchw, 2, strides=2)
    assert np.array_equal(reblock.unfold(nchw, 2, strides=2, out_layout="CL"), columns[0])
    fold: dict[str, Any] = {"output_sizes": (4, 6), "window_sizes": 2, "strides": 2}
    assert np.array_equal(reblock.fold(columns[0], **fold, out_layout="HWC"), PHOTO)
    assert np.array_equal(reblock.fold(columns, **fold, out_layout="NHWC")[0], PHOTO)
    assert np.array_equal(reblock.fold(columns[0].T, **fold, layout="LC"), nchw[0])


def test_output_sizes_may_be_one_for_all_axes_that_a_layout_names() -> None:
    columns = np.ones((9, 4), np.uint8)
    assert reblock.fold(columns, 4, 3, out_layout="HW").shape == (4, 4)
    assert reblock.fold_shape((4, 9), 4, 3, layout="LC", out_layout="HWC") == (4, 4, 1)


def test_a_layout_copies_nothing() -> None:
    photo = np.zeros((256, 256, 3), np.uint8)
    out = np.empty((1, 12, 128, 128), np.uint8)
    tracemalloc.start()
    try:
        reblock.space_to_depth(photo, 2, layout="HWC", out_layout="NCHW", out=out)
        assert tracemalloc.get_traced_memory()[1] < photo.nbytes // 8
    finally:
        tracemalloc.stop()


def test_other_libraries_get_their_array_back() -> None:
    class Library:
        from_dlpack = staticmethod(np.from_dlpack)

    class Foreign:
        def __init__(self, array: Array) -> None:
            self.array = array

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __array_namespace__(self) -> type[Library]:
            return Library

    result = reblock.space_to_depth(Foreign(PHOTO), 2, layout="HWC")
    assert np.array_equal(result, reblock.space_to_depth(PHOTO, 2, layout="HWC"))  # type: ignore[arg-type]


# Errors


@pytest.mark.parametrize("operator", ["depth_to_space", "space_to_depth", "unfold", "fold"])
@pytest.mark.parametrize("argument", ["layout", "out_layout"])
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("NHWH", ValueError),
        ("nhwc", ValueError),
        ("N-HW", ValueError),
        ("", ValueError),
        ("NC", ValueError),
        ("NÄHW", ValueError),
        ("NC\ud800", ValueError),
        ("NCABDEFGHI", ValueError),
        (("N", "C", "H"), TypeError),
        (b"NCHW", TypeError),
        (1, TypeError),
    ],
)
def test_a_layout_that_is_none_is_refused(
    operator: str, argument: str, value: Any, kind: type[Exception]
) -> None:
    x = np.zeros((1, 4, 4), np.uint8)
    arguments = [(4, 4), 2] if operator == "fold" else [2]
    told = (value,) if isinstance(value, str) and value.isalpha() and value.isascii() else ()
    refuses(
        lambda: getattr(reblock, operator)(x, *arguments, **{argument: value}),
        kind,
        argument,
        *told,
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: reblock.space_to_depth(PHOTO, 2, layout="HWC", out_layout="CWH"),
            'out_layout must have the spatial letters of layout "HWC" in the same order, got "CWH"',
        ),
        (
            lambda: reblock.space_to_depth(PHOTO, 2, layout="HWC", out_layout="CHX"),
            'out_layout must have the spatial letters of layout "HWC" in the same order, got "CHX"',
        ),
        (
            lambda: reblock.space_to_depth(PHOTO, 2, layout="NHWC"),
            'x must have 4 axes for layout "NHWC", got 3: shape (4, 6, 3)',
        ),
        (
            lambda: reblock.fold(PHOTO, (4, 4), 2, out_layout="HWC"),
            'columns must have 2 axes for layout "CL", got 3: shape (4, 6, 3)',
        ),
        (
            lambda: reblock.unfold_shape((4, 6, 3), 2, layout="HW"),
            'shape must have 2 axes for layout "HW", got 3: shape (4, 6, 3)',
        ),
        (
            lambda: reblock.space_to_depth(PHOTO[..., 0], 2, layout="HW", out_layout="HW"),
            'out_layout must have the letter C for the result\'s 4 channels, got "HW"',
        ),
        (
            lambda: reblock.depth_to_space(np.zeros((8, 2, 2)), 2, layout="CHW", out_layout="HW"),
            'out_layout must have the letter C for the result\'s 2 channels, got "HW"',
        ),
        (
            lambda: reblock.unfold(np.zeros((2, 4, 4, 3)), 2, layout="NHWC", out_layout="LC"),
            'out_layout must have the letter N for the result\'s 2 items of a batch, got "LC"',
        ),
        (
            lambda: reblock.unfold(PHOTO, 2, layout="HWC", out_layout="NHC"),
            (
                "out_layout must have the letters C and L, and N for a batch, since it is that of"
                ' columns, got "NHC"'
            ),
        ),
        (
            lambda: reblock.fold(np.zeros((4, 9)), (4, 4), 2, layout="L"),
            (
                "layout must have the letters C and L, and N for a batch, since it is that of"
                ' columns, got "L"'
            ),
        ),
        (
            lambda: reblock.fold(np.zeros((4, 9)), (4, 4, 4), 2, out_layout="HW"),
            (
                "output_sizes must be one value, or one for each of the 2 spatial axes of"
                ' out_layout "HW", got 3: (4, 4, 4)'
            ),
        ),
        (
            lambda: reblock.depth_to_space(PHOTO, 2, layout="HWC"),
            (
                "x (as NCHW) has 3 channels (axis 1 of shape (1, 3, 4, 6)), which block_size 2 does"
                " not divide: a multiple of 4 is needed"
            ),
        ),
        (
            lambda: reblock.unfold(PHOTO, 2, layout="HWC", channel_axis=-1),
            (
                "channel_axis must not be given beside a layout, which tells it, got -1 and"
                ' "HWC" to "CL"'
            ),
        ),
        (
            lambda: reblock.space_to_depth(PHOTO, 2, layout="HWC", channel_axis=1),
            'channel_axis must not be given beside a layout, which tells it, got 1 and "HWC"',
        ),
        (
            lambda: reblock.fold_shape((4, 9), 4, 2, out_layout="HW", channel_axis=1),
            (
                "channel_axis must not be given beside a layout, which tells it, got 1 and"
                ' "CL" to "HW"'
            ),
        ),
    ],
)
def test_layouts_that_do_not_fit_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_an_error_writes_nothing() -> None:
    out = np.full((1, 12, 2, 3), 7, np.uint8)
    refuses(
        lambda: reblock.space_to_depth(PHOTO, 2, layout="HWC", out_layout="CHW", out=out),
        ValueError,
        "out",
        (12, 2, 3),
        untouched=[out],
    )
