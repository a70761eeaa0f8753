# SPDX-License-Identifier: BSD-3-Clause
"""Conan 2 recipe of the C++ library."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get


class Reblock(ConanFile):
    """The headers; CMakeDeps makes the target reblock::reblock."""

    name = "reblock"
    description = "depth_to_space, space_to_depth, unfold and fold for strided tensors"
    license = "BSD-3-Clause"
    topics = ("pixel-shuffle", "im2col", "tensor", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    def set_version(self) -> None:
        """Take the version that conandata.yml has a source for."""
        self.version = next(iter(self.conan_data["sources"]))

    def validate(self) -> None:
        """Refuse compilers that are set to an older standard."""
        check_min_cppstd(self, 20)

    def source(self) -> None:
        """Fetch the release archive."""
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def package(self) -> None:
        """Copy the headers and the licence."""
        source, package = Path(self.source_folder), Path(self.package_folder)
        copy(self, "LICENSE", source, package / "licenses")
        copy(self, "*.hpp", source / "cpp" / "include", package / "include")

    def package_id(self) -> None:
        """Make one package for all settings."""
        self.info.clear()

    def package_info(self) -> None:
        """Say that there is nothing to link."""
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
