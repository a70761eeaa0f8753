# SPDX-License-Identifier: BSD-3-Clause
"""Run an operator from file to file: .npy by memory map, images by Pillow.

The command maps .npy files and works on one piece after the other. A user can interrupt it between
two pieces. The mapped files occupy memory only as long as the system does not need it elsewhere.
"""

import errno
import io
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import EllipsisType, SimpleNamespace
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError
from rich.console import Console
from rich.progress import Progress

import reblock
from reblock import _layouts, _patterns
from reblock._files import (
    CommandError,
    discard_output,
    is_dash,
    name_of,
    reason,
    save_picture,
    standard_stream,
    with_options,
    written_whole,
)
from reblock._merge import profile

Array = npt.NDArray[Any]
Ints = Sequence[int]
Shape = tuple[int, ...]
Range = tuple[int, int]
Factor = float | list[float] | dict[str, list[float]] | None
Blocks = Sequence[tuple[int, int | None]] | None
Order = Literal["DCR", "CRD"]
Reduction = Literal["sum", "mean", "max", "min"]

IMAGE_AXES = 2
PIECE = 1 << 24  # bytes of input and output that one call moves, about
WIDEST = 8  # bytes of the integers that sums are checked in


class Piece(NamedTuple):
    """A part of the input, the part of the output that it becomes, and the call."""

    source: tuple[slice | EllipsisType, ...]
    target: tuple[slice | EllipsisType, ...]
    call: Callable[..., Array]


class Work(NamedTuple):
    """An operator on an array of one shape: the result's shape, and how the work is cut.

    `layout` has the letters of the result's axes, or is empty if an image has other axes. `pieces`
    takes the bytes of input and output together. `exact` refuses sums that the dtype does not hold.
    `dtype` is that of the result; None means that of the input.
    """

    shape: Shape
    layout: str
    pieces: Callable[[int], Iterator[Piece]]
    exact: bool = False
    dtype: np.dtype[Any] | None = None


Plan = Callable[[Shape], Work]


class Axes(NamedTuple):
    """The order of the axes of the arrays, as arguments of the functions of reblock."""

    channel_axis: int = 1
    layout: str | None = None
    out_layout: str | None = None

    def keywords(self) -> dict[str, Any]:
        if self.layout is None and self.out_layout is None:
            return {"channel_axis": self.channel_axis}
        given: dict[str, Any] = {"layout": self.layout, "out_layout": self.out_layout}
        # Both are an error, which is left to the functions.
        return given if self.channel_axis == 1 else given | {"channel_axis": self.channel_axis}

    def names(self, operator: str, image_rank: int) -> tuple[str, str]:
        """Return the letters of input and output, where the image is of this rank."""
        image = _layouts.of_channel_axis(image_rank, self.channel_axis)
        neither = {"unfold": (image, "NCL"), "fold": ("NCL", image)}.get(operator, (image, image))
        batch = operator != "fold" or "N" in (self.layout or "N")
        spatial_axes = image_rank - 1 - batch
        return (
            _layouts.resolve_layouts(operator, self.layout, self.out_layout, spatial_axes)
            or neither
        )

    def of_image(self, operator: str) -> str:
        """Return the letters that an image is read in. Columns are none: they are refused."""
        return "NCHW" if operator == "fold" else self.names(operator, 4)[0]


class Conversion(NamedTuple):
    """The conversion of the elements, as arguments of the functions of reblock."""

    dtype: np.dtype[Any] | None = None
    scale: Factor = None
    bias: Factor = None

    def part(self, begin: int, end: int) -> "Conversion":
        """Return the same for some of the channels."""
        return self.with_factors(lambda f: f[begin:end] if isinstance(f, list) else f)

    def with_factors(self, change: Callable[[Factor], Factor]) -> "Conversion":
        return self._replace(scale=change(self.scale), bias=change(self.bias))


MOVES = Conversion()


def convert(
    source: Path,
    target: Path,
    plan: Plan,
    *,
    layout: str,
    threads: int | None = None,
    force: bool = False,
) -> str:
    """Write to `target` what the operator makes of `source`; return what was written, in words."""
    if is_dash(target):
        refuse_terminal()
        x = read(source, layout)
        result = made_of(source, x, plan, threads)
        write_stream(result)
        return f"{result.shape}, {result.dtype}"
    with written_whole(target, force=force) as temporary:
        x = read(source, layout)
        with blaming(source):
            work = plan(x.shape)
        if is_array_file(target):
            dtype = work.dtype or x.dtype
            mapped = np.lib.format.open_memmap(temporary, "w+", dtype, work.shape)
            reserve(temporary)
            with blaming(source):
                run(work, x, mapped, threads)
            mapped.flush()
            del mapped  # some systems do not rename a file that is mapped
        else:
            refuse_no_image(target, work, work.dtype or x.dtype)
            result = made_of(source, x, plan, threads)
            save_picture(as_picture(result, work.layout), temporary)
        return f"{work.shape}, {work.dtype or x.dtype}"


@contextmanager
def blaming(source: Path) -> Iterator[None]:
    """Turn the errors of an operator into a CommandError that names the file."""
    try:
        yield
    except (TypeError, ValueError) as error:
        line = f"cannot use {name_of(source, 'input')}: {with_options(error)}"
        raise CommandError(line) from error


def made_of(source: Path, x: Array, plan: Plan, threads: int | None) -> Array:
    """Return the result of the operator for an array, in memory."""
    with blaming(source):
        work = plan(x.shape)
        result = np.empty(work.shape, work.dtype or x.dtype)
        run(work, x, result, threads)
    return result


def run(work: Work, x: Array, out: Array, threads: int | None = None) -> None:
    """Fill `out`, with a progress bar on standard error if it is a terminal."""
    console = Console(stderr=True)
    integers = x.dtype.kind in "biu" and out.dtype.kind in "iu"
    checked = work.exact and integers and out.itemsize < WIDEST
    size = (x.nbytes + out.nbytes) * (WIDEST // out.itemsize if checked else 1)
    with Progress(console=console, transient=True, disable=not console.file.isatty()) as progress:
        task = progress.add_task("", total=out.nbytes)
        for piece in work.pieces(size):
            part = out[piece.target]
            if checked:
                part[...] = exact_sums(piece, x, out.dtype, threads)
            else:
                piece.call(x[piece.source], out=part, threads=threads)
            progress.advance(task, part.nbytes)


def exact_sums(piece: Piece, x: Array, dtype: np.dtype[Any], threads: int | None) -> Array:
    """Return the sums of a piece in 64 bits; ValueError where `dtype` is too narrow."""
    wide = np.dtype(f"{dtype.kind}{WIDEST}")
    sums = piece.call(x[piece.source], dtype=wide, threads=threads)
    limits = np.iinfo(dtype)
    for extreme in (sums.max(initial=0), sums.min(initial=0)):
        limit = limits.max if extreme > 0 else limits.min
        if abs(int(extreme)) > abs(limit):
            raise ValueError(
                f"a sum is {extreme}, and {dtype} ends at {limit}: take a wider --dtype, or --wrap"
            )
    return sums


def rearrange(
    use: _patterns.Use,
    pattern: str,
    axes_lengths: Mapping[str, int],
    shape: Shape,
    *,
    conversion: Conversion = MOVES,
) -> Work:
    """Return the work of rearrange or repeat, cut along the longest axis that can be cut."""
    factors = conversion.scale, conversion.bias
    lengths = _patterns.lengths_in(pattern, use, shape, axes_lengths, factors)
    axes = _patterns.Axes.of(pattern, use, len(shape))
    result = _patterns.shape_of(axes.right, lengths)
    can_be_cut = axes.cuts(lengths)
    named = _patterns.named(lengths)
    call = partial(_rearranged, use, axes.spelled())

    def pieces(size: int) -> Iterator[Piece]:
        if not can_be_cut:
            whole = conversion.with_factors(axes.spell_factor)
            yield Piece((...,), (...,), partial(call, named, whole))
            return
        axis, cut = max(can_be_cut.items(), key=lambda item: lengths[item[1].axis])
        others = {name: n for i, (name, n) in enumerate(named.items()) if i != cut.axis}
        for ((start, stop),) in cuts((lengths[cut.axis],), size):
            source = at(len(shape), {axis: (start * cut.grain, stop * cut.grain)})
            grain = cut.result_grain
            target = at(len(result), {cut.result_axis: (start * grain, stop * grain)})
            spell = partial(axes.spell_factor, cut=(cut.axis, start, stop))
            part = conversion.with_factors(spell)
            yield Piece(source, target, partial(call, others, part))

    layout = {2: "HW", 3: "HWC", 4: "NHWC"}.get(len(result), "")
    return Work(result, layout, pieces, dtype=conversion.dtype)


def _rearranged(
    use: _patterns.Use,
    pattern: str,
    lengths: Mapping[str, int],
    conversion: Conversion,
    x: Array,
    *,
    out: Array,
    threads: int | None,
) -> Array:
    given: dict[str, Any] = {**lengths, **conversion._asdict()}
    operator = reblock.repeat if use == "repeat" else reblock.rearrange
    return operator(x, pattern, out=out, threads=threads, **given)


# Files ------------------------------------------------------------------------------------------


def is_array_file(path: Path) -> bool:
    return path.suffix.lower() == ".npy"


def read(path: Path, layout: str) -> Array:
    """Return the array of a .npy file, mapped, or the pixels of an image in a layout.

    The first bytes of the file tell which of the two it is. What comes by a pipe is read into
    memory.
    """
    try:
        with opened(path) as file:
            is_array = file.read(len(np.lib.format.MAGIC_PREFIX)) == np.lib.format.MAGIC_PREFIX
            file.seek(0)
            return read_array(path, file) if is_array else read_image(file, layout)
    except CommandError:
        raise
    except Exception as error:  # decoders fail in ways of their own
        unknown = isinstance(error, UnidentifiedImageError)
        why = (
            "it is neither a .npy file nor an image that Pillow knows" if unknown else reason(error)
        )
        raise CommandError(f"cannot read {name_of(path, 'input')}: {why}") from error


def opened(path: Path) -> BinaryIO:
    """Open a file, or read standard input or a pipe into memory."""
    if is_dash(path):
        return io.BytesIO(standard_stream("input").read())
    if path.is_file():
        return path.open("rb")
    with path.open("rb") as pipe:
        return io.BytesIO(pipe.read())


def read_array(path: Path, file: BinaryIO) -> Array:
    try:
        if isinstance(file, io.BytesIO):
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
            return array
        return np.lib.format.open_memmap(path, "r")
    except ValueError as error:
        line = f"it must be a whole .npy file without Python objects, and NumPy says: {error}"
        raise ValueError(line) from error


def read_image(file: BinaryIO, layout: str) -> Array:
    # Pillow warns of a doubtful file, then reads it or fails; the failure is enough.
    with warnings.catch_warnings(action="ignore"), Image.open(file) as image:
        pixels = np.atleast_3d(np.asarray(with_plain_mode(ImageOps.exif_transpose(image))))
    axes, channels = len(_layouts.spatial(layout)), pixels.shape[-1]
    if axes != IMAGE_AXES or (channels > 1 and "C" not in layout):
        raise CommandError(
            f'cannot read an image as "{layout}": it has {IMAGE_AXES} spatial axes, and this'
            f" one has channels: {channels}"
        )
    arranged: Array = _layouts.arrange_axes(pixels, _layouts.spatial(layout) + "C", layout)
    return arranged


def refuse_terminal() -> None:
    if standard_stream("output").isatty():
        raise CommandError("cannot write to a terminal: redirect standard output")


def write_stream(array: Array) -> None:
    """Write a .npy file to standard output."""
    stream = standard_stream("output")
    try:
        # NumPy would ask a file for its position, which a pipe has not.
        np.lib.format.write_array(SimpleNamespace(write=stream.write), array)
        stream.flush()
    except OSError as error:
        discard_output()
        raise CommandError(f"cannot write standard output: {reason(error)}") from error


def with_plain_mode(image: Image.Image) -> Image.Image:
    """Return the image with its samples as they are, or else in red, green and blue."""
    if image.mode in ("L", "LA", "RGB", "RGBA", "I", "F") or image.mode.startswith("I;16"):
        return image
    if image.mode == "1":
        return image.convert("L")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def refuse_no_image(path: Path, work: Work, dtype: np.dtype[Any]) -> None:
    """Raise CommandError unless an image can hold the result."""
    if work.layout:
        order = _layouts.in_order(work.layout)
        batch, channels, *sizes = _layouts.arrange(work.shape, work.layout, order, 1)
    else:
        batch, channels, sizes = 0, 0, []
    fits = channels in (1, 2, 3, 4) if dtype == np.uint8 else channels == 1 and dtype == np.uint16
    if not (fits and batch == 1 and len(sizes) == IMAGE_AXES and all(sizes)):
        raise CommandError(
            f"cannot write {path}: the result is {work.shape}, {dtype}, and an image is one item of"
            " 1 to 4 channels of uint8, or of one channel of uint16; a .npy file holds anything"
        )


def as_picture(result: Array, layout: str) -> Image.Image:
    pixels = _layouts.arrange_axes(result, layout, _layouts.spatial(layout) + "C")
    return Image.fromarray(
        np.ascontiguousarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    )


def reserve(path: Path) -> None:
    """Reserve a file's room on disk: a full disk under a mapped file would kill the process."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):  # not in every file system
                    raise


# Pieces -----------------------------------------------------------------------------------------


def cuts(counts: Ints, size: int) -> Iterator[tuple[Range, ...]]:
    """Cut a box of `size` bytes into boxes of about PIECE bytes, along the first axes first."""
    if not counts:
        yield ()
        return
    count, *rest = counts
    each = max(1, size // max(1, count))
    step = max(1, PIECE // each)
    for start in range(0, count, step):
        stop = min(start + step, count)
        for inner in cuts(rest, each * (stop - start)):
            yield ((start, stop), *inner)


def at(rank: int, ranges: dict[int, Range]) -> tuple[slice, ...]:
    """Return the index of these ranges along these axes, and of all of the other axes."""
    return tuple(slice(*ranges.get(axis, (None, None))) for axis in range(rank))


def cut_out(cut: tuple[slice, ...], layout: str) -> tuple[slice, ...]:
    """Return the index of a part, given for the operator's axes, for an array of this layout."""
    return tuple(_layouts.arrange(cut, _layouts.in_order(layout), layout, slice(None)))


def depth_space(
    name: str,
    block_size: int | Ints,
    order: Order,
    axes: Axes,
    shape: Shape,
    *,
    conversion: Conversion = MOVES,
) -> Work:
    """Return the work of depth_to_space or space_to_depth, cut along the batch, then rows."""
    result = getattr(reblock, f"{name}_shape")(shape, block_size, **axes.keywords())
    layout, out_layout = axes.names(name, len(shape))
    call = partial(
        getattr(reblock, name),
        block_size=block_size,
        order=order,
        layout=layout,
        out_layout=out_layout,
        **conversion._asdict(),
    )
    batches, _, rows, *rest = _layouts.arrange(shape, layout, _layouts.in_order(layout), 1)
    _, _, out_rows, *_ = _layouts.arrange(result, out_layout, _layouts.in_order(out_layout), 1)
    rank, blocks = 3 + len(rest), min(rows, out_rows)

    def pieces(size: int) -> Iterator[Piece]:
        for batch, (start, stop) in cuts((batches, blocks), size):
            source, target = (
                at(rank, {0: batch, 2: (start * extent // blocks, stop * extent // blocks)})
                for extent in (rows, out_rows)
            )
            yield Piece(cut_out(source, layout), cut_out(target, out_layout), call)

    return Work(result, out_layout, pieces, dtype=conversion.dtype)


class Window(NamedTuple):
    """The parameters of unfold and fold, as given."""

    window_sizes: int | Ints
    strides: int | Ints
    dilations: int | Ints
    start_padding: int | Ints
    end_padding: int | Ints

    def per_axis(self, axes: int) -> dict[str, list[int]]:
        return {
            name: np.broadcast_to(value, axes).tolist() for name, value in self._asdict().items()
        }


class Padding(NamedTuple):
    """The elements that windows find outside of the input."""

    padding_mode: Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant"
    padding_value: complex = 0


ZEROS = Padding()


def of_each_axis(blocks: Blocks) -> Any:
    """Return the argument `blocks` of the functions: one range stands for all axes."""
    if blocks is None:
        return None
    slices = [slice(*each) for each in blocks]
    return slices if len(slices) > 1 else slices[0]


def window_weights(name: str | None, sizes: Ints) -> list[Array] | None:
    """Return the argument `weights` of fold for the name of a profile."""
    return None if name is None else [profile(name, size) for size in sizes]


def window_counts(sizes: Ints, given: Mapping[str, Ints]) -> list[int]:
    """Return how many window positions there are along each axis."""
    return [
        (size + start + end - dilation * (window - 1) - 1) // stride + 1
        for size, window, stride, dilation, start, end in zip(sizes, *given.values(), strict=True)
    ]


def chosen(blocks: Blocks, counts: Ints) -> list[Range]:
    """Return the window positions along each axis, from 0 on. They are checked before."""
    slices = [slice(*each) for each in blocks or [(0, None)]]
    slices *= len(counts) if len(slices) == 1 else 1
    return [each.indices(count)[:2] for each, count in zip(slices, counts, strict=True)]


def unfold(
    window: Window,
    order: Order,
    axes: Axes,
    shape: Shape,
    *,
    padding: Padding = ZEROS,
    conversion: Conversion = MOVES,
    blocks: Blocks = None,
) -> Work:
    """Return the work of unfold, cut along the batch, the channels, then rows of windows."""
    result = reblock.unfold_shape(
        shape,
        **window._asdict(),
        padding_mode=padding.padding_mode,
        blocks=of_each_axis(blocks),
        **axes.keywords(),
    )
    layout, out_layout = axes.names("unfold", len(shape))
    batches, channels, *sizes = _layouts.arrange(shape, layout, _layouts.in_order(layout), 1)
    given = window.per_axis(len(sizes))
    stride, start = given["strides"][0], given["start_padding"][0]
    reach = given["dilations"][0] * (given["window_sizes"][0] - 1) + 1
    (top, bottom), *others = chosen(blocks, window_counts(sizes, given))
    row = math.prod(last - first for first, last in others)
    in_columns = partial(columns_at, math.prod(given["window_sizes"]), row)

    def pieces(size: int) -> Iterator[Piece]:
        counts = (batches, pieces_of(channels, order), bottom - top)
        for batch, some, (first, last) in cuts(counts, size):
            # Where these windows begin and end; what lies outside of the input becomes padding.
            begin, end = first * stride - start, (last - 1) * stride - start + reach
            inside = min(max(begin, 0), sizes[0]), min(max(end, 0), sizes[0])
            before = min(max(-begin, 0), end - begin)
            after = end - begin - before - (inside[1] - inside[0])
            part = some if order == "CRD" else (0, channels)
            rows: dict[str, Any] = padded(given, before, after)
            if (
                padding != ZEROS or blocks is not None
            ):  # what the padding repeats may lie in any row
                inside = 0, sizes[0]
                rows = {**given, "blocks": [(top + first, top + last), *others]}
            yield Piece(
                cut_out(at(2 + len(sizes), {0: batch, 1: part, 2: inside}), layout),
                cut_out(in_columns(batch, part, (first, last)), out_layout),
                partial(
                    reblock.unfold,
                    **rows,
                    **padding._asdict(),
                    **conversion.part(*part)._asdict(),
                    order=order,
                    layout=layout,
                    out_layout=out_layout,
                ),
            )

    return Work(result, out_layout, pieces, dtype=conversion.dtype)


def pieces_of(channels: int, order: Order) -> int:
    """Return into how many the channels can be cut: in DCR order those of all rows are mixed."""
    return channels if order == "CRD" else min(channels, 1)


def columns_at(
    volume: int, row: int, batch: Range, channels: Range, rows: Range
) -> tuple[slice, ...]:
    """Return the index of columns: `volume` of their rows are a channel, `row` columns a row."""
    return (
        slice(*batch),
        slice(*(volume * channel for channel in channels)),
        slice(*(row * window for window in rows)),
    )


def padded(given: dict[str, list[int]], before: int, after: int) -> dict[str, list[int]]:
    """Return the parameters with other padding along the first spatial axis."""
    return given | {
        "start_padding": [before, *given["start_padding"][1:]],
        "end_padding": [after, *given["end_padding"][1:]],
    }


def fold(
    output_sizes: int | Ints,
    window: Window,
    order: Order,
    axes: Axes,
    shape: Shape,
    *,
    padding_mode: Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant",
    blocks: Blocks = None,
    wrap: bool = False,
    reduction: Reduction = "sum",
    weights: str | None = None,
    dtype: np.dtype[Any] | None = None,
) -> Work:
    """Return the work of fold, cut along the batch, the channels, then rows of the result.

    Both pieces read the windows that reach into both. With a padding mode, or for a part of the
    windows, any row may get terms from any window, so a piece has all rows. Unless `wrap` is set,
    sums of integers that their dtype does not hold raise an error.
    """
    result = reblock.fold_shape(
        shape,
        output_sizes,
        **window._asdict(),
        padding_mode=padding_mode,
        blocks=of_each_axis(blocks),
        **axes.keywords(),
    )
    layout, out_layout = axes.names("fold", len(result))
    batches, channels, *sizes = _layouts.arrange(
        result, out_layout, _layouts.in_order(out_layout), 1
    )
    given = window.per_axis(len(sizes))
    factors = window_weights(weights, given["window_sizes"])
    stride, start = given["strides"][0], given["start_padding"][0]
    reach = given["dilations"][0] * (given["window_sizes"][0] - 1) + 1
    count, *others = window_counts(sizes, given)
    row = math.prod(others)
    in_columns = partial(columns_at, math.prod(given["window_sizes"]), row)

    whole = padding_mode != "constant" or blocks is not None

    def pieces(size: int) -> Iterator[Piece]:
        for batch, some, rows in cuts(
            (batches, pieces_of(channels, order), 1 if whole else sizes[0]), size
        ):
            top, bottom = (0, sizes[0]) if whole else rows
            # The windows that reach the rows; where there are none, one beside them.
            first = -(-(top + start - reach + 1) // stride)
            first = max(0, min(first, (top + start) // stride, count - 1))
            last = min(count, max(first + 1, (bottom - 1 + start) // stride + 1))
            if whole:
                first, last = 0, count
            before = top + start - first * stride
            after = max(0, (last - first - 1) * stride + reach - before - (bottom - top))
            part = some if order == "CRD" else (0, channels)
            yield Piece(
                cut_out(in_columns(batch, part, (first, last)), layout),
                cut_out(at(2 + len(sizes), {0: batch, 1: part, 2: (top, bottom)}), out_layout),
                partial(
                    reblock.fold,
                    output_sizes=[bottom - top, *sizes[1:]],
                    **(given if whole else padded(given, before, after)),
                    padding_mode=padding_mode,
                    blocks=of_each_axis(blocks),
                    order=order,
                    layout=layout,
                    out_layout=out_layout,
                    reduction=reduction,
                    weights=factors,
                    dtype=dtype,
                ),
            )

    exact = not wrap and reduction == "sum" and weights is None
    return Work(result, out_layout, pieces, exact, dtype)
