# SPDX-License-Identifier: BSD-3-Clause
"""Time padding modes and means beside the plain operator, and beside the usual ways.

The plain operator is unfold or fold with zeros outside of the image, and a sum. Everybody has one
thread and takes turns in one process. Results are checked first. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import reblock
from timing import Run, geometric_mean, median_times

MODES: tuple[Any, ...] = ("edge", "reflect", "symmetric", "wrap")
TORCH_MODES = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}


class Window(NamedTuple):
    """A window that slides over images (N, C, spatial axes), with the same values for all axes."""

    name: str
    shape: tuple[int, ...]
    size: int
    stride: int = 1
    padding: int = 0
    quick: bool = False

    @property
    def spatial(self) -> tuple[int, ...]:
        return self.shape[2:]

    @property
    def keywords(self) -> dict[str, Any]:
        pads = {"start_padding": self.padding, "end_padding": self.padding}
        return {"strides": self.stride, **pads, "threads": 1}

    def unfold(self, x: Any, **more: Any) -> Any:
        return reblock.unfold(x, self.size, **{**self.keywords, **more})

    def fold(self, columns: Any, **more: Any) -> Any:
        return reblock.fold(columns, self.spatial, self.size, **{**self.keywords, **more})


class Row(NamedTuple):
    """What reblock does, the plain operator on the same elements, and the usual ways."""

    name: str
    reblock: Run
    plain: Run
    usual: dict[str, Run]
    expected: Any
    tolerance: float = 0


PADDED = [
    Window("3 x 3 of 8 x 64 x 56 x 56", (8, 64, 56, 56), 3, padding=1),
    Window("3 x 3 of 64 x 64 x 14 x 14", (64, 64, 14, 14), 3, padding=1),
    Window("3 x 3 of 8 x 16 x 7 x 7", (8, 16, 7, 7), 3, padding=1, quick=True),
    Window("7 x 7, stride 2, of 8 x 3 x 224 x 224", (8, 3, 224, 224), 7, stride=2, padding=3),
    Window("3 x 3 of 1 x 3 x 720 x 1280", (1, 3, 720, 1280), 3, padding=1),
    Window("frames of 2048, hop 512, of 480000", (1, 1, 480_000), 2048, stride=512, padding=1024),
    Window("frames of 400, hop 160, of 16 x 16000", (16, 1, 16_000), 400, stride=160, padding=200),
]
OVERLAPPING = [
    Window("64 x 64, stride 32, of 3 x 704 x 1280", (1, 3, 704, 1280), 64, stride=32),
    Window("8 x 8, stride 4, of 3 x 704 x 1280", (1, 3, 704, 1280), 8, stride=4),
    Window("8 x 8, stride 4, of 3 x 64 x 64", (1, 3, 64, 64), 8, stride=4, quick=True),
    Window("3 x 3 of 8 x 64 x 54 x 54", (8, 64, 54, 54), 3),
    Window("frames of 2048, hop 512, of 480256", (1, 1, 480_256), 2048, stride=512),
]
SEPARATE = [
    Window("8 x 8, stride 8, of 3 x 704 x 1280", (1, 3, 704, 1280), 8, stride=8),
    Window("16 x 16, stride 16, of 8 x 16 x 64 x 64", (8, 16, 64, 64), 16, stride=16),
    Window("4 x 4, stride 4, of 4 x 3 x 32 x 32", (4, 3, 32, 32), 4, stride=4, quick=True),
]

# Photos with the channels last, which are cut into patches and blended again.
PHOTOS = [
    Window("256 x 256, stride 192, of 832 x 1408 x 3", (832, 1408, 3), 256, stride=192),
    Window("64 x 64, stride 32, of 704 x 1280 x 3", (704, 1280, 3), 64, stride=32),
    Window("16 x 16, stride 8, of 64 x 96 x 3", (64, 96, 3), 16, stride=8, quick=True),
]


def with_torch() -> Any:
    """Return torch.nn.functional, or None where it is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    importlib.import_module("torch").set_num_threads(1)
    return importlib.import_module("torch.nn.functional")


def small_numbers(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return integers whose sums are exact in every dtype here."""
    return np.random.default_rng(0).integers(0, 8, shape).astype(dtype)


def unfold_padded(window: Window, x: Any, pads: list[tuple[int, int]], mode: Any) -> Any:
    return window.unfold(np.pad(x, pads, mode), start_padding=0, end_padding=0)


def unfold_by_torch(functional: Any, window: Window, tensor: Any, mode: str) -> Any:
    padded = functional.pad(tensor, (window.padding,) * 4, mode)
    return functional.unfold(padded, window.size, stride=window.stride)


def fold_by_torch(functional: Any, window: Window, terms: Any) -> Any:
    tensor = importlib.import_module("torch").from_numpy(terms)
    return functional.fold(tensor, window.spatial, window.size, stride=window.stride)


def unfold_rows(window: Window, dtype: str, functional: Any) -> Iterator[Row]:
    """Yield each mode of unfold beside zeros, and beside a padded copy that is unfolded."""
    x = small_numbers(window.shape, dtype)
    pads = [(0, 0), (0, 0), *[(window.padding, window.padding)] * len(window.spatial)]
    out = np.zeros_like(window.unfold(x))
    for mode in MODES:
        usual: dict[str, Run] = {
            "np.pad, reblock.unfold": partial(unfold_padded, window, x, pads, mode)
        }
        is_image = len(window.spatial) == 2 and dtype == "float32"
        if functional and is_image and mode in TORCH_MODES:
            tensor = importlib.import_module("torch").from_numpy(x)
            usual["F.pad, F.unfold"] = partial(
                unfold_by_torch, functional, window, tensor, TORCH_MODES[mode]
            )
        yield Row(
            f"unfold, {mode}, {window.name}, {dtype}",
            partial(window.unfold, x, padding_mode=mode, out=out),
            partial(window.unfold, x, out=np.zeros_like(out)),
            usual,
            unfold_padded(window, x, pads, mode),
        )


def value_rows(window: Window, dtype: str) -> Iterator[Row]:
    """Yield unfold with a value outside of the image, beside zeros and a padded copy."""
    x = small_numbers(window.shape, dtype)
    pads = [(0, 0), (0, 0), *[(window.padding, window.padding)] * len(window.spatial)]
    padded = partial(np.pad, x, pads, constant_values=7)
    out = np.zeros_like(window.unfold(x))
    yield Row(
        f"unfold, value, {window.name}, {dtype}",
        partial(window.unfold, x, padding_value=7, out=out),
        partial(window.unfold, x, out=np.zeros_like(out)),
        {"np.pad, reblock.unfold": lambda: window.unfold(padded(), start_padding=0, end_padding=0)},
        window.unfold(padded(), start_padding=0, end_padding=0),
    )


def layout_rows(window: Window, dtype: str) -> Iterator[Row]:
    """Yield unfold of an image with the channels last, beside the same on a view of it."""
    image = small_numbers((*window.spatial, window.shape[1]), dtype)
    rows = np.zeros_like(window.unfold(image, layout="HWC", out_layout="LC"))
    view, again = image.transpose(2, 0, 1)[None], np.zeros_like(rows)
    yield Row(
        f"unfold, HWC, {window.name}, {dtype}",
        partial(window.unfold, image, layout="HWC", out_layout="LC", out=rows),
        partial(window.unfold, view, out=again.T[None]),
        {},
        window.unfold(view)[0].T,
    )


def fold_rows(window: Window, dtype: str) -> Iterator[Row]:
    """Yield each mode of fold beside a fold that leaves out the terms of the padding."""
    numbers = np.arange(math.prod(window.shape), dtype=np.int64).reshape(window.shape)
    columns = small_numbers(window.unfold(numbers).shape, dtype)
    out = np.zeros(window.shape, dtype)
    for mode in MODES:
        places = window.unfold(numbers, padding_mode=mode).ravel()
        expected = np.bincount(places, columns.ravel(), numbers.size).reshape(window.shape)
        yield Row(
            f"fold, {mode}, {window.name}, {dtype}",
            partial(window.fold, columns, padding_mode=mode, out=out),
            partial(window.fold, columns, out=np.zeros_like(out)),
            {},
            expected.astype(dtype),
        )


def patches_in(window: Window, columns: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each patch with its place in an image."""
    box = (window.size,) * len(window.spatial)
    patches = columns.reshape(*window.shape[:2], *box, -1)
    steps = [range(0, extent - window.size + 1, window.stride) for extent in window.spatial]
    for number, start in enumerate(np.ndindex(*map(len, steps))):
        place = tuple(
            slice(first * window.stride, first * window.stride + window.size) for first in start
        )
        yield (slice(None), slice(None), *place), patches[..., number]


def blend_by_loop(window: Window, columns: Any, weights: Any) -> Any:
    """Blend patch by patch, as MONAI's sliding_window_inference does.

    It keeps an image of weighted sums and an image of weights, and divides them.
    """
    sums = np.zeros(window.shape, np.float32)
    counts = np.zeros((1, 1, *window.spatial), np.float32)
    weights = np.asarray(weights, np.float32)
    for place, patch in patches_in(window, columns):
        sums[place] += weights * patch
        counts[place] += weights
    return as_dtype(sums / counts, columns.dtype)


def greatest_by_loop(window: Window, columns: Any) -> Any:
    """Keep the greatest terms patch by patch. The terms are not negative."""
    image = np.zeros(window.shape, columns.dtype)
    for place, patch in patches_in(window, columns):
        np.maximum(image[place], patch, out=image[place])
    return image


def as_dtype(image: Any, dtype: Any) -> Any:
    return np.rint(image).astype(dtype) if np.dtype(dtype).kind in "iu" else image.astype(dtype)


def sum_ones_divide(
    fold: Callable[[Any], Any], columns: Any, weights: Any, rows: tuple[int, ...]
) -> Any:
    """Sum the terms, sum as many ones, and divide."""
    each = np.tile(np.asarray(weights, np.float32).ravel(), rows[0] // weights.size)[:, None]
    terms = columns.astype(np.float32) * each
    sums, counts = fold(terms), fold(np.broadcast_to(each, terms.shape).copy())
    return as_dtype(np.asarray(sums) / np.asarray(counts), columns.dtype)


def add_again(window: Window, columns: Any, image: Any) -> Any:
    """Add a sum of the columns to an image."""
    return np.add(image, window.fold(columns), out=image)


def sum_rows(window: Window, dtype: str) -> Iterator[Row]:
    """Yield sums with weights and sums onto an image, beside plain sums of the same elements."""
    columns = small_numbers(window.unfold(np.zeros(window.shape, np.uint8)).shape, dtype)
    image = np.zeros(window.shape, dtype)
    ramp = np.minimum(np.arange(window.size) % 4, 3).astype(np.float64)
    weights = [ramp] * len(window.spatial)
    each = ramp
    for _ in weights[1:]:
        each = np.multiply.outer(each, ramp)
    factors = np.tile(each.ravel(), window.shape[1])[:, None].astype(dtype)
    plain = partial(window.fold, columns, out=np.zeros_like(image))
    yield Row(
        f"weighted sum, {window.name}, {dtype}",
        partial(window.fold, columns, weights=weights, out=image),
        plain,
        {"multiply, fold": lambda: window.fold(columns * factors)},
        window.fold(columns * factors),
        tolerance=1e-3,
    )

    # Both add to images of their own. The first results, which are checked, begin from ones.
    yield Row(
        f"accumulate, {window.name}, {dtype}",
        partial(window.fold, columns, accumulate=True, out=np.ones_like(image)),
        plain,
        {"fold, np.add": partial(add_again, window, columns, np.ones_like(image))},
        window.fold(columns) + 1,
    )


def mean_rows(window: Window, dtype: str, functional: Any) -> Iterator[Row]:
    """Yield means, with and without weights, and maxima, beside a sum of the same elements."""
    x = small_numbers(window.shape, dtype)
    columns = window.unfold(x)
    out = np.zeros_like(x)
    axes = len(window.spatial)
    hann = np.hanning(window.size + 2)[1:-1]
    blend = hann
    for _ in range(axes - 1):
        blend = np.multiply.outer(blend, hann)
    for name, weights in (("mean", np.ones_like(blend)), ("blend", blend)):
        given = {} if name == "mean" else {"weights": [hann] * axes}
        usual: dict[str, Run] = {
            "sum, ones, divide": partial(
                sum_ones_divide, window.fold, columns, weights, columns.shape[1:]
            ),
            "MONAI's loop": partial(blend_by_loop, window, columns, weights),
        }
        if functional and axes == 2:
            usual["torch: sum, ones, divide"] = partial(
                sum_ones_divide,
                partial(fold_by_torch, functional, window),
                columns,
                weights,
                columns.shape[1:],
            )
        yield Row(
            f"{name}, {window.name}, {dtype}",
            partial(window.fold, columns, reduction="mean", **given, out=out),
            partial(window.fold, columns, out=np.zeros_like(out)),
            usual,
            x,
            tolerance=0 if np.dtype(dtype).kind in "iu" else 1e-3,
        )
    yield Row(
        f"maximum, {window.name}, {dtype}",
        partial(window.fold, columns, reduction="max", out=out),
        partial(window.fold, columns, out=np.zeros_like(out)),
        {"a loop": partial(greatest_by_loop, window, columns)},
        x,
    )


def merge_by_loop(plan: reblock.Patches, patches: Any, weights: Any) -> Any:
    """Blend patches that have the channels last into one image, patch by patch."""
    height, width = (max(starts) + plan.window_sizes[0] for starts in origins_of(plan))
    sums = np.zeros((height, width, patches.shape[-1]))
    counts = np.zeros((height, width, 1))
    weights = weights[..., None]
    for patch, index in zip(patches, np.ndindex(*plan.grid), strict=True):
        where = tuple(
            slice(first, first + n)
            for first, n in zip(plan.origin(index), plan.window_sizes, strict=True)
        )
        sums[where] += weights * patch
        counts[where] += weights
    return as_dtype(sums / counts, patches.dtype)


def origins_of(plan: reblock.Patches) -> list[set[int]]:
    """Return where patches begin along each axis."""
    origins = [plan.origin(index) for index in np.ndindex(*plan.grid)]
    return [{origin[axis] for origin in origins} for axis in range(len(plan.grid))]


def photo_rows(window: Window, dtype: str) -> Iterator[Row]:
    """Yield means of patches with the channels last, beside a sum of the same elements."""
    photo = small_numbers(window.shape, dtype)
    plan = reblock.Patches(photo, window.size, strides=window.stride, edges="drop")
    patches = np.stack(list(plan))
    columns = patches.reshape(len(plan), -1)
    hann = np.hanning(window.size + 2)[1:-1]
    blend = np.multiply.outer(hann, hann)
    out = np.zeros_like(photo)
    fold = partial(
        reblock.fold,
        columns,
        photo.shape[:2],
        window.size,
        strides=window.stride,
        layout="LC",
        out_layout="HWC",
        order="DCR",
        threads=1,
    )
    plain = partial(fold, out=np.zeros_like(photo))
    for name, weights in (("mean", np.ones_like(blend)), ("blend", blend)):
        given = {} if name == "mean" else {"weights": [hann, hann]}
        loop: dict[str, Run] = {"a loop": partial(merge_by_loop, plan, patches, weights)}
        yield Row(
            f"{name}, {window.name}, {dtype}",
            partial(fold, reduction="mean", **given, out=out),
            plain,
            loop,
            photo,
            tolerance=0 if np.dtype(dtype).kind == "u" else 1e-3,
        )
        yield Row(
            f"Patches.merge, {name}, {window.name}, {dtype}",
            partial(plan.merge, patches, weights=None if name == "mean" else [hann, hann], out=out),
            plain,
            loop,
            photo,
            tolerance=0 if np.dtype(dtype).kind == "u" else 1e-3,
        )


def rows(only: str, *, quick: bool) -> Iterator[Row]:
    functional = with_torch()
    windows = [w for w in PADDED if w.quick or not quick]
    for window in windows:
        for dtype in ("float32", "uint8"):
            yield from (r for r in unfold_rows(window, dtype, functional) if only in r.name)
            yield from (r for r in value_rows(window, dtype) if only in r.name)
            if len(window.spatial) == 2:
                yield from (r for r in layout_rows(window, dtype) if only in r.name)
        yield from (r for r in fold_rows(window, "float32") if only in r.name)
    for window in (w for w in OVERLAPPING + SEPARATE if w.quick or not quick):
        for dtype in ("float32", "float16", "uint8", "int32", "int64"):
            yield from (r for r in sum_rows(window, dtype) if only in r.name)
            yield from (r for r in mean_rows(window, dtype, functional) if only in r.name)
    for window in (w for w in PHOTOS if w.quick or not quick):
        for dtype in ("float32", "uint8"):
            yield from (r for r in photo_rows(window, dtype) if only in r.name)


def measure(row: Row, seconds: float) -> dict[str, Any]:
    """Return times of all, after a check of their results."""
    runs: dict[str, Run] = {"reblock": row.reblock, **row.usual, "plain": row.plain}
    for name, run in runs.items():
        if name == "plain":
            continue
        result = np.asarray(run(), np.float64)
        if not np.allclose(result, row.expected.astype(np.float64), atol=row.tolerance, rtol=0):
            sys.exit(f"{name} is wrong: {row.name}")
    return {"name": row.name, "seconds": median_times(runs, seconds)}


def main() -> None:
    """Print a line for each row: the ratio to the plain operator, and how many times faster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each row")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--quick", action="store_true", help="small images alone")
    parser.add_argument("--json", type=Path, help="keep the times")
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    results = []
    print("| case | plain / reblock | times faster than |")
    print("|---|--:|---|")
    for row in rows(arguments.only, quick=arguments.quick):
        result = measure(row, arguments.seconds)
        results.append(result)
        times = result["seconds"]
        others = [f"{name} {times[name] / times['reblock']:.1f}" for name in row.usual]
        ratio = times["plain"] / times["reblock"]
        print("|", " | ".join([row.name, f"{ratio:.2f}", ", ".join(others)]), "|", flush=True)
    if results:
        ratios = [r["seconds"]["plain"] / r["seconds"]["reblock"] for r in results]
        print(f"\n{len(ratios)} rows, least {min(ratios):.2f}, mean {geometric_mean(ratios):.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
