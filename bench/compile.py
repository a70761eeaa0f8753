# SPDX-License-Identifier: BSD-3-Clause
"""Print what the C++ library costs a compiler. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
OTHER = ", other checkout"
INCLUDE = "#include <reblock/reblock.hpp>\n"
ONE = """
void one(const float* in, float* out) {
  reblock::depth_to_space(reblock::tensor_view<const float>(in, {1, 8, 2, 3}),
                          reblock::tensor_view<float>(out, {1, 2, 4, 6}), 2);
}
"""
ALL = """
void all(const float* in, float* out, const reblock::window& window) {
  const reblock::axis_values depth{1, 8, 2, 3}, space{1, 2, 4, 6}, columns{1, 18, 8};
  using from = reblock::tensor_view<const float>;
  using to = reblock::tensor_view<float>;
  reblock::depth_to_space(from(in, depth), to(out, space), 2);
  reblock::space_to_depth(from(in, space), to(out, depth), 2);
  reblock::unfold(from(in, space), to(out, columns), window);
}
template <class T>
void add(const T* in, T* out, const reblock::window& window) {
  reblock::fold(reblock::tensor_view<const T>(in, {1, 18, 8}),
                reblock::tensor_view<T>(out, {1, 2, 4, 6}), window);
}
template void add(const float*, float*, const reblock::window&);
template void add(const double*, double*, const reblock::window&);
template void add(const unsigned char*, unsigned char*, const reblock::window&);
"""


@dataclass(frozen=True)
class File:
    """A file to compile, and the file whose time its own is divided by."""

    name: str
    text: str
    beside: str = ""
    compiled: bool = False  # whether the library is compiled elsewhere


FILES = (
    File("standard headers", ""),  # their names come from the checkout
    File("include, headers", INCLUDE, "standard headers"),
    File("include, compiled", INCLUDE, "standard headers", compiled=True),
    File("depth_to_space of float, compiled", INCLUDE + ONE, "include, compiled", compiled=True),
    File("depth_to_space of float, headers", INCLUDE + ONE, "include, headers"),
    File("all four, fold of 3 types, compiled", INCLUDE + ALL, "include, compiled", compiled=True),
    File("all four, fold of 3 types, headers", INCLUDE + ALL, "include, headers"),
    File(
        "the library itself",
        "#include <reblock/implementation.hpp>\n",
        "include, compiled",
        compiled=True,
    ),
)


@dataclass(frozen=True)
class Cost:
    """What a file costs: the time is the compiler's own, on however many processors."""

    seconds: float
    megabytes: float  # at the peak
    code: int  # bytes, with constants
    weak: int  # symbols of reblock that the linker has to merge
    unique: int  # those of them that the loader makes one of in a process


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--against", type=Path, help="another checkout, compiled in turns with this"
    )
    parser.add_argument("--only", default="", help="only files whose name contains this")
    parser.add_argument(
        "--runs", type=int, default=3, help="for each file, of which the least counts"
    )
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--flags", default="-O2", help='of the compiler, such as "-O3 -DNDEBUG"')
    parser.add_argument("--json", type=Path, help="write the results here")
    return parser.parse_args()


def run(*command: str) -> str:
    """Run a command that must succeed and return what it prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def unique_symbols(made: Path) -> int:
    """Count the symbols of which the loader makes one in a process. Hidden ones stay apart."""
    symbols = [
        line.split() for line in run("readelf", "-sW", str(made)).splitlines() if "7reblock" in line
    ]
    return sum({"UNIQUE", "DEFAULT"} <= set(symbol) for symbol in symbols)


class Checkout:
    """The headers of one checkout, and how they are compiled."""

    def __init__(self, root: Path, compiler: str, flags: str, directory: Path) -> None:
        self.include = root / "cpp" / "include"
        if not (self.include / "reblock" / "reblock.hpp").is_file():
            sys.exit(f"{root} has no cpp/include/reblock/reblock.hpp")
        self.command = (compiler, "-std=c++20", f"-I{self.include}", *flags.split())
        self.directory = directory
        directory.mkdir()

    def can_compile(self, file: File) -> bool:
        """Say whether these headers know the way that the file goes."""
        return not file.compiled or (self.include / "reblock" / "implementation.hpp").is_file()

    def standard_headers(self) -> str:
        """Return includes of all C++ headers that reblock.hpp brings."""
        source = self.directory / "headers.cpp"
        source.write_text(INCLUDE, encoding="utf-8")
        own = run(*self.command, "-MM", str(source)).replace("\\\n", " ").split()
        names: set[str] = set()
        for path in own[2:]:
            text = Path(path).read_text(encoding="utf-8")
            names |= set(re.findall(r"^#include <([a-z_]+)>", text, re.MULTILINE))
        return "".join(f"#include <{name}>\n" for name in sorted(names))

    def measure(self, file: File) -> Cost:
        """Compile a file once."""
        source, made = self.directory / "file.cpp", self.directory / "file.o"
        source.write_text(file.text or self.standard_headers(), encoding="utf-8")
        defined = ["-DREBLOCK_COMPILED"] if file.compiled else []
        command = [*self.command, *defined, "-c", str(source), "-o", str(made)]
        with subprocess.Popen(command) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"failed: {' '.join(command)}")
        symbols = [line.split() for line in run("nm", str(made)).splitlines() if "7reblock" in line]
        kinds = [symbol[-2] for symbol in symbols]
        return Cost(
            seconds=usage.ru_utime + usage.ru_stime,
            megabytes=usage.ru_maxrss / 1e3,
            code=int(run("size", str(made)).splitlines()[1].split()[0]),
            weak=sum(kind in "VWu" for kind in kinds),
            unique=unique_symbols(made) if "u" in kinds else 0,
        )


def least(costs: list[Cost]) -> Cost:
    """Return the cost with the least time and memory of several runs, which agree in the rest."""
    best = min(costs, key=lambda cost: cost.seconds)
    return Cost(**{**asdict(best), "megabytes": min(cost.megabytes for cost in costs)})


def line(name: str, cost: Cost, beside: Cost | None, *more: str) -> str:
    """Return a row of the table."""
    ratio = f"{cost.seconds / beside.seconds:.2f}" if beside else ""
    cells = [name, f"{cost.seconds:.2f}", ratio, f"{cost.megabytes:.0f}", f"{cost.code:,}"]
    return "| " + " | ".join([*cells, str(cost.weak), str(cost.unique), *more]) + " |"


def main() -> None:
    arguments = parse()
    files = [file for file in FILES if arguments.only in file.name]
    roots = {"": ROOT} | ({OTHER: arguments.against} if arguments.against else {})
    with TemporaryDirectory() as directory:
        checkouts = {
            which: Checkout(root, arguments.compiler, arguments.flags, Path(directory, str(number)))
            for number, (which, root) in enumerate(roots.items())
        }
        runs: dict[str, list[Cost]] = {}
        for _ in range(arguments.runs):
            for file in files:
                for which, checkout in checkouts.items():
                    if checkout.can_compile(file):
                        runs.setdefault(file.name + which, []).append(checkout.measure(file))
        results = {name: least(costs) for name, costs in runs.items()}
    print(run(arguments.compiler, "--version").splitlines()[0], arguments.flags)
    print("| file | seconds | ratio | MB | bytes of code | weak | unique |", end="")
    print(" other / this |" if arguments.against else "")
    print("|---|" + "--:|" * (7 if arguments.against else 6))
    for file in files:
        this, other = results.get(file.name), results.get(file.name + OTHER)
        if this is None:
            continue
        gain = [f"{other.seconds / this.seconds:.2f}" if other else ""] if arguments.against else []
        print(line(file.name, this, results.get(file.beside), *gain))
        if other is not None:
            print(line(file.name + OTHER, other, results.get(file.beside + OTHER), ""))
    if arguments.json:
        kept = {name: asdict(cost) for name, cost in results.items()}
        arguments.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
