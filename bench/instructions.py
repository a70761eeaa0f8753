# SPDX-License-Identifier: BSD-3-Clause
"""Count the instructions of a few moves, for x86-64 and AArch64. See README.md beside this file."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "bench" / "cpp" / "moves_benchmark.cpp"


@dataclass(frozen=True)
class Machine:
    """A kind of processor: what compiles for it, and what runs its programs."""

    compiler: str
    emulator: tuple[str, ...]
    instruction_sets: tuple[str, ...]


MACHINES = (
    Machine("g++", ("qemu-x86_64", "-cpu", "max"), ("ssse3", "avx2")),
    Machine("aarch64-linux-gnu-g++", ("qemu-aarch64", "-cpu", "cortex-a72"), ("neon",)),
)
SETTINGS = {
    # one instruction in each block that the log has, in the words of old and of new versions
    "QEMU_SINGLESTEP": "1",
    "QEMU_ONE_INSN_PER_TB": "1",
    # copies by registers: the emulator counts a step of `rep movsb` for each byte
    "GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=1000000000",
}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only moves whose name contains this")
    parser.add_argument("--flags", default="-O2", help="of the compilers")
    return parser.parse_args()


def build(machine: Machine, flags: str, directory: str) -> str:
    """Compile the program for a machine, with all libraries in it."""
    program = str(Path(directory, machine.compiler))
    include = f"-I{ROOT / 'cpp' / 'include'}"
    command = (machine.compiler, "-std=c++20", *flags.split(), "-static", include, str(SOURCE))
    subprocess.run([*command, "-o", program], check=True)
    return program


def names(machine: Machine, program: str) -> list[str]:
    """Return the names of the moves."""
    command = (*machine.emulator, program)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()


def count(
    machine: Machine, program: str, instruction_set: str, move: int, calls: int
) -> tuple[int, int]:
    """Return the instructions of a run, and the bytes of the move's larger side."""
    log = ("-d", "exec,nochain", "-D", "/dev/stderr")  # a line for each instruction
    command = (*machine.emulator, *log, program, str(move), str(calls))
    environment = os.environ | SETTINGS | {"REBLOCK_ISA": instruction_set}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment) as process:
        if process.stdout is None or process.stderr is None:
            sys.exit("a pipe is missing")
        lines = 0
        while chunk := process.stderr.read(1 << 20):
            lines += chunk.count(b"\n")
        printed = process.stdout.read()
    if process.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return lines, int(printed)


def instructions_per_byte(machine: Machine, program: str, instruction_set: str, move: int) -> float:
    """Return the instructions of a call for each byte of its larger side.

    The first call of a program is left out: it also chooses the instruction set.
    """
    first, size = count(machine, program, instruction_set, move, 1)
    all_calls, _ = count(machine, program, instruction_set, move, 3)
    return (all_calls - first) / 2 / size


def main() -> None:
    arguments = parse()
    columns: list[str] = []
    rows: dict[str, list[str]] = {}
    with TemporaryDirectory() as directory:
        for machine in MACHINES:
            program = build(machine, arguments.flags, directory)
            for instruction_set in machine.instruction_sets:
                columns.append(instruction_set)
                for move, name in enumerate(names(machine, program)):
                    if arguments.only in name:
                        figure = instructions_per_byte(machine, program, instruction_set, move)
                        rows.setdefault(name, []).append(f"{figure:.3f}")
    print("| instructions for each byte of the larger side |", " | ".join(columns), "|")
    print("|---|" + "--:|" * len(columns))
    for name, figures in rows.items():
        print("|", " | ".join([name, *figures]), "|")


if __name__ == "__main__":
    main()
