# SPDX-License-Identifier: BSD-3-Clause
"""The C library as its users take it: from C by CMake and pkg-config, from Python by ctypes."""

from __future__ import annotations

import ctypes
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from building import (
    CC,
    CXX,
    EXAMPLES,
    INCLUDE,
    ROOT,
    VERSION,
    WARNINGS,
    build_and_test,
    compile_and_run,
    install_libraries,
    pkg_config,
    run,
    try_to,
)
from documents import (
    COLUMNS,
    COLUMNS_PADDED,
    DEPTH,
    FOLDED,
    FOLDED_PADDED,
    FOLDED_SECOND_CHANNEL,
    SPACE_CRD,
    SPACE_DCR,
)

EXAMPLE = EXAMPLES / "directml_c"
PAGE = ROOT / "docs" / "reference" / "c.md"
# What the library exports, in the order of reblock/c.h: a change of it changes programs.
EXPORTS = [
    "reblock_operator_create",
    "reblock_operator_dispatch",
    "reblock_operator_destroy",
    "reblock_operator_input_size",
    "reblock_operator_output_size",
    "reblock_buffer_tensor_size",
    "reblock_last_error",
    "reblock_version",
]


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the libraries are installed."""
    return install_libraries(tmp_path_factory)


@pytest.mark.parametrize("target", ["c", "c_static"])
def test_the_example_in_a_project_without_cpp(target: str, prefix: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project)
    lists = project / "CMakeLists.txt"
    text = lists.read_text(encoding="utf-8")
    assert "LANGUAGES C)" in text
    lists.write_text(text.replace("reblock::c)", f"reblock::{target})"), encoding="utf-8")
    build_and_test(project, tmp_path / "build", f"-Dreblock_ROOT={prefix}")


def test_pkg_config_of_the_shared_library(prefix: Path, tmp_path: Path) -> None:
    assert pkg_config(prefix, "--modversion", "reblock-c") == [VERSION]
    libraries = pkg_config(prefix, "--libs", "reblock-c")
    assert not any("stdc++" in option for option in libraries)
    compile_and_run(
        [EXAMPLE / "directml.c"],
        tmp_path / "program",
        *pkg_config(prefix, "--cflags", "reblock-c"),
        link=libraries,
        LD_LIBRARY_PATH=str(prefix / "lib"),
    )


def test_pkg_config_of_the_static_library(prefix: Path, tmp_path: Path) -> None:
    """Nothing is loaded when the program starts."""
    compile_and_run(
        [EXAMPLE / "directml.c"],
        tmp_path / "program",
        *("-static", *pkg_config(prefix, "--cflags", "reblock-c")),
        link=pkg_config(prefix, "--static", "--libs", "reblock-c"),
    )


@pytest.mark.one_compiler
@pytest.mark.parametrize(("shared", "made"), [("ON", {".so"}), ("OFF", {".a"})])
def test_a_project_may_want_one_form(shared: str, made: set[str], tmp_path: Path) -> None:
    run(
        *("cmake", "-G", "Ninja", "-S", ROOT, "-B", tmp_path, "-DREBLOCK_BUILD_TESTS=OFF"),
        *("-DREBLOCK_BUILD_C=ON", f"-DBUILD_SHARED_LIBS={shared}"),
    )
    targets = run("ninja", "-C", tmp_path, "-t", "targets", "all")
    assert set(re.findall(r"/libreblock_c(\.\w+): ", targets)) == made


def test_what_the_shared_library_exports(prefix: Path) -> None:
    header = (INCLUDE / "reblock" / "c.h").read_text(encoding="utf-8")
    assert re.findall(r"\nREBLOCK_C_FUNCTION .*?(\w+)\(", header) == EXPORTS
    library = prefix / "lib" / "libreblock_c.so"
    listed = run("nm", "--dynamic", "--defined-only", "--format=posix", library)
    exported = [line.split()[0] for line in listed.splitlines()]
    assert sorted(exported) == sorted(EXPORTS)
    assert re.findall(r"SONAME.*\[(.+)\]", run("readelf", "-d", library)) == [
        "libreblock_c.so." + VERSION.rpartition(".")[0]
    ]


def test_what_a_library_exports_that_contains_the_static_one(prefix: Path, tmp_path: Path) -> None:
    """Beside them only what the standard library shares by name: types of exceptions, templates."""
    library = tmp_path / "library.so"
    archive = f"-Wl,--whole-archive,{prefix / 'lib' / 'libreblock_c.a'},--no-whole-archive"
    run(CXX, "-shared", "-o", library, archive)
    listed = run("nm", "--dynamic", "--defined-only", "--format=posix", library)
    exported = [line.split()[0] for line in listed.splitlines()]
    assert set(EXPORTS) <= set(exported)
    others = [name for name in exported if name not in EXPORTS]
    assert [name for name in others if not re.match(r"_ZT[ISV]?N?St|_ZN?K?St", name)] == []


@pytest.mark.parametrize("language", ["-xc -std=c11", "-xc++ -std=c++11", "-xc++ -std=c++20"])
@pytest.mark.parametrize("flags", ["-Wall -Wextra -Wpedantic -Werror", WARNINGS])
def test_the_declarations_are_those_of_directml(language: str, flags: str) -> None:
    compiler = CC if language.startswith("-xc ") else CXX
    layout = ROOT / "tests" / "install" / "layout.c"
    run(compiler, *language.split(), *flags.split(), "-fsyntax-only", f"-I{INCLUDE}", layout)


@pytest.mark.parametrize("header", ["c.h", "directml.h"])
def test_a_header_leaves_no_macro(header: str, tmp_path: Path) -> None:
    source = tmp_path / "source.c"
    source.write_text(f"#include <reblock/{header}>\n", encoding="utf-8")
    macros = run(CC, "-std=c11", f"-I{INCLUDE}", "-E", "-dM", source)
    assert re.findall(r"#define ((?:REBLOCK|DML|UINT\b|UINT64\b)\w*)", macros) == []


def compile_after_directml(version: str | None, directory: Path) -> tuple[int, str]:
    """Compile a program that includes a DirectML.h first, as far as c.h needs one."""
    lines = (
        "#define DIRECTML_H",
        f"#define DML_TARGET_VERSION {version}" if version else "",
        "typedef unsigned int UINT;",
        "enum DML_FEATURE_LEVEL { DML_FEATURE_LEVEL_2_0 = 0x2000 };",
        "struct DML_BUFFER_TENSOR_DESC { int of_directml; };",
        "struct DML_OPERATOR_DESC { int of_directml; };",
        "#include <reblock/c.h>",
        "int main() { DML_OPERATOR_DESC desc{1}; return reblock_last_error() == nullptr; }",
    )
    source = directory / "source.cpp"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    flags = ("-std=c++20", *WARNINGS.split(), "-Wno-unused-variable", "-fsyntax-only")
    done = try_to(CXX, *flags, f"-I{INCLUDE}", source)
    return done.returncode, done.stderr


@pytest.mark.parametrize("version", ["0x2000", "0x2100", "0x6400"])
def test_nothing_is_declared_that_directml_h_has_declared(version: str, tmp_path: Path) -> None:
    assert compile_after_directml(version, tmp_path) == (0, "")


@pytest.mark.parametrize("version", [None, "0x1000"])
def test_a_directml_h_without_feature_levels_is_refused(
    version: str | None, tmp_path: Path
) -> None:
    returned, printed = compile_after_directml(version, tmp_path)
    assert returned != 0
    assert "reblock needs a DirectML.h whose DML_TARGET_VERSION is 0x2000 or more" in printed


def test_the_program_on_the_page(prefix: Path, tmp_path: Path) -> None:
    blocks = re.findall(
        r"^```c\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert len(blocks) == 2
    assert len(blocks[0].splitlines()) < 20
    program = tmp_path / "program.c"
    program.write_text("\n".join(blocks), encoding="utf-8")
    compile_and_run(
        [program],
        tmp_path / "program",
        *pkg_config(prefix, "--cflags", "reblock-c"),
        link=pkg_config(prefix, "--libs", "reblock-c"),
        LD_LIBRARY_PATH=str(prefix / "lib"),
    )


# By ctypes ----------------------------------------------------------------------------------------

UINTS = ctypes.POINTER(ctypes.c_uint)
Nested: TypeAlias = "int | Sequence[Nested]"
FLOAT32, UINT32 = 1, 3
SPACE_TO_DEPTH, DEPTH_TO_SPACE, DEPTH_TO_SPACE1, SPACE_TO_DEPTH1 = 68, 69, 113, 114
FOLD, UNFOLD = 176, 177
DCR, CRD = 0, 1
LEVEL_6_4 = 0x6400


class BufferTensorDesc(ctypes.Structure):
    """DML_BUFFER_TENSOR_DESC."""

    _fields_ = (
        ("DataType", ctypes.c_int),
        ("Flags", ctypes.c_int),
        ("DimensionCount", ctypes.c_uint),
        ("Sizes", UINTS),
        ("Strides", UINTS),
        ("TotalTensorSizeInBytes", ctypes.c_uint64),
        ("GuaranteedBaseOffsetAlignment", ctypes.c_uint),
    )


class AnyDesc(ctypes.Structure):
    """DML_TENSOR_DESC and DML_OPERATOR_DESC."""

    _fields_ = (("Type", ctypes.c_int), ("Desc", ctypes.c_void_p))


TENSORS = (
    ("InputTensor", ctypes.POINTER(AnyDesc)),
    ("OutputTensor", ctypes.POINTER(AnyDesc)),
)


class BlocksDesc(ctypes.Structure):
    """DML_DEPTH_TO_SPACE1_OPERATOR_DESC; the structs without the 1 lack the last member."""

    _fields_ = (*TENSORS, ("BlockSize", ctypes.c_uint), ("Order", ctypes.c_int))


class WindowsDesc(ctypes.Structure):
    """DML_UNFOLD_OPERATOR_DESC and DML_FOLD_OPERATOR_DESC."""

    _fields_ = (
        *TENSORS,
        ("DimensionCount", ctypes.c_uint),
        ("WindowSizes", UINTS),
        ("Strides", UINTS),
        ("Dilations", UINTS),
        ("StartPadding", UINTS),
        ("EndPadding", UINTS),
    )


def uints(values: Sequence[int]) -> ctypes.Array[ctypes.c_uint]:
    """Return an array of UINT."""
    return (ctypes.c_uint * len(values))(*values)


def tensor(data_type: int, sizes: Sequence[int]) -> ctypes.Structure:
    """Return the description of a packed tensor of 4-byte elements, and keep what it points to."""
    size = 4
    for extent in sizes:
        size *= extent
    buffer = BufferTensorDesc(data_type, 0, len(sizes), uints(sizes), None, size, 0)
    desc = AnyDesc(1, ctypes.addressof(buffer))
    desc.kept = buffer
    return desc


def blocks(source: Sequence[int], target: Sequence[int], order: int = DCR) -> BlocksDesc:
    """Describe depth and space with blocks of 2, on UINT32 as on DirectML's pages."""
    ends = (tensor(UINT32, source), tensor(UINT32, target))
    return BlocksDesc(*map(ctypes.pointer, ends), 2, order)


def windows(source: Sequence[int], target: Sequence[int], padding: int = 0) -> WindowsDesc:
    """Describe unfold or fold with windows of 3 by 3, padded above and below."""
    ends = (tensor(FLOAT32, source), tensor(FLOAT32, target))
    parameters = ((3, 3), (1, 1), (1, 1), (padding, 0), (padding, 0))
    return WindowsDesc(*map(ctypes.pointer, ends), 2, *map(uints, parameters))


@pytest.fixture(scope="session")
def library(prefix: Path) -> ctypes.CDLL:
    """Load the library and say what its functions take and return."""
    loaded = ctypes.CDLL(str(prefix / "lib" / "libreblock_c.so"))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    signatures: dict[str, tuple[object, ...]] = {
        "reblock_operator_create": (ctypes.c_int, pointer, ctypes.c_int, pointer),
        "reblock_operator_dispatch": (ctypes.c_int, pointer, pointer, size, pointer, size, size),
        "reblock_operator_destroy": (None, pointer),
        "reblock_operator_input_size": (ctypes.c_uint64, pointer),
        "reblock_operator_output_size": (ctypes.c_uint64, pointer),
        "reblock_buffer_tensor_size": (ctypes.c_int, pointer, pointer),
        "reblock_last_error": (ctypes.c_char_p,),
        "reblock_version": (ctypes.c_char_p,),
    }
    assert list(signatures) == EXPORTS
    for name, (result, *arguments) in signatures.items():
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = arguments
    return loaded


def dispatch(
    library: ctypes.CDLL, kind: int, desc: ctypes.Structure, values: Sequence[int]
) -> list[float]:
    """Create the operator, run it on its input's values, return its output's and destroy it."""
    element = ctypes.c_float if isinstance(desc, WindowsDesc) else ctypes.c_uint
    op = ctypes.c_void_p()
    operator_desc = AnyDesc(kind, ctypes.addressof(desc))
    status = library.reblock_operator_create(
        ctypes.byref(operator_desc), LEVEL_6_4, ctypes.byref(op)
    )
    assert status == 0, library.reblock_last_error()
    assert library.reblock_operator_input_size(op) == 4 * len(values)
    source = (element * len(values))(*values)
    target = (element * (library.reblock_operator_output_size(op) // 4))()
    status = library.reblock_operator_dispatch(
        op, source, ctypes.sizeof(source), target, ctypes.sizeof(target), 0
    )
    library.reblock_operator_destroy(op)
    assert status == 0, library.reblock_last_error()
    return list(target)


def flat(nested: Nested) -> list[int]:
    """Return the numbers of nested lists in their order."""
    if isinstance(nested, int):
        return [nested]
    return [value for part in nested for value in flat(part)]


UNPACK_DCR, UNPACK_CRD = (blocks((1, 8, 2, 3), (1, 2, 4, 6), order) for order in (DCR, CRD))
PACK_DCR, PACK_CRD = (blocks((1, 2, 4, 6), (1, 8, 2, 3), order) for order in (DCR, CRD))
UNFOLD_1 = windows((1, 1, 5, 5), (1, 9, 9))
UNFOLD_2 = windows((1, 1, 5, 5), (1, 9, 15), padding=1)
FOLD_1 = windows((1, 9, 4), (1, 1, 4, 4))
FOLD_2 = windows((1, 9, 8), (1, 1, 4, 4), padding=1)
FOLD_3 = windows((1, 18, 8), (1, 2, 4, 4), padding=1)
FOLDED_CHANNELS = [FOLDED_PADDED, FOLDED_SECOND_CHANNEL]
DOCUMENTED: dict[str, tuple[int, ctypes.Structure, Nested, Nested]] = {
    "depth_to_space": (DEPTH_TO_SPACE, UNPACK_DCR, DEPTH, SPACE_DCR),
    "depth_to_space1_1": (DEPTH_TO_SPACE1, UNPACK_DCR, DEPTH, SPACE_DCR),
    "depth_to_space1_2": (DEPTH_TO_SPACE1, UNPACK_CRD, DEPTH, SPACE_CRD),
    "space_to_depth": (SPACE_TO_DEPTH, PACK_DCR, SPACE_DCR, DEPTH),
    "space_to_depth1_1": (SPACE_TO_DEPTH1, PACK_DCR, SPACE_DCR, DEPTH),
    "space_to_depth1_2": (SPACE_TO_DEPTH1, PACK_CRD, SPACE_CRD, DEPTH),
    "unfold_1": (UNFOLD, UNFOLD_1, range(25), COLUMNS),
    "unfold_2": (UNFOLD, UNFOLD_2, range(25), COLUMNS_PADDED),
    "fold_1": (FOLD, FOLD_1, range(36), FOLDED),
    "fold_2": (FOLD, FOLD_2, range(72), FOLDED_PADDED),
    "fold_3": (FOLD, FOLD_3, range(144), FOLDED_CHANNELS),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_documented_examples_by_ctypes(name: str, library: ctypes.CDLL) -> None:
    kind, desc, values, expected = DOCUMENTED[name]
    assert dispatch(library, kind, desc, flat(values)) == flat(expected)


def test_an_error_by_ctypes(library: ctypes.CDLL) -> None:
    desc = blocks((1, 8, 2, 3), (1, 2, 4, 6))
    desc.BlockSize = 3
    operator_desc = AnyDesc(DEPTH_TO_SPACE, ctypes.addressof(desc))
    op = ctypes.c_void_p(1)
    create = library.reblock_operator_create
    assert create(ctypes.byref(operator_desc), LEVEL_6_4, ctypes.byref(op)) == 1
    assert op.value is None
    assert b"BlockSize 3 does not divide" in library.reblock_last_error()


def test_the_version_by_ctypes(library: ctypes.CDLL) -> None:
    assert library.reblock_version().decode() == VERSION
