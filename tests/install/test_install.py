# SPDX-License-Identifier: BSD-3-Clause
"""The C++ library as its users take it: installed, from the wheel, as a source tree, as one header.

Headers alone, the library reblock::compiled, and a file that includes reblock/implementation.hpp.
`nox -s install` runs this for each compiler, which is what the environment variable CXX says;
`nox -s install_wheel` runs the tests with a wheel in their names, where one is installed.
"""

from __future__ import annotations

import fcntl
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "cpp" / "examples"
DIRECTML = EXAMPLES / "directml" / "directml.cpp"
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror"
HEADER = ROOT / "cpp" / "include" / "reblock" / "version.hpp"
VERSION = re.findall(r'version\[\] = "(.+)"', HEADER.read_text(encoding="utf-8"))[0]
MAJOR, MINOR, PATCH = map(int, VERSION.split("."))


def try_to(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command that may fail."""
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )


def run(*command: str | Path, **variables: str) -> str:
    """Run a command that must succeed and return what it prints."""
    done = try_to(*command, **variables)
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


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the headers are installed, without a build."""
    return install(tmp_path_factory, "headers")


@pytest.fixture(scope="session")
def compiled_prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library is installed too, made with other options than any program here has."""
    return install(
        *(tmp_path_factory, "compiled", "-DREBLOCK_BUILD_COMPILED=ON"),
        *("-DCMAKE_BUILD_TYPE=Release", "-DREBLOCK_WARNINGS_AS_ERRORS=ON"),
        "-DCMAKE_CXX_FLAGS=-fno-exceptions -fno-rtti",
    )


every_example = pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir()))


@every_example
def test_an_example_against_the_installed_package(
    example: str, prefix: Path, tmp_path: Path
) -> None:
    build_and_test(EXAMPLES / example, tmp_path, f"-Dreblock_ROOT={prefix}")


@every_example
def test_an_example_against_the_compiled_library(
    example: str, compiled_prefix: Path, tmp_path: Path
) -> None:
    """Another target is all that a project changes."""
    project = tmp_path / example
    shutil.copytree(EXAMPLES / example, project)
    lists = project / "CMakeLists.txt"
    text = lists.read_text(encoding="utf-8")
    lists.write_text(text.replace("reblock::reblock", "reblock::compiled"), encoding="utf-8")
    build_and_test(project, tmp_path / "build", f"-Dreblock_ROOT={compiled_prefix}")


def find_package(arguments: str, prefix: Path, directory: Path, *then: str) -> str:
    """Configure a project of find_package(reblock) and some lines; return what it prints."""
    lines = (
        "cmake_minimum_required(VERSION 3.25)",
        "project(find LANGUAGES NONE)",
        f"find_package(reblock {arguments} CONFIG)",
        *then,
    )
    (directory / "CMakeLists.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = try_to("cmake", "-S", directory, "-B", directory / "build", f"-Dreblock_ROOT={prefix}")
    assert ("CMake Error" in done.stderr) == (done.returncode != 0)
    return " ".join((done.stdout + done.stderr).split())


def test_the_library_is_a_component(prefix: Path, compiled_prefix: Path, tmp_path: Path) -> None:
    say = 'message(STATUS "found: ${reblock_FOUND}, ${reblock_compiled_FOUND}")'
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    for components in ("", "COMPONENTS compiled"):
        found = find_package(components, compiled_prefix, tmp_path / "with", say)
        assert "found: 1, TRUE" in found
    assert "found: 1, FALSE" in find_package("", prefix, tmp_path / "without", say)
    refused = find_package("COMPONENTS compiled REQUIRED", prefix, tmp_path / "without", say)
    assert "reblock::compiled is not installed here" in refused
    assert "found: " not in refused


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
    say = 'message(STATUS "found: ${reblock_FOUND}, ${reblock_CONSIDERED_VERSIONS}")'
    assert f"found: {int(fits)}, {VERSION}" in find_package(version, prefix, tmp_path, say)


def compile_and_run(
    sources: Sequence[Path], program: Path, *flags: str, link: Sequence[str] = ()
) -> None:
    """Build a program without CMake and run it."""
    compiler = os.environ.get("CXX", "c++")
    options = ["-std=c++20", "-O1", *WARNINGS.split(), *flags, "-o", str(program)]
    run(compiler, *options, *sources, *link)
    run(program)


def pkg_config(prefix: Path, *arguments: str) -> list[str]:
    """Return what pkg-config says about a package below a prefix."""
    directories = (prefix / "lib" / "pkgconfig", prefix / "share" / "pkgconfig")
    path = os.pathsep.join(map(str, directories))
    return run("pkgconf", *arguments, PKG_CONFIG_PATH=path).split()


def test_pkg_config(prefix: Path, tmp_path: Path) -> None:
    assert pkg_config(prefix, "--modversion", "reblock") == [VERSION]
    assert pkg_config(prefix, "--libs", "reblock") == []
    compile_and_run([DIRECTML], tmp_path / "directml", *pkg_config(prefix, "--cflags", "reblock"))


@pytest.mark.parametrize("flags", ["-O0 -g", "-O2 -DNDEBUG -mavx2", "-O1 -ffast-math"])
def test_a_library_and_a_program_of_other_options(
    flags: str, compiled_prefix: Path, tmp_path: Path
) -> None:
    """The program catches and throws; the library knows no exceptions."""
    if "avx2" in flags and "avx2" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        flags = flags.replace("-mavx2", "")
    assert pkg_config(compiled_prefix, "--modversion", "reblock-compiled") == [VERSION]
    compile_and_run(
        [ROOT / "tests" / "install" / "options.cpp"],
        tmp_path / "options",
        *flags.split(),
        *pkg_config(compiled_prefix, "--cflags", "reblock-compiled"),
        link=pkg_config(compiled_prefix, "--libs", "reblock-compiled"),
    )


def test_one_file_includes_the_implementation(tmp_path: Path) -> None:
    implementation = tmp_path / "implementation.cpp"
    implementation.write_text("#include <reblock/implementation.hpp>\n", encoding="utf-8")
    include = f"-I{ROOT / 'cpp' / 'include'}"
    compile_and_run(
        [DIRECTML, implementation], tmp_path / "directml", include, "-DREBLOCK_COMPILED"
    )


def test_the_single_header(tmp_path: Path) -> None:
    (tmp_path / "reblock").mkdir()
    header = tmp_path / "reblock" / "reblock.hpp"
    run(sys.executable, ROOT / "tools" / "amalgamate.py", header)
    assert not re.search('#include [<"]reblock', header.read_text(encoding="utf-8"))
    compile_and_run([DIRECTML], tmp_path / "directml", f"-I{tmp_path}")


@pytest.mark.parametrize("flags", ["", "-DREBLOCK_COMPILED"])
@pytest.mark.parametrize("form", ["headers", "single header"])
def test_no_macro_is_left(form: str, flags: str, tmp_path: Path) -> None:
    (tmp_path / "reblock").mkdir()
    if form == "single header":
        run(sys.executable, ROOT / "tools" / "amalgamate.py", tmp_path / "reblock" / "reblock.hpp")
    source = tmp_path / "source.cpp"
    source.write_text("#include <reblock/reblock.hpp>\n", encoding="utf-8")
    include = (f"-I{tmp_path}", f"-I{ROOT / 'cpp' / 'include'}")
    compiler = os.environ.get("CXX", "c++")
    macros = run(compiler, "-std=c++20", *flags.split(), *include, "-E", "-dM", source)
    assert set(re.findall(r"#define (REBLOCK\w*)", macros)) <= {"REBLOCK_COMPILED"}


@pytest.mark.parametrize("target", ["reblock", "compiled"])
def test_add_subdirectory_brings_what_is_linked_and_nothing_else(
    target: str, tmp_path: Path
) -> None:
    build, installed = tmp_path / "build", tmp_path / "installed"
    build_and_test(
        *(ROOT / "tests" / "install" / "subdirectory", build, f"-DTARGET=reblock::{target}"),
        "-DCMAKE_BUILD_TYPE=Debug",
    )
    assert len(list(build.rglob("*.a"))) == (1 if target == "compiled" else 0)
    run("cmake", "--install", build, "--prefix", installed)
    files = [path.name for path in installed.rglob("*") if path.is_file()]
    assert files == ["subdirectory"]


def test_the_library_is_installed_where_doctest_is_missing(tmp_path: Path) -> None:
    """Tests are left out then, unless they are asked for."""
    missing = ("-DCMAKE_DISABLE_FIND_PACKAGE_doctest=ON", "-DFETCHCONTENT_FULLY_DISCONNECTED=ON")
    build, installed = tmp_path / "build", tmp_path / "installed"
    printed = run("cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *missing)
    assert printed.count("doctest") == 1
    assert "tests are left out, since doctest is not installed" in printed
    run("cmake", "--install", build, "--prefix", installed)
    assert (installed / "include" / "reblock" / "reblock.hpp").is_file()
    assert not list(installed.rglob("*.a"))
    done = try_to(
        *("cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path / "tests", *missing),
        "-DREBLOCK_BUILD_TESTS=ON",
    )
    assert done.returncode != 0
    assert "the C++ tests need doctest, which could not be fetched" in done.stderr


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
