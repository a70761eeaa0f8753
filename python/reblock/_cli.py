# SPDX-License-Identifier: BSD-3-Clause
"""The `reblock` command.

Exit status: 0 when all went well, 1 when a result is wrong, 2 when the command cannot be carried
out as it was given.
"""

import sys
from pathlib import Path
from typing import Annotated

from reblock import __version__

try:
    import typer

    from reblock import _demo
except ModuleNotFoundError as missing:
    # The command needs packages that the library does without.
    print(f'reblock: {missing.name} is missing; pip install "reblock[demo]"', file=sys.stderr)
    raise SystemExit(2) from None

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"reblock {__version__}")
        raise typer.Exit


@app.callback()
def reblock(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Move tensors between depth and space, and between images and columns."""


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
        _demo.run(image, output)
    except _demo.DemoError as error:
        typer.echo(f"reblock: {error}", err=True)
        raise typer.Exit(error.exit_status) from None


def main() -> None:
    """Run the command with the arguments of this process."""
    app(prog_name="reblock")
