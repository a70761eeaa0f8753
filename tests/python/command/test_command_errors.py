# SPDX-License-Identifier: BSD-3-Clause
"""What the `reblock` command refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import reblock
from commands import WHOLE, assert_refused, names, noise, run


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file or directory"),
        (b"", "it is neither a .npy file nor an image that Pillow knows"),
        (b"a thousand words", "it is neither a .npy file nor an image that Pillow knows"),
    ],
)
@pytest.mark.parametrize("suffix", [".npy", ".png"])
def test_what_cannot_be_read(content: bytes | None, why: str, suffix: str, tmp_path: Path) -> None:
    source = tmp_path / f"in{suffix}"
    if content is not None:
        source.write_bytes(content)
    result = run("depth-to-space", source, tmp_path / "out.npy", "--block-size", 2)
    assert_refused(result, f"cannot read {source}: {why}")
    assert names(tmp_path) <= {source.name}


def test_truncated_arrays(array: Path) -> None:
    array.write_bytes(array.read_bytes()[:-1])
    result = run("depth-to-space", array, array.with_name("out.npy"), "--block-size", 2)
    assert_refused(result, f"cannot read {array}: {WHOLE}mmap length is greater than file size")


def test_arrays_of_objects(array: Path) -> None:
    np.save(array, np.array([[None]]), allow_pickle=True)
    result = run("depth-to-space", array, array.with_name("out.npy"), "--block-size", 2)
    objects = "Array can't be memory-mapped: Python objects in dtype."
    assert_refused(result, f"cannot read {array}: {WHOLE}{objects}")


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
        " take a wider --dtype, or --wrap",
    )
    assert names(tmp_path) == {"columns.npy"}
    assert run(*arguments, "--wrap").exit_code == 0
    assert np.array_equal(np.load(sums), reblock.fold(x, (4, 1), (2, 1)))
    assert run(*arguments, "--dtype", "int64", "--force").exit_code == 0
    assert np.load(sums)[0, 0, 1, 0] == limit + sign
    assert np.load(sums).dtype == np.int64
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


def test_sums_are_checked_by_the_dtype_of_the_result(tmp_path: Path) -> None:
    columns, sums = tmp_path / "columns.npy", tmp_path / "sums.npy"
    arguments = ("fold", columns, sums, "--output-sizes", "3,3", "--window-sizes", 2, "--force")
    for dtype, value in ((np.int64, 64), (np.uint8, 64), (np.bool_, 1)):
        np.save(columns, np.full((1, 4, 4), value, dtype))
        assert run(*arguments, "--dtype", "uint16").exit_code == 0
        assert np.load(sums)[0, 0, 1, 1] == 4 * value
    np.save(columns, np.full((1, 4, 4), 64))
    assert_refused(
        run(*arguments, "--dtype", "uint8"),
        f"cannot use {columns}: a sum is 256, and uint8 ends at 255: take a wider --dtype,"
        " or --wrap",
    )
    assert run(*arguments, "--dtype", "float16", "--reduction", "mean").exit_code == 0
    assert np.load(sums).dtype == np.float16


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float32])
def test_other_sums_are_as_the_function_has_them(dtype: Any, tmp_path: Path) -> None:
    columns, sums = tmp_path / "columns.npy", tmp_path / "sums.npy"
    x = np.full((1, 4, 4), np.finfo(dtype).max if dtype == np.float32 else np.iinfo(dtype).max)
    np.save(columns, x.astype(dtype))
    run("fold", columns, sums, "--output-sizes", "3,3", "--window-sizes", 2)
    assert np.array_equal(np.load(sums), reblock.fold(x.astype(dtype), (3, 3), 2))
