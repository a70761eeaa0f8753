# SPDX-License-Identifier: BSD-3-Clause
"""The `reblock` command: `info`, `explain`, and the operators from file to file."""

from __future__ import annotations

import errno
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from PIL import Image
from typer.testing import CliRunner, Result

import oracle
import reblock
from patterns import Pattern, patterns
from reblock import _cli, _convert

COMMAND = (sys.executable, "-m", "reblock")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(_cli.app, [str(argument) for argument in arguments])


def assert_refused(result: Result, line: str) -> None:
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"reblock: {line}\n"


def noise(*shape: int, dtype: Any = np.uint8) -> oracle.Array:
    return np.random.default_rng(0).integers(0, 256, shape).astype(dtype)


def names(directory: Path) -> set[str]:
    """Return what lies in a directory, hidden files too."""
    return {path.name for path in directory.iterdir()}


@pytest.fixture
def array(tmp_path: Path) -> Path:
    path = tmp_path / "in.npy"
    np.save(path, noise(2, 4, 3, 5))
    return path


# info


def test_info() -> None:
    result = run("info")
    assert result.exit_code == 0
    assert f"reblock {reblock.__version__}\n" in result.stdout
    assert f"threads: {reblock.get_num_threads()}" in result.stdout
    assert re.search(
        r"^cli: pillow [\d.]+, rich [\d.]+, typer [\d.]+$", result.stdout, re.MULTILINE
    )
    assert "pytest" not in result.stdout


def test_info_tells_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    requirements = ["numpy>=2", 'nowhere-to-be-found; extra == "away"', 'pytest; extra == "test"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _: requirements)
    assert run("info").stdout.endswith("\naway: nowhere-to-be-found is not installed\n")


# explain


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (
            "depth-to-space",
            "depth_to_space(x, block_size=2, order='DCR'): (1, 8, 2, 2) -> (1, 2, 4, 4)",
        ),
        (
            "depth-to-space --block-size 1,2,2 --order crd --channel-axis -1",
            "depth_to_space(x, block_size=(1, 2, 2), order='CRD', channel_axis=-1): "
            + "(1, 2, 2, 2, 8) -> (1, 2, 4, 4, 2)",
        ),
        (
            "depth-to-space --shape 1,4,2,3 --block-size 2,1",
            "depth_to_space(x, block_size=(2, 1), order='DCR'): (1, 4, 2, 3) -> (1, 2, 4, 3)",
        ),
        (
            "space-to-depth --block-size 3",
            "space_to_depth(x, block_size=3, order='DCR'): (1, 2, 6, 6) -> (1, 18, 2, 2)",
        ),
        ("unfold", "unfold(x, window_sizes=3): (1, 1, 5, 5) -> (1, 9, 9)"),
        (
            "unfold --shape 2,9,1 --window-sizes 4 --strides 2 --dilations 2 "
            + "--start-padding 1 --end-padding 3 --channel-axis 2",
            "unfold(x, window_sizes=4, strides=2, dilations=2, start_padding=1, end_padding=3, "
            + "channel_axis=2): (2, 9, 1) -> (2, 4, 4)",
        ),
        (
            "fold --window-sizes 2,1",
            "fold(columns, output_sizes=(4, 3), window_sizes=(2, 1)): (1, 2, 9) -> (1, 1, 4, 3)",
        ),
        (
            "fold --shape 1,9,4 --output-sizes 4",
            "fold(columns, output_sizes=(4, 4), window_sizes=3): (1, 9, 4) -> (1, 1, 4, 4)",
        ),
    ],
)
def test_explain(arguments: str, title: str) -> None:
    result = run("explain", *arguments.split())
    assert (result.exit_code, result.stderr) == (0, "")
    said, _, _ = result.stdout.partition("\n\n")
    assert " ".join(said.split()) == title


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (["h w -> w h"], "rearrange(x, 'h w -> w h', h=2, w=2): (2, 2) -> (2, 2)"),
        (
            ["(h p) 1 -> p h 1", "p=3"],
            "rearrange(x, '(h p) 1 -> p h 1', p=3, h=2): (6, 1) -> (3, 2, 1)",
        ),
        (
            ["a ... -> ... a", "--shape", "2,3,4"],
            "rearrange(x, 'a ... -> ... a'): (2, 3, 4) -> (3, 4, 2)",
        ),
    ],
)
def test_explain_of_a_pattern(arguments: list[str], title: str) -> None:
    result = run("explain", "rearrange", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    said, _, _ = result.stdout.partition("\n\n")
    assert " ".join(said.split()) == title


def test_explain_prints_the_explanation() -> None:
    printed = run("explain", "depth-to-space", "--shape", "1,4,2,2", "--order", "CRD").stdout
    expected = reblock.explain("depth_to_space", (1, 4, 2, 2), 2, order="CRD")
    assert [line.rstrip() for line in printed.splitlines()] == str(expected).splitlines()


def test_explain_draws_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "map.png"
    result = run("explain", "unfold", "--shape", "1,1,4,4", "--save", picture)
    assert result.stdout.endswith(f"picture: {picture}\n")
    expected = reblock.explain("unfold", (1, 1, 4, 4), 3).image()
    with Image.open(picture) as drawn:
        assert np.array_equal(np.asarray(drawn), np.asarray(expected))


def test_explain_refuses(tmp_path: Path) -> None:
    assert_refused(
        run("explain", "depth-to-space", "--shape", "1,5,2,2"),
        "shape has 5 channels (axis 1 of shape (1, 5, 2, 2)), which --block-size 2 does not divide:"
        " a multiple of 4 is needed",
    )
    result = run("explain", "unfold", "--save", tmp_path / "map.odd")
    line = f"reblock: cannot write {tmp_path / 'map.odd'}: unknown file extension: .odd\n"
    assert (result.exit_code, result.stderr) == (2, line)
    assert "'3,x' is not like 2 or 2,3" in run("explain", "unfold", "--window-sizes", "3,x").stderr


# The operators from file to file


WindowCase = tuple[tuple[int, ...], list[int], dict[str, Any], int]


@st.composite
def cases(draw: st.DrawFn) -> WindowCase:
    """Draw the shape of an image, its sizes, a window that fits it, a channel axis."""
    axes = draw(st.integers(1, 3))

    def per_axis(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=axes, max_size=axes))

    window = {
        "window_sizes": per_axis(1, 3),
        "strides": per_axis(1, 4),
        "dilations": per_axis(1, 3),
        "start_padding": per_axis(0, 6),
        "end_padding": per_axis(0, 6),
    }
    sizes = [
        max(size, dilation * (extent - 1) + 1 - start - end)
        for size, extent, _, dilation, start, end in zip(
            per_axis(0, 7), *window.values(), strict=True
        )
    ]
    channel_axis = draw(st.integers(1, axes + 1)) - draw(st.sampled_from((0, axes + 2)))
    batch, channels = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    shape = oracle.channels_at((batch, channels, *sizes), channel_axis)
    return shape, sizes, window, channel_axis


def in_pieces(work: _convert.Work, x: oracle.Array) -> oracle.Array:
    """Return what the work makes of the array, in pieces of a few bytes."""
    result = np.full(work.shape, 7, x.dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_convert, "PIECE", 64)
        _convert.run(work, x, result)
    return result


@given(cases(), st.sampled_from(("DCR", "CRD")))
def test_pieces_make_the_whole(case: WindowCase, order: Any) -> None:
    shape, sizes, parameters, axis = case
    window = _convert.Window(**parameters)
    axes = _convert.Axes(axis)
    x = noise(*shape, dtype=np.int16)
    columns = reblock.unfold(x, **parameters, order=order, channel_axis=axis)
    assert np.array_equal(in_pieces(_convert.unfold(window, order, axes, shape), x), columns)
    folded = reblock.fold(columns, sizes, **parameters, order=order, channel_axis=axis)
    work = _convert.fold(sizes, window, order, axes, columns.shape)
    assert np.array_equal(in_pieces(work, columns), folded)

    block = parameters["window_sizes"]
    space_sizes = [size * extent for size, extent in zip(sizes, block, strict=True)]
    space = noise(*oracle.channels_at((shape[0], shape[axis], *space_sizes), axis))
    depth = reblock.space_to_depth(space, block, order=order, channel_axis=axis)
    there = _convert.depth_space("space_to_depth", block, order, axes, space.shape)
    back = _convert.depth_space("depth_to_space", block, order, axes, depth.shape)
    assert np.array_equal(in_pieces(there, space), depth)
    assert np.array_equal(in_pieces(back, depth), space)


@given(cases(), st.sampled_from(("DCR", "CRD")), st.data())
def test_pieces_of_any_layout_make_the_whole(
    case: WindowCase, order: Any, data: st.DataObject
) -> None:
    shape, sizes, parameters, axis = case
    window = _convert.Window(**parameters)
    shape = oracle.channels_second(shape, axis)
    batch, channels = data.draw(st.sampled_from([shape[:2], (1, shape[1]), (shape[0], 1), (1, 1)]))
    in_order = "NC" + "ZYX"[: len(sizes)]

    def image() -> str:
        letters = data.draw(st.permutations(in_order))
        left_out = {n for n, extent in zip("NC", (batch, channels), strict=True) if extent == 1}
        spatial = iter(in_order[2:])
        kept = [n if n in "NC" else next(spatial) for n in letters]
        return "".join(n for n in kept if n not in data.draw(st.sampled_from([left_out, set()])))

    layout, columns_layout = image(), "".join(data.draw(st.permutations("CL")))
    if batch != 1 or "N" in layout:
        columns_layout = "N" + columns_layout
    x = oracle.arrange(noise(batch, channels, *sizes, dtype=np.int16), in_order, layout)
    axes = _convert.Axes(1, layout, columns_layout)
    columns = reblock.unfold(x, **parameters, order=order, layout=layout, out_layout=columns_layout)
    assert np.array_equal(in_pieces(_convert.unfold(window, order, axes, x.shape), x), columns)
    there = axes._replace(layout=columns_layout, out_layout=layout)
    for way in (there, _convert.Axes(1, columns_layout)):
        folded = reblock.fold(columns, sizes, **parameters, order=order, **way.keywords())
        work = _convert.fold(sizes, window, order, way, columns.shape)
        assert np.array_equal(in_pieces(work, columns), folded)

    block = parameters["window_sizes"]
    space = oracle.arrange(
        noise(batch, channels, *(s * b for s, b in zip(sizes, block, strict=True))),
        in_order,
        layout,
    )
    depth_layout = data.draw(st.sampled_from([None, in_order]))
    there = _convert.Axes(1, layout, depth_layout)
    depth = reblock.space_to_depth(space, block, order=order, **there.keywords())
    work = _convert.depth_space("space_to_depth", block, order, there, space.shape)
    assert np.array_equal(in_pieces(work, space), depth)
    back = _convert.Axes(1, work.layout, layout)
    work = _convert.depth_space("depth_to_space", block, order, back, depth.shape)
    assert np.array_equal(in_pieces(work, depth), space)


def test_large_arrays_are_cut() -> None:
    work = _convert.depth_space("depth_to_space", 2, "DCR", _convert.Axes(), (2, 64, 512, 512))
    pieces = list(work.pieces(2 * 2 * 64 * 512 * 512 * 4))
    assert len(pieces) == 16
    assert pieces[0].source[:3] == (slice(0, 1), slice(None), slice(0, 64))


def test_there_and_back(array: Path, tmp_path: Path) -> None:
    x = np.load(array)
    space, depth = tmp_path / "space.npy", tmp_path / "depth.npy"
    result = run("depth-to-space", array, space, "--block-size", 2, "--order", "CRD")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{space}: (2, 1, 6, 10), uint8\n"
    assert np.array_equal(np.load(space), reblock.depth_to_space(x, 2, order="CRD"))
    run("space-to-depth", space, depth, "--block-size", "2,2", "--order", "CRD")
    assert depth.read_bytes() == array.read_bytes()
    assert names(tmp_path) == {"in.npy", "space.npy", "depth.npy"}


@given(patterns("rearrange"))
def test_pieces_of_a_pattern_make_the_whole(pattern: Pattern) -> None:
    x = noise(*pattern.input_shape, dtype=np.uint16)
    work = _convert.rearrange(pattern.text, pattern.axes_lengths, x.shape)
    assert np.array_equal(in_pieces(work, x), pattern.oracle(x))


def test_patterns_from_file_to_file(array: Path, tmp_path: Path) -> None:
    x, out = np.load(array), tmp_path / "out.npy"
    result = run("rearrange", array, out, "n (c d) h w -> n h (w d) c", "d=2")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{out}: (2, 3, 10, 2), uint8\n"
    expected = x.reshape(2, 2, 2, 3, 5).transpose(0, 3, 4, 2, 1).reshape(2, 3, 10, 2)
    assert np.array_equal(np.load(out), expected)


def test_patterns_on_images(tmp_path: Path) -> None:
    """An image has rows, columns and channels, without a batch."""
    photo, planes, again = (tmp_path / name for name in ("a.png", "b.npy", "c.png"))
    pixels = noise(6, 8, 3)
    Image.fromarray(pixels).save(photo)
    run("rearrange", photo, planes, "h w c -> c h w")
    assert np.array_equal(np.load(planes), pixels.transpose(2, 0, 1))
    run("rearrange", planes, again, "c h w -> h w c")
    with Image.open(again) as image:
        assert np.array_equal(np.asarray(image), pixels)
    run("rearrange", planes, again, "c h w -> h (c w)", "--force")
    with Image.open(again) as image:
        assert np.array_equal(np.asarray(image), pixels.transpose(0, 2, 1).reshape(6, 24))


def test_patterns_that_do_not_fit_are_refused(array: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    assert_refused(
        run("rearrange", array, out, "a b -> b a"),
        f"cannot use {array}: x must have 2 axes for pattern 'a b -> b a', got 4:"
        " shape (2, 4, 3, 5)",
    )
    assert "'d:2' is not like h=2" in run("rearrange", array, out, "a b -> b a", "d:2").stderr
    assert names(tmp_path) == {"in.npy"}


def test_columns_and_back(array: Path, tmp_path: Path) -> None:
    x = np.load(array)
    columns, sums = tmp_path / "columns.npy", tmp_path / "sums.npy"
    window = "--window-sizes 2,3 --strides 1,2 --dilations 2,1 --start-padding 1 --end-padding 0,1"
    parameters: dict[str, Any] = {
        "window_sizes": (2, 3),
        "strides": (1, 2),
        "dilations": (2, 1),
        "start_padding": 1,
        "end_padding": (0, 1),
        "channel_axis": -1,
    }
    run("unfold", array, columns, *window.split(), "--channel-axis", -1)
    expected = reblock.unfold(x, **parameters)
    assert np.array_equal(np.load(columns), expected)
    options = ("--output-sizes", "4,3", *window.split(), "--channel-axis", -1, "--wrap")
    assert run("fold", columns, sums, *options).exit_code == 0
    assert np.array_equal(np.load(sums), reblock.fold(expected, (4, 3), **parameters))


@pytest.mark.parametrize("dtype", [">f4", "c16", "?", "M8[s]", [("a", "i2"), ("b", "u1")]])
def test_every_dtype_is_kept(dtype: Any, tmp_path: Path) -> None:
    x = noise(2, 4, 3, 5).astype(dtype)
    np.save(tmp_path / "in.npy", np.asfortranarray(x))
    run("depth-to-space", tmp_path / "in.npy", tmp_path / "out.npy", "--block-size", 2)
    out = np.load(tmp_path / "out.npy")
    assert out.dtype == x.dtype
    assert np.array_equal(out, reblock.depth_to_space(x, 2))


def test_empty_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros((0, 4, 2, 2), np.float32))
    run("depth-to-space", tmp_path / "in.npy", tmp_path / "out.npy", "--block-size", 2)
    assert np.load(tmp_path / "out.npy").shape == (0, 1, 4, 4)


# Images


@pytest.mark.parametrize(
    ("mode", "channels"), [("1", 1), ("L", 1), ("LA", 2), ("P", 3), ("RGBA", 4), ("CMYK", 3)]
)
def test_images_are_one_item_of_a_batch(mode: str, channels: int, tmp_path: Path) -> None:
    image = Image.fromarray(noise(6, 8, 3)).convert(mode)
    image.save(tmp_path / "in.tif")
    run("space-to-depth", tmp_path / "in.tif", tmp_path / "out.npy", "--block-size", 2)
    plain = image.convert({"1": "L", "P": "RGB", "CMYK": "RGB"}.get(mode, mode))
    x = np.asarray(plain).reshape(1, 6, 8, channels)
    expected = reblock.space_to_depth(x.transpose(0, 3, 1, 2), 2)
    assert np.array_equal(np.load(tmp_path / "out.npy"), expected)


@pytest.mark.parametrize("channel_axis", [1, 2, -1])
@pytest.mark.parametrize("x", [noise(6, 8, 3), noise(6, 8), 257 * noise(6, 8, dtype=np.uint16)])
def test_images_come_back(channel_axis: int, x: oracle.Array, tmp_path: Path) -> None:
    Image.fromarray(x).save(tmp_path / "in.png")
    paths = tmp_path / "in.png", tmp_path / "middle.npy", tmp_path / "out.png"
    options = ("--block-size", "2", "--channel-axis", channel_axis)
    run("space-to-depth", *paths[:2], *options)
    assert run("depth-to-space", *paths[1:], *options).exit_code == 0
    with Image.open(paths[2]) as image:
        out = np.asarray(image)
    assert out.dtype == x.dtype
    assert np.array_equal(out, x)


def test_images_in_a_layout(tmp_path: Path) -> None:
    photo = noise(6, 8, 3)
    paths = [
        tmp_path / name for name in ("in.png", "planes.npy", "out.png", "tokens.npy", "gray.png")
    ]
    Image.fromarray(photo).save(paths[0])
    result = run("space-to-depth", *paths[:2], "--block-size", 2, "--layout", "HWC")
    assert result.stdout == f"{paths[1]}: (3, 4, 12), uint8\n"
    expected = reblock.space_to_depth(photo, 2, layout="HWC")
    assert np.array_equal(np.load(paths[1]), expected)
    layouts = ("--layout", "HWC", "--out-layout", "CHW")
    assert run("depth-to-space", *paths[1:3], "--block-size", 2, *layouts).exit_code == 0
    with Image.open(paths[2]) as image:
        assert np.array_equal(np.asarray(image), photo)

    options = ("--window-sizes", 2, "--strides", 2, "--order", "dcr")
    layouts = ("--layout", "NHWC", "--out-layout", "LNC")
    result = run("unfold", paths[0], paths[3], *options, *layouts)
    assert result.stdout == f"{paths[3]}: (12, 1, 12), uint8\n"
    tokens = np.load(paths[3])
    assert np.array_equal(tokens[5, 0].reshape(2, 2, 3), photo[2:4, 2:4])
    paths[2].unlink()
    layouts = ("--layout", "LNC", "--out-layout", "HWC")
    assert (
        run("fold", paths[3], paths[2], "--output-sizes", "6,8", *options, *layouts).exit_code == 0
    )
    with Image.open(paths[2]) as image:
        assert np.array_equal(np.asarray(image), photo)

    Image.fromarray(photo[..., 0]).save(paths[4])
    paths[1].unlink()
    result = run("space-to-depth", paths[4], paths[1], "--block-size", 2, "--layout", "HW")
    assert result.stdout == f"{paths[1]}: (4, 3, 4), uint8\n"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            ("--layout", "HW"),
            'cannot read an image as "HW": it has 2 spatial axes, and this one has channels: 3',
        ),
        (
            ("--layout", "HWDC"),
            'cannot read an image as "HWDC": it has 2 spatial axes, and this one has channels: 3',
        ),
        (
            ("--layout", "hwc"),
            "cannot use {0}: --layout must be upper-case letters, one for each axis, got 'hwc'",
        ),
        (
            ("--layout", "HWC", "--out-layout", "WHC"),
            (
                'cannot use {0}: --out-layout must have the spatial letters of --layout "HWC" in'
                ' the same order, got "WHC"'
            ),
        ),
        (
            ("--layout", "HWC", "--channel-axis", "-1"),
            (
                "cannot use {0}: --channel-axis must not be given beside a --layout, which tells"
                ' it, got -1 and "HWC"'
            ),
        ),
    ],
)
def test_layouts_that_do_not_fit_are_refused(
    options: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    path = tmp_path / "in.png"
    Image.fromarray(noise(6, 8, 3)).save(path)
    result = run("space-to-depth", path, tmp_path / "out.npy", "--block-size", 2, *options)
    assert_refused(result, why.format(path))
    assert names(tmp_path) == {"in.png"}


def test_orientation_is_followed(tmp_path: Path) -> None:
    upright = Image.fromarray(noise(6, 8, 3))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    upright.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "in.png", exif=exif)
    run("space-to-depth", tmp_path / "in.png", tmp_path / "out.png", "--block-size", 1)
    with Image.open(tmp_path / "out.png") as image:
        assert np.array_equal(np.asarray(image), np.asarray(upright))


@pytest.mark.parametrize(
    ("operator", "option", "shape"),
    [("space-to-depth", "--block-size", (1, 12, 3, 4)), ("unfold", "--window-sizes", (1, 12, 35))],
)
def test_what_is_no_image(
    operator: str, option: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    Image.fromarray(noise(6, 8, 3)).save(tmp_path / "in.png")
    out = tmp_path / "out.png"
    assert_refused(
        run(operator, tmp_path / "in.png", out, option, 2),
        f"cannot write {out}: the result is {shape}, uint8, and an image is one item of 1 to 4"
        " channels of uint8, or of one channel of uint16; a .npy file holds anything",
    )
    assert names(tmp_path) == {"in.png"}


# What it refuses, and what it leaves


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file or directory"),
        (b"", "EOF: reading magic string, expected 8 bytes got 0"),
        (b"a thousand words", "the magic string is not correct; expected .*"),
    ],
)
def test_what_cannot_be_read(content: bytes | None, why: str, tmp_path: Path) -> None:
    source = tmp_path / "in.npy"
    if content is not None:
        source.write_bytes(content)
    result = run("depth-to-space", source, tmp_path / "out.npy", "--block-size", 2)
    line = rf"reblock: cannot read {re.escape(str(source))}: {why}\n"
    assert result.exit_code == 2
    assert re.fullmatch(line, result.stderr)
    assert names(tmp_path) <= {"in.npy"}


def test_what_is_no_image_to_read(tmp_path: Path) -> None:
    source = tmp_path / "in.png"
    source.write_bytes(b"a thousand words")
    result = run("depth-to-space", source, tmp_path / "out.npy", "--block-size", 2)
    assert_refused(
        result, f"cannot read {source}: it is neither a .npy file nor an image that Pillow knows"
    )


def test_truncated_arrays(array: Path) -> None:
    array.write_bytes(array.read_bytes()[:-1])
    result = run("depth-to-space", array, array.with_name("out.npy"), "--block-size", 2)
    assert_refused(result, f"cannot read {array}: mmap length is greater than file size")


def test_arrays_of_objects(array: Path) -> None:
    np.save(array, np.array([[None]]), allow_pickle=True)
    result = run("depth-to-space", array, array.with_name("out.npy"), "--block-size", 2)
    assert_refused(
        result, f"cannot read {array}: Array can't be memory-mapped: Python objects in dtype."
    )


def test_the_operators_refuse_in_their_own_words(array: Path, tmp_path: Path) -> None:
    assert_refused(
        run("depth-to-space", array, tmp_path / "out.npy", "--block-size", 3),
        f"cannot use {array}: shape has 4 channels (axis 1 of shape (2, 4, 3, 5)),"
        " which --block-size 3 does not divide: a multiple of 9 is needed",
    )
    assert names(tmp_path) == {"in.npy"}


def test_a_dtype_that_has_no_sum_names_the_file(tmp_path: Path) -> None:
    columns, sums = tmp_path / "columns.npy", tmp_path / "sums.npy"
    np.save(columns, np.zeros((1, 4, 4), "M8[s]"))
    result = run("fold", columns, sums, "--output-sizes", "3,3", "--window-sizes", 2)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(
        f"reblock: cannot use {columns}: columns must have a dtype that"
    )
    assert names(tmp_path) == {"columns.npy"}


# Sums of integers


NARROW = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32]


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_that_the_dtype_does_not_hold_are_refused(
    dtype: Any, sign: int, tmp_path: Path
) -> None:
    limits = np.iinfo(dtype)
    limit = int(limits.max if sign > 0 else limits.min)
    if not limit:
        return  # nothing below 0
    columns, sums = tmp_path / "columns.npy", tmp_path / "sums.npy"
    x = np.zeros((1, 2, 3), dtype)
    x[0, 1, 0], x[0, 0, 1] = limit - sign, 2 * sign
    np.save(columns, x)
    arguments = ("fold", columns, sums, "--output-sizes", "4,1", "--window-sizes", "2,1")
    assert_refused(
        run(*arguments),
        f"cannot use {columns}: a sum is {limit + sign}, and {np.dtype(dtype)} ends at {limit}:"
        " take columns of a wider dtype, or --wrap",
    )
    assert names(tmp_path) == {"columns.npy"}
    assert run(*arguments, "--wrap").exit_code == 0
    assert np.array_equal(np.load(sums), reblock.fold(x, (4, 1), (2, 1)))
    x[0, 0, 1] = sign
    np.save(columns, x)
    assert run(*arguments, "--force").exit_code == 0
    assert np.load(sums)[0, 0, 1, 0] == limit


def test_no_image_is_made_of_sums_that_wrap_around(tmp_path: Path) -> None:
    photo, columns, folded = (tmp_path / name for name in ("in.png", "columns.npy", "folded.png"))
    Image.fromarray(noise(8, 8, 3)).save(photo)
    run("unfold", photo, columns, "--window-sizes", 2)
    arguments = ("fold", columns, folded, "--output-sizes", "8,8", "--window-sizes", 2)
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.search(r"columns.npy: a sum is \d+, and uint8 ends at 255: ", result.stderr)
    assert not folded.exists()


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float32])
def test_other_sums_are_as_the_function_has_them(dtype: Any, tmp_path: Path) -> None:
    columns, sums = tmp_path / "columns.npy", tmp_path / "sums.npy"
    x = np.full((1, 4, 4), np.finfo(dtype).max if dtype == np.float32 else np.iinfo(dtype).max)
    np.save(columns, x.astype(dtype))
    run("fold", columns, sums, "--output-sizes", "3,3", "--window-sizes", 2)
    assert np.array_equal(np.load(sums), reblock.fold(x.astype(dtype), (3, 3), 2))


# Threads, standard input and output


@pytest.mark.parametrize("operator", ["depth_to_space", "space_to_depth", "unfold", "fold"])
def test_threads_are_passed_on(
    operator: str, array: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, used = getattr(reblock, operator), []

    def told(*arguments: Any, threads: int | None, **parameters: Any) -> Any:
        used.append(threads)
        return function(*arguments, threads=threads, **parameters)

    monkeypatch.setattr(reblock, operator, told)
    options = {
        "unfold": ("--window-sizes", 1),
        "fold": ("--window-sizes", 2, "--output-sizes", "2,4"),
    }.get(operator, ("--block-size", 1))
    np.save(tmp_path / "columns.npy", np.zeros((1, 4, 3)))
    source = tmp_path / "columns.npy" if operator == "fold" else array
    command = (operator.replace("_", "-"), source, tmp_path / "out.npy", *options)
    assert run(*command, "--threads", 3).exit_code == 0
    assert run(*command, "--force").exit_code == 0
    assert used == [3, None]
    assert run(*command, "--threads", 0).exit_code == 2


def piped(*arguments: object, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False)


def test_standard_input_and_output(array: Path) -> None:
    done = piped("depth-to-space", "-", "-", "--block-size", 2, stdin=array.read_bytes())
    assert (done.returncode, done.stderr) == (0, b"standard output: (2, 1, 6, 10), uint8\n")
    out = np.load(io.BytesIO(done.stdout))
    assert np.array_equal(out, reblock.depth_to_space(np.load(array), 2))


def test_an_image_from_standard_input(tmp_path: Path) -> None:
    image = Image.fromarray(noise(6, 8, 3))
    content = io.BytesIO()
    image.save(content, "png")
    out = tmp_path / "out.npy"
    done = piped("space-to-depth", "-", out, "--block-size", 2, stdin=content.getvalue())
    assert done.stdout.decode() == f"{out}: (1, 12, 3, 4), uint8\n"
    x = np.asarray(image).transpose(2, 0, 1)[np.newaxis]
    assert np.array_equal(np.load(out), reblock.space_to_depth(x, 2))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is neither a .npy file nor an image that Pillow knows"),
        (b"\x93NUMPY", "EOF: reading magic string, expected 8 bytes got 6"),
    ],
)
def test_what_cannot_be_read_from_standard_input(content: bytes, why: str) -> None:
    done = piped("depth-to-space", "-", "-", "--block-size", 2, stdin=content)
    assert (done.returncode, done.stdout) == (2, b"")
    assert re.fullmatch(f"reblock: cannot read standard input: {why}\n", done.stderr.decode())


def test_what_does_not_fit_in_standard_input(array: Path) -> None:
    done = piped("depth-to-space", "-", "-", "--block-size", 3, stdin=array.read_bytes())
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"reblock: cannot use standard input: shape has 4 channels")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_nothing_is_written_to_a_terminal(array: Path) -> None:
    ours, theirs = os.openpty()
    command = [*COMMAND, "depth-to-space", str(array), "-", "--block-size", "2"]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    line = b"reblock: cannot write to a terminal: redirect standard output\n"
    assert (done.returncode, done.stderr) == (2, line)
    os.close(ours)
    os.close(theirs)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes of this kind")
def test_nobody_reads_standard_output(array: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [*COMMAND, "depth-to-space", str(array), "-", "--block-size", "2"]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    line = b"reblock: cannot write standard output: Broken pipe\n"
    assert (done.returncode, done.stderr) == (2, line)


# diagnose


def test_diagnose(array: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    run("depth-to-space", array, out, "--block-size", 2, "--order", "CRD")
    result = run("diagnose", array, out)
    # One channel is left: what is told of the order is part of the answer.
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{reblock.diagnose(np.load(array), np.load(out))}\n"
    assert result.stdout.startswith("equal to depth_to_space(x, 2)\n")
    np.save(out, np.load(out) + 1)
    result = run("diagnose", array, out)
    assert result.exit_code == 1
    assert result.stdout.startswith("equal to none of the ")


def test_diagnose_images(tmp_path: Path) -> None:
    Image.fromarray(noise(6, 8, 3)).save(tmp_path / "in.png")
    run("space-to-depth", tmp_path / "in.png", tmp_path / "out.npy", "--block-size", 2)
    assert run("diagnose", tmp_path / "in.png", tmp_path / "out.npy").stdout == (
        "equal to space_to_depth(x, 2)\n"
    )


def test_diagnose_refuses(array: Path, tmp_path: Path) -> None:
    assert_refused(run("diagnose", "-", "-"), "IN and OUT cannot both be standard input")
    out = tmp_path / "out.npy"
    assert_refused(run("diagnose", array, out), f"cannot read {out}: No such file or directory")
    np.save(out, np.zeros(3))
    assert_refused(
        run("diagnose", array, out),
        f"cannot compare {array} with {out}: result must have 2 to 8 axes, got shape (3,)",
    )


# What is kept


def test_a_file_is_kept_unless_forced(array: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    out.write_text("precious")
    arguments = ("depth-to-space", array, out, "--block-size", 2)
    assert_refused(run(*arguments), f"{out} exists; --force replaces it")
    assert out.read_text() == "precious"
    assert run(*arguments, "--force").exit_code == 0
    assert np.array_equal(np.load(out), reblock.depth_to_space(np.load(array), 2))


def test_a_file_made_meanwhile_is_kept(
    array: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.npy"
    move = _convert.run

    def run_slowly(*arguments: Any) -> None:
        move(*arguments)
        out.write_text("precious")

    monkeypatch.setattr(_convert, "run", run_slowly)
    result = run("depth-to-space", array, out, "--block-size", 2)
    assert_refused(result, f"{out} exists; --force replaces it")
    assert out.read_text() == "precious"
    assert names(tmp_path) == {"in.npy", "out.npy"}


def test_a_file_may_be_replaced_by_what_is_made_of_it(array: Path) -> None:
    x = np.load(array)
    arguments = ("depth-to-space", array, array, "--block-size", 2)
    assert_refused(run(*arguments), f"{array} exists; --force replaces it")
    assert run(*arguments, "--force").exit_code == 0
    assert np.array_equal(np.load(array), reblock.depth_to_space(x, 2))


def test_a_link_stays_a_link(array: Path, tmp_path: Path) -> None:
    link, out = tmp_path / "link.npy", tmp_path / "out.npy"
    out.touch()
    link.symlink_to("out.npy")
    assert run("depth-to-space", array, link, "--block-size", 2, "--force").exit_code == 0
    assert link.is_symlink()
    assert np.load(out).shape == (2, 1, 6, 10)


def test_only_files_are_replaced(array: Path, tmp_path: Path) -> None:
    (tmp_path / "out.npy").mkdir()
    result = run("depth-to-space", array, tmp_path / "out.npy", "--block-size", 2, "--force")
    assert_refused(result, f"cannot write {tmp_path / 'out.npy'}: it exists and is no file")


def test_no_directory_to_write_to(array: Path, tmp_path: Path) -> None:
    out = tmp_path / "absent" / "out.npy"
    result = run("depth-to-space", array, out, "--block-size", 2)
    assert_refused(result, f"cannot write {out}: No such file or directory")


def test_no_room_on_the_disk(array: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    result = run("depth-to-space", array, tmp_path / "out.npy", "--block-size", 2)
    assert_refused(result, f"cannot write {tmp_path / 'out.npy'}: No space left on device")
    assert names(tmp_path) == {"in.npy"}


def test_permissions_are_those_of_any_file(array: Path, tmp_path: Path) -> None:
    run("depth-to-space", array, tmp_path / "out.npy", "--block-size", 2)
    assert (tmp_path / "out.npy").stat().st_mode == array.stat().st_mode


# As processes


def large(path: Path, megabytes: int) -> Path:
    """Make a file of zeros, which takes no room on the disk."""
    np.lib.format.open_memmap(path, "w+", np.float32, (megabytes // 16, 64, 256, 256))
    return path


@pytest.mark.measured
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_DATA is Linux's")
def test_memory_is_bounded(tmp_path: Path) -> None:
    source = large(tmp_path / "in.npy", 256)
    limited = (
        "import resource, runpy, sys;"
        " resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20));"
        " sys.argv[0] = 'reblock'; runpy.run_module('reblock', run_name='__main__')"
    )
    arguments = ("depth-to-space", source, tmp_path / "out.npy", "--block-size", "2")
    subprocess.run([sys.executable, "-c", limited, *arguments], check=True)
    assert (tmp_path / "out.npy").stat().st_size == source.stat().st_size


@contextmanager
def heeded(number: signal.Signals) -> Iterator[None]:
    """Let processes begin with what a signal does by default.

    They begin with it ignored where this one does, which a shell runs in the background.
    """
    before = signal.signal(number, signal.default_int_handler)  # which processes do not inherit
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("precious", [True, False])
def test_interrupted(number: signal.Signals, precious: bool, tmp_path: Path) -> None:
    source, out = large(tmp_path / "in.npy", 1024), tmp_path / "out.npy"
    if precious:
        out.write_text("precious")
    before = names(tmp_path)
    arguments = ("depth-to-space", source, out, "--block-size", "2", "--force")
    with heeded(number):
        started = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE)
    with started as process:
        while not list(tmp_path.glob(".reblock-*/out.npy")):
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(number)
        _, error = process.communicate()
    assert (process.returncode, error) == (128 + number, b"")
    assert names(tmp_path) == before
    assert not precious or out.read_text() == "precious"


def test_progress_is_for_terminals_alone(array: Path, tmp_path: Path) -> None:
    arguments = ("depth-to-space", array, tmp_path / "out.npy", "--block-size", "2")
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, check=True)
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_progress_on_a_terminal(array: Path, tmp_path: Path) -> None:
    arguments = ("depth-to-space", array, tmp_path / "out.npy", "--block-size", "2")
    ours, theirs = os.openpty()
    environment = os.environ | {"TERM": "xterm"}
    command = [*COMMAND, *map(str, arguments)]
    subprocess.run(command, stderr=theirs, env=environment, check=True)
    assert b"100%" in os.read(ours, 1 << 16)
    os.close(ours)
    os.close(theirs)


# What the documentation shows

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "command-line.md"


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    Image.fromarray(noise(400, 600, 3)).save(tmp_path / "photo.png")
    blocks = re.findall(
        r"^```console\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    shown = "".join(blocks)
    commands = re.findall(r"^\$ reblock (.*)$", shown, re.MULTILINE)
    assert len(commands) >= 5
    printed = ""
    for command in commands:
        done = subprocess.run(
            [*COMMAND, *shlex.split(command)],
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "88"},
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        printed += "\n".join((f"$ reblock {command}", *lines, ""))
    assert printed == shown
