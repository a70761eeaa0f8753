# SPDX-License-Identifier: BSD-3-Clause
"""What the installed package carries, and that its parts agree."""

from __future__ import annotations

import builtins
import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
from pathlib import Path

import pytest

import reblock

FUNCTIONS = """
    depth_to_space space_to_depth unfold fold rearrange repeat copyto
    depth_to_space_shape space_to_depth_shape unfold_shape fold_shape
    diagnose explain compile show_config get_include get_cmake_dir get_num_threads set_num_threads
    same_padding
"""
CLASSES = """
    TensorDesc DepthToSpaceDesc SpaceToDepthDesc UnfoldDesc FoldDesc Patches CompiledOperator
    DataType DepthSpaceOrder FeatureLevel PaddingMode
"""


def test_all_names_the_public_surface() -> None:
    """All but compile, which would replace Python's own."""
    expected = {*FUNCTIONS.split(), *CLASSES.split(), "__version__"} - {"compile"}
    assert set(reblock.__all__) == expected
    assert len(reblock.__all__) == len(expected)


def test_a_star_import_replaces_nothing_of_python() -> None:
    assert not set(vars(builtins)) & set(reblock.__all__)
    assert callable(reblock.compile)
    assert "compile" in dir(reblock)


def test_public_names_say_where_they_are_public() -> None:
    """What is pickled is found again by these, and shown by help()."""
    for name in {*FUNCTIONS.split(), *CLASSES.split()} - {"explain"}:
        thing = getattr(reblock, name)
        module = thing.__module__
        assert getattr(sys.modules[module], thing.__qualname__) is thing
        assert module != "reblock._core"


def test_there_is_one_version() -> None:
    include = Path(reblock.get_include(), "reblock")
    header = (include / "version.hpp").read_text(encoding="utf-8")
    found = re.search(r'version\[\] = "([^"]+)"', header)
    assert found is not None
    assert reblock.__version__ == found[1] == importlib.metadata.version("reblock")
    # The name of the C++ namespace has it too: the preprocessor takes no string apart.
    configuration = (include / "detail" / "configuration.hpp").read_text(encoding="utf-8")
    name = "v" + found[1].replace(".", "_")
    assert f"#define REBLOCK_VERSION_NAME {name}\n" in configuration


def test_the_types_are_shipped() -> None:
    package = importlib.resources.files(reblock)
    assert package.joinpath("py.typed").is_file()
    assert package.joinpath("_core.pyi").is_file()


def test_the_headers_are_shipped() -> None:
    include = Path(reblock.get_include())
    assert include.is_absolute()
    names = "reblock data_type tensor depth_space window operator executor version"
    for name in names.split():
        assert (include / "reblock" / f"{name}.hpp").is_file(), name


def test_the_cmake_package_is_shipped() -> None:
    directory = Path(reblock.get_cmake_dir())
    assert directory.is_absolute()
    assert (directory / "reblockConfig.cmake").is_file()


def test_nothing_else_is_shipped_but_the_licence() -> None:
    suffixes: dict[str, set[str]] = {"include": set(), "share": set(), "reblock": set()}
    files = importlib.metadata.files("reblock") or []
    for file in files:
        if file.parts[0] == "reblock":
            suffixes[file.parts[1] if file.parts[1] in suffixes else "reblock"].add(file.suffix)
    assert suffixes["include"] == {".h", ".hpp", ".inc"}
    assert suffixes["share"] == {".cmake", ".pc"}
    assert suffixes["reblock"] <= {".py", ".pyc", ".pyi", ".typed", ".so", ".pyd"}
    assert not any({"tests", "examples", "src"} & set(file.parts) for file in files)
    assert any(file.match("*.dist-info/licenses/LICENSE") for file in files)


def test_show_config_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    reblock.show_config()
    assert reblock.__version__ in capsys.readouterr().out


def test_the_stubs_agree_with_the_module(tmp_path: Path) -> None:
    allowlist = Path(__file__).with_name("stubtest_allowlist.txt")
    result = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "reblock._core", "--allowlist", str(allowlist)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,  # away from the sources: the installed package is meant
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_importing_the_package_imports_no_more_than_numpy() -> None:
    script = (
        "import sys, numpy; before = set(sys.modules); import reblock;"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    extra = set(result.stdout.split()) - {"reblock"} - set(sys.stdlib_module_names)
    assert not extra


@pytest.mark.parametrize("name", ["dask", "onnx", "torch"])
def test_an_integration_is_imported_when_it_is_asked_for(name: str) -> None:
    """Without its library the attribute raises the error of the import, which names the extra."""
    script = f"import sys, reblock; sys.modules[{name!r}] = None; reblock.{name}"
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    wanted = f'ModuleNotFoundError: reblock.{name} needs {name}: pip install "reblock[{name}]"'
    assert result.stderr.splitlines()[-1] == wanted


@pytest.mark.measured
def test_importing_the_package_takes_no_time_to_speak_of() -> None:
    """Beyond NumPy less than 20 ms, in the best of up to ten fresh processes."""
    script = (
        "import numpy, time; start = time.perf_counter(); import reblock;"
        "print(time.perf_counter() - start)"
    )

    def seconds() -> float:
        command = [sys.executable, "-c", script]
        return float(subprocess.run(command, capture_output=True, check=True).stdout)

    assert any(seconds() < 0.020 for _ in range(10))


def test_the_reference_has_every_name_of_the_headers() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "cpp.md").read_text("utf-8")
    text = ""
    for header in Path(reblock.get_include(), "reblock").glob("*.hpp"):
        text += header.read_text("utf-8") + "\n"
    for inner in ("detail", "reblock::inline REBLOCK_ENGINE_NAMESPACE::engine"):
        text = re.sub(
            rf"\nnamespace {inner} {{.*?\n}}  // namespace {inner}\n", "\n", text, flags=re.DOTALL
        )
    types = re.findall(
        r"^(?:enum class|class|struct|concept|using)(?: \[\[\w+\]\])? (\w+)", text, re.MULTILINE
    )
    functions = re.findall(
        r"^(?:constexpr |const |inline )*[\w:<>]+\*? (\w+)\(", text, re.MULTILINE
    )
    assert {"conversion", "unfold_options", "executor"} < set(types)
    assert {"try_copy", "unfold", "fold_extents", "name"} < set(functions)
    for name in {*types, *functions}:
        assert re.search(rf":: reblock::{name}\b", page), name
