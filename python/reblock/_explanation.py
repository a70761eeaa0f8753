# SPDX-License-Identifier: BSD-3-Clause
"""The result of `explain`: a map from elements to their sources, as text, tables and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from reblock import _index_map
from reblock._index_map import IndexMap
from reblock._tensors import Index

if TYPE_CHECKING:
    from PIL import Image
    from rich.console import Console, ConsoleOptions, RenderResult

Sources: TypeAlias = Mapping[Index, tuple[Index, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """The result of `explain`. A prompt shows text, and a notebook shows coloured tables.

    Attributes
    ----------
    sources : mapping of tuple to tuple of tuples
        For the index of each shown element of the result, the indices of its elements of the input:
        one for a copied element, none for padding, and for `fold` all terms, in the order in which
        it adds them.
    """

    sources: Sources
    _map: IndexMap

    def __repr__(self) -> str:
        lines = _index_map.as_lines(self._map)
        return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)

    def _repr_html_(self) -> str:
        return _index_map.as_html(self._map)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text  # noqa: PLC0415 - an extra, which rich users alone have

        for line in _index_map.as_lines(self._map, options.max_width):
            # Words may go on in the next line; a row of a table may not.
            text = Text(no_wrap=len(line) > 1, overflow="crop" if len(line) > 1 else "fold")
            for segment, colour in line:
                style = f"{colour.ink.code} on {colour.code}" if colour else ""
                text.append(segment, style)
            yield text

    def image(self) -> Image.Image:
        """Return the map as a picture, to save or show. Needs Pillow.

        Returns
        -------
        PIL.Image.Image
            The input beside the result. Each element has the colour of its source.
        """
        try:
            return _index_map.as_image(self._map)
        except ModuleNotFoundError as missing:
            line = f'{missing.name} is missing; pip install "reblock[cli]"'
            raise ModuleNotFoundError(line, name=missing.name) from None
