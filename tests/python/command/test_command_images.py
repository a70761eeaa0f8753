# SPDX-License-Identifier: BSD-3-Clause
"""The operators on files of images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import oracle
import reblock
from commands import assert_refused, names, noise, run


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
            (
                "cannot use {0}: --layout must be upper-case letters, one for each axis,"
                " got 'hwc' (str)"
            ),
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
                ' it, got -1 and "HWC" to "HWC"'
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
