# SPDX-License-Identifier: BSD-3-Clause
"""Valid calls of the four operators: a few fixed ones, and strategies that draw any."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import oracle
import reblock
from oracle import Array

# Elements of the larger tensor of a drawn call; LARGE exceeds every cache-sized piece of work.
SMALL, LARGE = 3000, 60_000

BLOCKS = [1, 2, 3, 4, 5, 7, 8, 11]

Shape = tuple[int, ...]
Ranges = list[tuple[int, int]]


@dataclass(frozen=True)
class Call:
    """One operator with its arguments, one value per spatial axis, and the shapes it implies."""

    operator: str
    arguments: tuple[Shape, ...]
    keywords: dict[str, Any]
    input_shape: Shape
    output_shape: Shape

    def __call__(self, x: Any, **more: Any) -> Array:
        function = getattr(reblock, self.operator)
        result: Array = function(x, *self.arguments, **{**self.keywords, **more})
        return result

    def tensor(self) -> str:
        """Return what the function calls its first argument."""
        return "columns" if self.operator == "fold" else "x"

    def shape(self) -> Shape:
        function = getattr(reblock, self.operator + "_shape")
        keywords = {name: value for name, value in self.keywords.items() if name != "order"}
        result: Shape = function(self.input_shape, *self.arguments, **keywords)
        return result

    def oracle(self, x: Array) -> Array:
        function = getattr(oracle, self.operator)
        result: Array = function(x, *self.arguments, **self.keywords)
        return result


def depth_space_calls(
    batch: int,
    channels: int,
    blocks: Shape,
    block_size: Shape,
    order: str = "DCR",
    *,
    channel_axis: int = 1,
) -> tuple[Call, Call]:
    """Make depth_to_space of `blocks` blocks along each axis, and its inverse."""
    depth = (batch, channels * math.prod(block_size), *blocks)
    space = (batch, channels, *(s * b for s, b in zip(blocks, block_size, strict=True)))
    shapes = oracle.channels_at(depth, channel_axis), oracle.channels_at(space, channel_axis)
    keywords = {"order": order, "channel_axis": channel_axis}
    return (
        Call("depth_to_space", (block_size,), keywords, *shapes),
        Call("space_to_depth", (block_size,), keywords, *shapes[::-1]),
    )


def window_calls(
    batch: int,
    channels: int,
    sizes: Shape,
    window_sizes: Shape,
    *,
    strides: Shape | None = None,
    dilations: Shape | None = None,
    start_padding: Shape | None = None,
    end_padding: Shape | None = None,
    channel_axis: int = 1,
) -> tuple[Call, Call]:
    """Make unfold of an image of these spatial extents, and its adjoint."""
    once, nothing = (1,) * len(sizes), (0,) * len(sizes)
    window = {
        "strides": strides or once,
        "dilations": dilations or once,
        "start_padding": start_padding or nothing,
        "end_padding": end_padding or nothing,
    }
    counts = oracle.block_counts(sizes, window_sizes, **window)
    image = oracle.channels_at((batch, channels, *sizes), channel_axis)
    columns = (batch, channels * math.prod(window_sizes), math.prod(counts))
    keywords = {**window, "channel_axis": channel_axis}
    return (
        Call("unfold", (window_sizes,), keywords, image, columns),
        Call("fold", (sizes, window_sizes), keywords, columns, image),
    )


# One call of each operator in which no two extents or arguments can be mistaken for each other.
DEPTH_TO_SPACE, SPACE_TO_DEPTH = depth_space_calls(2, 3, (5, 4), (2, 3))
UNFOLD, FOLD = window_calls(
    2,
    3,
    (7, 5),
    (3, 2),
    strides=(2, 1),
    dilations=(1, 2),
    start_padding=(1, 0),
    end_padding=(0, 2),
)
SAMPLES = [DEPTH_TO_SPACE, SPACE_TO_DEPTH, UNFOLD, FOLD]
MOVING = [DEPTH_TO_SPACE, SPACE_TO_DEPTH, UNFOLD]


def operator(call: Call) -> str:
    """Name the tests of a call."""
    return call.operator


@st.composite
def products(draw: st.DrawFn, count: int, budget: int, values: Sequence[int]) -> Shape:
    """Draw `count` of the values, whose product is at most `budget`."""
    chosen = []
    for _ in range(count):
        value = draw(st.sampled_from([v for v in values if v <= budget]))
        budget //= max(value, 1)
        chosen.append(value)
    return tuple(draw(st.permutations(chosen)))


def _channel_axes(rank: int) -> st.SearchStrategy[int]:
    return st.one_of(st.just(1), st.integers(1, rank - 1), st.integers(1 - rank, -1))


@st.composite
def depth_space_pairs(
    draw: st.DrawFn, *, describable: bool = False, budget: int = SMALL
) -> tuple[Call, Call]:
    """Draw depth_to_space and its inverse: 1 to 6 spatial axes, any block, order, channel axis.

    A descriptor describes less: two spatial axes, a square block, channels second, nothing empty.
    """
    axes = 2 if describable else draw(st.sampled_from([2, 1, 3, 4, 5, 6]))
    if describable:
        block_size = draw(products(1, 11, BLOCKS)) * 2
    else:
        block_size = draw(products(axes, 130, BLOCKS))
    budget //= math.prod(block_size)
    extents = [1, 2, 3, 5, 7, 13, 16, 31, 67, 257, *([] if describable else [0])]
    batch, channels, *blocks = draw(products(2 + axes, budget, extents))
    order = draw(st.sampled_from(["DCR", "CRD"]))
    channel_axis = 1 if describable else draw(_channel_axes(2 + axes))
    return depth_space_calls(
        batch, channels, tuple(blocks), block_size, order, channel_axis=channel_axis
    )


@st.composite
def window_pairs(
    draw: st.DrawFn, *, describable: bool = False, budget: int = SMALL
) -> tuple[Call, Call]:
    """Draw unfold and its adjoint: 1 to 6 spatial axes, any window that fits at least once.

    A descriptor describes less: channels second, nothing empty.
    """
    axes = draw(st.sampled_from([2, 1, 3, 4, 5, 6]))
    window_sizes = draw(products(axes, 50, [1, 2, 3, 4, 5, 7]))
    budget //= math.prod(window_sizes)
    extents = [1, 2, 3, 5, 7, 13, 31, 64, 131]
    batch, channels, *counts = draw(products(2 + axes, budget, extents))
    if not describable:
        empty = [(0, channels), (batch, 0)]
        batch, channels = draw(st.sampled_from([(batch, channels)] * 9 + empty))

    def per_axis(low: int, high: int) -> Shape:
        return tuple(draw(st.lists(st.integers(low, high), min_size=axes, max_size=axes)))

    strides, dilations = per_axis(1, 4), per_axis(1, 3)
    start_padding, end_padding, remainder = per_axis(0, 3), per_axis(0, 3), per_axis(0, 3)
    sizes = [
        # What the blocks cover, and a remainder that no whole window covers, less the padding.
        (counts[d] - 1) * strides[d]
        + dilations[d] * (window_sizes[d] - 1)
        + 1
        + remainder[d] % strides[d]
        - start_padding[d]
        - end_padding[d]
        for d in range(axes)
    ]
    return window_calls(
        batch,
        channels,
        tuple(max(size, int(describable)) for size in sizes),
        window_sizes,
        strides=strides,
        dilations=dilations,
        start_padding=start_padding,
        end_padding=end_padding,
        channel_axis=1 if describable else draw(_channel_axes(2 + axes)),
    )


def counts_of(call: Call) -> list[int]:
    """Return how many blocks there are along each axis."""
    image, sizes = (call.input_shape, call.arguments[0])
    if call.operator == "fold":
        image, sizes = call.output_shape, call.arguments[1]
    window = {name: value for name, value in call.keywords.items() if name != "channel_axis"}
    extents = oracle.channels_second(image, call.keywords["channel_axis"])[2:]
    return oracle.block_counts(extents, sizes, **window)


@st.composite
def ranges_of(draw: st.DrawFn, counts: list[int]) -> Ranges:
    bounds = (tuple(sorted(draw(st.tuples(*[st.integers(0, n)] * 2)))) for n in counts)
    return [(first, last) for first, last in bounds]


@st.composite
def padded_calls(draw: st.DrawFn) -> tuple[Call, Call, Ranges]:
    """Draw unfold and fold of small images with pads of any size, and some of the blocks."""
    axes = draw(st.sampled_from([2, 1, 2, 3, 4]))
    extents = {1: 40, 2: 9, 3: 4, 4: 3}[axes]
    most_padding = draw(st.sampled_from([1, 3, {1: 200, 2: 30, 3: 7, 4: 3}[axes]]))

    def per_axis(low: int, high: int) -> Shape:
        return tuple(draw(st.lists(st.integers(low, high), min_size=axes, max_size=axes)))

    sizes, start, end = per_axis(1, extents), per_axis(0, most_padding), per_axis(0, most_padding)
    dilations, strides = per_axis(1, 3), per_axis(1, draw(st.sampled_from([2, 4, 11])))
    most = {1: draw(st.sampled_from([4, 25])), 2: 4}.get(axes, 2)
    windows = tuple(
        draw(st.integers(1, min(most, (size + a + b - 1) // dilation + 1)))
        for size, a, b, dilation in zip(sizes, start, end, dilations, strict=True)
    )
    channels = draw(st.integers(1, 3))
    pair = window_calls(
        draw(st.integers(1, 2)),
        channels,
        sizes,
        windows,
        strides=strides,
        dilations=dilations,
        start_padding=start,
        end_padding=end,
        channel_axis=draw(st.integers(1, axes + 1)),
    )
    ranges = [(0, count) for count in counts_of(pair[0])]
    if draw(st.booleans()):
        bounds = [sorted(draw(st.tuples(*[st.integers(0, n)] * 2))) for _, n in ranges]
        ranges = [(first, last) for first, last in bounds]
    return *pair, ranges


def depth_space() -> st.SearchStrategy[Call]:
    return depth_space_pairs().flatmap(st.sampled_from)


def moving() -> st.SearchStrategy[Call]:
    """Draw calls of the three operators that copy elements."""
    return st.one_of(depth_space(), window_pairs().map(lambda pair: pair[0]))


def any_call(*, describable: bool = False) -> st.SearchStrategy[Call]:
    pairs = st.one_of(
        depth_space_pairs(describable=describable), window_pairs(describable=describable)
    )
    return pairs.flatmap(st.sampled_from)
