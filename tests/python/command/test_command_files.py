# SPDX-License-Identifier: BSD-3-Clause
"""Files that the `reblock` command keeps and replaces, its memory and its signals."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reblock
from commands import COMMAND, assert_refused, names, run
from reblock import _convert


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
