# SPDX-License-Identifier: BSD-3-Clause
"""The chores of the project, each in an environment of its own: `nox -l` lists them."""

import os
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "tests", "cpp"]

CMAKE = ("cmake>=3.25", "ninja")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the Python tests against the installed package; arguments after -- go to pytest."""
    session.install(".[test]", "--config-settings=cmake.define.REBLOCK_WARNINGS_AS_ERRORS=ON")
    session.run("pytest", *session.posargs)


@nox.session
def cpp(session: nox.Session) -> None:
    """Build and run the C++ tests; warnings are errors."""
    session.install(*CMAKE)
    provide_doctest(session)
    session.run("cmake", "--workflow", "--preset", "dev", "--fresh")


@nox.session
def sanitize(session: nox.Session) -> None:
    """Build and run the C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer."""
    session.install(*CMAKE)
    provide_doctest(session)
    session.run("cmake", "--workflow", "--preset", "sanitize", "--fresh")


@nox.session
def lint(session: nox.Session) -> None:
    """Format and check every file; arguments after -- go to pre-commit run."""
    session.install("pre-commit>=4")
    session.run("pre-commit", "run", "--all-files", "--show-diff-on-failure", *session.posargs)


@nox.session
def tidy(session: nox.Session) -> None:
    """Run clang-tidy over the library, the binding and the C++ tests while they compile."""
    session.install(*CMAKE, "clang-tidy==19.1.0.1", "numpy>=2", "pybind11>=3.1")
    provide_doctest(session)
    build = "build/tidy"
    pybind11 = session.run("python", "-m", "pybind11", "--cmakedir", silent=True)
    session.run(
        *("cmake", "--preset", "dev", "--fresh", "-B", build),
        "-DREBLOCK_BUILD_PYTHON=ON",
        f"-DPython_EXECUTABLE={session.bin}/python",
        f"-Dpybind11_DIR={str(pybind11).strip()}",
        "-DCMAKE_CXX_CLANG_TIDY=clang-tidy;--quiet",
    )
    session.run("cmake", "--build", build, "--clean-first", "--", "-k", "0")


def provide_doctest(session: nox.Session) -> None:
    """Let Debian install doctest where that needs no password; else CMake finds or fetches it."""
    if shutil.which("apt-get") is None or Path("/usr/include/doctest/doctest.h").exists():
        return
    apt_get = "apt-get -qq" if os.geteuid() == 0 else "sudo --non-interactive apt-get -qq"
    install = f"{apt_get} update && {apt_get} install --yes --no-install-recommends doctest-dev"
    session.run("sh", "-c", f"{install} || true", external=True)
