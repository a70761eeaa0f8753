# SPDX-License-Identifier: BSD-3-Clause
"""The C++ library as its users take it: installed, from the wheel, as a source tree, as one header.

`nox -s install` runs this for each compiler, which is what the environment variable CXX says;
`nox -s install_wheel` runs the tests with a wheel in their names, where one is installed.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "cpp" / "examples"
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror"
HEADER = ROOT / "cpp" / "include" / "reblock" / "version.hpp"
VERSION = re.findall(r'version\[\] = "(.+)"', HEADER.read_text(encoding="utf-8"))[0]
MAJOR, MINOR, PATCH = map(int, VERSION.split("."))


def run(*command: str | Path, **variables: str) -> str:
    """Run a command that must succeed and return what it prints."""
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def configure(source: Path, build: Path, *arguments: str) -> None:
    """Configure a project so that warnings, also those inside of reblock's headers, are errors."""
    run(
        *("cmake", "-G", "Ninja", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release"),
        f"-DCMAKE_CXX_FLAGS={WARNINGS}",
        "-DCMAKE_NO_SYSTEM_FROM_IMPORTED=ON",
        *arguments,
    )


def build_and_test(source: Path, build: Path, *arguments: str) -> None:
    """Build a project and run its tests."""
    configure(source, build, *arguments)
    run("cmake", "--build", build)
    run("ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error")


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the library, then move it: nothing in it may say where it was."""
    where = tmp_path_factory.mktemp("prefix")
    first, moved = where / "first", where / "moved"
    run("cmake", "-S", ROOT, "-B", where / "build", "-DREBLOCK_BUILD_TESTS=OFF")
    run("cmake", "--install", where / "build", "--prefix", first)
    return first.rename(moved)


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir()))
def test_an_example_against_the_installed_package(
    example: str, prefix: Path, tmp_path: Path
) -> None:
    build_and_test(EXAMPLES / example, tmp_path, f"-Dreblock_ROOT={prefix}")


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("", True),
        (f"{MAJOR}.{MINOR}", True),
        (f"{VERSION} EXACT", True),
        (f"{MAJOR}.{MINOR}.{PATCH + 1}", False),
        (f"{MAJOR}.{MINOR + 1}", False),
        (f"{MAJOR + 1}.0", False),
    ],
)
def test_find_package_refuses_another_version(
    version: str, fits: bool, prefix: Path, tmp_path: Path
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(version LANGUAGES NONE)\n"
        f"find_package(reblock {version} CONFIG)\n"
        f'if(NOT reblock_FOUND STREQUAL "{int(fits)}")\n'
        '  message(FATAL_ERROR "${reblock_FOUND}: ${reblock_CONSIDERED_VERSIONS}")\n'
        "endif()\n",
        encoding="utf-8",
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Dreblock_ROOT={prefix}")


def compile_and_run(source: Path, program: Path, *flags: str) -> None:
    """Build a program without CMake and run it."""
    compiler = os.environ.get("CXX", "c++")
    run(compiler, "-std=c++20", "-O1", *WARNINGS.split(), *flags, source, "-o", program)
    run(program)


def test_pkg_config(prefix: Path, tmp_path: Path) -> None:
    path = str(prefix / "share" / "pkgconfig")
    version = run("pkgconf", "--modversion", "reblock", PKG_CONFIG_PATH=path)
    assert version.strip() == VERSION
    flags = run("pkgconf", "--cflags", "reblock", PKG_CONFIG_PATH=path).split()
    compile_and_run(EXAMPLES / "directml" / "directml.cpp", tmp_path / "directml", *flags)


def test_the_single_header(tmp_path: Path) -> None:
    (tmp_path / "reblock").mkdir()
    header = tmp_path / "reblock" / "reblock.hpp"
    run(sys.executable, ROOT / "tools" / "amalgamate.py", header)
    assert not re.search('#include [<"]reblock', header.read_text(encoding="utf-8"))
    compile_and_run(EXAMPLES / "directml" / "directml.cpp", tmp_path / "directml", f"-I{tmp_path}")


def test_add_subdirectory_brings_the_headers_and_nothing_else(tmp_path: Path) -> None:
    build, installed = tmp_path / "build", tmp_path / "installed"
    build_and_test(ROOT / "tests" / "install" / "subdirectory", build)
    run("cmake", "--install", build, "--prefix", installed)
    files = [path.name for path in installed.rglob("*") if path.is_file()]
    assert files == ["subdirectory"]


def test_an_example_against_the_wheel(tmp_path: Path) -> None:
    reblock = importlib.import_module("reblock")
    build_and_test(EXAMPLES / "directml", tmp_path, f"-Dreblock_DIR={reblock.get_cmake_dir()}")


def test_an_extension_by_scikit_build_core_against_the_wheel(tmp_path: Path) -> None:
    run(
        *(sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps"),
        *("--target", tmp_path, ROOT / "tests" / "install" / "extension"),
    )
    script = (
        "import numpy, reblock, reblock_extension;"
        "x = numpy.arange(360, dtype=numpy.float32).reshape(2, 12, 3, 5);"
        "assert reblock_extension.version == reblock.__version__;"
        "same = reblock_extension.depth_to_space(x, 2) == reblock.depth_to_space(x, 2);"
        "assert same.shape == (2, 3, 6, 10) and same.all()"
    )
    run(sys.executable, "-c", script, PYTHONPATH=str(tmp_path))
