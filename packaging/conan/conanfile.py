# SPDX-License-Identifier: BSD-3-Clause
"""Conan 2 recipe of the C++ library."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, get


class Reblock(ConanFile):
    """The headers, the target reblock::reblock; compiled=True adds a library, reblock::compiled."""

    name = "reblock"
    description = "depth_to_space, space_to_depth, unfold and fold for strided tensors"
    license = "BSD-3-Clause"
    topics = ("pixel-shuffle", "im2col", "tensor", "header-only")
    settings = "os", "arch", "compiler", "build_type"
    options = {"compiled": [True, False]}  # noqa: RUF012 - as Conan has it
    default_options = {"compiled": False}  # noqa: RUF012 - as Conan has it
    no_copy_source = True

    def set_version(self) -> None:
        """Take the version that conandata.yml has a source for."""
        self.version = next(iter(self.conan_data["sources"]))

    def configure(self) -> None:
        """Say whether there is a library."""
        self.package_type = "static-library" if self.options.compiled else "header-library"

    def validate(self) -> None:
        """Refuse compilers that are set to an older standard."""
        check_min_cppstd(self, 20)

    def source(self) -> None:
        """Fetch the release archive."""
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self) -> None:
        """Tell CMake about the compiler."""
        if self.options.compiled:
            toolchain = CMakeToolchain(self)
            toolchain.cache_variables["REBLOCK_BUILD_COMPILED"] = True
            toolchain.cache_variables["REBLOCK_BUILD_TESTS"] = False
            toolchain.generate()

    def build(self) -> None:
        """Build the library."""
        if self.options.compiled:
            cmake = CMake(self)
            cmake.configure()
            cmake.build()

    def package(self) -> None:
        """Copy the headers, the licence and the library."""
        source, package = Path(self.source_folder), Path(self.package_folder)
        copy(self, "LICENSE", source, package / "licenses")
        copy(self, "*.hpp", source / "cpp" / "include", package / "include")
        for library in ("*.a", "*.lib"):
            copy(self, library, self.build_folder, package / "lib", keep_path=False)

    def package_id(self) -> None:
        """Make one package of the headers for all settings."""
        if not self.info.options.compiled:
            self.info.clear()

    def package_info(self) -> None:
        """Describe the targets, which are those of the CMake package."""
        self.cpp_info.set_property("cmake_target_name", "reblock::all")
        headers = self.cpp_info.components["headers"]
        headers.set_property("cmake_target_name", "reblock::reblock")
        headers.set_property("pkg_config_name", "reblock")
        headers.bindirs = []
        headers.libdirs = []
        if self.options.compiled:
            compiled = self.cpp_info.components["compiled"]
            compiled.set_property("cmake_target_name", "reblock::compiled")
            compiled.set_property("pkg_config_name", "reblock-compiled")
            compiled.requires = ["headers"]
            compiled.defines = ["REBLOCK_COMPILED"]
            compiled.libs = ["reblock"]
            compiled.bindirs = []
