# SPDX-License-Identifier: BSD-3-Clause
"""What `conan create` builds and runs to see that the package can be used."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class ReblockTest(ConanFile):
    """A program that includes the library and checks a result."""

    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def layout(self) -> None:
        """Build as CMake projects usually do."""
        cmake_layout(self)

    def requirements(self) -> None:
        """Require the package under test."""
        self.requires(self.tested_reference_str)

    def generate(self) -> None:
        """Tell CMake which target the package is made for."""
        toolchain = CMakeToolchain(self)
        compiled = self.dependencies[self.tested_reference_str].options.compiled
        toolchain.cache_variables["COMPILED"] = bool(compiled)
        toolchain.generate()

    def build(self) -> None:
        """Build the program."""
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self) -> None:
        """Run the program."""
        if can_run(self):
            program = Path(self.build_folder, self.cpp.build.bindir, "test_package")
            self.run(str(program), env="conanrun")
