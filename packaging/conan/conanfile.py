# SPDX-License-Identifier: BSD-3-Clause
"""Conan 2 recipe of the C++ library."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd, stdcpp_library
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, get


class Reblock(ConanFile):
    """The headers, the target reblock::reblock.

    compiled=True adds a static library, reblock::compiled; c=True adds a library for C, reblock::c,
    which is shared if shared=True.
    """

    name = "reblock"
    description = "depth_to_space, space_to_depth, unfold and fold for strided tensors"
    license = "BSD-3-Clause"
    topics = ("pixel-shuffle", "im2col", "tensor", "header-only")
    settings = "os", "arch", "compiler", "build_type"
    options = {  # noqa: RUF012 - as Conan has it
        "compiled": [True, False],
        "c": [True, False],
        "shared": [True, False],
    }
    default_options = {"compiled": False, "c": False, "shared": False}  # noqa: RUF012 - as Conan has it
    no_copy_source = True

    def set_version(self) -> None:
        """Take the version that conandata.yml has a source for."""
        self.version = next(iter(self.conan_data["sources"]))

    def configure(self) -> None:
        """Say whether there is a library, and of which kind."""
        if not self.options.c:
            self.options.rm_safe("shared")
        if self.options.get_safe("shared"):
            self.package_type = "shared-library"
        elif self.options.compiled or self.options.c:
            self.package_type = "static-library"
        else:
            self.package_type = "header-library"

    def validate(self) -> None:
        """Refuse compilers that are set to an older standard."""
        check_min_cppstd(self, 20)

    def source(self) -> None:
        """Fetch the release archive."""
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self) -> None:
        """Tell CMake about the compiler."""
        if self.package_type != "header-library":
            toolchain = CMakeToolchain(self)
            toolchain.cache_variables["REBLOCK_BUILD_COMPILED"] = bool(self.options.compiled)
            toolchain.cache_variables["REBLOCK_BUILD_C"] = bool(self.options.c)
            toolchain.cache_variables["REBLOCK_BUILD_TESTS"] = False
            toolchain.generate()

    def build(self) -> None:
        """Build the libraries."""
        if self.package_type != "header-library":
            cmake = CMake(self)
            cmake.configure()
            cmake.build()

    def package(self) -> None:
        """Copy the headers, the licence and the libraries."""
        source, package = Path(self.source_folder), Path(self.package_folder)
        copy(self, "LICENSE", source, package / "licenses")
        copy(self, "*", source / "cpp" / "include", package / "include")
        for library in ("*.a", "*.lib", "*.so*", "*.dylib"):
            copy(self, library, self.build_folder, package / "lib", keep_path=False)
        copy(self, "*.dll", self.build_folder, package / "bin", keep_path=False)

    def package_id(self) -> None:
        """Make one package of the headers for all settings."""
        if not self.info.options.compiled and not self.info.options.c:
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
        if self.options.c:
            c = self.cpp_info.components["c"]
            c.set_property("cmake_target_name", "reblock::c")
            c.set_property("pkg_config_name", "reblock-c")
            c.libs = ["reblock_c"]
            if not self.options.shared and (runtime := stdcpp_library(self)):
                c.system_libs = [runtime, "pthread"]
