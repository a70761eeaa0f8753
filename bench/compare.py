# SPDX-License-Identifier: BSD-3-Clause
"""Compare reblock to a copy and to its peers. See README.md beside this file."""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import math
import os
import platform
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cases import Case


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpus", type=int, help="use only so many processors, for every library")
    parser.add_argument(
        "--quick", action="store_true", help="a selection, in less than two minutes"
    )
    parser.add_argument("--only", default="", help="only cases whose group or name contains this")
    parser.add_argument("--random", type=int, default=0, help="so many random cases instead")
    parser.add_argument("--peers", help="comma-separated; by default all that are installed")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each case")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--markdown", type=Path, help="write the table of the groups here")
    parser.add_argument("--plots", type=Path, help="write plots into this directory")
    return parser.parse_args()


def pin(cpus: int) -> None:
    """Leave so many processors to all libraries, which are imported only after this."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[-cpus:])
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(cpus)
    os.environ["TF_NUM_INTRAOP_THREADS"] = str(cpus)


ARGUMENTS = parse() if __name__ == "__main__" else argparse.Namespace(cpus=None)
if ARGUMENTS.cpus:
    pin(ARGUMENTS.cpus)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Only now: these start thread pools when they are imported.
import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import track  # noqa: E402
from rich.table import Table  # noqa: E402

import reblock  # noqa: E402
from cases import GROUPS, select_cases, sweep_cases  # noqa: E402
from peers import PEERS, installed, numpy_  # noqa: E402
from timing import Run, geometric_mean, median_times  # noqa: E402

CONSOLE = Console()


def random_array(shape: tuple[int, ...], dtype: str, part: tuple[slice, ...] = ()) -> Any:
    """Return random elements, a part of a larger array: of its last axes what `part` has."""
    larger = list(shape)
    for axis, indices in enumerate(part, len(shape) - len(part)):
        larger[axis] = larger[axis] * (indices.step or 1) + 2 * (indices.start or 0)
    random = np.random.default_rng(0)
    kind = np.dtype(dtype)
    if kind.kind in "ui":
        whole = random.integers(0, 200, larger, dtype=kind)
    else:
        whole = random.standard_normal(larger, np.float32).astype(kind)
    index: Any = (..., *part)
    return whole[index]


def fold_slowly(case: Case, columns: Any) -> Any:
    """Add the terms of fold offset by offset, for checks."""
    output_sizes, size = case.arguments
    spatial = len(output_sizes)
    get = case.keywords.get
    stride, dilation = get("strides", 1), get("dilations", 1)
    padding = get("start_padding", 0)
    padded = [extent + 2 * padding for extent in output_sizes]
    blocks = [(extent - (size - 1) * dilation - 1) // stride + 1 for extent in padded]
    channels = case.output_shape[1]
    terms = columns.reshape(case.shape[0], channels, *(size,) * spatial, *blocks)
    wide = np.float32 if case.dtype == "float16" else columns.dtype
    image = np.zeros((case.shape[0], channels, *padded), wide)
    for offset in np.ndindex(*(size,) * spatial):
        place = tuple(
            slice(o * dilation, o * dilation + (n - 1) * stride + 1, stride)
            for o, n in zip(offset, blocks, strict=True)
        )
        image[(slice(None), slice(None), *place)] += terms[(slice(None), slice(None), *offset)]
    inside = tuple(slice(padding, padding + extent) for extent in output_sizes)
    return image[(slice(None), slice(None), *inside)].astype(columns.dtype)


def expected(case: Case, x: Any) -> Any:
    """Return the result by NumPy."""
    if case.operator == "fold":
        return fold_slowly(case, x)
    work = numpy_(case, x)
    assert work is not None
    return work()


def measure(case: Case, peers: list[str], seconds: float) -> dict[str, Any]:
    """Check everybody's result, then time those that are right."""
    x = random_array(case.shape, case.dtype, case.input_part)
    right = expected(case, x)
    out = random_array(case.output_shape, case.dtype, case.output_part)
    function = getattr(reblock, case.operator)
    threads = {"threads": ARGUMENTS.cpus} if ARGUMENTS.cpus else {}

    def ours() -> object:
        target = {} if case.fresh else {"out": out}
        return function(x, *case.arguments, **case.keywords, **target, **threads)

    if not np.array_equal(np.asarray(ours()), right):
        raise AssertionError(f"reblock is wrong: {case.name}")
    source = np.ones(case.copied_bytes, np.uint8)
    target = np.zeros_like(source)
    runs: dict[str, Run] = {
        "reblock": ours,
        "copy": source.copy if case.fresh else lambda: np.copyto(target, source),
    }
    notes: dict[str, str] = {}
    for name in peers:
        try:
            work = PEERS[name][1](case, x) if case.layout != "strided" else None
            if work is None:
                notes[name] = "cannot"
                continue
            result = np.asarray(work())
        except Exception as error:  # noqa: BLE001 - whatever a peer refuses a case with
            notes[name] = f"refuses: {type(error).__name__}"
            continue
        close = np.array_equal(result, right) or (
            case.operator == "fold" and np.allclose(result, right, 1e-4, 1e-4)
        )
        if close:
            runs[name] = work
        else:
            notes[name] = "wrong"
    del right
    times = median_times(runs, seconds)
    return {
        "name": case.name,
        "group": case.group.name,
        "bytes": case.copied_bytes,
        "seconds": times,
        "ratio": {name: times["copy"] / taken for name, taken in times.items() if name != "copy"},
        "notes": notes,
    }


def best_peer(result: dict[str, Any]) -> float:
    return max((v for k, v in result["ratio"].items() if k != "reblock"), default=math.nan)


def group_rows(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sum up each group: least ratio, geometric mean, the fastest peer's, how far ahead."""
    rows = []
    for group in GROUPS:
        own = [r for r in results if r["group"] == group.name]
        if not own:
            continue
        ratios = [r["ratio"]["reblock"] for r in own]
        raced = [r for r in own if not math.isnan(best_peer(r))]
        ahead = [r["ratio"]["reblock"] / best_peer(r) for r in raced]
        rows.append(
            {
                "group": group.name,
                "cases": len(own),
                "least": min(ratios),
                "least_aim": group.least,
                "mean": geometric_mean(ratios),
                "mean_aim": group.mean,
                "peer": geometric_mean([best_peer(r) for r in raced]),
                "ahead_least": min(ahead, default=math.nan),
                "ahead_mean": geometric_mean(ahead),
            }
        )
    return rows


def show_groups(rows: list[dict[str, Any]]) -> None:
    table = Table(title="Speed as a ratio to a copy of the same bytes")
    for title in ("group", "cases", "least", "aim", "mean", "aim", "best peer, mean", "ahead by"):
        table.add_column(title, justify="left" if title == "group" else "right")
    for row in rows:
        table.add_row(
            row["group"],
            str(row["cases"]),
            _against(row["least"], row["least_aim"]),
            _show_aim(row["least_aim"]),
            _against(row["mean"], row["mean_aim"]),
            _show_aim(row["mean_aim"]),
            f"{row['peer']:.2f}",
            f"{row['ahead_least']:.1f} .. {row['ahead_mean']:.1f} (mean)",
        )
    CONSOLE.print(table)


def markdown(summary: dict[str, Any]) -> str:
    """Return the groups as a table for a page, with machine, versions and command below it."""
    lines = [
        "| cases | how many | least | mean | fastest peer, mean | times faster, mean |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in summary["groups"]:
        lines.append(
            f"| {row['group']} | {row['cases']} | {row['least']:.2f} | {row['mean']:.2f}"
            f" | {row['peer']:.2f} | {row['ahead_mean']:.1f} |"
        )
    where = summary["machine"]
    peers = ", ".join(f"{name} {version}" for name, version in summary["peers"].items() if version)
    lines += [
        "",
        ", ".join([where["processor"], where["system"], f"Python {where['python']}", peers]) + ".",
        f"reblock {where['reblock']}, instruction set {where['instruction_set']}.",
        f"Command: `{where['command']}`.",
    ]
    return "\n".join(lines) + "\n"


def _show_aim(aim: float | None) -> str:
    return "" if aim is None else f"{aim:.2f}"


def _against(value: float, aim: float | None) -> str:
    if aim is None:
        return f"{value:.2f}"
    return f"[{'green' if value >= aim else 'red'}]{value:.2f}[/]"


def slowest(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return those cases that are furthest behind a peer, or least ahead."""
    raced = [r for r in results if not math.isnan(best_peer(r))]
    ahead = sorted(raced, key=lambda r: r["ratio"]["reblock"] / best_peer(r))
    behind = sum(r["ratio"]["reblock"] < best_peer(r) for r in raced)
    CONSOLE.print(f"{behind} of {len(raced)} cases are behind a peer; the slowest are")
    return ahead[:20]


def show_cases(results: list[dict[str, Any]], peers: list[str]) -> None:
    table = Table(title="Each case")
    table.add_column("case")
    for name in ("reblock", *peers):
        table.add_column(name, justify="right")
    for result in results:
        ratio, notes = result["ratio"], result["notes"]
        cells = [f"{ratio[n]:.2f}" if n in ratio else notes[n] for n in ("reblock", *peers)]
        table.add_row(result["name"], *cells)
    CONSOLE.print(table)


def measure_calls(peers: list[str], seconds: float) -> dict[str, float]:
    """Time calls on 1 KiB, where only the call itself counts; nanoseconds."""
    case = sweep_cases()[0]
    x = random_array(case.shape, case.dtype)
    out = np.zeros(case.output_shape, case.dtype)
    other = np.ones_like(out)
    desc = reblock.TensorDesc(reblock.DataType.FLOAT32, x.shape)
    op = reblock.compile(reblock.DepthToSpaceDesc(desc, block_size=2))
    pattern = "n (i j c) h w -> n c (h i) (w j)"
    runs: dict[str, Run] = {
        "np.copyto(out, other)": lambda: np.copyto(out, other),
        "copyto(out, other)": lambda: reblock.copyto(out, other),
        "op(x, out=out)": lambda: op(x, out=out),
        "depth_to_space(x, 2)": lambda: reblock.depth_to_space(x, 2),
        "rearrange(x, pattern)": lambda: reblock.rearrange(x, pattern, i=2, j=2),
        "rearrange(x, pattern, dtype, scale)": lambda: reblock.rearrange(
            x, pattern, dtype=np.float16, scale=2.0, i=2, j=2
        ),
    }
    plain = type(case)(case.group, case.operator, case.shape, case.dtype, (2,), {"order": "CRD"})
    for name in peers:
        work = PEERS[name][1](plain, x)
        if work is not None:
            runs[name] = work
    if "torch" in peers:
        tensor = importlib.import_module("torch").from_numpy(x)
        function = importlib.import_module("reblock.torch").depth_to_space
        runs["reblock.torch.depth_to_space(tensor, 2)"] = lambda: function(tensor, 2)
    return {name: taken * 1e9 for name, taken in median_times(runs, 4 * seconds).items()}


def measure_tensors(seconds: float) -> dict[str, float]:
    """Time unfold of a tensor to 71 MB of fresh memory, which is to cost no more by reblock.torch.

    Milliseconds.
    """
    torch = importlib.import_module("torch")
    integration = importlib.import_module("reblock.torch")
    tensor = torch.ones(1, 64, 176, 176)
    more: dict[str, Any] = {"start_padding": 1, "end_padding": 1}
    if ARGUMENTS.cpus:
        more["threads"] = ARGUMENTS.cpus
    runs: dict[str, Run] = {
        "reblock.unfold": lambda: reblock.unfold(tensor, 3, **more),
        "reblock.torch.unfold": lambda: integration.unfold(tensor, 3, **more),
        "torch": lambda: torch.nn.functional.unfold(tensor, 3, padding=1),
    }
    return {name: taken * 1e3 for name, taken in median_times(runs, seconds).items()}


def measure_sweep(seconds: float, largest: int) -> list[dict[str, float]]:
    """Time one operator and a copy for every power of two."""
    points = []
    for case in track([c for c in sweep_cases() if c.copied_bytes <= largest], "sweep"):
        x = random_array(case.shape, case.dtype)
        out = np.ones(case.output_shape, case.dtype)
        other = np.ones_like(out)
        runs: dict[str, Run] = {
            "reblock": partial(reblock.depth_to_space, x, 2, out=out),
            "copy": partial(np.copyto, out, other),
        }
        times = median_times(runs, seconds / 3)
        points.append({"bytes": float(case.copied_bytes), **times})
    return points


def measure_memory() -> float:
    """Return the MiB by which a fresh process grows beside the output of 256 MiB."""
    code = """
import resource, numpy as np, reblock
x = np.ones((1, 64, 1024, 1024), np.float32)
out = np.ones((1, 16, 2048, 2048), np.float32)
reblock.depth_to_space(x[:, :4, :64, :64], 2)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
reblock.depth_to_space(x, 2, out=out)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    return float(
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    )


def machine() -> dict[str, Any]:
    processor = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        processor = names[0].split(":")[1].strip() if names else processor
    return {
        "processor": processor,
        "processors": len(os.sched_getaffinity(0)),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "reblock": reblock.__version__,
        "instruction_set": reblock._core.instruction_set,
        "command": " ".join(["python", "bench/compare.py", *sys.argv[1:]]),
    }


def main() -> None:
    versions = installed()
    peers = ARGUMENTS.peers.split(",") if ARGUMENTS.peers else list(PEERS)
    missing = [name for name in peers if versions[name] is None]
    peers = [name for name in peers if versions[name] is not None]
    CONSOLE.print(machine())
    CONSOLE.print("peers:", ", ".join(f"{name} {versions[name]}" for name in peers) or "none")
    if missing:
        CONSOLE.print("missing:", ", ".join(missing))
    cases = select_cases(ARGUMENTS.only, quick=ARGUMENTS.quick, random_count=ARGUMENTS.random)
    seconds = 0.1 if ARGUMENTS.quick else ARGUMENTS.seconds
    results = [measure(case, peers, seconds) for case in track(cases, "cases", console=CONSOLE)]
    show_cases(slowest(results) if ARGUMENTS.random else results, peers)
    groups = group_rows(results)
    show_groups(groups)
    summary: dict[str, Any] = {
        "machine": machine(),
        "peers": versions,
        "groups": groups,
        "cases": results,
    }
    if not ARGUMENTS.only and not ARGUMENTS.random:
        summary["calls"] = measure_calls(peers, seconds)
        CONSOLE.print(
            "1 KiB, nanoseconds a call:", {k: round(v) for k, v in summary["calls"].items()}
        )
        if "torch" in peers:
            summary["tensors"] = measure_tensors(seconds)
            CONSOLE.print(
                "unfold of a tensor to 71 MB, milliseconds:",
                {k: round(v, 1) for k, v in summary["tensors"].items()},
            )
        summary["sweep"] = measure_sweep(seconds, 1 << (26 if ARGUMENTS.quick else 30))
        speeds = [point["bytes"] / point["reblock"] for point in summary["sweep"]]
        dips = min(b / a for a, b in itertools.pairwise(speeds))
        CONSOLE.print(f"sweep: no size is slower than {dips:.2f} of the one below it")
        summary["memory"] = measure_memory()
        CONSOLE.print(f"memory beside the output: {summary['memory']:.2f} MiB")
    if ARGUMENTS.json:
        ARGUMENTS.json.write_text(json.dumps(summary, indent=1), encoding="utf-8")
    if ARGUMENTS.markdown:
        ARGUMENTS.markdown.write_text(markdown(summary), encoding="utf-8")
    if ARGUMENTS.plots:
        from plots import write_plots  # noqa: PLC0415 - needs matplotlib

        write_plots(summary, ARGUMENTS.plots)


if __name__ == "__main__":
    main()
