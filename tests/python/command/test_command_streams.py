# SPDX-License-Identifier: BSD-3-Clause
"""Threads, standard input and standard output of the `reblock` command."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import reblock
from commands import COMMAND, WHOLE, noise, run


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
        (b"\x93NUMPY", f"{WHOLE}EOF: reading magic string, expected 8 bytes got 6"),
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


def print_to(stream: int, arguments: str, unbuffered: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command that prints to a stream."""
    return subprocess.run(
        [*COMMAND, *arguments.split()],
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        stdout=stream,
        stderr=subprocess.PIPE,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes of this kind")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["--version", "--help", "info", "explain unfold"])
def test_nobody_reads_what_is_printed(arguments: str, unbuffered: str) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = print_to(theirs, arguments, unbuffered)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (2, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["--version", "--help", "info", "explain unfold"])
def test_what_is_printed_does_not_fit_on_the_disk(arguments: str, unbuffered: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = print_to(full.fileno(), arguments, unbuffered)
    line = b"reblock: cannot print: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, line)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes streams")
@pytest.mark.parametrize(
    ("arguments", "closed", "stderr"),
    [
        ("in.npy out.npy", "2", ""),
        ("in.npy out.npy", "1", ""),
        ("- out.npy", "0", "reblock: cannot use standard input: it is closed\n"),
        ("in.npy -", "1", "reblock: cannot use standard output: it is closed\n"),
    ],
)
def test_streams_that_are_closed(array: Path, arguments: str, closed: str, stderr: str) -> None:
    command = f"{shlex.join(COMMAND)} depth-to-space {arguments} --block-size 2 {closed}>&-"
    done = subprocess.run(
        command, shell=True, cwd=array.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2 if stderr else 0, stderr)
    assert array.with_name("out.npy").exists() == (not stderr)


def test_the_content_and_not_the_name_tells_what_a_file_is(array: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    named = array.rename(tmp_path / "array.png")
    assert run("depth-to-space", named, out, "--block-size", 2).exit_code == 0
    assert np.load(out).shape == (2, 1, 6, 10)

    image = tmp_path / "image.npy"
    Image.fromarray(noise(6, 8)).save(image, "png")
    assert run("space-to-depth", image, out, "--block-size", 2, "--force").exit_code == 0
    assert np.load(out).shape == (1, 4, 3, 4)


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="needs a path to a pipe")
def test_an_array_from_a_path_to_a_pipe(array: Path) -> None:
    out = array.with_name("out.npy")
    done = piped("depth-to-space", "/dev/stdin", out, "--block-size", 2, stdin=array.read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    assert np.array_equal(np.load(out), reblock.depth_to_space(np.load(array), 2))


# diagnose
