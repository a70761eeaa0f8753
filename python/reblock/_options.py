# SPDX-License-Identifier: BSD-3-Clause
"""The arguments and options of the `reblock` command: types, help, and functions that read them."""

import contextlib
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer


def ints(text: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not like 2 or 2,3") from None


def int_or_ints(text: str) -> int | tuple[int, ...]:
    """Return the one number that stands for every spatial axis, or the one of each."""
    numbers = ints(text)
    return numbers if len(numbers) > 1 else numbers[0]


def ranges(text: str) -> list[tuple[int, int | None]]:
    """Return the window positions along each axis, written like slices."""
    found = [re.fullmatch(r"(-?\d+)?:(-?\d+)?", part) for part in text.split(",")]
    if None in found:
        raise typer.BadParameter(f"{text!r} is not like 0:10 or 0:10,:")
    return [(int(m[1] or 0), None if m[2] is None else int(m[2])) for m in found if m]


def number(text: str) -> complex:
    """Return an int if the text is one, else a float or a complex number."""
    for kind in (int, float, complex):
        with contextlib.suppress(ValueError):
            return kind(text)
    raise typer.BadParameter(f"{text!r} is no number")


def dtype_of(text: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(text)
    except TypeError:
        dtype = np.dtype(object)
    if text == "bfloat16":
        raise typer.BadParameter(f"a .npy file cannot hold {text!r}: take float32 or float16")
    if dtype.kind not in "biuf":
        raise typer.BadParameter(f"{text!r} is not like float32 or uint8")
    return dtype


def factors(text: str) -> float | list[float]:
    """Return the one number that stands for every channel, or the one of each."""
    try:
        numbers = [float(Fraction(part)) for part in text.split(",")]
    except (ValueError, ArithmeticError):
        raise typer.BadParameter(f"{text!r} is not like 1/255 or 0.5,1,2") from None
    return numbers if len(numbers) > 1 else numbers[0]


def axis_factors(text: str) -> float | dict[str, list[float]]:
    """Return the one number that stands for every element, or the numbers along an axis."""
    axis, equals, numbers = text.rpartition("=")
    values = factors(numbers)
    if not equals and isinstance(values, float):
        return values
    if not axis.isidentifier():
        raise typer.BadParameter(f"{text!r} is not like 1/255 or c=0.5,1,2")
    return {axis: [values] if isinstance(values, float) else values}


def axes_lengths(texts: Sequence[str] | None) -> dict[str, int]:
    """Return the lengths of axes by their names."""
    found = [re.fullmatch(r"(\w+)=(\d+)", text) for text in texts or ()]
    for text, match in zip(texts or (), found, strict=True):
        if match is None:
            raise typer.BadParameter(f"{text!r} is not like h=2")
    return {match[1]: int(match[2]) for match in found if match}


# What typer shows of the type is the metavar: Any is what it leaves to the parser.
per_axis = partial(typer.Option, parser=int_or_ints, metavar="INT[,INT...]")
BlockSize = Annotated[Any, per_axis(help="Extents of a block.")]
OutputSizes = Annotated[Any, per_axis(help="Extents of the result's spatial axes.")]
WindowSizes = Annotated[Any, per_axis(help="Extents of the window.")]
Strides = Annotated[Any, per_axis(help="Steps from a window position to the next.")]
Dilations = Annotated[Any, per_axis(help="Steps from an element of the window to the next.")]
StartPadding = Annotated[Any, per_axis(help="Elements of padding before each axis.")]
EndPadding = Annotated[Any, per_axis(help="Elements of padding after each axis.")]
PaddingMode = Annotated[
    Literal["constant", "edge", "reflect", "symmetric", "wrap"],
    typer.Option(
        case_sensitive=False,
        metavar="MODE",
        help="What windows find in the padding, as in numpy.pad: constant, edge, reflect, symmetric"
        " or wrap.",
    ),
]
PaddingValue = Annotated[
    Any,
    typer.Option(
        parser=number,
        metavar="NUMBER",
        help="What windows find in the padding of the mode constant.",
    ),
]
Order = Annotated[
    Literal["DCR", "CRD"],
    typer.Option(
        case_sensitive=False,
        help="How the depth's channels run: DCR pixel by pixel of a block, CRD channel by channel.",
    ),
]
Blocks = Annotated[
    Any,
    typer.Option(
        parser=ranges,
        metavar="START:STOP[,START:STOP...]",
        help="Window positions that have columns, for all axes or for each.",
        show_default="all",
    ),
]
ChannelAxis = Annotated[
    int, typer.Option(help="The axis of channels: 1, or -1 where they come last.")
]
WindowOrder = Annotated[
    Literal["CRD", "DCR"],
    typer.Option(
        case_sensitive=False,
        help="How the columns' rows run: CRD channel by channel, DCR pixel by pixel of the window.",
    ),
]


def layout_of(side: str, names: str, *, default: str) -> Any:
    """Return the option for the layout of one side."""
    return typer.Option(
        help=f"A letter for each axis of the {side}: N the batch, {names}.", show_default=default
    )


Layout = Annotated[
    str | None,
    layout_of("input", "C the channels, such as HWC", default="NC, then the spatial axes"),
]
OutLayout = Annotated[
    str | None,
    layout_of("result", "C the channels, such as NCHW", default="that of --layout"),
]
OutColumnsLayout = Annotated[
    str | None, layout_of("result", "C the rows, L the windows", default="NCL, or CL")
]
ColumnsLayout = Annotated[
    str | None, layout_of("input", "C the rows, L the windows", default="NCL, or CL")
]
ImageLayout = Annotated[
    str | None,
    layout_of("result", "C the channels, such as HWC", default="NC, then the spatial axes"),
]
DType = Annotated[
    Any,
    typer.Option(
        parser=dtype_of,
        metavar="DTYPE",
        help="The dtype of the result. To integers, floats and scaled elements saturate.",
        show_default="that of IN",
    ),
]
SumDType = Annotated[
    Any,
    typer.Option(
        parser=dtype_of,
        metavar="DTYPE",
        help="The dtype of the sums and of the result.",
        show_default="that of IN",
    ),
]
TermsDType = Annotated[
    Any,
    typer.Option(
        parser=dtype_of,
        metavar="DTYPE",
        help="The dtype that terms are converted to before they are added.",
        show_default="that of the columns",
    ),
]
per_channel = partial(typer.Option, parser=factors, metavar="NUMBER[,NUMBER...]")
Scale = Annotated[Any, per_channel(help="A factor of all elements, or one for each channel.")]
Bias = Annotated[Any, per_channel(help="A summand after --scale, or one for each channel.")]
along_axis = partial(typer.Option, parser=axis_factors, metavar="[AXIS=]NUMBER[,NUMBER...]")
AxisScale = Annotated[Any, along_axis(help="A factor of all elements, or those along an axis.")]
AxisBias = Annotated[Any, along_axis(help="A summand after --scale, or those along an axis.")]
Pattern = Annotated[
    str,
    typer.Argument(metavar="PATTERN", help='Axes before and after, such as "h w c -> c h w".'),
]
RepeatPattern = Annotated[
    str,
    typer.Argument(
        metavar="PATTERN", help='Axes before and after, new ones too, such as "h w -> h w 3".'
    ),
]
Lengths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME=LENGTH", help="Lengths of axes of the pattern.", show_default=False
    ),
]
Shape = Annotated[
    Any,
    typer.Option(
        parser=ints,
        metavar="INT,INT,...",
        help="The input's shape.",
        show_default="a small one that fits",
    ),
]
Save = Annotated[
    Path | None, typer.Option(help="Draw the map too; the suffix chooses the picture's format.")
]
Source = Annotated[
    Path, typer.Argument(metavar="IN", help="A .npy file or an image; - is standard input.")
]
Target = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        help="A .npy file or an image, to be made; - writes .npy to standard output.",
    ),
]
Made = Annotated[
    Path,
    typer.Argument(metavar="OUT", help="What something made of IN; - is standard input."),
]
Reduction = Annotated[
    Literal["sum", "mean", "max", "min"],
    typer.Option(help="The result at a pixel that several windows cover."),
]
Weights = Annotated[
    Literal["hann", "gaussian"] | None,
    typer.Option(
        help="Weights of the elements of a window, in sums and means: lower at its edges."
    ),
]
Wrap = Annotated[
    bool,
    typer.Option(
        "--wrap", help="Let sums of integers wrap around, where they are refused otherwise."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="INT",
        help="Threads to use, at most.",
        show_default="REBLOCK_NUM_THREADS, or one for each processor",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]
