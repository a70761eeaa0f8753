# SPDX-License-Identifier: BSD-3-Clause
"""Every code block of the site runs: `nox -s integrations`.

The blocks of a page share their names, as they do for a reader who goes on where the last one
ended.
"""

import os
import subprocess
from contextlib import ExitStack, chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib.pyplot as plt
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.abstract.codeblock import AbstractCodeBlockParser
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.myst.lexers import DirectiveLexer

import reblock


def enter(namespace: dict[str, Any]) -> None:
    """Give a page a directory of its own to work in."""
    stack = namespace["stack"] = ExitStack()
    stack.enter_context(chdir(stack.enter_context(TemporaryDirectory())))
    stack.callback(plt.close, "all")
    plt.switch_backend("agg")


def leave(namespace: dict[str, Any]) -> None:
    """Take the directory and the figures away."""
    namespace["stack"].close()


def run(*command: str) -> None:
    """Run a program; what it printed is in the error if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def run_shell(example: Example) -> None:
    """Run a script; its first command that fails fails the example."""
    run("bash", "-euo", "pipefail", "-c", example.parsed)


def run_cpp(example: Example) -> None:
    """Build a program on the headers that the package carries, and run it."""
    Path("program.cpp").write_text(example.parsed, encoding="utf-8")
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    flags.append(f"-I{reblock.get_include()}")
    run(os.environ.get("CXX", "c++"), *flags, "program.cpp", "-o", "program")
    run("./program")


def run_cmake(example: Example) -> None:
    """Build a project that the block completes."""
    Path("program.cpp").write_text("#include <reblock/reblock.hpp>\nint main() {}\n", "utf-8")
    start = "cmake_minimum_required(VERSION 3.25)\nproject(app CXX)\n"
    start += "add_executable(app program.cpp)\n"
    Path("CMakeLists.txt").write_text(start + example.parsed, "utf-8")
    run("cmake", "-B", "build", f"-Dreblock_DIR={reblock.get_cmake_dir()}")
    run("cmake", "--build", "build")


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(),
        AbstractCodeBlockParser(
            [DirectiveLexer("plot", mapping={"directive": "arguments", "source": "source"})],
            "plot",
            PythonEvaluator(),
        ),
        CodeBlockParser("sh", run_shell),
        CodeBlockParser("cpp", run_cpp),
        CodeBlockParser("cmake", run_cmake),
    ],
    pattern="*.md",
    setup=enter,
    teardown=leave,
).pytest()
