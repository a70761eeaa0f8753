# SPDX-License-Identifier: BSD-3-Clause
"""The operators from one `.npy` file to another, in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from PIL import Image

import oracle
import reblock
from commands import assert_refused, in_pieces, names, noise, run
from patterns import Pattern, patterns
from reblock import _convert

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


@given(cases(), st.sampled_from(("DCR", "CRD")), st.sampled_from(("constant", "edge")), st.data())
def test_pieces_of_some_windows_are_those_windows(
    case: WindowCase, order: Any, mode: Any, data: st.DataObject
) -> None:
    shape, sizes, parameters, axis = case
    if 0 in sizes:
        mode = "constant"
    window, axes = _convert.Window(**parameters), _convert.Axes(axis)
    x = noise(*shape, dtype=np.int16)
    counts = _convert.window_counts(sizes, parameters)
    blocks: list[Any] = [
        tuple(sorted(data.draw(st.tuples(*[st.integers(0, count)] * 2)))) for count in counts
    ]
    if data.draw(st.booleans()):
        blocks = [(-1, None)]
    keywords: dict[str, Any] = {
        **parameters,
        "padding_mode": mode,
        "order": order,
        "channel_axis": axis,
        "blocks": [slice(*each) for each in blocks * (1 if len(blocks) > 1 else len(sizes))],
    }
    columns = reblock.unfold(x, **keywords)
    padding = _convert.Padding(mode)
    work = _convert.unfold(window, order, axes, shape, padding=padding, blocks=blocks)
    assert np.array_equal(in_pieces(work, x), columns)
    work = _convert.fold(
        sizes, window, order, axes, columns.shape, padding_mode=mode, blocks=blocks
    )
    assert np.array_equal(in_pieces(work, columns), reblock.fold(columns, sizes, **keywords))


@pytest.mark.parametrize(("text", "blocks"), [("1:3,:", [(1, 3), None]), ("0:-1", [(0, -1)] * 2)])
def test_some_windows(tmp_path: Path, text: str, blocks: Any) -> None:
    x = noise(1, 2, 6, 5)
    source, columns, image = (tmp_path / name for name in ("x.npy", "columns.npy", "image.npy"))
    np.save(source, x)
    run("unfold", source, columns, "--window-sizes", "2", "--blocks", text)
    expected = reblock.unfold(x, 2, blocks=blocks)
    assert np.array_equal(np.load(columns), expected)
    sizes = ("--output-sizes", "6,5", "--window-sizes", "2")
    run("fold", columns, image, *sizes, "--blocks", text, "--reduction", "mean")
    mean = reblock.fold(expected, (6, 5), 2, blocks=blocks, reduction="mean")
    assert np.array_equal(np.load(image), mean)


def test_windows_that_are_not_there_are_refused(tmp_path: Path) -> None:
    source, target = tmp_path / "x.npy", tmp_path / "columns.npy"
    np.save(source, noise(1, 1, 4, 4))
    command = ("unfold", source, target, "--window-sizes", "2", "--blocks")
    assert_refused(
        run(*command, "0:9"),
        f"cannot use {source}: --blocks must lie among the 3 along spatial axis 0 and start no"
        " later than they stop, got 0 to 9",
    )
    for text in ("a:b", "3", "0:1:2"):
        refused = run(*command, text)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert repr(text) in refused.stderr
    assert not target.exists()


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


@given(st.one_of(patterns("rearrange"), patterns("repeat")))
def test_pieces_of_a_pattern_make_the_whole(pattern: Pattern) -> None:
    x = noise(*pattern.input_shape, dtype=np.uint16)
    work = _convert.rearrange(pattern.use, pattern.text, pattern.axes_lengths, x.shape)
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


def test_repetitions_from_file_to_file(array: Path, tmp_path: Path) -> None:
    x, out = np.load(array), tmp_path / "out.npy"
    result = run("repeat", array, out, "n c h w -> n (c r) (h 2) w", "r=3")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{out}: (2, 12, 6, 5), uint8\n"
    assert np.array_equal(np.load(out), x.repeat(3, 1).repeat(2, 2))


def test_repetitions_on_images(tmp_path: Path) -> None:
    photo, large, red = (tmp_path / name for name in ("a.png", "b.png", "c.npy"))
    pixels = noise(6, 8, 3)
    Image.fromarray(pixels).save(photo)
    run("repeat", photo, large, "h w c -> (h 2) (w 2) c")
    with Image.open(large) as image:
        assert np.array_equal(np.asarray(image), pixels.repeat(2, 0).repeat(2, 1))
    factor = ("--dtype", "float32", "--scale", "n=1,0.5")
    assert run("repeat", photo, red, "h w c -> n h w c", "n=2", *factor).exit_code == 0
    assert np.array_equal(np.load(red), np.stack([pixels, pixels / np.float32(2)]))


def test_patterns_that_do_not_fit_are_refused(array: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    assert_refused(
        run("rearrange", array, out, "a b -> b a"),
        f"cannot use {array}: x must have 2 axes for pattern 'a b -> b a', got 4:"
        " shape (2, 4, 3, 5)",
    )
    assert_refused(
        run("repeat", array, out, "n c h w -> n c h w r"),
        f"cannot use {array}: the length of r must be given, which is new in pattern"
        " 'n c h w -> n c h w r'",
    )
    assert_refused(
        run("rearrange", array, out, "n c h w -> n c h w r", "r=2"),
        f"cannot use {array}: pattern must have 'r' on its left side too, got"
        " 'n c h w -> n c h w r'",
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


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_windows_over_padding_of_any_mode(mode: Any, tmp_path: Path) -> None:
    x = np.arange(3 * 7 * 5, dtype=np.int64).reshape(1, 3, 7, 5)
    value = 9 if mode == "constant" else 0
    pads: dict[str, Any] = {"start_padding": (9, 1), "end_padding": (2, 30), "padding_mode": mode}
    window = _convert.Window(3, 1, 1, (9, 1), (2, 30))
    orders: list[Any] = ["CRD", "DCR"]
    for order in orders:
        padding = _convert.Padding(mode, value)
        work = _convert.unfold(window, order, _convert.Axes(1), x.shape, padding=padding)
        columns = reblock.unfold(x, 3, **pads, padding_value=value, order=order)
        assert np.array_equal(in_pieces(work, x), columns)
        work = _convert.fold(
            (7, 5), window, order, _convert.Axes(1), columns.shape, padding_mode=mode
        )
        image = reblock.fold(columns, (7, 5), 3, **pads, order=order)
        assert np.array_equal(in_pieces(work, columns), image)
    source, target = tmp_path / "x.npy", tmp_path / "columns.npy"
    np.save(source, x)
    options = ["--window-sizes", "3", "--start-padding", "9,1", "--end-padding", "2,30"]
    given = ["--padding-mode", mode, "--padding-value", str(value)]
    assert run("unfold", source, target, *options, *given).exit_code == 0
    assert np.array_equal(np.load(target), reblock.unfold(x, 3, **pads, padding_value=value))


@pytest.mark.parametrize("options", [(), ("--weights", "hann"), ("--weights", "gaussian")])
def test_a_mean_gives_the_array_back(tmp_path: Path, options: tuple[str, ...]) -> None:
    image = noise(1, 3, 40, 50)
    np.save(tmp_path / "image.npy", image)
    window = ("--window-sizes", "8", "--strides", "4,6")
    paths = [tmp_path / name for name in ("image.npy", "columns.npy", "back.npy")]
    assert run("unfold", *paths[:2], *window).exit_code == 0
    back = ("--output-sizes", "40,50", "--reduction", "mean")
    assert run("fold", *paths[1:], *window, *back, *options).exit_code == 0
    assert np.array_equal(np.load(paths[2]), image)
