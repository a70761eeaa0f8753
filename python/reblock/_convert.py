# SPDX-License-Identifier: BSD-3-Clause
"""An operator from file to file: .npy by memory map, images by Pillow.

Arrays in .npy files are used where they lie, a piece after the other: between two pieces the
command can be interrupted. The memory it takes is what the system keeps of the mapped files, and
takes back when it is needed elsewhere.
"""

import errno
import io
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError
from rich.console import Console
from rich.progress import Progress

import reblock
from reblock._files import (
    CommandError,
    is_dash,
    name_of,
    reason,
    save_picture,
    with_options,
    written_whole,
)

Array = npt.NDArray[Any]
Ints = Sequence[int]
Shape = tuple[int, ...]
Range = tuple[int, int]
Order = Literal["DCR", "CRD"]

PIECE = 1 << 24  # bytes of input and output that one call moves, about
WIDEST = 8  # bytes of the integers that sums are checked in


class Piece(NamedTuple):
    """What part of the input becomes what part of the output, and by which call."""

    source: tuple[slice, ...]
    target: tuple[slice, ...]
    call: Callable[..., Array]


class Work(NamedTuple):
    """An operator on an array of one shape: the result's shape, and how the work is cut.

    `pieces` takes the bytes of input and output together. `exact` refuses sums that the dtype does
    not hold.
    """

    shape: Shape
    pieces: Callable[[int], Iterator[Piece]]
    exact: bool = False


Plan = Callable[[Shape], Work]


def convert(
    source: Path,
    target: Path,
    plan: Plan,
    *,
    channel_axis: int,
    threads: int | None = None,
    force: bool = False,
) -> str:
    """Write to `target` what the operator makes of `source`; return what was written, in words."""
    if is_dash(target):
        refuse_terminal()
        x = read(source, channel_axis)
        result = made_of(source, x, plan, threads)
        write_stream(result)
        return f"{result.shape}, {result.dtype}"
    with written_whole(target, force=force) as temporary:
        x = read(source, channel_axis)
        with blaming(source):
            work = plan(x.shape)
        if is_array_file(target):
            mapped = np.lib.format.open_memmap(temporary, "w+", x.dtype, work.shape)
            reserve(temporary)
            with blaming(source):
                run(work, x, mapped, threads)
            mapped.flush()
            del mapped  # some systems do not rename a file that is mapped
        else:
            refuse_no_image(target, work.shape, x.dtype, channel_axis)
            result = made_of(source, x, plan, threads)
            save_picture(as_picture(result, channel_axis), temporary)
        return f"{work.shape}, {x.dtype}"


@contextmanager
def blaming(source: Path) -> Iterator[None]:
    """Turn what an operator refuses into a CommandError that names the file."""
    try:
        yield
    except (TypeError, ValueError) as error:
        line = f"cannot use {name_of(source, 'input')}: {with_options(error)}"
        raise CommandError(line) from error


def made_of(source: Path, x: Array, plan: Plan, threads: int | None) -> Array:
    """Return what the operator makes of an array, in memory."""
    with blaming(source):
        work = plan(x.shape)
        result = np.empty(work.shape, x.dtype)
        run(work, x, result, threads)
    return result


def run(work: Work, x: Array, out: Array, threads: int | None = None) -> None:
    """Fill `out`, with a bar on standard error where that is a terminal."""
    console = Console(stderr=True)
    checked = work.exact and x.dtype.kind in "iu" and x.itemsize < WIDEST
    size = (x.nbytes + out.nbytes) * (WIDEST // x.itemsize if checked else 1)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("", total=out.nbytes)
        for piece in work.pieces(size):
            part = out[piece.target]
            if checked:
                part[...] = exact_sums(piece, x, threads)
            else:
                piece.call(x[piece.source], out=part, threads=threads)
            progress.advance(task, part.nbytes)


def exact_sums(piece: Piece, x: Array, threads: int | None) -> Array:
    """Return the sums of a piece in 64 bits; ValueError where the dtype of `x` is too narrow."""
    sums = piece.call(x[piece.source].astype(f"{x.dtype.kind}{WIDEST}"), threads=threads)
    limits = np.iinfo(x.dtype)
    for extreme in (sums.max(initial=0), sums.min(initial=0)):
        limit = limits.max if extreme > 0 else limits.min
        if abs(int(extreme)) > abs(limit):
            raise ValueError(
                f"a sum is {extreme}, and {x.dtype} ends at {limit}:"
                " take columns of a wider dtype, or --wrap"
            )
    return sums


# Files ------------------------------------------------------------------------------------------


def is_array_file(path: Path) -> bool:
    return path.suffix.lower() == ".npy"


def read(path: Path, channel_axis: int) -> Array:
    """Return the array of a .npy file, mapped, or an image as one item of a batch.

    Standard input is read into memory; its first bytes tell which of the two it is.
    """
    try:
        if is_dash(path):
            content = io.BytesIO(sys.stdin.buffer.read())
            if content.getvalue().startswith(np.lib.format.MAGIC_PREFIX):
                array: Array = np.lib.format.read_array(content, allow_pickle=False)
                return array
            return read_image(content, channel_axis)
        if is_array_file(path):
            return np.lib.format.open_memmap(path, "r")
        return read_image(path, channel_axis)
    except Exception as error:  # decoders fail in ways of their own
        unknown = isinstance(error, UnidentifiedImageError)
        why = (
            "it is neither a .npy file nor an image that Pillow knows" if unknown else reason(error)
        )
        raise CommandError(f"cannot read {name_of(path, 'input')}: {why}") from error


def read_image(file: Path | io.BytesIO, channel_axis: int) -> Array:
    # Pillow warns of a doubtful file, then reads it or fails; the failure is enough.
    with warnings.catch_warnings(action="ignore"), Image.open(file) as image:
        pixels = np.asarray(with_plain_mode(ImageOps.exif_transpose(image)))
    return np.moveaxis(np.atleast_3d(pixels)[np.newaxis], -1, channel_axis)


def refuse_terminal() -> None:
    if sys.stdout.isatty():
        raise CommandError("cannot write to a terminal: redirect standard output")


def write_stream(array: Array) -> None:
    """Write a .npy file to standard output."""
    try:
        # NumPy would ask a file for its position, which a pipe has not.
        np.lib.format.write_array(SimpleNamespace(write=sys.stdout.buffer.write), array)
        sys.stdout.buffer.flush()
    except OSError as error:
        # What is left to be flushed would fail again at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise CommandError(f"cannot write standard output: {reason(error)}") from error


def with_plain_mode(image: Image.Image) -> Image.Image:
    """Return the image with its samples as they are, or else in red, green and blue."""
    if image.mode in ("L", "LA", "RGB", "RGBA", "I", "F") or image.mode.startswith("I;16"):
        return image
    if image.mode == "1":
        return image.convert("L")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


def refuse_no_image(path: Path, shape: Shape, dtype: np.dtype[Any], channel_axis: int) -> None:
    """Raise CommandError unless an image can hold the result."""
    channels = shape[channel_axis] if len(shape) == 4 else 0
    fits = channels in (1, 2, 3, 4) if dtype == np.uint8 else channels == 1 and dtype == np.uint16
    if not (fits and shape[0] == 1 and all(shape)):
        raise CommandError(
            f"cannot write {path}: the result is {shape}, {dtype}, and an image is one item of 1 to"
            " 4 channels of uint8, or of one channel of uint16; a .npy file holds anything"
        )


def as_picture(result: Array, channel_axis: int) -> Image.Image:
    pixels = np.moveaxis(result, channel_axis, -1)[0]
    return Image.fromarray(
        np.ascontiguousarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    )


def reserve(path: Path) -> None:
    """Take the room of a file on disk: to run out of it in a mapped file would kill the process."""
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


def first_spatial(channel_axis: int, rank: int) -> int:
    return 2 if channel_axis % rank == 1 else 1


def depth_space(
    name: str, block_size: int | Ints, order: Order, channel_axis: int, shape: Shape
) -> Work:
    """Return the work of depth_to_space or space_to_depth, cut along the batch, then rows."""
    result = getattr(reblock, f"{name}_shape")(shape, block_size, channel_axis=channel_axis)
    call = partial(
        getattr(reblock, name), block_size=block_size, order=order, channel_axis=channel_axis
    )
    rank, rows = len(shape), first_spatial(channel_axis, len(shape))
    blocks = min(shape[rows], result[rows])

    def pieces(size: int) -> Iterator[Piece]:
        for batch, (start, stop) in cuts((shape[0], blocks), size):
            source, target = (
                at(rank, {0: batch, rows: (start * extent // blocks, stop * extent // blocks)})
                for extent in (shape[rows], result[rows])
            )
            yield Piece(source, target, call)

    return Work(result, pieces)


class Window(NamedTuple):
    """The parameters of unfold and fold, as they are given."""

    window_sizes: int | Ints
    strides: int | Ints
    dilations: int | Ints
    start_padding: int | Ints
    end_padding: int | Ints

    def per_axis(self, axes: int) -> dict[str, list[int]]:
        return {
            name: np.broadcast_to(value, axes).tolist() for name, value in self._asdict().items()
        }


def unfold(window: Window, channel_axis: int, shape: Shape) -> Work:
    """Return the work of unfold, cut along the batch, the channels, then rows of windows."""
    result = reblock.unfold_shape(shape, **window._asdict(), channel_axis=channel_axis)
    rank, rows = len(shape), first_spatial(channel_axis, len(shape))
    given = window.per_axis(rank - 2)
    stride, start = given["strides"][0], given["start_padding"][0]
    reach = given["dilations"][0] * (given["window_sizes"][0] - 1) + 1
    count = (shape[rows] + start + given["end_padding"][0] - reach) // stride + 1
    in_columns = partial(columns_at, math.prod(given["window_sizes"]), result[2] // count)

    def pieces(size: int) -> Iterator[Piece]:
        for batch, channels, (first, last) in cuts((shape[0], shape[channel_axis], count), size):
            # Where these windows begin and end; what lies outside of the input becomes padding.
            begin, end = first * stride - start, (last - 1) * stride - start + reach
            inside = min(max(begin, 0), shape[rows]), min(max(end, 0), shape[rows])
            before = min(max(-begin, 0), end - begin)
            after = end - begin - before - (inside[1] - inside[0])
            yield Piece(
                at(rank, {0: batch, channel_axis % rank: channels, rows: inside}),
                in_columns(batch, channels, (first, last)),
                partial(reblock.unfold, **padded(given, before, after), channel_axis=channel_axis),
            )

    return Work(result, pieces)


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
    channel_axis: int,
    shape: Shape,
    *,
    wrap: bool = False,
) -> Work:
    """Return the work of fold, cut along the batch, the channels, then rows of the result.

    Windows that reach into two pieces are read for both. Unless `wrap` allows it, sums of integers
    that their dtype does not hold are refused.
    """
    result = reblock.fold_shape(shape, output_sizes, **window._asdict(), channel_axis=channel_axis)
    rank, rows = len(result), first_spatial(channel_axis, len(result))
    given = window.per_axis(rank - 2)
    sizes = [extent for axis, extent in enumerate(result) if axis not in (0, channel_axis % rank)]
    stride, start = given["strides"][0], given["start_padding"][0]
    reach = given["dilations"][0] * (given["window_sizes"][0] - 1) + 1
    count = (sizes[0] + start + given["end_padding"][0] - reach) // stride + 1
    in_columns = partial(columns_at, math.prod(given["window_sizes"]), shape[2] // count)

    def pieces(size: int) -> Iterator[Piece]:
        for batch, channels, (top, bottom) in cuts(
            (shape[0], result[channel_axis], sizes[0]), size
        ):
            # The windows that reach the rows; where there are none, one beside them.
            first = -(-(top + start - reach + 1) // stride)
            first = max(0, min(first, (top + start) // stride, count - 1))
            last = min(count, max(first + 1, (bottom - 1 + start) // stride + 1))
            before = top + start - first * stride
            after = max(0, (last - first - 1) * stride + reach - before - (bottom - top))
            yield Piece(
                in_columns(batch, channels, (first, last)),
                at(rank, {0: batch, channel_axis % rank: channels, rows: (top, bottom)}),
                partial(
                    reblock.fold,
                    output_sizes=[bottom - top, *sizes[1:]],
                    **padded(given, before, after),
                    channel_axis=channel_axis,
                ),
            )

    return Work(result, pieces, exact=not wrap)
