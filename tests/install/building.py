# SPDX-License-Identifier: BSD-3-Clause
"""How the tests install the library, and build and run what uses it."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "cpp" / "examples"
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror"
INCLUDE = ROOT / "cpp" / "include"
HEADER = INCLUDE / "reblock" / "version.hpp"
VERSION = re.findall(r'version\[\] = "(.+)"', HEADER.read_text(encoding="utf-8"))[0]
# The C compiler that belongs to the C++ compiler.
CXX = os.environ.get("CXX", "c++")
CC = CXX.replace("clang++", "clang").replace("g++", "gcc").replace("c++", "cc")


def try_to(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command that may fail."""
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"CC": CC} | variables,
    )


def run(*command: str | Path, **variables: str) -> str:
    """Run a command that must succeed and return what it prints."""
    done = try_to(*command, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def configure(source: Path, build: Path, *arguments: str) -> None:
    """Configure a project so that warnings, also those inside of reblock's headers, are errors.

    It is built without optimization, which takes a fourth of the time, unless an argument asks.
    """
    run(
        *("cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Debug"),
        *(f"-DCMAKE_{language}_FLAGS={WARNINGS}" for language in ("C", "CXX")),
        "--no-warn-unused-cli",
        "-DCMAKE_NO_SYSTEM_FROM_IMPORTED=ON",
        *arguments,
    )


def build_and_test(source: Path, build: Path, *arguments: str) -> None:
    """Build a project and run its tests."""
    configure(source, build, *arguments)
    run("cmake", "--build", build)
    run("ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error")


def install(factory: pytest.TempPathFactory, name: str, *arguments: str) -> Path:
    """Install the library, then move it: nothing in it may say where it was.

    It is done once, also where pytest-xdist has several processes.
    """
    where = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        where = where.parent
    moved = where / name / "moved"
    moved.parent.mkdir(exist_ok=True)
    with (where / name / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not moved.exists():
            build, first = where / name / "build", where / name / "first"
            run(
                *("cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DREBLOCK_BUILD_TESTS=OFF"),
                *arguments,
            )
            if "-DREBLOCK_BUILD_COMPILED=ON" in arguments:
                run("cmake", "--build", build)
            run("cmake", "--install", build, "--prefix", first)
            first.rename(moved)
    return moved


def install_libraries(factory: pytest.TempPathFactory) -> Path:
    """Install all forms of the library, made with other options than any program here has."""
    return install(
        *(factory, "libraries", "-DREBLOCK_BUILD_COMPILED=ON", "-DREBLOCK_BUILD_C=ON"),
        *("-DCMAKE_BUILD_TYPE=Release", "-DREBLOCK_WARNINGS_AS_ERRORS=ON"),
        "-DCMAKE_CXX_FLAGS=-fno-exceptions -fno-rtti",
    )


def compile_and_run(
    sources: Sequence[Path], program: Path, *flags: str, link: Sequence[str] = (), **variables: str
) -> None:
    """Build a program without CMake and run it."""
    compiler = [CC, "-std=c11"] if sources[0].suffix == ".c" else [CXX, "-std=c++20"]
    run(*compiler, "-O1", *WARNINGS.split(), *flags, "-o", program, *sources, *link)
    run(program, **variables)


def pkg_config_path(prefix: Path) -> str:
    """Return where the files for pkg-config are below a prefix."""
    directories = (prefix / "lib" / "pkgconfig", prefix / "share" / "pkgconfig")
    return os.pathsep.join(map(str, directories))


def pkg_config(prefix: Path, *arguments: str) -> list[str]:
    """Return what pkg-config says about a package below a prefix."""
    return run("pkgconf", *arguments, PKG_CONFIG_PATH=pkg_config_path(prefix)).split()
