# SPDX-License-Identifier: BSD-3-Clause
"""--dtype, --scale and --bias of the command."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from PIL import Image

import reblock
from commands import assert_refused, in_pieces, names, noise, run
from patterns import Pattern, factors, patterns
from reblock import _convert

FLOAT32 = np.dtype("float32")
TO_FLOAT = ("--dtype", "float32", "--scale", "1/255,0.5,2", "--bias", "-1,0,1e1")
CONVERSION = _convert.Conversion(FLOAT32, [1 / 255, 0.5, 2.0], [-1.0, 0.0, 10.0])
KEYWORDS: dict[str, Any] = CONVERSION._asdict()


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.fromarray(noise(6, 8, 3)).save(path)
    return path


@pytest.mark.parametrize("order", ["DCR", "CRD"])
def test_pieces_of_channels_have_their_own_factors(order: Any) -> None:
    x = noise(2, 3, 6, 8)
    axes = _convert.Axes()
    window = _convert.Window((2, 3), 1, 1, 1, 0)
    for padding in (_convert.Padding("constant", 0.5), _convert.Padding("reflect")):
        work = _convert.unfold(window, order, axes, x.shape, padding=padding, conversion=CONVERSION)
        arguments: dict[str, Any] = {**window._asdict(), **padding._asdict(), **KEYWORDS}
        expected = reblock.unfold(x, **arguments, order=order)
        assert np.array_equal(in_pieces(work, x), expected)

    work = _convert.depth_space("space_to_depth", 2, order, axes, x.shape, conversion=CONVERSION)
    expected = reblock.space_to_depth(x, 2, order=order, **KEYWORDS)
    assert np.array_equal(in_pieces(work, x), expected)
    depth = reblock.space_to_depth(x, 2, order=order)
    back = partial(_convert.depth_space, "depth_to_space", 2, order, axes, conversion=CONVERSION)
    expected = reblock.depth_to_space(depth, 2, order=order, **KEYWORDS)
    assert np.array_equal(in_pieces(back(depth.shape), depth), expected)


@given(st.one_of(patterns("rearrange"), patterns("repeat")), st.data())
def test_pieces_of_a_pattern_have_their_own_factors(pattern: Pattern, data: st.DataObject) -> None:
    x = noise(*pattern.input_shape, dtype=np.uint16)
    scale, _ = data.draw(factors(pattern))
    bias, _ = data.draw(factors(pattern))
    conversion = _convert.Conversion(FLOAT32, scale, bias)
    work = _convert.rearrange(
        pattern.use, pattern.text, pattern.axes_lengths, x.shape, conversion=conversion
    )
    assert np.array_equal(in_pieces(work, x), pattern(x, **conversion._asdict()))


@pytest.mark.parametrize(
    ("operator", "options", "parameters"),
    [
        ("space-to-depth", ("--block-size", 2), {"block_size": 2}),
        ("unfold", ("--window-sizes", 2), {"window_sizes": 2}),
        (
            "unfold",
            ("--window-sizes", 3, "--start-padding", 1, "--padding-value", 0.5),
            {"window_sizes": 3, "start_padding": 1, "padding_value": 0.5},
        ),
    ],
)
def test_a_photo_becomes_numbers_for_a_network(
    operator: str, options: tuple[object, ...], parameters: dict[str, Any], photo: Path
) -> None:
    out = photo.with_name("out.npy")
    result = run(operator, photo, out, *options, *TO_FLOAT, "--layout", "HWC")
    function = getattr(reblock, operator.replace("-", "_"))
    expected = function(noise(6, 8, 3), **parameters, **KEYWORDS, layout="HWC")
    assert result.stdout == f"{out}: {expected.shape}, float32\n"
    written = np.load(out)
    assert written.dtype == FLOAT32
    assert np.array_equal(written, expected)


def test_numbers_become_a_photo_again(photo: Path, tmp_path: Path) -> None:
    planes, again = tmp_path / "planes.npy", tmp_path / "again.png"
    block = ("--block-size", 2, "--layout", "HWC")
    run("space-to-depth", photo, planes, *block, "--dtype", "float32", "--scale", "1/255")
    result = run("depth-to-space", planes, again, *block, "--dtype", "uint8", "--scale", 255)
    assert result.stdout == f"{again}: (6, 8, 3), uint8\n"
    with Image.open(again) as image:
        assert np.array_equal(np.asarray(image), noise(6, 8, 3))


def test_numbers_of_an_axis_of_a_pattern(photo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    options = ("--dtype", "float16", "--scale", "c=1/255,0.5,2", "--bias", "-1")
    result = run("rearrange", photo, out, "(h p) w c -> h (p w) c", "p=2", *options)
    assert result.stdout == f"{out}: (3, 16, 3), float16\n"
    expected = reblock.rearrange(
        noise(6, 8, 3),
        "(h p) w c -> h (p w) c",
        p=2,
        dtype="float16",
        scale={"c": [1 / 255, 0.5, 2]},
        bias=-1,
    )
    assert np.array_equal(np.load(out), expected)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--scale", "1,2"), "--scale must be a number, or one for each of the 3 channels, got 2"),
        (
            ("--dtype", "longdouble"),
            "--dtype must be bool, integer or floating point of up to 64 bits, got float128",
        ),
    ],
)
def test_what_the_operators_refuse(options: tuple[str, ...], why: str, photo: Path) -> None:
    result = run("unfold", photo, photo.with_name("out.npy"), "--window-sizes", 2, *options)
    assert_refused(result, f"cannot use {photo}: {why}")
    assert names(photo.parent) == {"photo.png"}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            ("--scale", "h=1,2"),
            "--scale must have one number for each of the 6 along axis 'h' of "
            + "pattern 'h w c -> c h w', got 2",
        ),
        (
            ("--bias", "d=1,2"),
            "--bias must have the name of an axis of pattern 'h w c -> c h w', got 'd'",
        ),
    ],
)
def test_what_patterns_refuse(options: tuple[str, ...], why: str, photo: Path) -> None:
    result = run("rearrange", photo, photo.with_name("out.npy"), "h w c -> c h w", *options)
    assert_refused(result, f"cannot use {photo}: {why}")
    assert names(photo.parent) == {"photo.png"}


@pytest.mark.parametrize("option", ["--scale", "--bias"])
@pytest.mark.parametrize("text", ["", "1,", "1/0", "nan", "1e999", "c=", "2=1", "a-b=1", "red"])
def test_what_is_no_number(option: str, text: str, photo: Path) -> None:
    out = photo.with_name("out.npy")
    result = run("unfold", photo, out, "--window-sizes", 2, option, text)
    assert result.exit_code == 2
    assert f"'{text}' is not like 1/255 or 0.5,1,2" in result.stderr
    result = run("rearrange", photo, out, "h w c -> c h w", option, text)
    assert result.exit_code == 2
    assert "is not like 1/255 or " in result.stderr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *[(text, "is not like float32 or uint8") for text in ("float31", "complex64", "S3")],
        ("object", "is not like float32 or uint8"),
        ("bfloat16", "a .npy file cannot hold 'bfloat16': take float32 or float16"),
    ],
)
def test_what_is_no_dtype(
    text: str, why: str, photo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for use in ("rearrange", "repeat"):
        result = run(use, photo, photo.with_name("out.npy"), "h w c -> c h w", "--dtype", text)
        assert result.exit_code == 2
        assert f"'{text}'" in result.stderr
        assert why in result.stderr
