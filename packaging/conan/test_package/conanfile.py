# SPDX-License-Identifier: BSD-3-Clause
"""What `conan create` builds and runs to see that the package can be used."""

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class ReblockTest(ConanFile):
    """A program in C++, one in C where there is a library for it, which check a result."""

    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def layout(self) -> None:
        """Build as CMake projects usually do."""
        cmake_layout(self)

    def requirements(self) -> None:
        """Require the package under test."""
        self.requires(self.tested_reference_str)

    def generate(self) -> None:
        """Tell CMake which targets the package is made for."""
        toolchain = CMakeToolchain(self)
        options = self.dependencies[self.tested_reference_str].options
        toolchain.cache_variables["COMPILED"] = bool(options.compiled)
        toolchain.cache_variables["FOR_C"] = bool(options.c)
        toolchain.generate()

    def build(self) -> None:
        """Build the programs."""
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self) -> None:
        """Run the programs."""
        if can_run(self):
            self.run("ctest --output-on-failure", cwd=self.build_folder, env="conanrun")
