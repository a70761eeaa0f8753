# SPDX-License-Identifier: BSD-3-Clause
"""dtype, scale and bias: elements are converted while they move."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reblock
from checks import assert_same_bytes, assert_same_values, assert_writes_only_elements
from layouts import allocate, in_one_buffer, layouts
from oracle import Array
from patterns import Use, patterns
from patterns import factors as pattern_factors

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
CONVERTIBLE = [np.dtype(c) for c in "?bBhHiIqQefd"] + [BFLOAT16]
MODES = ["constant", "constant", "edge", "reflect", "symmetric", "wrap"]
FAST = [np.dtype(c) for c in "BbHhefd"] + [BFLOAT16]

PHOTO = np.arange(2 * 6 * 4 * 3, dtype=np.uint8).reshape(2, 6, 4, 3)
IMAGES = PHOTO.transpose(0, 3, 1, 2)  # (2, 3, 6, 4)


# The definition


def arithmetic(source: np.dtype[Any], target: np.dtype[Any]) -> type[Any]:
    """Return the type in which scale and bias are applied."""
    wide = [
        (d.kind == "f" and d.itemsize == 8) or (d.kind in "iu" and d.itemsize >= 4)
        for d in (source, target)
    ]
    return np.float64 if any(wide) else np.float32


def cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """Round to nearest even once; to integers saturate, with 0 for NaN."""
    if dtype.kind == "b":
        return np.asarray(values != 0)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        rounded = np.rint(np.where(np.isnan(values), 0, values)).astype(np.float64)
        result = np.zeros(values.shape, dtype)
        low, high = rounded <= limits.min, rounded >= limits.max
        result[low], result[high] = limits.min, limits.max
        between = ~low & ~high
        result[between] = rounded[between].astype(dtype)
        return result
    if dtype == BFLOAT16 and values.dtype == np.float64:  # NumPy would round twice
        nearest = values.astype(np.float32)
        back = nearest.astype(np.float64)
        bits = nearest.view(np.uint32) - (np.abs(back) > np.abs(values)).astype(np.uint32)
        inexact = (back != values) & ~np.isnan(values)
        values = (bits | inexact.astype(np.uint32)).view(np.float32)
    return values.astype(dtype)


def converted(x: Array, dtype: Any, scale: Any = None, bias: Any = None) -> Array:
    """Return cast(x * scale + bias), by NumPy. Factors broadcast."""
    target = np.dtype(dtype)
    with np.errstate(all="ignore"):
        whole = x.dtype.kind in "biu"
        if scale is None and bias is None and whole:
            # Integers up to 2**53 and bool have no rounding but the one of the cast.
            return x.astype(target)
        kind = arithmetic(x.dtype, target)
        values = np.array(x).astype(x.dtype.newbyteorder("=")).astype(kind)
        if scale is not None:
            values = values * np.asarray(scale, np.float64).astype(kind)
        if bias is not None:
            values = values + np.asarray(bias, np.float64).astype(kind)
        return np.asarray(cast(np.asarray(values), target.newbyteorder("="))).astype(target)


def values_of(shape: tuple[int, ...], dtype: np.dtype[Any], layout: Any, seed: int) -> Array:
    """Make an array with any bytes as integers, and any magnitudes as floating point."""
    memory = allocate(shape, dtype, layout, seed=seed)
    x = memory.array
    random = np.random.default_rng(seed)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        most = 2**53  # what double holds
        x[...] = random.integers(
            max(limits.min, -most), min(int(limits.max), most), shape, endpoint=True, dtype=np.int64
        ).astype(dtype)
    elif dtype.kind == "b":
        x[...] = random.integers(0, 2, shape).astype(bool)
    else:
        exponents = random.uniform(-12, 12, shape)
        values = random.standard_normal(shape) * 10**exponents
        special = random.integers(0, 40, shape)
        values = np.where(special == 0, np.nan, np.where(special == 1, np.inf, values))
        with np.errstate(all="ignore"):
            x[...] = values.astype(dtype)
    return x


def factors(count: int) -> st.SearchStrategy[Any]:
    """Draw a scale or a bias: none, a number, or a number for each channel."""
    numbers = st.floats(-300, 300, width=32).map(lambda v: round(v * 16) / 16 / 7)
    return st.one_of(st.none(), numbers, st.lists(numbers, min_size=count, max_size=count))


def along(factor: Any, axis: int, ndim: int) -> Any:
    """Give a factor of the channels the shape that broadcasts along `axis`."""
    if not isinstance(factor, list):
        return factor
    shape = [1] * ndim
    shape[axis] = len(factor)
    return np.reshape(factor, shape)


dtypes = st.sampled_from(FAST) | st.sampled_from(CONVERTIBLE)
orders: st.SearchStrategy[Any] = st.sampled_from(["=", ">"])


@st.composite
def drawn_dtypes(draw: st.DrawFn) -> np.dtype[Any]:
    dtype: np.dtype[Any] = draw(dtypes)
    return dtype if dtype == BFLOAT16 else dtype.newbyteorder(draw(orders))


# The operators


@given(data=st.data())
def test_space_to_depth_and_depth_to_space(data: st.DataObject) -> None:
    source, target = data.draw(drawn_dtypes()), data.draw(drawn_dtypes())
    block = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    c = data.draw(st.integers(1, 5))
    h, w = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 40)))
    channel_axis = data.draw(st.sampled_from([1, 3]))
    order = data.draw(st.sampled_from(["DCR", "CRD"]))
    scale, bias = data.draw(factors(c)), data.draw(factors(c))
    options: dict[str, Any] = {"order": order, "channel_axis": channel_axis}

    def shape(channels: int, height: int, width: int) -> tuple[int, ...]:
        return (2, channels, height, width) if channel_axis == 1 else (2, height, width, channels)

    def converted_space(space: Array) -> Array:
        axis = channel_axis
        return converted(space, target, along(scale, axis, 4), along(bias, axis, 4))

    conversion = {"dtype": target, "scale": scale, "bias": bias}
    space_shape = shape(c, h * block[0], w * block[1])
    layout = data.draw(layouts(4, source.itemsize))
    space = values_of(space_shape, source, layout, data.draw(st.integers(0, 99)))
    expected = reblock.space_to_depth(converted_space(space), block, **options)
    assert_same_values(reblock.space_to_depth(space, block, **options, **conversion), expected)
    depth = reblock.space_to_depth(space, block, **options)
    assert_same_values(
        reblock.depth_to_space(depth, block, **options, **conversion), converted_space(space)
    )


def pair(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high))


@given(data=st.data())
def test_unfold_with_any_padding(data: st.DataObject) -> None:
    source, target = data.draw(drawn_dtypes()), data.draw(drawn_dtypes())
    c = data.draw(st.integers(1, 4))
    shape = (
        data.draw(st.integers(1, 2)),
        c,
        data.draw(st.integers(1, 9)),
        data.draw(st.integers(1, 40)),
    )
    window: dict[str, Any] = {
        "window_sizes": data.draw(pair(1, 5)),
        "strides": data.draw(pair(1, 5)),
        "dilations": data.draw(pair(1, 3)),
        "start_padding": data.draw(pair(0, 6)),
        "end_padding": data.draw(pair(0, 14)),
        "padding_mode": data.draw(st.sampled_from(MODES)),
        "order": data.draw(st.sampled_from(["DCR", "CRD"])),
    }
    if window["padding_mode"] == "constant":
        window["padding_value"] = data.draw(st.sampled_from([0, 0, 1]))
    beside = {"order", "padding_value"}
    try:
        reblock.unfold_shape(shape, **{k: v for k, v in window.items() if k not in beside})
    except ValueError:
        return
    x = values_of(
        shape, source, data.draw(layouts(4, source.itemsize)), data.draw(st.integers(0, 99))
    )
    scale, bias = data.draw(factors(c)), data.draw(factors(c))
    layout = data.draw(st.sampled_from(["NCL", "NLC"]))
    expected = reblock.unfold(
        converted(x, target, along(scale, 1, 4), along(bias, 1, 4)),
        **window,
        out_layout=layout,
        layout="NCHW",
    )
    result = reblock.unfold(
        x, **window, out_layout=layout, layout="NCHW", dtype=target, scale=scale, bias=bias
    )
    assert_same_values(result, expected)


@pytest.mark.parametrize("use", ["rearrange", "repeat"])
@given(data=st.data())
def test_patterns(use: Use, data: st.DataObject) -> None:
    source, target = data.draw(drawn_dtypes()), data.draw(drawn_dtypes())
    pattern = data.draw(patterns(use))
    x = values_of(
        pattern.input_shape,
        source,
        data.draw(layouts(len(pattern.input_shape), source.itemsize)),
        data.draw(st.integers(0, 99)),
    )
    scale, scales = data.draw(pattern_factors(pattern))
    bias, biases = data.draw(pattern_factors(pattern))
    expected = converted(pattern.oracle(x), target, scales, biases)
    assert_same_values(pattern(x, dtype=target, scale=scale, bias=bias), expected)
    backwards = [data.draw(st.booleans()) for _ in expected.shape]
    steps: Any = (*(slice(None, None, -1 if b else 1) for b in backwards), ...)
    out: Any = np.zeros(expected.shape, target)[steps]
    assert_same_values(pattern(x, dtype=target, scale=scale, bias=bias, out=out), expected)


@pytest.mark.parametrize("channels", [3, 8, 9, 40])
@pytest.mark.parametrize("steps", [(1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("factors", ["scale", "bias", "both"])
def test_channels_in_reverse_have_their_own_factors(
    channels: int, steps: tuple[int, int], factors: str
) -> None:
    """As pictures whose blue comes first, and results of the same kind."""
    x = np.random.default_rng(0).integers(0, 256, (9, 31, channels), np.uint8)[..., :: steps[0]]
    scale = np.arange(channels) / 4 + 1 if factors != "bias" else np.float64(0.5)
    bias = np.arange(channels)[::-1] - 3.0 if factors != "scale" else np.float64(2)
    out = np.zeros((channels, 9, 31), np.float32)[:: steps[1]]
    keywords: dict[str, Any] = {
        name: {"c": value} if value.ndim else float(value)
        for name, value in (("scale", scale), ("bias", bias))
    }
    reblock.rearrange(x, "h w c -> c h w", dtype=np.float32, out=out, **keywords)
    assert_same_values(out, converted(x, np.float32, scale, bias).transpose(2, 0, 1))


@given(data=st.data())
def test_out_may_have_any_layout_and_share_memory_with_x(data: st.DataObject) -> None:
    pattern = data.draw(patterns("rearrange", most_axes=6))
    dtype: np.dtype[Any] = np.dtype(data.draw(st.sampled_from(["u1", ">i2", "i4"])))
    source, target = data.draw(in_one_buffer(pattern.input_shape, pattern.output_shape, dtype))
    expected = converted(pattern.oracle(source.array), dtype, 0.5, 3)
    assert_writes_only_elements(
        target, lambda out: pattern(source.array, out=out, scale=0.5, bias=3)
    )
    assert_same_bytes(np.asarray(target.array), expected)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_a_conversion(threads: int) -> None:
    x = np.random.default_rng(0).integers(0, 256, (3, 130, 140, 3), np.uint8)
    options: dict[str, Any] = {"dtype": np.float32, "scale": [1 / 255, 0.5, 3], "bias": 0.25}
    expected = converted(x, np.float32, options["scale"], 0.25)
    result = reblock.unfold(
        x,
        10,
        strides=10,
        end_padding=5,
        layout="NHWC",
        out_layout="NLC",
        threads=threads,
        **options,
    )
    assert_same_bytes(
        result,
        reblock.unfold(expected, 10, strides=10, end_padding=5, layout="NHWC", out_layout="NLC"),
    )


def test_many_channels_that_are_innermost() -> None:
    """More of them than a table of factors has, and groups of a few elements each."""
    x = np.random.default_rng(0).integers(0, 256, (1, 700, 4, 6), np.uint8)
    scale = np.arange(700) / 16
    for order in ("DCR", "CRD"):
        expected = reblock.space_to_depth(
            converted(x, np.float32, scale.reshape(1, -1, 1, 1)),
            2,
            order=order,
            layout="NCHW",
            out_layout="NHWC",
        )
        result = reblock.space_to_depth(
            x, 2, order=order, layout="NCHW", out_layout="NHWC", dtype="float32", scale=scale
        )
        assert_same_bytes(result, expected)


def test_a_result_without_elements() -> None:
    x = np.zeros((0, 3, 4, 4), np.uint8)
    assert reblock.space_to_depth(x, 2, dtype=np.float32, scale=2).shape == (0, 12, 2, 2)
    assert reblock.rearrange(x, "n c h w -> c (n h w)", dtype=np.float32).dtype == np.float32


# Arguments


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (np.float32, np.float32),
        ("float16", np.float16),
        ("bfloat16", BFLOAT16),
        (reblock.DataType.INT16, np.int16),
        (np.dtype(">f4"), ">f4"),
        (float, np.float64),
        (bool, bool),
    ],
)
def test_dtype_is_what_numpy_takes_for_one(dtype: Any, expected: Any) -> None:
    assert reblock.space_to_depth(IMAGES, 2, dtype=dtype).dtype == np.dtype(expected)


def test_without_a_dtype_the_result_has_that_of_x() -> None:
    result = reblock.space_to_depth(IMAGES, 2, scale=3)
    assert_same_bytes(
        result, reblock.space_to_depth(np.minimum(IMAGES * np.int32(3), 255).astype(np.uint8), 2)
    )


@pytest.mark.parametrize("dtype", ["c8", "V5", "S3", "M8[s]", [("a", "u1")], "c16"])
def test_a_dtype_that_cannot_be_converted(dtype: Any) -> None:
    x = np.zeros((1, 4, 2, 2), dtype)
    text = "x must have a dtype that can be converted (bool, integer or floating point"
    with pytest.raises(TypeError, match=re.escape(text)):
        reblock.depth_to_space(x, 2, dtype=np.float32)
    with pytest.raises(
        TypeError,
        match=re.escape("dtype must be bool, integer or floating point of up to 64 bits, got "),
    ):
        reblock.depth_to_space(IMAGES.repeat(4, 1), 2, dtype=dtype)
    assert reblock.depth_to_space(x, 2, dtype=dtype).dtype == x.dtype  # it is moved


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"dtype": "float31"},
            TypeError,
            "dtype must be a dtype or the name of one, got 'float31'",
        ),
        ({"dtype": 3}, TypeError, "dtype must be a dtype or the name of one, got 3"),
        (
            {"scale": [1, 2]},
            ValueError,
            "scale must be a number, or one for each of the 3 channels, got 2",
        ),
        (
            {"bias": []},
            ValueError,
            "bias must be a number, or one for each of the 3 channels, got 0",
        ),
        (
            {"bias": [1]},
            ValueError,
            "bias must be a number, or one for each of the 3 channels, got 1",
        ),
        (
            {"scale": "2"},
            TypeError,
            "scale must be a number, or a sequence with one for each channel, got '2'",
        ),
        (
            {"scale": {"c": 1}},
            TypeError,
            "scale must be a number, or a sequence with one for each channel, got ",
        ),
        (
            {"scale": 1j},
            TypeError,
            "scale must be a number, or a sequence with one for each channel, got ",
        ),
        ({"scale": [[1, 2, 3]]}, ValueError, "got an array of shape (1, 3)"),
        (
            {"scale": [1, None, 3]},
            TypeError,
            "scale must be a number, or a sequence with one for each channel, got [1, None, 3]",
        ),
        (
            {"bias": [[1], [2, 3]]},
            TypeError,
            "bias must be a number, or a sequence with one for each channel, got [[1], [2, 3]]",
        ),
        ({"scale": 10**400}, ValueError, "scale must be in the range of float64, got 1000000"),
        ({"bias": [1, 2, -(10**400)]}, ValueError, "bias must be in the range of float64, got -1"),
        ({"scale": np.inf}, ValueError, "scale must be finite, got inf"),
        ({"bias": [1, 2, np.nan]}, ValueError, "bias must be finite, got nan"),
        (
            {"dtype": np.float32, "out": np.zeros((2, 12, 3, 2), np.uint8)},
            TypeError,
            "out must have dtype float32, got uint8",
        ),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        reblock.space_to_depth(IMAGES, 2, **arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"scale": [1, 2, 3]},
            TypeError,
            "scale must be a number, or {name of an axis: numbers}, got ",
        ),
        (
            {"scale": {"d": [1]}},
            ValueError,
            "scale must have the name of an axis of pattern 'n h w c -> n c h w', got 'd'",
        ),
        (
            {"bias": {"c": [1, 2]}},
            ValueError,
            "bias must have one number for each of the 3 along axis 'c' of pattern 'n h w c -> ",
        ),
        ({"bias": {"c": [1] * 3, "h": 1}}, ValueError, "bias must have one axis, got 2"),
        (
            {"scale": {"c": None}},
            TypeError,
            "scale must be a number, or {name of an axis: numbers}, got {'c': None} (dict)",
        ),
        (
            {"scale": {"c": {"h": 1}}},
            TypeError,
            "scale must be a number, or {name of an axis: numbers}, got {'c': {'h': 1}} (dict)",
        ),
        (
            {"bias": {3: [1]}},
            TypeError,
            "bias must be a number, or {name of an axis: numbers}, got ",
        ),
    ],
)
def test_wrong_arguments_of_patterns(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        reblock.rearrange(PHOTO, "n h w c -> n c h w", **arguments)


def test_numbers_of_any_kind() -> None:
    expected = reblock.space_to_depth(IMAGES, 2, dtype=np.float32, scale=[1.0, 2.0, 3.0])
    misaligned = np.frombuffer(b"?" + np.array([1.0, 2, 3]).tobytes(), np.uint8)[1:]
    for scale in (
        np.array([1.0, 0, 2, 0, 3])[::2],
        np.array([3.0, 2, 1])[::-1],
        np.array([1.0, 2, 3]).astype(">f8"),
        misaligned.view(np.float64),
        (1, 2, 3),
        np.array([1, 2, 3], np.uint8),
        np.array([1, 2, 3], BFLOAT16),
        range(1, 4),
    ):
        assert_same_bytes(
            reblock.space_to_depth(IMAGES, 2, dtype=np.float32, scale=scale), expected
        )
    expected = reblock.space_to_depth(IMAGES, 2, dtype=np.float32, scale=2.0)
    for number in (2, np.float16(2), np.array(2), np.int64(2)):
        assert_same_bytes(
            reblock.space_to_depth(IMAGES, 2, dtype=np.float32, scale=number), expected
        )
    large = reblock.rearrange(PHOTO, "n h w c -> n c h w", dtype=np.float64, scale=10**30)
    assert_same_bytes(large, PHOTO.transpose(0, 3, 1, 2) * 1e30)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("astype", "did you mean dtype= (astype in NumPy)?"),
        ("mean", "did you mean bias= (mean in torchvision: -mean / std)?"),
        ("std", "did you mean scale= (std in torchvision: 1 / std)?"),
        ("scalefactor", "did you mean scale= (scalefactor in OpenCV)?"),
    ],
)
def test_words_of_other_libraries(word: str, message: str) -> None:
    arguments: dict[str, Any] = {word: 1}
    with pytest.raises(TypeError, match=re.escape(message)):
        reblock.space_to_depth(IMAGES, 2, **arguments)


def test_a_padding_value_is_one_of_the_result() -> None:
    x = PHOTO[0, :, :, :1].transpose(2, 0, 1)[np.newaxis]
    window: dict[str, Any] = {"start_padding": 1, "padding_value": 0.5}
    result = reblock.unfold(x, 2, dtype=np.float32, scale=2, **window)
    assert_same_bytes(result, reblock.unfold(x * np.float32(2), 2, **window))
