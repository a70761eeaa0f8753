# SPDX-License-Identifier: BSD-3-Clause
"""Interleaved timing: what is compared runs in turns, so that what disturbs one disturbs all."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

Run = Callable[[], object]


def repetitions(run: Run, seconds: float = 0.002) -> int:
    """Return how many calls take some `seconds`."""
    run()
    start = time.perf_counter()
    run()
    return max(1, int(seconds / max(time.perf_counter() - start, 1e-7)))


def median_times(runs: dict[str, Run], budget: float, least_rounds: int = 5) -> dict[str, float]:
    """Return seconds a call, medians over rounds that take `budget` seconds in all."""
    counts = {name: repetitions(run) for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(next(iter(times.values()))) < least_rounds:
        for name, run in runs.items():
            if counts[name] > 1:
                run()  # what fits into a cache is there, whatever the one before left behind
            start = time.perf_counter()
            for _ in range(counts[name]):
                run()
            times[name].append((time.perf_counter() - start) / counts[name])
    return {name: statistics.median(values) for name, values in times.items()}


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean; nan where there are no values."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan
