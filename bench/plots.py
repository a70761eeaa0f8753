# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of the results of compare.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt


def _ratios(summary: dict[str, Any], path: Path) -> None:
    """One row a group: a dot a case, reblock's and the best peer's."""
    results = summary["cases"]
    groups = list(dict.fromkeys(result["group"] for result in results))
    figure, axes = plt.subplots(figsize=(9, 0.55 * len(groups) + 1.2), layout="constrained")
    for row, group in enumerate(groups):
        own = [result["ratio"] for result in results if result["group"] == group]
        ours = [ratio["reblock"] for ratio in own]
        peers = [max((v for k, v in r.items() if k != "reblock"), default=None) for r in own]
        best = [value for value in peers if value is not None]
        for values, color, name, above in (
            (ours, "tab:blue", "reblock", 0.12),
            (best, "tab:orange", "the fastest peer", -0.12),
        ):
            # a label that begins with "_" is not in the legend: there one row is enough
            label = name if row == 0 else f"_{name}"
            places = [row - above] * len(values)
            axes.scatter(values, places, s=18, color=color, alpha=0.7, label=label)
    axes.axvline(1.0, color="black", linewidth=1, label="a copy")
    axes.set_yticks(range(len(groups)), groups)
    axes.invert_yaxis()
    axes.set_xlabel("speed as a ratio to a copy of the same bytes (one dot a case)")
    axes.set_xlim(left=0)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _sweep(summary: dict[str, Any], path: Path) -> None:
    points = summary["sweep"]
    sizes = [point["bytes"] / 1024 for point in points]
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for name, label in (("reblock", "depth_to_space(x, 2), float32"), ("copy", "np.copyto")):
        axes.plot(sizes, [p["bytes"] / p[name] * 1e-9 for p in points], marker="o", label=label)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("output, KiB")
    axes.set_ylabel("GB/s of output")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def write_plots(summary: dict[str, Any], directory: Path) -> None:
    """Write ratios.png and, where sizes were swept, sweep.png."""
    directory.mkdir(parents=True, exist_ok=True)
    _ratios(summary, directory / "ratios.png")
    if "sweep" in summary:
        _sweep(summary, directory / "sweep.png")
