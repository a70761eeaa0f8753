# SPDX-License-Identifier: BSD-3-Clause
"""The C++ library as its users take it: installed, from the wheel, as a source tree, as one header.

Headers alone, the library reblock::compiled, and a file that includes reblock/implementation.hpp.
`nox -s install` runs this for each compiler, which is what the environment variable CXX says;
`nox -s install_wheel` runs the tests with a wheel in their names, where one is installed.
"""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from pathlib import Path

import pytest

from building import (
    CXX,
    EXAMPLES,
    INCLUDE,
    ROOT,
    VERSION,
    WARNINGS,
    build_and_test,
    compile_and_run,
    install,
    install_libraries,
    pkg_config,
    pkg_config_path,
    run,
    try_to,
)

DIRECTML = EXAMPLES / "directml" / "directml.cpp"
SMALL = ROOT / "tests" / "install" / "small.cpp"
MAJOR, MINOR, PATCH = map(int, VERSION.split("."))


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the headers are installed, without a build."""
    return install(tmp_path_factory, "headers")


@pytest.fixture(scope="session")
def compiled_prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the libraries are installed too."""
    return install_libraries(tmp_path_factory)


every_example = pytest.mark.parametrize(
    "example", sorted({path.parent.name for path in EXAMPLES.glob("*/*.cpp")})
)


@every_example
def test_an_example_against_the_installed_package(
    example: str, prefix: Path, tmp_path: Path
) -> None:
    # One with all operators is optimized, so that compilers see more and warn of more.
    kind = "Release" if example == "directml" else "Debug"
    build_and_test(
        EXAMPLES / example, tmp_path, f"-Dreblock_ROOT={prefix}", f"-DCMAKE_BUILD_TYPE={kind}"
    )


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


@pytest.mark.one_compiler
def test_each_library_is_a_component(prefix: Path, compiled_prefix: Path, tmp_path: Path) -> None:
    say = 'message(STATUS "found: ${reblock_FOUND}, ${reblock_compiled_FOUND}, ${reblock_c_FOUND}")'
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    for components in ("", "COMPONENTS compiled", "COMPONENTS c", "COMPONENTS compiled c"):
        found = find_package(components, compiled_prefix, tmp_path / "with", say)
        assert "found: 1, TRUE, TRUE" in found
    assert "found: 1, FALSE, FALSE" in find_package("", prefix, tmp_path / "without", say)
    for component in ("compiled", "c"):
        components = f"COMPONENTS {component} REQUIRED"
        refused = find_package(components, prefix, tmp_path / "without", say)
        assert f"reblock::{component} is not installed here" in refused
        assert f"-DREBLOCK_BUILD_{component.upper()}=ON" in refused
        assert "found: " not in refused


@pytest.mark.one_compiler
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


@pytest.mark.one_compiler
def test_pkg_config(prefix: Path) -> None:
    assert pkg_config(prefix, "--modversion", "reblock") == [VERSION]
    assert pkg_config(prefix, "--libs", "reblock") == []
    [flag] = pkg_config(prefix, "--cflags", "reblock")  # Meson builds a program with it below
    assert Path(flag.removeprefix("-I"), "reblock", "reblock.hpp").is_file()


@pytest.mark.parametrize("standard", ["c++20", "c++23"])
def test_headers_without_exceptions_and_type_information(standard: str, tmp_path: Path) -> None:
    without = ("-O0", "-fno-exceptions", "-fno-rtti")
    compile_and_run([SMALL], tmp_path / "small", f"-std={standard}", *without, f"-I{INCLUDE}")


def test_headers_compile_with_fast_math(tmp_path: Path) -> None:
    """Clang then warns of each infinity and each test for one: plans are chosen without."""
    source = tmp_path / "source.cpp"
    source.write_text("#include <reblock/reblock.hpp>\n", encoding="utf-8")
    warnings = WARNINGS.split()
    run(CXX, "-std=c++20", *warnings, "-ffast-math", f"-I{INCLUDE}", "-fsyntax-only", source)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("copy(x, x, conversion{})", "the output must have elements that are not const"),
        ("unfold(x, x, {.sizes = 2}, conversion{})", "elements that are not const"),
        ("copy(x, y, 4)", "an executor needs concurrency() and run()"),
        ("unfold(x, y, {.sizes = 2}, 4)", "an executor needs concurrency() and run()"),
    ],
)
def test_the_compiler_refuses_what_does_not_fit(call: str, message: str, tmp_path: Path) -> None:
    source = tmp_path / "source.cpp"
    lines = (
        "#include <reblock/reblock.hpp>",
        "using namespace reblock;",
        f"void call(tensor_view<const float> x, tensor_view<float> y) {{ {call}; }}",
    )
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = try_to(CXX, "-std=c++20", f"-I{INCLUDE}", "-fsyntax-only", source)
    assert done.returncode != 0
    first = next(line for line in done.stderr.splitlines() if " error: " in line)
    assert message in first


@pytest.mark.one_compiler
@pytest.mark.parametrize("package", ["reblock", "reblock-compiled"])
def test_meson(package: str, compiled_prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "meson.build").write_text(
        "project('small', 'cpp', default_options: ['cpp_std=c++20', 'werror=true'])\n"
        f"program = executable('small', 'small.cpp', dependencies: dependency('{package}'))\n"
        "test('small', program)\n",
        encoding="utf-8",
    )
    shutil.copy(SMALL, tmp_path)
    packages = pkg_config_path(compiled_prefix)
    run("meson", "setup", tmp_path / "build", tmp_path, CXX=CXX, PKG_CONFIG_PATH=packages)
    run("meson", "test", "-C", tmp_path / "build")


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


@pytest.mark.one_compiler
def test_one_file_includes_the_implementation(tmp_path: Path) -> None:
    implementation = tmp_path / "implementation.cpp"
    implementation.write_text("#include <reblock/implementation.hpp>\n", encoding="utf-8")
    include = f"-I{INCLUDE}"
    compile_and_run(
        [DIRECTML, implementation], tmp_path / "directml", include, "-DREBLOCK_COMPILED"
    )


@pytest.mark.one_compiler
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
    include = (f"-I{tmp_path}", f"-I{INCLUDE}")
    macros = run(CXX, "-std=c++20", *flags.split(), *include, "-E", "-dM", source)
    assert set(re.findall(r"#define (REBLOCK\w*)", macros)) <= {"REBLOCK_COMPILED"}


@pytest.mark.parametrize("header", ["reblock", "implementation", "single header"])
def test_macros_of_other_headers_are_allowed(header: str, tmp_path: Path) -> None:
    """They are those of windows.h, complex.h, AssertMacros.h and Qt. The program keeps them."""
    flags = [f"-I{INCLUDE}"]
    if header == "single header":
        header = "single"
        (tmp_path / "reblock").mkdir()
        run(sys.executable, ROOT / "tools" / "amalgamate.py", tmp_path / "reblock" / "single.hpp")
        flags = [f"-I{tmp_path}"]
    elif header == "implementation":
        flags.append("-DREBLOCK_COMPILED")
    lines = (
        "#define max(a, b) ((a) > (b) ? (a) : (b))",
        "#define min(a, b) ((a) < (b) ? (a) : (b))",
        "#define check(x) (x)",
        "#define near",
        "#define far",
        "#define slots",
        "#define small char",
        "#define I 4",
        f"#include <reblock/{header}.hpp>",
        "static_assert(max(1, 2) + min(1, 2) + check(1) + I + sizeof(small near far slots) == 9);",
    )
    source = tmp_path / "source.cpp"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(CXX, "-std=c++20", "-Wall", "-Wextra", "-Werror", *flags, "-fsyntax-only", source)


@pytest.mark.parametrize(
    ("way", "target"),
    [("add_subdirectory", "reblock"), ("FetchContent", "compiled")],
)
def test_a_source_tree_brings_what_is_linked_and_nothing_else(
    way: str, target: str, tmp_path: Path
) -> None:
    """FetchContent calls add_subdirectory. `nox -s cpp` tests the library of another standard."""
    build, installed = tmp_path / "build", tmp_path / "installed"
    build_and_test(
        *(ROOT / "tests" / "install" / "subdirectory", build, f"-DTARGET=reblock::{target}"),
        *(f"-DFETCH={int(way == 'FetchContent')}", "-DCMAKE_CXX_STANDARD=23"),
    )
    assert len(list(build.rglob("*.a"))) == (1 if target == "compiled" else 0)
    run("cmake", "--install", build, "--prefix", installed)
    files = [path.name for path in installed.rglob("*") if path.is_file()]
    assert files == ["subdirectory"]


@pytest.mark.one_compiler
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
