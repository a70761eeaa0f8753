# SPDX-License-Identifier: BSD-3-Clause
"""Compare two builds of reblock, case by case in turns. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from timing import geometric_mean


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path, help="made by: pip install --target OLD --no-deps .")
    parser.add_argument("new", type=Path, help="made likewise from other sources")
    parser.add_argument("--only", default="", help="only cases whose group or name contains this")
    parser.add_argument("--quick", action="store_true", help="a selection of the cases")
    parser.add_argument("--random", type=int, default=0, help="so many random cases instead")
    parser.add_argument("--turns", type=int, default=5, help="for each build")
    parser.add_argument("--seconds", type=float, default=0.03, help="for each turn of a case")
    parser.add_argument("--json", type=Path, help="write the results here")
    return parser.parse_args()


def work(only: str, quick: bool, random: int, seconds: float) -> None:
    """Answer each number on stdin by the times of that case; the first line names the cases."""
    # only a process of one build imports these
    try:
        import reblock  # noqa: PLC0415
        from cases import select_cases  # noqa: PLC0415
        from compare import measure  # noqa: PLC0415
    except ImportError as error:
        print(json.dumps({"from": f"nothing ({error})", "cases": []}), flush=True)
        return

    cases = select_cases(only, quick=quick, random_count=random)
    where = Path(reblock.__file__).parents[1]
    print(json.dumps({"from": str(where), "cases": [c.name for c in cases]}), flush=True)
    for line in sys.stdin:
        print(json.dumps(measure(cases[int(line)], [], seconds)), flush=True)


class Build:
    """A process that has imported one of the builds."""

    def __init__(self, directory: Path, arguments: argparse.Namespace) -> None:
        options = json.dumps([arguments.only, arguments.quick, arguments.random, arguments.seconds])
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work", options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(directory.resolve())},
        )
        started = self.read()
        self.cases: list[str] = started["cases"]
        if Path(started["from"]) != directory.resolve():
            self.process.kill()
            sys.exit(f"{directory} has no reblock: what was imported is {started['from']}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"a process ended early: {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def measure(self, case: int) -> dict[str, Any]:
        """Check and time a case once."""
        assert self.process.stdin is not None
        print(case, file=self.process.stdin, flush=True)
        return self.read()


def main() -> None:
    arguments = parse()
    # The last of the processors that are allowed: both builds share it, in turns.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    results: list[dict[str, Any]] = []
    with ExitStack() as stack:
        old, new = (
            stack.enter_context(Build(path, arguments)) for path in (arguments.old, arguments.new)
        )
        print(
            "ratios to a copy, medians of the turns: old, new, new / old (least and most of a turn)"
        )
        for case, name in enumerate(new.cases):
            turns = [(old.measure(case), new.measure(case)) for _ in range(arguments.turns)]
            before, after = (
                [turn[build]["ratio"]["reblock"] for turn in turns] for build in (0, 1)
            )
            gains = [a["seconds"]["reblock"] / b["seconds"]["reblock"] for a, b in turns]
            result = {
                "name": name,
                "group": turns[0][0]["group"],
                "old": statistics.median(before),
                "new": statistics.median(after),
                "gain": statistics.median(gains),
            }
            results.append(result)
            print(
                f"{result['old']:.2f} {result['new']:.2f} {result['gain']:.2f}"
                f" ({min(gains):.2f} .. {max(gains):.2f}) {name}",
                flush=True,
            )
    for group in dict.fromkeys(r["group"] for r in results):
        own = [r for r in results if r["group"] == group]
        means = [geometric_mean([r[key] for r in own]) for key in ("old", "new", "gain")]
        least = [min(r[key] for r in own) for key in ("old", "new", "gain")]
        print(
            f"{group}: mean {means[0]:.2f} {means[1]:.2f} {means[2]:.3f},"
            f" least {least[0]:.2f} {least[1]:.2f} {least[2]:.2f}"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*json.loads(sys.argv[2]))
    else:
        main()
