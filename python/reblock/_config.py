# SPDX-License-Identifier: BSD-3-Clause
"""What was built, and where the C++ side of the package lies."""

import os
import sys

import numpy as np

from reblock import _core

# The compiled module lies where the package was installed, in an editable installation too. Not by
# pathlib, which would take more of the import's time than all the rest.
_installed = os.path.dirname(_core.__file__)


def get_include() -> str:
    """Return the directory to add to the include path for ``#include <reblock/reblock.hpp>``.

    Returns
    -------
    str
        A directory below the installed package.

    Examples
    --------
    >>> import pathlib, reblock
    >>> pathlib.Path(reblock.get_include(), "reblock", "reblock.hpp").is_file()
    True
    """
    return os.path.join(_installed, "include")


def get_cmake_dir() -> str:
    """Return the directory in which CMake's ``find_package(reblock CONFIG)`` finds the headers.

    Returns
    -------
    str
        A directory below the installed package.

    Examples
    --------
    >>> import pathlib, reblock
    >>> pathlib.Path(reblock.get_cmake_dir(), "reblockConfig.cmake").is_file()
    True
    """
    return os.path.join(_installed, "share", "cmake", "reblock")


def show_config() -> None:
    """Print the version, how the module was built, and what it runs on.

    Examples
    --------
    >>> import reblock
    >>> reblock.show_config()  # doctest: +ELLIPSIS
    reblock ...
    """
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"reblock {_core.__version__}")
    print(f"compiler: {_core.compiler}")
    print(f"instruction set: {_core.instruction_set}, threads: {_core.get_num_threads()}")
    print(f"python: {python}, numpy: {np.__version__}")
