# SPDX-License-Identifier: BSD-3-Clause
"""Compare reblock to copies, in random orders of memory. See README.md beside this file."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import itertools
import json
import math
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import reblock
from timing import Run, geometric_mean, median_times

Shape = tuple[int, ...]
OPERATORS = ("depth_to_space", "space_to_depth", "unfold", "fold")
PEERS = ("NumPy", "torch")
DTYPES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64", 16: "complex128"}
KIBI = 1 << 10
MEBI = 1 << 20


def parse(description: str | None, may_repeat: bool = False) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=400, help="so many cases")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", default="", help="only cases whose group contains this")
    parser.add_argument("--seconds", type=float, default=0.03, help="for each case")
    parser.add_argument("--json", type=Path, help="write the results here")
    if may_repeat:
        parser.add_argument("--repeat", action="store_true", help="repeat instead of rearrange")
    return parser.parse_args()


@dataclass(frozen=True)
class Case:
    """A call, and the order in which the axes of its input and of its output lie in memory."""

    number: int
    operator: str
    dtype: str
    shape: Shape
    arguments: tuple[Any, ...]
    source_order: Shape
    target_order: Shape
    keywords: dict[str, Any] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The operator and both orders: C the channels, S all spatial axes, L the columns'."""
        source, target = ("NCS", "NCS")
        if self.operator == "unfold":
            target = "NCL"
        if self.operator == "fold":
            source = "NCL"
        return (
            f"{self.operator} {_letters(source, self.source_order)}"
            f" to {_letters(target, self.target_order)}"
        )

    @property
    def name(self) -> str:
        given = [*map(str, self.arguments), *(f"{k}={v}" for k, v in self.keywords.items())]
        return f"{self.group}: {self.dtype} {self.shape}, {', '.join(given)}"


def _letters(names: str, order: Shape) -> str:
    """Return an order as letters but for N; "other" where spatial axes are apart or swapped."""
    letters = [names[min(axis, 2)] for axis in order if axis != 0]
    spatial = [axis for axis in order if axis >= 2]
    merged = "".join(letter for letter, _ in itertools.groupby(letters))
    return merged if len(merged) == 2 and spatial == sorted(spatial) else "other"


def draw_case(number: int) -> Case:
    """Return the case of this number; its larger side has 64 KiB to 8 MiB."""
    draw = random.Random(number)
    while True:
        case = _draw(draw, number)
        if case is None:
            continue
        if 64 * KIBI <= larger_side(case) <= 8 * MEBI:
            return case


def _draw(draw: random.Random, number: int) -> Case | None:
    operator = draw.choice(OPERATORS)
    dtype = DTYPES[draw.choice([1, 1, 2, 4, 4, 8, 16])]
    spatial = draw.choice([1, 2, 2, 2, 2, 3])
    budget = math.exp(draw.uniform(math.log(64 * KIBI), math.log(8 * MEBI)))
    elements = budget / np.dtype(dtype).itemsize
    batch = draw.choice([1, 1, 1, 2, 8])
    is_block = operator in OPERATORS[:2]
    if is_block:
        blocks = tuple(draw.choice([2, 2, 2, 3, 4, 5, 7, 8]) for _ in range(spatial))
        if draw.random() < 0.7:
            blocks = blocks[:1] * spatial
        channels = draw.choice([1, 2, 3, 4, 8, 16, 31, 64, 128])
        side = (elements / batch / channels / math.prod(blocks)) ** (1 / spatial)
        extents = tuple(max(1, round(side * draw.uniform(0.6, 1.6))) for _ in blocks)
        depth = (batch, channels * math.prod(blocks), *extents)
        space = (batch, channels, *(e * b for e, b in zip(extents, blocks, strict=True)))
        shape = depth if operator == "depth_to_space" else space
        order = draw.choice(["DCR", "CRD"])
        ranks = (spatial + 2, spatial + 2)
        return Case(
            number, operator, dtype, shape, (blocks,), *_orders(draw, *ranks), {"order": order}
        )
    sizes = tuple(draw.choice([1, 2, 3, 3, 3, 5, 7, 8, 14, 16]) for _ in range(spatial))
    if draw.random() < 0.8:
        sizes = sizes[:1] * spatial
    strides = tuple(draw.choice([1, 1, n, n, draw.randint(1, n)]) for n in sizes)
    dilations = tuple(draw.choice([1, 1, 1, 2]) for _ in sizes)
    pads = tuple(draw.choice([0, 0, n // 2]) for n in sizes)
    channels = draw.choice([1, 3, 3, 8, 32, 64, 256])
    copies = math.prod(sizes) / math.prod(strides)
    side = (elements / batch / channels / max(1.0, copies)) ** (1 / spatial)
    extents = tuple(max(1, round(side * draw.uniform(0.6, 1.6))) for _ in sizes)
    window: dict[str, Any] = {
        "strides": strides,
        "dilations": dilations,
        "start_padding": pads,
        "end_padding": pads,
    }
    spans = [(n - 1) * d + 1 for n, d in zip(sizes, dilations, strict=True)]
    if any(e + 2 * p < s for e, p, s in zip(extents, pads, spans, strict=True)):
        return None
    image = (batch, channels, *extents)
    if operator == "unfold":
        orders = _orders(draw, spatial + 2, 3)
        return Case(number, operator, dtype, image, (sizes,), *orders, window)
    columns = reblock.unfold_shape(image, sizes, **window)
    orders = _orders(draw, 3, spatial + 2)
    return Case(number, operator, dtype, columns, (extents, sizes), *orders, window)


def _orders(draw: random.Random, source: int, target: int) -> tuple[Shape, Shape]:
    """Return an order of memory for each side: mostly channels first or last, at times any."""

    def order(rank: int) -> Shape:
        kind = draw.random()
        axes = list(range(rank))
        if kind < 0.4:
            return tuple(axes)
        if kind < 0.8:
            return (0, *axes[2:], 1)
        draw.shuffle(axes)
        return tuple(axes)

    first = order(source)
    if source == target and draw.random() < 0.4:
        return first, first
    return first, order(target)


def output_shape(case: Case) -> Shape:
    """Return the shape of the result."""
    function = getattr(reblock, f"{case.operator}_shape")
    keywords = {k: v for k, v in case.keywords.items() if k != "order"}
    shape: Shape = function(case.shape, *case.arguments, **keywords)
    return shape


def larger_side(case: Case) -> int:
    """Return the bytes of the input or of the output, whichever has more."""
    elements = max(math.prod(case.shape), math.prod(output_shape(case)))
    return elements * np.dtype(case.dtype).itemsize


def laid_out(shape: Shape, dtype: str, order: Shape) -> Any:
    """Return an array whose axes lie in memory in this order."""
    array = np.zeros([shape[axis] for axis in order], dtype)
    return array.transpose(np.argsort(order))


def filled(array: Any) -> Any:
    """Return the array with small random numbers."""
    values = np.random.default_rng(0).integers(0, 100, array.shape, np.uint8)
    np.copyto(array, values, casting="unsafe")
    return array


def block_views(case: Case, x: Any, out: Any) -> tuple[Any, Any]:
    """Return both sides of a move between depth and space, split into the same axes."""
    blocks = case.arguments[0]
    depth, space = (x, out) if case.operator == "depth_to_space" else (out, x)
    spatial = len(blocks)
    step = depth.strides[1]
    channels = space.shape[1]
    outer = math.prod(blocks) if case.keywords["order"] == "CRD" else 1
    inner = 1 if case.keywords["order"] == "CRD" else channels
    positions = [inner * step * math.prod(blocks[d + 1 :]) for d in range(spatial)]
    shape = (depth.shape[0], channels, *blocks, *depth.shape[2:])
    as_strided = np.lib.stride_tricks.as_strided
    split_depth = as_strided(
        depth, shape, (depth.strides[0], step * outer, *positions, *depth.strides[2:])
    )
    split_space = as_strided(
        space,
        shape,
        (
            *space.strides[:2],
            *space.strides[2:],
            *(s * b for s, b in zip(space.strides[2:], blocks, strict=True)),
        ),
    )
    return (split_depth, split_space) if depth is x else (split_space, split_depth)


def window_views(case: Case, image: Any, columns: Any) -> tuple[Any, Any]:
    """Return the windows of a padded image and the columns, both as (N, C, K..., L...)."""
    sizes = case.arguments[-1]
    strides, dilations = case.keywords["strides"], case.keywords["dilations"]
    spans = [(n - 1) * d + 1 for n, d in zip(sizes, dilations, strict=True)]
    blocks = [(e - s) // t + 1 for e, s, t in zip(image.shape[2:], spans, strides, strict=True)]
    as_strided = np.lib.stride_tricks.as_strided
    steps = image.strides[2:]
    windows = as_strided(
        image,
        (*image.shape[:2], *sizes, *blocks),
        (
            *image.strides[:2],
            *(s * d for s, d in zip(steps, dilations, strict=True)),
            *(s * t for s, t in zip(steps, strides, strict=True)),
        ),
    )
    row, block = columns.strides[1:]
    split = as_strided(
        columns,
        windows.shape,
        (
            columns.strides[0],
            row * math.prod(sizes),
            *(row * math.prod(sizes[d + 1 :]) for d in range(len(sizes))),
            *(block * math.prod(blocks[d + 1 :]) for d in range(len(sizes))),
        ),
    )
    return windows, split


def padded(case: Case, image: Any, order: Shape) -> Any:
    """Return the image with its borders, in the same order of memory."""
    pads = case.keywords["start_padding"]
    shape = (*image.shape[:2], *(e + 2 * p for e, p in zip(image.shape[2:], pads, strict=True)))
    result = laid_out(shape, case.dtype, order)
    np.copyto(inside(case, result), image)
    return result


def inside(case: Case, image: Any) -> Any:
    """Return a padded image without its borders."""
    pads = case.keywords["start_padding"]
    cut = tuple(slice(p, e - p) for e, p in zip(image.shape[2:], pads, strict=True))
    return image[(slice(None), slice(None), *cut)]


def by_numpy(case: Case, x: Any, out: Any) -> tuple[Callable[[], object], Callable[[], Any]]:
    """Return what NumPy does, and what gives its result.

    Unfold reads an image that has its borders already; fold adds offset by offset.
    """
    if case.operator in OPERATORS[:2]:
        source, target = block_views(case, x, out)
        return lambda: np.copyto(target, source), lambda: out
    if case.operator == "unfold":
        source, target = window_views(case, padded(case, x, case.source_order), out)
        return lambda: np.copyto(target, source), lambda: out
    whole = padded(case, out, case.target_order)
    windows, terms = window_views(case, whole, x)
    sizes = case.arguments[-1]

    def add() -> None:
        whole[...] = 0
        for offset in np.ndindex(*sizes):
            windows[(slice(None), slice(None), *offset)] += terms[
                (slice(None), slice(None), *offset)
            ]

    return add, lambda: inside(case, whole)


def by_torch(case: Case, x: Any, out: Any) -> Callable[[], Any] | None:
    """Return what PyTorch's own operator does, or None if PyTorch has none.

    Its results are new tensors in C order. They are copied to an output in another order.
    """
    if len(case.arguments[-1]) != 2 or importlib.util.find_spec("torch") is None:
        return None
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    functional = torch.nn.functional
    tensor = torch.from_numpy(x)
    if case.operator in OPERATORS[:2]:
        blocks = case.arguments[0]
        if case.keywords["order"] != "CRD" or blocks[0] != blocks[1]:
            return None
        is_to_space = case.operator == "depth_to_space"
        function = functional.pixel_shuffle if is_to_space else functional.pixel_unshuffle
        operate = partial(function, tensor, blocks[0])
    elif case.dtype in ("float32", "float64"):
        window = {
            "kernel_size": case.arguments[-1],
            "stride": case.keywords["strides"],
            "dilation": case.keywords["dilations"],
            "padding": case.keywords["start_padding"],
        }
        if case.operator == "fold":
            operate = partial(functional.fold, tensor, case.arguments[0], **window)
        else:
            operate = partial(functional.unfold, tensor, **window)
    else:
        return None
    if out.flags.c_contiguous:
        return operate
    target = torch.from_numpy(out)
    return lambda: target.copy_(operate())


def measure(case: Case, seconds: float) -> dict[str, Any]:
    """Check the result, then time it beside a copy of the larger side, NumPy and PyTorch."""
    x = filled(laid_out(case.shape, case.dtype, case.source_order))
    shape = output_shape(case)
    out = laid_out(shape, case.dtype, case.target_order)
    theirs, their_result = by_numpy(case, x, laid_out(shape, case.dtype, case.target_order))
    function = getattr(reblock, case.operator)

    def ours() -> object:
        return function(x, *case.arguments, **case.keywords, out=out, threads=1)

    ours()
    theirs()
    if not np.array_equal(out, their_result()):
        raise AssertionError(f"reblock is wrong: case {case.number}, {case.name}")
    source = np.ones(larger_side(case), np.uint8)
    target = np.zeros_like(source)
    runs: dict[str, Run] = {
        "reblock": ours,
        "NumPy": theirs,
        "copy": lambda: np.copyto(target, source),
    }
    torch_runs = by_torch(case, x, laid_out(shape, case.dtype, case.target_order))
    if torch_runs is not None:
        if not np.allclose(np.asarray(torch_runs()), out):
            raise AssertionError(f"PyTorch is wrong: case {case.number}, {case.name}")
        runs["torch"] = torch_runs
    times = median_times(runs, seconds, least_rounds=3)
    result = {peer: times["copy"] / times[peer] for peer in PEERS if peer in times}
    return {
        "number": case.number,
        "group": case.group,
        "name": case.name,
        "ratio": times["copy"] / times["reblock"],
        **result,
    }


def report(results: list[dict[str, Any]], groups: Sequence[str], peers: Sequence[str]) -> None:
    """Print the least ratio, the 5th percentile and the mean of each group, then the worst ten.

    A group has the cases whose own group begins with its name. A result has a ratio to a copy for
    reblock, and for each peer that can do the case.
    """
    if not results:
        sys.exit("no case")
    print(f"instruction set {reblock._core.instruction_set}; ratios to a copy of the larger side")
    names = " ".join(f"{peer:>6}" for peer in peers)
    print(f"{'cases':>5} {'least':>6} {'20th':>6} {'mean':>6} {names}")
    for group in groups:
        own = [r for r in results if r["group"].startswith(group)]
        if not own or (group == "" and len(groups) == 1):
            continue
        ratios = sorted(r["ratio"] for r in own)
        of_peers = [[r[peer] for r in own if peer in r] for peer in peers]
        means = [geometric_mean(ratios) if ratios else math.nan for ratios in of_peers]
        print(
            f"{len(own):5} {ratios[0]:6.3f} {ratios[len(ratios) // 20]:6.3f}"
            f" {geometric_mean(ratios):6.3f} {' '.join(f'{mean:6.3f}' for mean in means)}"
            f"  {group or 'all'}"
        )
    for peer in peers:
        behind = [r for r in results if r["ratio"] < r.get(peer, 0)]
        print(f"{len(behind)} of {len(results)} are slower than {peer}")
    print("the worst ten:")
    for r in sorted(results, key=lambda r: float(r["ratio"]))[:10]:
        theirs = ", ".join(f"{peer} {r[peer]:.3f}" for peer in peers if peer in r)
        print(f"{r['ratio']:.3f} ({theirs}) {r['name']}")
        options = " --repeat" if "--repeat" in sys.argv else ""
        command = f"python bench/{Path(sys.argv[0]).name}{options}"
        print(f"      {command} --first {r['number']} --count 1")


def use_last_processor() -> None:
    if sys.platform.startswith("linux"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def chosen(arguments: argparse.Namespace) -> Iterator[Case]:
    for number in range(arguments.first, arguments.first + arguments.count):
        case = draw_case(number)
        if arguments.only in case.group:
            yield case


def main() -> None:
    arguments = parse(__doc__)
    use_last_processor()
    results = [measure(case, arguments.seconds) for case in chosen(arguments)]
    groups = sorted({r["group"] for r in results})
    report(
        results,
        [*groups, *OPERATORS, ""],
        [peer for peer in PEERS if any(peer in r for r in results)],
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
