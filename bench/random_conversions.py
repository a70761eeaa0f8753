# SPDX-License-Identifier: BSD-3-Clause
"""Compare conversions while moving to copies and peers, for random patterns. See README.md."""

from __future__ import annotations

import importlib
import importlib.util
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import reblock
from random_layouts import Shape, parse, report, use_last_processor
from random_patterns import draw_case as draw_pattern
from timing import Run, median_times

PEERS = {"NumPy": "numpy", "einops": "einops", "torch": "torch"}
SOURCES = ("uint8", "uint8", "int8", "uint16", "int16", "float16", "float32", "float64")
TARGETS = (*SOURCES, "float32", "float32")  # the most common one
MOST_CHANNELS = 4096


@dataclass(frozen=True)
class Case:
    """A pattern, two dtypes, and the axis along which there are scales and biases."""

    number: int
    source: str
    target: str
    lengths: Shape
    order: Shape
    pattern: str
    input_shape: Shape
    output_shape: Shape
    axis: int

    @property
    def group(self) -> str:
        sizes = (np.dtype(dtype).itemsize for dtype in (self.source, self.target))
        return "{} to {} bytes".format(*sizes)

    @property
    def name(self) -> str:
        dtypes = f"{self.source} to {self.target}"
        return f"{self.group}: {dtypes} {self.lengths}, {self.pattern}, factors of a{self.axis}"

    @property
    def arithmetic(self) -> str:
        return "float64" if "float64" in (self.source, self.target) else "float32"

    @property
    def factors(self) -> tuple[Any, Any]:
        """The scales and the biases."""
        count = self.lengths[self.axis]
        return 0.5 + np.arange(count) % 4 / 8, np.arange(count) % 5 - 2.25


def draw_case(number: int) -> Case:
    """Return the case of this number."""
    drawn = draw_pattern(number)
    draw = random.Random(number)
    target = draw.choice(TARGETS)
    return Case(
        number,
        draw.choice([dtype for dtype in SOURCES if dtype != target]),
        target,
        drawn.lengths,
        drawn.order,
        drawn.pattern,
        drawn.shape(drawn.left),
        drawn.shape(drawn.right),
        draw.choice([i for i, n in enumerate(drawn.lengths) if n <= MOST_CHANNELS]),
    )


def converted(case: Case, x: Any) -> Any:
    """Convert without moving: elements keep their axes."""
    shape = [1] * len(case.lengths)
    shape[case.axis] = -1
    scale, bias = (np.reshape(f, shape).astype(case.arithmetic) for f in case.factors)
    values = x.reshape(case.lengths).astype(case.arithmetic)
    values *= scale
    values += bias
    if np.dtype(case.target).kind in "iu":
        limits = np.iinfo(case.target)
        np.clip(np.rint(values, out=values), limits.min, limits.max, out=values)
    return values.astype(case.target)


def by_numpy(case: Case, x: Any) -> Any:
    moved = converted(case, x).transpose(case.order)
    return np.ascontiguousarray(moved).reshape(case.output_shape)


def by_einops(case: Case, x: Any) -> Any:
    rearrange = importlib.import_module("einops").rearrange
    lengths = {f"a{i}": length for i, length in enumerate(case.lengths)}
    whole = converted(case, x).reshape(case.input_shape)
    return np.ascontiguousarray(rearrange(whole, case.pattern, **lengths))


def by_torch(case: Case, x: Any) -> Callable[[], Any]:
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    arithmetic, target = (getattr(torch, dtype) for dtype in (case.arithmetic, case.target))
    shape = [1] * len(case.lengths)
    shape[case.axis] = -1
    scale, bias = (torch.tensor(f, dtype=arithmetic).reshape(shape) for f in case.factors)
    source = torch.from_numpy(x).reshape(case.lengths)

    def convert() -> Any:
        values = source.to(arithmetic).mul_(scale).add_(bias)
        if not target.is_floating_point:
            limits = torch.iinfo(target)
            values = values.round_().clamp_(limits.min, limits.max)
        moved = values.permute(case.order).to(target).contiguous()
        return moved.reshape(case.output_shape).numpy()

    return convert


def measure(case: Case, seconds: float, peers: list[str]) -> dict[str, Any]:
    """Check everybody's result, then time it beside a copy of the larger side."""
    random_values = np.random.default_rng(case.number).integers(0, 128, case.input_shape)
    x = random_values.astype(case.source)
    lengths: dict[str, Any] = {f"a{i}": length for i, length in enumerate(case.lengths)}
    scale, bias = ({f"a{case.axis}": factor} for factor in case.factors)
    conversion: dict[str, Any] = {"dtype": case.target, "scale": scale, "bias": bias}

    def ours() -> Any:
        return reblock.rearrange(x, case.pattern, threads=1, **conversion, **lengths)

    ways: dict[str, Run] = {
        "NumPy": lambda: by_numpy(case, x),
        "einops": lambda: by_einops(case, x),
    }
    if "torch" in peers:
        ways["torch"] = by_torch(case, x)
    expected: Any = by_numpy(case, x)
    runs: dict[str, Run] = {"reblock": ours, **{peer: ways[peer] for peer in peers}}
    for name, run in runs.items():
        if not np.array_equal(run(), expected):  # type: ignore[arg-type]
            raise AssertionError(f"{name} is wrong: case {case.number}, {case.name}")
    larger = max(x, expected, key=lambda array: int(array.nbytes))
    runs["copy"] = larger.copy
    times = median_times(runs, seconds, least_rounds=3)
    ratios = {name: times["copy"] / time for name, time in times.items() if name != "copy"}
    own = {"number": case.number, "group": case.group, "name": case.name}
    return {**own, "ratio": ratios.pop("reblock"), **ratios}


def main() -> None:
    arguments = parse(__doc__)
    use_last_processor()
    peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module)]
    numbers = range(arguments.first, arguments.first + arguments.count)
    cases = [case for case in map(draw_case, numbers) if arguments.only in case.group]
    results = [measure(case, arguments.seconds, peers) for case in cases]
    report(results, [*sorted({case.group for case in cases}), ""], peers)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
