# SPDX-License-Identifier: BSD-3-Clause
"""Run `reblock demo`, which sends a photo through every operator and its inverse.

The sections follow the order in which they run: read, round trips, timing, table, picture.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import skimage.data
from PIL import Image, ImageDraw, ImageFont, ImageOps
from rich import box
from rich.console import Console
from rich.table import Column, Table

from reblock import depth_to_space, fold, get_num_threads, space_to_depth, unfold
from reblock._files import CommandError, reason, write_picture

Array = npt.NDArray[Any]
Order = Literal["DCR", "CRD"]

BLOCK = 2
PATCH = 16
KERNEL = 3
NETWORK = 224  # pixels that networks for images take along each axis, mostly
WINDOW = 64
STRIDE = 32  # half a window: away from the border, four patches share each pixel
LONGEST_SIDE = 1024  # the patches of a photo take sixteen times its bytes
REPETITIONS = 7
NOTABLE = 1.05  # times faster; less is noise


def run(image: Path | None, output: Path) -> None:
    """Show the operators on a photo; CommandError where it cannot be read, restored or drawn."""
    photo = read_photo(image or Path(skimage.data.data_dir) / "coffee.png")
    trips = round_trips(photo)
    wrong = [trip.name for trip in trips if not np.array_equal(trip.back, photo)]
    if wrong:
        raise CommandError(f"not exact: {', '.join(wrong)}", 1)
    console = Console(highlight=False)
    console.print(table(comparisons(photo, trips)))
    for trip in trips:
        console.print(f"{trip.name}: [green]exact[/green]", soft_wrap=True)
    write_picture(draw(photo, trips), output)
    print(f"picture: {output}")
    print("see where each element goes: reblock explain depth-to-space")


# Read -------------------------------------------------------------------------------------------


def read_photo(path: Path) -> Array:
    """Return the photo as uint8 (1, 3, height, width), both extents multiples of the window."""
    try:
        # Pillow warns of a doubtful file, then reads it or fails; the failure is enough.
        with warnings.catch_warnings(action="ignore"), Image.open(path) as file:
            image = as_rgb(ImageOps.exif_transpose(file))
    except Exception as error:  # decoders fail in ways of their own
        raise CommandError(f"cannot read {path}: {reason(error)}") from error
    width, height = image.size
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    if min(image.size) < WINDOW:
        raise CommandError(
            f"cannot use {path}: {width} x {height} pixels are too small or too narrow"
            f" for a window of {WINDOW} x {WINDOW}"
        )
    left, top = (extent % WINDOW // 2 for extent in image.size)
    right, bottom = left + image.width // WINDOW * WINDOW, top + image.height // WINDOW * WINDOW
    pixels = np.asarray(image.crop((left, top, right, bottom)))
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[np.newaxis])


def as_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith(("I", "F")):
        # Samples of more than 8 bits have no agreed white: their own range becomes black to white.
        samples = np.nan_to_num(np.asarray(image)).astype(np.float64)
        samples -= samples.min()
        samples *= 255 / (samples.max() or 1)
        return Image.fromarray(samples.round().astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


# Round trips ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RoundTrip:
    """The result of an operator for the photo (`there`), and of its inverse (`back`)."""

    name: str
    there: Array
    back: Array


Trips = tuple[RoundTrip, RoundTrip, RoundTrip]  # in DCR order, in CRD order, through patches


def round_trips(photo: Array) -> Trips:
    return through_depth(photo, "DCR"), through_depth(photo, "CRD"), through_patches(photo)


def through_depth(photo: Array, order: Order) -> RoundTrip:
    depth = space_to_depth(photo, BLOCK, order=order)
    space = depth_to_space(depth, BLOCK, order=order)
    return RoundTrip(f"space_to_depth, then depth_to_space, {order}", depth, space)


def through_patches(photo: Array) -> RoundTrip:
    """Cut the photo into overlapping patches, and rebuild each pixel as the mean of its patches."""
    patches = unfold(photo, WINDOW, strides=STRIDE)
    back = fold(patches, photo.shape[2:], WINDOW, strides=STRIDE, reduction="mean")
    return RoundTrip("unfold, then fold with means", patches, back)


# Timing -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """A use of an operator, and the same work in NumPy alone."""

    use: str
    call: str  # of reblock, as one writes it for an input `x`
    operand: Array
    by_reblock: Callable[[Array], Array]
    by_numpy: Callable[[Array], Array]


def comparisons(photo: Array, trips: Trips) -> Iterator[Comparison]:
    dcr, crd, patches = trips
    pixels = photo.astype(np.float32)
    crop = np.ascontiguousarray(pixels[:, :, :NETWORK, :NETWORK])
    extents = photo.shape[2:]
    yield Comparison(
        "channels to pixels, PyTorch's pixel_shuffle",
        f'depth_to_space(x, {BLOCK}, order="CRD")',
        crd.there,
        partial(depth_to_space, block_size=BLOCK, order="CRD"),
        partial(numpy_depth_to_space, order="CRD"),
    )
    yield Comparison(
        "channels to pixels, as in ONNX and TensorFlow",
        f"depth_to_space(x, {BLOCK})",
        dcr.there,
        partial(depth_to_space, block_size=BLOCK),
        partial(numpy_depth_to_space, order="DCR"),
    )
    yield Comparison(
        "pixels to channels",
        f"space_to_depth(x, {BLOCK})",
        photo,
        partial(space_to_depth, block_size=BLOCK),
        numpy_space_to_depth,
    )
    yield Comparison(
        "patches for a vision transformer",
        f"unfold(x, {PATCH}, strides={PATCH})",
        pixels,
        partial(unfold, window_sizes=PATCH, strides=PATCH),
        partial(numpy_unfold, window=PATCH, stride=PATCH, padding=0),
    )
    yield Comparison(
        "columns for a convolution (im2col)",
        f"unfold(x, {KERNEL}, start_padding=1, end_padding=1)",
        crop,
        partial(unfold, window_sizes=KERNEL, start_padding=1, end_padding=1),
        partial(numpy_unfold, window=KERNEL, stride=1, padding=1),
    )
    yield Comparison(
        "overlapping patches, added up (col2im)",
        f"fold(x, {extents}, {WINDOW}, strides={STRIDE})",
        patches.there,
        partial(fold, output_sizes=extents, window_sizes=WINDOW, strides=STRIDE),
        partial(numpy_fold, output_sizes=extents),
    )


def numpy_space_to_depth(space: Array) -> Array:
    batch, channels, height, width = space.shape
    rows, columns = height // BLOCK, width // BLOCK
    split = space.reshape(batch, channels, rows, BLOCK, columns, BLOCK)
    moved = split.transpose(0, 3, 5, 1, 2, 4)
    return moved.reshape(batch, channels * BLOCK**2, rows, columns)


def numpy_depth_to_space(depth: Array, order: Order) -> Array:
    batch, planes, rows, columns = depth.shape
    channels = planes // BLOCK**2
    if order == "DCR":
        split = depth.reshape(batch, BLOCK, BLOCK, channels, rows, columns)
        joined = split.transpose(0, 3, 4, 1, 5, 2)
    else:
        split = depth.reshape(batch, channels, BLOCK, BLOCK, rows, columns)
        joined = split.transpose(0, 1, 4, 2, 5, 3)
    return joined.reshape(batch, channels, rows * BLOCK, columns * BLOCK)


def numpy_unfold(x: Array, window: int, stride: int, padding: int) -> Array:
    pads = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    padded = np.pad(x, pads) if padding else x
    windows = np.lib.stride_tricks.sliding_window_view(padded, (window, window), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    batch, channels, rows, columns = windows.shape[:4]
    by_offset = windows.transpose(0, 1, 4, 5, 2, 3)
    return by_offset.reshape(batch, channels * window**2, rows * columns)


def numpy_fold(columns: Array, output_sizes: tuple[int, ...]) -> Array:
    blocks = block_counts(output_sizes)
    by_offset = columns.reshape(columns.shape[0], -1, WINDOW, WINDOW, *blocks)
    output = np.zeros((*by_offset.shape[:2], *output_sizes), columns.dtype)
    height, width = (STRIDE * count for count in blocks)
    for row, column in np.ndindex(WINDOW, WINDOW):
        reached = output[:, :, row : row + height : STRIDE, column : column + width : STRIDE]
        reached += by_offset[:, :, row, column]
    return output


def block_counts(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Return how many windows fit along each axis."""
    return tuple((extent - WINDOW) // STRIDE + 1 for extent in extents)


def measure(comparison: Comparison) -> tuple[float, float]:
    """Return the seconds that reblock and NumPy take at best, measured turn by turn."""
    calls = comparison.by_reblock, comparison.by_numpy
    turns = [[seconds(call, comparison.operand) for call in calls] for _ in range(REPETITIONS)]
    by_reblock, by_numpy = np.min(turns, axis=0)
    return float(by_reblock), float(by_numpy)


def seconds(call: Callable[[Array], Array], operand: Array) -> float:
    start = time.perf_counter()
    call(operand)
    return time.perf_counter() - start


# Table ------------------------------------------------------------------------------------------


def table(rows: Iterable[Comparison]) -> Table:
    result = Table(
        Column("operator", no_wrap=True),
        Column("ms", justify="right", no_wrap=True),
        Column(f"times faster\nthan NumPy {np.__version__}", justify="right", no_wrap=True),
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
        caption=f"best of {REPETITIONS} calls, on {cores()}",
    )
    for row in rows:
        by_reblock, by_numpy = measure(row)
        shapes = f"{row.operand.shape} -> {row.by_reblock(row.operand).shape}"
        result.add_row(
            f"{row.use}\n  {row.call}\n  [dim]{shapes}, {row.operand.dtype}[/dim]",
            milliseconds(by_reblock),
            faster(by_numpy / by_reblock),
        )
    return result


def cores() -> str:
    """Return how many threads reblock and NumPy use. NumPy uses one."""
    threads = get_num_threads()
    return "one thread" if threads == 1 else f"up to {threads} threads; NumPy uses one"


def faster(ratio: float) -> str:
    """Return how many times faster reblock is as text, or "no faster" for small ratios."""
    return f"{ratio:.1f}" if ratio >= NOTABLE else "no faster"


def milliseconds(elapsed: float) -> str:
    """Return seconds as text, with three decimals where a call takes microseconds."""
    value = 1000 * elapsed
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


# Picture ----------------------------------------------------------------------------------------

WIDTH = 1024
MARGIN = 32
GUTTER = 48  # between panels, with an arrow in it
PANEL = (WIDTH - 2 * MARGIN - 2 * GUTTER) // 3
GAP = 12  # between planes, and between patches in the photo's own pixels
TILE = (WIDTH - 2 * MARGIN - 11 * GAP) // 12
CAPTION = 52  # the height of a title and the line below it
MARK = 20  # from a plane down to the middle of the mark below it

BACKGROUND = (22, 24, 29)
BRIGHT = (236, 237, 240)
DIM = (140, 145, 156)
UNLIT = (52, 56, 64)
TINTS = ((255, 120, 100), (120, 225, 130), (115, 165, 255))  # of the red, green and blue planes


def draw(photo: Array, trips: Trips) -> Image.Image:
    """Compose photo, patches and rebuilt photo above the planes of both orders."""
    dcr, crd, patches = trips
    extents = photo.shape[2:]
    panels = (
        ("photo", f"{photo.shape}, uint8", photo),
        (
            "unfold",
            f"{WINDOW} x {WINDOW}, {STRIDE} apart; every other patch shown",
            spread(patches.there, extents),
        ),
        ("fold", "means of patches: the same photo, bit for bit", patches.back),
    )
    # What each plane holds: one colour of the pixel at one offset within every block.
    colours, offsets = range(3), range(BLOCK**2)
    strips = (
        (
            "space_to_depth DCR",
            f"{dcr.there.shape}: pixel by pixel of the block, in every colour",
            dcr.there,
            [(colour, offset) for offset in offsets for colour in colours],
        ),
        (
            "space_to_depth CRD",
            f"{crd.there.shape}: colour by colour, at every pixel of the block",
            crd.there,
            [(colour, offset) for colour in colours for offset in offsets],
        ),
    )

    aspect = min(1, extents[0] / extents[1])
    panel_height, tile_height = round(PANEL * aspect), round(TILE * aspect)
    strips_top = MARGIN + CAPTION + panel_height + MARGIN
    strip_height = CAPTION + tile_height + MARK + MARGIN
    picture = Image.new("RGB", (WIDTH, strips_top + len(strips) * strip_height), BACKGROUND)
    pen = ImageDraw.Draw(picture)
    for index, (title, detail, pixels) in enumerate(panels):
        left, top = MARGIN + index * (PANEL + GUTTER), MARGIN + CAPTION
        caption(pen, (left, MARGIN), title, detail)
        place(picture, as_image(pixels), (left, top), (PANEL, panel_height))
        if index > 0:
            arrow(pen, (left - GUTTER // 2, top + panel_height // 2))
    for index, (title, detail, depth, contents) in enumerate(strips):
        top = strips_top + index * strip_height
        caption(pen, (MARGIN, top), title, detail)
        for plane, (colour, offset) in enumerate(contents):
            left = MARGIN + plane * (TILE + GAP)
            tile = ImageOps.colorize(Image.fromarray(depth[0, plane]), "black", TINTS[colour])
            place(picture, tile, (left, top + CAPTION), (TILE, tile_height))
            below = top + CAPTION + tile_height + MARK
            mark(pen, (left + TILE // 2, below), offset, TINTS[colour])
    return picture


def mark(
    pen: ImageDraw.ImageDraw, middle: tuple[int, int], offset: int, tint: tuple[int, int, int]
) -> None:
    """Draw a block with one of its pixels lit."""
    for pixel, (row, column) in enumerate(np.ndindex(BLOCK, BLOCK)):
        left, top = middle[0] + 10 * (column - 1), middle[1] + 10 * (row - 1)
        pen.rectangle((left, top, left + 8, top + 8), tint if pixel == offset else UNLIT)


def caption(pen: ImageDraw.ImageDraw, at: tuple[int, int], title: str, detail: str) -> None:
    left, top = at
    pen.text((left, top), title, BRIGHT, ImageFont.load_default(20))
    pen.text((left, top + 25), detail, DIM, ImageFont.load_default(14))


def arrow(pen: ImageDraw.ImageDraw, middle: tuple[int, int]) -> None:
    x, y = middle
    pen.line([(x - 6, y - 12), (x + 6, y), (x - 6, y + 12)], DIM, 3, joint="curve")


def as_image(pixels: Array) -> Image.Image:
    """Return the picture of an array (1, 3, height, width)."""
    return Image.fromarray(pixels[0].transpose(1, 2, 0).astype(np.uint8))


def place(
    picture: Image.Image, image: Image.Image, at: tuple[int, int], size: tuple[int, int]
) -> None:
    """Paste the image, scaled to fit, into the middle of the box that starts at `at`."""
    fitting = ImageOps.contain(image, size, Image.Resampling.LANCZOS)
    left, top = (
        start + (room - extent) // 2
        for start, room, extent in zip(at, size, fitting.size, strict=True)
    )
    picture.paste(fitting, (left, top))


def spread(patches: Array, extents: tuple[int, ...]) -> Array:
    """Lay patches that tile the photo beside each other with gaps: every other one each way."""
    by_place = patches.reshape(3, WINDOW, WINDOW, *block_counts(extents))[..., ::2, ::2]
    _, _, _, rows, columns = by_place.shape
    pitch = WINDOW + GAP
    cells = np.empty((3, rows, pitch, columns, pitch), np.uint8)
    cells[...] = np.reshape(BACKGROUND, (3, 1, 1, 1, 1))
    cells[:, :, :WINDOW, :, :WINDOW] = by_place.transpose(0, 3, 1, 4, 2)
    return cells.reshape(1, 3, rows * pitch, columns * pitch)[..., :-GAP, :-GAP]
