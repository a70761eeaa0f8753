# SPDX-License-Identifier: BSD-3-Clause
"""`reblock demo`: what it reads, prints and draws, and how it refuses."""

import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageOps
from typer.testing import CliRunner, Result

import reblock
from reblock import _cli, _demo

USES = (
    "channels to pixels, PyTorch's pixel_shuffle",
    "channels to pixels, as in ONNX and TensorFlow",
    "pixels to channels",
    "patches for a vision transformer",
    "columns for a convolution (im2col)",
    "overlapping patches, added up (col2im)",
)
ROUND_TRIPS = (
    "space_to_depth, then depth_to_space, DCR",
    "space_to_depth, then depth_to_space, CRD",
    "unfold, then fold with means",
)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(_cli.app, [str(argument) for argument in arguments])


def as_array(image: Image.Image) -> _demo.Array:
    """Return the RGB image as the demo holds a photo: (1, 3, height, width)."""
    return np.asarray(image).transpose(2, 0, 1)[np.newaxis]


@pytest.fixture
def noise() -> Image.Image:
    """200 x 136 random pixels, of which the demo uses the 192 x 128 in the middle."""
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (136, 200, 3), np.uint8))


@pytest.fixture
def photo(tmp_path: Path, noise: Image.Image) -> Path:
    path = tmp_path / "photo.png"
    noise.save(path)
    return path


# What it prints and draws


def assert_reported(stdout: str, picture: str) -> None:
    """Check the header, a row for each use, a line for each round trip, and the path."""
    lines = [line.strip() for line in stdout.splitlines()]
    assert f"than NumPy {np.__version__}" in stdout
    assert max(map(len, lines[:-2])) <= 80
    rows = [re.fullmatch(r"(\w.*?) +([\d.]+) +([\d.]+|no faster)", line) for line in lines]
    found = [row for row in rows if row]
    assert tuple(row[1] for row in found) == USES
    assert all(float(row[2]) > 0 for row in found)
    assert all(row[3] == "no faster" or float(row[3]) > 1 for row in found)
    shape = r"\(\d+(?:, \d+)+\)"
    shapes = [line for line in lines if re.fullmatch(rf"{shape} -> {shape}, (uint8|float32)", line)]
    assert len(shapes) == len(USES)
    assert [line for line in lines if line.endswith("exact")] == [
        f"{n}: exact" for n in ROUND_TRIPS
    ]
    assert lines[-2] == f"picture: {picture}"


def assert_drawn(picture: Path, image: Image.Image) -> None:
    """Check the size of the picture, and that the first and the last panel show the image."""
    panel = ImageOps.contain(image, (_demo.PANEL, _demo.PANEL), Image.Resampling.LANCZOS)
    tile_height = round(_demo.TILE * image.height / image.width)
    strip_height = _demo.CAPTION + tile_height + _demo.MARK + _demo.MARGIN
    top = _demo.MARGIN + _demo.CAPTION
    with Image.open(picture) as drawn:
        assert drawn.size == (1024, top + panel.height + _demo.MARGIN + 2 * strip_height)
        for left in (_demo.MARGIN, 1024 - _demo.MARGIN - panel.width):
            shown = drawn.crop((left, top, left + panel.width, top + panel.height))
            assert np.array_equal(np.asarray(shown), np.asarray(panel))


def test_own_photo(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reblock", "demo"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert_reported(done.stdout, "reblock-demo.png")
    with Image.open(Path(skimage.data.data_dir) / "coffee.png") as coffee:
        assert_drawn(tmp_path / "reblock-demo.png", coffee.crop((12, 8, 588, 392)))


def test_given_photo(photo: Path, noise: Image.Image, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    result = run("demo", photo, "--output", picture)
    assert (result.exit_code, result.stderr) == (0, "")
    assert_reported(result.stdout, str(picture))
    assert "(1, 3, 128, 192)" in result.stdout
    assert "(1, 12, 64, 96)" in result.stdout
    assert_drawn(picture, noise.crop((4, 4, 196, 132)))


def test_planes_are_drawn_in_their_order(photo: Path, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    run("demo", photo, "--output", picture)
    with Image.open(picture) as drawn:
        pixels = np.asarray(drawn, np.float64)
    tile_height = round(_demo.TILE * 128 / 192)
    bottom = pixels.shape[0]
    strip_height = _demo.CAPTION + tile_height + _demo.MARK + _demo.MARGIN
    for top, colours in (
        (bottom - 2 * strip_height, [0, 1, 2] * 4),
        (bottom - strip_height, [0] * 4 + [1] * 4 + [2] * 4),
    ):
        row = pixels[top + _demo.CAPTION :][:tile_height]
        lefts = [_demo.MARGIN + plane * (_demo.TILE + _demo.GAP) for plane in range(12)]
        means = [row[:, left : left + _demo.TILE].mean(axis=(0, 1)) for left in lefts]
        assert [int(mean.argmax()) for mean in means] == colours


def test_patches_are_spread_with_gaps(noise: Image.Image) -> None:
    photo = as_array(noise.crop((4, 4, 196, 132)))
    patches = _demo.through_patches(photo).there
    spread = _demo.spread(patches, photo.shape[2:])
    gap = _demo.GAP
    assert spread.shape == (1, 3, 128 + gap, 192 + 2 * gap)
    assert np.array_equal(spread[..., 64 + gap :, 64 + gap : 128 + gap], photo[..., 64:, 64:128])
    between = spread[0, :, 64 : 64 + gap].reshape(3, -1)
    assert {tuple(map(int, pixel)) for pixel in between.T} == {_demo.BACKGROUND}


def test_numpy_does_the_same_thing(noise: Image.Image) -> None:
    photo = as_array(noise.crop((4, 4, 196, 132)))
    rows = list(_demo.comparisons(photo, _demo.round_trips(photo)))
    assert tuple(row.use for row in rows) == USES
    for row in rows:
        names = {"x": row.operand, **vars(reblock)}
        assert np.array_equal(eval(row.call, names), row.by_reblock(row.operand))
        ours, theirs = row.by_reblock(row.operand), row.by_numpy(row.operand)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(3.14159, "3.1"), (12, "12.0"), (1.06, "1.1"), (1.04, "no faster"), (0.5, "no faster")],
)
def test_no_loss_is_shown_as_a_gain(ratio: float, text: str) -> None:
    assert _demo.faster(ratio) == text


# What it reads


def read(image: Image.Image, path: Path, **options: Any) -> _demo.Array:
    image.save(path, **options)
    return _demo.read_photo(path)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_modes_of_8_bits(mode: str, noise: Image.Image, tmp_path: Path) -> None:
    image = noise.crop((0, 0, 128, 64)).convert(mode)
    photo = read(image, tmp_path / "photo.tif")
    assert photo.dtype == np.uint8
    assert photo.flags.c_contiguous
    assert np.array_equal(photo, as_array(image.convert("RGB")))


@pytest.mark.parametrize("mode", ["RGBA", "P"])
def test_transparent_is_white(mode: str, tmp_path: Path) -> None:
    image = Image.new("RGBA", (128, 64), (10, 20, 30, 0))
    image.paste((200, 100, 50, 255), (0, 0, 64, 64))
    photo = read(image.convert(mode), tmp_path / "photo.png")
    assert photo[0, :, 0, 0].tolist() == [200, 100, 50]
    assert photo[0, :, 0, 127].tolist() == [255, 255, 255]


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.float32])
def test_deep_grey_levels_span_black_to_white(dtype: type, tmp_path: Path) -> None:
    levels = np.arange(64 * 128).reshape(64, 128)
    photo = read(Image.fromarray((1000 + 3 * levels).astype(dtype)), tmp_path / "photo.tif")
    expected = np.rint(levels * (255 / levels.max()))
    assert np.array_equal(photo, np.broadcast_to(expected, (1, 3, 64, 128)))


def test_deep_grey_of_one_level_is_black(tmp_path: Path) -> None:
    photo = read(Image.fromarray(np.full((64, 64), 7, np.uint16)), tmp_path / "photo.png")
    assert not photo.any()


def test_orientation_is_followed(noise: Image.Image, tmp_path: Path) -> None:
    upright = noise.crop((0, 0, 128, 64))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    photo = read(upright.transpose(Image.Transpose.ROTATE_90), tmp_path / "photo.png", exif=exif)
    assert np.array_equal(photo, as_array(upright))


def test_large_photo_is_shrunk(tmp_path: Path) -> None:
    photo = read(Image.new("RGB", (3000, 1500), (1, 2, 3)), tmp_path / "photo.png")
    assert photo.shape == (1, 3, 512, 1024)
    assert photo[0, :, 0, 0].tolist() == [1, 2, 3]


def test_warning_of_many_pixels_is_not_shown(photo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 200 * 136 - 1)
    assert _demo.read_photo(photo).shape == (1, 3, 128, 192)


# How it refuses


def assert_refused(result: Result, status: int, line: str) -> None:
    assert (result.exit_code, result.stderr) == (status, f"reblock: {line}\n")


def refuse_to_open(path: Path) -> None:
    raise PermissionError(13, "Permission denied", str(path))


def test_absent_photo(tmp_path: Path) -> None:
    absent = tmp_path / "absent.png"
    assert_refused(run("demo", absent), 2, f"cannot read {absent}: No such file or directory")


def test_directory_for_photo(tmp_path: Path) -> None:
    assert_refused(run("demo", tmp_path), 2, f"cannot read {tmp_path}: Is a directory")


def test_forbidden_photo(photo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "open", refuse_to_open)
    assert_refused(run("demo", photo), 2, f"cannot read {photo}: Permission denied")


@pytest.mark.parametrize("kept", [0, 8, 33, 1000, 50_000])
def test_truncated_photo(kept: int, photo: Path) -> None:
    photo.write_bytes(photo.read_bytes()[:kept])
    result = run("demo", photo)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(rf"reblock: cannot read {re.escape(str(photo))}: .+\n", result.stderr)


def test_text_for_photo(photo: Path) -> None:
    photo.write_text("a thousand words")
    line = f"cannot read {photo}: cannot identify image file '{photo}'"
    assert_refused(run("demo", photo), 2, line)


def test_photo_of_too_many_pixels(photo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    result = run("demo", photo)
    assert result.exit_code == 2
    assert re.fullmatch(rf"reblock: cannot read {re.escape(str(photo))}: .+\n", result.stderr)


@pytest.mark.parametrize("size", [(63, 64), (64, 63), (5000, 100)])
def test_small_or_narrow_photo(size: tuple[int, int], photo: Path) -> None:
    Image.new("RGB", size).save(photo)
    assert_refused(
        run("demo", photo),
        2,
        f"cannot use {photo}: {size[0]} x {size[1]} pixels are too small or too narrow"
        " for a window of 64 x 64",
    )


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("directory.png", "Is a directory"),
        ("absent/picture.png", "No such file or directory"),
        ("photo.png/picture.png", "Not a directory"),
        ("picture", "Pillow writes no image with the suffix ''; .png is one it writes"),
        ("picture.odd", "Pillow writes no image with the suffix '.odd'; .png is one it writes"),
        ("picture.psd", "Pillow writes no image with the suffix '.psd'; .png is one it writes"),
    ],
)
def test_picture_that_cannot_be_written(output: str, why: str, photo: Path) -> None:
    (photo.parent / "directory.png").mkdir()
    path = photo.parent / output
    result = run("demo", photo, "--output", path)
    assert_refused(result, 2, f"cannot write {path}: {why}")
    assert "picture:" not in result.stdout


def spoil(operator: Callable[..., _demo.Array]) -> Callable[..., _demo.Array]:
    """Return the operator with its very last element one off."""

    def spoilt(*arguments: object, **options: object) -> _demo.Array:
        result = operator(*arguments, **options)
        result[..., -1] += result.dtype.type(1)
        return result

    return spoilt


@pytest.mark.parametrize(
    ("operator", "trips"),
    [
        ("space_to_depth", ROUND_TRIPS[:2]),
        ("depth_to_space", ROUND_TRIPS[:2]),
        ("unfold", ROUND_TRIPS[2:]),
        ("fold", ROUND_TRIPS[2:]),
    ],
)
def test_wrong_operator(
    operator: str,
    trips: tuple[str, ...],
    photo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_demo, operator, spoil(getattr(reblock, operator)))
    picture = tmp_path / "picture.png"
    result = run("demo", photo, "--output", picture)
    assert_refused(result, 1, f"not exact: {', '.join(trips)}")
    assert not picture.exists()


class Absent:
    """A finder of modules for which a package is not installed."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def remove(package: str, importers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the package away, and the modules of reblock that have imported it."""
    for module in list(sys.modules):
        if module.partition(".")[0] == package:
            monkeypatch.delitem(sys.modules, module)
    for module in importers:
        monkeypatch.delitem(sys.modules, f"reblock.{module}")
        monkeypatch.delattr(reblock, module)
    monkeypatch.setattr(sys, "meta_path", [Absent(package), *sys.meta_path])


@pytest.mark.parametrize("package", ["PIL", "rich", "typer"])
def test_missing_package(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remove(package, ("_cli", "_convert", "_files"), monkeypatch)
    with pytest.raises(SystemExit) as stop:
        importlib.import_module("reblock._cli")
    assert stop.value.code == 2
    line = f'reblock: {package} is missing; pip install "reblock[cli]"\n'
    assert capsys.readouterr().err == line


def test_missing_photo_package(monkeypatch: pytest.MonkeyPatch) -> None:
    remove("skimage", ("_demo",), monkeypatch)
    assert_refused(run("demo"), 2, 'skimage is missing; pip install "reblock[demo]"')
    assert run("info").exit_code == 0
