# SPDX-License-Identifier: BSD-3-Clause
"""What is measured.

Each group takes every element size with every block or window, in both directions. What matters
less (the order of channels, the plane, the size of the output) alternates from case to case.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import reblock

Shape = tuple[int, ...]

MEBI = 1 << 20
LARGE = 128 * MEBI
SIZES = {1: "uint8", 2: "uint16", 4: "float32", 8: "float64", 16: "complex128"}
EVERY_SECOND_ROW = (slice(None, None, 2), slice(None))
BLOCKS: list[int | Shape] = [2, 3, 4, 8, (2, 3)]


@dataclass(frozen=True)
class Group:
    """Cases that have a common aim: ratios of copy time to reblock's, 1.0 is as fast as a copy."""

    name: str
    least: float | None = None
    mean: float | None = None


IN_CACHE = Group("depth/space NCHW, in cache, planes of 28x28 and up", 0.85, 0.95)
SMALL_PLANES = Group("depth/space NCHW, 14x14 and 7x7", 0.6, 0.8)
WIDE_PIXELS = Group("depth/space channels-last, pixels of 16 bytes and up", 0.7, 0.85)
NARROW_PIXELS = Group("depth/space channels-last, smaller pixels", 0.4, 0.6)
UNFOLD = Group("unfold, stride 1, in cache", 0.9, 1.0)
UNFOLD_SMALL = Group("unfold, stride 1, 14x14 and 7x7", 0.6, 0.8)
UNFOLD_STRIDED = Group("unfold, strided, dilated, patches", 0.6, 0.85)
FOLD = Group("fold (against a copy of its columns)", 0.7, 0.9)
SMALL_IMAGES = Group("small images, outputs of less than 128 KiB")
LARGE_DEPTH_SPACE = Group("depth/space, 128 MiB and up", 1.2, 1.4)
LARGE_PIXELS = Group("depth/space channels-last, 128 MiB and up", 1.2, 1.4)
LARGE_UNFOLD = Group("unfold, 128 MiB and up", 1.5, 1.7)
RANDOM = Group("random")
FRESH = Group("fresh output, 128 MiB and up, against x.copy()", 0.9, 1.0)

GROUPS = [
    IN_CACHE,
    SMALL_PLANES,
    WIDE_PIXELS,
    NARROW_PIXELS,
    UNFOLD,
    UNFOLD_SMALL,
    UNFOLD_STRIDED,
    FOLD,
    SMALL_IMAGES,
    LARGE_DEPTH_SPACE,
    LARGE_PIXELS,
    LARGE_UNFOLD,
    FRESH,
    RANDOM,
]


@dataclass(frozen=True)
class Case:
    """One call: an operator, its arguments, and the array that it gets."""

    group: Group
    operator: str
    shape: Shape
    dtype: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    layout: str = "dense"
    """ "dense"; "strided": input and `out` are every second row of larger arrays; or "cropped": the
    input is the inside of larger images."""
    fresh: bool = False
    quick: bool = False

    @property
    def name(self) -> str:
        keywords = [f"{key}={value}" for key, value in self.keywords.items()]
        parts = ", ".join([*map(str, self.arguments), *keywords])
        layout = "" if self.layout == "dense" else f" {self.layout}"
        return f"{self.operator}({self.dtype} {'x'.join(map(str, self.shape))}, {parts}){layout}"

    @property
    def input_part(self) -> tuple[slice, ...]:
        """What the input is of the last axes of a larger array."""
        inside = (slice(1, -1),) * (len(self.shape) - 2)
        channels = (slice(None),) if "channel_axis" in self.keywords else ()
        cropped = (*inside, *channels)
        return {"dense": (), "strided": EVERY_SECOND_ROW, "cropped": cropped}[self.layout]

    @property
    def output_part(self) -> tuple[slice, ...]:
        return EVERY_SECOND_ROW if self.layout == "strided" else ()

    @property
    def output_shape(self) -> Shape:
        keywords = {key: value for key, value in self.keywords.items() if key != "order"}
        shape: Shape = getattr(reblock, f"{self.operator}_shape")(
            self.shape, *self.arguments, **keywords
        )
        return shape

    @property
    def copied_bytes(self) -> int:
        """Bytes of the copy that the case is compared to: its output's, for fold its columns'."""
        shape = self.shape if self.operator == "fold" else self.output_shape
        return math.prod(shape) * np.dtype(self.dtype).itemsize


def _depth_space(
    group: Group,
    dtype: str,
    blocks: Shape,
    block: int | Shape,
    *,
    target: int,
    order: str,
    channels: int | None = None,
    batch: int = 1,
    **more: Any,
) -> Iterator[Case]:
    """Both directions; as many channels as make some `target` bytes, or as many rows of pixels."""
    factors = (block,) * len(blocks) if isinstance(block, int) else block
    volume = math.prod(factors)
    size = np.dtype(dtype).itemsize
    keywords: dict[str, Any] = {"order": order}
    if channels is None:
        bytes_of_one = batch * math.prod(blocks) * volume * size
        channels = max(1, target // bytes_of_one)
    else:
        keywords["channel_axis"] = -1
    depth: Shape = (channels * volume, *blocks)
    space: Shape = (channels, *(s * b for s, b in zip(blocks, factors, strict=True)))
    if "channel_axis" in keywords:
        depth, space = (*depth[1:], depth[0]), (*space[1:], space[0])
    for operator, shape in (("depth_to_space", depth), ("space_to_depth", space)):
        yield Case(group, operator, (batch, *shape), dtype, (block,), keywords, **more)


def _alternate() -> Iterator[str]:
    return itertools.cycle(["DCR", "CRD", "CRD", "DCR"])


def depth_space_cases() -> Iterator[Case]:
    order = _alternate()
    planes = itertools.cycle([(28, 28), (56, 56), (112, 112)])
    targets = itertools.cycle([MEBI // 4, MEBI, 4 * MEBI])
    for size, block in itertools.product(SIZES, BLOCKS):
        yield from _depth_space(
            IN_CACHE,
            SIZES[size],
            next(planes),
            block,
            target=next(targets),
            order=next(order),
            quick=size in (1, 4) and block in (2, 3),
        )
    for blocks, block in (((4096,), 2), ((16, 32, 32), 2), ((28, 28), (2, 3))):
        yield from _depth_space(
            IN_CACHE, "float32", blocks, block, target=MEBI, order="DCR", batch=1
        )
    yield from _depth_space(IN_CACHE, "float32", (56, 56), 2, target=MEBI, order="DCR", batch=32)
    for size, plane, block in itertools.product(SIZES, (14, 7), (2, 4)):
        yield from _depth_space(
            SMALL_PLANES,
            SIZES[size],
            (plane, plane),
            block,
            target=MEBI,
            order=next(order),
            quick=size in (1, 4) and block == 2,
        )
    for size, block in itertools.product(SIZES, (2, 3, 4)):
        channels = {1: 64, 2: 16, 4: 64, 8: 12, 16: 4}[size]
        for order_ in ("DCR", "CRD"):
            yield from _depth_space(
                WIDE_PIXELS,
                SIZES[size],
                (256 // block, 192 // block // 4),
                block,
                target=MEBI,
                order=order_,
                channels=channels,
                quick=size == 4 and block == 2,
            )
    for size, block in itertools.product((1, 2, 4, 8), (2, 3, 4)):
        channels = {1: 3, 2: 3, 4: 3, 8: 1}[size]
        for order_ in ("DCR", "CRD"):
            yield from _depth_space(
                NARROW_PIXELS,
                SIZES[size],
                (512 // block, 256 // block),
                block,
                target=MEBI,
                order=order_,
                channels=channels,
                quick=size in (1, 4) and block == 2,
            )


def _window(operator: str, group: Group, dtype: str, shape: Shape, size: Any, **more: Any) -> Case:
    case = {key: more.pop(key) for key in ("layout", "fresh", "quick") if key in more}
    if padding := more.pop("padding", 0):
        more |= {"start_padding": padding, "end_padding": padding}
    if operator == "unfold":
        return Case(group, operator, shape, dtype, (size,), more, **case)
    columns = reblock.unfold_shape(shape, size, **more)
    return Case(group, operator, columns, dtype, (shape[2:], size), more, **case)


# window sizes, keywords, spatial extents
STRIDE_1: list[tuple[int, dict[str, int], Shape]] = [
    (3, {"padding": 1}, (56, 56)),
    (3, {"padding": 1}, (28, 28)),
    (5, {}, (56, 56)),
]
STRIDED: list[tuple[int, dict[str, int], Shape]] = [
    (7, {"strides": 2, "padding": 3}, (224, 224)),
    (3, {"dilations": 2}, (56, 56)),
    (4, {"strides": 4}, (224, 224)),
    (8, {"strides": 8}, (224, 224)),
    (16, {"strides": 16}, (224, 224)),
]


def _channels(dtype: str, spatial: Shape, size: int, keywords: dict[str, int], target: int) -> int:
    one = _window("unfold", UNFOLD, dtype, (1, 1, *spatial), size, **keywords)
    return max(1, target // one.copied_bytes)


def window_cases() -> Iterator[Case]:
    for operator, dtype in itertools.product(("unfold", "fold"), SIZES.values()):
        for group, windows in ((UNFOLD, STRIDE_1), (UNFOLD_STRIDED, STRIDED)):
            for size, keywords, spatial in windows:
                channels = _channels(dtype, spatial, size, keywords, 2 * MEBI)
                yield _window(
                    operator,
                    group if operator == "unfold" else FOLD,
                    dtype,
                    (1, channels, *spatial),
                    size,
                    **keywords,
                    quick=dtype in ("uint8", "float32") and size in (3, 7, 16),
                )
    for dtype, plane in itertools.product(SIZES.values(), (14, 7)):
        channels = _channels(dtype, (plane, plane), 3, {"padding": 1}, MEBI)
        yield _window(
            "unfold",
            UNFOLD_SMALL,
            dtype,
            (1, channels, plane, plane),
            3,
            padding=1,
            quick=dtype in ("uint8", "float32"),
        )
    for spatial in ((4096,), (16, 16, 16)):
        for operator, group in (("unfold", UNFOLD), ("fold", FOLD)):
            yield _window(operator, group, "float32", (1, 16, *spatial), 3, padding=1)
    yield _window("fold", FOLD, "float16", (1, 64, 56, 56), 3, padding=1)
    yield _window("unfold", UNFOLD, "float32", (32, 4, 56, 56), 3, padding=1)


def strided_cases() -> Iterator[Case]:
    """Return cases whose inputs, or these and their outputs, have gaps between their rows."""
    yield from _depth_space(
        IN_CACHE, "float32", (56, 56), 2, target=MEBI, order="DCR", layout="strided"
    )
    yield _window("unfold", UNFOLD, "float32", (1, 32, 56, 56), 3, padding=1, layout="strided")
    for group, dtype, plane, block, channels in (
        (IN_CACHE, "uint8", 28, 2, None),
        (SMALL_PLANES, "float32", 14, 2, None),
        (NARROW_PIXELS, "uint8", 128, 2, 3),
    ):
        yield from _depth_space(
            group,
            dtype,
            (plane, plane),
            block,
            target=MEBI,
            order="DCR",
            channels=channels,
            layout="cropped",
        )
    for group, plane in ((UNFOLD, 28), (UNFOLD_SMALL, 14)):
        yield _window(
            "unfold", group, "float32", (1, 64, plane, plane), 3, padding=1, layout="cropped"
        )


def small_cases() -> Iterator[Case]:
    """Return cases of a few channels, where what a call works out first is not used often."""
    windows: list[tuple[int, dict[str, int]]] = [
        (3, {"padding": 1}),
        (3, {"padding": 1, "strides": 2}),
        (5, {"padding": 2}),
        (7, {"padding": 3, "strides": 2}),
    ]
    for dtype, channels, plane in (
        ("uint8", 1, 28),
        ("float32", 1, 28),
        ("uint8", 3, 32),
        ("float32", 3, 32),
    ):
        for size, keywords in windows:
            shape = (1, channels, plane, plane)
            unfold = _window("unfold", SMALL_IMAGES, dtype, shape, size, **keywords)
            if unfold.copied_bytes < 128 << 10:
                yield unfold
                yield _window("fold", SMALL_IMAGES, dtype, shape, size, **keywords)
        yield from _depth_space(
            SMALL_IMAGES, dtype, (plane, plane), 2, target=0, order="DCR", channels=channels
        )
        yield from _depth_space(SMALL_IMAGES, dtype, (plane, plane), 2, target=0, order="DCR")


def large_cases() -> Iterator[Case]:
    for dtype, plane, block in (
        ("float32", 112, 2),
        ("uint8", 256, 2),
        ("float32", 56, 4),
        ("float64", 96, 3),
        ("float32", 64, 4),  # streams at distances of a power of two
        ("float32", 64, 8),
    ):
        yield from _depth_space(
            LARGE_DEPTH_SPACE,
            dtype,
            (plane, plane),
            block,
            target=256 * MEBI,
            order="DCR",
            quick=dtype == "float32" and block == 2,
        )
    for dtype, channels, block, order in (
        ("float32", 3, 2, "DCR"),
        ("float32", 3, 2, "CRD"),
        ("float32", 16, 2, "DCR"),
        ("float32", 64, 4, "DCR"),
        ("uint8", 3, 2, "DCR"),
        ("uint8", 3, 8, "DCR"),
        ("uint16", 12, 3, "DCR"),
    ):
        width = 1920 // block
        row = width * block**2 * channels * np.dtype(dtype).itemsize
        yield from _depth_space(
            LARGE_PIXELS,
            dtype,
            (LARGE // row + 1, width),
            block,
            target=LARGE,
            order=order,
            channels=channels,
            quick=channels == 16,
        )
    for spatial in ((56, 56), (112, 112)):
        channels = _channels("float32", spatial, 3, {"padding": 1}, LARGE)
        yield _window("unfold", LARGE_UNFOLD, "float32", (1, channels + 1, *spatial), 3, padding=1)
    fresh = list(
        _depth_space(FRESH, "float32", (112, 112), 2, target=LARGE, order="DCR", fresh=True)
    )
    yield from fresh
    channels = _channels("float32", (56, 56), 3, {"padding": 1}, LARGE)
    yield _window("unfold", FRESH, "float32", (1, channels + 1, 56, 56), 3, padding=1, fresh=True)


def all_cases() -> list[Case]:
    return [*depth_space_cases(), *window_cases(), *strided_cases(), *small_cases(), *large_cases()]


def select_cases(only: str, *, quick: bool, random_count: int) -> list[Case]:
    """Return those of the grid, or random ones, whose group or name contains `only`."""
    cases = random_cases(random_count) if random_count else all_cases()
    return [c for c in cases if (c.quick or not quick) and only in f"{c.group.name} {c.name}"]


def sweep_cases() -> list[Case]:
    """One operator from 1 KiB to 1 GiB of output, by powers of two."""
    return [
        Case(IN_CACHE, "depth_to_space", (1, (1 << k) // 256, 8, 8), "float32", (2,))
        for k in range(10, 31)
    ]


def random_cases(count: int) -> list[Case]:
    """Return cases of any kind, of a hundred bytes to some MiB: the same ones every time."""
    return [_random_case(random.Random(seed)) for seed in range(count)]


def _random_case(draw: random.Random) -> Case:
    dtype = draw.choice(["uint8", "uint16", "float32", "float64", "complex128"])
    rank = draw.choice([1, 2, 2, 2, 3])
    spatial = tuple(int(2 ** draw.uniform(0, 8 if rank < 3 else 5)) for _ in range(rank))
    batch, channels = draw.choice([1, 1, 1, 2, 8, 32]), draw.choice([1, 2, 3, 4, 8, 16, 64, 100])
    most = draw.choice([10**3, 10**4, 10**5, 10**6])  # elements
    while batch * channels * math.prod(spatial) > most and batch * channels > 1:
        batch, channels = (batch, channels // 2) if channels > 1 else (batch // 2, channels)
    layout = draw.choice(["dense", "dense", "cropped"])
    operator = draw.choice(["depth_to_space", "space_to_depth", "unfold", "fold"])
    if operator in ("unfold", "fold"):
        size = draw.randint(1, min(7, *spatial))
        padding, strides = draw.randint(0, size // 2), draw.randint(1, 3)
        layout = layout if operator == "unfold" else "dense"
        shape = (batch, channels, *spatial)
        more = {"padding": padding, "strides": strides, "layout": layout}
        return _window(operator, RANDOM, dtype, shape, size, **more)
    block = tuple(draw.choice([1, 2, 2, 3, 4, 5, 8]) for _ in spatial)
    depth: Shape = (channels * math.prod(block), *spatial)
    space: Shape = (channels, *(s * b for s, b in zip(spatial, block, strict=True)))
    shape = depth if operator == "depth_to_space" else space
    keywords: dict[str, Any] = {"order": draw.choice(["DCR", "CRD"])}
    if draw.random() < 0.5:
        shape = (*shape[1:], shape[0])
        keywords["channel_axis"] = -1
    return Case(RANDOM, operator, (batch, *shape), dtype, (block,), keywords, layout)
