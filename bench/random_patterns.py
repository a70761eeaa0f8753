# SPDX-License-Identifier: BSD-3-Clause
"""Compare rearrange and repeat to copies and peers, for random patterns. See README.md."""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import reblock
from random_layouts import DTYPES, KIBI, MEBI, Shape, filled, parse, report, use_last_processor
from timing import Run, median_times

PEERS = {"NumPy": "numpy", "einops": "einops", "torch": "torch"}
MOST_AXES = 8


@dataclass(frozen=True)
class Case:
    """A pattern: lengths of axes, their order on the right, groups, and the new axes of repeat."""

    number: int
    dtype: str
    lengths: Shape
    order: Shape
    left: tuple[Shape, ...]
    right: tuple[Shape, ...]
    new: Shape = ()

    @property
    def group(self) -> str:
        return f"{len(self.lengths)} axes"

    @property
    def function(self) -> str:
        return "repeat" if self.new else "rearrange"

    @property
    def pattern(self) -> str:
        return " -> ".join(
            " ".join(f"({' '.join(f'a{i}' for i in group)})" for group in side)
            for side in (self.left, self.right)
        )

    @property
    def axes_lengths(self) -> dict[str, int]:
        return {f"a{i}": length for i, length in enumerate(self.lengths)}

    def shape(self, side: tuple[Shape, ...]) -> Shape:
        return tuple(math.prod(self.lengths[i] for i in group) for group in side)

    @property
    def name(self) -> str:
        return f"{self.group}: {self.dtype} {self.lengths}, {self.pattern}"

    @property
    def kept(self) -> Shape:
        """The axes that the array has, in its order."""
        return tuple(axis for group in self.left for axis in group)

    @property
    def kept_order(self) -> Shape:
        """Their order in the result, counted among themselves."""
        return tuple(self.kept.index(axis) for axis in self.order if axis not in self.new)

    @property
    def repetitions(self) -> tuple[Any, ...]:
        """An index that adds the new axes to the array in the order of the result."""
        return tuple(None if axis in self.new else slice(None) for axis in self.order)

    @property
    def result_lengths(self) -> Shape:
        return tuple(self.lengths[axis] for axis in self.order)


def draw_case(number: int) -> Case:
    """Return the case of this number; the array has 64 KiB to 8 MiB."""
    draw = random.Random(number)
    while True:
        dtype = DTYPES[draw.choice([1, 1, 2, 4, 4, 8, 16])]
        rank = draw.randint(2, MOST_AXES)
        budget = math.exp(draw.uniform(math.log(64 * KIBI), math.log(8 * MEBI)))
        lengths = [1] * rank
        # Most axes of a pattern are short: patches, channels, heads.
        few = draw.sample(range(rank), draw.randint(0, rank - 1))
        for axis in few:
            lengths[axis] = draw.choice([2, 2, 3, 4, 7, 8, 12, 14, 16, 31, 64])
        rest = budget / np.dtype(dtype).itemsize / math.prod(lengths)
        long = [axis for axis in range(rank) if axis not in few]
        for axis in long:
            lengths[axis] = max(1, round(rest ** (1 / len(long)) * draw.uniform(0.6, 1.6)))
        size = math.prod(lengths) * np.dtype(dtype).itemsize
        order = draw.sample(range(rank), rank)
        if order != sorted(order) and 64 * KIBI <= size <= 8 * MEBI:
            left, right = _grouped(draw, list(range(rank))), _grouped(draw, order)
            return Case(number, dtype, tuple(lengths), tuple(order), left, right)


def draw_repeat(number: int) -> Case:
    """Return the same case for repeat: some axes, at most all but one, are new in the result."""
    case = draw_case(number)
    draw = random.Random(number)
    rank = len(case.lengths)
    new = tuple(draw.sample(range(rank), draw.randint(1, rank - 1)))
    kept = [axis for axis in range(rank) if axis not in new]
    return replace(case, left=_grouped(draw, kept), new=new)


def _grouped(draw: random.Random, axes: list[int]) -> tuple[Shape, ...]:
    groups: list[list[int]] = []
    for axis in axes:
        if groups and draw.random() < 1 / 3:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return tuple(map(tuple, groups))


def by_numpy(case: Case, x: Any, out: Any) -> Callable[[], Any]:
    moved = x.reshape([case.lengths[axis] for axis in case.kept]).transpose(case.kept_order)
    source = np.broadcast_to(moved[case.repetitions], case.result_lengths)
    target = out.reshape(source.shape)

    def copy() -> Any:
        np.copyto(target, source)
        return out

    return copy


def by_einops(case: Case, x: Any, _: Any) -> Callable[[], Any]:
    function = getattr(importlib.import_module("einops"), case.function)
    pattern, lengths = case.pattern, case.axes_lengths
    return lambda: np.ascontiguousarray(function(x, pattern, **lengths))


def by_torch(case: Case, x: Any, out: Any) -> Callable[[], Any]:
    """Return what contiguous() does, into memory that is used again."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    moved = torch.from_numpy(x).reshape([case.lengths[axis] for axis in case.kept])
    source = moved.permute(case.kept_order)[case.repetitions].expand(case.result_lengths)
    target = torch.from_numpy(out).reshape(source.shape)

    def copy() -> Any:
        target.copy_(source)
        return out

    return copy


ADAPTERS = {"NumPy": by_numpy, "einops": by_einops, "torch": by_torch}


def measure(case: Case, seconds: float, peers: list[str]) -> dict[str, Any]:
    """Check everybody's result, then time it beside a copy."""
    x = filled(np.zeros(case.shape(case.left), case.dtype))
    out = np.zeros(case.shape(case.right), case.dtype)
    pattern = case.pattern
    lengths: dict[str, Any] = case.axes_lengths

    function: Any = getattr(reblock, case.function)

    def ours() -> Any:
        return function(x, pattern, out=out, threads=1, **lengths)

    expected = by_numpy(case, x, np.zeros_like(out))()
    runs: dict[str, Run] = {"reblock": ours}
    for peer in peers:
        runs[peer] = ADAPTERS[peer](case, x, np.zeros_like(out))
    for name, run in runs.items():
        if not np.array_equal(run(), expected):  # type: ignore[arg-type]
            raise AssertionError(f"{name} is wrong: case {case.number}, {case.name}")
    target = np.zeros_like(out)  # the larger side
    runs["copy"] = lambda: np.copyto(target, out)
    times = median_times(runs, seconds, least_rounds=3)
    ratios = {name: times["copy"] / time for name, time in times.items() if name != "copy"}
    own = {"number": case.number, "group": case.group, "name": case.name}
    return {**own, "ratio": ratios.pop("reblock"), **ratios}


def main() -> None:
    arguments = parse(__doc__, may_repeat=True)
    use_last_processor()
    peers = [name for name, module in PEERS.items() if importlib.util.find_spec(module)]
    numbers = range(arguments.first, arguments.first + arguments.count)
    drawn = map(draw_repeat if arguments.repeat else draw_case, numbers)
    cases = [case for case in drawn if arguments.only in case.group]
    results = [measure(case, arguments.seconds, peers) for case in cases]
    report(results, [*(f"{rank} axes" for rank in range(2, MOST_AXES + 1)), ""], peers)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
