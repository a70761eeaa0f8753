# SPDX-License-Identifier: BSD-3-Clause
"""The `reblock` command.

Exit status: 0 when all went well, 1 when a result is wrong or no operator gives it, 2 when the
command cannot be carried out as it was given, 130 or 143 when it was interrupted or told to end.
"""

import contextlib
import importlib.metadata
import math
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

import reblock

try:
    import typer
    from rich.console import Console

    from reblock import _convert, _files
except ModuleNotFoundError as missing:
    # The command needs packages that the library does without.
    print(f'reblock: {missing.name} is missing; pip install "reblock[cli]"', file=sys.stderr)
    raise SystemExit(2) from None

Typer = partial(
    typer.Typer, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
app = Typer()
explain = Typer()
app.add_typer(
    explain, name="explain", help="Show where each element of an operator's result comes from."
)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn errors into a line on standard error and an exit status."""
    try:
        yield
    except _files.CommandError as error:
        typer.echo(f"reblock: {error}", err=True)
        raise typer.Exit(error.exit_status) from None


# Options ----------------------------------------------------------------------------------------


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
Strides = Annotated[Any, per_axis(help="Steps from window to window.")]
Dilations = Annotated[Any, per_axis(help="Steps from pixel to pixel in a window.")]
StartPadding = Annotated[Any, per_axis(help="Elements of padding before each axis.")]
EndPadding = Annotated[Any, per_axis(help="Elements of padding after each axis.")]
PaddingMode = Annotated[
    Literal["constant", "edge", "reflect", "symmetric", "wrap"],
    typer.Option(case_sensitive=False, help="What windows find in the padding, as in numpy.pad."),
]
PaddingValue = Annotated[
    Any,
    typer.Option(parser=number, metavar="NUMBER", help="What the constant mode finds there."),
]
Order = Annotated[
    Literal["DCR", "CRD"],
    typer.Option(case_sensitive=False, help="What the depth's channels run through last."),
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
    typer.Option(case_sensitive=False, help="What the columns' rows run through last."),
]
Layout = Annotated[
    str | None,
    typer.Option(
        help="A letter for each axis of the input: N the batch, C the channels, such as HWC.",
        show_default="NC, then the spatial axes",
    ),
]
OutLayout = Annotated[
    str | None, typer.Option(help="The same for the result; columns have N, C and L.")
]
ColumnsLayout = Annotated[
    str | None,
    typer.Option(
        help="A letter for each axis of the input: N the batch, C the rows, L the windows.",
        show_default="NCL, or CL",
    ),
]
ImageLayout = Annotated[
    str | None,
    typer.Option(
        help="A letter for each axis of the result: N the batch, C the channels, such as HWC.",
        show_default="NC, then the spatial axes",
    ),
]
DType = Annotated[
    Any,
    typer.Option(
        parser=dtype_of,
        metavar="DTYPE",
        help="The result's dtype; integers saturate.",
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
per_channel = partial(typer.Option, parser=factors, metavar="NUMBER[,NUMBER...]")
Scale = Annotated[Any, per_channel(help="What elements are multiplied by; one for each channel.")]
Bias = Annotated[Any, per_channel(help="What is added then; one for each channel.")]
along_axis = partial(typer.Option, parser=axis_factors, metavar="[AXIS=]NUMBER[,NUMBER...]")
AxisScale = Annotated[Any, along_axis(help="What elements are multiplied by; numbers of an axis.")]
AxisBias = Annotated[Any, along_axis(help="What is added then; numbers of an axis.")]
Pattern = Annotated[
    str,
    typer.Argument(metavar="PATTERN", help='Axes before and after, such as "h w c -> c h w".'),
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
    typer.Option(help="What becomes of the values that windows put at one place."),
]
Weights = Annotated[
    Literal["hann", "gaussian"] | None,
    typer.Option(help="Weights of a window's elements, in sums and means: less at its edges."),
]
Wrap = Annotated[
    bool, typer.Option("--wrap", help="Let sums of integers wrap around where they are too large.")
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="INT",
        help="Threads to use, at most.",
        show_default="REBLOCK_NUM_THREADS, or one for each core",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]


# The command as a whole -------------------------------------------------------------------------


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reblock {reblock.__version__}")
        raise typer.Exit


@app.callback()
def command(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Move tensors between depth and space, and between images and columns."""


@app.command()
def info() -> None:
    """Show the version, what it was built for and runs on, and which extras are installed."""
    reblock.show_config()
    for extra, packages in sorted(optional_packages().items()):
        print(f"{extra}: {', '.join(map(installed, packages))}")


def optional_packages() -> dict[str, list[str]]:
    """Return the packages of each extra for users."""
    extras: dict[str, list[str]] = {}
    try:
        requirements = importlib.metadata.requires("reblock") or []
    except importlib.metadata.PackageNotFoundError:  # a source tree on the path
        requirements = []
    for requirement in requirements:
        found = re.match(r"([\w.-]+).*\bextra == ['\"](\w+)", requirement)
        if found and found[1] != "reblock" and found[2] not in ("docs", "test"):
            extras.setdefault(found[2], []).append(found[1])
    return extras


def installed(package: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{package} is not installed"


@app.command()
def demo(
    image: Annotated[
        Path | None,
        typer.Argument(help="A photo of your own.", show_default="a cup of coffee"),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(help="Where to write the picture; its suffix chooses the format."),
    ] = Path("reblock-demo.png"),
) -> None:
    """Take a photo there and back through every operator, time them, draw what happened."""
    try:
        from reblock import _demo  # noqa: PLC0415 - it needs more than the other commands do
    except ModuleNotFoundError as missing:
        line = f'reblock: {missing.name} is missing; pip install "reblock[demo]"'
        typer.echo(line, err=True)
        raise typer.Exit(2) from None
    with refusals():
        _demo.run(image, output)


# Explain ----------------------------------------------------------------------------------------


def show(save: Path | None, operator: Any, *arguments: Any, **parameters: Any) -> None:
    with refusals():
        try:
            explanation = reblock.explain(operator, *arguments, **parameters)
        except (TypeError, ValueError) as error:
            raise _files.CommandError(_files.with_options(error)) from error
        Console(highlight=False).print(explanation)
        if save:
            _files.write_picture(explanation.image(), save)
            print(f"picture: {save}")


def shape_of(
    channels: int, sizes: tuple[int, ...], channel_axis: int, layout: str | None = None
) -> tuple[int, ...]:
    """Return the shape with one item in the batch, if it has a batch."""
    if layout is not None:
        spatial = iter(sizes)
        return tuple({"N": 1, "C": channels}.get(n) or next(spatial, 1) for n in layout)
    shape = [1, *sizes]
    axis = channel_axis if channel_axis >= 0 else channel_axis + len(shape) + 1
    return (*shape[:axis], channels, *shape[axis:])


def axes_of(layout: str | None) -> int:
    """Return how many spatial axes an image has."""
    return 2 if layout is None else sum(letter not in "NC" for letter in layout)


def each(value: int | Sequence[int], axes: int = 2) -> tuple[int, ...]:
    """Return one number for each spatial axis; an image has two."""
    return (value,) * axes if isinstance(value, int) else tuple(value)


@explain.command("depth-to-space")
def explain_depth_to_space(
    *,
    shape: Shape = None,
    block_size: BlockSize = "2",
    order: Order = "DCR",
    channel_axis: ChannelAxis = 1,
    layout: Layout = None,
    out_layout: OutLayout = None,
    save: Save = None,
) -> None:
    """Show which channel each pixel of a block comes from."""
    if shape is None:
        block = each(block_size, axes_of(layout))
        channels = math.prod(block) * (2 if "C" in (out_layout or layout or "C") else 1)
        shape = shape_of(channels, (2,) * len(block), channel_axis, layout)
    names = _convert.Axes(channel_axis, layout, out_layout).keywords()
    show(save, "depth_to_space", shape, block_size, order=order, **names)


@explain.command("space-to-depth")
def explain_space_to_depth(
    *,
    shape: Shape = None,
    block_size: BlockSize = "2",
    order: Order = "DCR",
    channel_axis: ChannelAxis = 1,
    layout: Layout = None,
    out_layout: OutLayout = None,
    save: Save = None,
) -> None:
    """Show which channel each pixel of a block goes to."""
    if shape is None:
        sizes = tuple(2 * extent for extent in each(block_size, axes_of(layout)))
        shape = shape_of(2, sizes, channel_axis, layout)
    names = _convert.Axes(channel_axis, layout, out_layout).keywords()
    show(save, "space_to_depth", shape, block_size, order=order, **names)


@explain.command("unfold")
def explain_unfold(
    *,
    shape: Shape = None,
    window_sizes: WindowSizes = "3",
    strides: Strides = "1",
    dilations: Dilations = "1",
    start_padding: StartPadding = "0",
    end_padding: EndPadding = "0",
    padding_mode: PaddingMode = "constant",
    padding_value: PaddingValue = "0",
    order: WindowOrder = "CRD",
    blocks: Blocks = None,
    channel_axis: ChannelAxis = 1,
    layout: Layout = None,
    out_layout: OutLayout = None,
    save: Save = None,
) -> None:
    """Show which pixel each element of the columns comes from."""
    window = _convert.Window(window_sizes, strides, dilations, start_padding, end_padding)
    if shape is None:
        shape = shape_of(1, small_sizes(window, axes_of(layout)), channel_axis, layout)
    names = _convert.Axes(channel_axis, layout, out_layout).keywords()
    options = {"padding_mode": padding_mode, "padding_value": padding_value}
    options |= {"order": order, "blocks": _convert.of_each_axis(blocks)}
    show(save, "unfold", shape, **window._asdict(), **options, **names)


@explain.command("fold")
def explain_fold(
    *,
    shape: Shape = None,
    output_sizes: OutputSizes = None,
    window_sizes: WindowSizes = "3",
    strides: Strides = "1",
    dilations: Dilations = "1",
    start_padding: StartPadding = "0",
    end_padding: EndPadding = "0",
    padding_mode: PaddingMode = "constant",
    order: WindowOrder = "CRD",
    blocks: Blocks = None,
    channel_axis: ChannelAxis = 1,
    layout: Layout = None,
    out_layout: OutLayout = None,
    save: Save = None,
) -> None:
    """Show which elements of the columns add up to each pixel."""
    window = _convert.Window(window_sizes, strides, dilations, start_padding, end_padding)
    options = {"padding_mode": padding_mode, "blocks": _convert.of_each_axis(blocks)}
    axes = axes_of(out_layout)
    with refusals():
        try:
            sizes = each(output_sizes, axes) if output_sizes else small_sizes(window, axes)
            if shape is None:
                given = _convert.Axes(channel_axis, layout, out_layout)
                columns, image = given.names("fold", len(sizes) + 1 + ("N" in (layout or "N")))
                output = shape_of(1, sizes, channel_axis, image)
                shape = reblock.unfold_shape(
                    output, **window._asdict(), **options, layout=image, out_layout=columns
                )
        except (TypeError, ValueError) as error:
            raise _files.CommandError(_files.with_options(error)) from error
    names = _convert.Axes(channel_axis, layout, out_layout).keywords()
    show(save, "fold", shape, sizes, **window._asdict(), **options, order=order, **names)


@explain.command("rearrange")
def explain_rearrange(
    pattern: Pattern, lengths: Lengths = None, *, shape: Shape = None, save: Save = None
) -> None:
    """Show which element each element of a rearrangement comes from."""
    given = axes_lengths(lengths)
    if shape is None:
        left = re.findall(r"\(([^()]*)\)|([^\s()]+)", pattern.partition("->")[0])
        names = [(inner or alone).split() for inner, alone in left]
        shape = tuple(
            math.prod(1 if name == "1" else given.setdefault(name, 2) for name in group)
            for group in names
        )
        given = {name: length for name, length in given.items() if name.isidentifier()}
    show(save, "rearrange", shape, pattern, **given)


def small_sizes(window: _convert.Window, axes: int = 2) -> tuple[int, ...]:
    """Return the sizes over which three windows fit along each axis."""
    axes = max(len(each(value, 0)) for value in window) or axes
    return tuple(
        max(1, 2 * stride + dilation * (size - 1) + 1 - start - end)
        for size, stride, dilation, start, end in zip(
            *(each(value, axes) for value in window), strict=True
        )
    )


# Files ------------------------------------------------------------------------------------------


def convert(
    source: Path,
    target: Path,
    operator: str,
    plan: Callable[..., _convert.Work],
    *,
    axes: _convert.Axes,
    **options: Any,
) -> None:
    with refusals():
        with _convert.blaming(source):
            layout = axes.of_image(operator)
        write(source, target, partial(plan, axes), layout=layout, **options)


def write(source: Path, target: Path, plan: _convert.Plan, **options: Any) -> None:
    written = _convert.convert(source, target, plan, **options)
    # What goes to standard output is the array alone.
    typer.echo(f"{_files.name_of(target, 'output')}: {written}", err=_files.is_dash(target))


@app.command()
def depth_to_space(
    source: Source,
    target: Target,
    *,
    block_size: BlockSize,
    order: Order = "DCR",
    channel_axis: ChannelAxis = 1,
    layout: Layout = None,
    out_layout: OutLayout = None,
    dtype: DType = None,
    scale: Scale = None,
    bias: Bias = None,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Spread the channels of a file over blocks of pixels."""
    conversion = _convert.Conversion(dtype, scale, bias)
    plan = partial(_convert.depth_space, "depth_to_space", block_size, order, conversion=conversion)
    axes = _convert.Axes(channel_axis, layout, out_layout)
    convert(source, target, "depth_to_space", plan, axes=axes, threads=threads, force=force)


@app.command()
def space_to_depth(
    source: Source,
    target: Target,
    *,
    block_size: BlockSize,
    order: Order = "DCR",
    channel_axis: ChannelAxis = 1,
    layout: Layout = None,
    out_layout: OutLayout = None,
    dtype: DType = None,
    scale: Scale = None,
    bias: Bias = None,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Pack the blocks of pixels of a file into channels."""
    conversion = _convert.Conversion(dtype, scale, bias)
    plan = partial(_convert.depth_space, "space_to_depth", block_size, order, conversion=conversion)
    axes = _convert.Axes(channel_axis, layout, out_layout)
    convert(source, target, "space_to_depth", plan, axes=axes, threads=threads, force=force)


@app.command()
def unfold(
    source: Source,
    target: Target,
    *,
    window_sizes: WindowSizes,
    strides: Strides = "1",
    dilations: Dilations = "1",
    start_padding: StartPadding = "0",
    end_padding: EndPadding = "0",
    padding_mode: PaddingMode = "constant",
    padding_value: PaddingValue = "0",
    order: WindowOrder = "CRD",
    blocks: Blocks = None,
    channel_axis: ChannelAxis = 1,
    layout: Layout = None,
    out_layout: OutLayout = None,
    dtype: DType = None,
    scale: Scale = None,
    bias: Bias = None,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Copy each position of a window over a file into a column."""
    window = _convert.Window(window_sizes, strides, dilations, start_padding, end_padding)
    padding = _convert.Padding(padding_mode, padding_value)
    conversion = _convert.Conversion(dtype, scale, bias)
    plan = partial(
        _convert.unfold, window, order, padding=padding, blocks=blocks, conversion=conversion
    )
    axes = _convert.Axes(channel_axis, layout, out_layout)
    convert(source, target, "unfold", plan, axes=axes, threads=threads, force=force)


@app.command()
def fold(
    source: Source,
    target: Target,
    *,
    output_sizes: OutputSizes,
    window_sizes: WindowSizes,
    strides: Strides = "1",
    dilations: Dilations = "1",
    start_padding: StartPadding = "0",
    end_padding: EndPadding = "0",
    padding_mode: PaddingMode = "constant",
    order: WindowOrder = "CRD",
    blocks: Blocks = None,
    channel_axis: ChannelAxis = 1,
    layout: ColumnsLayout = None,
    out_layout: ImageLayout = None,
    reduction: Reduction = "sum",
    weights: Weights = None,
    dtype: SumDType = None,
    wrap: Wrap = False,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Sum or average the columns of a file where they came from."""
    window = _convert.Window(window_sizes, strides, dilations, start_padding, end_padding)
    plan = partial(
        _convert.fold,
        output_sizes,
        window,
        order,
        padding_mode=padding_mode,
        blocks=blocks,
        wrap=wrap,
        reduction=reduction,
        weights=weights,
        dtype=dtype,
    )
    axes = _convert.Axes(channel_axis, layout, out_layout)
    convert(source, target, "fold", plan, axes=axes, threads=threads, force=force)


@app.command()
def diagnose(source: Source, result: Made) -> None:
    """Tell which operator makes OUT of IN, by trying all that fit.

    An image is read with the channels on axis 1. The exit status is 1 where no operator does.
    """
    with refusals():
        if _files.is_dash(source) and _files.is_dash(result):
            raise _files.CommandError("IN and OUT cannot both be standard input")
        x, made = (_convert.read(path, "NCHW") for path in (source, result))
        try:
            found = reblock.diagnose(x, made)
        except (TypeError, ValueError) as error:
            line = f"cannot compare {source} with {result}: {error}"
            raise _files.CommandError(line) from error
    print(found)
    if not found.matches:
        raise typer.Exit(1)


@app.command()
def rearrange(
    source: Source,
    target: Target,
    pattern: Pattern,
    lengths: Lengths = None,
    *,
    dtype: DType = None,
    scale: AxisScale = None,
    bias: AxisBias = None,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Split, reorder and join the axes of a file; those of an image are h w c."""
    conversion = _convert.Conversion(dtype, scale, bias)
    plan = partial(_convert.rearrange, pattern, axes_lengths(lengths), conversion=conversion)
    with refusals():
        write(source, target, plan, layout="HWC", threads=threads, force=force)


def main() -> None:
    """Run the command with the arguments of this process."""
    # As an exception, like an interrupt, it ends a command that removes what it leaves half done.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    app(prog_name="reblock")
