# SPDX-License-Identifier: BSD-3-Clause
"""Raise the command's errors, and write files whole or not at all."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from PIL import Image


class CommandError(Exception):
    """A reason to stop, in one line, and its exit status."""

    def __init__(self, reason: str, exit_status: int = 2) -> None:
        super().__init__(reason)
        self.exit_status = exit_status


def reason(error: Exception) -> str:
    """Return the message of an error, without the path of an OSError, which the caller names."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


PARAMETERS = (
    "block_size",
    "channel_axis",
    "dilations",
    "end_padding",
    "layout",
    "out_layout",
    "output_sizes",
    "padding_mode",
    "padding_value",
    "start_padding",
    "strides",
    "window_sizes",
)


def with_options(error: Exception) -> str:
    """Return the message of an error, with names of options instead of parameters."""
    # The others are words too, where they do not begin the line.
    names = rf"\b({'|'.join(PARAMETERS)})\b|^(blocks|dtype|scale|bias|threads|weights)\b"
    return re.sub(names, lambda name: f"--{name[0].replace('_', '-')}", str(error))


def is_dash(path: Path) -> bool:
    """Whether this stands for standard input or output."""
    return str(path) == "-"


def name_of(path: Path, stream: Literal["input", "output"]) -> str:
    """Return what to call a file in a message."""
    return f"standard {stream}" if is_dash(path) else str(path)


def standard_stream(name: Literal["input", "output"]) -> BinaryIO:
    """Return standard input or output; CommandError if the process has none."""
    stream = sys.stdin if name == "input" else sys.stdout
    if stream is None:
        raise CommandError(f"cannot use standard {name}: it is closed")
    return stream.buffer


def discard_output() -> None:
    """Let what is left to be flushed to standard output go nowhere: it would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def written_whole(target: Path, *, force: bool) -> Iterator[Path]:
    """Yield a path to write to; the file there becomes `target` when the block ends well.

    Until then `target` does not change. If the block fails or is interrupted, nothing is left.
    Raises CommandError for any failure in the block, and if `target` exists, unless it is a file
    and `force` allows to replace it.
    """
    try:
        refuse_existing(target, force=force)
        # In a directory of its own the file gets the suffix and the permissions of any other.
        place = target.resolve()  # of a link, what it leads to is written
        with tempfile.TemporaryDirectory(prefix=".reblock-", dir=place.parent) as directory:
            temporary = Path(directory, place.name)
            yield temporary
            refuse_existing(target, force=force)
            os.replace(temporary, place)
    except CommandError:
        raise
    except Exception as error:  # whatever writes the file fails in its own way
        raise CommandError(f"cannot write {target}: {reason(error)}") from error


def refuse_existing(target: Path, *, force: bool) -> None:
    if not target.exists():
        return
    if not target.is_file():
        raise CommandError(f"cannot write {target}: it exists and is no file")
    if not force:
        raise CommandError(f"{target} exists; --force replaces it")


def write_picture(picture: Image.Image, path: Path) -> None:
    """Write a picture, over an existing file; CommandError if this fails."""
    try:
        save_picture(picture, path)
    except Exception as error:  # encoders fail in ways of their own
        raise CommandError(f"cannot write {path}: {reason(error)}") from error


def save_picture(picture: Image.Image, path: Path) -> None:
    """Write a picture in the format that the suffix tells."""
    suffix = path.suffix.lower()
    if Image.registered_extensions().get(suffix) not in Image.SAVE:
        line = f"Pillow writes no image with the suffix {suffix!r}; .png is one it writes"
        raise ValueError(line)
    picture.save(path)
