# SPDX-License-Identifier: BSD-3-Clause
"""Draw tables of labelled, coloured cells as text, as HTML and as a picture."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

    _Font: TypeAlias = ImageFont.FreeTypeFont | ImageFont.ImageFont


class Colour(NamedTuple):
    """Red, green and blue, 0 to 255."""

    red: int
    green: int
    blue: int

    @property
    def code(self) -> str:
        return "#{:02x}{:02x}{:02x}".format(*self)

    @property
    def ink(self) -> Colour:
        """Black or white, whichever reads better on this colour (WCAG's contrast)."""
        linear = [(value / 255) ** 2.2 for value in self]
        luminance = sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
        return BLACK if luminance > 0.179 else WHITE


BLACK, WHITE = Colour(0, 0, 0), Colour(255, 255, 255)

# Okabe and Ito's colours, told apart by colour-blind people too; grey is in the place of black.
HUES = (
    Colour(0x00, 0x72, 0xB2),
    Colour(0xE6, 0x9F, 0x00),
    Colour(0x00, 0x9E, 0x73),
    Colour(0xCC, 0x79, 0xA7),
    Colour(0xD5, 0x5E, 0x00),
    Colour(0x56, 0xB4, 0xE9),
    Colour(0xF0, 0xE4, 0x42),
    Colour(0x99, 0x99, 0x99),
)


def hue(number: int, tint: float = 0) -> Colour:
    """Return a colour for each number, mixed with white by `tint`; every other round is lighter."""
    rounds, place = divmod(number, len(HUES))
    left = (1 - 0.7 * tint) * (0.5 if rounds % 2 else 1)
    return Colour(*(round(255 - left * (255 - value)) for value in HUES[place]))


class Cell(NamedTuple):
    """The text of a cell, and its background colour."""

    text: str
    colour: Colour | None = None


MORE = Cell("...")


@dataclass(frozen=True)
class Plane:
    """A table of a matrix, or of the corner of it that is shown."""

    title: str
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    cells: Sequence[Sequence[Cell]]

    @classmethod
    def of(
        cls,
        title: str,
        row_labels: Sequence[str],
        column_labels: Sequence[str],
        cells: Sequence[Sequence[Cell]],
        cut: tuple[bool, bool],
    ) -> Plane:
        """Return the table with dots for the rows and columns that are not shown."""
        rows_cut, columns_cut = cut
        if columns_cut:
            column_labels = (*column_labels, MORE.text)
            cells = [(*row, MORE) for row in cells]
        if rows_cut:
            row_labels = (*row_labels, MORE.text)
            cells = (*cells, [MORE] * len(column_labels))
        return cls(title, row_labels, column_labels, cells)

    def narrowed(self, columns: int) -> Plane:
        """Return the table with so many columns, of which dots are the last if some are missing."""
        if columns >= len(self.column_labels):
            return self
        kept = max(0, columns - 1)
        cells = [row[:kept] for row in self.cells]
        rows = self.title, self.row_labels
        return Plane.of(*rows, self.column_labels[:kept], cells, (False, True))

    def longest(self) -> tuple[str, ...]:
        """Return the texts that the columns have to be wide enough for."""
        return (*self.column_labels, *(cell.text for row in self.cells for cell in row))


@dataclass(frozen=True)
class Part:
    """A tensor: its planes, one after the other."""

    title: str
    planes: Sequence[Plane]


@dataclass(frozen=True)
class IndexMap:
    """Two tensors, and the text about them."""

    title: str
    parts: tuple[Part, Part]
    notes: Sequence[str]


# Text -------------------------------------------------------------------------------------------

Segment: TypeAlias = tuple[str, Colour | None]
Line: TypeAlias = list[Segment]

WIDTH = 88  # of the text, in characters
GAP = 3  # between tables


def as_lines(index_map: IndexMap, width: int = WIDTH) -> list[Line]:
    """Return the map as lines of text, each in segments of one colour."""
    lines: list[Line] = [[(index_map.title, None)], []]
    for part in index_map.parts:
        lines.append([(part.title, None)])
        for row in _packed([_block(plane, width) for plane in part.planes], width):
            lines += [*row, []]
        if not part.planes:
            lines.append([])
    return lines + [[(note, None)] for note in index_map.notes]


def _block(plane: Plane, room: int) -> list[Line]:
    """Return the lines of one table, all of them equally long, with the columns that fit."""
    label = max(map(len, plane.row_labels), default=0)
    cell = 2 + max(map(len, plane.longest()), default=0)
    plane = plane.narrowed((room - label - 1) // cell)
    width = max(len(plane.title), label + 1 + cell * len(plane.column_labels))
    lines: list[Line] = [[(plane.title, None)]]
    lines.append([(" " * (label + 1) + "".join(f"{t:^{cell}}" for t in plane.column_labels), None)])
    for name, row in zip(plane.row_labels, plane.cells, strict=True):
        cells = [(f"{text:^{cell}}", colour) for text, colour in row]
        lines.append([(f"{name:>{label}} ", None), *cells])
    return [_padded(line, width) for line in lines]


def _padded(line: Line, width: int) -> Line:
    return [*line, (" " * (width - _length(line)), None)]


def _length(line: Line) -> int:
    return sum(len(text) for text, _ in line)


def _packed(blocks: Sequence[list[Line]], width: int) -> list[list[Line]]:
    """Lay blocks side by side in rows that fit, as even as can be."""
    widest = GAP + max((_length(block[0]) for block in blocks), default=0)
    in_row = _even(len(blocks), (width + GAP) // widest)
    rows = []
    for first in range(0, len(blocks), in_row):
        row = blocks[first : first + in_row]
        lines = [
            [segment for line in beside for segment in _padded(line, widest)]
            for beside in zip(*row, strict=True)
        ]
        rows.append(lines)
    return rows


def _even(count: int, limit: int) -> int:
    """Return how many to lay in a row, of which `limit` fit, so that the rows are alike."""
    return math.ceil(count / math.ceil(count / max(1, limit))) if count else 1


# HTML -------------------------------------------------------------------------------------------

_DIM = "opacity: 0.65; font-weight: normal"
_PLAIN = "background: none; border: 0; text-align: center; padding: 2px 6px"


def as_html(index_map: IndexMap) -> str:
    """Return the map as tables in a <div>; text outside the cells has the page's own colour."""
    parts = "".join(
        f"<div><p><code>{html.escape(part.title)}</code></p>{''.join(map(_table, part.planes))}"
        "</div>"
        for part in index_map.parts
    )
    notes = "<br/>".join(f"<code>{html.escape(note)}</code>" for note in index_map.notes)
    return (
        f'<div class="reblock-explanation"><p><strong><code>{html.escape(index_map.title)}</code>'
        '</strong></p><div style="display: flex; flex-wrap: wrap; gap: 0 3em">'
        f"{parts}</div><p>{notes}</p></div>"
    )


def _table(plane: Plane) -> str:
    header = "".join(f'<th style="{_PLAIN}; {_DIM}">{label}</th>' for label in plane.column_labels)
    rows = "".join(
        f'<tr style="background: none"><th style="{_PLAIN}; {_DIM}">{label}</th>'
        f"{''.join(map(_data, row))}</tr>"
        for label, row in zip(plane.row_labels, plane.cells, strict=True)
    )
    return (
        '<table style="display: inline-table; border-collapse: separate; border-spacing: 1px;'
        ' margin: 0 1.5em 1em 0; font: 0.85em monospace; vertical-align: top">'
        f'<caption style="text-align: left; white-space: nowrap">{plane.title}</caption>'
        f'<tr style="background: none"><th style="{_PLAIN}"></th>{header}</tr>{rows}</table>'
    )


def _data(cell: Cell) -> str:
    style = _PLAIN
    if cell.colour:
        style += f"; background: {cell.colour.code}; color: {cell.colour.ink.code}"
    return f'<td style="{style}">{cell.text}</td>'


# Picture ----------------------------------------------------------------------------------------

PAPER = Colour(255, 255, 255)
INK = Colour(25, 28, 33)
DIM = Colour(105, 110, 120)
MARGIN = 24
LINE = 26  # the height of a cell or a line
SIDE = 700  # the width that the tables of one tensor are laid out in, in pixels
ARROW = 56  # the room between the two tensors


def as_image(index_map: IndexMap) -> Image.Image:
    """Return the map as a picture, one tensor beside the other."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - an extra

    font, bold = ImageFont.load_default(15), ImageFont.load_default(18)
    sides = [_laid_out(part, font) for part in index_map.parts]
    texts = [(index_map.title, bold), *((note, font) for note in index_map.notes)]
    width = max(
        sum(side.width for side in sides) + ARROW,
        *(math.ceil(face.getlength(text)) for text, face in texts),
    )
    top = MARGIN + 2 * LINE
    bottom = top + LINE + max(side.height for side in sides) + LINE // 2
    size = (width + 2 * MARGIN, bottom + LINE * len(index_map.notes) + MARGIN)
    picture = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(picture)
    pen.text((MARGIN, MARGIN), index_map.title, INK, bold)
    left = MARGIN
    for part, side in zip(index_map.parts, sides, strict=True):
        pen.text((left, top), part.title, INK, font)
        for x, y, grid in side.grids:
            grid.draw(pen, left + x, top + LINE + y)
        left += side.width + ARROW
    _arrow(pen, MARGIN + sides[0].width + ARROW // 2, top + 2 * LINE + LINE // 2)
    for line, note in enumerate(index_map.notes):
        pen.text((MARGIN, bottom + LINE * line), note, DIM, font)
    return picture


@dataclass(frozen=True)
class _Grid:
    """A table and the room that it takes, in pixels."""

    plane: Plane
    font: _Font
    label: int
    cell: int

    @classmethod
    def of(cls, plane: Plane, font: _Font) -> _Grid:
        label, cell = (
            max((math.ceil(font.getlength(text)) for text in texts), default=0)
            for texts in (plane.row_labels, plane.longest())
        )
        return cls(plane, font, label + 8, cell + 14)

    @property
    def width(self) -> int:
        title = math.ceil(self.font.getlength(self.plane.title))
        return max(title, self.label + self.cell * len(self.plane.column_labels))

    @property
    def height(self) -> int:
        return LINE * (2 + len(self.plane.cells))

    def draw(self, pen: ImageDraw.ImageDraw, left: int, top: int) -> None:
        middle = LINE // 2
        pen.text((left, top + middle), self.plane.title, INK, self.font, anchor="lm")
        columns = [left + self.label + self.cell * x for x in range(len(self.plane.column_labels))]
        for x, text in zip(columns, self.plane.column_labels, strict=True):
            at = (x + self.cell // 2, top + LINE + middle)
            pen.text(at, text, DIM, self.font, anchor="mm")
        for line, (label, row) in enumerate(
            zip(self.plane.row_labels, self.plane.cells, strict=True), start=2
        ):
            y = top + LINE * line
            at = (left + self.label - 8, y + middle)
            pen.text(at, label, DIM, self.font, anchor="rm")
            for x, (text, colour) in zip(columns, row, strict=True):
                if colour:
                    pen.rectangle((x, y, x + self.cell - 2, y + LINE - 2), colour)
                ink = colour.ink if colour else DIM
                at = (x + self.cell // 2, y + middle)
                pen.text(at, text, ink, self.font, anchor="mm")


class _Side(NamedTuple):
    """The tables of one tensor, each with its left and its top."""

    grids: list[tuple[int, int, _Grid]]
    width: int
    height: int


def _laid_out(part: Part, font: _Font) -> _Side:
    """Lay the tables of a tensor in rows of at most about SIDE pixels, as even as can be."""
    grids = [_Grid.of(plane, font) for plane in part.planes]
    across = LINE + max((grid.width for grid in grids), default=0)
    down = LINE // 2 + max((grid.height for grid in grids), default=0)
    in_row = _even(len(grids), SIDE // across)
    places = [(i % in_row * across, i // in_row * down, grid) for i, grid in enumerate(grids)]
    title = math.ceil(font.getlength(part.title))
    height = math.ceil(len(grids) / in_row) * down
    return _Side(places, max(in_row * across - LINE, title), height)


def _arrow(pen: ImageDraw.ImageDraw, x: int, y: int) -> None:
    pen.line([(x - 6, y - 12), (x + 6, y), (x - 6, y + 12)], DIM, 3, joint="curve")
