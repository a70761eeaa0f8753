# SPDX-License-Identifier: BSD-3-Clause
"""Libraries in one program that were built from reblock's headers apart from each other.

They may be of other versions of reblock, and compiled with other options. `nox -s install` runs
this for each compiler, which is what the environment variable CXX says.
"""

from __future__ import annotations

import itertools
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).resolve().parent / "libraries"
INCLUDE = ROOT / "cpp" / "include"
COMPILER = os.environ.get("CXX", "c++")
IS_X86_64 = platform.machine().lower() in ("x86_64", "amd64")


def run(*command: str | Path) -> str:
    """Run a command that must succeed and return what it prints."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compile_cpp(*arguments: str | Path) -> None:
    run(COMPILER, "-std=c++20", "-O1", *arguments)


@dataclass
class Library:
    """A shared library with one function that is its own."""

    path: Path
    function: str

    def symbols(self, *options: str) -> set[tuple[str, str]]:
        """Return the kinds and names of the symbols that are reblock's."""
        lines = run("nm", "--defined-only", "--format=posix", *options, self.path).splitlines()
        found = {(kind, name) for name, kind, *_ in map(str.split, lines) if "reblock" in name}
        assert found or "--dynamic" in options
        return found


def build_library(where: Path, name: str, include: Path, *flags: str) -> Library:
    library = Library(where / f"lib{name}.so", f"{name}_works")
    function = f"-DLIBRARY_FUNCTION={library.function}"
    shared = ("-shared", "-fPIC", "-Wl,-soname," + library.path.name)
    source = SOURCES / "library.cpp"
    compile_cpp(*shared, *flags, function, f"-I{include}", source, "-o", library.path)
    return library


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, file
    file.write_text(text.replace(old, new), encoding="utf-8")


def copy_as_version_99(where: Path) -> Path:
    """Copy the headers; the copy says that it is version 99.8.7."""
    include = where / "include"
    shutil.copytree(INCLUDE, include)
    text = (INCLUDE / "reblock" / "version.hpp").read_text(encoding="utf-8")
    (version,) = re.findall(r'version\[\] = "(.+)"', text)
    replace(include / "reblock" / "version.hpp", f'"{version}"', '"99.8.7"')
    configuration = include / "reblock" / "detail" / "configuration.hpp"
    replace(configuration, f"v{version.replace('.', '_')}", "v99_8_7")
    return include


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[Library]:
    """Build one version with the compiler's options, and another version with others."""
    where = tmp_path_factory.mktemp("libraries")
    other = copy_as_version_99(where)
    flags = ["-fno-exceptions", *(["-mavx2"] if IS_X86_64 else [])]
    return [
        build_library(where, "this_version", INCLUDE),
        build_library(where, "other_version", other, *flags),
    ]


@pytest.fixture(scope="session")
def twins(tmp_path_factory: pytest.TempPathFactory, libraries: list[Library]) -> list[Library]:
    """Two libraries of the same version with the same options, which have the same names.

    One of them calls its own functions, as some distributions link libraries, the other one may
    call those of either.
    """
    where = tmp_path_factory.mktemp("twins")
    own = "-Wl,-Bsymbolic-functions"
    return [libraries[0], build_library(where, "this_version_too", INCLUDE, own)]


def name_of_namespace(where: Path, *flags: str) -> str:
    """Return the name of the namespace that holds everything."""
    source = where / "namespace.cpp"
    lines = "#include <reblock/detail/configuration.hpp>\nREBLOCK_NAMESPACE\n"
    source.write_text(lines, encoding="utf-8")
    return run(COMPILER, "-std=c++20", *flags, f"-I{INCLUDE}", "-E", "-P", source).split()[-1]


# What compilers use on their own where they may, so files with and without it must share nothing.
@pytest.mark.parametrize(
    "instructions",
    [
        *("__APX_F__", "__AVX512FP16__", "__AVX512VBMI__", "__AVX2__", "__FMA4__", "__FMA__"),
        *("__GFNI__", "__BMI2__", "__LZCNT__", "__MOVBE__", "__F16C__"),
        *("__ARM_FEATURE_SVE", "__ARM_FEATURE_RCPC", "__ARM_FEATURE_DOTPROD"),
        "__ARM_FEATURE_ATOMICS",
    ],
)
def test_instructions_change_the_namespace(instructions: str, tmp_path: Path) -> None:
    names = {name_of_namespace(tmp_path, option + instructions) for option in ("-D", "-U")}
    assert len(names) == 2


@pytest.mark.parametrize(
    "flag",
    ["-ffast-math", "-ffinite-math-only", "-fno-exceptions", "-DNDEBUG", "-DREBLOCK_COMPILED"],
)
def test_an_option_changes_the_namespace(flag: str, tmp_path: Path) -> None:
    assert name_of_namespace(tmp_path, flag) != name_of_namespace(tmp_path)


@pytest.mark.skipif(not IS_X86_64, reason="these are names of processors with x86-64")
def test_processors_with_other_instructions_share_no_namespace(tmp_path: Path) -> None:
    processors = ("x86-64-v3", "bdver4", "alderlake", "icelake-server", "sapphirerapids")
    names = {name_of_namespace(tmp_path, f"-march={processor}") for processor in processors}
    assert len(names) == len(processors)


def has_avx2() -> bool:
    """Whether this processor runs what is compiled with the flags of the other version."""
    return not IS_X86_64 or "avx2" in Path("/proc/cpuinfo").read_text(encoding="utf-8")


def check_in_one_program(libraries: list[Library], where: Path) -> None:
    program = SOURCES / "program.cpp"
    loads = where / "loads"
    options = ("-pthread", "-ldl")
    compile_cpp(program, *options, "-o", loads)
    for order in itertools.permutations(libraries):
        names = [str(part) for library in order for part in (library.path, library.function)]
        run(loads, *names)
        # The same where they are a part of the program from its start.
        linked = where / "linked"
        paths = [library.path for library in order]
        search = [f"-Wl,-rpath,{path.parent}" for path in paths]
        as_needed = "-Wl,--no-as-needed"
        compile_cpp(program, as_needed, *paths, *search, *options, "-o", linked)
        run(linked, *names)


def test_other_versions_and_options_in_one_program(
    libraries: list[Library], tmp_path: Path
) -> None:
    if not has_avx2():
        pytest.skip("this processor has no AVX2, which one of the libraries is built with")
    check_in_one_program(libraries, tmp_path)


def test_the_same_version_twice_in_one_program(twins: list[Library], tmp_path: Path) -> None:
    check_in_one_program(twins, tmp_path)


def test_other_versions_and_options_share_no_name(libraries: list[Library]) -> None:
    one, other = ({name for _, name in x.symbols("--dynamic")} for x in libraries)
    assert one
    assert other
    assert not one & other


def test_libraries_share_no_data(libraries: list[Library]) -> None:
    """A process has one of each unique symbol, and of each weak object that is exported."""
    for library in libraries:
        assert "u" not in {kind for kind, _ in library.symbols()}
        assert {kind for kind, _ in library.symbols("--dynamic")} <= {"T", "W"}  # functions
