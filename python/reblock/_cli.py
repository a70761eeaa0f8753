# SPDX-License-Identifier: BSD-3-Clause
"""The `reblock` command.

Exit status: 0 when all went well, 1 when a result is wrong or no operator gives it, 2 when the
command cannot be carried out as it was given, 130 or 143 when it was interrupted or told to end.
"""

import importlib.metadata
import math
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import reblock

try:
    import typer
    from rich.console import Console

    from reblock import _convert, _files, _options, _patterns
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
    except MemoryError as error:
        typer.echo(f"reblock: there is not enough memory: {_files.reason(error)}", err=True)
        raise typer.Exit(2) from None


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
        typer.Argument(
            metavar="IMAGE", help="A photo of your own.", show_default="a cup of coffee"
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(help="Where to write the picture; its suffix chooses the format."),
    ] = Path("reblock-demo.png"),
) -> None:
    """Send a photo through every operator and its inverse, print times, and draw a picture."""
    try:
        from reblock import _demo  # noqa: PLC0415 - it needs more than the other commands do
    except ModuleNotFoundError as missing:
        line = f'reblock: {missing.name} is missing; pip install "reblock[demo]"'
        typer.echo(line, err=True)
        raise typer.Exit(2) from None
    with refusals():
        _demo.run(image, output)


# Explain ----------------------------------------------------------------------------------------


def show(save: Path | None, operator: Any, /, *arguments: Any, **parameters: Any) -> None:
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
    shape: _options.Shape = None,
    block_size: _options.BlockSize = "2",
    order: _options.Order = "DCR",
    channel_axis: _options.ChannelAxis = 1,
    layout: _options.Layout = None,
    out_layout: _options.OutLayout = None,
    save: _options.Save = None,
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
    shape: _options.Shape = None,
    block_size: _options.BlockSize = "2",
    order: _options.Order = "DCR",
    channel_axis: _options.ChannelAxis = 1,
    layout: _options.Layout = None,
    out_layout: _options.OutLayout = None,
    save: _options.Save = None,
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
    shape: _options.Shape = None,
    window_sizes: _options.WindowSizes = "3",
    strides: _options.Strides = "1",
    dilations: _options.Dilations = "1",
    start_padding: _options.StartPadding = "0",
    end_padding: _options.EndPadding = "0",
    padding_mode: _options.PaddingMode = "constant",
    padding_value: _options.PaddingValue = "0",
    order: _options.WindowOrder = "CRD",
    blocks: _options.Blocks = None,
    channel_axis: _options.ChannelAxis = 1,
    layout: _options.Layout = None,
    out_layout: _options.OutColumnsLayout = None,
    save: _options.Save = None,
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
    shape: _options.Shape = None,
    output_sizes: _options.OutputSizes = None,
    window_sizes: _options.WindowSizes = "3",
    strides: _options.Strides = "1",
    dilations: _options.Dilations = "1",
    start_padding: _options.StartPadding = "0",
    end_padding: _options.EndPadding = "0",
    padding_mode: _options.PaddingMode = "constant",
    order: _options.WindowOrder = "CRD",
    blocks: _options.Blocks = None,
    channel_axis: _options.ChannelAxis = 1,
    layout: _options.ColumnsLayout = None,
    out_layout: _options.ImageLayout = None,
    reduction: _options.Reduction = "sum",
    weights: _options.Weights = None,
    dtype: _options.TermsDType = None,
    save: _options.Save = None,
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
    how = {"reduction": reduction, "dtype": dtype}
    how["weights"] = _convert.window_weights(weights, each(window_sizes, len(sizes)))
    show(save, "fold", shape, sizes, **window._asdict(), **options, order=order, **how, **names)


@explain.command("rearrange")
def explain_rearrange(
    pattern: _options.Pattern,
    lengths: _options.Lengths = None,
    *,
    shape: _options.Shape = None,
    save: _options.Save = None,
) -> None:
    """Show which element each element of a rearrangement comes from."""
    explain_pattern("rearrange", pattern, _options.axes_lengths(lengths), shape, save)


@explain.command("repeat")
def explain_repeat(
    pattern: _options.RepeatPattern,
    lengths: _options.Lengths = None,
    *,
    shape: _options.Shape = None,
    save: _options.Save = None,
) -> None:
    """Show which element each element of a repetition comes from."""
    explain_pattern("repeat", pattern, _options.axes_lengths(lengths), shape, save)


def explain_pattern(
    use: _patterns.Use,
    pattern: str,
    given: dict[str, int],
    shape: Sequence[int] | None,
    save: Path | None,
) -> None:
    """Show a pattern; without a shape, lengths that are not given are 2."""
    if shape is None:
        left, _, right = pattern.partition("->")
        groups = re.findall(r"\(([^()]*)\)|([^\s()]+)", left)
        names = [(inner or alone).split() for inner, alone in groups]
        shape = tuple(
            math.prod(1 if name == "1" else given.setdefault(name, 2) for name in group)
            for group in names
        )
        for new in re.findall(r"[^\s()]+", right) if use == "repeat" else ():
            given.setdefault(new, 2)
        given = {name: length for name, length in given.items() if name.isidentifier()}
    show(save, use, shape, pattern, **given)


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
    source: _options.Source,
    target: _options.Target,
    *,
    block_size: _options.BlockSize,
    order: _options.Order = "DCR",
    channel_axis: _options.ChannelAxis = 1,
    layout: _options.Layout = None,
    out_layout: _options.OutLayout = None,
    dtype: _options.DType = None,
    scale: _options.Scale = None,
    bias: _options.Bias = None,
    threads: _options.Threads = None,
    force: _options.Force = False,
) -> None:
    """Spread the channels of a file over blocks of pixels."""
    conversion = _convert.Conversion(dtype, scale, bias)
    plan = partial(_convert.depth_space, "depth_to_space", block_size, order, conversion=conversion)
    axes = _convert.Axes(channel_axis, layout, out_layout)
    convert(source, target, "depth_to_space", plan, axes=axes, threads=threads, force=force)


@app.command()
def space_to_depth(
    source: _options.Source,
    target: _options.Target,
    *,
    block_size: _options.BlockSize,
    order: _options.Order = "DCR",
    channel_axis: _options.ChannelAxis = 1,
    layout: _options.Layout = None,
    out_layout: _options.OutLayout = None,
    dtype: _options.DType = None,
    scale: _options.Scale = None,
    bias: _options.Bias = None,
    threads: _options.Threads = None,
    force: _options.Force = False,
) -> None:
    """Pack the blocks of pixels of a file into channels."""
    conversion = _convert.Conversion(dtype, scale, bias)
    plan = partial(_convert.depth_space, "space_to_depth", block_size, order, conversion=conversion)
    axes = _convert.Axes(channel_axis, layout, out_layout)
    convert(source, target, "space_to_depth", plan, axes=axes, threads=threads, force=force)


@app.command()
def unfold(
    source: _options.Source,
    target: _options.Target,
    *,
    window_sizes: _options.WindowSizes,
    strides: _options.Strides = "1",
    dilations: _options.Dilations = "1",
    start_padding: _options.StartPadding = "0",
    end_padding: _options.EndPadding = "0",
    padding_mode: _options.PaddingMode = "constant",
    padding_value: _options.PaddingValue = "0",
    order: _options.WindowOrder = "CRD",
    blocks: _options.Blocks = None,
    channel_axis: _options.ChannelAxis = 1,
    layout: _options.Layout = None,
    out_layout: _options.OutColumnsLayout = None,
    dtype: _options.DType = None,
    scale: _options.Scale = None,
    bias: _options.Bias = None,
    threads: _options.Threads = None,
    force: _options.Force = False,
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
    source: _options.Source,
    target: _options.Target,
    *,
    output_sizes: _options.OutputSizes,
    window_sizes: _options.WindowSizes,
    strides: _options.Strides = "1",
    dilations: _options.Dilations = "1",
    start_padding: _options.StartPadding = "0",
    end_padding: _options.EndPadding = "0",
    padding_mode: _options.PaddingMode = "constant",
    order: _options.WindowOrder = "CRD",
    blocks: _options.Blocks = None,
    channel_axis: _options.ChannelAxis = 1,
    layout: _options.ColumnsLayout = None,
    out_layout: _options.ImageLayout = None,
    reduction: _options.Reduction = "sum",
    weights: _options.Weights = None,
    dtype: _options.SumDType = None,
    wrap: _options.Wrap = False,
    threads: _options.Threads = None,
    force: _options.Force = False,
) -> None:
    """Add up the columns of a file where windows overlap in an image."""
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
def diagnose(source: _options.Source, result: _options.Made) -> None:
    """Tell which operator makes OUT of IN, by trying all that fit.

    The channels of an image become axis 1. The exit status is 1 if no operator makes OUT.
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
    source: _options.Source,
    target: _options.Target,
    pattern: _options.Pattern,
    lengths: _options.Lengths = None,
    *,
    dtype: _options.DType = None,
    scale: _options.AxisScale = None,
    bias: _options.AxisBias = None,
    threads: _options.Threads = None,
    force: _options.Force = False,
) -> None:
    """Split, reorder and join the axes of a file; those of an image are h w c."""
    conversion = _convert.Conversion(dtype, scale, bias)
    given = _options.axes_lengths(lengths)
    plan = partial(_convert.rearrange, "rearrange", pattern, given, conversion=conversion)
    with refusals():
        write(source, target, plan, layout="HWC", threads=threads, force=force)


@app.command()
def repeat(
    source: _options.Source,
    target: _options.Target,
    pattern: _options.RepeatPattern,
    lengths: _options.Lengths = None,
    *,
    dtype: _options.DType = None,
    scale: _options.AxisScale = None,
    bias: _options.AxisBias = None,
    threads: _options.Threads = None,
    force: _options.Force = False,
) -> None:
    """Repeat a file along new axes; the axes of an image are h w c."""
    conversion = _convert.Conversion(dtype, scale, bias)
    given = _options.axes_lengths(lengths)
    plan = partial(_convert.rearrange, "repeat", pattern, given, conversion=conversion)
    with refusals():
        write(source, target, plan, layout="HWC", threads=threads, force=force)


def main() -> None:
    """Run the command with the arguments of this process."""
    # As an exception, like an interrupt, it ends a command that removes what it leaves half done.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        try:
            app(prog_name="reblock")
        finally:
            if sys.stdout:
                sys.stdout.flush()
    except OSError as error:
        failed_to_print(error)
    except SystemExit as end:
        # Typer ends with the status of a wrong result if nobody reads what it prints.
        if isinstance(end.__context__, BrokenPipeError):
            failed_to_print(end.__context__)
        raise


def failed_to_print(error: OSError) -> NoReturn:
    """End the process; without a line if the reader has read enough, as in `| head`."""
    _files.discard_output()
    if not isinstance(error, BrokenPipeError):
        print(f"reblock: cannot print: {_files.reason(error)}", file=sys.stderr)
    raise SystemExit(2)
